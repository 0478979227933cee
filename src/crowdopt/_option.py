"""What is declared of an option, and what follows from declarations: defaults, signatures, docstrings.

The declarations themselves are in the room ``options``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from inspect import Parameter, signature
from textwrap import fill
from typing import Any, Literal, TypeVar, cast, get_args, get_type_hints

from crowdopt.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
Options = TypeVar("Options", bound=Mapping[str, object])


@dataclass(frozen=True)
class Option:
    """What is declared of an option beside its name and type.

    Attributes:
        default: Its value where a user gives none.
        help: What it is, in one line: the help of the command line.
        more: What Python's documentation says instead, where one line is not enough.
        flag: Its name on the command line, if that is not made of its name in Python.
        metavar: What stands for its value in the help.
        parse: How a text of the command line becomes a value; None where the type says it.
        least: The least number that the command line takes.
        most: The greatest one.
        choices: What lists its choices, if its type does not: the registry of engines, or that of annotation tools.
        between: What joins the values where the command line gives it several times; empty where it takes one.
    """

    default: Any
    help: str
    more: str = ""
    flag: str = ""
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    least: float | None = None
    most: float | None = None
    choices: Literal["", "engines", "tools"] = ""
    between: str = ""


def flags_of(name: str, option: Option) -> list[str]:
    """What an option is called on the command line."""
    return option.flag.split() or [f"--{name.replace('_', '-')}"]


@cache
def declared(group: type) -> dict[str, tuple[Any, Option]]:
    """The type and the declaration of every option of a group, by name."""
    hints = get_type_hints(group, include_extras=True)
    return {name: get_args(hint)[:2] for name, hint in hints.items()}


def complete(group: type[Options], given: Mapping[str, Any]) -> Options:
    """The options of a group with their defaults where nothing is given; other names are left out."""
    return cast("Options", {name: given.get(name, option.default) for name, (_, option) in declared(group).items()})


def unexpected(function: str, name: str) -> Exception:
    """What Python raises for a name that a function does not take."""
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def taking(group: type, refuse: Callable[[str, str], Exception] = unexpected) -> Callable[[Function], Function]:
    """Lets a function with ``**options`` take the options of a group: names, defaults, signature and docstring.

    Args:
        group: The group; in the docstring of the function its options take the place of ``options``.
        refuse: Gives the error for a name that the function does not take.
    """
    options = declared(group)
    defaults = {name: option.default for name, (_, option) in options.items()}

    def decorate(function: Function) -> Function:
        own = signature(function)
        *others, _ = own.parameters.values()
        known = {*defaults, *(parameter.name for parameter in others)}

        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            if unknown := [name for name in given if name not in known]:
                raise refuse(function.__qualname__, unknown[0])
            for name, (kind, _) in options.items():
                if name in given:
                    _check_text(name, kind, given[name])
            return function(*args, **defaults | given)

        keywords = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind)
            for name, (kind, _) in options.items()
        ]
        last = [parameter for parameter in others if parameter.kind is Parameter.KEYWORD_ONLY]
        first = [parameter for parameter in others if parameter not in last]
        call.__signature__ = own.replace(parameters=[*first, *keywords, *last])  # type: ignore[attr-defined]
        call.__doc__ = with_arguments(function.__doc__, group)
        return cast("Function", call)

    return decorate


def _check_text(name: str, kind: Any, value: Any) -> None:
    """Raises if the value of an option that is a text, or a list of them, is something else."""
    if kind is str and not isinstance(value, str):
        raise InputError(f"{name} must be a text, not {value!r}")
    if kind == Sequence[str] and not isinstance(value, Iterable):
        raise InputError(f"{name} must be a list of texts, not {value!r}")


def with_arguments(docstring: str | None, group: type) -> str:
    """A docstring in which the options of a group stand in the place of ``options``."""
    return re.sub(r"^ +options: .*(\n {12}.*)*", lambda _: argument_lines(group), docstring or "", flags=re.MULTILINE)


def argument_lines(group: type) -> str:
    """The options of a group as lines of a docstring."""
    texts = {name: option.more or option.help for name, (_, option) in declared(group).items()}
    return "\n".join(
        fill(f"{name}: {text}", 120, initial_indent=" " * 8, subsequent_indent=" " * 12) for name, text in texts.items()
    )


def split_texts(text: str) -> list[str]:
    """Comma-separated values; an empty text is none.

    >>> split_texts("a, b"), split_texts("")
    (['a', 'b'], [])
    """
    return [item.strip() for item in text.split(",")] if text else []


def split_columns(text: str) -> list[str]:
    """Comma-separated names of columns, quoted as in CSV where they have commas or quotes.

    >>> split_columns("gpt-4o, claude-3.5"), split_columns('"fast, cheap","so ""good"" a judge"')
    (['gpt-4o', 'claude-3.5'], ['fast, cheap', 'so "good" a judge'])
    """
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        said = 'columns are separated by commas, and quoted as in CSV where they have some: a,"b, c"'
        raise InputError(f"{said}; this cannot be read: {text}") from None
    return [name.strip() for name in names]


def split_numbers(text: str, option: str) -> list[float]:
    """Comma-separated numbers.

    >>> split_numbers("0.2,0.8", "--selectivity")
    [0.2, 0.8]
    """
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        raise InputError(f"{option} takes numbers separated by commas, not {text!r}") from None


def count_or_edges(text: str) -> int | list[float] | None:
    """A whole number alone counts bins; all else are edges, where a comma at the end tells one edge from a count.

    >>> count_or_edges("5"), count_or_edges("5,"), count_or_edges("0.3,0.7")
    (5, [5.0], [0.3, 0.7])
    """
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        return split_numbers(text.removesuffix(","), "--bins")


def count_or_word(text: str) -> int | str:
    """A whole number as such; all else is left to the library."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def tool_name(text: str) -> str:
    """What the library calls an annotation tool: a plain table is none."""
    return "" if text == "table" else text


def parse_bytes(text: str | None) -> int | None:
    """The number of bytes that a memory limit means; None if there is none.

    >>> parse_bytes("1.5GB"), parse_bytes("512 KiB")
    (1500000000, 524288)
    """
    if text is None:
        return None
    shape = r"\s*([0-9]{0,15}\.?[0-9]{1,15})\s*(?:([KMGT])(?:(i)?B)?|B)\s*"
    found = re.fullmatch(shape, text, re.IGNORECASE) if isinstance(text, str) else None
    if found is None:
        raise InputError(
            f"cannot read the memory limit {text!r}: write a number and a unit, like 500MB or 2GB, nothing negative"
        )
    power = " KMGT".index((found[2] or " ").upper())
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)
