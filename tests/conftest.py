"""Settings and fixtures of all tests."""

from __future__ import annotations

import signal
import threading
from pathlib import Path  # noqa: TC003 -- pytest reads annotations of fixtures

import pytest
from hypothesis import settings

from support.needs import SHARED, need

pytest_plugins = [
    "support.browsing",
    "support.commands",
    "support.databases",
    "support.effort",
    "support.fault_commands",
    "support.report_files",
    "support.small_files",
]

# Examples are the same in every run, and no example is judged by the clock: machines are shared and noisy.
settings.register_profile("crowdopt", derandomize=True, deadline=None)
settings.load_profile("crowdopt")

# A shell that starts tests in the background lets them, and all that they start, ignore Ctrl-C.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def shared_set():
    """A function that gives the folder of a shared data set."""

    def find(name: str) -> Path:
        folder = SHARED / name
        need((folder / "responses.csv").is_file(), f"the shared data set {name!r} ({folder})")
        return folder

    return find
