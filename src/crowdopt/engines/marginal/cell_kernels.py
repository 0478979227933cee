"""Compiled: what the responses say about few answers at once, as intervals of probabilities (docs/theory.md, Fact 10).

A *cell* is an ordered choice of m answers, each of a class of workers. Its probability Σ_z π_z Π p is known to lie in
an interval. All numbers here are sums and products of at most a few probabilities: their rounding is far below PAD.
"""

from __future__ import annotations

import numpy as np

from crowdopt._numba import compiled
from crowdopt.engines.marginal.row_kernels import EPS

PAD = 1e-13
"""Absolute allowance for sums of products of probabilities: of at most sixty labels and eight factors."""

SMALL = 1e-9
"""Nothing is divided by less."""


@compiled
def far_end(share, limit, upwards):
    """The outer end of {P: KL(share ‖ P) ≤ limit} of a share in two, above or below it."""
    outside, inside = (1.0 if upwards else 0.0), share
    for _ in range(50):
        middle = 0.5 * (outside + inside)
        first = share * np.log(share / middle) if share > 0 else 0.0
        second = (1 - share) * np.log((1 - share) / (1 - middle)) if share < 1 else 0.0
        if first + second > limit:
            outside = middle
        else:
            inside = middle
    return outside


@compiled
def _cell_ranges(low, high, n_classes, members, answers, size, found):
    """``found`` (label, end) become the intervals of the products of a cell's probabilities."""
    for z in range(low.shape[1]):
        found[z, 0] = found[z, 1] = 1.0
        for m in range(size):
            row = 1 + z * n_classes + members[m]
            found[z, 0] *= low[row, answers[m]]
            found[z, 1] *= high[row, answers[m]]


@compiled
def _shrink_cell(low, high, first_row, n_classes, z, members, answers, size, least, most):
    """Keeps what lets π_z Π p be in [least, most]; False if nothing is left."""
    for m in range(-1, size):
        if m < 0 and first_row > 0:
            continue  # shares that are given
        row, a = (0, z) if m < 0 else (1 + z * n_classes + members[m], answers[m])
        others_low, others_high = (1.0, 1.0) if m < 0 else (low[0, z], high[0, z])
        for other in range(size):
            if other != m:
                at = 1 + z * n_classes + members[other]
                others_low *= low[at, answers[other]]
                others_high *= high[at, answers[other]]
        if least > 0 and others_high > SMALL:
            low[row, a] = max(low[row, a], (least / others_high) * (1 - 16 * EPS) - PAD)
        if others_low > SMALL:
            high[row, a] = min(high[row, a], (most / others_low) * (1 + 16 * EPS) + PAD)
        if low[row, a] > high[row, a]:
            return False
    return True


@compiled
def shrink_to_cells(low, high, first_row, n_classes, members, answers, sizes, least, most):
    """Keeps of a box what lets all cells be in their intervals; False if nothing is left."""
    n = low.shape[1]
    found = np.empty((n, 2))
    for cell in range(sizes.shape[0]):
        bottom, top = least[cell] - PAD, most[cell] + PAD
        _cell_ranges(low, high, n_classes, members[cell], answers[cell], sizes[cell], found)
        smallest, largest = 0.0, 0.0
        for z in range(n):
            smallest += low[0, z] * found[z, 0]
            largest += high[0, z] * found[z, 1]
        if min(largest, found[:, 1].max()) < bottom - PAD or max(smallest, found[:, 0].min()) > top + PAD:
            return False
        for z in range(n):
            others_low, others_high = 1.0, 0.0
            for y in range(n):
                if y != z:
                    others_low, others_high = min(others_low, found[y, 0]), max(others_high, found[y, 1])
            others_high = min(largest - high[0, z] * found[z, 1], (1 - low[0, z]) * others_high)
            others_low = max(smallest - low[0, z] * found[z, 0], (1 - high[0, z]) * others_low)
            if n == 1 or top - others_low + PAD < 0:
                return n == 1
            if not _shrink_cell(
                low, high, first_row, n_classes, z, members[cell], answers[cell], sizes[cell],
                bottom - others_high - PAD, top - others_low + PAD,
            ):  # fmt: skip
                return False
    return True
