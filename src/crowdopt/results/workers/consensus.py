"""The workers behind a consensus: their skill, and how each answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from crowdopt.consensus.consensus import WEIGHTS, Judge
from crowdopt.consensus.given import GivenLabels
from crowdopt.consensus.skill_judge import SkillJudge
from crowdopt.consensus.skills import WEIGHTS as SKILL_WEIGHTS
from crowdopt.data.tables.table import small_table, with_texts
from crowdopt.results.source_consensus import SourceConsensus, consensus_rows, encode_tasks
from crowdopt.results.workers.beside_given import ComparedWithGiven, measure_given
from crowdopt.results.workers.skill import ComparedWithAll, measure_skill, skill_reason
from crowdopt.results.workers.table import WORKER_NUMBER, WORKER_TEXT, Workers

if TYPE_CHECKING:
    from collections.abc import Iterator
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


MOST_ENTRIES = 1 << 21
"""Labels beside responses, of one part, where labels are many; a task with more is a part of its own."""


@dataclass(frozen=True, eq=False)
class _Judged:
    """The responses of a source, judged part by part whenever they are looked at."""

    consensus: SourceConsensus

    def __iter__(self) -> Iterator[ComparedWithAll]:
        judge = Judge(self.consensus.parameters)
        for encoded in self.consensus.parts:
            rows = consensus_rows(encoded)
            right = [(WEIGHTS[name], table[rows.task, rows.answer]) for name, table in judge.members(rows).items()]
            yield ComparedWithAll(**_responses(rows), right=right, without=judge.probabilities_without(rows))


@dataclass(frozen=True, eq=False)
class _JudgedBySkill:
    """The same, judged by the labels that tasks received: parts are small, as every response is beside all of these."""

    consensus: SourceConsensus

    @property
    def is_one(self) -> bool:
        """Whether there is one part at most."""
        return self.consensus.parts.is_one and sum(1 for _ in self._rows()) < 2

    def _rows(self) -> Iterator[Rows]:
        for encoded in self.consensus.parts:
            rows = consensus_rows(encoded)
            entries = np.append(0, np.cumsum(np.diff(rows.start) * np.diff(GivenLabels.of(rows).start)))
            first = 0
            while first < rows.n_tasks:
                last = int(np.searchsorted(entries, entries[first] + MOST_ENTRIES, side="right")) - 1
                last = max(last, first + 1)
                yield rows.of_tasks(first, last)
                first = last

    def __iter__(self) -> Iterator[ComparedWithGiven]:
        judge = SkillJudge(self.consensus.parameters)
        for rows in self._rows():
            given = GivenLabels.of(rows)
            place, without = judge.without(rows, given)
            sizes = np.diff(place)
            entry = np.arange(place[-1]) + np.repeat(given.start[rows.task] - place[:-1], sizes)
            members = judge.members(rows, given)
            right = [(SKILL_WEIGHTS[name], shares.entries[given.of_row]) for name, shares in members.items()]
            label = given.label[entry]
            yield ComparedWithGiven(**_responses(rows), right=right, sizes=sizes, label=label, without=without)


def consensus_workers(solution: ConsensusSolution, source: Source) -> Workers:
    """Measures the workers of the source that a consensus was made from."""
    there = solution.tasks.here if solution.tasks and solution.source is source else None
    consensus = there or SourceConsensus(encode_tasks(source), solution.parameters, solution.scale)
    labels = solution.scale.labels
    if solution.by_skill:
        given = _JudgedBySkill(consensus)
        skill = measure_given([*given] if given.is_one else given)
    else:
        judged = _Judged(consensus)
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
    for encoded, tasks in zip(consensus.parts, consensus, strict=True):
        coded, labels = encoded.coded, tasks.labels
        more = (coded.worker.astype(np.int64) * n + labels[coded.task]) * n + coded.answer
        cells, place = np.unique(np.append(cells, more), return_inverse=True)
        times = np.bincount(place.reshape(-1), np.append(times, coded.times)).astype(np.int64)
    pair, answer = np.divmod(cells, n)
    number, label = np.divmod(pair, n)
    return {WORKER_NUMBER: number, "label": label, "answer": answer, "n": times}
