"""CSV and its relatives: every cell is text, exactly as it stands in the file."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crowdopt.data.readers.csv_quotes import MAX_ROW, check_quotes, is_plain
from crowdopt.data.readers.encoding import has_bom, transcode
from crowdopt.data.readers.files import Format, InputFile, Packing, open_bytes
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


@dataclass(frozen=True)
class Dialect:
    """All that must be the same for files to be read by one call.

    Attributes:
        header: The names of the columns, as they stand.
        delimiter: What separates fields.
        newline: What ends rows.
        skip: How many records to skip: the header and the blank lines before it.
        packing: How the file is compressed.
        parallel: Whether several threads may read one file.
    """

    header: tuple[str, ...]
    delimiter: str
    newline: str
    skip: int
    packing: Packing
    parallel: bool


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
    delimiter = delimiter or ("\t" if source.kind == "tsv" else "")
    delimiter = delimiter or max(DELIMITERS, key=lambda one: len(_read_header(source, one).names))
    header = _read_header(source, delimiter)
    if header.lines > header.skip and has_bom(source):
        # DuckDB does not see the quote that follows a byte order mark
        source = transcode(source, workspace, "utf-8-sig")
    parallel = is_plain(source)
    if not parallel:
        check_quotes(source, delimiter)  # a single thread would drop the last row in silence
    return source, Dialect(header.names, delimiter, header.newline, header.skip, source.packing, parallel)


def _part(sources: Sequence[InputFile], dialect: Dialect, workspace: Workspace) -> Part:
    del workspace
    return Part(sources[0].name, dialect.header, lambda chosen: (_select(sources, dialect, chosen), frozenset()))


def _select(sources: Sequence[InputFile], dialect: Dialect, columns: Sequence[str]) -> str:
    """The query that reads some columns of files of one dialect."""
    types = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(dialect.header)))
    named = ", ".join(f"c{dialect.header.index(name)} AS {quote(name)}" for name in columns)
    newline = dialect.newline.replace("\r", "\\r").replace("\n", "\\n")
    paths = ", ".join(source.literal for source in sources)
    return (
        f"SELECT {named} FROM read_csv([{paths}], columns = {{{types}}}, "
        f"delim = {literal(dialect.delimiter)}, quote = '\"', escape = '\"', new_line = '{newline}', "
        f"header = false, skip = {dialect.skip}, nullstr = '', comment = '', auto_detect = false, "
        f"compression = '{dialect.packing}', parallel = {dialect.parallel}, hive_partitioning = false, "
        f"max_line_size = {MAX_ROW}, buffer_size = {BUFFER})"
    )


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
                if names:
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
