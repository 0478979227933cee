"""What the package offers, and what importing it costs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import crowdopt

HEAVY = [
    "duckdb", "narwhals", "openpyxl", "pandas", "polars", "pyarrow", "pyspark", "rich", "scipy", "sklearn", "typer",
]  # fmt: skip
SOURCE = Path(crowdopt.__file__).parent


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh process has loaded after running some code."""
    report = "import sys, json; print('\\n' + json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_every_name_is_there_and_the_list_is_sorted():
    assert crowdopt.__all__ == sorted(crowdopt.__all__)
    assert len(set(crowdopt.__all__)) == len(crowdopt.__all__)
    for name in crowdopt.__all__:
        assert getattr(crowdopt, name) is not None
    scope: dict[str, object] = {}
    exec("from crowdopt import *", scope)  # noqa: S102
    assert set(crowdopt.__all__) <= scope.keys()


def test_every_name_is_listed_by_dir():
    assert set(crowdopt.__all__) <= set(dir(crowdopt))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'crowdopt' has no attribute 'aggregat'"):
        crowdopt.aggregat  # noqa: B018


def test_importing_loads_no_table_library():
    assert modules_after("import crowdopt").isdisjoint(HEAVY)


def test_naming_the_annotation_tools_loads_no_table_library():
    assert modules_after("from crowdopt.data.readers.tools import TOOL_NAMES").isdisjoint(HEAVY)


def test_solving_counts_loads_no_table_library():
    code = "import crowdopt; crowdopt.solve([[0, 3], [1, 2], [3, 0]])"
    assert modules_after(code).isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["prove", "--help"], ["workers", "--help"], ["next", "--help"], ["--version"], ["nonsense"]],
)
def test_the_command_line_starts_without_a_database(arguments):
    code = (
        f"import sys; sys.argv = ['crowdopt', *{arguments!r}]\n"
        "from crowdopt.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )
    assert modules_after(code).isdisjoint(set(HEAVY) - {"rich", "typer"})


@pytest.mark.parametrize("name", ["aggregate", "prove", "Consensus", "Solution"])
def test_names_imported_later_do_not_load_pandas(name):
    assert modules_after(f"from crowdopt import {name}").isdisjoint({"pandas", "polars", "sklearn", "openpyxl"})


def imported_by(path: Path) -> set[str]:
    """Every module that a source file imports, at the top or inside a function, in full."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_engines_know_nothing_of_tables_or_of_the_check():
    for path in (SOURCE / "engines").rglob("*.py"):
        rooms = {name.split(".")[1] for name in imported_by(path) if name.startswith("crowdopt.")}
        assert rooms.isdisjoint({"data", "results", "verify", "pipeline"}), path
        assert imported_by(path).isdisjoint(HEAVY), path
