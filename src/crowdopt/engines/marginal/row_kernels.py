"""Compiled: one row of parameters, which lies in a box and sums to one.

A row is a point p of {low ≤ p ≤ high, Σ p = 1}. What is asked of it is the largest and the smallest Σ c ln p for some
c ≥ 0. All results are *outward*: the largest value is never too small and the smallest never too large, whatever
rounding does. ``EPS`` is eight times the rounding of one operation and more than the error of a logarithm; every
allowance below is a number of operations times EPS times the sizes that went into them.
"""

from __future__ import annotations

import numpy as np

from crowdopt._numba import compiled

EPS = 2.0**-50
"""Allowed for every operation and every logarithm or exponential: relative to its result."""

NONE_AT_ALL = -1e30
"""Stands for the logarithm of zero: finite, so that zero times it is zero."""

SUM_PAD = 1e-13
"""Absolute allowance for one minus a sum of probabilities: of up to 400 labels, where the sum is at most two."""

MOST_CORNERS = 7
"""Labels up to which the corners of a row's box are looked at; beyond, every entry by itself is as small as it can."""

LARGEST_MULTIPLIER = 1e4
"""Times Σ c: with a larger μ rounding may cost more than the slack that it takes away, so this one is tried too."""


@compiled
def log_or_none(x):
    """The logarithm; of zero a number so low that nothing comes near it."""
    return np.log(x) if x > 0 else NONE_AT_ALL


@compiled
def _fix_some(c, mu, total, low, high, fixed):
    """Fixes the entries that a wrong total pushes to an end; whether there are any."""
    found = False
    for a in range(c.shape[0]):
        if not fixed[a] and ((total > 1 and c[a] / mu <= low[a]) or (total < 1 and c[a] / mu >= high[a])):
            fixed[a] = found = True
    return found


@compiled
def _multiplier(c, low, high, p):
    """μ by filling up: entries that leave their interval are fixed at its end, and the others share what is left."""
    n = c.shape[0]
    fixed = np.zeros(n, np.bool_)
    mu = 0.0
    for _ in range(n + 1):
        rest, free = 1.0, 0.0
        for a in range(n):
            if fixed[a]:
                rest -= p[a]
            else:
                free += c[a]
        if free <= 0 or rest <= 0:
            break
        mu = free / rest
        total = 0.0
        for a in range(n):
            if not fixed[a]:
                p[a] = min(max(c[a] / mu, low[a]), high[a])
            total += p[a]
        if not _fix_some(c, mu, total, low, high, fixed):
            break
    return mu


@compiled
def largest_in_row(c, low, high, p):
    """At least the maximum of Σ c ln p over the row; ``p`` becomes where it is (nearly) taken.

    The Lagrangian Σ c ln p + μ (1 − Σ p) is a bound for any μ, so only its evaluation has to be guarded.
    """
    mu = _multiplier(c, low, high, p)
    value, most = _lagrangian(c, low, high, mu, p), LARGEST_MULTIPLIER * c.sum()
    return min(value, _lagrangian(c, low, high, most, p)) if mu > most else value


@compiled
def value_of_row(c, p):
    """Σ c ln p of a row that is given, outward."""
    value = 0.0
    for a in range(c.shape[0]):
        if c[a] > 0:
            value += c[a] * log_or_none(p[a])
    return min(value + (c.shape[0] + 4) * EPS * abs(value), 0.0)


@compiled
def _lagrangian(c, low, high, mu, p):
    """The maximum of Σ c ln p + μ (1 − Σ p) over the box of a row, outward; also with μ = 0 if the sum is below one."""
    n = c.shape[0]
    value, size, total = 0.0, 0.0, 0.0
    for a in range(n):
        p[a] = (low[a] if c[a] == 0 else high[a]) if mu <= 0 else min(max(c[a] / mu, low[a]), high[a])
        total += p[a]
        if c[a] > 0:
            term = c[a] * log_or_none(p[a])
            value += term
            size -= term
    at_mu = value + mu * (1 - total) + (n + 4) * EPS * (size + mu * (1 + total))
    if total < 1 - SUM_PAD:
        value = 0.0
        for a in range(n):
            if c[a] > 0:
                value += c[a] * log_or_none(high[a])
        at_mu = min(at_mu, value + (n + 4) * EPS * abs(value))
    return min(at_mu, 0.0)


@compiled
def tighten(low, high, first_row):
    """Shrinks the intervals of all rows to what the others of a row leave; False if a row cannot sum to one.

    Rows before ``first_row`` are given, and stay.
    """
    for row in range(first_row, low.shape[0]):
        if low.shape[1] == 2:
            for a in range(2):
                high[row, a] = min(high[row, a], (1 - low[row, 1 - a]) * (1 + EPS))
                low[row, a] = max(low[row, a], (1 - high[row, 1 - a]) * (1 - EPS))
            if low[row, 0] > high[row, 0] or low[row, 1] > high[row, 1]:
                return False
            continue
        for _ in range(2):
            least, most = low[row].sum(), high[row].sum()
            if least > 1 + SUM_PAD or most < 1 - SUM_PAD:
                return False
            for a in range(low.shape[1]):
                high[row, a] = min(high[row, a], max(1 - (least - low[row, a]) + SUM_PAD, 0.0))
                low[row, a] = max(low[row, a], min(1 - (most - high[row, a]) - SUM_PAD, 1.0))
                if low[row, a] > high[row, a]:
                    return False
                least, most = low[row].sum(), high[row].sum()
    return True


