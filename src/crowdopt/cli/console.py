"""What a person sees on the terminal while and after crowdopt works."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from crowdopt._startup import handle_endings, interrupt, was_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console as RichConsole
    from rich.progress import Progress
    from rich.status import Status
    from rich.table import Table

    from crowdopt.engines.base import Progress as EngineProgress
    from crowdopt.results.solution import Solution
    from crowdopt.results.solutions import Solutions
    from crowdopt.results.words.summary import Summary

MAX_GROUPS = 20
"""Groups that are printed; all of them are in the file of the summary."""

MAX_LINES = 20
"""Lines up to which it is said what is wrong."""

MAX_MATRICES = 4
"""Classes of workers up to which their matrices are printed; all of them are in the report."""

MAX_MEASURED = 10_000
"""Characters of a line, of which tables are asked how many they need."""

MAX_WHOLE = 24
"""Characters up to which a cell of a table is never folded."""

KEEPING = ("solving", "comparing with the consensus")
"""Phases of ``prove`` in which the first Ctrl-C or SIGTERM asks for the best answers so far."""

DELAY = 1.0
"""Seconds of work before anything is shown."""

ENOUGH = 0.1
"""The share of the work from which on it tells how long the rest will take."""


class Console:
    """Shows the phase of the work on standard error, if that is a terminal, and turns Ctrl-C into a request to stop.

    While an engine of ``prove`` runs, the first Ctrl-C or SIGTERM asks it for its best answer so far; in any other
    phase or command, or the second time, it interrupts as usual. The database turns an interrupt into an error of its
    own, and other libraries lose it where they call back: so an interrupt is remembered, and comes out as one at the
    next phase or at the end.

    Args:
        quiet: Whether nothing is shown.
        keeping: Whether the command keeps the best answers so far. It then has to look at ``stop_asked`` at the end.

    Attributes:
        stop_asked: The signal that asked for the best answers so far; 0 if none did.
    """

    def __init__(self, *, quiet: bool = False, keeping: bool = False) -> None:
        # Rich would also call a pipe a terminal if FORCE_COLOR is set, which many build servers do.
        self._status = None if quiet or not sys.stderr.isatty() else _status()
        self._timer = threading.Timer(DELAY, self._status.start) if self._status else None
        self._phase = "starting"
        self._keeping, self.stop_asked = keeping, 0
        self._bar: Progress | None = None
        self._started = self._phase_started = time.monotonic()
        self._seconds_left = math.inf
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = handle_endings(self._on_ending)
        self.check_interrupt()
        if self._timer:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._end_bar()
        if self._timer and self._status:
            self._timer.cancel()
            self._timer.join()  # or it might start the display after the end
            self._status.stop()
        self.check_interrupt()

    def check_interrupt(self) -> None:
        """Raises an interrupt that a library has lost."""
        if was_interrupted():
            raise KeyboardInterrupt

    def on_phase(self, phase: str) -> None:
        """A new phase has begun."""
        self.check_interrupt()
        self._phase, self._phase_started, self._seconds_left = phase, time.monotonic(), math.inf
        self._end_bar()
        if self._status:
            self._status.update(phase)

    def on_group(self, done: int, total: int) -> bool:
        """Groups are done; True asks to leave the others. Together they have one bar, in place of the phase."""
        if self._status and self._timer and time.monotonic() - self._started > DELAY:
            if self._bar is None:
                self._timer.join()
                self._status.stop()
                self._bar = _bar(f"{self._phase} groups", total)
            self._bar.update(self._bar.task_ids[0], completed=done)
        return bool(self.stop_asked)

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def on_share(self, share: float) -> None:
        """So much of the phase is done; what is left is taken to be as fast, and never to take longer than was said."""
        self.check_interrupt()
        if self._status:
            taken = time.monotonic() - self._phase_started
            told = share >= ENOUGH and taken > DELAY
            if told:
                self._seconds_left = min(self._seconds_left, taken * (1 - share) / share)
            left = f", about {self._seconds_left:,.0f} s left" if told else ""
            self._status.update(f"{self._phase}: {share:.0%} done{left}")

    def on_progress(self, progress: EngineProgress) -> bool:
        """An engine reports; True asks it to stop."""
        if self._status:
            gap = progress.bound - progress.objective
            self._status.update(f"{self._phase}: log-likelihood {progress.objective:,.2f}, gap at most {gap:,.3g} nats")
        return bool(self.stop_asked)

    def _on_ending(self, number: int, _: object) -> None:
        if not self._keeping or self._phase not in KEEPING or self.stop_asked:
            interrupt(number)
        self.stop_asked = number


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


def shortened(lines: Sequence[str]) -> list[str]:
    """Lines to be printed, with how many more there are instead of too many."""
    more = [f"… and {len(lines) - MAX_LINES:,} more"] if len(lines) > MAX_LINES else []
    return [*(printable(line) for line in lines[:MAX_LINES]), *more]


def print_failures(failures: Mapping[str, str]) -> None:
    """Prints to standard error which groups have no answers, and why."""
    for line in shortened([f"group {group}: {' '.join(reason.split())}" for group, reason in failures.items()]):
        sys.stderr.write(f"crowdopt: {line}\n")


def print_doubts(doubts: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Prints to standard error what is odd about the rows and what to check, where nothing else says it."""
    for note in notes:
        sys.stderr.write(f"crowdopt: note: {printable(note)}\n")
    for doubt in doubts:
        sys.stderr.write(f"crowdopt: CHECK: {printable(doubt)}\n")


