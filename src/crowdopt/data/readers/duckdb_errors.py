"""What the database says when a file turns out to be bad, in the user's words.

It parses messages because DuckDB's table of rejected rows (``store_rejects``) does not serve here. That option leaves
bad rows out and goes on: each of the many queries over a file would have to be followed by a look at the table, or
lose rows in silence. Its line is the number of the record, too. And mixed line ends, quotes that are not closed and
files that do not decompress are not in it: their messages would have to be parsed all the same.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from crowdopt.data.readers.csv_quotes import (
    MAX_ROW,
    line_of_damage,
    line_of_other_end,
    line_of_record,
    long_row,
    width_of_record,
)
from crowdopt.data.readers.files import DISK_FULL, STDIN, show_path
from crowdopt.data.tables.workspace import query_errors
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

MARK = "crowdopt: "
"""Begins what our own queries raise with SQL's ``error``."""

_FILE = re.compile(r"""^ *file = (.+)$|in file "(.+?)"|file '(.+?)'|stream: (.+)$|file "(.+?)\"""", re.MULTILINE)
_RECORD = re.compile(r"CSV Error on Line: (\d+)")
_DELIMITER = re.compile(r"^ *delimiter = (.) \(Set", re.MULTILINE)
_SKIPPED = re.compile(r"^ *skip_rows = (\d+)", re.MULTILINE)
_OBJECT = re.compile(r'"maximum_object_size" of (\d+) bytes exceeded')
_WIDTH = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


@contextmanager
def explain_errors(sources: Sequence[str | Path]) -> Iterator[None]:
    """Turns what the database raises about bad data into a one-line InputError.

    Relations are read when they are used, so this belongs around every query over one.

    Args:
        sources: What was given to ``read_files``; messages name files as the user did.
    """
    import duckdb

    try:
        yield
    except duckdb.InternalException as error:
        raise InputError(_explain_failure(sources)) from error
    except query_errors():
        raise  # not about the data
    except duckdb.Error as error:
        raise InputError(_explain(error, sources)) from error


def _explain(error: duckdb.Error, sources: Sequence[str | Path]) -> str:
    import duckdb

    text = str(error)
    first = re.sub(r"^[A-Z][\w -]* Error: ", "", text.split("\n", 1)[0]).strip()
    if first.startswith(MARK):
        return first.removeprefix(MARK)
    if re.search(r"No space left|max_temp_directory_size|not enough space", text, re.IGNORECASE):
        return DISK_FULL
    if isinstance(error, duckdb.OutOfMemoryException):
        return "out of memory; raise --memory-limit or lower --threads"
    file = _file(text, sources)
    if csv := _explain_csv(text, file):
        return csv
    if size := _OBJECT.search(text):
        return f"{file} has a record of more than {int(size[1]) >> 20} MB; is it what its name says?"
    if "Malformed JSON" in text:
        return f"{file} has a line that is not JSON"
    if re.search(r"gzip|zstd", text, re.IGNORECASE):
        return f"{file} is damaged or cut short: it does not decompress"
    if isinstance(error, duckdb.ConversionException | duckdb.OutOfRangeException):
        return f"{file} has a value that does not fit its column: {first}"
    return f"cannot read {file}; it may be damaged or cut short ({first})"


def _explain_failure(sources: Sequence[str | Path]) -> str:
    """The database itself failed; on text, what it fails on is known to be text that is not UTF-8."""
    for name in sources:
        path = Path(name)
        if path.suffix.lower() in {".csv", ".tsv", ".txt"} and path.is_file() and (line := line_of_damage(path)):
            return f"{name} is not UTF-8 (line {line}); try --encoding windows-1252"
    return f"{_file('', sources)} cannot be read: it may be damaged; save it again"


def _explain_csv(text: str, file: str) -> str:
    if "state machine reached an invalid state" in text:
        if other := line_of_other_end(Path(_path(text)), _delimiter(text)):
            return _mixed(file, other)
        return f"{file} mixes Windows and Unix line ends, or has text after a closing quote; save it again"
    if "does not support a full read" in text or "aximum line size" in text:
        return long_row(f"{file}, {_line(text)}:" if _RECORD.search(text) else f"{file} has")
    if not _RECORD.search(text):
        return ""
    line = _line(text)
    if "not utf-8 encoded" in text:
        return f"{file} is not UTF-8 ({line}); try --encoding windows-1252"
    if width := _WIDTH.findall(text):
        expected, fields = width[-1]
        header = _header_width(text)
        others = "the header has" if header in {None, int(expected)} else f"the header has {header} and the rows before"
        return f"{file}, {line}: {fields} fields, but {others} {expected}; are quotes missing?"
    if "unterminated quote" in text:
        place = line.partition(" ")[2]
        if other := line_of_other_end(Path(_path(text)), _delimiter(text), int(place) + 1):
            return _mixed(file, other)  # of which the database says the same
        return (
            f"{file}, {line}: a quote is not closed, or not doubled inside a quoted field (which may have "
            f"{MAX_ROW >> 20} MB)"
        )
    return f"{file}, {line}: cannot be read as CSV"


def _mixed(file: str, line: int) -> str:
    return f"{file} mixes Windows and Unix line ends (line {line} ends otherwise than those before it); save it again"


def _header_width(text: str) -> int | None:
    """How many columns the header has, which is the last record that is not read as data."""
    skipped = _SKIPPED.findall(text)
    return width_of_record(Path(_path(text)), int(skipped[-1]), _delimiter(text)) if skipped else None


def _delimiter(text: str) -> str:
    found: list[str] = _DELIMITER.findall(text)
    return found[-1] if found else ","


def _line(text: str) -> str:
    """The database counts records, which may have several lines each."""
    record = int(_RECORD.findall(text)[0])
    line = line_of_record(Path(_path(text)), record, _delimiter(text))
    return f"line {line}" if line else f"row {record}"


def _path(text: str) -> str:
    """The file that a message is about, as the database calls it; may be empty."""
    found = _FILE.findall(text)
    return next((path for path in found[-1] if path), "") if found else ""


def _file(text: str, sources: Sequence[str | Path]) -> str:
    if path := _path(text):
        return show_path(path, sources)
    if len(sources) == 1:
        return STDIN if str(sources[0]) == "-" else str(sources[0])
    return f"one of the {len(sources)} files"
