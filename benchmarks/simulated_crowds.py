"""Crowds of many makes, drawn from seeds. The consensus got its number of rounds on such crowds, its model on others.

A make says how workers err and how tasks differ; a seed then draws everything that the make leaves open: the numbers of
tasks, workers, labels and responses, who answers how much, how frequent the labels are. Most makes break the model of
a few classes on purpose, as real crowds do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Rng = np.random.Generator
Matrices = np.ndarray
"""How likely a worker gives an answer, by (worker, true, answered)."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Responses as numbers, and the truth behind them."""

    make: str
    seed: int
    task: np.ndarray
    worker: np.ndarray
    label: np.ndarray
    truth: np.ndarray
    n_labels: int


def even(n_labels: int, right: np.ndarray) -> Matrices:
    """Workers who are right with these probabilities and else pick evenly."""
    wrong = (1 - right) / (n_labels - 1)
    return np.where(np.eye(n_labels, dtype=bool), right[:, None, None], wrong[:, None, None])


def peaked(rng: Rng, n_labels: int, right: np.ndarray) -> Matrices:
    """Workers with habits of their own: rows drawn around the truth, errors spread at random."""
    errors = rng.dirichlet(np.full(n_labels, 0.7), (len(right), n_labels))
    own = np.clip(rng.normal(right[:, None], 0.08, (len(right), n_labels)), 0.02, 0.99)[:, :, None]
    return own * np.eye(n_labels) + (1 - own) * errors


def classes(rng: Rng, n_workers: int, n_labels: int) -> Matrices:
    """One to five classes, alike within."""
    of = rng.integers(rng.integers(1, 6), size=n_workers)
    right = rng.uniform(1 / n_labels, 0.97, of.max() + 1)
    return peaked(rng, n_labels, right)[of]


def one_matrix(rng: Rng, n_workers: int, n_labels: int) -> Matrices:
    """All workers alike."""
    return np.repeat(peaked(rng, n_labels, rng.uniform(0.5, 0.9, 1)), n_workers, axis=0)


def skills(rng: Rng, n_workers: int, n_labels: int) -> Matrices:
    """Skills all along a line, errors even."""
    right = 1 / n_labels + (0.98 - 1 / n_labels) * rng.beta(*rng.uniform(1, 4, 2), n_workers)
    return even(n_labels, right)


def own_matrices(rng: Rng, n_workers: int, n_labels: int) -> Matrices:
    """Every worker a matrix of their own."""
    return peaked(rng, n_labels, rng.beta(4, 2, n_workers))


def spammers(rng: Rng, n_workers: int, n_labels: int) -> Matrices:
    """Some answer at random, or always the same."""
    found = peaked(rng, n_labels, rng.uniform(0.6, 0.95, n_workers))
    for worker in np.flatnonzero(rng.random(n_workers) < rng.uniform(0.2, 0.5)):
        same = np.eye(n_labels)[rng.integers(n_labels)] * 0.9 + 0.1 / n_labels
        found[worker] = same if rng.random() < 0.6 else 1 / n_labels
    return found


def opposites(rng: Rng, n_workers: int, n_labels: int) -> Matrices:
    """Some mistake the labels for one another."""
    found = even(n_labels, rng.uniform(0.6, 0.95, n_workers))
    for worker in np.flatnonzero(rng.random(n_workers) < rng.uniform(0.05, 0.25)):
        found[worker] = np.roll(found[worker], 1, axis=1)
    return found


def biased(rng: Rng, n_workers: int, n_labels: int) -> Matrices:
    """Everyone leans to some label, more or less."""
    lean = rng.uniform(0, 0.5, n_workers)[:, None, None]
    towards = np.eye(n_labels)[rng.choice(n_labels, n_workers, p=rng.dirichlet(np.ones(n_labels)))][:, None, :]
    return (1 - lean) * even(n_labels, rng.uniform(0.6, 0.95, n_workers)) + lean * towards


def neighbours(rng: Rng, n_workers: int, n_labels: int) -> Matrices:
    """Ordered labels: errors go to the neighbours, and some workers lean up or down."""
    at = np.arange(n_labels)
    shift, width = rng.normal(0, 0.4, n_workers), rng.gamma(3, 0.25, n_workers) + 0.15
    far = at[None, None, :] - at[None, :, None] - shift[:, None, None]
    found = np.exp(-((far / width[:, None, None]) ** 2) / 2) + 0.01
    return found / found.sum(axis=2, keepdims=True)


