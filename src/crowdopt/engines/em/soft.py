"""Soft expectation maximisation, the textbook's: for comparison, and proving nothing.

It weighs labels by their posterior probability and maximises the marginal likelihood, in which the labels are summed
over, not F. A round takes O(buckets · labels² · classes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.base import Engine, Limits, Outcome
from crowdopt.engines.em.steps import (
    MAX_ROUNDS,
    Watch,
    best_labels,
    check_rounds,
    choose_label,
    first_log_shares,
    flat,
    refit,
    scores_of,
    start_matrix,
)
from crowdopt.errors import InputError
from crowdopt.model.certificate import Stop

if TYPE_CHECKING:
    from crowdopt._arrays import Counts, Floats, Ints
    from crowdopt.engines.em.steps import Start
    from crowdopt.model.problem import Problem


@dataclass(frozen=True, eq=False)
class SoftRun:
    """Where soft EM went.

    Attributes:
        posterior: Probability of every label (column) for every bucket (row) under ``matrix`` and ``shares``.
        matrix: Response matrix [class, true, answered]; NaN rows where the start had none.
        shares: Shares of the labels.
        mapping: The most probable label of each bucket, the lowest of equals.
        value: F of the mapping, which is not what soft EM maximises.
        trace: Marginal log-likelihood in each round.
        converged: Whether the last round gained next to nothing.
        stop: Why the run ended; FINISHED also after the last round allowed.
    """

    posterior: Floats
    matrix: Floats
    shares: Floats
    mapping: Ints
    value: float
    trace: tuple[float, ...]
    converged: bool
    stop: Stop

    @property
    def rounds(self) -> int:
        """Number of times that posteriors were computed."""
        return len(self.trace)


def soft_em(
    problem: Problem,
    start: Start,
    *,
    limits: Limits | None = None,
    max_rounds: int = MAX_ROUNDS,
    tolerance: float = 1e-9,
) -> SoftRun:
    """Computes posteriors and refits in turn until a round gains no more than ``tolerance`` of the likelihood.

    The marginal log-likelihood Σ_b w(b) ln Σ_j π_j Π_i p(i | j)^x(b, i), to which responses and tasks of known label
    (offsets) add their own, never falls. Shares are those given, or estimated anew in each round from uniform ones on;
    without selectivity they stay uniform. A bucket that no label can explain, which only zeros in ``start`` bring
    about, has the shares for its posterior.

    Args:
        problem: Buckets and objective; the space is not looked at.
        start: As for :func:`hard_em`.
        limits: When to stop early; they are asked after every round but the last.
        max_rounds: Computations of posteriors, at most.
        tolerance: Relative gain of a round that counts as none.
    """
    check_rounds(max_rounds)
    if not tolerance >= 0:  # nor not-a-number
        raise InputError(f"the tolerance must be a number of at least 0, not {tolerance!r}")
    buckets, objective = problem.buckets, problem.objective
    watch = Watch(problem, limits or Limits(math.inf))
    matrix, log_shares = start_matrix(problem, start), first_log_shares(problem)
    trace: list[float] = []
    while True:
        posterior, marginal = _expectation(problem, matrix, log_shares)
        trace.append(marginal)
        mapping = choose_label(best_labels(posterior), "lowest")
        value = objective.of_mapping(buckets, mapping)
        converged = len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * abs(trace[-1])
        ended = converged or len(trace) >= max_rounds
        stop = None if ended else watch.reached(value, len(trace))
        if ended or stop is not None:
            shares = np.exp(log_shares)
            stop = stop or Stop.FINISHED
            return SoftRun(posterior, matrix, shares, mapping, value, tuple(trace), converged, stop)
        tasks = posterior * buckets.weights[:, None]
        expected = (tasks.T @ flat(buckets.counts)).reshape(buckets.n_labels, *buckets.counts.shape[1:])
        matrix = refit(problem, expected, matrix, drop=False)
        if objective.kind == "estimated":
            known = tasks.sum(axis=0) + _known_tasks(problem)
            with np.errstate(divide="ignore"):
                log_shares = np.log(known / known.sum())


def soften(problem: Problem, matrix: Floats) -> Floats:
    """The matrix that soft EM makes of a fitted one: the labels averaged over, and not chosen.

    Rows of which nothing is known (not-a-number) stay so.
    """
    doubt = 0.01  # or an answer that was never given would stay impossible
    return soft_em(problem, (1 - doubt) * matrix + doubt / matrix.shape[-1]).matrix


def soft_em_engine(problem: Problem, limits: Limits) -> Outcome:
    """Soft EM from the majority vote, each bucket with its most probable label."""
    run = soft_em(problem, "vote", limits=limits)
    work = run.rounds * problem.buckets.n_buckets
    return Outcome(run.mapping, run.value, bound=None, space=problem.space, work=work, stop=run.stop)


def _expectation(problem: Problem, matrix: Floats, log_shares: Floats) -> tuple[Floats, float]:
    """The posterior (bucket, label), and the marginal log-likelihood."""
    objective = problem.objective
    scores = scores_of(problem, matrix, log_shares)
    best = scores.max(axis=1, keepdims=True)
    impossible = np.isneginf(best)
    scaled = np.exp(scores - np.where(impossible, 0.0, best))
    whole = np.where(impossible, 1.0, scaled.sum(axis=1, keepdims=True))
    shares = np.where(np.isnan(matrix).any(axis=(0, 2)), 0.0, np.exp(log_shares))
    marginal = float(np.sum(problem.buckets.weights * (best + np.log(whole))[:, 0]))
    for label in range(problem.buckets.n_labels):
        marginal += _times_log(objective.offset(label), matrix[:, label])
    if objective.kind == "estimated":
        marginal += _times_log(_known_tasks(problem), np.exp(log_shares))
    return np.where(impossible, shares / shares.sum(), scaled / whole), marginal


def _times_log(counts: Counts | int, probabilities: Floats) -> float:
    """Σ counts · ln p over the counts that are not zero."""
    some = np.broadcast_to(np.asarray(counts) > 0, probabilities.shape)
    with np.errstate(divide="ignore"):
        return float(np.sum(counts * np.log(np.where(some, probabilities, 1.0))))


def _known_tasks(problem: Problem) -> Ints:
    """Tasks that are known to have each label."""
    return np.array([problem.objective.offset_tasks(label) for label in range(problem.buckets.n_labels)])


SOFT_EM = Engine("soft-em", soft_em_engine)
