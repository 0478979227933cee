"""The responses as flat arrays, for loops over tasks and the responses to each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crowdopt._arrays import Bools, Floats, Ints, SmallInts
    from crowdopt.data.coded import Coded


@dataclass(frozen=True, eq=False)
class Rows:
    """Responses, sorted by (task, worker, answer); one that occurs n times is there n times.

    Attributes:
        start: Where the responses of each task begin, and at last where they end (n_tasks + 1).
        worker: Index of the worker of each response.
        answer: Index of its label; both of few bytes, as there are many.
        n_workers: Number of workers.
        n_labels: Number of labels.
        known: Index of the label that a task is known to have, or -1 (n_tasks).
    """

    start: Ints
    worker: SmallInts
    answer: SmallInts
    n_workers: int
    n_labels: int
    known: Ints

    def __post_init__(self) -> None:
        for name in ("worker", "answer"):  # of one type, for which loops are compiled
            object.__setattr__(self, name, getattr(self, name).astype(np.int32, copy=False))

    @classmethod
    def of(cls, coded: Coded, known: Ints | None = None) -> Rows:
        """The rows of coded responses; of no task is the label known unless it is said."""
        worker, answer = (np.repeat(column, coded.times) for column in (coded.worker, coded.answer))
        sizes = np.bincount(coded.task, coded.times, coded.n_tasks)
        start = np.append(0, np.cumsum(sizes)).astype(np.int64)
        labels = np.full(coded.n_tasks, -1) if known is None else np.array(known)
        return cls(start, worker, answer, coded.n_workers, coded.n_labels, labels.astype(np.int64))

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.start) - 1

    @cached_property
    def task(self) -> Ints:
        """Index of the task of each response."""
        return np.repeat(np.arange(self.n_tasks), np.diff(self.start))

    @cached_property
    def votes(self) -> Ints:
        """How often each label was answered to each task (task, label)."""
        at, length = self.task * self.n_labels + self.answer, self.n_tasks * self.n_labels
        return np.bincount(at, minlength=length).reshape(-1, self.n_labels)

    @cached_property
    def shares(self) -> Floats:
        """The shares of the answers to each task; of a task without any, those of the mean task."""
        total = self.votes.sum(axis=1)
        shares = self.votes / np.maximum(total, 1)[:, None]
        even = np.full(self.n_labels, 1 / self.n_labels)
        shares[total == 0] = shares[total > 0].mean(axis=0) if total.any() else even
        return np.asarray(shares)

    @cached_property
    def start_shares(self) -> Floats:
        """The shares of the answers, or the label where it is known: where every member begins."""
        shares = self.shares.copy()
        held = self.known >= 0
        shares[held] = np.eye(self.n_labels)[self.known[held]]
        return shares

    @cached_property
    def labels_used(self) -> Bools:
        """Which labels some worker answered or some task is known to have."""
        used = np.bincount(self.answer, minlength=self.n_labels) > 0
        used[self.known[self.known >= 0]] = True
        return used

    def of_tasks(self, first: int, last: int) -> Rows:
        """Those of some tasks that follow each other, for whoever numbers only these."""
        start, known = self.start[first : last + 1], self.known[first:last]
        worker, answer = (column[start[0] : start[-1]] for column in (self.worker, self.answer))
        return replace(self, start=start - start[0], worker=worker, answer=answer, known=known)

    def without_known(self, labels: Bools) -> Rows:
        """The same responses, as if no task were known to have one of some labels."""
        if not labels.any():
            return self
        return replace(self, known=np.where((self.known >= 0) & labels[self.known], -1, self.known))

    def with_evidence(self) -> Rows:
        """The same responses, without the tasks that nobody answered and whose label is not known."""
        kept = (np.diff(self.start) > 0) | (self.known >= 0)
        return replace(self, start=np.append(self.start[:-1][kept], self.start[-1]), known=self.known[kept])

    def with_labels(self, labels: Ints) -> Rows:
        """The same rows for those who number only these labels, in this order."""
        code = np.full(self.n_labels + 1, -1)
        code[labels] = np.arange(len(labels))
        return replace(self, answer=code[self.answer], known=code[self.known], n_labels=len(labels))


@dataclass(frozen=True, eq=False)
class RowParts:
    """Responses too many to look at all at once: parts of whole tasks, which are made anew whenever they are asked for.

    Attributes:
        parts: Gives the parts, always the same ones.
        n_workers: Number of workers, of all parts together.
        n_labels: Number of labels.
    """

    parts: Callable[[], Iterator[Rows]]
    n_workers: int
    n_labels: int

    def __iter__(self) -> Iterator[Rows]:
        return self.parts()

    def with_labels(self, labels: Ints) -> RowParts:
        """The same rows for those who number only these labels, in this order."""
        return RowParts(lambda: (rows.with_labels(labels) for rows in self), self.n_workers, len(labels))

    def without_known(self, labels: Bools) -> RowParts:
        """The same responses, as if no task were known to have one of some labels."""
        return RowParts(lambda: (rows.without_known(labels) for rows in self), self.n_workers, self.n_labels)
