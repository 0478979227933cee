"""Gold: tasks whose label is known beforehand. They keep it, and their responses teach how workers answer.

Which tasks these are is a choice of reading: they stand in the solution file, as texts, so that ``verify`` needs no
second file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from crowdopt.errors import InputError
from crowdopt.frames import Table, fetch, fetch_integers, settle, small_table, with_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.scale import Scale
    from crowdopt.types import Ints

TEXT = "crowdopt.task"
"""The column of tasks as text, by which gold tasks are found."""


@dataclass(frozen=True, eq=False)
class GoldCounts:
    """The gold tasks, as found in the data.

    Attributes:
        table: One row per gold task: its text, and the label that it has.
        responses: Their responses by (label, class, answer).
        tasks: Their number by label.
        counts: Their distinct counts of answers, which are not to be estimated.
        weights: How many of them have each of these.
    """

    table: Table
    responses: Ints
    tasks: Ints
    counts: Ints
    weights: Ints

    def taken_from(self, counts: Ints, weights: Ints) -> tuple[Ints, Ints]:
        """What is left of a histogram of all tasks: distinct counts, and how many tasks have each."""
        rows = np.concatenate([counts, self.counts])
        distinct, index = np.unique(rows, axis=0, return_inverse=True)
        left = np.zeros(len(distinct), np.int64)
        np.add.at(left, index.reshape(-1), np.concatenate([weights, -self.weights]))
        return distinct[left > 0], left[left > 0]


def count_gold(per_task: Table, columns: dict[str, int], gold: Sequence[tuple[str, str]], scale: Scale) -> GoldCounts:
    """Finds the gold tasks among all tasks, and counts their responses.

    Raises:
        InputError: If a label is not on the scale, or a task is not in the data.
    """
    off_scale = [(task, label) for task, label in gold if label not in scale.labels]
    if off_scale:
        task, label = off_scale[0]
        raise InputError(
            f"the gold label {label!r} of task {task!r} is not on the scale {', '.join(scale.labels)}; name the whole "
            "scale with --labels"
        )
    index = [scale.index(label) for _, label in gold]
    tasks = [task for task, _ in gold]
    wanted = small_table({TEXT: tasks, "gold": np.array(index, np.int64)}, like=per_task)
    found = settle(with_text(per_task).join(wanted, on=TEXT, how="inner").select(TEXT, "gold", *columns))
    _check_found(tasks, found)
    histogram = fetch_integers(found.group_by("gold", *columns).agg(nw.len().alias("n_tasks")))
    labels, weights = histogram["gold"], histogram["n_tasks"]
    counts = np.zeros((len(weights), scale.n_labels), np.int64)
    for name, j in columns.items():
        counts[:, j] = histogram[name]
    responses = np.zeros((scale.n_labels, 1, scale.n_labels), np.int64)
    np.add.at(responses, labels, (counts * weights[:, None])[:, None])
    by_label = np.zeros(scale.n_labels, np.int64)
    np.add.at(by_label, labels, weights)
    values = small_table({TEXT: tasks, "gold": [scale.values[j] for j in index]}, like=per_task)
    return GoldCounts(values, responses, by_label, counts, weights)


def with_text(table: Table) -> Table:
    """The table with a further column: its tasks as text."""
    return with_texts(table.with_columns(nw.col("task").alias(TEXT)), [TEXT])


def _check_found(tasks: list[str], found: Table) -> None:
    texts = set(fetch(found.select(TEXT))[TEXT])
    if unknown := [task for task in tasks if task not in texts]:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise InputError(f"the gold task {unknown[0]!r}{more} is not in the data")
