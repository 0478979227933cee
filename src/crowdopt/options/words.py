"""The words of who is speaking: texts name options as the command line does, and Python names its arguments.

Every text is written once, in the words of the command line: ``--duplicates all``. The command line prints texts as
they are. Where Python code calls this package, :func:`in_python_words` translates what is raised, and :func:`spoken`
what is warned of and shown: ``duplicates="all"``. What a text says of an option is a flag, and behind it perhaps its
value: one word without blanks, or one in quotes as a shell wants them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, wraps
from itertools import takewhile
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from crowdopt._option import Option, count_or_edges, count_or_word, declared, flags_of, split_texts
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.options.verbs import AggregateOptions, CompareOptions, ProveOptions, VerifyOptions

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound=type)

_COMMAND_LINE = ContextVar("command_line", default=False)
"""Whether the command line is speaking."""

ARGUMENTS: dict[str, tuple[str, Any]] = {
    "--group": ("group", str),
    "--output-format": ("output_format", str),
    "--output-table": ("table", str),
    "--probabilities": ("probabilities", bool),
    "--replace": ("replace", bool),
    "--spreadsheet-safe": ("spreadsheet_safe", bool),
}
"""Arguments of functions, methods and ``Database`` that are no declared options: names and types by their flags."""

PHRASES = {
    r"\bcrowdopt (aggregate|compare|prove|verify)\b": r"crowdopt.\1",
    r"(?<![\w-])-o ADDRESS --output-table NAME": 'Database("ADDRESS", "NAME")',
}
"""What is not said option by option."""

NO_VALUES = frozenset({
    "a", "an", "and", "are", "as", "at", "behind", "beside", "but", "by", "can", "cannot", "column", "does", "file",
    "for", "from", "goes", "had", "has", "have", "if", "in", "instead", "into", "is", "it", "lacks", "makes", "may",
    "mean", "means", "must", "name", "named", "names", "need", "needs", "not", "of", "on", "once", "only", "option",
    "or", "says", "takes", "that", "the", "them", "then", "there", "this", "to", "too", "twice", "was", "were", "which",
    "while", "who", "will", "with", "without", "yet",
})  # fmt: skip
"""Words that may follow the name of an option in a sentence, and are none of its values."""

NUMBERS = re.compile(r"-?[\d.]+|\[[\d., e+-]+\]")
"""A number, or a list of numbers."""

QUOTED = "'[^']*'|\"[^\"]*\""
THEIRS = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""
"""What stands in quotes, as ``repr`` writes it: the user's own words. An apostrophe within a word opens none."""

WORD = r"(?!-+[a-z])[^\s,;:()'\"](?:[^\s;:()'\"]*[^\s,;:.?()'\"])?"


@contextmanager
def command_line_speaks() -> Iterator[None]:
    """While this lasts, texts are said as they are written."""
    token = _COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _COMMAND_LINE.reset(token)


def python_speaks() -> bool:
    """Whether texts are for someone who wrote Python."""
    return not _COMMAND_LINE.get()


def spoken(text: str) -> str:
    """A text in the words of who is speaking."""
    return python_words(text) if python_speaks() else text


def python_words(text: str) -> str:
    """A text in the words of Python.

    >>> print(python_words("add --duplicates first|last with --order-by COL, or leave out --wide"))
    add duplicates="first" or "last" with order_by="COL", or leave out wide=True
    >>> print(python_words("--labels names a label twice; say --labels low,high or --bins 5"))
    labels names a label twice; say labels=["low", "high"] or bins=5
    """
    for phrase, instead in PHRASES.items():
        parts = re.split(f"({THEIRS})", text)
        text = "".join(part if at % 2 else re.sub(phrase, instead, part) for at, part in enumerate(parts))
    return _option_pattern().sub(_argument, text)


def without_options(text: str) -> str:
    """A text without what stands behind a semicolon from where an option is named on: for verbs that have none.

    >>> without_options("'a; --b' has 1 of 900 responses; if it is a slip, --na 'a; --b' leaves it out")
    "'a; --b' has 1 of 900 responses"
    """
    first, *parts = re.findall(rf"(?:{THEIRS}|[^;])+", text)
    return ";".join([first, *takewhile(lambda part: python_words(part) == part, parts)])


