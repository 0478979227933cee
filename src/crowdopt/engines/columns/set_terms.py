"""Terms: what a label makes of a set of buckets.

The log-likelihood is a sum over labels of Ψ_j(S_j), S_j being the buckets under label j (objective.py). Here Ψ_j is
taken for sets of *free* buckets: buckets that are fixed under a label count among its offsets.

Counts are vectors with a coordinate for every class of workers and answer, all answers of the first class first. Ψ sums
Φ over the classes, which is convex and homogeneous in such a vector as it is in those of one class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.set_shapes import Shape
from crowdopt.model.buckets import blocks_of
from crowdopt.model.certificate import Space
from crowdopt.model.objective import phi, times_log_share

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Bytes, Floats, Ints
    from crowdopt.model.problem import Problem


@dataclass(frozen=True, eq=False)
class BucketSet:
    """Buckets that are free to go under any label.

    Attributes:
        responses: By (bucket, coordinate), over all tasks of the bucket.
        tasks: By bucket.
        n_classes: Classes of workers.
    """

    responses: Floats
    tasks: Floats
    n_classes: int = 1

    @classmethod
    def of(cls, problem: Problem) -> BucketSet:
        """All buckets of a problem."""
        buckets = problem.buckets
        responses = buckets.responses.reshape(buckets.n_buckets, -1).astype(float)
        return cls(responses, buckets.weights.astype(float), buckets.n_classes)

    def __len__(self) -> int:
        return len(self.tasks)

    def only(self, which: Ints | Bools) -> BucketSet:
        """Some of the buckets."""
        return BucketSet(self.responses[which], self.tasks[which], self.n_classes)

    def sums(self, sets: Bools) -> tuple[Floats, Floats]:
        """Responses (set, coordinate) and tasks (set) of sets of buckets (set, bucket)."""
        return sums_over(sets, self.responses), sums_over(sets, self.tasks)


@dataclass(frozen=True, eq=False)
class Term:
    """Ψ of a label, for sets of free buckets.

    Attributes:
        labels: The labels that share this term: nothing tells them apart.
        offset: G by coordinate, with the responses of buckets that are fixed under the label.
        known: Tasks that are known to have the label or fixed under it, where shares are estimated; else 0.
        total: All tasks there are, known ones included, where shares are estimated; else 0.
        log_share: Ln π of the label where shares are given; else 0. Minus infinity forbids the label.
        constant: What the tasks fixed under the label add by the given share.
        shape: The sets that the label can have.
        n_classes: Classes of workers.
    """

    labels: tuple[int, ...]
    offset: Floats
    known: float
    total: float
    log_share: float
    constant: float = 0.0
    shape: Shape = Shape.ANY
    n_classes: int = 1

    @property
    def empty(self) -> float:
        """Ψ of the empty set."""
        return float(self.values(np.zeros((1, len(self.offset))), np.zeros(1))[0])

    def values(self, responses: Floats, tasks: Floats) -> Floats:
        """Ψ of many sets, by their responses (..., coordinate) and tasks (...)."""
        counts = responses + self.offset
        by_class = (*counts.shape[:-1], self.n_classes, len(self.offset) // self.n_classes)
        fit = phi(counts.reshape(by_class)) + self.constant
        if self.total:
            return np.asarray(fit + times_log_share(tasks + self.known, self.total - tasks - self.known))
        if not self.log_share:
            return np.asarray(fit)
        return np.asarray(fit + np.where(tasks > 0, tasks, 0.0) * self._per_task(tasks))

    def with_buckets(self, label: int, responses: Floats, tasks: float) -> Term:
        """The term of one of the labels when buckets with these responses and tasks are fixed under it."""
        return replace(
            self,
            labels=(label,),
            offset=self.offset + responses,
            known=self.known + tasks if self.total else self.known,
            constant=self.constant + (tasks * self.log_share if self.log_share else 0.0),
        )

    def _per_task(self, tasks: Floats) -> Floats:
        """Ln π, but zero where there is no task to pay it: minus infinity times zero is zero."""
        return np.where(tasks > 0, self.log_share, 0.0)


def sums_over(sets: Bools, numbers: Floats) -> Floats:
    """Sums of numbers (bucket, ...) over sets of buckets (set, bucket), some sets at a time: as numbers they are large.

    Where the numbers are whole, the sums are exact.
    """
    parts = [sets[some].astype(float) @ numbers for some in blocks_of(len(sets), sets.shape[1])]
    return np.concatenate(parts) if parts else np.zeros((0, *numbers.shape[1:]))


def class_sums(counts: Floats, n_classes: int) -> Floats:
    """For every coordinate of count vectors (..., coordinate) the sum over its class."""
    by_class = counts.reshape(*counts.shape[:-1], n_classes, counts.shape[-1] // n_classes)
    return np.broadcast_to(by_class.sum(axis=-1, keepdims=True), by_class.shape).reshape(counts.shape)


def distinct(sets: Bools) -> Bools:
    """The different ones among sets of buckets (set, bucket), in an order that does not depend on theirs."""
    return unpacked(packed(sets), sets.shape[1]) if len(sets) else sets


def packed(sets: Bools) -> Bytes:
    """Sets of buckets as bits."""
    return np.packbits(sets, axis=1)


def unpacked(bits: Bytes, n_buckets: int) -> Bools:
    """The different ones among sets of buckets that were packed."""
    keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1])))[:, 0]
    first = np.unique(keys, return_index=True)[1]
    return np.unpackbits(bits[first], axis=1, count=n_buckets).view(bool)


def terms_of(problem: Problem) -> list[Term]:
    """The terms of all labels, those that nothing tells apart as one."""
    objective, buckets = problem.objective, problem.buckets
    gold = np.array([objective.offset_tasks(label) for label in range(buckets.n_labels)])
    total = float(buckets.n_tasks + gold.sum()) if objective.kind == "estimated" else 0.0
    alike: dict[tuple[Shape, bytes], Term] = {}
    for label, shape in enumerate(_shapes(problem)):
        offset = np.broadcast_to(objective.offset(label), buckets.counts.shape[1:]).astype(float).ravel()
        with np.errstate(divide="ignore"):
            share = float(np.log(objective.shares[label])) if objective.shares else 0.0
        known = float(gold[label]) if total else 0.0
        key = shape, np.array([*offset, known, share]).tobytes()
        others = alike[key].labels if key in alike else ()
        alike[key] = Term((*others, label), offset, known, total, share, shape=shape, n_classes=buckets.n_classes)
    return list(alike.values())


def _shapes(problem: Problem) -> list[Shape]:
    """The shapes of the sets of each label; the lowest and the highest are so among labels that are not forbidden."""
    n_labels = problem.buckets.n_labels
    if problem.space is Space.ALL or n_labels == 1:
        return [Shape.ANY] * n_labels
    shapes = [Shape.BETWEEN] * n_labels
    allowed = np.flatnonzero(problem.objective.shares or np.ones(n_labels))
    shapes[allowed[0]], shapes[allowed[-1]] = Shape.LOWER, Shape.UPPER
    return shapes
