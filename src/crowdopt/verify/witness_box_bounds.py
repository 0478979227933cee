"""Bounds of boxes of parameters, many boxes at once: what can be said of the marginal likelihood in each.

Written for the check alone: arrays (box, bucket, label) instead of loops. Each bucket's ln Σ exp lies under a plane
with any slopes that is above it at all corners of where it can be, label by label; each row's part of the sum of these
planes has a largest value, by weak duality. ``EPS`` allows for the rounding of an operation, and is eight times that.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats
    from crowdopt.verify.optimum_marginal import Marginal

EPS = 2.0**-50
PAD = 1e-13
"""What a sum of the probabilities of up to 400 labels may be off."""

NEVER = -1e30
"""The logarithm of zero."""

FAR = -1e6
"""Ends below this are taken for minus infinity: planes are level there."""

HALVINGS = 12

MULTIPLIERS = 4
"""Of how many multipliers the best is taken."""


def logs_of(p: Floats) -> Floats:
    """Logarithms, of zero a number that is low enough."""
    return np.asarray(np.where(p > 0, np.log(np.maximum(p, 1e-320)), NEVER))


def summing_to_one(low: Floats, high: Floats, first_row: int) -> tuple[Floats, Floats, Bools]:
    """Intervals (box, row, answer) that leave room for the others of their row, and which boxes have any left."""
    low, high = low.copy(), high.copy()
    for _ in range(2):
        least, most = low.sum(axis=2, keepdims=True) - low, high.sum(axis=2, keepdims=True) - high
        high[:, first_row:] = np.minimum(high, np.maximum(1 - least + PAD, 0))[:, first_row:]
        low[:, first_row:] = np.maximum(low, np.minimum(1 - most - PAD, 1))[:, first_row:]
    return low, high, np.asarray((low <= high).all(axis=(1, 2)))


def largest_in_rows(c: Floats, low: Floats, high: Floats) -> Floats:
    """At least the maximum of Σ c ln p over {low ≤ p ≤ high, Σ p = 1}, for arrays whose last axis are the answers.

    Any μ gives a bound: the maximum of Σ c ln p + μ (1 − Σ p) over the box alone. Σ c is right where no p is at an end;
    each of the next ones is right if the same p stay at their ends.
    """
    n, whole = c.shape[-1], _added(c)
    best = _added(np.where(c > 0, c * logs_of(high), 0.0)) * (1 - (n + 4) * EPS)
    mu = whole
    for _ in range(MULTIPLIERS):
        value, mu = _dual(c, low, high, np.minimum(mu, 1e4 * whole))
        best = np.minimum(best, value)
    return np.asarray(np.minimum(best, 0.0))


def _added(x: Floats) -> Floats:
    """Sums over the answers, the last axis: faster than ``sum`` where it is short."""
    total = x[..., 0].copy()
    for a in range(1, x.shape[-1]):
        total += x[..., a]
    return np.asarray(total)


def _dual(c: Floats, low: Floats, high: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """The bound by a multiplier, and the multiplier that would be right if the same entries stay at their ends."""
    n = c.shape[-1]
    safe = np.maximum(mu, 1e-290)[..., None]
    p = np.clip(np.where(c > 0, c / safe, 0.0), low, high)
    terms, total = _added(np.where(c > 0, c * logs_of(p), 0.0)), _added(p)  # terms are never positive
    value = terms + mu * (1 - total)
    value = value + (n + 4) * EPS * (mu * (1 + total) - terms)
    free = (p > low) & (p < high)
    rest = 1 - _added(np.where(free, 0.0, p))
    again = _added(np.where(free, c, 0.0)) / np.where(rest > 0, rest, np.inf)
    return np.where(mu > 0, value, np.inf), np.where(again > 0, again, mu)


class Boxes:
    """Boxes that are examined together.

    Attributes:
        low: Lower ends, by (box, row, answer).
        high: Upper ends.
    """

    def __init__(self, marginal: Marginal, low: Floats, high: Floats) -> None:
        self.marginal, self.low, self.high = marginal, low, high
        self.first_row = 0 if marginal.shares is None else 1
        self.ranges = self._ranges()

    def _ranges(self) -> tuple[Floats, Floats]:
        """Where u = ln π + Σ x ln p of every bucket and label can be, outward: two arrays (box, bucket, label)."""
        m = self.marginal
        shape = (len(self.low), len(m.weights), m.n_labels)
        least = np.broadcast_to(logs_of(self.low[:, 0])[:, None], shape).copy()
        most = np.broadcast_to(logs_of(self.high[:, 0])[:, None], shape).copy()
        for z, k in product(range(m.n_labels), range(m.n_classes)):
            row = 1 + z * m.n_classes + k
            x, some = m.counts[:, k], m.counts[:, k].any(axis=1)
            low, high = self.low[:, row], self.high[:, row]
            least[:, some, z] += _least_at_corners(x[some], low, high)
            most[:, some, z] += _most_in_rows(x[some], low, high)
        pad = (m.n_classes * (m.n_labels + 1) + 8) * EPS
        most = np.minimum(most + pad * np.abs(most), 0.0)
        return np.minimum(least - pad * np.abs(least), most), most

    def bounds(self) -> tuple[Floats, Floats, Floats]:
        """At least the maximum of L in every box; the coefficients of its planes, and what each row gives at most."""
        m = self.marginal
        slopes, constant, size = self._planes()
        c = np.broadcast_to(m.pseudo, self.low.shape).copy()
        c[:, 0] += np.einsum("nbz,b->nz", slopes, m.weights)
        c[:, 1:] += np.einsum("nbz,b,bka->nzka", slopes, m.weights, m.counts).reshape(len(c), -1, m.n_labels)
        rows = np.empty(c.shape[:2])
        rows[:, self.first_row :] = largest_in_rows(*(part[:, self.first_row :] for part in (c, self.low, self.high)))
        if self.first_row:
            rows[:, 0] = np.where(c[:, 0] > 0, c[:, 0] * logs_of(self.low[:, 0]), 0.0).sum(axis=1)
        pad = (len(m.weights) + 8 * m.n_labels * (m.n_classes + 1) + 64) * EPS
        total = rows.sum(axis=1)
        return constant + total + pad * (size + np.abs(total)), c, rows

    def _planes(self) -> tuple[Floats, Floats, Floats]:
        """Slopes (box, bucket, label), the sum of the constants, and the size of what was summed."""
        m, (least, most) = self.marginal, self.ranges
        order = np.argsort(most, axis=2, kind="stable")[:, :, ::-1]  # the likeliest label is the innermost
        least, most = (np.take_along_axis(part, order, axis=2) for part in (least, most))
        slopes, constants = np.zeros(least.shape), np.zeros(least.shape[:2])
        slopes[..., 0] = 1.0
        size = constants.copy()
        inner_least, inner_most = least[..., 0], most[..., 0]
        for at in range(1, m.n_labels):
            u, s, k, ends = _plane(least[..., at], most[..., at], inner_least, inner_most)
            slopes[..., :at] *= s[..., None]
            slopes[..., at] = u
            constants, size = s * constants + k, s * size + np.abs(k)
            inner_least, inner_most = ends
        back = np.argsort(order, axis=2, kind="stable")
        return np.take_along_axis(slopes, back, axis=2), constants @ m.weights, size @ m.weights

    def without_fixed_point(self) -> Bools:
        """Boxes in which EM changes every point: no maximiser is among these."""
        m, (least, most) = self.marginal, self.ranges
        small, large = _shares(least, most)
        small, large = small * m.weights[:, None], large * m.weights[:, None]
        known = m.pseudo.sum(axis=1, keepdims=True)
        under, over = m.pseudo - known * self.high, m.pseudo - known * self.low
        size = np.broadcast_to(2 * known[:, 0], under.shape[:2]).copy()
        n_tasks = m.weights.sum()
        under[:, 0] += small.sum(axis=1) - n_tasks * self.high[:, 0]
        over[:, 0] += large.sum(axis=1) - n_tasks * self.low[:, 0]
        size[:, 0] += 2 * n_tasks
        for z, k in product(range(m.n_labels), range(m.n_classes)):
            row, x = 1 + z * m.n_classes + k, m.counts[:, k]
            answers = x.sum(axis=1)
            for a in range(m.n_labels):
                excess = x[:, a] - answers * self.high[:, row, a, None]
                under[:, row, a] += (excess * np.where(excess > 0, small[..., z], large[..., z])).sum(axis=1)
                excess = x[:, a] - answers * self.low[:, row, a, None]
                over[:, row, a] += (excess * np.where(excess > 0, large[..., z], small[..., z])).sum(axis=1)
            size[:, row] += 2 * large[..., z] @ answers
        doubt = (len(m.weights) + 4000) * EPS * size[..., None]
        return np.asarray(((under > doubt) | (over < -doubt))[:, self.first_row :].any(axis=(1, 2)))

    def cut(self, c: Floats, rows: Floats, slack: Floats) -> tuple[Floats, Floats]:
        """The ends of the boxes without what falls short of the bound by more than the slack, whatever others do."""
        low, high, whole = self.low.copy(), self.high.copy(), c.sum(axis=2)
        free = slice(self.first_row, None)
        for a in range(c.shape[2]):
            others = np.delete(c, a, axis=2)
            rest = others.sum(axis=2)
            with np.errstate(divide="ignore", invalid="ignore"):
                shared = np.where(others > 0, others * np.log(others / rest[..., None]), 0.0).sum(axis=2)
                peak = np.where(whole > 0, c[..., a] / np.maximum(whole, 1e-300), 0.5)
            allowed = (len(self.marginal.weights) + 8 * (c.shape[2] + 4)) * EPS
            need = rows - slack[:, None] - shared
            need -= allowed * (np.abs(rows) + np.abs(slack)[:, None] + np.abs(shared) + whole)
            below, above = np.minimum(peak, high[..., a]), np.maximum(peak, low[..., a])
            first = _cut_end(c[..., a], rest, low[..., a], np.maximum(below, low[..., a]), need)
            last = _cut_end(c[..., a], rest, high[..., a], np.minimum(above, high[..., a]), need)
            low[:, free, a], high[:, free, a] = first[:, free], last[:, free]
        return low, high


def _cut_end(c: Floats, rest: Floats, outer: Floats, inner: Floats, need: Floats) -> Floats:
    """The innermost point between an end and the peak that still falls short; the end itself if it does not."""
    failing = _falls_short(c, rest, outer, need) & (outer != inner)
    end = outer
    for _ in range(HALVINGS):
        middle = 0.5 * (end + inner)
        fails = failing & _falls_short(c, rest, middle, need)
        end, inner = np.where(fails, middle, end), np.where(fails, inner, middle)
    return np.where(failing, end, outer)


def _falls_short(c: Floats, rest: Floats, p: Floats, need: Floats) -> Bools:
    value = np.where(c > 0, c * logs_of(p), 0.0) + np.where(rest > 0, rest * logs_of(1 - p), 0.0)
    return np.asarray(value < need - 8 * EPS * (np.abs(value) + c + rest + np.abs(need)))


def _least_at_corners(x: Floats, low: Floats, high: Floats) -> Floats:
    """At most the minimum of Σ x ln p (box, bucket) over a row: concave, so it is at a corner."""
    n = low.shape[1]
    if n > 6:
        return logs_of(low) @ x.T
    least = np.full((len(low), len(x)), np.inf)
    for last, ends in product(range(n), product((0, 1), repeat=n - 1)):
        p = np.insert(np.empty((len(low), n - 1)), last, 0.0, axis=1)
        others = [a for a in range(n) if a != last]
        for a, end in zip(others, ends, strict=True):
            p[:, a] = high[:, a] if end else low[:, a]
        left = 1 - p.sum(axis=1)
        there = (left >= low[:, last] - PAD) & (left <= high[:, last] + PAD)
        p[:, last] = np.maximum(left - PAD, low[:, last])
        least = np.where(there[:, None], np.minimum(least, logs_of(p) @ x.T), least)
    return np.where(np.isfinite(least), least, logs_of(low) @ x.T)


def _most_in_rows(x: Floats, low: Floats, high: Floats) -> Floats:
    """At least the maximum of Σ x ln p (box, bucket) over a row; of two labels, one is what the other leaves."""
    if x.shape[1] != 2:
        return largest_in_rows(np.broadcast_to(x, (len(low), *x.shape)), low[:, None], high[:, None])
    answers = x.sum(axis=1)
    p = np.clip(x[:, 0] / answers, low[:, :1], high[:, :1])
    terms = np.where(x[:, 0] > 0, x[:, 0] * logs_of(p), 0.0) + np.where(x[:, 1] > 0, x[:, 1] * logs_of(1 - p), 0.0)
    return np.asarray(terms + 4 * EPS * answers)


def _plane(u0: Floats, u1: Floats, s0: Floats, s1: Floats) -> tuple[Floats, Floats, Floats, tuple[Floats, Floats]]:
    """Slopes and constant of a plane above ln(e^u + e^s) over rectangles, and the ends of that."""
    corners = [(u, s, np.maximum(u, s) + np.log1p(np.exp(-np.abs(u - s)))) for u, s in product((u0, u1), (s0, s1))]
    f00, f01, f10, f11 = (f for *_, f in corners)
    share = 1 / (1 + np.exp(np.clip(s1 - u1, -700, 700)))
    du, ds = np.maximum(u1 - u0, 1e-300), np.maximum(s1 - s0, 1e-300)
    far_u, far_s = u0 < FAR, s0 < FAR
    with np.errstate(over="ignore", invalid="ignore"):
        up = np.where(u1 - u0 > 1e-9, np.where(far_s, f11 - f01, 0.5 * (f11 - f01 + f10 - f00)) / du, share)
        sp = np.where(s1 - s0 > 1e-9, np.where(far_u, f11 - f10, 0.5 * (f11 - f10 + f01 - f00)) / ds, 1 - share)
    slope_u, slope_s = np.where(far_u, 0.0, np.clip(up, 0, 1)), np.where(far_s, 0.0, np.clip(sp, 0, 1))
    constant: Any = -np.inf
    for (u, s, f), skip in zip(corners, (far_u | far_s, far_u, far_s, None), strict=True):
        size = np.abs(f) + slope_u * np.abs(u) + slope_s * np.abs(s) + 1
        k = f - slope_u * u - slope_s * s + 8 * EPS * size
        constant = np.maximum(constant, k if skip is None else np.where(skip, -np.inf, k))
    return slope_u, slope_s, constant, (f00 - 8 * EPS * (np.abs(f00) + 1), f11 + 8 * EPS * (np.abs(f11) + 1))


def _shares(least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The least and the largest posterior that labels can have."""
    small, large = np.empty(least.shape), np.empty(least.shape)
    for z in range(least.shape[2]):
        others = [y for y in range(least.shape[2]) if y != z]
        small[..., z] = 1 / (1 + np.exp(np.minimum(most[..., others] - least[..., z, None], 700)).sum(axis=2))
        large[..., z] = 1 / (1 + np.exp(np.minimum(least[..., others] - most[..., z, None], 700)).sum(axis=2))
    return small, large
