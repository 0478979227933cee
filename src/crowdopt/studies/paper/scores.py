"""How good estimates are where the truth is known: the paper's scores of labels and of response matrices.

They are computed from tasks by (true label, bucket), for many crowds at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from crowdopt._arrays import Bools, Counts, Floats, Ints


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
