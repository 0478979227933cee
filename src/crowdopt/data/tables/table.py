"""What is done to tables, in the few operations that every kind of frame must offer.

All work on tables is written once, in Narwhals, and runs where the table lives: pandas, Polars, PyArrow, DuckDB
(which also holds the files) or Spark. Where a library needs something else, its module (``duckdb.py``, ``pandas.py``,
``pyarrow.py``, ``spark.py``) has a function of the same name as here, which takes the place of the one here.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import narwhals as nw
import numpy as np

from crowdopt.data.tables import duckdb, pandas, pyarrow, spark
from crowdopt.data.tables.canonical import canonical_texts
from crowdopt.data.tables.odd import FEW, OddIds, odd_among
from crowdopt.data.tables.workspace import Workspace
from crowdopt.errors import ColumnError, InputError
from crowdopt.model.scale import as_number, canonical_text, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crowdopt._arrays import Ints, Objects
    from crowdopt.data.columns import Choose

Table: TypeAlias = "nw.LazyFrame[Any]"
"""A table of any kind, worked on lazily where its library is lazy."""

BACKENDS = (duckdb, pandas, pyarrow, spark)
"""The modules that have functions of their own; Polars does with those here."""

BATCH = 1 << 18
"""Rows of a table in memory that are handed to a database at a time."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _by_backend(common: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function of a table: that of the same name of the table's backend, if it has one, else this one.

    The table is the argument ``like``, or else the first one.
    """

    @wraps(common)
    def chosen(*args: _P.args, **named: _P.kwargs) -> _R:
        table = named["like"] if "like" in named else args[0]
        backend = next((one for one in BACKENDS if one.is_mine(table)), None)
        own: Callable[_P, _R] = getattr(backend, common.__name__, common)
        return own(*args, **named)

    return chosen


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
        frame = select_columns(frame, _chosen(frame, choose))
    table: Table = plain_columns(frame).lazy()
    return table


@_by_backend
def select_columns(frame: Any, chosen: Sequence[str]) -> Any:
    """Some columns of a user's frame, if they can be worked with, under the names that :func:`held_as` gives them."""
    return frame.select(*chosen)


@_by_backend
def held_as(table: Table, name: str) -> str:
    """What an adopted table calls a column of the user's."""
    del table
    return name


@_by_backend
def column_names(table: Table) -> list[str]:
    """The columns of an adopted table under the names that the user gave them."""
    names: list[str] = table.collect_schema().names()
    return names


@_by_backend
def released(table: Table) -> Any:
    """An adopted table, which is lazy where it lives, as one of its library, with the names that the user gave."""
    return table.to_native()


@_by_backend
def plain_columns(frame: Any) -> Any:
    """A user's frame with columns of types that Narwhals writes as text in the way that all others do."""
    return frame


@_by_backend
def is_mixed(table: Table, name: str) -> bool:
    """Whether a column of Python objects holds values of several types."""
    del table, name
    return False


@_by_backend
def several_in_one(table: Table, name: str) -> str:
    """What kind of Python object that has several values is in a column of Python objects; empty if there is none."""
    del table, name
    return ""


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
    return categories_of(nw.from_native(data), names)


