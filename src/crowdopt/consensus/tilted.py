"""Member ``tilted``: a matrix for every worker, and tasks that draw everybody to some label.

A task has a label z, and a tilt to a label d, or none. A tilt lifts the answer d of everybody by a factor e^β: one to
the label itself makes a task easy, any other makes it misleading. Only tilts to labels that a task received are tried.
Workers belong to four classes, softly; the rows of their matrices are drawn around those of their class.

Each round takes the probabilities of (label, tilt) given the matrices, then a step of the matrices that never lowers
their bound (Bradley-Terry, by minorisation), then what the classes have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crowdopt.consensus.cells import AnswerCells
from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.parameters import Fitted, Parameters
from crowdopt.consensus.pool_kernels import tilted_matrices
from crowdopt.consensus.pooling import Pooling, even_errors, of_sum_one
from crowdopt.consensus.states import States, by_cell, log_table, logs_of_shares
from crowdopt.consensus.threads import by_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crowdopt._arrays import Floats
    from crowdopt.consensus.rows import Rows

BETA = 1.5
"""How much a tilt lifts the logarithm of an answer."""

N_CLASSES = 4
PULL = 40.0
"""Weight, for each label, with which the rows of a class are pulled to those of workers who err evenly."""

SHARE_PULL = 0.1
"""Weight of the vote shares in the shares of the labels, for each task; and one task for each label."""

KIND_SHARES = (0.6, 0.2, 0.2)
"""Shares of tasks without a tilt, easy and misleading, to begin with."""

KIND_PULL = 0.05
"""The weight of these, for each task."""

WARM_UP = 3
"""Rounds without tilts, and with the first strengths."""

MIN_ROUNDS, MAX_ROUNDS = 10, 40
"""Further rounds drift: with few responses they make labels right less often, and with many no more often."""

SETTLED = 1e-3
LEAST = 1e-9
"""The least probability of an answer."""


@dataclass(frozen=True, eq=False)
class _Answers:
    """What a round found of the workers.

    Attributes:
        counts: Expected answers (answered cell, label).
        totals: Sums of them (worker, label).
        pulled: Expected tasks that are tilted to the label of a cell (cell, label).
    """

    counts: Floats
    totals: Floats
    pulled: Floats


@dataclass(frozen=True, eq=False)
class _Found(_Answers):
    """What a round found.

    Attributes:
        kinds: Expected tasks (tilt or none, label), and the pseudo-counts.
        labels: Expected tasks (label).
    """

    kinds: Floats
    labels: Floats


def fit_tilted(rows: Rows, shares: Floats | None, on_round: Callable[[], None]) -> Fitted:
    """Fits the member; the shares of the labels are those given, if there are any."""
    cells, states = AnswerCells.met([rows], rows.n_workers, rows.n_labels), rows.start_shares.copy()
    found = _first_found(rows, cells)
    first_kinds, total = found.kinds, found.labels
    prior_labels = 1 + SHARE_PULL * rows.n_tasks * (total + 1) / (rows.n_tasks + rows.n_labels)
    matrix, other = np.zeros_like(found.pulled), np.zeros((rows.n_workers, rows.n_labels))
    weights = _first_weights(rows)
    pool = _first_pool(cells, found, weights)
    for n_rounds in range(1, MAX_ROUNDS + 1):
        on_round()
        beta = BETA if n_rounds > WARM_UP else 0.0
        pool = _pooled(pool, cells, found, weights, warm=beta > 0)
        weights = _class_weights(pool, cells, found, _sizes(weights))
        _step(cells, found, weights, pool, matrix, other)
        population = {
            "tilted_shares": _normal(found.labels + prior_labels) if shares is None else shares,
            "tilted_kinds": _normal(found.kinds.T),
        }
        change, kinds, counts, pulled = _states(cells, population, matrix, beta).expect(rows, states)
        found = _Found(counts, cells.totals(counts), pulled, first_kinds + kinds * (beta > 0), kinds.sum(axis=0))
        if change < SETTLED and n_rounds >= MIN_ROUNDS:
            break
    sizes = _sizes(weights)
    population["tilted_matrix"] = np.maximum(np.tensordot(sizes, pool.mean, 1), LEAST).T
    parameters = Parameters(population, {"tilted_matrix": _matrices(cells, pool, weights, matrix, other)})
    return Fitted(parameters, n_rounds, TiltedLearner(population, pool, sizes))


@dataclass(frozen=True, eq=False)
class TiltedLearner:
    """Learns the matrices of workers; classes and their sizes stay. See ``learning.Learner``.

    Attributes:
        population: What is known of the population.
        pool: What the classes of workers have in common.
        sizes: The shares of the classes.
    """

    name: ClassVar = "tilted_matrix"
    rows: ClassVar = {"counts": "answered", "pulled": "cell", "matrix": "cell"}
    cells = staticmethod(AnswerCells.met)

    population: dict[str, Floats]
    pool: Pooling
    sizes: Floats

    def begin(self, values: Floats, cells: AnswerCells) -> dict[str, Floats]:
        """The matrices, by cell."""
        return {"matrix": by_cell(values, cells)}

    def look(self, parts: Iterable[Rows], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """The expected answers, and tilts."""
        counts, pulled = _states(cells, self.population, tables["matrix"], BETA).learn(parts)
        return {"counts": counts, "pulled": pulled}

    def learn(self, sums: dict[str, Floats], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """One step of the matrices, in place."""
        found = _Answers(sums["counts"], cells.totals(sums["counts"]), sums["pulled"])
        weights, other = _class_weights(self.pool, cells, found, self.sizes), np.zeros_like(found.totals)
        _step(cells, found, weights, self.pool, tables["matrix"], other)
        return {"matrix": tables["matrix"], "weights": weights, "other": other}

    def parameters(self, cells: AnswerCells, tables: dict[str, Floats]) -> Floats:
        """The matrices (worker, label, answer)."""
        return _matrices(cells, self.pool, tables["weights"], tables["matrix"], tables["other"])


def _step(cells: AnswerCells, found: _Answers, weights: Floats, pool: Pooling, matrix: Floats, other: Floats) -> None:
    """Improves the matrices in place."""
    of_class = pool.alpha, pool.strength, np.expm1(BETA), LEAST

    def part(first: int, last: int) -> None:
        of_workers = (one[first:last] for one in (cells.index, weights, other))
        tilted_matrices(found.counts, found.pulled, *of_workers, *of_class, matrix)

    by_parts(part, len(weights), 10 * matrix.size)


def tilted_states(parameters: Parameters) -> States:
    """How likely answers are, by label and tilt."""
    matrix = parameters.workers["tilted_matrix"]
    cells = AnswerCells.every(len(matrix), matrix.shape[2])
    return _states(cells, parameters.population, by_cell(matrix, cells), BETA)


def over_tilts(matrices: Floats, kinds: Floats) -> Floats:
    """How workers answer the tasks of a label, whatever their tilts: the mean over these, by their shares.

    Args:
        matrices: How they answer without a tilt (worker, label, answer).
        kinds: The shares of the tilts, the last of none (label, tilt).
    """
    factor = np.expm1(BETA)
    lifted = kinds[:, :-1] / (1 + factor * matrices)
    return np.asarray(matrices * (kinds[:, -1:] + lifted.sum(axis=-1, keepdims=True) + factor * lifted))


def _states(cells: AnswerCells, population: dict[str, Floats], table: Floats, beta: float) -> States:
    alone = logs_of_shares(population["tilted_shares"])
    kinds = np.ascontiguousarray(logs_of_shares(population["tilted_kinds"]).T)
    pull = log_table(1.0 + table * np.expm1(beta))
    return States(
        cells, log_table(table[: cells.n_answered]), pull, alone + kinds[-1], kinds[:-1] - kinds[-1], alone, beta
    )


def _matrices(cells: AnswerCells, pool: Pooling, weights: Floats, matrix: Floats, other: Floats) -> Floats:
    """The workers' matrices (worker, label, answer), also of labels that they have nothing to do with."""
    full = np.tensordot(weights, pool.alpha, 1) * other[:, None]
    full[cells.worker, cells.label] = matrix
    return np.ascontiguousarray(np.swapaxes(np.maximum(full, LEAST), 1, 2))


