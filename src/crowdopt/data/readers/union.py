"""What the readers of all formats give: a part of the rows, and how to select columns of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crowdopt.data.readers.duckdb_errors import MARK
from crowdopt.data.tables.workspace import EXACT, literal, quote
from crowdopt.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crowdopt.data.columns import Choose
    from crowdopt.data.tables.workspace import Workspace

INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
            "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}  # fmt: skip
REALS = {"FLOAT", "DOUBLE"}
WORDS = {"VARCHAR": "texts", "BOOLEAN": "true or false", "DATE": "dates", "TIME": "times", "TIMESTAMP": "times"}
"""What other values are for people, by how the names of their types begin."""


@dataclass(frozen=True)
class Part:
    """Files that one query reads.

    Attributes:
        name: What messages call it: the first of the files.
        columns: The columns that it has, with duplicates.
        select: The query for some of the columns, and which of them are known to hold no value at all;
            may have to look at the file.
        inside: The same part with what is inside its objects as columns, too; None if there is nothing of that kind.
        notes: What is odd about its rows, in words.
        why_missing: Why it has no column of a name, in words, where that is known; may have to look at the file.
    """

    name: str
    columns: Sequence[str]
    select: Callable[[Sequence[str]], tuple[str, frozenset[str]]]
    inside: Callable[[], Part] | None = None
    notes: tuple[str, ...] = ()
    why_missing: Callable[[str], str] = lambda _: ""


def choose_columns(parts: Sequence[Part], choose: Choose) -> tuple[Sequence[Part], list[str]]:
    """The columns to read; what is inside objects is looked at only if the columns alone do not do."""
    try:
        return parts, _chosen(parts, choose)
    except ColumnError:
        if all(part.inside is None for part in parts):
            raise
    parts = [part if part.inside is None else part.inside() for part in parts]
    try:
        return parts, _chosen(parts, choose)
    except ColumnError as error:
        if said := next((said for name in error.missing for part in parts if (said := part.why_missing(name))), ""):
            raise ColumnError(said, missing=error.missing) from error
        raise


def _chosen(parts: Sequence[Part], choose: Choose) -> list[str]:
    chosen = choose(available_columns(parts))
    check_columns(parts, chosen)
    return chosen


def available_columns(parts: Sequence[Part]) -> list[str]:
    """The columns that there are in any part; one that is twice in the same file is here twice."""
    columns = list(parts[0].columns)
    seen = set(columns)
    for part in parts[1:]:
        columns += [name for name in part.columns if name not in seen]
        seen.update(part.columns)
    return columns


def check_columns(parts: Sequence[Part], chosen: Sequence[str]) -> None:
    """Every part must have every chosen column once, whatever its letter case."""
    lowered: dict[str, str] = {}
    for name in chosen:
        other = lowered.setdefault(name.lower(), name)
        if other != name:
            files = dict.fromkeys(part.name for one in (other, name) for part in parts if one in part.columns)
            both = f"{other!r} and {name!r}"
            raise ColumnError(
                f"{', '.join([*files][:2])}: columns {both} differ only in upper and lower case; rename one"
            )
    if "" in chosen:
        raise ColumnError("a column has no name; give it one in the header")
    for name in chosen:
        for part in parts:
            count = list(part.columns).count(name) if name in part.columns else 0
            if count == 0:
                holder = next((other.name for other in parts if name in other.columns), "another file")
                raise ColumnError(f"{part.name} has no column {name!r}, but {holder} has")
            if count > 1:
                raise ColumnError(f"{part.name} has {count} columns named {name!r}; rename all but one")


def filled(parts: Sequence[Part], chosen: Sequence[str]) -> list[Part]:
    """The parts with all columns: one that a part does not have is there without values."""
    return [_filled(part, [name for name in chosen if name not in part.columns]) for part in parts]


def _filled(part: Part, missing: Sequence[str]) -> Part:
    def select(chosen: Sequence[str]) -> tuple[str, frozenset[str]]:
        query, nulls = part.select([name for name in chosen if name not in missing])
        cells = ", ".join(f"NULL::VARCHAR AS {quote(name)}" if name in missing else quote(name) for name in chosen)
        return f"SELECT {cells} FROM ({query})", nulls | {*missing}

    return replace(part, columns=[*part.columns, *missing], select=select) if missing else part


def concatenate(parts: Sequence[Part], chosen: Sequence[str], workspace: Workspace) -> str:
    """The query for the chosen columns of all parts, of the same types."""
    selected = [part.select(chosen) for part in parts]
    queries = [query for query, _ in selected]
    types = [_types(query, nulls, workspace) for query, nulls in selected]
    files = [part.name for part in parts]
    for name, *own in zip(chosen, *types, strict=True):
        for file, one in zip(files, own, strict=True):
            if one.endswith("]") or one.startswith(("STRUCT", "MAP", "UNION", "VARIANT")):
                raise ColumnError(
                    f"column {name!r} of {file} is nested ({one}); one value per row is needed: make a column of it"
                )
    common = [_common(name, own, files) for name, *own in zip(chosen, *types, strict=True)]
    return " UNION ALL ".join(_cast(query, chosen, own, common) for query, own in zip(queries, types, strict=True))


def _types(query: str, nulls: frozenset[str], workspace: Workspace) -> list[str]:
    found = workspace.sql(query)
    return ["NULL" if name in nulls else str(one) for name, one in zip(found.columns, found.types, strict=True)]


def _common(name: str, types: Sequence[str], files: Sequence[str]) -> str:
    """The type that all parts can have without loss; empty to leave it to the database."""
    known = {one: file for one, file in reversed(list(zip(types, files, strict=True))) if one != "NULL"}
    if len(known) < 2:
        return next(iter(known), "VARCHAR")
    if known.keys() <= INTEGERS:
        return ""
    if known.keys() <= INTEGERS | REALS:
        return "DOUBLE"
    (first, file), (second, other) = list(reversed(known.items()))[:2]
    kinds = [_in_words(first), _in_words(second)]
    if kinds[0] == kinds[1]:
        kinds = [f"{_in_words(one)} ({one})" for one in (first, second)]
    raise ColumnError(
        f"column {name!r} has {kinds[0]} in {file} and {kinds[1]} in {other}; make them the same type, for example by "
        "saving both files in one format"
    )


def _in_words(type_: str) -> str:
    """What the values of a type are.

    >>> _in_words("UBIGINT"), _in_words("DECIMAL(18,3)"), _in_words("TIMESTAMP_NS"), _in_words("BLOB")
    ('numbers', 'numbers', 'times', 'values of the type BLOB')
    """
    plain = type_.partition("(")[0]
    if plain in INTEGERS | REALS | {"DECIMAL"}:
        return "numbers"
    return WORDS.get(plain.partition("_")[0].partition(" ")[0], f"values of the type {type_}")


def _cast(query: str, names: Sequence[str], types: Sequence[str], common: Sequence[str]) -> str:
    if all(target in ("", own) for own, target in zip(types, common, strict=True)):
        return query
    cells = []
    for name, own, target in zip(names, types, common, strict=True):
        cell = quote(name)
        if target == "DOUBLE" and own in INTEGERS:
            # beyond this, different integers would silently become the same number
            message = f"{MARK}column {name!r} has fractions in one file and in another integers too large for that"
            large = f"{cell} NOT BETWEEN -{EXACT} AND {EXACT}"
            cell = f"CASE WHEN {large} THEN error({literal(message)}) ELSE {cell}::DOUBLE END AS {cell}"
        elif target not in ("", own):
            cell = f"{cell}::{target} AS {cell}"
        cells.append(cell)
    return f"SELECT {', '.join(cells)} FROM ({query})"
