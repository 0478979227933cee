"""Gold: tasks whose label is known beforehand. They keep it, and their responses teach how workers answer.

Which tasks these are is a choice of reading: they stand in the solution file, as texts, so that ``verify`` needs no
second file. Other known labels are only compared with the answers: a truth, and what an export of a tool knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.bins import bin_truth
from crowdopt.data.columns import choose_group_truth, choose_truth
from crowdopt.data.prepare import clean
from crowdopt.data.spelling import onto, tidy_label
from crowdopt.data.tables.table import (
    Table,
    adopt,
    distinct_rows,
    fetch,
    fetch_integers,
    settle,
    small_table,
    with_texts,
)
from crowdopt.data.tables.texts import replaced
from crowdopt.errors import GoldError, InputError
from crowdopt.model.letters import HAS_BLANKS, look_key, shown_apart, told_apart, trimmed
from crowdopt.model.scale import canonical_text, named_labels

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from crowdopt._arrays import Ints
    from crowdopt.data.reading import Reading
    from crowdopt.model.scale import Scale

TASK_TEXT = "crowdopt_task"
"""The column of tasks as text, by which gold tasks are found."""

GOLD_COLUMN = "gold"
"""The column that has the index of a gold task's label."""

MAX_KNOWN = 100_000
"""Labels, in all groups together, that are compared with those of the responses."""

NOT_GOLD = -1
"""What other tasks have there."""


@dataclass(frozen=True, eq=False)
class GoldCounts:
    """The gold tasks by their label and their counts of answers: one row for all that have both in common.

    Attributes:
        labels: The label of each row.
        counts: Answers by class and label; of many labels, all answers together.
        weights: How many tasks have this label and these counts.
    """

    labels: Ints
    counts: Ints
    weights: Ints

    @classmethod
    def of(cls, per_task: Table, columns: dict[str, int], shape: tuple[int, int]) -> GoldCounts:
        """Counts the gold tasks of a table (see :func:`with_gold`), in counts of ``shape`` (classes, labels)."""
        found = (
            per_task.filter(nw.col(GOLD_COLUMN) != NOT_GOLD)
            .group_by(GOLD_COLUMN, *columns)
            .agg(nw.len().alias("n_tasks"))
        )
        histogram = fetch_integers(found.sort(GOLD_COLUMN, *columns))
        return cls(histogram[GOLD_COLUMN], count_array(histogram, columns, shape), histogram["n_tasks"])

    @property
    def responses(self) -> Ints:
        """Their responses by (label, class, answer)."""
        responses = np.zeros((self.counts.shape[2], *self.counts.shape[1:]), np.int64)
        np.add.at(responses, self.labels, self.counts * self.weights[:, None, None])
        return responses

    @property
    def n_responses(self) -> int:
        """The number of all of them."""
        return int(self.counts.sum(axis=(1, 2)) @ self.weights)

    @property
    def n_tasks(self) -> int:
        """Their number."""
        return int(self.weights.sum())

    @property
    def tasks(self) -> Ints:
        """Their number by label."""
        tasks = np.zeros(self.counts.shape[2], np.int64)
        np.add.at(tasks, self.labels, self.weights)
        return tasks

    def taken_from(self, counts: Ints, weights: Ints) -> tuple[Ints, Ints]:
        """What is left of a histogram of all tasks: distinct counts, and how many tasks have each."""
        rows = np.concatenate([counts, self.counts])
        distinct, index = np.unique(rows, axis=0, return_inverse=True)
        left = np.zeros(len(distinct), np.int64)
        np.add.at(left, index.reshape(-1), np.concatenate([weights, -self.weights]))
        return distinct[left > 0], left[left > 0]


def count_array(histogram: Mapping[str, Ints], columns: Mapping[str, int], shape: tuple[int, int]) -> Ints:
    """Counts by (row, class, label) from columns that are named by their place in a row."""
    counts = np.zeros((len(histogram["n_tasks"]), shape[0] * shape[1]), np.int64)
    for name, at in columns.items():
        counts[:, at] = histogram[name]
    return counts.reshape(-1, *shape)


