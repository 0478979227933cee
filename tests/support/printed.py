"""Tables that commands print, read back."""

from __future__ import annotations


def unchecked(said: str) -> list[str]:
    """The lines without those that say CHECK, which come first."""
    return [line for line in said.splitlines() if not line.startswith("CHECK: ")]


def first_cells(said: str) -> list[str]:
    """The first cell of every row of the table: what stands between its rule and the next empty line."""
    lines = iter(said.splitlines())
    for line in lines:
        if set(line.strip()) == {"─"}:
            break
    cells = []
    for line in lines:
        if not line.strip():
            break
        if line[1:2].strip():  # else the row goes on
            cells.append(line.split()[0])
    return cells
