"""Writing results: whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
import uuid
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdopt._startup import handle_endings
from crowdopt.data.columns import check_answer_columns
from crowdopt.data.readers.addresses import Database, check_path, is_address
from crowdopt.data.readers.formats import FILE_FORMATS
from crowdopt.data.tables.table import adopt, fetch_arrow
from crowdopt.data.tables.workspace import Workspace, literal, query_errors, quote
from crowdopt.errors import InputError, OutputError
from crowdopt.results.write.in_place import STDOUT, note_written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb

    from crowdopt._arrays import Objects
    from crowdopt.data.tables.table import Table

FORMATS = {one.suffixes[0]: one.copy for one in FILE_FORMATS.values() if one.copy}
"""How DuckDB writes each kind of file."""

SPREADSHEET_FILES = (".csv", ".tsv")
"""The files that people open with a spreadsheet."""

FORMULA, NUMBER = r"[=+\-@＝＋－＠\t\r\n]", r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""How a text begins that a spreadsheet takes for a formula, and what is a number all the same."""

NEVER_FORMULAS = r"U?(TINY|SMALL|BIG|HUGE)?INT|FLOAT|DOUBLE|DECIMAL|BOOLEAN|DATE|TIME"
"""How the types begin that are never a formula: numbers, and points in time."""


def check_target(target: str | Path, suffixes: tuple[str, ...]) -> None:
    """Raises if a file cannot be written there, before any work is done."""
    if str(target) == "-" and ".csv" in suffixes:
        return
    check_path(target)
    path, real = Path(target), Path(os.path.realpath(target))
    try:
        real.lstat()
    except FileNotFoundError:
        pass  # it will be there
    except OSError as error:  # a name that is too long
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    if real.is_symlink():
        raise InputError(f"cannot write {path}: it is a link that leads to itself")
    if real.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if path.suffix.lower() not in suffixes:
        raise InputError(f"cannot write {str(path)!r}: the name must end in {', '.join(suffixes)}")
    if not real.parent.is_dir():
        folder = real.parent if path.is_symlink() else path.parent
        raise InputError(f"cannot write {path}: the folder {folder} does not exist")
    if real.exists() and not real.is_file():
        raise InputError(f"cannot write {path}: it is a device or a pipe, and no file")
    if not os.access(real.parent, os.W_OK) or (real.exists() and not os.access(real, os.W_OK)):
        raise InputError(f"cannot write {path}: permission denied")


def check_targets(
    targets: Sequence[str | Database | None], read: Sequence[str], suffixes: tuple[str, ...], data: Any = None
) -> None:
    """Raises if results cannot be written, or would take the place of each other or of what they are made from.

    Args:
        targets: Where results go to.
        read: The files that are read.
        suffixes: How the names of files must end.
        data: The database that is read, if it is one.
    """
    from crowdopt.data.readers.find_files import expand
    from crowdopt.results.write.database import check_table

    sources = [Path(path) for name in read if name != "-" and not is_address(name) for path in expand(name)]
    for target in targets:
        if isinstance(target, Database):
            check_table(target, data)
    named = [target for target in targets if isinstance(target, str)]
    for number, target in enumerate(named):
        check_target(target, suffixes)
        path = Path(target)
        if any(path.exists() and source.exists() and path.samefile(source) for source in sources):
            raise InputError(f"cannot write {target}: it is one of the inputs")
        if os.path.realpath(target) in [os.path.realpath(other) for other in named[:number]]:
            raise InputError(f"two results cannot both go to {target}")


def check_spreadsheet(*targets: str | Path | Database | None, wanted: bool) -> None:
    """Raises if nothing is written that the rules for spreadsheets are for."""
    texts = [target for target in targets if target is not None and not isinstance(target, Database)]
    if wanted and not any(str(target) == "-" or Path(target).suffix.lower() in SPREADSHEET_FILES for target in texts):
        raise InputError("--spreadsheet-safe has a meaning only where a .csv or .tsv file is written")


@dataclass(frozen=True)
class _File:
    """A file that is about to be written: where the user wants it, where that really is, and where it is until then."""

    target: str
    path: Path
    temporary: Path


_FILES: ContextVar[list[_File] | None] = ContextVar("files", default=None)
"""The files that take their places together, where several are to."""


@contextmanager
def together() -> Iterator[None]:
    """What is written inside takes its place at the end: every file, or none if one of them cannot be written.

    Standard output and databases have their own ways: what goes there is best written last. Within another one, that
    one's end is the end.
    """
    if _FILES.get() is not None:
        yield
        return
    files: list[_File] = []
    token = _FILES.set(files)
    try:
        yield
        with _undisturbed():
            for file in files:
                with _explained(file):
                    file.temporary.replace(file.path)
                note_written(file.target)
    finally:
        _FILES.reset(token)
        for file in files:
            file.temporary.unlink(missing_ok=True)


@contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """A temporary path beside ``target`` that takes its place on success and is gone on failure.

    Where the target is a link, it stays one: the file that it leads to is written.
    """
    files = _FILES.get()
    if files is None:
        with together(), whole_file(target) as temporary:
            yield temporary
        return
    check_path(target)
    path = Path(os.path.realpath(target))
    file = _File(str(target), path, path.with_name(f".crowdopt-{uuid.uuid4().hex[:8]}.tmp"))
    try:
        with _explained(file):
            yield file.temporary
    except BaseException:
        file.temporary.unlink(missing_ok=True)
        raise
    files.append(file)


