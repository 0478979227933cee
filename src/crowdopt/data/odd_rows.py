"""Odd rows: incomplete ones, and answers that are repeated; what is said of them, in the words of the command line.

They follow from the rows alone, whatever their order and wherever they come from, so that ``verify`` finds them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdopt.errors import InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crowdopt.data.reading import Reading

SEPARATOR = "\x1f"
"""What stands between the parts of an example: task, worker, first and last label, as texts."""

LONGEST_NAME = 40
"""Characters of a name in a note."""


@dataclass(frozen=True)
class Incomplete:
    """Rows that lack something.

    Attributes:
        rows: How many rows there are in all; of a wide table, cells.
        n: Rows that lack something.
        empty: Those of them that hold nothing at all: no task, worker or label.
        without_id: Those of them that lack more than their label.
        parts: How many of them lack what, by role: task, worker, class, label, group.
        wide: Whether the rows are cells of a wide table, which lack nothing but perhaps their task or group.
    """

    rows: int
    n: int
    empty: int
    without_id: int
    parts: Mapping[str, int]
    wide: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say of rows that were left out."""
        if not self.n:
            return ()
        were = "is incomplete and was" if self.n == 1 else "are incomplete and were"
        return (f"{self._said()} {were} left out: {self._parts()}",)

    @classmethod
    def of_groups(cls, several: Iterable[Incomplete], alone: Incomplete | None) -> Incomplete:
        """What several groups have together, and rows that are in none."""
        each = list(several)
        without_group, empty = (alone.rows, alone.empty) if alone else (0, 0)
        roles = dict.fromkeys(role for one in each for role in one.parts)
        parts = {role: sum(one.parts[role] for one in each) for role in roles} | {"group": without_group}
        rows, n = sum(one.rows for one in each), sum(one.n for one in each)
        empty += sum(one.empty for one in each)
        without_id = sum(one.without_id for one in each) + without_group
        return cls(
            rows + without_group, n + without_group, empty, without_id, parts, wide=any(one.wide for one in each)
        )

    def check_allowed(self, reading: Reading) -> None:
        """Raises if there are any, and no row may be left out; tidying leaves out those without a label."""
        if (self.without_id if reading.tidy else self.n) and reading.missing == "error":
            are = "is" if self.n == 1 else "are"
            raise InputError(
                f"{self._said()} {are} incomplete ({self._parts()}); leave out --missing error to do without them"
            )

    def check_few(self, reading: Reading) -> None:
        """Raises if more than half of the rows would be left out, unless the user insists.

        Then a column is most likely not the one that was meant. Rows that hold nothing, as below the last one of a
        spreadsheet, say nothing of that.
        """
        if reading.missing != "drop" or 2 * (self.n - self.empty) <= self.rows - self.empty:
            return
        worst = max(self.parts, key=lambda role: self.parts[role])
        have = "has" if self.parts[worst] == 1 else "have"
        raise InputError(
            f"{self._said()} {'is' if self.n == 1 else 'are'} incomplete: {self.parts[worst]:,} {have} no {worst}"
            f"{_what_else(worst, reading)}add --missing drop-all to leave all these rows out"
        )

    def _said(self) -> str:
        return f"{self.n:,} of {self.rows:,} {'cells' if self.wide else 'rows'}"

    def _parts(self) -> str:
        return ", ".join(f"{n:,} without a {role}" for role, n in self.parts.items() if n)


@dataclass(frozen=True)
class Found:
    """How often something was found, and an example: task, worker, first and last label."""

    n: int = 0
    example: str = ""

    @classmethod
    def of_all(cls, several: Iterable[Found]) -> Found:
        """What several groups have together."""
        some = [one for one in several if one.n]
        return cls(sum(one.n for one in some), min((one.example for one in some), default=""))


@dataclass(frozen=True)
class Repeats:
    """What was found of workers who answered a task more than once, where each of their distinct answers counts.

    Attributes:
        again: Rows that repeat an answer.
        conflicts: Pairs of task and worker with different answers.
    """

    again: Found = Found()
    conflicts: Found = Found()

    @classmethod
    def of_all(cls, several: Iterable[Repeats]) -> Repeats:
        """What several groups have together."""
        each = list(several)
        return cls(Found.of_all(one.again for one in each), Found.of_all(one.conflicts for one in each))

    def notes(self, row: str) -> tuple[str, ...]:
        """What to say of them, given what an answer stands in: a row, or a cell."""
        said = []
        if self.again.n:
            rows = f"1 {row} repeats" if self.again.n == 1 else f"{self.again.n:,} {row}s repeat"
            said.append(
                f"{rows} an answer of the same worker to the same task; it counts once ({self._who(self.again)})"
            )
        if self.conflicts.n:
            times = "once" if self.conflicts.n == 1 else f"{self.conflicts.n:,} times"
            low, high = _parts(self.conflicts)[2:]
            who = f"{self._who(self.conflicts)}: {low} and {high}"
            said.append(
                f"{times} a worker gave different answers to one task; each of them counts ({who}); --duplicates has "
                "other rules"
            )
        return tuple(map(one_line, said))

    @staticmethod
    def _who(found: Found) -> str:
        task, worker, *_ = _parts(found)
        return f"{'' if found.n == 1 else 'for example '}worker {worker}, task {task}"


def _what_else(role: str, reading: Reading) -> str:
    """What may be meant where most rows lack something, and how to say that."""
    if role == "label" and reading.tidy:
        return "; if words that --tidy leaves out are answers, do without it, or else "
    if role == "label" and reading.na:
        return "; if texts that --na names are answers, do without them, or else "
    if reading.tool:
        return "; if you mean another question, name it with --question NAME, or else " if reading.question else "; "
    column = reading.class_column if role == "class" else getattr(reading, role, "")
    named = f" (column {column!r})" if column else ""
    return f"{named}; if that is another column, name it with --{role} COL, or else "


NO_REPEATS = Repeats()
"""Nobody answered a task more than once, or nobody asks."""


def _parts(found: Found) -> list[str]:
    """The parts of an example, each in quotes and of bearable length."""
    parts = (found.example.split(SEPARATOR) + [""] * 4)[:4]
    return [repr(part if len(part) <= LONGEST_NAME else part[: LONGEST_NAME - 1] + "…") for part in parts]
