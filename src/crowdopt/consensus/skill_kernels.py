"""The compiled loops over responses of many labels, which look only at labels that a task received (see given.py)."""

from __future__ import annotations

from functools import partial

import numpy as np

from crowdopt._numba import compiled
from crowdopt.consensus.grid import GRAIN

_NONE = 1e-12
"""Shares of labels below this are none."""

_MOST_USUAL = 0.5
"""How frequent a label that a task did not receive is taken to be among wrong answers, at most."""

_loop = partial(compiled, error_model="numpy")


@_loop
def _rounded(x):
    """The nearest multiple of the grain (see grid.py)."""
    return np.rint(x / GRAIN) * GRAIN


@_loop
def weigh_votes(tasks, precision, prior, shares, other, residual, total):
    """Weighs the votes on every task into ``shares`` (entry) and ``other`` (task); adds up what workers and labels get.

    ``prior`` is added to the votes on every task: what labels that a task did not receive get of it is counted as how
    often ``prior`` is added to ``total``. Returns the largest change of a share, and that number.
    """
    start, worker, entry, known, first_entry, label = tasks
    weight, squares, change, times = prior.sum(), (prior * prior).sum(), 0.0, 0.0
    offset = first_entry[0]
    for t in range(len(start) - 1):
        first, last, cast = first_entry[t] - offset, first_entry[t + 1] - offset, weight
        votes = np.zeros(last - first)
        for i in range(start[t], start[t + 1]):
            votes[entry[i] - offset - first] += precision[worker[i]]
            cast += precision[worker[i]]
        held, part = known[t] >= 0, 1.0 / cast if cast > 0 else 0.0
        square, rest = squares * part * part, weight * part
        for c in range(first, last):
            own = prior[label[c + offset]] * part
            share = votes[c - first] * part + own
            rest -= own
            square += share * share - own * own
            if held:
                share = 1.0 if known[t] == label[c + offset] else 0.0
            total[label[c + offset]] += _rounded(share if held else share - own)
            change = max(change, abs(share - shares[c]))
            shares[c] = share
        other[t] = 0.0 if held or rest < _NONE else rest
        times += 0.0 if held else _rounded(part)
        square = 1.0 if held else square
        for i in range(start[t], start[t + 1]):
            residual[worker[i]] += _rounded(square - 2.0 * shares[entry[i] - offset] + 1.0)
    return change, times


@_loop
def _log_sum(one, other):
    """The logarithm of the sum of two numbers whose logarithms are given."""
    most, least = max(one, other), min(one, other)
    return most if least == -np.inf else most + np.log1p(np.exp(least - most))


@_loop
def _log_pulls(votes, own, labels, n, log_error, drawn):
    """How much likelier answers are if their task draws to a label, summed over those that as many answers give.

    Returns the group of each label, or -1, as one answer tells nothing of what a task draws to; and of each group the
    number of answers and the logarithm of the sum, in which the true label plays no part yet; and of each label the
    same without itself. Nothing is taken away from a sum, which would leave rounding errors.
    """
    several = np.flatnonzero(votes > 1)
    several = several[np.argsort(votes[several], kind="mergesort")]
    group, without = np.full(len(votes), -1), np.full(len(votes), -np.inf)
    count, whole, far, n_groups = np.zeros(len(several)), np.zeros(len(several)), np.zeros(len(several)), 0
    for at in range(len(several)):
        d = several[at]
        far[at] = votes[d] * np.log(drawn) - own[d] + (n - votes[d]) * np.log1p(-drawn)
        far[at] -= (votes[d] - 1) * log_error[labels[d]]
        if n_groups == 0 or count[n_groups - 1] != votes[d]:
            count[n_groups], whole[n_groups] = votes[d], -np.inf
            n_groups += 1
        group[d], without[d] = n_groups - 1, whole[n_groups - 1]
        whole[n_groups - 1] = _log_sum(whole[n_groups - 1], far[at])
    behind = -np.inf
    for at in range(len(several) - 1, -1, -1):
        d = several[at]
        if at + 1 < len(several) and group[several[at + 1]] != group[d]:
            behind = -np.inf
        without[d] = _log_sum(without[d], behind)
        behind = _log_sum(behind, far[at])
    return group, count[:n_groups], whole[:n_groups], without


@_loop
def _log_pull(j, away, pulls):
    """The logarithm of how much likelier answers are if their task draws to another label than if it is plain."""
    group, count, whole, without = pulls
    own, found = group[j] if j < len(group) else -1, -np.inf
    for g in range(len(count)):
        found = _log_sum(found, (count[g] - 1) * away + (without[j] if g == own else whole[g]))
    return found


