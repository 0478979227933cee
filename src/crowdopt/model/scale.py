"""Scale: the labels, their order, and the one text that each of them has whatever source it came from."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from crowdopt.errors import InputError
from crowdopt.model.letters import told_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

EXPONENT = 1e16
"""Where the texts of whole floats begin to have an exponent; below, libraries do not agree on it."""

MAX_LABELS = 64
"""Labels up to which labels can be proved, and counts, matrices and probabilities are held for every label."""

MOST_LABELS = 10_000
"""Labels that there can be at all."""

ScaleKind = Literal["ordinal", "nominal"]
"""Whether the order of the labels means something."""


def plain_value(value: Any) -> Any:
    """A NumPy scalar as Python's own; anything else as it is.

    >>> plain_value(np.bool_(True)), plain_value(np.float64(0.5)), plain_value("x")
    (True, 0.5, 'x')
    """
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()  # of nanoseconds, item() would make an integer
    return value.item() if isinstance(value, np.generic) else value


def canonical_text(value: Any) -> str:
    """The text of a label, the same for 1, 1.0 and "1", for True and "true".

    >>> [canonical_text(value) for value in (1, 1.0, "1", 0.5, True, "007")]
    ['1', '1', '1', '0.5', 'true', '007']
    """
    value = plain_value(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < EXPONENT else repr(value)
    if isinstance(value, decimal.Decimal):
        return format(value.normalize(), "f") if value.is_finite() else str(value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


@dataclass(frozen=True)
class Scale:
    """The labels, lowest first.

    Attributes:
        labels: Canonical text of each label.
        values: The labels as the source has them, in the same order.
        kind: Whether the order of the labels means something. Two labels count as ordered unless the user says no.
        inferred: Whether kind and order were taken from the data, and not said by the user or the type of the column.
        occurring: Indices of the labels that occur in the data.
    """

    labels: tuple[str, ...]
    values: tuple[Any, ...]
    kind: ScaleKind
    inferred: bool
    occurring: frozenset[int]

    @classmethod
    def of(
        cls,
        found: Sequence[Any],
        named: Sequence[str] = (),
        kind: Literal["", "ordinal", "nominal"] = "",
        what_to_do: Callable[[Sequence[Any]], str] = lambda _: "",
    ) -> Self:
        """The scale of the labels ``found`` in the data, in the order ``named`` by the user or else their own.

        Labels that all look like numbers are sorted as numbers, others as text. Unless the user said what ``kind`` of
        scale it is: named labels, ratings (see :func:`are_ratings`), and two labels of any sort are ordinal, all else
        is nominal. Where some of those found are not named, the error ends with ``what_to_do`` about them.
        """
        by_text: dict[str, Any] = {}
        for value in found:
            text = canonical_text(value)
            if text in by_text:
                kinds = " and ".join(sorted({type(value).__name__, type(by_text[text]).__name__}))
                raise InputError(f"label {text!r} occurs as {kinds}: make the column one type")
            by_text[text] = value
        if named:
            if unknown := sorted(set(by_text) - set(named)):
                raise _off_scale(unknown, named, what_to_do([by_text[text] for text in unknown]))
            texts = list(named)
        else:
            texts = sorted_texts(by_text)
        if len(texts) > MOST_LABELS:
            raise too_many_labels(len(texts), texts)
        if not named and kind != "nominal":
            _check_distinct(texts)
        sortable = bool(named) or len(texts) <= 2 or all(as_number(text) is not None for text in texts)
        if kind == "ordinal" and not sortable:
            raise InputError(
                f"the order of labels that are texts must be named: --labels, lowest first; they are {_listed(texts)}"
            )
        types = {type(value) for value in by_text.values()}
        return cls(
            tuple(texts),
            tuple(by_text[text] if text in by_text else _like(text, types) for text in texts),
            kind or ("ordinal" if named or len(texts) <= 2 or are_ratings(texts) else "nominal"),
            inferred=not named and not kind,
            occurring=frozenset(j for j, text in enumerate(texts) if text in by_text),
        )

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.labels)

    @property
    def has_many_labels(self) -> bool:
        """Whether there are too many labels for counts, matrices and probabilities of every label."""
        return self.n_labels > MAX_LABELS

    @cached_property
    def places(self) -> dict[str, int]:
        """The index of each label by its canonical text."""
        return {text: j for j, text in enumerate(self.labels)}

    def index(self, text: str) -> int:
        """Index of a label by its canonical text; raises for a label that is not on the scale."""
        try:
            return self.places[text]
        except KeyError:
            raise InputError(f"label {text!r} is not on the scale {named_labels(self.labels)}") from None


def _off_scale(unknown: Sequence[str], named: Sequence[str], what_to_do: str) -> InputError:
    first, scale = told_apart(unknown[:MOST_LISTED], named)
    listed = ", ".join(first) + (f", … ({len(unknown):,} in all)" if len(unknown) > MOST_LISTED else "")
    count = _count(len(unknown), "label")
    return InputError(f"{count} not on the scale {named_labels(scale)}: {listed}{what_to_do}")


def as_number(text: str) -> float | None:
    """The finite number that a text is, or None.

    >>> as_number("1e1"), as_number("007"), as_number("ten"), as_number("inf"), as_number("1_0")
    (10.0, 7.0, None, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


RATINGS = range(3, 8)
"""How many labels ratings can be, where nobody says that they are ratings."""


def are_ratings(texts: Sequence[str]) -> bool:
    """Whether labels look like ratings: whole numbers without a gap, from 0 or 1 on or as far below 0 as above.

    >>> are_ratings("12345"), are_ratings("1245"), are_ratings(["-1", "0", "1"]), are_ratings(["10", "20", "30"])
    (True, False, True, False)
    """
    numbers = sorted(number for text in texts if (number := as_number(text)) is not None)
    n = len(texts)
    first = numbers[0] if numbers else math.nan
    begins = first in {0, 1} or (n % 2 == 1 and first == -(n // 2))
    return n in RATINGS and begins and numbers == [first + step for step in range(n)]


def named_labels(labels: Sequence[str], most: int = MAX_LABELS) -> str:
    """Labels in words; of very many the first ones.

    >>> named_labels("abc"), named_labels("abc", 2)
    ('a, b, c', 'a, b, … (3 in all)')
    """
    more = f", … ({len(labels):,} in all)" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more


def too_many_labels(number: int, some: Sequence[str]) -> InputError:
    """The error for more labels than there can be, given their number and the texts of some of them."""
    why = hint_bins(some) or "; is this column one of free texts or ids?"
    return InputError(f"{number:,} different labels, such as {_few(some)}; at most {MOST_LABELS:,} are supported{why}")


def check_few_labels(scale: Scale) -> None:
    """Raises if labels are too many to be proved."""
    if scale.has_many_labels:
        why = hint_bins(scale.labels) or "; merge some of them, or use crowdopt aggregate"
        raise InputError(
            f"{scale.n_labels:,} different labels, such as {_few(scale.labels)}; labels are proved among at most "
            f"{MAX_LABELS}{why}"
        )


def _few(texts: Sequence[str]) -> str:
    return ", ".join(sorted(repr(text[:40]) for text in texts)[:5])


def hint_bins(texts: Sequence[str]) -> str:
    """What to say behind "too many labels" if they are scores; empty if they are not."""
    scores = all(as_number(text) is not None for text in texts)
    return "; scores need --bins (--bins 5 makes five of equal width)" if scores else ""


def _like(text: str, kinds: set[type]) -> Any:
    """A named label that never occurs, as the type that the others have."""
    if kinds == {bool} and text in {"true", "false"}:
        return text == "true"
    number = as_number(text)
    if number is not None and kinds <= {int, float} and kinds:
        return int(number) if kinds == {int} and number.is_integer() else number
    return text


def sorted_texts(texts: Iterable[str]) -> list[str]:
    """Texts as numbers if all of them are, else as texts.

    >>> sorted_texts(["10", "9"]), sorted_texts(["b10", "b9"])
    (['9', '10'], ['b10', 'b9'])
    """
    numbers = {text: as_number(text) for text in texts}
    if all(number is not None for number in numbers.values()):
        return sorted(numbers, key=lambda text: (numbers[text], text))
    return sorted(numbers)


def _check_distinct(texts: Sequence[str]) -> None:
    """Raises if all labels are numbers and two are the same one: they cannot be two steps of one scale."""
    numbers = [(number, text) for text in texts if (number := as_number(text)) is not None]
    if len(numbers) < len(texts):
        return
    for (number, text), (other, like) in itertools.pairwise(sorted(numbers)):
        if number == other and Decimal(text) == Decimal(like):  # large whole numbers may be one only when rounded
            same = f"the labels {text!r} and {like!r} are the same number"
            raise InputError(f"{same}: write them alike, or say --scale nominal if they are names")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


MOST_LISTED = 5
"""Labels that an error names at most."""


def _listed(texts: Sequence[str], limit: int = MOST_LISTED) -> str:
    shown = ", ".join(repr(text if len(text) <= 40 else text[:37] + "…") for text in texts[:limit])
    return shown + (f", … ({len(texts):,} in all)" if len(texts) > limit else "")
