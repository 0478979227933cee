"""Margins: how much likelihood a bucket's label is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.model.certificate import Space
from crowdopt.model.moves import Moves

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.problem import Problem

MarginKind = Literal["exact", "upper"]


@dataclass(frozen=True, eq=False)
class Margins:
    """How much likelihood each bucket's label is worth.

    Attributes:
        values: Nats lost by giving the bucket another label; infinite where it can have no other.
        kind: ``exact``: by the best mapping that does so; ``upper``: by one such mapping, so the loss is at most this.
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
    Cost: O(buckets * labels).
    """
    buckets, objective = problem.buckets, problem.objective
    responses, tasks = buckets.by_label(mapping)
    before = np.array([objective.level(j, responses[j], tasks[j], buckets.n_tasks) for j in range(buckets.n_labels)])
    rows = np.arange(buckets.n_buckets)
    without = np.empty(buckets.n_buckets)
    for j in range(buckets.n_labels):
        at = mapping == j
        without[at] = objective.level(
            j, responses[j] - buckets.responses[at], tasks[j] - buckets.weights[at], buckets.n_tasks
        )
    value = float(before.sum())
    loss = np.full((buckets.n_buckets, buckets.n_labels), np.inf)
    for j in range(buckets.n_labels):
        added = objective.level(j, responses[j] + buckets.responses, tasks[j] + buckets.weights, buckets.n_tasks)
        loss[:, j] = (before[mapping] - without) + (before[j] - added)
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
