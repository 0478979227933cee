"""Source: data of any kind, read, checked and counted. All that is done to data of any size happens here."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdopt.classes import class_pairs, pairs_of, with_found, with_pairs, worker_classes
from crowdopt.counted import Counted
from crowdopt.read.columns import Choose, choose_classes, choose_responses, choose_truth
from crowdopt.read.tables import explain_errors, read_files
from crowdopt.responses import Responses, TaskCounts, check, count_tasks
from crowdopt.scale import canonical_text
from crowdopt.solution import Totals
from crowdopt.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crowdopt.frames import Table
    from crowdopt.reading import Reading
    from crowdopt.scale import Scale

OnPhase = Callable[[str], None]
"""Called with a short text when a new phase of the work begins."""


@dataclass(frozen=True, eq=False)
class Source:
    """The responses and what was counted, for as long as a solution is in memory: not part of its file.

    Attributes:
        responses: The checked responses.
        counts: Responses per task, and the buckets.
        original: What the user gave.
        workspace: The database that files were read with; None for frames.
        found: The classes of workers that were found, where they are a table of their own (worker, class): on Spark.
    """

    responses: Responses
    counts: TaskCounts
    original: Any
    workspace: Workspace | None
    found: Table | None = None

    @property
    def counted(self) -> Counted:
        """What solving needs."""
        responses, counts = self.responses, self.counts
        return Counted(responses.scale, responses.classes, counts.buckets, counts.gold, self.totals, responses.reading)

    @property
    def reading(self) -> Reading:
        """How the data were read."""
        return self.responses.reading

    @property
    def totals(self) -> Totals:
        """The numbers of what went in."""
        gold = self.counts.gold
        n_gold = int(gold.tasks.sum()) if gold else 0
        return Totals(
            n_tasks=self.counts.buckets.n_tasks + self.counts.n_no_response + n_gold,
            n_gold=n_gold,
            n_no_response=self.counts.n_no_response,
            n_workers=self.responses.n_workers,
            n_responses=self.counts.buckets.n_responses + (int(gold.responses.sum()) if gold else 0),
            n_dropped=self.responses.n_dropped,
        )


def load(
    data: Any,
    reading: Reading,
    workspace: Workspace | None,
    *,
    n_bins: int = 0,
    resolved: bool = False,
    scale: Scale | None = None,
    known: Sequence[str] = (),
    gold: Any = None,
    classes: Any = None,
    on_phase: OnPhase = lambda _: None,
) -> Source:
    """Reads, checks (see ``responses.check``) and counts the responses.

    Args:
        data: The responses.
        reading: How to read them.
        workspace: The database to read files with.
        n_bins: Number of bins to put scores into; see ``responses.check``.
        resolved: Whether the reading comes from a solution; see ``responses.check``.
        scale: The scale that the labels must be on; see ``responses.check``.
        known: The classes that workers can be in; see ``responses.check``.
        gold: Tasks of known label.
        classes: Classes of workers.
        on_phase: Called when a new phase begins.
    """
    if classes is not None:
        reading = read_classes(classes, reading, workspace)
    with explain_errors(paths_of(data)):
        table = open_table(data, choose_responses(reading), reading, workspace)
        responses = check(table, reading, n_bins=n_bins, resolved=resolved, scale=scale, known=known)
        if gold is not None:
            responses = replace(responses, reading=read_gold(gold, responses.reading, workspace))
        on_phase("counting")
        counts = count_tasks(responses, workspace.folder if workspace else None)
        return Source(responses, counts, data, workspace)


def read_gold(gold: Any, reading: Reading, workspace: Workspace | None) -> Reading:
    """The reading with the tasks of known label: a path, a table, or a dict of labels by task."""
    from crowdopt.truth import gold_pairs

    if isinstance(gold, dict):
        import pyarrow as pa

        gold = pa.table(
            {
                name: [None if _is_missing(value) else canonical_text(value) for value in values]
                for name, values in (("task", gold), ("label", gold.values()))
            }
        )
    with opened(gold, choose_truth(reading), reading, workspace) as table:
        return replace(reading, gold=gold_pairs(table, reading))


def read_classes(classes: Any, reading: Reading, workspace: Workspace | None) -> Reading:
    """The reading with the classes of workers: a path, a table, or a dict of classes by worker."""
    if isinstance(classes, dict):
        return with_pairs(reading, pairs_of(classes))
    choose = choose_classes(reading)
    with opened(classes, choose, reading, workspace) as table:
        return with_pairs(reading, class_pairs(worker_classes(table, choose)))


def with_found_classes(source: Source | None, data: Any) -> Any:
    """Data to be read again, or new ones, with the classes of workers if those found in a source are a table."""
    if source is None or source.found is None:
        return data
    return with_found(data, source.found, source.reading.worker)


@contextmanager
def opened(data: Any, choose: Choose, reading: Reading, workspace: Workspace | None) -> Iterator[Any]:
    """A second table that the user gives; files are read in a workspace of their own if there is none yet."""
    with explain_errors(paths_of(data)):
        if workspace is not None or not paths_of(data):
            yield open_table(data, choose, reading, workspace)
        else:
            with Workspace() as own:
                yield open_table(data, choose, reading, own)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def workspace_for(data: Any, *, memory_limit: str | None = None, threads: int | None = None) -> Workspace | None:
    """A database for files; None for frames, which stay where they are."""
    return Workspace(memory_limit=memory_limit, threads=threads) if paths_of(data) else None


def paths_of(data: Any) -> list[str]:
    """The paths that ``data`` names; none if it is a frame."""
    if isinstance(data, str | Path):
        return [str(data)]
    if isinstance(data, list | tuple) and data and all(isinstance(item, str | Path) for item in data):
        return [str(item) for item in data]
    return []


def open_table(data: Any, choose: Choose, reading: Reading, workspace: Workspace | None) -> Any:
    """A frame as it is, or files as a lazy relation of the workspace."""
    paths = paths_of(data)
    if not paths:
        return data
    if workspace is None:
        raise TypeError("files are read in a workspace")
    return read_files(
        paths, workspace, choose, encoding=reading.encoding, delimiter=reading.delimiter, numeric=reading.order_by
    )
