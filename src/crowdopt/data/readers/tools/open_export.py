"""Responses from files: plain tables, or the exports of annotation tools, which are recognised or named."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from crowdopt.data.columns import choose_responses, suggest
from crowdopt.data.known_labels import ExportLabels
from crowdopt.data.readers.csv import check_delimiter
from crowdopt.data.readers.file_names import FROM_FILE, with_worker
from crowdopt.data.readers.find_files import find_files
from crowdopt.data.readers.formats import FILE_FORMATS
from crowdopt.data.readers.jsonl import KINDS, kind_of, number_type
from crowdopt.data.readers.open_files import select, with_parsed_numbers
from crowdopt.data.readers.tools import TOOL_NAMES, recognise, tool_named
from crowdopt.data.readers.tools.base import NOTHING, Export, Files, named_by_files
from crowdopt.data.readers.tools.several import about_joined
from crowdopt.data.rows.where import COUNTS, with_counting
from crowdopt.data.tables.workspace import EXACT, quote
from crowdopt.errors import ColumnError, GoldError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crowdopt.data.columns import Choose
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.workspace import Workspace

MEASURES = "its known labels measure the answers (--gold export pins them)"
PINNED = "its known labels are pinned (--gold export)"
"""What is said of the labels that an export knows."""

LOOKED_AT = 100
"""Files that are looked at one by one where they cannot be read together."""

GOLD, ONLY_GOLD, LEFT_OUT, PROBLEM = "crowdopt_gold", "crowdopt_only_gold", "crowdopt_left_out", "crowdopt_problem"


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """Responses that are ready to be read.

    Attributes:
        table: The chosen columns.
        reading: How they are read; the tool whose export it is stands there, however it was found out.
        gold: The tasks whose label the export knows, as (task, label), with their group if there are groups; None if it
            knows none.
        gold_answered: Whether the annotations that say so are responses, too.
        notes: What was done with the rows of an export, in words.
        trims: Whether ids lose the blanks around them: where they come from text files.
        left_out: How many rows are left out as the user does not ask for them, in words; empty if all count.
    """

    table: Any
    reading: Reading
    gold: Any = None
    gold_answered: bool = False
    notes: tuple[str, ...] = ()
    trims: bool = False
    left_out: str = ""

    @property
    def export_labels(self) -> ExportLabels | None:
        """The known labels that are not pinned, if there are any."""
        return None if self.gold is None or self.reading.export_gold else ExportLabels(self.gold, self.gold_answered)


def open_files(paths: Sequence[str], reading: Reading, workspace: Workspace) -> OpenedSource:
    """Opens files of responses; they are read when the table is used.

    Raises:
        InputError: A file is not what it should be, or an option does not go with what it is.
    """
    found_files = find_files(paths, workspace, reading.encoding)
    files = Files(found_files, workspace, check_delimiter(reading.delimiter), each=reading.worker_from_file)
    if reading.worker_from_file:
        files.check_worker_names()
    if len(found_files) == 1 or not reading.tool:
        return _open(files, reading)
    with _telling_apart(files):
        return _open(files, reading)


@contextmanager
def _telling_apart(files: Files) -> Iterator[None]:
    """Where files cannot be read together since they are of several tools, the error names two of them."""
    import duckdb

    try:
        yield
    except (InputError, duckdb.InvalidInputException) as error:
        if said := _different_tools(files):
            raise InputError(said) from error
        raise


def _different_tools(files: Files) -> str:
    """What to say of two files of different tools, or of JSON of a tool beside a table; empty if there are none."""
    found: dict[tuple[str, bool], str] = {}
    for source in files.sources[:LOOKED_AT]:
        one = replace(files, sources=[source])
        found.setdefault((_own_tool(one), one.as_objects), source.name)
    for (tool, is_json), (other, other_json) in combinations(found, 2):
        if (tool and other and tool != other) or ((tool or other) and is_json != other_json):
            names = found[tool, is_json], found[other, other_json]
            tools = (tool, other) if tool != other else ("", "")
            kinds = _what(tools[0], is_json=is_json), _what(tools[1], is_json=other_json)
            return f"{names[0]} is {kinds[0]}, {names[1]} is {kinds[1]}: read one at a time"
    return ""


def _check_one_tool(files: Files) -> None:
    """Raises if files of JSON, which no tool's are together, are one tool's but for some: names one of these."""
    if len(files.sources) == 1 or not any(source.kind == "json" for source in files.sources):
        return
    each = [replace(files, sources=[source]) for source in files.sources[:LOOKED_AT]]
    tools = {one.name: _own_tool(one) for one in each}
    exports, others = [name for name in tools if tools[name]], [name for name in tools if not tools[name]]
    if exports and others:
        what = _what(tools[exports[0]], is_json=True).removeprefix("an ")
        raise InputError(f"{others[0]} is no {what}, as {exports[0]} is: leave it out")


def _own_tool(file: Files) -> str:
    """The tool that a file alone is recognised as; none if it cannot be read."""
    import duckdb

    try:
        return recognise(file.columns)
    except (InputError, duckdb.InvalidInputException):
        return ""


def _what(tool: str, *, is_json: bool) -> str:
    if tool:
        return f"an export of {tool_named(tool).title}"
    return "JSON" if is_json else "a table"


def _open(files: Files, reading: Reading) -> OpenedSource:
    notes: tuple[str, ...] = ()
    if reading.tool == "auto":
        found = recognise(files.columns)
        if found and not _may_be_export(files, reading):
            found, notes = "", _not_left_out(found)
        if not found:
            _check_one_tool(files)
        reading = replace(reading, tool=found)
    choose = choose_responses(reading)
    trims = not reading.verbatim and any(FILE_FORMATS[source.kind].is_text for source in files.sources)
    if reading.tool:
        return replace(_open_export(files, reading, choose), trims=trims)
    _check_plain(files.name, reading)
    with _suggesting_files(files, reading):
        parts = files.parts
        notes = (*notes, *(note for part in parts for note in part.notes))
        if reading.worker_from_file:
            parts = [with_worker(part, reading.worker, name) for part, name in zip(parts, files.names, strict=True)]
            notes = (*notes, named_by_files(files))
        table = select(parts, files.workspace, choose, reading.order_by)
        notes = (*notes, *_joined(files, reading, table))
    return OpenedSource(table, reading, notes=notes, trims=trims)


def _joined(files: Files, reading: Reading, table: Any) -> tuple[str, ...]:
    """What is said of a table that may be doccano's, where an example with several labels has one text of them."""
    if reading.task != "id" or not reading.worker_from_file or any(source.kind != "csv" for source in files.sources):
        return ()
    return about_joined(files, table.sql_query(), quote(reading.label), "#", "doccano")


