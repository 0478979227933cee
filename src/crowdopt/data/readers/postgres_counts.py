"""Counting on a database server: the responses stay there, and only what was counted comes over."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.odd_rows import NO_REPEATS, Found, Repeats
from crowdopt.data.readers.database import connected
from crowdopt.data.readers.database_rows import RowsLater, copy, find_columns, opened_copy
from crowdopt.data.tables.digest_words import DIGITS, WORDS
from crowdopt.data.tables.table import distinct_rows, fetch
from crowdopt.data.tables.workspace import literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crowdopt.data.columns import Choose
    from crowdopt.data.readers.addresses import Database
    from crowdopt.data.readers.database_rows import Column
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.table import Table
    from crowdopt.data.tables.workspace import Workspace

INTEGERS = {"int2", "int4", "int8"}
"""Whole numbers, which are equal here and there."""

NOT_TEXT = {"float4", "float8", "date", "timestamp", "timestamptz", "numeric"}
"""Types whose values are not compared, or not written, in the same way everywhere."""


class Repeated(Exception):  # noqa: N818 -- no error, but a reason to go another way
    """A worker answered a task more than once, and what counts then is still to be found out."""


@contextmanager
def serving(database: Database, choose: Choose, reading: Reading, workspace: Workspace) -> Iterator[Server | None]:
    """A server that counts what ``reading`` asks for, in one snapshot of the data; None if that is not for it to do.

    SQLite is no server: its rows are here anyhow, and DuckDB counts them sooner.
    """
    elsewhere = reading.where or reading.time or reading.seconds
    plain = not (reading.wide or reading.group or reading.bins or reading.keep or reading.classes or elsewhere)
    if database.kind == "sqlite" or not plain or reading.duplicates in {"first", "last"}:
        yield None
        return
    with connected(database) as cursor:
        columns = find_columns(cursor, database, choose)
        able = not any(column.type in NOT_TEXT for column in columns)
        yield Server(cursor, columns, database, reading, workspace) if able else None


class Server:
    """A PostgreSQL server that counts responses.

    Its texts are compared byte by byte (COLLATE "C"), as everywhere else, whatever the rules of their column; an empty
    one is missing.
    """

    def __init__(
        self, cursor: Any, columns: list[Column], database: Database, reading: Reading, workspace: Workspace
    ) -> None:
        self.cursor, self.database, self.reading, self.workspace = cursor, database, reading, workspace
        self.columns = columns
        self.later = RowsLater(cursor, columns, database, workspace)
        named = {"task": reading.task, "worker": reading.worker, "label": reading.label}
        named |= {"class": reading.class_column} if reading.class_column else {}
        known = {column.name: column for column in columns}
        values = ", ".join(f"{self._value(role, known[name])} AS {role}" for role, name in named.items())
        self.as_written = self.all_rows = f"(SELECT {values} FROM {database.relation}) AS crowdopt_responses"
        self.keys = [role for role in named if role != "task"]
        self.repeats: Repeats | None = None

    def _value(self, role: str, column: Column) -> str:
        """A column with nulls where something is missing."""
        if column.type in INTEGERS or column.type == "bool":
            value = f"{column.value}::text" if role == "class" else column.value
            missing = ", ".join(map(literal, self.reading.na_values)) if role == "label" else ""
            return f"CASE WHEN {value}::text NOT IN ({missing}) THEN {value} END" if missing else value
        value = f"nullif({column.value} COLLATE \"C\", '')"
        for text in self.reading.na if role == "label" else ():
            value = f"nullif({value}, {literal(text)})"
        return value

    def rows(self) -> Any:
        """The rows themselves, which come over only if somebody asks for them."""
        return self.workspace.connection.from_arrow(self.later)

    def overview(self) -> Table:
        """Responses per (worker, class, label): how many, and how many have a task; see ``overview.Overview``."""
        keys = ", ".join(self.keys)
        return self._counted(
            f"SELECT {keys}, count(*) AS n, count(task) AS with_task FROM {self.as_written} GROUP BY {keys}"
        )

    def replace_labels(self, changes: Mapping[str, str | None]) -> None:
        """From here on some labels are others, or missing."""
        cases = " ".join(
            f"WHEN {literal(old)} THEN {'NULL' if new is None else literal(new)}" for old, new in changes.items()
        )
        others = ", ".join(role for role in ("task", *self.keys) if role != "label")
        label = f"CASE label {cases} ELSE label END AS label"
        self.all_rows = f"(SELECT {others}, {label} FROM {self.as_written}) AS crowdopt_respelled"

    @property
    def responses(self) -> str:
        """The rows that count."""
        distinct = f"(SELECT DISTINCT * FROM {self.all_rows}) AS crowdopt_distinct"
        return self.all_rows if self.repeats is None else distinct

    def take_distinct(self) -> None:
        """From now on, every distinct answer of a worker to a task counts once; notes what is repeated."""
        known = " AND ".join(f"{role} IS NOT NULL" for role in ("task", *self.keys))
        parts = ("task::text", "worker::text", 'min(label::text COLLATE "C")', 'max(label::text COLLATE "C")')
        example = f'({" || chr(31) || ".join(parts)}) COLLATE "C"'
        pairs = (
            f"(SELECT count(*) AS n, count(DISTINCT label) AS kinds, {example} AS example FROM {self.all_rows} "
            f"WHERE {known} GROUP BY task, worker HAVING count(*) > 1) AS crowdopt_pairs"
        )
        found = fetch(
            self._counted(
                "SELECT sum(n - kinds)::int8 AS again, count(*) FILTER (WHERE kinds > 1) AS conflicts, "
                "min(example) FILTER (WHERE n > kinds) AS repeated, "
                f"min(example) FILTER (WHERE kinds > 1) AS different FROM {pairs}"
            )
        )
        ((again, conflicts, repeated, different),) = zip(*found.values(), strict=True)
        self.repeats = Repeats(Found(again, repeated or ""), Found(conflicts, different or ""))

    def counting(self, rows: Table) -> tuple[Table, Repeats]:
        """Of the rows themselves those that count, if somebody asks for them, and what is repeated."""
        if self.repeats is None:
            return rows, NO_REPEATS
        return distinct_rows(rows), self.repeats

    def per_task(self, places: Mapping[str, tuple[str | None, Any]], *, complete: bool) -> Table:
        """Responses per task and (class, label), given the names of the columns to count them in.

        Args:
            places: A class, or None, and a label for every column; None for any label.
            complete: Whether no response lacks a worker or a class: then none needs to be tested for that.

        Raises:
            Repeated: A worker answered a task more than once, and not all answers are to be counted.
        """
        known = [] if complete else [f"{key} IS NOT NULL" for key in self.keys if key != "label"]
        counts = [
            f"count(*) FILTER (WHERE {' AND '.join([*known, *_theirs(*place)])}) AS {name}"
            for name, place in places.items()
        ]
        once = self.reading.duplicates != "all" and self.repeats is None
        if once:
            labelled = " AND ".join([*known, "label IS NOT NULL"])
            filtered = f"FILTER (WHERE {labelled})"
            counts.append(f"count(*) {filtered} > count(DISTINCT worker) {filtered} AS repeated")
        table = self._counted(
            f"SELECT task, {', '.join(counts)} FROM {self.responses} WHERE task IS NOT NULL GROUP BY task"
        )
        if once and fetch(table.filter(nw.col("repeated")).select("repeated").head(1))["repeated"]:
            raise Repeated
        return table.drop("repeated") if once else table

    def digest_sums(self) -> dict[str, list[Any]]:
        """The number of responses, and sums of the numbers of their digests; see ``fingerprint.py``."""
        task, worker, label = (f"convert_to({role}::text, 'UTF8')" for role in ("task", "worker", "label"))
        lengths = f"octet_length({task}) || ' ' || octet_length({worker}) || ' '"
        digest = f"encode(sha256(convert_to({lengths}, 'UTF8') || {task} || {worker} || {label}), 'hex')"
        known = " AND ".join(f"{key} IS NOT NULL" for key in ("task", *self.keys))
        words = {
            name: f"('x' || substr(digest, {at}, {DIGITS}))::bit({4 * DIGITS})::int8" for name, at in WORDS.items()
        }
        sums = ", ".join(f"sum({word})::text AS {name}" for name, word in words.items())
        # OFFSET 0 keeps the server from computing a digest once for every sum.
        digests = f"(SELECT {digest} AS digest FROM {self.responses} WHERE {known} OFFSET 0) AS crowdopt_digests"
        return fetch(self._counted(f"SELECT count(*) AS n, {sums} FROM {digests}"))

    def _counted(self, query: str) -> Table:
        path = copy(self.cursor, query, self.workspace)
        self.later.counted.append((query, path))
        table: Table = nw.from_native(opened_copy(path, self.workspace))
        return table


def _theirs(of_class: str | None, label: Any) -> list[str]:
    """The conditions that a response is of a class and a label."""
    value = literal(label) if isinstance(label, str) else str(label)
    return [
        "label IS NOT NULL" if label is None else f"label = {value}",
        *([f"class = {literal(of_class)}"] if of_class is not None else []),
    ]
