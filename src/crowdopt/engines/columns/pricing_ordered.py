"""Ordered pricing: the set of a shape that is worth most to a label at given prices.

Maximises Ψ(S) − λ(S) over the down-sets, the up-sets, or the sets between two up-sets (set_shapes.py). Exact by the
same branch and bound as without an order (pricing.py), over cells on which Φ lies below a linear function θ: a set
of the shape whose M(S) is in the cell is worth at most

    ⟨θ, G⟩ + max over sets S of the shape of Σ_{b in S} (⟨θ, Y_b⟩ − λ_b),

which is a minimum cut, bounded by any flow (closure_kernels.py); a cell begins with the flow of the cell that it was
cut from. Three things save most of these cuts. (1) θ may be raised along the facets f of a cell, as ⟨f, M(S)⟩ ≥ 0
there. With all sets found so far at hand, only such raises are tried that bring each of them down to the level that
settles the cell. They are found by projections. (2) Where there are none, no flow can settle the cell, and it is cut at
once. (3) Now and then the set C that is best for θ is compared with all others: ⟨M(C), ln p⟩ ≤ Φ(M(C)), so a set S with
probabilities p in the cell is worth at most what C is and the most, over the cell, that Σ_{S without C} (⟨Y_b, ln p⟩ −
λ_b) − Σ_{C without S} (…) can be: another minimum cut. It is 0 once C is the best set all over the cell, so this
settles the cells around the sets that are worth just the level.

Rounding: as in pricing.py, and the sum of what a flow leaves is off by at most as many units in the last place of
the sizes of all numbers in it as it has summands. Nothing rests on a flow being the greatest, nor on raises being
the best.

Cost: a minimum cut for about every cell; about 100 cells for three labels, 3,000 for four, 20,000 for five.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.memory import OWN
from crowdopt.engines.columns.pricing import DECIDE_EVERY, KEPT, Pricing
from crowdopt.engines.columns.pricing_cells import Cells, above

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.engines.columns.memory import Memory
    from crowdopt.engines.columns.set_shapes import Items
    from crowdopt.engines.columns.set_terms import BucketSet, Term

MOST_AT_ONCE, BLOCK = 64, 1 << 15
"""Cells worked on at once, and cells times items: few, as each may learn from those before it."""

MOST_KNOWN = 300
"""Sets that are kept at hand."""

TURNS = 2
"""Raises of a plane that are tried, each against one more set."""

STEPS, OVER = 12, 1.8
"""Projections in search of a raise, and how far they go."""

_EPS = float(np.finfo(float).eps)
_HOPELESS = -1e14  # less than what any bucket can lose, but for one that has an answer which is impossible at a corner


@dataclass(eq=False, kw_only=True)
class OrderedCells(Cells):
    """Cells with flows by (cell, arc). No bucket is decided in them."""

    flows: Floats


class OrderedPricing(Pricing):
    """One search for the best set of a shape.

    Args:
        buckets: The buckets.
        term: The term of the label.
        items: The items of its shape.
        prices: λ.
        threshold: Sets that are worth less are of no interest: a bound need not be below it.
        slack: How far the bound may be above the best set found.
        known: Sets of the shape to begin with.
        memory: The memory that it may take.
    """

    def __init__(
        self,
        buckets: BucketSet,
        term: Term,
        items: Items,
        prices: Floats,
        threshold: float,
        slack: float,
        known: Bools,
        memory: Memory = OWN,
    ) -> None:
        super().__init__(buckets, term, prices, threshold, slack, memory)
        self.items, self.known = items, known
        self.whole, self.paid = items.layers * self.whole, items.layers * self.paid
        arcs = items.arcs
        self.unit = (arcs.n_items + arcs.most_at_an_item + 4 * len(self.start) + 128) * _EPS
        self.slack = max(slack, 8 * self._error(2 * float(np.log(self.whole.sum() + 1)) + self.n_answers))
        self.sums, self.costs = np.zeros((0, len(self.start))), np.zeros(0)

    def _most(self) -> int:
        return min(MOST_AT_ONCE, max(8, BLOCK // max(1, self.items.arcs.n_items)))

    def _most_that_fit(self) -> int:
        arcs = self.items.arcs
        return min(super()._most_that_fit(), self.memory.work // (8 * (4 * len(arcs) + 8 * arcs.n_items)))

    def _first_cells(self) -> Cells:
        self._learn(self.known)
        cells = super()._first_cells()
        parts = {part.name: getattr(cells, part.name) for part in fields(cells)}
        parts |= {
            "open": np.ones((len(cells), 0), bool),
            "which": np.arange(len(self.buckets)),
            "bound": cells.bound.copy(),
        }
        return OrderedCells(**parts, flows=self.items.arcs.no_flows(len(cells)))

    def _learn(self, sets: Bools) -> Floats:
        """Keeps sets at hand, the latest of too many, and hands back the sums of their vectors."""
        sums, costs = sets @ self.vectors + self.start, sets @ self.prices
        worth = self._values(sums) - costs
        self.best = max(self.best, float(worth.max(initial=-np.inf)))
        for row in np.argsort(-worth, kind="stable")[:KEPT]:
            if worth[row] > self.threshold:
                self.found[sets[row].tobytes()] = float(worth[row])
        self.sums = np.concatenate([self.sums, sums])[-MOST_KNOWN:]
        self.costs = np.concatenate([self.costs, costs])[-MOST_KNOWN:]
        return np.asarray(sums)

    def _work_on(self, cells: Cells) -> Cells | None:
        """Bounds cells, and cuts those that are not settled."""
        assert isinstance(cells, OrderedCells)  # noqa: S101 -- this class makes no others
        self.cells += len(cells)
        slope = above(cells, self.term.total)
        by, at = np.zeros(cells.facets.shape[:2]), np.zeros(cells.facets.shape[:2])
        rows = np.arange(len(cells))
        for _ in range(TURNS):
            rows = rows[self._seek(cells, rows, slope, by, at)]
            if len(rows):
                rows, sets = self._settle(cells, rows, slope[rows], by[rows])
                at[rows] = np.einsum("cd,cfd->cf", self._learn(sets), cells.facets[rows])
        if cells.depth % DECIDE_EVERY == 0:
            self._look_closer(cells, slope)
        rows = np.flatnonzero(cells.bound > self.level)
        return self._cut(cells.rows(rows), at[rows]) if len(rows) else None

    def _seek(self, cells: OrderedCells, rows: Ints, slope: Floats, by: Floats, at: Floats) -> Bools:
        """Looks for raises that bring all sets at hand down to the level; returns for which of the cells it found any.

        Projects onto the half-spaces of the raises that do so for one set, that of the highest set first.

        Args:
            cells: The cells.
            rows: Which of them.
            slope: θ of all cells.
            by: Raises by (cell, facet), to begin with; changed.
            at: Filled: the values of the facets at a mixture of the highest sets, which shows where to cut.
        """
        facets = cells.facets[rows] @ self.sums.T  # cell, facet, set
        values = slope[rows] @ self.sums.T - self.costs + (by[rows, None, :] @ facets)[:, 0]
        found = np.zeros(len(rows), bool)
        left = np.arange(len(rows))
        for step in range(STEPS if len(self.sums) else 0):
            high = values[left].argmax(axis=1)
            over = values[left, high] - self.level
            found[left[over <= 0]] = True
            left, high, over = left[over > 0], high[over > 0], over[over > 0]
            there, before = facets[left, :, high], by[rows[left]]
            at[rows[left]] = 0.7 * at[rows[left]] + 0.3 * there if step else there
            way = np.where((before > 0) | (there < 0), -there, 0.0)
            length = (way**2).sum(axis=1)
            free = length > 0
            left, before = left[free], before[free]
            if not len(left):
                return found
            by[rows[left]] = np.maximum(before + (OVER * over[free] / length[free])[:, None] * way[free], 0.0)
            values[left] += ((by[rows[left]] - before)[:, None, :] @ facets[left])[:, 0]
        return found if len(self.sums) else ~found

    def _settle(self, cells: OrderedCells, rows: Ints, slope: Floats, by: Floats) -> tuple[Ints, Bools]:
        """Bounds some of the cells by raised planes; returns those that are not settled, and the sets that are why."""
        facets = cells.facets[rows]
        slope = slope + np.einsum("cf,cfd->cd", by, facets)
        error = self.unit * (
            np.abs(slope) @ self.whole + self.paid + 2 * ((np.abs(facets) @ self.whole) * by).sum(axis=1)
        )
        base = slope @ self.start + error
        flows = cells.flows[rows]
        found = self.items.settle(slope @ self.vectors.T - self.prices, flows, self.level - base - 2 * error)
        cells.flows[rows] = flows
        cells.bound[rows] = np.minimum(cells.bound[rows], base + found.bound + self.unit * found.size)
        left = cells.bound[rows] > self.level
        return rows[left], self.items.sets(found.inside[left])

    def _look_closer(self, cells: OrderedCells, slope: Floats) -> None:
        """Bounds cells by their best set (module, 3), in place."""
        rows = np.flatnonzero(cells.bound > self.level)
        rows, sets = self._settle(cells, rows, slope[rows], np.zeros((len(rows), cells.facets.shape[1])))
        if not len(rows):
            return
        worth = self._values(self._learn(sets)) - sets @ self.prices
        closer = cells.rows(rows)
        least, _, most = self._gains(closer, closer.centre)
        wrong = np.where(sets, least, most)
        own = np.where(sets, wrong, 0.0).sum(axis=1)
        error = self._error(float(-np.log(closer.centre.min())) + self.n_answers)
        hope = wrong.min(axis=1) > _HOPELESS
        rows, worth, own, wrong = rows[hope], worth[hope], own[hope], wrong[hope]
        found = self.items.settle(wrong, cells.flows[rows], self.level - worth + own - 2 * error)
        bound = worth - own + found.bound + 2 * self.unit * found.size + error
        cells.bound[rows] = np.minimum(cells.bound[rows], bound)
