"""What the readers of all annotation tools share: the files that they get, and the export that they make of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

from crowdopt.data.readers.file_names import check_named, worker_names
from crowdopt.data.readers.files import InputFile, head_of, new_copy, open_bytes
from crowdopt.data.readers.jsonl import pointer
from crowdopt.data.readers.open_files import open_parts
from crowdopt.data.readers.parquet import parquet_rows
from crowdopt.data.readers.union import available_columns, check_columns, concatenate, filled
from crowdopt.data.rows.where import COUNTS, with_counting
from crowdopt.data.tables.workspace import literal, query_errors, quote
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crowdopt.data.readers.union import Part
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.workspace import Workspace

NOTHING = "NULL"
"""An expression in SQL that has no value in any row."""

LOCATABLE = 1 << 28
"""Bytes up to which a file of JSON that is damaged is read into memory, to say where."""

MAX_RECORD = 1 << 24
"""Bytes of one record; each thread reads into room for two."""

MAX_DOCUMENT = 1 << 29
"""Bytes of a file that is one object, which is by its nature one record."""

EXCERPT = 60
"""Characters of a record that an error shows."""


@dataclass(frozen=True)
class Export:
    """Responses as a tool writes them: rows of a query, and what their columns mean, as expressions in SQL.

    Attributes:
        query: A row for each response.
        columns: An expression for each column that can be read; ``task``, ``worker`` and ``label`` among them.
        left_out: What a row is that does not count, in words for many of them; no value if it counts.
        problem: What is wrong with a row, and where; no value if nothing is.
        gold: The label that the task of a row is known to have; no value if none is known.
        only_gold: Whether a row is there to say so, and is no response.
        nested: Whether the columns are values of JSON.
        question: The question whose answers these are; empty if the tool has none.
        notes: What else to say of how it is read.
    """

    query: str
    columns: dict[str, str]
    left_out: str = NOTHING
    problem: str = NOTHING
    gold: str = NOTHING
    only_gold: str = "false"
    nested: bool = False
    question: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A tool whose exports are read.

    Attributes:
        title: What messages call its exports.
        recognise: Whether columns (of a table) or keys (of objects) can only be those of such an export.
        read: Makes an export of files.
        options: The options of reading that mean something for it, beside those of all tables.
    """

    title: str
    recognise: Callable[[Sequence[str]], bool]
    read: Callable[[Files, Reading], Export]
    options: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Files:
    """The files of an export: as tables, or as objects of JSON.

    Attributes:
        sources: The files.
        workspace: The database to read with.
        delimiter: Field delimiter of text files; empty to take it from the header.
        each: Whether every file is a part of its own.
    """

    sources: Sequence[InputFile]
    workspace: Workspace
    delimiter: str = ""
    each: bool = False

    @property
    def name(self) -> str:
        """What messages call them."""
        return self.sources[0].name if len(self.sources) == 1 else f"one of the {len(self.sources)} files"

    @cached_property
    def columns(self) -> list[str]:
        """The columns of tables, or the keys of objects."""
        if any(source.kind == "json" for source in self.sources):
            if keys := self.keys():
                return keys
            if not self.ask(f"SELECT 1 FROM ({self.objects}) LIMIT 1"):
                raise InputError(f"{self.name} is empty: it has no records; was it exported before anybody answered?")
            return []
        return available_columns(self.parts)

    @property
    def as_objects(self) -> bool:
        """Whether the files are JSON, whose records may have anything in them."""
        return any(source.kind in {"json", "jsonl"} for source in self.sources)

    @cached_property
    def parts(self) -> list[Part]:
        """The files as parts of one table."""
        groups = [[source] for source in self.sources] if self.each else [self.sources]
        return [part for group in groups for part in open_parts(group, self.workspace, self.delimiter)]

    @cached_property
    def names(self) -> list[str]:
        """The names of the files as those of workers, in their order."""
        return worker_names(self.sources)

    def table(self, names: Sequence[str], needed: Sequence[str] | None = None) -> str:
        """The query for some columns: all files must have those that are needed, which are all if nobody says so."""
        check_columns(self.parts, names if needed is None else needed)
        parts = filled(self.parts, names)
        check_columns(parts, names)
        return concatenate(parts, names, self.workspace)

    @property
    def objects(self) -> str:
        """The query for all records, as one column ``json``; the cells of text files are texts in it."""
        if self.as_objects or all(source.kind == "parquet" for source in self.sources):
            return f"SELECT json FROM ({self._located})"
        names = list(dict.fromkeys(self.columns))
        fields = ", ".join(f"{literal(name)}, {quote(name)}" for name in names)
        return f"SELECT json_object({fields}) AS json FROM ({self.table(names, [])})"

    @property
    def named_objects(self) -> str:
        """The query for all records, and as texts the ``path`` of their file, and its name as a worker: ``file``."""
        rows = {str(one.path): (one.name, name) for one, name in zip(self.sources, self.names, strict=True)}
        places = ", ".join(f"({', '.join(map(literal, (path, *names)))})" for path, names in rows.items())
        named = f"SELECT * FROM (VALUES {places}) AS names (filename, path, file)"
        return f"SELECT json, path, file FROM ({self._located}) JOIN ({named}) USING (filename)"

    @property
    def placed_objects(self) -> str:
        """The query for all records, and as text the ``path`` of their file, as far as it is known."""
        if self.as_objects or all(source.kind == "parquet" for source in self.sources):
            return f"SELECT json, path FROM ({self.named_objects})"
        return f"SELECT json, {literal(self.name)} AS path FROM ({self.objects})"

    @cached_property
    def _located(self) -> str:
        """The query for all records, as ``json``, and the paths of their files, as ``filename``."""
        groups: dict[tuple[str, str, int], list[InputFile]] = {}
        for source in self.sources:
            key = (
                (source.kind, source.packing, _room(source)) if source.kind != "parquet" else (str(source.path), "", 0)
            )
            groups.setdefault(key, []).append(source)
        return " UNION ALL ".join(_objects(group, room) for (_, _, room), group in groups.items())

    def check_worker_names(self) -> None:
        """Raises if the files cannot name workers."""
        check_named(self.sources)

    def keys(self, inside: str = "", records: str = "") -> list[str]:
        """All keys of (some) records, or of an object inside them, in the order in which they tend to stand there."""
        one = field_of("json", inside) if inside else "json"
        objects = f"SELECT {one} AS one FROM ({records or self.objects})"
        keys = f"SELECT json_keys(one) AS keys FROM ({objects}) WHERE json_type(one) = 'OBJECT'"
        names = f"SELECT unnest(keys) AS name, unnest(range(len(keys))) AS place FROM ({keys})"
        rows = self.ask(f"SELECT name FROM ({names}) GROUP BY name ORDER BY min(place), name")
        return [str(name) for (name,) in rows]

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query; if a file turns out not to be JSON, says where."""
        import duckdb

        try:
            return self.workspace.connection.execute(query).fetchall()
        except query_errors():
            raise
        except duckdb.InvalidInputException as error:
            self.locate_damage()
            raise error from None

    def stored(self, query: str) -> str:
        """The query for the rows of another, which are written to a file, so that documents are parsed once for all."""
        path = literal(str(new_copy("rows.parquet", self.workspace)))
        self.ask(f"COPY ({query}) TO {path} (FORMAT parquet)")
        return f"SELECT * FROM read_parquet([{path}], hive_partitioning = false)"

    def locate_damage(self) -> None:
        """Raises if a file of JSON is no JSON, and says where."""
        for source in self.sources:
            if source.kind == "json":
                _check_json(source)

    def need(self, names: Sequence[str], title: str) -> None:
        """Raises if the files lack a column (or a key) that every export has."""
        for name in names:
            if name not in self.columns:
                what = "key" if self.as_objects else "column"
                listed = ", ".join(self.columns[:12]) + (", …" if len(self.columns) > 12 else "")
                raise ColumnError(f"{self.name} is no export of {title}: it has no {what} {name!r} ({what}s: {listed})")

    def counting(self, query: str, columns: Mapping[str, str], reading: Reading, *, nested: bool = False) -> str:
        """The rows of a query that count (``--where``), as far as some columns tell: questions are looked for there.

        Where none does, all rows: what is wrong with the conditions is said later.
        """
        if not reading.where:
            return query
        cells = {name: plain_text(value) if nested else value for name, value in columns.items()}
        marked = with_counting(query, cells, reading.where, self.workspace)
        counting = f"SELECT * EXCLUDE ({COUNTS}) FROM ({marked}) WHERE {COUNTS}"
        return counting if self.ask(f"SELECT 1 FROM ({counting}) LIMIT 1") else query

    def choose_question(self, question: str, available: Sequence[str], title: str) -> str:
        """The question whose answers are wanted: the one that is named, or the only one."""
        if question in available:
            return question
        listed = ", ".join(available)
        if question:
            near = get_close_matches(question, available, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{self.name} has no question {question!r}{hint} (questions: {listed or 'none'})")
        if not available:
            raise InputError(f"{self.name} is no export of {title} with answers: it has no question")
        if len(available) > 1:
            raise InputError(f"{self.name} has {len(available)} questions: name one with --question ({listed})")
        return available[0]


def field_of(value: str, name: str) -> str:
    """The expression for a field of an object of JSON."""
    return f"json_extract({value}, {literal(pointer(name))})"


def text_of(value: str, name: str) -> str:
    """The expression for a field of an object of JSON, as text."""
    return f"json_extract_string({value}, {literal(pointer(name))})"


def plain_text(value: str) -> str:
    """The expression for a value of JSON as text."""
    return f"json_extract_string({value}, '$')"


def way_to(key: str) -> str:
    """The expression for the way to a field of an object of JSON, given that for its key."""
    return f"'/' || replace(replace({key}, '~', '~0'), '/', '~1')"


def if_any(value: str) -> str:
    """The expression for a value of JSON that has no value if it is null."""
    return f"CASE WHEN json_type({value}) <> 'NULL' THEN {value} END"


def list_of(value: str) -> str:
    """The expression for the items of a list of JSON; none if it is no list."""
    return f"CASE json_type({value}) WHEN 'ARRAY' THEN json_transform({value}, '[\"JSON\"]') ELSE [] END"


def words(*parts: str) -> str:
    """The expression for a text that is made of expressions; what has no value is left out of it."""
    return f"concat({', '.join(parts)})"


def cases(*pairs: tuple[str, str]) -> str:
    """The expression for the value that stands with the first condition that holds; no value if none does."""
    return "CASE " + " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs) + " END"


def excerpt(value: str) -> str:
    """The expression for the beginning of a record, by which it can be found."""
    return f"left({value}::VARCHAR, {EXCERPT})"


def unprefixed(columns: Sequence[str], prefix: str, expression: Callable[[str], str]) -> dict[str, str]:
    """Expressions for all columns; what was put in stands there without its prefix, if that is a name of its own."""
    taken = {"task", "worker", "label", *(name.lower() for name in columns)}
    found: dict[str, str] = {}
    for name in columns:
        short = name.removeprefix(prefix)
        own = short if short and short.lower() not in taken else name
        taken.add(own.lower())
        found[own] = expression(name)
    return found


def named_by_files(files: Files) -> str:
    """What is said of an export where workers have the names of files."""
    if len(files.sources) == 1:
        return f"one file, so one worker, by its name: {files.names[0]}"
    return f"workers have the names of their files: {len(set(files.names)):,}"


def _objects(sources: Sequence[InputFile], room: int) -> str:
    if sources[0].kind == "parquet":
        path = literal(str(sources[0].path))
        return f"SELECT to_json(one) AS json, {path} AS filename FROM {parquet_rows(sources)} AS one"
    paths = ", ".join(source.literal for source in sources)
    return (
        f"SELECT json, filename FROM read_json_objects([{paths}], format = 'auto', filename = true, "
        f"compression = '{sources[0].packing}', hive_partitioning = false, maximum_object_size = {room})"
    )


def _room(source: InputFile) -> int:
    """Bytes that a record may have: those of the whole file if it is one object."""
    if source.kind != "json" or not head_of(source).lstrip().startswith(b"{"):
        return MAX_RECORD
    with open_bytes(source) as stream:
        size = 0
        while size < MAX_DOCUMENT and (block := stream.read(1 << 20)):
            size += len(block)
    return max(MAX_RECORD, size)


def _check_json(source: InputFile) -> None:
    with open_bytes(source) as stream:
        data = stream.read(LOCATABLE + 1)
    if len(data) > LOCATABLE:
        return
    try:
        json.loads(data.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{source.name} is not UTF-8 (byte {error.start}); try --encoding windows-1252") from None
    except json.JSONDecodeError as error:
        ended = error.pos >= len(data.decode().rstrip()) - 1 or error.msg.startswith("Unterminated")
        cut = "; it seems to be cut short" if ended else ""
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{source.name}, {place}: not JSON ({error.msg}){cut}") from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in lists in lists
        raise InputError(f"{source.name} cannot be read: its numbers or lists within lists have no end") from None
