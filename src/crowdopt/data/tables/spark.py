"""What tables of Apache Spark need beside Narwhals: to be kept between steps, and small tables in their place.

Functions here take the place of those of the same name in ``table.py``. Rows stay on the cluster. What comes to the
driver are counts of buckets, of labels and of classes; what goes back is a small table, broadcast and joined.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np

from crowdopt.data.tables.digest_words import DIGITS, WORDS
from crowdopt.data.tables.names import hidden, unhidden
from crowdopt.data.tables.odd import OddIds
from crowdopt.errors import ColumnError, InputError
from crowdopt.model.letters import BLANKS, HAS_BLANKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narwhals import LazyFrame

    from crowdopt._arrays import Ints, Objects

NUMBER = r"^\s*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?\s*$"
"""How a number is written; Java would also take 1d and 0x1p3 for numbers."""

ONE_VALUE = (
    nw.Boolean, nw.Date, nw.Datetime, nw.Decimal, nw.Float32, nw.Float64, nw.Int8, nw.Int16, nw.Int32, nw.Int64,
    nw.String,
)  # fmt: skip
"""The types that tasks, workers and labels can have."""


def is_spark(table: Any) -> bool:
    """Whether a Narwhals table is one of Spark."""
    return bool(table.implementation.is_pyspark() or table.implementation.is_pyspark_connect())


is_mine = is_spark


def folds_case(table: Any) -> bool:
    """Names that differ in case alone are one to Spark."""
    del table
    return True


NOT_QUOTED = ".`"
"""The signs in names that Narwhals does not quote for Spark."""


def held_as(table: Any, name: str) -> str:
    """Another name if the column's has a sign that Narwhals does not quote."""
    del table
    return hidden(name, NOT_QUOTED)


def column_names(table: LazyFrame[Any]) -> list[str]:
    """The inverse of :func:`held_as`."""
    return [unhidden(name) for name in table.collect_schema().names()]


def released(table: LazyFrame[Any]) -> Any:
    """The table with the names that the user gave."""
    native = table.to_native()
    return native.select(*(native[name].alias(unhidden(name)) for name in native.columns))


def select_columns(frame: Any, chosen: Sequence[str]) -> Any:
    """The columns, if Spark can count by all of them, under the names that :func:`held_as` gives them.

    Raises:
        ColumnError: With the column, its type and what to do.
        InputError: The table is one of Spark Connect.
    """
    if frame.implementation.is_pyspark_connect():
        raise InputError("a table of Spark Connect cannot be kept between steps: bring one of a classic Spark session")
    table = frame.to_native()
    native, schema = table.schema, frame.collect_schema()
    _check_case(table, chosen)
    for name in chosen:
        if schema[name] not in ONE_VALUE:
            kind = native[name].dataType.simpleString()
            raise ColumnError(
                f"the column {name!r} is of type {kind}, which does not hold one plain value per row: cast it to "
                "string, or to a number"
            )
    quoted = {name: "`" + name.replace("`", "``") + "`" for name in chosen}
    return _adopted(table.select(*(table[own].alias(held_as(frame, name)) for name, own in quoted.items())))


def _check_case(native: Any, chosen: Sequence[str]) -> None:
    """Raises if Spark takes another column for one of these, as it does not look at case unless it is told to."""
    if native.sparkSession.conf.get("spark.sql.caseSensitive") == "true":
        return
    for name in chosen:
        alike = [other for other in native.columns if other.lower() == name.lower()]
        if len(alike) > 1:
            raise ColumnError(f"the columns {', '.join(map(repr, alike))} differ in case only: rename all but one")


def lengthen(table: LazyFrame[Any], index: Mapping[str, str], columns: Mapping[str, str], role: str) -> LazyFrame[Any]:
    """By Spark itself, for which a worker's name is a value then, and may have any signs in it."""
    from pyspark.sql import functions as sql

    native = table.to_native()
    cells = {f"crowdopt_cell_{place}": old for place, old in enumerate(columns)}  # a worker may be called "task"
    beside = [native[old].alias(new) for new, old in index.items()]
    long = native.select(*beside, *(native[old].alias(cell) for cell, old in cells.items())).unpivot(
        list(index), list(cells), "crowdopt_of", "crowdopt_label"
    )
    names = sql.create_map(*(sql.lit(text) for cell, old in cells.items() for text in (cell, columns[old])))
    return _adopted(long.select(*index, names[long["crowdopt_of"]].alias(role), long["crowdopt_label"].alias("label")))


def settle(table: LazyFrame[Any]) -> LazyFrame[Any]:
    """Has Spark keep a table once it is computed, for as long as the object that is returned is there."""
    native = table.to_native()
    if native.storageLevel.useMemory:  # it keeps the same table for someone else, and would warn
        return table
    return _adopted(_kept(native))


def _kept(native: Any) -> Any:
    native = native.persist()
    weakref.finalize(native, _release, native._jdf).atexit = False  # noqa: SLF001 - the table but not the object
    return native


