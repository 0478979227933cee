"""The workers behind a consensus: their skill, and how each answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from crowdopt.consensus.consensus import WEIGHTS, Judge
from crowdopt.data.tables.table import small_table, with_texts
from crowdopt.results.consensus_tasks import label_probabilities
from crowdopt.results.source_consensus import SourceConsensus, consensus_rows, encode_tasks
from crowdopt.results.workers.skill import JudgedResponses, measure_skill, skill_reason
from crowdopt.results.workers.table import WORKER_NUMBER, Workers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from crowdopt._arrays import Ints
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


@dataclass(frozen=True, eq=False)
class _Judged:
    """The responses of a source, judged part by part whenever they are looked at."""

    consensus: SourceConsensus

    def __iter__(self) -> Iterator[JudgedResponses]:
        judge = Judge(self.consensus.parameters)
        for encoded in self.consensus.parts:
            rows = consensus_rows(encoded)
            yield JudgedResponses(
                task=rows.task,
                worker=rows.worker.astype(np.int64),
                answer=rows.answer.astype(np.int64),
                n_workers=rows.n_workers,
                members=[(WEIGHTS[name], posterior) for name, posterior in judge.members(rows).items()],
                without=judge.probabilities_without(rows),
                known=rows.known[rows.task] >= 0,
            )


def consensus_workers(solution: ConsensusSolution, source: Source) -> Workers:
    """Measures the workers of the source that a consensus was made from."""
    there = solution.tasks.here if solution.tasks and solution.source is source else None
    consensus = there or SourceConsensus(encode_tasks(source), solution.parameters, solution.scale)
    judged, labels = _Judged(consensus), solution.scale.labels
    skill = measure_skill([*judged] if consensus.parts.is_one else judged)
    return Workers(
        labels=labels,
        source=source,
        ids=_numbered(source, consensus.parts.workers),
        counts=_counts(consensus),
        quality=skill,
        columns=SKILL_COLUMNS,
        reason=lambda number: skill_reason(skill, number, labels),
        worst_by="skill",
    )


def _numbered(source: Source, names: Any) -> Table:
    """One row per worker: its number and itself, as the source has it."""
    workers = source.responses.table.filter(~nw.col("label").is_null()).select("worker").unique()
    texts = with_texts(workers.with_columns(nw.col("worker").alias(WORKER_TEXT)), [WORKER_TEXT])
    numbers = small_table({WORKER_TEXT: names.to_pylist(), WORKER_NUMBER: np.arange(len(names))}, like=texts)
    return texts.join(numbers, on=WORKER_TEXT, how="inner").drop(WORKER_TEXT)


def _counts(consensus: SourceConsensus) -> dict[str, Ints]:
    """Responses by (number of the worker, label of the task, answer), sorted."""
    n = consensus.parts.n_labels
    cells, times = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for _, rows, probabilities in consensus.judged():
        labels = label_probabilities(probabilities, consensus.scale, consensus.parts.answers).labels
        more, often = np.unique(
            (rows.worker.astype(np.int64) * n + labels[rows.task]) * n + rows.answer, return_counts=True
        )
        cells, place = np.unique(np.append(cells, more), return_inverse=True)
        times = np.bincount(place, np.append(times, often)).astype(np.int64)
    pair, answer = np.divmod(cells, n)
    number, label = np.divmod(pair, n)
    return {WORKER_NUMBER: number, "label": label, "answer": answer, "n": times}
