"""The optimum again, by plain means: what ``verify`` compares a certificate with.

Shares nothing with the engines but the problem itself: few buckets are enumerated outright; thresholds are sorted as
fractions and summed one by one; lines are drawn through every pair of buckets and every bucket is put on a side by a
cross product of integers. Slower than the engines, and meant to be.
"""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.model.certificate import Space
from crowdopt.model.order import tails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Bools, Ints
    from crowdopt.model.problem import Problem

_DIRECTIONS = 256
"""Lines through one bucket that are drawn at once: bounds memory."""


class Undecided(Exception):  # noqa: N818 -- an answer, not an error
    """The bound could not be checked; says why."""


def check_clock(deadline: float) -> None:
    """Raises Undecided past the deadline."""
    if time.monotonic() > deadline:
        raise Undecided("the time limit was reached before all was checked")


def log_likelihood(problem: Problem, mapping: Ints) -> float:
    """F of one mapping in extended steps: exact integers, one logarithm per count, one exact sum."""
    responses, tasks = problem.buckets.by_label(mapping)
    labels = range(problem.buckets.n_labels)
    return math.fsum(term for label in labels for term in _terms(problem, label, responses[label], int(tasks[label])))


def _terms(problem: Problem, label: int, responses: Any, tasks: int) -> Iterator[float]:
    """The terms of one label: of each answer of each class, with what is known beforehand, and of the share."""
    known = np.broadcast_to(problem.objective.offset(label), np.shape(responses)).tolist()
    for answers, beforehand in zip(np.asarray(responses).tolist(), known, strict=True):
        counts = [a + b for a, b in zip(answers, beforehand, strict=True)]
        yield from (_times_log(part, _sum(counts[:i] + counts[i + 1 :])) for i, part in enumerate(counts))
    yield _share_term(problem, label, tasks)


def _sum(numbers: list[Any]) -> Any:
    return sum(numbers) if all(isinstance(number, int) for number in numbers) else math.fsum(numbers)


def _times_log(part: float, rest: float) -> float:
    """``part * ln(part / (part + rest))``."""
    if not part:
        return 0.0
    return part * (math.log1p(-rest / (part + rest)) if part > rest else math.log(part / (part + rest)))


def _share_term(problem: Problem, label: int, tasks: int) -> float:
    objective = problem.objective
    if objective.kind == "estimated":
        known = [objective.offset_tasks(j) for j in range(problem.buckets.n_labels)]
        tasks += known[label]
        return _times_log(tasks, problem.buckets.n_tasks + sum(known) - tasks)
    if objective.kind == "none" or not tasks:
        return 0.0
    share = objective.shares[label]
    return tasks * math.log(share) if share > 0 else -math.inf


def always_above(problem: Problem) -> float:
    """A bound that needs no search: every bucket a label of its own, nothing paid for shares (Φ is subadditive)."""
    buckets, objective = problem.buckets, problem.objective
    terms = []
    for counts, weight in zip(buckets.counts.tolist(), buckets.weights.tolist(), strict=True):
        terms += [weight * _times_log(part, sum(answers) - part) for answers in counts for part in answers]
    for label in range(buckets.n_labels):
        for answers in np.atleast_2d(objective.offset(label)).tolist():
            terms += [_times_log(part, _sum(answers[:i] + answers[i + 1 :])) for i, part in enumerate(answers)]
    return math.fsum(terms) + buckets.n_tasks * math.log(max(objective.shares, default=1.0))


def scan_settles(problem: Problem) -> bool:
    """Whether thresholds and lines are all that can be optimal for two labels (docs/theory.md, Fact 3)."""
    return problem.objective.interchangeable or problem.space is Space.ALL or problem.buckets.equal_sizes


