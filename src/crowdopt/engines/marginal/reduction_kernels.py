"""Compiled: parts of a box where no maximiser that beats a threshold can lie are cut away (docs/theory.md, Fact 9)."""

from __future__ import annotations

import numpy as np

from crowdopt._numba import compiled
from crowdopt.engines.marginal.row_kernels import EPS, log_or_none

HALVINGS = 14
"""Halvings by which the end of an interval is found: it is left too wide by that much, never too narrow."""


@compiled
def _fails(c, rest, p, need):
    """Whether c ln p + rest ln(1 − p) is below what is needed, beyond doubt."""
    value = (c * log_or_none(p) if c > 0 else 0.0) + (rest * log_or_none(1 - p) if rest > 0 else 0.0)
    return value < need - 8 * EPS * (abs(value) + c + rest + abs(need))


@compiled
def _others(c, a):
    """The sum of all c but one, and the most that these can give of a rest of one: where they share it as c does."""
    rest, shared = 0.0, 0.0
    for other in range(c.shape[0]):
        if other != a:
            rest += c[other]
    for other in range(c.shape[0]):
        if other != a and c[other] > 0:
            shared += c[other] * np.log(c[other] / rest)
    return rest, shared


@compiled
def cut_rows(low, high, c, rows, slack, n_buckets):
    """Keeps of every entry what can be part of a point whose form is within ``slack`` of its maximum; how much goes.

    Every other row gives at most its maximum, so a row must give at least its own less the slack. With one entry
    fixed, the others give most where they share the rest as c does. c is a sum over so many buckets.
    """
    gone, n = 0.0, low.shape[1]
    for row in range(low.shape[0]):
        whole = c[row].sum()
        if whole <= 0:
            continue
        for a in range(n):
            width = high[row, a] - low[row, a]
            if width < 1e-12:
                continue
            rest, shared = _others(c[row], a)
            need = rows[row] - slack - shared
            need -= (n_buckets + 8 * (n + 4)) * EPS * (abs(rows[row]) + abs(slack) + abs(shared) + whole)
            peak = c[row, a] / whole
            if low[row, a] < peak and _fails(c[row, a], rest, low[row, a], need):
                low[row, a] = _failing_end(c[row, a], rest, low[row, a], min(peak, high[row, a]), need)
            if high[row, a] > peak and _fails(c[row, a], rest, high[row, a], need):
                high[row, a] = _failing_end(c[row, a], rest, high[row, a], max(peak, low[row, a]), need)
            gone += (1 - (high[row, a] - low[row, a]) / width) / n
    return gone


@compiled
def _failing_end(c, rest, end, inside, need):
    """The innermost point that still fails, found by halving between one that does and the peak."""
    for _ in range(HALVINGS):
        middle = 0.5 * (end + inside)
        if _fails(c, rest, middle, need):
            end = middle
        else:
            inside = middle
    return end


@compiled
def _share_range(ranges, b, z):
    """The interval of the posterior of a label of a bucket, from those of u."""
    others_low, others_high = 0.0, 0.0
    for y in range(ranges.shape[1]):
        if y != z:
            others_high += np.exp(min(ranges[b, y, 1] - ranges[b, z, 0], 700.0))
            others_low += np.exp(min(ranges[b, y, 0] - ranges[b, z, 1], 700.0))
    return 1 / (1 + others_high), 1 / (1 + others_low)


@compiled
def _add_excess(counts, answers, small, large, low, high, least, most):
    """Adds the least and the most by which the answers of a bucket can exceed what their probabilities expect."""
    for a in range(counts.shape[0]):
        excess = counts[a] - answers * high[a]
        least[a] += small * excess if excess > 0 else large * excess
        excess = counts[a] - answers * low[a]
        most[a] += large * excess if excess > 0 else small * excess


@compiled
def has_no_fixed_point(low, high, counts, weights, pseudo, ranges, first_row):
    """Whether no point of the box can be one that EM leaves alone, as every maximiser is.

    At such a point the expected count of every answer is its probability times that of the whole row. If it is more,
    or less, all over the box, there is none. Rows before ``first_row`` are not free, and not looked at.
    """
    n_buckets, n_classes, n = counts.shape
    least, most = np.zeros(low.shape), np.zeros(low.shape)
    size = np.zeros(low.shape[0])
    for row in range(low.shape[0]):
        known = pseudo[row].sum()
        size[row] = 2 * known
        for a in range(n):
            least[row, a] = pseudo[row, a] - known * high[row, a]
            most[row, a] = pseudo[row, a] - known * low[row, a]
    for b in range(n_buckets):
        size[0] += 2 * weights[b]
        for z in range(n):
            small, large = _share_range(ranges, b, z)
            small, large = weights[b] * small, weights[b] * large
            least[0, z] += small - weights[b] * high[0, z]
            most[0, z] += large - weights[b] * low[0, z]
            for k in range(n_classes):
                answers = counts[b, k].sum()
                if answers == 0:
                    continue
                row = 1 + z * n_classes + k
                size[row] += 2 * large * answers
                _add_excess(counts[b, k], answers, small, large, low[row], high[row], least[row], most[row])
    for row in range(first_row, low.shape[0]):
        doubt = (n_buckets + 4000) * EPS * size[row]
        for a in range(n):
            if least[row, a] > doubt or most[row, a] < -doubt:
                return True
    return False


@compiled
def keep_names(low, high, named_by, answers):
    """Keeps of a box what gives labels their names; False if nothing is left.

    Label j has, among labels j and above, the largest probability of answer ``answers[j]`` in class ``named_by``.
    """
    n = low.shape[1]
    n_classes = (low.shape[0] - 1) // n
    for j in range(n - 1):
        first, a = 1 + j * n_classes + named_by, answers[j]
        for other in range(j + 1, n):
            row = 1 + other * n_classes + named_by
            low[first, a] = max(low[first, a], low[row, a])
            high[row, a] = min(high[row, a], high[first, a])
            if low[first, a] > high[first, a] or low[row, a] > high[row, a]:
                return False
    return True
