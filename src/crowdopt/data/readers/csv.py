"""CSV and its relatives: every cell is text, exactly as it stands in the file."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from crowdopt.data.readers.csv_quotes import MAX_ROW, check_quotes, look_over
from crowdopt.data.readers.duckdb_errors import MARK
from crowdopt.data.readers.encoding import has_bom, transcode
from crowdopt.data.readers.files import Format, InputFile, Packing, head_of, open_bytes
from crowdopt.data.readers.union import Part
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crowdopt.data.tables.workspace import Workspace

DELIMITERS = ",\t;|"
"""Tried in this order; the one that parts the header into most names is taken."""

BUFFER = 32 << 20
"""The size that DuckDB has by default; the memory per thread."""

SEPARATOR = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)
"""The line by which Excel is told the delimiter; it stands before the header."""

LEFT_TO_FILL = ("Approve", "Reject")
"""The last columns of MTurk's results: rows end before them, until the requester fills them in."""

PADDED = "\x01"
"""What stands for no value where rows may end early: not an empty cell, so that one tells how far its row goes."""

LONGEST_CELL = 60
"""Characters of a cell that an error shows."""

FIRST_ROWS = 1000
"""Rows that are looked at, if the first lacks fields: all of them must lack the same ones."""


@dataclass(frozen=True)
class Dialect:
    """All that must be the same for files to be read by one call.

    Attributes:
        header: The names of the columns, as they stand.
        delimiter: What separates fields.
        newline: What ends rows.
        skip: How many records to skip: the header and the lines before it.
        packing: How the file is compressed.
        parallel: Whether several threads may read one file.
        fields: How many fields a row has; the columns behind them are empty.
        blanks: Whether there may be rows all of whose cells are empty, which are no rows.
    """

    header: tuple[str, ...]
    delimiter: str
    newline: str
    skip: int
    packing: Packing
    parallel: bool
    fields: int
    blanks: bool

    @property
    def padded(self) -> bool:
        """Whether a row may end before the columns that are left to fill in."""
        return self.fields == len(self.header) and self.header[-2:] == LEFT_TO_FILL


@dataclass(frozen=True)
class _Header:
    names: tuple[str, ...]
    newline: str
    skip: int
    lines: int


def check_delimiter(delimiter: str) -> str:
    r"""The delimiter that the user meant.

    >>> check_delimiter("tab"), check_delimiter(r"\t"), check_delimiter(";")
    ('\t', '\t', ';')
    """
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter.lower(), delimiter)
    if len(delimiter) > 1 or delimiter in {'"', "\n", "\r", "\0"}:
        raise InputError(f"the delimiter must be one character (or tab), not {delimiter!r}")
    return delimiter


def inspect(source: InputFile, workspace: Workspace, delimiter: str) -> tuple[InputFile, Dialect]:
    """Reads the header. The source comes back because it may have to be copied first."""
    if not delimiter and (named := _named_delimiter(source)):
        _check_named(source, named)
        delimiter = named
    delimiter = delimiter or ("\t" if source.kind == "tsv" else "") or _likely_delimiter(source)
    header = _read_header(source, delimiter)
    if header.lines > header.skip and has_bom(source):
        # DuckDB does not see the quote that follows a byte order mark
        source = transcode(source, workspace, "utf-8-sig")
    plain, blanks = look_over(source, delimiter)
    if not plain:
        check_quotes(source, delimiter)  # a single thread would drop the last row in silence
    fields = _fields(source, header, delimiter)
    return source, Dialect(header.names, delimiter, header.newline, header.skip, source.packing, plain, fields, blanks)


def _likely_delimiter(source: InputFile) -> str:
    return max(DELIMITERS, key=lambda one: len(_read_header(source, one).names))


def _check_named(source: InputFile, named: str) -> None:
    """Raises if the delimiter that the first line names parts nothing, and another one does."""
    likely = _likely_delimiter(source)
    if len(_read_header(source, named).names) == 1 < len(_read_header(source, likely).names):
        raise InputError(
            f"{source.name}: its first line says sep={named}, and {likely!r} separates the columns: mend or take out "
            "that line, or name the delimiter with --delimiter"
        )


def _part(sources: Sequence[InputFile], dialect: Dialect, workspace: Workspace) -> Part:
    del workspace
    lacking = ", ".join(map(repr, dialect.header[dialect.fields :]))
    notes = (f"{sources[0].name}: all rows end before the last columns of the header, {lacking}",) if lacking else ()
    return Part(
        sources[0].name, dialect.header, lambda chosen: (_select(sources, dialect, chosen), frozenset()), notes=notes
    )


