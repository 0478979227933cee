"""Majority vote: the label with the most responses.

Maximises nothing but agreement, bucket by bucket, and proves nothing. A tie goes to the lowest of the tied
labels and is marked as one. Cost: O(buckets * labels).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.base import Engine, Limits, Outcome
from crowdopt.errors import InputError
from crowdopt.model.margins import Margins, single_moves

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Ints
    from crowdopt.model.problem import Problem


def majority(counts: Ints) -> tuple[Ints, Bools]:
    """The label with the most responses (the lowest of several), and whether there were several."""
    votes = counts.sum(axis=1)
    most = votes.max(axis=1, keepdims=True)
    return votes.argmax(axis=1), (votes == most).sum(axis=1) > 1


def vote(problem: Problem, limits: Limits) -> Outcome:
    """Majority vote as an engine."""
    del limits  # one pass over the buckets needs none
    mapping, tied = majority(problem.buckets.counts)
    value = problem.objective.of_mapping(problem.buckets, mapping)
    if not np.isfinite(value):
        raise InputError("the majority gives some tasks a label whose share is given as zero: give it a larger share")
    losses = single_moves(problem, mapping)
    return Outcome(
        mapping=mapping,
        objective=value,
        bound=None,
        space=problem.space,
        work=problem.buckets.n_buckets,
        margins=Margins(losses.values, "upper", tied),
    )


VOTE = Engine("vote", vote, one_label=True)
