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

    ``known`` are counts by (label, answer) or (label, class, answer), ``known_tasks`` the tasks known to have a label.
    """

    shares: str | list[float] | None
    known: np.ndarray
    known_tasks: np.ndarray


def by_class(counts: np.ndarray) -> np.ndarray:
    """Counts by (row, class, label), also if there is but one class and no axis for it."""
    return counts[:, None, :] if counts.ndim == 2 else counts


def added(tasks: np.ndarray, shares: str | list[float] | Added | None) -> Added:
    n_classes, n_labels = tasks.shape[1:]
    if isinstance(shares, Added):
        return Added(shares.shares, by_class(shares.known), shares.known_tasks)
    return Added(shares, np.zeros((n_labels, n_classes, n_labels)), np.zeros(n_labels, int))


def log_likelihood(tasks: np.ndarray, mapping: np.ndarray, shares: str | list[float] | Added | None = None) -> float:
    """The log-likelihood of one mapping: Σ over responses of ln p(answer | label), p being observed frequencies.

    Args:
        tasks: Counts by (task, label), or by (task, class, label).
        mapping: Label of each task.
        shares: None, "estimate", the given share of each label, or Added.
    """
    tasks = by_class(tasks)
    n_tasks, n_classes, n_labels = tasks.shape
    extra = added(tasks, shares)
    total = 0.0
    for label in range(n_labels):
        members = tasks[mapping == label]
        for k in range(n_classes):
            answers = members[:, k].sum(axis=0) + extra.known[label, k]
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


def dominates(a: np.ndarray, b: np.ndarray, *, ranked: bool = False) -> bool:
    """Whether a has at least as many responses at or above, and at most as many at or below, every label.

    Of several classes, each class by itself; if they are ranked, the best class, the best two together, and so on.
    """
    if a.ndim == 2:
        crowds = [range(c + 1) if ranked else [c] for c in range(len(a))]
        return all(dominates(sum(a[k] for k in crowd), sum(b[k] for k in crowd)) for crowd in crowds)
    n_labels = len(a)
    at_least = all(a[t:].sum() >= b[t:].sum() for t in range(1, n_labels))
    at_most = all(a[: t + 1].sum() <= b[: t + 1].sum() for t in range(n_labels - 1))
    return at_least and at_most


def respects_order(tasks: np.ndarray, mapping: np.ndarray, *, ranked: bool = False) -> bool:
    """Whether no task has a lower label than one that it dominates."""
    return not any(
        mapping[i] < mapping[j] and dominates(tasks[i], tasks[j], ranked=ranked)
        for i, j in itertools.permutations(range(len(tasks)), 2)
    )


def all_mappings(n_tasks: int, n_labels: int) -> np.ndarray:
    """Every mapping of tasks to labels, one a row."""
    return np.array(list(itertools.product(range(n_labels), repeat=n_tasks)), dtype=np.int64)


def consistent_mappings(tasks: np.ndarray, *, ranked: bool = False) -> np.ndarray:
    """The mappings that respect the order."""
    mappings = all_mappings(len(tasks), tasks.shape[-1])
    ok = np.ones(len(mappings), bool)
    for i, j in itertools.permutations(range(len(tasks)), 2):
        if dominates(tasks[i], tasks[j], ranked=ranked):
            ok &= mappings[:, i] >= mappings[:, j]
    return mappings[ok]


def brute_force(
    tasks: np.ndarray,
    *,
    space: str,
    shares: str | list[float] | Added | None = None,
    ranked: bool = False,
    tolerance: float = 1e-9,
) -> Oracle:
    """The optimum over all mappings of tasks, or over those that respect the order."""
    everything = all_mappings(len(tasks), tasks.shape[-1])
    mappings = everything if space == "all" else consistent_mappings(tasks, ranked=ranked)
    values = _values(tasks, mappings, shares)
    best = float(values.max())
    return Oracle(best, mappings[values >= best - tolerance])


def _values(tasks: np.ndarray, mappings: np.ndarray, shares: str | list[float] | Added | None) -> np.ndarray:
    """Log-likelihoods of many mappings at once, by Σ N ln N − N· ln N·."""
    tasks = by_class(tasks)
    n_tasks, n_classes, n_labels = tasks.shape
    extra = added(tasks, shares)
    values = np.zeros(len(mappings))
    for label in range(n_labels):
        member = (mappings == label).astype(float)
        size = member.sum(axis=1)
        for k in range(n_classes):
            answers = member @ tasks[:, k] + extra.known[label, k]
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