def _select(sources: Sequence[InputFile], dialect: Dialect, columns: Sequence[str]) -> str:
    """The query that reads some columns of files of one dialect."""
    types = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(dialect.fields))
    named = ", ".join(f"{_cell(dialect, dialect.header.index(name))} AS {quote(name)}" for name in columns)
    newline = dialect.newline.replace("\r", "\\r").replace("\n", "\\n")
    paths = ", ".join(source.literal for source in sources)
    query = (
        f"SELECT {named} FROM read_csv([{paths}], columns = {{{types}}}, "
        f"delim = {literal(dialect.delimiter)}, quote = '\"', escape = '\"', new_line = '{newline}', "
        f"header = false, skip = {dialect.skip}, nullstr = {literal(PADDED if dialect.padded else '')}, comment = '', "
        f"auto_detect = false, null_padding = {dialect.padded}, compression = '{dialect.packing}', "
        f"parallel = {dialect.parallel}, hive_partitioning = false, "
        f"max_line_size = {MAX_ROW}, buffer_size = {BUFFER})"
    )
    return query + _rows_that_count(sources, dialect)


def _cell(dialect: Dialect, place: int) -> str:
    if place >= dialect.fields:
        return "NULL::VARCHAR"
    return f"nullif(c{place}, '')" if dialect.padded else f"c{place}"


def _rows_that_count(sources: Sequence[InputFile], dialect: Dialect) -> str:
    """Which rows are ones; raises on a row that ends before the columns that may be left out."""
    tests = []
    if dialect.blanks and dialect.fields > 1:
        cells = ", ".join(_cell(dialect, place) for place in range(dialect.fields))
        tests.append(f"WHEN coalesce({cells}) IS NULL THEN false")
    if dialect.padded:
        last, name = dialect.fields - len(LEFT_TO_FILL) - 1, sources[0].name
        named = name if len(sources) == 1 else f"one of the {len(sources)} files"
        begins = literal(f"{MARK}{named}: the row that begins with '"), f"left(c0, {LONGEST_CELL})"
        ends = literal(f"' ends before the column {dialect.header[last]!r}; is the file cut short?")
        tests.append(f"WHEN c{last} IS NULL THEN error(concat({', '.join(begins)}, {ends}))::BOOLEAN")
    return f" WHERE CASE {' '.join(tests)} ELSE true END" if tests else ""


def _fields(source: InputFile, header: _Header, delimiter: str) -> int:
    """How many fields rows have: less than the header where all of the first ones lack as many.

    The database raises if a later row has more or less. A row of one field tells nothing: its delimiter may be another.
    """
    columns = len(header.names)
    with io.TextIOWrapper(open_bytes(source), "utf-8-sig", "replace", newline="") as text:
        rows = filter(None, islice(csv.reader(_lines(text), delimiter=delimiter), header.skip, None))
        try:
            first = len(next(rows, header.names))
            short = 1 < first < columns and all(len(row) == first for row in islice(rows, FIRST_ROWS))
        except csv.Error:  # such as a field that is longer than this module takes
            return columns
    return first if short else columns


def _named_delimiter(source: InputFile) -> str:
    """The delimiter that the first line names, if it does."""
    found = SEPARATOR.fullmatch(head_of(source).decode("utf-8-sig", "replace").lstrip().partition("\n")[0])
    return found[1] if found else ""


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(MAX_ROW):
        yield line


def _read_header(source: InputFile, delimiter: str) -> _Header:
    line = ""

    def lines(text: io.TextIOWrapper) -> Iterator[str]:
        nonlocal line
        while line := text.readline(MAX_ROW):
            yield line

    # bytes that are not UTF-8 pass here, as they may belong to later rows
    with io.TextIOWrapper(open_bytes(source), "utf-8-sig", "surrogateescape", newline="") as text:
        reader = csv.reader(lines(text), delimiter=delimiter)
        skip = 0
        try:
            for names in reader:
                skip += 1
                if names and not SEPARATOR.fullmatch(line):
                    break
            else:
                raise InputError(f"{source.name} is empty")
        except csv.Error as error:
            long = f"a name has more than {csv.field_size_limit() >> 10} KB"
            what = long if "field limit" in str(error) else str(error)
            raise InputError(f"{source.name}: the header cannot be read ({what}); is a quote not closed?") from error
        if any("\udc80" <= character <= "\udcff" for name in names for character in name):
            raise InputError(f"{source.name} is not UTF-8 (line {skip}); try --encoding windows-1252")
        newline = next((end for end in ("\r\n", "\n", "\r") if line.endswith(end)), "\n")
        return _Header(tuple(names), newline, skip, reader.line_num)


CSV = Format("csv", (".csv",), _part, inspect, copy="FORMAT csv, HEADER true")
TSV = replace(CSV, name="tsv", suffixes=(".tsv",), copy="FORMAT csv, HEADER true, DELIMITER '\t'")
TXT = replace(CSV, name="txt", suffixes=(".txt",), copy="")
