"""Labels for any counts of responses under what a solution found: its matrices and its shares of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.objective import MIN_TOLERANCE, label_scores, open_labels, posterior

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.results.solution_proof import ProofSolution


@dataclass(frozen=True, eq=False)
class Labelled:
    """The most probable label of each row of counts.

    Attributes:
        labels: Index of the label. Among labels that are equally probable it is the one that most of the responses
            are, and among these the lowest.
        tied: Whether another label is as probable and as many responses are it.
        explained: Whether any label can explain the counts; not if each row of the matrix rules some answer out.
        posterior: Probability of every label; where nothing explains the counts, all that are allowed are equal.
    """

    labels: Ints
    tied: Bools
    explained: Bools
    posterior: Floats

    @property
    def confidence(self) -> Floats:
        """Probability of the label of each row."""
        return np.asarray(self.posterior[np.arange(len(self.labels)), self.labels])


def label_counts(solution: ProofSolution, counts: Ints) -> Labelled:
    """Labels counts (row, class, answer); rows without responses have the label of the largest share.

    A class behind those of the solution stands for workers whose class is not known (see ``ProofSolution.matrix_for``).
    """
    matrix, log_shares = solution.matrix_for(counts), solution.log_shares
    scores = label_scores(counts, matrix, log_shares)
    best = scores.max(axis=1, keepdims=True)
    explained = np.isfinite(best)
    rounding = 4 * matrix.size * float(np.finfo(float).eps)
    close = np.maximum(MIN_TOLERANCE, rounding * np.abs(np.where(explained, best, 0.0)))
    near = np.where(explained, scores >= best - close, open_labels(matrix, log_shares))
    votes = np.where(near, counts.sum(axis=1), -1)
    labels = votes.argmax(axis=1)
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return Labelled(labels, tied, explained[:, 0], posterior(counts, matrix, log_shares))
