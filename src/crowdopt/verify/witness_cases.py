"""Sets that respect an order again, case by case: whether any is worth more to a label than it should be.

A label of a mapping that respects an order has with two buckets all that lie between them. Sets of any kind are looked
through far more quickly (witness_sets.py), so that is asked for only where one that is worth too much lacks a bucket m
between two of its own. With e one of these two, every set that may be looked for is without e; or has e and m; or has e
and not m, and so nothing on the other side of m. The three are looked through one by one, with these buckets fixed.

It does not always lead to an answer: then cuts must (witness_closures.py).
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.verify.optimum import Undecided, label_value
from crowdopt.verify.witness_sets import Sets, set_above

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.problem import Problem
    from crowdopt.verify.witness_closures import Closures

MOST_CASES = 150
"""Cases that are looked at before giving up."""

_EPS = float(np.finfo(float).eps)


def worth_more_by_cases(
    problem: Problem, label: int, prices: Floats, above: Bools, closures: Closures, threshold: float, deadline: float
) -> bool | None:
    """Whether any set that respects the order is worth more than the threshold; None if cases do not tell.

    Args:
        problem: The problem.
        label: The label.
        prices: By bucket.
        above: Whether a bucket (column) dominates another (row); whether itself does not matter.
        closures: The sets that the label may have.
        threshold: What none should be worth more than.
        deadline: When an answer is of no use any more; half of the time until then may be taken.
    """
    now = time.monotonic()
    try:
        half = now + (deadline - now) / 2
        return _look(problem, label, prices, above & ~np.eye(len(prices), dtype=bool), closures, threshold, half)
    except Undecided:
        return None


def _look(
    problem: Problem, label: int, prices: Floats, above: Bools, closures: Closures, threshold: float, deadline: float
) -> bool | None:
    """The same, but raises where the time is over or numbers are too large."""
    waiting = [(np.zeros(len(prices), bool), np.zeros(len(prices), bool))]
    for _ in range(MOST_CASES):
        if not waiting:
            return False
        inside, outside = waiting.pop()
        free = ~(inside | outside)
        paid = math.fsum(prices[inside])
        rounding = 8 * _EPS * (abs(threshold) + abs(paid))
        sets = Sets.under(problem, label, inside, free, prices)
        found = set_above(sets, threshold + paid - rounding, deadline)
        if found is None:
            continue
        whole = inside.copy()
        whole[free] = found
        gap = _gap(above, whole, problem.buckets.weights)
        if gap is None:
            return True if closures.allows(whole) and _worth(problem, label, prices, whole) > threshold else None
        end, missing = gap
        for held, lacked in (([], [end]), ([end, missing], []), ([end], [missing])):
            case = _fixed(above, inside, outside, held, lacked)
            if case is not None:
                waiting.append(case)
    return None


def _worth(problem: Problem, label: int, prices: Floats, members: Bools) -> float:
    """What a set is worth to a label, in one exact sum of what it is made of."""
    buckets = problem.buckets
    value = label_value(problem, label, buckets.responses[members].sum(axis=0), int(buckets.weights[members].sum()))
    return math.fsum([value, *-prices[members]])


def _gap(above: Bools, members: Bools, weights: Ints) -> tuple[int, int] | None:
    """A member, and a bucket that is missing between it and others; None if there is no such bucket.

    The member has as few others as possible on its side of what is missing, which else is the bucket with most tasks.
    """
    n_above, n_below = (above & members).sum(axis=1), (above & members[:, None]).sum(axis=0)
    missing = np.flatnonzero(~members & (n_above > 0) & (n_below > 0))
    if not len(missing):
        return None
    fewest = np.minimum(n_above, n_below)[missing]
    gap = int(missing[np.lexsort((-weights[missing], fewest))[0]])
    side = above[gap] if n_above[gap] <= n_below[gap] else above[:, gap]
    return int(np.flatnonzero(side & members)[0]), gap


def _fixed(
    above: Bools, inside: Bools, outside: Bools, held: list[int], lacked: list[int]
) -> tuple[Bools, Bools] | None:
    """More buckets fixed, with all between those inside, and nothing beyond those outside; None if that cannot be."""
    inside, outside = inside.copy(), outside.copy()
    inside[held], outside[lacked] = True, True
    under, over = above[:, inside].any(axis=1), above[inside].any(axis=0)  # some bucket inside
    inside |= under & over
    outside |= above[:, outside & under].any(axis=1) | above[outside & over].any(axis=0)
    return None if (inside & outside).any() else (inside, outside)
