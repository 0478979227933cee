"""Makes the tables of ``docs/dependencies.md`` from what is installed: run as ``python docs/dependencies.py``."""

from __future__ import annotations

import tomllib
from importlib.metadata import metadata, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
START, END = "<!-- made by docs/dependencies.py -->\n", "<!-- end -->\n"
DEVELOPMENT = {"dev", "docs"}
"""Extras that no user installs."""

WHY = {
    "adbc-driver-postgresql": "tables and queries of PostgreSQL, as Arrow",
    "adbc-driver-sqlite": "tables and queries of SQLite, as Arrow",
    "altair": "one grammar for the charts of the report and of the paper",
    "crowd-kit": "the usual methods, for `crowdopt compare`",
    "defusedxml": "lets openpyxl refuse workbooks whose XML explodes",
    "duckdb": "reads and counts files that may be larger than memory",
    "highspy": "linear programs, whose prices prove bounds",
    "jinja2": "the pages, with everything escaped",
    "narwhals": "one code for pandas, Polars, PyArrow, DuckDB and Spark",
    "numba": "compiled loops, loaded only where a search is large",
    "numpy": "arrays",
    "openpyxl": "Excel workbooks",
    "pandas": "pandas frames, and `GlobalOptimum`",
    "pyarrow": "tables of answers",
    "pyspark": "responses that are on a cluster",
    "rich": "tables and progress in the terminal",
    "scikit-learn": "what the methods of crowd-kit stand on",
    "scipy": "special functions, sparse matrices, optimisation",
    "typer": "the command line",
    "vl-convert-python": "charts as SVG and PNG, without a browser",
}
"""What each package that crowdopt names itself is for."""

SPDX = {
    "Apache 2.0 License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD",
    "BSD License": "BSD",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "PSFL": "PSF-2.0",
}
"""Licences by the names that packages give them; BSD where a package does not say with how many clauses."""


def extras() -> dict[str, list[Requirement]]:
    """What the package asks for: under "core" always, else with an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {"core": project["dependencies"]} | project["optional-dependencies"]
    return {name: [Requirement(one) for one in asked] for name, asked in named.items() if name not in DEVELOPMENT}


def closure(asked: list[Requirement]) -> dict[str, set[str]]:
    """All packages that come with some requirements in this environment, each with those that ask for it."""
    found: dict[str, set[str]] = {}
    done: set[tuple[str, str]] = set()
    todo = [(one, "") for one in asked]
    while todo:
        requirement, by = todo.pop()
        name = canonicalize_name(requirement.name)
        found.setdefault(name, set()).add(by)
        for extra in {"", *requirement.extras} - {extra for known, extra in done if known == name}:
            done.add((name, extra))
            inner = [Requirement(text) for text in requires(name) or []]
            todo += [(one, name) for one in inner if one.marker is None or one.marker.evaluate({"extra": extra})]
    return found


def licence(name: str) -> str:
    """The licence that an installed package names."""
    about = metadata(name)
    if expression := about.get("License-Expression"):
        return expression
    text = about.get("License") or ""
    classified = [
        one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or [] if one.startswith("License ::")
    ]
    if text and "\n" not in text:
        return SPDX.get(text, text)
    return " AND ".join(SPDX.get(one, one) for one in classified)


def rows() -> list[str]:
    """One row for each package, those that the package names itself first."""
    return [row for extra, asked in extras().items() for row in _rows(extra, asked)]


def _rows(extra: str, asked: list[Requirement]) -> list[str]:
    core = {} if extra == "core" else closure(extras()["core"])
    named = {canonicalize_name(one.name): str(one.specifier) for one in asked}
    found = {name: by for name, by in closure(asked).items() if name in named or name not in core}
    direct = [f"| {name} | `{named[name]}` | {licence(name)} | {WHY[name]} |" for name in sorted(named)]
    others = sorted(found.keys() - named.keys())
    return direct + [f"| {name} | | {licence(name)} | of {', '.join(sorted(found[name]))} |" for name in others]


def tables() -> str:
    """All tables, as they stand on the page."""
    head = "| package | versions | licence | what for |\n|---|---|---|---|\n"
    parts = []
    for extra, asked in extras().items():
        title = "Always" if extra == "core" else f"With `crowdopt[{extra}]`"
        parts.append(f"## {title}\n\n{head}" + "\n".join(_rows(extra, asked)) + "\n")
    return "\n".join(parts)


def main() -> None:
    """Writes the tables into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}\n{tables()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
