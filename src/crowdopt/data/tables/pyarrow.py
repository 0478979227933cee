"""What tables of PyArrow need beside Narwhals, which does not tell whether their categories are ordered.

Functions here take the place of those of the same name in ``table.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_mine(table: Any) -> bool:
    """Whether a Narwhals table is one of PyArrow."""
    return bool(table.implementation.is_pyarrow())


def categories_of(frame: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """The dictionaries of the columns, whose chunks may have one each."""
    columns = [frame.to_native()[name] for name in names]
    found = {
        tuple(chunk.dictionary.to_pylist()) if getattr(column.type, "ordered", False) else ()
        for column in columns
        for chunk in column.chunks
    }
    return found.pop() if len(found) == 1 else ()
