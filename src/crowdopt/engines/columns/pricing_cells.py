"""Cells: cones of count vectors, cut finer and finer, each with a plane above Φ.

A cell holds the count vectors M ≥ 0 that point into a sub-simplex: M = Σ_i β_i p_i with β ≥ 0, the *corners* p_i
being R probability vectors. Φ(M) = Σ_k M_k ln(M_k / M·) is convex and homogeneous, so on the cell

    Φ(M) ≤ Σ_i β_i Φ(p_i) = ⟨θ, M⟩,

θ being the one linear function that agrees with Φ at the corners. It is off by at most M· times what Φ bends between
the corners, which is of second order in the size of the cell, also where probabilities vanish: 0 ln 0 = 0.

With several classes of workers M has a coordinate for every answer of every class, and Φ is summed over the classes.
A cell then is a product of sub-simplices, one for each class, and its corners are theirs: every corner has
probabilities of one class, and zeros for the others. All of the above holds as it stands. Between corners of two
classes Φ does not bend, so only edges within a class are ever cut.

Where shares are estimated, a cell also has a range of numbers of tasks, on which the convex n ln(n / total) lies
below its chord. Vectors then are (M, n, 1), so that this too is a linear function of them.

All arrays are by cell first. *Facets* are the linear functions that are at least 0 in the cell: β_i, and the two that
say that n is in its range.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints

BALANCE = 0.3
"""How much of an edge's weight, when one is chosen to be cut, does not depend on where the best set lies."""

LEAST = 0.1
"""How much a class matters at least, when an edge is chosen, of which the best set has few responses or none."""

FIRST_CUTS = {1: 3, 3: 5}
"""Cuts that a search begins with, by number of edges: where there are many it pays to see first where to cut."""

COMMON = {"common": True}
"""Marks what is not by cell."""

_TINY = 1e-300  # a divisor that is not zero, and changes no sum


@dataclass(eq=False)
class Cells:
    """Some cells, the buckets that are undecided in any of them, and what is known of each cell.

    Attributes:
        corners: Probability vectors by (cell, corner, answer); as many corners as answers, and of the same classes.
        heights: Φ at the corners.
        facets: By (cell, facet, coordinate).
        slope: θ by (cell, coordinate), before rounding is made up for.
        low: Least number of tasks in the cell; 0 where shares are not estimated.
        high: Greatest number of tasks.
        sure: The sum of the offsets and of the buckets that every candidate in the cell holds.
        paid: The prices of these buckets.
        open: Which buckets are undecided, by (cell, bucket).
        bound: No candidate in the cell is worth more.
        bend: The most that Φ bends along an edge of what the cell was cut from.
        classes: The class of every answer, and so of every corner: 0, 1, ... in this order.
        which: The buckets that the columns of ``open`` stand for.
        depth: How often the cells were cut.
    """

    corners: Floats
    heights: Floats
    facets: Floats
    slope: Floats
    low: Floats
    high: Floats
    sure: Floats
    paid: Floats
    open: Bools
    bound: Floats
    bend: Floats
    classes: Ints = field(metadata=COMMON)
    which: Ints = field(metadata=COMMON)
    depth: int = field(default=0, metadata=COMMON)

    def __len__(self) -> int:
        return len(self.bound)

    @property
    def n_bytes(self) -> int:
        """What they hold."""
        return sum(int(getattr(self, name).nbytes) for name in self.by_cell())

    def rows(self, at: Ints | Bools | slice) -> Self:
        """Some of the cells."""
        return replace(self, **{name: getattr(self, name)[at] for name in self.by_cell()})

    @classmethod
    @cache
    def by_cell(cls) -> list[str]:
        """The names of the arrays that have a row for every cell."""
        return [part.name for part in fields(cls) if not part.metadata.get("common")]

    def trimmed(self) -> Self:
        """The same without the buckets that are undecided in none of them."""
        needed = self.open.any(axis=0)
        return self if needed.all() else replace(self, open=self.open[:, needed], which=self.which[needed])

    @property
    def n_answers(self) -> int:
        """Answers that occur, of all classes."""
        return int(self.corners.shape[2])

    @property
    def centre(self) -> Floats:
        """The mean of the corners of each class, by (cell, answer)."""
        return np.asarray(self.corners.sum(axis=1) / np.bincount(self.classes)[self.classes])

    def ranged(self) -> bool:
        """Whether the cells have a range of tasks."""
        return bool(self.slope.shape[1] > self.n_answers)


