"""Responses of workers, counted by GROUP BYs where the responses are: by label of the task and by answer.

Two labels matter for a response: that of its task, and the one that the task would have without this worker. Both
follow from the counts of the task and the worker's own answers to it, so they are looked up in a small table; what
leaves the place of the responses are counts per worker (docs/workers.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.duplicates import PAIR
from crowdopt.data.responses import by_task
from crowdopt.data.tables.table import (
    Table,
    coded,
    distinct_rows,
    fetch_integers,
    settle_by,
    small_table,
    surely_distinct,
)
from crowdopt.results.labelling import label_counts
from crowdopt.results.workers.statistics import Typical, typical_agreement

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.data.load import Source
    from crowdopt.data.responses import Responses, TaskCounts
    from crowdopt.results.solution_proof import ProofSolution

NOBODY = -1
"""Stands for the label of a task that nobody else answered."""

CELLS = 1 << 22
"""Counts of workers that are looked at together."""


def cells_of(solution: ProofSolution, source: Source) -> Table:
    """Responses by (worker, class, label of the task, label without the worker, answer)."""
    counts, scale = source.counts, source.responses.scale
    codes = {scale.values[j]: j for j in sorted({at % scale.n_labels for at in counts.columns.values()})}
    answered = _with_class(source.responses.table.filter(~nw.col("label").is_null()), source.responses)
    answered = answered.select("task", "worker", "class", coded("label", codes, NOBODY).alias("answer"))
    folder = source.workspace.folder if source.workspace else None
    if not source.responses.answered_once and not surely_distinct(answered, PAIR):
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


def _with_class(table: Table, responses: Responses) -> Table:
    """The table with the number of each worker's class; without classes, all workers are in one."""
    codes = {one.name: k for k, one in enumerate(responses.classes)}
    return table.with_columns((coded("class", codes, NOBODY) if codes else nw.lit(0)).alias("class"))


def _with_own_counts(answered: Table, solution: ProofSolution, folder: Any) -> tuple[Table, Ints]:
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


def _cases(solution: ProofSolution, counts: TaskCounts, own: Ints) -> dict[str, Ints]:
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


def typical_of(solution: ProofSolution, others: dict[str, Ints]) -> Typical:
    """What is to be expected of a worker, from responses by (class, label of the others, answer)."""
    n_labels = solution.scale.n_labels
    by_class = np.zeros((len(solution.matrix), n_labels, n_labels), np.int64)
    np.add.at(by_class, tuple(others[name] for name in ("class", "others", "answer")), others["n"])
    return Typical(solution.matrix, typical_agreement(by_class), solution.shares)


def class_names(solution: ProofSolution) -> tuple[str, ...]:
    """What the classes of workers are called."""
    return tuple(one.name for one in solution.classes) or ("all",)
