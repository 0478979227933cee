"""Filtering: the likeliest mapping of two labels, found by scanning cuts.

Maximises the log-likelihood over dominance-consistent mappings, or over all mappings. By docs/theory.md
(Fact 2) an optimum over all mappings is cut out by a line a·yes + b·no + c = 0 in the plane of counts. The
rows of a response matrix sum to one, so a and b have opposite signs: the line *rises*, and one side of it,
in one of the two directions, is the higher label. Without a selectivity term c = 0: the line is a threshold
on the share of yes. With equal numbers of responses the two coincide. The other direction has to be tried only if
something tells the labels apart: given shares that differ, or offsets that do. Hence (Fact 3), for one worker class:

===========================  ===================================  =========================================
what was added               equal numbers of responses           numbers that vary
===========================  ===================================  =========================================
nothing, or the same to all  rising thresholds: best of all       rising thresholds: best of all
estimated shares             rising thresholds: best of all       rising lines: best of all
labels told apart, all       thresholds both ways                 lines both ways (thresholds if c = 0)
labels told apart,           rising thresholds are the whole      rising ones, bounded by those both ways:
dominance                    space                                the chain engine can do better
===========================  ===================================  =========================================

Cost: O(B log B) for thresholds; O(B² log B) for lines, B being the number of buckets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.engines.base import Engine, Limits, Outcome
from crowdopt.engines.local_search import search as local_search
from crowdopt.engines.scan_lines import Search, best_lines
from crowdopt.engines.tie_breaking import choose
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.margins import Margins, single_moves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.problem import Problem

LARGEST_COUNT_FOR_LINES = 2**25
"""Slopes between buckets with smaller counts are told apart exactly in double precision."""


def in_plane(problem: Problem) -> bool:
    """Whether counts are points of a plane, which the scan can cut."""
    return problem.buckets.n_labels == 2 and problem.buckets.n_classes == 1


def proves(problem: Problem) -> bool:
    """Whether the scan finds the optimum of the space: all but the last cell of the module's table."""
    if not in_plane(problem):
        return False
    told_apart = not problem.objective.interchangeable
    return not told_apart or problem.space is Space.ALL or problem.buckets.equal_sizes


def scan(problem: Problem, limits: Limits) -> Outcome:
    """The optimum for two labels and one class; see the module's table for what is proved where."""
    cuts = Cuts(problem)
    if problem.objective.kind == "none" or problem.buckets.equal_sizes:
        return _by_thresholds(problem, cuts)
    return _by_lines(problem, cuts, limits)


class Cuts:
    """All threshold mappings: cut c gives the higher label to the buckets of rank c and above.

    Buckets of equal share of yes have one rank and go together. ``values`` are the log-likelihoods of cuts
    0..G (G ranks), ``upside_down`` those with the two labels exchanged, ``agreement`` the responses that
    equal the given label.
    """

    def __init__(self, problem: Problem) -> None:
        self.buckets = buckets = problem.buckets
        self.objective = problem.objective
        self.rank = rank_by_share(buckets)
        n_ranks = int(self.rank.max()) + 1
        responses = np.zeros((n_ranks + 1, 1, 2), np.int64)
        tasks = np.zeros(n_ranks + 1, np.int64)
        np.add.at(responses, self.rank + 1, buckets.responses)
        np.add.at(tasks, self.rank + 1, buckets.weights)
        below, tasks_below = responses.cumsum(axis=0), tasks.cumsum()
        self.sides = np.stack([below, below[-1] - below], axis=1)
        self.tasks = np.stack([tasks_below, tasks_below[-1] - tasks_below], axis=1)
        self.values = problem.objective.total(self.sides, self.tasks)
        self.agreement = self.sides[:, 0, 0, 0] + self.sides[:, 1, 0, 1]

    @cached_property
    def upside_down(self) -> Floats:
        """Log-likelihoods of the same cuts with the lower label above the cut."""
        return self.objective.total(self.sides[:, ::-1], self.tasks[:, ::-1])

    def mapping(self, cut: int) -> Ints:
        """The mapping of a cut."""
        return (self.rank >= cut).astype(np.int64)

    def best(self, tolerance: float) -> int:
        """The best cut by the tie rule: agreement, then the smallest mapping, which is the largest cut."""
        candidates = np.flatnonzero(self.values >= self.values.max() - tolerance)
        candidates = candidates[self.agreement[candidates] == self.agreement[candidates].max()]
        return int(candidates[-1])

    def margins(self, mapping: Ints, value: float, tolerance: float, *, rising: bool = True) -> Margins:
        """Per bucket the loss of the best cut that gives it another label than ``mapping``, and whether it ties.

        The label above the cut reaches rank r by a cut of at most r, the other one by a cut above r: prefix and
        suffix maxima over the cuts. A tie is as likely as the best there is, and agrees with as many responses.
        """
        values = self.values if rising else self.upside_down
        agreement = self.agreement if rising else self.buckets.n_responses - self.agreement
        ties = (values >= max(value, float(values.max())) - tolerance) & (agreement >= self.buckets.agreement(mapping))
        at_most, above = _either_side(np.maximum, values)
        tie_at_most, tie_above = _either_side(np.logical_or, ties)
        other_is_below = (mapping == 1) == rising
        best_other = np.where(other_is_below, above[self.rank], at_most[self.rank])
        tied: Bools = np.where(other_is_below, tie_above[self.rank], tie_at_most[self.rank])
        return Margins(np.maximum(value - best_other, 0.0), "upper", tied)


