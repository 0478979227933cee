"""The start of the program: what can go wrong before and after the command line is one line too, not a traceback."""

from __future__ import annotations

import errno
import os
import sys

from crowdopt._early import INTERRUPTED, started


def main() -> None:
    """Runs the command line; an interrupt while it is still being imported is one line, as it is later."""
    try:
        try:
            from crowdopt.cli import main as run

            started()
            run()
        finally:
            sys.stdout.flush()  # here, where a full device can still be told
    except KeyboardInterrupt:
        print("crowdopt: interrupted; nothing was written", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try, and complain, once more
        if error.errno == errno.EPIPE:  # who reads has had enough
            sys.exit(1)
        print(f"crowdopt: cannot write to standard output: {error.strerror}", file=sys.stderr)
        sys.exit(2)
