"""The way in: files of any kind as one lazy table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.csv import check_delimiter
from crowdopt.data.readers.duckdb_errors import explain_errors
from crowdopt.data.readers.files import InputFile, explain_unreadable
from crowdopt.data.readers.find_files import find_files
from crowdopt.data.readers.formats import FILE_FORMATS
from crowdopt.data.readers.union import Part, choose_columns, concatenate
from crowdopt.data.tables.workspace import Workspace, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from pathlib import Path

    import duckdb

    from crowdopt.data.columns import Choose

__all__ = ["explain_errors", "find_files", "open_parts", "read_files", "select", "with_parsed_numbers"]


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


def select(parts: Sequence[Part], workspace: Workspace, choose: Choose, numeric: str = "") -> duckdb.DuckDBPyRelation:
    """Some columns of all parts; see :func:`read_files`."""
    parts, chosen = choose_columns(parts, choose)
    query = concatenate(parts, chosen, workspace)
    return workspace.sql(with_parsed_numbers(query, numeric, workspace) if numeric in chosen else query)


def open_parts(files: Sequence[InputFile], workspace: Workspace, delimiter: str) -> list[Part]:
    """Groups files that one query can read, in the order of the first of each group."""
    groups: dict[tuple[Callable[..., Part], Hashable], list[InputFile]] = {}
    for file in files:
        with explain_unreadable(file.name):
            source, key = FILE_FORMATS[file.kind].inspect(file, workspace, delimiter)
        groups.setdefault((FILE_FORMATS[file.kind].part, key), []).append(source)
    return [part(group, key, workspace) for (part, key), group in groups.items()]


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
