"""What tables of DuckDB need beside Narwhals: names that it does not quote, and work under a limit of memory.

Files are tables of DuckDB, too. Functions here take the place of those of the same name in ``table.py``.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.tables.digest_words import DIGITS, WORDS
from crowdopt.data.tables.names import hidden, unhidden
from crowdopt.data.tables.odd import OddIds
from crowdopt.data.tables.workspace import literal, path_literal, quote
from crowdopt.model.letters import BLANKS, HAS_BLANKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from narwhals import LazyFrame

    from crowdopt._arrays import Ints, Objects

NOT_QUOTED = '".'
"""The signs in names that Narwhals does not quote for DuckDB: a dot stands between table and column."""

PARTS = (1, 4, 16, 64)
"""Into how many parts a table is split when memory runs out, attempt by attempt."""


def is_mine(table: Any) -> bool:
    """Whether a Narwhals table is one of DuckDB."""
    return bool(table.implementation.is_duckdb())


def folds_case(table: Any) -> bool:
    """Names that differ in case alone are one to DuckDB."""
    del table
    return True


def held_as(table: Any, name: str) -> str:
    """Another name if the column's has a sign that Narwhals does not quote."""
    del table
    return hidden(name, NOT_QUOTED)


def column_names(table: LazyFrame[Any]) -> list[str]:
    """The inverse of :func:`held_as`."""
    return [unhidden(name) for name in table.collect_schema().names()]


def released(table: LazyFrame[Any]) -> Any:
    """The relation with the names that the user gave."""
    names = {name: held_as(table, name) for name in column_names(table)}
    return table.to_native().project(", ".join(f"{quote(held)} AS {quote(name)}" for name, held in names.items()))


def select_columns(frame: Any, chosen: Sequence[str]) -> Any:
    """The columns under the names that :func:`held_as` gives them."""
    names = {name: held_as(frame, name) for name in chosen}
    if all(name == held for name, held in names.items()):
        return frame.select(*chosen)
    listed = ", ".join(f"{quote(name)} AS {quote(held)}" for name, held in names.items())
    return nw.from_native(frame.to_native().project(listed))


def settle(table: LazyFrame[Any]) -> LazyFrame[Any]:
    """Through a temporary table on the connection of ``table``."""
    name = _fresh_name()
    _query(table, lambda source: f"CREATE TEMP TABLE {name} AS SELECT * FROM {source} WITH NO DATA")
    table.to_native().insert_into(name)  # which, unlike CREATE TABLE AS, heeds an interrupt
    return _adopted(_query(table, lambda _: f"SELECT * FROM {name}"))


def settle_by(
    table: LazyFrame[Any], key: str, step: Callable[[LazyFrame[Any]], LazyFrame[Any]], folder: Path | None
) -> LazyFrame[Any]:
    """With a folder, DuckDB writes the result to a file there and keeps nothing of it in memory.

    And where its memory limit does not suffice, it works in parts: its GROUP BY spills, but not always enough for
    millions of groups.
    """
    if folder is None:
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


def surely_distinct(table: LazyFrame[Any], columns: Sequence[str]) -> bool:
    """Distinct hashes prove distinct rows at half the cost of comparing the rows; equal ones prove nothing."""
    listed = ", ".join(quote(name) for name in columns)
    relation = _query(table, lambda source: f"SELECT count(*) = count(DISTINCT hash({listed})) FROM {source}")
    return bool(relation.fetchall()[0][0])


def odd_ids(table: LazyFrame[Any], name: str, by: str = "") -> OddIds:
    """In SQL. Distinct hashes prove that no two ids are alike, at a small part of what it costs to group them."""
    text, blank = quote(name), f"regexp_matches({quote(name)}, {literal(HAS_BLANKS)})"
    key = f"lower(nfc_normalize(CASE WHEN {blank} THEN trim({text}, {literal(BLANKS)}) ELSE {text} END))"
    keys = ", ".join([*([quote(by)] if by else []), key])
    n, n_keys, n_blank, first = _only_row(
        table,
        lambda source: (
            f"SELECT count({text}), count(DISTINCT hash({keys})), count(*) FILTER ({blank}), "
            f"min({text}) FILTER ({blank}) FROM {source} WHERE {text} IS NOT NULL"
        ),
    )
    if n == n_keys:
        return OddIds(n_blank, first or "", 0, ())
    pairs = f"count(*) AS n, [min({text}), max({text})] AS pair"
    n_alike, pair = _only_row(
        table,
        lambda source: (
            f"SELECT coalesce(sum(n), 0)::BIGINT, min(pair) FROM (SELECT {pairs} FROM {source} "
            f"WHERE {text} IS NOT NULL GROUP BY {keys} HAVING count(*) > 1)"
        ),
    )
    return OddIds(n_blank, first or "", n_alike, tuple(pair or ()))


