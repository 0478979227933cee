"""How much a crowd agrees with itself, before any model is fitted.

Agreement is a sum over pairs of responses to the same task, and so is computed from the buckets: the cost does not
depend on the number of responses.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.errors import InputError

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints

Metric = Literal["nominal", "ordinal"]


@dataclass(frozen=True)
class Agreement:
    """Agreement within a crowd.

    Attributes:
        alpha: Krippendorff's alpha: 1 is perfect agreement, 0 is what chance would give. None where it is
            undefined: no task has two responses, or all responses to such tasks are the same label.
        pairwise: The share of agreeing pairs among all pairs of responses to the same task. None where no
            task has two responses.
    """

    alpha: float | None
    pairwise: float | None

    def to_dict(self) -> dict[str, float | None]:
        """The two figures by name."""
        return asdict(self)


def agreement(counts: Ints, weights: Ints, metric: Metric = "nominal") -> Agreement:
    """Measures how far responses to the same task agree.

    Tasks with fewer than two responses do not count. Classes of workers are summed over.

    Args:
        counts: Responses by (bucket, class, label).
        weights: Tasks in each bucket.
        metric: What alpha takes two labels to differ by: "nominal" for all labels alike, "ordinal" for the
            number of responses that lie between them on the scale. It does not change ``pairwise``.

    Returns:
        The agreement.

    Three tasks with two "no", two tasks with one response each way, one with two "yes":

    >>> found = agreement(np.array([[[2, 0]], [[1, 1]], [[0, 2]]]), np.array([3, 2, 1]))
    >>> f"{found.alpha:.4f} {found.pairwise:.4f}"
    '0.3125 0.6667'
    """
    by_label = counts.sum(axis=1)
    paired = (by_label.sum(axis=1) > 1) & (weights > 0)
    # Floats from here on: products of large counts leave the integers, and every sum below has only
    # terms of one sign, so that nothing cancels and the relative error stays at a few units of rounding.
    table, mass = by_label[paired].astype(np.float64), weights[paired].astype(np.float64)
    if not len(table):
        return Agreement(alpha=None, pairwise=None)
    size = table.sum(axis=1)
    agreeing = math.fsum(mass * (table * (table - 1)).sum(axis=1))
    pairwise = agreeing / math.fsum(mass * size * (size - 1))
    return Agreement(alpha=_alpha(table, mass, size, metric), pairwise=pairwise)


STEP = 1.0
"""Agreements beyond chance that do not count, as exchanging two responses changes two; of few, half of them."""


def excess_over_chance(votes: Ints, metric: Metric = "nominal", weights: Ints | None = None) -> float | None:
    """How far responses to the same task agree beyond responses drawn at random from all of them, in standard errors.

    The standard errors are those of what chance gives, so that above two it is hardly chance. None where that cannot be
    asked: no task has two responses, or all responses to such tasks are the same label.

    Args:
        votes: Responses by (task, label).
        metric: What two labels differ by, see :func:`agreement`.
        weights: How many tasks each row stands for, if not one.

    Forty tasks with two responses each, which agree on all, or on every second:

    >>> always = np.array([[2, 0], [0, 2]] * 20)
    >>> f"{excess_over_chance(always):.1f} {excess_over_chance(np.array([[2, 0], [1, 1], [0, 2], [1, 1]] * 10)):.1f}"
    '6.1 0.0'
    """
    paired = votes.sum(axis=1) > 1
    table, mass = votes[paired].astype(np.float64), np.ones(paired.sum()) if weights is None else weights[paired]
    table = table[:, table.any(axis=0)]  # labels that nobody gave would stretch the scale
    size, totals = table.sum(axis=1), mass @ table
    if len(totals) < 2:
        return None
    share, distance = totals / totals.sum(), _squared_distances(totals, metric)
    alike = 1 - distance / distance.max()  # from 0 to 1; a label and itself: 1
    n, pairs = totals.sum(), mass @ (size * (size - 1)) / 2
    agreeing = (mass @ (table @ alike * table).sum(axis=1) - n) / 2
    expected = alike @ share  # how much each label agrees with one that is drawn
    mean = share @ expected
    by_label = share @ expected**2 - mean**2
    # The shares come from the same responses: only where tasks differ in size does a label's frequency matter.
    uneven = mass @ (size * (size - 1 - 2 * pairs / n) ** 2)
    variance = pairs * (share @ alike**2 @ share - mean**2 - 2 * by_label) + uneven * by_label
    chance = pairs * (n * mean - 1) / (n - 1)  # two different responses are drawn
    beyond = agreeing - chance
    return float((beyond - min(STEP, max(beyond, 0) / 2)) / math.sqrt(variance))


def _alpha(table: Floats, mass: Floats, size: Floats, metric: Metric) -> float | None:
    """Krippendorff's alpha of tasks with at least two responses each."""
    totals = np.array([math.fsum(column) for column in (table * mass[:, None]).T])
    distance = _squared_distances(totals, metric)
    if np.count_nonzero(totals) < 2:
        return None  # one label only: chance cannot disagree either, and alpha would be 0/0
    # A label is at distance 0 from itself, so that pairs of a response with itself need no correction.
    observed = math.fsum(mass / (size - 1) * _disagreement(table, distance))
    expected = float(_disagreement(totals[None], distance)[0]) / (totals.sum() - 1)
    return float(1 - observed / expected)


def _squared_distances(totals: Floats, metric: Metric) -> Floats:
    """The squared difference of every two labels."""
    if metric == "nominal":
        return 1 - np.eye(len(totals))
    if metric == "ordinal":
        # Krippendorff's sum of the totals from one label to the other, less half of both ends, is the
        # difference of the mean ranks of the two labels.
        rank = np.cumsum(totals) - totals / 2
        return np.asarray((rank[:, None] - rank) ** 2)
    raise InputError(f"the metric is 'nominal' or 'ordinal', not {metric!r}")


def _disagreement(table: Floats, distance: Floats) -> Floats:
    """The summed distance of all ordered pairs of responses, for every row of counts."""
    return np.asarray((table @ distance * table).sum(axis=1))
