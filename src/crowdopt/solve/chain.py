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
from crowdopt.objective import CountTable
from crowdopt.order import Order
from crowdopt.solve.engine import Limits, Outcome
from crowdopt.solve.ties import choose
from crowdopt.upsets import TooManyUpSets, UpSets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.problem import Problem
    from crowdopt.types import Bools, Floats, Ints

MAX_UP_SETS = 12_000
"""More are not listed: the pairs grow with their square."""

MAX_TIED_PATHS = 1_000
"""Optimal mappings that the tie rule compares."""

MAX_MARGIN_WORK = 300_000_000
"""Comparisons that exact margins may take; beyond that the margins are upper bounds."""

MAX_TABLE = 5_000_000
"""Responses up to which logarithms are looked up in a table."""

_BLOCK = 1 << 20
"""Pairs worked on at once: bounds memory."""


def fits(problem: Problem) -> bool:
    """Whether the problem has few enough up-sets for this engine."""
    try:
        UpSets.of(Order.of(problem.buckets.counts), MAX_UP_SETS)
    except TooManyUpSets:
        return False
    return True


def chain(problem: Problem, limits: Limits) -> Outcome:
    """The optimum over dominance-consistent mappings, or the best bound there is when the limits are reached."""
    paths = Paths(problem, limits)
    stop = paths.run_down()
    if stop is not None:
        return _unfinished(problem, paths.work, stop)
    best = float(paths.down[0, -1])
    slack = problem.tolerance(best) + 2 * paths.error
    mapping = choose(problem, paths.near(best - slack), best - slack)
    value = problem.objective.of_mapping(problem.buckets, mapping)
    bound = max(value, best + paths.error)
    if bound - value <= problem.tolerance(value):
        bound = max(value, best)  # the table's rounding is within the tolerance, which says so already
    margins = paths.margins(mapping, value)
    return Outcome(mapping, value, bound, Space.DOMINANCE, paths.work, margins=margins)


def _unfinished(problem: Problem, work: int, stop: Stop) -> Outcome:
    """All buckets under one label respects any order; the bound is the one that always holds."""
    buckets = problem.buckets
    candidates = [np.full(buckets.n_buckets, label, np.int64) for label in range(buckets.n_labels)]
    mapping = max(candidates, key=lambda candidate: problem.objective.of_mapping(buckets, candidate))
    value = problem.objective.of_mapping(buckets, mapping)
    margins = closure_moves(problem, mapping)
    return Outcome(mapping, value, max(problem.plain_bound, value), Space.DOMINANCE, work, stop, margins)


