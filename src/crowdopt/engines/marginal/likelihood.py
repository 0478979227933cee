"""The marginal likelihood of a problem as arrays: what the search and its starts work on.

A point has a row for the shares of the labels, and then one for every label and class of workers: row 1 + z · K + k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.marginal.bound_kernels import log_likelihood_at
from crowdopt.engines.marginal.row_kernels import own_scores, scores_at
from crowdopt.model.parameters import ModelParameters

if TYPE_CHECKING:
    from crowdopt._arrays import Floats
    from crowdopt.model.problem import Problem


@dataclass(frozen=True, eq=False)
class MarginalLikelihood:
    """L(θ) = Σ_b w_b ln Σ_z π_z Π p(a | z)^x + Σ G ln p.

    Attributes:
        counts: Responses by (bucket, class, answer).
        weights: Tasks of each bucket.
        pseudo: G by (row, answer); row 0 has the tasks of known label.
        shares: The shares of the labels where they are given, made to sum to one; else None.
        interchangeable: Whether labels can exchange their names.
    """

    counts: Floats
    weights: Floats
    pseudo: Floats
    shares: Floats | None
    interchangeable: bool

    @classmethod
    def of(cls, problem: Problem) -> MarginalLikelihood:
        """The marginal likelihood of a problem."""
        buckets, objective = problem.buckets, problem.objective
        n_labels, n_classes = buckets.n_labels, buckets.n_classes
        pseudo = np.zeros((1 + n_labels * n_classes, n_labels))
        if objective.offsets is not None:
            pseudo[0] = objective.offsets.gold_tasks
            pseudo[1:] = np.asarray(objective.offsets.counts, float).reshape(-1, n_labels)
        shares = np.array(objective.shares) / math.fsum(objective.shares) if objective.shares else None
        counts, weights = (np.ascontiguousarray(part, dtype=float) for part in (buckets.counts, buckets.weights))
        return cls(counts, weights, pseudo, shares, objective.interchangeable)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.counts.shape[2])

    @property
    def n_classes(self) -> int:
        """Number of classes of workers."""
        return int(self.counts.shape[1])

    @property
    def first_free(self) -> int:
        """The first row that is to be found."""
        return 0 if self.shares is None else 1

    @cached_property
    def own(self) -> Floats:
        """The largest log-likelihood that the answers of a class to the tasks of a bucket can have."""
        own = np.empty(self.counts.shape[:2])
        own_scores(self.counts, own)
        return own

    @cached_property
    def size(self) -> int:
        """Multiplications that one look at all buckets takes."""
        return int(self.counts.size * self.n_labels)

    def whole_space(self) -> tuple[Floats, Floats]:
        """The lower and upper ends of the box of all parameters."""
        low, high = np.zeros(self.pseudo.shape), np.ones(self.pseudo.shape)
        if self.shares is not None:
            low[0] = high[0] = self.shares
        return low, high

    def value(self, point: Floats) -> tuple[float, float]:
        """L at a point, and how far rounding may have taken it."""
        value, doubt = log_likelihood_at(point, self.counts, self.weights, self.pseudo)
        return float(value), float(doubt)

    def expected_answers(self, point: Floats) -> Floats:
        """How many responses of each kind (column) tasks of each label (row) are expected to have."""
        scores = np.empty((len(self.weights), self.n_labels))
        scores_at(point, self.counts, scores)
        posterior = np.exp(scores - scores.max(axis=1, keepdims=True))
        posterior *= (self.weights / posterior.sum(axis=1))[:, None]
        return np.asarray(posterior.T @ self.counts.sum(axis=1))

    def parameters(self, point: Floats) -> ModelParameters:
        """A point as matrices [class, true, answered] and shares."""
        matrix = point[1:].reshape(self.n_labels, self.n_classes, self.n_labels)
        return ModelParameters(np.ascontiguousarray(np.swapaxes(matrix, 0, 1)), point[0].copy())
