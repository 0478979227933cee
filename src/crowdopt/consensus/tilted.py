"""Member ``tilted``: a matrix for every worker, and tasks that draw everybody to some label.

A task has a label z, and a tilt to a label d, or none. A tilt lifts the answer d of everybody by a factor e^β: one to
the label itself makes a task easy, any other makes it misleading. Only tilts to labels that a task received are tried.
Workers belong to four classes, softly; the rows of their matrices are drawn around those of their class.

Each round takes the probabilities of (label, tilt) given the matrices, then a step of the matrices that never lowers
their bound (Bradley-Terry, by minorisation), then what the classes have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.kernels import class_scores, tilted_matrices
from crowdopt.consensus.parameters import Parameters
from crowdopt.consensus.pooling import Pool, even_errors, normalised
from crowdopt.consensus.states import States, counts_of, log_shares, log_table

if TYPE_CHECKING:
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

MIN_ROUNDS, MAX_ROUNDS = 10, 100
SETTLED = 1e-3
LEAST = 1e-9
"""The least probability of an answer."""


@dataclass(frozen=True, eq=False)
class _Found:
    """What a round found: expected counts (worker, answer, label), those on tilted tasks (worker, tilt, label)."""

    counts: Floats
    pulled: Floats
    kinds: Floats
    labels: Floats


def fit_tilted(rows: Rows, shares: Floats | None = None) -> tuple[Parameters, int]:
    """The parameters, and after how many rounds; the shares of the labels are those given."""
    states = rows.start_shares.copy()
    first = _first_kinds(rows.n_labels) * KIND_PULL * rows.n_tasks / rows.n_labels
    total = on_grid(states).sum(axis=0)
    prior_labels = 1 + SHARE_PULL * rows.n_tasks * (total + 1) / (rows.n_tasks + rows.n_labels)
    counts = counts_of(rows, states)
    found = _Found(counts, np.zeros_like(counts), first, total)
    weights, matrix = _first_weights(rows), np.zeros_like(counts)
    pool = _first_pool(found.counts, weights)
    for n_rounds in range(1, MAX_ROUNDS + 1):
        warm = n_rounds > WARM_UP
        pool = _pooled(pool, found.counts, weights, warm)
        weights = _class_weights(pool, found.counts, weights)
        exact = np.ascontiguousarray
        lift = np.expm1(BETA)
        tilted_matrices(found.counts, found.pulled, weights, exact(pool.alpha), pool.strength, lift, LEAST, matrix)
        population = {
            "tilted_shares": _normal(found.labels + prior_labels) if shares is None else shares,
            "tilted_kinds": _normal(found.kinds.T),
        }
        counts, pulled = np.zeros_like(matrix), np.zeros_like(matrix)
        tables = _states(population, np.swapaxes(matrix, 1, 2), BETA if warm else 0.0)
        change, kinds = tables.expect(rows, states, counts, pulled)
        found = _Found(counts, pulled, first + (kinds if warm else 0.0), kinds.sum(axis=0))
        if change < SETTLED and n_rounds >= MIN_ROUNDS:
            break
    population["tilted_matrix"] = np.maximum(np.tensordot(_sizes(weights), pool.mean, 1), LEAST).T
    return Parameters(population, {"tilted_matrix": np.ascontiguousarray(np.swapaxes(matrix, 1, 2))}), n_rounds


def tilted_states(parameters: Parameters) -> States:
    """How likely answers are, by label and tilt."""
    return _states(parameters.population, parameters.workers["tilted_matrix"], BETA)


def _states(population: dict[str, Floats], matrix: Floats, beta: float) -> States:
    prior = log_shares(population["tilted_shares"]) + log_shares(population["tilted_kinds"]).T
    pull = log_table(1.0 + matrix * np.expm1(beta))
    return States(log_table(matrix), pull, prior[-1], np.ascontiguousarray(prior[:-1]), beta)


def _first_kinds(n_labels: int) -> Floats:
    """Shares of kinds (tilt, label), no tilt at the end."""
    none, easy, misleading = KIND_SHARES
    kinds = np.full((n_labels + 1, n_labels), misleading / max(n_labels - 1, 1))
    np.fill_diagonal(kinds, easy)
    kinds[-1] = none
    return np.asarray(kinds / kinds.sum(axis=0))


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


def _first_pool(counts: Floats, weights: Floats) -> Pool:
    n_labels = counts.shape[1]
    by_class = np.stack([on_grid(weight[:, None, None] * counts).sum(axis=0) for weight in weights.T])
    size, right = by_class.sum(axis=(1, 2)), np.einsum("kzz->k", by_class)
    even = even_errors((right + 1) / (size + 2), n_labels)
    return Pool.around(normalised(by_class + 0.1 * np.maximum(size, 1e-6)[:, None, None] / n_labels * even))


def _pooled(pool: Pool, counts: Floats, weights: Floats, warm: bool) -> Pool:
    n_labels = counts.shape[1]
    weights = on_grid(weights)  # to leave out classes to which a worker hardly belongs
    for _ in range(2):
        tables, sizes = pool.tables(counts, weights)
        accuracy = (np.einsum("kzz->k", tables) + 0.5) / (tables.sum(axis=(1, 2)) + 1)
        mean = normalised(tables + PULL * n_labels * even_errors(accuracy, n_labels))
        pool = Pool(mean, pool.strength)
        if warm:
            pool = pool.stronger(tables, sizes)
    return pool


def _class_weights(pool: Pool, counts: Floats, weights: Floats) -> Floats:
    """How likely each worker is of each class."""
    scores = np.empty_like(weights)
    class_scores(counts, counts.sum(axis=1), pool.alpha, pool.strength, scores)
    scores += np.log(_sizes(weights))
    return _normal(np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf)))


def _sizes(weights: Floats) -> Floats:
    """The shares of the classes."""
    return np.asarray((on_grid(weights).sum(axis=0) + 1) / (len(weights) + N_CLASSES))


def _normal(values: Floats) -> Floats:
    return np.asarray(values / values.sum(axis=-1, keepdims=True))
