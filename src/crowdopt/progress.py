"""What a person sees on the terminal while and after crowdopt works."""

from __future__ import annotations

import json
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.status import Status
    from rich.table import Table

    from crowdopt.solve.engine import Progress
    from crowdopt.summary import Summary

MAX_NAMED, MAX_SHOWN = 6, 12
"""Labels up to which the columns of the matrix have long names, and up to which it is printed at all."""

DELAY = 1.0
"""Seconds of work before anything is shown."""


class Console:
    """Shows the phase of the work on standard error, if that is a terminal, and turns Ctrl-C into a request to stop.

    While an engine runs, the first Ctrl-C asks it for its best answer so far; at any other time, or the second
    time, it interrupts as usual. The database turns an interrupt into an error of its own, and may even lose it:
    so an interrupt is remembered, and comes out as one at the next phase or at the end.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        # Rich would also call a pipe a terminal if FORCE_COLOR is set, which many build servers do.
        self._status = None if quiet or not sys.stderr.isatty() else _status()
        self._timer = threading.Timer(DELAY, self._status.start) if self._status else None
        self._phase = "starting"
        self._stop_asked = False
        self._interrupted = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._on_interrupt)
        if self._timer:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        if self._timer and self._status:
            self._timer.cancel()
            self._timer.join()  # or it might start the display after the end
            self._status.stop()
        if self._interrupted and kind is not None:
            raise KeyboardInterrupt("files may be missing" if self._phase == "writing" else "nothing was written")

    def on_phase(self, phase: str) -> None:
        """A new phase has begun."""
        if self._interrupted:
            raise KeyboardInterrupt
        self._phase = phase
        if self._status:
            self._status.update(phase)

    def on_progress(self, progress: Progress) -> bool:
        """An engine reports; True asks it to stop."""
        if self._status:
            gap = progress.bound - progress.objective
            self._status.update(f"{self._phase}: log-likelihood {progress.objective:,.2f}, gap at most {gap:,.3g} nats")
        return self._stop_asked

    def _on_interrupt(self, *_: object) -> None:
        if self._phase != "solving" or self._stop_asked:
            self._interrupted = True
            raise KeyboardInterrupt
        self._stop_asked = True


def printable(text: str) -> str:
    r"""A text with what could steer a terminal written out.

    >>> print(printable(chr(27) + "[31mred"))
    \x1b[31mred
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def print_json(facts: dict[str, Any]) -> None:
    """Prints one line of JSON; escapes what standard output cannot show."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(facts, ensure_ascii=ascii_only, allow_nan=False) + "\n")


def _status() -> Status:
    from rich.console import Console as RichConsole

    return RichConsole(stderr=True).status("starting")


def _matrix(title: str, labels: list[str], rows: list[list[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    matrix = Table(title=Text(printable(title)), title_justify="left", title_style="bold")
    matrix.add_column("tasks labelled")
    for label in labels:
        heading = label if len(labels) > MAX_NAMED else f"answered {label}"
        matrix.add_column(Text(printable(heading)), justify="right")
    for row in rows:
        matrix.add_row(*(Text(printable(cell)) for cell in row))
    return matrix


def print_summary(
    summary: Summary, labels: list[str], output: str | None, solution: str | None, report: str | None = None
) -> None:
    """Prints the summary of a solution for people, and where its files went."""
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text

    console = RichConsole(highlight=False)
    word, _, rest = summary.headline.partition(":")
    style = {"PROVED": "bold green", "BOUNDED": "bold yellow"}.get(word, "bold red")
    # Sentences and paths are left to the terminal to wrap: a pipe or a copied path must not get line breaks.
    console.print(Text.assemble((word, style), ":", rest), soft_wrap=True)
    console.print()
    facts = Table.grid(padding=(0, 2))
    for name, value in summary.facts.items():
        facts.add_row(Text(name, style="bold"), Text(printable(value)))
    console.print(facts)
    console.print()
    if len(labels) <= MAX_SHOWN:  # a wider one would be nothing but borders
        for name, rows in summary.matrices.items():
            console.print(
                _matrix(f"How workers of class {name} answer" if name else "How workers answer", labels, rows)
            )
    for warning in summary.warnings:
        console.print(Text.assemble(("warning: ", "bold yellow"), warning), soft_wrap=True)
    written = f"answers in {output}" if output else "answers not written: add -o answers.csv"
    written += f", solution in {solution}" if solution else ""
    written += f", report in {report}" if report else ""
    console.print(Text(written, style="dim"), soft_wrap=True)


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> None:
    """Prints a table for people, its last column as text and all others as numbers, and what else is to be said."""
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text

    console = RichConsole(highlight=False)
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        # Folded where it is too long, not cut: names must stay whole.
        table.add_column(name, justify="right" if 0 < number < len(columns) - 1 else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)
    for note in notes:
        console.print(Text(printable(note), style="dim"), soft_wrap=True)