class Keeper:
    """Has Spark keep tables for a piece of work: all of them are forgotten if it fails, else each with its object."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def keep(self, native: Any) -> Any:
        """Has a table kept once it is computed."""
        native = _kept(native)
        self._kept.append(native._jdf)  # noqa: SLF001 - see settle
        return native

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for one in self._kept if kind else ():
            _release(one)
        self._kept.clear()


def _release(kept: Any) -> None:
    """In a thread of its own: what runs now may be in the middle of a talk with Spark, and the talks are by thread."""
    threading.Thread(target=_forget, args=(kept,), daemon=True).start()


def _forget(kept: Any) -> None:
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):  # Spark has stopped: there is nothing to forget
        kept.unpersist()


def distinct_rows(table: LazyFrame[Any]) -> LazyFrame[Any]:
    """By Spark itself; Narwhals would number and sort them."""
    return _adopted(table.to_native().distinct())


def odd_ids(table: LazyFrame[Any], name: str, by: str = "") -> OddIds:
    """On the cluster, which knows no Unicode forms: ids that differ in these alone are not found."""
    text, keys = nw.col(name), [*([by] if by else []), "crowdopt_key"]
    known = table.filter(~text.is_null())
    blank = fetch(known.filter(text.str.contains(HAS_BLANKS)).select(nw.len().alias("n"), text.min().alias("first")))
    keyed = known.with_columns(text.str.strip_chars(BLANKS).str.to_lowercase().alias("crowdopt_key"))
    grouped = keyed.group_by(*keys).agg(nw.len().alias("n"), text.min().alias("first"), text.max().alias("last"))
    several = grouped.filter(nw.col("n") > 1)
    sums = fetch(several.select(nw.col("n").sum(), nw.col("first").min()))
    if not sums["n"][0]:
        return OddIds(blank["n"][0], blank["first"][0] or "", 0, ())
    last = fetch(several.filter(nw.col("first") == sums["first"][0]).select(nw.col("last").min()))["last"][0]
    return OddIds(blank["n"][0], blank["first"][0] or "", int(sums["n"][0]), (sums["first"][0], last))


def digest_sums(table: LazyFrame[Any], by: Sequence[str]) -> dict[str, list[Any]]:
    """On the cluster; sums have up to 38 digits, and so never overflow."""
    from pyspark.sql import functions as sql

    lengths = [sql.concat(sql.octet_length(name).cast("string"), sql.lit(" ")) for name in ("task", "worker")]
    digest = sql.sha2(sql.concat(*lengths, "task", "worker", "label"), 256)
    words = {name: sql.conv(sql.substring("digest", first, DIGITS), 16, 10) for name, first in WORDS.items()}
    sums = [sql.sum(word.cast("decimal(28, 0)")).alias(name) for name, word in words.items()]
    digests = table.to_native().select(*by, digest.alias("digest"))
    return fetch(_adopted(digests.groupBy(*by).agg(sql.count("digest").alias("n"), *sums)))


def fetch(table: LazyFrame[Any]) -> dict[str, list[Any]]:
    """Brings a small table into Python lists."""
    native = table.to_native()
    rows = native.collect()
    return {name: [row[i] for row in rows] for i, name in enumerate(native.columns)}


def fetch_integers(table: LazyFrame[Any]) -> dict[str, Ints]:
    """Brings a small table of integers into arrays."""
    found = table.to_native().toArrow()
    return {name: found[name].to_numpy().astype(np.int64) for name in found.column_names}


def small_table(columns: Mapping[str, Sequence[Any] | Objects], *, like: LazyFrame[Any]) -> LazyFrame[Any]:
    """A table of Python values in the session of ``like``; Spark knows its size, and broadcasts it to be joined."""
    import pyarrow as pa

    arrays = {name: pa.array(_plain(column)) for name, column in columns.items()}
    known = {name: array.cast(pa.float64()) if array.type == pa.null() else array for name, array in arrays.items()}
    return _adopted(like.to_native().sparkSession.createDataFrame(pa.table(known)))


def _plain(column: Sequence[Any] | Objects) -> Any:
    return column.tolist() if isinstance(column, np.ndarray) and column.dtype == object else column


def with_parsed(table: LazyFrame[Any], name: str, new: str) -> LazyFrame[Any]:
    """By a pattern, as Java reads more as numbers than others do."""
    from pyspark.sql import functions as sql

    native = table.to_native()
    text = native[name].cast("string")
    number = sql.when(text.rlike(NUMBER), text.cast("double"))
    finite = sql.when(sql.abs(number) < float("inf"), number)
    return _adopted(native.withColumn(new, finite))


def in_utc(table: LazyFrame[Any], names: Sequence[str]) -> LazyFrame[Any]:
    """As they are: Spark writes times in the zone of its session, which is the user's to choose."""
    del names
    return table


def _adopted(native: Any) -> LazyFrame[Any]:
    table: LazyFrame[Any] = nw.from_native(native)
    return table
