"""Tables and queries of databases: their columns, and their rows as Arrow, copied once or when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from crowdopt.data.readers.database import batches, connected
from crowdopt.data.readers.files import explain_unreadable, new_copy
from crowdopt.data.readers.union import Part, check_columns
from crowdopt.data.tables.workspace import EXACT, path_literal, quote
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

    from crowdopt.data.columns import Choose
    from crowdopt.data.readers.addresses import Database
    from crowdopt.data.tables.workspace import Workspace

SAME = {"int2", "int4", "int8", "bool", "float4", "float8", "date", "timestamp", "timestamptz"}
"""Types of PostgreSQL that come as they are; others come as text."""

EXAMPLE = "crowdopt_example"
"""The column that tells an example from the rows."""


@dataclass(frozen=True)
class Column:
    """A column of a database.

    Attributes:
        name: Its name.
        type: Its type, in the words of the database.
        value: The SQL for its value, of a type that Arrow has.
    """

    name: str
    type: str
    value: str


def find_columns(cursor: Any, database: Database, choose: Choose, order_by: str = "") -> list[Column]:
    """The columns that ``choose`` names; raises if there is no such table, query or column."""
    if database.table:
        _check_table(cursor, database)
    find = _sqlite_columns if database.kind == "sqlite" else _postgresql_columns
    return find(cursor, database, choose, order_by)


def _listed(columns: Sequence[Column]) -> str:
    return ", ".join(quote(column.name) for column in columns)


def select_rows(columns: Sequence[Column], database: Database) -> str:
    """The query for some columns, each under its name."""
    listed = ", ".join(f"{column.value} AS {quote(column.name)}" for column in columns)
    return f"SELECT {listed} FROM {database.relation}"


def read_database(
    database: Database, choose: Choose, workspace: Workspace, *, order_by: str = ""
) -> duckdb.DuckDBPyRelation:
    """The rows of some columns, copied to the temporary folder.

    Args:
        database: The table or query.
        choose: Given the columns that there are, the ones to read.
        workspace: The place to copy them to.
        order_by: A column that must keep its order.
    """
    with connected(database) as cursor:
        columns = find_columns(cursor, database, choose, order_by)
        rows = opened_copy(copy(cursor, _with_example(columns, database), workspace), workspace)
    return rows.filter(f"{EXAMPLE} = 0").project(_listed(columns)) if database.kind == "sqlite" else rows


def opened_copy(path: Path, workspace: Workspace) -> duckdb.DuckDBPyRelation:
    """What was copied to the temporary folder."""
    return workspace.sql(f"SELECT * FROM read_parquet({path_literal(path)})")


def copy(cursor: Any, query: str, workspace: Workspace) -> Path:
    """What a query finds, copied to the temporary folder batch by batch: memory does not grow with the rows."""
    import pyarrow.parquet as pq

    cursor.execute(query)
    path = new_copy("rows.parquet", workspace)
    reader = cursor.fetch_record_batch()
    with explain_unreadable("the database"), pq.ParquetWriter(path, reader.schema, compression="lz4") as writer:
        for batch in batches(reader):
            writer.write_batch(batch)
    return path


class RowsLater:
    """The rows of a database for DuckDB, which asks for them only if and when a query needs them.

    They are then copied once. What was counted before is counted again in the same snapshot, so that rows which were
    changed in between do not pass unseen.

    Attributes:
        counted: The queries that counted the rows, and where what they found is.
    """

    def __init__(self, cursor: Any, columns: Sequence[Column], database: Database, workspace: Workspace) -> None:
        self.query, self.database, self.workspace = select_rows(columns, database), database, workspace
        self.schema = cursor.adbc_execute_schema(self.query).remove_metadata()
        self.counted: list[tuple[str, Path]] = []
        self._path: Path | None = None
        self._n_compared = 0

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        del requested_schema
        if self._path is None or self._n_compared < len(self.counted):
            with connected(self.database) as cursor:
                for query, path in self.counted:
                    self._compare(path, copy(cursor, query, self.workspace))
                self._path = copy(cursor, self.query, self.workspace)
            self._n_compared = len(self.counted)
        reader = pa.RecordBatchReader.from_batches(self.schema, pq.ParquetFile(self._path).iter_batches())
        return reader.__arrow_c_stream__()

    def _compare(self, before: Path, now: Path) -> None:
        """Raises if two counts differ; on a connection of its own, as that of the workspace waits for the rows."""
        old, new = (f"(FROM read_parquet({path_literal(path)}))" for path in (before, now))
        with self.workspace.connection.cursor() as own:
            other = own.sql(f"({old} EXCEPT ALL {new}) UNION ALL ({new} EXCEPT ALL {old}) LIMIT 1").fetchall()
        now.unlink()
        if other:
            raise InputError(f"{self.database} has other rows than when they were counted: start again")


def _check_table(cursor: Any, database: Database) -> None:
    schema, name = database.schema_and_name
    if database.kind == "sqlite":
        master = f"{quote(schema)}.sqlite_master" if schema else "sqlite_master"
        cursor.execute(f"SELECT name FROM {master} WHERE type IN ('table', 'view') ORDER BY name")
        tables = [one for (one,) in cursor.fetchall()]
    else:
        cursor.execute(
            "SELECT CASE WHEN pg_table_is_visible(c.oid) THEN relname ELSE nspname || '.' || relname END "
            "FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace "
            "WHERE relkind IN ('r', 'v', 'm', 'f', 'p') AND nspname !~ '^pg_|^information_schema$' "
            "UNION ALL SELECT nspname || '.' || relname FROM pg_class AS c JOIN pg_namespace AS n "
            "ON n.oid = relnamespace WHERE relkind IN ('r', 'v', 'm', 'f', 'p') AND pg_table_is_visible(c.oid) "
            "AND nspname !~ '^pg_|^information_schema$'"
        )
        tables, name = [str(one) for (one,) in cursor.fetchall()], database.table
    if name in tables:
        return
    alike = [one for one in tables if one.rpartition(".")[2].lower() == name.lower()]
    near = alike or get_close_matches(name, tables, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"{database} has no table {database.table!r}{hint}")


def _postgresql_columns(cursor: Any, database: Database, choose: Choose, order_by: str) -> list[Column]:
    schema = cursor.adbc_execute_schema(f"SELECT * FROM {database.relation}")
    types = {one.name: _type(one) for one in schema}
    chosen = _chosen(schema.names, database, choose)
    return [Column(name, types[name], _postgresql_value(name, types[name], name == order_by)) for name in chosen]


def _chosen(names: Sequence[str], database: Database, choose: Choose) -> list[str]:
    if twice := [name for name in names if names.count(name) > 1]:
        raise ColumnError(f"{database}: the query has two columns named {twice[0]!r}; name them apart with AS")
    chosen = choose(names)
    check_columns([Part(str(database), names, lambda _: ("", frozenset()))], chosen)
    return chosen


def _type(one: Any) -> str:
    named: bytes = (one.metadata or {}).get(b"POSTGRESQL:type", b"")
    return named.decode()


def _postgresql_value(name: str, own: str, ordering: bool) -> str:
    if own.startswith("_") or own == "record":
        raise ColumnError(f"column {name!r} is nested ({own}); one value per row is needed")
    if own in SAME:
        return quote(name)
    if own == "numeric":  # which Arrow's decimals cannot hold, nor DuckDB's
        return f"{quote(name)}::float8" if ordering else f"trim_scale(nullif({quote(name)}, 'NaN'))::text"
    return f"{quote(name)}::text"


def _sqlite_columns(cursor: Any, database: Database, choose: Choose, order_by: str) -> list[Column]:
    """SQLite has types of values, not of columns, and its driver goes by the first rows: so all rows are asked."""
    del order_by
    cursor.execute(f"SELECT * FROM {database.relation} LIMIT 0")
    chosen = _chosen([one[0] for one in cursor.description], database, choose)
    kinds = ("integer", "real", "text", "blob")
    tests = [f"max(typeof({quote(name)}) = '{kind}')" for name in chosen for kind in kinds]
    within = f"BETWEEN -{EXACT} AND {EXACT}"
    tests += [f"max(typeof({quote(name)}) = 'integer' AND {quote(name)} NOT {within})" for name in chosen]
    cursor.execute(f"SELECT {', '.join(tests)} FROM {database.relation}")
    found = cursor.fetchone()
    columns = []
    for at, name in enumerate(chosen):
        present = [kind for place, kind in enumerate(kinds) if found[at * len(kinds) + place]]
        large = bool(found[len(chosen) * len(kinds) + at])
        columns.append(Column(name, *_sqlite_value(name, present, large=large)))
    return columns


def _sqlite_value(name: str, present: Sequence[str], *, large: bool) -> tuple[str, str]:
    if "blob" in present:
        raise ColumnError(f"column {name!r} holds blobs; texts or numbers are needed")
    if "text" in present and len(present) > 1:
        raise ColumnError(f"column {name!r} holds texts in some rows and numbers in others; make it one type")
    if len(present) > 1 and large:
        raise ColumnError(f"column {name!r} has fractions and integers too large for that")
    own = "real" if "real" in present else present[0] if present else "text"
    return own, f"CAST({quote(name)} AS {own.upper()})"


def _with_example(columns: Sequence[Column], database: Database) -> str:
    """The query for the rows; for SQLite behind one that tells the driver the types, as nulls would not."""
    rows = select_rows(columns, database)
    if database.kind != "sqlite":
        return rows
    examples = {"integer": "0", "real": "0.5", "text": "''"}
    first = ", ".join(f"{examples[column.type]} AS {quote(column.name)}" for column in columns)
    values = ", ".join(column.value for column in columns)
    return f"SELECT {first}, 1 AS {EXAMPLE} UNION ALL SELECT {values}, 0 FROM {database.relation}"
