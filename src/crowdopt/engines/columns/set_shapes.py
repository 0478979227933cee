"""Shapes: the sets of buckets that a label can have where mappings respect an order.

The buckets labelled at least j are an up-set: with each bucket it holds all that dominate it. So the highest label
has an up-set, the lowest the rest, a down-set, and a label between them an up-set without a smaller one, which holds
with two buckets all that lie between them. All of these are *closed* sets of items: an item stands for a bucket of
the down-set or the larger up-set, which puts it into the label's set, or for one of the smaller up-set, which takes
it out again; arcs say which items ask for which others (closures.py).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.closures import Arcs

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats
    from crowdopt.engines.columns.closures import Settled
    from crowdopt.model.order import Order


class Shape(Enum):
    """The sets that a label can have: any, down-sets, up-sets, or what is between two up-sets."""

    ANY = "any"
    LOWER = "lower"
    UPPER = "upper"
    BETWEEN = "between"


class Items:
    """The items of a shape.

    Attributes:
        shape: The shape.
        layers: How many items stand for a bucket: bucket b of n is item b and, where there is a smaller up-set, b + n.
        arcs: Which items ask for others.
    """

    def __init__(self, shape: Shape, order: Order) -> None:
        higher, lower = np.nonzero(order.covers)
        tails, heads = (higher, lower) if shape is Shape.LOWER else (lower, higher)
        self.shape, self.n_buckets, self.layers = shape, order.n_buckets, 1
        if shape is Shape.BETWEEN:  # what is in the smaller up-set is in the larger one
            self.layers, every = 2, np.arange(order.n_buckets)
            tails = np.concatenate([tails, tails + order.n_buckets, every + order.n_buckets])
            heads = np.concatenate([heads, heads + order.n_buckets, every])
        self.arcs = Arcs(tails, heads, self.layers * order.n_buckets)

    def settle(self, weights: Floats, flows: Floats, enough: Floats | float = -np.inf) -> Settled:
        """The best sets for rows of weights of buckets; improves flows in place, until bounds are ``enough``."""
        by_item = np.concatenate([weights, -weights], axis=1) if self.layers == 2 else weights
        return self.arcs.settle(by_item, flows, enough)

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
