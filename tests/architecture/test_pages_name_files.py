"""Files and modules that pages and docstrings name are there: a move that forgets them is seen."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path  # noqa: TC003 -- pytest reads annotations

import pytest

from support.imports import SOURCE, modules
from support.needs import ROOT

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|html|css|js))`|\(((?:[\w-]+/)*[\w-]+\.py)\)")
DOTTED = re.compile(r"`(?:::: )?crowdopt\.([a-z_]+(?:\.[A-Za-z_]+)*)")
PLACES = (ROOT, SOURCE, ROOT / "tests", ROOT / "benchmarks", ROOT / "docs", ROOT / "campaigns")
MADE = re.compile(r"NAME|(^|/)(report|compared|page|index|bench)\.html$|^mine\.py$")
"""Names that stand for files of a user's, or that are made."""


def files_at_home() -> set[str]:
    return {path.name for folder in PLACES[1:] for path in folder.rglob("*.py")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path):
    named = {one or other for one, other in NAMED.findall(page.read_text(encoding="utf-8"))}
    alone = files_at_home()
    missing = {
        name
        for name in named
        if not MADE.search(name)
        and not any((place / name).exists() for place in PLACES)
        and not ("/" not in name and name in alone)
    }
    assert missing == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_a_page_names_is_there(page: Path):
    for name in DOTTED.findall(page.read_text(encoding="utf-8")):
        parts = name.split(".")
        n = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in modules()), 0)
        found = import_module(".".join(["crowdopt", *parts[:n]]))
        for part in parts[n:]:
            assert hasattr(found, part), name
            found = getattr(found, part)


@pytest.mark.parametrize("module", modules())
def test_every_file_that_a_docstring_names_is_there(module: str):
    alone = files_at_home()
    text = modules()[module].read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w/])((?:[a-z_]+/)*[a-z_]+\.py)\b", text))
    assert {name for name in named if name.rpartition("/")[2] not in alone} == set()
