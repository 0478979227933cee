"""The check of a certificate shares no code with the engines, and knows none of them by name."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import crowdopt
from crowdopt.model.claims import CLAIMS

SOURCE = Path(crowdopt.__file__).parent
CORE = sorted(
    path.stem
    for pattern in ("recheck", "alternatives", "optimum*", "witness*")
    for path in (SOURCE / "verify").glob(f"{pattern}.py")
)
DECLARED = ("crowdopt.report", "crowdopt.engines.em.soft")
"""What verify reaches by way of a solution, and never asks for.

A solution can draw its report, which runs other methods beside it, and soften its matrices by a method that proves
nothing; both are imported inside its methods.
"""


def path_of(module: str) -> Path | None:
    path = SOURCE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path if path.is_file() else None


@cache
def imported_by(module: str) -> frozenset[str]:
    """The modules of the package that a module imports, at the top, inside a function, or for types alone."""
    path = path_of(module)
    assert path is not None
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(name for name in names if name.startswith("crowdopt.") and path_of(name) is not None)


def reached_from(module: str, but_not: tuple[str, ...] = ()) -> set[str]:
    """Every module of the package that a module reaches, directly or by way of others, leaving some out."""
    reached: set[str] = set()
    open_ends = {module}
    while open_ends:
        name = open_ends.pop()
        if not name.startswith(but_not or "-"):
            reached.add(name)
            open_ends |= imported_by(name) - reached
    return reached


def engines_in(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.startswith("crowdopt.engines"))


def modules_of_verify() -> list[str]:
    return [f"crowdopt.verify.{path.stem}" for path in (SOURCE / "verify").glob("*.py") if path.stem != "__init__"]


@pytest.mark.parametrize("module", modules_of_verify())
def test_what_checks_a_certificate_reaches_no_engine(module):
    assert engines_in(imported_by(module)) == []
    assert engines_in(reached_from(module, DECLARED)) == []


def test_the_whole_check_is_looked_at():
    reached = reached_from("crowdopt.verify.verify", DECLARED)
    assert {"crowdopt.data.load", "crowdopt.results.solution_file.format", "crowdopt.verify.groups"} <= reached
    assert {f"crowdopt.verify.{name}" for name in CORE} <= reached


def test_every_declared_exception_is_still_needed():
    for exception in DECLARED:
        others = tuple(other for other in DECLARED if other != exception)
        assert engines_in(reached_from("crowdopt.verify.verify", others)), exception


@pytest.mark.parametrize("name", CORE)
def test_the_core_of_the_check_needs_nothing_but_the_model(name):
    allowed = ("crowdopt.model.", "crowdopt.errors", "crowdopt._arrays")
    core = {f"crowdopt.verify.{other}" for other in CORE}
    for module in imported_by(f"crowdopt.verify.{name}"):
        assert module.startswith(allowed) or module in core, module


@pytest.mark.parametrize("module", modules_of_verify())
def test_no_engine_is_named(module):
    path = path_of(module)
    assert path is not None
    texts = {
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert texts.isdisjoint(CLAIMS)
