"""Rows that count by their values (``--where``): the same rows of any table, wherever it lives."""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.columns import choose_responses
from crowdopt.data.rows.conditions import parse_conditions
from crowdopt.data.tables.table import Table, adopt, distinct_rows, fetch, held_as, released, with_numbers, with_texts
from crowdopt.data.tables.workspace import EXACT, Workspace, quote
from crowdopt.errors import InputError
from crowdopt.model.letters import BLANKS
from crowdopt.model.scale import as_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.data.reading import Reading
    from crowdopt.data.rows.conditions import Condition

OPERATORS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

DIGITS = "^[+-]?[0-9]+$"
"""A whole number, of any length."""

TRUTHS = ("true", "false")
"""Truth values, which tools write in lower, upper and mixed case."""

COUNTS = "crowdopt_counts"
"""The column that says whether a row counts."""

FEW = 5
"""Values that an error shows."""


def rows_that_count(data: Any, reading: Reading) -> tuple[Any, str]:
    """The rows of a user's frame (or relation) that count, as a frame of its kind, and what to say of the others.

    Raises:
        InputError: No row counts.
    """
    table = adopt(data, choose_responses(reading))
    marked = _marked(table, parse_conditions(reading.where))
    rows, counting, without = _counted(marked, reading)
    if rows and not counting:
        raise InputError(f"none of the {rows:,} rows is left by --where ({reading.where}){_found(table, reading)}")
    frame = nw.from_native(data)
    if isinstance(frame, nw.DataFrame):  # whose columns keep their types so, which are not all known to Narwhals
        kept = frame.filter(marked.select(COUNTS).collect()[COUNTS].to_list()).to_native()
    else:
        kept = released(marked.filter(nw.col(COUNTS)).drop(COUNTS))
    left_out = f"{rows - counting:,} of {rows:,} rows left out by --where ({reading.where})"
    odd = [
        f"{f'{n:,} rows have' if n > 1 else '1 row has'} no number in {name!r} and {'are' if n > 1 else 'is'} left out"
        for name, n in without.items()
        if n
    ]
    return kept, "; ".join([left_out, *odd])


def _counted(marked: Table, reading: Reading) -> tuple[int, int, dict[str, int]]:
    """How many rows there are, how many count, and how many have no number in a column where one is asked for."""
    ordered = [
        one.column for one in parse_conditions(reading.where) if one.is_order and as_number(one.value) is not None
    ]
    numbers = {f"crowdopt_number_{place}": name for place, name in enumerate(dict.fromkeys(ordered))}
    for number, name in numbers.items():
        text = number.replace("number", "of")
        marked = with_numbers(marked.with_columns(nw.col(held_as(marked, name)).alias(text)), text, number)
    found = fetch(
        marked.select(
            nw.len().alias("rows"),
            nw.when(nw.col(COUNTS)).then(nw.lit(1)).count().alias("counting"),
            *(nw.col(number).count().alias(number) for number in numbers),
        )
    )
    rows, counting, *known = (int(column[0]) for column in found.values())
    return rows, counting, {name: rows - n for name, n in zip(numbers.values(), known, strict=True)}


def with_counting(query: str, cells: Mapping[str, str], where: str, workspace: Workspace) -> str:
    """The query for the rows of another with a column ``COUNTS``: whether they count, as far as some columns tell.

    Args:
        query: The rows.
        cells: An expression for each column that can be told.
        where: The conditions; those on other columns are not looked at.
        workspace: The database.
    """
    asked = [one for one in parse_conditions(where) if one.column in cells]
    if not asked:
        return f"SELECT *, true AS {COUNTS} FROM ({query})"
    held = {name: f"crowdopt_where_{place}" for place, name in enumerate(dict.fromkeys(one.column for one in asked))}
    named = ", ".join(f"{cells[name]} AS {quote(own)}" for name, own in held.items())
    table = adopt(workspace.sql(f"SELECT *, {named} FROM ({query})"), list)
    marked = _marked(table, [replace(one, column=held[one.column]) for one in asked])
    return f"SELECT * EXCLUDE ({', '.join(held.values())}) FROM ({released(marked).sql_query()})"


