"""Hygiene of values: ids lose the blanks around them, labels that are one are spelled as one, and what is odd is said.

All of it is made of the overview, which has every label and every worker: rows are looked at again only where something
must change. ``spelling.py`` decides about labels, ``tables/odd_ids`` looks at ids, ``notes.py`` has the words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.notes import alike_note, blank_note, label_notes, rare_note, trimmed_note
from crowdopt.data.overview import Overview
from crowdopt.data.prepare import each_its_own_class
from crowdopt.data.spelling import Spelling, pooled, rare_labels, spell
from crowdopt.data.tables.spark import is_spark
from crowdopt.data.tables.table import Table, fetch, odd_ids, small_table
from crowdopt.data.tables.texts import replaced
from crowdopt.model.letters import HAS_BLANKS, without_invisible
from crowdopt.model.scale import MAX_LABELS, canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.data.prepare import Prepared
    from crowdopt.data.readers.postgres_counts import Server
    from crowdopt.data.reading import Reading

MAX_SPELLINGS = 20_000
"""Labels that one problem may have before those that are one are put together."""

MAX_GROUPED_SPELLINGS = 200_000
"""The same for all groups together, each of which has labels of its own."""


@dataclass(frozen=True, eq=False)
class Clean:
    """Responses that were looked through.

    Attributes:
        prepared: The responses, with labels and ids that were put right.
        overview: What is in them.
        notes: What was odd about them, and what was done.
    """

    prepared: Prepared
    overview: Overview
    notes: tuple[str, ...]


def look_through(
    prepared: Prepared, *, named: Sequence[str] = (), each: bool = False, server: Server | None = None
) -> Clean:
    """Looks through prepared responses and puts labels and ids right.

    Args:
        prepared: The responses.
        named: The labels that the user names, or that a solution has.
        each: Whether every worker is to be a class of its own.
        server: Who counts the rows, if they are better left where they are; told of labels that change.
    """
    notes = [*prepared.notes]
    blanks = prepared.trims and "task" in prepared.text_ids
    counted = server.overview() if server else None
    overview = Overview(prepared.table, prepared.reading, counted, blanks=blanks)
    if prepared.trims:
        if rows := _blank_rows(overview, prepared.text_ids):
            notes.append(trimmed_note(rows, prepared.reading))
            prepared = prepared.trimmed()
            overview = Overview(prepared.table, prepared.reading)
        prepared = replace(prepared, trims=False)
    if each:
        prepared = each_its_own_class(prepared)
        overview = Overview(prepared.table, prepared.reading)
    prepared, overview, of_labels = _with_one_spelling(prepared, overview, named, server)
    of_ids = () if prepared.reading.verbatim else _about_ids(overview)
    return Clean(prepared, overview, (*notes, *of_labels, *of_ids))


def _blank_rows(overview: Overview, names: Sequence[str]) -> dict[str, int]:
    """In how many rows each kind of id has blanks around it; kinds without any are left out."""
    rows = {}
    for name in names:
        if name == "task":
            found = fetch(overview.table.select(nw.col("blank_task").sum().alias("n")))["n"]
        elif name in overview.table.collect_schema().names():
            own = overview.table.filter(nw.col(name).str.contains(HAS_BLANKS))
            found = fetch(own.select(nw.col("n").sum()))["n"]
        else:
            continue
        if found[0]:
            rows[name] = int(found[0])
    return rows


def _with_one_spelling(
    prepared: Prepared, overview: Overview, named: Sequence[str], server: Server | None
) -> tuple[Prepared, Overview, tuple[str, ...]]:
    """The same with one spelling for each label, and what to say of the labels."""
    reading = prepared.reading
    if overview.table.collect_schema()["label"] != nw.String:
        return prepared, overview, () if reading.bins else _about_numbers(overview, reading, named)
    if reading.bins:
        return prepared, overview, ()
    limit = MAX_GROUPED_SPELLINGS if reading.group else MAX_SPELLINGS
    counts = _label_counts(overview, limit)
    if len(counts) > limit:
        return prepared, overview, (f"there are more than {limit:,} labels: their spelling was not compared",)
    typed = () if named else reading.labels  # by the type of the column
    whole = spell({**dict.fromkeys(typed, 0), **counts}, reading, named, typed)
    if typed:
        reading = _with_scale(reading, [whole.changes.get(label, label) for label in typed])
        prepared, overview = replace(prepared, reading=reading), Overview(prepared.table, reading, overview.table)
    changes: Mapping[Any, str | None] = whole.changes
    if reading.group:
        changes, whole = _by_group(overview, whole, counts, named or reading.labels)
    if changes:
        by = "group" if reading.group else ""
        step = partial(replaced, name="label", changes=changes, by=by)
        overview = overview.changed(step)
        types = prepared.types | {"label": _type_of(prepared.types["label"], changes)}
        prepared = replace(prepared, table=step(prepared.table), types=types)
        if server is not None:
            server.replace_labels(whole.changes)
    many = reading.group and len(whole.counts) > MAX_LABELS  # groups have labels of their own, all of them rare
    return prepared, overview, label_notes(whole, reading, whole.counts if many else {*named, *reading.labels})


def _label_counts(overview: Overview, limit: int) -> dict[str, int]:
    """How many complete responses have each label, also if none has it; of too many labels one more than ``limit``."""
    counted = _counted(overview).group_by("label").agg(nw.col("n").sum())
    found = fetch(counted.head(limit + 1))
    return dict(zip(found["label"], map(int, found["n"]), strict=True))


def _counted(overview: Overview) -> Table:
    """The rows of the overview that have a label, and in ``n`` how many of their responses are complete."""
    complete = [~nw.col(name).is_null() for name in overview.needed]
    n = nw.when(*complete).then(nw.col("with_task")).otherwise(nw.lit(0)).alias("n")
    by = ["group"] if overview.reading.group else []
    return overview.table.filter(~nw.col("label").is_null()).select(*by, "label", n)


def _by_group(
    overview: Overview, whole: Spelling, counts: Mapping[str, int], named: Sequence[str]
) -> tuple[dict[tuple[str, str], str | None], Spelling]:
    """What changes in each group, and what was found in all of them.

    Only labels are looked at that are one with another label, wherever that is, or that change in any case.
    """
    suspicious = {label for of in whole.merged.values() for label in of} | whole.changes.keys()
    suspicious |= {label for same in whole.alike for label in same}
    signs = {label for label in counts if without_invisible(label) in {"+", "-"}}
    suspicious |= signs if signs & suspicious else set()  # they tell of each other whether they are answers
    suspicious &= counts.keys()
    if not suspicious:
        return {}, whole
    labels = small_table({"label": sorted(suspicious)}, like=overview.table)
    known = _counted(overview).filter(~nw.col("group").is_null()).with_columns(nw.col("label").cast(nw.String))
    found_there = known.join(labels, on="label", how="inner").group_by("group", "label")
    rows = fetch(found_there.agg(nw.col("n").sum()))
    groups: dict[str, dict[str, int]] = {}
    for group, label, number in zip(rows["group"], rows["label"], rows["n"], strict=True):
        groups.setdefault(group, {})[label] = int(number)
    reading = overview.reading
    found = {group: spell(groups[group], reading, named) for group in sorted(groups)}
    others = spell({label: n for label, n in counts.items() if label not in suspicious}, reading, named)
    changes = {(group, old): new for group, one in found.items() for old, new in one.changes.items()}
    return changes, pooled([others, *found.values()])


def _with_scale(reading: Reading, labels: Sequence[str | None]) -> Reading:
    """The reading with the scale that the type of a column says, whose labels may have become fewer."""
    left = tuple(dict.fromkeys(label for label in labels if label is not None))
    return replace(reading, labels=left) if len(left) > 1 else replace(reading, labels=(), scale="")


def _type_of(dtype: Any, changes: Mapping[Any, str | None]) -> Any:
    """The type that labels can have in the answers: not one of categories among which a new spelling is not."""
    news = {new for new in changes.values() if new is not None}
    return nw.String() if isinstance(dtype, nw.Enum) and not news <= set(dtype.categories) else dtype


def _about_numbers(overview: Overview, reading: Reading, named: Sequence[str]) -> tuple[str, ...]:
    """What to say of labels that are numbers or truth values: they are what they are, but may be rare."""
    if reading.group:
        return ()
    counts = {canonical_text(label): n for label, n in _label_counts(overview, MAX_SPELLINGS).items()}
    rare = rare_labels(counts, {*named, *reading.labels})
    return (rare_note(counts, rare, reading),) if rare and len(counts) <= MAX_SPELLINGS else ()


def _about_ids(overview: Overview) -> tuple[str, ...]:
    """What to say of workers, classes and groups with blanks around their names, and of those that may be one."""
    schema = overview.table.collect_schema()
    each = all(worker == name for worker, name in overview.reading.classes)  # then classes are but the workers again
    roles = ("worker", *(() if overview.reading.classes and each else ("class",)), "group")
    return tuple(note for role in roles if schema.get(role) == nw.String for note in _about(role, overview.usable))


def _about(role: str, usable: Table) -> list[str]:
    known = usable.filter(~nw.col(role).is_null()).group_by(role).agg(nw.col("with_task").sum().alias("n"))
    odd = odd_ids(known, role)
    counts = [int(fetch(known.filter(nw.col(role) == name))["n"][0]) for name in odd.alike]
    notes = [blank_note(role, odd.n_blank, odd.blank)] if odd.n_blank else []
    return [*notes, *([alike_note(role, odd.n_alike, odd.alike, counts)] if odd.n_alike else [])]


def about_tasks(tasks: Table, reading: Reading) -> tuple[str, ...]:
    """What to say of tasks with blanks around their names, and of those that may be one.

    Args:
        tasks: A table with a row for each task, of each group if there are groups.
        reading: The options of reading.
    """
    if reading.verbatim or is_spark(tasks) or tasks.collect_schema()["task"] != nw.String:
        return ()
    odd = odd_ids(tasks, "task", "group" if reading.group else "")
    notes = [blank_note("task", odd.n_blank, odd.blank)] if odd.n_blank else []
    return (*notes, *([alike_note("task", odd.n_alike, odd.alike)] if odd.n_alike else []))
