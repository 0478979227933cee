"""Open cells of a pricing (pricing.py): which are worked on next, and when they take too much memory."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt.engines.columns.pricing_cells import Cells

MAX_OPEN = 200_000
"""Open cells beyond which the deepest are worked on first; so they are beyond half of the bytes that they may take.

The best first would need ever more memory.
"""

AT_A_TIME = 64
"""Into how many parts what is left of that memory is divided: the cells of one are cut at once.

So there is room for many cuts, one deeper than the other, until a cell is settled.
"""


class OpenCells:
    """Blocks of open cells, those with the greatest bound first.

    A block is taken off it bit by bit, and held as a whole until half of it is gone.

    Attributes:
        n_bytes: What all blocks take.
    """

    def __init__(self, cells: Cells, most_bytes: int) -> None:
        self.heap: list[tuple[float, int, Cells, int]] = []  # the last number: how many cells of it are gone
        self.count, self.size, self.n_bytes, self.most_bytes = 0, 0, 0, most_bytes
        self.add(cells)

    @property
    def bound(self) -> float:
        """The greatest bound of an open cell."""
        return -self.heap[0][0] if self.heap else -np.inf

    @property
    def full(self) -> bool:
        """Whether the blocks take more than they may."""
        return self.n_bytes > self.most_bytes

    def add(self, cells: Cells | None) -> None:
        """Adds a block."""
        if cells is not None and len(cells):
            self.size += len(cells)
            self.n_bytes += cells.n_bytes
            self._push(cells, 0)

    def _push(self, cells: Cells, gone: int) -> None:
        self.count += 1
        heapq.heappush(self.heap, (-float(cells.bound[gone:].max()), -self.count, cells, gone))

    def pop(self, most: int) -> Cells:
        """Takes the block with the greatest bound, or the latest if there are too many, and at most so many cells."""
        at = 0
        if self.size > MAX_OPEN or 2 * self.n_bytes > self.most_bytes:
            at = min(range(len(self.heap)), key=lambda i: self.heap[i][1])
            most = min(most, self._few(self.heap[at][2]))
        _, _, cells, gone = self.heap[at]
        self.heap[at] = self.heap[-1]
        self.heap.pop()
        heapq.heapify(self.heap)
        end = min(gone + most, len(cells))
        self.size -= end - gone
        left = len(cells) - end
        if 2 * left > len(cells):
            self._push(cells, end)
        else:
            self.n_bytes -= cells.n_bytes
            self.size -= left
            self.add(cells.rows(np.arange(end, len(cells))).trimmed())
        return cells.rows(slice(gone, end)).trimmed()

    def _few(self, cells: Cells) -> int:
        """So many cells that there is room for many cuts one after another."""
        room = max(0, self.most_bytes - self.n_bytes)
        return max(1, room * len(cells) // (AT_A_TIME * cells.n_bytes))
