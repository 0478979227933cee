"""The import graph of the package, read from its source."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import crowdopt

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(crowdopt.__file__).parent


@dataclass(frozen=True)
class Import:
    """One module imports another, of the package or not; ``for_types`` if only type checkers see it."""

    module: str
    target: str
    line: int
    for_types: bool
    in_function: bool


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its name within it; a folder stands for its ``__init__``."""
    names = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@cache
def imports() -> tuple[Import, ...]:
    """Every import of every module; what is imported from the package is told as a module of it."""
    return tuple(found for module in modules() for found in _imports(module, tree_of(module)))


def _imports(module: str, node: ast.AST, *, for_types: bool = False, in_function: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for target in _targets(child):
                yield Import(module, target, child.lineno, for_types, in_function)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            yield from _imports(module, child, for_types=True, in_function=in_function)
        else:
            inside = in_function or isinstance(child, ast.FunctionDef | ast.Lambda)
            yield from _imports(module, child, for_types=for_types, in_function=inside)


def _targets(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {_within(alias.name) for alias in node.names}
    assert node.level == 0, "imports are absolute"
    whole = [f"{node.module}.{alias.name}" for alias in node.names]
    return {_within(name) if _within(name) in modules() else _within(str(node.module)) for name in whole}


def _within(name: str) -> str:
    """The name within the package; as it is if it belongs to another one."""
    return name.removeprefix("crowdopt.") if name.startswith("crowdopt.") else "" if name == "crowdopt" else name


def cycles(*, for_types: bool) -> list[set[str]]:
    """Modules that reach each other, as sets of at least two; with what only type checkers see if wanted."""
    reached = {module: _reached(module, for_types=for_types) for module in modules() if module}
    found = {frozenset({one, *(other for other in reached[one] if one in reached.get(other, ()))}) for one in reached}
    return [set(cycle) for cycle in found if len(cycle) > 1]


def _reached(module: str, *, for_types: bool) -> set[str]:
    seen, left = set(), [module]
    while left:
        for target in _direct(for_types=for_types).get(left.pop(), ()):
            if target not in seen:
                seen.add(target)
                left.append(target)
    return seen


@cache
def _direct(*, for_types: bool) -> dict[str, set[str]]:
    direct: dict[str, set[str]] = {}
    for one in imports():
        if one.target and one.target in modules() and one.target != one.module and (for_types or not one.for_types):
            direct.setdefault(one.module, set()).add(one.target)
    return direct
