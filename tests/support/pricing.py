"""Small pricing problems, and every set of buckets that could be bought in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.problem import Problem
from support.problems import random_objective

if TYPE_CHECKING:
    from crowdopt.engines.columns.set_terms import BucketSet, Term

MOST_BUCKETS = 9


def random_problem(rng: np.random.Generator, kind: str, n_labels: int, *, equal: bool) -> Problem:
    """Up to nine buckets of many or few tasks, from a random crowd."""
    n_buckets = int(rng.integers(1, MOST_BUCKETS + 1))
    sizes = np.full(n_buckets, rng.integers(1, 9)) if equal else rng.integers(1, 9, n_buckets)
    matrix = rng.dirichlet(np.full(n_labels, rng.choice([0.3, 1.0, 3.0])), n_labels)
    counts = np.stack([rng.multinomial(size, matrix[rng.integers(n_labels)]) for size in sizes])
    weights = rng.integers(1, rng.choice([2, 10, 200]), n_buckets)
    objective, _ = random_objective(rng, kind, n_labels)
    return Problem(Buckets.from_arrays(counts, weights)[0], Space.ALL, objective)


def random_prices(rng: np.random.Generator, buckets: BucketSet, term: Term) -> np.ndarray:
    """About what a bucket adds to a random set: where prices matter most."""
    share = rng.dirichlet(np.ones(buckets.responses.shape[1]))
    per_task = np.log(rng.uniform(0.1, 0.9)) if rng.random() < 0.5 else 0.0
    prices = buckets.responses @ np.log(share) + buckets.tasks * per_task
    return prices * rng.choice([0.5, 1.0, 1.0]) + rng.normal(size=len(buckets)) * rng.choice([0.0, 1.0, 5.0])


def every_worth(buckets: BucketSet, term: Term, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All sets, and what they are worth."""
    sets = (np.arange(1 << len(buckets))[:, None] >> np.arange(len(buckets))) & 1 == 1
    with np.errstate(invalid="ignore"):
        worth = term.values(*buckets.sums(sets)) - sets @ prices
    return sets, worth


def go_on(bound: float, cells: int) -> bool:
    return True


def every_set(n: int) -> np.ndarray:
    return (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1


def fits(sets: np.ndarray, above: np.ndarray, shape: str) -> np.ndarray:
    """Which sets have the shape, from its definition, by loops."""
    n = len(above)
    good = np.ones(len(sets), bool)
    for low in range(n):
        for high in range(n):
            if not above[low, high]:
                continue
            if shape == "up":
                good &= ~sets[:, low] | sets[:, high]
            elif shape == "down":
                good &= ~sets[:, high] | sets[:, low]
            elif shape == "between":
                for middle in range(n):
                    if above[low, middle] and above[middle, high]:
                        good &= ~(sets[:, low] & sets[:, high]) | sets[:, middle]
    return good


NEVER = math.inf


def term(problem: Problem, label: int, counts: np.ndarray, n_tasks: np.ndarray) -> np.ndarray:
    """Ψ of one label for many sets."""
    objective, n_labels = problem.objective, problem.buckets.n_labels
    counts = counts + np.broadcast_to(objective.offset(label), counts.shape[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = counts * np.log(counts / counts.sum(axis=2, keepdims=True))
        value = np.where(counts > 0, parts, 0.0).sum(axis=(1, 2))
        if objective.kind == "estimated":
            known = [objective.offset_tasks(j) for j in range(n_labels)]
            n = n_tasks + known[label]
            return value + np.where(n > 0, n * np.log(n / (problem.buckets.n_tasks + sum(known))), 0.0)
        share = np.log(objective.shares[label]) if objective.shares else 0.0
        return value + np.where(n_tasks > 0, n_tasks * share, 0.0)


def leaves(witness: dict) -> list[dict]:
    if "children" not in witness:
        return [witness]
    return [leaf for child in witness["children"].values() for leaf in leaves(child)]