def print_result(result: Solution | Solutions[Any], output: str | None, **others: str | None) -> None:
    """Prints the summary of a solution, or of those of groups, for people, and where the answers and others went."""
    from crowdopt.results.solution import Solution

    written = f"answers in {output}" if output else "answers not written: add -o answers.csv"
    written += "".join(f", {name.replace('_', ' ')} in {path}" for name, path in others.items() if path)
    if isinstance(result, Solution):
        print_summary(result.words(), list(result.scale.labels), written)
    else:
        print_groups(result, written)


def _status() -> Status:
    from rich.console import Console as RichConsole

    return RichConsole(stderr=True).status("starting")


def _bar(called: str, total: int) -> Progress:
    from rich.console import Console as RichConsole
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(called), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=RichConsole(stderr=True), transient=True)
    bar.add_task(called, total=total)
    bar.start()
    return bar


def print_groups(solutions: Solutions[Any], written: str) -> None:
    """Prints a line for all groups, and a table of those that need a look first."""
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text

    from crowdopt.results.doubts import doubts_about_groups
    from crowdopt.results.words.summary import export_accuracy_in_words, export_words, with_others

    console, facts = RichConsole(highlight=False), solutions.summary()
    for doubt in doubts_about_groups(solutions):
        console.print(Text.assemble(("CHECK: ", "bold red"), printable(doubt)), soft_wrap=True)
    about = _about_groups(facts)
    if measured := solutions.accuracy.get(None):
        about = with_others(about, measured, solutions.reading)
    console.print(Text(printable(about)), soft_wrap=True)
    for note in solutions.notes:
        console.print(Text.assemble(("data: ", "bold yellow"), printable(note)), soft_wrap=True)
    if export := export_words(solutions.reading):
        console.print(Text(printable(export)), soft_wrap=True)
    if known := solutions.export_accuracy.get(None):
        console.print(Text(export_accuracy_in_words(known, solutions.reading)), soft_wrap=True)
    rows = sorted((row for row in solutions.rows() if not row["failure"]), key=_LEAST_CERTAIN[solutions.kind])
    hidden = {"accuracy": "accuracy" not in facts, "check": not facts["n_check"]}
    columns = [name for name in _COLUMNS[solutions.kind] if not hidden.get(name)]
    table = Table(title="Groups, the least certain first", title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in _WORDS else "right")
    for row in rows[:MAX_GROUPS]:
        table.add_row(*(Text(printable(_CELLS[name](row))) for name in columns))
    console.print(table)
    if len(rows) > MAX_GROUPS:
        console.print(f"… and {len(rows) - MAX_GROUPS:,} more; --group-summary FILE.csv has all of them")
    _print_sentences(console, "CHECK", "bold red", {group: one.doubts for group, one in solutions.items()})
    _print_sentences(console, "warning", "bold yellow", {group: one.advice for group, one in solutions.items()})
    console.print(Text(written, style="dim"), soft_wrap=True)


def _about_groups(facts: dict[str, Any]) -> str:
    """The first line."""
    from crowdopt.results.solutions import group_verdict
    from crowdopt.results.words.summary import plural

    left_out = f" ({plural(n, 'row')} without a group left out)" if (n := facts.get("n_without_group")) else ""
    accuracy = f"; accuracy {facts['accuracy']:.4f} on {facts['n_truth']:,} tasks" if "accuracy" in facts else ""
    numbers = f"{facts['n_tasks']:,} tasks, {facts['n_responses']:,} responses{left_out}{accuracy}"
    return f"{facts['n_groups']:,} groups: {group_verdict(facts)}; {numbers}"


def _print_sentences(console: Any, word: str, style: str, sentences: dict[str, Sequence[str]]) -> None:
    """Prints the first sentence about each of the first groups that have any, and how many more there are."""
    from rich.text import Text

    some = {group: said[0] for group, said in sentences.items() if said}
    for group, said in list(some.items())[:3]:
        console.print(Text.assemble((f"{word}: ", style), printable(f"group {group}: {said}")), soft_wrap=True)
    if len(some) > 3:
        console.print(f"… and {word} of {len(some) - 3:,} more groups; --json has all of them")


