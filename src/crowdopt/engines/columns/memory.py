"""Memory: how many bytes each of the things may take that this engine holds.

Everything here is counted and not measured, so the same limit ends a search at the same place on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

OWN_BYTES = 2 << 30
"""Bytes of all of them together where a user sets no limit."""

FIXED_PER_PAIR = 64
"""Bytes that one proof takes for every two buckets, at most: prices are projected by a product for each two."""


@dataclass(frozen=True)
class Memory:
    """Bytes by what they are for.

    Attributes:
        cells: Open cells of one pricing.
        work: The arrays by which some of them are bounded and cut.
        sets: Sets that mattered once, and what the linear program has.
        nodes: Open parts of the space.
        fixed: What a proof takes by the number of its buckets alone.
    """

    cells: int
    work: int
    sets: int
    nodes: int
    fixed: int

    @classmethod
    def of(cls, n_bytes: int | None) -> Self:
        """The parts of a limit."""
        whole = OWN_BYTES if n_bytes is None else n_bytes
        return cls(cells=whole // 4, work=whole // 8, sets=whole // 6, nodes=whole // 8, fixed=whole // 3)

    def holds(self, n_buckets: int) -> bool:
        """Whether a proof for so many buckets can begin at all."""
        return FIXED_PER_PAIR * n_buckets**2 <= self.fixed


OWN = Memory.of(None)
"""Where a user sets no limit."""
