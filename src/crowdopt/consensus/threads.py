"""Loops in several threads. Sums are exact (see ``grid``): it does not matter who adds what, and in what order."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier, Thread
from typing import TYPE_CHECKING, TypeVar

from crowdopt._parallel import n_cores

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")

MAX_THREADS = 8
WORTH_A_THREAD = 1e5
"""Table entries to read or write, below which a thread costs more than it saves."""


@cache
def _threads() -> ThreadPoolExecutor:
    """The threads, all of them started by another one.

    No interrupt reaches that one. Of a thread whose start is interrupted the pool would know nothing, and the process
    would wait for it at its end.
    """
    n_threads = min(n_cores(), MAX_THREADS)
    pool, all_there = ThreadPoolExecutor(n_threads, thread_name_prefix="crowdopt-consensus"), Barrier(n_threads)
    starter = Thread(target=lambda: [*pool.map(lambda _: all_there.wait(), range(n_threads))], daemon=True)
    starter.start()
    starter.join()
    return pool


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a child has none of the threads


def by_parts(
    function: Callable[[int, int], _Result], length: int, work: float, most: int = MAX_THREADS
) -> list[_Result]:
    """The results for parts (start, end) of a range that make up all of it, in their order.

    Args:
        function: What to call for each part; it should spend its time in compiled loops.
        length: The end of the range, which begins at 0.
        work: How many entries of tables it reads or writes in all.
        most: Into how many parts at most, if each needs memory of its own.
    """
    n_parts = max(1, min(n_cores(), MAX_THREADS, most, length, int(work / WORTH_A_THREAD)))
    if n_parts == 1:
        return [function(0, length)]
    ends = [length * part // n_parts for part in range(n_parts + 1)]
    return list(_threads().map(function, ends[:-1], ends[1:]))