@contextmanager
def _suggesting_files(files: Files, reading: Reading) -> Iterator[None]:
    """Where several files have no column that could be the worker's, errors say that their names may be."""
    try:
        yield
    except ColumnError as error:
        named = reading.wide or reading.worker_from_file or suggest(reading.worker, "worker", files.columns)
        if len(files.sources) == 1 or named:
            raise
        raise ColumnError(f"{error}; {FROM_FILE}") from error


def open_frame(frame: Any, reading: Reading) -> OpenedSource:
    """A frame, which is used as it is."""
    if reading.tool not in {"", "auto"}:
        raise InputError(f"the export of a tool ({reading.tool}) is read from a file: give its path, not a frame")
    _check_plain("a frame", reading)
    if reading.worker_from_file:
        raise InputError("--worker-from-file is for files: a frame or a table of a database has none; leave it out")
    return OpenedSource(frame, replace(reading, tool=""))


def _check_plain(name: str, reading: Reading) -> None:
    for option in _given(reading):
        known = ", ".join(TOOL_NAMES)
        said = (
            f"{_spelt(option)} is for exports of annotation tools, and {name} is none; name the tool with --from: "
            f"{known}"
        )
        raise InputError(said + (_FILE_OF_THAT_NAME if option == "export_gold" else ""))


_FILE_OF_THAT_NAME = "; name your own file of known labels with --gold FILE"
"""What to do where an export has no known labels that could be pinned."""


def _given(reading: Reading) -> list[str]:
    """The options that mean something for exports only."""
    return [name for name in ("question", "keep_rejected", "export_gold") if getattr(reading, name)]


def _spelt(option: str) -> str:
    return "--gold export" if option == "export_gold" else "--" + option.replace("_", "-")


def _may_be_export(files: Files, reading: Reading) -> bool:
    """Whether to look for a tool: not where the user says what the columns are."""
    usual = (reading.task, reading.worker, reading.label, reading.wide) == ("task", "worker", "label", False)
    return usual or bool(_given(reading)) or any(source.kind == "json" for source in files.sources)


def _not_left_out(tool: str) -> tuple[str, ...]:
    """What to say of an export whose columns the user names, so that it is read as any other table."""
    if "keep_rejected" not in tool_named(tool).options:
        return ()
    return (f"a plain table, rejected work counts; --from {tool} reads it as an export of {tool_named(tool).title}",)


