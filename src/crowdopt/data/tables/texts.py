"""Columns of texts that change: blanks taken away, and some texts in the place of others. For tables of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.tables.table import Table, small_table
from crowdopt.model.letters import BLANKS, HAS_BLANKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NEW_TEXT = "crowdopt_new_text"
"""The column of texts that take the place of others."""


def trimmed_columns(table: Table, names: Sequence[str]) -> Table:
    """The table with columns of texts that have no blanks around them; what was but blanks is missing."""
    for name in names:
        text = nw.col(name)
        # Looking for blanks is quick, and taking them away is not.
        text = nw.when(text.str.contains(HAS_BLANKS)).then(text.str.strip_chars(BLANKS)).otherwise(text)
        table = table.with_columns(nw.when(text != "").then(text).alias(name))
    return table


def replaced(table: Table, name: str, changes: Mapping[Any, str | None], by: str = "") -> Table:
    """The table with other texts in the place of some in a column; None makes them missing.

    Args:
        table: The table.
        name: The column, which holds texts.
        changes: The new texts by the old ones, or by pairs of the value of ``by`` and the old one.
        by: Another column of texts that decides, too.
    """
    if not changes:
        return table
    olds = list(zip(*changes, strict=True)) if by else [list(changes)]
    columns = dict(zip([*([by] if by else []), name], olds, strict=True))
    news = ["" if new is None else new for new in changes.values()]
    known = small_table({**columns, NEW_TEXT: news}, like=table)
    joined = table.with_columns(nw.col(name).cast(nw.String)).join(known, on=list(columns), how="left")
    text = nw.when(nw.col(NEW_TEXT).is_null()).then(nw.col(name)).otherwise(nw.col(NEW_TEXT))
    return joined.with_columns(nw.when(text != "").then(text).alias(name)).drop(NEW_TEXT)
