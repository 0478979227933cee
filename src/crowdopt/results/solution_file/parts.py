"""What the files of both kinds of solutions have in common, and the strictness with which they are read.

A file says some things twice, for its readers: what does not follow from the rest is damage. Whether the rest is true
of the data is another question, which ``verify`` answers.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt._version import __version__
from crowdopt.data.counts import Totals
from crowdopt.data.reading import PAIRS, Reading
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.model.scale import Scale
from crowdopt.model.strict_json import WrongValueError, checked_list, how_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crowdopt.results.solution import Solution

FORMAT = "crowdopt solution"
GROUPS_FORMAT = "crowdopt solutions"
FORMAT_VERSION = 5
SHARED = ("format", "format_version", "crowdopt_version", "reading")
"""What the solutions of groups have in common."""


def encode_common(solution: Solution) -> dict[str, Any]:
    """What there is to say of every solution, as plain JSON values."""
    scale = solution.scale
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": solution.kind,
        "crowdopt_version": __version__,
        "scale": {"labels": list(scale.labels), "kind": scale.kind, "inferred": scale.inferred},
        "reading": solution.reading.to_dict(),
        "totals": dict(vars(solution.totals)),
        "agreement": solution.agreement.to_dict(),
        "notes": list(solution.notes),
        "doubts": list(solution.doubts),
    }


COMMON_PARTS = {"scale": dict, "reading": dict, "totals": dict, "agreement": dict, "notes": list, "doubts": list}
"""What every file must have to be read at all, and of what kind that is in JSON."""


def check_parts(data: Mapping[str, Any], parts: Mapping[str, type]) -> None:
    """Raises if parts are missing, or are not of their kinds."""
    for name, kind in parts.items():
        if name not in data:
            raise damaged(f"{name!r} is missing")
        if not isinstance(data[name], kind):
            raise damaged(f"{name!r} should be a JSON {'object' if kind is dict else 'array'}, not {data[name]!r:.40}")


def parse_common(data: dict[str, Any]) -> dict[str, Any]:
    """The inverse of :func:`encode_common`, but for the agreement."""
    labels = tuple(texts(data["scale"]["labels"]))
    if not labels or len(set(labels)) < len(labels):
        raise damaged("its scale has a label twice, or none")
    if data["scale"]["kind"] not in {"ordinal", "nominal"} or type(data["scale"]["inferred"]) is not bool:
        raise damaged("its scale is neither ordinal nor nominal")
    return {
        "scale": Scale(labels, labels, data["scale"]["kind"], data["scale"]["inferred"], frozenset(range(len(labels)))),
        "reading": parse_reading(data["reading"]),
        "totals": Totals(**{name: how_many(value) for name, value in data["totals"].items()}),
        "notes": sentences(data["notes"], "a note"),
        "doubts": sentences(data["doubts"], "a doubt"),
    }


def sentences(values: Any, what: str) -> tuple[str, ...]:
    """The values, if they are texts, none of them empty or there twice."""
    said = tuple(texts(values))
    if len(set(said)) < len(said) or not all(map(str.strip, said)):
        raise damaged(f"{what} is there twice, or is empty")
    return said


def parse_reading(data: dict[str, Any]) -> Reading:
    """How the data were read."""
    for name, default in Reading().to_dict().items():
        if type(data[name]) is not type(default):
            raise damaged(f"the reading option {name!r} cannot be {data[name]!r}")
        if name == "bins":
            checked_list((int, float), data[name], "numbers")
        elif name in PAIRS:
            for pair in data[name]:
                texts(pair)
        elif isinstance(default, list):
            texts(data[name])
    return Reading.from_dict(data)


def texts(values: Any) -> list[str]:
    """The values, if they are a list of texts."""
    return checked_list(str, values, "texts")


def number_array(values: Any, what: str, kind: type) -> Any:
    """Lists of numbers, or of true and false, as an array."""
    try:
        return np.array(values, dtype=kind)
    except (TypeError, ValueError, OverflowError):
        held = "numbers" if kind is float else "true or false" if kind is bool else "whole numbers, as many in each row"
        raise damaged(f"{what} does not hold {held}") from None


@contextmanager
def damage() -> Iterator[None]:
    """Whatever goes wrong with what a file says is damage."""
    try:
        yield
    except SolutionFileError:
        raise
    except (InputError, WrongValueError) as error:
        raise damaged(str(error)) from error
    except KeyError as error:
        raise damaged(f"{error} is missing") from error
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise damaged("a value is not of the kind that belongs there") from error


def damaged(what: str) -> SolutionFileError:
    """The error for a file that has been changed, cut or made by a stranger."""
    return SolutionFileError(f"the solution file is damaged: {what}")


def check_derived(derived: dict[str, Any], data: dict[str, Any], source: str) -> None:
    """What the file repeats must follow from the rest, its ``source``, and nothing may have changed on the way in.

    Args:
        derived: The parts of the file, made again from what was read.
        data: Those that it has.
        source: What it follows from, in words.
    """
    derived |= {"crowdopt_version": data["crowdopt_version"]}
    if unknown := sorted(data.keys() - derived.keys()):
        raise damaged(f"{unknown[0]!r} does not belong there")
    for name, value in derived.items():
        if not same(value, data[name]):
            raise damaged(f"its {name} does not follow from {source}")


def same(ours: Any, theirs: Any) -> bool:
    """Whether two JSON values are equal, numbers up to rounding; a text, a list or true is no number."""
    if isinstance(ours, dict):
        return isinstance(theirs, dict) and ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list):
        return isinstance(theirs, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float):
        return type(theirs) in {int, float} and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
    return type(ours) is type(theirs) and bool(ours == theirs)
