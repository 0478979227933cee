"""What is in a table of responses: one pass that tells the labels, the workers, the classes and what is missing."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.odd_rows import Incomplete
from crowdopt.data.tables.table import Table, distinct_rows, fetch, settle
from crowdopt.data.worker_classes import WorkerClass, classed, list_classes
from crowdopt.errors import InputError
from crowdopt.model.letters import HAS_BLANKS
from crowdopt.model.scale import MOST_LABELS, canonical_text, too_many_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crowdopt.data.reading import Reading


class NoRowsError(InputError):
    """There is nothing; whoever knows the name of the file says it."""

    def __init__(self, said: str = "there are no responses: the input has no rows") -> None:
        super().__init__(said)


class Overview:
    """Responses per (group, worker, class, label), as far as there are groups and classes.

    Attributes:
        table: One row for each of them: how many rows, and how many of these have a task.
        usable: Those of responses that are complete.
        needed: The columns, beside the task, that a complete response has.
    """

    def __init__(self, table: Table, reading: Reading, counted: Table | None = None, *, blanks: bool = False) -> None:
        """Counts a table of responses, unless someone else has ``counted`` it.

        With ``blanks``, a further column ``blank_task`` says how many rows have a task with blanks around it.
        """
        self.reading = reading
        self.table = _count(table, reading, blanks=blanks) if counted is None else counted
        self.needed = ["worker", *(["class"] if reading.class_column else []), "label"]
        known = [~nw.col(name).is_null() for name in self.needed]
        self.usable = self.table.filter(*known, nw.col("with_task") > 0)

    def missing(self) -> Table:
        """What is missing, row by row of the table: how many rows, how many lack each column, some column, or all."""
        n, with_task = nw.col("n"), nw.col("with_task")
        nulls = {name: nw.col(name).is_null() for name in self.needed}
        return self.table.select(
            *(["group"] if self.reading.group else []),
            n.alias("rows"),
            (n - with_task).alias("missing_task"),
            nw.when(reduce(or_, (nulls[name] for name in self.needed if name != "label")))
            .then(n)
            .otherwise(n - with_task)
            .alias("missing_id"),
            *(nw.when(null).then(n).otherwise(nw.lit(0)).alias(f"missing_{name}") for name, null in nulls.items()),
            nw.when(reduce(or_, nulls.values())).then(n).otherwise(n - with_task).alias("missing_any"),
            nw.when(nulls["worker"] & nulls["label"]).then(n - with_task).otherwise(nw.lit(0)).alias("missing_all"),
        )

    def check_missing(self, *, insist: bool) -> Incomplete:
        """The rows that lack something, which are to be dropped.

        Args:
            insist: Whether more than half of the rows may be dropped.

        Raises:
            InputError: There is nothing, or something is missing that may not be.
        """
        found = fetch(self.missing().select(nw.all().sum()))
        if not found["rows"][0]:
            raise NoRowsError
        incomplete = self.incomplete({name: int(column[0]) for name, column in found.items()})
        incomplete.check_allowed(self.reading)
        if not insist:
            incomplete.check_few(self.reading)
        return incomplete

    def incomplete(self, missing: Mapping[str, int]) -> Incomplete:
        """The rows that lack something, given sums of :meth:`missing`."""
        parts = {name: missing[f"missing_{name}"] for name in ("task", *self.needed)}
        if self.reading.wide:  # an empty cell is no response; only the task (or worker) of a row must be there
            role = self.reading.index_role
            n = parts[role]
            return Incomplete(missing["rows"], n, missing["missing_all"], n, {role: n}, wide=True)
        n, empty, without_id = (missing[f"missing_{name}"] for name in ("any", "all", "id"))
        return Incomplete(missing["rows"], n, empty, without_id, parts)

    def labels(self) -> list[Any]:
        """The labels that occur, in no particular order."""
        labels = fetch(distinct_rows(self.usable.select("label")).head(MOST_LABELS + 1))["label"]
        if len(labels) > MOST_LABELS:
            check_n_labels(labels, int(fetch(self.usable.select(nw.col("label").n_unique()))["label"][0]))
        check_n_labels(labels, len(labels))
        return labels

    def classes(self, known: Sequence[str] = ()) -> tuple[WorkerClass, ...]:
        """The classes of workers, which are the known ones if there are any; none if all workers are alike."""
        return list_classes(self.usable, self.reading, known) if classed(self.reading) else ()

    def n_usable(self) -> int:
        """Responses that have a task, a worker and a label."""
        return int(fetch(self.usable.select(nw.col("with_task").sum()))["with_task"][0])

    def n_workers(self) -> int:
        """Workers with at least one label."""
        return int(fetch(self.usable.select(nw.col("worker").n_unique()))["worker"][0])

    def changed(self, step: Callable[[Table], Table]) -> Overview:
        """The overview of the same responses after a step that changes labels, and makes some of them one."""
        keys = _keys(self.reading)
        counts = [name for name in self.table.collect_schema().names() if name not in keys]
        summed = step(self.table).group_by(*keys).agg(nw.col(*counts).sum())
        return Overview(self.table, self.reading, settle(summed))


def _count(table: Table, reading: Reading, *, blanks: bool) -> Table:
    keys = _keys(reading)
    ones = {"with_task": ~nw.col("task").is_null()}
    if blanks:
        ones["blank_task"] = nw.col("task").str.contains(HAS_BLANKS)
    marks = [nw.when(mark).then(nw.lit(1)).alias(name) for name, mark in ones.items()]
    return settle(table.select(*keys, *marks).group_by(*keys).agg(nw.len().alias("n"), nw.col(*ones).count()))


def _keys(reading: Reading) -> list[str]:
    return ["worker", *(["class"] if classed(reading) else []), "label", *(["group"] if reading.group else [])]


def check_n_labels(labels: Sequence[Any], number: int) -> None:
    """Raises if there are no labels, or too many: ``labels`` are some of them, ``number`` says how many there are."""
    if not number:
        raise InputError("there are no responses: no row has a task, a worker and a label")
    if number > MOST_LABELS:
        raise too_many_labels(number, [canonical_text(label) for label in labels])
