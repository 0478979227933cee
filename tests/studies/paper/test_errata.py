"""The document of errata names its tests, and each of them is named."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from support.needs import ROOT

ERRATA = ROOT / "docs" / "errata.md"


# The document


def test_every_entry_names_its_tests_and_every_test_an_entry():
    text = ERRATA.read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)`", text)
    here = set()
    for path in Path(__file__).parent.glob("test_errata_*.py"):
        here |= set(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert len(named) == len(set(named))
    assert set(named) == here
    entries = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert all(re.search(r"`test_\w+`", entry) for entry in entries)


def test_every_module_that_the_document_names_exists():
    modules = set(re.findall(r"`(crowdopt(?:\.\w+)+)`", ERRATA.read_text(encoding="utf-8")))
    assert modules
    for module in modules:
        importlib.import_module(module)
