"""The optimum again, by plain means: what ``verify`` compares a certificate with.

Shares no code with the engines: few buckets are enumerated outright; thresholds are sorted as fractions and
summed one by one; lines are drawn through every pair of buckets and every bucket is put on a side by a cross
product of integers. Slower than the engines, and meant to be.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.certificate import Space
from crowdopt.margins import single_moves
from crowdopt.order import tails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.problem import Problem
    from crowdopt.types import Bools, Floats, Ints

MAX_ENUMERATED = 12
"""Buckets up to which every mapping of two labels is tried."""


class Undecided(Exception):  # noqa: N818 -- an answer, not an error
    """The bound could not be checked; says why."""


def log_likelihood(problem: Problem, mapping: Ints) -> float:
    """F of one mapping in extended steps: exact integers, one logarithm per count, one exact sum."""
    counts, weights = problem.buckets.counts, problem.buckets.weights
    terms: list[float] = []
    for label in range(problem.buckets.n_labels):
        member = mapping == label
        tasks = int(weights[member].sum())
        for per_class in (counts[member] * weights[member][:, None, None]).sum(axis=0):
            answers = [int(count) for count in per_class]
            terms += [_times_log(count, sum(answers)) for count in answers]
        terms.append(_share_term(problem, label, tasks))
    return math.fsum(terms)


def _times_log(part: int, whole: int) -> float:
    if not part:
        return 0.0
    return part * (math.log1p(-(whole - part) / whole) if 2 * part > whole else math.log(part / whole))


def _share_term(problem: Problem, label: int, tasks: int) -> float:
    kind = problem.objective.kind
    if kind == "none" or not tasks:
        return 0.0
    if kind == "estimated":
        return _times_log(tasks, problem.buckets.n_tasks)
    share = problem.objective.shares[label]
    return tasks * math.log(share) if share > 0 else -math.inf


def better_than(problem: Problem, bound: float, deadline: float) -> float | None:
    """The log-likelihood of a mapping in the space that is above ``bound``, or None if there is none.

    Raises:
        Undecided: If no method here settles it in time.
    """
    buckets = problem.buckets
    if buckets.n_labels > 2 or buckets.n_classes > 1:
        raise Undecided("there is no independent check for more than two labels or classes yet")
    small = buckets.n_buckets <= MAX_ENUMERATED or buckets.n_labels == 1
    if small:
        best = max(log_likelihood(problem, mapping) for mapping in _all_mappings(problem))
    else:
        best = max(_two_label_values(problem, deadline))
    if best <= bound:
        return None
    kind, equal = problem.objective.kind, buckets.equal_sizes
    if kind == "given" and problem.space is Space.DOMINANCE and not equal and not small:
        # The lines tried are all mappings' optimum: below the bound they prove it, above they prove nothing.
        raise Undecided("the best labels that respect the order have no independent check for this selectivity yet")
    return best


def _all_mappings(problem: Problem) -> Iterator[Ints]:
    n = problem.buckets.n_buckets
    if problem.buckets.n_labels == 1:
        yield np.zeros(n, np.int64)
        return
    keys = tails(problem.buckets.counts)
    above = (keys[:, None, :] >= keys[None, :, :]).all(axis=2)
    for code in range(2**n):
        mapping = (code >> np.arange(n)) & 1
        if problem.space is Space.ALL or not (above & (mapping[:, None] < mapping[None, :])).any():
            yield mapping


def _two_label_values(problem: Problem, deadline: float) -> Iterator[float]:
    """Log-likelihoods of all candidates that can be optimal (docs/theory.md, Fact 3)."""
    kind = problem.objective.kind
    if kind == "none" or problem.buckets.equal_sizes:
        thresholds = Thresholds(problem, deadline)
        yield from thresholds.values
        if kind == "given" and problem.space is Space.ALL:
            yield from thresholds.upside_down()
    else:
        yield from _line_values(problem, deadline)


class Thresholds:
    """Every threshold on the share of yes, one by one: its value, its agreement, and the rank of each bucket."""

    def __init__(self, problem: Problem, deadline: float = math.inf) -> None:
        self.problem = problem
        counts = problem.buckets.counts[:, 0, :].tolist()
        weights = problem.buckets.weights.tolist()
        self.total = [int(t) for t in problem.buckets.responses.sum(axis=(0, 1))]
        self.rank = np.zeros(len(counts), np.int64)
        self.low: list[tuple[list[int], int]] = [([0, 0], 0)]
        below, tasks, previous = [0, 0], 0, None
        for position, bucket in enumerate(_by_share(counts)):
            no, yes = counts[bucket]
            if previous is not None and previous[1] * (no + yes) != yes * (previous[0] + previous[1]):
                self.low.append((below, tasks))
            previous = (no, yes)
            self.rank[bucket] = len(self.low) - 1
            below = [below[0] + weights[bucket] * no, below[1] + weights[bucket] * yes]
            tasks += weights[bucket]
            if position % 4096 == 0 and time.monotonic() > deadline:
                raise Undecided("the time limit was reached before the bound was checked")
        self.low.append((below, tasks))
        self.values = [_value(problem, low, self.total, tasks) for low, tasks in self.low]
        self.agreement = [low[0] + self.total[1] - low[1] for low, _ in self.low]

    def upside_down(self) -> Iterator[float]:
        """The values with the two labels exchanged."""
        n_tasks = self.problem.buckets.n_tasks
        for low, tasks in self.low:
            yield _value(
                self.problem,
                [t - x for t, x in zip(self.total, low, strict=True)],
                self.total,
                n_tasks - tasks,
            )

    def margins(self, mapping: Ints, value: float) -> tuple[Floats, Bools]:
        """For each bucket the loss of the best threshold that gives it the other label, and whether one ties."""
        values, agreement = np.array(self.values), np.array(self.agreement, dtype=object)
        tolerance = self.problem.tolerance(value)
        near = values >= max(value, *self.values) - tolerance
        if self.problem.objective.interchangeable:
            near &= agreement >= self.problem.buckets.agreement(mapping)
        loss, tied = np.empty(len(mapping)), np.zeros(len(mapping), bool)
        for rank in range(len(values) - 1):
            for label, others in ((1, slice(rank + 1, None)), (0, slice(None, rank + 1))):
                here = (self.rank == rank) & (mapping == label)
                loss[here] = max(0.0, value - values[others].max())
                tied[here] = near[others].any()
        return loss, tied


def _by_share(counts: list[list[int]]) -> list[int]:
    """Buckets by their share of yes, lowest first; the floating-point order is kept only if it is the exact one."""
    order = sorted(range(len(counts)), key=lambda b: counts[b][1] / sum(counts[b]))
    if all(counts[a][1] * sum(counts[b]) <= counts[b][1] * sum(counts[a]) for a, b in pairwise(order)):
        return order
    return sorted(order, key=lambda b: Fraction(counts[b][1], sum(counts[b])))


def _value(problem: Problem, low: list[int], total: list[int], low_tasks: int) -> float:
    """F of the split that gives ``low`` responses of ``low_tasks`` tasks to label 0."""
    high = [t - part for t, part in zip(total, low, strict=True)]
    terms = [_times_log(part, sum(side)) for side in (low, high) for part in side]
    terms += [
        _share_term(problem, 0, low_tasks),
        _share_term(problem, 1, problem.buckets.n_tasks - low_tasks),
    ]
    return math.fsum(terms)


def _line_values(problem: Problem, deadline: float) -> Iterator[float]:
    """Values of every split by a line through two buckets, those on the line being split anywhere along it."""
    buckets = problem.buckets
    points = buckets.counts[:, 0, ::-1]  # (yes, no)
    if int(points.max()) >= 2**31:
        raise Undecided("counts are too large for the integer test of sides")
    amounts = np.column_stack([buckets.responses[:, 0, :], buckets.weights])
    total = amounts.sum(axis=0)
    both_ways = problem.objective.kind == "given"
    yield _split_value(problem, np.zeros(3, np.int64), total)
    yield _split_value(problem, total, total)
    for anchor in range(buckets.n_buckets):
        if time.monotonic() > deadline:
            raise Undecided("the time limit was reached before the bound was checked")
        offset = points - points[anchor]
        others = np.flatnonzero((offset >= 0).all(axis=1) & (offset.sum(axis=1) > 0))
        # A line that meets no second bucket while it turns ends level or upright.
        direction = np.concatenate([offset[others], [[1, 0], [0, 1]]])
        cross = direction[:, :1] * offset[None, :, 1] - direction[:, 1:] * offset[None, :, 0]
        along = direction[:, :1] * offset[None, :, 0] + direction[:, 1:] * offset[None, :, 1]
        for side in _sides(cross, along):
            low = np.unique(side.astype(np.int64) @ amounts, axis=0)
            for split in low:
                yield _split_value(problem, split, total)
                if both_ways:
                    yield _split_value(problem, total - split, total)


def _sides(cross: Ints, along: Ints) -> Iterator[Bools]:
    """Buckets left of each line, with those on the line before (or after) the anchor, with the anchor or without."""
    left, on = cross > 0, cross == 0
    yield left | (on & (along < 0))
    yield left | (on & (along <= 0))
    yield left | (on & (along > 0))
    yield left | (on & (along >= 0))


def _split_value(problem: Problem, low: Ints, total: Ints) -> float:
    return _value(problem, [int(low[0]), int(low[1])], [int(total[0]), int(total[1])], int(low[2]))


def margins(problem: Problem, mapping: Ints, value: float, *, by_thresholds: bool) -> tuple[Floats, Bools]:
    """Margins and ties again: over all thresholds, or by moving one bucket at a time."""
    if by_thresholds:
        return Thresholds(problem).margins(mapping, value)
    moved = single_moves(problem, mapping)
    return moved.values, moved.tied
