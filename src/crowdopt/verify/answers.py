"""The answers that people hand over, task by task, against those that a solution has.

Both are brought to the database, whatever tables they were, and compared there: first the tasks, then every column that
answers have. What was kept from the source under its own name is the source's, and is not compared.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.columns import need
from crowdopt.data.load import opened
from crowdopt.data.reading import Reading
from crowdopt.data.spelling import equal_labels
from crowdopt.data.tables.table import Table, adopt, fetch_arrow, held_as, with_texts
from crowdopt.data.tables.workspace import Workspace, literal
from crowdopt.model.letters import BLANKS, HAS_BLANKS, look_key, shown_apart
from crowdopt.results.answers import ANSWER_COLUMNS
from crowdopt.results.write.files import FORMULA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crowdopt.data.groups import GroupedSource
    from crowdopt.data.load import Source
    from crowdopt.results.solution import Solution
    from crowdopt.results.solutions import Solutions

TEXTS = ("label", "margin_kind", "status")
COMPARED = (*ANSWER_COLUMNS[1:], "mean")
"""The columns that answers of either verb can have beside the task and the probabilities ``p_<label>``."""

CLOSE = 1e-6
"""How near numbers must be to count as the same: text files may round them."""

AT_ONCE = 10_000
"""Pairs of different labels, one given and one expected, that are fetched to compare their spelling."""

MOST_NAMED = 5
"""Differences of a kind that are named."""


def answer_differences(
    answered: Solution | Solutions[Any], source: Source | GroupedSource, answers: Any
) -> tuple[str, ...]:
    """What is wrong with a table of answers, in words; nothing if they are those of the solution.

    Args:
        answered: The solution, or those of groups, with the tasks.
        source: Where the tasks are.
        answers: A path or a table.
    """
    reading = answered.reading
    keys = [*([reading.group_name] if reading.group else []), "task"]
    expected_with = cache(lambda probabilities: answered.answers_table(probabilities=probabilities))

    def choose(available: Sequence[str]) -> list[str]:
        wanted = _has_probabilities(set(available).difference(reading.kept))
        own_names = expected_with(wanted).collect_schema().names()
        return _choose(keys, {*own_names, *COMPARED}.difference(reading.kept), available)

    own: Any = nullcontext(source.workspace) if source.workspace else Workspace()
    with own as workspace, opened(answers, choose, Reading(), workspace) as found:
        chosen: list[str] = []
        given = adopt(found, lambda available: _remembered(choose(available), chosen))
        given = given.select(*(nw.col(held_as(given, name)).alias(f"c{at}") for at, name in enumerate(chosen)))
        names = [_plain(name, keys) for name in chosen]
        expected = expected_with(_has_probabilities(names))
        if strange := sorted(set(names).difference(expected.collect_schema().names())):
            return tuple(f"the answers have a column {name!r}, and the solution has none" for name in strange)
        expected = expected.select(*(nw.col(name).alias(f"c{at}") for at, name in enumerate(names)))
        sides = _Side(given, here=found is not answers), _Side(expected, here=source.workspace is not None)
        compared_tables = _Comparison.of(*sides, names, len(keys), workspace)
        compared_tables.spell_alike(reading)
        return tuple(compared_tables.reasons())


def _remembered(chosen: list[str], memory: list[str]) -> list[str]:
    memory[:] = chosen
    return chosen


@dataclass(frozen=True, eq=False)
class _Side:
    """A table with columns c0, c1, …, and whether it is in the database already."""

    table: Table
    here: bool

    def bring(self, name: str, workspace: Workspace, texts: Sequence[str], written: Sequence[str]) -> None:
        """Makes a table of the database, with some columns as text, others as the text that a file has of them."""
        table = with_texts(self.table, texts)
        native = table.to_native() if self.here else workspace.connection.from_arrow(fetch_arrow(table))
        columns = (f"{name}::VARCHAR AS {name}" if name in written else name for name in native.columns)
        native.project(", ".join(columns)).create(name)


def _has_probabilities(names: Iterable[str]) -> bool:
    """Whether some of these columns may be probabilities; where none is, the names that they would have can collide."""
    return any(name.startswith("p_") for name in names)


def _choose(keys: Sequence[str], compared: set[str], available: Sequence[str]) -> list[str]:
    """The columns of the answers that are compared."""
    first = [f"'{key}" if key not in available and f"'{key}" in available else key for key in keys]
    others = [name for name in available if name in compared]
    found = [need(name, "answers", available) for name in [*first, "label"]]
    return list(dict.fromkeys([*found, *others]))


def _plain(name: str, keys: Sequence[str]) -> str:
    """The name of a column as it was before the rules for spreadsheets, which can change that of groups."""
    return name[1:] if name[1:] in keys and name not in keys else name


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Two tables of one database, ``given`` and ``expected``, with columns c0, c1, …: the keys first.

    Attributes:
        names: What the columns are called.
        n_keys: How many of them tell tasks apart: the task, or the group and the task.
        workspace: The database.
    """

    names: list[str]
    n_keys: int
    workspace: Workspace

    @classmethod
    def of(cls, given: _Side, expected: _Side, names: list[str], n_keys: int, workspace: Workspace) -> _Comparison:
        """Brings both tables to the database, with what is compared as text made text on both sides alike."""
        texts = [f"c{at}" for at, name in enumerate(names) if at < n_keys or name in TEXTS]
        ours, theirs = expected.table.collect_schema(), given.table.collect_schema()
        read = [name for name in texts if theirs[name] == nw.String]
        # Text in place of numbers or times comes from a text file: they are compared as such a file has them.
        written = [
            name for name in read if ours[name].is_float() or ours[name].is_decimal() or ours[name].is_temporal()
        ]
        given.bring("crowdopt_given", workspace, texts, ())
        expected.bring("crowdopt_expected", workspace, [name for name in texts if name not in written], written)
        found = cls(names, n_keys, workspace)
        found._without_apostrophes(read)
        return found

    @property
    def keys(self) -> list[str]:
        return [f"c{at}" for at in range(self.n_keys)]

    def _without_apostrophes(self, written: Sequence[str]) -> None:
        """Takes away what --spreadsheet-safe put before texts, unless texts of the data begin like that themselves."""
        for name in written:
            begins = f"regexp_matches({name}, '^''{FORMULA}')"
            if not self._rows(f"SELECT 1 FROM crowdopt_expected WHERE {begins} LIMIT 1"):
                self.workspace.sql(f"UPDATE crowdopt_given SET {name} = substr({name}, 2) WHERE {begins}")

    def spell_alike(self, reading: Reading) -> None:
        """Takes blanks from around the tasks that are given, and gives labels that are one the spelling expected."""
        import pyarrow as pa

        if reading.verbatim:
            return
        for key in self.keys:
            self.workspace.sql(
                f"UPDATE crowdopt_given SET {key} = trim({key}, {literal(BLANKS)}) WHERE regexp_matches({key}, "
                f"{literal(HAS_BLANKS)}) AND {key} NOT IN (SELECT {key} FROM crowdopt_expected WHERE {key} IS NOT NULL)"
            )
        label = f"c{self.names.index('label')}"
        on = " AND ".join(f"given.{key} = expected.{key}" for key in self.keys)
        both = f"crowdopt_given AS given JOIN crowdopt_expected AS expected ON {on}"
        pairs = f"SELECT DISTINCT given.{label}, expected.{label} FROM {both} WHERE given.{label} <> expected.{label}"
        if alike := [(one, other) for one, other in self._each(pairs) if equal_labels(one, other, reading)]:
            held = pa.table(dict(zip(("written", "meant"), zip(*alike, strict=True), strict=True)))
            self.workspace.connection.from_arrow(held).create("crowdopt_alike")
            self.workspace.sql(
                f"UPDATE crowdopt_given AS given SET {label} = expected.{label} FROM crowdopt_expected AS expected, "
                f"crowdopt_alike AS alike WHERE {on} AND given.{label} = alike.written "
                f"AND expected.{label} = alike.meant"
            )

    def _each(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Row by row, as there may be many."""
        found = self.workspace.sql(query)
        while rows := found.fetchmany(AT_ONCE):
            yield from rows

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.workspace.sql(query).fetchall()

    def reasons(self) -> Iterator[str]:
        """What differs, in words."""
        keys = ", ".join(self.keys)
        on = " AND ".join(f"given.{key} = expected.{key}" for key in self.keys)
        tables = {side: f"crowdopt_{side} AS {side}" for side in ("given", "expected")}
        twice = f"SELECT {keys} FROM {tables['given']} GROUP BY {keys} HAVING count(*) > 1"
        yield from self._named(twice, "is in the answers twice")
        for one, other, said in (
            ("expected", "given", "is not in the answers"),
            ("given", "expected", "is in the answers, and is no task of the solution"),
        ):
            lone = f"SELECT {keys} FROM {tables[one]} ANTI JOIN {tables[other]} ON {on}"
            yield from self._named(lone, said)
        both = f"{tables['expected']} JOIN {tables['given']} ON {on}"
        differ = [self._differs(at) for at in range(self.n_keys, len(self.names))]
        if self._rows(f"SELECT 1 FROM {both} WHERE {' OR '.join(differ)} LIMIT 1"):
            for at in range(self.n_keys, len(self.names)):
                yield from self._about_column(at, both)

    def _differs(self, at: int) -> str:
        """Whether the two sides have something else in a column."""
        ours, theirs = f"expected.c{at}", f"given.c{at}"
        if self.names[at] in TEXTS:
            return f"{ours} IS DISTINCT FROM {theirs}"
        ours, theirs = (_number(column) for column in (ours, theirs))
        differ = f"abs({ours} - {theirs}) > {CLOSE} * greatest(1, abs({ours}))"
        return f"(({ours} IS NULL) <> ({theirs} IS NULL) OR {differ})"

    def _named(self, query: str, said: str) -> Iterator[str]:
        """The first tasks that a query finds, and how many more there are."""
        ordered = f"SELECT * FROM ({query}) ORDER BY ALL LIMIT {MOST_NAMED}"
        found = self._rows(ordered)
        for key in found:
            yield f"{_task(key)} {said}"
        yield from self._about_more(query, len(found), f"more tasks: each {said}")

    def _about_more(self, query: str, shown: int, what: str) -> Iterator[str]:
        total = self._rows(f"SELECT count(*) FROM ({query})")[0][0] if shown == MOST_NAMED else shown
        if total > shown:
            yield f"and {total - shown:,} {what}"

    def _about_column(self, at: int, both: str) -> Iterator[str]:
        """The first tasks that have something else in a column."""
        name, wrong = self.names[at], self._differs(at)
        keys = ", ".join(f"expected.{key}" for key in self.keys)
        query = f"SELECT {keys}, given.c{at}::VARCHAR, expected.c{at}::VARCHAR FROM {both} WHERE {wrong}"
        found = self._rows(f"SELECT * FROM ({query}) AS found ORDER BY ALL LIMIT {MOST_NAMED}")
        for *key, given, expected in found:
            ours, theirs = _told_apart(expected, given)
            has = f"has no {name}" if theirs is None else f"has {name} {theirs}"
            yield f"{_task(key)} {has} in the answers, {'none' if ours is None else ours} in the solution"
        yield from self._about_more(query, len(found), f"more tasks have another {name}")


def _told_apart(one: str | None, other: str | None) -> Sequence[str | None]:
    """Two values as they stand; those that look alike with their characters written out."""
    if one is None or other is None or look_key(one) != look_key(other):
        return one, other
    return shown_apart([one, other])


def _number(column: str) -> str:
    """A column as numbers; what is none, is missing."""
    number = f"TRY_CAST({column} AS DOUBLE)"
    return f"CASE WHEN NOT isnan({number}) THEN {number} END"


def _task(key: Sequence[Any]) -> str:
    """A task in words."""
    *group, task = key
    named = "a row without a task" if task is None else f"task {task!r}"
    return f"{named} of group {group[0]}" if group else named
