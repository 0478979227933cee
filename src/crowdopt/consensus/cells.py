"""Cells: pairs of a worker and a label, of which a crowd of many workers has few. Tables have a row for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
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
        of_row: Cell of each response; unsigned, which loops take faster.
    """

    index: Ints
    worker: Ints
    label: Ints
    n_answered: int
    of_row: NDArray[np.uint64]

    @classmethod
    def answered(cls, rows: Rows) -> AnswerCells:
        """The labels that each worker answered."""
        return cls._of(rows, np.zeros((rows.n_workers, rows.n_labels), bool))

    @classmethod
    def met(cls, rows: Rows) -> AnswerCells:
        """The labels that each worker, or another worker on one of the worker's tasks, answered."""
        met = np.zeros((rows.n_workers, rows.n_labels), bool)
        for label, given in enumerate(rows.votes.T > 0):
            met[rows.worker[given[rows.task]], label] = True
        return cls._of(rows, met)

    @classmethod
    def every(cls, rows: Rows) -> AnswerCells:
        """All pairs, in order."""
        shape = rows.n_workers, rows.n_labels
        index = np.arange(rows.n_workers * rows.n_labels).reshape(shape)
        worker, label = (one.ravel() for one in np.indices(shape))
        return cls(index, worker, label, index.size, (rows.worker * rows.n_labels + rows.answer).astype(np.uint64))

    @classmethod
    def _of(cls, rows: Rows, met: Bools) -> AnswerCells:
        answered = np.zeros_like(met)
        answered[rows.worker, rows.answer] = True
        first, others = np.nonzero(answered), np.nonzero(met & ~answered)
        worker, label = (np.concatenate(pair) for pair in zip(first, others, strict=True))
        index = np.full(met.shape, -1)
        index[worker, label] = np.arange(len(worker))
        return cls(index, worker, label, len(first[0]), index[rows.worker, rows.answer].astype(np.uint64))

    def counts(self, rows: Rows, states: Floats) -> Floats:
        """How often each pair was answered in each state (answered cell, state), by the probabilities of states."""
        counts, cell = np.empty((self.n_answered, states.shape[1])), self.of_row.astype(np.int64)
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
