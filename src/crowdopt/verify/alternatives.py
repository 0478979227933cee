"""Other labellings beside a given one: what each label loses against them, and whether one of them ties.

Shares nothing with the engines: thresholds are those of optimum.py, moves are made and evaluated one by one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.model.certificate import Space
from crowdopt.model.order import tails
from crowdopt.verify.optimum import Thresholds, check_clock, label_value, log_likelihood

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.problem import Problem


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
