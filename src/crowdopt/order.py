"""Dominance: the order between buckets that a mapping of ordered labels should respect.

Bucket a dominates b when, class by class, it has at least as many responses at or above every label but
the lowest, and at most as many at or below every label but the highest. A mapping respects the order when
no bucket gets a lower label than one it dominates (docs/theory.md, "The order").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt.types import Ints

_BLOCK = 1 << 22
"""Comparisons made at once: bounds the memory of the pairwise check."""


def tails(counts: Ints) -> Ints:
    """For each bucket the numbers that dominance compares, all "more is higher", shape (bucket, class * 2(R-1))."""
    above = np.cumsum(counts[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]
    below = np.cumsum(counts, axis=2)[:, :, :-1]
    return np.concatenate([above, -below], axis=2).reshape(len(counts), -1)


def violation(counts: Ints, mapping: Ints) -> tuple[int, int] | None:
    """A pair (a, b) where a dominates b and yet has the lower label, or None if the order is respected."""
    keys = tails(counts)
    if keys.shape[1] == 2:
        return _violation_in_plane(keys, mapping)
    block = max(1, _BLOCK // max(1, keys.size))
    for start in range(0, len(keys), block):
        rows = slice(start, start + block)
        dominates = (keys[rows, None, :] >= keys[None, :, :]).all(axis=2)
        wrong = np.argwhere(dominates & (mapping[rows, None] < mapping[None, :]))
        if len(wrong):
            return int(wrong[0, 0]) + start, int(wrong[0, 1])
    return None


def _violation_in_plane(keys: Ints, mapping: Ints) -> tuple[int, int] | None:
    """The same for two numbers per bucket (two labels, one class) in O(B log B).

    Sweeps from the lowest first number up, remembering of the buckets with label 1 the one that is
    easiest to dominate; a later bucket with label 0 must not dominate it.
    """
    # Lowest first number first; among equals the ones that could be dominated (label 1) first.
    sweep = np.lexsort((1 - mapping, keys[:, 0]))
    second = np.where(mapping[sweep] == 1, keys[sweep, 1], np.iinfo(np.int64).max)
    easiest = np.minimum.accumulate(second)
    wrong = np.flatnonzero((mapping[sweep] == 0) & (keys[sweep, 1] >= easiest))
    if not len(wrong):
        return None
    at = int(wrong[0])
    low = int(np.argmin(second[: at + 1]))
    return int(sweep[at]), int(sweep[low])
