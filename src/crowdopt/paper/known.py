"""Real responses with known truth: a folder with responses.csv (task, worker, label) and truth.csv (task, label)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.errors import InputError
from crowdopt.frames import fetch, with_texts
from crowdopt.read.columns import choose_truth
from crowdopt.reading import Reading
from crowdopt.source import load, open_table
from crowdopt.truth import gold_pairs
from crowdopt.workspace import Workspace

if TYPE_CHECKING:
    from crowdopt.types import Ints


@dataclass(frozen=True, eq=False)
class Known:
    """Responses to tasks whose true label is known; small enough to be handed to another process.

    Attributes:
        counts: Responses by (task, label), tasks in order of their names.
        truth: Index of the true label of each task.
    """

    counts: Ints
    truth: Ints

    @property
    def fewest(self) -> int:
        """The fewest responses that a task has."""
        return int(self.counts.sum(axis=1).min())


def read_known(folder: str | Path) -> Known:
    """Reads a folder; tasks without a response or without a true label are left out.

    Raises:
        InputError: A file is missing or wrong, there are more labels than two, or nothing is left.
    """
    folder, reading = Path(folder), Reading()
    with Workspace() as workspace:
        source = load(folder / "responses.csv", reading, workspace)
        labels = source.responses.scale.labels
        rows = fetch(with_texts(source.counts.table, ["task"]))
        truths = open_table(folder / "truth.csv", choose_truth(reading), reading, workspace)
        true = dict(gold_pairs(truths, reading))
    if len(labels) != 2:
        raise InputError(f"{folder}: the experiment needs two labels, not {', '.join(labels)}")
    if strange := sorted(set(true.values()) - set(labels)):
        raise InputError(f"{folder / 'truth.csv'}: {strange[0]!r} is not among the answers ({', '.join(labels)})")
    counts = np.column_stack([np.asarray(rows[name], np.int64) for name in source.counts.columns])
    used = [at for at in np.argsort(rows["task"]) if rows["task"][at] in true and counts[at].sum()]
    if not used:
        raise InputError(f"{folder}: no task has both a response and a true label")
    return Known(counts[used], np.array([labels.index(true[rows["task"][at]]) for at in used], np.int64))
