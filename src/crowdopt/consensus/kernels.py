"""The compiled loops of the consensus. Arrays are (worker, answer, state): innermost is the state of a task."""

from __future__ import annotations

import numpy as np

from crowdopt._numba import compiled

_GRAIN = 2.0**-32
_LOG_ROOT_TAU = 0.5 * np.log(2 * np.pi)


@compiled
def _rounded(x):
    """The nearest multiple of the grain (see grid.py)."""
    return np.rint(x / _GRAIN) * _GRAIN


@compiled
def _digamma(x):
    """The derivative of ln Γ, for x > 0: six steps up in one division, then Stirling's series; to 1e-12."""
    y, s = x * (x + 5.0), x + 6.0
    below = (2.0 * x + 5.0) * ((3.0 * y + 20.0) * y + 24.0) / (y * (y + 4.0) * (y + 6.0))
    a = 1.0 / s
    b = a * a
    series = 1 / 12 - b * (1 / 120 - b * (1 / 252 - b * (1 / 240 - b * (1 / 132 - b * (691 / 32760)))))
    return np.log(s) - 0.5 * a - b * series - below


@compiled
def _log_gamma(x):
    """The logarithm of Γ, for x > 0, likewise."""
    y, s = x * (x + 5.0), x + 6.0
    a = 1.0 / s
    b = a * a
    series = 1 / 12 - b * (1 / 360 - b * (1 / 1260 - b * (1 / 1680 - b * (1 / 1188 - b * (691 / 360360)))))
    return (s - 0.5) * np.log(s) - s + _LOG_ROOT_TAU + a * series - np.log(y * (y + 4.0) * (y + 6.0))


@compiled
def vote_round(start, worker, answer, known, precision, prior, shares, residual, total):
    """Weighs the votes on every task into ``shares``; adds how far each worker is from them, and their sum.

    Returns the largest change of a share. ``prior`` is added to the votes on every task.
    """
    n_labels = len(prior)
    votes, change, weight = np.empty(n_labels), 0.0, prior.sum()
    for t in range(len(start) - 1):
        votes[:] = prior
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


@compiled
def _gather(first, last, sign, worker, answer, log_answer, log_pull, given, x, votes):
    """Adds responses to the scores of a task, or takes them away: x[0] without a tilt, x[1 + j] to label given[j]."""
    for i in range(first, last):
        w, a = worker[i], answer[i]
        votes[a] += sign
        for s in range(x.shape[1]):
            x[0, s] += sign * log_answer[w, a, s]
        for j in range(len(given)):
            for s in range(x.shape[1]):
                x[1 + j, s] -= sign * log_pull[w, given[j], s]


@compiled
def _settle(x, given, votes, log_none, log_kind, beta, known, n_labels):
    """Turns the scores of a task into probabilities of (tilt, state)."""
    n_states, top = x.shape[1], -np.inf
    per_label = n_states // n_labels
    for s in range(n_states):
        possible = known < 0 or s // per_label == known
        for j in range(len(given)):
            d = given[j]
            tilted = x[0, s] + x[1 + j, s] + log_kind[d, s] + beta * votes[d]
            x[1 + j, s] = tilted if possible and votes[d] > 0 else -np.inf
            top = max(top, x[1 + j, s])
        x[0, s] = x[0, s] + log_none[s] if possible else -np.inf
        top = max(top, x[0, s])
    total = 0.0
    for j in range(len(given) + 1):
        for s in range(n_states):
            x[j, s] = np.exp(x[j, s] - top)
            total += x[j, s]
    x[: len(given) + 1] /= total


@compiled
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
    votes[:] = 0
    return count


@compiled
def expect(rows, tables, states, counts, pulled, kinds):
    """The E-step: the probabilities of the states of every task, and what they add up to for the workers.

    ``counts`` (worker, answer, state) and ``pulled`` (worker, tilt, state) are added to unless they are empty, as are
    ``kinds`` (tilt or none, state). Tilts are tried if beta is above zero. Returns the largest change of a probability.
    """
    start, worker, answer, known = rows
    log_answer, log_pull, log_none, log_kind, beta = tables
    n_labels, n_states = log_kind.shape
    x, q, votes = np.empty((n_labels + 1, n_states)), np.empty(n_states), np.empty(n_labels)
    given, change, learns = np.empty(n_labels, np.int64), 0.0, len(counts) > 0
    for t in range(len(start) - 1):
        first, last = start[t], start[t + 1]
        count = _labels_given(first, last, answer, votes, given) if beta > 0 else 0
        labels = given[:count]
        votes[:] = 0
        x[: count + 1] = 0.0
        _gather(first, last, 1, worker, answer, log_answer, log_pull, labels, x, votes)
        _settle(x, labels, votes, log_none, log_kind, beta, known[t], n_labels)
        for s in range(n_states):
            p = q[s] = 0.0
            for j in range(count + 1):
                p += x[j, s]
                x[j, s] = _rounded(x[j, s])
                q[s] += x[j, s]
                kinds[labels[j - 1] if j > 0 else n_labels, s] += x[j, s]
            change = max(change, abs(p - states[t, s]))
            states[t, s] = p
        for i in range(first, last if learns else first):
            for s in range(n_states):
                counts[worker[i], answer[i], s] += q[s]
            for j in range(count):
                for s in range(n_states):
                    pulled[worker[i], labels[j], s] += x[1 + j, s]
    return change


