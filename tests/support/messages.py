"""All texts in the source that speak of options of the command line."""

from __future__ import annotations

import ast
import re
from functools import cache

from support.imports import SOURCE

OPTION = re.compile(r"(?<![\w-])--[a-z]|(?<![\w-])-o\b|\bcrowdopt (aggregate|compare|prove|verify)\b")
"""What the command line calls its options and commands."""

OTHERS = {"cli", "options"}
"""Rooms whose texts are not messages: what the command line alone says, and what is declared of options."""


def _texts(tree: ast.AST) -> list[tuple[int, str]]:
    """The texts of a module and their lines: with 7 in the place of what is filled in, and without docstrings."""
    docstrings, inside, found = set(), set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            said = "".join(part.value if isinstance(part, ast.Constant) else "7" for part in node.values)
            found.append((node.lineno, said))
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return found + [(node.lineno, node.value) for node in constants if id(node) not in docstrings | inside]


@cache
def messages() -> tuple[tuple[str, str], ...]:
    """Every text that names an option as the command line does, and where it is."""
    files = (path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in OTHERS)
    return tuple(
        (f"{path.relative_to(SOURCE)}:{line}", said)
        for path in files
        for line, said in _texts(ast.parse(path.read_text(encoding="utf-8")))
        if OPTION.search(said)
    )
