"""Classes of workers, given the consensus: who answers alike, how each class answers, how frequent the labels are.

None of this is proved. It is what a proof of the labels then takes for granted, and comes from the same responses
(docs/found_classes.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.consensus.grid import on_grid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.rows import Rows

AUTO_OF_TWO_LABELS, AUTO_OF_MORE = 8, 2
"""How many classes are found if nobody says: as many as leave the labels provable."""

ROUNDS = 20
"""Rounds of workers choosing their classes, at most."""

FIRM = 1e-9
"""Nats by which another class must explain a worker's answers better, for each nat at stake."""


@dataclass(frozen=True, eq=False)
class FoundClasses:
    """Classes of workers, the one that is right most often first.

    Attributes:
        classes: Class of each worker; every class has some.
        prior: Pseudo-counts (class, true, answered): the rows that are expected, with the weight of the responses.
        shares: Shares of the labels among the tasks whose label is not known.
    """

    classes: Ints
    prior: Floats
    shares: Floats


def auto_n_classes(n_labels: int, n_workers: int) -> int:
    """How many classes are found if nobody says."""
    return min(AUTO_OF_TWO_LABELS if n_labels <= 2 else AUTO_OF_MORE, n_workers)


def find_classes(parts: Iterable[tuple[Rows, Floats]], n_classes: int) -> FoundClasses:
    """At most ``n_classes`` classes of workers, given responses and the probabilities of the labels (task, label)."""
    found = []
    for rows, probabilities in parts:
        exact = on_grid(probabilities)  # so that sums, and with them ties, do not depend on the order of workers
        found.append((_expected_counts(rows, exact), exact[rows.known < 0].sum(axis=0)))
    counts, shares = (np.sum(one, axis=0) for one in zip(*found, strict=True))
    classes = _settled(counts, _by_agreement(counts, n_classes), n_classes)
    of_class = _sums(counts, classes, n_classes)
    total, right = of_class.sum(axis=(1, 2)), np.einsum("kjj->k", of_class)
    used = np.flatnonzero(np.bincount(classes, minlength=n_classes))
    order = used[np.argsort(-right[used] / total[used], kind="stable")]
    place = np.zeros(n_classes, np.int64)
    place[order] = np.arange(len(order))
    return FoundClasses(place[classes], _prior(of_class[order]), shares / shares.sum())


def _expected_counts(rows: Rows, probabilities: Floats) -> Floats:
    """How often each worker gave each answer to tasks of each label (worker, true, answered), as is expected."""
    at, shape = rows.worker * rows.n_labels + rows.answer, (rows.n_workers, rows.n_labels)
    of_label = [
        np.bincount(at, probabilities[rows.task, label], minlength=shape[0] * shape[1]).reshape(shape)
        for label in range(rows.n_labels)
    ]
    return np.stack(of_label, axis=1)


def _by_agreement(counts: Floats, n_classes: int) -> Ints:
    """Workers in the order of how often they are right, in classes of one size; those alike share their mean rank."""
    agreement = (np.einsum("wjj->w", counts) + 1.2) / (counts.sum(axis=(1, 2)) + 2)
    _, place, times = np.unique(agreement, return_inverse=True, return_counts=True)
    twice_the_rank = 2 * np.cumsum(times) - times - 1
    return np.asarray(twice_the_rank[place.reshape(-1)] * n_classes // (2 * len(counts)))


def _settled(counts: Floats, classes: Ints, n_classes: int) -> Ints:
    """Every worker goes to the class that explains its answers best, until nobody does."""
    workers = np.arange(len(classes))
    for _ in range(ROUNDS):
        scores = np.einsum("wjl,kjl->wk", counts, np.log(_matrices(_sums(counts, classes, n_classes))))
        present, best = scores[workers, classes], scores.argmax(axis=1)
        better = scores[workers, best] > present + FIRM * np.abs(present)
        if not better.any():
            break
        classes = np.where(better, best, classes)
    return classes


def _matrices(of_class: Floats) -> Floats:
    """Response matrices of classes; a tenth of the responses are taken to be those of everybody."""
    n_labels, everybody = of_class.shape[1], of_class.sum(axis=0)
    rows = everybody / np.maximum(everybody.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    pulled = of_class + 0.1 * of_class.sum(axis=(1, 2), keepdims=True) / n_labels * rows + 0.01
    return np.asarray(pulled / pulled.sum(axis=2, keepdims=True))


def _sums(counts: Floats, classes: Ints, n_classes: int) -> Floats:
    """The counts of the workers of each class."""
    sums = np.zeros((n_classes, *counts.shape[1:]))
    np.add.at(sums, classes, counts)
    return sums


def _prior(of_class: Floats) -> Floats:
    """Pseudo-counts: in each class the rows that are expected, all of one weight, together that of its responses."""
    n_labels = of_class.shape[1]
    rows = of_class + 0.5 / n_labels
    weight = of_class.sum(axis=(1, 2), keepdims=True) / n_labels
    return np.asarray(rows / rows.sum(axis=2, keepdims=True) * weight)