def with_gold(per_task: Table, reading: Reading, scale: Scale, *, given: bool = False) -> Table:
    """The table with a further column: the index of the label that a task is known to have.

    Args:
        per_task: The table.
        reading: The options of reading, with the gold.
        scale: The labels.
        given: Whether the user gives the gold now, and can change it.

    Raises:
        GoldError: If a label is not on the scale, or a task is not in the data.
    """
    gold = reading.gold
    off_scale = [(task, label) for task, label in gold if label not in scale.places]
    if off_scale:
        raise _off_scale(*off_scale[0], scale, reading)
    tasks, index = [task for task, _ in gold], [scale.index(label) for _, label in gold]
    known = small_table({TASK_TEXT: tasks, GOLD_COLUMN: np.array(index, np.int64)}, like=per_task)
    table = with_text(per_task)
    _check_found(known, table, given=given)
    joined = table.join(known, on=TASK_TEXT, how="left").drop(TASK_TEXT)
    return joined.with_columns(nw.col(GOLD_COLUMN).fill_null(NOT_GOLD).cast(nw.Int64))


def _off_scale(task: str, label: str, scale: Scale, reading: Reading) -> GoldError:
    """The error for a gold label that the responses do not have."""
    (written,), labels = told_apart([label], scale.labels)
    tidy = not (reading.tidy or reading.verbatim) and tidy_label(label, scale.labels)
    what_to_do = (
        "--tidy takes labels that look alike for one" if tidy else "correct it, or name the whole scale with --labels"
    )
    return GoldError(
        f"the gold label {written} of task {task!r} is not on the scale {named_labels(labels)}; {what_to_do}"
    )


def with_text(table: Table) -> Table:
    """The table with a further column: its tasks as text."""
    return with_texts(table.with_columns(nw.col("task").alias(TASK_TEXT)), [TASK_TEXT])


def without_gold(table: Table, gold: Sequence[tuple[str, str]]) -> Table:
    """The rows of a table by task whose task is not gold."""
    known = small_table({TASK_TEXT: [task for task, _ in gold]}, like=table)
    return with_text(table).join(known, on=TASK_TEXT, how="anti").drop(TASK_TEXT)


def _check_found(known: Table, table: Table, *, given: bool) -> None:
    if unknown := sorted(fetch(known.join(table, on=TASK_TEXT, how="anti").select(TASK_TEXT))[TASK_TEXT]):
        more = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
        look = look_key(unknown[0])
        there = fetch(table.select(TASK_TEXT).head(MAX_KNOWN))[TASK_TEXT]
        near = min((task for task in there if look_key(task) == look), default=None)
        written = shown_apart([unknown[0], *([near] if near else [])])
        meant = f"; did you mean {written[1]}? Else" if near else ";"
        remedy = f"{meant} take {'them' if more else 'it'} out of the gold" if given else ""
        raise GoldError(f"the gold task {written[0]}{more} is not in the data{remedy}")


@dataclass(frozen=True, eq=False)
class ExportLabels:
    """The known labels that an export brings, where they are not pinned.

    Attributes:
        table: Them, as the source has them.
        answered: Whether the annotations that say so are responses, too.
    """

    table: Any
    answered: bool


