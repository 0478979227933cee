"""Rating: the likeliest mapping of ordered labels that respects the order, by a longest path over nested up-sets.

Maximises the log-likelihood over dominance-consistent mappings. Such a mapping is a chain of nested up-sets, and F is
a sum over its steps (docs/theory.md, Fact 4). With Ψ_j the term of label j, labels counted from 0 to R - 1,

    V_R-1(U) = Ψ_R-1(U),    V_j(U) = max over up-sets U' ⊆ U of V_j+1(U') + Ψ_j(U without U'),

and the optimum is V_0 of all buckets. Exact for every order, for equal and varying numbers of responses, and for every
objective. Cost: one term per pair of nested up-sets (per label, where labels have terms of their own), against one
likelihood per mapping for an enumeration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.certificate import Space, Stop
from crowdopt.margins import Margins, closure_moves
from crowdopt.order import Order
from crowdopt.solve.engine import Limits, Outcome
from crowdopt.solve.paths import MAX_DENSE, MAX_TABLE, Paths, other_labels
from crowdopt.solve.ties import choose
from crowdopt.upsets import TooManyUpSets, UpSets

if TYPE_CHECKING:
    from crowdopt.problem import Problem
    from crowdopt.types import Bools, Ints

MAX_UP_SETS = 40_000
"""More are not listed: the pairs grow with their square."""

MAX_TIED = 1_000
"""Optimal mappings that the tie rule compares: of more, the first that the search meets, always the same."""


def fits(problem: Problem) -> bool:
    """Whether the problem has few enough up-sets for this engine."""
    try:
        _up_sets(problem)
    except TooManyUpSets:
        return False
    return True


def _up_sets(problem: Problem) -> UpSets:
    """All up-sets; as many as one matrix of pairs can hold where there are too many responses for a table."""
    limit = MAX_UP_SETS if problem.buckets.n_responses <= MAX_TABLE else min(MAX_DENSE, MAX_UP_SETS)
    return UpSets.of(Order.of(problem.buckets.counts), limit)


def chain(problem: Problem, limits: Limits) -> Outcome:
    """The optimum over dominance-consistent mappings, or a bound when the limits are reached first."""
    paths = Paths(problem, _up_sets(problem), limits)
    stop = limits.reached(-np.inf, problem.plain_bound, 0) or paths.run()
    if stop is not None:
        return _unfinished(problem, paths.work, stop)
    # Looked-up logarithms are off by at most their error, so the true optimum is among these, evaluated anew.
    near = _near_best(paths, paths.best - problem.tolerance(paths.best) - 2 * paths.error)
    best = max(problem.objective.of_mapping(problem.buckets, mapping) for mapping in near)
    at_least = best - problem.tolerance(best)
    mapping = choose(problem, near, at_least)
    value = problem.objective.of_mapping(problem.buckets, mapping)
    bound = best if len(near) < MAX_TIED else max(best, paths.best + paths.error)
    if paths.with_label is None:
        margins = closure_moves(problem, mapping)
    else:
        loss = np.maximum(value - other_labels(paths.with_label, mapping), 0.0)
        margins = Margins(loss, "exact", _tied(problem, near, mapping, at_least))
    # The clock may have stopped the margins, not the proof: the certificate then says both.
    return Outcome(mapping, value, bound, Space.DOMINANCE, paths.work, paths.stopped or Stop.FINISHED, margins)


def _tied(problem: Problem, near: list[Ints], mapping: Ints, at_least: float) -> Bools:
    """Which buckets an equally good mapping of equal agreement labels otherwise."""
    buckets, objective = problem.buckets, problem.objective
    least = buckets.agreement(mapping)
    ties = [
        other
        for other in near
        if objective.of_mapping(buckets, other) >= at_least and buckets.agreement(other) >= least
    ]
    return np.asarray((np.array(ties) != mapping).any(axis=0))


def _near_best(paths: Paths, at_least: float) -> list[Ints]:
    """The mappings of chains that reach ``at_least``: MAX_TIED of them at most, the same ones every time."""
    buckets, sets = paths.problem.buckets, paths.sets
    found: list[Ints] = []
    stack = [(0, len(sets) - 1, 0.0, np.zeros(buckets.n_buckets, np.int64))]
    while stack and len(found) < MAX_TIED:
        label, at, so_far, mapping = stack.pop()
        if label == buckets.n_labels - 1:
            found.append(mapping)
            continue
        inside = sets.inside(slice(at, at + 1), at + 1)[0].nonzero()[0]
        term = paths.term(label, inside, at)
        good = so_far + term + paths.down[label + 1, inside] >= at_least
        stack += [
            (label + 1, int(b), so_far + float(t), mapping + sets.members[b])
            for b, t in zip(inside[good], term[good], strict=True)
        ]
    return found


def _unfinished(problem: Problem, work: int, stop: Stop) -> Outcome:
    """All buckets under one label respects any order; the bound is the one that always holds."""
    buckets = problem.buckets
    candidates = [np.full(buckets.n_buckets, label, np.int64) for label in range(buckets.n_labels)]
    mapping = max(candidates, key=lambda candidate: problem.objective.of_mapping(buckets, candidate))
    value = problem.objective.of_mapping(buckets, mapping)
    margins = closure_moves(problem, mapping)
    return Outcome(mapping, value, max(problem.plain_bound, value), Space.DOMINANCE, work, stop, margins)
