"""The lattice of buckets of one class and one size, and whether a mapping respects an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.order import violation

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.model.order import Order


def respects(order: Order, mapping: Ints) -> bool:
    """Whether no bucket has a lower label than one it dominates."""
    return violation(order.counts, mapping, ranked=order.ranked) is None


def from_tail(above: Ints, size: int) -> Ints:
    """The bucket of ``size`` responses with ``above[t]`` of them at or above label t + 1: the inverse of tails.

    >>> from_tail(np.array([3, 1]), 4).tolist()
    [1, 2, 1]
    """
    full = np.concatenate([[size], above, [0]])
    return np.asarray(full[:-1] - full[1:])


def meet(a: Ints, b: Ints) -> Ints:
    """The highest bucket that both a and b dominate (or equal), for one class and equal numbers of responses.

    >>> meet(np.array([0, 0, 2]), np.array([1, 0, 1])).tolist()
    [1, 0, 1]
    """
    return _componentwise(a, b, np.minimum)


def join(a: Ints, b: Ints) -> Ints:
    """The lowest bucket that dominates (or equals) both a and b, for one class and equal numbers of responses."""
    return _componentwise(a, b, np.maximum)


def _componentwise(a: Ints, b: Ints, pick: np.ufunc) -> Ints:
    size = int(a.sum())
    if int(b.sum()) != size:
        raise ValueError("meet and join are defined for equal numbers of responses")
    above = [np.cumsum(bucket[::-1])[::-1][1:] for bucket in (a, b)]
    return from_tail(pick(*above), size)