@cache
def _arguments() -> dict[str, tuple[str, Any, Option | None]]:
    """Name, type and declaration of every argument, by its flag."""
    found: dict[str, tuple[str, Any, Option | None]] = {flag: (*known, None) for flag, known in ARGUMENTS.items()}
    for group in (CompareOptions, VerifyOptions, ProveOptions, AggregateOptions):
        for name, (kind, option) in declared(group).items():
            found |= dict.fromkeys(flags_of(name, option), (name, kind, option))
    return found


@cache
def _option_pattern() -> re.Pattern[str]:
    """A flag and what may be its value; not within quotes, where the user's own words stand."""
    flags = "|".join(sorted(map(re.escape, _arguments()), key=len, reverse=True))
    option = rf"(?<![\w'\"`=-])(?P<flag>{flags})(?![\w-])(?P<value> (?:{QUOTED}|{WORD}(?:,$)?))?"
    return re.compile(f"{option}|{THEIRS}")


def _argument(found: re.Match[str]) -> str:
    """A flag, and its value if there is one, as an argument; what stands in quotes as it is."""
    if found["flag"] is None:
        return found[0]
    name, kind, option = _arguments()[found["flag"]]
    behind = found["value"] or ""
    if kind is bool:
        return f"{name}=True{behind}"
    word = shlex.split(behind)[0] if behind[1:2] in {"'", '"'} else behind[1:]
    choices = _choices(kind)
    if not word or behind[1:] in NO_VALUES or (choices and not choices.issuperset(word.split("|"))):
        return f"{name}{behind}"
    return f"{name}={' or '.join(_value(one, kind, option) for one in word.split('|'))}"


def _choices(kind: Any) -> frozenset[str]:
    """The values of a type that is a choice of texts; none if it is not."""
    parts = get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)
    named = [part for part in parts if part is not type(None)]
    if not all(get_origin(part) is Literal for part in named):
        return frozenset()
    return frozenset(str(value) for part in named for value in get_args(part))


def _value(word: str, kind: Any, option: Option | None) -> str:
    """A value as one would write it in Python."""
    parse = option.parse if option else None
    if parse is split_texts or kind == Sequence[str]:
        return f"[{', '.join(map(_text, split_texts(word)))}]"
    if parse in {count_or_edges, count_or_word}:
        with suppress(InputError):  # of what is no number
            word = str(parse(word)) if parse else word
    numbers = {int, float} & {kind, *get_args(kind)}
    return word if numbers and NUMBERS.fullmatch(word) else _text(word)


def _text(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)


def in_python_words(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Lets a public function or method raise in the words of Python, unless the command line called it."""

    @wraps(function)
    def call(*args: _P.args, **given: _P.kwargs) -> _R:
        try:
            return function(*args, **given)
        except CrowdoptError as error:
            if python_speaks():
                _translate(error)
            raise

    return call


def _translate(error: BaseException | None) -> None:
    """Translates an error and what it came of: nothing else of them changes."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, CrowdoptError):
            error.args = tuple(python_words(said) if isinstance(said, str) else said for said in error.args)
        error = error.__cause__ or error.__context__


SPECIAL = {"__getitem__", "__post_init__", "_repr_html_"}
"""Methods that users call without naming them."""


def speaking_python(kind: _C) -> _C:
    """Lets all public methods of a class raise in the words of Python, unless the command line called them."""
    for name, held in list(vars(kind).items()):
        if (name.startswith("_") and name not in SPECIAL) or getattr(held, "__isabstractmethod__", False):
            continue
        if isinstance(held, classmethod):
            setattr(kind, name, classmethod(in_python_words(held.__func__)))
        elif isinstance(held, property) and held.fget is not None:
            setattr(kind, name, property(in_python_words(held.fget), doc=held.__doc__))
        elif callable(held) and not isinstance(held, type | staticmethod):
            setattr(kind, name, in_python_words(held))
    return kind
