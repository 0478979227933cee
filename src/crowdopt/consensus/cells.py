"""Cells: pairs of a worker and a label, of which a crowd of many workers has few. Tables have a row for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.consensus.rows import Rows


@dataclass(frozen=True, eq=False)
class AnswerCells:
    """The pairs that matter, those that were answered first, sorted by worker and label.

    Attributes:
        index: Position of each pair (worker, label), or -1.
        worker: Worker of each cell.
        label: Label of each cell.
        n_answered: How many were answered.
    """

    index: Ints
    worker: Ints
    label: Ints
    n_answered: int

    @classmethod
    def answered(cls, parts: Iterable[Rows], n_workers: int, n_labels: int) -> AnswerCells:
        """The labels that each worker answered."""
        answered = np.zeros((n_workers, n_labels), bool)
        for rows in parts:
            answered[rows.worker, rows.answer] = True
        return cls.of(answered, answered)

    @classmethod
    def met(cls, parts: Iterable[Rows], n_workers: int, n_labels: int) -> AnswerCells:
        """The labels that each worker, or another worker on one of the worker's tasks, answered."""
        answered, met = (np.zeros((n_workers, n_labels), bool) for _ in range(2))
        for rows in parts:
            answered[rows.worker, rows.answer] = True
            for label, given in enumerate(rows.votes.T > 0):
                met[rows.worker[given[rows.task]], label] = True
        return cls.of(answered, met)

    @classmethod
    def none(cls, parts: Iterable[Rows], n_workers: int, n_labels: int) -> AnswerCells:
        """No pairs at all."""
        del parts, n_labels
        nothing = np.zeros((n_workers, 0), bool)
        return cls.of(nothing, nothing)

    @classmethod
    def every(cls, n_workers: int, n_labels: int) -> AnswerCells:
        """All pairs, in order."""
        index = np.arange(n_workers * n_labels).reshape(n_workers, n_labels)
        worker, label = (one.ravel() for one in np.indices(index.shape))
        return cls(index, worker, label, index.size)

    @classmethod
    def of(cls, answered: Bools, met: Bools) -> AnswerCells:
        """The pairs (worker, label) that were met, given which of them were answered."""
        first, others = np.nonzero(answered), np.nonzero(met & ~answered)
        worker, label = (np.concatenate(pair) for pair in zip(first, others, strict=True))
        index = np.full(met.shape, -1)
        index[worker, label] = np.arange(len(worker))
        return cls(index, worker, label, len(first[0]))

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.index)

    def of_rows(self, rows: Rows) -> NDArray[np.uint64]:
        """The cell of each response; unsigned, which loops take faster."""
        return self.index[rows.worker, rows.answer].astype(np.uint64)

    def counts(self, rows: Rows, states: Floats) -> Floats:
        """How often each pair was answered in each state (answered cell, state), by the probabilities of states."""
        counts, cell = np.empty((self.n_answered, states.shape[1])), self.index[rows.worker, rows.answer]
        for state in range(states.shape[1]):
            counts[:, state] = np.bincount(cell, states[rows.task, state], minlength=self.n_answered)
        return counts

    def totals(self, counts: Floats) -> Floats:
        """Sums over the answers of each worker (worker, state)."""
        totals = np.zeros((len(self.index), counts.shape[1]))
        if self.n_answered:
            workers, first = np.unique(self.worker[: self.n_answered], return_index=True)
            totals[workers] = np.add.reduceat(counts, first, axis=0)
        return totals

    def table(self, counts: Floats) -> Floats:
        """Sums over the workers (answer, state)."""
        return np.stack(
            [counts[self.label[: self.n_answered] == one].sum(axis=0) for one in range(self.index.shape[1])]
        )
