"""Margins: how much likelihood a bucket's label is worth, which is what the cheapest move to another label loses.

A move gives one bucket another label, and all that the order asks to move along. What moves gain is computed for many
mappings at once, with everything as arrays (mapping, bucket, label): the local search climbs by them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.model.buckets import blocks_of
from crowdopt.model.certificate import Space

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.objective import CountTable
    from crowdopt.model.problem import Problem

MarginKind = Literal["exact", "upper", "odds"]


@dataclass(frozen=True, eq=False)
class Margins:
    """How much likelihood each bucket's label is worth.

    Attributes:
        values: Nats lost by giving the bucket another label; infinite where it can have no other.
        kind: ``exact``: by the best mapping that does so; ``upper``: by one such mapping, so the loss is at most this;
            ``odds``: not a loss, but by how much the label is more probable than the next one, as a logarithm, where
            the labels are averaged over.
        tied: Whether an equally good mapping gives the bucket another label.
    """

    values: Floats
    kind: MarginKind
    tied: Bools

    def or_less(self, other: Margins) -> Margins:
        """The smaller of two upper bounds; what either finds tied is tied."""
        return Margins(np.minimum(self.values, other.values), "upper", self.tied | other.tied)


def single_moves(problem: Problem, mapping: Ints) -> Margins:
    """The least loss of giving one bucket another label and refitting: at least the true margin over all mappings.

    A loss below zero (a mapping that is not optimal over all mappings) is kept as zero: the label has no margin.
    Cost: O(buckets * labels), some buckets at a time.
    """
    buckets, objective = problem.buckets, problem.objective
    responses, tasks = buckets.by_label(mapping)
    before = np.array([objective.level(j, responses[j], tasks[j], buckets.n_tasks) for j in range(buckets.n_labels)])
    rows = np.arange(buckets.n_buckets)
    value = float(before.sum())
    loss = np.full((buckets.n_buckets, buckets.n_labels), np.inf)
    for some in blocks_of(buckets.n_buckets, buckets.counts[0].size):
        own, counts, weights = mapping[some], buckets.responses[some], buckets.weights[some]
        without = np.empty(len(own))
        for j in range(buckets.n_labels):
            at = own == j
            without[at] = objective.level(j, responses[j] - counts[at], tasks[j] - weights[at], buckets.n_tasks)
        for j in range(buckets.n_labels):
            added = objective.level(j, responses[j] + counts, tasks[j] + weights, buckets.n_tasks)
            loss[some, j] = (before[own] - without) + (before[j] - added)
    loss[rows, mapping] = np.inf
    tolerance = problem.tolerance(value)
    votes = buckets.counts.sum(axis=1)
    # Agreement breaks ties: a move that lowers it is not one.
    tied = np.asarray(((loss <= tolerance) & (votes >= votes[rows, mapping][:, None])).any(axis=1))
    best = loss.min(axis=1) if buckets.n_labels > 1 else np.full(buckets.n_buckets, np.inf)
    return Margins(np.maximum(best, 0.0), "upper", tied)


def closure_moves(problem: Problem, mapping: Ints) -> Margins:
    """The least loss of giving one bucket another label while respecting the order: at least the true margin there.

    Raising a bucket raises all that dominate it, lowering it lowers all that it dominates, as far as the order asks.
    With too many buckets to compare, the loss of giving all of them one other label. Cost: O(buckets² * labels).
    """
    value = problem.objective.of_mapping(problem.buckets, mapping)
    moves = Moves(replace(problem, space=Space.DOMINANCE))
    if not moves.usable:
        return _all_alike(problem, mapping, value)
    loss, votes = -moves.gains(mapping[None])[0], moves.agreement_gains(mapping[None])[0]
    # Agreement breaks ties: a move that lowers it is not one.
    tied = ((loss <= problem.tolerance(value)) & (votes >= 0)).any(axis=1)
    return Margins(np.maximum(loss.min(axis=1), 0.0), "upper", np.asarray(tied))


def _all_alike(problem: Problem, mapping: Ints, value: float) -> Margins:
    """The least loss of giving all buckets one label, another one than the bucket has."""
    buckets, labels = problem.buckets, np.arange(problem.buckets.n_labels)
    alone = np.array([problem.objective.of_mapping(buckets, np.full_like(mapping, label)) for label in labels])
    loss = value - np.where(labels == mapping[:, None], -np.inf, alone).max(axis=1)
    return Margins(np.maximum(loss, 0.0), "upper", np.asarray(loss <= problem.tolerance(value)))


MAX_ORDERED_BUCKETS = 2_000
"""Beyond these the order between all pairs of buckets is not used."""


class Moves:
    """Moves of a problem.

    Attributes:
        ordered: Whether moves have to respect the order; a bucket then takes others along.
        usable: Whether the order is known: not beyond MAX_BUCKETS.
    """

    def __init__(self, problem: Problem, table: CountTable | None = None) -> None:
        """Looks logarithms up in ``table``, which must be complete, if it is given."""
        self.problem, self.n_labels, buckets = problem, problem.buckets.n_labels, problem.buckets
        self.table = table
        kind = np.float64 if buckets.n_responses < 2**53 else np.int64  # floats are exact up to there, and fast
        self.mass = np.column_stack([buckets.responses.reshape(buckets.n_buckets, -1), buckets.weights]).astype(kind)
        self.ordered = problem.space is Space.DOMINANCE
        self.usable = not self.ordered or buckets.n_buckets <= MAX_ORDERED_BUCKETS
        if self.ordered and self.usable:
            self.above = problem.order.dominates.T.astype(kind)  # [b, a]: a dominates b, or is b
            np.fill_diagonal(self.above, val=1)

    def under(self, mappings: Ints) -> Floats:
        """One where a bucket has a label, else zero: (mapping, bucket, label)."""
        return np.asarray(mappings[:, :, None] == np.arange(self.n_labels), self.mass.dtype)

    def sums(self, mappings: Ints) -> Floats:
        """Answers and tasks under each label: (mapping, label, answers and tasks)."""
        return np.asarray(np.swapaxes(self.under(mappings), 1, 2) @ self.mass)

    def levels(self, sums: Floats) -> Floats:
        """Ψ of every label for sums (..., label, answers and tasks)."""
        whole, n_tasks, level = sums.astype(np.int64), self.problem.buckets.n_tasks, self.problem.objective.level
        counts, tasks = whole[..., :-1].reshape(*whole.shape[:-1], -1, self.n_labels), whole[..., -1]
        terms = [level(j, counts[..., j, :, :], tasks[..., j], n_tasks, self.table) for j in range(self.n_labels)]
        return np.stack(terms, axis=-1)

    def values(self, mappings: Ints) -> Floats:
        """F of every mapping."""
        return np.asarray(self.levels(self.sums(mappings)).sum(axis=-1))

    def along(self, mappings: Ints, *, upward: bool) -> Floats:
        """What moves along with each bucket, by the label it has now: (mapping, bucket, label, answers and tasks)."""
        held: Floats = np.asarray(self.under(mappings)[..., None] * self.mass[:, None, :])
        if not self.ordered:
            return held
        reach = self.above if upward else self.above.T
        by_bucket = np.moveaxis(held, 1, 0)  # one product of large matrices is much faster than many of small ones
        moved = (reach @ by_bucket.reshape(len(reach), -1)).reshape(by_bucket.shape)
        return np.ascontiguousarray(np.moveaxis(moved, 0, 1))

    def gains(self, mappings: Ints) -> Floats:
        """What F gains by giving a bucket another label, with all that has to move along: (mapping, bucket, label)."""
        sums = self.sums(mappings)[:, None]
        before = self.levels(sums)
        if not self.ordered:
            return self._single_gains(mappings, sums, before)
        gains = []
        for upward in (True, False):
            moved = self.along(mappings, upward=upward)  # the same for all labels beyond the present one
            lost = sum_before(self.levels(sums - moved) - before, upward=upward)
            gains.append(lost + self.levels(sums + sum_before(moved, upward=upward)) - before)
        return self._either(mappings, *gains, here=-np.inf)

    def _single_gains(self, mappings: Ints, sums: Floats, before: Floats) -> Floats:
        """The same where a bucket moves alone: it leaves one label, and joins another. Some buckets at a time."""
        gains = np.empty((*mappings.shape, self.n_labels))
        for some in blocks_of(mappings.shape[1], len(mappings) * self.mass.shape[1] * self.n_labels):
            under, mass = self.under(mappings[:, some]), self.mass[some]
            held = under[..., None] * mass[:, None, :]
            lost = ((before - self.levels(sums - held)) * under).sum(axis=2, keepdims=True)
            joined = self.levels(sums + (mass[:, None, :] - held))
            gains[:, some] = np.where(under > 0, -np.inf, joined - before - lost)
        return gains

    def agreement_gains(self, mappings: Ints) -> Floats:
        """The same for agreement, the responses that equal the label their task is given."""
        shape = (self.problem.buckets.n_classes, self.n_labels)
        gains = []
        for upward in (True, False):
            moved = self.along(mappings, upward=upward)[..., :-1]
            votes = moved.reshape(*moved.shape[:-1], *shape).sum(axis=-2)  # mapping, bucket, label, answer
            lost = sum_before(np.diagonal(votes, axis1=2, axis2=3).copy(), upward=upward)
            won = np.diagonal(sum_before(votes, upward=upward), axis1=2, axis2=3)
            gains.append(won - lost)
        return self._either(mappings, *gains, here=0)

    def _either(self, mappings: Ints, up: Floats, down: Floats, *, here: float) -> Floats:
        label, now = np.arange(self.n_labels), mappings[:, :, None]
        return np.where(label == now, here, np.where(label > now, up, down))


def sum_before(values: Floats, *, upward: bool) -> Floats:
    """Sums over the labels (third axis) before each one, going up or going down."""
    turn = slice(None, None, 1 if upward else -1)
    return np.cumsum(values[:, :, turn], axis=2)[:, :, turn] - values
