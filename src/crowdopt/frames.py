"""What is done to tables, in the few operations that every kind of frame must offer.

All work on tables is written once, in Narwhals, and runs where the table lives: pandas, Polars, PyArrow or
DuckDB (which also holds the files). What Narwhals leaves open, materialising a step and making a small table
of the same kind, stands here, one place per kind.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np

from crowdopt.errors import InputError
from crowdopt.workspace import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.types import Objects

Table: TypeAlias = "nw.LazyFrame[Any]"
"""A table of any kind, worked on lazily where its library is lazy."""


def adopt(data: Any) -> Table:
    """Takes a user's frame as it is; raises if it is not a table of a kind we know."""
    try:
        frame = nw.from_native(data)
    except TypeError:
        raise InputError(
            f"cannot read a {type(data).__module__}.{type(data).__name__}: give a path, or a pandas, Polars, "
            "PyArrow or DuckDB table"
        ) from None
    table: Table = frame.lazy()
    return table


def settle(table: Table) -> Table:
    """Computes a table once, so that later steps do not compute it again."""
    native = table.to_native()
    if _is_duckdb(table):
        name = f"crowdopt_{uuid.uuid4().hex}"
        native.query("_source", f"CREATE TEMP TABLE {name} AS SELECT * FROM _source")
        return _adopted(native.query("_source", f"SELECT * FROM {name}"))
    return table.collect().lazy()


def fetch(table: Table) -> dict[str, list[Any]]:
    """Brings a small table into Python lists, missing values as None."""
    if _is_duckdb(table):
        native = table.to_native()
        rows = native.fetchall()
        return {name: [row[i] for row in rows] for i, name in enumerate(native.columns)}
    return {
        name: [_plain(value) for value in column] for name, column in table.collect().to_dict(as_series=False).items()
    }


def fetch_integers(table: Table) -> dict[str, Objects]:
    """Brings a table of integers without gaps into arrays."""
    if _is_duckdb(table):
        columns = table.to_native().fetchnumpy()
        return {name: np.asarray(column, np.int64) for name, column in columns.items()}
    return {name: np.asarray(column.to_numpy(), np.int64) for name, column in table.collect().to_dict().items()}


def small_table(columns: Mapping[str, Sequence[Any] | Objects], like: Table) -> Table:
    """Makes a table of the same kind as ``like``, in the same place, from columns with None where missing."""
    if _is_duckdb(like):
        return _small_duckdb(columns, like)
    backend = like.implementation
    if backend.is_pandas_like():
        import pandas as pd

        return nw.from_native(pd.DataFrame({name: _pandas_column(column) for name, column in columns.items()})).lazy()
    plain = {
        name: column.tolist() if isinstance(column, np.ndarray) else list(column) for name, column in columns.items()
    }
    return nw.from_dict(plain, backend=backend).lazy()


def lengthen(table: Table, index: str, columns: Sequence[str]) -> Table:
    """Turns one column per worker into rows (index, worker, label), empty cells included."""
    if _is_duckdb(table):
        # Narwhals unpivots on DuckDB's default connection only.
        listed = ", ".join(quote(name) for name in columns)
        query = (
            f"SELECT {quote(index)} AS task, worker, label FROM "
            f"(SELECT {quote(index)}, {listed} FROM _source) "
            f"UNPIVOT INCLUDE NULLS (label FOR worker IN ({listed}))"
        )
        return _adopted(table.to_native().query("_source", query))
    long = table.select(index, *columns).unpivot(
        on=list(columns), index=index, variable_name="crowdopt.worker", value_name="crowdopt.label"
    )
    named = {index: "task", "crowdopt.worker": "worker", "crowdopt.label": "label"}
    return long.select(*(nw.col(old).alias(new) for old, new in named.items()))


def restore(table: Table, original: Any) -> Any:
    """Gives a table back as the kind of object that the user brought."""
    frame = nw.from_native(original)
    if isinstance(frame, nw.LazyFrame):
        return table.to_native()
    return table.collect().to_native()


def _small_duckdb(columns: Mapping[str, Sequence[Any] | Objects], like: Table) -> Table:
    """Through a temporary table on the connection of ``like``; DuckDB reads the local variable ``_arrays``."""
    _arrays = {name: _duckdb_column(column) for name, column in columns.items()}
    name = f"crowdopt_{uuid.uuid4().hex}"
    native = like.to_native()
    native.query("_like", f"CREATE TEMP TABLE {name} AS SELECT * FROM _arrays")
    return _adopted(native.query("_like", f"SELECT * FROM {name}"))


def _duckdb_column(column: Sequence[Any] | Objects) -> Objects:
    array = column if isinstance(column, np.ndarray) else _object_array(column)
    if array.dtype != object or any(value is None for value in array):
        return array
    if array.size and all(type(value) is int for value in array):
        return array.astype(np.int64)
    if array.size and all(type(value) is bool for value in array):
        return array.astype(np.bool_)
    return array


def _object_array(column: Sequence[Any]) -> Objects:
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


def _pandas_column(column: Sequence[Any] | Objects) -> Any:
    """Integers and booleans keep their type beside missing values, which plain pandas columns cannot."""
    import pandas as pd

    if isinstance(column, np.ndarray) and column.dtype != object:
        return column
    values = list(column)
    known = {type(value) for value in values if value is not None}
    if None in values and known == {int}:
        return pd.array(values, dtype="Int64")
    if None in values and known == {bool}:
        return pd.array(values, dtype="boolean")
    return values


def _plain(value: Any) -> Any:
    """NumPy scalars as Python's own; missing values of any library as None."""
    if isinstance(value, np.generic):
        value = value.item()
    missing = value is None or value != value or type(value).__name__ in {"NAType", "NaTType"}  # noqa: PLR0124
    return None if missing else value


def _adopted(relation: Any) -> Table:
    table: Table = nw.from_native(relation)
    return table


def _is_duckdb(table: Table) -> bool:
    return table.implementation.is_duckdb()
