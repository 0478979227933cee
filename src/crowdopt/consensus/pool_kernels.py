"""The compiled loops over the counts of the workers. ``counts`` have a row for each cell, a column for each state."""

from __future__ import annotations

from functools import partial

import numpy as np

from crowdopt._numba import compiled
from crowdopt.consensus.grid import GRAIN

_BLOCK = 512
"""Numbers that are worked on at once."""

_LOG_2 = np.log(2.0)
_LOG_ROOT_TAU = 0.5 * np.log(2 * np.pi)
_ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)
_ONE_FROM_THERE = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_EXPONENT = np.uint64(52)
_FRACTION = np.uint64(2**52 - 1)
_TWO_TO_52 = np.uint64(0x4330000000000000)
_BIAS = 2.0**52 + 1023

_loop = partial(compiled, error_model="numpy")
"""A division by zero is infinite, so that loops can divide many times at once."""

_part = partial(_loop, inline="always")
"""A part of a loop, not called but copied into it."""


@_loop
def _logs(x, n):
    """The first n numbers become their logarithms, four or eight at a time, as no call of a library allows.

    A number is m · 2^e with m from √½ to √2; ln m = 2 artanh((m − 1) / (m + 1)), of which nine terms are enough.
    """
    bits, raw, exponents = np.empty(n, np.uint64), x.view(np.uint64), np.empty(n, np.uint64)
    for i in range(n):
        above = raw[i] + _ONE_FROM_THERE
        exponents[i] = (above >> _EXPONENT) | _TWO_TO_52
        bits[i] = (above & _FRACTION) + _ROOT_HALF
    m, e = bits.view(np.float64), exponents.view(np.float64)
    for i in range(n):
        f = (m[i] - 1.0) / (m[i] + 1.0)
        s = f * f
        series = (((s / 17 + 1 / 15) * s + 1 / 13) * s + 1 / 11) * s + 1 / 9
        series = (((series * s + 1 / 7) * s + 1 / 5) * s + 1 / 3) * s + 1.0
        x[i] = (e[i] - _BIAS) * _LOG_2 + 2.0 * f * series


@_loop
def _digammas(x, n):
    """The first n numbers, all above zero, become derivatives of ln Γ: six steps up, then Stirling's series."""
    logs = np.empty(n)
    for i in range(n):
        logs[i] = x[i] + 6.0
    _logs(logs, n)
    for i in range(n):
        a = 1.0 / (x[i] + 6.0)
        b = a * a
        series = 1 / 12 - b * (1 / 120 - b * (1 / 252 - b * (1 / 240 - b * (1 / 132 - b * (691 / 32760)))))
        y = x[i] * (x[i] + 5.0)
        below = (2.0 * x[i] + 5.0) * ((3.0 * y + 20.0) * y + 24.0) / (y * (y + 4.0) * (y + 6.0))
        x[i] = logs[i] - 0.5 * a - b * series - below


@_loop
def _log_gammas(x, n):
    """The first n numbers, all above zero, become ln Γ, likewise."""
    logs, below = np.empty(n), np.empty(n)
    for i in range(n):
        logs[i] = x[i] + 6.0
        y = x[i] * (x[i] + 5.0)
        below[i] = y * (y + 4.0) * (y + 6.0)
    _logs(logs, n)
    _logs(below, n)
    for i in range(n):
        s = x[i] + 6.0
        a = 1.0 / s
        b = a * a
        series = 1 / 12 - b * (1 / 360 - b * (1 / 1260 - b * (1 / 1680 - b * (1 / 1188 - b * (691 / 360360)))))
        x[i] = (s - 0.5) * logs[i] - s + _LOG_ROOT_TAU + a * series - below[i]


@_loop
def _next_rows(first, counts, worker, label, weights, alpha, k, rows, x):
    """Fills in rows of counts + alpha, of workers with a weight, while there is room; returns where and how many."""
    n_states, count = counts.shape[1], 0
    while first < len(counts) and count < len(rows):
        if weights[worker[first], k] > 0:
            for s in range(n_states):
                x[count * n_states + s] = counts[first, s] + alpha[k, label[first], s]
            rows[count] = first
            count += 1
        first += 1
    return first, count