def _either_side(fold: np.ufunc, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """For every rank, ``values`` of the cuts at most there, and of the cuts above it, folded into one."""
    return fold.accumulate(values)[:-1], fold.accumulate(values[::-1])[::-1][1:]


def _by_thresholds(problem: Problem, cuts: Cuts) -> Outcome:
    objective, buckets = problem.objective, problem.buckets
    tolerance = problem.tolerance(float(cuts.values.max()))
    mapping = cuts.mapping(cuts.best(tolerance))
    bound, work = float(cuts.values.max()), len(cuts.values)
    told_apart = not objective.interchangeable
    both_ways = told_apart and problem.space is Space.ALL
    if both_ways or not proves(problem):
        flipped = cuts.upside_down
        work *= 2
        bound = max(bound, float(flipped.max()))
        if both_ways and flipped.max() > cuts.values.max() - tolerance:
            turned = [1 - cuts.mapping(int(c)) for c in np.flatnonzero(flipped >= flipped.max() - tolerance)]
            mapping = choose(problem, [mapping, *turned], bound - tolerance)
    value = objective.of_mapping(buckets, mapping)
    space = Space.DOMINANCE if told_apart and not both_ways else Space.ALL
    if both_ways or (space is Space.ALL and not buckets.equal_sizes):
        margins = _upper_margins(problem, cuts, mapping, value, both_ways=both_ways)
    else:
        # With equal numbers the cuts are all mappings that respect the order, so their margins are exact there.
        margins = replace(cuts.margins(mapping, value, tolerance), kind="exact" if buckets.equal_sizes else "upper")
    return Outcome(mapping, value, max(bound, value), space, work, margins=margins)


def _by_lines(problem: Problem, cuts: Cuts, limits: Limits) -> Outcome:
    objective, buckets = problem.objective, problem.buckets
    fallback = _bound_without_lines(problem)
    both_ways = not objective.interchangeable
    search = Search(best=float(cuts.values.max()))
    stop: Stop | None = Stop.MEMORY  # counts too large to tell slopes apart: no lines are tried
    if buckets.counts.max() < LARGEST_COUNT_FOR_LINES:
        stop = best_lines(problem, limits, search, fallback, both_ways=both_ways)
    keep_order = both_ways and problem.space is Space.DOMINANCE
    met = search.rising if keep_order else [*search.rising, *search.falling]
    # How many lines were tried depends on the clock, and labels must not.
    found = [cuts.mapping(cuts.best(problem.tolerance(search.best))), *(met if stop is not Stop.TIME else [])]
    if stop is Stop.TIME:
        found.append(local_search(problem, limits).mapping)
    best = max(objective.of_mapping(buckets, mapping) for mapping in found)
    likeliest = max((objective.of_mapping(buckets, mapping) for mapping in met), default=-np.inf)
    tolerance = problem.tolerance(best)
    mapping = choose(problem, found, best - tolerance)
    value = objective.of_mapping(buckets, mapping)
    bound = max(search.best, best) if stop is None else max(fallback, likeliest)
    # One moved bucket may break the order; the best other threshold never does.
    if keep_order:
        margins = cuts.margins(mapping, value, tolerance)
    else:
        margins = _upper_margins(problem, cuts, mapping, value, both_ways=both_ways)
    space = Space.DOMINANCE if keep_order else Space.ALL
    work = search.work + len(cuts.values)
    likelier = likeliest if likeliest > value + tolerance else None
    return Outcome(mapping, value, max(bound, value), space, work, stop or Stop.FINISHED, margins, likelier=likelier)


def _upper_margins(problem: Problem, cuts: Cuts, mapping: Ints, value: float, *, both_ways: bool) -> Margins:
    """The least loss among the mappings at hand: one bucket moved, or a threshold, either way up if both count."""
    tolerance = problem.tolerance(value)
    margins = single_moves(problem, mapping).or_less(cuts.margins(mapping, value, tolerance))
    return margins.or_less(cuts.margins(mapping, value, tolerance, rising=False)) if both_ways else margins


def _bound_without_lines(problem: Problem) -> float:
    """No mapping beats the best one without selectivity by more than its dearest label gives back (nothing)."""
    plain = Cuts(replace(problem, objective=replace(problem.objective, kind="none", shares=())))
    best_share = max(problem.objective.shares, default=1.0)
    best = max(float(plain.values.max()), float(plain.upside_down.max()))
    return best + problem.buckets.n_tasks * float(np.log(best_share))


def rank_by_share(buckets: Buckets) -> Ints:
    """For each bucket the rank of its share of yes among the distinct shares, lowest first, without rounding.

    Correctly rounded quotients never change the order of two shares; they can only make different ones look
    equal. So the quotients sort, and within runs of equal quotients exact fractions decide. Beyond 2^53, where the
    counts themselves are rounded, all is left to the fractions.
    """
    no, yes = buckets.counts[:, 0, 0], buckets.counts[:, 0, 1]
    whole = no + yes
    divisor = np.gcd(yes, whole)
    exact = np.stack([yes // divisor, whole // divisor], axis=1)
    quotient = yes / whole if int(whole.max()) < 2**53 else np.zeros(len(whole))
    order = np.lexsort((exact[:, 1], exact[:, 0], quotient))
    order = _mend_runs(order, quotient, exact)
    changes = (exact[order[1:]] != exact[order[:-1]]).any(axis=1)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.concatenate([[0], np.cumsum(changes)])
    return rank


def _mend_runs(order: Ints, quotient: Floats, exact: Ints) -> Ints:
    """Sorts runs of equal quotients by exact fraction; such runs are rare and short."""
    from fractions import Fraction

    sorted_quotient = quotient[order]
    suspect = (sorted_quotient[1:] == sorted_quotient[:-1]) & (exact[order[1:]] != exact[order[:-1]]).any(axis=1)
    for value in np.unique(sorted_quotient[1:][suspect]):
        run = np.flatnonzero(sorted_quotient == value)
        order[run] = sorted(order[run], key=lambda b: Fraction(int(exact[b, 0]), int(exact[b, 1])))
    return order


def _refuses(problem: Problem) -> str | None:
    """Counts must lie in a plane; one label is answered for it."""
    n_labels, n_classes = problem.buckets.n_labels, problem.buckets.n_classes
    if n_labels == 1 or in_plane(problem):
        return None
    here = f"{n_labels} labels" + (f" and {n_classes} classes" if n_classes > 1 else "")
    return f"is for two labels and one class; here are {here}"


SCAN = Engine("scan", scan, refuses=_refuses)
