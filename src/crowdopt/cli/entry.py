"""The start of the program: what can go wrong before and after the command line is one line too, not a traceback."""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from crowdopt._startup import ENDINGS, ending, handle_endings, interrupt
from crowdopt.results.write.in_place import what_was_written

NOBODY_READS = 141
"""Exit code where who reads standard output has had enough, as of other programs that SIGPIPE ends; 1 is a verdict."""

NO_MORE = {errno.EPIPE, errno.ENOSPC}
"""What can be wrong with standard output; any other error is one of the program."""


def main() -> None:
    """Runs the command line; an interrupt while it is still being imported is one line, as it is later."""
    sys.unraisablehook = _unraisable
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 -- while the program runs
    try:
        try:
            from crowdopt.cli.app import main as run

            handle_endings(interrupt)
            run()
        finally:
            sys.stdout.flush()  # here, where a full device can still be told
            _all_is_done()
    except SystemExit as end:
        if end.code in {ending(number)[1] for number in ENDINGS}:
            _leave(end.code)
        typer_ends = type(sys.stdout).__name__ == "PacifyFlushWrapper"  # both ways are those of a closed pipe
        rich_ends = isinstance(end.__context__, BrokenPipeError)
        if end.code == 1 and (typer_ends or rich_ends):
            sys.exit(NOBODY_READS)
        raise
    except KeyboardInterrupt:
        _all_is_done()
        word, code = ending()
        print(f"crowdopt: {word}; {what_was_written() or 'nothing was written'}", file=sys.stderr)
        _leave(code)
    except OSError as error:
        if error.errno not in NO_MORE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try, and complain, once more
        if error.errno == errno.EPIPE:
            sys.exit(NOBODY_READS)
        written = f"; {done}" if (done := what_was_written(in_files=True)) else ""
        print(f"crowdopt: cannot write to standard output: {error.strerror}{written}", file=sys.stderr)
        sys.exit(2)


def _all_is_done() -> None:
    """From here on nothing can be ended any more: the exit code says what was done."""
    for one in ENDINGS:
        signal.signal(one, signal.SIG_IGN)


def _leave(code: int) -> NoReturn:
    """Ends after an interrupt, without taking libraries down in order: it may have come while one of them started."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    atexit._run_exitfuncs()  # noqa: SLF001 -- which takes temporary files away
    os._exit(code)


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    """Says nothing of an interrupt that a library loses where it calls back; it is remembered."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
