"""How much a crowd agrees with itself, before any model is fitted; and how good estimates are where the truth is known.

Agreement is a sum over pairs of responses to the same task, and so is computed from the buckets; errors are computed
from tasks by (true label, bucket), for many crowds at once. The cost does not depend on the number of responses.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from crowdopt._arrays import Bools, Counts, Floats, Ints

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


def fraction_incorrect(table: ArrayLike, mapping: ArrayLike) -> Floats:
    """The share of tasks whose label is not the true one.

    Args:
        table: Tasks by (..., true label, bucket).
        mapping: Estimated label of each bucket, shape (..., bucket).

    Returns:
        The shares, shape (...), between 0 and 1.

    >>> float(fraction_incorrect([[3, 1], [0, 4]], [0, 1]))
    0.125
    """
    return _mean_penalty(table, mapping, lambda distance: distance > 0)


def distance_weighted(table: ArrayLike, mapping: ArrayLike) -> Floats:
    """The mean number of steps on the scale between estimated and true label: between 0 and labels - 1.

    Args:
        table: Tasks by (..., true label, bucket).
        mapping: Estimated label of each bucket, shape (..., bucket).

    >>> float(distance_weighted([[3, 1], [0, 2], [1, 3]], [0, 2]))
    0.6
    """
    return _mean_penalty(table, mapping, lambda distance: distance)


def _mean_penalty(table: ArrayLike, mapping: ArrayLike, penalty: Callable[[Ints], Counts | Bools]) -> Floats:
    tasks, labels = np.asarray(table), np.asarray(mapping)
    if tasks.ndim < 2 or labels.ndim < 1 or tasks.shape[-1] != labels.shape[-1]:
        raise InputError(f"tasks by (label, bucket) and labels by bucket do not fit: {tasks.shape}, {labels.shape}")
    true = np.arange(tasks.shape[-2])[:, None]
    lost = tasks * penalty(np.abs(labels[..., None, :] - true))
    return np.asarray(lost.sum(axis=(-1, -2)) / tasks.sum(axis=(-1, -2)), dtype=float)


def emd_score(estimated: ArrayLike, true: ArrayLike) -> Floats:
    """Earth mover's distances between the rows of two response matrices, summed over the true labels.

    Moving all of a row by one label costs 1, so that the score is at most labels * (labels - 1): 2 for two labels. For
    each row it is what ``scipy.stats.wasserstein_distance`` gives, here for many matrices at once.

    Args:
        estimated: Response matrices, shape (..., true, answered). A row of NaN, as a label without tasks has it, counts
            as even odds for every answer: nothing is known of it.
        true: The matrices that they estimate, of the same shape.

    Raises:
        InputError: A row of either is no distribution, or their shapes differ.

    >>> float(emd_score([[0.9, 0.1], [0.5, 0.5]], [[0.8, 0.2], [0.25, 0.75]]).round(12))
    0.35
    """
    difference = np.cumsum(np.subtract(*_distributions(estimated, true)), axis=-1)
    return np.asarray(np.abs(difference[..., :-1]).sum(axis=(-1, -2)), dtype=float)


def jsd_score(estimated: ArrayLike, true: ArrayLike) -> Floats:
    """Jensen-Shannon divergences between the rows of two response matrices, in bits, summed over the true labels.

    A divergence in bits is between 0 and 1, so that the score is at most the number of labels.

    Args:
        estimated: Response matrices, shape (..., true, answered), NaN rows as for :func:`emd_score`.
        true: The matrices that they estimate, of the same shape.

    Raises:
        InputError: As for :func:`emd_score`.

    >>> float(jsd_score([[1.0, 0.0], [0.3, 0.7]], [[0.0, 1.0], [0.3, 0.7]]))
    1.0
    """
    from scipy.spatial.distance import jensenshannon

    # SciPy gives the distance, which is the square root of the divergence: of one that rounding made negative, NaN.
    with np.errstate(invalid="ignore"):
        distance = np.nan_to_num(jensenshannon(*_distributions(estimated, true), base=2, axis=-1))
    return np.asarray((distance**2).sum(axis=-1), dtype=float)


def _distributions(estimated: ArrayLike, true: ArrayLike) -> tuple[Floats, Floats]:
    """Two sets of matrices whose rows are distributions: of those estimated, rows of NaN become even odds."""
    try:
        guess, truth = np.asarray(estimated, dtype=float), np.asarray(true, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"a response matrix must be an array of numbers: {error}") from error
    if guess.shape != truth.shape or guess.ndim < 2:
        raise InputError(f"two response matrices must have one shape, not {guess.shape} and {truth.shape}")
    guess = np.where(np.isnan(guess).all(axis=-1, keepdims=True), 1 / guess.shape[-1], guess)
    for name, matrix in (("estimated", guess), ("true", truth)):
        if not ((matrix >= 0).all() and np.allclose(matrix.sum(axis=-1), 1, rtol=0, atol=1e-6)):  # nor not-a-number
            raise InputError(f"every row of the {name} response matrix must be probabilities that sum to 1")
    return guess, truth
