"""Up-sets: sets of buckets that hold, with each bucket, all that dominate it.

A mapping of R ordered labels that respects the order is a chain of nested up-sets, U_R ⊆ … ⊆ U_2: the buckets
labelled at least R, …, at least 2. Their number is what decides whether an exact search can list them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crowdopt._arrays import Bools, Ints
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.order import Order


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
        if buckets.n_responses < 2**53:  # where floats are exact, and their products fast
            sums = (self.members.astype(float) @ amounts).astype(np.int64)
        else:
            sums = self.members.astype(np.int64) @ amounts
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
