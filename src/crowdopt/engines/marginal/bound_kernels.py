"""Compiled: the bound of a box of parameters, by planes above ln Σ exp (docs/theory.md, Facts 7 and 8).

ln Σ_z e^{u_z} is nested: ln(e^{u_1} + e^{S}), where S is that of the others. Both are known within intervals. A plane
k + s u + t S with s, t ≥ 0 that is above f(u, S) = ln(e^u + e^S) at the four corners of a rectangle is above it
everywhere in it, as f is convex. So the slopes may be any numbers, only k has to be large enough, and it is. Level by
level this gives a linear form in u, with coefficients that are never negative, and summed over buckets one in the
logarithms of the parameters, whose maximum over the box is found row by row.
"""

from __future__ import annotations

import numpy as np

from crowdopt._numba import compiled
from crowdopt.engines.marginal.row_kernels import EPS, largest_in_row, log_or_none, scores_at, value_of_row

FAR = -1e6
"""A lower end below it counts as minus infinity: the plane is then level in that direction."""

UPPER_U, UPPER_S, UPPER_K, LOWER_U, LOWER_S, LOWER_K = range(6)


@compiled
def log_sum(u, v):
    """Ln(e^u + e^v)."""
    return max(u, v) + np.log1p(np.exp(-abs(u - v)))


@compiled
def _level_plane(slope_u, slope_s, u0, u1, s0, s1, f, out, at):
    """Writes slopes, cut to [0, 1], with the least k that keeps the plane above f at all corners, outward.

    Corners at minus infinity need none: there the plane is level, and f is larger at the other end.
    """
    slope_u = 0.0 if u0 < FAR else min(max(slope_u, 0.0), 1.0)
    slope_s = 0.0 if s0 < FAR else min(max(slope_s, 0.0), 1.0)
    k = -np.inf
    for corner in range(4):
        u, s = (u1 if corner & 1 else u0), (s1 if corner & 2 else s0)
        if (not corner & 1 and u0 < FAR) or (not corner & 2 and s0 < FAR):
            continue
        size = abs(f[corner]) + slope_u * abs(u) + slope_s * abs(s) + 1
        k = max(k, f[corner] - slope_u * u - slope_s * s + 8 * EPS * size)
    out[at], out[at + 1], out[at + 2] = slope_u, slope_s, k


@compiled
def _planes(u0, u1, s0, s1, f, out):
    """Two planes over the rectangle [u0, u1] × [s0, s1]: through the mixed corners and the upper, or the lower, one."""
    f[0], f[1], f[2], f[3] = log_sum(u0, s0), log_sum(u1, s0), log_sum(u0, s1), log_sum(u1, s1)
    du, ds = u1 - u0, s1 - s0
    share = 1 / (1 + np.exp(min(max(s1 - u1, -700.0), 700.0)))
    slope_u = (f[3] - f[2]) / du if du > 1e-9 else share
    slope_s = (f[3] - f[1]) / ds if ds > 1e-9 else 1 - share
    _level_plane(slope_u, slope_s, u0, u1, s0, s1, f, out, UPPER_U)
    if u0 < FAR or s0 < FAR:
        out[LOWER_U], out[LOWER_S], out[LOWER_K] = out[UPPER_U], out[UPPER_S], out[UPPER_K]
        return
    slope_u = (f[1] - f[0]) / du if du > 1e-9 else share
    slope_s = (f[2] - f[0]) / ds if ds > 1e-9 else 1 - share
    _level_plane(slope_u, slope_s, u0, u1, s0, s1, f, out, LOWER_U)


@compiled
def planes_over(ranges, order, planes):
    """``planes`` (bucket, level, 6) over the intervals of u; ``order`` has the label of each level, ascending."""
    n = ranges.shape[1]
    f = np.empty(4)
    for b in range(ranges.shape[0]):
        for at in range(n):
            z, place = at, at
            while place > 0 and ranges[b, z, 1] < ranges[b, order[b, place - 1], 1]:
                order[b, place] = order[b, place - 1]
                place -= 1
            order[b, place] = z
        low, high = ranges[b, order[b, n - 1], 0], ranges[b, order[b, n - 1], 1]
        for at in range(n - 2, -1, -1):
            z = order[b, at]
            _planes(ranges[b, z, 0], ranges[b, z, 1], low, high, f, planes[b, at])
            low, high = f[0] - 8 * EPS * (abs(f[0]) + 1), f[3] + 8 * EPS * (abs(f[3]) + 1)


