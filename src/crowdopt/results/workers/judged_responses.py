"""Responses, and how probable it is that they are right: what the figures of workers are sums of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class JudgedResponses(ABC):
    """Responses, and how probable the labels of their tasks are. All arrays are by response.

    In all sums a response weighs one over the number of responses that its worker gave to its task.

    Attributes:
        task: The task.
        worker: The worker.
        answer: The answer.
        n_workers: Number of workers; some may have no response.
        n_labels: Number of labels.
        known: Whether the label of the task is known.
        right: The members of the consensus: each has a weight, and how probable each answer is.
    """

    task: Ints
    worker: Ints
    answer: Ints
    n_workers: int
    n_labels: int
    known: Bools
    right: Sequence[tuple[float, Floats]]

    @abstractmethod
    def some(self, kept: Bools) -> Self:
        """Some of them."""

    def of_some(self, kept: Bools) -> dict[str, Any]:
        """What some of them have whatever holds their probabilities."""
        columns = {name: getattr(self, name)[kept] for name in ("task", "worker", "answer", "known")}
        right = [(weight, one[kept]) for weight, one in self.right]
        return columns | {"n_workers": self.n_workers, "n_labels": self.n_labels, "right": right}

    @cached_property
    def pair(self) -> Ints:
        """The number of the worker and the task of each response, together."""
        n_tasks = int(self.task.max(initial=-1)) + 1
        return _numbered(self.worker * n_tasks + self.task)

    @cached_property
    def weight(self) -> Floats:
        """One over the number of responses by this worker to this task."""
        return 1.0 / np.bincount(self.pair)[self.pair]

    @cached_property
    def share(self) -> Floats:
        """The share of these that are the same answer."""
        same = _numbered(self.pair * self.n_labels + self.answer)
        return np.bincount(same)[same] * self.weight

    def n_responses(self) -> Ints:
        """Responses by worker."""
        return np.bincount(self.worker, minlength=self.n_workers)

    def sums(self, values: Floats) -> Floats:
        """Sums by worker."""
        weights = self.weight * values
        return np.asarray(np.bincount(self.worker, weights=weights, minlength=self.n_workers), np.float64)

    def variance(self, right: Floats) -> Floats:
        """The variance of the number of right answers by worker, if each is right with a probability.

        The labels of tasks are independent. That of one task decides together which of a worker's answers to it are
        right: with shares s of the answers, the variance is Σ s² p − (Σ s p)².
        """
        mean = np.bincount(self.pair, weights=self.weight * right)[self.pair]
        return self.sums((self.share - mean) * right)

    def compared(self) -> Self:
        """Those that can be compared: somebody else answered the task too, or its label is known."""
        n_tasks = int(self.task.max(initial=-1)) + 1
        first, last = np.full(n_tasks, self.n_workers), np.full(n_tasks, -1)
        np.minimum.at(first, self.task, self.worker)
        np.maximum.at(last, self.task, self.worker)
        return self.some((first < last)[self.task] | self.known)

    def own_sums(self) -> dict[str, Any]:
        """What is counted by worker; the members, and what each of them holds for right."""
        right = [np.clip(each, 0.0, 1.0) for _, each in self.right]
        return {
            "n_responses": self.n_responses(),
            "weights": np.array([weight for weight, _ in self.right]),
            "right": np.array([self.sums(each) for each in right]),
            "variance": np.array([self.variance(each) for each in right]),
        }


def _numbered(keys: Ints) -> Ints:
    """Equal keys as equal numbers from 0."""
    return np.unique(keys, return_inverse=True)[1].reshape(-1)
