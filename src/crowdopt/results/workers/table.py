"""Workers: how good each of them is, counted by GROUP BYs where the responses are.

Two labels matter for a response: that of its task, and the one that the task would have without this worker. Both
follow from the counts of the task and the worker's own answers to it, so they are looked up in a small table; what
leaves the place of the responses are counts per worker (docs/workers.md).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.duplicates import PAIR
from crowdopt.data.responses import by_task
from crowdopt.data.tables.spark import is_spark
from crowdopt.data.tables.table import (
    Table,
    coded,
    distinct_rows,
    fetch,
    fetch_integers,
    settle,
    settle_by,
    small_table,
    surely_distinct,
)
from crowdopt.model.scale import canonical_text
from crowdopt.results.answers import as_typed
from crowdopt.results.labelling import label_counts
from crowdopt.results.reread import as_frame, reread
from crowdopt.results.workers.statistics import FLAGS, Quality, Typical, measure, reason, typical_agreement, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crowdopt._arrays import Ints, Objects
    from crowdopt.data.load import Source
    from crowdopt.data.responses import Responses, TaskCounts
    from crowdopt.results.solution import Solution

NUMBER = "number"
"""The column that has a worker's number: its place among all workers, sorted."""

NOBODY = -1
"""Stands for the label of a task that nobody else answered."""

CELLS = 1 << 22
"""Counts of workers that are looked at together."""

COLUMNS = (
    "worker", "class", "n_responses", "accuracy", "accuracy_low", "accuracy_high", "agreement", "agreement_low",
    "agreement_high", "n_compared", "chance", "information", "flag", "reason",
)  # fmt: skip
"""The columns of the table of workers."""


@dataclass(frozen=True, eq=False)
class Workers:
    """The workers behind a solution; in arrays they are numbered as they are sorted.

    Attributes:
        labels: The labels, as texts.
        class_names: The classes of workers.
        source: The responses.
        ids: One row per worker: its number and itself.
        counts: Responses to tasks of one label that are one answer: columns number, label, answer, n.
        classes: The class of each worker.
        quality: The statistics of each worker.
    """

    labels: tuple[str, ...]
    class_names: tuple[str, ...]
    source: Source
    ids: Table
    counts: dict[str, Ints]
    classes: Ints
    quality: Quality

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.classes)

    @property
    def table(self) -> Table:
        """One row per worker, sorted."""
        numbers = np.arange(self.n_workers)
        columns = {field.name: getattr(self.quality, field.name) for field in fields(self.quality)}
        columns |= {
            "class": _texts(self.class_names[k] for k in self.classes),
            "flag": _texts(FLAGS[flag] for flag in self.quality.flag),
            "reason": _texts(map(self.reason, range(self.n_workers))),
        }
        table = self._named({NUMBER: numbers} | {name: columns[name] for name in COLUMNS[1:]})
        compared, flagged = nw.col("n_compared") > 0, nw.col("flag") != ""
        table = table.with_columns(
            *(nw.when(compared).then(nw.col(name)).alias(name) for name in ("agreement", "chance")),
            *(nw.when(flagged).then(nw.col(name)).alias(name) for name in ("flag", "reason")),
        )
        return as_typed(table.select(*COLUMNS).sort("worker"), self.source.responses.types)

    @property
    def confusion(self) -> Table:
        """One row for each worker, label of tasks, and answer that the worker gave to them, sorted."""
        n, whole = self.counts["n"], np.zeros((self.n_workers, len(self.labels)), np.int64)
        row = (self.counts[NUMBER], self.counts["label"])
        np.add.at(whole, row, n)
        low, high = wilson(n, whole[row])
        table = self._named(self.counts | {"of": whole[row], "share": n / whole[row], "low": low, "high": high})
        responses = self.source.responses
        for code, name in (("label", "label_value"), ("answer", "answered")):
            names: dict[str, Any] = {code: np.arange(len(self.labels)), name: responses.scale.values}
            table = table.join(small_table(names, like=table), on=code, how="inner")
        table = table.sort("worker", "label", "answer").select(
            "worker", nw.col("label_value").alias("label"), "answered", "n", "of", "share", "low", "high"
        )
        return as_typed(table, responses.types | {"answered": responses.types["label"]})

    def worst(self, n: int) -> list[dict[str, Any]]:
        """The rows of the workers of whom the least can be hoped for: the upper end of their accuracy is lowest."""
        numbers = np.argsort(self.quality.accuracy_high, kind="stable")[:n]
        wanted = small_table({NUMBER: numbers, "rank": np.arange(len(numbers))}, like=self.ids)
        found = fetch(self.ids.join(wanted, on=NUMBER, how="inner").sort("rank").select("worker"))
        return [
            {"worker": canonical_text(worker)} | self._row(int(number))
            for worker, number in zip(found["worker"], numbers, strict=True)
        ]

    def summary(self, n_worst: int = 20) -> dict[str, Any]:
        """The main facts as plain JSON values: what ``crowdopt workers --json`` prints."""
        counted = np.bincount(self.quality.flag, minlength=len(FLAGS))
        return {
            "n_workers": self.n_workers,
            "n_responses": int(self.quality.n_responses.sum()),
            "flags": {name: int(counted[number]) for number, name in enumerate(FLAGS) if name},
            "worst": self.worst(n_worst),
        }

    def _row(self, number: int) -> dict[str, Any]:
        """What the table says of a worker, and how it answered, as plain JSON values."""
        quality = {name: getattr(self.quality, name)[number].item() for name in COLUMNS[2:-1]}
        missing = () if quality["n_compared"] else ("agreement", "chance")
        confusion: dict[str, dict[str, int]] = {}
        for i in range(*np.searchsorted(self.counts[NUMBER], [number, number + 1])):
            label, answer = (self.labels[self.counts[name][i]] for name in ("label", "answer"))
            confusion.setdefault(label, {})[answer] = int(self.counts["n"][i])
        return {
            "class": self.class_names[self.classes[number]],
            **quality,
            **dict.fromkeys(missing),
            "flag": FLAGS[quality["flag"]] or None,
            "reason": self.reason(number) or None,
            "confusion": confusion,
        }

    def reason(self, number: int) -> str:
        """Why a worker is flagged; empty if it is not."""
        return reason(self.quality, number, self.labels)

    def _named(self, columns: dict[str, Any]) -> Table:
        """Columns by the number of a worker, with the worker instead."""
        joined = self.ids.join(small_table(columns, like=self.ids), on=NUMBER, how="inner")
        return joined.drop(NUMBER)


