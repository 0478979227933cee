"""The solution file: JSON with a format version, strict on the way in.

A file says some things twice, for its readers: what does not follow from the rest is damage. Whether the rest is
true of the data is another question, which ``verify`` answers; so what no data can tell, such as the advice or the
accuracy against a truth, is not in the file.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt._version import __version__
from crowdopt.data.counts import Totals
from crowdopt.data.readers.addresses import check_path
from crowdopt.data.reading import PAIRS, Reading
from crowdopt.data.worker_classes import WorkerClass
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Certificate
from crowdopt.model.margins import Margins
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.scale import Scale
from crowdopt.model.strict_json import WrongValueError, checked_list, how_many, of_kind, share_of_one
from crowdopt.results.facts import nested
from crowdopt.results.solution_proof import ProofSolution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.results.solution import Solution
    from crowdopt.results.solutions import Solutions

FORMAT = "crowdopt solution"
GROUPS_FORMAT = "crowdopt solutions"
FORMAT_VERSION = 4
FILE_PARTS = {
    "certificate": dict, "scale": dict, "reading": dict, "classes": list, "selectivity": dict, "totals": dict,
    "agreement": dict, "matrix": list, "label_shares": list, "buckets": dict,
}  # fmt: skip
"""What a file must have to be read at all, and of what kind that is in JSON."""
BUCKET_LISTS = ("counts", "weights", "label", "margin", "tied")
"""The lists that the buckets are made of."""
SHARED = ("format", "format_version", "crowdopt_version", "reading")
"""What the solutions of groups have in common."""


def encode(solution: ProofSolution) -> dict[str, Any]:
    """A solution as plain JSON values."""
    margins = solution.margins
    finite = np.isfinite(margins.values)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": solution.kind,
        "crowdopt_version": __version__,
        "certificate": solution.certificate.to_dict(),
        "scale": {
            "labels": list(solution.scale.labels),
            "kind": solution.scale.kind,
            "inferred": solution.scale.inferred,
        },
        "reading": solution.reading.to_dict(),
        "classes": [dict(vars(one)) for one in solution.classes],
        "selectivity": {"kind": solution.objective.kind, "shares": list(solution.objective.shares)},
        "offsets": _encode_offsets(solution.objective.offsets),
        "seed": solution.seed,
        "totals": dict(vars(solution.totals)),
        "agreement": solution.agreement.to_dict(),
        "matrix": nested(solution.matrix),
        "label_shares": solution.shares.tolist(),
        "buckets": {
            "counts": solution.buckets.counts.tolist(),
            "weights": solution.buckets.weights.tolist(),
            "label": solution.mapping.tolist(),
            "margin": [float(value) if ok else None for value, ok in zip(margins.values, finite, strict=True)],
            "margin_kind": margins.kind,
            "tied": margins.tied.tolist(),
        },
    }


def _encode_offsets(offsets: Offsets | None) -> dict[str, Any] | None:
    if offsets is None:
        return None
    return {
        "gold_responses": offsets.gold_responses.tolist(),
        "gold_tasks": offsets.gold_tasks.tolist(),
        "prior": None if offsets.prior is None else offsets.prior.tolist(),
        "smoothing": offsets.smoothing,
    }


def _decode_offsets(data: Any, shape: tuple[int, ...]) -> Offsets | None:
    """The offsets; of what shape they must be follows from the buckets."""
    if data is None:
        return None
    gold, tasks = np.array(data["gold_responses"]), np.array(data["gold_tasks"])
    whole = gold.dtype.kind == tasks.dtype.kind == "i" and min(gold.min(), tasks.min()) >= 0
    if gold.shape != shape or tasks.shape != shape[:1] or not whole:
        raise _damaged("its gold counts are not those of its labels")
    prior = None if data["prior"] is None else np.array(data["prior"], dtype=float)
    if type(data["smoothing"]) not in {int, float}:
        raise _damaged(f"smoothing cannot be {data['smoothing']!r}")
    return Offsets(gold.astype(np.int64), tasks.astype(np.int64), prior, float(data["smoothing"]))


def encode_groups(solutions: Solutions) -> dict[str, Any]:
    """The solutions of groups as plain JSON values; what they have in common stands there once."""
    return {
        "format": GROUPS_FORMAT,
        "format_version": FORMAT_VERSION,
        "crowdopt_version": __version__,
        "reading": solutions.reading.to_dict(),
        "groups": [{"group": group} | _own(encode(solution)) for group, solution in solutions.items()],
        "failures": [{"group": group, "reason": reason} for group, reason in solutions.failures.items()],
    }


def _own(data: dict[str, Any]) -> dict[str, Any]:
    """What a solution does not have in common with those of other groups."""
    return {name: value for name, value in data.items() if name not in SHARED}


def save(solution: Solution | Solutions, path: str | Path) -> None:
    """Writes a solution file, whole or not at all."""
    from crowdopt.results.write.files import write_text  # which loads the database

    write_text(path, json.dumps(solution.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")


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


def decode(data: Any) -> Solution:
    """The inverse of :func:`encode`."""
    if format_of(data) == GROUPS_FORMAT:
        raise SolutionFileError(
            "this file has the solutions of many groups, and this needs one: "
            "in Python, Solutions.load(FILE)[GROUP].save(ONE)"
        )
    if format_of(data) is None:
        raise SolutionFileError("this is not a crowdopt solution file")
    _check_version(data)
    _check_parts(data)
    with _damage():
        solution = ProofSolution(**_parse(data))
        _check_derived(solution, data)
    return solution


def decode_groups(data: Any) -> tuple[dict[str, Solution], dict[str, str], Reading]:
    """The inverse of :func:`encode_groups`: the solutions, why other groups have none, and how all were read."""
    if format_of(data) != GROUPS_FORMAT:
        raise SolutionFileError("this is not a file of the solutions of groups")
    _check_version(data)
    with _damage():
        if set(data) != {*SHARED, "groups", "failures"}:
            raise _damaged("it has other parts than it should")
        reading = _parse_reading(data["reading"])
        # Each group is decoded as a solution of its own, but the classes of all workers only once.
        alone = replace(reading, classes=(), group="").to_dict()
        shared = {name: data[name] for name in SHARED} | {"format": FORMAT, "reading": alone}
        groups: dict[str, Solution] = {}
        for entry in data["groups"]:
            (group,) = _texts([entry["group"]])
            solution = decode({name: value for name, value in entry.items() if name != "group"} | shared)
            if group in groups:
                raise _damaged(f"it has group {group!r} twice")
            groups[group] = solution
        failures = dict(_texts([entry["group"], entry["reason"]]) for entry in data["failures"])
        if len(failures) < len(data["failures"]) or failures.keys() & groups.keys() or not reading.group:
            raise _damaged("its groups are not told apart")
    return groups, failures, reading


def _check_version(data: dict[str, Any]) -> None:
    if data.get("format_version") != FORMAT_VERSION:
        raise SolutionFileError(
            f"the solution file has format version {data.get('format_version')!r}; this crowdopt reads version "
            f"{FORMAT_VERSION}: make it again from the data, or use the version that wrote it "
            f"({data.get('crowdopt_version', 'unknown')})"
        )


@contextmanager
def _damage() -> Iterator[None]:
    """Whatever goes wrong with what a file says is damage."""
    try:
        yield
    except SolutionFileError:
        raise
    except (InputError, WrongValueError) as error:
        raise _damaged(str(error)) from error
    except KeyError as error:
        raise _damaged(f"{error} is missing") from error
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise _damaged("a value is not of the kind that belongs there") from error


def _damaged(what: str) -> SolutionFileError:
    return SolutionFileError(f"the solution file is damaged: {what}")


def _check_parts(data: dict[str, Any]) -> None:
    for name, kind in FILE_PARTS.items():
        if name not in data:
            raise _damaged(f"{name!r} is missing")
        if not isinstance(data[name], kind):
            raise _damaged(f"{name!r} should be a JSON {'object' if kind is dict else 'array'}, not {data[name]!r:.40}")
    for name in BUCKET_LISTS:
        if not isinstance(data["buckets"].get(name), list):
            raise _damaged(f"its buckets have no list {name!r}")


def _array(values: list[Any], name: str, kind: type) -> Any:
    """A column of buckets as an array."""
    try:
        return np.array(values, dtype=kind)
    except (TypeError, ValueError, OverflowError):
        what = "numbers" if kind is float else "true or false" if kind is bool else "whole numbers, as many in each row"
        raise _damaged(f"the list {name!r} of its buckets does not hold {what}") from None


def _parse(data: dict[str, Any]) -> dict[str, Any]:
    table = data["buckets"]
    labels = tuple(_texts(data["scale"]["labels"]))
    if len(set(labels)) < len(labels):
        raise _damaged("its scale has a label twice")
    if data["scale"]["kind"] not in {"ordinal", "nominal"} or type(data["scale"]["inferred"]) is not bool:
        raise _damaged("its scale is neither ordinal nor nominal")
    if data["selectivity"]["kind"] not in {"none", "given", "estimated"}:
        raise _damaged(f"selectivity {data['selectivity']['kind']!r}")
    shares = tuple(share_of_one(share) for share in data["selectivity"]["shares"])
    if shares and len(shares) != len(labels):
        raise _damaged("its selectivity does not have a share for each label")
    counts, weights = _array(table["counts"], "counts", np.int64), _array(table["weights"], "weights", np.int64)
    buckets, index = Buckets.from_arrays(counts, weights)
    mapping = _array(table["label"], "label", np.int64)
    if not np.array_equal(index, np.arange(buckets.n_buckets)):
        raise _damaged("its buckets are not distinct and sorted")
    sizes = {len(mapping), len(table["margin"]), len(table["tied"]), buckets.n_buckets}
    if len(sizes) > 1 or buckets.n_labels != len(labels):
        raise _damaged("its bucket columns differ in length")
    if len(mapping) and not (mapping.min() >= 0 and mapping.max() < len(labels)):
        raise _damaged("a bucket has a label that is not on the scale")
    if table["margin_kind"] not in {"exact", "upper"}:
        raise _damaged(f"margin kind {table['margin_kind']!r}")
    margin = _array([np.inf if value is None else value for value in table["margin"]], "margin", float)
    return {
        "scale": Scale(labels, labels, data["scale"]["kind"], data["scale"]["inferred"], frozenset(range(len(labels)))),
        "buckets": buckets,
        "mapping": mapping,
        "margins": Margins(margin, table["margin_kind"], _array(table["tied"], "tied", bool)),
        "objective": Objective(
            data["selectivity"]["kind"], shares, _decode_offsets(data["offsets"], (len(labels), *counts.shape[1:]))
        ),
        "certificate": Certificate.from_dict(data["certificate"]),
        "totals": Totals(**{name: how_many(value) for name, value in data["totals"].items()}),
        "reading": _parse_reading(data["reading"]),
        "classes": _parse_classes(data["classes"], counts.shape[1]),
        "seed": of_kind(data["seed"], int, "not an integer"),
    }


def _parse_classes(data: list[dict[str, Any]], n_classes: int) -> tuple[WorkerClass, ...]:
    names = _texts([one["name"] for one in data])
    if len(set(names)) < len(names) or max(len(names), 1) != n_classes:
        raise _damaged("its classes are not those of its counts")
    return tuple(WorkerClass(one["name"], how_many(one["n_workers"])) for one in data)


def _parse_reading(data: dict[str, Any]) -> Reading:
    for name, default in Reading().to_dict().items():
        if type(data[name]) is not type(default):
            raise _damaged(f"the reading option {name!r} cannot be {data[name]!r}")
        if name == "bins":
            checked_list((int, float), data[name], "numbers")
        elif name in PAIRS:
            for pair in data[name]:
                _texts(pair)
        elif isinstance(default, list):
            _texts(data[name])
    return Reading.from_dict(data)


def _texts(values: Any) -> list[str]:
    return checked_list(str, values, "texts")


def _check_derived(solution: Solution, data: dict[str, Any]) -> None:
    """What the file repeats for its readers must follow from the rest, and nothing may have changed on the way in."""
    derived = solution.to_dict() | {"crowdopt_version": data["crowdopt_version"]}
    if unknown := sorted(data.keys() - derived.keys()):
        raise _damaged(f"{unknown[0]!r} does not belong there")
    for name, value in derived.items():
        if not _same(value, data[name]):
            raise _damaged(f"its {name} does not follow from its labels")


def _same(ours: Any, theirs: Any) -> bool:
    """Whether two JSON values are equal, numbers up to rounding; a text, a list or true is no number."""
    if isinstance(ours, dict):
        return (
            isinstance(theirs, dict) and ours.keys() == theirs.keys() and all(_same(ours[k], theirs[k]) for k in ours)
        )
    if isinstance(ours, list):
        return isinstance(theirs, list) and len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, float):
        return type(theirs) in {int, float} and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
    return type(ours) is type(theirs) and bool(ours == theirs)