def whole_space(offset: Floats, classes: Ints, low: float, high: float, total: float, n_buckets: int) -> Cells:
    """Cells that together hold all vectors; ``offset`` is (G) or, with a range of tasks, (G, known tasks, 1)."""
    first, n_answers = _first_cuts(tuple(classes.tolist())), len(classes)
    n_cells, ranged = len(first), len(offset) > n_answers
    cells = replace(
        first,
        facets=np.zeros((n_cells, n_answers + 2 * ranged, len(offset))),
        slope=np.zeros((n_cells, len(offset))),
        low=np.full(n_cells, low),
        high=np.full(n_cells, high),
        sure=np.tile(offset, (n_cells, 1)),
        open=np.ones((n_cells, n_buckets), bool),
        which=np.arange(n_buckets),
    )
    cells.facets[:, :n_answers, :n_answers], cells.slope[:, :n_answers] = first.facets, first.slope
    if ranged:
        _set_range(cells, np.arange(n_cells), total)
    return cells


@cache
def _first_cuts(classes: tuple[int, ...]) -> Cells:
    """The simplices after the first cuts, which are always the same."""
    n_answers = len(classes)
    cells = Cells(
        corners=np.eye(n_answers)[None],
        heights=np.zeros((1, n_answers)),
        facets=np.eye(n_answers)[None],
        slope=np.zeros((1, n_answers)),
        low=np.zeros(1),
        high=np.zeros(1),
        sure=np.zeros((1, n_answers)),
        paid=np.zeros(1),
        open=np.ones((1, 0), bool),
        bound=np.array([np.inf]),
        bend=np.array([np.log(2.0)]),
        classes=np.array(classes),
        which=np.arange(0),
    )
    for _ in range(FIRST_CUTS.get(len(edges(cells.classes)[0]), 0)):
        cells = cut(cells, np.zeros((len(cells), n_answers)), 0.0)
    return replace(cells, depth=0)


def above(cells: Cells, total: float) -> Floats:
    """θ of every cell, raised by what rounding left it short of Φ at a corner: a bound whatever rounding did."""
    n = cells.n_answers
    slope = cells.slope.copy()
    short = cells.heights - np.matmul(cells.corners, slope[:, :n, None])[:, :, 0]
    slope[:, :n] += np.maximum(short.max(axis=1), 0.0)[:, None]  # corners sum to one
    if cells.ranged():
        ends = np.stack([cells.low, cells.high], axis=1)
        short = share_term(ends, total) - (slope[:, n, None] * ends + slope[:, n + 1, None])
        slope[:, n + 1] += np.maximum(short.max(axis=1), 0.0)
    return slope


def share_term(tasks: Floats, total: float) -> Floats:
    """``n ln(n / total)``."""
    return np.asarray(tasks * np.log(np.where(tasks > 0, tasks, total) / total))


def edges(classes: Ints) -> tuple[Ints, Ints]:
    """The ends of all edges between corners of one class."""
    one, other = np.triu_indices(len(classes), 1)
    alike = classes[one] == classes[other]
    return one[alike], other[alike]


