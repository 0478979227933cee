"""The best set that respects an order, for weights of buckets: a closure, found by a minimum cut.

A set may be asked to hold with every bucket all that dominate it (*up*), all that it dominates (*down*), or all
between two of its buckets (*between*). Each is a closure: nodes that ask for other nodes. Up-sets and down-sets
have a node for every bucket; a set between is an up-set without a smaller one, so it has two, and the second counts
against the weight.

Adding nodes that all count in favour, with all they ask for, never hurts; nor does leaving out nodes that all count
against, with all that ask for them. What is left over by that is a minimum cut. Weights are rounded to whole
numbers, up, so that the result is never below the true one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from crowdopt.types import Bools, Floats

Shape = Literal["any", "up", "down", "between"]

_WHOLE = 2**30
"""What all weights of a cut sum up to as whole numbers: flows are counted in 32 bits."""


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

    def best(self, weights: Floats) -> Floats:
        """No set is worth more than this, for many weights (row, bucket) at once: the best, but for rounding up."""
        values, inside, open_ = self._fixed(weights)
        worth = np.where(inside, values, 0.0).sum(axis=1)
        for row in np.flatnonzero(open_.any(axis=1)):
            rest = np.flatnonzero(open_[row])
            worth[row] += self._cut(values[row, rest], self.asks[np.ix_(rest, rest)])[0]
        return np.asarray(worth)

    def best_set(self, weights: Floats) -> Bools:
        """A set that is the best but for rounding, for one row of weights."""
        values, inside, open_ = self._fixed(weights[None])
        rest = np.flatnonzero(open_[0])
        nodes = inside[0].copy()
        nodes[rest] = self._cut(values[0, rest], self.asks[np.ix_(rest, rest)])[1]
        layers = nodes.reshape(-1, self.n_buckets)
        return np.asarray(layers[0] & ~layers[1:].any(axis=0))

    def _fixed(self, weights: Floats) -> tuple[Floats, Bools, Bools]:
        """What nodes count, which are surely in a best closure, and which are open; all by (row, node)."""
        values = np.tile(weights, (1, len(self.sign) // self.n_buckets)) * self.sign
        asks = self.asks.astype(np.float32)
        against = (values < 0).astype(np.float32) @ asks.T > 0  # asks for a node that does not help
        favour = (values > 0).astype(np.float32) @ asks > 0  # is asked for by one that does
        return values, ~against, against & favour

    @staticmethod
    def _cut(values: Floats, asks: Bools) -> tuple[float, Bools]:
        """The best closure among some nodes, and its worth, by a minimum cut."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order, maximum_flow

        size, n = float(np.abs(values).sum()), len(values)
        if not size:
            return 0.0, np.zeros(n, bool)
        unit = size / _WHOLE
        whole = np.ceil(values / unit).astype(np.int64)
        most = int(whole[whole > 0].sum())
        capacity = np.zeros((n + 2, n + 2), np.int32)
        capacity[:n, :n] = np.where(asks & ~np.eye(n, dtype=bool), most + 1, 0)
        capacity[n, :n] = np.maximum(whole, 0)
        capacity[:n, n + 1] = np.maximum(-whole, 0)
        flow = maximum_flow(csr_array(capacity), n, n + 1)
        reached = breadth_first_order(csr_array(capacity - flow.flow.toarray()), n, return_predecessors=False)
        chosen = np.zeros(n + 2, bool)
        chosen[reached] = True
        return (most - flow.flow_value) * unit, chosen[:n]
