"""What is done to tables, in the few operations that every kind of frame must offer.

All work on tables is written once, in Narwhals, and runs where the table lives: pandas, Polars, PyArrow, DuckDB
(which also holds the files) or Spark. What Narwhals leaves open, materialising a step and making a small table
of the same kind, stands here, one place per kind, and for Spark in a module of its own.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np

from crowdopt.data.tables import spark
from crowdopt.data.tables.workspace import literal, path_literal, quote
from crowdopt.errors import ColumnError, InputError
from crowdopt.model.scale import as_number, canonical_text, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crowdopt._arrays import Ints, Objects
    from crowdopt.data.columns import Choose

Table: TypeAlias = "nw.LazyFrame[Any]"
"""A table of any kind, worked on lazily where its library is lazy."""

EXACT = float(1 << 53)
"""Beyond this, different integers are the same fraction."""

ODD = "crowdopt_odd_"
"""How the names of columns begin that DuckDB cannot have as they are."""

PARTS = (1, 4, 16, 64)
"""Into how many parts a table is split when memory runs out, attempt by attempt."""


def adopt(data: Any, choose: Choose | None = None) -> Table:
    """Takes a user's frame, or the columns of it that ``choose`` names; raises if it is no table of a kind we know."""
    try:
        frame = nw.from_native(data)
    except TypeError:
        raise InputError(
            f"cannot read {_kind(data)}: give a path, or a pandas, Polars, PyArrow, DuckDB or PySpark table"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise ColumnError(f"two columns have one name: {' '.join(str(error).split())}") from error
    if choose is not None:
        chosen = _chosen(frame, choose)
        frame = _held(frame, chosen) if frame.implementation.is_duckdb() else frame.select(*chosen)
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_pandas_like():
        frame = _plain_columns(frame)
    table: Table = frame.lazy()
    return table


def _kind(value: Any) -> str:
    """What a value is, in words.

    >>> _kind(None), _kind([1]), _kind(np.zeros(2))
    ('None', 'a list', 'a numpy.ndarray')
    """
    if value is None:
        return "None"
    module, name = type(value).__module__, type(value).__name__
    called = name if module == "builtins" else f"{module}.{name}"
    return f"{'an' if called[0] in 'aeiou' else 'a'} {called}"


def ordered_categories(data: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """The categories of some columns of a user's frame, lowest first, if they all have the same and in one order.

    Looks at the frame as it was brought: :func:`adopt` makes plain numbers of pandas' categories of numbers.
    """
    frame = nw.from_native(data)
    if frame.implementation.is_pyarrow():
        return _ordered_dictionary([data[name] for name in names])
    schema = frame.collect_schema()
    types = [schema[name] for name in names]
    first = types[0]
    return first.categories if isinstance(first, nw.Enum) and all(dtype == first for dtype in types) else ()


def _ordered_dictionary(columns: Sequence[Any]) -> tuple[Any, ...]:
    """The same of PyArrow's columns, of which Narwhals does not tell the order."""
    found = {
        tuple(chunk.dictionary.to_pylist()) if getattr(column.type, "ordered", False) else ()
        for column in columns
        for chunk in column.chunks
    }
    return found.pop() if len(found) == 1 else ()


def _chosen(frame: Any, choose: Choose) -> list[str]:
    names = frame.collect_schema().names()
    if odd := [name for name in names if not isinstance(name, str)]:
        raise ColumnError(f"column names must be texts, not {odd[0]!r}")
    chosen = choose(names)
    if spark.is_spark(frame):
        spark.check_columns(frame, chosen)
    return chosen


def held_as(table: Table, name: str) -> str:
    """What an adopted table calls a column of the user's.

    Narwhals does not quote names for DuckDB, where a dot stands between a table and its column.
    """
    odd = _is_duckdb(table) and ('"' in name or "." in name)
    return f"{ODD}{name.encode().hex()}" if odd else name


def _held(frame: Any, chosen: Sequence[str]) -> Any:
    names = {name: held_as(frame, name) for name in chosen}
    if all(name == held for name, held in names.items()):
        return frame.select(*chosen)
    listed = ", ".join(f"{quote(name)} AS {quote(held)}" for name, held in names.items())
    return nw.from_native(frame.to_native().project(listed))


def settle(table: Table) -> Table:
    """Computes a table once, so that later steps do not compute it again."""
    if spark.is_spark(table):
        return spark.keep(table)
    if not _is_duckdb(table):
        return table.collect().lazy()
    name = _fresh_name()
    _query(table, lambda source: f"CREATE TEMP TABLE {name} AS SELECT * FROM {source} WITH NO DATA")
    table.to_native().insert_into(name)  # which, unlike CREATE TABLE AS, heeds an interrupt
    return _adopted(_query(table, lambda _: f"SELECT * FROM {name}"))


def settle_by(table: Table, key: str, step: Callable[[Table], Table], folder: Path | None) -> Table:
    """``settle(step(table))`` for large tables, where ``step`` treats the values of ``key`` independently.

    With a folder, DuckDB writes the result to a file there and keeps nothing of it in memory. And where its memory
    limit does not suffice, it works in parts: its GROUP BY spills, but not always enough for millions of groups.
    """
    if folder is None or not _is_duckdb(table):
        return settle(step(table))
    import duckdb

    name = _fresh_name()
    for n_parts in PARTS:
        try:
            for number, part in enumerate(_parts(table, key, n_parts)):
                file = folder / f"{name}-{n_parts}-{number}.parquet"
                step(part).to_native().to_parquet(str(file), compression="lz4_raw")
            break
        except duckdb.OutOfMemoryException:
            if n_parts == PARTS[-1]:
                raise
    files = ", ".join(path_literal(folder / f"{name}-{n_parts}-{number}.parquet") for number in range(n_parts))
    return _adopted(_query(table, lambda _: f"SELECT * FROM read_parquet([{files}])"))


def distinct_rows(table: Table) -> Table:
    """The distinct rows, in no particular order."""
    return spark.distinct_rows(table) if spark.is_spark(table) else table.unique()


def surely_distinct(table: Table, columns: Sequence[str]) -> bool:
    """Whether all rows differ in ``columns``; False also means "not known".

    Distinct hashes prove distinct rows at half the cost of comparing the rows; equal ones prove nothing.
    """
    if not _is_duckdb(table):
        return False
    listed = ", ".join(quote(name) for name in columns)
    relation = _query(table, lambda source: f"SELECT count(*) = count(DISTINCT hash({listed})) FROM {source}")
    return bool(relation.fetchall()[0][0])


def fetch(table: Table) -> dict[str, list[Any]]:
    """Brings a small table into Python lists, missing values as None."""
    if spark.is_spark(table):
        return spark.fetch(table)
    if _is_duckdb(table):
        native = table.to_native()
        rows = native.fetchall()
        return {name: [row[i] for row in rows] for i, name in enumerate(native.columns)}
    return {
        name: [_plain(value) for value in column] for name, column in table.collect().to_dict(as_series=False).items()
    }


def fetch_integers(table: Table) -> dict[str, Ints]:
    """Brings a table of integers without gaps into arrays."""
    if spark.is_spark(table):
        return spark.fetch_integers(table)
    if _is_duckdb(table):
        arrays = table.to_native().fetchnumpy()
    else:
        arrays = {column.name: column.to_numpy() for column in table.collect().iter_columns()}
    return {name: np.asarray(column).astype(np.int64) for name, column in arrays.items()}


def fetch_arrow(table: Table) -> Any:
    """Brings a table of any length into an Arrow table."""
    return table.collect().to_arrow()


def coded(name: str, codes: Mapping[Any, int], otherwise: int) -> nw.Expr:
    """The number that stands for each value of a column."""
    code = nw.lit(otherwise)
    for value, number in codes.items():
        code = nw.when(nw.col(name) == value).then(nw.lit(number)).otherwise(code)
    return code


def small_table(columns: Mapping[str, Sequence[Any] | Objects], like: Table) -> Table:
    """Makes a table of the same kind as ``like``, in the same place, from columns with None where missing."""
    if _is_duckdb(like):
        return _small_duckdb(columns, like)
    if spark.is_spark(like):
        return spark.small_table(columns, like)
    backend = like.implementation
    if backend.is_pandas_like():
        import pandas as pd

        return nw.from_native(pd.DataFrame({name: _pandas_column(column) for name, column in columns.items()})).lazy()
    plain = {
        name: column.tolist() if isinstance(column, np.ndarray) else list(column) for name, column in columns.items()
    }
    # A column of nothing but None has no type, and PyArrow does not join it; here it is one of numbers.
    empty = [name for name, column in plain.items() if all(value is None for value in column)]
    return nw.from_dict(plain, backend=backend).lazy().with_columns(nw.col(*empty).cast(nw.Float64) if empty else [])


def lengthen(table: Table, index: Mapping[str, str], columns: Sequence[str]) -> Table:
    """Turns one column per worker into rows (worker, label), empty cells included.

    ``index`` has the columns to stand beside them: names in the table by new names.
    """
    if _is_duckdb(table):
        # Narwhals unpivots on DuckDB's default connection only.
        listed, kept = (", ".join(quote(name) for name in names) for names in (columns, index.values()))
        renamed = ", ".join(f"{quote(old)} AS {quote(new)}" for new, old in index.items())
        relation = _query(
            table,
            lambda source: (
                f"SELECT {renamed}, worker, label FROM (SELECT {kept}, {listed} FROM {source}) "
                f"UNPIVOT INCLUDE NULLS (label FOR worker IN ({listed}))"
            ),
        )
        return _adopted(relation)
    long = table.select(*index.values(), *columns).unpivot(
        on=list(columns), index=list(index.values()), variable_name="crowdopt_worker", value_name="crowdopt_label"
    )
    named = {**index, "worker": "crowdopt_worker", "label": "crowdopt_label"}
    return long.select(*(nw.col(old).alias(new) for new, old in named.items()))


def with_texts(table: Table, names: Sequence[str]) -> Table:
    """The table with some columns as canonical text (see ``scale.canonical_text``), made where the table is."""
    schema = table.collect_schema()
    objects = [name for name in names if schema[name] == nw.Object and table.implementation.is_pandas_like()]
    if objects:
        native = table.collect().to_native()
        texts = {name: native[name].map(canonical_text, na_action="ignore") for name in objects}
        table = nw.from_native(native.assign(**texts)).lazy()
    return table.with_columns(_text(name, schema[name]).alias(name) for name in names if name not in objects)


def with_numbers(table: Table, name: str, new: str) -> Table:
    """The table with a new column: the finite number that a column's value is, null where it is none."""
    dtype = table.collect_schema()[name]
    if dtype.is_numeric():
        # A float of 32 bits is taken for the decimal that it is shown as, so that 0.7 is not less than 0.7.
        column = nw.col(name).cast(nw.String) if dtype == nw.Float32 else nw.col(name)
        number = column.cast(nw.Float64)
        return table.with_columns(nw.when(number.is_finite()).then(number).alias(new))
    if _is_duckdb(table):
        text = f"CAST({quote(name)} AS VARCHAR)"
        parsed = f"TRY_CAST({text} AS DOUBLE)"  # for which 1_000 is a number, too
        case = f"CASE WHEN isfinite({parsed}) AND NOT contains({text}, '_') THEN {parsed} END"
        return _adopted(_query(table, lambda source: f"SELECT *, {case} AS {quote(new)} FROM {source}"))
    if spark.is_spark(table):
        return spark.with_numbers(table, name, new)
    frame = table.collect()
    values = [_plain(value) for value in frame[name].to_list()]
    numbers = [None if value is None else as_number(canonical_text(value)) for value in values]
    return frame.with_columns(nw.new_series(new, numbers, nw.Float64, backend=frame.implementation)).lazy()


def with_types(table: Table, types: Mapping[str, Any]) -> Table:
    """The table with some columns cast."""
    enums = {name: dtype for name, dtype in types.items() if isinstance(dtype, nw.Enum)} if _is_duckdb(table) else {}
    if enums:
        # Narwhals would write the categories as Python does, not as SQL, where they have quotes or line breaks.
        casts = ", ".join(f"CAST({quote(name)} AS {_enum(dtype)}) AS {quote(name)}" for name, dtype in enums.items())
        table = _adopted(_query(table, lambda source: f"SELECT * REPLACE ({casts}) FROM {source}"))
    others = [nw.col(name).cast(dtype) for name, dtype in types.items() if name not in enums]
    return table.with_columns(*others) if others else table


def restore(table: Table, original: Any) -> Any:
    """Gives a table back as the kind of object that the user brought."""
    frame = nw.from_native(original)
    if isinstance(frame, nw.LazyFrame):
        return table.to_native()
    return table.collect().to_native()


def _text(name: str, dtype: Any) -> nw.Expr:
    column = nw.col(name)
    known = ~column.is_null()
    if dtype == nw.Boolean:
        text = nw.when(column).then(nw.lit("true")).otherwise(nw.lit("false"))
    elif dtype.is_float():
        known &= ~column.is_nan()
        column = column.cast(nw.Float64)
        whole = (column.round(0) == column) & (column.abs() < EXACT)
        integer = nw.when(whole).then(column).otherwise(nw.lit(0.0)).cast(nw.Int64)
        text = nw.when(whole).then(integer.cast(nw.String)).otherwise(column.cast(nw.String))
    elif dtype.is_decimal():
        digits = column.cast(nw.String)
        trimmed = digits.str.replace_all("0+$", "").str.replace_all("[.]$", "")
        text = nw.when(digits.str.contains(".", literal=True)).then(trimmed).otherwise(digits)
    elif dtype == nw.Datetime:
        seconds = column.dt.to_string("%Y-%m-%dT%H:%M:%S").str.slice(0, 19)  # PyArrow adds fractions
        rest = column.dt.microsecond().fill_null(0)
        digits = (rest.cast(nw.Int64) + 1_000_000).cast(nw.String).str.slice(1)
        text = nw.when(rest == 0).then(seconds).otherwise(nw.concat_str(seconds, nw.lit("."), digits))
    else:
        text = column.cast(nw.String)
    return nw.when(known).then(text)


def _enum(dtype: nw.Enum) -> str:
    """The type in the words of DuckDB."""
    return f"ENUM ({', '.join(literal(category) for category in dtype.categories)})"


def _small_duckdb(columns: Mapping[str, Sequence[Any] | Objects], like: Table) -> Table:
    """Through a temporary table on the connection of ``like``; DuckDB reads the local variable ``_arrays``."""
    _arrays = {name: _duckdb_column(column) for name, column in columns.items()}
    name = _fresh_name()
    like.to_native().query(_fresh_name(), f"CREATE TEMP TABLE {name} AS SELECT * FROM _arrays")
    return _adopted(_query(like, lambda _: f"SELECT * FROM {name}"))


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
    value = plain_value(value)
    missing = value is None or type(value).__name__ in {"NAType", "NaTType"} or value != value  # noqa: PLR0124
    return None if missing else value


def _plain_columns(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Categories and Python objects that are numbers, booleans or times as such.

    As text, pandas would write 1 as "1.0", true as "True", and times in a way of its own.
    """
    from pandas.api.types import infer_dtype

    native = frame.to_native()
    nullable = {"i": "Int64", "u": "UInt64", "f": "float64", "b": "boolean"}
    inferred = {"boolean": "boolean", "floating": "Float64", "mixed-integer-float": "Float64"}
    plain: dict[str, Any] = {}
    for name, dtype in native.dtypes.items():
        categories = getattr(dtype, "categories", None)
        if categories is not None and infer_dtype(categories) not in {"string", "empty"}:
            plain[name] = nullable.get(categories.dtype.kind, categories.dtype)
        elif dtype == np.dtype("O"):
            kind = infer_dtype(native[name], skipna=True)
            plain |= {name: inferred[kind]} if kind in inferred else {}
    return nw.from_native(native.astype(plain), eager_only=True) if plain else frame


def _query(table: Table, query: Callable[[str], str]) -> Any:
    """Runs or prepares SQL on the connection of a DuckDB table, given the name that stands for the table in it.

    DuckDB makes a view of the table under the name it is given, and what is prepared looks that name up when it
    runs: a name used twice would silently mean the second table.
    """
    name = _fresh_name()
    return table.to_native().query(name, query(name))


def _fresh_name() -> str:
    return f"crowdopt_{uuid.uuid4().hex}"


def _adopted(relation: Any) -> Table:
    table: Table = nw.from_native(relation)
    return table


def _parts(table: Table, key: str, n_parts: int) -> Iterator[Table]:
    """The table, split by the hash of a column into parts of about equal size."""
    if n_parts == 1:
        yield table
        return
    for part in range(n_parts):
        where = f"hash({quote(key)}) % {n_parts} = {part}"
        yield _adopted(table.to_native().filter(where))


def _is_duckdb(table: Table) -> bool:
    return table.implementation.is_duckdb()
