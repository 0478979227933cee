"""The optimum again, by plain means: what ``verify`` compares a certificate with.

Shares nothing with the engines but the problem itself: few buckets are enumerated outright; thresholds are sorted as
fractions and summed one by one; lines are drawn through every pair of buckets and every bucket is put on a side by a
cross product of integers. Slower than the engines, and meant to be.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.model.certificate import Space
from crowdopt.model.order import tails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.problem import Problem
    from crowdopt.verify.optimum_ordered import OrderedOptimum

MAX_ENUMERATED = 4_096
"""Mappings up to which every one is tried."""


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


class Recheck:
    """The checks of one problem that take time; what two of them need is computed once."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline

    @cached_property
    def ordered(self) -> OrderedOptimum:
        """The best mappings that respect the order."""
        from crowdopt.verify.optimum_ordered import OrderedOptimum

        return OrderedOptimum(self.problem, self.deadline)

    def doubt(self, witness: Any, bound: float) -> str | None:
        """Why a witness of prices does not prove ``bound``; None if it does.

        Raises:
            Undecided: If that takes too long.
        """
        from crowdopt.verify.witness import doubt

        return doubt(self.problem, witness, bound, self.deadline)

    @property
    def lists_all(self) -> bool:
        """Whether there are so few mappings that all of them are tried."""
        return bool(self.problem.buckets.n_labels**self.problem.buckets.n_buckets <= MAX_ENUMERATED)

    def better_than(self, bound: float, *, proved: bool = False) -> float | None:
        """The log-likelihood of a mapping in the space that is above ``bound``, or None if there is none.

        Args:
            bound: The bound.
            proved: Whether a witness proved the bound, so that only what is cheap is checked once more.

        Raises:
            Undecided: If no method here settles it in time.
        """
        problem, buckets = self.problem, self.problem.buckets
        if bound >= always_above(problem):
            return None
        if self.lists_all:
            best = max(log_likelihood(problem, mapping) for mapping in _all_mappings(problem))
        elif proved:
            return None
        elif buckets.n_labels == 2 and buckets.n_classes == 1 and scan_settles(problem):
            best = max(_two_label_values(problem, self.deadline))
        elif problem.space is Space.DOMINANCE:
            best = self.ordered.value
        else:
            raise Undecided(
                "over all mappings of more than two labels a bound is checked by prices, and there are none"
            )
        return best if best > bound else None


def scan_settles(problem: Problem) -> bool:
    """Whether thresholds and lines are all that can be optimal for two labels (docs/theory.md, Fact 3)."""
    return problem.objective.interchangeable or problem.space is Space.ALL or problem.buckets.equal_sizes


def _all_mappings(problem: Problem) -> Iterator[Ints]:
    keys = tails(problem.buckets.counts, ranked=problem.ranked)
    above: Bools = np.asarray((keys[:, None, :] >= keys[None, :, :]).all(axis=2))
    for labels in itertools.product(range(problem.buckets.n_labels), repeat=problem.buckets.n_buckets):
        mapping = np.array(labels, np.int64)
        if problem.space is Space.ALL or not (above & (mapping[:, None] < mapping[None, :])).any():
            yield mapping


def _two_label_values(problem: Problem, deadline: float) -> Iterator[float]:
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
    if int(points.max()) >= 2**31:
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


@dataclass(frozen=True, eq=False)
class Alternatives:
    """What the other labellings at hand say about a mapping.

    Attributes:
        loss: Per bucket the least loss among those that give it another label; below zero if one is likelier.
        tied: Whether one of these is as likely as the best, and agrees with as many responses; None if too many are.
        agrees_more: Whether one that is as likely as the mapping agrees with more responses than it does.
    """

    loss: Floats
    tied: Bools | None
    agrees_more: bool


def alternatives(
    problem: Problem, mapping: Ints, value: float, kinds: frozenset[str], deadline: float = math.inf
) -> Alternatives:
    """Compares a mapping with others.

    Args:
        problem: The problem.
        mapping: The mapping.
        value: Its log-likelihood.
        kinds: ``moves`` of one bucket, ``closures`` (with what the order asks to move along), ``rising`` thresholds,
            ``falling`` ones, all buckets ``alike``.
        deadline: When to give up.
    """
    tolerance, agreement = problem.tolerance(value), problem.buckets.agreement(mapping)
    loss = np.full(len(mapping), np.inf)
    tied = np.zeros(len(mapping), bool)
    agrees_more = False
    ways = [rising for rising in (True, False) if ("rising" if rising else "falling") in kinds]
    thresholds = Thresholds(problem, deadline) if ways else None
    for rising in ways:
        table = _Cumulative(thresholds, rising=rising)  # type: ignore[arg-type]
        near = table.values >= max(value, float(table.values.max())) - tolerance
        agrees_more |= bool((near & (table.agreement > agreement)).any())
        loss = np.minimum(loss, value - table.best_other(mapping, table.values, -np.inf))
        tied |= table.best_other(mapping, near & (table.agreement >= agreement), 0) > 0
    for name, compare in (("moves", _single_moves), ("closures", _closure_moves), ("alike", _all_alike)):
        if name in kinds:
            moved, moved_tied = compare(problem, mapping, value, deadline)
            loss, tied = np.minimum(loss, moved), tied | moved_tied
    return Alternatives(loss, tied, agrees_more)


