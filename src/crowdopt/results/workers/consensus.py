"""The workers behind a consensus: their skill, and how each answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from crowdopt.consensus.consensus import WEIGHTS, Judge, mean_of
from crowdopt.consensus.given import GivenLabels
from crowdopt.consensus.skill_judge import SkillJudge
from crowdopt.consensus.skills import WEIGHTS as SKILL_WEIGHTS
from crowdopt.data.tables.table import small_table, with_texts
from crowdopt.results.consensus_tasks import label_probabilities
from crowdopt.results.source_consensus import consensus_rows, encode_tasks, given_tasks
from crowdopt.results.workers.beside_given import ComparedWithGiven
from crowdopt.results.workers.skill import ComparedWithAll, JudgedResponses, measure_skill, skill_reason
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
    rows = consensus_rows(encoded)
    answers = np.bincount(rows.answer, minlength=scale.n_labels)
    judged: JudgedResponses
    if solution.by_skill:
        judged, labels = (
            _judged_by_skill(solution, rows),
            given_tasks(solution.parameters, encoded, scale, answers).labels,
        )
    else:
        judge = Judge(solution.parameters)
        members = judge.members(rows)
        judged = ComparedWithAll(
            **_responses(rows),
            right=[(WEIGHTS[name], table[rows.task, rows.answer]) for name, table in members.items()],
            without=judge.probabilities_without(rows),
        )
        labels = label_probabilities(mean_of(members), scale, answers).labels
    skill = measure_skill(judged)
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


def _responses(rows: Rows) -> dict[str, Any]:
    """The responses, as those who judge workers want them."""
    return {
        "task": rows.task,
        "worker": rows.worker.astype(np.int64),
        "answer": rows.answer.astype(np.int64),
        "n_workers": rows.n_workers,
        "n_labels": rows.n_labels,
        "known": rows.known[rows.task] >= 0,
    }


def _judged_by_skill(solution: ConsensusSolution, rows: Rows) -> ComparedWithGiven:
    """The responses, judged by the labels that tasks received."""
    judge, given = SkillJudge(solution.parameters), GivenLabels.of(rows)
    place, without = judge.without(rows, given)
    sizes = np.diff(place)
    entry = np.arange(place[-1]) + np.repeat(given.start[rows.task] - place[:-1], sizes)
    members = judge.members(rows, given)
    return ComparedWithGiven(
        **_responses(rows),
        right=[(SKILL_WEIGHTS[name], shares.entries[given.of_row]) for name, shares in members.items()],
        sizes=sizes,
        label=given.label[entry],
        without=without,
    )


def _numbered(source: Source, names: Any) -> Table:
    """One row per worker: its number and itself, as the source has it."""
    workers = source.responses.table.filter(~nw.col("label").is_null()).select("worker").unique()
    texts = with_texts(workers.with_columns(nw.col("worker").alias(WORKER_TEXT)), [WORKER_TEXT])
    numbers = small_table({WORKER_TEXT: names.to_pylist(), WORKER_NUMBER: np.arange(len(names))}, like=texts)
    return texts.join(numbers, on=WORKER_TEXT, how="inner").drop(WORKER_TEXT)


def _counts(rows: Rows, labels: Ints) -> dict[str, Ints]:
    """Responses by (number of the worker, label of the task, answer), sorted."""
    n, worker = rows.n_labels, rows.worker.astype(np.int64)
    cell, times = np.unique((worker * n + labels[rows.task]) * n + rows.answer, return_counts=True)
    pair, answer = np.divmod(cell, n)
    number, label = np.divmod(pair, n)
    return {WORKER_NUMBER: number, "label": label, "answer": answer, "n": times}
