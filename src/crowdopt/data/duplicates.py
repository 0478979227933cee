"""What to do when a worker answered a task more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw

from crowdopt.data.tables.table import Table, distinct_rows, fetch, settle, surely_distinct
from crowdopt.errors import DuplicateError, InputError
from crowdopt.model.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

PAIR = ("task", "worker")
IN_GROUP = ("group", *PAIR)


def resolve_duplicates(table: Table, reading: Reading) -> Table:
    """The table (task, worker, label) with at most one label per (task, worker), unless all are wanted.

    Rows without a label stay: they keep their task alive.

    Raises:
        DuplicateError: With counts, examples and the option to add.
    """
    if reading.duplicates == "all":
        return table
    labelled = table.filter(~nw.col("label").is_null())
    if reading.duplicates == "error":
        if not surely_distinct(labelled, PAIR) and _count_repeated(labelled):
            raise DuplicateError(_describe(labelled))
        return table
    distinct = _distinct(labelled, reading, PAIR)
    if conflicts := _count_repeated(distinct):
        raise DuplicateError(_describe_conflicts(distinct, conflicts, reading))
    return _with_unlabelled(distinct, table)


def resolve_in_groups(table: Table, reading: Reading) -> tuple[Table, dict[str, str]]:
    """The same for a table with groups, and what is wrong with each group where something is; its rows stay."""
    if reading.duplicates == "all":
        return table, {}
    labelled = table.filter(~nw.col("label").is_null())
    if reading.duplicates == "error":
        if surely_distinct(labelled, IN_GROUP):
            return table, {}
        kinds = nw.col("label").n_unique().alias("kinds")
        pairs = settle(labelled.group_by(*IN_GROUP).agg(nw.len().alias("n"), kinds).filter(nw.col("n") > 1))
        conflict = nw.when(nw.col("kinds") > 1).then(nw.lit(1)).alias("conflict")
        found = fetch(
            pairs.select("group", conflict).group_by("group").agg(nw.len().alias("n"), nw.col("conflict").count())
        )
        numbers = zip(found["group"], found["n"], found["conflict"], strict=True)
        return table, {group: _words(int(n), int(conflicts)) for group, n, conflicts in numbers}
    distinct = _distinct(labelled, reading, IN_GROUP)
    repeated = distinct.group_by(*IN_GROUP).agg(nw.len().alias("n")).filter(nw.col("n") > 1)
    found = fetch(repeated.group_by("group").agg(nw.len().alias("pairs")))
    wrong = {group: _conflict_words(int(n), reading) for group, n in zip(found["group"], found["pairs"], strict=True)}
    return _with_unlabelled(distinct, table), wrong


def _distinct(labelled: Table, reading: Reading, keys: Sequence[str]) -> Table:
    """The rows that count, once each; several of one worker and task are in conflict."""
    if reading.order_by:
        labelled = _extreme(labelled, reading, keys)
    return settle(distinct_rows(labelled.select(*_without_order(labelled))))


def _with_unlabelled(distinct: Table, table: Table) -> Table:
    columns = _without_order(table)
    return nw.concat([distinct.select(*columns), table.filter(nw.col("label").is_null()).select(*columns)])


def _without_order(table: Table) -> list[str]:
    return [name for name in table.collect_schema().names() if name != "order"]


def _extreme(labelled: Table, reading: Reading, keys: Sequence[str]) -> Table:
    """Only the first (or last) row of each (task, worker) by the order column; several where it does not decide."""
    order = nw.col("order")
    nulls = fetch(labelled.filter(order.is_null()).select(nw.len().alias("n")))["n"][0]
    if nulls:
        raise InputError(f"{nulls} rows have no value in the --order-by column {reading.order_by!r}")
    chosen = order.min() if reading.duplicates == "first" else order.max()
    extreme = labelled.group_by(*keys).agg(chosen.alias("extreme"))
    return labelled.join(extreme, on=list(keys), how="inner").filter(order == nw.col("extreme"))


def _repeated(labelled: Table) -> Table:
    return labelled.group_by(*PAIR).agg(nw.len().alias("n")).filter(nw.col("n") > 1)


def _count_repeated(labelled: Table) -> int:
    return int(fetch(_repeated(labelled).select(nw.len().alias("pairs")))["pairs"][0])


def _describe(labelled: Table) -> str:
    """How many pairs repeat, identically or not, with examples and the option to add."""
    rows = labelled.join(_repeated(labelled).select(*PAIR), on=list(PAIR), how="inner")
    pairs = rows.group_by(*PAIR).agg(nw.len().alias("n"), nw.col("label").n_unique().alias("kinds"))
    pairs = settle(pairs)
    total = int(fetch(pairs.select(nw.len().alias("n")))["n"][0])
    conflicts = int(fetch(pairs.filter(nw.col("kinds") > 1).select(nw.len().alias("n")))["n"][0])
    return _words(total, conflicts, f"; first: {_examples(pairs)}")


def _words(total: int, conflicts: int, examples: str = "") -> str:
    advice = (
        "add --duplicates same to count identical repeats once"
        if not conflicts
        else "add --duplicates all to count every row, or first|last with --order-by COL to keep one"
    )
    return (
        f"{total} (task, worker) pairs occur more than once: {total - conflicts} with identical labels, "
        f"{conflicts} with conflicting ones{examples}; {advice}"
    )


def _describe_conflicts(distinct: Table, conflicts: int, reading: Reading) -> str:
    return _conflict_words(conflicts, reading, f"; first: {_examples(_repeated(distinct))}")


def _conflict_words(conflicts: int, reading: Reading, examples: str = "") -> str:
    if reading.order_by:
        return (
            f"{conflicts} (task, worker) pairs have conflicting labels at the same {reading.order_by!r}, "
            f"which therefore cannot decide{examples}"
        )
    return (
        f"{conflicts} (task, worker) pairs have conflicting labels{examples}; "
        "add --duplicates all to count every row, or first|last with --order-by COL to keep one"
    )


def _examples(pairs: Table) -> str:
    rows = fetch(pairs.select(*PAIR).sort(*PAIR).head(3))
    return ", ".join(
        f"({canonical_text(task)}, {canonical_text(worker)})"
        for task, worker in zip(rows["task"], rows["worker"], strict=True)
    )
