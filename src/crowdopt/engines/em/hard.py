"""Expectation maximisation, as the paper compares with it: proving nothing.

*Hard* EM gives every bucket the label that explains it best, fits the response matrix to that mapping, and repeats; it
maximises F, and stops at the first mapping that its own matrix confirms. It ends where its start leads it, so starts
have names: "1", "2" and "3" are the paper's, "vote" is the matrix of the majority vote. A round takes
O(buckets · labels² · classes).

From workers mostly wrong, EM ends upside down: the same clusters of tasks under exchanged names, exactly as likely. An
engine has to name them all the same, and to count such labels as errors would judge EM by a choice that it never made.
So where the likelihood cannot tell names apart, the engines here take those that agree with most responses, as all
others do. :func:`hard_em` itself leaves them as the start has them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from crowdopt.engines.base import Engine, Limits, Outcome
from crowdopt.engines.em.steps import (
    MAX_ROUNDS,
    START_NAMES,
    Ties,
    Watch,
    best_labels,
    check_rounds,
    choose_label,
    first_log_shares,
    named_start,
    refit,
    scores_of,
    start_matrix,
)
from crowdopt.engines.tie_breaking import renamed
from crowdopt.errors import InputError
from crowdopt.model.certificate import Space, Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.em.steps import Start
    from crowdopt.model.problem import Problem

__all__ = ["START_NAMES", "HardRun", "em", "em1", "em2", "em3", "hard_em", "likeliest", "named_start"]


@dataclass(frozen=True, eq=False)
class HardRun:
    """Where hard EM went.

    Attributes:
        mapping: Index of the label of each bucket.
        matrix: Response matrix [class, true, answered] fitted to the mapping. All rows of a label without tasks and
            offsets are NaN. A class without responses under a label that has tasks keeps its row of the round before.
        value: F of the mapping.
        trace: F after each assignment.
        converged: Whether the last assignment repeated the one before.
        stop: Why the run ended; FINISHED also after the last round allowed.
        tied: Whether labels ever explained a bucket equally well, so that the rule for ties had a say.
    """

    mapping: Ints
    matrix: Floats
    value: float
    trace: tuple[float, ...]
    converged: bool
    stop: Stop
    tied: bool

    @property
    def rounds(self) -> int:
        """Number of assignments."""
        return len(self.trace)


def hard_em(
    problem: Problem,
    start: Start,
    *,
    limits: Limits | None = None,
    max_rounds: int = MAX_ROUNDS,
    ties: Ties = "lowest",
) -> HardRun:
    """Assigns and refits in turn until the mapping repeats.

    F never falls from one round to the next: at a fixed matrix every bucket goes where it is explained at least as well
    as before, and refitting is at least as good for the new mapping. (Scores closer than MIN_TOLERANCE count as equal,
    which can cost that much per task.) A label that loses its last task has no row to attract others with, and is out
    for good, unless it has offsets. A bucket that no label can explain, which only zeros in ``start`` bring about,
    stays where it was, at first under the lowest label allowed.

    **Ties** go to the lowest of the labels that explain a bucket equally well, or to the highest. The paper states no
    rule, but its EM(2) for two labels starts where all labels are equal and is reported to stay near error rates of one
    half, at a low likelihood. So it does here: all buckets get the same label, whose row then is the share of each
    answer. A rule that looked at the votes would have made it a majority vote in disguise.

    Args:
        problem: Buckets and objective; the space is not looked at.
        start: Response matrix [true, answered] or [class, true, answered], or the name of a start. Rows are normalised.
        limits: When to stop early; they are asked after every round but the last.
        max_rounds: Assignments, at most.
        ties: Where buckets go that several labels explain equally well.

    >>> from crowdopt.model.buckets import Buckets
    >>> from crowdopt.model.problem import Problem
    >>> crowd = Problem(Buckets.from_arrays([[0, 3], [1, 2], [2, 1], [3, 0]], [30, 12, 9, 49])[0])
    >>> for name in START_NAMES:
    ...     run = hard_em(crowd, name)
    ...     print(name, run.mapping, round(run.value, 3), run.rounds)
    1 [1 1 0 0] -75.046 2
    2 [0 0 0 0] -203.058 2
    3 [0 0 1 1] -75.046 2
    """
    return _climb(problem, start, Watch(problem, limits or Limits(math.inf)), max_rounds, ties)


def _climb(problem: Problem, start: Start, watch: Watch, max_rounds: int, ties: Ties = "lowest") -> HardRun:
    check_rounds(max_rounds)
    if ties not in get_args(Ties):
        raise InputError(f"ties go to the {' or the '.join(get_args(Ties))} label, not to {ties!r}")
    buckets, objective = problem.buckets, problem.objective
    matrix, log_shares = start_matrix(problem, start), first_log_shares(problem)
    allowed = np.isfinite(log_shares) & ~np.isnan(matrix).any(axis=(0, 2))
    mapping = np.full(buckets.n_buckets, allowed.argmax())
    trace: list[float] = []
    tied, stop = False, None
    while stop is None and len(trace) < max_rounds:
        scores = scores_of(problem, matrix, log_shares)
        known, best = np.isfinite(scores).any(axis=1), best_labels(scores)
        tied = tied or bool((best[known].sum(axis=1) > 1).any())
        assigned = np.where(known, choose_label(best, ties), mapping)
        if trace and np.array_equal(assigned, mapping):
            trace.append(trace[-1])
            return HardRun(mapping, matrix, trace[-1], tuple(trace), converged=True, stop=Stop.FINISHED, tied=tied)
        mapping = assigned
        responses, tasks = buckets.by_label(mapping)
        trace.append(float(objective.total(responses, tasks)))
        matrix = refit(problem, responses, matrix, drop=True)
        log_shares = objective.log_shares(tasks) if objective.kind == "estimated" else log_shares
        stop = watch.reached(trace[-1], len(trace))
    return HardRun(mapping, matrix, trace[-1], tuple(trace), converged=False, stop=stop or Stop.FINISHED, tied=tied)


def em(problem: Problem, limits: Limits) -> Outcome:
    """EM(*): the likeliest end of hard EM from the starts 1, 2 and 3, the first among equals."""
    return _likeliest(problem, limits, START_NAMES)


def em1(problem: Problem, limits: Limits) -> Outcome:
    """EM(1): hard EM from workers who are mostly right."""
    return _likeliest(problem, limits, ("1",))


def em2(problem: Problem, limits: Limits) -> Outcome:
    """EM(2): hard EM from workers who guess."""
    return _likeliest(problem, limits, ("2",))


def em3(problem: Problem, limits: Limits) -> Outcome:
    """EM(3): hard EM from workers who are mostly wrong."""
    return _likeliest(problem, limits, ("3",))


def _likeliest(problem: Problem, limits: Limits, names: tuple[str, ...]) -> Outcome:
    watch, runs = Watch(problem, limits), list[HardRun]()
    for name in names:
        runs.append(run := _climb(problem, name, watch, MAX_ROUNDS))
        watch.best, watch.rounds = max(watch.best, run.value), watch.rounds + run.rounds
        if run.stop is not Stop.FINISHED:
            break
    mapping = _named(problem, likeliest(problem, runs).mapping)
    value = problem.objective.of_mapping(problem.buckets, mapping)
    work = watch.rounds * problem.buckets.n_buckets
    return Outcome(mapping, value, bound=None, space=problem.space, work=work, stop=runs[-1].stop)


def _named(problem: Problem, mapping: Ints) -> Ints:
    """The mapping under the names that agree with most responses, if its likelihood is the same under all of them."""
    if not problem.objective.interchangeable:
        return mapping
    return renamed(replace(problem, space=Space.ALL), mapping)  # EM looks at no order, so neither do its names


def likeliest(problem: Problem, runs: Sequence[HardRun]) -> HardRun:
    """The likeliest of several runs, the first of equals: rounding is not to choose between mirror images."""
    best = max(run.value for run in runs)
    return next(run for run in runs if run.value >= best - problem.tolerance(best))


EM1 = Engine("em1", em1)
EM2 = Engine("em2", em2)
EM3 = Engine("em3", em3)
EM = Engine("em", em)
