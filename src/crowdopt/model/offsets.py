"""Offsets: what is known beforehand about how workers answer, as counts that are added to the data's.

Three sources add up: the responses to *gold* tasks, whose label is known; a *prior matrix* of pseudo-counts, for
example the counts behind last month's solution; and *smoothing*, one number for every entry. Pseudo-counts G are a
Dirichlet prior with parameters G + 1, so F is then a log-posterior, up to a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.errors import InputError

if TYPE_CHECKING:
    from crowdopt._arrays import Counts, Floats, Ints
    from crowdopt.model.buckets import Buckets

MIN_OFFSET, MAX_OFFSET = 1e-100, 1e12
"""Smaller pseudo-counts (but for zero) would get lost in rounding, larger ones would drown the data in it."""


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
        if not _in_range(np.asarray(self.smoothing)):
            raise InputError(
                f"smoothing must be 0, or a number from {MIN_OFFSET:g} to {MAX_OFFSET:g}, not {self.smoothing!r}"
            )
        shape = self.gold_responses.shape
        if self.prior is not None and self.prior.shape != shape:
            raise InputError(f"the prior matrix must have shape {shape} (label, class, answer), not {self.prior.shape}")
        if self.prior is not None and not _in_range(self.prior):
            raise InputError(f"a pseudo-count in the prior matrix must be 0, or from {MIN_OFFSET:g} to {MAX_OFFSET:g}")

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


def checked_prior(matrix: Any, buckets: Buckets) -> Floats | None:
    """Checks a prior matrix (true, answered) or (class, true, answered); returns it by (label, class, answer)."""
    if matrix is None:
        return None
    try:
        given = np.asarray(matrix)
        array = given.astype(float, casting="same_kind" if given.dtype.kind == "c" else "unsafe")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the prior matrix must hold numbers: {error}") from None
    n_labels, n_classes = buckets.n_labels, buckets.n_classes
    if array.ndim == 2 and n_classes == 1:
        array = array[None]
    if array.shape != (n_classes, n_labels, n_labels):
        wanted = f"{n_labels} rows (true labels) of {n_labels} numbers (answers)"
        wanted += f" for each of {n_classes} classes" if n_classes > 1 else ""
        raise InputError(f"the prior matrix must have {wanted}, not the shape {given.shape}")
    if not _in_range(array):
        raise InputError(f"a pseudo-count in the prior matrix must be 0, or from {MIN_OFFSET:g} to {MAX_OFFSET:g}")
    return np.swapaxes(array, 0, 1)


def _in_range(values: Floats) -> bool:
    """Whether all values are usable pseudo-counts; not-a-number is not."""
    return bool(((values == 0) | ((values >= MIN_OFFSET) & (values <= MAX_OFFSET))).all())


def checked_number(value: Any, name: str) -> float:
    """A number that a user gave, as a float; raises if it is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name} is too large") from None


def checked_whole(value: Any, called: str, *, at_least: int) -> int:
    """A whole number that a user gave; raises if it is none, or too small."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise InputError(f"{called} must be a whole number of at least {at_least}, not {value!r}")
    return int(value)
