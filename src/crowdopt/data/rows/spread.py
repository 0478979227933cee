"""Wide tables: which columns are workers (or tasks, where a row is a worker), and what these are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.rows.patterns import ANY, matching
from crowdopt.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

FEW = 12
"""Columns that an error lists."""


def spread_columns(reading: Reading, available: Sequence[str]) -> dict[str, str]:
    """The columns of a wide table that have answers, and the workers (or tasks) that they are.

    Raises:
        ColumnError: There is none, or one that is named is not there, or two would be one worker.
    """
    roles = {reading.index, reading.group, reading.class_column, *reading.keep}
    free = [name for name in available if name not in roles]
    if not reading.across_columns:
        free = [name for name in free if name not in reading.where_columns]
        if not free:
            raise ColumnError(
                f"a wide table needs one column per {reading.across} beside {reading.index!r}; there is none"
            )
        return {name: name for name in free}
    found: dict[str, str] = {}
    for named in reading.across_columns:
        found |= {name: own for name, own in _meant(named, free, available, reading).items() if name not in found}
    by_name: dict[str, str] = {}
    for name, own in found.items():
        if (other := by_name.setdefault(own, name)) != name:
            raise ColumnError(f"columns {other!r} and {name!r} are both the {reading.across} {own!r}; leave out one")
    return found


def _meant(named: str, free: Sequence[str], available: Sequence[str], reading: Reading) -> dict[str, str]:
    """The columns of a name or of a pattern, and what each is called."""
    option = f"--{reading.across}-columns"
    if (n := list(available).count(named)) > 1:
        raise ColumnError(f"there are {n} columns named {named!r}: one column per {reading.across} is needed")
    if named in free:
        return {named: named}
    if named in available:
        raise ColumnError(f"column {named!r} cannot be a {reading.across} ({option}) and something else, too")
    listed = ", ".join(free[:FEW]) + (", …" if len(free) > FEW else "")
    if ANY not in named:
        raise ColumnError(f"no column named {named!r} for the {option} option (columns: {listed})", missing=(named,))
    if named.count(ANY) > 1:
        raise ColumnError(f"the pattern {named!r} ({option}) has more than one {ANY}; one stands for the name alone")
    matches = matching(named, [name for name in free if name not in reading.where_columns])
    if not matches:
        raise ColumnError(f"no column is like {named!r} for the {option} option (columns: {listed})", missing=(named,))
    for name in matches:
        if (n := list(available).count(name)) > 1:
            raise ColumnError(f"there are {n} columns named {name!r}: one column per {reading.across} is needed")
    return matches
