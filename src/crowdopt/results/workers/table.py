"""Workers: how good each of them is, and how each of them answers (docs/workers.md)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw
import numpy as np

from crowdopt.data.tables.spark import is_spark
from crowdopt.data.tables.table import Table, fetch, fetch_integers, settle, small_table, with_texts
from crowdopt.model.scale import canonical_text
from crowdopt.results.answers import as_typed
from crowdopt.results.reread import as_frame, reread
from crowdopt.results.workers.counts import CELLS, NOBODY, cells_of, class_names, typical_of
from crowdopt.results.workers.spark import confusion_table, worker_table
from crowdopt.results.workers.statistics import (
    FLAGS,
    NEED_OTHERS,
    WORKER_COLUMNS,
    Quality,
    measure,
    reason,
    wilson,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crowdopt._arrays import Ints, Objects
    from crowdopt.data.load import Source
    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.workers.skill import Skill

WORKER_NUMBER = "number"
"""The column that has a worker's number: its place among all workers, sorted."""

WORKER_TEXT = "crowdopt_worker"
"""The column of workers as text, by which they are found."""


@dataclass(frozen=True, eq=False)
class Workers:
    """The workers behind a solution; in arrays they are numbered as they are sorted.

    Attributes:
        labels: The labels, as texts.
        source: The responses.
        ids: One row per worker: its number and itself.
        counts: Responses to tasks of one label that are one answer: columns number, label, answer, n.
        quality: The statistics of each worker.
        columns: The columns of the table: ``worker``, statistics, ``flag`` and ``reason``.
        reason: Why a worker is flagged, by its number; empty if it is not.
        worst_by: The statistic by which the worst worker is the one with the least.
        class_of: The class of each worker by name; None if there are no classes.
    """

    labels: tuple[str, ...]
    source: Source
    ids: Table
    counts: dict[str, Ints]
    quality: Quality | Skill
    columns: tuple[str, ...]
    reason: Callable[[int], str]
    worst_by: str
    class_of: tuple[str, ...] | None = None

    @property
    def statistics(self) -> list[str]:
        """The columns that are numbers."""
        return [name for name in self.columns if name not in {"worker", "class", "flag", "reason"}]

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.quality.flag)

    @property
    def table(self) -> Table:
        """One row per worker, sorted."""
        numbers = np.arange(self.n_workers)
        columns = {name: getattr(self.quality, name) for name in self.statistics}
        columns |= {} if self.class_of is None else {"class": _texts(self.class_of)}
        columns |= {
            "flag": _texts(FLAGS[flag] for flag in self.quality.flag),
            "reason": _texts(map(self.reason, range(self.n_workers))),
        }
        table = self._named(
            {WORKER_NUMBER: numbers} | {name: columns[name] for name in self.columns if name != "worker"}
        )
        compared, flagged = nw.col("n_compared") > 0, nw.col("flag") != ""
        table = table.with_columns(
            *(nw.when(compared).then(nw.col(name)).alias(name) for name in NEED_OTHERS),
            *(nw.when(flagged).then(nw.col(name)).alias(name) for name in ("flag", "reason")),
        )
        table, timing = self._with_timing(table.select(*self.columns))
        return as_typed(table.select(*self.columns, *timing).sort("worker"), self.source.responses.types)

    def _with_timing(self, table: Table) -> tuple[Table, list[str]]:
        """The table, and beside it when the workers answered and how long they took, if that is known."""
        timing = self.source.responses.timing
        if timing is None:
            return table, []
        known = small_table({WORKER_TEXT: timing.workers, **timing.columns}, like=self.ids)
        texts = with_texts(table.with_columns(nw.col("worker").alias(WORKER_TEXT)), [WORKER_TEXT])
        return texts.join(known, on=WORKER_TEXT, how="left"), list(timing.columns)

    @property
    def confusion(self) -> Table:
        """One row for each worker, label of tasks, and answer that the worker gave to them, sorted."""
        n, pair = self.counts["n"], self.counts[WORKER_NUMBER] * len(self.labels) + self.counts["label"]
        _, at = np.unique(pair, return_inverse=True)
        whole = np.bincount(at.reshape(-1), n).astype(np.int64)[at.reshape(-1)]
        low, high = wilson(n, whole)
        table = self._named(self.counts | {"of": whole, "share": n / whole, "low": low, "high": high})
        responses = self.source.responses
        for code, name in (("label", "label_value"), ("answer", "answered")):
            names: dict[str, Any] = {code: np.arange(len(self.labels)), name: responses.scale.values}
            table = table.join(small_table(names, like=table), on=code, how="inner")
        table = table.sort("worker", "label", "answer").select(
            "worker", nw.col("label_value").alias("label"), "answered", "n", "of", "share", "low", "high"
        )
        return as_typed(table, responses.types | {"answered": responses.types["label"]})

    def worst(self, n: int) -> list[dict[str, Any]]:
        """The rows of the worst workers, the worst first."""
        numbers = np.argsort(getattr(self.quality, self.worst_by), kind="stable")[:n]
        wanted = small_table({WORKER_NUMBER: numbers, "rank": np.arange(len(numbers))}, like=self.ids)
        found = fetch(self.ids.join(wanted, on=WORKER_NUMBER, how="inner").sort("rank").select("worker"))
        workers = [canonical_text(worker) for worker in found["worker"]]
        return [
            {"worker": worker} | self._row(int(number)) | self._timing.get(worker, dict.fromkeys(self._timed))
            for worker, number in zip(workers, numbers, strict=True)
        ]

    @property
    def _timed(self) -> list[str]:
        """The columns that say when workers answered and how long they took."""
        timing = self.source.responses.timing
        return list(timing.columns) if timing else []

    @cached_property
    def _timing(self) -> dict[str, dict[str, Any]]:
        """When workers answered and how long they took, by worker."""
        timing = self.source.responses.timing
        if timing is None:
            return {}
        rows = zip(*timing.columns.values(), strict=True)
        return {
            worker: dict(zip(timing.columns, row, strict=True))
            for worker, row in zip(timing.workers, rows, strict=True)
        }

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
        quality = {name: getattr(self.quality, name)[number].item() for name in self.statistics}
        missing = () if quality["n_compared"] else NEED_OTHERS
        confusion: dict[str, dict[str, int]] = {}
        for i in range(*np.searchsorted(self.counts[WORKER_NUMBER], [number, number + 1])):
            label, answer = (self.labels[self.counts[name][i]] for name in ("label", "answer"))
            confusion.setdefault(label, {})[answer] = int(self.counts["n"][i])
        return {
            **({} if self.class_of is None else {"class": self.class_of[number]}),
            **quality,
            **dict.fromkeys(missing),
            "flag": FLAGS[self.quality.flag[number]] or None,
            "reason": self.reason(number) or None,
            "confusion": confusion,
        }

    def _named(self, columns: dict[str, Any]) -> Table:
        """Columns by the number of a worker, with the worker instead."""
        joined = self.ids.join(small_table(columns, like=self.ids), on=WORKER_NUMBER, how="inner")
        return joined.drop(WORKER_NUMBER)


