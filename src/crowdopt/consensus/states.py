"""Tasks in states: what ``tilted`` and ``kinds`` share. A state is a label, or a label and what kind of task it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.kernels import expect, expect_without
from crowdopt.consensus.threads import by_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from crowdopt._arrays import Floats
    from crowdopt.consensus.cells import AnswerCells
    from crowdopt.consensus.rows import Rows

LEAST = 1e-12
"""The least probability of an answer in a table."""

LARGEST = 2**25
"""Bytes of tables that threads may have of their own, all together."""

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
        alone: Of the state, with or without a tilt, by (state): for a task that nobody answered.
        beta: By how much a tilt lifts the logarithm of its answer; 0 if there are no tilts.
    """

    cells: AnswerCells
    answer: Floats
    pull: Floats
    prior: Floats
    kind: Floats
    alone: Floats
    beta: float = 0.0

    @classmethod
    def plain(cls, cells: AnswerCells, answer: Floats, prior: Floats) -> States:
        """States without tilts."""
        return cls(cells, answer, NOTHING, prior, np.zeros((cells.index.shape[1], len(prior))), prior)

    def expect(self, rows: Rows, states: Floats, *, learn: bool = True) -> tuple[float, Floats, Floats, Floats]:
        """Puts the probabilities of the states in place.

        Returns the largest change of a probability; what they add up to by (tilt, state), no tilt at the end; and for
        the answers (answered cell, state) and the tilts (cell, state) of the workers, unless these do not matter.
        """
        of_rows = self.cells.of_rows(rows)

        def part(first: int, last: int) -> tuple[float, Floats, Floats, Floats]:
            kinds = np.zeros((self.kind.shape[0] + 1, self.kind.shape[1]))
            counts, pulled = (np.zeros_like(one) if learn else NOTHING for one in (self.answer, self.pull))
            found = expect(
                self._flat(rows, of_rows, first, last), self._tables, states[first:last], counts, pulled, kinds
            )
            return found, kinds, counts, pulled

        size = self.answer.nbytes + self.pull.nbytes
        parts = by_parts(part, rows.n_tasks, 4 * len(rows.worker) * len(self.prior), LARGEST // max(size, 1))
        changes, *sums = zip(*parts, strict=True)
        kinds, counts, pulled = (one[0] if len(one) == 1 else np.sum(one, axis=0) for one in sums)
        return max(changes), kinds, counts, pulled

    def learn(self, parts: Iterable[Rows]) -> tuple[Floats, Floats]:
        """What the answers (answered cell, state) and the tilts (cell, state) of the workers add up to."""
        counts, pulled = np.zeros_like(self.answer), np.zeros_like(self.pull)
        for rows in parts:
            _, _, more_counts, more_pulled = self.expect(rows, np.zeros((rows.n_tasks, len(self.prior))))
            counts += more_counts
            pulled += more_pulled
        return counts, pulled

    def labels(self, rows: Rows) -> Floats:
        """The probabilities of the labels of every task."""
        states = np.zeros((rows.n_tasks, len(self.prior)))
        self.expect(rows, states, learn=False)
        return by_label(states, rows.n_labels)

    def labels_without(self, rows: Rows) -> Floats:
        """For every response those of its task, without the responses of this worker to it."""
        states = np.zeros((len(rows.worker), len(self.prior)))
        expect_without(self._flat(rows, self.cells.of_rows(rows), 0, rows.n_tasks), self._tables, states)
        return by_label(states, rows.n_labels)

    @property
    def _tables(self) -> tuple[Any, ...]:
        return self.answer, self.pull, self.prior, self.kind, self.alone, self.beta

    def _flat(self, rows: Rows, of_rows: NDArray[np.uint64], first: int, last: int) -> tuple[Any, ...]:
        start, known = rows.start[first : last + 1], rows.known[first:last]
        most = int(np.diff(start).max(initial=0))
        return start, rows.worker, rows.answer, known, of_rows, self.cells.index, most


def by_label(states: Floats, n_labels: int) -> Floats:
    """Sums over the states of each label, in the last dimension."""
    return np.asarray(states.reshape(*states.shape[:-1], n_labels, -1).sum(axis=-1))


def log_table(matrix: Floats) -> Floats:
    """Logarithms whose sums are exact."""
    logs = np.maximum(matrix, LEAST)
    return on_grid(np.log(logs, out=logs))


def logs_of_shares(shares: Floats) -> Floats:
    """Logarithms of shares, some of which may be zero."""
    return np.log(shares, where=shares > 0, out=np.full_like(shares, NEVER))


def by_cell(matrix: Floats, cells: AnswerCells) -> Floats:
    """Matrices (worker, state, answer) as a table (cell, state)."""
    return np.ascontiguousarray(matrix[cells.worker, :, cells.label])