def workers_of(solution: Solution, source: Source) -> Workers:
    """Counts and measures the workers of a source against the labels of a solution that was made from it."""
    cells = cells_of(solution, source)
    who = cells.select("worker", "class").unique().with_row_index(NUMBER, order_by="worker")
    who = settle(who.with_columns(nw.col(NUMBER).cast(nw.Int64)))
    numbered = cells.join(who.select(NUMBER, "worker"), on="worker", how="inner").drop("worker")
    counts = _sums(numbered, "label")
    others = _sums(numbered.filter(nw.col("others") != NOBODY), "others")
    classes = fetch_integers(who.select(NUMBER, "class").sort(NUMBER))["class"]
    return Workers(
        labels=solution.scale.labels,
        class_names=class_names(solution),
        source=source,
        ids=who.drop("class"),
        counts=counts,
        classes=classes,
        quality=_measured(solution, counts, others, classes),
    )


def worker_frame(solution: Solution, data: Any = None, *, confusion: bool = False) -> Any:
    """The table of workers, or of their answers by label, as the kind of table that was brought."""
    with reread(solution, data) as source:
        if is_spark(source.counts.table):
            from crowdopt.results.workers.spark import confusion_table, worker_table

            return (confusion_table if confusion else worker_table)(solution, source).to_native()
        workers = workers_of(solution, source)
        return as_frame(workers.confusion if confusion else workers.table, source)


def class_names(solution: Solution) -> tuple[str, ...]:
    """What the classes of workers are called."""
    return tuple(one.name for one in solution.classes) or ("all",)


def with_class(table: Table, responses: Responses) -> Table:
    """The table with the number of each worker's class; without classes, all workers are in one."""
    codes = {one.name: k for k, one in enumerate(responses.classes)}
    return table.with_columns((coded("class", codes, NOBODY) if codes else nw.lit(0)).alias("class"))


def cells_of(solution: Solution, source: Source) -> Table:
    """Responses by (worker, class, label of the task, label without the worker, answer)."""
    counts, scale = source.counts, source.responses.scale
    codes = {scale.values[j]: j for j in sorted({at % scale.n_labels for at in counts.columns.values()})}
    answered = with_class(source.responses.table.filter(~nw.col("label").is_null()), source.responses)
    answered = answered.select("task", "worker", "class", coded("label", codes, NOBODY).alias("answer"))
    folder = source.workspace.folder if source.workspace else None
    if source.responses.reading.duplicates == "all" and not surely_distinct(answered, PAIR):
        answered, own = _with_own_counts(answered, solution, folder)
    else:
        shape = solution.buckets.counts.shape[1:]
        own = np.eye(shape[0] * shape[1], dtype=np.int64).reshape(-1, *shape)
        answered = answered.with_columns((nw.col("class") * shape[1] + nw.col("answer")).alias("own"))
    n_rows = counts.buckets.n_buckets + 1 + (len(counts.gold.labels) if counts.gold else 0)
    placed = answered.join(by_task({"bucket": np.arange(n_rows)}, counts), on="task", how="inner")
    cases = small_table(_cases(solution, counts, own), like=placed)
    keys = ["worker", "class", "label", "others", "answer"]
    return settle_by(
        placed.join(cases, on=["bucket", "own"], how="inner").select(*keys),
        "worker",
        lambda table: table.group_by(*keys).agg(nw.len().alias("n")),
        folder,
    )


