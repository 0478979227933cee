"""Expectation maximisation, as it is usually done: for comparison, and proving nothing.

*Hard* EM is the one that the paper compares with. It gives every bucket the label that explains it best, fits the
response matrix to that mapping, and repeats; it maximises F, and stops at the first mapping that its own matrix
confirms. *Soft* EM is the textbook's: it weighs labels by their posterior probability and maximises the marginal
likelihood, in which the labels are summed over, not F. Both end where their start leads them, so starts have names:
"1", "2" and "3" are the paper's, "vote" is the matrix of the majority vote. A round takes
O(buckets · labels² · classes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crowdopt.certificate import Stop
from crowdopt.errors import InputError
from crowdopt.objective import MIN_TOLERANCE, response_matrix
from crowdopt.solve.engine import Limits, Outcome

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from crowdopt.problem import Problem
    from crowdopt.types import Counts, Floats, Ints

    Start: TypeAlias = str | ArrayLike

START_NAMES = ("1", "2", "3")
"""The paper's starts: workers who are mostly right, who guess, and who are mostly wrong."""

MAX_ROUNDS = 1000
"""Rounds after which a run that has not converged ends."""

# As the paper prints them: columns are true labels. The middle column of EM(3) sums to 1.01, so it is normalised.
_PAPER_RATINGS = {
    "1": ((0.60, 0.33, 0.07), (0.33, 0.34, 0.33), (0.07, 0.33, 0.60)),
    "2": ((0.34, 0.33, 0.33), (0.33, 0.34, 0.33), (0.33, 0.33, 0.34)),
    "3": ((0.07, 0.33, 0.60), (0.33, 0.34, 0.33), (0.60, 0.34, 0.07)),
}


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
    """

    mapping: Ints
    matrix: Floats
    value: float
    trace: tuple[float, ...]
    converged: bool
    stop: Stop

    @property
    def rounds(self) -> int:
        """Number of assignments."""
        return len(self.trace)


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


def hard_em(problem: Problem, start: Start, *, limits: Limits | None = None, max_rounds: int = MAX_ROUNDS) -> HardRun:
    """Assigns and refits in turn until the mapping repeats.

    F never falls from one round to the next: at a fixed matrix every bucket goes where it is explained at least as well
    as before, and refitting is at least as good for the new mapping. (Scores closer than MIN_TOLERANCE count as equal,
    which can cost that much per task.) A label that loses its last task has no row to attract others with, and is out
    for good, unless it has offsets. A bucket that no label can explain, which only zeros in ``start`` bring about,
    stays where it was, at first under the lowest label allowed.

    **Ties** go to the lowest of the labels that explain a bucket equally well. The paper states no rule, but its EM(2)
    for two labels starts where all labels are equal and is reported to stay near error rates of one half, at a low
    likelihood. So it does here: all buckets get the lowest label, whose row then is the share of each answer. A rule
    that looked at the votes would have made it a majority vote in disguise.

    Args:
        problem: Buckets and objective; the space is not looked at.
        start: Response matrix [true, answered] or [class, true, answered], or the name of a start. Rows are normalised.
        limits: When to stop early; they are asked after every round but the last.
        max_rounds: Assignments, at most.

    >>> from crowdopt.buckets import Buckets
    >>> from crowdopt.problem import Problem
    >>> crowd = Problem(Buckets.from_arrays([[0, 3], [1, 2], [2, 1], [3, 0]], [30, 12, 9, 49])[0])
    >>> for name in START_NAMES:
    ...     run = hard_em(crowd, name)
    ...     print(name, run.mapping, round(run.value, 3), run.rounds)
    1 [1 1 0 0] -75.046 2
    2 [0 0 0 0] -203.058 2
    3 [0 0 1 1] -75.046 2
    """
    return _climb(problem, start, _Watch(problem, limits or Limits(math.inf)), max_rounds)


def _climb(problem: Problem, start: Start, watch: _Watch, max_rounds: int) -> HardRun:
    _check_rounds(max_rounds)
    buckets, objective = problem.buckets, problem.objective
    matrix, log_shares = _start_matrix(problem, start), _first_log_shares(problem)
    allowed = np.isfinite(log_shares) & ~np.isnan(matrix).any(axis=(0, 2))
    mapping = np.full(buckets.n_buckets, allowed.argmax())
    trace: list[float] = []
    converged, stop = False, None
    while not converged and stop is None and len(trace) < max_rounds:
        scores = _scores(problem, matrix, log_shares)
        assigned = np.where(np.isfinite(scores).any(axis=1), _lowest_best(scores), mapping)
        converged = bool(trace) and np.array_equal(assigned, mapping)
        mapping = assigned
        trace.append(objective.of_mapping(buckets, mapping))
        if converged:
            break
        responses, tasks = buckets.by_label(mapping)
        matrix = _refit(problem, responses, matrix, drop=True)
        log_shares = objective.log_shares(tasks) if objective.kind == "estimated" else log_shares
        stop = watch.reached(trace[-1], len(trace))
    return HardRun(mapping, matrix, trace[-1], tuple(trace), converged, stop or Stop.FINISHED)


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
    _check_rounds(max_rounds)
    if not tolerance >= 0:  # nor not-a-number
        raise InputError(f"the tolerance must be a number of at least 0, not {tolerance!r}")
    buckets, objective = problem.buckets, problem.objective
    watch = _Watch(problem, limits or Limits(math.inf))
    matrix, log_shares = _start_matrix(problem, start), _first_log_shares(problem)
    trace: list[float] = []
    while True:
        posterior, marginal = _expectation(problem, matrix, log_shares)
        trace.append(marginal)
        mapping = _lowest_best(posterior)
        value = objective.of_mapping(buckets, mapping)
        converged = len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * abs(trace[-1])
        ended = converged or len(trace) >= max_rounds
        stop = None if ended else watch.reached(value, len(trace))
        if ended or stop is not None:
            shares = np.exp(log_shares)
            stop = stop or Stop.FINISHED
            return SoftRun(posterior, matrix, shares, mapping, value, tuple(trace), converged, stop)
        tasks = posterior * buckets.weights[:, None]
        expected = (tasks.T @ _flat(buckets.counts)).reshape(buckets.n_labels, *buckets.counts.shape[1:])
        matrix = _refit(problem, expected, matrix, drop=False)
        if objective.kind == "estimated":
            known = tasks.sum(axis=0) + _known_tasks(problem)
            with np.errstate(divide="ignore"):
                log_shares = np.log(known / known.sum())


def named_start(name: str, n_labels: int) -> Floats:
    """The response matrix [true, answered] behind a name.

    For two and three labels these are the paper's. For others, in the same spirit: "1" makes every step away from the
    truth three times less likely, "2" raises the diagonal by 0.01 above all else, which is equal, and "3" is "1" with
    the true labels in reverse. (The same rules give the paper's "1" and "3" for two labels, and "2" for three.)

    >>> named_start("1", 2).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> named_start("3", 4).round(3).tolist()[0]
    [0.025, 0.075, 0.225, 0.675]
    """
    if name not in START_NAMES:
        raise InputError(f"there is no start {name!r}; there are {', '.join(START_NAMES)} and, for data, vote")
    if n_labels == 3:
        matrix = np.array(_PAPER_RATINGS[name]).T
    elif name == "2":
        raised = 0.0 if n_labels == 2 else 0.01
        matrix = np.full((n_labels, n_labels), (1 - raised) / n_labels) + raised * np.eye(n_labels)
    else:
        matrix = 3.0 ** -np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels)))
        matrix = matrix[::-1] if name == "3" else matrix
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


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


def soft_em_engine(problem: Problem, limits: Limits) -> Outcome:
    """Soft EM from the majority vote, each bucket with its most probable label."""
    run = soft_em(problem, "vote", limits=limits)
    work = run.rounds * problem.buckets.n_buckets
    return Outcome(run.mapping, run.value, bound=None, space=problem.space, work=work, stop=run.stop)


def _likeliest(problem: Problem, limits: Limits, names: tuple[str, ...]) -> Outcome:
    watch, runs = _Watch(problem, limits), list[HardRun]()
    for name in names:
        runs.append(run := _climb(problem, name, watch, MAX_ROUNDS))
        watch.best, watch.rounds = max(watch.best, run.value), watch.rounds + run.rounds
        if run.stop is not Stop.FINISHED:
            break
    # Mirror images are equally likely, and rounding is not to choose between them.
    best = next(run for run in runs if run.value >= watch.best - problem.tolerance(watch.best))
    work = watch.rounds * problem.buckets.n_buckets
    return Outcome(best.mapping, best.value, bound=None, space=problem.space, work=work, stop=runs[-1].stop)


@dataclass
class _Watch:
    """Asks the limits on behalf of one run after another; ``best`` and ``rounds`` are those of the runs before."""

    problem: Problem
    limits: Limits
    best: float = -math.inf
    rounds: int = 0

    def reached(self, value: float, rounds: int) -> Stop | None:
        """Whether to stop, and why."""
        work = (self.rounds + rounds) * self.problem.buckets.n_buckets
        return self.limits.reached(max(self.best, value), self.problem.plain_bound, work)


def _start_matrix(problem: Problem, start: Start) -> Floats:
    """The start as a matrix [class, true, answered] whose rows sum to one, or are NaN where the vote says nothing."""
    n_labels, shape = problem.buckets.n_labels, (problem.buckets.n_classes, *[problem.buckets.n_labels] * 2)
    if isinstance(start, str) and start == "vote":
        responses, _ = problem.buckets.by_label(_votes(problem))
        return _refit(problem, responses, np.full(shape, 1 / n_labels), drop=True)
    try:
        matrix = named_start(start, n_labels) if isinstance(start, str) else np.asarray(start, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"the start of EM must be a response matrix or a name: {error}") from error
    if matrix.shape not in {shape, shape[1:]}:
        raise InputError(f"the start of EM must have shape {shape[1:]} or {shape}, not {matrix.shape}")
    if not (np.isfinite(matrix) & (matrix >= 0)).all() or not (matrix > 0).any(axis=-1).all():
        raise InputError("every row of the start of EM must hold numbers of at least 0, and not only zeros")
    matrix = matrix / matrix.max(axis=-1, keepdims=True)  # else the sum of huge entries would overflow
    return np.array(np.broadcast_to(matrix / matrix.sum(axis=-1, keepdims=True), shape))


def _votes(problem: Problem) -> Ints:
    """The majority vote among the labels whose share is not given as zero; the lowest of equals."""
    allowed = np.flatnonzero(problem.objective.shares or np.ones(problem.buckets.n_labels))
    return np.asarray(allowed[problem.buckets.counts.sum(axis=1)[:, allowed].argmax(axis=1)])


def _first_log_shares(problem: Problem) -> Floats:
    """Ln of the given shares, else of uniform ones."""
    n_labels = problem.buckets.n_labels
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(problem.objective.shares or np.full(n_labels, 1 / n_labels)), dtype=float)


def _refit(problem: Problem, responses: Counts, last: Floats, *, drop: bool) -> Floats:
    """The best matrix for N[label, class, answer] and offsets; rows about which nothing is known are those of ``last``.

    Any row would be as good there, as long as it is a distribution: if its responses were free of charge, F could fall.
    With ``drop`` the rows of labels without any counts are NaN.
    """
    fitted = response_matrix(responses, problem.objective)
    unknown = np.isnan(fitted)
    gone = np.asarray(unknown.all(axis=(0, 2)))[:, None] & drop
    return np.where(unknown & ~gone, last, fitted)


def _scores(problem: Problem, matrix: Floats, log_shares: Floats) -> Floats:
    """How well every label (column) explains a task of every bucket (row): Σ x ln p + ln π; -inf if it cannot."""
    rows = _flat(np.swapaxes(matrix, 0, 1))
    counts = _flat(problem.buckets.counts)
    scores = counts @ np.log(np.where(rows > 0, rows, 1.0)).T + log_shares
    impossible = counts @ (rows == 0).T.astype(float) > 0
    return np.where(impossible | np.isnan(rows).any(axis=1), -np.inf, scores)


def _expectation(problem: Problem, matrix: Floats, log_shares: Floats) -> tuple[Floats, float]:
    """The posterior (bucket, label), and the marginal log-likelihood."""
    objective = problem.objective
    scores = _scores(problem, matrix, log_shares)
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


def _lowest_best(scores: Floats) -> Ints:
    """The column of the highest score in each row; the lowest of those that rounding may have told apart."""
    best = scores.max(axis=1, keepdims=True)
    return np.asarray((scores >= best - np.maximum(MIN_TOLERANCE, 1e-13 * np.abs(best))).argmax(axis=1))


def _flat(counts: Counts) -> Floats:
    """One row per bucket or label, all else in columns."""
    return counts.reshape(len(counts), -1).astype(float)


def _check_rounds(max_rounds: int) -> None:
    if max_rounds < 1:
        raise InputError(f"EM takes at least one round, not {max_rounds}")
