"""The marginal likelihood in its plainest form, small problems for it, and parameters to try."""

from __future__ import annotations

import numpy as np

from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem

KINDS = ("plain", "skilled", "smoothing", "prior", "gold", "shares", "unanimous", "one each", "never given", "noise")
"""What is odd about a problem, or known beforehand."""


def small_problem(
    rng: np.random.Generator, n_labels: int, n_classes: int, kind: str = "plain", answers: tuple[int, int] = (0, 4)
) -> Problem:
    """A crowd of some ten to sixty tasks, with so many answers of each class."""
    shape = (int(rng.integers(4, 60)), n_classes, n_labels)
    truth = rng.integers(n_labels, size=shape[0])
    skill = {"noise": 0.0, "skilled": 0.9}.get(kind, rng.uniform(0.4, 0.95))
    matrix = skill * np.eye(n_labels) + (1 - skill) * rng.dirichlet(np.ones(n_labels), (n_classes, n_labels))
    counts = np.zeros(shape, np.int64)
    for task, label in enumerate(truth.tolist()):
        for k in range(n_classes):
            counts[task, k] = rng.multinomial(rng.integers(answers[0], answers[1] + 1), matrix[k, label])
    if kind == "unanimous":
        counts = counts.sum(axis=2, keepdims=True) * np.eye(n_labels, dtype=np.int64)[truth][:, None]
    if kind == "one each":
        counts = (np.arange(counts[0].size) == rng.integers(counts[0].size, size=(shape[0], 1))).reshape(shape) * 1
    if kind == "never given":
        counts[..., -1] = 0
    counts[0, 0, 0] += 1  # or there may be no responses
    buckets, _ = Buckets.from_arrays(counts)
    return Problem(buckets, Space.PARAMETERS, _objective(rng, n_labels, n_classes, kind))


def _objective(rng: np.random.Generator, n_labels: int, n_classes: int, kind: str) -> Objective:
    if kind == "shares":
        shares = rng.dirichlet(np.ones(n_labels)).round(3)
        return Objective("given", (*shares[1:].tolist(), float(1 - shares[1:].sum())))
    shape = (n_labels, n_classes, n_labels)
    if kind == "smoothing":
        offsets = Offsets.of(n_labels, n_classes, smoothing=float(rng.choice([1e-3, 0.5, 2.0])))
    elif kind == "prior":
        offsets = Offsets.of(n_labels, n_classes, prior=np.where(rng.random(shape) < 0.3, 0, rng.exponential(3, shape)))
    elif kind == "gold":
        offsets = Offsets.of(n_labels, n_classes, gold=(rng.integers(0, 4, shape), rng.integers(0, 3, n_labels)))
    else:
        offsets = None
    return Objective("estimated", offsets=offsets)


def values_at(problem: Problem, shares: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """L at many parameters: shares (point, label), matrices (point, class, true, answered)."""
    buckets, offsets = problem.buckets, problem.objective.offsets
    with np.errstate(divide="ignore"):
        log_shares, logs = np.log(shares), np.log(matrices)
    scores = log_shares[:, None, :] + _dot("bka,pkza->pbz", buckets.counts, logs)
    best = scores.max(axis=2, keepdims=True)
    best = np.where(np.isfinite(best), best, 0.0)
    with np.errstate(divide="ignore"):
        values = (best[..., 0] + np.log(np.exp(scores - best).sum(axis=2))) @ buckets.weights.astype(float)
    if offsets is not None:
        values = values + _dot("zka,pkza->p", offsets.counts, logs) + _dot("z,pz->p", offsets.gold_tasks, log_shares)
    return values


def _dot(formula: str, counts: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Sums of counts times logarithms, where none of minus infinity is nothing, and one is minus infinity."""
    impossible = np.einsum(formula, counts, np.isneginf(logs).astype(float)) > 0
    return np.where(impossible, -np.inf, np.einsum(formula, counts.astype(float), np.where(np.isneginf(logs), 0, logs)))


def random_parameters(rng: np.random.Generator, problem: Problem, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares and matrices of all sorts: even, pointed, with zeros, and workers who are mostly right."""
    buckets, given = problem.buckets, problem.objective.shares
    n_labels, n_classes = buckets.n_labels, buckets.n_classes

    def rows(*shape: int) -> np.ndarray:
        drawn = rng.standard_gamma(rng.choice([0.1, 0.5, 1.0, 5.0], (*shape, 1)), (*shape, n_labels)) + 1e-12
        drawn *= rng.random(drawn.shape) > 0.1 * (rng.random((*shape, 1)) < 0.2)
        drawn[..., 0] += drawn.sum(axis=-1) == 0
        return drawn / drawn.sum(axis=-1, keepdims=True)

    mostly = rng.random((n, 1, 1, 1)) * (rng.random((n, 1, 1, 1)) < 0.7)
    matrices = mostly * np.eye(n_labels) + (1 - mostly) * rows(n, n_classes, n_labels)
    return (np.tile(given, (n, 1)) if given else rows(n)), matrices
