"""The best set that respects an order, for weights of buckets: a closure, found by a minimum cut.

A set may be asked to hold with every bucket all that dominate it (*up*), all that it dominates (*down*), or all
between two of its buckets (*between*). Each is a closure: nodes that ask for other nodes. Up-sets and down-sets
have a node for every bucket; a set between is an up-set without a smaller one, so it has two, and the second counts
against the weight.

Adding nodes that all count in favour, with all they ask for, never hurts; nor does leaving out nodes that all count
against, with all that ask for them. What is left over by that is a minimum cut. A flow from a node to one that it
asks for lowers the one and raises the other, which no closure is the worse for: whatever the flow, the sum of what
then counts in favour is a bound, and the greatest flow makes it the best closure. Flows are whole numbers of some
unit; what rounding leaves is cut once more, with a finer unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats

Shape = Literal["any", "up", "down", "between"]

_WHOLE = 2**30
"""What all weights of a cut sum up to as whole numbers: flows are counted in 32 bits."""

_ROUNDS, _SMALL = 4, 1e-13
"""Cuts of what is left, each with a finer unit, until it is no more than a small part of all."""


@dataclass(frozen=True, eq=False)
class Closures:
    """Sets of one shape.

    Attributes:
        asks: Whether a node (row) asks for another (column), itself included.
        sign: How a node counts: its bucket's weight, or against it.
        n_buckets: Number of buckets; nodes of a second layer come after those of the first.
    """

    asks: Bools
    sign: Floats
    n_buckets: int

    @classmethod
    def of(cls, above: Bools, shape: Shape) -> Closures:
        """For an order given as a matrix: whether a bucket (column) dominates another (row), itself included."""
        n = len(above)
        if shape == "any":
            return cls(np.eye(n, dtype=bool), np.ones(n), n)
        if shape != "between":
            return cls(above if shape == "up" else above.T, np.ones(n), n)
        asks = np.block([[above, np.zeros_like(above)], [above, above]])
        return cls(asks, np.repeat([1.0, -1.0], n), n)

    def allows(self, inside: Bools) -> bool:
        """Whether a set has this shape: what its buckets ask for is in it, or else can be taken off again."""
        asks = self.asks[: self.n_buckets, : self.n_buckets]
        rest = asks[inside].any(axis=0) & ~inside
        return not (asks[rest].any(axis=0) & ~rest).any() if len(self.sign) > self.n_buckets else not rest.any()

    def best(self, weights: Floats) -> Floats:
        """No set is worth more than this, for many weights (row, bucket) at once: the best but for a few billionths."""
        values, inside, open_ = self._fixed(np.tile(weights, (1, len(self.sign) // self.n_buckets)) * self.sign)
        for row in np.flatnonzero(open_.any(axis=1)):
            small = _SMALL * float(np.abs(values[row]).sum())
            for _ in range(_ROUNDS):
                rest = np.flatnonzero(open_[row])
                if values[row, rest].clip(0.0).sum() <= small:
                    break
                flow, unit = _greatest_flow(values[row, rest], self.asks[np.ix_(rest, rest)])
                values[row, rest] -= flow[:-2, :-2].sum(axis=1) * unit  # what leaves a node less what comes in
                _, inside[row : row + 1], open_[row : row + 1] = self._fixed(values[row : row + 1])
        return np.asarray(np.where(inside, values, np.where(open_, np.maximum(values, 0.0), 0.0)).sum(axis=1))

    def best_set(self, weights: Floats) -> Bools:
        """A set that is the best but for rounding, for one row of weights."""
        values, inside, open_ = self._fixed(np.tile(weights, (1, len(self.sign) // self.n_buckets)) * self.sign)
        rest = np.flatnonzero(open_[0])
        nodes = inside[0].copy()
        nodes[rest] = self._reached(values[0, rest], self.asks[np.ix_(rest, rest)])
        layers = nodes.reshape(-1, self.n_buckets)
        return np.asarray(layers[0] & ~layers[1:].any(axis=0))

    def _fixed(self, values: Floats) -> tuple[Floats, Bools, Bools]:
        """What nodes count, which are surely in a best closure, and which are open; all by (row, node)."""
        asks = self.asks.astype(np.float32)
        against = (values < 0).astype(np.float32) @ asks.T > 0  # asks for a node that does not help
        favour = (values > 0).astype(np.float32) @ asks > 0  # is asked for by one that does
        return values, ~against, against & favour

    @staticmethod
    def _reached(values: Floats, asks: Bools) -> Bools:
        """The best closure of some nodes: what can still be reached from those in favour after a greatest flow."""
        flow, unit = _greatest_flow(values, asks)
        chosen = np.asarray(values - flow[-2, :-2] * unit > unit)
        open_ways = asks | (flow[:-2, :-2].T > 0)
        while True:
            more = chosen | open_ways[chosen].any(axis=0)
            if (more == chosen).all():
                return chosen
            chosen = more


def _greatest_flow(values: Floats, asks: Bools) -> tuple[Any, float]:
    """A greatest flow from nodes in favour to nodes against that they ask for (then source and sink), and its unit."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    n = len(values)
    some = np.clip(values, -(np.maximum(values, 0.0) @ asks), asks @ np.maximum(-values, 0.0))  # more cannot flow
    size = float(np.abs(some).sum())
    if not size:
        return np.zeros((n + 2, n + 2), np.int64), 0.0
    unit = size / _WHOLE
    whole = np.trunc(some / unit).astype(np.int64)
    capacity = np.zeros((n + 2, n + 2), np.int32)
    capacity[:n, :n] = np.where(asks & ~np.eye(n, dtype=bool), _WHOLE, 0)
    capacity[n, :n] = np.maximum(whole, 0)
    capacity[:n, n + 1] = np.maximum(-whole, 0)
    return maximum_flow(csr_array(capacity), n, n + 1).flow.toarray().astype(np.int64), unit