@dataclass(frozen=True, eq=False)
class KnownBy:
    """What known labels are for: the spelling that tasks and labels have there is theirs, too.

    Attributes:
        tasks: A table with a column of tasks.
        scales: The labels of each group; of the group with an empty name if there are none.
    """

    tasks: Table
    scales: Mapping[str, Sequence[str]]

    def spelled(self, table: Table, reading: Reading) -> Table:
        """Known labels (task, label, perhaps group) in the spelling that the responses have."""
        if reading.verbatim:
            return table
        schema = table.collect_schema()
        if reading.group:
            table = replaced(table, "group", self._trimmed(_with_blanks(table, "group"), set(self.scales)))
        if schema["task"] == nw.String and (odd := _with_blanks(table, "task")):
            names = small_table({TASK_TEXT: odd}, like=self.tasks)
            there = fetch(names.join(with_text(self.tasks.select("task")), on=TASK_TEXT, how="semi"))[TASK_TEXT]
            table = replaced(table, "task", self._trimmed(odd, set(there)))
        if schema["label"] != nw.String:
            return table
        return replaced(table, "label", self._labels(table, reading), "group" if reading.group else "")

    def _trimmed(self, odd: Sequence[str], there: Collection[str]) -> dict[str, str | None]:
        """What ids with blanks around them become: the same without, unless there are such ids in the responses."""
        return {text: trimmed(text) for text in odd if text not in there}

    def _labels(self, table: Table, reading: Reading) -> dict[Any, str | None]:
        by = ["group"] if reading.group else []
        rows = fetch(distinct_rows(table.filter(~nw.col("label").is_null()).select(*by, "label")).head(MAX_KNOWN))
        labels: dict[str, list[str]] = {}
        for group, label in zip(rows["group"] if by else [""] * len(rows["label"]), rows["label"], strict=True):
            labels.setdefault(group, []).append(label)
        return {
            (group, old) if by else old: new
            for group, own in labels.items()
            for old, new in onto(own, self.scales.get(group, ()), reading).items()
        }


def _with_blanks(table: Table, name: str) -> list[str]:
    """The texts of a column that have blanks around them."""
    return fetch(distinct_rows(table.filter(nw.col(name).str.contains(HAS_BLANKS)).select(name)))[name]


def labelled_tasks(data: Any, reading: Reading, called: str, known_by: KnownBy | None = None) -> Table:
    """A table of known labels as (task, label), one row per task; raises if a task has two.

    Where the responses are in groups, it is (group, task, label), all as texts. Tasks and labels are spelled as what
    they are known for spells them.
    """
    table = _labelled(data, reading, known_by)
    _check_once(table, _keys(reading), called)
    return table


def agreed_labels(data: Any, reading: Reading, known_by: KnownBy) -> tuple[Table, int]:
    """The same without the tasks that have two known labels, and how many these are."""
    table, keys = _labelled(data, reading, known_by), _keys(reading)
    times = table.group_by(*keys).agg(nw.len().alias("n"))
    several = int(fetch(times.filter(nw.col("n") > 1).select(nw.len().alias("n")))["n"][0])
    if several:
        once = times.filter(nw.col("n") == 1).select(*keys)
        table = settle(table.join(once, on=keys, how="inner"))
    return table, several


def _keys(reading: Reading) -> list[str]:
    return [*(["group"] if reading.group else []), "task"]


def _labelled(data: Any, reading: Reading, known_by: KnownBy | None) -> Table:
    """A table of known labels, in which no row is there twice."""
    table = adopt(data, choose_group_truth(reading) if reading.group else choose_truth(reading))
    roles = [*_keys(reading), "label"]
    named = zip(roles, table.collect_schema().names(), strict=True)
    table = clean(table.select(*(nw.col(own).alias(role) for role, own in named)), reading)
    if reading.bins:
        table = bin_truth(table, reading)
    table = with_texts(table, roles) if reading.group else table
    if known_by is not None:
        table = known_by.spelled(table, reading)
    return settle(table.filter(*(~nw.col(role).is_null() for role in roles)).unique())


def gold_pairs(data: Any, reading: Reading, known_by: KnownBy | None = None) -> tuple[tuple[str, str], ...]:
    """The gold tasks of a table and their labels, as sorted texts."""
    called = "gold of the export" if reading.export_gold else "gold"
    rows = fetch(with_texts(labelled_tasks(data, reading, called, known_by), ["task", "label"]))
    if not rows["task"]:
        raise InputError("the gold has no rows with a task and a label")
    return tuple(sorted(zip(rows["task"], rows["label"], strict=True)))


def _check_once(table: Table, keys: Sequence[str], called: str) -> None:
    times = table.group_by(*keys).agg(nw.len().alias("n"))
    repeated = fetch(times.filter(nw.col("n") > 1).sort(*keys).head(1))
    if repeated["task"]:
        group = f" of group {repeated['group'][0]!r}" if "group" in keys else ""
        raise InputError(f"the {called} gives task {canonical_text(repeated['task'][0])!r}{group} two different labels")
