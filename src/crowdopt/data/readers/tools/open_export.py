"""Responses from files: plain tables, or the exports of annotation tools, which are recognised or named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crowdopt.data.columns import choose_responses
from crowdopt.data.readers.csv import check_delimiter
from crowdopt.data.readers.files import new_copy
from crowdopt.data.readers.find_files import find_files
from crowdopt.data.readers.jsonl import KINDS, kind_of, number_type
from crowdopt.data.readers.open_files import select, with_parsed_numbers
from crowdopt.data.readers.tools import TOOL_NAMES, recognise, tool_named
from crowdopt.data.readers.tools.base import NOTHING, Export, Files
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.columns import Choose
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.workspace import Workspace

GOLD, ONLY_GOLD, LEFT_OUT, PROBLEM = "crowdopt_gold", "crowdopt_only_gold", "crowdopt_left_out", "crowdopt_problem"


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """Responses that are ready to be read.

    Attributes:
        table: The chosen columns.
        reading: How they are read; the tool whose export it is stands there, however it was found out.
        gold: The tasks whose label the export knows, as (task, label); None if it knows none.
        notes: What was done with the rows of an export, in words.
    """

    table: Any
    reading: Reading
    gold: Any = None
    notes: tuple[str, ...] = ()


def open_files(paths: Sequence[str], reading: Reading, workspace: Workspace) -> OpenedSource:
    """Opens files of responses; they are read when the table is used.

    Raises:
        InputError: A file is not what it should be, or an option does not go with what it is.
    """
    files = Files(find_files(paths, workspace, reading.encoding), workspace, check_delimiter(reading.delimiter))
    notes: tuple[str, ...] = ()
    if reading.tool == "auto":
        found = recognise(files.columns)
        if found and not _may_be_export(files, reading):
            found, notes = "", _not_left_out(found)
        reading = replace(reading, tool=found)
    choose = choose_responses(reading)
    if reading.tool:
        return _open_export(files, reading, choose)
    _check_plain(files.name, reading)
    return OpenedSource(select(files.parts, workspace, choose, reading.order_by), reading, notes=notes)


def open_frame(frame: Any, reading: Reading) -> OpenedSource:
    """A frame, which is used as it is."""
    if reading.tool not in {"", "auto"}:
        raise InputError(f"the export of a tool ({reading.tool}) is read from a file: give its path, not a frame")
    _check_plain("a frame", reading)
    return OpenedSource(frame, replace(reading, tool=""))


def _check_plain(name: str, reading: Reading) -> None:
    for option in _given(reading):
        known = ", ".join(TOOL_NAMES)
        raise InputError(
            f"{_spelt(option)} is for exports of annotation tools, and {name} is none; name the tool with --from: "
            f"{known}"
        )


def _given(reading: Reading) -> list[str]:
    """The options that mean something for exports only."""
    return [name for name in ("question", "keep_rejected", "ignore_gold") if getattr(reading, name)]


def _spelt(option: str) -> str:
    return "--" + option.replace("_", "-")


def _may_be_export(files: Files, reading: Reading) -> bool:
    """Whether to look for a tool: not where the user says what the columns are."""
    usual = (reading.task, reading.worker, reading.label, reading.wide) == ("task", "worker", "label", False)
    return usual or bool(_given(reading)) or any(source.kind == "json" for source in files.sources)


def _not_left_out(tool: str) -> tuple[str, ...]:
    """What to say of an export whose columns the user names, so that it is read as any other table."""
    if "keep_rejected" not in tool_named(tool).options:
        return ()
    return (f"a plain table, rejected work counts; --from {tool} reads it as an export of {tool_named(tool).title}",)


def _open_export(files: Files, reading: Reading, choose: Choose) -> OpenedSource:
    if reading.wide:
        raise InputError(f"an export of {tool_named(reading.tool).title} is no wide table: leave out --wide")
    for option in _given(reading):
        if option not in tool_named(reading.tool).options:
            raise InputError(f"{_spelt(option)} means nothing for an export of {tool_named(reading.tool).title}")
    export = _read_tool(files, reading)
    chosen = choose(list(export.columns))
    query, left_out = _checked(files, _rows(export, chosen, reading), nested=export.nested)
    cells = {name: _typed(query, name, reading, files) if export.nested else quote(name) for name in chosen}
    named = ", ".join(f"{cell} AS {quote(name)}" for name, cell in cells.items())
    responses = f"SELECT {named} FROM ({query}) WHERE {LEFT_OUT} IS NULL AND NOT {ONLY_GOLD}"
    known = f"json_extract_string({GOLD}, '$')" if export.nested else GOLD
    gold = (  # of tasks that someone answered: nothing can be learnt from others
        f"SELECT DISTINCT {cells[reading.task]} AS {quote(reading.task)}, {known} AS {quote(reading.label)} "
        f"FROM ({query}) WHERE {GOLD} IS NOT NULL AND {LEFT_OUT} IS NULL "
        f"AND {cells[reading.task]} IN (SELECT {quote(reading.task)} FROM ({responses}))"
    )
    if reading.order_by and not export.nested:
        responses = with_parsed_numbers(responses, reading.order_by, files.workspace)
    has_gold = export.gold != NOTHING and bool(files.ask(f"{gold} LIMIT 1"))
    notes = [f"{what} left out: {n:,}" for what, n in left_out.items()]
    notes += ["its known labels are gold (--ignore-gold if they are not)"] if has_gold else []
    relation = files.workspace.sql
    return OpenedSource(relation(responses), reading, relation(gold) if has_gold else None, tuple(notes))


def _read_tool(files: Files, reading: Reading) -> Export:
    """What the tool makes of the files; if it is another tool's export, says so."""
    try:
        return tool_named(reading.tool).read(files, reading)
    except ColumnError as error:
        other = recognise(files.columns)
        if other in {"", reading.tool}:
            raise
        raise ColumnError(f"{error}; it looks like one of {tool_named(other).title}: --from {other}") from error


