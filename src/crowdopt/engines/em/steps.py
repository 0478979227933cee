"""What hard and soft EM have in common: where they start, how they assign and refit, and when they stop.

Both end where their start leads them, so starts have names: "1", "2" and "3" are the paper's, "vote" is the matrix of
the majority vote.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from crowdopt.errors import InputError
from crowdopt.model.objective import MIN_TOLERANCE, response_matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from crowdopt._arrays import Bools, Counts, Floats, Ints
    from crowdopt.engines.base import Limits
    from crowdopt.model.certificate import Stop
    from crowdopt.model.problem import Problem

    Start: TypeAlias = str | ArrayLike

START_NAMES = ("1", "2", "3")
"""The paper's starts: workers who are mostly right, who guess, and who are mostly wrong."""

Ties = Literal["lowest", "highest"]
"""Which of the labels that explain a bucket equally well hard EM gives it."""

MAX_ROUNDS = 1000
"""Rounds after which a run that has not converged ends."""

# As the paper prints them: columns are true labels. The middle column of EM(3) sums to 1.01, so it is normalised.
_PAPER_RATINGS = {
    "1": ((0.60, 0.33, 0.07), (0.33, 0.34, 0.33), (0.07, 0.33, 0.60)),
    "2": ((0.34, 0.33, 0.33), (0.33, 0.34, 0.33), (0.33, 0.33, 0.34)),
    "3": ((0.07, 0.33, 0.60), (0.33, 0.34, 0.33), (0.60, 0.34, 0.07)),
}


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


@dataclass
class Watch:
    """Asks the limits on behalf of one run after another; ``best`` and ``rounds`` are those of the runs before.

    Rounds are counted (MAX_ROUNDS), so no clock is asked: it must not decide what comes out.
    """

    problem: Problem
    limits: Limits
    best: float = -math.inf
    rounds: int = 0

    def reached(self, value: float, rounds: int) -> Stop | None:
        """Whether to stop, and why."""
        work = (self.rounds + rounds) * self.problem.buckets.n_buckets
        return self.limits.without_clock.reached(max(self.best, value), self.problem.plain_bound, work)


def start_matrix(problem: Problem, start: Start) -> Floats:
    """The start as a matrix [class, true, answered] whose rows sum to one, or are NaN where nothing is known."""
    n_labels, shape = problem.buckets.n_labels, (problem.buckets.n_classes, *[problem.buckets.n_labels] * 2)
    if isinstance(start, str) and start == "vote":
        responses, _ = problem.buckets.by_label(_votes(problem))
        return refit(problem, responses, np.full(shape, 1 / n_labels), drop=True)
    if isinstance(start, str):
        return np.array(np.broadcast_to(named_start(start, n_labels), shape))
    try:
        matrix = np.asarray(start, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"the start of EM must be a response matrix or a name: {error}") from error
    if matrix.shape not in {shape, shape[1:]}:
        raise InputError(f"the start of EM must have shape {shape[1:]} or {shape}, not {matrix.shape}")
    known = matrix[~np.isnan(matrix).all(axis=-1)]
    if not len(known) or not (np.isfinite(known) & (known >= 0)).all() or not (known > 0).any(axis=-1).all():
        raise InputError("every row of the start of EM must hold numbers of at least 0, and not only zeros")
    matrix = matrix / matrix.max(axis=-1, keepdims=True)  # else the sum of huge entries would overflow
    return np.array(np.broadcast_to(matrix / matrix.sum(axis=-1, keepdims=True), shape))


def _votes(problem: Problem) -> Ints:
    """The majority vote among the labels whose share is not given as zero; the lowest of equals."""
    allowed = np.flatnonzero(problem.objective.shares or np.ones(problem.buckets.n_labels))
    return np.asarray(allowed[problem.buckets.counts.sum(axis=1)[:, allowed].argmax(axis=1)])


def first_log_shares(problem: Problem) -> Floats:
    """Ln of the given shares, else of uniform ones."""
    n_labels = problem.buckets.n_labels
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(problem.objective.shares or np.full(n_labels, 1 / n_labels)), dtype=float)


def refit(problem: Problem, responses: Counts, last: Floats, *, drop: bool) -> Floats:
    """The best matrix for N[label, class, answer] and offsets; rows about which nothing is known are those of ``last``.

    Any row would be as good there, as long as it is a distribution: if its responses were free of charge, F could fall.
    With ``drop`` the rows of labels without any counts are NaN.
    """
    fitted = response_matrix(responses, problem.objective)
    unknown = np.isnan(fitted)
    gone = np.asarray(unknown.all(axis=(0, 2)))[:, None] & drop
    return np.where(unknown & ~gone, last, fitted)


def scores_of(problem: Problem, matrix: Floats, log_shares: Floats) -> Floats:
    """How well every label (column) explains a task of every bucket (row): Σ x ln p + ln π; -inf if it cannot."""
    rows = flat(np.swapaxes(matrix, 0, 1))
    counts = flat(problem.buckets.counts)
    scores = counts @ np.log(np.where(rows > 0, rows, 1.0)).T + log_shares
    impossible = counts @ (rows == 0).T.astype(float) > 0
    return np.where(impossible | np.isnan(rows).any(axis=1), -np.inf, scores)


def best_labels(scores: Floats) -> Bools:
    """Whether a score is the highest of its row, or only rounding may tell the two apart."""
    best = scores.max(axis=1, keepdims=True)
    # A score is a sum of products of counts and logarithms: some hundred units in its last place are rounding.
    return np.asarray(scores >= best - np.maximum(MIN_TOLERANCE, 1e-13 * np.abs(best)))


def choose_label(best: Bools, ties: Ties) -> Ints:
    """One column of each row that is among the best."""
    return np.asarray(best.argmax(axis=1) if ties == "lowest" else best.shape[1] - 1 - best[:, ::-1].argmax(axis=1))


def flat(counts: Counts) -> Floats:
    """One row per bucket or label, all else in columns."""
    return counts.reshape(len(counts), -1).astype(float)


def check_rounds(max_rounds: int) -> None:
    """Raises if there would be no round at all."""
    if max_rounds < 1:
        raise InputError(f"EM takes at least one round, not {max_rounds}")
