"""The canonical texts of a column, the same from every library: what ``scale.canonical_text`` gives for each value."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from crowdopt.model.scale import EXPONENT


def canonical_texts(name: str, dtype: Any) -> nw.Expr:
    """The texts of a column of some type; missing where it has no value."""
    column = nw.col(name)
    known = ~column.is_null()
    if dtype == nw.Boolean:
        text = nw.when(column).then(nw.lit("true")).otherwise(nw.lit("false"))
    elif dtype.is_float():
        known &= ~column.is_nan()
        column = column.cast(nw.Float64)
        whole = (column.round(0) == column) & (column.abs() < EXPONENT)
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