@compiled
def log_corners(low, high, logs):
    """Logarithms of points below or at all corners of a row's box cut with Σ p = 1; returns how many.

    At a corner all entries but one are at an end. What is left for that one is lowered by what rounding may have
    added, so a concave function that falls with every entry is nowhere smaller than at these points.
    """
    n, found = low.shape[0], 0
    if n > MOST_CORNERS:
        for a in range(n):
            logs[0, a] = log_or_none(low[a])
        return 1
    for last in range(n):
        for which in range(1 << (n - 1)):
            total, bit = 0.0, 0
            for a in range(n):
                if a != last:
                    total += high[a] if (which >> bit) & 1 else low[a]
                    bit += 1
            left = 1 - total
            if left < low[last] - SUM_PAD or left > high[last] + SUM_PAD:
                continue
            bit = 0
            for a in range(n):
                if a != last:
                    logs[found, a] = log_or_none(high[a] if (which >> bit) & 1 else low[a])
                    bit += 1
            logs[found, last] = log_or_none(max(left - SUM_PAD, low[last]))
            found += 1
    return found


@compiled
def _pair_ranges(low, high, counts, own, ranges):
    """Adds the interval of Σ x ln p of one class to those of u, for two labels: p is between two ends of a segment."""
    first0, first1 = log_or_none(low[0]), log_or_none(1 - low[0])
    last0, last1 = log_or_none(high[0]), log_or_none(1 - high[0])
    for b in range(counts.shape[0]):
        answers = counts[b, 0] + counts[b, 1]
        if answers == 0:
            continue
        one = counts[b, 0] * first0 + counts[b, 1] * first1
        other = counts[b, 0] * last0 + counts[b, 1] * last1
        inside = low[0] < counts[b, 0] / answers < high[0]
        ranges[b, 0] += min(one, other) - 4 * EPS * answers
        ranges[b, 1] += (own[b] if inside else max(one, other)) + 4 * EPS * answers


@compiled
def _row_ranges(low, high, counts, own, logs, p, ranges):
    """The same for any number of labels: a concave function is least at a corner, and largest where it is filled up."""
    n = low.shape[0]
    corners = log_corners(low, high, logs)
    for b in range(counts.shape[0]):
        answers = counts[b].sum()
        if answers == 0:
            continue
        inside = True
        for a in range(n):
            if not low[a] <= counts[b, a] / answers <= high[a]:
                inside = False
        ranges[b, 1] += own[b] + 4 * EPS * answers if inside else largest_in_row(counts[b], low, high, p)
        least = 0.0
        for at in range(corners):
            value = 0.0
            for a in range(n):
                if counts[b, a] > 0:
                    value += counts[b, a] * logs[at, a]
            if at == 0 or value < least:
                least = value
        ranges[b, 0] += least


@compiled
def score_ranges(low, high, counts, own, ranges):
    """``ranges`` (bucket, label, end) become intervals that hold u = ln π + Σ x ln p all over the box, outward.

    ``own`` (bucket, class) is the largest Σ x ln p that there can be: each answer as probable as it is frequent.
    """
    n_classes, n = counts.shape[1:]
    logs = np.empty((n << (n - 1) if 2 < n <= MOST_CORNERS else 1, n))
    p = np.empty(n)
    pad = (n_classes * (n + 1) + 8) * EPS
    for z in range(n):
        ranges[:, z, 0] = log_or_none(low[0, z])
        ranges[:, z, 1] = log_or_none(high[0, z])
        for k in range(n_classes):
            row = 1 + z * n_classes + k
            if n == 2:
                _pair_ranges(low[row], high[row], counts[:, k], own[:, k], ranges[:, z])
            else:
                _row_ranges(low[row], high[row], counts[:, k], own[:, k], logs, p, ranges[:, z])
        for b in range(counts.shape[0]):
            ranges[b, z, 0] -= pad * abs(ranges[b, z, 0])
            ranges[b, z, 1] = min(ranges[b, z, 1] + pad * abs(ranges[b, z, 1]), 0.0)
            ranges[b, z, 0] = min(ranges[b, z, 0], ranges[b, z, 1])


@compiled
def own_scores(counts, own):
    """``own`` (bucket, class) becomes Σ x ln(x / Σ x)."""
    for b in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            answers, own[b, k] = counts[b, k].sum(), 0.0
            for a in range(counts.shape[2]):
                if counts[b, k, a] > 0:
                    own[b, k] += counts[b, k, a] * np.log(counts[b, k, a] / answers)


@compiled
def scores_at(p, counts, scores):
    """``scores`` (bucket, label) become u at a point."""
    n_buckets, n_classes, n = counts.shape
    logs = np.empty(p.shape)
    for row in range(p.shape[0]):
        for a in range(n):
            logs[row, a] = log_or_none(p[row, a])
    for b in range(n_buckets):
        for z in range(n):
            value = logs[0, z]
            for k in range(n_classes):
                for a in range(n):
                    value += counts[b, k, a] * logs[1 + z * n_classes + k, a]
            scores[b, z] = value
