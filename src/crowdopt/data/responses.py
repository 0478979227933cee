"""Responses: the long table of (task, worker, label), checked, and counted per task by one GROUP BY."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.bins import bin_labels
from crowdopt.data.duplicates import KEPT, resolve_duplicates
from crowdopt.data.hygiene import look_through
from crowdopt.data.known_labels import GOLD_COLUMN, NOT_GOLD, TASK_TEXT, GoldCounts, count_array, with_gold, with_text
from crowdopt.data.notes import leave_out, take_out
from crowdopt.data.prepare import prepare
from crowdopt.data.rows.timing import timing_of
from crowdopt.data.tables.table import Table, fetch, fetch_integers, settle_by, small_table, table_of_parts
from crowdopt.errors import GoldError, InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.scale import Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crowdopt.data.readers.postgres_counts import Server
    from crowdopt.data.reading import Reading
    from crowdopt.data.rows.timing import Timing
    from crowdopt.data.tables.workspace import Workspace
    from crowdopt.data.worker_classes import WorkerClass

ARRAYS = 6
"""Arrays of all different counts that are in memory at the same time, about, until all is solved."""


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
        answered_once: Whether it is known that no worker has two answers to a task.
        notes: What is odd about the rows and what was done with them, in the words of the command line.
        timing: When workers gave their responses, and how long that took, if the reading says where that stands.
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
    answered_once: bool = False
    notes: tuple[str, ...] = ()
    timing: Timing | None = None


@dataclass(frozen=True, eq=False)
class TaskCounts:
    """Responses per task, class and label, and the buckets that they make.

    Attributes:
        table: One row per task: task, a count column for every label that occurs (of every class), and the gold label
            if there are any.
        columns: The count columns, and for each the place of its class and label among all: class * labels + label.
            Of many labels there is one column, for all of them together.
        buckets: The distinct counts: of many labels the distinct numbers of responses.
        n_no_response: Tasks without any usable response; they are in ``table`` but in no bucket.
        gold: Tasks of known label, if there are any; they are in ``table`` but in no bucket either.
    """

    table: Table
    columns: dict[str, int]
    buckets: Buckets
    n_no_response: int
    gold: GoldCounts | None = None

    @property
    def has_silent(self) -> bool:
        """Whether there are tasks without any response, of known label or not."""
        return bool(self.n_no_response or (self.gold and (self.gold.counts.sum(axis=(1, 2)) == 0).any()))


def check(
    source: Any,
    reading: Reading,
    *,
    n_bins: int = 0,
    resolved: bool = False,
    scale: Scale | None = None,
    known: Sequence[str] = (),
    each: bool = False,
    server: Server | None = None,
    trims: bool = False,
) -> Responses:
    """Checks a frame (or relation) of responses.

    Args:
        source: The frame.
        reading: How to read it.
        n_bins: Into how many bins of equal width to put scores; 0 if they are labels, or if the reading has the edges.
        resolved: Whether the reading comes from a solution: it then says all that the type of a column could say.
        scale: The scale that the labels must be on; None to take it from the reading and the data.
        known: The classes that workers can be in; all others go to a class of their own, behind these. If empty, the
            classes are those of the data, and every worker must have one.
        each: Whether every worker is a class of its own.
        server: Who counts the rows, if they are better left where they are.
        trims: Whether ids lose the blanks around them, as those of text files do.

    Raises:
        InputError: With what is wrong, where, and the option to add.
    """
    named = reading.labels if scale is None else scale.labels
    prepared = prepare(source, reading, n_bins=n_bins, resolved=resolved, known=known, trims=trims)
    clean = look_through(prepared, named=named, each=each, server=server)
    prepared, overview, reading = clean.prepared, clean.overview, clean.prepared.reading
    incomplete = overview.check_missing(insist=resolved)
    found = overview.labels()
    scale = scale_of(found, reading, resolved=resolved) if scale is None else _known_scale(found, scale, reading)
    classes = overview.classes(known)
    table, repeats = server.counting(prepared.usable()) if server else resolve_duplicates(prepared.usable(), reading)
    return Responses(
        table=table,
        kept=prepared.kept,
        scale=scale,
        types=prepared.types,
        classes=classes,
        n_workers=overview.n_workers(),
        n_usable=overview.n_usable() - repeats.again.n if reading.duplicates in KEPT else None,
        n_dropped=incomplete.n,
        reading=reading,
        answered_once=reading.duplicates != "all" and not repeats.conflicts.n,
        notes=(*incomplete.notes, *repeats.notes(reading.row), *clean.notes),
        timing=None if prepared.timing is None else timing_of(prepared.timing),
    )


def scale_of(labels: Sequence[Any], reading: Reading, *, resolved: bool) -> Scale:
    """The scale of the labels that occur, as far as the reading says it; see :func:`check` for ``resolved``."""
    if reading.bins:
        return Scale.of(labels, bin_labels(reading.bins), "ordinal")
    if resolved:  # nobody can read these data in another way
        return Scale.of(labels, reading.labels, reading.scale)
    return Scale.of(labels, reading.labels, reading.scale, lambda odd: leave_out(odd, reading.labels, reading))


def _known_scale(labels: Sequence[Any], scale: Scale, reading: Reading) -> Scale:
    """The scale of a solution for the labels that occur in other data."""
    return Scale.of(labels, scale.labels, scale.kind, lambda odd: take_out(odd, scale.labels, reading))


def count_tasks(
    responses: Responses, workspace: Workspace | None = None, server: Server | None = None, *, given: bool = False
) -> TaskCounts:
    """One GROUP BY over tasks, and one over the counts that come out.

    Args:
        responses: The responses.
        workspace: Where the counts may be kept, if they are many, and how much memory they may take.
        server: Who counts the responses to each task, if not we.
        given: Whether the user gives the gold now, and can change it.

    Raises:
        InputError: The different counts would take more memory than they may.
    """
    scale = responses.scale
    places = {f"c{at}": place for at, place in _places(responses)}
    columns = {name: int(name[1:]) for name in places}
    shape = (1, 1) if scale.has_many_labels else (max(len(responses.classes), 1), scale.n_labels)
    if server is not None:
        per_task = server.per_task(places, complete=not responses.n_dropped)
    else:
        per_task = settle_by(
            responses.table.select("task", *(_indicator(*place).alias(name) for name, place in places.items())),
            "task",
            lambda table: table.group_by("task").agg(nw.col(name).count() for name in columns),
            None if workspace is None else workspace.folder,
        )
    if workspace is not None and workspace.n_bytes is not None:
        _check_fit(per_task, list(columns), workspace.n_bytes)
    histogram = fetch_integers(per_task.group_by(*columns).agg(nw.len().alias("n_tasks")))
    counts, weights = count_array(histogram, columns, shape), histogram["n_tasks"]
    del histogram
    check_counted(int(weights @ counts.sum(axis=(1, 2))), responses.n_usable, responses.types)
    gold = None
    if responses.reading.gold:
        per_task = with_gold(per_task, responses.reading, scale, given=given)
        gold = GoldCounts.of(per_task, columns, shape)
        counts, weights = gold.taken_from(counts, weights)
    buckets, _ = Buckets.from_arrays(counts, weights)
    if gold is not None and not buckets.n_buckets:
        raise GoldError("every task with a response has a gold label: there is nothing left to estimate")
    return TaskCounts(per_task, columns, buckets, int(weights[counts.sum(axis=(1, 2)) == 0].sum()), gold)


def _check_fit(per_task: Table, columns: Sequence[str], n_bytes: int) -> None:
    """Raises if the different counts do not fit: a few arrays of them are needed at the same time."""
    most = n_bytes // (8 * (len(columns) + 1) * ARRAYS)
    n_tasks, n_different = int(fetch(per_task.select(nw.len().alias("n")))["n"][0]), 0
    if n_tasks > most:  # else there is nothing to count
        n_different = int(fetch(per_task.select(*columns).unique().select(nw.len().alias("n")))["n"][0])
    if n_different > most:
        raise InputError(
            f"{n_different:,} tasks have different counts of {len(columns)} labels (of each class of workers, where "
            "there are classes): too many for --memory-limit; raise it, or use fewer classes or labels"
        )


def _places(responses: Responses) -> Iterator[tuple[int, tuple[str | None, Any]]]:
    """For each class and occurring label: where they are counted in a row of counts, and what they are.

    Of many labels there is one place, of any label.
    """
    scale = responses.scale
    if scale.has_many_labels:
        yield 0, (None, None)
        return
    for k, name in enumerate([one.name for one in responses.classes] or [None]):
        for j in sorted(scale.occurring):
            yield k * scale.n_labels + j, (name, scale.values[j])


def _indicator(of_class: str | None, label: Any) -> nw.Expr:
    """One where a response is theirs."""
    theirs = ~nw.col("label").is_null() if label is None else nw.col("label") == label
    if of_class is not None:
        theirs &= nw.col("class") == of_class
    return nw.when(theirs).then(nw.lit(1))


def check_counted(counted: int, n_usable: int | None, types: dict[str, Any]) -> None:
    """Raises if a label was found and yet not counted, which could else be taken for a task without responses."""
    if n_usable is not None and counted != n_usable:
        raise InputError(
            f"only {counted:,} of {n_usable:,} responses could be counted: values of the label column "
            f"({types['label']}) do not equal themselves; make it a column of text"
        )


def by_task(columns: Mapping[str, Any], counts: TaskCounts) -> Table:
    """Columns by bucket as columns by task; behind the buckets a row for tasks without any response, then gold ones."""
    buckets, gold = counts.buckets.counts, counts.gold
    rows = np.concatenate([buckets, np.zeros_like(buckets[:1]), *([gold.counts] if gold else [])])
    rows = rows.reshape(len(rows), -1)
    keys = {name: rows[:, at] for name, at in counts.columns.items()}
    if gold is not None:
        keys[GOLD_COLUMN] = np.concatenate([np.full(len(buckets) + 1, NOT_GOLD), gold.labels])
    known = small_table(keys | dict(columns), like=counts.table)
    return counts.table.join(known, on=list(keys), how="left").drop(*keys)


def by_name(parts: Iterable[tuple[Any, Mapping[str, Any]]], nobody: Mapping[str, Any], counts: TaskCounts) -> Table:
    """Columns by task as a table of all tasks.

    Args:
        parts: Tasks as an Arrow array of texts, at least all that have a response, and columns of what goes with each.
        nobody: What goes with the tasks without a response that are not among them; nothing if it is not said.
        counts: All tasks.
    """
    known = table_of_parts(_named(parts, nobody, counts), like=counts.table)
    if counts.table.collect_schema()["task"] == nw.String:  # all tasks are there, under their own names
        return known.rename({TASK_TEXT: "task"})
    return with_text(counts.table.select("task")).join(known, on=TASK_TEXT, how="left").drop(TASK_TEXT)


def _named(
    parts: Iterable[tuple[Any, Mapping[str, Any]]], nobody: Mapping[str, Any], counts: TaskCounts
) -> Iterator[dict[str, Any]]:
    silent = set(silent_tasks(counts)) if counts.has_silent else set()
    columns: list[str] = []
    for names, found in parts:
        columns = list(found)
        if silent:
            silent.difference_update(names.to_pylist())
        yield {TASK_TEXT: names, **found}
    if silent:
        yield {TASK_TEXT: sorted(silent)} | {name: [nobody.get(name)] * len(silent) for name in columns}


def silent_tasks(counts: TaskCounts) -> list[str]:
    """The tasks without any response, as texts."""
    return fetch(with_text(counts.table.filter(no_response(counts.columns))).select(TASK_TEXT))[TASK_TEXT]


def no_response(columns: Iterable[str]) -> nw.Expr:
    """Whether all of some count columns are zero."""
    return reduce(and_, (nw.col(name) == 0 for name in columns))
