"""Brute force: the truth that engines are tested against.

Tries every mapping of *tasks* (not of buckets) to labels, and computes each likelihood from the definition
with its own few lines. Imports nothing from crowdopt.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Oracle:
    """The best log-likelihood in the space, and every mapping of tasks that reaches it."""

    value: float
    mappings: np.ndarray


@dataclass(frozen=True)
class Added:
    """What is added to the likelihood: shares (None, "estimate" or a list), and what was known beforehand.

    ``known`` are counts by (label, answer), ``known_tasks`` the number of tasks of known label.
    """

    shares: str | list[float] | None
    known: np.ndarray
    known_tasks: np.ndarray


def added(tasks: np.ndarray, shares: str | list[float] | Added | None) -> Added:
    n_labels = tasks.shape[1]
    if isinstance(shares, Added):
        return shares
    return Added(shares, np.zeros((n_labels, n_labels)), np.zeros(n_labels, int))


def log_likelihood(tasks: np.ndarray, mapping: np.ndarray, shares: str | list[float] | Added | None = None) -> float:
    """The log-likelihood of one mapping: Σ over responses of ln p(answer | label), p being observed frequencies.

    Args:
        tasks: Counts by (task, label).
        mapping: Label of each task.
        shares: None, "estimate", the given share of each label, or Added.
    """
    n_tasks, n_labels = tasks.shape
    extra = added(tasks, shares)
    total = 0.0
    for label in range(n_labels):
        members = tasks[mapping == label]
        answers = members.sum(axis=0) + extra.known[label]
        for count in answers:
            if count:
                total += count * np.log(count / answers.sum())
        size = len(members)
        if extra.shares == "estimate":
            size += extra.known_tasks[label]
            total += size * np.log(size / (n_tasks + extra.known_tasks.sum())) if size else 0.0
        elif extra.shares is not None and size:
            share = extra.shares[label]
            total += size * (np.log(share) if share > 0 else -np.inf)
    return float(total)


def dominates(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether a has at least as many responses at or above, and at most as many at or below, every label."""
    n_labels = len(a)
    at_least = all(a[t:].sum() >= b[t:].sum() for t in range(1, n_labels))
    at_most = all(a[: t + 1].sum() <= b[: t + 1].sum() for t in range(n_labels - 1))
    return at_least and at_most


def respects_order(tasks: np.ndarray, mapping: np.ndarray) -> bool:
    """Whether no task has a lower label than one that it dominates."""
    return not any(
        mapping[i] < mapping[j] and dominates(tasks[i], tasks[j])
        for i, j in itertools.permutations(range(len(tasks)), 2)
    )


def all_mappings(n_tasks: int, n_labels: int) -> np.ndarray:
    """Every mapping of tasks to labels, one a row."""
    return np.array(list(itertools.product(range(n_labels), repeat=n_tasks)), dtype=np.int64)


def consistent_mappings(tasks: np.ndarray) -> np.ndarray:
    """The mappings that respect the order."""
    mappings = all_mappings(*tasks.shape)
    ok = np.ones(len(mappings), bool)
    for i, j in itertools.permutations(range(len(tasks)), 2):
        if dominates(tasks[i], tasks[j]):
            ok &= mappings[:, i] >= mappings[:, j]
    return mappings[ok]


def brute_force(
    tasks: np.ndarray, *, space: str, shares: str | list[float] | Added | None = None, tolerance: float = 1e-9
) -> Oracle:
    """The optimum over all mappings of tasks, or over those that respect the order."""
    mappings = all_mappings(*tasks.shape) if space == "all" else consistent_mappings(tasks)
    values = _values(tasks, mappings, shares)
    best = float(values.max())
    return Oracle(best, mappings[values >= best - tolerance])


def _values(tasks: np.ndarray, mappings: np.ndarray, shares: str | list[float] | Added | None) -> np.ndarray:
    """Log-likelihoods of many mappings at once, by Σ N ln N − N· ln N·."""
    n_tasks, n_labels = tasks.shape
    extra = added(tasks, shares)
    values = np.zeros(len(mappings))
    for label in range(n_labels):
        member = (mappings == label).astype(float)
        answers = member @ tasks + extra.known[label]
        size = member.sum(axis=1)
        values += _x_log_x(answers).sum(axis=1) - _x_log_x(answers.sum(axis=1))
        if extra.shares == "estimate":
            size += extra.known_tasks[label]
            values += _x_log_x(size) - size * np.log(n_tasks + extra.known_tasks.sum())
        elif extra.shares is not None:
            share = extra.shares[label]
            values += size * np.log(share) if share > 0 else np.where(size > 0, -np.inf, 0.0)
    return values


def _x_log_x(x: np.ndarray) -> np.ndarray:
    return x * np.log(np.where(x > 0, x, 1.0))
