"""Best chains through nested up-sets: what the chain engine computes, by arrays or by compiled loops.

For an up-set U and a label j: ``down[j, U]`` is the best sum of terms of labels j and above when together they
label U; ``up[j, U]`` the best sum of terms of the labels below j when labels j and above label U. The highest label
takes an up-set as it is and the lowest all the rest, so only the labels between them ask for pairs of up-sets. Few
up-sets are worked on as one list of pairs, which needs no compiler; many by the loops of chain_kernels.py, in pieces
between which the clock is looked at.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.certificate import Stop
from crowdopt.model.objective import CountTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.base import Limits
    from crowdopt.model.order import UpSets
    from crowdopt.model.problem import Problem

MAX_DENSE = 1_000
"""Up-sets up to which all pairs are held in one list."""

MAX_TABLE = 20_000_000
"""Entries of the table in which logarithms are looked up."""

BYTES_PER_ENTRY = 32
"""What an entry of it takes while the table is made."""

MAX_FOR_MARGINS = 150_000_000
"""Pairs of nested up-sets up to which all of them are looked at once more for exact margins."""

_PIECE = 50_000_000
"""Pairs that compiled loops look at between two looks at the clock."""


class Paths:
    """The best chains of a problem; ``run`` fills ``down`` and ``up``, ``run_margins`` fills ``with_label``.

    Attributes:
        with_label: Best log-likelihood of a mapping that gives bucket x (row) label j (column).
        error: How far a value may be from the true one because logarithms were looked up.
        work: Up-sets and pairs of nested up-sets evaluated.
    """

    def __init__(self, problem: Problem, sets: UpSets, limits: Limits, incumbent: float = -np.inf) -> None:
        self.problem, self.sets, self.limits, self.incumbent = problem, sets, limits, incumbent
        buckets, self.top = problem.buckets, problem.buckets.n_labels - 1
        self.responses, self.tasks = sets.sums(buckets)
        self.table = CountTable(problem.objective, buckets, limits.fit(MAX_TABLE, BYTES_PER_ENTRY, part=4))
        self.error = 2 * buckets.n_labels * self.table.error
        self.work = 2 * len(sets)
        self.down = np.full((buckets.n_labels, len(sets)), -np.inf)
        self.up = np.full((buckets.n_labels, len(sets)), -np.inf)
        self.with_label = np.full((buckets.n_buckets, buckets.n_labels), -np.inf)
        self.down[self.top] = self.level(self.top, self.responses, self.tasks)
        self.up[0, -1] = 0.0
        if self.top:
            self.up[1] = self.level(0, self.responses[-1] - self.responses, self.tasks[-1] - self.tasks)

    @property
    def best(self) -> float:
        """The optimum, once ``run`` is through."""
        return float(self.down[0, -1])

    def level(self, label: int, responses: Ints, tasks: Ints) -> Floats:
        """Ψ of a label, looked up where the table holds all counts."""
        table = self.table if self.table.complete else None
        return self.problem.objective.level(label, responses, tasks, self.problem.buckets.n_tasks, table)

    def term(self, label: int, inner: Ints, outer: int) -> Floats:
        """Ψ of a label for up-set ``outer`` without each of ``inner``."""
        return self.level(label, self.responses[outer] - self.responses[inner], self.tasks[outer] - self.tasks[inner])

    def run(self) -> Stop | None:
        """Finds the optimum; returns why it stopped early, or None."""
        stop = None
        if self.top > 1:
            self._middle = _Listed(self) if len(self.sets) <= self._most_listed() else _Compiled(self)
            stop = self._middle.descend()
        if self.top and stop is None:
            self.down[0, -1] = (self.up[1] + self.down[1]).max()
            self.incumbent = self.best
        return stop

    def _most_listed(self) -> int:
        """Up-sets of which all pairs are held in one list: of half of their square at most, with what they answered."""
        per_pair = 12 * self.responses[0].size + 32 + 4 * self.top
        return min(MAX_DENSE, math.isqrt(self.limits.fit(MAX_DENSE**2, per_pair, part=4)))

    def run_margins(self) -> Stop | None:
        """Finds the best chain for every bucket and label; returns why it did not (FINISHED: too many), or None."""
        members = self.sets.members
        if not self.top:
            self.with_label[:] = self.best
            return None
        if self.work > MAX_FOR_MARGINS:
            return Stop.FINISHED
        if self.top > 1 and (stop := self._middle.ascend_and_serve()) is not None:
            return stop
        lowest, highest = self.up[1] + self.down[1], self.up[-1] + self.down[-1]
        for bucket, holds in enumerate(members.T):
            self.with_label[bucket, 0] = lowest[~holds].max()
            self.with_label[bucket, -1] = highest[holds].max()
        return None

    def reached(self) -> Stop | None:
        """Asks the limits."""
        return self.limits.reached(self.incumbent, self.problem.plain_bound, self.work)


class _Listed:
    """All pairs of nested up-sets (a, b), b inside a, as one list sorted by a; terms of each middle label along it."""

    def __init__(self, paths: Paths) -> None:
        self.paths, n = paths, len(paths.sets)
        inside = paths.sets.inside(slice(0, n), n)
        self.a, self.b = np.nonzero(inside)
        self.n_inside, self.n_around = inside.sum(axis=1), inside.sum(axis=0)
        position = np.cumsum(inside.ravel()).reshape(n, n) - 1
        self.by_b = position.T[inside.T]
        responses = paths.responses[self.a] - paths.responses[self.b]
        tasks = paths.tasks[self.a] - paths.tasks[self.b]
        self.terms: list[Floats] = []
        for label in range(1, paths.top):
            if self.terms and paths.problem.objective.interchangeable:
                self.terms.append(self.terms[0])
                continue
            self.terms.append(paths.level(label, responses, tasks))
            paths.work += len(self.a)

    def descend(self) -> None:
        """Fills ``down`` of the middle labels."""
        down, starts = self.paths.down, np.cumsum(self.n_inside) - self.n_inside
        for label in range(self.paths.top - 1, 0, -1):
            down[label] = np.maximum.reduceat(self.terms[label - 1] + down[label + 1, self.b], starts)

    def ascend_and_serve(self) -> None:
        """Fills ``up``, and ``with_label`` of the middle labels."""
        up, down, starts = self.paths.up, self.paths.down, np.cumsum(self.n_around) - self.n_around
        through = []
        for label in range(1, self.paths.top):
            reach = self.terms[label - 1] + up[label, self.a]
            up[label + 1] = np.maximum.reduceat(reach[self.by_b], starts)
            through.append(reach + down[label + 1, self.b])
        for bucket, holds in enumerate(self.paths.sets.members.T):
            between = np.flatnonzero(np.repeat(holds, self.n_inside) & ~holds.take(self.b))
            for label, values in enumerate(through, start=1):
                self.paths.with_label[bucket, label] = values.take(between).max()


class _Compiled:
    """The same by the loops of chain_kernels.py."""

    def __init__(self, paths: Paths) -> None:
        from crowdopt.engines import chain_kernels as kernels

        self.paths, self.kernels = paths, kernels
        objective, table, buckets = paths.problem.objective, paths.table, paths.problem.buckets
        labels, total = range(buckets.n_labels), 0
        linear, gold = np.zeros(1), np.zeros(1, np.int64)
        if objective.kind == "given":
            with np.errstate(divide="ignore"):
                linear = np.log(np.array(objective.shares))
        elif objective.kind == "estimated":
            gold = np.array([objective.offset_tasks(j) for j in labels])
            total = buckets.n_tasks + int(gold.sum())
            linear = np.zeros(buckets.n_labels if gold.any() else 1)
        whole = paths.responses.sum(axis=2)
        sums = np.column_stack([paths.responses.reshape(len(whole), -1), whole, paths.tasks])
        which = np.column_stack([table.parts.reshape(len(table.parts), -1), table.wholes])
        values = table.values.ravel() if table.complete else np.empty(0)
        lookup = (values, table.offsets[which], which * table.values.shape[1], linear, gold, total)
        self.common = (np.ascontiguousarray(paths.sets.words.T), sums, *lookup, buckets.counts[0].size)

    def descend(self) -> Stop | None:
        """Fills ``down`` of the middle labels, and ``up[2]``; returns why it stopped early, or None."""
        paths = self.paths
        for start, stop in _pieces(len(paths.sets)):
            paths.work += self.kernels.descend(*self.common, paths.down, paths.up, start, stop)
            if (why := paths.reached()) is not None and stop < len(paths.sets):
                return why
        return None

    def ascend_and_serve(self) -> Stop | None:
        """Fills ``up``, and ``with_label`` of the middle labels; returns why it stopped early, or None."""
        paths = self.paths
        for start, stop in reversed(_pieces(len(paths.sets)) if paths.top > 2 else []):
            paths.work += self.kernels.ascend(*self.common, paths.up, start, stop)
            if (why := paths.reached()) is not None:
                return why
        for label in range(1, paths.top):
            best = paths.with_label[:, label].copy()
            for rows in self._rows(label):
                paths.work += self.kernels.best_through(*self.common, paths.down, paths.up, label, rows, best)
                if (why := paths.reached()) is not None:
                    return why
            paths.with_label[:, label] = best
        return None

    def _rows(self, label: int) -> Iterator[Ints]:
        """Up-sets, those on the best paths first, in blocks that take about as long as a piece."""
        paths = self.paths
        rows = np.argsort(-(paths.up[label] + paths.down[label]), kind="stable")
        step = max(1, _PIECE // len(rows))
        yield from (rows[at : at + step] for at in range(0, len(rows), step))


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
