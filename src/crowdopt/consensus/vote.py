"""Member ``vote``: a weighted vote, in which every worker has one precision.

The weight of a worker's votes is 1 / (mean squared distance from the shares of the votes), pulled to that of all
workers with the weight of fifteen responses; every task has one more vote, for the mean shares of the labels. It is
good with few responses, and its probabilities are modest (iBWA: Li, Rubinstein and Cohn, WWW 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crowdopt.consensus.cells import AnswerCells
from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.kernels import vote_round
from crowdopt.consensus.parameters import Fitted, Parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crowdopt._arrays import Floats
    from crowdopt.consensus.rows import Rows

PULL = 15.0
"""Responses whose weight the precision of all workers has in that of one."""

MAX_ROUNDS = 200
SETTLED = 1e-6
LEAST_RESIDUAL = 1.0
"""Squared distances of all responses together: where all agree, it is as if one did not."""


def fit_vote(rows: Rows, shares: Floats | None, on_round: Callable[[], None]) -> Fitted:
    """Fits the member; the shares of the labels are those given, if there are any."""
    load = np.bincount(rows.worker, minlength=rows.n_workers)
    votes, prior = rows.start_shares.copy(), np.zeros(rows.n_labels)
    _, residual, total = _round(rows, np.ones(rows.n_workers), prior, votes)
    scale = PULL * max(residual.sum(), LEAST_RESIDUAL) / max(load.sum(), 1)
    change, n_rounds = np.inf, 0
    while change >= SETTLED and n_rounds < MAX_ROUNDS:
        n_rounds += 1
        on_round()
        precision = exact_precisions((PULL + load) / (scale + residual))
        prior = total / rows.n_tasks if shares is None else shares
        change, residual, total = _round(rows, precision, prior, votes)
    population = {"vote_shares": prior, "vote_precision": np.array(PULL / scale)}
    return Fitted(Parameters(population, {"vote_precision": precision}), n_rounds, VoteLearner(prior, float(scale)))


@dataclass(frozen=True, eq=False)
class VoteLearner:
    """Learns the precisions of workers; see ``learning.Learner``.

    Attributes:
        shares: The mean shares of the labels, which every task has as one more vote.
        scale: The squared distances that pull a precision to that of all workers.
    """

    name: ClassVar = "vote_precision"
    rows: ClassVar = {"residual": "worker", "load": "worker"}
    cells = staticmethod(AnswerCells.none)

    shares: Floats
    scale: float

    def begin(self, values: Floats, cells: AnswerCells) -> dict[str, Floats]:
        """The precisions, by worker."""
        del cells
        return {"precision": values}

    def look(self, parts: Iterable[Rows], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """How far workers are from the votes, and how often they answered."""
        residual, load = np.zeros(cells.n_workers), np.zeros(cells.n_workers)
        for rows in parts:
            load += np.bincount(rows.worker, minlength=rows.n_workers)
            residual += _round(rows, tables["precision"], self.shares, np.zeros((rows.n_tasks, rows.n_labels)))[1]
        return {"residual": residual, "load": load}

    def learn(self, sums: dict[str, Floats], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """The precisions that follow."""
        del cells, tables
        return {"precision": exact_precisions((PULL + sums["load"]) / (self.scale + sums["residual"]))}

    def parameters(self, cells: AnswerCells, tables: dict[str, Floats]) -> Floats:
        """The precisions, by worker."""
        del cells
        return tables["precision"]


def _round(rows: Rows, precision: Floats, prior: Floats, votes: Floats) -> tuple[float, Floats, Floats]:
    residual, total = np.zeros(rows.n_workers), np.zeros(rows.n_labels)
    flat = rows.start, rows.worker, rows.answer, rows.known
    return vote_round(*flat, precision, prior, votes, residual, total), residual, total


def exact_precisions(precision: Floats) -> Floats:
    """Precisions of whose sums over a task none is rounded."""
    return on_grid(precision, float(np.exp2(np.ceil(np.log2(precision.max(initial=1.0))) - 42)))


def vote_labels(rows: Rows, parameters: Parameters) -> Floats:
    """The probabilities of the labels of every task."""
    votes = np.zeros((rows.n_tasks, rows.n_labels))
    _round(rows, parameters.workers["vote_precision"], parameters.population["vote_shares"], votes)
    return votes


def vote_labels_without(rows: Rows, parameters: Parameters) -> Floats:
    """For every response those of its task, without the responses of this worker to it."""
    weight = parameters.workers["vote_precision"][rows.worker]
    pair = np.cumsum(np.diff(rows.task * rows.n_workers + rows.worker, prepend=-1) != 0) - 1
    own, votes = (
        np.bincount(at * rows.n_labels + rows.answer, weight, n * rows.n_labels).reshape(n, -1)
        for at, n in ((pair, pair.max(initial=-1) + 1), (rows.task, rows.n_tasks))
    )
    left = parameters.population["vote_shares"] + votes[rows.task] - own[pair]
    held = rows.known[rows.task]
    shares = left / left.sum(axis=1, keepdims=True)
    return np.where(held[:, None] >= 0, np.eye(rows.n_labels)[held], shares)
