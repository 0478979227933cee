"""Member ``kinds``: two kinds of tasks for every label, plain and contested, and a row of every worker for each.

It finds groups of workers that err together. A worker's row is drawn around the row of the kind, which is pooled over
the workers and pulled to that of the label, and that to even errors. An anchor on the right answer keeps the names of
labels: without it they swap (after EBCC: Li, Rubinstein and Cohn, ICML 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crowdopt.consensus.cells import AnswerCells
from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.parameters import Fitted, Parameters
from crowdopt.consensus.pooling import Pooling, even_errors, of_sum_one
from crowdopt.consensus.states import States, by_cell, by_label, log_table, logs_of_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crowdopt._arrays import Floats
    from crowdopt.consensus.rows import Rows

N_KINDS = 2
PULL = 10.0
"""Weight, for each label, of the label's row in that of a kind, and of even errors in the label's row."""

ANCHOR = 3.0
"""Pseudo-counts of the right answer in every row, over the number of other labels."""

SHARE_PULL = 0.3
"""Weight of the vote shares in the shares of the labels, for each task; and one task for each label."""

FAINT = 1e-3
"""What every kind has of every task to begin with."""

WARM_UP = 3
"""Rounds with the first strength."""

MIN_ROUNDS, MAX_ROUNDS = 8, 40
"""See ``tilted.MAX_ROUNDS``."""

SETTLED = 1e-3


def fit_kinds(rows: Rows, shares: Floats | None, on_round: Callable[[], None]) -> Fitted:
    """Fits the member; the shares of the labels are those given, if there are any."""
    n_labels, states = rows.n_labels, _first_states(rows)
    cells = AnswerCells.answered([rows], rows.n_workers, n_labels)
    prior_labels = 1 + SHARE_PULL * on_grid(rows.start_shares).sum(axis=0)
    exact = on_grid(states)
    counts, sums = cells.counts(rows, exact), exact.sum(axis=0)
    pool = _first_pool(cells.table(counts))
    for n_rounds in range(1, MAX_ROUNDS + 1):
        on_round()
        totals = cells.totals(counts)
        pool = _pooled(pool, cells, counts, totals, warm=n_rounds > WARM_UP)
        labels = by_label(sums, n_labels) + prior_labels
        state_shares = _shares(sums, labels / labels.sum() if shares is None else shares)
        prior = _prior(pool)
        table = _table(cells, prior, counts, totals)
        tables, last = States.plain(cells, log_table(table), logs_of_shares(state_shares)), counts
        change, kinds, counts, _ = tables.expect(rows, states)
        sums = kinds[-1]
        if change < SETTLED and n_rounds >= MIN_ROUNDS:
            break
    population = {"kinds_shares": state_shares, "kinds_matrix": of_sum_one(prior).T}
    parameters = Parameters(population, {"kinds_matrix": _matrices(cells, prior, last)})
    return Fitted(parameters, n_rounds, KindsLearner(state_shares, prior))


@dataclass(frozen=True, eq=False)
class KindsLearner:
    """Learns the matrices of workers; what is expected of every worker stays. See ``learning.Learner``.

    Attributes:
        shares: The shares of the states.
        prior: What is expected of every worker, as pseudo-counts (answer, state).
    """

    name: ClassVar = "kinds_matrix"
    rows: ClassVar = {"kinds": "answered"}
    cells = staticmethod(AnswerCells.answered)

    shares: Floats
    prior: Floats

    def begin(self, values: Floats, cells: AnswerCells) -> dict[str, Floats]:
        """The matrices, by answered cell."""
        return {"table": by_cell(values, cells)[: cells.n_answered]}

    def look(self, parts: Iterable[Rows], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """The expected answers."""
        states = States.plain(cells, log_table(tables["table"]), logs_of_shares(self.shares))
        return {"kinds": states.learn(parts)[0]}

    def learn(self, sums: dict[str, Floats], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """The matrices that follow, and the expected answers."""
        del tables
        counts = sums["kinds"]
        return {"table": _table(cells, self.prior, counts, cells.totals(counts)), "counts": counts}

    def parameters(self, cells: AnswerCells, tables: dict[str, Floats]) -> Floats:
        """The matrices (worker, state, answer)."""
        return _matrices(cells, self.prior, tables["counts"])


def _table(cells: AnswerCells, prior: Floats, counts: Floats, totals: Floats) -> Floats:
    """How likely each answer is in each state (answered cell, state)."""
    answered = slice(cells.n_answered)
    table = prior[cells.label[answered]]
    table += counts
    table /= (totals + prior.sum(axis=0))[cells.worker[answered]]
    return table


def _matrices(cells: AnswerCells, prior: Floats, counts: Floats) -> Floats:
    """The workers' matrices (worker, state, answer)."""
    matrix = np.tile(prior, (len(cells.index), 1, 1))
    answered = slice(cells.n_answered)
    matrix[cells.worker[answered], cells.label[answered]] += counts
    return np.ascontiguousarray(np.swapaxes(of_sum_one(matrix), 1, 2))