@dataclass(frozen=True)
class Make:
    """How a crowd is made.

    Attributes:
        workers: How workers err.
        labels: Numbers of labels to draw from.
        hard: The most that tasks differ: with difficulty d, an answer ignores the worker's skill with probability d.
        decoys: Whether the answers to a hard task tend to the same wrong label.
        skewed: Whether a few labels are frequent and the others rare.
    """

    workers: Callable[[Rng, int, int], Matrices]
    labels: tuple[int, ...] = (2, 2, 3, 4, 6)
    hard: float = 0.0
    decoys: bool = False
    skewed: bool = False


MAKES = {
    "classes": Make(classes),
    "classes, hard tasks": Make(classes, hard=0.8),
    "classes, rare labels": Make(classes, skewed=True),
    "one matrix": Make(one_matrix),
    "one matrix, hard tasks, rare labels": Make(one_matrix, hard=0.8, skewed=True),
    "skills": Make(skills),
    "skills, hard tasks": Make(skills, hard=0.8),
    "skills, decoys": Make(skills, hard=0.8, decoys=True),
    "own matrices": Make(own_matrices),
    "own matrices, hard tasks": Make(own_matrices, hard=0.8),
    "own matrices, rare labels": Make(own_matrices, skewed=True),
    "own matrices, decoys, rare labels": Make(own_matrices, hard=0.8, decoys=True, skewed=True),
    "own matrices, hard tasks, 12 rare labels": Make(own_matrices, labels=(12,), hard=0.8, skewed=True),
    "spammers": Make(spammers),
    "spammers, hard tasks, rare labels": Make(spammers, hard=0.8, skewed=True),
    "opposites": Make(opposites),
    "biased": Make(biased),
    "biased, decoys": Make(biased, hard=0.8, decoys=True),
    "neighbours": Make(neighbours, labels=(3, 4, 6)),
    "neighbours, hard tasks, rare labels": Make(neighbours, labels=(3, 4, 6), hard=0.8, skewed=True),
}
"""Makes of crowds by name."""


def draw(name: str, seed: int) -> Drawn:
    """One crowd."""
    make = MAKES[name]
    rng = np.random.Generator(np.random.PCG64([seed, *name.encode()]))
    n_labels = int(rng.choice(make.labels))
    n_tasks = int(np.exp(rng.uniform(np.log(100), np.log(1500))))
    n_workers = int(np.exp(rng.uniform(np.log(10), np.log(250))))
    shares = rng.dirichlet(np.full(n_labels, 0.8 if make.skewed else 20.0))
    truth = rng.choice(n_labels, n_tasks, p=(shares + 0.02) / (1 + 0.02 * n_labels))
    task, worker = _deal(rng, n_tasks, n_workers)
    by_worker = make.workers(rng, n_workers, n_labels)[worker, truth[task]]
    difficulty = rng.beta(0.6, 1.2, n_tasks) * make.hard if make.hard else np.zeros(n_tasks)
    blur = np.full((n_tasks, n_labels), 1 / n_labels)
    if make.decoys:
        decoy = (truth + rng.integers(1, n_labels, n_tasks)) % n_labels
        blur = 0.5 * np.eye(n_labels)[truth] + 0.5 * np.eye(n_labels)[decoy]
    weight = difficulty[task][:, None]
    probability = (1 - weight) * by_worker + weight * blur[task]
    label = (rng.random(len(task))[:, None] > probability.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Drawn(name, seed, task, worker, label, truth, n_labels)


def _deal(rng: Rng, n_tasks: int, n_workers: int) -> tuple[np.ndarray, np.ndarray]:
    """Who answers which task: 3 to 20 responses to each, equal or varying numbers, even loads or some very busy."""
    most = int(min(rng.integers(3, 21), n_workers))
    size = np.full(n_tasks, most) if rng.random() < 0.6 else rng.integers(min(2, most), most + 1, n_tasks)
    weight = rng.permutation(np.arange(1, n_workers + 1) ** -(rng.uniform(0.5, 1.5) if rng.random() < 0.6 else 0.0))
    order = np.argsort(rng.exponential(size=(n_tasks, n_workers)) / weight, axis=1)
    taken = np.arange(n_workers) < size[:, None]
    task = np.repeat(np.arange(n_tasks), size)
    return task, np.unique(order[taken], return_inverse=True)[1].reshape(-1)
