"""Rating: the likeliest mapping of ordered labels that respects the order, by a longest path over nested up-sets.

Maximises the log-likelihood over dominance-consistent mappings. Such a mapping is a chain of nested up-sets, and F is
a sum over its steps (docs/theory.md, Fact 4). With Ψ_j the term of label j, labels counted from 0 to R - 1,

    V_R-1(U) = Ψ_R-1(U),    V_j(U) = max over up-sets U' ⊆ U of V_j+1(U') + Ψ_j(U without U'),

and the optimum is V_0 of all buckets. Exact for every order, for equal and varying numbers of responses, and for
every objective. Cost: one term per pair of nested up-sets (per label, where labels have terms of their own),
against one likelihood per mapping for an enumeration; for two labels one per up-set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.base import Engine, Limits, Outcome, needs_order
from crowdopt.engines.chain_paths import Paths, other_labels
from crowdopt.engines.local_search import search, starts
from crowdopt.engines.tie_breaking import choose, renamed
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.margins import Margins, closure_moves
from crowdopt.model.order import TooManyUpSets, TooMuchMemory, UpSets

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Ints
    from crowdopt.model.problem import Problem

MAX_UP_SETS = 40_000
"""More are not listed: the pairs grow with their square."""

MAX_BUCKETS = 4_000
"""More are not compared with each other."""

MAX_WITHOUT_SEARCH = 5_000
"""Up-sets up to which the optimum takes no longer than a search for something close to it."""

MAX_TIED = 1_000
"""Optimal mappings that the tie rule compares: of more, the first that the search meets, always the same."""


def chain(problem: Problem, limits: Limits, most: int | None = None) -> Outcome:
    """The optimum over dominance-consistent mappings; what the search finds, and a bound, where limits come first.

    Args:
        problem: The problem.
        limits: When to stop.
        most: Up-sets that may be listed, where that is fewer than MAX_UP_SETS.

    Raises:
        TooManyUpSets: If there are more than fit.
    """
    sets = list_up_sets(problem, limits, most)
    # A good incumbent also tells those who watch how far it is.
    found = search(problem, limits) if len(sets) > MAX_WITHOUT_SEARCH else None
    if found is not None and found.stop is not Stop.FINISHED:
        return found
    paths = Paths(problem, sets, limits, found.objective if found else -np.inf)
    stop = paths.reached() or paths.run()
    if stop is not None:
        return _unfinished(problem, limits, found, paths.work, stop)
    # Looked-up logarithms are off by at most their error, so the true optimum is among these, evaluated anew.
    near = near_best(paths, paths.best - problem.tolerance(paths.best) - paths.error)
    best = max(problem.objective.of_mapping(problem.buckets, mapping) for mapping in near)
    at_least = best - problem.tolerance(best)
    mapping = choose(problem, near, at_least)
    value = problem.objective.of_mapping(problem.buckets, mapping)
    bound = best if len(near) < MAX_TIED else max(best, paths.best + paths.error)
    # The clock may stop the margins, not the proof: the certificate then says both.
    stop = paths.run_margins()
    if stop is not None:
        return Outcome(
            mapping, value, bound, Space.DOMINANCE, paths.work, stop, margins=closure_moves(problem, mapping)
        )
    loss = np.maximum(value - other_labels(paths.with_label, mapping), 0.0)
    margins = Margins(loss, "exact", _tied(problem, near, mapping, at_least))
    return Outcome(
        mapping, value, bound, Space.DOMINANCE, paths.work, margins=margins, runner_up=_runner_up(paths, mapping)
    )


def list_up_sets(problem: Problem, limits: Limits, most: int | None = None) -> UpSets:
    """All up-sets, if they are few enough for this engine and for the memory it may take.

    Raises:
        TooManyUpSets: If they are not; TooMuchMemory if it is for the memory.
    """
    buckets, most = problem.buckets, min(MAX_UP_SETS, most or MAX_UP_SETS)
    if buckets.n_buckets > MAX_BUCKETS:
        raise TooManyUpSets(most)
    per_set = 2 * buckets.n_buckets + 16 * buckets.counts[0].size + 16 * buckets.n_labels + 128
    fit = limits.fit(most, per_set, part=2)  # the rest is for the pairs and the table of logarithms (chain_paths.py)
    try:
        return UpSets.of(problem.order, fit)
    except TooManyUpSets as reason:
        raise (TooMuchMemory(fit) if fit < most else reason) from None


def near_best(paths: Paths, at_least: float) -> list[Ints]:
    """The mappings of chains that reach ``at_least``: MAX_TIED of them at most, the same ones every time.

    Of more, each also under the names that agree best, as names are what most ties are about.
    """
    problem, sets = paths.problem, paths.sets
    found: list[Ints] = []
    stack = [(0, len(sets) - 1, 0.0, np.zeros(problem.buckets.n_buckets, np.int64))]
    while stack and len(found) < MAX_TIED:
        label, at, so_far, mapping = stack.pop()
        if label == paths.top:
            found.append(mapping)
            continue
        inside = sets.inside(slice(at, at + 1), at + 1)[0].nonzero()[0]
        term = paths.term(label, inside, at)
        good = so_far + term + paths.down[label + 1, inside] >= at_least
        stack += [
            (label + 1, int(b), so_far + float(t), mapping + sets.members[b])
            for b, t in zip(inside[good], term[good], strict=True)
        ]
    if len(found) >= MAX_TIED and problem.objective.interchangeable:
        found += [renamed(problem, mapping) for mapping in found]
    return found


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


def _runner_up(paths: Paths, mapping: Ints) -> Ints | None:
    """The likeliest of all other mappings that respect the order; None if there is none."""
    problem = paths.problem
    second = float(other_labels(paths.with_label, mapping).max())
    if second == -np.inf:
        return None
    slack = problem.tolerance(second) + paths.error
    others = [other for other in near_best(paths, second - slack) if (other != mapping).any()]
    best = max(problem.objective.of_mapping(problem.buckets, other) for other in others)
    return choose(problem, others, best - problem.tolerance(best))


def _unfinished(problem: Problem, limits: Limits, found: Outcome | None, work: int, stop: Stop) -> Outcome:
    """What the search finds, whenever the clock stopped the proof; the bound always holds.

    For someone who asks to stop the best of a few mappings that respect any order must do, if there was no search yet.
    """
    buckets = problem.buckets
    if found is None and stop is not Stop.INTERRUPT:
        found = search(problem, limits)
    if found is not None:
        return Outcome(
            found.mapping, found.objective, found.bound, Space.DOMINANCE, work + found.work, stop, found.margins
        )
    mapping = max(starts(problem, 0), key=lambda candidate: problem.objective.of_mapping(buckets, candidate))
    mapping = renamed(problem, mapping) if problem.objective.interchangeable else mapping
    value = problem.objective.of_mapping(buckets, mapping)
    margins = closure_moves(problem, mapping)
    return Outcome(mapping, value, max(problem.plain_bound, value), Space.DOMINANCE, work, stop, margins)


CHAIN = Engine("chain", chain, refuses=needs_order)
