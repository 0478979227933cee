"""Sparse tables of many labels: an entry for each label that a task received, or is known to have, and for no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.rows import Rows


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """The labels that tasks received or are known to have, sorted by task and label.

    Attributes:
        start: Where the entries of each task begin, and at last where they end (n_tasks + 1).
        label: The label of each entry.
        votes: How many responses give it.
        of_row: The entry of each response.
        n_labels: Number of labels.
    """

    start: Ints
    label: Ints
    votes: Ints
    of_row: Ints
    n_labels: int

    @classmethod
    def of(cls, rows: Rows) -> GivenLabels:
        """Those of some responses."""
        held = np.flatnonzero(rows.known >= 0)
        keys = rows.task * rows.n_labels + rows.answer
        entries, index = np.unique(np.append(keys, held * rows.n_labels + rows.known[held]), return_inverse=True)
        of_row = index.reshape(-1)[: len(keys)].astype(np.int64)
        task, label = np.divmod(entries, rows.n_labels)
        start = np.searchsorted(task, np.arange(rows.n_tasks + 1))
        return cls(start, label, np.bincount(of_row, minlength=len(entries)), of_row, rows.n_labels)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.start) - 1

    @property
    def task(self) -> Ints:
        """The task of each entry."""
        return np.repeat(np.arange(self.n_tasks), np.diff(self.start))


@dataclass(frozen=True, eq=False)
class GivenShares:
    """How probable labels are: each one that a task received, and all others together.

    Attributes:
        entries: Of the labels that the task received, or is known to have.
        other: Of all other labels of each task together.
    """

    entries: Floats
    other: Floats
