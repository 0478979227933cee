"""Advice: what a user who is about to be misled should hear.

The answers are the likeliest ones under the model that was asked for. Two signs say that another model may
be meant:

- the answers contradict many clear majorities, or
- taking the shares of the labels into account explains the data much better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.objective import Objective
from crowdopt.problem import Problem
from crowdopt.solve.scan import Cuts
from crowdopt.solve.vote import clear_majorities

if TYPE_CHECKING:
    from crowdopt.types import Ints

MAX_OVERRULED = 0.10
"""Share of clear majorities that may be overruled in silence."""

MIN_GAIN = 0.1
"""Nats per task by which estimated selectivity must beat uniform selectivity to be worth a word."""


def advise(problem: Problem, mapping: Ints) -> tuple[str, ...]:
    """What to tell the user; empty if nothing."""
    advice = []
    remedy = "--selectivity estimate" if problem.objective.kind == "none" else "--engine vote"
    overruled = share_overruled(problem, mapping)
    if overruled > MAX_OVERRULED:
        advice.append(f"{overruled:.0%} of the tasks with a clear majority got another label than it; try {remedy}")
    if problem.objective.kind == "none" and problem.buckets.n_labels == 2 and problem.buckets.n_classes == 1:
        gain = selectivity_gain(problem)
        if gain > MIN_GAIN:
            advice.append(
                f"the labels look far from equally frequent (estimating their shares gains {gain:.2f} nats per task)"
                "; try --selectivity estimate"
            )
    return tuple(advice)


def share_overruled(problem: Problem, mapping: Ints) -> float:
    """Among tasks where more than half of the responses agree, the share that got another label."""
    majority, clear = clear_majorities(problem.buckets.counts)
    weights = problem.buckets.weights
    total = weights[clear].sum()
    return float(weights[clear & (majority != mapping)].sum() / total) if total else 0.0


def selectivity_gain(problem: Problem) -> float:
    """Nats per task by which estimated shares beat uniform ones, at least.

    Thresholds are a lower bound of the estimated optimum where numbers of responses vary, and cheap.
    """
    buckets = problem.buckets
    estimated = Cuts(Problem(buckets, objective=Objective("estimated"))).values.max()
    uniform = Cuts(Problem(buckets)).values.max() - buckets.n_tasks * np.log(buckets.n_labels)
    return float((estimated - uniform) / buckets.n_tasks)
