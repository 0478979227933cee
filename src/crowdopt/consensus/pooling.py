"""Partial pooling: the rows of a worker's matrix are drawn around rows that a class of workers has in common.

A row is Dirichlet(strength · mean). How many draws from the common row a worker's counts show (the tables of a Chinese
restaurant) says what the mean is; how many there are for so many responses says how strong it is (Minka's fixed point).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.consensus.pool_kernels import pool

if TYPE_CHECKING:
    from crowdopt._arrays import Floats
    from crowdopt.consensus.cells import Cells

FIRST_STRENGTH = 4.0
WEAKEST, STRONGEST = 0.5, 200.0
PRIOR_TABLES, PRIOR_SIZE = 2.0, 0.1
"""Pseudo-counts of the strength: as if so many draws had been seen, at the size of so many."""


@dataclass(frozen=True, eq=False)
class Pool:
    """What classes of workers have in common.

    Attributes:
        mean: The mean rows (class, answer, state): over the answers they sum to one.
        strength: How many responses a mean row is worth (class).
    """

    mean: Floats
    strength: Floats

    @classmethod
    def around(cls, mean: Floats) -> Pool:
        """Means to begin with."""
        return cls(mean, np.full(len(mean), FIRST_STRENGTH))

    @property
    def alpha(self) -> Floats:
        """The pseudo-counts (class, answer, state)."""
        return self.strength[:, None, None] * self.mean

    @property
    def alpha_of_rows(self) -> Floats:
        """The sums of the pseudo-counts of a row (class, 1, state)."""
        return np.repeat(self.strength, self.mean.shape[-1]).reshape(len(self.strength), 1, -1)

    def tables(self, cells: Cells, counts: Floats, totals: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """How many draws from each class the workers' counts show (class, answer, state), and for what size (class)."""
        tables, sizes = np.zeros_like(self.mean), np.zeros_like(self.alpha_of_rows)
        everybody = np.arange(len(totals))
        pool(counts, cells.worker, cells.label, weights, self.alpha, tables)
        pool(totals, everybody, np.zeros_like(everybody), weights, self.alpha_of_rows, sizes)
        return tables, sizes.sum(axis=(1, 2)) / self.strength

    def stronger(self, tables: Floats, sizes: Floats) -> Pool:
        """The same means, as strong as the tables say."""
        strength = (tables.sum(axis=(1, 2)) + PRIOR_TABLES) / (sizes + PRIOR_SIZE)
        return replace(self, strength=np.clip(strength, WEAKEST, STRONGEST))


def normalised(counts: Floats) -> Floats:
    """Counts (..., answer, state) as probabilities of the answers."""
    return np.asarray(counts / counts.sum(axis=-2, keepdims=True))


def even_errors(accuracy: Floats, n_labels: int) -> Floats:
    """Matrices (class, answer, label) of workers who are right so often and err evenly."""
    wrong = ((1 - accuracy) / max(n_labels - 1, 1))[:, None, None]
    return np.where(np.eye(n_labels, dtype=bool), accuracy[:, None, None], wrong)