class _Cumulative:
    """Thresholds as arrays, for the best of those that give a bucket one label or the other."""

    def __init__(self, thresholds: Thresholds, *, rising: bool) -> None:
        self.rank, self.rising = thresholds.rank, rising
        self.values = np.array(thresholds.values if rising else thresholds.upside_down())
        agreement = np.array(thresholds.agreement, np.int64)
        self.agreement = agreement if rising else sum(thresholds.total) - agreement

    def best_other(self, mapping: Ints, scores: Any, worst: float) -> Floats:
        """Per bucket the best score of a threshold that gives it the label it does not have."""
        scores = np.where(scores, scores, worst) if scores.dtype == bool else scores
        upto = np.array(list(itertools.accumulate(scores.tolist(), max)))
        beyond = np.array(list(itertools.accumulate(scores[::-1].tolist(), max)))[::-1]
        wants_high = (mapping == 0) == self.rising
        return np.where(wants_high, upto[self.rank], beyond[self.rank + 1]).astype(float)


def _single_moves(problem: Problem, mapping: Ints, value: float, deadline: float) -> tuple[Floats, Bools]:
    """The loss of giving one bucket another label, bucket by bucket, and whether that is a tie."""
    buckets = problem.buckets
    responses, tasks = buckets.by_label(mapping)
    parts = [label_value(problem, j, responses[j], int(tasks[j])) for j in range(buckets.n_labels)]
    loss, tied = np.full(buckets.n_buckets, np.inf), np.zeros(buckets.n_buckets, bool)
    for b, label in enumerate(mapping.tolist()):
        check_clock(deadline)
        amount, weight = buckets.responses[b], int(buckets.weights[b])
        left = label_value(problem, label, responses[label] - amount, int(tasks[label]) - weight)
        for other in range(buckets.n_labels):
            if other == label:
                continue
            joined = label_value(problem, other, responses[other] + amount, int(tasks[other]) + weight)
            lost = (parts[label] - left) + (parts[other] - joined)
            loss[b] = min(loss[b], lost)
            votes = buckets.counts[b].sum(axis=0)
            tied[b] |= lost <= problem.tolerance(value) and bool(votes[other] >= votes[label])
    return loss, tied


def label_value(problem: Problem, label: int, responses: Ints, tasks: int) -> float:
    """The term of one label."""
    return math.fsum(_terms(problem, label, responses, tasks))


def _closure_moves(problem: Problem, mapping: Ints, value: float, deadline: float) -> tuple[Floats, Bools]:
    """The loss of giving one bucket another label along with all that the order asks for, and whether that is a tie."""
    buckets, agreement = problem.buckets, problem.buckets.agreement(mapping)
    keys = tails(buckets.counts, ranked=problem.ranked)
    loss, tied = np.full(buckets.n_buckets, np.inf), np.zeros(buckets.n_buckets, bool)
    for b, label in enumerate(mapping.tolist()):
        check_clock(deadline)
        above, below = (keys >= keys[b]).all(axis=1), (keys <= keys[b]).all(axis=1)
        for other in range(buckets.n_labels):
            if other == label:
                continue
            moved = np.where(above, np.maximum(mapping, other), mapping)
            if other < label:
                moved = np.where(below, np.minimum(mapping, other), mapping)
            lost = value - log_likelihood(problem, moved)
            loss[b] = min(loss[b], lost)
            tied[b] |= lost <= problem.tolerance(value) and buckets.agreement(moved) >= agreement
    return loss, tied


def _all_alike(problem: Problem, mapping: Ints, value: float, deadline: float) -> tuple[Floats, Bools]:
    """The loss of giving all buckets one label, another one than the bucket has, and whether that is a tie."""
    check_clock(deadline)
    labels = range(problem.buckets.n_labels)
    alone = [log_likelihood(problem, np.full_like(mapping, label)) for label in labels]
    loss = np.array([value - max(alone[j] for j in labels if j != label) for label in mapping.tolist()])
    return loss, loss <= problem.tolerance(value)


def agreement_of_best_names(problem: Problem, mapping: Ints) -> int:
    """The most responses that the same clusters agree with under other names; under dominance in the same order."""
    from scipy.optimize import linear_sum_assignment

    responses, tasks = problem.buckets.by_label(mapping)
    votes = responses.sum(axis=1)[tasks > 0]
    if problem.space is Space.ALL:
        rows, columns = linear_sum_assignment(votes, maximize=True)
        return int(votes[rows, columns].sum())
    best = [0] + [-1] * len(votes)  # by the number of clusters that have names; fewer labels than clusters never fit
    for answers in votes.T.tolist():
        named = [b + a if b >= 0 else -1 for b, a in zip(best, answers, strict=False)]
        best = [best[0], *(max(old, new) for old, new in zip(best[1:], named, strict=True))]
    return best[-1]
