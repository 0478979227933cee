"""Writing a result to a table of a database, in one transaction: whole or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdopt.data.readers.addresses import Database
from crowdopt.data.readers.database import connected
from crowdopt.data.tables.workspace import quote
from crowdopt.errors import InputError, OutputError

if TYPE_CHECKING:
    import duckdb

    from crowdopt.data.tables.workspace import Workspace

SAME_TYPES = {"BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE"}  # fmt: skip
"""Types that databases take as they are."""

WIDER = {"TINYINT": "SMALLINT", "UTINYINT": "SMALLINT", "USMALLINT": "INTEGER", "UINTEGER": "BIGINT"}
"""Types that become larger ones; all others become text."""

BATCH = 100_000
"""Rows that are handed to the driver at once."""

PLACE = (
    "SELECT system_identifier, (SELECT oid::int8 FROM pg_database WHERE datname = current_database()) "
    "FROM pg_control_system()"
)
"""What no two databases of PostgreSQL have in common, on any servers but those that are copies of each other."""


def check_table(database: Database, read: Any = None) -> None:
    """Raises if a table cannot be written, before any work is done.

    Args:
        database: The table.
        read: What is read, which must not be the same table.
    """
    if database.kind == "sqlite":
        _check_sqlite(database)
        if not database.path.exists():
            return
    with connected(database, write=True) as cursor:
        if isinstance(read, Database):
            _check_not_read(cursor, database, read)
        _check_free(cursor, database)


def _check_sqlite(database: Database) -> None:
    if not database.path.parent.is_dir():
        raise InputError(f"cannot write {database}: the folder {database.path.parent} does not exist")
    if not os.access(database.path.parent, os.W_OK):  # SQLite needs a second file there while it writes
        raise InputError(f"cannot write {database}: permission denied in {database.path.parent}")
    if database.schema_and_name[0]:
        raise InputError(f"cannot write {database.where}: the name of a table of SQLite is written without a dot")


def write_rows(rows: duckdb.DuckDBPyRelation, database: Database, workspace: Workspace) -> None:
    """Writes rows to a new table, which is there with all of them or not at all.

    Args:
        rows: The rows.
        database: The table.
        workspace: What the rows come from; if a file of it has changed meanwhile, nothing is written.
    """
    schema, name = database.schema_and_name
    new_file = database.kind == "sqlite" and not database.path.exists()
    try:
        with connected(database, write=True) as cursor:
            _check_free(cursor, database)
            if database.replace:
                cursor.execute(f"DROP TABLE IF EXISTS {database.relation}")
            reader = _portable(rows).to_arrow_reader(BATCH)
            with workspace.unchanged():
                cursor.adbc_ingest(name, reader, mode="create", db_schema_name=schema or None)
    except BaseException:
        if new_file:
            for suffix in ("", "-journal"):  # which a full disk leaves behind
                database.path.with_name(database.path.name + suffix).unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class _Found:
    """A table or the like, as the database knows it, however its name is spelt.

    Attributes:
        key: What no other one in the database has.
        is_table: Whether it is a table, and no view or the like.
        alone: Whether it has all its rows itself, and none of other tables.
    """

    key: Any
    is_table: bool
    alone: bool


def _find(cursor: Any, database: Database) -> _Found | None:
    schema, name = database.schema_and_name
    if database.kind == "sqlite":
        cursor.execute("SELECT lower(name), type FROM sqlite_master WHERE lower(name) = lower(?)", (name,))
        found = cursor.fetchone()
        return found and _Found(found[0], found[1] == "table", found[1] == "table")
    cursor.execute(
        "SELECT oid::int8, relkind::text, relhassubclass FROM pg_class WHERE oid = to_regclass($1)",
        (".".join(quote(part) for part in (schema, name) if part),),
    )
    found = cursor.fetchone()
    return found and _Found(found[0], found[1] == "r", found[1] == "r" and not found[2])


def _check_free(cursor: Any, database: Database) -> None:
    found = _find(cursor, database)
    if found is not None and not database.replace:
        raise OutputError(f"cannot write {database.where}: it exists; add --replace to write a new one in its place")
    if found is not None and not found.is_table:
        raise OutputError(f"cannot write {database.where}: it is no table, but a view or the like")


def _check_not_read(cursor: Any, database: Database, read: Database) -> None:
    """Raises if a table to be replaced is what is read, or may be a part of that: of a query, nobody knows."""
    target = _find(cursor, database)
    if target is None or database.kind != read.kind:
        return
    with connected(read) as other:
        if not _same_place(cursor, database, other, read):
            return
        source = None if read.query else _find(other, read)
    if source is not None and source.key == target.key:
        raise InputError(f"cannot write {database.where}: it is the input")
    if database.replace and (source is None or not source.alone):
        raise InputError(
            f"cannot replace {database.where}: what is read may come from it; write to a new table or another database"
        )


def _same_place(cursor: Any, database: Database, other: Any, read: Database) -> bool:
    """Whether two connections are to one database, whatever the addresses are."""
    if database.kind == "sqlite":
        return database.path.samefile(read.path)
    for one in (cursor, other):
        one.execute(PLACE)
    return bool(cursor.fetchone() == other.fetchone())


def _portable(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The rows in types that every database has."""
    types = {name: str(one) for name, one in zip(rows.columns, rows.types, strict=True)}
    return rows.project(
        ", ".join(
            quote(name) if one in SAME_TYPES else f"CAST({quote(name)} AS {WIDER.get(one, 'VARCHAR')}) AS {quote(name)}"
            for name, one in types.items()
        )
    )