def workers_of(solution: ProofSolution, source: Source) -> Workers:
    """Counts and measures the workers of a source against the labels of a solution that was made from it."""
    cells = cells_of(solution, source)
    who = cells.select("worker", "class").unique().with_row_index(WORKER_NUMBER, order_by="worker")
    who = settle(who.with_columns(nw.col(WORKER_NUMBER).cast(nw.Int64)))
    numbered = cells.join(who.select(WORKER_NUMBER, "worker"), on="worker", how="inner").drop("worker")
    counts = _sums(numbered, "label")
    others = _sums(numbered.filter(nw.col("others") != NOBODY), "others")
    classes = fetch_integers(who.select(WORKER_NUMBER, "class").sort(WORKER_NUMBER))["class"]
    names, quality = class_names(solution), _measured(solution, counts, others, classes)
    return Workers(
        labels=solution.scale.labels,
        source=source,
        ids=who.drop("class"),
        counts=counts,
        quality=quality,
        columns=WORKER_COLUMNS,
        reason=lambda number: reason(quality, number, solution.scale.labels),
        worst_by="accuracy_high",  # of whom least can be hoped for
        class_of=tuple(names[k] for k in classes),
    )


def worker_frame(solution: Solution, data: Any = None, *, confusion: bool = False) -> Any:
    """The table of workers, or of their answers by label, as the kind of table that was brought."""
    with reread(solution, data) as source:
        if is_spark(source.counts.table) and solution.kind == "proof":
            return (confusion_table if confusion else worker_table)(cast("ProofSolution", solution), source).to_native()
        workers = solution.measured(source)
        return as_frame(workers.confusion if confusion else workers.table, source)


def _sums(numbered: Table, label: str) -> dict[str, Ints]:
    """Responses by (number of the worker, one of the two labels, answer), sorted by the number."""
    keys = [WORKER_NUMBER, label, "answer"]
    return fetch_integers(numbered.group_by(*keys).agg(nw.col("n").sum()).sort(*keys).select(*keys, "n"))


def _measured(solution: ProofSolution, counts: dict[str, Ints], others: dict[str, Ints], classes: Ints) -> Quality:
    """The statistics of all workers, some at a time."""
    n_labels = solution.scale.n_labels
    typical = typical_of(solution, others | {"class": classes[others[WORKER_NUMBER]]})
    step = max(1, CELLS // n_labels**2)
    parts = [
        measure(
            _dense(counts, "label", part, n_labels), _dense(others, "others", part, n_labels), classes[part], typical
        )
        for part in _slices(len(classes), step)
    ]
    return Quality(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Quality)))


def _slices(length: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def _dense(sums: dict[str, Ints], label: str, part: slice, n_labels: int) -> Ints:
    """Counts (worker, label, answer) of the workers of one part."""
    first, last = np.searchsorted(sums[WORKER_NUMBER], [part.start, part.stop])
    table = np.zeros((part.stop - part.start, n_labels, n_labels), np.int64)
    table[
        tuple(
            sums[name][first:last] - shift for name, shift in ((WORKER_NUMBER, part.start), (label, 0), ("answer", 0))
        )
    ] = sums["n"][first:last]
    return table


def _texts(values: Iterable[str]) -> Objects:
    return np.array(list(values), dtype=object)
