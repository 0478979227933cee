"""Problems of extreme numbers, each with its likelihoods to sixty digits (precise.py)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.data.counts import Totals
from crowdopt.data.reading import Reading
from crowdopt.data.worker_classes import WorkerClass
from crowdopt.engines.base import Limits
from crowdopt.engines.registry import run
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from crowdopt.model.scale import Scale
from crowdopt.results.solution_proof import ProofSolution
from crowdopt.verify.check import check_against
from support.precise import Exact

if TYPE_CHECKING:
    from crowdopt import Solution
    from crowdopt.verify.verdict import Verification

TRILLION = 10**12


@dataclass(frozen=True, eq=False)
class Extreme:
    """A problem for the engines, and the same in exact numbers."""

    problem: Problem
    exact: Exact

    def solve(self, engine: str = "auto") -> Solution:
        """What an engine says, as if it had been read from a table."""
        problem, buckets = self.problem, self.problem.buckets
        names = tuple(str(label) for label in range(buckets.n_labels))
        classes = tuple(WorkerClass(f"c{k}", 1) for k in range(buckets.n_classes)) if buckets.n_classes > 1 else ()
        class_names = [one.name for one in classes]
        found = run(problem, Limits(60.0), labels=names, classes=class_names, engine=engine)
        return ProofSolution(
            scale=Scale.of(names, names),
            buckets=buckets,
            mapping=found.mapping,
            margins=found.margins,
            objective=problem.objective,
            certificate=found.certificate,
            totals=Totals(buckets.n_tasks, 0, 0, 1, buckets.n_responses, 0),
            reading=Reading(labels=names),
            classes=classes,
        )

    def verify(self, solution: Solution, time_limit: float = 60.0) -> Verification:
        """What ``verify`` says, once the data are counted."""
        offsets = self.problem.objective.offsets
        gold = SimpleNamespace(responses=offsets.gold_responses, tasks=offsets.gold_tasks) if offsets else None
        counted = (solution.scale, self.problem.buckets, solution.totals, gold, solution.classes)
        return check_against(solution, *counted, time_limit=time_limit)


def extreme(counts, weights, *, space="dominance", kind="none", shares=(), offsets: Offsets | None = None) -> Extreme:
    """A problem in both forms."""
    buckets, _ = Buckets.from_arrays(counts, weights)
    problem = Problem(buckets, Space(space), Objective(kind, tuple(shares), offsets))
    told = {"none": None, "estimated": "estimate", "given": tuple(shares)}[kind]
    known = None if offsets is None else _fractions(offsets)
    tasks = None if offsets is None else tuple(int(n) for n in offsets.gold_tasks)
    return Extreme(problem, Exact(buckets.counts, buckets.weights, told, known, tasks))


def _fractions(offsets: Offsets) -> list[list[list[Fraction]]]:
    """Gold, prior and smoothing, added up without rounding."""
    prior = np.zeros(offsets.gold_responses.shape) if offsets.prior is None else offsets.prior
    return [
        [
            [Fraction(n) + Fraction(p) + Fraction(offsets.smoothing) for n, p in zip(*rows, strict=True)]
            for rows in zip(*of_label, strict=True)
        ]
        for of_label in zip(offsets.gold_responses.tolist(), prior.tolist(), strict=True)
    ]


def draw(rng: np.random.Generator) -> Extreme:
    """A few buckets of up to 10¹² tasks each, of every kind of objective, with empty and one-sided columns."""
    n_labels, n_classes = int(rng.choice([2, 2, 3])), int(rng.choice([1, 1, 1, 2]))
    shape = (int(rng.integers(2, 7 if n_labels == 2 else 6)), n_classes, n_labels)
    counts = rng.integers(0, int(rng.choice([2, 5, 30, 1000])), shape, endpoint=True)
    if rng.random() < 0.3:
        counts[..., int(rng.integers(n_labels))] = 0
    if rng.random() < 0.3:
        counts[..., -1] *= 500
    counts[:, 0, 0] += counts.sum(axis=(1, 2)) == 0
    weights = np.floor(10 ** rng.uniform(0, 12, shape[0])).astype(np.int64)
    if rng.random() < 0.3:
        weights[:] = TRILLION
    kind = str(rng.choice(["none", "estimated", "given"]))
    shares = _shares(rng, n_labels) if kind == "given" else ()
    space = str(rng.choice(["dominance", "all"]))
    return extreme(counts, weights, space=space, kind=kind, shares=shares, offsets=_offsets(rng, n_labels, n_classes))


def _shares(rng: np.random.Generator, n_labels: int) -> tuple[float, ...]:
    rest = n_labels - 1
    choices = [
        rng.dirichlet(np.ones(n_labels)).tolist(),
        [1.0] + [0.0] * rest,
        [1 - 1e-12] + [1e-12 / rest] * rest,
        [1.0] + [1e-300] * rest,
    ]
    return tuple(choices[int(rng.integers(len(choices)))])


def _offsets(rng: np.random.Generator, n_labels: int, n_classes: int) -> Offsets | None:
    """Gold of up to 10⁸ responses, pseudo-counts from 10⁻¹⁰⁰ to 10¹² with noughts among them, smoothing; or nothing."""
    shape, gold, prior = (n_labels, n_classes, n_labels), None, None
    if rng.random() < 0.3:
        gold = rng.integers(0, 10 ** int(rng.integers(1, 9)), shape), rng.integers(0, 10**6, n_labels)
    if rng.random() < 0.3:
        prior = 10 ** rng.uniform(float(rng.choice([-100, -3])), 12, shape)
        prior[rng.random(shape) < 0.3] = 0
    smoothing = float(rng.choice([0, 0, 0.5, 1, 1e-100, 1 / 3, 1e12]))
    return Offsets.of(n_labels, n_classes, gold=gold, prior=prior, smoothing=smoothing)
