"""Patterns of names of columns: the ``*`` stands for a part of a name, and of a path for one key, or a part of it."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Self

from crowdopt.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Sequence

ANY = "*"
"""In a pattern, what a worker (or a task) is called."""

FEW = 12
"""Patterns that an error lists."""


class PathName(str):
    """The name of a column that is a path into objects; it remembers the keys, which may have dots in them."""

    __slots__ = ("keys",)
    keys: tuple[str, ...]

    def __new__(cls, keys: Sequence[str]) -> Self:
        """The keys with dots between them."""
        name = super().__new__(cls, ".".join(keys))
        name.keys = tuple(keys)
        return name


def matching(named: str, names: Sequence[str]) -> dict[str, str]:
    """The columns that are like a pattern with one ``*``, and what it stands for in each.

    >>> scores = [PathName(["judges", "claude-3.5", "score"]), PathName(["judges", "o1", "score"])]
    >>> matching("judges.*.score", scores), matching("score_*", ["score_claude-3.5", "note"])
    ({'judges.claude-3.5.score': 'claude-3.5', 'judges.o1.score': 'o1'}, {'score_claude-3.5': 'claude-3.5'})

    Raises:
        ColumnError: It would stand for several keys of a path.
    """
    before, _, behind = named.partition(ANY)
    pattern = re.compile(f"{re.escape(before)}(.+){re.escape(behind)}", re.DOTALL)
    found = {name: match for name in names if (match := pattern.fullmatch(name))}
    deeper = {name: rest for name, match in found.items() if (rest := _keys_behind(name, match))}
    if deeper and not (behind and len(deeper) < len(found)):
        instead = list(dict.fromkeys(f"{before}{ANY}.{'.'.join(rest)}" for rest in deeper.values()))
        listed = ", ".join(map(repr, instead[:FEW])) + (", …" if len(instead) > FEW else "")
        raise ColumnError(
            f"the {ANY} of {named!r} is one key, and there are objects under it: write {listed}"
            f"{' (one of them)' if len(instead) > 1 else ''}"
        )
    return {name: match[1] for name, match in found.items() if name not in deeper}


def _keys_behind(name: str, match: re.Match[str]) -> tuple[str, ...]:
    """Of a path the keys behind the one in which a match begins, if it goes on behind that."""
    keys = name.keys if isinstance(name, PathName) else (name,)
    ends = accumulate(keys, lambda end, key: end + 1 + len(key), initial=-1)
    place = next(place for place, end in enumerate(ends, -1) if end > match.start(1))
    return keys[place + 1 :] if match.end(1) > len(".".join(keys[: place + 1])) else ()
