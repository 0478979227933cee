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
"""What a worker may answer once."""

IN_GROUP = ("group", *PAIR)
"""The same, where groups may have tasks of one name."""


def resolve_duplicates(table: Table, reading: Reading) -> Table:
    """The table (task, worker, label) with at most one label per (task, worker), unless all are wanted.

    Rows without a label stay: they keep their task alive.

    Raises:
        DuplicateError: With counts, examples and the option to add.
    """
    resolved, repeated = _resolve(table, reading, PAIR)
    if repeated is not None:
        found = fetch(repeated.select(nw.len().alias("n"), nw.col("conflict").count()))
        examples = f"; first: {_examples(repeated)}"
        raise DuplicateError(_words(reading, int(found["n"][0]), int(found["conflict"][0]), examples))
    return resolved


def resolve_in_groups(table: Table, reading: Reading) -> tuple[Table, dict[str, str]]:
    """The same for a table with groups, and what is wrong with each group where something is; its rows stay."""
    resolved, repeated = _resolve(table, reading, IN_GROUP)
    if repeated is None:
        return resolved, {}
    found = fetch(repeated.group_by("group").agg(nw.len().alias("n"), nw.col("conflict").count()))
    numbers = zip(found["group"], found["n"], found["conflict"], strict=True)
    return resolved, {group: _words(reading, int(n), int(conflicts)) for group, n, conflicts in numbers}


def _resolve(table: Table, reading: Reading, keys: Sequence[str]) -> tuple[Table, Table | None]:
    """The table with at most one label per key, and the keys of which that is not true; None if there are none."""
    if reading.duplicates == "all":
        return table, None
    labelled = table.filter(~nw.col("label").is_null())
    if reading.duplicates == "error":
        return table, None if surely_distinct(labelled, keys) else _repeated(labelled, keys)
    distinct = _distinct(labelled, reading, keys)
    return _with_unlabelled(distinct, table), _repeated(distinct, keys)


def _repeated(rows: Table, keys: Sequence[str]) -> Table | None:
    """The keys that several rows have, with a mark where their labels are in conflict; None if there are none."""
    several = rows.group_by(*keys).agg(nw.len().alias("n")).filter(nw.col("n") > 1).select(*keys)
    if not fetch(several.select(nw.len().alias("n")))["n"][0]:
        return None
    theirs = rows.join(several, on=list(keys), how="inner").group_by(*keys)  # few rows: labels cost more to count
    kinds = theirs.agg(nw.col("label").n_unique().alias("kinds"))
    return settle(kinds.select(*keys, nw.when(nw.col("kinds") > 1).then(nw.lit(1)).alias("conflict")))


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


def _words(reading: Reading, total: int, conflicts: int, examples: str = "") -> str:
    keep_one = "add --duplicates all to count every row, or --duplicates first|last with --order-by COL to keep one"
    if reading.duplicates == "error":
        advice = keep_one if conflicts else "add --duplicates same to count identical repeats once"
        return (
            f"{total} (task, worker) pairs occur more than once: {total - conflicts} with identical labels, "
            f"{conflicts} with conflicting ones{examples}; {advice}"
        )
    conflicting = f"{total} (task, worker) pairs have conflicting labels"  # or classes: what is identical is one by now
    if reading.order_by:
        return f"{conflicting} at the same {reading.order_by!r}, which therefore cannot decide{examples}"
    return f"{conflicting}{examples}; {keep_one}"


def _examples(pairs: Table) -> str:
    rows = fetch(pairs.select(*PAIR).sort(*PAIR).head(3))
    return ", ".join(
        f"({canonical_text(task)}, {canonical_text(worker)})"
        for task, worker in zip(rows["task"], rows["worker"], strict=True)
    )
