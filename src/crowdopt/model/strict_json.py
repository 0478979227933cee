"""Values of JSON files, checked strictly: Python takes true for a number, a file does not."""

from __future__ import annotations

import math
from typing import Any, TypeVar

_Kind = TypeVar("_Kind")


class WrongValueError(ValueError):
    """A value is not what belongs there."""


def of_kind(value: Any, kind: type[_Kind], what_else: str) -> _Kind:
    """The value, if it is of that kind; else the error says what it is, such as "not a text"."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise WrongValueError(f"{value!r} is {what_else}")
    return value


def finite_number(value: Any) -> float:
    """The value as a float, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongValueError(f"{value!r} is not a number")
    return float(value)


def share_of_one(value: Any) -> float:
    """The value as a float, if it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise WrongValueError(f"{value!r} is not a share between 0 and 1")
    return float(value)


def how_many(value: Any) -> int:
    """The value, if it is a whole number and not negative."""
    if of_kind(value, int, "not an integer") < 0:
        raise WrongValueError(f"{value!r} is not a number of things")
    return int(value)


def checked_list(kinds: type | tuple[type, ...], values: Any, what: str) -> list[Any]:
    """The values, if they are a list and each of them is of one of the kinds."""
    if not isinstance(values, list) or any(isinstance(one, bool) or not isinstance(one, kinds) for one in values):
        raise WrongValueError(f"{values!r} is not a list of {what}")
    return values
