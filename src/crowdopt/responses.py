"""Responses: the long table of (task, worker, label), checked, and counted per task by one GROUP BY."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.bins import bin_labels
from crowdopt.buckets import Buckets
from crowdopt.classes import WorkerClass, check_ranks, classed, find_classes, with_classes
from crowdopt.duplicates import resolve_duplicates
from crowdopt.errors import ColumnError, GoldError, InputError
from crowdopt.frames import (
    Table,
    adopt,
    fetch,
    fetch_integers,
    lengthen,
    ordered_categories,
    settle,
    settle_by,
    with_texts,
)
from crowdopt.gold import GoldCounts, count_array, with_gold
from crowdopt.read.columns import check_answer_columns, choose_responses
from crowdopt.scale import MAX_LABELS, Scale, canonical_text, hint_bins
from crowdopt.scores import bin_responses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crowdopt.reading import Reading

ANSWER_COLUMNS = ("task", "label", "confidence", "margin", "margin_kind", "n_responses", "status")
"""The columns of the answers; what is kept from the source stands behind them under its own name."""


@dataclass(frozen=True, eq=False)
class Responses:
    """Checked responses.

    Attributes:
        table: One row per response: task, worker, label, and the class of the worker if there are classes. A row
            without a label stands for a task that must have an answer even if nobody gave it a label.
        kept: One row per task with the columns to carry to the answers, or None.
        scale: The labels.
        types: Types of the task, worker and label columns as the source has them; None for what is no column.
        classes: The classes of workers, in the order in which they are counted; none if all are alike.
        n_workers: Workers with at least one label.
        n_usable: Responses that have a task, a worker and a label, if all of them are to be counted; else None.
        n_dropped: Rows left out because something was missing.
        reading: The options that it was read with; what was taken from the type of the label column, or from the
            range of the scores, is said in them.
    """

    table: Table
    kept: Table | None
    scale: Scale
    types: dict[str, Any]
    classes: tuple[WorkerClass, ...]
    n_workers: int
    n_usable: int | None
    n_dropped: int
    reading: Reading


@dataclass(frozen=True, eq=False)
class TaskCounts:
    """Responses per task, class and label, and the buckets that they make.

    Attributes:
        table: One row per task: task, a count column for every label that occurs (of every class), and the gold label
            if there are any.
        columns: The count columns, and for each the place of its class and label among all: class * labels + label.
        buckets: The distinct counts.
        n_no_response: Tasks without any usable response; they are in ``table`` but in no bucket.
        gold: Tasks of known label, if there are any; they are in ``table`` but in no bucket either.
    """

    table: Table
    columns: dict[str, int]
    buckets: Buckets
    n_no_response: int
    gold: GoldCounts | None = None


def check(
    source: Any, reading: Reading, *, n_bins: int = 0, resolved: bool = False, scale: Scale | None = None
) -> Responses:
    """Checks a frame (or relation) of responses.

    Args:
        source: The frame.
        reading: How to read it.
        n_bins: Into how many bins of equal width to put scores; 0 if they are labels, or if the reading has the edges.
        resolved: Whether the reading comes from a solution: it then says all that the type of a column could say.
        scale: The scale that the labels must be on; None to take it from the reading and the data.

    Raises:
        InputError: With what is wrong, where, and the option to add.
    """
    if n_bins:
        reading.check_binnable()
    table = adopt(source, choose_responses(reading))
    check_answer_columns([*ANSWER_COLUMNS, *reading.keep])
    schema = table.collect_schema()
    columns = {"task": reading.task} | ({} if reading.wide else {"worker": reading.worker, "label": reading.label})
    types: dict[str, Any] = {"worker": None, "label": None} | {name: schema[own] for name, own in columns.items()}
    kept = _kept(table, reading)
    answered = _workers(schema, reading) if reading.wide else [reading.label]
    check_ranks(reading)
    table = with_classes(clean(_long(table, reading), reading), reading)
    if n_bins or reading.bins:
        types["label"] = None
        table, reading = bin_responses(table, reading, n_bins)
    elif not resolved:
        reading = _with_categories(reading, ordered_categories(source, answered))
    overview = _Overview(table, reading)
    n_dropped = overview.check_missing(reading)
    if scale is not None:
        scale = Scale.of(overview.labels(), scale.labels, scale.kind)
    elif reading.bins:
        scale = Scale.of(overview.labels(), bin_labels(reading.bins), "ordinal")
    else:
        scale = Scale.of(overview.labels(), reading.labels, reading.scale)
    classes = overview.classes(reading)
    usable = ~nw.col("worker").is_null()
    wanted: list[Any] = ["task", "worker"]
    if classes:
        usable &= ~nw.col("class").is_null()
        wanted.append("class")
    wanted += [nw.when(usable).then(nw.col("label")).alias("label"), *(["order"] if reading.order_by else [])]
    table = table.filter(~nw.col("task").is_null()).select(*wanted)
    return Responses(
        table=resolve_duplicates(table, reading),
        kept=kept,
        scale=scale,
        types=types,
        classes=classes,
        n_workers=overview.n_workers(),
        n_usable=overview.n_usable() if reading.duplicates in {"all", "error"} else None,
        n_dropped=n_dropped,
        reading=reading,
    )


def count_tasks(responses: Responses, folder: Path | None = None) -> TaskCounts:
    """One GROUP BY over tasks, and one over the counts that come out.

    Args:
        responses: The responses.
        folder: Where the counts may be kept, if they are many.
    """
    scale = responses.scale
    indicators = dict(_indicators(responses))
    columns = {f"c{at}": at for at in indicators}
    shape = (max(len(responses.classes), 1), scale.n_labels)
    per_task = settle_by(
        responses.table.select("task", *(indicators[at].alias(name) for name, at in columns.items())),
        "task",
        lambda table: table.group_by("task").agg(nw.col(name).count() for name in columns),
        folder,
    )
    histogram = fetch_integers(per_task.group_by(*columns).agg(nw.len().alias("n_tasks")))
    counts, weights = count_array(histogram, columns, shape), histogram["n_tasks"]
    _check_counted(int(weights @ counts.sum(axis=(1, 2))), responses)
    gold = None
    if responses.reading.gold:
        per_task = with_gold(per_task, responses.reading.gold, scale)
        gold = GoldCounts.of(per_task, columns, shape)
        counts, weights = gold.taken_from(counts, weights)
    buckets, _ = Buckets.from_arrays(counts, weights)
    if gold is not None and not buckets.n_buckets:
        raise GoldError("every task with a response has a gold label: there is nothing left to estimate")
    return TaskCounts(per_task, columns, buckets, int(weights[counts.sum(axis=(1, 2)) == 0].sum()), gold)


def _indicators(responses: Responses) -> Iterator[tuple[int, nw.Expr]]:
    """For each class and occurring label: their place in a row of counts, and one where a response is theirs."""
    scale = responses.scale
    for k, of_class in enumerate(responses.classes or [None]):
        for j in sorted(scale.occurring):
            theirs = nw.col("label") == scale.values[j]
            if of_class is not None:
                theirs &= nw.col("class") == of_class.name
            yield k * scale.n_labels + j, nw.when(theirs).then(nw.lit(1))


def _check_counted(counted: int, responses: Responses) -> None:
    """Raises if a label was found and yet not counted, which could else be taken for a task without responses."""
    if responses.n_usable is not None and counted != responses.n_usable:
        raise InputError(
            f"only {counted} of {responses.n_usable} responses could be counted: values of the label column "
            f"({responses.types['label']}) do not equal themselves; make it a column of text"
        )


def _kept(table: Table, reading: Reading) -> Table | None:
    if not reading.keep:
        return None
    schema = table.collect_schema()
    kept = table.select(
        nw.col(reading.task).alias("task"),
        *(_column(table, name, schema[name], f"the column {name!r} to keep")[1] for name in reading.keep),
    )
    # A kept column should be the same in all rows of a task; where it is not, the smallest value is taken,
    # so that the order of rows does not matter.
    return kept.filter(~nw.col("task").is_null()).group_by("task").agg(nw.col(name).min() for name in reading.keep)


def _long(table: Table, reading: Reading) -> Table:
    """Columns task, worker, label (and order), whatever the shape and names of the source."""
    if not reading.wide:
        renamed = [
            nw.col(reading.task).alias("task"),
            nw.col(reading.worker).alias("worker"),
            nw.col(reading.label).alias("label"),
            *([nw.col(reading.class_column).alias("class")] if reading.class_column else []),
        ]
        return table.select(*renamed, *([nw.col(reading.order_by).alias("order")] if reading.order_by else []))
    schema = table.collect_schema()
    workers = _workers(schema, reading)
    if len({schema[name] for name in workers}) > 1 and not all(schema[name].is_numeric() for name in workers):
        table = with_texts(table, workers)
    return lengthen(table, reading.task, workers)


def _workers(schema: nw.Schema, reading: Reading) -> list[str]:
    """The columns of a wide table that have a worker's answers."""
    workers = [name for name in schema.names() if name != reading.task and name not in reading.keep]
    if not workers:
        raise ColumnError(f"a wide table needs one column per worker beside {reading.task!r}; there is none")
    return workers


