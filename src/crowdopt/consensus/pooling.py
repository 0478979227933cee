"""Partial pooling: the rows of a worker's matrix are drawn around rows that a class of workers has in common.

A row is Dirichlet(strength · mean). How many draws from the common row a worker's counts show (the tables of a Chinese
restaurant) says what the mean is; how many there are for so many responses says how strong it is (Minka's fixed point).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.consensus.pool_kernels import class_scores, pool
from crowdopt.consensus.threads import by_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.cells import AnswerCells

FIRST_STRENGTH = 4.0
WEAKEST, STRONGEST = 0.5, 200.0
PRIOR_TABLES, PRIOR_SIZE = 2.0, 0.1
"""Pseudo-counts of the strength: as if so many draws had been seen, at the size of so many."""


@dataclass(frozen=True, eq=False)
class Pooling:
    """What classes of workers have in common.

    Attributes:
        mean: The mean rows (class, answer, state): over the answers they sum to one.
        strength: How many responses a mean row is worth (class).
    """

    mean: Floats
    strength: Floats

    @classmethod
    def around(cls, mean: Floats) -> Pooling:
        """Means to begin with."""
        return cls(mean, np.full(len(mean), FIRST_STRENGTH))

    @property
    def alpha(self) -> Floats:
        """The pseudo-counts (class, answer, state)."""
        return np.ascontiguousarray(self.strength[:, None, None] * self.mean)

    def tables(self, cells: AnswerCells, counts: Floats, totals: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """How many draws from each class the workers' counts show (class, answer, state), and for what size (class)."""
        tables, sizes = (
            _summed(pool, (part, worker, label), (weights, alpha), alpha.shape)
            for part, worker, label, alpha in self._both(cells, counts, totals)
        )
        return tables, sizes.sum(axis=(1, 2)) / self.strength

    def evidence(self, cells: AnswerCells, counts: Floats, totals: Floats) -> Floats:
        """The log-likelihood of each worker's counts in each class (worker, class), whatever the worker's matrix."""
        everyone = np.ones((len(totals), len(self.strength)))
        of_answers, of_rows = (
            _summed(class_scores, (part, worker, label), (everyone, alpha), everyone.shape)
            for part, worker, label, alpha in self._both(cells, counts, totals)
        )
        return of_answers - of_rows

    def _both(self, cells: AnswerCells, counts: Floats, totals: Floats) -> list[tuple[Floats, Ints, Ints, Floats]]:
        """Counts, the worker and the label of each, and their pseudo-counts: of answers, and of whole rows."""
        everybody, whole = np.arange(len(totals)), np.repeat(self.strength, totals.shape[1])
        return [
            (counts, cells.worker[: len(counts)], cells.label[: len(counts)], self.alpha),
            (totals, everybody, np.zeros_like(everybody), whole.reshape(len(self.strength), 1, -1)),
        ]

    def stronger(self, tables: Floats, sizes: Floats) -> Pooling:
        """The same means, as strong as the tables say."""
        strength = (tables.sum(axis=(1, 2)) + PRIOR_TABLES) / (sizes + PRIOR_SIZE)
        return replace(self, strength=np.clip(strength, WEAKEST, STRONGEST))


def _summed(
    loop: Callable[..., None], by_cell: tuple[Any, ...], others: tuple[Floats, ...], shape: tuple[int, ...]
) -> Floats:
    """What a loop over the cells adds up to."""

    def part(first: int, last: int) -> Floats:
        total = np.zeros(shape)
        loop(*(one[first:last] for one in by_cell), *others, total)
        return total

    return np.asarray(sum(by_parts(part, len(by_cell[0]), 10 * by_cell[0].size * len(others[-1]))))


def of_sum_one(counts: Floats) -> Floats:
    """Counts (..., answer, state) as probabilities of the answers."""
    return np.asarray(counts / counts.sum(axis=-2, keepdims=True))


def even_errors(accuracy: Floats, n_labels: int) -> Floats:
    """Matrices (class, answer, label) of workers who are right so often and err evenly."""
    wrong = ((1 - accuracy) / max(n_labels - 1, 1))[:, None, None]
    return np.where(np.eye(n_labels, dtype=bool), accuracy[:, None, None], wrong)
