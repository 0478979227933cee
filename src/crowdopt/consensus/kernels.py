"""The compiled loops over the responses. Tables have a row for each cell and a column for each state of a task."""

from __future__ import annotations

from functools import partial

import numpy as np

from crowdopt._numba import compiled
from crowdopt.consensus.grid import GRAIN

_FAINT = -40.0
"""The logarithm of what is too little to matter beside one."""

_loop = partial(compiled, error_model="numpy")
"""A division by zero is infinite, so that loops can divide many times at once."""

_part = partial(_loop, inline="always")
"""A part of a loop, not called but copied into it: calls would take more than half of the time."""


@_part
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


@_part
def _labels_given(first, last, answer, votes, given):
    """Fills in the labels that a task received, in their order; returns how many."""
    for d in range(len(votes)):
        votes[d] = 0
    for i in range(first, last):
        votes[answer[i]] += 1
    count = 0
    for d in range(len(votes)):
        if votes[d] > 0:
            given[count] = d
            count += 1
    return count


@_part
def _sum_rows(table, rows, first, last, x, j):
    """Fills row j of x with the sum of some rows of a table, four columns at a time."""
    n_states = x.shape[1]
    blocks = n_states - n_states % 4
    for s in range(0, blocks, 4):
        a = b = c = d = 0.0
        for i in range(first, last):
            r = rows[i]
            a += table[r, s]
            b += table[r, s + 1]
            c += table[r, s + 2]
            d += table[r, s + 3]
        x[j, s], x[j, s + 1], x[j, s + 2], x[j, s + 3] = a, b, c, d
    for s in range(blocks, n_states):
        a = 0.0
        for i in range(first, last):
            a += table[rows[i], s]
        x[j, s] = a


@_part
def _add_to_rows(table, rows, first, last, x, j):
    """Adds row j of x to some rows of a table, four columns at a time."""
    n_states = x.shape[1]
    blocks = n_states - n_states % 4
    for s in range(0, blocks, 4):
        a, b, c, d = x[j, s], x[j, s + 1], x[j, s + 2], x[j, s + 3]
        for i in range(first, last):
            r = rows[i]
            table[r, s] += a
            table[r, s + 1] += b
            table[r, s + 2] += c
            table[r, s + 3] += d
    for s in range(blocks, n_states):
        a = x[j, s]
        for i in range(first, last):
            table[rows[i], s] += a


@_part
def _gather(first, last, worker, cell, index, log_answer, log_pull, given, count, near, x):
    """Fills in the sums over some responses: x[0] without a tilt, x[1 + j] what a tilt to label given[j] takes off."""
    _sum_rows(log_answer, cell, first, last, x, 0)
    for j in range(count):
        for i in range(first, last):
            near[i - first] = index[np.uint64(worker[i]), np.uint64(given[j])]
        _sum_rows(log_pull, near, 0, last - first, x, 1 + j)


@_part
def _take_from(full, count, x):
    """Takes the sums over some responses from those over all."""
    for j in range(count + 1):
        for s in range(x.shape[1]):
            x[j, s] = full[j, s] - x[j, s]


@_part
def _settle(x, given, count, votes, log_prior, log_kind, beta, known):
    """Turns the sums of a task into weights of (tilt, state); returns what makes them probabilities."""
    n_states, top, total = x.shape[1], -np.inf, 0.0
    for s in range(n_states):
        x[0, s] += log_prior[s]
        if known >= 0 and s * len(votes) // n_states != known:
            x[0, s] = -np.inf
        if x[0, s] > top:
            top = x[0, s]
    for j in range(1, count + 1):
        d = given[j - 1]
        drawn = beta * votes[d] if votes[d] > 0 else -np.inf
        for s in range(n_states):
            x[j, s] = x[0, s] - x[j, s] + log_kind[d, s] + drawn
            if x[j, s] > top:
                top = x[j, s]
    for j in range(count + 1):
        for s in range(n_states):
            below = x[j, s] - top
            x[j, s] = np.exp(below) if below > _FAINT else 0.0
            total += x[j, s]
    return 1.0 / total


@_loop
def expect(rows, tables, states, counts, pulled, kinds):
    """The E-step: the probabilities of the states of every task, and what they add up to for the workers.

    ``counts`` (answered cell, state) and ``pulled`` (cell, state), by tilt, are added to unless they are empty, as are
    ``kinds`` (tilt or none, state). Tilts are tried if beta is above zero. Returns the largest change of a probability.
    """
    start, worker, answer, known, cell, index, most = rows
    log_answer, log_pull, log_none, log_kind, log_any, beta = tables
    n_labels, n_states = log_kind.shape
    x, votes, near = np.empty((n_labels + 2, n_states)), np.zeros(n_labels), np.empty(most, np.uint64)
    given, count, change, learns, every = np.empty(n_labels, np.int64), 0, 0.0, len(counts) > 0, n_labels + 1
    for t in range(len(start) - 1):
        first, last = start[t], start[t + 1]
        if beta > 0:
            count = _labels_given(first, last, answer, votes, given)
        _gather(first, last, worker, cell, index, log_answer, log_pull, given, count, near, x)
        part = _settle(x, given, count, votes, log_none if last > first else log_any, log_kind, beta, known[t])
        for s in range(n_states):
            p = q = 0.0
            for j in range(count + 1):
                p += x[j, s] * part
                x[j, s] = _rounded(x[j, s] * part)
                q += x[j, s]
                kinds[given[j - 1] if j > 0 else n_labels, s] += x[j, s]
            if abs(p - states[t, s]) > change:
                change = abs(p - states[t, s])
            states[t, s] = p
            x[every, s] = q
        if learns:
            _add_to_rows(counts, cell, first, last, x, every)
            for j in range(count):
                for i in range(first, last):
                    near[i - first] = index[np.uint64(worker[i]), np.uint64(given[j])]
                _add_to_rows(pulled, near, 0, last - first, x, 1 + j)
    return change


@_loop
def expect_without(rows, tables, states):
    """Fills in, for every response, the probabilities of the states of its task without this worker's responses."""
    start, worker, answer, known, cell, index, most = rows
    log_answer, log_pull, log_none, log_kind, log_any, beta = tables
    n_labels, n_states = log_kind.shape
    full, x = np.zeros((n_labels + 1, n_states)), np.zeros((n_labels + 1, n_states))
    votes, given, count, near = np.zeros(n_labels), np.empty(n_labels, np.int64), 0, np.empty(most, np.uint64)
    for t in range(len(start) - 1):
        first, last = start[t], start[t + 1]
        if beta > 0:
            count = _labels_given(first, last, answer, votes, given)
        _gather(first, last, worker, cell, index, log_answer, log_pull, given, count, near, full)
        while first < last:
            end = first + 1
            while end < last and worker[end] == worker[first]:
                end += 1
            for i in range(first, end):
                votes[answer[i]] -= 1
            _gather(first, end, worker, cell, index, log_answer, log_pull, given, count, near, x)
            _take_from(full, count, x)
            log_prior = log_none if end - first < last - start[t] else log_any
            part = _settle(x, given, count, votes, log_prior, log_kind, beta, known[t])
            for i in range(first, end):
                votes[answer[i]] += 1
                for s in range(n_states):
                    states[i, s] = 0.0
                    for j in range(count + 1):
                        states[i, s] += x[j, s] * part
            first = end
