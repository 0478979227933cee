"""Shapes: the sets of buckets that a label can have where mappings respect an order.

The buckets labelled at least j are an up-set: with each bucket it holds all that dominate it. So the highest label
has an up-set, the lowest the rest, a down-set, and a label between them an up-set without a smaller one, which
holds with two buckets all that lie between them. All of these are *closed* sets of items: an item stands for a
bucket of the down-set or the larger up-set, which puts it into the label's set, or for one of the smaller up-set,
which takes it out again; an arc says that a set with one item has the other one as well. The best closed set is a
minimum cut (flows.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt.order import Order
    from crowdopt.types import Bools, Floats


class Shape(Enum):
    """The sets that a label can have: any, down-sets, up-sets, or what is between two up-sets."""

    ANY = "any"
    LOWER = "lower"
    UPPER = "upper"
    BETWEEN = "between"


@dataclass(frozen=True, eq=False)
class Settled:
    """Best closed sets of items for rows of weights.

    Attributes:
        inside: The closed sets, by (row, item); nothing where the bound was enough before one was found.
        bound: No closed set has a greater sum of weights, but for rounding.
        size: The sum of the sizes of all numbers that the bound was made of.
    """

    inside: Bools
    bound: Floats
    size: Floats


class Items:
    """The items of a shape.

    Attributes:
        shape: The shape.
        tails: By arc: a closed set that has this item has the arc's head as well. Arcs are sorted by tail.
        heads: By arc.
    """

    def __init__(self, shape: Shape, order: Order) -> None:
        """Bucket b of n is item b, and where there is a smaller up-set also item b + n, which asks for item b."""
        higher, lower = np.nonzero(order.covers)
        n = order.n_buckets
        self.shape, self.n_buckets, self.layers = shape, n, 2 if shape is Shape.BETWEEN else 1
        tails, heads = (higher, lower) if shape is Shape.LOWER else (lower, higher)
        if shape is Shape.BETWEEN:
            every = np.arange(n)
            tails, heads = np.concatenate([tails, tails + n, every + n]), np.concatenate([heads, heads + n, every])
        by_tail = np.argsort(tails, kind="stable")
        self.tails, self.heads = tails[by_tail], heads[by_tail]
        self._by_head = np.argsort(self.heads, kind="stable")
        items = np.arange(self.layers * n + 1)
        self._first_out = np.searchsorted(self.tails, items)
        self._first_in = np.searchsorted(self.heads[self._by_head], items)

    def __len__(self) -> int:
        return self.layers * self.n_buckets

    def no_flows(self, n_rows: int) -> Floats:
        """Flows of nothing, by (row, arc)."""
        return np.zeros((n_rows, len(self.tails)))

    def settle(self, weights: Floats, flows: Floats, enough: Floats | float = -np.inf) -> Settled:
        """The best closed sets for rows of weights of buckets; improves flows in place, until bounds are ``enough``."""
        from crowdopt.solve import flows as loops

        by_item = np.concatenate([weights, -weights], axis=1) if self.layers == 2 else np.ascontiguousarray(weights)
        inside, bound, size = np.zeros(by_item.shape, bool), np.empty(len(weights)), np.empty(len(weights))
        arcs = self.tails, self.heads, self._first_out, self._by_head, self._first_in
        loops.settle(by_item, flows, *arcs, np.broadcast_to(enough, bound.shape).copy(), inside, bound, size)
        return Settled(inside, bound, size)

    def sets(self, inside: Bools) -> Bools:
        """The sets of buckets (row, bucket) of closed sets of items (row, item)."""
        return inside[:, : self.n_buckets] & ~inside[:, self.n_buckets :] if self.layers == 2 else inside


def allows(shape: Shape, order: Order, sets: Bools) -> Bools:
    """Whether each set of buckets (set, bucket) has the shape."""
    if shape is Shape.ANY:
        return np.ones(len(sets), bool)
    members, above = sets.astype(np.float32), order.dominates.astype(np.float32)
    dominated, dominating = members @ above > 0, members @ above.T > 0
    asked = {Shape.LOWER: dominated, Shape.UPPER: dominating, Shape.BETWEEN: dominated & dominating}[shape]
    return np.asarray(~(asked & ~sets).any(axis=1))
