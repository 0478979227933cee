"""Offsets: what is known beforehand about how workers answer, as counts that are added to the data's.

Three sources add up: the responses to *gold* tasks, whose label is known; a *prior matrix* of pseudo-counts, for
example the counts behind last month's solution; and *smoothing*, one number for every entry. Pseudo-counts G are a
Dirichlet prior with parameters G + 1, so F is then a log-posterior, up to a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.errors import InputError

if TYPE_CHECKING:
    from crowdopt.buckets import Buckets
    from crowdopt.types import Counts, Floats, Ints

MAX_OFFSET = 1e15
"""Larger pseudo-counts would drown the data in rounding."""


@dataclass(frozen=True, eq=False)
class Offsets:
    """Counts by (label, class, answer) that are there before any response of the data.

    Attributes:
        gold_responses: Responses to tasks of known label.
        gold_tasks: How many tasks are known to have each label; they count for estimated selectivity.
        prior: Pseudo-counts, or None.
        smoothing: Added to every entry.
    """

    gold_responses: Ints
    gold_tasks: Ints
    prior: Floats | None = None
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing <= MAX_OFFSET:  # nor not-a-number
            raise InputError(f"smoothing must be a number of at least 0, not {self.smoothing!r}")
        shape = self.gold_responses.shape
        if self.prior is not None and self.prior.shape != shape:
            raise InputError(f"the prior matrix must have shape {shape} (label, class, answer), not {self.prior.shape}")
        if self.prior is not None and not ((self.prior >= 0) & (self.prior <= MAX_OFFSET)).all():
            raise InputError("the prior matrix must hold pseudo-counts of at least 0")

    @classmethod
    def of(
        cls,
        n_labels: int,
        n_classes: int = 1,
        *,
        gold: tuple[Ints, Ints] | None = None,
        prior: Floats | None = None,
        smoothing: float = 0.0,
    ) -> Offsets | None:
        """Puts together what is known; None if that is nothing."""
        if gold is None and prior is None and not smoothing:
            return None
        none = np.zeros((n_labels, n_classes, n_labels), np.int64), np.zeros(n_labels, np.int64)
        return cls(*(gold or none), prior=prior, smoothing=smoothing)

    @cached_property
    def counts(self) -> Counts:
        """G by (label, class, answer): whole numbers if all of them are, so that sums with them are exact."""
        total: Floats = np.asarray(self.gold_responses + self.smoothing + (0.0 if self.prior is None else self.prior))
        whole = np.rint(total)
        return whole.astype(np.int64) if np.array_equal(whole, total) else total

    @cached_property
    def interchangeable(self) -> bool:
        """Whether all labels have the same offsets, so that their names do not matter."""
        return bool((self.counts == self.counts[0]).all() and (self.gold_tasks == self.gold_tasks[0]).all())

    @property
    def given(self) -> tuple[str, ...]:
        """The sources by name."""
        gold = self.gold_tasks.any() or self.gold_responses.any()
        named = {"gold": gold, "prior matrix": self.prior is not None, "smoothing": self.smoothing > 0}
        return tuple(name for name, used in named.items() if used)


def pseudo_counts(matrix: Any, buckets: Buckets) -> Floats | None:
    """Checks a prior matrix (true, answered) or (class, true, answered); returns it by (label, class, answer)."""
    if matrix is None:
        return None
    try:
        array = np.asarray(matrix, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the prior matrix must hold numbers: {error}") from None
    n_labels, n_classes = buckets.n_labels, buckets.n_classes
    if array.ndim == 2 and n_classes == 1:
        array = array[None]
    if array.shape != (n_classes, n_labels, n_labels):
        wanted = f"{n_labels} rows (true labels) of {n_labels} numbers (answers)"
        wanted += f" for each of {n_classes} classes" if n_classes > 1 else ""
        raise InputError(f"the prior matrix must have {wanted}, not the shape {np.asarray(matrix).shape}")
    if not (array >= 0).all() or not (array <= MAX_OFFSET).all():
        raise InputError(f"the prior matrix must hold pseudo-counts of at least 0, at most {MAX_OFFSET:g}")
    return np.swapaxes(array, 0, 1)
