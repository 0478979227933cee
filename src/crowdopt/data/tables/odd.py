"""What is odd about ids, wherever they are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import normalize

from crowdopt.model.letters import has_blanks, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterable

FEW = 20_000
"""Ids of a table in memory that are looked at here; starting a database takes longer than that."""


@dataclass(frozen=True)
class OddIds:
    """Ids that may be meant otherwise.

    Attributes:
        n_blank: How many have blanks around them.
        blank: The smallest of these; empty if there is none.
        n_alike: How many differ from another one in nothing but case, Unicode form or blanks around them.
        alike: Two of these that are alike; none if there are none.
    """

    n_blank: int
    blank: str
    n_alike: int
    alike: tuple[str, ...]


def odd_among(ids: Iterable[tuple[str, ...]]) -> OddIds:
    """What is odd about ids, each behind the values that must be the same for two of them to be alike.

    >>> odd_among([("ann",), ("Ann ",), ("bob",)])
    OddIds(n_blank=1, blank='Ann ', n_alike=2, alike=('Ann ', 'ann'))
    """
    found: dict[tuple[str, ...], list[str]] = {}
    blank = []
    for *others, text in ids:
        found.setdefault((*others, _small(trimmed(text))), []).append(text)
        if has_blanks(text):
            blank.append(text)
    several = [same for same in found.values() if len(same) > 1]
    pair = min(((min(same), max(same)) for same in several), default=())
    return OddIds(len(blank), min(blank, default=""), sum(map(len, several)), pair)


def _small(text: str) -> str:
    """The text in small letters, one by one, as databases do it: which letters stand beside one plays no part."""
    if text.isascii():
        return text.lower()
    return "".join(map(str.lower, normalize("NFC", text).replace("\u0130", "i")))
