"""The house: which room may import which, who may import heavy libraries, how large things may become.

Exceptions stand in lists here. A list may only shrink: an exception that is no longer needed fails too.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict

import pytest

from support.imports import SOURCE, cycles, imports, modules, tree_of

LAYERS = (
    {"cli"},
    {"studies"},
    {"estimator"},
    {"pipeline"},
    {"report", "verify"},
    {"results"},
    {"consensus"},
    {"engines", "data"},
    {"options"},
    {"model"},
    {"errors", "_arrays", "_numba", "_option", "_parallel", "_startup", "_version"},
)
"""Rooms and files at the top, highest first. Each may import itself and lower layers; rooms of one layer, but for the
lowest, do not import each other."""

UPWARDS = {
    ("results.solution", "report.write_report"),  # Solution.report
    ("results.solution", "report.solution_charts"),  # Solution.charts
    ("results.solution", "report.notebook"),  # what a notebook shows
}
"""Imports that point the wrong way: methods of Solution that people expect there, imported when they are called."""

CYCLES: list[set[str]] = []
"""Modules that import each other at run time."""

OWNERS = {
    "altair": {"report.charts"},
    "crowdkit": {"studies.compare.methods"},
    "duckdb": {"data.tables", "data.readers", "results.write"},
    "highspy": {"engines.columns.master_lp"},
    "jinja2": {"report.page"},
    "numba": {"_numba"},
    "openpyxl": {"data.readers.excel"},
    "pandas": {"data.tables", "estimator", "studies.compare"},
    "polars": set(),
    "pyspark": {"data.tables.spark", "results.cluster", "results.workers.spark"},
    "rich": {"cli"},
    "sklearn": {"studies.compare.methods"},
    "typer": {"cli"},
}
"""Libraries that only some modules, or rooms, may import; types may be named everywhere."""

FAMILIES = ("data.tables", "data.readers.tools")
"""Rooms whose files implement one interface each in its way, under the same names."""

AT_THE_TOP = 12
MODULE_LINES = 400
FUNCTION_LINES = 60
SHORT_FUNCTION_LINES = 20


def room(module: str) -> str:
    return module.partition(".")[0]


def layer(module: str) -> int:
    return next(at for at, rooms in enumerate(LAYERS) if room(module) in rooms)


def is_allowed(module: str, target: str) -> bool:
    if "" in {module, target} or module == "__main__" or room(module) == room(target):
        return True  # the package itself offers everything
    return layer(module) < layer(target) or layer(module) == layer(target) == len(LAYERS) - 1


def test_every_module_has_its_layer():
    assert {room(module) for module in modules()} - {"", "__main__"} == set().union(*LAYERS)


def test_imports_point_downwards():
    ours = {(one.module, one.target) for one in imports() if one.target in modules()}
    assert {pair for pair in ours if not is_allowed(*pair)} == UPWARDS


def test_imports_that_point_upwards_are_made_when_they_are_needed():
    assert all(one.in_function or one.for_types for one in imports() if (one.module, one.target) in UPWARDS)


def test_no_cycles():
    assert sorted(map(sorted, cycles(for_types=False))) == sorted(map(sorted, CYCLES))


@pytest.mark.parametrize("library", OWNERS)
def test_only_its_owners_import_a_library(library):
    users = {one.module for one in imports() if one.target.partition(".")[0] == library and not one.for_types}
    strangers = {user for user in users if not any(f"{user}.".startswith(f"{owner}.") for owner in OWNERS[library])}
    assert not strangers
    for owner in OWNERS[library]:
        assert any(f"{user}.".startswith(f"{owner}.") for user in users), "an owner that does not use it"


def test_few_files_at_the_top():
    assert len([*SOURCE.glob("*.py")]) <= AT_THE_TOP


def test_no_module_is_long():
    assert {name: n for name in modules() if (n := len(modules()[name].read_text().splitlines())) > MODULE_LINES} == {}


def test_functions_are_short():
    lengths = sorted(lengths_of_functions().values())
    assert lengths[int(0.9 * len(lengths))] <= SHORT_FUNCTION_LINES
    assert {name: n for name, n in lengths_of_functions().items() if n > FUNCTION_LINES} == {}


def lengths_of_functions() -> dict[str, int]:
    """Lines of every function, docstring and all."""
    return {
        f"{name}.{node.name}:{node.lineno}": (node.end_lineno or 0) - node.lineno + 1
        for name in modules()
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.FunctionDef)
    }


def test_public_names_are_unique():
    """One concept, one name: what two modules define under one name is found twice. Commands are called as they are."""
    owners = defaultdict(set)
    for name in modules():
        if room(name) != "cli":
            for node in tree_of(name).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                    owners[node.name].add(next((family for family in FAMILIES if name.startswith(family)), name))
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}


def test_every_room_says_what_it_is_for():
    for name, path in modules().items():
        if path.name == "__init__.py" and name:
            text = ast.get_docstring(tree_of(name)) or ""
            assert len(text.splitlines()) >= 3, (
                f"{name}/__init__.py: what it is for, what it may import, where to begin"
            )


def test_no_room_is_crowded():
    files = Counter(path.parent for path in modules().values())
    assert {str(folder): n for folder, n in files.items() if n > 22} == {}
