"""Buckets: the distinct vectors of response counts, and how many tasks have each.

A task's answer depends only on its bucket (docs/theory.md, Fact 1), so this small table is all that the
engines see, however many responses there were.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crowdopt._arrays import Ints

MAX_RESPONSES = 2**62
"""Totals beyond this would overflow 64-bit integers on the way."""

AT_ONCE = 1 << 20
"""Numbers of buckets that are worked on together: more would take memory, and no less time."""


@dataclass(frozen=True, eq=False)
class Buckets:
    """Distinct count vectors, sorted, with their weights.

    Attributes:
        counts: Responses by (bucket, class, label), int64; no bucket is empty.
        weights: Tasks in each bucket, int64, at least one.
    """

    counts: Ints
    weights: Ints

    @classmethod
    def from_arrays(cls, counts: Any, weights: Any = None) -> tuple[Self, Ints]:
        """Checks, merges and sorts count vectors of shape (rows, labels) or (rows, classes, labels).

        Returns:
            The buckets, and for every given row the bucket it went to: -1 for rows without responses
            or of weight zero.
        """
        table = _whole_numbers(counts, "counts")
        if table.ndim == 2:
            table = table[:, None, :]
        if table.ndim != 3 or 0 in table.shape[1:]:
            raise InputError(
                f"counts must have shape (buckets, labels) or (buckets, classes, labels), not {table.shape}"
            )
        mass = np.ones(len(table), np.int64) if weights is None else _whole_numbers(weights, "weights")
        if mass.shape != (len(table),):
            raise InputError(f"there are {len(table)} rows of counts but weights have shape {mass.shape}")
        # In floating point, which does not wrap around.
        if float((table.sum(axis=(1, 2), dtype=float) * mass).sum()) > MAX_RESPONSES:
            raise InputError(f"more than {MAX_RESPONSES} responses do not fit into 64-bit counts")
        used = (table > 0).any(axis=(1, 2)) & (mass > 0)
        rows = (table if used.all() else table[used]).reshape(-1, table.shape[1] * table.shape[2])
        distinct, inverse = _distinct_rows(rows)
        merged = np.zeros(len(distinct), np.int64)
        np.add.at(merged, inverse, mass[used])
        index = np.full(len(table), -1, np.int64)
        index[used] = inverse
        return cls(distinct.reshape(-1, *table.shape[1:]), merged), index

    @property
    def n_buckets(self) -> int:
        """Number of distinct count vectors."""
        return len(self.weights)

    @property
    def n_classes(self) -> int:
        """Number of worker classes."""
        return int(self.counts.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels on the scale."""
        return int(self.counts.shape[2])

    @cached_property
    def n_tasks(self) -> int:
        """Number of tasks that have a response."""
        return int(self.weights.sum())

    @cached_property
    def n_responses(self) -> int:
        """Number of responses."""
        return int(self.responses.sum())

    @cached_property
    def responses(self) -> Ints:
        """Responses by (bucket, class, label) over all tasks of the bucket."""
        return self.counts * self.weights[:, None, None]

    @cached_property
    def sizes(self) -> Ints:
        """Responses per task of each bucket."""
        return np.asarray(self.counts.sum(axis=(1, 2)))

    @property
    def equal_sizes(self) -> bool:
        """Whether every task has the same number of responses from each class."""
        per_class = self.counts.sum(axis=2)
        return bool((per_class == per_class[:1]).all())

    def by_label(self, mapping: Ints) -> tuple[Ints, Ints]:
        """Responses (label, class, answer) and tasks (label) that a mapping puts under each label."""
        responses = np.zeros((self.n_labels, self.n_classes, self.n_labels), np.int64)
        np.add.at(responses, mapping, self.responses)
        tasks = np.zeros(self.n_labels, np.int64)
        np.add.at(tasks, mapping, self.weights)
        return responses, tasks

    def overruled(self, mapping: Ints) -> float:
        """Share of the tasks in which more than half of the responses are one label, and the mapping gives another."""
        votes = self.counts.sum(axis=1)
        clear = 2 * votes.max(axis=1) > self.sizes
        return float(self.weights[clear & (votes.argmax(axis=1) != mapping)].sum() / self.n_tasks)

    def agreement(self, mapping: Ints) -> int:
        """Responses that equal the label their task was given: what breaks ties of likelihood."""
        responses, _ = self.by_label(mapping)
        return int(np.einsum("jkj->", responses))

    def fingerprint(self, labels: Sequence[str], classes: Sequence[str] = (), responses: str = "") -> str:
        """SHA-256 of the table, the label texts, the names of classes and the digest of the responses, if there is one.

        It is the same from every source and row order.
        """
        digest = hashlib.sha256()
        names: dict[str, Any] = {"labels": list(labels), "shape": list(self.counts.shape)}
        names |= ({"classes": list(classes)} if classes else {}) | ({"responses": responses} if responses else {})
        digest.update(json.dumps(names).encode())
        digest.update(self.counts.astype("<i8").tobytes())
        digest.update(self.weights.astype("<i8").tobytes())
        return digest.hexdigest()


def _whole_numbers(values: Any, name: str) -> Ints:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must be a rectangular array of whole numbers: {error}") from error
    if array.dtype == object or array.dtype.kind not in "iufb":
        raise InputError(f"{name} must be whole numbers, not {array.dtype}")
    if not (np.abs(array) < 2.0**63).all():  # nor not-a-number: neither would survive the conversion
        raise InputError(f"{name} must be whole numbers below 2^63")
    whole = array.astype(np.int64)
    if array.size and (not np.array_equal(whole, array) or whole.min() < 0):
        raise InputError(f"{name} must be whole numbers of at least 0")
    return whole


def _distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct rows, sorted, and which of them each row is: what np.unique gives, with less memory on the way."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.ones(len(rows), bool)
    for some in blocks_of(len(rows) - 1, rows.shape[1]):
        new[1:][some] = (ordered[1:][some] != ordered[:-1][some]).any(axis=1)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(new) - 1
    return ordered if new.all() else ordered[new], inverse


def blocks_of(n_buckets: int, numbers: int) -> Iterator[slice]:
    """Ranges that together are all buckets, each of which has so many numbers.

    >>> list(blocks_of(5, 1 << 19))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    step = max(1, AT_ONCE // max(1, numbers))
    yield from (slice(at, at + step) for at in range(0, n_buckets, step))
