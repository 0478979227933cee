"""What to do when a worker answered a task more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw

from crowdopt.data.odd_rows import NO_REPEATS, SEPARATOR, Found, Repeats
from crowdopt.data.tables.table import Table, distinct_rows, fetch, settle, surely_distinct, with_texts
from crowdopt.errors import DuplicateError, InputError
from crowdopt.model.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

PAIR = ("task", "worker")
"""What a worker may answer once."""

KEPT = frozenset({"all", "distinct", "error"})
"""The rules by which every distinct answer counts: then it is known beforehand how many responses do."""

IN_GROUP = ("group", *PAIR)
"""The same, where groups may have tasks of one name."""


def resolve_duplicates(table: Table, reading: Reading) -> tuple[Table, Repeats]:
    """The responses (task, worker, label) that count by the rule of ``reading``, and what there is to note of repeats.

    Rows without a label stay: they keep their task alive.

    Raises:
        DuplicateError: With counts, examples and the option to add.
    """
    resolved, repeated, noted = _resolve(table, reading, PAIR)
    if repeated is None:
        whole = None if noted is None else noted.with_columns(nw.lit("").alias("group"))
        return resolved, NO_REPEATS if whole is None else _repeats(whole)[""]
    found = fetch(_with_conflicts(repeated).select(nw.len().alias("n"), nw.col("conflict").count()))
    examples = f"; first: {_examples(repeated)}"
    raise DuplicateError(_words(reading, int(found["n"][0]), int(found["conflict"][0]), examples))


def resolve_in_groups(table: Table, reading: Reading) -> tuple[Table, dict[str, Repeats], dict[str, str]]:
    """The same for a table with groups.

    Returns:
        The responses that count; what there is to note of repeats, by group; and what is wrong with each group where
        something is, whose rows stay.
    """
    resolved, repeated, noted = _resolve(table, reading, IN_GROUP)
    repeats = _repeats(noted) if noted is not None else {}
    if repeated is None:
        return resolved, repeats, {}
    found = fetch(_with_conflicts(repeated).group_by("group").agg(nw.len().alias("n"), nw.col("conflict").count()))
    numbers = zip(found["group"], found["n"], found["conflict"], strict=True)
    return resolved, repeats, {group: _words(reading, int(n), int(conflicts)) for group, n, conflicts in numbers}


def _resolve(table: Table, reading: Reading, keys: Sequence[str]) -> tuple[Table, Table | None, Table | None]:
    """The rows that count; the keys whose several answers the rule does not allow; and those to be noted.

    See :func:`_repeated` for both; None if there are none.
    """
    if reading.duplicates == "all":
        return table, None, None
    labelled = table.filter(~nw.col("label").is_null())
    if reading.order_by:
        extreme = _extreme(labelled, reading, keys)
        distinct = settle(distinct_rows(extreme.select(*_without_order(extreme))))
        return _with_unlabelled(distinct, table), _repeated(distinct, keys), None
    repeated = None if surely_distinct(labelled, keys) else _repeated(labelled, keys)
    if repeated is None or reading.duplicates == "error":
        return table, repeated, None
    distinct = settle(distinct_rows(labelled))
    wrong = _repeated(distinct, keys) if reading.duplicates == "same" else None
    return _with_unlabelled(distinct, table), wrong, repeated


def _repeated(rows: Table, keys: Sequence[str]) -> Table | None:
    """The keys that several rows have: how many, how many labels these have, the first and the last; None if none."""
    several = rows.group_by(*keys).agg(nw.len().alias("n")).filter(nw.col("n") > 1).select(*keys)
    if not fetch(several.select(nw.len().alias("n")))["n"][0]:
        return None
    theirs = rows.join(several, on=list(keys), how="inner").select(
        *keys, "label"
    )  # few rows: labels cost more to count
    texts = with_texts(theirs, ["label"]).with_columns(nw.col("label").alias("last"))
    found = texts.group_by(*keys).agg(
        nw.len().alias("n"), nw.col("last").n_unique().alias("kinds"), nw.col("label").min(), nw.col("last").max()
    )
    return settle(found)


def _with_conflicts(repeated: Table) -> Table:
    """Repeated keys with a mark where their labels are in conflict."""
    return repeated.with_columns(nw.when(nw.col("kinds") > 1).then(nw.lit(1)).alias("conflict"))


def _repeats(repeated: Table) -> dict[str, Repeats]:
    """What there is to note of repeated keys, by group; the examples do not depend on the order of the rows."""
    between = nw.lit(SEPARATOR)
    parts = [part for name in (*PAIR, "label", "last") for part in (between, nw.col(name))]
    named = with_texts(repeated, PAIR).select(
        "group", "kinds", (nw.col("n") - nw.col("kinds")).alias("again"), nw.concat_str(parts[1:]).alias("example")
    )
    again = named.filter(nw.col("again") > 0).group_by("group")
    conflicts = named.filter(nw.col("kinds") > 1).group_by("group")
    repeats = _found(again.agg(nw.col("again").sum().alias("n"), nw.col("example").min()))
    different = _found(conflicts.agg(nw.len().alias("n"), nw.col("example").min()))
    return {
        group: Repeats(repeats.get(group, Found()), different.get(group, Found())) for group in {*repeats, *different}
    }


def _found(by_group: Table) -> dict[str, Found]:
    rows = fetch(by_group)
    numbers = zip(rows["group"], rows["n"], rows["example"], strict=True)
    return {group: Found(int(n), example) for group, n, example in numbers}


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
    keep_one = "add --duplicates first|last with --order-by COL to keep one"
    one = total == 1
    pairs = f"{total} (task, worker) {'pair' if one else 'pairs'}"
    if reading.duplicates == "error":
        return (
            f"{pairs} {'occurs' if one else 'occur'} more than once: {total - conflicts} with identical labels, "
            f"{conflicts} with conflicting ones{examples}; leave out --duplicates error to count each distinct answer "
            f"once, say --duplicates all to count every row, or {keep_one}"
        )
    conflicting = f"{pairs} {'has' if one else 'have'} conflicting labels"  # or classes: what is identical is one
    if reading.order_by:
        return f"{conflicting} at the same {reading.order_by!r}, which therefore cannot decide{examples}"
    return f"{conflicting}{examples}; leave out --duplicates same to count each of them, or {keep_one}"


def _examples(pairs: Table) -> str:
    rows = fetch(pairs.select(*PAIR).sort(*PAIR).head(3))
    return ", ".join(
        f"({canonical_text(task)}, {canonical_text(worker)})"
        for task, worker in zip(rows["task"], rows["worker"], strict=True)
    )
