"""Reading data for a solution that is there already, with the options that are stored in it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.load import Source, load, paths_of, read_classes, unchanged, workspace_for
from crowdopt.data.readers.open_files import explain_errors
from crowdopt.data.tables.table import restore
from crowdopt.data.worker_classes import with_trimmed_names
from crowdopt.errors import ClassError, CrowdoptError, InputError
from crowdopt.results.answers import as_brought

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.data.groups import GroupedSource
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_proof import ProofSolution


@contextmanager
def reread(
    solution: Solution, data: Any = None, *, memory_limit: str | None = None, threads: int | None = None
) -> Iterator[Source]:
    """The data that a solution was made from, read again; without data, those it still has in memory.

    Raises:
        InputError: The data are others.
    """
    if data is None:
        if solution.source is None:
            raise CrowdoptError("a solution that was loaded from a file has no responses: give the data")
        with unchanged(solution.source.workspace), explain_errors(paths_of(solution.source.original)):
            yield solution.source
        return
    with _opened(data, solution.reading, memory_limit=memory_limit, threads=threads) as source:
        solution.check_same(source)
        yield source


@contextmanager
def read_new(
    solution: Solution,
    data: Any,
    *,
    classes: Any = None,
    class_: str = "",
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[Source]:
    """Other data, on the same scale, of workers in the same classes; those in none are in a class behind these.

    The gold of a solution says nothing of them: what is task 1 here may have been another task there.

    Args:
        solution: The solution.
        data: The responses.
        classes: Classes of their workers: a path, a table, or a dict. They go before those that the solution knows.
        class_: Name of the column of classes, in that table or else in the responses.
        memory_limit: Memory of the database that reads files.
        threads: Threads of that database.

    Raises:
        InputError: Also for a label that is not on the scale of the solution.
    """
    if (classes is not None or class_) and not solution.classes:
        raise ClassError("the solution knows no classes of workers: leave out --classes and --class")
    reading = replace(solution.reading, gold=(), export_gold=False, time="", seconds="")
    if classes is not None:
        reading = _with_more_classes(reading, classes, class_)
    elif class_:
        reading = replace(reading, class_column=class_, classes=())
    names = [one.name for one in solution.classes]
    known = {"scale": solution.scale, "known": names, "digest": False}
    with _opened(data, reading, memory_limit=memory_limit, threads=threads, **known) as source:
        yield source


def _with_more_classes(reading: Reading, classes: Any, class_: str) -> Reading:
    """The reading with further classes of workers, which go before those that it has."""
    more = read_classes(classes, replace(reading, class_column=class_), None)
    new = more.classes if reading.verbatim else with_trimmed_names(more.classes)
    return replace(more, classes=tuple(sorted({**dict(reading.classes), **dict(new)}.items())))


@contextmanager
def _opened(
    data: Any, reading: Reading, *, memory_limit: str | None, threads: int | None, **known: Any
) -> Iterator[Source]:
    workspace = workspace_for(data, memory_limit=memory_limit, threads=threads)
    try:
        with (
            unchanged(workspace),
            explain_errors(paths_of(data)),
        ):  # files are read again by what is done with the source
            yield load(data, reading, workspace, resolved=True, **known)
    finally:
        if workspace is not None:
            workspace.close()


def check_same_counts(solution: ProofSolution, source: Source) -> None:
    """Raises if the responses are not those behind the labels."""
    gold, offsets = source.counts.gold, solution.objective.offsets
    found, known = gold.responses if gold else np.zeros(()), offsets.gold_responses if offsets else np.zeros(())
    if source.fingerprint != solution.certificate.fingerprint or (found != known).any():
        raise InputError(
            "these are not the responses that the solution was made from (tasks, workers or labels differ)"
        )


def as_frame(table: Table, source: Source | GroupedSource) -> Any:
    """A table made from a source as the kind of table that the user brought; a PyArrow table for files."""
    if source.workspace is not None:
        return table.collect().to_arrow()  # which needs the database no more
    return as_brought(restore(table, source.original), source.original, source.reading)
