"""Member ``vote``: a weighted vote, in which every worker has one precision.

The weight of a worker's votes is 1 / (mean squared distance from the shares of the votes), pulled to that of all
workers with the weight of fifteen responses; every task has one more vote, for the mean shares of the labels. It is
good with few responses, and its probabilities are modest (iBWA: Li, Rubinstein and Cohn, WWW 2019).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.kernels import vote_round
from crowdopt.consensus.parameters import Fitted, Parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Floats
    from crowdopt.consensus.rows import RowParts, Rows

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
        precision = _exact((PULL + load) / (scale + residual))
        prior = total / rows.n_tasks if shares is None else shares
        change, residual, total = _round(rows, precision, prior, votes)
    population = {"vote_shares": prior, "vote_precision": np.array(PULL / scale)}
    return Fitted(Parameters(population, {"vote_precision": precision}), n_rounds, partial(_spread, scale=scale))


def _spread(parts: RowParts, start: Parameters, n_passes: int, scale: float) -> Parameters:
    """The precisions of all workers, by some passes over all responses."""
    precision, prior = start.workers["vote_precision"], start.population["vote_shares"]
    for _ in range(n_passes):
        residual, load = np.zeros(parts.n_workers), np.zeros(parts.n_workers)
        for rows in parts:
            load += np.bincount(rows.worker, minlength=rows.n_workers)
            residual += _round(rows, precision, prior, np.zeros((rows.n_tasks, rows.n_labels)))[1]
        precision = _exact((PULL + load) / (scale + residual))
    return Parameters(start.population, {"vote_precision": precision})


def _round(rows: Rows, precision: Floats, prior: Floats, votes: Floats) -> tuple[float, Floats, Floats]:
    residual, total = np.zeros(rows.n_workers), np.zeros(rows.n_labels)
    flat = rows.start, rows.worker, rows.answer, rows.known
    return vote_round(*flat, precision, prior, votes, residual, total), residual, total


def _exact(precision: Floats) -> Floats:
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
