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
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Item = TypeVar("Item")
Result = TypeVar("Result")
Lost = TypeVar("Lost")

ALONE = 2.0
"""Seconds of work in this process before others are started, which takes about as long."""

CHUNK = 16
"""Most items that are sent to a process at once; fewer towards the end, so that none is left with much to do."""

PATIENCE = 0.1
"""Seconds between two looks at whether to stop, if nothing is done in the meantime."""

MOST_ENDED = 5
"""Processes in a row that may end without a result before no more are started in their place."""

_SERVE = "from crowdopt._parallel import serve; serve()"


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int,
    lost: Lost,
    on_done: Callable[[int], bool] = lambda _: False,
    here: Callable[[Item, Callable[[], bool]], Result] | None = None,
) -> dict[int, Result | Lost]:
    """The results by the index of their item, whatever ``jobs`` is; all of them unless ``on_done`` stops it.

    Args:
        function: A function of a module, which other processes can import; it must not raise.
        items: What to call it with.
        jobs: Number of processes; 1 is this one.
        lost: The result of an item whose process ended, and so did the one that tried again; someone may have killed
            it, as the system does where memory is short.
        on_done: Called in this thread now and then with the number of items that are done; returns whether to stop.
        here: The same function for this process, which also asks now and then whether to stop with the best so far.
    """
    results: dict[int, Result | Lost] = {}
    deadline = time.monotonic() + ALONE if jobs > 1 else math.inf
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
    if rest:
        _run_elsewhere(function, items, rest, min(jobs, len(rest)), results, lost, on_done)
    return results


class _Over:
    """Says to what is done in this process whether to stop: when others can go on with it, or when it is asked for."""

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
    lost: Any,
    on_done: Callable[[int], bool],
) -> None:
    """Fills in the results of the rest of the items, by one thread for each process."""
    crew = _Crew(function, items, rest, jobs)
    threads = [threading.Thread(target=crew.work, args=(place,), daemon=True) for place in range(jobs)]
    try:
        for thread in threads:
            thread.start()
        running = jobs
        while running:
            found = _wait_for(crew.done)
            running -= found is None
            results.update(found or ())
            if on_done(len(results)):
                return
        results.update((at, lost) for at in rest if at not in results)
    finally:
        crew.stop()
        for process, thread in zip(crew.processes, threads, strict=True):
            _end(process, thread)


class _Crew:
    """Processes, each with a thread that sends it work and hands on what comes back."""

    def __init__(self, function: Callable[[Any], Any], items: Sequence[Any], rest: range, jobs: int) -> None:
        self.function, self.items = function, items
        self.todo, self.done = list(reversed(rest)), queue.SimpleQueue[Any]()
        self.lock, self.stopped = threading.Lock(), False
        self.processes = [_start() for _ in range(jobs)]

    def work(self, place: int) -> None:
        """Does chunks until there are none. What a process had when it ended is done again, one by one, by another."""
        again: list[int] = []
        repeated, n_ended = set[int](), 0
        try:
            while chunk := [again.pop()] if again else self._take():
                found = _ask(self.processes[place], self.function, [self.items[at] for at in chunk])
                if found is not None:
                    self.done.put(list(zip(chunk, found, strict=True)))
                    n_ended = 0
                    continue
                n_ended += 1
                again += [at for at in reversed(chunk) if at not in repeated]
                if n_ended > MOST_ENDED or not self._replace(place):
                    with self.lock:
                        self.todo += again  # for the others
                    break
                repeated.update(chunk)
            self.done.put(None)
        except Exception as error:  # noqa: BLE001 - whatever it is, the thread that waits has to hear of it
            self.done.put(error)

    def stop(self) -> None:
        """From here on no work is taken, and no process is started."""
        with self.lock:
            self.stopped = True

    def _take(self) -> list[int]:
        with self.lock:
            n = 0 if self.stopped else max(1, min(CHUNK, len(self.todo) // (2 * len(self.processes))))
            return [self.todo.pop() for _ in range(min(n, len(self.todo)))]

    def _replace(self, place: int) -> bool:
        """Starts a process in the place of one that has ended, unless all is over."""
        with self.lock:
            if not self.stopped:
                _close(self.processes[place])
                self.processes[place] = _start()
            return not self.stopped


def _wait_for(done: queue.SimpleQueue[Any]) -> Any:
    """What a thread says: pairs of an index and a result, None if it has ended, or an error, which is raised."""
    try:
        found = done.get(timeout=PATIENCE)
    except queue.Empty:
        return ()
    if isinstance(found, Exception):
        raise found
    return found


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


def _ask(process: subprocess.Popen[bytes], function: Callable[[Any], Any], items: list[Any]) -> list[Any] | None:
    """The results of a process, or None if it has ended."""
    try:
        _send((function, items), process.stdin)
        results: list[Any] = _receive(process.stdout)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):  # the last one if it ended in the middle of an answer
        return None
    return results


def _end(process: subprocess.Popen[bytes], thread: threading.Thread) -> None:
    process.kill()
    if thread.ident is not None:
        thread.join()
    _close(process)


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
        _send([function(item) for item in items], results)


def _send(what: Any, pipe: IO[bytes] | None) -> None:
    if pipe is None:
        raise TypeError("there is no pipe")
    pickle.dump(what, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _receive(pipe: IO[bytes] | None) -> Any:
    if pipe is None:
        raise TypeError("there is no pipe")
    return pickle.load(pipe)  # noqa: S301 - from our own process