def _only_row(table: LazyFrame[Any], query: Callable[[str], str]) -> tuple[Any, ...]:
    row: tuple[Any, ...] = _query(table, query).fetchall()[0]
    return row


def digest_sums(table: LazyFrame[Any], by: Sequence[str]) -> dict[str, list[Any]]:
    """By SHA-256 of DuckDB."""
    keys = "".join(f"{quote(name)}, " for name in by)
    text = "concat(strlen(task), ' ', strlen(worker), ' ', task, worker, label)"
    words = {name: f"CAST('0x' || substr(digest, {first}, {DIGITS}) AS BIGINT)" for name, first in WORDS.items()}
    sums = ", ".join(f"sum({word}) AS {name}" for name, word in words.items())
    digests = f"SELECT {keys}sha256({text}) AS digest FROM"
    return fetch(
        _adopted(
            _query(table, lambda source: f"SELECT {keys}count(*) AS n, {sums} FROM ({digests} {source}) GROUP BY ALL")
        )
    )


STREAMED = 1 << 17
"""Rows of a batch of a stream."""


def coded_stream(table: LazyFrame[Any], labels: Sequence[str]) -> tuple[Any, Iterator[Any]]:
    """By DuckDB, whose sort spills; workers and labels become codes first, so that there is less to sort."""
    worker, label = _fresh_name(), _fresh_name()
    _query(table, lambda source: f"CREATE TYPE {worker} AS ENUM (SELECT DISTINCT worker FROM {source} ORDER BY worker)")
    _query(table, lambda _: f"CREATE TYPE {label} AS ENUM ({', '.join(map(literal, labels))})")
    workers = _query(table, lambda _: f"SELECT unnest(enum_range(NULL::{worker}))::VARCHAR AS worker")
    codes = f"enum_code(worker::{worker})::INTEGER AS worker, enum_code(label::{label})::SMALLINT AS label"
    rows = _query(table, lambda source: f"SELECT task, {codes} FROM {source} ORDER BY ALL")
    return workers.to_arrow_table()["worker"].combine_chunks(), _batches(rows.to_arrow_reader(STREAMED))


def _batches(reader: Any) -> Iterator[Any]:
    """The batches of a reader; what goes wrong on the way is DuckDB's, but Arrow has other names for it."""
    import duckdb
    import pyarrow as pa

    try:
        yield from reader
    except (pa.ArrowException, OSError) as error:
        kind = duckdb.OutOfMemoryException if "Out of Memory" in str(error) else duckdb.IOException
        raise kind(str(error)) from error


def fetch(table: LazyFrame[Any]) -> dict[str, list[Any]]:
    """Without Narwhals, which would go through Arrow."""
    native = table.to_native()
    rows = native.fetchall()
    return {name: [row[i] for row in rows] for i, name in enumerate(native.columns)}


def fetch_integers(table: LazyFrame[Any]) -> dict[str, Ints]:
    """Without Narwhals, which would go through Arrow."""
    found = table.to_native().fetchnumpy()
    return {name: np.asarray(found.pop(name)).astype(np.int64, copy=False) for name in list(found)}


def small_table(columns: Mapping[str, Sequence[Any] | Objects], *, like: LazyFrame[Any]) -> LazyFrame[Any]:
    """Through a temporary table on the connection of ``like``; DuckDB reads the local variable ``_arrays``."""
    import pyarrow as pa

    _arrays = pa.table({name: _arrow(column) for name, column in columns.items()})
    name = _fresh_name()
    like.to_native().query(_fresh_name(), f"CREATE TEMP TABLE {name} AS SELECT * FROM _arrays")
    return _adopted(_query(like, lambda _: f"SELECT * FROM {name}"))


