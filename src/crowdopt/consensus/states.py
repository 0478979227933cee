"""Tasks in states: what ``tilted`` and ``kinds`` share. A state is a label, or a label and what kind of task it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.kernels import expect, expect_without

if TYPE_CHECKING:
    from crowdopt._arrays import Floats
    from crowdopt.consensus.cells import Cells
    from crowdopt.consensus.rows import Rows

LEAST = 1e-12
"""The least probability of an answer in a table."""

NOTHING = np.empty((0, 0))
NEVER = -1e6
"""The logarithm of a share of zero: finite, because a task may still be known to have the label."""


@dataclass(frozen=True, eq=False)
class States:
    """How likely answers are in every state of a task, as logarithms.

    Attributes:
        cells: The rows of the first two tables.
        answer: By (answered cell, state).
        pull: Of what the worker's probabilities sum to when a tilt lifts that label, by (cell, state); empty without.
        prior: Of the state, without a tilt, by (state).
        kind: How much likelier the state is with a tilt, by (tilt, state).
        beta: By how much a tilt lifts the logarithm of its answer; 0 if there are no tilts.
    """

    cells: Cells
    answer: Floats
    pull: Floats
    prior: Floats
    kind: Floats
    beta: float = 0.0

    @classmethod
    def plain(cls, cells: Cells, answer: Floats, prior: Floats) -> States:
        """States without tilts."""
        return cls(cells, answer, NOTHING, prior, np.zeros((cells.index.shape[1], len(prior))))

    def expect(self, rows: Rows, states: Floats, counts: Floats, pulled: Floats) -> tuple[float, Floats]:
        """Puts the probabilities of the states in place and adds up the workers' counts.

        Returns the largest change of a probability, and the sums by (tilt, state), no tilt at the end.
        """
        kinds = np.zeros((self.kind.shape[0] + 1, self.kind.shape[1]))
        return expect(self._flat(rows), self._tables, states, counts, pulled, kinds), kinds

    def labels(self, rows: Rows) -> Floats:
        """The probabilities of the labels of every task."""
        states = np.zeros((rows.n_tasks, len(self.prior)))
        self.expect(rows, states, NOTHING, NOTHING)
        return by_label(states, rows.n_labels)

    def labels_without(self, rows: Rows) -> Floats:
        """For every response those of its task, without the responses of this worker to it."""
        states = np.zeros((len(rows.worker), len(self.prior)))
        expect_without(self._flat(rows), self._tables, states)
        return by_label(states, rows.n_labels)

    @property
    def _tables(self) -> tuple[Floats, Floats, Floats, Floats, float]:
        return self.answer, self.pull, self.prior, self.kind, self.beta

    def _flat(self, rows: Rows) -> tuple[Any, ...]:
        most = int(np.diff(rows.start).max(initial=0))
        return rows.start, rows.worker, rows.answer, rows.known, self.cells.of_row, self.cells.index, most


def by_label(states: Floats, n_labels: int) -> Floats:
    """Sums over the states of each label, in the last dimension."""
    return np.asarray(states.reshape(*states.shape[:-1], n_labels, -1).sum(axis=-1))


def log_table(matrix: Floats) -> Floats:
    """Logarithms whose sums are exact."""
    return on_grid(np.log(np.maximum(matrix, LEAST)))


def log_shares(shares: Floats) -> Floats:
    """Logarithms of shares, some of which may be zero."""
    return np.log(shares, where=shares > 0, out=np.full_like(shares, NEVER))


def by_cell(matrix: Floats) -> Floats:
    """Matrices (worker, state, answer) as a table (cell, state) of every cell."""
    return np.swapaxes(matrix, 1, 2).reshape(-1, matrix.shape[1])
