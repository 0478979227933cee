"""HITs with several items: columns that differ in a number only, ``Input.text_2`` and ``Answer.rating_2`` among them.

Such columns are a family, and its name is a pattern, ``rating_*``. As a question it gives a task for each item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import cases
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crowdopt.data.readers.tools.base import Files

NUMBER = re.compile(r"(?<![0-9])[0-9]{1,6}(?![0-9])")
"""A number in a name, any of which may be that of an item."""

ITEM = "crowdopt_item"
"""The column of the number of an item."""

BETWEEN = "_-. "
"""What may stand between a name and its number."""


@dataclass(frozen=True, eq=False)
class Family:
    """Names that differ in a number only.

    Attributes:
        pattern: The name with a star for the number.
        members: The names by their number, lowest first.
    """

    pattern: str
    members: Mapping[int, str]

    def __str__(self) -> str:
        return self.pattern

    @property
    def name(self) -> str:
        """The pattern without its star, where that is at the end."""
        return _short(self.pattern)

    def is_of(self, other: Family) -> bool:
        """Whether both are of the same items: one has all numbers of the other."""
        own, others = set(self.members), set(other.members)
        return own <= others or others <= own

    def pick(self, values: Mapping[int, str]) -> str:
        """The expression for the value of the item of a row, given that for each of its numbers."""
        return cases(*((f"{ITEM} = {n}", value) for n, value in values.items()))


def items_of(names: Iterable[str]) -> list[Family]:
    """The families among names; one name alone is none. A name with two numbers may be in two.

    >>> [str(one) for one in items_of(["item1_q1", "item1_q2", "item2_q1", "item2_q2"])]
    ['item*_q1', 'item1_q*', 'item*_q2', 'item2_q*']
    """
    found: dict[str, dict[int, str]] = {}
    for name in names:
        for number in NUMBER.finditer(name):
            pattern = f"{name[: number.start()]}*{name[number.end() :]}"
            found.setdefault(pattern, {}).setdefault(int(number[0]), name)
    return [Family(pattern, dict(sorted(members.items()))) for pattern, members in found.items() if len(members) > 1]


def choose_question(files: Files, wanted: str, questions: Sequence[str], inputs: Sequence[Family]) -> str | Family:
    """The question whose answers are wanted, or the family of questions: the one that is named, or the only one.

    Without a name, a family is one question with several items only if there is no other question, and there are inputs
    of the very same numbers: else it may as well be several questions about one thing.
    """
    families = items_of(questions)
    named = [family for family in families if wanted and wanted in {family.pattern, family.name, f"{family.name}*"}]
    if wanted in questions or not families:
        return files.choose_question(wanted, questions, "MTurk")
    if named:
        return named[0]
    grouped = {name: [str(one) for one in families if name in one.members.values()] for name in questions}
    listed = list(dict.fromkeys(pattern for name in questions for pattern in grouped[name] or [name]))
    if len(listed) == 1:
        if not wanted and any(families[0].members.keys() == one.members.keys() for one in inputs):
            return families[0]
        listed = [*questions, *listed]
    if wanted:
        near = get_close_matches(wanted, [*questions, *(family.name for family in families), *listed], n=1)
        said = f"no question {wanted!r}" + (f"; did you mean {near[0]!r}?" if near else "")
    else:
        said = f"{len(listed)} questions: name one with --question"
    n, one = len(families[0].members), next(iter(families[0].members.values()))
    raise InputError(
        f"{files.name} has {said} (questions: {', '.join(listed)}); {str(families[0])!r} makes a task of each of {n} "
        f"items, {one!r} is about one"
    )


def _short(pattern: str) -> str:
    return pattern[:-1].rstrip(BETWEEN) if pattern.endswith("*") else pattern