@_loop
def _settle(x, votes, own, base, labels, n, known, tables):
    """Turns the sums of a task into probabilities of its kinds (row) and labels (column; behind them all others).

    ``x`` has the log odds of the answers by skill, ``own`` their log-probabilities of being wrong in a plain task,
    ``base`` the sums of these for each kind. Returns the share of all labels that the task did not receive.
    """
    log_error, log_else, log_share, share, error, log_kind, drawn, mean = tables
    size, rest, usual, top = len(labels), 1.0, mean, -np.inf
    for j in range(size):
        rest -= share[labels[j]]
        usual -= share[labels[j]] * error[labels[j]]
    rest = rest if rest > _NONE and known < 0 else 0.0
    usual = min(max(usual / rest, 0.0), _MOST_USUAL) if rest > 0 else 0.0
    pulls = _log_pulls(votes, own, labels, n, log_error, drawn)
    for j in range(size + 1):
        if j < size:
            z, count = labels[j], votes[j]
            away, prior = log_else[z], log_share[z] - count * log_error[z]
            prior = -np.inf if known >= 0 and known != z else prior
        else:
            count, away, prior = 0.0, np.log1p(-usual), np.log(rest) if rest > 0 else -np.inf
        prior -= (n - count) * away
        pull = _log_pull(j, away, pulls)
        for k in range(2):
            x[k, j] += base[k] + prior + log_kind[k]
            top = max(top, x[k, j])
        x[2, j] = x[0, j] - log_kind[0] + log_kind[2] + pull
        top = max(top, x[2, j])
    total = 0.0
    for k in range(3):
        for j in range(size + 1):
            x[k, j] = np.exp(x[k, j] - top)
            total += x[k, j]
    for k in range(3):
        for j in range(size + 1):
            x[k, j] /= total
    return rest


@_loop
def _add_answers(first, last, worker, entry, before, log_odds, log_wrong, sign, x, votes, own, base):
    """Adds some answers to the sums of their task, or takes them away."""
    for i in range(first, last):
        j, w = entry[i] - before, worker[i]
        votes[j] += sign
        own[j] += sign * log_wrong[0, w]
        for k in range(2):
            x[k, j] += sign * log_odds[k, w]
            base[k] += sign * log_wrong[k, w]


@_loop
def expect_labels(tasks, of_workers, tables, shares, other, right, asked, labels, wrong, kinds):
    """The E-step: the probabilities of the labels of every task, and what they add up to.

    By worker ``right`` and ``asked`` (of plain tasks), by label ``labels`` and ``wrong`` (answers that are), and
    ``kinds``: tasks that are plain, hard and misleading. What labels that a task did not receive get of it is counted
    as how often all shares are added to ``labels``. Returns the largest change of a probability, and that number.
    """
    start, worker, entry, known, first_entry, label = tasks
    (log_odds, log_wrong), share = of_workers, tables[3]
    change, times, offset = 0.0, 0.0, first_entry[0]
    for t in range(len(start) - 1):
        first, last = first_entry[t], first_entry[t + 1]
        size = last - first
        x, votes, own, base = np.zeros((3, size + 1)), np.zeros(size), np.zeros(size), np.zeros(2)
        _add_answers(start[t], start[t + 1], worker, entry, first, log_odds, log_wrong, 1.0, x, votes, own, base)
        rest = _settle(x, votes, own, base, label[first:last], start[t + 1] - start[t], known[t], tables)
        for k in range(3):
            kinds[k] += _rounded(x[k].sum())
        plain, left = _rounded(x[0].sum()), x[:, size].sum()
        part = _rounded(left / rest) if rest > 0 else 0.0
        times += part
        other[t] = left
        for j in range(size):
            z, p = label[first + j], x[0, j] + x[1, j] + x[2, j]
            if known[t] >= 0:
                p = 1.0 if known[t] == z else 0.0
            change = max(change, abs(p - shares[first + j - offset]))
            shares[first + j - offset] = p
            labels[z] += _rounded(p - part * share[z])
        for i in range(start[t], start[t + 1]):
            right[worker[i]] += _rounded(x[0, entry[i] - first])
            asked[worker[i]] += plain
            wrong[label[entry[i]]] += _rounded(1.0 - shares[entry[i] - offset])
    return change, times


@_loop
def fill_labels_without(tasks, of_workers, tables, precision, prior, weights, place, found):
    """Fills in, for every response, how probable the labels of its task are without this worker's responses.

    The entries of a task stand in ``found`` from the ``place`` of the response on: the mean of both members.
    """
    start, worker, entry, known, first_entry, label = tasks
    (log_odds, log_wrong), weight = of_workers, prior.sum()
    for t in range(len(start) - 1):
        before, size, first, last = first_entry[t], first_entry[t + 1] - first_entry[t], start[t], start[t + 1]
        full, votes, own, base = np.zeros((3, size + 1)), np.zeros(size), np.zeros(size), np.zeros(2)
        _add_answers(first, last, worker, entry, before, log_odds, log_wrong, 1.0, full, votes, own, base)
        cast, total = np.zeros(size), weight
        for i in range(first, last):
            cast[entry[i] - before] += precision[worker[i]]
            total += precision[worker[i]]
        at, own_labels = first, label[before : before + size]
        while at < last:
            end = at + 1
            while end < last and worker[end] == worker[at]:
                end += 1
            x, count, alone, sums = full.copy(), votes.copy(), own.copy(), base.copy()
            _add_answers(at, end, worker, entry, before, log_odds, log_wrong, -1.0, x, count, alone, sums)
            _settle(x, count, alone, sums, own_labels, last - first - (end - at), known[t], tables)
            left, without = total - (end - at) * precision[worker[at]], cast.copy()
            for i in range(at, end):
                without[entry[i] - before] -= precision[worker[at]]
            for j in range(size):
                share = (without[j] + prior[own_labels[j]]) / left if left > 0 else 0.0
                if known[t] >= 0:
                    share = 1.0 if known[t] == own_labels[j] else 0.0
                p = weights[0] * share + weights[1] * x[:, j].sum()
                for i in range(at, end):
                    found[place[i] + j] = p
            at = end
