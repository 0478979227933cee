"""Shapes: which sets of buckets a label can have where mappings respect an order.

The buckets below a label are a down-set, those above it an up-set; so the lowest label has a down-set, the highest an
up-set, and a label between them what is left of an up-set without a smaller one. All of these are *closed* sets of items
(flows.py): an item says "the label's bucket, or above" or "above the label's buckets", and arcs say that one asks for
another.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt.order import Order
    from crowdopt.types import Bools, Floats, Ints


class Shape(Enum):
    """The sets that a label can have: any, down-sets, up-sets, or what is between two up-sets."""

    ANY = "any"
    LOWER = "lower"
    UPPER = "upper"
    BETWEEN = "between"


@dataclass(frozen=True, eq=False)
class Arcs:
    """Pairs of items (tail, head), sorted by tail: a set with the tail has the head as well.

    Attributes:
        tails: By arc.
        heads: By arc.
        n_items: The number of items.
        first_out: The first arc from each item, and the number of all.
        by_head: The arcs sorted by head.
        first_in: The first of these to each item, and the number of all.
    """

    tails: Ints
    heads: Ints
    n_items: int
    first_out: Ints
    by_head: Ints
    first_in: Ints

    @classmethod
    def of(cls, tails: Ints, heads: Ints, n_items: int) -> Arcs:
        """Arcs that are sorted by tail."""
        by_head = np.argsort(heads, kind="stable")
        items = np.arange(n_items + 1)
        return cls(
            tails,
            heads,
            n_items,
            np.searchsorted(tails, items),
            by_head,
            np.searchsorted(heads[by_head], items),
        )

    def __len__(self) -> int:
        return len(self.tails)

    def only(self, items: Bools) -> tuple[Arcs, Bools]:
        """The arcs between some of the items, which are numbered anew; and which they are."""
        kept = items[self.tails] & items[self.heads]
        number = np.cumsum(items) - 1
        return Arcs.of(number[self.tails[kept]], number[self.heads[kept]], int(items.sum())), kept

    def settle(self, weights: Floats, flows: Floats, enough: Floats) -> Settled:
        """Best closed sets of rows of weights (row, item), improving rows of flows (row, arc) in place."""
        from crowdopt.solve import flows as loops

        inside, rest = np.empty(weights.shape, bool), np.empty(weights.shape)
        bound, size = np.empty(len(weights)), np.empty(len(weights))
        arcs = self.heads, self.first_out, self.tails, self.by_head, self.first_in
        loops.settle(np.ascontiguousarray(weights), flows, *arcs, enough, inside, rest, bound, size)
        return Settled(inside, rest, bound, size)


@dataclass(frozen=True, eq=False)
class Settled:
    """Best closed sets of rows of weights.

    Attributes:
        inside: The sets, by (row, item); empty where the bound was enough before one was found.
        rest: Weights after the flow, by (row, item).
        bound: No closed set has a greater sum of weights, but for rounding.
        size: The sum of the sizes of all numbers that the bound was made of.
    """

    inside: Bools
    rest: Floats
    bound: Floats
    size: Floats


def items_of(shape: Shape, order: Order) -> Arcs:
    """The items of a shape, and their arcs.

    Bucket b is item b, and of sets between two up-sets also item b + n of n: the larger up-set, then the smaller.
    """
    higher, lower = np.nonzero(order.covers)
    n = order.n_buckets
    if shape is Shape.LOWER:
        return Arcs.of(higher, lower, n)
    by_lower = np.argsort(lower, kind="stable")
    higher, lower = higher[by_lower], lower[by_lower]
    if shape is Shape.UPPER:
        return Arcs.of(lower, higher, n)
    every = np.arange(n)
    tails, heads = np.concatenate([lower, lower + n, every + n]), np.concatenate([higher, higher + n, every])
    by_tail = np.argsort(tails, kind="stable")
    return Arcs.of(tails[by_tail], heads[by_tail], 2 * n)


def allows(shape: Shape, order: Order, sets: Bools) -> Bools:
    """Whether each set of buckets (set, bucket) has the shape."""
    if shape is Shape.ANY:
        return np.ones(len(sets), bool)
    members, above = sets.astype(np.float32), order.dominates.astype(np.float32)
    dominated, dominating = members @ above > 0, members @ above.T > 0
    asked = {Shape.LOWER: dominated, Shape.UPPER: dominating, Shape.BETWEEN: dominated & dominating}[shape]
    return np.asarray(~(asked & ~sets).any(axis=1))
