"""Workers on Spark: the same statistics as elsewhere, measured where the counts of each worker are.

The counts of one worker are one row. The functions that run on the executors are sent to them with all of this
package that they need, so that Python and NumPy are enough there.
"""

from __future__ import annotations

import itertools
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.tables.table import fetch_integers
from crowdopt.results.answers import as_typed
from crowdopt.results.workers import statistics as quality
from crowdopt.results.workers.counts import CELLS, NOBODY, cells_of, class_names, typical_of
from crowdopt.results.workers.statistics import FLAGS, NEED_OTHERS, STATISTICS, Typical, measure, reason, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import ModuleType

    from crowdopt._arrays import Ints
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution_proof import ProofSolution

    RowMaker = Callable[[Iterable[Any]], Iterator[tuple[Any, ...]]]
    """From rows (worker, class, cells) to the rows of a table, on an executor."""

CELL = ("label", "others", "answer", "n")
"""What the counts of a worker consist of: the label of tasks, the one without the worker, the answer, how often."""


def worker_table(solution: ProofSolution, source: Source) -> Table:
    """One row per worker, sorted: the columns of :attr:`Workers.table`."""
    cells = cells_of(solution, source)
    keys = ["class", "others", "answer"]
    compared = cells.filter(nw.col("others") != NOBODY).group_by(*keys).agg(nw.col("n").sum())
    labels = solution.scale.labels
    rows = partial(
        quality_rows,
        typical=typical_of(solution, fetch_integers(compared)),
        labels=labels,
        names=class_names(solution),
        step=max(1, CELLS // len(labels) ** 2),
    )
    kinds = {"class": "string", **STATISTICS, "flag": "string", "reason": "string"}
    table = _by_worker(cells, rows, kinds)
    return as_typed(table.sort("worker"), source.responses.types)


def confusion_table(solution: ProofSolution, source: Source) -> Table:
    """One row for each worker, label of tasks, and answer: the columns of :attr:`Workers.confusion`."""
    kinds = {"code": "long", "answer": "long", "n": "long", "of": "long", "share": "double"}
    rows = partial(confusion_rows, n_labels=solution.scale.n_labels)
    table = _by_worker(cells_of(solution, source), rows, kinds | {"low": "double", "high": "double"})
    responses, native = source.responses, table.to_native()
    from pyspark.sql import functions as sql

    values = sql.array(*(sql.lit(value) for value in responses.scale.values))
    named = native.sort("worker", "code", "answer").select(
        "worker",
        values[sql.col("code")].alias("label"),
        values[sql.col("answer")].alias("answered"),
        *("n", "of", "share", "low", "high"),
    )
    return as_typed(nw.from_native(named), responses.types | {"answered": responses.types["label"]})


def quality_rows(
    rows: Iterable[Any], *, typical: Typical, labels: Sequence[str], names: Sequence[str], step: int
) -> Iterator[tuple[Any, ...]]:
    """The rows of the table of workers, some workers at a time."""
    rest = iter(rows)
    while some := list(itertools.islice(rest, step)):
        against_labels, against_others = (dense(some, which, len(labels)) for which in (0, 1))
        classes = np.array([row[1] for row in some], np.int64)
        measured = measure(against_labels, against_others, classes, typical)
        for at, row in enumerate(some):
            found = {name: getattr(measured, name)[at].item() for name in STATISTICS}
            if not measured.n_compared[at]:
                found |= dict.fromkeys(NEED_OTHERS)
            flag = FLAGS[measured.flag[at]] or None
            yield (row[0], names[row[1]], *found.values(), flag, reason(measured, at, labels) or None)


def confusion_rows(rows: Iterable[Any], *, n_labels: int) -> Iterator[tuple[Any, ...]]:
    """The rows of the table of answers by label."""
    for row in rows:
        counts = dense([row], 0, n_labels)[0]
        labels, answers = np.nonzero(counts)
        n, of = counts[labels, answers], counts.sum(axis=1)[labels]
        low, high = wilson(n, of)
        columns = (labels, answers, n, of, n / of, low, high)
        yield from ((row[0], *values) for values in zip(*(column.tolist() for column in columns), strict=True))


def dense(rows: Sequence[Any], which: int, n_labels: int) -> Ints:
    """Counts (worker, label, answer) with the one or the other label; what has none is left out."""
    table = np.zeros((len(rows), n_labels, n_labels), np.int64)
    for at, row in enumerate(rows):
        for cell in row[2]:
            if cell[which] >= 0:
                table[at, cell[which], cell[2]] += cell[3]
    return table


def _by_worker(cells: Table, rows: RowMaker, kinds: dict[str, str]) -> Table:
    """A table that is made from all counts of each worker, with columns of the given kinds beside the worker."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import StructType

    native = cells.to_native()
    grouped = native.groupBy("worker", "class").agg(sql.collect_list(sql.struct(*CELL)).alias("cells"))
    schema = StructType([native.schema["worker"]])
    for name, kind in kinds.items():
        schema = schema.add(name, kind)
    with sent_whole(quality, sys.modules[__name__]):
        table = native.sparkSession.createDataFrame(grouped.rdd.mapPartitions(rows), schema, verifySchema=False)
    made: Table = nw.from_native(table)
    return made


@contextmanager
def sent_whole(*modules: ModuleType) -> Iterator[None]:
    """Functions of these modules are sent to executors as they are, and not by a name that these may not know."""
    from pyspark import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
