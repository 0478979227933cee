"""Buckets and error rates in the words of the paper."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

HALF = Fraction(1, 2)


def filtering(*pairs: tuple[int, int]) -> np.ndarray:
    """Counts by (task, label) of tasks written as the paper does: ("1" responses, "0" responses)."""
    return np.array([(no, yes) for yes, no in pairs])


def rating(*responses: str, n_labels: int = 3) -> np.ndarray:
    """Counts by (task, label) of tasks whose responses are given one by one: "133" is a 1 and two 3s."""
    return np.array([[answers.count(str(label)) for label in range(1, n_labels + 1)] for answers in responses])