def _rows(export: Export, chosen: Sequence[str], reading: Reading) -> str:
    gold, only_gold = (NOTHING, "false") if reading.ignore_gold else (export.gold, export.only_gold)
    text = "::VARCHAR" if export.nested else ""
    cells = [f"({export.columns[name]}){text} AS {quote(name)}" for name in chosen]
    cells += [f"({gold})::VARCHAR AS {GOLD}", f"{only_gold} AS {ONLY_GOLD}"]
    cells += [f"({export.left_out})::VARCHAR AS {LEFT_OUT}", f"({export.problem})::VARCHAR AS {PROBLEM}"]
    return f"SELECT {', '.join(cells)} FROM ({export.query})"


def _checked(files: Files, query: str, *, nested: bool) -> tuple[str, dict[str, int]]:
    """The rows, none of which is wrong, and how many of them are left out; JSON is parsed once, to a Parquet file."""
    if nested:
        path = literal(str(new_copy("export.parquet", files.workspace)))
        files.ask(f"COPY ({query}) TO {path} (FORMAT parquet)")
        query = f"SELECT * FROM read_parquet([{path}], hive_partitioning = false)"
    found = files.ask(f"SELECT {LEFT_OUT}, count(*), min({PROBLEM}) FROM ({query}) GROUP BY ALL ORDER BY ALL")
    for reason, _, problem in found:
        if reason is None and problem is not None:
            raise InputError(str(problem))
    left_out = {str(reason): int(str(n)) for reason, n, _ in found if reason is not None}
    if left_out and len(left_out) == len(found):
        listed = ", ".join(f"{n} {reason}" for reason, n in left_out.items())
        raise InputError(f"there are no responses: {files.name} has nothing but {listed}")
    return query, left_out


def _typed(query: str, name: str, reading: Reading, files: Files) -> str:
    """The expression for a column of JSON as whole numbers, numbers or texts, whichever all its values are."""
    cell = quote(name)
    text = f"json_extract_string({cell}, '$')"
    rows = files.ask(
        f"SELECT DISTINCT {kind_of(f'json_type({cell})', text)} FROM ({query}) "
        f"WHERE {LEFT_OUT} IS NULL AND {cell} IS NOT NULL"
    )
    kinds = {str(kind) for (kind,) in rows} - {"NULL"}
    if name == reading.label and len({KINDS[kind] for kind in kinds}) > 1:
        both = " and ".join(f"{kind} in some" for kind in sorted({KINDS[kind] for kind in kinds}))
        raise InputError(f"{files.name}: the labels are {both} responses; make them one type")
    return f"{text}::{number_type(kinds)}" if {KINDS[kind] for kind in kinds} == {"a number"} else text