_MAY_BE_WIDE = ("inspect-ai", "promptfoo")
"""Tools that write the scores of several graders in one row, too, which can be read as a wide table."""


def _no_wide_table(files: Files, reading: Reading) -> str:
    said = f"an export of {tool_named(reading.tool).title} is no wide table: leave out {reading.wide_option}"
    if reading.tool not in _MAY_BE_WIDE:
        return said
    document = any(source.kind == "json" for source in files.sources)
    return f"{said}, or {'export CSV, and read that' if document else 'read it as a plain table'} with --from table"


def _open_export(files: Files, reading: Reading, choose: Choose) -> OpenedSource:
    if reading.wide:
        raise InputError(_no_wide_table(files, reading))
    for option in [*_given(reading), *(["worker_from_file"] if reading.worker_from_file else [])]:
        if option not in tool_named(reading.tool).options:
            title = tool_named(reading.tool).title
            if option == "export_gold":
                raise GoldError(f"--gold export: exports of {title} bring no known labels{_FILE_OF_THAT_NAME}")
            raise InputError(f"{_spelt(option)} means nothing for an export of {title}")
    export = _read_tool(files, reading)
    reading = replace(reading, question=reading.question or export.question)
    chosen = choose(list(export.columns))
    query, left_out = _checked(files, _rows(export, chosen), reading, nested=export.nested)
    cells = {name: _typed(query, name, reading, files) if export.nested else quote(name) for name in chosen}
    named = ", ".join(f"{cell} AS {quote(name)}" for name, cell in cells.items())
    counts = f"NOT {ONLY_GOLD}" if reading.export_gold else "true"
    responses = f"SELECT {named} FROM ({query}) WHERE {LEFT_OUT} IS NULL AND {counts}"
    gold = _known_labels(query, f"IN ({_answered(responses, reading)})", cells, reading, nested=export.nested)
    if reading.order_by and not export.nested:
        responses = with_parsed_numbers(responses, reading.order_by, files.workspace)
    has_gold = export.gold != NOTHING and bool(files.ask(f"{gold} LIMIT 1"))
    notes = [*(f"{what} left out: {n:,}" for what, n in left_out.items()), *export.notes]
    if reading.export_gold:
        known = _known_labels(query, f"NOT IN ({_answered(responses, reading)})", cells, reading, nested=export.nested)
        ((alone,),) = files.ask(f"SELECT count(*) FROM ({known})")
        if not has_gold:
            raise GoldError(f"--gold export: {files.name} {_NO_GOLD[bool(alone)]}{_FILE_OF_THAT_NAME}")
        notes += [f"known labels of tasks that nobody else answered left out: {alone:,}"] if alone else []
    if has_gold:
        notes.append(PINNED if reading.export_gold else MEASURES)
    relation, answered = files.workspace.sql, export.only_gold != "false" and not reading.export_gold
    return OpenedSource(relation(responses), reading, relation(gold) if has_gold else None, answered, tuple(notes))


_NO_GOLD = {False: "brings no known labels", True: "knows labels only of tasks that nobody else answered"}
"""What to say where no known label can be pinned: whether there are some of tasks without responses."""


def _answered(responses: str, reading: Reading) -> str:
    """The query for the tasks that have responses."""
    keys = [quote(name) for name in (reading.group, reading.task) if name]
    there = " AND ".join(f"{name} IS NOT NULL" for name in keys)
    return f"SELECT {', '.join(keys)} FROM ({responses}) WHERE {there}"


def _known_labels(query: str, tasks: str, cells: dict[str, str], reading: Reading, *, nested: bool) -> str:
    """The query for the known labels of some tasks: those with responses, as of others there is nothing to learn."""
    keys = [name for name in (reading.group, reading.task) if name]
    named = ", ".join(f"{cells[name]} AS {quote(name)}" for name in keys)
    known = f"json_extract_string({GOLD}, '$')" if nested else GOLD
    return (
        f"SELECT DISTINCT {named}, {known} AS {quote(reading.label)} FROM ({query}) WHERE {GOLD} IS NOT NULL "
        f"AND {LEFT_OUT} IS NULL AND ({', '.join(cells[name] for name in keys)}) {tasks}"
    )


