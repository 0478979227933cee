"""Conditions on the columns of a row: ``status = Approved and seconds >= 5``, parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from crowdopt.errors import InputError

QUOTED = r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'"
"""A text in quotes; one that is part of it stands there twice."""

NAME = re.compile(rf"\s*(?:({QUOTED})|([^=!<>\"']+?))\s*(!=|<=|>=|==|=|<|>)", re.DOTALL)
BARE = r"[^=!<>&|\"'\s](?:[^=!<>&|\"']*[^=!<>&|\"'\s])??"
"""A value without quotes: no operator is part of it, so that none is taken for a text that no row has."""

VALUE = re.compile(rf"\s*(?:({QUOTED})|({BARE}))\s*(?:\Z|(?<=\s)and\s+(?=\S))", re.IGNORECASE)
UNREAD = re.compile(r"(?:^|\s)(?:or(?:\s|$)|and$)", re.IGNORECASE)
"""Words that a bare value does not have: who writes them means another condition."""

EXAMPLE = '"status = Approved and seconds >= 5"'


@dataclass(frozen=True)
class Condition:
    """What must be true of a row.

    Attributes:
        column: The column.
        operator: How its value is compared: =, !=, <, <=, > or >=.
        value: What it is compared with; empty for no value.
    """

    column: str
    operator: str
    value: str

    @property
    def is_order(self) -> bool:
        """Whether it asks for more or for less."""
        return self.operator not in {"=", "!="}


@cache
def parse_conditions(text: str) -> tuple[Condition, ...]:
    """The conditions of a text, all of which must be true; none if it is empty.

    >>> [
    ...     (one.column, one.operator, one.value)
    ...     for one in parse_conditions('a b = x and "n" >= 5 and note != "b and c"')
    ... ]
    [('a b', '=', 'x'), ('n', '>=', '5'), ('note', '!=', 'b and c')]

    Raises:
        InputError: It cannot be read.
    """
    found, at = [], 0
    while at < len(text):
        name = NAME.match(text, at)
        if name is None:
            raise InputError(
                f"--where: {text[at:].strip()!r} is no condition; write it like {EXAMPLE}, with quotes around what "
                "has quotes or operators in it"
            )
        value = VALUE.match(text, name.end())
        if value is None or UNREAD.search(value[2] or ""):
            rest = text[name.end() :].strip() or "nothing"
            raise InputError(
                f"--where: {rest} is no value; write it like {EXAMPLE}, and '' for rows that have none; a bare "
                "value has no quotes and no = ! < > & |, and there is no or; quote a value that has these signs"
            )
        operator = "=" if name[3] == "==" else name[3]
        found.append(Condition(_plain(name[1], name[2]), operator, _plain(value[1], value[2])))
        at = value.end()
    return tuple(found)


def _plain(quoted: str | None, bare: str | None) -> str:
    if quoted is None:
        return bare or ""
    return quoted[1:-1].replace(quoted[0] * 2, quoted[0])