def kinds_states(parameters: Parameters) -> States:
    """How likely answers are, by label and kind."""
    matrix, shares = parameters.workers["kinds_matrix"], parameters.population["kinds_shares"]
    cells = AnswerCells.every(len(matrix), matrix.shape[2])
    return States.plain(cells, log_table(by_cell(matrix, cells)), logs_of_shares(shares))


def _first_states(rows: Rows) -> Floats:
    """A label's tasks are the more contested the more votes are for others."""
    held = np.where(rows.known[:, None] >= 0, rows.start_shares, rows.shares)
    states = held[:, :, None] * np.stack([rows.shares + FAINT, 1 - rows.shares + FAINT], axis=2)
    return np.asarray(states / states.sum(axis=(1, 2), keepdims=True)).reshape(rows.n_tasks, -1)


def _right(table: Floats) -> float:
    """How many of a table (answer, state) are right answers."""
    return float(np.trace(by_label(table, len(table))))


def _first_pool(table: Floats) -> Pooling:
    n_labels, n_states = table.shape
    size = max(table.sum(), 1.0)
    accuracy = min(_right(table) / size, 1 - 1 / (size + 2))  # an error that never occurred is not impossible
    even = even_errors(np.array([accuracy]), n_labels).repeat(N_KINDS, axis=2)
    return Pooling.around(of_sum_one(table + 0.1 * size / n_states * even))


def _pooled(pool: Pooling, cells: AnswerCells, counts: Floats, totals: Floats, *, warm: bool) -> Pooling:
    n_labels, weights = pool.mean.shape[1], np.ones((len(totals), 1))
    for _ in range(2):
        tables, sizes = pool.tables(cells, counts, totals, weights)
        even = even_errors(np.array([(_right(tables[0]) + 0.5) / (tables.sum() + 1)]), n_labels)
        of_label = of_sum_one(by_label(tables, n_labels) + PULL * n_labels * even)
        pool = Pooling(of_sum_one(tables + PULL * n_labels * of_label.repeat(N_KINDS, axis=2)), pool.strength)
        if warm:
            pool = pool.stronger(tables, sizes)
    return pool


def _prior(pool: Pooling) -> Floats:
    """What is expected of every worker, as pseudo-counts (answer, state)."""
    n_labels = pool.mean.shape[1]
    anchor = ANCHOR / max(n_labels - 1, 1) * np.eye(n_labels).repeat(N_KINDS, axis=1)
    return np.asarray(pool.alpha[0] + anchor)


def _shares(sums: Floats, labels: Floats) -> Floats:
    """The shares of the states, given those of the labels."""
    kinds = sums.reshape(-1, N_KINDS) + 0.5
    return np.asarray((labels[:, None] * kinds / kinds.sum(axis=1, keepdims=True)).ravel())
