"""The workers behind a consensus: their skill, and how each answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from crowdopt.consensus.consensus import WEIGHTS, Judge, mean_of
from crowdopt.data.tables.table import small_table, with_texts
from crowdopt.results.consensus_tasks import label_probabilities
from crowdopt.results.source_consensus import consensus_rows, encode_tasks
from crowdopt.results.workers.skill import JudgedResponses, measure_skill, skill_reason
from crowdopt.results.workers.table import WORKER_NUMBER, Workers

if TYPE_CHECKING:
    from typing import Any

    from crowdopt._arrays import Ints
    from crowdopt.consensus.rows import Rows
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution_consensus import ConsensusSolution

SKILL_COLUMNS = (
    *("worker", "n_responses", "skill", "accuracy", "accuracy_low", "accuracy_high"),
    *("agreement", "agreement_low", "agreement_high", "n_compared", "chance", "flag", "reason"),
)
"""All columns of the table of workers."""

WORKER_TEXT = "crowdopt_worker"
"""The column of workers as text, by which their numbers are found."""


def consensus_workers(solution: ConsensusSolution, source: Source) -> Workers:
    """Measures the workers of the source that a consensus was made from."""
    encoded, scale = encode_tasks(source).whole, solution.scale
    rows, judge = consensus_rows(encoded), Judge(solution.parameters)
    members = judge.members(rows)
    judged = JudgedResponses(
        task=rows.task,
        worker=rows.worker.astype(np.int64),
        answer=rows.answer.astype(np.int64),
        n_workers=rows.n_workers,
        members=[(WEIGHTS[name], posterior) for name, posterior in members.items()],
        without=judge.probabilities_without(rows),
        known=rows.known[rows.task] >= 0,
    )
    skill = measure_skill(judged)
    labels = label_probabilities(mean_of(members), scale, np.bincount(rows.answer, minlength=scale.n_labels)).labels
    return Workers(
        labels=scale.labels,
        source=source,
        ids=_numbered(source, encoded.workers),
        counts=_counts(rows, labels),
        quality=skill,
        columns=SKILL_COLUMNS,
        reason=lambda number: skill_reason(skill, number, scale.labels),
        worst_by="skill",
    )


def _numbered(source: Source, names: Any) -> Table:
    """One row per worker: its number and itself, as the source has it."""
    workers = source.responses.table.filter(~nw.col("label").is_null()).select("worker").unique()
    texts = with_texts(workers.with_columns(nw.col("worker").alias(WORKER_TEXT)), [WORKER_TEXT])
    numbers = small_table({WORKER_TEXT: names.to_pylist(), WORKER_NUMBER: np.arange(len(names))}, like=texts)
    return texts.join(numbers, on=WORKER_TEXT, how="inner").drop(WORKER_TEXT)


def _counts(rows: Rows, labels: Ints) -> dict[str, Ints]:
    """Responses by (number of the worker, label of the task, answer), sorted."""
    n = rows.n_labels
    cell, times = np.unique((rows.worker * n + labels[rows.task]) * n + rows.answer, return_counts=True)
    pair, answer = np.divmod(cell, n)
    number, label = np.divmod(pair, n)
    return {WORKER_NUMBER: number, "label": label, "answer": answer, "n": times}
