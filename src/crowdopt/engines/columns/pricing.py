"""Pricing: the set of buckets that is worth most to a label at given prices.

Maximises Ψ(S) − λ(S) over all sets S of buckets, the empty one included: Ψ is the term of one label (set_terms.py),
λ(S) the sum of a price for every bucket of S. Exact by branch and bound over where M(S) = N(S) + G points
(pricing_cells.py): on a cell Φ lies below a linear function θ, so a set whose M(S) is in the cell is worth at most

    ⟨θ, G⟩ + Σ_b max(0, ⟨θ, Y_b⟩ − λ_b),    Y_b being the responses of bucket b.

Three things make this sharp. (1) θ may be raised along a facet f of the cell, as ⟨f, M(S)⟩ ≥ 0 there: if the best
set of the sum points out of the cell, that lowers the bound. (2) A smallest best set S holds bucket b only if ⟨Y_b,
ln p⟩ > λ_b, and lacks it only if ⟨Y_b, ln p⟩ ≤ λ_b, where p = M(S) / M(S)· is in the cell: Ψ is convex, and ln p
its gradient. So buckets for which one of these holds at no p of the cell are decided. (3) With C any set, ⟨M(S), ln
p⟩ = ⟨M(C), ln p⟩ + Σ_{S without C} ⟨Y_b, ln p⟩ − Σ_{C without S} ⟨Y_b, ln p⟩ and ⟨M(C), ln p⟩ ≤ Φ(M(C)); so S is
worth at most what C is and, for every undecided bucket, the most that its side could be wrong by. This is exact
once all buckets are decided. Given shares add to the price of every task; estimated ones add a coordinate
(pricing_cells.py), and ln of the share plus one to the gradient.

With several classes of workers Φ, ⟨Y_b, ln p⟩ and ⟨M(C), ln p⟩ are sums over the classes, each with responses and a p
of its own, and so are their bounds on a cell. Where S has no response of a class, all of this holds with any p of that
class: Φ(Y) ≥ ⟨Y, ln p⟩ is what a bucket would add to it. So it does not matter which of the cells S is taken to be in.

Rounding: θ is raised where it falls short of Φ at a corner, so it lies above Φ whatever rounding did before. What
is left are sums of at most B + 2R products (2KR for K classes), off by that many units in the last place of the sum
of their sizes, which is added to every bound; buckets are decided only if they are so by more than their rounding.
The middle of an edge is off by a unit in the last place of each of its (positive) coordinates: ln p changes by that,
so a set in the crack between two cells is worth no more than rounding above the bound of either.

Cost: O(B · R) per cell, all cells of a block at once. Their number grows exponentially with R: about 400 for three
labels, 10⁴ for four, 10⁵ for five; and with the number of classes K, as p then has K (R − 1) dimensions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.memory import OWN
from crowdopt.engines.columns.open_cells import OpenCells
from crowdopt.engines.columns.pricing_cells import Cells, above, cut, edges, share_term, whole_space

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.engines.columns.memory import Memory
    from crowdopt.engines.columns.set_terms import BucketSet, Term

BLOCK = 1 << 18
"""Cells times buckets worked on at once."""

MOST_CELLS_AT_ONCE = 2_048
"""However few buckets there are: a good set that one cell leads to spares only cells that come later."""

DEEPEST = 400
"""Cells that were cut more often are left as they are: their corners are equal but for rounding."""

DECIDE_EVERY = 3
"""Buckets are decided at every third cut: it costs more than a bound does."""

RAISES = 3
"""Steps towards how far a plane is best raised."""

KEPT = 40
"""Sets found on the way that are handed back."""

LOOK, HOPE = 24_000, 1 / 3
"""Cells after which a bound that is still so much of what it was above the best set at first tells that a proof is out
of reach. Proofs that came to an end had less than a sixth left there: six labels .15, ten judges of two labels .00.
With eight labels .35 to .61 were left, with ten .46, and hardly less after a million cells."""

_EPS = float(np.finfo(float).eps)
_TINY = 1e-300  # a divisor that is not zero, and changes no sum
_NEVER = -1e15  # stands for the logarithm of zero: times a count it outweighs any price


@dataclass(frozen=True, eq=False)
class Priced:
    """What pricing found.

    Attributes:
        bound: No set is worth more.
        best: What the best set found is worth.
        sets: Sets found that are worth more than asked, best first.
        cells: Cells looked at.
        finished: Whether all cells were settled; if not, the bound is that of the cells left open.
        full: Whether it ended because open cells took all the memory that they may take.
        hopeless: Whether it ended because the bound hardly fell.
    """

    bound: float
    best: float
    sets: list[Bools]
    cells: int
    finished: bool
    full: bool = False
    hopeless: bool = False


class Pricing:
    """One search for the best set.

    Args:
        buckets: The buckets.
        term: The term of the label.
        prices: λ.
        threshold: Sets that are worth less are of no interest: a bound need not be below it.
        slack: How far the bound may be above the best set found.
        memory: The memory that it may take.
    """

    def __init__(
        self, buckets: BucketSet, term: Term, prices: Floats, threshold: float, slack: float, memory: Memory = OWN
    ) -> None:
        self.buckets, self.term, self.threshold, self.memory = buckets, term, threshold, memory
        self.used = buckets.responses.sum(axis=0) + term.offset > 0
        self.prices = prices - buckets.tasks * term.log_share if term.log_share else prices
        responses, offset = buckets.responses[:, self.used], term.offset[self.used]
        class_of = np.repeat(np.arange(buckets.n_classes), len(self.used) // buckets.n_classes)
        self.classes = np.unique(class_of[self.used], return_inverse=True)[1]
        self.firsts = np.unique(self.classes, return_index=True)[1]  # the first coordinate of each class
        self.impossible = np.where(self.classes[:, None] == self.classes, _NEVER, 0.0)
        self.n_answers, self.sizes = responses.shape[1], responses.sum(axis=1)
        self.vectors, self.start = responses, offset
        if term.total:
            self.vectors = np.column_stack([responses, buckets.tasks, np.zeros(len(buckets))])
            self.start = np.array([*offset, term.known, 1.0])
        self.whole = self.vectors.sum(axis=0) + self.start
        self.paid = float(np.abs(self.prices).sum())
        self.unit = (len(buckets) + 2 * len(self.start) + 64) * _EPS
        self.best = term.empty - term.constant
        self.slack = max(slack, 8 * self._error(2 * float(np.log(self.whole.sum() + 1)) + self.n_answers))
        self.found: dict[bytes, float] = {}
        self.left = -np.inf  # the greatest bound of cells that cannot be cut
        self.cells = 0

    @property
    def level(self) -> float:
        """Cells with no greater bound are settled."""
        return max(self.threshold, self.best + self.slack)

    def run(self, go_on: Callable[[float, int], bool], *, first: bool = False, patient: bool = True) -> Priced:
        """Searches until all cells are settled.

        Args:
            go_on: Told a bound and the cells looked at now and then; asks to stop by returning False.
            first: Whether to end as soon as sets above the threshold are found.
            patient: Whether to go on where the bound hardly falls.
        """
        constant = self.term.constant
        self.threshold -= constant
        heap, most = OpenCells(self._first_cells(), self.memory.cells), max(1, min(self._most(), self._most_that_fit()))
        finished, hopeless, at_first = True, False, math.inf
        while heap.bound > self.level:
            at_first = min(at_first, heap.bound - self.level) if at_first == math.inf else at_first
            hopeless = not patient and self.cells >= LOOK and heap.bound - self.level > HOPE * at_first
            goes_on = go_on(max(heap.bound, self.left, self.level) + constant, self.cells)
            if not goes_on or heap.full or hopeless or (first and self.best > self.threshold + self.slack):
                finished = False
                break
            heap.add(self._work_on(heap.pop(most)))
        bound = max(self.level, self.left, -np.inf if finished else heap.bound) + constant
        best = sorted(self.found, key=lambda key: -self.found[key])[:KEPT]
        sets = [np.frombuffer(key, bool) for key in best]
        full = not finished and heap.full
        return Priced(bound, self.best + constant, sets, self.cells, finished, full=full, hopeless=hopeless)

    def _most(self) -> int:
        """Cells that are worked on at once."""
        return min(MOST_CELLS_AT_ONCE, max(64, BLOCK // max(1, len(self.buckets))))

    def _most_that_fit(self) -> int:
        """How many of them fit: about four arrays each by corner and bucket, and by edge and answer, and some cells."""
        n, n_edges = int(self.n_answers), len(edges(self.classes)[0])
        numbers = 4 * n * (len(self.buckets) + n_edges) + 6 * len(self.start) ** 2
        return self.memory.work // (8 * numbers)

    def _first_cells(self) -> Cells:
        tasks = self.buckets.tasks
        low, high = (self.term.known + tasks.min(), self.term.known + tasks.sum()) if self.term.total else (0.0, 0.0)
        return whole_space(self.start, self.classes, low, high, self.term.total, len(self.buckets))

    def _work_on(self, cells: Cells) -> Cells | None:
        """Bounds cells, and cuts those that are not settled."""
        self.cells += len(cells)
        vectors, prices = self.vectors[cells.which], self.prices[cells.which]
        slope = above(cells, self.term.total)
        error = self.unit * (np.abs(slope) @ self.whole + self.paid)
        base = np.einsum("cd,cd->c", cells.sure, slope) - cells.paid + error
        excess = np.where(cells.open, slope @ vectors.T - prices, 0.0)
        cells.bound = np.minimum(cells.bound, base + np.maximum(excess, 0.0).sum(axis=1))
        rows = np.flatnonzero(cells.bound > self.level)
        if not len(rows):
            return None
        cells, base, excess = cells.rows(rows), base[rows], excess[rows]
        at = np.einsum("cd,cfd->cf", (excess > 0) @ vectors + cells.sure, cells.facets)
        self._raise(cells, vectors, at, base, excess)
        rows = np.flatnonzero(cells.bound > self.level)
        cells, at = cells.rows(rows), at[rows]
        if len(rows) and cells.depth % DECIDE_EVERY == 0:
            self._decide(cells)
            rows = np.flatnonzero(cells.bound > self.level)
            cells, at = cells.rows(rows), at[rows]
        return self._cut(cells, at) if len(rows) else None

    def _raise(self, cells: Cells, vectors: Floats, at: Floats, base: Floats, excess: Floats) -> None:
        """Lowers bounds by planes raised along the facet beyond which the best set of the sum lies (module, 1).

        The bound is convex in how far the plane is raised: a few steps towards its least value.
        """
        worst = at.argmin(axis=1)
        rows = np.flatnonzero(at[np.arange(len(cells)), worst] < 0)
        facet = cells.facets[rows, worst[rows]]
        more = np.where(cells.open[rows], facet @ vectors.T, 0.0)
        fixed = np.einsum("cd,cd->c", cells.sure[rows], facet)
        error = 2 * self.unit * (np.abs(facet) @ self.whole)
        low, high = np.zeros(len(rows)), self._first_raise(cells, rows, worst[rows])
        by = high
        for _ in range(RAISES):
            raised = excess[rows] + by[:, None] * more
            inside = raised > 0
            bound = base[rows] + by * (fixed + error) + np.where(inside, raised, 0.0).sum(axis=1)
            cells.bound[rows] = np.minimum(cells.bound[rows], bound)
            falls = fixed + np.where(inside, more, 0.0).sum(axis=1) < 0
            low, high = np.where(falls, by, low), np.where(falls, np.maximum(high, 2 * by), by)
            by = (low + high) / 2

    def _first_raise(self, cells: Cells, rows: Ints, facet: Ints) -> Floats:
        """By how much to raise a plane first: in the order of what it is above Φ, or of what its slope varies."""
        edge = 2 * cells.bend[rows]
        if not self.term.total:
            return np.asarray(edge)
        low, high = cells.low[rows], cells.high[rows]
        return np.where(facet < self.n_answers, edge, np.log1p((high - low + 1) / low) / 2)

    def _decide(self, cells: Cells) -> None:
        """Decides buckets (module, 2) and bounds by the best set at the centre of the cell (module, 3), in place."""
        sizes, tasks = self.sizes[cells.which], self.buckets.tasks[cells.which]
        prices, centre = self.prices[cells.which], cells.centre
        least, gain, most = self._gains(cells, centre)
        doubt = 64 * _EPS * (np.abs(prices) + 32 * (sizes + tasks))
        inside = cells.open & (least > doubt)
        cells.sure += inside @ self.vectors[cells.which]
        cells.paid += inside @ prices
        cells.open &= ~inside & (most > -doubt)
        centred = cells.open & (gain > 0)
        worth = self._worth(cells, centred, centre)
        wrong = np.where(centred, np.maximum(-least, 0.0), np.where(cells.open, np.maximum(most, 0.0), 0.0))
        error = self._error(float(-np.log(centre.min())) + self.n_answers)
        cells.bound = np.minimum(cells.bound, worth + wrong.sum(axis=1) + error)

    def _gains(self, cells: Cells, centre: Floats) -> tuple[Floats, Floats, Floats]:
        """By (cell, bucket): at least, at the centre and at most, what a bucket gains in a cell beyond its price."""
        responses, tasks = self.vectors[cells.which, : self.n_answers], self.buckets.tasks[cells.which]
        gain = np.log(centre) @ responses.T - self.prices[cells.which]
        rises = np.matmul(cells.corners / centre[:, None, :], responses.T)
        rise = np.maximum.reduceat(rises, self.firsts, axis=1).sum(axis=1) - self.sizes[cells.which]
        positive = cells.corners > 0
        corner_logs = np.where(positive, np.log(np.where(positive, cells.corners, 1.0)), self.impossible)
        falls = np.minimum.reduceat(np.matmul(corner_logs, responses.T), self.firsts, axis=1)
        least = falls.sum(axis=1) - self.prices[cells.which]
        if not self.term.total:
            return least, gain, gain + rise
        low, high = cells.low[:, None] / self.term.total, cells.high[:, None] / self.term.total
        most = gain + rise + tasks * (1 + np.log(high))
        return least + tasks * (1 + np.log(low)), gain + tasks * (1 + np.log((low + high) / 2)), most

    def _worth(self, cells: Cells, sets: Bools, centre: Floats) -> Floats:
        """What the sure buckets of each cell with one of ``sets`` are worth; remembers those above the threshold."""
        worth = self._values(cells.sure + sets @ self.vectors[cells.which])
        worth += -cells.paid - sets @ self.prices[cells.which]
        self.best = max(self.best, float(worth.max()))
        for row in np.argsort(-worth, kind="stable")[:KEPT]:
            if worth[row] > self.threshold:
                self._remember(cells, centre[row], row, float(worth[row]))
        return worth

    def _values(self, sums: Floats) -> Floats:
        """Ψ by sums of vectors, without what given shares add, which is in the prices."""
        counts = sums[:, : self.n_answers]
        whole = np.maximum(np.add.reduceat(counts, self.firsts, axis=1)[:, self.classes], _TINY)
        values = (counts * np.log(np.where(counts > 0, counts, whole) / whole)).sum(axis=1)
        return np.asarray(values + share_term(sums[:, self.n_answers], self.term.total) if self.term.total else values)

    def _remember(self, cells: Cells, centre: Floats, row: int, worth: float) -> None:
        """Keeps the set that is best at the centre of a cell: decided buckets are on the same side all over it."""
        gain = np.log(centre) @ self.vectors[:, : self.n_answers].T - self.prices
        if self.term.total:
            gain += self.buckets.tasks * (1 + np.log((cells.low[row] + cells.high[row]) / 2 / self.term.total))
        self.found[(gain > 0).tobytes()] = worth

    def _cut(self, cells: Cells, at: Floats) -> Cells | None:
        """Cuts cells, but for those that are as small as rounding allows: their bound then stays."""
        if cells.depth >= DEEPEST:
            self.left = max(self.left, float(cells.bound.max()))
            return None
        return cut(cells, at, self.term.total).trimmed()

    def _error(self, logs: float) -> float:
        """What rounding can add to a sum of counts times logarithms of at most this size, and of prices."""
        return self.unit * (float(self.whole.sum()) * logs + self.paid)