@compiled
def _form(planes, order, mix, counts, weights, pseudo, c):
    """The linear form of a mixture of planes: ``c`` (row, answer), its constant, and the size of what was added."""
    n_buckets, n_classes, n = counts.shape
    c[:] = pseudo
    constant, size = 0.0, 0.0
    for b in range(n_buckets):
        left = weights[b]
        for at in range(n):
            z, slope = order[b, at], left
            if at < n - 1:
                one, other = mix[b, at], 1 - mix[b, at]
                constant += left * (one * planes[b, at, UPPER_K] + other * planes[b, at, LOWER_K])
                size += left * (abs(planes[b, at, UPPER_K]) + abs(planes[b, at, LOWER_K]))
                slope = left * (one * planes[b, at, UPPER_U] + other * planes[b, at, LOWER_U])
                left *= one * planes[b, at, UPPER_S] + other * planes[b, at, LOWER_S]
            c[0, z] += slope
            for k in range(n_classes):
                for a in range(n):
                    c[1 + z * n_classes + k, a] += slope * counts[b, k, a]
    return constant, size


@compiled
def _remix(planes, order, mix, scores, step):
    """Moves every mixture towards the plane that is lower where the form is largest: a step of descent."""
    n = scores.shape[1]
    for b in range(scores.shape[0]):
        rest = scores[b, order[b, n - 1]]
        for at in range(n - 2, -1, -1):
            u, one = scores[b, order[b, at]], mix[b, at]
            upper = planes[b, at, UPPER_U] * u + planes[b, at, UPPER_S] * rest + planes[b, at, UPPER_K]
            lower = planes[b, at, LOWER_U] * u + planes[b, at, LOWER_S] * rest + planes[b, at, LOWER_K]
            spread = abs(
                planes[b, at, UPPER_U] + planes[b, at, UPPER_S] - planes[b, at, LOWER_U] - planes[b, at, LOWER_S]
            )
            size = abs(upper - lower) + 0.1 * spread + 1e-12
            mix[b, at] = min(max(one - step * (upper - lower) / size, 0.0), 1.0)
            rest = one * upper + (1 - one) * lower


@compiled
def bound_of_box(
    low, high, counts, weights, pseudo, first_row, ranges, order, planes, enough, rounds, best_c, best_p, best_rows
):
    """At least the maximum of L over the box; the form that shows it, where it is largest, and the rows' maxima.

    ``rounds`` of descent on the mixtures are done, or fewer if the bound is ``enough`` before.
    """
    n_buckets, n_classes, n = counts.shape
    pad = (n_buckets + 8 * n * (n_classes + 1) + 64) * EPS
    c, p, rows = np.empty(low.shape), np.empty(low.shape), np.empty(low.shape[0])
    mix, scores = np.full((n_buckets, n), 0.5), np.empty((n_buckets, n))
    planes_over(ranges, order, planes)
    best, step = np.inf, 0.5
    for at in range(rounds + 1):
        constant, size = _form(planes, order, mix, counts, weights, pseudo, c)
        total = 0.0
        for row in range(low.shape[0]):
            if row < first_row:
                p[row] = low[row]
                rows[row] = value_of_row(c[row], low[row])
            else:
                rows[row] = largest_in_row(c[row], low[row], high[row], p[row])
            total += rows[row]
        bound = constant + total + pad * (size + abs(total))
        if bound < best:
            best = bound
            best_c[:], best_p[:], best_rows[:] = c, p, rows
        if best <= enough or at == rounds:
            break
        scores_at(p, counts, scores)
        _remix(planes, order, mix, scores, step)
        step *= 0.7
    return best


@compiled
def log_likelihood_at(p, counts, weights, pseudo):
    """L at a point, and what rounding can have done to it."""
    n_buckets, n_classes, n = counts.shape
    scores = np.empty((n_buckets, n))
    scores_at(p, counts, scores)
    value, size = 0.0, 0.0
    for b in range(n_buckets):
        whole = scores[b, 0]
        for z in range(1, n):
            whole = log_sum(whole, scores[b, z])
        value += weights[b] * whole
        size += weights[b] * (abs(whole) + 1 + counts[b].sum())  # a row may sum to one but nearly
    for row in range(p.shape[0]):
        for a in range(n):
            if pseudo[row, a] > 0:
                term = pseudo[row, a] * log_or_none(p[row, a])
                value += term
                size += abs(term) + pseudo[row, a]
    return value, (n_buckets + 8 * n * (n_classes + 1) + 64) * EPS * size
