"""The parameters of many workers, in a Parquet file beside the solution file, which names it and its SHA-256."""

from __future__ import annotations

import hashlib
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.errors import SolutionFileError
from crowdopt.results.solution_file.parts import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crowdopt._arrays import Floats
    from crowdopt.results.solution_consensus import ConsensusSolution

MOST_INSIDE = 1_000_000
"""Numbers of workers up to which they stand in the solution file itself."""

SUFFIX = ".workers.parquet"


def n_numbers(solutions: Mapping[str, ConsensusSolution]) -> int:
    """How many numbers the parameters of all workers are."""
    return sum(values.size for one in solutions.values() for values in one.parameters.workers.values())


def save_workers(solutions: Mapping[str, ConsensusSolution], path: str | Path) -> dict[str, str]:
    """Writes the parameters of the workers of all groups beside a solution file; what that says of them."""
    import pyarrow.parquet as pq

    from crowdopt.results.write.files import whole_file

    target = _folder(path) / f"{Path(os.path.realpath(path)).stem}{SUFFIX}"
    with whole_file(target) as temporary:
        pq.write_table(_table(solutions), temporary)
        with temporary.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": target.name, "sha256": digest}


def _folder(path: str | Path) -> Path:
    """Where the solution file really is."""
    return Path(os.path.realpath(path)).parent


def _table(solutions: Mapping[str, ConsensusSolution]) -> Any:
    """One row per group and worker; matrices row by row."""
    import pyarrow as pa

    skilled = any(one.by_skill for one in solutions.values())
    columns: dict[str, Any] = {
        "group": [group for group, one in solutions.items() for _ in one.worker_names],
        "worker": [name for one in solutions.values() for name in one.worker_names],
    }
    schema = _schema(skilled=skilled)
    for name in schema.names[2:]:
        missing = [np.zeros((len(one.worker_names), 0)) for one in solutions.values()]
        arrays = [one.parameters.workers.get(name, no) for one, no in zip(solutions.values(), missing, strict=True)]
        values = np.concatenate([array.ravel() for array in arrays])
        if name != "vote_precision":
            lengths = np.concatenate([np.full(len(array), array.size // len(array)) for array in arrays])
            offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            columns[name] = pa.LargeListArray.from_arrays(offsets, pa.array(values))
        else:
            columns[name] = values
    return pa.table(columns, schema=schema)


def _schema(*, skilled: bool) -> Any:
    """The columns; what some workers of several groups do not have is an empty list."""
    import pyarrow as pa

    names, number = [("group", pa.string()), ("worker", pa.string())], pa.float64()
    lists = ["tilted_matrix", "kinds_matrix", *(["skill"] if skilled else [])]
    kinds = [("vote_precision", number), *((name, pa.large_list(number)) for name in lists)]
    return pa.schema(names + kinds)


def read_workers(said: Mapping[str, Any], path: str | Path) -> dict[str, dict[str, Any]]:
    """The names and parameters of workers by group, flat for each worker; the inverse of :func:`save_workers`.

    Args:
        said: What a solution file says of the file beside it.
        path: The solution file.

    Raises:
        SolutionFileError: The file is not there, or is another one.
    """
    content = _checked(said, _folder(path))
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(BytesIO(content)).combine_chunks()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(f"{said['file']} beside it is no Parquet file") from error
    schema = _schema(skilled="skill" in table.column_names)
    columns = {field.name: table.column(field.name) for field in schema if field.name in table.column_names}
    if not table.schema.equals(schema) or any(column.null_count for column in columns.values()):
        raise damaged(f"{said['file']} beside it has other columns than it should, or gaps")
    found: dict[str, dict[str, Any]] = {}
    for group, start, end in _runs(columns["group"].to_pylist()):
        if group in found:
            raise damaged(f"{said['file']} beside it has group {group!r} twice")
        rows = {name: _flat(columns[name].slice(start, end - start)) for name in schema.names[2:]}
        rows = {name: values for name, values in rows.items() if len(values)}  # the others are not of this group
        found[group] = {"names": columns["worker"].slice(start, end - start).to_pylist()} | rows
    return found


def _checked(said: Mapping[str, Any], folder: Path) -> bytes:
    """The bytes of the file, if they are those that the solution was saved with."""
    name, digest = said["file"], said["sha256"]
    if said.keys() != {"file", "sha256"} or not isinstance(name, str) or not isinstance(digest, str):
        raise damaged("it does not say which file has its workers")
    if not name.endswith(SUFFIX) or Path(name).name != name or "\\" in name or "\0" in name:
        raise damaged(f"{name!r:.80} cannot be the file of its workers")
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise SolutionFileError(
            f"{name} is not there: the solution file has the parameters of its workers in it, so keep both together"
        ) from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise SolutionFileError(f"{name} is not the one that the solution was saved with: make both again")
    return content


def _runs(values: list[str]) -> Iterator[tuple[str, int, int]]:
    """Each value, and where its run begins and ends."""
    start = 0
    for at in range(1, len(values) + 1):
        if at == len(values) or values[at] != values[start]:
            yield values[start], start, at
            start = at


def _flat(column: Any) -> Floats:
    """A column of numbers, or of lists of as many each, as one flat array."""
    import pyarrow.compute as pc

    if not hasattr(column.type, "value_type"):
        return np.asarray(column.to_numpy())
    found = pc.list_flatten(column)
    if found.null_count or len(pc.unique(pc.list_value_length(column))) > 1:
        raise damaged("a worker has other parameters than it should")
    return np.asarray(found.to_numpy())
