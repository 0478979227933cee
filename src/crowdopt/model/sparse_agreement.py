"""How much a crowd agrees with itself, of many labels: the same figures as in ``agreement``, from sparse counts.

Differences of labels are zero and one, or those of their mean ranks. Of both, sums over all pairs of labels follow from
sums over labels: no table has a cell for every pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from crowdopt.model.agreement import STEP, Agreement, Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Bools, Floats, Ints, SmallInts


@dataclass(frozen=True, eq=False)
class SparseVotes:
    """How often tasks were given labels: for each task the labels that it was given.

    Attributes:
        sizes: How many entries each task has.
        label: The label of each entry.
        count: How often the task was given it.
        n_labels: Number of labels.
    """

    sizes: Ints
    label: SmallInts
    count: SmallInts
    n_labels: int

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Those of several parts."""
        sizes, label, count = (
            np.concatenate([getattr(one, name) for one in parts]) for name in ("sizes", "label", "count")
        )
        return cls(sizes, label, count, parts[0].n_labels)

    def some(self, tasks: Bools) -> Self:
        """Those of some tasks."""
        kept = np.repeat(tasks, self.sizes)
        return type(self)(self.sizes[tasks], self.label[kept], self.count[kept], self.n_labels)

    @property
    def task(self) -> Ints:
        """The task of each entry."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def totals(self) -> Ints:
        """How often each task was given any label."""
        return np.bincount(self.task, self.count, len(self.sizes)).astype(np.int64)


def sparse_agreement(votes: SparseVotes, metric: Metric) -> Agreement:
    """See :func:`agreement.agreement`."""
    votes = votes.some(votes.totals > 1)
    size, count = votes.totals.astype(np.float64), votes.count.astype(np.float64)
    if not len(size):
        return Agreement(alpha=None, pairwise=None)
    pairwise = float((count * (count - 1)).sum() / (size * (size - 1)).sum())
    totals = np.asarray(np.bincount(votes.label, count, votes.n_labels), np.float64)
    if np.count_nonzero(totals) < 2:
        return Agreement(alpha=None, pairwise=pairwise)
    place = np.zeros(votes.n_labels) if metric == "nominal" else _ranks(totals)
    apart = _disagreement(votes.task, count, place[votes.label], size, metric)
    observed = math.fsum(apart / (size - 1))
    whole = _disagreement(np.zeros(votes.n_labels, np.int64), totals, place, np.array([totals.sum()]), metric)
    expected = float(whole[0]) / (totals.sum() - 1)
    return Agreement(alpha=float(1 - observed / expected), pairwise=pairwise)


def sparse_excess(votes: SparseVotes, metric: Metric) -> float | None:
    """See :func:`agreement.excess_over_chance`."""
    votes = votes.some(votes.totals > 1)
    size, count = votes.totals.astype(np.float64), votes.count.astype(np.float64)
    totals = np.asarray(np.bincount(votes.label, count, votes.n_labels), np.float64)
    used = totals > 0
    if np.count_nonzero(used) < 2:
        return None
    share, n, pairs = totals[used] / totals.sum(), totals.sum(), (size * (size - 1)).sum() / 2
    if metric == "nominal":
        place, most = np.zeros(votes.n_labels), 1.0
        expected, square = share, float(share @ share)
    else:
        place = _ranks(totals)
        rank = place[used] - share @ place[used]
        most = float((rank[-1] - rank[0]) ** 2)
        variance, fourth = share @ rank**2, share @ rank**4
        expected = 1 - (rank**2 + variance) / most
        square = float(1 - 4 * variance / most + (2 * fourth + 6 * variance**2) / most**2)
    alike = size**2 - _disagreement(votes.task, count, place[votes.label], size, metric) / most
    agreeing = (alike.sum() - n) / 2
    mean = share @ expected
    by_label = share @ expected**2 - mean**2
    uneven = (size * (size - 1 - 2 * pairs / n) ** 2).sum()
    deviation = pairs * (square - mean**2 - 2 * by_label) + uneven * by_label
    beyond = agreeing - pairs * (n * mean - 1) / (n - 1)
    return float((beyond - min(STEP, max(beyond, 0) / 2)) / math.sqrt(deviation))


def _ranks(totals: Floats) -> Floats:
    """The mean rank of each label, on which ordinal differences rest."""
    return np.asarray(np.cumsum(totals) - totals / 2)


def _disagreement(task: Ints, count: Floats, place: Floats, size: Floats, metric: Metric) -> Floats:
    """The summed distance of all ordered pairs of responses of each task."""
    if metric == "nominal":
        return size**2 - np.bincount(task, count**2, len(size))
    mean = np.bincount(task, count * place, len(size)) / size
    return np.asarray(2 * size * np.bincount(task, count * (place - mean[task]) ** 2, len(size)))
