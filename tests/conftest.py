"""Shared fixtures. Under CROWDOPT_STRICT=1 nothing that a test needs may be missing."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
STRICT = os.environ.get("CROWDOPT_STRICT") == "1"

# Examples are the same in every run, and no example is judged by the clock: machines are shared and noisy.
settings.register_profile("crowdopt", derandomize=True, deadline=None)
settings.load_profile("crowdopt")

# A shell that starts tests in the background lets them, and all that they start, ignore Ctrl-C.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def need(present: bool, what: str) -> None:
    """Skips the test if something is missing; fails it where nothing may be missing."""
    if present:
        return
    if STRICT:
        pytest.fail(f"{what} is missing, and CROWDOPT_STRICT=1 allows nothing to be")
    pytest.skip(f"{what} is missing")


@pytest.fixture
def shared_set():
    """A function that gives the folder of a shared data set."""

    def find(name: str) -> Path:
        folder = SHARED / name
        need((folder / "responses.csv").is_file(), f"the shared data set {name!r} ({folder})")
        return folder

    return find