@contextmanager
def _explained(file: _File) -> Iterator[None]:
    """Says what the system says, of the file that the user named."""
    try:
        yield
    except OSError as error:
        reason = str(error.strerror or error).split(f'{file.temporary}": ')[-1]  # as the database says it
        raise OutputError(f"cannot write {file.target}: {reason}") from None


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals that end the program wait until all files are in their places, which takes no time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    previous = handle_endings(lambda number, _: came.append(number))
    try:
        yield
    finally:
        for one, handler in previous.items():
            signal.signal(one, handler)
    for number in came:
        signal.raise_signal(number)


def write_text(target: str | Path, text: str) -> None:
    """Writes a text file, whole or not at all."""
    with whole_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


USUAL_COLUMNS, CELLS_IN_GROUP, LEAST_ROWS = 200, 1 << 24, 2048
"""Columns up to which row groups have the usual size; cells of one group beyond, and the rows that it has at least."""


def write_table(
    table: Table,
    target: str | Path | Database,
    workspace: Workspace | None = None,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Writes a table to a CSV, TSV, Parquet or JSON Lines file, as CSV to standard output (``-``), or to a database.

    Args:
        table: The table.
        target: Where to.
        workspace: The database that the table may live in.
        spreadsheet_safe: Whether texts of CSV and TSV that a spreadsheet would run get an apostrophe before them.
    """
    if not isinstance(target, Database):
        check_target(target, tuple(FORMATS))
    check_answer_columns(table.collect_schema().names())
    if workspace is None:
        with Workspace() as own:
            write_table(table, target, own, spreadsheet_safe=spreadsheet_safe)
        return
    if isinstance(target, Database):
        from crowdopt.results.write.database import write_rows

        write_rows(_in_workspace(table, workspace), target, workspace)
        note_written(target.where)
        return
    if str(target) == "-":
        temporary = workspace.folder / "answers.csv"
        with workspace.unchanged():  # kept columns are read only now
            _copy(table, temporary, ".csv", workspace, spreadsheet_safe=spreadsheet_safe)
        note_written(STDOUT)
        with temporary.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
        return
    with whole_file(target) as temporary, workspace.unchanged():
        _copy(table, temporary, Path(target).suffix.lower(), workspace, spreadsheet_safe=spreadsheet_safe)


def write_columns(columns: Mapping[str, Objects], target: str | Path, *, spreadsheet_safe: bool = False) -> None:
    """Writes arrays as a table to a CSV, TSV, Parquet or JSON Lines file."""
    import pyarrow as pa

    with Workspace() as workspace:
        write_table(adopt(pa.table(dict(columns))), target, workspace, spreadsheet_safe=spreadsheet_safe)


def _in_workspace(table: Table, workspace: Workspace) -> duckdb.DuckDBPyRelation:
    if table.implementation.is_duckdb():
        native: duckdb.DuckDBPyRelation = table.to_native()
        return native
    return workspace.connection.from_arrow(fetch_arrow(table))


def _copy(table: Table, path: Path, suffix: str, workspace: Workspace, *, spreadsheet_safe: bool) -> None:
    rows = _in_workspace(table, workspace)
    chosen = _without_formulas(rows) if spreadsheet_safe and suffix in SPREADSHEET_FILES else "*"
    copy_query(rows, f"SELECT {chosen} FROM _answers", path, FORMATS[suffix] + _row_groups(suffix, len(rows.columns)))


def _row_groups(suffix: str, n_columns: int) -> str:
    """How many rows of very many columns a Parquet file has in a group, which is made in memory."""
    if suffix != ".parquet" or n_columns <= USUAL_COLUMNS:
        return ""
    return f", ROW_GROUP_SIZE {max(LEAST_ROWS, CELLS_IN_GROUP // n_columns // LEAST_ROWS * LEAST_ROWS)}"


def _without_formulas(rows: duckdb.DuckDBPyRelation) -> str:
    """The columns, with an apostrophe before texts and names that begin a formula: a spreadsheet shows them as text."""
    cells = []
    for name, kind in zip(rows.columns, map(str, rows.types), strict=True):
        cell, shown = quote(name), f"'{name}" if re.match(FORMULA, name) else name
        if not re.match(NEVER_FORMULAS, kind):
            text = f"{cell}::VARCHAR"
            formula = f"regexp_matches({text}, '^{FORMULA}') AND NOT regexp_full_match({text}, '{NUMBER}')"
            cell = f"CASE WHEN {formula} THEN chr(39) || {text} ELSE {text} END"
        cells.append(f"{cell} AS {quote(shown)}")
    return ", ".join(cells)


def copy_query(answers: Any, query: str, path: Path, form: str) -> None:
    """Writes what a query makes of answers that are in the database, where they are called ``_answers``."""
    import duckdb

    try:
        answers.query("_answers", f"COPY ({query}) TO {literal(str(path))} ({form})")
    except query_errors():
        raise  # a bug of ours, or an interrupt
    except duckdb.Error as error:
        raise OutputError(str(error).splitlines()[0]) from error
