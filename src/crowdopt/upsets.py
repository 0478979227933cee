"""Up-sets: sets of buckets that hold, with each bucket, all that dominate it.

A mapping of R ordered labels that respects the order is a chain of nested up-sets, U_R ⊆ … ⊆ U_2: the buckets
labelled at least R, …, at least 2. Their number is what decides whether an exact search can list them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crowdopt.buckets import Buckets
    from crowdopt.order import Order
    from crowdopt.types import Bools, Ints


class TooManyUpSets(Exception):  # noqa: N818 -- a reason to go another way, not an error
    """There are more up-sets than were allowed."""


@dataclass(frozen=True, eq=False)
class UpSets:
    """All up-sets of an order, smallest first; the first is empty, the last holds every bucket.

    Attributes:
        members: Whether each up-set (row) holds each bucket (column).
    """

    members: Bools

    @classmethod
    def of(cls, order: Order, limit: int) -> UpSets:
        """Lists them bucket by bucket from the top: each up-set so far that holds all above the bucket may take it in.

        Raises:
            TooManyUpSets: If there are more than ``limit``.
        """
        sets = np.zeros((1, order.n_buckets), bool)
        for bucket in order.from_top:
            above = order.dominates[:, bucket]
            grown = sets[sets[:, above].all(axis=1)].copy()
            grown[:, bucket] = True
            if len(sets) + len(grown) > limit:
                raise TooManyUpSets(f"more than {limit} up-sets")
            sets = np.concatenate([sets, grown])
        size = sets.sum(axis=1)
        return cls(sets[np.lexsort((*sets.T[::-1], size))])

    def __len__(self) -> int:
        return len(self.members)

    def sums(self, buckets: Buckets) -> tuple[Ints, Ints]:
        """Responses (set, class, label) and tasks (set) in each up-set."""
        members = self.members.astype(np.int64)
        responses = members @ buckets.responses.reshape(buckets.n_buckets, -1)
        return responses.reshape(len(self), *buckets.counts.shape[1:]), members @ buckets.weights

    def inside(self, rows: slice, upto: int) -> Bools:
        """Whether up-set b < upto (column) lies inside up-set a of ``rows``: b has nothing that a lacks."""
        missing = (~self.members[rows]).astype(np.float32) @ self.members[:upto].T.astype(np.float32)
        return np.asarray(missing == 0)

    def words(self) -> NDArray[np.uint64]:
        """The members as bits, 64 buckets a word."""
        n_words = -(-self.members.shape[1] // 64)
        padded = np.zeros((len(self), n_words * 64), bool)
        padded[:, : self.members.shape[1]] = self.members
        return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
