"""Best chains through nested up-sets: what the chain engine computes, by arrays or by compiled loops.

For an up-set U and a label j: ``down[j, U]`` is the best sum of terms of labels j and above when together they
label U; ``up[j, U]`` the best sum of terms of the labels below j when labels j and above label U. Few up-sets are
worked on as one dense matrix of pairs, which needs no compiler; many by the loops of kernels.py, in pieces between
which the clock is looked at.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.objective import CountTable

if TYPE_CHECKING:
    from crowdopt.certificate import Stop
    from crowdopt.problem import Problem
    from crowdopt.solve.engine import Limits
    from crowdopt.types import Floats, Ints
    from crowdopt.upsets import UpSets

MAX_DENSE = 1_000
"""Up-sets up to which all pairs are held in one matrix."""

MAX_TABLE = 20_000_000
"""Responses up to which logarithms are looked up in a table."""

MAX_PAIRS_FOR_MARGINS = 60_000_000
"""Pairs of nested up-sets up to which a second pass for exact margins is made."""

_PIECE = 20_000_000
"""Pairs that compiled loops look at between two looks at the clock."""


class Paths:
    """The best chains of a problem; ``run`` fills ``down``, ``up`` and ``with_label``.

    Attributes:
        with_label: Best log-likelihood of a mapping that gives bucket x (row) label j (column); None until asked for.
        stopped: Why the margins were given up, if they were.
        error: How far a value may be from the true one because logarithms were looked up.
        work: Pairs of nested up-sets evaluated.
    """

    def __init__(self, problem: Problem, sets: UpSets, limits: Limits) -> None:
        self.problem, self.sets, self.limits = problem, sets, limits
        buckets = problem.buckets
        self.responses, self.tasks = sets.sums(buckets)
        self.table = None
        if buckets.n_responses <= MAX_TABLE:
            self.table = CountTable(buckets.n_responses, buckets.n_classes * (buckets.n_labels + 1))
        self.error = buckets.n_labels * self.table.error if self.table else 0.0
        self.work = 0
        self.down = np.full((buckets.n_labels, len(sets)), -np.inf)
        self.up = np.full((buckets.n_labels, len(sets)), -np.inf)
        self.with_label: Floats | None = None
        self.stopped: Stop | None = None

    @property
    def best(self) -> float:
        """The optimum, once ``run`` is through."""
        return float(self.down[0, -1])

    def term(self, label: int, inner: Ints, outer: int) -> Floats:
        """Ψ of a label for up-set ``outer`` without each of ``inner``."""
        return self._level(label, self.responses[outer] - self.responses[inner], self.tasks[outer] - self.tasks[inner])

    def run(self) -> Stop | None:
        """Computes everything; returns why it stopped early, or None."""
        top = self.problem.buckets.n_labels - 1
        self.down[top] = self._level(top, self.responses, self.tasks)
        self.up[0, -1] = 0.0
        if len(self.sets) <= MAX_DENSE or self.table is None:
            self._run_dense()
            return None
        return self._run_compiled()

    def _level(self, label: int, responses: Ints, tasks: Ints) -> Floats:
        return self.problem.objective.level(label, responses, tasks, self.problem.buckets.n_tasks, self.table)

    def _run_dense(self) -> None:
        terms = self._dense_terms()
        last = len(terms) - 1
        for label in range(last, -1, -1):
            self.down[label] = (terms[label] + self.down[label + 1]).max(axis=1)
        for label in range(last + 1):
            self.up[label + 1] = (terms[label] + self.up[label][:, None]).max(axis=0)
        best = np.empty((self.problem.buckets.n_buckets, last + 2))
        for bucket in range(len(best)):
            holds = self.sets.members[:, bucket]
            for label, term in enumerate(terms):
                reach = term[np.ix_(holds, ~holds)] + self.down[label + 1, ~holds]
                best[bucket, label] = (reach.max(axis=1) + self.up[label, holds]).max()
            best[bucket, -1] = (self.down[-1] + self.up[-1])[holds].max()
        self.with_label = best

    def _dense_terms(self) -> list[Floats]:
        """For every label but the highest: Ψ of (up-set a) without (up-set b), -inf unless b lies inside a."""
        n = len(self.sets)
        a, b = np.nonzero(self.sets.inside(slice(0, n), n))
        responses, tasks = self.responses[a] - self.responses[b], self.tasks[a] - self.tasks[b]
        n_terms = self.problem.buckets.n_labels - 1
        terms: list[Floats] = []
        for label in range(n_terms):
            if label and self.problem.objective.interchangeable:
                terms.append(terms[0])
                continue
            matrix = np.full((n, n), -np.inf)
            matrix[a, b] = self._level(label, responses, tasks)
            self.work += len(a)
            terms.append(matrix)
        return terms

    def _run_compiled(self) -> Stop | None:
        from crowdopt.solve import kernels

        if self.table is None:
            raise TypeError("compiled loops look logarithms up")
        words, flat = self.sets.words(), self.responses.reshape(len(self.sets), self.problem.buckets.n_classes, -1)
        shares = self.problem.objective.share_table(self.problem.buckets.n_labels, self.problem.buckets.n_tasks)
        common = (words, flat, self.tasks, self.table.values, shares)
        bound, n = self.problem.plain_bound, len(self.sets)
        for start, stop in _pieces(n):
            self.work += kernels.descend(*common, self.down, start, stop)
            if (why := self.limits.reached(-np.inf, bound, self.work)) is not None:
                return why
        if self.work > MAX_PAIRS_FOR_MARGINS:
            return None
        best = np.full((self.problem.buckets.n_buckets, self.problem.buckets.n_labels), -np.inf)
        for start, stop in reversed(_pieces(n)):
            self.work += kernels.ascend(*common, self.down, self.up, best, start, stop)
            self.stopped = self.limits.reached(self.best, bound, self.work)
            if self.stopped is not None:
                return None  # the optimum is known; only exact margins are not
        kernels.top_level(words, self.down[-1] + self.up[-1], best)
        self.with_label = best
        return None


def _pieces(n: int) -> list[tuple[int, int]]:
    """Ranges of up-sets with about _PIECE pairs each."""
    edges = [0]
    while edges[-1] < n:
        edges.append(min(n, int(np.sqrt(edges[-1] ** 2 + 2 * _PIECE)) + 1))
    return list(pairwise(edges))


def other_labels(with_label: Floats, mapping: Ints) -> Floats:
    """For each bucket the best log-likelihood of a mapping that gives it another label."""
    rest = with_label.copy()
    rest[np.arange(len(mapping)), mapping] = -np.inf
    best: Floats = rest.max(axis=1)
    return best
