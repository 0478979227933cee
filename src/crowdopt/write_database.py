"""Writing a result to a table of a database, in one transaction: whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdopt.databases import Database, connected
from crowdopt.errors import InputError, OutputError
from crowdopt.workspace import quote

if TYPE_CHECKING:
    import duckdb

SAME = {"BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE"}  # fmt: skip
"""Types that databases take as they are."""

WIDER = {"TINYINT": "SMALLINT", "UTINYINT": "SMALLINT", "USMALLINT": "INTEGER", "UINTEGER": "BIGINT"}
"""Types that become larger ones; all others become text."""

BATCH = 100_000


def check_table(database: Database, read: Any = None) -> None:
    """Raises if a table cannot be written, before any work is done.

    Args:
        database: The table.
        read: What is read, which must not be the same table.
    """
    if isinstance(read, Database) and (read.place, read.table) == (database.place, database.table):
        raise InputError(f"cannot write {database.where}: it is the input")
    if database.kind == "sqlite" and not database.path.exists():
        if not database.path.parent.is_dir():
            raise InputError(f"cannot write {database}: the folder {database.path.parent} does not exist")
        return
    with connected(database, write=True) as cursor:
        _check_free(cursor, database)


def write_rows(rows: duckdb.DuckDBPyRelation, database: Database) -> None:
    """Writes rows to a new table, which is there with all of them or not at all."""
    schema, name = database.schema_and_name
    new_file = database.kind == "sqlite" and not database.path.exists()
    try:
        with connected(database, write=True) as cursor:
            _check_free(cursor, database)
            if database.replace:
                cursor.execute(f"DROP TABLE IF EXISTS {database.relation}")
            reader = _portable(rows).to_arrow_reader(BATCH)
            cursor.adbc_ingest(name, reader, mode="create", db_schema_name=schema or None)
    except BaseException:
        if new_file:
            for suffix in ("", "-journal"):  # which a full disk leaves behind
                database.path.with_name(database.path.name + suffix).unlink(missing_ok=True)
        raise


def _check_free(cursor: Any, database: Database) -> None:
    schema, name = database.schema_and_name
    if database.kind == "sqlite":
        cursor.execute("SELECT type FROM sqlite_master WHERE lower(name) = lower(?)", (name,))
    else:
        cursor.execute(
            "SELECT relkind::text FROM pg_class WHERE oid = to_regclass($1)",
            (".".join(quote(part) for part in (schema, name) if part),),
        )
    found = cursor.fetchone()
    if found is not None and not database.replace:
        raise OutputError(f"cannot write {database.where}: it exists; add --replace to write a new one in its place")
    if found is not None and found[0] not in {"r", "table"}:
        raise OutputError(f"cannot write {database.where}: it is no table, but a view or the like")


def _portable(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The rows in types that every database has."""
    types = {name: str(one) for name, one in zip(rows.columns, rows.types, strict=True)}
    return rows.project(
        ", ".join(
            quote(name) if one in SAME else f"CAST({quote(name)} AS {WIDER.get(one, 'VARCHAR')}) AS {quote(name)}"
            for name, one in types.items()
        )
    )