def table_of_parts(parts: Iterable[Mapping[str, Any]], *, like: LazyFrame[Any]) -> LazyFrame[Any]:
    """Through a temporary table, part by part: no more than one of them is in Python's memory."""
    import pyarrow as pa

    name = ""
    for part in parts:
        _arrays = pa.table({column: _arrow(values) for column, values in part.items()})
        command = f"INSERT INTO {name}" if name else f"CREATE TEMP TABLE {(name := _fresh_name())} AS"
        like.to_native().query(_fresh_name(), f"{command} SELECT * FROM _arrays")
    return _adopted(_query(like, lambda _: f"SELECT * FROM {name}"))


def with_listed(
    table: LazyFrame[Any],
    wanted: Sequence[str],
    places: Mapping[str, int],
    listed: str,
    values: str,
) -> LazyFrame[Any]:
    """Columns of a table, and some made of two lists: the numbers of those that a row has, and their values."""

    def column(name: str) -> str:
        if name not in places:
            return quote(name)
        return f"list_extract({values}, list_position({listed}, {places[name]})) AS {quote(name)}"

    return _adopted(_query(table, lambda source: f"SELECT {', '.join(map(column, wanted))} FROM {source}"))


def _arrow(column: Sequence[Any] | Objects) -> Any:
    """A column as an Arrow array; values of several types become texts.

    DuckDB would also read arrays of objects, but asks of every value whether it is one of pandas, and looks for that.
    """
    import pyarrow as pa

    try:
        return pa.array(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in column])


def lengthen(table: LazyFrame[Any], index: Mapping[str, str], columns: Mapping[str, str], role: str) -> LazyFrame[Any]:
    """In SQL: Narwhals unpivots on DuckDB's default connection only."""
    beside = "".join(f"{quote(old)} AS {quote(new)}, " for new, old in index.items())
    names, cells = ", ".join(map(literal, columns.values())), ", ".join(map(quote, columns))
    return _adopted(
        _query(
            table,
            lambda source: (
                f"SELECT {beside}unnest([{names}]) AS {quote(role)}, unnest([{cells}]) AS label FROM {source}"
            ),
        )
    )


def with_parsed(table: LazyFrame[Any], name: str, new: str) -> LazyFrame[Any]:
    """In SQL, which is where the texts are."""
    text = f"CAST({quote(name)} AS VARCHAR)"
    parsed = f"TRY_CAST({text} AS DOUBLE)"  # for which 1_000 is a number, too
    case = f"CASE WHEN isfinite({parsed}) AND NOT contains({text}, '_') THEN {parsed} END"
    return _adopted(_query(table, lambda source: f"SELECT *, {case} AS {quote(new)} FROM {source}"))


def in_utc(table: LazyFrame[Any], names: Sequence[str]) -> LazyFrame[Any]:
    """In SQL: Narwhals leaves times in the zone of the connection."""
    times = ", ".join(f"timezone('UTC', {quote(name)}) AS {quote(name)}" for name in names)
    return _adopted(_query(table, lambda source: f"SELECT * REPLACE ({times}) FROM {source}"))


def with_enums(table: LazyFrame[Any], enums: Mapping[str, nw.Enum]) -> LazyFrame[Any]:
    """In SQL: Narwhals would write the categories as Python does, which goes wrong with quotes and line breaks."""
    types = {name: f"ENUM ({', '.join(map(literal, dtype.categories))})" for name, dtype in enums.items()}
    casts = ", ".join(f"CAST({quote(name)} AS {dtype}) AS {quote(name)}" for name, dtype in types.items())
    return _adopted(_query(table, lambda source: f"SELECT * REPLACE ({casts}) FROM {source}"))


def _query(table: LazyFrame[Any], query: Callable[[str], str]) -> Any:
    """Runs or prepares SQL on the connection of a table, given the name that stands for the table in it.

    DuckDB makes a view of the table under the name it is given, and what is prepared looks that name up when it
    runs: a name used twice would silently mean the second table.
    """
    name = _fresh_name()
    return table.to_native().query(name, query(name))


def _fresh_name() -> str:
    return f"crowdopt_{uuid.uuid4().hex}"


def _adopted(relation: Any) -> LazyFrame[Any]:
    table: LazyFrame[Any] = nw.from_native(relation)
    return table


def _parts(table: LazyFrame[Any], key: str, n_parts: int) -> Iterator[LazyFrame[Any]]:
    """The table, split by the hash of a column into parts of about equal size."""
    if n_parts == 1:
        yield table
        return
    for part in range(n_parts):
        where = f"hash({quote(key)}) % {n_parts} = {part}"
        yield _adopted(table.to_native().filter(where))
