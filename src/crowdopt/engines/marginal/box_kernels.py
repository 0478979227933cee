"""Compiled: everything that is done with one box: shrink it, bound it, say where to split it."""

from __future__ import annotations

import numpy as np

from crowdopt._numba import compiled
from crowdopt.engines.marginal.bound_kernels import (
    LOWER_K,
    LOWER_S,
    LOWER_U,
    UPPER_K,
    UPPER_S,
    UPPER_U,
    bound_of_box,
    log_sum,
)
from crowdopt.engines.marginal.cell_kernels import shrink_to_cells
from crowdopt.engines.marginal.reduction_kernels import cut_rows, has_no_fixed_point, keep_names
from crowdopt.engines.marginal.row_kernels import log_or_none, score_ranges, scores_at, tighten

NOTHING = -1e300
"""The bound of a box in which nothing is left."""

MOST_ROUNDS = 4
"""How often a box is shrunk and bounded in turn, at most."""

ENOUGH_GONE = 0.12
"""A round that takes less than so many entries' worth off a box is the last."""

DESCENTS = 2
"""Steps of descent on the mixtures of planes of a box."""

WIDEST = 150.0
"""What an infinite range of a logarithm counts where the entry to split is chosen."""

LARGEST_GAP = 10.0
"""What the gap of a task counts at most there: where the form is largest L may be minus infinity."""


@compiled
def _shrink(low, high, first_row, names, n_classes, cells):
    """What needs no likelihood: names of labels, sums of rows, cells. False if nothing is left."""
    named_by, answers = names
    members, asked, sizes, least, most = cells
    if named_by >= 0 and not keep_names(low, high, named_by, answers):
        return False
    if not tighten(low, high, first_row):
        return False
    if sizes.shape[0] > 0:
        for _ in range(5):
            before = high.sum() - low.sum()
            if not shrink_to_cells(low, high, first_row, n_classes, members, asked, sizes, least, most):
                return False
            if not tighten(low, high, first_row):
                return False
            if high.sum() - low.sum() > 0.95 * before:
                break
    return True


@compiled
def examine_box(low, high, counts, own, weights, pseudo, first_row, names, cells, threshold, point):
    """Shrinks a box in place, and bounds L on what is left of it.

    Returns the bound, and the row and entry to split; ``point`` becomes where the bound's linear form is largest.
    Points that do not beat the threshold, or that cannot be maximisers, are cut away: if the bound is above the
    threshold, it holds for the others.
    """
    n_buckets, n_classes, n = counts.shape
    ranges, order = np.empty((n_buckets, n, 2)), np.empty((n_buckets, n), np.int64)
    planes = np.empty((n_buckets, max(n - 1, 1), 6))
    c, rows = np.empty(low.shape), np.empty(low.shape[0])
    lowest = np.inf
    for _ in range(MOST_ROUNDS):
        if not _shrink(low, high, first_row, names, n_classes, cells):
            return NOTHING, 0, 0
        score_ranges(low, high, counts, own, ranges)
        bound = bound_of_box(
            low, high, counts, weights, pseudo, first_row, ranges, order, planes, threshold, DESCENTS, c, point, rows
        )
        lowest = min(lowest, bound)
        if lowest <= threshold:
            return lowest, 0, 0
        if has_no_fixed_point(low, high, counts, weights, pseudo, ranges, first_row):
            return NOTHING, 0, 0
        if cut_rows(low, high, c, rows, bound - threshold, n_buckets) < ENOUGH_GONE:
            break
    row, entry = _where_to_split(low, high, counts, weights, ranges, order, planes, point)
    return lowest, row, entry


@compiled
def _gap_of_bucket(planes, order, scores):
    """How far the planes of a bucket, both in equal parts, are above ln Σ exp."""
    n = scores.shape[0]
    above = true = scores[order[n - 1]]
    for at in range(n - 2, -1, -1):
        u, own = scores[order[at]], planes[at]
        above = 0.5 * (own[UPPER_U] + own[LOWER_U]) * u + 0.5 * (own[UPPER_S] + own[LOWER_S]) * above
        above += 0.5 * (own[UPPER_K] + own[LOWER_K])
        true = log_sum(true, u)
    return min(max(above - true, 0.0), LARGEST_GAP)


@compiled
def _where_to_split(low, high, counts, weights, ranges, order, planes, point):
    """The entry that is responsible for most of the gap: by bucket, in parts as it widens u of labels that matter."""
    n_buckets, n_classes, n = counts.shape
    width, score, part = np.empty(low.shape), np.zeros(low.shape), np.zeros(low.shape)
    for row in range(low.shape[0]):
        for a in range(n):
            width[row, a] = min(log_or_none(high[row, a]) - log_or_none(low[row, a]), WIDEST)
    scores = np.empty((n_buckets, n))
    scores_at(point, counts, scores)
    for b in range(n_buckets):
        gap = weights[b] * _gap_of_bucket(planes[b], order[b], scores[b])
        if gap <= 0:
            continue
        highest = ranges[b, 0, 1]
        for z in range(1, n):
            highest = log_sum(highest, ranges[b, z, 1])
        for z in range(n):
            matters = min(1.0, 10 * np.exp(ranges[b, z, 1] - highest))
            part[0, z] = width[0, z] * matters
            for k in range(n_classes):
                for a in range(n):
                    row = 1 + z * n_classes + k
                    part[row, a] = min(width[row, a] * counts[b, k, a], WIDEST) * matters
        total = part.sum()
        if total > 0:
            score += (gap / total) * part
    return _largest_entry(score, low, high)


@compiled
def _largest_entry(score, low, high):
    """The entry of the largest score, among those that can be split."""
    most, where = -1.0, (0, 0)
    for row in range(low.shape[0]):
        for a in range(low.shape[1]):
            if high[row, a] - low[row, a] > 1e-9 and score[row, a] > most:
                most, where = score[row, a], (row, a)
    return where