def _with_own_counts(answered: Table, solution: Solution, folder: Any) -> tuple[Table, Ints]:
    """Which counts a worker's own answers to the task make, where there may be several, and the counts meant."""
    _, n_classes, n_labels = solution.buckets.counts.shape
    columns = {f"own{j}": j for j in range(n_labels)}
    indicators = [nw.when(nw.col("answer") == j).then(nw.lit(1)).alias(name) for name, j in columns.items()]
    by_pair = settle_by(
        answered.select("task", "worker", "class", *indicators),
        "task",
        lambda table: table.group_by("task", "worker", "class").agg(nw.col(name).count() for name in columns),
        folder,
    )
    kinds = fetch_integers(distinct_rows(by_pair.select("class", *columns)))
    own = np.zeros((len(kinds["class"]), n_classes, n_labels), np.int64)
    for name, j in columns.items():
        own[np.arange(len(own)), kinds["class"], j] = kinds[name]
    known = small_table(kinds | {"own": np.arange(len(own))}, like=by_pair)
    numbered = by_pair.join(known, on=list(kinds), how="inner").select("task", "worker", "own")
    return answered.join(numbered, on=["task", "worker"], how="inner"), own


def _cases(solution: Solution, counts: TaskCounts, own: Ints) -> dict[str, Ints]:
    """For every kind of task and own answers that may meet: the label of the task, and the one without these answers.

    Tasks are of one kind if they have equal counts, and for gold ones the same label (see ``answers.by_task``).
    """
    gold, buckets = counts.gold, counts.buckets.counts
    tasks = np.concatenate([buckets, np.zeros_like(buckets[:1]), *([gold.counts] if gold else [])])
    labels = np.concatenate([solution.mapping, [NOBODY], *([gold.labels] if gold else [])])
    cases: list[tuple[Ints, ...]] = []
    for number, mine in enumerate(own):
        at = np.flatnonzero((tasks >= mine).all(axis=(1, 2)) & (labels != NOBODY))
        rest = tasks[at] - mine
        others = np.where(rest.any(axis=(1, 2)), label_counts(solution, rest).labels, NOBODY)
        others = np.where(at > len(buckets), labels[at], others)  # a known label stands, whoever answers
        cases.append((at, np.full(len(at), number), labels[at], others))
    names = ("bucket", "own", "label", "others")
    return dict(zip(names, map(np.concatenate, zip(*cases, strict=True)), strict=True))


def _sums(numbered: Table, label: str) -> dict[str, Ints]:
    """Responses by (number of the worker, one of the two labels, answer), sorted by the number."""
    keys = [NUMBER, label, "answer"]
    return fetch_integers(numbered.group_by(*keys).agg(nw.col("n").sum()).sort(*keys).select(*keys, "n"))


def _measured(solution: Solution, counts: dict[str, Ints], others: dict[str, Ints], classes: Ints) -> Quality:
    """The statistics of all workers, some at a time."""
    n_labels = solution.scale.n_labels
    typical = typical_of(solution, others | {"class": classes[others[NUMBER]]})
    step = max(1, CELLS // n_labels**2)
    parts = [
        measure(
            _dense(counts, "label", part, n_labels), _dense(others, "others", part, n_labels), classes[part], typical
        )
        for part in _slices(len(classes), step)
    ]
    return Quality(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Quality)))


def typical_of(solution: Solution, others: dict[str, Ints]) -> Typical:
    """What is to be expected of a worker, from responses by (class, label of the others, answer)."""
    n_labels = solution.scale.n_labels
    by_class = np.zeros((len(solution.matrix), n_labels, n_labels), np.int64)
    np.add.at(by_class, tuple(others[name] for name in ("class", "others", "answer")), others["n"])
    return Typical(solution.matrix, typical_agreement(by_class), solution.shares)


def _slices(length: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def _dense(sums: dict[str, Ints], label: str, part: slice, n_labels: int) -> Ints:
    """Counts (worker, label, answer) of the workers of one part."""
    first, last = np.searchsorted(sums[NUMBER], [part.start, part.stop])
    table = np.zeros((part.stop - part.start, n_labels, n_labels), np.int64)
    table[
        tuple(sums[name][first:last] - shift for name, shift in ((NUMBER, part.start), (label, 0), ("answer", 0)))
    ] = sums["n"][first:last]
    return table


def _texts(values: Iterable[str]) -> Objects:
    return np.array(list(values), dtype=object)
