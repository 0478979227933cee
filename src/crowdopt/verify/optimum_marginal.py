"""The marginal likelihood again, by plain means: its value, the labels that follow from parameters, and better ones.

Shares nothing with the engines. A point has the shares of the labels in its first row, and then a row for every label
and class of workers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.parameters import ModelParameters
    from crowdopt.model.problem import Problem

TRIES, ROUNDS = 8, 200
"""Starts, and rounds of EM from each, by which better parameters are looked for."""

NEAR = 1e-9
"""Labels whose scores differ by less, relative to their size, count as equally probable."""


class Marginal:
    """The numbers of a problem: counts by bucket, pseudo-counts by row, and the shares if they are given."""

    def __init__(self, problem: Problem) -> None:
        buckets, offsets, shares = problem.buckets, problem.objective.offsets, problem.objective.shares
        self.counts = buckets.counts.astype(float)
        self.weights = buckets.weights.astype(float)
        self.n_labels, self.n_classes = buckets.n_labels, buckets.n_classes
        self.rows = 1 + self.n_labels * self.n_classes
        self.pseudo = np.zeros((self.rows, self.n_labels))
        if offsets is not None:
            known = np.broadcast_to(offsets.counts, (self.n_labels, self.n_classes, self.n_labels))
            self.pseudo[0], self.pseudo[1:] = offsets.gold_tasks, known.reshape(-1, self.n_labels)
        self.shares = np.array(shares) / math.fsum(shares) if shares else None

    def point(self, parameters: ModelParameters) -> Floats:
        """The parameters of a solution as a point; given shares as they are given."""
        rows = parameters.matrix.swapaxes(0, 1).reshape(-1, self.n_labels)
        return np.concatenate([parameters.shares[None], rows])

    def scores(self, point: Floats) -> Floats:
        """Logarithm of share times likelihood, by bucket and label."""
        scores = np.empty((len(self.weights), self.n_labels))
        logs = _logs(point)
        for z in range(self.n_labels):
            rows = logs[1 + z * self.n_classes : 1 + (z + 1) * self.n_classes]
            given = np.where(self.counts > 0, self.counts * np.where(np.isneginf(rows), 0.0, rows), 0.0)
            impossible = ((self.counts > 0) & np.isneginf(rows)).any(axis=(1, 2))
            scores[:, z] = np.where(impossible, -np.inf, given.sum(axis=(1, 2)) + logs[0, z])
        return scores

    def value(self, point: Floats) -> float:
        """L at a point."""
        scores = self.scores(point)
        best = scores.max(axis=1)
        if np.isneginf(best).any():
            return -math.inf
        whole = best + np.log(np.exp(scores - best[:, None]).sum(axis=1))
        logs, some = _logs(point), self.pseudo > 0
        return math.fsum([*(self.weights * whole).tolist(), *(self.pseudo[some] * logs[some]).tolist()])

    def posterior(self, point: Floats) -> Floats:
        """The probability of every label, by bucket."""
        scores = self.scores(point)
        shifted = np.exp(scores - np.maximum(scores.max(axis=1, keepdims=True), -1e300))
        return np.asarray(shifted / np.maximum(shifted.sum(axis=1, keepdims=True), 1e-300))

    def refitted(self, point: Floats) -> Floats:
        """The point after a round of EM."""
        tasks = self.posterior(point) * self.weights[:, None]
        expected = self.pseudo.copy()
        expected[0] += tasks.sum(axis=0)
        expected[1:] += np.einsum("bz,bka->zka", tasks, self.counts).reshape(-1, self.n_labels)
        whole = expected.sum(axis=1, keepdims=True)
        fitted = np.where(whole > 0, expected / np.maximum(whole, 1e-300), point)
        if self.shares is not None:
            fitted[0] = self.shares
        return fitted

    def better_than(self, bound: float, near: Floats) -> float | None:
        """The value of parameters that are above a bound, if EM finds some from other starts; else None."""
        draw = np.random.default_rng(0)
        for at in range(TRIES):
            point = near if at == 0 else draw.dirichlet(np.ones(self.n_labels), self.rows)
            if at == 1:
                point[1:] = 0.3 / self.n_labels + 0.7 * np.repeat(np.eye(self.n_labels), self.n_classes, axis=0)
            for _ in range(ROUNDS):
                point = self.refitted(point)
            if (value := self.value(point)) > bound:
                return value
        return None


def _logs(point: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(point))


def labels_of(scores: Floats, votes: Ints) -> tuple[Ints, Floats, Bools]:
    """The most probable label of every bucket, of several the one with most votes; its odds; if there are several."""
    best = scores.max(axis=1, keepdims=True)
    several = scores >= best - NEAR * np.maximum(1.0, np.abs(best))
    label = np.where(several, votes, -1).argmax(axis=1)
    odds = [
        row[at] - max((other for z, other in enumerate(row) if z != at), default=-math.inf)
        for row, at in zip(scores.tolist(), label.tolist(), strict=True)
    ]
    return label, np.maximum(np.array(odds), 0.0), several.sum(axis=1) > 1


def most_named(expected: Floats) -> float:
    """The most responses that labels can agree with under any names; ``expected`` by label and answer."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(expected, maximize=True)
    return float(expected[rows, columns].sum())
