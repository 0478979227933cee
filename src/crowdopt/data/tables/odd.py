"""What is odd about ids, wherever they are looked at."""

from __future__ import annotations

from dataclasses import dataclass


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
