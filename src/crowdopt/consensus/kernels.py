"""The compiled loops over the responses. Tables have a row for each cell and a column for each state of a task."""

from __future__ import annotations

from functools import partial

import numpy as np

from crowdopt._numba import compiled
from crowdopt.consensus.grid import GRAIN

_FAINT = -40.0
"""The logarithm of what is too little to matter beside one."""

_loop = partial(compiled, error_model="numpy")


@_loop
def _rounded(x):
    """The nearest multiple of the grain (see grid.py)."""
    return np.rint(x / GRAIN) * GRAIN


@_loop
def vote_round(start, worker, answer, known, precision, prior, shares, residual, total):
    """Weighs the votes on every task into ``shares``; adds how far each worker is from them, and their sum.

    Returns the largest change of a share. ``prior`` is added to the votes on every task.
    """
    n_labels = len(prior)
    votes, change, weight = np.empty(n_labels), 0.0, prior.sum()
    for t in range(len(start) - 1):
        for z in range(n_labels):
            votes[z] = prior[z]
        cast = weight
        for i in range(start[t], start[t + 1]):
            votes[answer[i]] += precision[worker[i]]
            cast += precision[worker[i]]
        square = 0.0
        for z in range(n_labels):
            share = votes[z] / cast if cast > 0 else shares[t, z]
            if known[t] >= 0:
                share = 1.0 if known[t] == z else 0.0
            change = max(change, abs(share - shares[t, z]))
            shares[t, z] = share
            square += share * share
            total[z] += _rounded(share)
        for i in range(start[t], start[t + 1]):
            residual[worker[i]] += _rounded(square - 2.0 * shares[t, answer[i]] + 1.0)
    return change


@_loop
def _labels_given(first, last, answer, votes, given):
    """Fills in the labels that a task received, in their order; returns how many."""
    votes[:] = 0
    for i in range(first, last):
        votes[answer[i]] += 1
    count = 0
    for d in range(len(votes)):
        if votes[d] > 0:
            given[count] = d
            count += 1
    return count


@_loop
def _gather(first, last, sign, worker, cell, index, log_answer, log_pull, given, count, x):
    """Adds responses to the scores of a task, or takes them away: x[0] without a tilt, x[1 + j] to label given[j]."""
    n_states = x.shape[1]
    for i in range(first, last):
        c = cell[i]
        for s in range(n_states):
            x[0, s] += sign * log_answer[c, s]
        for j in range(count):
            c = index[worker[i], given[j]]
            for s in range(n_states):
                x[1 + j, s] -= sign * log_pull[c, s]


@_loop
def _settle(x, given, count, votes, log_none, log_kind, beta, known):
    """Turns the scores of a task into probabilities of (tilt, state)."""
    n_labels, n_states, top, total = len(votes), x.shape[1], -np.inf, 0.0
    per_label = n_states // n_labels
    lowest, highest = (0, n_states) if known < 0 else (known * per_label, (known + 1) * per_label)
    for j in range(count + 1):
        drawn = beta * votes[given[j - 1]] if j > 0 else 0.0
        if j > 0 and drawn == 0:
            continue
        for s in range(lowest, highest):
            x[j, s] += x[0, s] + log_kind[given[j - 1], s] + drawn if j > 0 else 0.0
            top = max(top, x[j, s] + (0.0 if j > 0 else log_none[s]))
    for s in range(lowest, highest):
        x[0, s] += log_none[s]
    for j in range(count + 1):
        possible = j == 0 or votes[given[j - 1]] > 0
        for s in range(n_states):
            likely = possible and lowest <= s < highest and x[j, s] - top > _FAINT
            x[j, s] = np.exp(x[j, s] - top) if likely else 0.0
            total += x[j, s]
    part = 1.0 / total
    for j in range(count + 1):
        for s in range(n_states):
            x[j, s] *= part


@_loop
def expect(rows, tables, states, counts, pulled, kinds):
    """The E-step: the probabilities of the states of every task, and what they add up to for the workers.

    ``counts`` (answered cell, state) and ``pulled`` (cell, state), by tilt, are added to unless they are empty, as are
    ``kinds`` (tilt or none, state). Tilts are tried if beta is above zero. Returns the largest change of a probability.
    """
    start, worker, answer, known, cell, index = rows
    log_answer, log_pull, log_none, log_kind, beta = tables
    n_labels, n_states = log_kind.shape
    x, q, votes = np.empty((n_labels + 1, n_states)), np.empty(n_states), np.zeros(n_labels)
    given, count, change, learns = np.empty(n_labels, np.int64), 0, 0.0, len(counts) > 0
    for t in range(len(start) - 1):
        first, last = start[t], start[t + 1]
        if beta > 0:
            count = _labels_given(first, last, answer, votes, given)
        for j in range(count + 1):
            for s in range(n_states):
                x[j, s] = 0.0
        _gather(first, last, 1.0, worker, cell, index, log_answer, log_pull, given, count, x)
        _settle(x, given, count, votes, log_none, log_kind, beta, known[t])
        for s in range(n_states):
            p = q[s] = 0.0
            for j in range(count + 1):
                p += x[j, s]
                x[j, s] = _rounded(x[j, s])
                q[s] += x[j, s]
                kinds[given[j - 1] if j > 0 else n_labels, s] += x[j, s]
            change = max(change, abs(p - states[t, s]))
            states[t, s] = p
        for i in range(first, last if learns else first):
            c = cell[i]
            for s in range(n_states):
                counts[c, s] += q[s]
            for j in range(count):
                c = index[worker[i], given[j]]
                for s in range(n_states):
                    pulled[c, s] += x[1 + j, s]
    return change


@_loop
def expect_without(rows, tables, states):
    """Fills in, for every response, the probabilities of the states of its task without this worker's responses."""
    start, worker, answer, known, cell, index = rows
    log_answer, log_pull, log_none, log_kind, beta = tables
    n_labels, n_states = log_kind.shape
    full, x = np.zeros((n_labels + 1, n_states)), np.zeros((n_labels + 1, n_states))
    votes, given, count = np.zeros(n_labels), np.empty(n_labels, np.int64), 0
    for t in range(len(start) - 1):
        first, last = start[t], start[t + 1]
        if beta > 0:
            count = _labels_given(first, last, answer, votes, given)
        full[:] = 0.0
        _gather(first, last, 1.0, worker, cell, index, log_answer, log_pull, given, count, full)
        while first < last:
            end = first + 1
            while end < last and worker[end] == worker[first]:
                end += 1
            x[:] = full
            for i in range(first, end):
                votes[answer[i]] -= 1
            _gather(first, end, -1.0, worker, cell, index, log_answer, log_pull, given, count, x)
            _settle(x, given, count, votes, log_none, log_kind, beta, known[t])
            for i in range(first, end):
                votes[answer[i]] += 1
                for s in range(n_states):
                    states[i, s] = x[: count + 1, s].sum()
            first = end
