"""What tables of pandas (and of libraries like it) need beside Narwhals: types that Narwhals does not know.

Functions here take the place of those of the same name in ``table.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.errors import ColumnError
from crowdopt.model.letters import shown
from crowdopt.model.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narwhals import LazyFrame

    from crowdopt._arrays import Objects


def is_mine(table: Any) -> bool:
    """Whether a Narwhals table is one of pandas, or of a library like it."""
    return bool(table.implementation.is_pandas_like())


def plain_columns(frame: Any) -> Any:
    """Categories and Python objects that are numbers, booleans or times as such.

    As text, pandas would write 1 as "1.0", true as "True", and times in a way of its own.
    """
    if not isinstance(frame, nw.DataFrame):  # which was adopted before
        return frame
    from pandas.api.types import infer_dtype

    native = frame.to_native()
    nullable = {"i": "Int64", "u": "UInt64", "f": "float64", "b": "boolean"}
    inferred = {"boolean": "boolean", "floating": "Float64", "mixed-integer-float": "Float64"}
    plain: dict[str, Any] = {}
    for name, dtype in native.dtypes.items():
        _check_texts(native[name])
        categories = getattr(dtype, "categories", None)
        if categories is not None and infer_dtype(categories) not in {"string", "empty"}:
            plain[name] = nullable.get(categories.dtype.kind, categories.dtype)
        elif dtype == np.dtype("O"):
            kind = infer_dtype(native[name], skipna=True)
            plain |= {name: inferred[kind]} if kind in inferred else {}
    return nw.from_native(native.astype(plain), eager_only=True) if plain else frame


def _check_texts(column: Any) -> None:
    """Raises if a text has half of a pair of surrogates, which no other library and no file can hold."""
    if column.dtype != np.dtype("O") and getattr(column.dtype, "storage", "") != "python":  # Arrow holds Unicode
        return
    for at, text in enumerate(column):
        if isinstance(text, str) and not text.isascii() and re.search("[\ud800-\udfff]", text):
            raise ColumnError(
                f"column {column.name!r} has a text in row {at + 1:,} that is no Unicode: {shown(text)}; "
                "put it right, or take the row out"
            )


def is_mixed(table: LazyFrame[Any], name: str) -> bool:
    """Asks pandas, whose columns of Python objects may hold both 1 and "1"."""
    if not table.implementation.is_pandas():  # but of a library like it, whose columns pandas cannot ask
        return False
    from pandas.api.types import infer_dtype

    return infer_dtype(table.collect().to_native()[name], skipna=True) in {"mixed", "mixed-integer"}


def several_in_one(table: LazyFrame[Any], name: str) -> str:
    """What kind of Python object that has several values is in a column; empty if there is none."""
    kinds = {list: "lists", tuple: "tuples", dict: "dicts", set: "sets", np.ndarray: "arrays"}
    values = table.collect().to_native()[name]
    return next((kinds[type(value)] for value in values if type(value) in kinds), "")


def small_table(columns: Mapping[str, Sequence[Any] | Objects], *, like: LazyFrame[Any]) -> LazyFrame[Any]:
    """With types of pandas that know missing values."""
    import pandas as pd

    del like
    return nw.from_native(pd.DataFrame({name: _column(column) for name, column in columns.items()})).lazy()


def _column(column: Sequence[Any] | Objects) -> Any:
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


def with_object_texts(table: LazyFrame[Any], names: Sequence[str]) -> LazyFrame[Any]:
    """Object by object, as Python writes them."""
    native = table.collect().to_native()
    texts = {name: native[name].map(canonical_text, na_action="ignore") for name in names}
    changed: LazyFrame[Any] = nw.from_native(native.assign(**texts)).lazy()
    return changed
