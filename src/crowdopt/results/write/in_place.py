"""Which outputs are in their places: what a command says when something goes wrong after that. Light to import."""

from __future__ import annotations

MOST_NAMED = 6
"""Results that are named where it is told what was written."""


_written: dict[str, None] = {}


def note_written(name: str) -> None:
    """Notes that a result is in its place."""
    _written[name] = None


def forget_written() -> None:
    """A new command begins."""
    _written.clear()


def what_was_written() -> str:
    """The results that are in their places, for one who hears that something went wrong; empty if there are none."""
    names = list(_written)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"written: {', '.join(names[:MOST_NAMED])}{more}" if names else ""
