"""Estimates: a mean over trials and the interval that it lies in, and what can be said for sure.

What an interval leaves open is neither true nor false but None. So conditions have three values, and those of many
parts are joined as in Kleene's logic: "every" is false as soon as one part is, and open while one that matters is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crowdopt._arrays import Bools, Floats

    Sure: TypeAlias = bool | None

LEVEL = 0.99
"""Of the intervals by which claims are judged: of many comparisons, a few would exceed 95 % by chance."""

_DRAWS = 4000
"""Draws for the interval of a rank correlation."""


def interval(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """The interval of the mean of independent values by Student's t; NaN for a single one.

    >>> [round(end, 3) for end in interval(np.array([1.0, 2.0, 3.0]))]
    [-0.484, 4.484]
    """
    from scipy.special import stdtrit

    if len(values) < 2:
        return float("nan"), float("nan")
    mean, error = float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5
    wide = float(stdtrit(len(values) - 1, (1 + level) / 2)) * error
    return mean - wide, mean + wide


@dataclass(frozen=True)
class Estimate:
    """A mean, and the ends of its 99 % interval; these are NaN where there is only one value, and nothing is sure."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Estimate:
        """The mean of one value per trial; trials without a value (NaN) do not count."""
        there = values[~np.isnan(values)]
        return cls(float(there.mean()) if len(there) else math.nan, *interval(there, LEVEL))

    @classmethod
    def share(cls, flags: Bools, level: float = LEVEL) -> Estimate:
        """A share of trials, with Wilson's interval, which never leaves 0 to 1.

        >>> Estimate.share(np.zeros(20, bool)).high < 0.3
        True
        """
        from scipy.special import ndtri

        n, found = len(flags), float(np.mean(flags))
        z = float(ndtri((1 + level) / 2))
        middle, wide = found + z * z / (2 * n), z * math.sqrt(found * (1 - found) / n + (z / (2 * n)) ** 2)
        scale = 1 + z * z / n
        return cls(found, max(0.0, (middle - wide) / scale), min(1.0, (middle + wide) / scale))

    @property
    def half(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2

    def __sub__(self, other: Estimate) -> Estimate:
        """The difference of two means of separate trials."""
        mean, wide = self.mean - other.mean, math.hypot(self.half, other.half)
        return Estimate(mean, mean - wide, mean + wide)

    def above(self, limit: float) -> Sure:
        """Whether the mean is above a limit.

        >>> [Estimate(2, 1, 3).above(limit) for limit in (0, 2, 4)]
        [True, None, False]
        """
        return True if self.low > limit else False if self.high <= limit else None

    def below(self, limit: float) -> Sure:
        """Whether the mean is below a limit."""
        return True if self.high < limit else False if self.low >= limit else None

    def within(self, margin: float) -> Sure:
        """Whether the mean is between minus and plus a margin."""
        return every([self.above(-margin), self.below(margin)])


def averaged(estimates: Iterable[Estimate]) -> Estimate:
    """The mean of the means of separate trials."""
    found = list(estimates)
    mean, wide = math.fsum(e.mean for e in found) / len(found), math.hypot(*(e.half for e in found)) / len(found)
    return Estimate(mean, mean - wide, mean + wide)


def trend(points: Mapping[int, Estimate]) -> Estimate:
    """Spearman's rank correlation of estimates with m, m = 1 left out: there one answer is all there is to explain.

    The interval is that of the correlation when every estimate is drawn anew from its own interval, as if normal.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    some = {m: point for m, point in points.items() if m > 1}
    means, halves = (np.array([getattr(point, name) for point in some.values()]) for name in ("mean", "half"))
    if len(some) < 3 or np.ptp(means) == 0:
        return Estimate(0.0, math.nan, math.nan)
    noise = np.random.Generator(np.random.PCG64(0)).standard_normal((_DRAWS, len(some)))
    errors = halves / float(ndtri((1 + LEVEL) / 2))
    ranks = rankdata(np.vstack([means, means + noise * errors]), axis=1)
    sizes = rankdata(list(some))
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1) * np.linalg.norm(sizes - sizes.mean())
    found = centred @ (sizes - sizes.mean()) / np.where(length > 0, length, 1)
    low, high = (
        np.quantile(found[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if not np.isnan(errors).any() else (np.nan,) * 2
    )
    return Estimate(float(found[0]), float(low), float(high))


def every(facts: Iterable[Sure]) -> Sure:
    """Whether all of some facts are true.

    >>> every([True, None]), every([None, False]), every([True, True])
    (None, False, True)
    """
    found = set(facts)
    return False if False in found else None if None in found else True


def some(facts: Iterable[Sure]) -> Sure:
    """Whether one of some facts is true.

    >>> some([True, None]), some([None, False]), some([False, False])
    (True, None, False)
    """
    found = set(facts)
    return True if True in found else None if None in found else False
