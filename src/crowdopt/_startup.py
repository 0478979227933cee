"""What the package does first of all, if it is run as a command and not imported by another program.

Ctrl-C or SIGTERM while it is still being imported is one line, not a traceback; so is a lack of memory, for which some
libraries would end the process in their own words. And the linear algebra, which reads its settings when NumPy is
imported, gets one thread: our matrices are small, and threads that wait for each other double the CPU time of some
proofs.

It also tells a lack of memory, whichever library raises it, from other errors.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ENDINGS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
"""Signals that ask the program to end, and what it then says that it was; its exit code is 128 and their number."""

ROOM = 1024**3
"""Bytes of addresses that libraries take before any data are read; some of them end the process if they get less."""

ROOM_OF_CHARTS = 72 * 1024**3
"""Bytes of addresses, most of them never used, without which the library that draws charts ends the process."""

FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Settings with which libraries take fewer addresses; for where these are limited."""

OUT_OF_MEMORY = (
    "out of memory; free some or raise the limit of this process (ulimit -v), "
    "try --threads 1 or a lower --memory-limit, or take a part of the data"
)

_SAID = re.compile(r"failed to map segment|cannot allocate memory|can't start new thread|bad_alloc", re.IGNORECASE)
"""How the system and libraries say it where it is no MemoryError."""


_came: list[int] = []
"""The signals of ENDINGS that came."""


def ending(number: int = 0) -> tuple[str, int]:
    """What the program was if it is ended by a signal, and its exit code.

    Args:
        number: The signal; 0 for the last one that came.

    >>> ending(signal.SIGTERM)
    ('terminated', 143)
    """
    number = number or (_came[-1] if _came else signal.SIGINT)
    return ENDINGS[signal.Signals(number)], 128 + number


def _end(number: int, _: Any) -> None:
    word, code = ending(number)
    os.write(2, f"crowdopt: {word}; nothing was written\n".encode())
    os._exit(code)


def interrupt(number: int, _: Any = None) -> None:
    """What every ending is from the start on: an exception like everywhere, and remembered."""
    _came.append(number)
    raise KeyboardInterrupt


def handle_endings(handler: Callable[[int, Any], None]) -> dict[signal.Signals, Any]:
    """Handles all endings, but for those that whoever started the program wants ignored; what handled them before."""
    before = {one: signal.getsignal(one) for one in ENDINGS}
    replaced = {one: old for one, old in before.items() if old not in {None, signal.SIG_IGN}}
    for one in replaced:
        signal.signal(one, handler)
    return replaced


def was_interrupted() -> bool:
    """Whether an ending came since the start: its exception may be lost, in a library that calls back."""
    return bool(_came)


def forget_interrupts() -> None:
    """What came has been told."""
    _came.clear()


def _is_command() -> bool:
    """Whether this process is ``crowdopt`` or ``python -m crowdopt``; of the latter Python tells only "-m" so early."""
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""  # noqa: PTH119 - pathlib takes time
    return name == "crowdopt" or (
        name == "-m" and ("-m", "crowdopt") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    )


def is_limited() -> bool:
    """Whether the addresses of this process are limited (ulimit -v)."""
    try:
        import resource
    except ImportError:  # on Windows, which has no such limit
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def be_frugal() -> None:
    """Lets libraries take fewer addresses, if they are not imported yet."""
    for name, value in FRUGAL.items():
        os.environ.setdefault(name, value)


def has_room(n_bytes: int) -> bool:
    """Whether this process may have so many bytes of addresses: False only where they are limited."""
    if not is_limited():
        return True
    import mmap

    try:
        mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
    except OSError:
        return False
    return True


def is_lack_of_memory(error: BaseException | None) -> bool:
    """Whether an error comes from a lack of memory, perhaps by way of others."""
    while error is not None:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
            return True
        full_pipe = hasattr(error, "characters_written")  # which is told by the same number as too many processes
        if isinstance(error, OSError) and error.errno in {errno.ENOMEM, errno.EAGAIN} and not full_pipe:
            return True
        if isinstance(error, ImportError | RuntimeError | OSError) and _SAID.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


if _is_command():
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    handle_endings(_end)
    if is_limited():
        be_frugal()
    if not has_room(ROOM):
        os.write(2, f"crowdopt: {OUT_OF_MEMORY}\n".encode())
        os._exit(2)
