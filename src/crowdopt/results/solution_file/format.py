"""The solution file: JSON with a format version, strict on the way in; which kind it is, and those of groups.

``parts`` has what both kinds have in common, ``proof`` and ``consensus`` the rest. Beyond a million
numbers the parameters of the workers of a consensus are in a file beside it (``workers``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdopt._version import __version__
from crowdopt.data.readers.addresses import check_path
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.results.solution_file.consensus import decode_consensus, encode_consensus
from crowdopt.results.solution_file.parts import (
    FORMAT,
    FORMAT_VERSION,
    GROUPS_FORMAT,
    SHARED,
    damage,
    damaged,
    parse_reading,
    sentences,
    texts,
)
from crowdopt.results.solution_file.proof import decode_proof, encode_proof
from crowdopt.results.solution_file.workers import MOST_INSIDE, n_numbers, read_workers, save_workers

if TYPE_CHECKING:
    from crowdopt.data.reading import Reading
    from crowdopt.results.solution import Solution
    from crowdopt.results.solutions import Solutions

Beside = dict[str, dict[str, Any]]
"""The workers that are in a file beside the solution file, by group; of one solution alone under an empty name."""


def encode(solution: Solution, workers: dict[str, Any] | None = None) -> dict[str, Any]:
    """A solution as plain JSON values; ``workers`` say where those of a consensus are, if not in it."""
    held: Any = solution
    return encode_proof(held) if solution.kind == "proof" else encode_consensus(held, workers)


def encode_groups(solutions: Solutions[Any], workers: dict[str, Any] | None = None) -> dict[str, Any]:
    """The solutions of groups as plain JSON values; what they have in common stands there once."""
    return {
        "format": GROUPS_FORMAT,
        "format_version": FORMAT_VERSION,
        "crowdopt_version": __version__,
        "reading": solutions.reading.to_dict(),
        "notes": list(solutions.notes),
        "groups": [{"group": group} | _own(encode(solution, workers)) for group, solution in solutions.items()],
        "failures": [{"group": group, "reason": reason} for group, reason in solutions.failures.items()],
    }


def _own(data: dict[str, Any]) -> dict[str, Any]:
    """What a solution does not have in common with those of other groups."""
    return {name: value for name, value in data.items() if name not in SHARED}


def save(solution: Solution | Solutions[Any], path: str | Path) -> None:
    """Writes a solution file, and one beside it if there are many workers: both whole, or none."""
    from crowdopt.results.write.files import together, write_text  # which loads the database

    parts: Mapping[str, Any] = solution.groups if isinstance(solution, Mapping) else {"": solution}
    by_group = {group: one for group, one in parts.items() if one.kind == "consensus"}
    with together():
        beside = save_workers(by_group, path) if n_numbers(by_group) > MOST_INSIDE else None
        data = encode_groups(solution, beside) if isinstance(solution, Mapping) else encode(solution, beside)
        write_text(path, json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")


def read_file(path: str | Path) -> tuple[Any, Beside]:
    """Reads a solution file, and the one beside it if there is one."""
    data = read_json(path)
    parts = data.get("groups") if format_of(data) == GROUPS_FORMAT else [data]
    elsewhere = []
    with damage():
        for part in parts if isinstance(parts, list) else []:
            if (said := _elsewhere(part)) and said not in elsewhere:
                elsewhere.append(said)
        if len(elsewhere) > 1:
            raise damaged("its workers are in several files")
        return data, read_workers(elsewhere[0], path) if elsewhere else {}


def _elsewhere(part: Any) -> dict[str, Any] | None:
    """What a solution says of the file beside it; None if its workers are in it."""
    for name in ("parameters", "workers"):
        part = part.get(name) if isinstance(part, dict) else None
    return part if isinstance(part, dict) and "file" in part else None


def read_json(path: str | Path) -> Any:
    """Reads a file of JSON; raises if it is none."""
    check_path(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SolutionFileError(f"{path} is not a solution file: it is not UTF-8 text") from error
    try:
        return json.loads(text, object_pairs_hook=_named_once)
    except json.JSONDecodeError as error:
        raise SolutionFileError(f"{path} is not a solution file: {_where(error, text)}") from error
    except _NamedTwiceError as error:
        raise SolutionFileError(f"{path} is not a solution file: it has {error} twice") from error
    except ValueError as error:
        raise SolutionFileError(f"{path} is not a solution file: it has a number of thousands of digits") from error
    except RecursionError as error:
        raise SolutionFileError(f"{path} is not a solution file: it has lists within lists without end") from error


class _NamedTwiceError(ValueError):
    """A name that is there twice."""


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of a name that is there twice, some readers take the first value and some the last."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise _NamedTwiceError(repr(Counter(names).most_common(1)[0][0]))
    return dict(pairs)


def _where(error: json.JSONDecodeError, text: str) -> str:
    """What is wrong with a text that is not JSON, and where."""
    if not text.strip():
        return "it is empty"
    place = f"line {error.lineno}, character {error.colno}"
    unfinished = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    return (
        f"it breaks off at {place}: copy or make it again" if unfinished else f"it is not JSON at {place} ({error.msg})"
    )


def format_of(data: Any) -> str | None:
    """The format that a file says it has: FORMAT, GROUPS_FORMAT, or None if it is neither."""
    found = data.get("format") if isinstance(data, dict) else None
    return found if found in (FORMAT, GROUPS_FORMAT) else None


def decode(data: Any, beside: Beside | None = None) -> Solution:
    """The inverse of :func:`encode`."""
    if format_of(data) == GROUPS_FORMAT:
        raise SolutionFileError(
            "this file has the solutions of many groups, and this needs one: "
            "in Python, Solutions.load(FILE)[GROUP].save(ONE)"
        )
    if format_of(data) is None:
        raise SolutionFileError("this is not a crowdopt solution file")
    _check_version(data)
    with damage():
        return _decode_all({"": data}, beside or {})[""]


def _decode_all(parts: Mapping[str, dict[str, Any]], beside: Mapping[str, Any]) -> dict[str, Solution]:
    """The solutions of groups."""
    if unknown := sorted(beside.keys() - parts.keys()):
        raise damaged(f"the file beside it has workers of an unknown group {unknown[0]!r}")
    return {group: _decode_one(data, beside.get(group)) for group, data in parts.items()}


def _decode_one(data: dict[str, Any], workers: Mapping[str, Any] | None) -> Solution:
    if data["kind"] == "proof":
        return decode_proof(data)
    if data["kind"] != "consensus":
        raise damaged(f"it is of a kind {data['kind']!r:.40}, and not a consensus or a proof")
    if (_elsewhere(data) is None) != (workers is None):
        raise damaged("its workers are not where it says, in it or in a file beside it")
    return decode_consensus(data, workers)


def decode_groups(
    data: Any, beside: Beside | None = None
) -> tuple[dict[str, Solution], dict[str, str], Reading, tuple[str, ...]]:
    """The inverse of :func:`encode_groups`: the solutions, why other groups have none, how all were read, and notes."""
    if format_of(data) != GROUPS_FORMAT:
        raise SolutionFileError("this is not a file of the solutions of groups")
    _check_version(data)
    with damage():
        if set(data) != {*SHARED, "notes", "groups", "failures"}:
            raise damaged("it has other parts than it should")
        notes = sentences(data["notes"], "a note")
        reading = parse_reading(data["reading"])
        # Each group is decoded as a solution of its own, but the classes of all workers only once.
        alone = replace(reading, classes=(), group="").to_dict()
        shared = {name: data[name] for name in SHARED} | {"format": FORMAT, "reading": alone}
        parts: dict[str, dict[str, Any]] = {}
        for entry in data["groups"]:
            (group,) = texts([entry["group"]])
            if group in parts:
                raise damaged(f"it has group {group!r} twice")
            parts[group] = {name: value for name, value in entry.items() if name != "group"} | shared
        groups = _decode_all(parts, beside or {})
        failures = dict(texts([entry["group"], entry["reason"]]) for entry in data["failures"])
        if len(failures) < len(data["failures"]) or failures.keys() & groups.keys() or not reading.group:
            raise damaged("its groups are not told apart")
        if len({solution.kind for solution in groups.values()}) != 1:
            raise damaged("its groups are of two kinds" if groups else "no group has a solution")
    return groups, failures, reading, notes


def _check_version(data: dict[str, Any]) -> None:
    if data.get("format_version") != FORMAT_VERSION:
        raise SolutionFileError(
            f"the solution file has format version {data.get('format_version')!r}; this crowdopt reads version "
            f"{FORMAT_VERSION}: make it again from the data, or use the version that wrote it "
            f"({data.get('crowdopt_version', 'unknown')})"
        )
