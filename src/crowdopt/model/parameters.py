"""Parameters of the marginal likelihood: response matrices and shares of labels, which are found and not derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.margins import Margins
from crowdopt.model.objective import MIN_TOLERANCE, label_scores

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class ModelParameters:
    """A point of the space that the marginal likelihood is maximised over.

    Attributes:
        matrix: Response matrices [class, true, answered]; every row sums to one.
        shares: Share of every label; they sum to one.
    """

    matrix: Floats
    shares: Floats

    @property
    def log_shares(self) -> Floats:
        """Logarithms of the shares."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.shares))


def labels_at(counts: Ints, parameters: ModelParameters) -> tuple[Ints, Margins]:
    """The most probable label of every bucket, and the logarithm of its odds against the next one.

    Of labels that are as probable but for rounding the one with most votes is taken, of these the lowest; they are
    marked as tied.
    """
    scores = label_scores(counts, parameters.matrix, parameters.log_shares)
    best = scores.max(axis=1, keepdims=True)
    near = scores >= best - MIN_TOLERANCE * np.maximum(1.0, np.abs(best))
    votes = np.where(near, counts.sum(axis=1), -1)
    mapping = votes.argmax(axis=1)
    rows = np.arange(len(counts))
    others = scores.copy()
    others[rows, mapping] = -np.inf
    odds = scores[rows, mapping] - others.max(axis=1)
    return mapping, Margins(np.maximum(odds, 0.0), "odds", near.sum(axis=1) > 1)
