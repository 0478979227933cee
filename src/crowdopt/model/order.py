"""Dominance: the order between buckets that a mapping of ordered labels should respect.

Bucket a dominates b when, class by class, it has at least as many responses at or above every label but the lowest,
and at most as many at or below every label but the highest. Where the classes are *ranked*, best first, the same is
asked of the best class, of the best two together, and so on up to all of them: a better worker's response then
counts for more than the same response of a lesser one, so more buckets can be compared. A mapping respects the
order when no bucket gets a lower label than one it dominates (docs/theory.md, "The order").

An *up-set* is a set of buckets that holds, with each bucket, all that dominate it. A mapping of R ordered labels that
respects the order is a chain of nested up-sets, U_R ⊆ … ⊆ U_2: the buckets labelled at least R, …, at least 2. Their
number decides whether an exact search can list them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.buckets import blocks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crowdopt._arrays import Bools, Ints
    from crowdopt.model.buckets import Buckets

_BLOCK = 1 << 22
"""Comparisons made at once: bounds the memory of the pairwise check."""


@dataclass(frozen=True, eq=False)
class Order:
    """The dominance order among observed buckets: a finite poset.

    Attributes:
        counts: Responses by (bucket, class, label).
        dominates: Whether bucket a (row) dominates another bucket b (column); never itself.
        ranked: Whether the classes are ranked, best first.
    """

    counts: Ints
    dominates: Bools
    ranked: bool = False

    @classmethod
    def of(cls, counts: Ints, *, ranked: bool = False) -> Order:
        """The order among distinct buckets, by comparing all pairs: O(B² · labels · classes)."""
        keys = tails(counts, ranked=ranked)
        dominates = np.zeros((len(keys), len(keys)), bool)
        block = max(1, _BLOCK // max(1, keys.size))
        for start in range(0, len(keys), block):
            rows = slice(start, start + block)
            dominates[rows] = (keys[rows, None, :] >= keys[None, :, :]).all(axis=2)
        np.fill_diagonal(dominates, val=False)
        return cls(counts, dominates, ranked)

    @property
    def n_buckets(self) -> int:
        """Number of buckets."""
        return len(self.counts)

    @cached_property
    def from_top(self) -> Ints:
        """The buckets in an order in which each stands behind all that dominate it."""
        keys = tails(self.counts, ranked=self.ranked)
        return np.lexsort((*keys.T[::-1], keys.sum(axis=1)))[::-1]

    @cached_property
    def covers(self) -> Bools:
        """Pairs with nothing between them: the arrows of the dominance diagram."""
        above = self.dominates.astype(np.float32)
        return np.asarray(self.dominates & ~(above @ above > 0))

    def arrows(self) -> list[tuple[int, int]]:
        """The diagram as data: pairs (dominating, dominated) with nothing between them."""
        return [(int(a), int(b)) for a, b in np.argwhere(self.covers)]


def tails(counts: Ints, *, ranked: bool = False) -> Ints:
    """For each bucket the numbers that dominance compares, all "more is higher", shape (bucket, class * 2(R-1)).

    Of ranked classes, best first, the first number is that of the best class, the next that of the best two together.
    """
    if ranked:
        counts = np.cumsum(counts, axis=1)
    above = np.cumsum(counts[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]
    below = np.cumsum(counts, axis=2)[:, :, :-1]
    return np.concatenate([above, -below], axis=2).reshape(len(counts), -1)


def violation(counts: Ints, mapping: Ints, *, ranked: bool = False) -> tuple[int, int] | None:
    """A pair (a, b) where a dominates b and yet has the lower label, or None if the order is respected."""
    keys = tails(counts, ranked=ranked)
    if keys.shape[1] == 2:
        return _violation_in_plane(keys, mapping)
    block = max(1, _BLOCK // max(1, keys.size))
    for start in range(0, len(keys), block):
        rows = slice(start, start + block)
        dominates = (keys[rows, None, :] >= keys[None, :, :]).all(axis=2)
        wrong = np.argwhere(dominates & (mapping[rows, None] < mapping[None, :]))
        if len(wrong):
            return int(wrong[0, 0]) + start, int(wrong[0, 1])
    return None


def _violation_in_plane(keys: Ints, mapping: Ints) -> tuple[int, int] | None:
    """The same for two numbers per bucket (two labels, one class) in O(B log B).

    Sweeps from the lowest first number up, remembering of the buckets with label 1 the one that is
    easiest to dominate; a later bucket with label 0 must not dominate it.
    """
    # Lowest first number first; among equals the ones that could be dominated (label 1) first.
    sweep = np.lexsort((1 - mapping, keys[:, 0]))
    second = np.where(mapping[sweep] == 1, keys[sweep, 1], np.iinfo(np.int64).max)
    easiest = np.minimum.accumulate(second)
    wrong = np.flatnonzero((mapping[sweep] == 0) & (keys[sweep, 1] >= easiest))
    if not len(wrong):
        return None
    at = int(wrong[0])
    low = int(np.argmin(second[: at + 1]))
    return int(sweep[at]), int(sweep[low])


class TooManyUpSets(Exception):  # noqa: N818 -- a reason to go another way, not an error
    """There are more up-sets than were allowed."""

    def __init__(self, allowed: int) -> None:
        super().__init__(f"more than {allowed:,} sets of buckets")


class TooMuchMemory(TooManyUpSets):
    """There are more up-sets than fit into the memory that may be used."""


@dataclass(frozen=True, eq=False)
class UpSets:
    """All up-sets of an order, smallest first; the first is empty, the last holds every bucket.

    Attributes:
        words: The members of each up-set (row) as bits, 64 buckets a word, the first bucket in the lowest bit.
        n_buckets: Number of buckets.
    """

    words: NDArray[np.uint64]
    n_buckets: int

    @classmethod
    def of(cls, order: Order, limit: int) -> UpSets:
        """Lists them bucket by bucket from the top: each up-set so far that holds all above the bucket may take it in.

        Raises:
            TooManyUpSets: If there are more than ``limit``.
        """
        above, alone = _as_words(order.dominates.T), _as_words(np.eye(order.n_buckets, dtype=bool))
        sets = np.zeros((1, above.shape[1]), np.uint64)
        for bucket in order.from_top:
            holds_all = ((sets & above[bucket]) == above[bucket]).all(axis=1)
            grown = sets[holds_all] | alone[bucket]
            if len(sets) + len(grown) > limit:
                raise TooManyUpSets(limit)
            sets = np.concatenate([sets, grown])
        size = np.bitwise_count(sets).sum(axis=1)
        return cls(sets[np.lexsort((*sets.T, size))], order.n_buckets)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def members(self) -> Bools:
        """Whether each up-set (row) holds each bucket (column)."""
        bits = np.unpackbits(self.words.view(np.uint8), axis=1, count=self.n_buckets, bitorder="little")
        return bits.view(bool)

    def sums(self, buckets: Buckets) -> tuple[Ints, Ints]:
        """Responses (set, class, label) and tasks (set) in each up-set."""
        amounts = np.column_stack([buckets.responses.reshape(buckets.n_buckets, -1), buckets.weights])
        kind = float if buckets.n_responses < 2**53 else np.int64  # floats are exact up to there, and fast
        sums = np.empty((len(self), amounts.shape[1]), np.int64)
        for some in blocks_of(len(self), self.n_buckets):
            sums[some] = self.members[some].astype(kind) @ amounts
        return sums[:, :-1].reshape(len(self), *buckets.counts.shape[1:]), sums[:, -1].copy()

    def inside(self, rows: slice, upto: int) -> Bools:
        """Whether up-set b < upto (column) lies inside up-set a of ``rows``: b has nothing that a lacks."""
        lacking = ~self.words[rows]
        found = np.ones((len(lacking), upto), bool)
        for lacks, has in zip(lacking.T, self.words[:upto].T, strict=True):
            found &= (lacks[:, None] & has) == 0
        return found


def _as_words(members: Bools) -> NDArray[np.uint64]:
    """Rows of booleans as bits."""
    padded = np.zeros((len(members), -(-members.shape[1] // 64) * 64), bool)
    padded[:, : members.shape[1]] = members
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