@_loop
def _flat(alpha, k):
    """A copy of the pseudo-counts of a class, by (answer, state), as one row."""
    n_states = alpha.shape[2]
    flat = np.empty(alpha.shape[1] * n_states)
    for i in range(len(flat)):
        flat[i] = alpha[k, i // n_states, i % n_states]
    return flat


@_loop
def pool(counts, worker, label, weights, alpha, tables):
    """Adds to ``tables`` (class, answer, state) how many draws from the class the counts of its workers show."""
    n_states = counts.shape[1]
    rows = np.empty(max(1, _BLOCK // n_states), np.int64)
    x = np.empty(len(rows) * n_states)
    for k in range(len(alpha)):
        low, first = _flat(alpha, k), 0
        _digammas(low, len(low))
        while first < len(counts):
            first, count = _next_rows(first, counts, worker, label, weights, alpha, k, rows, x)
            _digammas(x, count * n_states)
            for i in range(count):
                a, r = label[rows[i]], weights[worker[rows[i]], k]
                for s in range(n_states):
                    draws = r * alpha[k, a, s] * (x[i * n_states + s] - low[a * n_states + s])
                    tables[k, a, s] += np.rint(draws / GRAIN) * GRAIN


@_loop
def class_scores(counts, worker, label, weights, alpha, scores):
    """Adds to ``scores`` (worker, class) the logarithms of Γ(counts + alpha) / Γ(alpha)."""
    n_states = counts.shape[1]
    rows = np.empty(max(1, _BLOCK // n_states), np.int64)
    x = np.empty(len(rows) * n_states)
    for k in range(len(alpha)):
        low, first = _flat(alpha, k), 0
        _log_gammas(low, len(low))
        while first < len(counts):
            first, count = _next_rows(first, counts, worker, label, weights, alpha, k, rows, x)
            _log_gammas(x, count * n_states)
            for i in range(count):
                score = 0.0
                for s in range(n_states):
                    score += x[i * n_states + s] - low[label[rows[i]] * n_states + s]
                scores[worker[rows[i]], k] += np.rint(score / GRAIN) * GRAIN


@_part
def _sum_denominators(w, counts, pulled, index, lift, matrix, common):
    """Adds up what the denominators of a worker's answers have in common; their own parts replace the matrix."""
    for a in range(len(common)):
        c = index[w, a]
        for z in range(len(common) if c >= 0 else 0):
            drawn = pulled[c, z] / (1.0 + matrix[c, z] * lift)
            common[z] += (counts[c, z] if c < len(counts) else 0.0) - pulled[c, z] + drawn
            matrix[c, z] = lift * drawn


@_part
def _divide(w, counts, index, weights, alpha, common, matrix, left):
    """Divides by the denominators, of which the own parts are in ``matrix``; takes the pseudo-counts from ``left``."""
    for a in range(len(common)):
        c = index[w, a]
        for z in range(len(common) if c >= 0 else 0):
            expected = 0.0
            for k in range(len(alpha)):
                expected += weights[w, k] * alpha[k, a, z]
            left[z] -= expected
            expected += counts[c, z] if c < len(counts) else 0.0
            matrix[c, z] = expected / (common[z] + matrix[c, z])


@_loop
def tilted_matrices(counts, pulled, index, weights, other, alpha, strength, lift, floor, matrix):
    """One step of the matrices (cell, label), in place: those that went into ``pulled`` are still there.

    ``other`` (worker, label) becomes what the pseudo-counts of labels are multiplied with that a worker has no cell of.
    """
    n_labels = index.shape[1]
    common, left = np.empty(n_labels), np.empty(n_labels)
    for w in range(len(index)):
        strong = 0.0
        for k in range(len(strength)):
            strong += weights[w, k] * strength[k]
        for z in range(n_labels):
            common[z] = left[z] = strong
        _sum_denominators(w, counts, pulled, index, lift, matrix, common)
        _divide(w, counts, index, weights, alpha, common, matrix, left)
        for z in range(n_labels):
            total = max(left[z], 0.0) / common[z]
            for a in range(n_labels):
                total += matrix[index[w, a], z] if index[w, a] >= 0 else 0.0
            for a in range(n_labels):
                if index[w, a] >= 0:
                    matrix[index[w, a], z] = max(matrix[index[w, a], z] / total, floor)
            other[w, z] = 1.0 / (total * common[z])
