"""The way in: files of any kind as one lazy table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdopt.data.readers.csv import Dialect, check_delimiter, inspect, select_csv
from crowdopt.data.readers.duckdb_errors import explain_errors
from crowdopt.data.readers.encoding import check_encoding, has_bom, transcode
from crowdopt.data.readers.files import TEXTS, InputFile, check_whole, explain_unreadable, find_sources
from crowdopt.data.readers.jsonl import json_part
from crowdopt.data.readers.union import Part, available_columns, check_columns, concatenate
from crowdopt.data.tables.workspace import Workspace, quote
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

    from crowdopt.data.columns import Choose

__all__ = ["explain_errors", "find_files", "open_parts", "read_files", "select", "with_parsed_numbers"]

JSON = ("json", "jsonl")


def read_files(
    sources: Sequence[str | Path],
    workspace: Workspace,
    choose: Choose,
    *,
    encoding: str = "",
    delimiter: str = "",
    numeric: str = "",
) -> duckdb.DuckDBPyRelation:
    """Prepares to read files; rows are read when the relation is used, so wrap that in explain_errors.

    Args:
        sources: Paths, glob patterns, or ``-`` for standard input.
        workspace: The database to read with.
        choose: Given the columns that there are, the ones to read.
        encoding: Encoding of text files; empty for UTF-8.
        delimiter: Field delimiter of text files; empty to take it from the header.
        numeric: A column of text to read as numbers if all of it are numbers.

    Returns:
        A lazy relation with the chosen columns under their own names. Cells of CSV are text, an empty
        one is null; other formats keep their types.

    Raises:
        InputError: A file is missing, unreadable or not what its suffix says.
        ColumnError: A column is missing, nested, or of different types in different files.
        MissingExtraError: An Excel file is named and openpyxl is not installed.
    """
    delimiter = check_delimiter(delimiter)
    files = find_files(sources, workspace, encoding)
    with explain_errors(sources):
        return select(open_parts(files, workspace, delimiter), workspace, choose, numeric)


def find_files(sources: Sequence[str | Path], workspace: Workspace, encoding: str) -> list[InputFile]:
    """The files that are meant, as UTF-8 where they are text. Standard input can be found only once."""
    encoding = check_encoding(encoding)
    return [_decoded(source, workspace, encoding) for source in find_sources(sources, workspace, encoding)]


def select(parts: Sequence[Part], workspace: Workspace, choose: Choose, numeric: str = "") -> duckdb.DuckDBPyRelation:
    """Some columns of all parts; see :func:`read_files`."""
    chosen = choose(available_columns(parts))
    check_columns(parts, chosen)
    query = concatenate(parts, chosen, workspace)
    return workspace.sql(with_parsed_numbers(query, numeric, workspace) if numeric in chosen else query)


def _decoded(source: InputFile, workspace: Workspace, encoding: str) -> InputFile:
    """The source, or a copy of it in UTF-8."""
    if source.kind not in TEXTS:
        return source
    with explain_unreadable(source.name):
        if encoding:
            return transcode(source, workspace, encoding)
        if source.kind in JSON and source.packing != "uncompressed":
            check_whole(source)
        if source.kind in JSON and has_bom(source):
            return transcode(source, workspace, "utf-8-sig")  # JSON may not begin with a byte order mark
    return source


def open_parts(files: Sequence[InputFile], workspace: Workspace, delimiter: str) -> list[Part]:
    """Groups files that one query can read, in the order of the first of each group."""
    groups: dict[object, list[InputFile]] = {}
    for file in files:
        source = file
        key: object
        if file.kind in ("csv", "tsv"):
            with explain_unreadable(file.name):
                source, key = inspect(file, workspace, delimiter)
        elif file.kind == "json":
            raise InputError(
                f"{file.name}: JSON is read as JSON Lines, one object per line, suffix .jsonl; as it is, only if it is "
                "the export of an annotation tool (--from)"
            )
        elif file.kind == "parquet":
            key = _parquet_schema(file, workspace)
        else:
            key = file.packing if file.kind == "jsonl" else file
        groups.setdefault(key, []).append(source)
    return [_part(key, group, workspace) for key, group in groups.items()]


def _part(key: object, group: Sequence[InputFile], workspace: Workspace) -> Part:
    first = group[0]
    if isinstance(key, Dialect):
        return Part(first.name, key.header, lambda chosen: (select_csv(group, key, chosen), frozenset()))
    if isinstance(key, _Schema):
        table = _parquet(group)
        return Part(
            first.name,
            key.columns,
            lambda chosen: (f"SELECT {', '.join(map(quote, chosen))} FROM {table}", key.nulls),
        )
    if first.kind == "jsonl":
        return json_part(group, workspace)
    from crowdopt.data.readers.excel import excel_part

    return excel_part(first, workspace)


@dataclass(frozen=True)
class _Schema:
    """Files of other types get a query of their own: within one, DuckDB would round 1.5 to 2."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    nulls: frozenset[str]


def _parquet_schema(source: InputFile, workspace: Workspace) -> _Schema:
    found = workspace.sql(f"FROM {_parquet([source])}")
    # the database takes a column that never had a value for one of integers
    nulls = workspace.sql(f"SELECT name FROM parquet_schema({source.literal}) WHERE logical_type LIKE 'Null%'")
    names = frozenset(name for (name,) in nulls.fetchall())
    return _Schema(tuple(found.columns), tuple(map(str, found.types)), names)


def _parquet(group: Sequence[InputFile]) -> str:
    paths = ", ".join(source.literal for source in group)
    return f"read_parquet([{paths}], hive_partitioning = false)"


def with_parsed_numbers(query: str, name: str, workspace: Workspace) -> str:
    """Reads a column of text as numbers if each of its cells is one: whole ones exactly, others as fractions."""
    found = workspace.sql(query)
    if str(found.types[found.columns.index(name)]) != "VARCHAR":
        return query
    cell = quote(name)
    whole, fraction = f"TRY_CAST({cell} AS BIGINT)", f"TRY_CAST({cell} AS DOUBLE)"
    # SQL also takes 1.5 for a whole number, and nan, inf and 1_000 for numbers
    tests = {
        whole: rf"regexp_full_match({cell}, '\s*[+-]?[0-9]+\s*') AND {whole} IS NOT NULL",
        fraction: f"isfinite({fraction}) IS TRUE AND NOT contains({cell}, '_')",
    }
    asked = ", ".join(f"bool_and({test})" for test in tests.values())
    good = workspace.sql(f"SELECT {asked} FROM ({query}) WHERE {cell} IS NOT NULL").fetchall()[0]
    number = next((number for number, passed in zip(tests, good, strict=True) if passed), None)
    return f"SELECT * REPLACE ({number} AS {cell}) FROM ({query})" if number else query