@compiled
def expect_without(rows, tables, states):
    """Fills in, for every response, the probabilities of the states of its task without this worker's responses."""
    start, worker, answer, known = rows
    log_answer, log_pull, log_none, log_kind, beta = tables
    n_labels, n_states = log_kind.shape
    full, x = np.empty((n_labels + 1, n_states)), np.empty((n_labels + 1, n_states))
    all_votes, votes, given = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels, np.int64)
    for t in range(len(start) - 1):
        first, last = start[t], start[t + 1]
        count = _labels_given(first, last, answer, all_votes, given) if beta > 0 else 0
        labels = given[:count]
        all_votes[:] = 0
        full[: count + 1] = 0.0
        _gather(first, last, 1, worker, answer, log_answer, log_pull, labels, full, all_votes)
        while first < last:
            end = first + 1
            while end < last and worker[end] == worker[first]:
                end += 1
            x[:], votes[:] = full, all_votes
            _gather(first, end, -1, worker, answer, log_answer, log_pull, labels, x, votes)
            _settle(x, labels, votes, log_none, log_kind, beta, known[t], n_labels)
            for i in range(first, end):
                for s in range(n_states):
                    states[i, s] = x[: count + 1, s].sum()
            first = end


@compiled
def pool(counts, totals, weights, alpha, strength, tables, sizes):
    """Adds to ``tables`` (class, answer, state) and ``sizes`` (class) how many draws from the class the counts show."""
    n_workers, n_labels, n_states = counts.shape
    for k in range(len(strength)):
        c, low = strength[k], np.empty((n_labels, n_states))
        for a in range(n_labels):
            for s in range(n_states):
                low[a, s] = _digamma(alpha[k, a, s])
        least = _digamma(c)
        for w in range(n_workers):
            r = weights[w, k]
            if r <= 0:
                continue
            for a in range(n_labels):
                for s in range(n_states):
                    if counts[w, a, s] > 0:
                        up = _digamma(counts[w, a, s] + alpha[k, a, s]) - low[a, s]
                        tables[k, a, s] += _rounded(r * alpha[k, a, s] * up)
            for s in range(n_states):
                if totals[w, s] > 0:
                    sizes[k] += _rounded(r * c * (_digamma(totals[w, s] + c) - least))


@compiled
def class_scores(counts, totals, alpha, strength, scores):
    """Fills in the log-likelihood of each worker's counts in each class (worker, class), the matrix integrated out."""
    n_workers, n_labels, n_states = counts.shape
    for k in range(len(strength)):
        c, low = strength[k], np.empty((n_labels, n_states))
        for a in range(n_labels):
            for s in range(n_states):
                low[a, s] = _log_gamma(alpha[k, a, s])
        least = _log_gamma(c)
        for w in range(n_workers):
            score = 0.0
            for s in range(n_states):
                if totals[w, s] > 0:
                    score -= _log_gamma(totals[w, s] + c) - least
                for a in range(n_labels):
                    if counts[w, a, s] > 0:
                        score += _log_gamma(counts[w, a, s] + alpha[k, a, s]) - low[a, s]
            scores[w, k] = score


@compiled
def tilted_matrices(counts, pulled, weights, alpha, strength, lift, floor, matrix):
    """One step of the matrices (worker, answer, label), in place: those that went into ``pulled`` are still there."""
    n_workers, n_labels, _ = counts.shape
    for w in range(n_workers):
        strong = (weights[w] * strength).sum()
        for z in range(n_labels):
            common = strong
            for a in range(n_labels):
                drawn = pulled[w, a, z]
                common += counts[w, a, z] - drawn + drawn / (1.0 + matrix[w, a, z] * lift)
            total = 0.0
            for a in range(n_labels):
                share = counts[w, a, z]
                for k in range(len(strength)):
                    share += weights[w, k] * alpha[k, a, z]
                share /= common + lift * pulled[w, a, z] / (1.0 + matrix[w, a, z] * lift)
                matrix[w, a, z] = share
                total += share
            for a in range(n_labels):
                matrix[w, a, z] = max(matrix[w, a, z] / total, floor)
