"""Columns of which most rows have no value: joins and sorts carry a few numbers in their place, and they come last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.tables import duckdb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats, SmallInts
    from crowdopt.data.tables.table import Table

PLACES, VALUES, ROW = "crowdopt_places", "crowdopt_values", "crowdopt_row"
"""What is carried: in a database lists of columns and values, elsewhere the number of the row that has them."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The values that there are, row by row.

    Attributes:
        names: The columns.
        sizes: How many values each row has.
        place: Of each value the column, by number.
        value: The value.
    """

    names: Sequence[str]
    sizes: SmallInts
    place: SmallInts
    value: Floats

    def carried(self, first: int, *, like: Table) -> dict[str, Any]:
        """What is carried of these rows, of which the first has a number."""
        if not duckdb.is_mine(like):
            return {ROW: np.arange(first, first + len(self.sizes))}
        import pyarrow as pa

        ends = np.append(0, np.cumsum(self.sizes)).astype(np.int32)
        columns = {PLACES: self.place.astype(np.int32), VALUES: self.value}
        return {name: pa.ListArray.from_arrays(ends, pa.array(column)) for name, column in columns.items()}


def spread(table: Table, pieces: Sequence[Entries], wanted: Sequence[str]) -> Table:
    """The table with the columns of entries in the place of what was carried, and the wanted columns in their order.

    Args:
        table: The table.
        pieces: All entries; in a database those of one piece will do.
        wanted: The names of all columns.
    """
    places = {name: at for at, name in enumerate(pieces[0].names)}
    if duckdb.is_mine(table):
        return duckdb.with_listed(table, wanted, places, PLACES, VALUES)
    import pyarrow as pa

    frame = table.collect()
    row = frame[ROW].fill_null(-1).to_numpy().astype(np.int64)
    where = np.full(sum(len(one.sizes) for one in pieces) + 1, -1)  # the last is that of rows without values
    where[row] = np.arange(len(row))
    where[-1] = -1
    place, value = (np.concatenate([getattr(one, name) for one in pieces]) for name in ("place", "value"))
    at = np.repeat(where[:-1], np.concatenate([one.sizes for one in pieces]))
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(len(places) + 1))
    columns = {}
    for name, j in places.items():
        own = order[ends[j] : ends[j + 1]]
        values, missing = np.zeros(len(row)), np.ones(len(row), bool)
        values[at[own]], missing[at[own]] = value[own], False
        columns[name] = pa.array(values, mask=missing)
    wide = nw.from_arrow(pa.table(columns), backend=frame.implementation)
    if frame.implementation.is_pandas_like():
        frame = nw.from_native(frame.to_native().reset_index(drop=True), eager_only=True)
    return nw.concat([frame.drop(ROW), wide], how="horizontal").select(*wanted).lazy()
