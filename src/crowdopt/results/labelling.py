"""Labels for any counts of responses under what a solution found: its matrices and its shares of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.objective import MIN_TOLERANCE, label_scores, open_labels, posterior
from crowdopt.model.scale import as_number

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.scale import Scale
    from crowdopt.results.solution_proof import ProofSolution


@dataclass(frozen=True, eq=False)
class Labelled:
    """The most probable label of each row of counts.

    Attributes:
        labels: Index of the label, one of the most probable.
        tied: Whether another label could as well have been taken.
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


def numeric_scores(scale: Scale) -> Floats | None:
    """The labels as numbers, where they are a rating of three and more; else None."""
    numbers = [as_number(label) for label in scale.labels]
    rating = scale.kind == "ordinal" and scale.n_labels > 2 and None not in numbers
    return np.array(numbers, float) if rating else None


def probability_columns(
    posterior: Floats, scale: Scale, scores: Floats | None, *, every_label: bool
) -> dict[str, Floats]:
    """What answers say of probabilities beside that of the label.

    Args:
        posterior: Probability of every label, by row.
        scale: The labels.
        scores: The labels as numbers, if their mean is wanted.
        every_label: Whether the probability of every label is wanted.
    """
    columns = {} if scores is None else {"mean": posterior @ scores}
    if every_label:
        columns |= {f"p_{label}": posterior[:, j] for j, label in enumerate(scale.labels)}
    return columns
