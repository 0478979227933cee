"""What the benchmarks of answers share: tables in Markdown, numbers in words, the options of the command line."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

MISSED = 1e-6
"""Nats below the optimum from which on it counts as missed."""


SHOWN: list[dict[str, Any]] = []
"""All tables that were printed: they go with the figures."""


def show(name: str, caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table in Markdown between two comments, and keeps it for :func:`write_json`."""
    SHOWN.append({"name": name, "caption": caption, "columns": [*columns], "rows": [[*row] for row in rows]})
    lines = [f"<!-- {name} -->", caption, "", *markdown(columns, rows), f"<!-- end of {name} -->"]
    print("\n".join(lines) + "\n", flush=True)


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table; columns of numbers are set to the right."""
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    rule = ["--:" if right else "---" for right in numeric]
    return ["| " + " | ".join(cells) + " |" for cells in (columns, rule, *rows)]


def _is_number(text: str) -> bool:
    return not text or text[0].isdigit() or text[0] in "-–"


def duration(seconds: float) -> str:
    """Seconds as they stand in a table.

    >>> duration(0.01234), duration(12.34)
    ('12.3 ms', '12.3 s')
    """
    return f"{seconds * 1000:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def nats(value: float) -> str:
    """A difference of log-likelihoods; what is below MISSED counts as nothing."""
    return "0" if abs(value) <= MISSED else f"{value:,.3f}"


def span(numbers: Iterable[int]) -> str:
    """The least and the greatest of some numbers."""
    numbers = list(numbers)
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def tally(counter: Counter[str]) -> str:
    """What was seen, with how often if there was more than one thing."""
    if len(counter) == 1:
        return next(iter(counter))
    return ", ".join(f"{name} {times}" for name, times in sorted(counter.items()))


def say(text: str) -> None:
    """Progress, where it does not get into the tables."""
    print(text, file=sys.stderr, flush=True)


def describe(surroundings: dict[str, Any]) -> str:
    """What the numbers depend on, in a line."""
    packages = ", ".join(f"{name} {number}" for name, number in surroundings["packages"].items())
    return (
        f"{surroundings['system']}, {surroundings['cpus']} cores, load {surroundings['load_at_start']:.1f} at the "
        f"start, Python {surroundings['python']}, {packages}."
    )


def parser(description: str) -> argparse.ArgumentParser:
    """A command line with the options that all benchmarks of answers have."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--quick", action="store_true", help="a tiny version, to see that it runs")
    made.add_argument("--json", type=Path, metavar="FILE", help="where the figures go")
    return made


def write_json(path: Path | None, figures: dict[str, Any]) -> None:
    """Writes the figures, and the tables that were printed of them, if there is a place."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**figures, "tables": SHOWN}, indent=1) + "\n", encoding="utf-8")
        say(f"written to {path}")
