"""Many pieces of work in several processes, which end with this one however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from crowdopt.errors import CrowdoptError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int, on_done: Callable[[Item], None]
) -> list[Result]:
    """The results of all items in their order, whatever ``jobs`` is; ``on_done`` is called as items are done.

    Args:
        function: A function of a module, which other processes can import.
        items: What to call it with.
        jobs: Number of processes; 1 is this one.
        on_done: Called in this process.
    """
    jobs = min(jobs, len(items))
    if jobs <= 1:
        return [_one(function, item, on_done) for item in items]
    # Processes are started afresh on every system: a copy of this one would hold locks of its threads.
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, context, _hold, (theirs,))
    try:
        with _deaf():  # which the processes inherit, and so cannot be interrupted before they have begun
            futures = {pool.submit(function, item): item for item in items}
        for future in as_completed(futures):
            future.result()
            on_done(futures[future])
        return [future.result() for future in futures]
    except BrokenProcessPool:
        raise CrowdoptError(
            "a process that did a part of the work was ended, by someone or for lack of memory; try again with --jobs 1"
        ) from None
    finally:
        ours.close()
        theirs.close()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf() -> Iterator[None]:
    """No Ctrl-C for a moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _one(function: Callable[[Item], Result], item: Item, on_done: Callable[[Item], None]) -> Result:
    result = function(item)
    on_done(item)
    return result


def _hold(lifeline: Connection) -> None:
    """In a new process: ends at once when the parent lets go of the line, or dies."""

    def watch() -> None:
        lifeline.poll(None)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
