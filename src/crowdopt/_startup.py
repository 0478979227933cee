"""What the package does first of all, if it is run as a command and not imported by another program.

Ctrl-C while it is still being imported is one line, not a traceback; nor is a lack of memory, for which some libraries
would end the process in their own words. And the linear algebra, which reads its settings when NumPy is imported, gets
one thread: our matrices are small, and threads that wait for each other double the CPU time of some proofs.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from crowdopt._memory import OUT_OF_MEMORY, ROOM, be_frugal, has_room, is_limited

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def _end(*_: Any) -> None:
    os.write(2, b"crowdopt: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def started() -> None:
    """From here on an interrupt is an exception like everywhere."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    """Whether this process is ``crowdopt`` or ``python -m crowdopt``; of the latter Python tells only "-m" so early."""
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""  # noqa: PTH119 - pathlib takes time
    return name == "crowdopt" or (
        name == "-m" and ("-m", "crowdopt") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    )


if _is_command():
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    if is_limited():
        be_frugal()
    if not has_room(ROOM):
        os.write(2, f"crowdopt: {OUT_OF_MEMORY}\n".encode())
        os._exit(2)