def all_mappings(problem: Problem) -> Iterator[Ints]:
    """Every mapping in the space, one by one."""
    keys = tails(problem.buckets.counts, ranked=problem.ranked)
    above: Bools = np.asarray((keys[:, None, :] >= keys[None, :, :]).all(axis=2))
    for labels in itertools.product(range(problem.buckets.n_labels), repeat=problem.buckets.n_buckets):
        mapping = np.array(labels, np.int64)
        if problem.space is Space.ALL or not (above & (mapping[:, None] < mapping[None, :])).any():
            yield mapping


def two_label_values(problem: Problem, deadline: float) -> Iterator[float]:
    """Log-likelihoods of all candidates that can be optimal (docs/theory.md, Fact 3)."""
    if problem.objective.kind == "none" or problem.buckets.equal_sizes:
        thresholds = Thresholds(problem, deadline)
        yield from thresholds.values
        if not problem.objective.interchangeable and problem.space is Space.ALL:
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
            if position % 4096 == 0:
                check_clock(deadline)
        self.low.append((below, tasks))
        self.values = [_value(problem, low, self.total, tasks) for low, tasks in self.low]
        self.agreement = [low[0] + self.total[1] - low[1] for low, _ in self.low]

    def upside_down(self) -> list[float]:
        """The values with the two labels exchanged."""
        n_tasks = self.problem.buckets.n_tasks
        rest = [([t - x for t, x in zip(self.total, low, strict=True)], n_tasks - tasks) for low, tasks in self.low]
        return [_value(self.problem, low, self.total, tasks) for low, tasks in rest]


def _by_share(counts: list[list[int]]) -> list[int]:
    """Buckets by their share of yes, lowest first; the floating-point order is kept only if it is the exact one."""
    order = sorted(range(len(counts)), key=lambda b: counts[b][1] / sum(counts[b]))
    if all(counts[a][1] * sum(counts[b]) <= counts[b][1] * sum(counts[a]) for a, b in itertools.pairwise(order)):
        return order
    return sorted(order, key=lambda b: Fraction(counts[b][1], sum(counts[b])))


def _value(problem: Problem, low: list[int], total: list[int], low_tasks: int) -> float:
    """F of the split that gives ``low`` responses of ``low_tasks`` tasks to label 0."""
    high = [t - part for t, part in zip(total, low, strict=True)]
    n_tasks = problem.buckets.n_tasks
    return math.fsum([*_terms(problem, 0, [low], low_tasks), *_terms(problem, 1, [high], n_tasks - low_tasks)])


def _line_values(problem: Problem, deadline: float) -> Iterator[float]:
    """Values of every split by a line through two buckets, those on the line being split anywhere along it."""
    buckets = problem.buckets
    points = buckets.counts[:, 0, ::-1]  # (yes, no)
    if int(points.max()) >= 2**31:  # a cross product of differences would not fit into 64 bits
        raise Undecided("counts are too large for the integer test of sides")
    amounts = np.column_stack([buckets.responses[:, 0, :], buckets.weights])
    total = amounts.sum(axis=0)
    both_ways = not problem.objective.interchangeable
    yield _split_value(problem, np.zeros(3, np.int64), total)
    yield _split_value(problem, total, total)
    for anchor in range(buckets.n_buckets):
        check_clock(deadline)
        offset = points - points[anchor]
        others = np.flatnonzero((offset >= 0).all(axis=1) & (offset.sum(axis=1) > 0))
        # A line that meets no second bucket while it turns ends level or upright.
        directions = np.concatenate([offset[others], [[1, 0], [0, 1]]])
        for start in range(0, len(directions), _DIRECTIONS):
            direction = directions[start : start + _DIRECTIONS]
            cross = direction[:, :1] * offset[None, :, 1] - direction[:, 1:] * offset[None, :, 0]
            along = direction[:, :1] * offset[None, :, 0] + direction[:, 1:] * offset[None, :, 1]
            for side in _sides(cross, along):
                for split in np.unique(side.astype(np.int64) @ amounts, axis=0):
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


def label_value(problem: Problem, label: int, responses: Ints, tasks: int) -> float:
    """The term of one label."""
    return math.fsum(_terms(problem, label, responses, tasks))