def _first_found(rows: Rows, cells: AnswerCells) -> _Found:
    exact = on_grid(rows.start_shares)
    none, easy, misleading = KIND_SHARES
    kinds = np.full((rows.n_labels + 1, rows.n_labels), misleading / max(rows.n_labels - 1, 1))
    np.fill_diagonal(kinds, easy)
    kinds[-1] = none
    kinds *= KIND_PULL * rows.n_tasks / rows.n_labels / kinds.sum(axis=0)
    counts = cells.counts(rows, exact)
    return _Found(counts, cells.totals(counts), np.zeros((len(cells.worker), rows.n_labels)), kinds, exact.sum(axis=0))


def _first_weights(rows: Rows) -> Floats:
    """Classes to begin with: soft quantiles of the workers' agreement with the votes."""
    agreed = np.bincount(rows.worker, on_grid(rows.start_shares)[rows.task, rows.answer], minlength=rows.n_workers)
    load = np.bincount(rows.worker, minlength=rows.n_workers)
    place = ranks(agreed / np.maximum(load, 1)) / max(rows.n_workers - 1, 1)
    centre = (np.arange(N_CLASSES) + 0.5) / N_CLASSES
    return _normal(np.exp(-0.5 * ((place[:, None] - centre) * N_CLASSES * 1.5) ** 2))


