"""Numbers of mappings: those of the paper's Table 2, of its algorithm for filtering, and of its appendix, counted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from crowdopt.engines.enumeration import count_mappings, full_lattice
from crowdopt.model.order import Order
from crowdopt.studies.paper.diagrams import Diagram

N_ITEMS = 100
"""Items of Table 2."""

PRINTED: dict[tuple[int, int], tuple[str, str, str]] = {
    (3, 3): ("10^47", "6*10^4", "126"),
    (3, 4): ("10^47", "10^7", "462"),
    (3, 5): ("10^47", "10^10", "1716"),
    (4, 3): ("10^60", "10^12", "2.8*10^4"),
    (4, 4): ("10^60", "10^21", "2.7*10^6"),
    (5, 2): ("10^69", "10^10", "2.8*10^4"),
    (5, 3): ("10^69", "10^24", "1.1*10^8"),
}
"""Table 2 as printed, by (R, m): all mappings, those that treat buckets as wholes, and those that respect the order."""

WORDS = (
    f"For {N_ITEMS} items with m responses of R ratings each: all mappings, those that treat a bucket as a whole, and "
    "those that also respect the order, each beside what the paper prints. The last two columns are what the chain "
    "engine works on instead: sets of buckets closed upwards, and pairs of them one inside the other."
)


@dataclass(frozen=True)
class MappingCounts:
    """A row of Table 2.

    Attributes:
        n_labels: R.
        m: Responses per item.
        buckets: Distinct vectors of counts.
        unconstrained: All mappings of 100 items.
        bucketized: Mappings of buckets.
        dominance: Mappings of buckets that respect the order.
        printed: The three as the paper has them; empty where it has none.
    """

    n_labels: int
    m: int
    buckets: int
    unconstrained: int
    bucketized: int
    dominance: int
    printed: tuple[str, ...] = ()


def table_2() -> list[MappingCounts]:
    """The rows of Table 2, exact."""
    return [counted(n_labels, m) for n_labels, m in PRINTED]


def counted(n_labels: int, m: int) -> MappingCounts:
    """The exact numbers for any R and m."""
    lattice = full_lattice(n_labels, m)
    return MappingCounts(
        n_labels=n_labels,
        m=m,
        buckets=len(lattice),
        unconstrained=n_labels**N_ITEMS,
        bucketized=n_labels ** len(lattice),
        dominance=count_mappings(Order.of(lattice[:, None]), n_labels),
        printed=PRINTED.get((n_labels, m), ()),
    )


def agrees(number: int, printed: str) -> bool:
    """Whether a printed number is this one, rounded to the digits it has; a bare power of ten gives the magnitude only.

    >>> agrees(28744, "2.8*10^4"), agrees(28744, "2.9*10^4"), agrees(28744, "10^4"), agrees(28744, "28745")
    (False, True, True, False)
    """
    found = re.fullmatch(r"(?:([0-9.]+)\*)?10\^([0-9]+)", printed)
    if found is None:
        return number == int(printed)
    digits, power = found[1], int(found[2])
    if digits is None:
        return len(str(number)) - 1 == power
    unit = 10 ** (power - len(digits.partition(".")[2]))
    return bool(int(digits.replace(".", "")) == (number + unit // 2) // unit)


def number_of_mappings() -> Diagram:
    """Table 2, counted; with the up-sets and pairs of them that a search by chains needs instead."""
    return Diagram("", [_row(row) for row in table_2()], WORDS)


def _row(row: MappingCounts) -> dict[str, Any]:
    order = Order.of(full_lattice(row.n_labels, row.m)[:, None])
    exact = {"all": row.unconstrained, "by bucket": row.bucketized, "in order": row.dominance}
    line: dict[str, Any] = {"R": row.n_labels, "m": row.m}
    for (name, number), printed in zip(exact.items(), row.printed, strict=True):
        line |= {name: number, f"{name}, as printed": printed.replace("*", " × ")}
    # A mapping of two labels is one up-set, and one of three a pair of them, one inside the other.
    return line | {"up-sets": count_mappings(order, 2), "pairs of up-sets": count_mappings(order, 3)}


def up_to(m: int) -> int:
    """Mappings that respect the order when items have any number of responses up to m, none included; two labels.

    >>> up_to(3)
    16
    """
    return count_mappings(Order.of(points(m)[:, None]), 2)


def points(m: int) -> np.ndarray:
    """All buckets of up to m responses of two labels."""
    return np.array([counts for counts in product(range(m + 1), repeat=2) if sum(counts) <= m], np.int64)


def appendix_count(m: int) -> int:
    """What the appendix counts in place of :func:`up_to`."""
    return (1 << (m + 1)) - 1 + (1 << m)
