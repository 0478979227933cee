"""Random problems for EM, with starts of every kind."""

from __future__ import annotations

import itertools

import numpy as np

from crowdopt.engines.em.hard import em, em1, em2, em3
from crowdopt.engines.em.soft import soft_em_engine
from crowdopt.model.objective import Objective

KINDS = ["none", "estimated", "given", "forbidden"]


ENGINES = [em, em1, em2, em3, soft_em_engine]


def random_objective(rng, kind, n_labels, offsets=None):
    if kind in {"none", "estimated"}:
        return Objective(kind, offsets=offsets)
    shares = rng.dirichlet(np.ones(n_labels))
    if kind == "forbidden":
        shares[rng.integers(n_labels)] = 0
        shares /= shares.sum()
    return Objective("given", tuple(shares.tolist()), offsets)


def random_counts(rng, n_tasks, n_labels, n_classes, *, equal):
    """Tasks of a crowd; some tasks have no response from some class."""
    sizes = rng.integers(1, 5, n_classes) + np.zeros((n_tasks, 1), int)
    if not equal:
        sizes = rng.integers(0, 6, (n_tasks, n_classes))
        sizes[sizes.sum(axis=1) == 0, 0] = 1
    matrix = rng.dirichlet(np.full(n_labels, rng.choice([0.2, 1.0])), (n_classes, n_labels))
    truth = rng.integers(n_labels, size=n_tasks)
    return np.stack([rng.multinomial(sizes[:, k], matrix[k, truth]) for k in range(n_classes)], axis=1)


def rises(trace):
    """Whether a trace never falls by more than rounding."""
    return all(b >= a - 1e-9 * (1 + abs(b)) for a, b in itertools.pairwise(trace))
