"""Reading data for a solution that is there already, with the options that are stored in it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.answers import as_brought
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.frames import restore
from crowdopt.read.tables import explain_errors
from crowdopt.source import Source, load, paths_of, workspace_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.frames import Table
    from crowdopt.solution import Solution


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
        with explain_errors(paths_of(solution.source.original)):
            yield solution.source
        return
    with _opened(solution, data, new=False, memory_limit=memory_limit, threads=threads) as source:
        _check_same(solution, source)
        yield source


@contextmanager
def read_new(
    solution: Solution, data: Any, *, memory_limit: str | None = None, threads: int | None = None
) -> Iterator[Source]:
    """Other data, on the same scale.

    The gold of a solution says nothing of them: what is task 1 here may have been another task there.

    Raises:
        InputError: Also for a label that is not on the scale of the solution, and for a solution with classes of
            workers, as new workers have none.
    """
    if solution.classes:
        raise InputError("a solution with classes of workers cannot label new responses: their workers have no class")
    with _opened(solution, data, new=True, memory_limit=memory_limit, threads=threads) as source:
        yield source


@contextmanager
def _opened(
    solution: Solution, data: Any, *, new: bool, memory_limit: str | None, threads: int | None
) -> Iterator[Source]:
    reading = replace(solution.reading, gold=()) if new else solution.reading
    workspace = workspace_for(data, memory_limit=memory_limit, threads=threads)
    try:
        with explain_errors(paths_of(data)):  # files are read again by what is done with the source
            yield load(data, reading, workspace, resolved=True, scale=solution.scale if new else None)
    finally:
        if workspace is not None:
            workspace.close()


def _check_same(solution: Solution, source: Source) -> None:
    """Raises if the responses, counted by task, are not those behind the labels."""
    gold, offsets = source.counts.gold, solution.objective.offsets
    found, known = gold.responses if gold else np.zeros(()), offsets.gold_responses if offsets else np.zeros(())
    names = [one.name for one in source.responses.classes]
    fingerprint = source.counts.buckets.fingerprint(source.responses.scale.labels, names)
    if fingerprint != solution.certificate.fingerprint or (found != known).any():
        raise InputError(
            "these are not the responses that the solution was made from (counted by task, they differ): aggregate them"
        )


def as_frame(table: Table, source: Source) -> Any:
    """A table made from a source as the kind of table that the user brought; a PyArrow table for files."""
    if source.workspace is not None:
        return table.collect().to_arrow()  # which needs the database no more
    return as_brought(restore(table, source.original), source.original, source.responses.reading)
