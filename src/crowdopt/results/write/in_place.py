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


STDOUT = "standard output"
"""What standard output is called among results."""


def what_was_written(*, in_files: bool = False) -> str:
    """The results that are in their places, for one who hears that something went wrong; empty if there are none.

    Args:
        in_files: Whether to name those in files alone, where nobody had what went to standard output.
    """
    names = [name for name in _written if not (in_files and name == STDOUT)]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"written: {', '.join(names[:MOST_NAMED])}{more}" if names else ""
