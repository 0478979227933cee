"""The names of files as the names of workers, where every worker has a file of their own.

A worker is called the same whichever other files are there: the whole name counts, whatever the names of all files have
in common, so that answers to new tasks can be read later, from fewer files. Only files of one name in several folders
have as much of the folder in front as tells them apart.
"""

from __future__ import annotations

import os.path
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from crowdopt.data.readers.files import PACKINGS, STDIN
from crowdopt.data.readers.formats import FILE_FORMATS
from crowdopt.data.readers.union import Part
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.readers.files import InputFile

FROM_FILE = "if every file has the answers of one worker, say --worker-from-file"
"""What to do where nothing else names the workers."""


def worker_names(sources: Sequence[InputFile]) -> list[str]:
    """What every file is called without its suffixes, and with as much of its folder as tells it from others."""
    return distinct_ends([_without_suffixes(source.name) for source in sources])


def distinct_ends(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """The last part of every path, with as many of those before it as tell it from other paths."""
    depths = dict.fromkeys(paths, 1)
    while clashing := _clashing(depths):
        for path in clashing:
            depths[path] += 1
    return ["/".join(path[-depths[path] :]) for path in paths]


def with_worker(part: Part, worker: str, name: str) -> Part:
    """A part with one more column, in which the same worker stands in every row."""
    if worker in part.columns:
        raise ColumnError(
            f"{part.name} has a column {worker!r}: leave out --worker-from-file, or name a column that is not there "
            "yet (--worker NAME)"
        )

    def select(chosen: Sequence[str]) -> tuple[str, frozenset[str]]:
        query, nulls = part.select([column for column in chosen if column != worker])
        cells = (f"{literal(name)} AS {quote(one)}" if one == worker else quote(one) for one in chosen)
        return f"SELECT {', '.join(cells)} FROM ({query})", nulls

    inside = part.inside
    named = None if inside is None else (lambda: with_worker(inside(), worker, name))
    return Part(part.name, [*part.columns, worker], select, named, why_missing=part.why_missing)


def check_named(sources: Sequence[InputFile]) -> None:
    """Raises if something has no name of its own."""
    if any(source.name == STDIN for source in sources):
        raise InputError("workers have the names of their files, and standard input has none: give the path of a file")


def _without_suffixes(name: str) -> tuple[str, ...]:
    """The folders and the name of a file; only suffixes that are known are cut, so that claude-3.5 keeps its .5.

    >>> _without_suffixes("/jury/claude-3.5.csv.gz")[1:], _without_suffixes("/jury/claude-3.5")[1:]
    (('jury', 'claude-3.5'), ('jury', 'claude-3.5'))
    """
    folder, stem = os.path.split(os.path.abspath(name))  # noqa: PTH100 - which also takes .. away
    packed = tuple(suffix for suffix, _, _ in PACKINGS.values())
    known = tuple(suffix for one in FILE_FORMATS.values() for suffix in one.suffixes)
    for suffixes in (packed, known):
        found = next((suffix for suffix in suffixes if stem.lower().endswith(suffix)), "")
        stem = stem[: len(stem) - len(found)] or stem
    return (*Path(folder).parts, stem)


def _clashing(depths: dict[tuple[str, ...], int]) -> list[tuple[str, ...]]:
    """The paths of which others have the same end, and that have more in front."""
    ends = Counter(path[-depth:] for path, depth in depths.items())
    return [path for path, depth in depths.items() if ends[path[-depth:]] > 1 and depth < len(path)]