def cut(cells: Cells, at: Floats, total: float) -> Cells:
    """Every cell cut in two where its plane is farthest above Φ, with regard to where the best sets seem to lie.

    Args:
        cells: The cells.
        at: The values of the facets there, by (cell, facet).
        total: The number of all tasks, where shares are estimated.
    """
    n, rows = cells.n_answers, np.arange(len(cells))
    firsts = np.unique(cells.classes, return_index=True)[1]
    mass = np.maximum(at[:, :n], 0.0)
    mass /= np.maximum(np.add.reduceat(mass, firsts, axis=1), _TINY)[:, cells.classes]
    responses = np.maximum(np.add.reduceat(at[:, :n], firsts, axis=1), 0.0) + _TINY  # of each class
    matters = LEAST + (1 - LEAST) * responses / responses.sum(axis=1, keepdims=True)
    one, other = edges(cells.classes)
    middle = (cells.corners[:, one] + cells.corners[:, other]) / 2
    height = _heights(middle)
    bend = (cells.heights[:, one] + cells.heights[:, other]) / 2 - height
    worth = bend * matters[:, cells.classes[one]] * (BALANCE + mass[:, one] * mass[:, other])
    halves = _doubled(cells, bend.max(axis=1, initial=0.0))
    by_edge = np.full(len(cells), len(one) > 0)
    if cells.ranged():
        best = worth.max(axis=1, initial=0.0) * at[:, :n].sum(axis=1)  # times the responses
        by_edge &= best >= _range_worth(cells, at[:, n], total)
        _cut_ranges(halves, rows[~by_edge], total)
    if by_edge.any():
        rows = rows[by_edge]
        edge = worth[rows].argmax(axis=1)
        _cut_edges(halves, rows, one[edge], other[edge], middle[rows, edge], height[rows, edge], bend[rows, edge])
    return halves


def _doubled(cells: Cells, bend: Floats) -> Cells:
    """Every cell twice, one cut deeper."""
    parts = {name: np.repeat(getattr(cells, name), 2, axis=0) for name in cells.by_cell()}
    return replace(cells, **parts | {"bend": np.repeat(bend, 2)}, depth=cells.depth + 1)


def _cut_edges(halves: Cells, rows: Ints, one: Ints, other: Ints, middle: Floats, height: Floats, bend: Floats) -> None:
    """Puts the middle of an edge in the place of one of its ends, and of the other.

    With M = Σ_i β_i p_i and p_one = 2 middle − p_other, the new β of the middle is 2 β_one, that of the other end
    β_other − β_one; θ is lowered by what Φ bends at the middle, and stays at the other corners.
    """
    for turn, (gone, kept) in enumerate(((one, other), (other, one))):
        at = 2 * rows + turn
        facet = halves.facets[at, gone]
        halves.corners[at, gone], halves.heights[at, gone] = middle, height
        halves.slope[at] -= 2 * bend[:, None] * facet
        halves.facets[at, kept] -= facet
        halves.facets[at, gone] = 2 * facet


def _cut_ranges(halves: Cells, rows: Ints, total: float) -> None:
    """Halves the ranges of tasks, which are whole numbers."""
    middle = np.floor((halves.low[2 * rows] + halves.high[2 * rows]) / 2)
    halves.high[2 * rows], halves.low[2 * rows + 1] = middle, middle + 1
    _set_range(halves, np.concatenate([2 * rows, 2 * rows + 1]), total)


def _set_range(cells: Cells, rows: Ints, total: float) -> None:
    """The facets that say that the tasks are in the range of the cell, and the chord (or, of one number, a tangent)."""
    n, low, high = cells.n_answers, cells.low[rows], cells.high[rows]
    cells.facets[rows, n, n], cells.facets[rows, n, n + 1] = 1.0, -low
    cells.facets[rows, n + 1, n], cells.facets[rows, n + 1, n + 1] = -1.0, high
    rise = share_term(high, total) - share_term(low, total)
    tangent = 1 + np.log(np.maximum(low, 1.0) / total)
    cells.slope[rows, n] = np.where(high > low, rise / np.maximum(high - low, 1.0), tangent)
    cells.slope[rows, n + 1] = share_term(low, total) - cells.slope[rows, n] * low


def _range_worth(cells: Cells, above_low: Floats, total: float) -> Floats:
    """How far the chord is above n ln(n / total) in the middle of the range, weighted like an edge."""
    middle = np.floor((cells.low + cells.high) / 2)
    n = cells.n_answers
    gap = cells.slope[:, n] * middle + cells.slope[:, n + 1] - share_term(middle, total)
    share = np.clip(above_low / np.maximum(cells.high - cells.low, 1.0), 0.0, 1.0)
    return np.where(cells.high > cells.low, np.maximum(gap, _TINY) * (BALANCE + share * (1 - share)), -1.0)


def _heights(corners: Floats) -> Floats:
    """Φ of probability vectors."""
    return np.asarray((corners * np.log(np.where(corners > 0, corners, 1.0))).sum(axis=-1))