def _with_categories(reading: Reading, categories: tuple[Any, ...]) -> Reading:
    """The reading with the scale that the type of the label column says, unless the user says another.

    So said, the scale is the same when the same data come from elsewhere, where labels are but texts.
    """
    labels = tuple(canonical_text(value) for value in categories if value not in {"", *reading.na})
    if len(labels) < 2 or reading.labels or reading.scale == "nominal":
        return reading
    return replace(reading, labels=labels, scale="ordinal")


def clean(table: Table, reading: Reading) -> Table:
    """Missing values as nulls: empty texts, not-a-number, and what --na names; categories as text."""
    schema = table.collect_schema()
    cleaned = []
    for name in schema.names():
        dtype, column = _column(table, name, schema[name], f"the {name} column")
        if name == "label" and dtype == nw.Enum:  # others keep the order that they may be compared by
            dtype, column = nw.String(), column.cast(nw.String)
        if dtype == nw.String:
            missing = ["", *reading.na] if name == "label" else [""]
            # One comparison each: a list would make DuckDB import pandas to read it.
            column = nw.when(*(column != text for text in missing)).then(column)
        elif dtype.is_float():
            column = nw.when(~column.is_nan()).then(column)
        cleaned.append(column.alias(name))
    return table.select(*cleaned)


