"""Small files of responses, and the installed program."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "crowdopt"


SMALL = [("a", "ann", "yes"), ("a", "bob", "yes"), ("b", "ann", "no"), ("b", "bob", "yes"), ("c", "bob", "no")]


# As many yes as no overall, and every way round: 24 buckets of 1 to 8 responses.
VARIED = [
    (f"t{yes}{no}", f"w{i}", "yes" if i < yes else "no") for yes in range(5) for no in range(5) for i in range(yes + no)
]


def write(path, rows, header=("task", "worker", "label"), encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file).writerows([header, *rows])
    return path


def process(*args, environment=(), **kwargs):
    """Runs the installed program."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        [PROGRAM, *map(str, args)],
        capture_output=True,
        check=False,
        timeout=120,
        env=os.environ | dict(environment),
        **kwargs,
    )


@pytest.fixture
def small(tmp_path):
    return write(tmp_path / "small.csv", SMALL)


@pytest.fixture
def varied(tmp_path):
    return write(tmp_path / "varied.csv", VARIED)