def ranks(values: Floats) -> Floats:
    """Ranks from 0; values that differ by rounding only share their mean rank."""
    order = np.argsort(values)
    group = np.cumsum(np.diff(values[order], prepend=-np.inf) > 1e-9) - 1
    sizes = np.bincount(group)
    rank = np.empty(len(values))
    rank[order] = (np.cumsum(sizes) - (sizes + 1) / 2)[group]
    return rank


def _first_pool(cells: AnswerCells, found: _Found, weights: Floats) -> Pooling:
    n_labels = found.counts.shape[1]
    mine = weights[cells.worker[: cells.n_answered]]
    by_class = np.stack([cells.table(on_grid(weight[:, None] * found.counts)) for weight in mine.T])
    size, right = by_class.sum(axis=(1, 2)), np.einsum("kzz->k", by_class)
    even = even_errors((right + 1) / (size + 2), n_labels)
    return Pooling.around(of_sum_one(by_class + 0.1 * np.maximum(size, 1e-6)[:, None, None] / n_labels * even))


def _pooled(pool: Pooling, cells: AnswerCells, found: _Found, weights: Floats, *, warm: bool) -> Pooling:
    n_labels = found.counts.shape[1]
    weights = on_grid(weights)  # which leaves out the classes that a worker hardly belongs to
    for _ in range(2):
        tables, sizes = pool.tables(cells, found.counts, found.totals, weights)
        accuracy = (np.einsum("kzz->k", tables) + 0.5) / (tables.sum(axis=(1, 2)) + 1)
        mean = of_sum_one(tables + PULL * n_labels * even_errors(accuracy, n_labels))
        pool = Pooling(mean, pool.strength)
        if warm:
            pool = pool.stronger(tables, sizes)
    return pool


def _class_weights(pool: Pooling, cells: AnswerCells, found: _Answers, sizes: Floats) -> Floats:
    """How likely each worker is of each class."""
    scores = np.log(sizes) + pool.evidence(cells, found.counts, found.totals)
    return _normal(np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf)))


def _sizes(weights: Floats) -> Floats:
    """The shares of the classes."""
    return np.asarray((on_grid(weights).sum(axis=0) + 1) / (len(weights) + N_CLASSES))


def _normal(values: Floats) -> Floats:
    return np.asarray(values / values.sum(axis=-1, keepdims=True))
