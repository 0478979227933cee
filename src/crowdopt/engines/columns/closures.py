"""Arcs between items, and the closed sets of items that are worth most.

An arc (tail, head) says that a set with the tail has the head as well; sets for which that holds are *closed*. Which
of them has the greatest sum of weights is a minimum cut, found and bounded by flows (closure_kernels.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Settled:
    """Best closed sets for rows of weights.

    Attributes:
        inside: The sets, by (row, item); nothing where the bound was enough before one was found.
        bound: No closed set has a greater sum of weights, but for rounding.
        size: The sum of the sizes of all numbers that the bound was made of.
    """

    inside: Bools
    bound: Floats
    size: Floats


class Arcs:
    """Arcs between numbered items, sorted by tail."""

    def __init__(self, tails: Ints, heads: Ints, n_items: int) -> None:
        by_tail = np.argsort(tails, kind="stable")
        self.tails, self.heads, self.n_items = tails[by_tail], heads[by_tail], n_items
        self._by_head = np.argsort(self.heads, kind="stable")
        items = np.arange(n_items + 1)
        self._first_out = np.searchsorted(self.tails, items)
        self._first_in = np.searchsorted(self.heads[self._by_head], items)
        self.most_at_an_item = int(np.max(np.diff(self._first_out) + np.diff(self._first_in), initial=0))

    def __len__(self) -> int:
        return len(self.tails)

    def no_flows(self, n_rows: int) -> Floats:
        """Flows of nothing, by (row, arc)."""
        return np.zeros((n_rows, len(self)))

    def settle(self, weights: Floats, flows: Floats, enough: Floats | float = -np.inf) -> Settled:
        """The best closed sets for rows of weights (row, item).

        Args:
            weights: The weights.
            flows: By (row, arc), to begin with; improved in place.
            enough: A bound that need not be improved, by row or for all.
        """
        from crowdopt.engines.columns import closure_kernels as loops

        inside, bound, size = np.zeros(weights.shape, bool), np.empty(len(weights)), np.empty(len(weights))
        arcs = self.tails, self.heads, self._first_out, self._by_head, self._first_in
        limits = np.broadcast_to(enough, bound.shape).astype(float)
        loops.best_closures(np.ascontiguousarray(weights), flows, *arcs, limits, inside, bound, size)
        return Settled(inside, bound, size)