@_by_backend
def categories_of(frame: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """The categories of some columns if they all have the same, lowest first; none if these have no order."""
    schema = frame.collect_schema()
    types = [schema[name] for name in names]
    first = types[0]
    return first.categories if isinstance(first, nw.Enum) and all(dtype == first for dtype in types) else ()


def _chosen(frame: Any, choose: Choose) -> list[str]:
    names = frame.collect_schema().names()
    if odd := [name for name in names if not isinstance(name, str)]:
        raise ColumnError(f"column names must be texts, not {odd[0]!r}")
    return choose(names)


@_by_backend
def settle(table: Table) -> Table:
    """Computes a table once, so that later steps do not compute it again."""
    return table.collect().lazy()


@_by_backend
def settle_by(table: Table, key: str, step: Callable[[Table], Table], folder: Path | None) -> Table:
    """``settle(step(table))`` for large tables, where ``step`` treats the values of ``key`` independently.

    With a folder, a backend may write the result to a file there, and work in parts.
    """
    del key, folder
    return settle(step(table))


@_by_backend
def distinct_rows(table: Table) -> Table:
    """The distinct rows, in no particular order."""
    return table.unique()


@_by_backend
def folds_case(table: Table) -> bool:
    """Whether the names of two columns must differ in more than case."""
    del table
    return False


@_by_backend
def surely_distinct(table: Table, columns: Sequence[str]) -> bool:
    """Whether all rows differ in ``columns``; False also means "not known"."""
    del table, columns
    return False


@_by_backend
def fetch(table: Table) -> dict[str, list[Any]]:
    """Brings a small table into Python lists, missing values as None."""
    return {
        name: [_plain(value) for value in column] for name, column in table.collect().to_dict(as_series=False).items()
    }


@_by_backend
def fetch_integers(table: Table) -> dict[str, Ints]:
    """Brings a table of integers without gaps into arrays."""
    return {column.name: column.to_numpy().astype(np.int64) for column in table.collect().iter_columns()}


def fetch_arrow(table: Table) -> Any:
    """Brings a table of any length into an Arrow table, without the index that pandas would leave in it."""
    return table.collect().to_arrow().select(table.collect_schema().names())


@_by_backend
def coded_stream(table: Table, labels: Sequence[str]) -> tuple[Any, Iterator[Any]] | None:
    """Responses of any number, sorted: all workers, and batches of (task, code of the worker, code of the label).

    None if they are in memory anyhow, or if they must not come here in a stream.

    Args:
        table: Columns task, worker and label, all texts.
        labels: The labels in the order of their codes.
    """
    del table, labels
    return None


@contextmanager
def in_database(table: Table) -> Iterator[Table]:
    """The table where SQL can be asked: one in memory as a stream that DuckDB reads once, all but fractions as text.

    Fractions stay what they are, as DuckDB writes them as ``canonical_text`` does, and some libraries do not.
    """
    if duckdb.is_mine(table) or spark.is_mine(table):
        yield table
        return
    import pyarrow as pa

    frame = table.collect()
    fractions = {name: dtype.is_float() for name, dtype in frame.schema.items()}
    texts, floats = ([name for name, is_float in fractions.items() if is_float is kind] for kind in (False, True))
    types = pa.schema([(name, pa.float64() if fractions[name] else pa.large_string()) for name in fractions])

    def batches() -> Iterator[Any]:
        for start in range(0, len(frame), BATCH):
            part = with_texts(frame[start : start + BATCH].lazy(), texts)
            arrow = part.with_columns(nw.col(name).cast(nw.Float64) for name in floats).collect().to_arrow()
            yield from arrow.select(list(fractions)).cast(types).to_batches()

    with Workspace() as place:
        yield nw.from_native(place.connection.from_arrow(pa.RecordBatchReader.from_batches(types, batches())))


@_by_backend
def odd_ids(table: Table, name: str, by: str = "") -> OddIds:
    """What is odd about ids, of which a table has each once; those of other values of ``by`` have nothing in common."""
    columns = [*([by] if by else []), name]
    frame = table.filter(~nw.col(name).is_null()).select(*columns).collect()
    if len(frame) <= FEW:
        return odd_among(zip(*(frame[column].to_list() for column in columns), strict=True))
    with in_database(frame.lazy()) as there:
        return duckdb.odd_ids(settle(there), name, by)  # which is read only once


@_by_backend
def digest_sums(table: Table, by: Sequence[str]) -> dict[str, list[Any]]:
    """Rows, and sums of the numbers of the digests of rows (task, worker, label), for all values of ``by``.

    All columns are texts; see ``data/fingerprint.py`` for what is summed.
    """
    del by
    raise TypeError(f"digests are summed by SQL, and a table of {table.implementation} knows none: see in_database")


def coded(name: str, codes: Mapping[Any, int], otherwise: int) -> nw.Expr:
    """The number that stands for each value of a column."""
    code = nw.lit(otherwise)
    for value, number in codes.items():
        code = nw.when(nw.col(name) == value).then(nw.lit(number)).otherwise(code)
    return code


@_by_backend
def small_table(columns: Mapping[str, Sequence[Any] | Objects], *, like: Table) -> Table:
    """Makes a table of the same kind as ``like``, in the same place, from columns with None where missing."""
    plain = {
        name: column.tolist() if isinstance(column, np.ndarray) else list(column) for name, column in columns.items()
    }
    # A column of nothing but None has no type, and PyArrow does not join it; here it is one of numbers.
    empty = [name for name, column in plain.items() if all(value is None for value in column)]
    frame = nw.from_dict(plain, backend=like.implementation)
    return frame.lazy().with_columns(nw.col(*empty).cast(nw.Float64) if empty else [])


@_by_backend
def table_of_parts(parts: Iterable[Mapping[str, Any]], *, like: Table) -> Table:
    """:func:`small_table` of columns that come in parts; an Arrow array is a column, too."""
    columns: dict[str, list[Any]] = {}
    for part in parts:
        for name, column in part.items():
            columns.setdefault(name, []).extend(column.to_pylist() if hasattr(column, "to_pylist") else column)
    return small_table(columns, like=like)


@_by_backend
def lengthen(table: Table, index: Mapping[str, str], columns: Mapping[str, str], role: str) -> Table:
    """Turns one column per worker (or task) into rows, one for each cell, empty ones included.

    ``columns`` says what each is called in the new column ``role``, and ``index`` what stands beside: new names first.
    """
    longer = max(map(len, columns.values())) + 1  # than the name of any worker, each of which is a column for a moment
    beside = {new: f"crowdopt_{place}".ljust(longer, "_") for place, new in enumerate(index)}
    renamed = {beside[new]: old for new, old in index.items()} | {own: old for old, own in columns.items()}
    long = table.select(nw.col(old).alias(new) for new, old in renamed.items()).unpivot(
        on=list(columns.values()), index=list(beside.values()), variable_name="crowdopt_of", value_name="crowdopt_label"
    )
    named = beside | {role: "crowdopt_of", "label": "crowdopt_label"}
    return long.select(*(nw.col(old).alias(new) for new, old in named.items()))


def with_texts(table: Table, names: Sequence[str]) -> Table:
    """The table with some columns as canonical text (see ``scale.canonical_text``), made where the table is."""
    schema = table.collect_schema()
    objects = [name for name in names if schema[name] == nw.Object]
    if objects:
        table = with_object_texts(table, objects)
    zoned = [name for name in names if isinstance(kind := schema[name], nw.Datetime) and kind.time_zone is not None]
    if zoned:
        table = in_utc(table, zoned)
    return table.with_columns(canonical_texts(name, schema[name]).alias(name) for name in names if name not in objects)


@_by_backend
def in_utc(table: Table, names: Sequence[str]) -> Table:
    """The table with some columns of times that have a zone as the times in Greenwich."""
    return table.with_columns(nw.col(name).dt.convert_time_zone("UTC") for name in names)


@_by_backend
def with_object_texts(table: Table, names: Sequence[str]) -> Table:
    """The table with some columns of Python objects as canonical text."""
    return table.with_columns(nw.col(name).cast(nw.String) for name in names)


def with_numbers(table: Table, name: str, new: str) -> Table:
    """The table with a new column: the finite number that a column's value is, null where it is none."""
    dtype = table.collect_schema()[name]
    if dtype.is_numeric():
        # A float of 32 bits is taken for the decimal that it is shown as, so that 0.7 is not less than 0.7, and a whole
        # number for the nearest fraction, where Arrow would raise.
        by_text = dtype == nw.Float32 or dtype.is_integer()
        column = nw.col(name).cast(nw.String) if by_text else nw.col(name)
        number = column.cast(nw.Float64)
        return table.with_columns(nw.when(number.is_finite()).then(number).alias(new))
    return with_parsed(table, name, new)


@_by_backend
def with_parsed(table: Table, name: str, new: str) -> Table:
    """The table with a new column: the finite number that a text or a truth value is written as, else null."""
    frame = table.collect()
    values = [_plain(value) for value in frame[name].to_list()]
    numbers = [None if value is None else as_number(canonical_text(value)) for value in values]
    return frame.with_columns(nw.new_series(new, numbers, nw.Float64, backend=frame.implementation)).lazy()


def with_types(table: Table, types: Mapping[str, Any]) -> Table:
    """The table with some columns cast."""
    enums = {name: dtype for name, dtype in types.items() if isinstance(dtype, nw.Enum)}
    if enums:
        table = with_enums(table, enums)
    others = [nw.col(name).cast(dtype) for name, dtype in types.items() if name not in enums]
    return table.with_columns(*others) if others else table


@_by_backend
def with_enums(table: Table, enums: Mapping[str, nw.Enum]) -> Table:
    """The table with some columns cast to categories."""
    return table.with_columns(nw.col(name).cast(dtype) for name, dtype in enums.items())


def restore(table: Table, original: Any) -> Any:
    """Gives a table back as the kind of object that the user brought."""
    frame = nw.from_native(original)
    if isinstance(frame, nw.LazyFrame):
        return table.to_native()
    return table.collect().to_native()


def _plain(value: Any) -> Any:
    """NumPy scalars as Python's own; missing values of any library as None."""
    value = plain_value(value)
    missing = value is None or type(value).__name__ in {"NAType", "NaTType"} or value != value  # noqa: PLR0124
    return None if missing else value
