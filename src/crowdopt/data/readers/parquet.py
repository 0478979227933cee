"""Parquet: columns keep the types that they have in the file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdopt.data.readers.files import Format, InputFile
from crowdopt.data.readers.union import Part
from crowdopt.data.tables.workspace import quote
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.tables.workspace import Workspace

MAGIC = b"PAR1"
SHORTEST = 12
"""Bytes of the shortest file: the magic bytes at both ends, and the length of what describes the columns."""


@dataclass(frozen=True)
class _Schema:
    """Files of other types get a query of their own: within one, DuckDB would round 1.5 to 2."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    nulls: frozenset[str]


def parquet_rows(sources: Sequence[InputFile]) -> str:
    """The table function of DuckDB that reads files."""
    paths = ", ".join(source.literal for source in sources)
    return f"read_parquet([{paths}], hive_partitioning = false)"


def _check(source: InputFile, workspace: Workspace) -> InputFile:
    del workspace
    with source.path.open("rb") as stream:
        stream.seek(-len(MAGIC), os.SEEK_END)
        if stream.read() != MAGIC or stream.tell() < SHORTEST:
            raise InputError(f"{source.name} is damaged or cut short: a Parquet file must end with PAR1")
    return source


def _inspect(source: InputFile, workspace: Workspace, delimiter: str) -> tuple[InputFile, _Schema]:
    del delimiter
    found = workspace.sql(f"FROM {parquet_rows([source])}")
    # the database takes a column that never had a value for one of integers
    nulls = workspace.sql(f"SELECT name FROM parquet_schema({source.literal}) WHERE logical_type LIKE 'Null%'")
    names = frozenset(name for (name,) in nulls.fetchall())
    return source, _Schema(tuple(found.columns), tuple(map(str, found.types)), names)


def _part(sources: Sequence[InputFile], schema: _Schema, workspace: Workspace) -> Part:
    del workspace
    rows = parquet_rows(sources)
    return Part(
        sources[0].name,
        schema.columns,
        lambda chosen: (f"SELECT {', '.join(map(quote, chosen))} FROM {rows}", schema.nulls),
    )


PARQUET = Format(
    "parquet",
    (".parquet", ".pq"),
    _part,
    _inspect,
    MAGIC,
    "Parquet",
    check=_check,
    is_text=False,
    copy="FORMAT parquet",
)
