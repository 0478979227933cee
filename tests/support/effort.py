"""How much a run tries: which tests are of the fast tier, and how many random problems each of them draws.

The fast tier (``make test``) is everything that is not marked ``full``. A test is marked by what it is, not one by one:

* by its folder (``SLOW_FOLDERS``),
* by its way in: a parameter ``way``, ``backend`` or the like that is in ``support.ways.WAYS`` but not in ``CORE``,
* by ``@pytest.mark.grid``: the fast tier has every value of every parameter, the full tier every combination,
* by ``@pytest.mark.full`` on the test itself, where none of these says it.

A test that takes the fixture ``effort`` draws fewer random problems in the fast tier; it is marked ``scaled``, so that
the full tier can run it again with more of them: a third, or all of those that are ``whole``, since engines and checks
are tested by them against brute force. The campaign (campaigns/campaign.py) draws new ones for as long as one
likes.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import asdict, is_dataclass
from pathlib import Path

import pytest

from support.ways import CORE, WAYS

SLOW_FOLDERS = {"benchmarks", "browser", "docs", "spark", "system"}
SHARES = {"fast": 10, "full": 3, "thorough": 1}
"""One of so many random problems is tried."""

TESTS = Path(__file__).resolve().parents[1]


def pytest_addoption(parser):
    thorough = os.environ.get("CROWDOPT_THOROUGH") == "1"
    parser.addoption(
        "--effort",
        choices=SHARES,
        default="thorough" if thorough else "fast",
        help="how many random problems tests try: a tenth, a third, or all (also with CROWDOPT_THOROUGH=1)",
    )


@pytest.fixture(scope="session")
def effort(pytestconfig):
    """A function that gives the share of a number that this run tries; of ``whole`` ones all in the full tier."""
    wanted = pytestconfig.getoption("effort")

    def share_of(number: int, *, whole: bool = False) -> int:
        share = 1 if whole and wanted == "full" else SHARES[wanted]
        return -(-number // share)

    return share_of


def first_fast(values) -> list:
    """Values of a parameter, the first of which is of the fast tier, the others of the full one."""
    first, *others = values
    return [first, *(pytest.param(value, marks=pytest.mark.full) for value in others)]


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(items):
    grids = defaultdict(list)
    for item in items:
        if "effort" in getattr(item, "fixturenames", ()):
            item.add_marker("scaled")
        if _in_slow_folder(item) or _has_rare_way(item):
            item.add_marker("full")
        elif item.get_closest_marker("grid") and not item.get_closest_marker("full"):
            grids[item.nodeid.partition("[")[0]].append(item)
    for cases in grids.values():
        kept = _covering(cases)
        for item in cases:
            if item not in kept:
                item.add_marker("full")
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)  # the longest chains first


def pytest_report_collectionfinish(items):
    """How many tests are in which tier, of those that were selected."""
    fast = [item for item in items if not item.get_closest_marker("full")]
    again = [item for item in fast if item.get_closest_marker("scaled")]
    return f"fast tier: {len(fast)} tests; full tier: {len(items) - len(fast)} others, and {len(again)} again with more"


def _in_slow_folder(item) -> bool:
    return item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).parts[0] in SLOW_FOLDERS


def _has_rare_way(item) -> bool:
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    ways = [value for name, value in parameters.items() if name == "backend" or name.endswith("way")]
    return any(way in WAYS and way not in CORE for way in ways)


def _covering(cases: list) -> list:
    """Few of the cases of a test, in which every value of every parameter occurs: as many as the longest has values."""
    values = {item: _values(item.callspec) for item in cases}
    missing, kept = set().union(*values.values()), []
    while missing:
        kept.append(max(cases, key=lambda item: len(values[item] & missing)))
        missing -= values[kept[-1]]
    return kept


def _values(callspec) -> set[tuple[str, object]]:
    """The parameters of a case; one of several fields counts as several."""
    values = set()
    for name, value in callspec.params.items():
        fields = asdict(value) if is_dataclass(value) else dict(enumerate(value)) if isinstance(value, tuple) else {}
        values |= {(f"{name}.{field}", repr(one)) for field, one in fields.items()}
        values |= set() if fields else {(name, id(value))}
    return values