def answered_only(gold: Any, table: Any, reading: Reading) -> Any:
    """Of the known labels of an export those of tasks that still have responses: others teach nothing."""
    if gold is None:
        return None
    keys = [name for name in (reading.group, reading.task) if name]
    answered = adopt(table, lambda _: keys).unique()
    known = adopt(gold, list).join(answered, on=[held_as(answered, name) for name in keys], how="semi")
    return released(known)


def is_any(rows: Any) -> bool:
    """Whether a table has rows."""
    return bool(fetch(adopt(rows, list).head(1).select(nw.len().alias("n")))["n"][0])


def _marked(table: Table, conditions: Sequence[Condition]) -> Table:
    """The table with a column that says whether a row counts, and none beside it that was not there."""
    names = table.collect_schema().names()
    marks = []
    for place, condition in enumerate(conditions):
        text, number = f"crowdopt_text_{place}", f"crowdopt_number_{place}"
        table = table.with_columns(nw.col(held_as(table, condition.column)).alias(text))
        of_numbers = as_number(condition.value)
        if of_numbers is not None:
            table = with_numbers(table, text, number)
        table = with_texts(table, [text])
        marks.append(_mark(condition, text, number if of_numbers is not None else None, of_numbers))
    return table.with_columns(reduce(operator.and_, marks).alias(COUNTS)).select(*names, COUNTS)


def _mark(condition: Condition, text: str, number: str | None, value: float | None) -> nw.Expr:
    """Whether a condition is true: as numbers if both are, else as texts, of which a missing one is empty.

    What is no number is neither more nor less than one.
    """
    compare = OPERATORS[condition.operator]
    own = nw.when(~nw.col(text).is_null()).then(nw.col(text)).otherwise(nw.lit("")).str.strip_chars(BLANKS)
    wanted = condition.value.strip(BLANKS)
    is_truth = wanted.lower() in TRUTHS and condition.operator in {"=", "!="}
    by_text: nw.Expr = compare(own.str.to_lowercase(), wanted.lower()) if is_truth else compare(own, wanted)
    if condition.is_order:  # what is not there is neither more nor less
        by_text &= own != ""
    if number is None:
        return by_text
    known = ~nw.col(number).is_null()
    by_number: nw.Expr = compare(nw.col(number), nw.lit(value))
    if condition.is_order:
        return known & by_number
    whole = _whole(condition.value)
    if whole is not None:
        is_whole = own.str.contains(DIGITS)
        by_digits: nw.Expr = compare(own.str.replace_all("^[+]?0*", ""), whole)
        by_number = (is_whole & by_digits) | (~is_whole & by_number)
    return (known & by_number) | (~known & by_text)


def _whole(text: str) -> str | None:
    """The canonical text of a whole number that is no fraction of its own; None for all else.

    >>> _whole("+012345678901234567"), _whole("123"), _whole("1e20")
    ('12345678901234567', None, None)
    """
    if not re.fullmatch(DIGITS, text.strip(BLANKS)) or abs(number := int(text)) < EXACT:
        return None
    return str(number)


def _found(table: Table, reading: Reading) -> str:
    """What a column of a condition has instead, if there is but one condition."""
    first, *others = parse_conditions(reading.where)
    if others:
        return ""
    held = held_as(table, first.column)
    values = distinct_rows(with_texts(table.select(nw.col(held).alias("value")), ["value"])).sort("value")
    found = fetch(values.filter(~nw.col("value").is_null()).head(FEW + 1))["value"]
    listed = ", ".join(map(repr, found[:FEW])) + (", …" if len(found) > FEW else "")
    return f"; column {first.column!r} has {listed or 'no value'}"
