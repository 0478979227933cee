"""Seeded crowds as tables: how many tasks of each true label have each vector of counts.

Estimates depend on responses only through the counts of each task. Given its true label, these are multinomial; so
the number of tasks in every bucket is multinomial as well, and a crowd of any size is drawn in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.enumeration import full_lattice
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from crowdopt._arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Lattice:
    """All vectors of counts that tasks may have.

    Attributes:
        counts: Responses by (bucket, class, label), sorted.
        ways: For each bucket the number of orders in which its responses can come: a product of multinomial
            coefficients.
    """

    counts: Ints
    ways: Floats

    @classmethod
    def full(cls, n_labels: int, sizes: int | Sequence[int]) -> Lattice:
        """All tasks have ``sizes`` responses: one number, or one for each class of workers.

        >>> Lattice.full(2, 2).counts[:, 0].tolist(), Lattice.full(2, 2).ways.tolist()
        ([[0, 2], [1, 1], [2, 0]], [1.0, 2.0, 1.0])
        """
        sizes = [sizes] if isinstance(sizes, int | np.integer) else list(sizes)
        if n_labels < 2 or not sizes or min(sizes) < 0:
            raise InputError(f"there are no counts of {sizes} responses with {n_labels} labels")
        classes = [full_lattice(n_labels, size) for size in sizes]
        counts = np.array([np.stack(rows) for rows in product(*classes)], np.int64)
        return cls(counts, _orders(counts))

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.counts.shape[2])

    def probabilities(self, matrix: ArrayLike) -> Floats:
        """The probability of every bucket (column) for a task of every true label (row).

        Args:
            matrix: Probability of every answer, by (true, answered), or by (class, true, answered).
        """
        classes, labels = self.counts.shape[1:]
        given = np.asarray(matrix, dtype=float)
        full = np.broadcast_to(given, (classes, labels, labels))
        found = self.ways * np.prod(np.swapaxes(full, 0, 1)[:, None] ** self.counts[None], axis=(2, 3))
        return np.asarray(found / found.sum(axis=1, keepdims=True))  # which is 1 but for rounding

    def draw(self, tasks: ArrayLike, matrix: ArrayLike, rng: np.random.Generator) -> Ints:
        """Draws the tasks by (true label, bucket).

        Args:
            tasks: The number of tasks of each true label.
            matrix: As for :meth:`probabilities`.
            rng: The generator to draw from.
        """
        return rng.multinomial(np.asarray(tasks), self.probabilities(matrix)).astype(np.int64, copy=False)


def tasks_by_share(n_tasks: int, shares: Sequence[float]) -> Ints:
    """The number of tasks of each label when they have these shares as exactly as can be; what is left over goes first.

    >>> tasks_by_share(1000, [1 / 3, 1 / 3, 1 / 3]).tolist()
    [334, 333, 333]
    """
    exact = n_tasks * np.asarray(shares, dtype=float)
    whole = np.floor(exact + 1e-9).astype(np.int64)
    first = np.argsort(-(exact - whole), kind="stable")
    whole[first[: n_tasks - int(whole.sum())]] += 1
    return whole


def _orders(counts: Ints) -> Floats:
    """The number of orders in which the responses of each class can come, multiplied over classes."""
    from scipy.special import comb

    return np.asarray(comb(np.cumsum(counts, axis=2), counts).prod(axis=(1, 2)), dtype=float)
