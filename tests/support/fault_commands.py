"""Commands that something happens to, in a folder of their own."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from crowdopt import _startup
from support.faults import Command

OUTPUTS = ("-o", "answers.csv", "--solution", "solution.json")


RUN = [sys.executable, "-m", "crowdopt"]


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM], ids=["interrupted", "terminated"])
def ending(request):
    """A signal that ends the program, what it then says that it was, and its exit code."""
    return request.param, *_startup.ending(request.param)


@pytest.fixture
def faulty(monkeypatch, capfd, tmp_path):
    """The command line, in a folder of its own."""
    for name in ("work", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(_startup, "_came", [])
    before = _startup.handle_endings(_startup.interrupt)
    yield Command(monkeypatch, capfd)
    for number, handler in before.items():
        signal.signal(number, handler)


def rows(n_tasks, turn=0):
    """Responses of three workers who do not always agree."""
    return [
        (f"t{i}", f"w{j}", "yes" if (i * (j + 2) + turn) % 5 < 2 else "no") for i in range(n_tasks) for j in range(3)
    ]


def as_csv(responses, batch="a"):
    lines = [("task", "worker", "label", "batch"), *((*row, batch) for row in responses)]
    return "\n".join(map(",".join, lines)) + "\n"


def left(folder="."):
    return sorted(path.name for path in Path(folder).iterdir())