class Paths:
    """Best chains of nested up-sets, from below and from above.

    ``down[j, a]``: best sum of terms of labels j and above when together they label up-set a. ``up[j, a]``: best sum
    of terms of the labels below j when labels j and above label up-set a.
    """

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        buckets = problem.buckets
        self.sets = UpSets.of(Order.of(buckets.counts), MAX_UP_SETS)
        self.responses, self.tasks = self.sets.sums(buckets)
        self.table = None
        if buckets.n_responses <= MAX_TABLE:
            self.table = CountTable(buckets.n_responses, buckets.n_classes * (buckets.n_labels + 1))
        self.error = buckets.n_labels * self.table.error if self.table else 0.0
        self.same_terms = problem.objective.interchangeable
        self.work = 0
        self.down = np.full((buckets.n_labels, len(self.sets)), -np.inf)
        self.up = np.full((buckets.n_labels, len(self.sets)), -np.inf)

    def blocks(self) -> Iterator[slice]:
        """Rows of up-sets, smallest first, such that a block of pairs fits into memory."""
        start = 0
        while start < len(self.sets):
            rows = max(1, _BLOCK // len(self.sets))
            yield slice(start, min(start + rows, len(self.sets)))
            start += rows

    def terms(self, rows: slice) -> Iterator[tuple[int, Floats]]:
        """For labels from the second highest down: Ψ of (up-set a of rows) without (up-set b), -inf unless b ⊆ a."""
        upto = rows.stop
        nested = self.sets.inside(rows, upto)
        a, b = np.nonzero(nested)
        difference = self.responses[rows][a] - self.responses[b]
        tasks = self.tasks[rows][a] - self.tasks[b]
        matrix = np.full(nested.shape, -np.inf)
        for label in range(self.problem.buckets.n_labels - 2, -1, -1):
            if label == self.problem.buckets.n_labels - 2 or not self.same_terms:
                matrix[a, b] = self._level(label, difference, tasks)
                self.work += len(a)
            yield label, matrix

    def _level(self, label: int, responses: Ints, tasks: Ints) -> Floats:
        return self.problem.objective.level(label, responses, tasks, self.problem.buckets.n_tasks, self.table)

    def run_down(self) -> Stop | None:
        """Fills ``down``; returns why it stopped, or None if it is complete."""
        top = self.problem.buckets.n_labels - 1
        self.down[top] = self._level(top, self.responses, self.tasks)
        bound = self.problem.plain_bound
        for rows in self.blocks():
            for label, term in self.terms(rows):
                self.down[label, rows] = (term + self.down[label + 1, : rows.stop]).max(axis=1)
            if (stop := self.limits.reached(-np.inf, bound, self.work)) is not None:
                return stop
        return None

    def run_up(self) -> None:
        """Fills ``up``, from all buckets to the empty set."""
        self.up[0, -1] = 0.0
        for rows in reversed(list(self.blocks())):
            for label, term in reversed([(label, term.copy()) for label, term in self.terms(rows)]):
                reach = term + self.up[label, rows][:, None]
                np.maximum(self.up[label + 1, : rows.stop], reach.max(axis=0), out=self.up[label + 1, : rows.stop])

    def near(self, at_least: float) -> list[Ints]:
        """The mappings of paths that reach ``at_least``, up to MAX_TIED_PATHS of them."""
        found: list[Ints] = []
        n_labels = self.problem.buckets.n_labels
        stack = [(0, len(self.sets) - 1, 0.0, np.zeros(self.problem.buckets.n_buckets, np.int64))]
        while stack and len(found) < MAX_TIED_PATHS:
            label, at, so_far, mapping = stack.pop()
            if label == n_labels - 1:
                found.append(mapping)
                continue
            inside = self.sets.inside(slice(at, at + 1), at + 1)[0].nonzero()[0]
            term = self._level(label, self.responses[at] - self.responses[inside], self.tasks[at] - self.tasks[inside])
            good = so_far + term + self.down[label + 1, inside] >= at_least
            stack += [
                (label + 1, int(b), so_far + float(t), mapping + self.sets.members[b])
                for b, t in zip(inside[good], term[good], strict=True)
            ]
        return found

    def margins(self, mapping: Ints, value: float) -> Margins:
        """For each bucket the loss of the best mapping that gives it another label; exact where that is cheap."""
        n_labels, n_buckets = self.problem.buckets.n_labels, self.problem.buckets.n_buckets
        if len(self.sets) ** 2 * n_buckets * n_labels > MAX_MARGIN_WORK:
            return closure_moves(self.problem, mapping)
        self.run_up()
        best = np.full((n_buckets, n_labels), -np.inf)
        best[:, n_labels - 1] = _best_where(self.sets.members, self.down[-1] + self.up[-1])
        for rows in self.blocks():
            for label, term in self.terms(rows):
                whole = term + self.down[label + 1, : rows.stop] + self.up[label, rows][:, None]
                for bucket in range(n_buckets):
                    holds, lacks = self.sets.members[rows, bucket], ~self.sets.members[: rows.stop, bucket]
                    if holds.any():
                        best[bucket, label] = max(best[bucket, label], whole[holds][:, lacks].max(initial=-np.inf))
        best[np.arange(n_buckets), mapping] = -np.inf
        other = best.max(axis=1)
        tied = other >= value - self.problem.tolerance(value) - 2 * self.error
        return Margins(np.maximum(value - other, 0.0), "exact", tied)


def _best_where(members: Bools, values: Floats) -> Floats:
    """For each bucket the best value among the up-sets that hold it."""
    return np.where(members, values[:, None], -np.inf).max(axis=0)