def _column(table: Table, name: str, dtype: Any, called: str) -> tuple[Any, nw.Expr]:
    """A column that has one value per row, all of one type, and its type; categories without an order as text."""
    if dtype.is_nested():
        raise ColumnError(f"{called} holds nested values ({dtype}); it must hold one value per row")
    if dtype == nw.Object and _is_mixed(table, name):
        raise ColumnError(f"{called} holds values of several types; make it one type")
    if dtype == nw.Categorical:
        return nw.String(), nw.col(name).cast(nw.String)
    return dtype, nw.col(name)


def _is_mixed(table: Table, name: str) -> bool:
    """Whether a column of Python objects, as pandas has them, holds for example both 1 and "1"."""
    if not table.implementation.is_pandas():
        return False
    from pandas.api.types import infer_dtype

    return infer_dtype(table.collect().to_native()[name], skipna=True) in {"mixed", "mixed-integer"}


class _Overview:
    """Responses per (worker, class, label): one pass that tells the labels, the workers and what is missing."""

    def __init__(self, table: Table, reading: Reading) -> None:
        keys = ["worker", *(["class"] if classed(reading) else []), "label"]
        with_task = nw.when(~nw.col("task").is_null()).then(nw.lit(1)).alias("with_task")
        grouped = table.select(*keys, with_task).group_by(*keys)
        self.table = settle(grouped.agg(nw.len().alias("n"), nw.col("with_task").count()))
        self.needed = ["worker", *(["class"] if reading.class_column else []), "label"]
        known = [~nw.col(name).is_null() for name in self.needed]
        self.usable = self.table.filter(*known, nw.col("with_task") > 0)

    def check_missing(self, reading: Reading) -> int:
        """Raises if there is nothing, or if something is missing that may not be; returns the rows to drop."""
        n, with_task = nw.col("n"), nw.col("with_task")
        nulls = {name: nw.col(name).is_null() for name in self.needed}
        found = fetch(
            self.table.select(
                n.alias("rows"),
                (n - with_task).alias("task"),
                *(nw.when(null).then(n).otherwise(nw.lit(0)).alias(name) for name, null in nulls.items()),
                nw.when(reduce(or_, nulls.values())).then(n).otherwise(n - with_task).alias("any"),
            ).select(nw.all().sum())
        )
        missing = {name: int(column[0] or 0) for name, column in found.items()}
        if not missing["rows"]:
            raise InputError("there are no responses: the input has no rows")
        if reading.wide:  # an empty cell is no response; only the task must be there
            missing |= {"worker": 0, "label": 0, "any": missing["task"]}
        if missing["any"] and reading.missing == "error":
            parts = [f"{missing[name]} without a {name}" for name in ("task", *self.needed) if missing[name]]
            raise InputError(
                f"{missing['any']} of {missing['rows']} rows are incomplete ({', '.join(parts)}); "
                "add --missing drop to leave them out"
            )
        return missing["any"]

    def labels(self) -> list[Any]:
        """The labels that occur, in no particular order."""
        labels = fetch(self.usable.select("label").unique().head(MAX_LABELS + 1))["label"]
        if not labels:
            raise InputError("there are no responses: no row has a task, a worker and a label")
        if len(labels) > MAX_LABELS:
            number = fetch(self.usable.select(nw.col("label").n_unique()))["label"][0]
            texts = [canonical_text(label) for label in labels]
            shown = ", ".join(sorted(repr(text[:40]) for text in texts)[:5])
            raise InputError(
                f"{number} different labels, such as {shown}; at most {MAX_LABELS} are supported{hint_bins(texts)}"
            )
        return labels

    def classes(self, reading: Reading) -> tuple[WorkerClass, ...]:
        """The classes of workers; none if all are alike."""
        return find_classes(self.usable, reading) if classed(reading) else ()

    def n_usable(self) -> int:
        """Responses that have a task, a worker and a label."""
        return int(fetch(self.usable.select(nw.col("with_task").sum()))["with_task"][0])

    def n_workers(self) -> int:
        """Workers with at least one label."""
        return int(fetch(self.usable.select(nw.col("worker").n_unique()))["worker"][0])
