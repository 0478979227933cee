"""What a test needs and a machine may lack. Under CROWDOPT_STRICT=1 nothing may be missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
SAMPLES = ROOT / "tests" / "samples"
STRICT = os.environ.get("CROWDOPT_STRICT") == "1"


def need(present: bool, what: str) -> None:
    """Skips the test if something is missing; fails it where nothing may be missing."""
    if present:
        return
    if STRICT:
        pytest.fail(f"{what} is missing, and CROWDOPT_STRICT=1 allows nothing to be")
    pytest.skip(f"{what} is missing")