_LEAST_CERTAIN: dict[str, Callable[[dict[str, Any]], tuple[Any, ...]]] = {
    "consensus": lambda row: (not row["n_doubts"], row["mean_confidence"]),
    "proof": lambda row: (not row["n_doubts"], row["proof"] == "PROVED", -(row["gap"] or 0.0), -row["uncertain"]),
}
"""What groups are sorted by, by the kind of their solutions."""

_COLUMNS = {
    "consensus": ("group", "check", "tasks", "responses", "labels", "confidence", "uncertain", "alpha", "accuracy"),
    "proof": ("group", "check", "proof", "tasks", "responses", "labels", "gap", "alpha", "uncertain", "accuracy"),
}
"""The columns of the table of groups."""

_WORDS = {"group", "check", "proof"}
"""Those that hold words."""

_CELLS: dict[str, Callable[[dict[str, Any]], str]] = {
    "group": lambda row: row["group"],
    "check": lambda row: "CHECK" if row["n_doubts"] else "",
    "proof": lambda row: row["proof"],
    "tasks": lambda row: f"{row['n_tasks']:,}",
    "responses": lambda row: f"{row['n_responses']:,}",
    "labels": lambda row: str(row["n_labels"]),
    "confidence": lambda row: "" if row["n_doubts"] else f"{row['mean_confidence']:.1%}",
    "gap": lambda row: "" if row["gap"] is None else f"{row['gap']:,.3g}",
    "alpha": lambda row: "" if row["alpha"] is None else f"{row['alpha']:.3f}",
    "uncertain": lambda row: f"{row['uncertain']:.1%}",
    "accuracy": lambda row: "" if row["accuracy"] is None else f"{row['accuracy']:.4f}",
}
"""Their cells."""


def _matrix(title: str, headings: list[str], rows: list[list[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    matrix = Table(title=Text(printable(title)), title_justify="left", title_style="bold")
    matrix.add_column("tasks labelled")
    for heading in headings:
        matrix.add_column(Text(printable(heading)), justify="right", overflow="fold")
    for row in rows:
        matrix.add_row(*(Text(printable(cell)) for cell in row))
    return matrix


def _fitting(console: RichConsole, matrices: dict[str, list[list[str]]], labels: list[str]) -> list[Table]:
    """How workers answer, as tables that fit the console without breaking a word; none if one does not."""
    from rich.measure import Measurement

    whole = console.options.update(width=MAX_MEASURED)
    for headings in ([f"answered {label}" for label in labels], labels):
        tables = [
            _matrix(f"How workers of class {name} answer" if name else "How workers answer", headings, rows)
            for name, rows in matrices.items()
        ]
        if all(Measurement.get(console, whole, table).minimum <= console.width for table in tables):
            return tables
    return []


def print_summary(summary: Summary, labels: list[str], written: str) -> None:
    """Prints the summary of a solution for people, and where its files went."""
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text

    console = RichConsole(highlight=False)
    word, _, rest = summary.headline.partition(":")
    # What stands below CHECK has no colour: it must not look as if all were well.
    style = {"PROVED": "bold green", "CONSENSUS": "bold blue", "BOUNDED": "bold yellow"}.get(word, "bold red")
    # Sentences and paths are left to the terminal to wrap: a pipe or a copied path must not get line breaks.
    console.print(Text.assemble((word, style), ":", rest), soft_wrap=True)
    console.print()
    facts = Table.grid(padding=(0, 2))
    for at, note in enumerate(summary.notes):
        facts.add_row(Text("" if at else "data", style="bold yellow"), Text(printable(note)))
    for name, value in summary.facts.items():
        facts.add_row(Text(name, style="bold"), Text(printable(value)))
    console.print(facts)
    console.print()
    tables = _fitting(console, summary.matrices, labels) if len(summary.matrices) <= MAX_MATRICES else []
    for table in tables:
        console.print(table)
    if summary.matrices and not tables:
        console.print("How workers answer does not fit here; the report has it (--report FILE.html).", soft_wrap=True)
    for warning in summary.warnings:
        console.print(Text.assemble(("warning: ", "bold yellow"), warning), soft_wrap=True)
    console.print(Text(written, style="dim"), soft_wrap=True)


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> None:
    """Prints a table for people, and what else is to be said.

    The first column has names and the last one words; between them are numbers. Where the terminal is narrow only the
    last one is folded: names and numbers stay whole.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text

    console = RichConsole(highlight=False)
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        last = number == len(columns) - 1
        whole = not last and all(len(row[number]) <= MAX_WHOLE for row in rows)
        table.add_column(name, justify="right" if number and not last else "left", overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)
    for note in notes:
        console.print(Text(printable(note), style="dim"), soft_wrap=True)
