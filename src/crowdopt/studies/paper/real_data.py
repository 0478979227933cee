"""Real responses with known truth: a folder with responses.csv (task, worker, label) and truth.csv (task, label)."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.data.columns import choose_truth
from crowdopt.data.known_labels import gold_pairs
from crowdopt.data.load import load, open_table
from crowdopt.data.reading import Reading
from crowdopt.data.tables.table import fetch, with_texts
from crowdopt.data.tables.workspace import Workspace
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Ints


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
    folder, reading = Path(folder), Reading(duplicates="error", missing="error")
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder" if folder.exists() else f"no such folder: {folder}")
    responses, truth = folder / "responses.csv", folder / "truth.csv"
    with Workspace() as workspace:
        with _about(responses):
            source = load(responses, reading, workspace)
            rows = fetch(with_texts(source.counts.table, ["task"]))
        with _about(truth):
            true = dict(gold_pairs(open_table(truth, choose_truth(reading), reading, workspace), reading))
    labels = source.responses.scale.labels
    if len(labels) != 2:
        raise InputError(f"{responses}: the experiment needs two labels, not {len(labels)} ({', '.join(labels)})")
    if strange := sorted(set(true.values()) - set(labels)):
        raise InputError(f"{truth}: {strange[0]!r} is not among the answers ({', '.join(labels)})")
    counts = np.column_stack([np.asarray(rows[name], np.int64) for name in source.counts.columns])
    used = [at for at in np.argsort(rows["task"]) if rows["task"][at] in true and counts[at].sum()]
    if not used:
        raise InputError(f"{folder}: no task has both a response and a true label")
    return Known(counts[used], np.array([labels.index(true[rows["task"][at]]) for at in used], np.int64))


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Makes errors name the file, and not advise options that are not to be had here."""
    try:
        yield
    except InputError as error:
        what = re.split("; (?:add|try|leave out) --", str(error))[0].removeprefix("the gold ")
        raise InputError(what if str(path) in what else f"{path}: {what}") from error