def _read_tool(files: Files, reading: Reading) -> Export:
    """What the tool makes of the files; if it is another tool's export, says so."""
    try:
        return tool_named(reading.tool).read(files, reading)
    except ColumnError as error:
        other = recognise(files.columns)
        if other in {"", reading.tool}:
            raise
        raise ColumnError(f"{error}; it looks like one of {tool_named(other).title}: --from {other}") from error


def _rows(export: Export, chosen: Sequence[str]) -> str:
    text = "::VARCHAR" if export.nested else ""
    cells = [f"({export.columns[name]}){text} AS {quote(name)}" for name in chosen]
    cells += [f"({export.gold})::VARCHAR AS {GOLD}", f"{export.only_gold} AS {ONLY_GOLD}"]
    cells += [f"({export.left_out})::VARCHAR AS {LEFT_OUT}", f"({export.problem})::VARCHAR AS {PROBLEM}"]
    return f"SELECT {', '.join(cells)} FROM ({export.query})"


def _checked(files: Files, query: str, reading: Reading, *, nested: bool) -> tuple[str, dict[str, int]]:
    """The rows, of which none that counts is wrong, and how many are left out; JSON is parsed once, to a Parquet file.

    A row does not count by ``--where``; but what it says of the label tells nothing of a row whose label is wrong.
    """
    if nested:
        query = files.stored(query)
    named = [name for name in reading.where_columns if name != reading.label]
    cells = {name: f"json_extract_string({quote(name)}, '$')" if nested else quote(name) for name in named}
    marked = with_counting(query, cells, reading.where, files.workspace)
    problem = f"min({PROBLEM}) FILTER ({COUNTS})"
    found = files.ask(f"SELECT {LEFT_OUT}, count(*), {problem} FROM ({marked}) GROUP BY {LEFT_OUT} ORDER BY ALL")
    for reason, _, said in found:
        if reason is None and said is not None:
            raise InputError(str(said))
    left_out = {str(reason): int(str(n)) for reason, n, _ in found if reason is not None}
    if left_out and len(left_out) == len(found):
        listed = ", ".join(f"{n} {reason}" for reason, n in left_out.items())
        raise InputError(f"there are no responses: {files.name} has nothing but {listed}")
    return query, left_out


def _typed(query: str, name: str, reading: Reading, files: Files) -> str:
    """The expression for a column of JSON as whole numbers, numbers or texts, whichever all its values are."""
    cell = quote(name)
    text = f"json_extract_string({cell}, '$')"
    own = f"json_type({cell})"
    kinds = _kinds(files, query, cell, own)
    if name == reading.label and {KINDS[kind] for kind in kinds} == {"a number", "text"}:
        # A text that is a number is taken for one only beside numbers, and only if there are no other texts.
        kinds = _kinds(files, query, cell, f"CASE {own} WHEN 'VARCHAR' THEN {_type_of_text(text)} ELSE {own} END")
    found = {KINDS[kind] for kind in kinds}
    if name == reading.label and len(found) > 1 and not reading.where:
        both = " and ".join(f"{kind} in some" for kind in sorted(found))
        raise InputError(
            f"{files.name}: the labels are {both} responses; make them one type, or take some with --where"
        )
    if found == {"a number"}:
        return f"{text}::{number_type(kinds)}"
    return _plain_number(text, own) if name == reading.label and "a number" in found else text


def _plain_number(text: str, own: str) -> str:
    """The expression for a value as text, that of a number as labels are written: 1 and 1.0 are one."""
    whole = f"TRY_CAST({text} AS BIGINT)"
    is_whole = f"{own} = 'DOUBLE' AND TRY_CAST({text} AS DOUBLE) = {whole} AND abs({whole}) < {EXACT}"
    return f"CASE WHEN {is_whole} THEN {whole}::VARCHAR ELSE {text} END"


def _kinds(files: Files, query: str, cell: str, own: str) -> set[str]:
    """The kinds of the values of a column of JSON, which are keys of KINDS, given the expression for their types."""
    kind = kind_of(own, f"json_extract_string({cell}, '$')")
    rows = files.ask(f"SELECT DISTINCT {kind} FROM ({query}) WHERE {LEFT_OUT} IS NULL AND {cell} IS NOT NULL")
    return {str(kind) for (kind,) in rows} - {"NULL"}


def _type_of_text(text: str) -> str:
    """The expression for the type of the number that a text is, as JSON writes numbers; or that of texts."""
    number = f"json_type(TRY_CAST({text} AS JSON))"
    return f"CASE WHEN {number} IN ('UBIGINT', 'BIGINT', 'DOUBLE') THEN {number} ELSE 'VARCHAR' END"
