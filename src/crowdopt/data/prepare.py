"""Responses of any shape as one long table: renamed, cleaned, with classes, bins and groups; not checked yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.bins import bin_responses
from crowdopt.data.columns import check_answer_columns, choose_responses
from crowdopt.data.rows.spread import spread_columns
from crowdopt.data.rows.timing import timing_rows
from crowdopt.data.tables.table import (
    Table,
    adopt,
    column_names,
    distinct_rows,
    fetch,
    held_as,
    is_mixed,
    lengthen,
    ordered_categories,
    several_in_one,
    with_texts,
)
from crowdopt.data.tables.texts import trimmed_columns
from crowdopt.data.worker_classes import MAX_CLASSES, check_ranks, with_classes, with_known_classes
from crowdopt.errors import ClassError, ColumnError
from crowdopt.model.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.data.reading import Reading

ID_COLUMNS = ("task", "worker", "class", "group")
"""The columns by which rows are told apart."""

GROUP_VALUE = "group_value"
"""The column that has groups as the source has them, where that is not text."""


LABEL_TEXT = "crowdopt_label"
"""The column of labels as text, by which missing ones are found, and their places on the scale of a group."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A long table of responses.

    Attributes:
        table: Columns task, worker, label; class, group and order where they are asked for. Missing values are null;
            classes and groups are texts, and groups of another type stand in a further column.
        kept: One row per task with the columns to carry to the answers, or None.
        types: Types of the task, worker and label columns as the source has them; None for what is no column.
        reading: The options that it was read with; what was taken from the type of the label column, or from the
            range of the scores, is said in them.
        timing: One row per response: worker, task, label, and time or seconds, if anything of that is to be known.
        trims: Whether ids are to lose the blanks around them; those by which something was joined have lost them.
        notes: What was found on the way.
    """

    table: Table
    kept: Table | None
    types: dict[str, Any]
    reading: Reading
    timing: Table | None = None
    trims: bool = False
    notes: tuple[str, ...] = ()

    @property
    def text_ids(self) -> list[str]:
        """The columns of ids that are texts."""
        schema = self.table.collect_schema()
        return [name for name in ID_COLUMNS if name in schema and schema[name] == nw.String]

    def trimmed(self) -> Prepared:
        """The same table with ids that have no blanks around them, and none where there are but blanks."""
        return replace(self, table=trimmed_columns(self.table, self.text_ids), trims=False)

    def usable(self) -> Table:
        """The rows with a task (and group), without label if the rest is incomplete: they keep their task alive."""
        names = [name for name in self.table.collect_schema().names() if name != "label"]
        known = ~nw.col("worker").is_null()
        if "class" in names:
            known &= ~nw.col("class").is_null()
        label = nw.when(known).then(nw.col("label")).alias("label")
        keys = ["task", *(["group"] if "group" in names else [])]
        return self.table.filter(*(~nw.col(key).is_null() for key in keys)).select(*names, label)


def prepare(
    source: Any,
    reading: Reading,
    *,
    n_bins: int = 0,
    resolved: bool = False,
    known: Sequence[str] = (),
    trims: bool = False,
) -> Prepared:
    """Makes a frame (or relation) of responses a long table; see ``responses.check`` for the arguments."""
    if n_bins:
        reading.check_binnable()
    check_ranks(reading)
    table = adopt(source, choose_responses(reading))
    schema = table.collect_schema()
    columns = {"task": reading.task, "worker": reading.worker, "label": reading.label}
    across = spread_columns(reading, column_names(table)) if reading.wide else {}
    if reading.wide:
        columns = {reading.index_role: reading.index}
    types: dict[str, Any] = {"task": None, "worker": None, "label": None}
    types |= {name: schema[held_as(table, own)] for name, own in columns.items()}
    kept = _kept(table, reading, trims=trims)
    timing = _timing(table, reading, trims=trims)
    answered = list(across) or [reading.label]
    table = with_classes(clean(_long(table, reading, across), reading), reading, trims=trims)
    if known:
        table = with_known_classes(trimmed_columns(table, ["class"]) if trims else table, known)
    if reading.group:
        table = _with_groups(table)
    notes: tuple[str, ...] = ()
    if n_bins or reading.bins:
        types["label"] = None
        table, reading, notes = bin_responses(table, reading, n_bins)
    elif not resolved:
        reading = _with_categories(reading, ordered_categories(source, answered))
    return Prepared(table, kept, types, reading, timing, trims, notes)


def each_its_own_class(prepared: Prepared) -> Prepared:
    """The same responses with every worker in a class of its own, which is named as the worker.

    Raises:
        ClassError: There are more workers than there can be classes; of groups each is to be looked at alone.
    """
    columns = ["task", "worker", "label", *(["group"] if prepared.reading.group else [])]
    complete = prepared.table.filter(*(~nw.col(name).is_null() for name in columns))
    workers = distinct_rows(with_texts(complete.select("worker"), ["worker"]))
    names = fetch(workers if prepared.reading.group else workers.head(MAX_CLASSES + 1))["worker"]
    if not prepared.reading.group and len(names) > MAX_CLASSES:
        number = int(fetch(workers.select(nw.len().alias("n")))["n"][0])
        raise ClassError(
            f"there are {number:,} workers, and --each takes at most {MAX_CLASSES}: find classes of them with "
            "--find-classes 8"
        )
    reading = replace(prepared.reading, classes=tuple((name, name) for name in sorted(names)))
    return replace(prepared, table=with_classes(prepared.table, reading), reading=reading)


def _with_groups(table: Table) -> Table:
    """Groups as text, by which they are known everywhere."""
    if table.collect_schema()["group"] != nw.String:
        table = table.with_columns(nw.col("group").alias(GROUP_VALUE))
    return with_texts(table, ["group"])


def _kept(table: Table, reading: Reading, *, trims: bool) -> Table | None:
    if not reading.keep:
        return None
    schema = table.collect_schema()
    keys = {"task": reading.task} | ({"group": reading.group} if reading.group else {})
    check_answer_columns([*([reading.group_name] if reading.group else []), "task", *reading.kept])
    if "group" in keys and "group" in map(str.lower, reading.kept):  # by which kept columns are joined
        raise ColumnError("a column named 'group' cannot be kept beside --group; rename it in the data")
    kept = table.select(
        *(nw.col(held_as(table, old)).alias(new) for new, old in keys.items()),
        *(
            _column(table, held, schema[held], f"the column {name!r} to keep")[1].alias(own)
            for name, own in zip(reading.keep, reading.kept, strict=True)
            for held in [held_as(table, name)]
        ),
    )
    if reading.group:
        kept = with_texts(kept, ["group"])
    if trims:
        kept = trimmed_columns(kept, [key for key in keys if kept.collect_schema()[key] == nw.String])
    # A kept column should be the same in all rows of a task; where it is not, the smallest value is taken,
    # so that the order of rows does not matter.
    return kept.filter(~nw.col("task").is_null()).group_by(*keys).agg(nw.col(name).min() for name in reading.kept)


def _timing(table: Table, reading: Reading, *, trims: bool) -> Table | None:
    rows = timing_rows(table, reading)
    if rows is None:
        return None
    ids = ("task", "worker", "label")
    rows = clean(rows, reading)
    if trims:
        rows = trimmed_columns(rows, [name for name in ids if rows.collect_schema()[name] == nw.String])
    return rows.filter(*(~nw.col(name).is_null() for name in ids))


def _long(table: Table, reading: Reading, across: Mapping[str, str]) -> Table:
    """Columns task, worker, label (and class, group, order), whatever the shape and names of the source."""
    names = {"task": reading.task, "worker": reading.worker, "label": reading.label}
    names |= {"class": reading.class_column, "group": reading.group, "order": reading.order_by}
    names = {new: held_as(table, old) for new, old in names.items() if old}
    if not across:
        return table.select(*(nw.col(old).alias(new) for new, old in names.items()))
    schema = table.collect_schema()
    columns = {held_as(table, old): own for old, own in across.items()}
    if len({schema[name] for name in columns}) > 1 and not all(schema[name].is_numeric() for name in columns):
        table = with_texts(table, list(columns))
    index: dict[str, str] = {new: names[new] for new in (reading.index_role, "class", "group") if new in names}
    return lengthen(table, index, columns, reading.across)


def _with_categories(reading: Reading, categories: tuple[Any, ...]) -> Reading:
    """The reading with the scale that the type of the label column says, unless the user says another.

    So said, the scale is the same when the same data come from elsewhere, where labels are but texts.
    """
    labels = tuple(text for text in map(canonical_text, categories) if text not in {"", *reading.na})
    if len(labels) < 2 or reading.labels or reading.scale == "nominal":
        return reading
    return replace(reading, labels=labels, scale="ordinal")


def clean(table: Table, reading: Reading) -> Table:
    """Missing values as nulls: empty texts, not-a-number, and what --na names; categories as text.

    Texts that --na names are exact here: ``spelling.py`` finds their other spellings.
    """
    schema = table.collect_schema()
    cleaned = []
    for name in schema.names():
        dtype, column = _column(table, name, schema[name], f"the {name} column")
        if name == "label" and dtype == nw.Enum:  # others keep the order that they may be compared by
            dtype, column = nw.String(), column.cast(nw.String)
        if dtype == nw.String:
            missing = ["", *reading.na] if name == "label" else [""]
            # One comparison each: a list would make DuckDB import pandas to read it.
            column = nw.when(*(column != text for text in missing)).then(column)
        elif dtype.is_float():
            column = nw.when(~column.is_nan()).then(column)
        if name == "label" and dtype != nw.String and reading.na:
            table = with_texts(table.with_columns(nw.col(name).alias(LABEL_TEXT)), [LABEL_TEXT])
            column = nw.when(*(nw.col(LABEL_TEXT) != text for text in reading.na_values)).then(column)
        cleaned.append(column.alias(name))
    return table.select(*cleaned)


def _column(table: Table, name: str, dtype: Any, called: str) -> tuple[Any, nw.Expr]:
    """A column that has one value per row, all of one type, and its type; categories without an order as text."""
    if dtype.is_nested():
        raise ColumnError(
            f"{called} holds nested values ({dtype}); it must hold one value per row: make a column of what is wanted"
        )
    if dtype == nw.Object and (several := several_in_one(table, name)):
        raise ColumnError(f"{called} holds {several}; it must hold one value per row")
    if dtype == nw.Object and is_mixed(table, name):
        raise ColumnError(f"{called} holds values of several types; make it one type")
    if dtype == nw.Categorical:
        return nw.String(), nw.col(name).cast(nw.String)
    return dtype, nw.col(name)
