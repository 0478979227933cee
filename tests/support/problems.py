"""Random problems that brute force can try, with the same objective in the oracle's words."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from crowdopt.engines.base import certify
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from support import oracle

MOST_TASKS = {2: 8, 3: 7, 4: 5, 5: 5}


PLAIN_KINDS = ["none", "estimate", "given", "uniform", "forbidden"]


KINDS = [*PLAIN_KINDS, "gold", "prior", "smoothing", "gold and estimate", "prior and given"]


def random_tasks(rng: np.random.Generator, n_labels: int, *, equal: bool) -> np.ndarray:
    """A few tasks with few responses: small enough to enumerate, and full of ties."""
    n_tasks = int(rng.integers(1, MOST_TASKS[n_labels] + 1))
    size = np.full(n_tasks, rng.integers(1, 5)) if equal else rng.integers(1, 6, n_tasks)
    noise = rng.choice([0.2, 0.5, 1.0])
    matrix = (1 - noise) * np.eye(n_labels) + noise / n_labels
    truth = rng.integers(n_labels, size=n_tasks)
    return np.array([rng.multinomial(m, matrix[j]) for m, j in zip(size, truth, strict=True)])


def random_objective(rng: np.random.Generator, kind: str, n_labels: int, n_classes: int = 1):
    """An objective, and the same thing in the oracle's words."""
    if kind not in PLAIN_KINDS:
        return _with_offsets(rng, kind, n_labels, n_classes)
    if kind == "none":
        return Objective(), None
    if kind == "estimate":
        return Objective("estimated"), "estimate"
    if kind == "uniform":
        shares = np.full(n_labels, 1 / n_labels)
    else:
        weight = rng.integers(1, 9, n_labels).astype(float)
        if kind == "forbidden":
            weight[rng.permutation(n_labels)[: rng.integers(1, n_labels)]] = 0
        shares = weight / weight.sum()
    return Objective("given", tuple(shares.tolist())), shares.tolist()


def _with_offsets(rng: np.random.Generator, kind: str, n_labels: int, n_classes: int):
    """Gold tasks that may contradict the order, priors with zeros and fractions, smoothing."""
    plain = {"gold and estimate": "estimate", "prior and given": "given"}.get(kind, "none")
    objective, shares = random_objective(rng, plain, n_labels)
    shape = (n_labels, n_classes, n_labels)
    gold, gold_tasks, prior, smoothing = np.zeros(shape, np.int64), np.zeros(n_labels, np.int64), None, 0.0
    if "gold" in kind:
        gold, gold_tasks = rng.integers(0, 6, shape), rng.integers(0, 3, n_labels)
        gold[gold_tasks == 0] = 0
    if "prior" in kind:
        prior = np.where(rng.random(shape) < 0.3, 0.0, rng.exponential(4.0, shape))
        prior[rng.random(n_labels) < 0.2] = 0.0
    if "smoothing" in kind or rng.random() < 0.2:
        smoothing = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
    offsets = Offsets(gold, gold_tasks, prior, smoothing)
    known = gold + (0.0 if prior is None else prior) + smoothing
    return replace(objective, offsets=offsets), oracle.Added(shares, known, gold_tasks)


def oracle_ties(tasks: np.ndarray, optima: np.ndarray, objective: Objective) -> np.ndarray:
    """The optima that no agreement tells apart."""
    agreement = np.take_along_axis(tasks[None], optima[:, :, None], axis=2).sum(axis=(1, 2))
    return optima[agreement == agreement.max()]


def oracle_choice(tasks: np.ndarray, optima: np.ndarray, objective: Objective) -> list[int]:
    """The optimum that the tie rule picks: agreement, then the smallest over the sorted buckets."""
    by_counts = sorted(range(len(tasks)), key=lambda task: tasks[task].tolist())
    return min(oracle_ties(tasks, optima, objective).tolist(), key=lambda mapping: [mapping[t] for t in by_counts])


MOST_CLASSED_TASKS = {2: 7, 3: 5}
"""Tasks of problems that brute force can try, by the number of labels."""


def random_classed_tasks(rng: np.random.Generator, n_classes: int, n_labels: int, *, equal: bool) -> np.ndarray:
    """Counts (task, class, label) of crowds of any skill; where numbers vary, a class may not answer a task at all."""
    n_tasks = int(rng.integers(2, MOST_CLASSED_TASKS[n_labels] + 1))
    sizes = np.broadcast_to(rng.integers(1, 3, n_classes), (n_tasks, n_classes))
    if not equal:
        sizes = rng.integers(0, 4, (n_tasks, n_classes))
        sizes[sizes.sum(axis=1) == 0, 0] = 1
    matrix = rng.dirichlet(np.full(n_labels, 0.7), (n_classes, n_labels)) + np.eye(n_labels)
    truth = rng.integers(n_labels, size=n_tasks)
    answers = [rng.multinomial(sizes[:, k], matrix[k, truth] / 2) for k in range(n_classes)]
    return np.stack(answers, axis=1)


def certificate_of(problem, outcome):
    return certify(problem, outcome, engine="columns", seconds=0.0, fingerprint="")


def gain_by_sequences(posterior, matrix, n):
    """The expected increase of the largest probability: Bayes' rule along every sequence of n answers."""
    expected = 0.0
    for answers in itertools.product(range(len(posterior)), repeat=n):
        joint = np.array(posterior, dtype=float)
        for answer in answers:
            joint = joint * matrix[:, answer]
        if joint.sum() > 0:
            expected += joint.sum() * (joint / joint.sum()).max()
    return expected - max(posterior)
