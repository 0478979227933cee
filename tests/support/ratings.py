"""Ratings and categories of simulated crowds, with their likelihood by hand."""

from __future__ import annotations

from functools import cache

import numpy as np

from crowdopt import verify
from crowdopt.studies.simulate import crowd, uniform_errors
from support import oracle
from support.ways import plain, to_polars

NAMES = dict(zip("12345", ["plum", "apple", "fig", "lime", "pear"], strict=True))
"""Categories, whose order as texts is another one than that of the ratings."""


def rows_of(made) -> list[tuple[str, str, str]]:
    return list(zip(made.task.tolist(), made.worker.tolist(), made.label.tolist(), strict=True))


@cache
def ratings(n_labels: int = 3, responses=3, n_tasks: int = 60, seed: int = 0) -> list[tuple[str, str, str]]:
    """Ratings from 1 up, mostly right, and where wrong mostly near."""
    distance = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels)))
    matrix = np.exp(-distance / 0.7)
    matrix /= matrix.sum(axis=1, keepdims=True)
    labels = [str(j + 1) for j in range(n_labels)]
    return rows_of(crowd(n_tasks, 20, responses, labels=labels, matrix=matrix, seed=seed))


@cache
def categories(n_labels: int = 3, responses=3, n_tasks: int = 60, seed: int = 0) -> list[tuple[str, str, str]]:
    labels = list(NAMES.values())[:n_labels]
    return rows_of(crowd(n_tasks, 20, responses, labels=labels, matrix=uniform_errors(n_labels, 0.7), seed=seed))


def by_hand(rows, labels) -> dict[str, np.ndarray]:
    counts: dict[str, np.ndarray] = {}
    for task, _, label in rows:
        counts.setdefault(task, np.zeros(len(labels), int))[labels.index(label)] += 1
    return counts


def value_of(solution, rows, shares=None) -> float:
    """The log-likelihood of the answers, from the definition."""
    labels, answers = list(solution.scale.labels), plain(solution.answers)
    counts = by_hand(rows, labels)
    tasks = np.array([counts[task] for task in answers["task"]])
    mapping = np.array([labels.index(label) for label in answers["label"]])
    return oracle.log_likelihood(tasks, mapping, shares)


def reread(solution, rows, tmp_path):
    """The verdict on the file of a solution."""
    solution.save(tmp_path / "solution.json")
    return verify(tmp_path / "solution.json", to_polars(rows)).verdict
