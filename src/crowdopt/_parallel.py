"""Many pieces of work on all cores: in this process while they are easy, then in several.

Threads would not do: most of the work is Python's own, which runs in one thread at a time. Processes do not begin with
a copy of this one, which would hold locks of its threads, nor with the user's script, which need not be made for that;
they are started afresh with this module, get what they need by a pipe, and end when it closes.
"""

from __future__ import annotations

import math
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Lost = TypeVar("_Lost")

ALONE = 2.0
"""Seconds of work in this process before others are started, which takes about as long, unless it is known to pay."""

MAX_CHUNK = 16
"""Most items that are sent to a process at once; fewer towards the end, so that none is left with much to do."""

POLL_SECONDS = 0.1
"""Seconds between two looks at whether to stop."""

MOST_ENDED = 5
"""Processes in a row, for each that is wanted, that may end without a result before no more are started."""

_SERVE = "from crowdopt._parallel import serve; serve()"


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(
    function: Callable[[_Item], _Result],
    items: Sequence[_Item],
    jobs: int,
    lost: _Lost,
    on_done: Callable[[int], bool] = lambda _: False,
    here: Callable[[_Item, Callable[[], bool]], _Result] | None = None,
    alone: float | None = None,
) -> dict[int, _Result | _Lost]:
    """The results by the index of their item, whatever ``jobs`` is; all of them unless ``on_done`` stops it.

    Args:
        function: A function of a module, which other processes can import. If it raises there, its process ends.
        items: What to call it with.
        jobs: Number of processes; 1 is this one.
        lost: The result of an item whose process ended, and so did the one that tried again; someone may have killed
            it, as the system does where memory is short.
        on_done: Called in this thread now and then with the number of items that are done; returns whether to stop.
        here: The same function for this process, which also asks now and then whether to stop with the best so far.
        alone: Seconds of work in this process before others are started; ALONE if None.
    """
    results: dict[int, _Result | _Lost] = {}
    deadline = time.monotonic() + (ALONE if alone is None else alone) if jobs > 1 else math.inf
    for at, item in enumerate(items):
        over = _Over(deadline if at < len(items) - 1 else math.inf, lambda: on_done(len(results)))
        if over.late:
            break
        result = here(item, over) if here else function(item)
        if over.handed_over:
            break  # half done, and done again from the start where it does not hold up the others
        results[at] = result
        if on_done(len(results)):
            return results
    rest = range(len(results), len(items))
    if rest and _run_elsewhere(function, items, rest, min(jobs, len(rest)), results, on_done):
        results.update((at, lost) for at in rest if at not in results)
    return results


class _Over:
    """Whether to stop what is done in this process: because others can take it over, or because the caller asks."""

    def __init__(self, deadline: float, asked: Callable[[], bool]) -> None:
        self.deadline, self.asked, self.handed_over = deadline, asked, False

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def __call__(self) -> bool:
        self.handed_over = self.handed_over or self.late
        return self.handed_over or self.asked()


def _run_elsewhere(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    rest: range,
    jobs: int,
    results: dict[int, Any],
    on_done: Callable[[int], bool],
) -> bool:
    """Fills in results of the rest of the items, by one thread for each process; returns whether it came to its end."""
    crew, threads = _Crew(function, items, jobs, results), ThreadPoolExecutor(jobs)
    try:
        todo = {threads.submit(crew.work, chunk) for chunk in _chunks(rest, jobs)}
        while todo:
            done, todo = wait(todo, POLL_SECONDS, FIRST_EXCEPTION)
            for future in done:
                future.result()  # raises what the thread raised
            if on_done(len(results)):
                return False
        return True
    finally:
        crew.stop()
        threads.shutdown(cancel_futures=True)
        crew.close()


def _chunks(rest: range, jobs: int) -> Iterator[range]:
    while rest:
        n = max(1, min(MAX_CHUNK, len(rest) // (2 * jobs)))
        yield rest[:n]
        rest = rest[n:]


class _Crew:
    """Processes that do items, and fill in the results."""

    def __init__(
        self, function: Callable[[Any], Any], items: Sequence[Any], jobs: int, results: dict[int, Any]
    ) -> None:
        self.function, self.items, self.results = function, items, results
        self.lock, self.stopped = threading.Lock(), False
        self.n_ended, self.most_ended = 0, MOST_ENDED * jobs
        self.processes = [_start() for _ in range(jobs)]
        self.idle = queue.SimpleQueue[subprocess.Popen[bytes]]()
        for process in self.processes:
            self.idle.put(process)

    def work(self, chunk: Sequence[int]) -> None:
        """Does some items. Those that a process had left when it ended are done again, one by one, by another."""
        if not self._done(chunk):
            for at in chunk:
                if at not in self.results:
                    self._done([at])

    def _done(self, chunk: Sequence[int]) -> bool:
        """Whether a process did all of these items before it ended."""
        process = self.idle.get()
        try:
            _send((self.function, [self.items[at] for at in chunk]), process.stdin)
            for at in chunk:
                self.results[at] = _receive(process.stdout)
                self.n_ended = 0
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):  # the last one in the middle of a result
            process = self._replaced(process)
            return False
        finally:
            self.idle.put(process)
        return True

    def _replaced(self, ended: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        """A process in the place of one that has ended, unless all is over."""
        with self.lock:
            self.n_ended += 1
            if self.stopped or self.n_ended > self.most_ended:
                return ended
            _close(ended)
            process = self.processes[self.processes.index(ended)] = _start()
            return process

    def stop(self) -> None:
        """From here on no process is started, and none works."""
        with self.lock:
            self.stopped = True
            for process in self.processes:
                process.kill()

    def close(self) -> None:
        """Lets go of all processes, which have ended."""
        for process in self.processes:
            _close(process)


def _start() -> subprocess.Popen[bytes]:
    """A process that does what it is sent; out of reach of Ctrl-C, which is for this one."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-c", _SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths},
        start_new_session=True,
    )


def _close(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):  # of what was still to be sent
                pipe.close()


def serve() -> None:
    """Does what it is sent until the pipe closes, and then ends at once, also if something is not done yet."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that nothing else gets between the results
    todo = queue.SimpleQueue[Any]()

    def listen() -> None:
        try:
            while True:
                todo.put(_receive(sys.stdin.buffer))
        finally:  # also in the middle of a message: who sent it is gone, or will see that this process is
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        function, items = todo.get()
        for item in items:
            _send(function(item), results)


def _send(what: Any, pipe: Any) -> None:
    pickle.dump(what, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _receive(pipe: Any) -> Any:
    return pickle.load(pipe)  # noqa: S301 - from our own process
