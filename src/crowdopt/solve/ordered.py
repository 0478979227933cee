"""Ordered pricing (draft)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.solve.cells import COMMON, Cells, above, cut, share_term
from crowdopt.solve.pricing import KEPT, Pricing, _EPS, _NEVER, _TINY, DEEPEST
from crowdopt.solve.shapes import Arcs, Shape, items_of

if TYPE_CHECKING:
    from crowdopt.order import Order
    from crowdopt.solve.terms import Goods, Term
    from crowdopt.types import Bools, Floats, Ints

import os
RAISES = int(os.environ.get('RAISES', 3))
HULL = int(os.environ.get('HULL', 1))
CENTRE = int(os.environ.get('CENTRE', 1))


@dataclass(eq=False, kw_only=True)
class OrderedCells(Cells):
    fixed: Bools
    flows: Floats
    put: Bools
    out: Bools
    arcs: Arcs = field(metadata=COMMON)

    def trimmed(self) -> OrderedCells:
        from dataclasses import replace
        k = len(self.which)
        layers = self.open.shape[1] // k if k else 1
        needed = self.open.any(axis=0).reshape(layers, k).any(axis=0) if k else np.zeros(0, bool)
        if needed.all():
            return self
        items = np.tile(needed, layers)
        arcs, kept = self.arcs.only(items)
        return replace(self, open=self.open[:, items], put=self.put[:, items], out=self.out[:, items], which=self.which[needed], arcs=arcs, flows=self.flows[:, kept])


class OrderedPricing(Pricing):
    def __init__(self, goods: Goods, term: Term, prices: Floats, threshold: float, slack: float, order: Order, shape=None) -> None:
        super().__init__(goods, term, prices, threshold, slack)
        self.shape = shape
        self.order = order
        self.arcs = items_of(self.shape, order)
        self.layers = self.arcs.n_items // len(goods)
        self.sign = np.repeat([1.0, -1.0][: self.layers], len(goods))
        self.whole = self.vectors.sum(axis=0) * self.layers + self.start
        self.paid *= self.layers
        self.unit = (self.arcs.n_items + 2 * len(self.start) + 128) * _EPS
        self.stats = dict(cells=0, pruned0=0, pruned1=0, pruned_raise=0, pruned_centre=0, fixed=0.0)
        self.slack = max(slack, 8 * self._error(2 * float(np.log(self.whole.sum() + 1)) + self.n_answers))

    def _first_cells(self):
        cells = super()._first_cells()
        parts = {part.name: getattr(cells, part.name) for part in fields(cells)}
        parts["open"] = np.tile(cells.open, self.layers)
        return OrderedCells(**parts, fixed=np.zeros((len(cells), self.arcs.n_items), bool),
            flows=np.zeros((len(cells), len(self.arcs))), put=~parts['open'], out=~parts['open'], arcs=self.arcs)

    def _items(self, cells):
        k = len(cells.which)
        sign = np.repeat([1.0, -1.0][: self.layers], k)
        vectors = np.tile(self.vectors[cells.which], (self.layers, 1)) * sign[:, None]
        prices = np.tile(self.prices[cells.which], self.layers) * sign
        return vectors, prices

    def _work_on(self, cells):
        self.cells += len(cells)
        st = self.stats
        st["cells"] += len(cells)
        if self.shape is Shape.BETWEEN and HULL:
            cells = self._hull(cells)
        vectors, prices = self._items(cells)
        slope = above(cells, self.term.total)
        error = self.unit * (np.abs(slope) @ self.whole + self.paid)
        base = np.einsum("cd,cd->c", cells.sure, slope) - cells.paid + error
        excess = np.where(cells.open, slope @ vectors.T - prices, 0.0)
        found = cells.arcs.settle(excess, cells.flows, self.level - base - 2 * error)
        cells.bound = np.minimum(cells.bound, base + found.bound + self.unit * found.size)
        rows = np.flatnonzero(cells.bound > self.level)
        st["pruned1"] += len(cells) - len(rows)
        if not len(rows):
            return None
        inside, rest = found.inside[rows], found.rest[rows]
        mine = (base + found.bound + self.unit * found.size)[rows]
        cells, base, excess, error = cells.rows(rows), base[rows], excess[rows], error[rows]
        at = np.einsum("cd,cfd->cf", inside @ vectors + cells.sure, cells.facets)
        self._fix(cells, mine, rest)
        self._raise(cells, vectors, at, base, excess, error)
        rows = np.flatnonzero(cells.bound > self.level)
        st["pruned_raise"] += len(cells) - len(rows)
        if not len(rows):
            return None
        cells, at, inside = cells.rows(rows), at[rows], inside[rows]
        if cells.depth % CENTRE == 0:
            self._centre(cells, inside)
        rows = np.flatnonzero(cells.bound > self.level)
        st["pruned_centre"] += len(cells) - len(rows)
        if not len(rows):
            return None
        cells, at = cells.rows(rows), at[rows]
        self._apply(cells)
        st["fixed"] += (~cells.open).mean(axis=1).sum()
        return self._cut(cells, at)

    def _hull(self, cells):
        k = len(cells.which)
        responses, sizes = self.vectors[cells.which, : self.n_answers], self.sizes[cells.which]
        tasks, prices = self.goods.tasks[cells.which], self.prices[cells.which]
        centre = cells.corners.mean(axis=1)
        most = np.log(centre) @ responses.T - prices - sizes + np.matmul(cells.corners / centre[:, None, :], responses.T).max(axis=1)
        if self.term.total:
            most += tasks * (1 + np.log(cells.high[:, None] / self.term.total))
        doubt = 64 * _EPS * (np.abs(prices) + 32 * (sizes + tasks))
        z, y = cells.open[:, :k], cells.open[:, k:]
        zin = cells.fixed[:, cells.which]
        yin = cells.fixed[:, cells.which + len(self.goods)]
        may = (z | zin) & (y | ~yin)         # may be in the set
        good = may & (most > -doubt)
        dom = self.order.dominates[np.ix_(cells.which, cells.which)].astype(np.float32)
        g = good.astype(np.float32)
        A = good | (g @ dom.T > 0)    # something good below: b dominates something good
        D = good | (g @ dom > 0)
        out = may & ~(A & D)
        both = z & y & out
        # fully open: below A -> 0, else 1
        fix1 = np.concatenate([both & A, both & A], axis=1)
        fix0 = np.concatenate([both & ~A, both & ~A], axis=1)
        fix1[:, k:] |= out & y & ~z          # z is in: above
        fix0[:, :k] |= out & z & ~y          # y is out: below
        cells.put, cells.out = fix1, fix0
        self._apply(cells)
        return cells.trimmed()

    def _fix(self, cells, bound, rest):
        """Marks items that are decided by what the bound would be."""
        room = (bound - self.level)[:, None]
        if not hasattr(cells, "put"):
            pass
        put = cells.open & (rest >= room)
        out = cells.open & (-rest >= room)
        cells.put, cells.out = put, out

    def _raise(self, cells, vectors, at, base, excess, error):
        worst = at.argmin(axis=1)
        rows = np.flatnonzero(at[np.arange(len(cells)), worst] < 0)
        if not len(rows):
            return
        facet = cells.facets[rows, worst[rows]]
        more = np.where(cells.open[rows], facet @ vectors.T, 0.0)
        fixed = np.einsum("cd,cd->c", cells.sure[rows], facet)
        err = 2 * self.unit * (np.abs(facet) @ self.whole)
        low, high = np.zeros(len(rows)), self._first_raise(cells, rows, worst[rows])
        by = high
        flows = cells.flows[rows]
        for _ in range(RAISES):
            level = base[rows] + by * (fixed + err)
            found = cells.arcs.settle(excess[rows] + by[:, None] * more, flows, self.level - level - 2 * error[rows])
            bound = level + found.bound + self.unit * found.size
            cells.bound[rows] = np.minimum(cells.bound[rows], bound)
            room = (bound - self.level)[:, None]
            cells.put[rows] |= cells.open[rows] & (found.rest >= room)
            cells.out[rows] |= cells.open[rows] & (-found.rest >= room)
            falls = fixed + np.where(found.inside, more, 0.0).sum(axis=1) < 0
            low, high = np.where(falls, by, low), np.where(falls, np.maximum(high, 2 * by), by)
            by = (low + high) / 2

    def _centre(self, cells, inside):
        k, n = len(cells.which), len(self.goods)
        responses, sizes = self.vectors[cells.which, : self.n_answers], self.sizes[cells.which]
        tasks, prices = self.goods.tasks[cells.which], self.prices[cells.which]
        centre = cells.corners.mean(axis=1)
        logs = np.log(centre)
        gain = logs @ responses.T - prices
        most = gain - sizes + np.matmul(cells.corners / centre[:, None, :], responses.T).max(axis=1)
        positive = cells.corners > 0
        corner_logs = np.where(positive, np.log(np.where(positive, cells.corners, 1.0)), _NEVER)
        least = np.matmul(corner_logs, responses.T).min(axis=1) - prices
        if self.term.total:
            low, high = cells.low[:, None] / self.term.total, cells.high[:, None] / self.term.total
            gain += tasks * (1 + np.log((low + high) / 2))
            most += tasks * (1 + np.log(high))
            least += tasks * (1 + np.log(low))
        columns = np.concatenate([cells.which + layer * n for layer in range(self.layers)])
        whole = cells.fixed.copy()
        whole[:, columns] |= inside & cells.open
        held = whole[:, :n] & ~whole[:, n:] if self.layers == 2 else whole
        worth = self._value(held)
        for row in np.argsort(-worth)[:KEPT]:
            if worth[row] > self.threshold:
                self.found[held[row].tobytes()] = float(worth[row])
        self.best = max(self.best, float(worth.max()))
        here = held[:, cells.which]
        one = np.where(here, least, most)
        weights = np.where(cells.open, np.concatenate([one, -one][: self.layers], axis=1), 0.0)
        error = self._error(float(-logs.min()) + self.n_answers)
        own = np.where(inside & cells.open, weights, 0.0).sum(axis=1)
        flows = cells.flows.copy()
        found = cells.arcs.settle(weights, flows, self.level - worth + own - 2 * error)
        bound = worth - own + found.bound + self.unit * found.size + error
        cells.bound = np.minimum(cells.bound, bound)
        room = (bound - self.level)[:, None]
        cells.put |= cells.open & (found.rest >= room)
        cells.out |= cells.open & (-found.rest >= room)

    def _value(self, held):
        sums = held @ self.vectors + self.start
        counts = sums[:, : self.n_answers]
        whole = np.maximum(counts.sum(axis=1, keepdims=True), _TINY)
        worth = (counts * np.log(np.where(counts > 0, counts, whole) / whole)).sum(axis=1)
        worth -= held @ self.prices
        if self.term.total:
            worth += share_term(sums[:, self.n_answers], self.term.total)
        return worth

    def _apply(self, cells):
        vectors, prices = self._items(cells)
        put, out = cells.put & cells.open, cells.out & cells.open
        for _ in range(200):
            before = put.sum() + out.sum()
            np.logical_or.at(put, (slice(None), cells.arcs.heads), put[:, cells.arcs.tails])
            np.logical_or.at(out, (slice(None), cells.arcs.tails), out[:, cells.arcs.heads])
            if put.sum() + out.sum() == before:
                break
        put &= cells.open
        out &= cells.open
        put &= ~out
        cells.sure += put @ vectors
        cells.paid += put @ prices
        cells.open &= ~(put | out)
        n = len(self.goods)
        columns = np.concatenate([cells.which + layer * n for layer in range(self.layers)])
        cells.fixed[:, columns] |= put
        cells.flows *= cells.open[:, cells.arcs.tails] & cells.open[:, cells.arcs.heads]

    def _cut(self, cells, at):
        if cells.depth >= DEEPEST:
            self.left = max(self.left, float(cells.bound.max()))
            return None
        return cut(cells, at, self.term.total).trimmed()
