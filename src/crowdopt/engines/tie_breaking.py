"""Ties: which of several equally likely mappings is taken, and which label each cluster of buckets is called by.

Among equally likely mappings: more agreement with the responses, then the lexicographically smallest.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.certificate import Space

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.model.problem import Problem

LABELS_PERMUTED = 7
"""Labels up to which all names are tried."""

FORBIDDEN = -1e300
"""The worth of a name that is not allowed: finite, as sums of infinities are not."""


def renamed(problem: Problem, mapping: Ints) -> Ints:
    """The same clusters under the best names: by agreement, or by likelihood where the names are part of it.

    Under dominance the clusters keep their order.
    """
    used, first = np.unique(mapping, return_index=True)
    ordered = problem.space is Space.DOMINANCE
    used = used if ordered else used[np.argsort(first)]  # so that the first of equal names is the smallest mapping
    responses, tasks = problem.buckets.by_label(mapping)
    worth = responses.sum(axis=1)[used].astype(float)
    if not problem.objective.interchangeable:
        worth = _likelihoods(problem, responses[used], tasks[used])
    name = np.zeros(problem.buckets.n_labels, np.int64)
    name[used] = _rising(worth) if ordered else _permuted(worth)
    return name[mapping]


def _rising(worth: Floats) -> Ints:
    """The rising names of clusters (rows) worth most in sum, smallest first among equals."""
    n_used, n_labels = worth.shape
    best = np.full((n_used + 1, n_labels + 1), -np.inf)
    best[n_used] = 0.0
    for c, j in itertools.product(range(n_used - 1, -1, -1), range(n_labels - 1, -1, -1)):
        best[c, j] = max(best[c, j + 1], worth[c, j] + best[c + 1, j + 1])
    names: list[int] = []
    for c in range(n_used):
        j = names[-1] + 1 if names else 0
        names.append(next(i for i in range(j, n_labels) if worth[c, i] + best[c + 1, i + 1] >= best[c, j]))
    return np.array(names)


def _permuted(worth: Floats) -> Ints:
    """The names of clusters (rows) worth most in sum; with few labels the first of equals."""
    n_used, n_labels = worth.shape
    if n_labels <= LABELS_PERMUTED:
        names = np.array(list(itertools.permutations(range(n_labels), n_used)))
        return np.asarray(names[worth[np.arange(n_used), names].sum(axis=1).argmax()])
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(worth, maximize=True)[1])


def _likelihoods(problem: Problem, responses: Ints, tasks: Ints) -> Floats:
    """What each cluster (row) adds to F under each name, against leaving the name unused."""
    objective, n_tasks = problem.objective, problem.buckets.n_tasks
    nothing = np.zeros_like(responses[:1]), np.zeros(1, np.int64)
    worth = [
        objective.level(j, responses, tasks, n_tasks) - objective.level(j, *nothing, n_tasks)
        for j in range(problem.buckets.n_labels)
    ]
    return np.maximum(np.stack(worth, axis=1), FORBIDDEN)


def choose(problem: Problem, mappings: list[Ints], at_least: float) -> Ints:
    """The mapping that the tie rule picks among those whose log-likelihood is at least ``at_least``."""
    buckets = problem.buckets
    good = [mapping for mapping in mappings if problem.objective.of_mapping(buckets, mapping) >= at_least]
    return min(good, key=lambda mapping: (-buckets.agreement(mapping), mapping.tolist()))
