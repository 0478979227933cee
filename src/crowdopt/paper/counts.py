"""Numbers of mappings: those of the paper's Table 2, of its algorithm for filtering, and of its appendix, counted."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import product

import numpy as np

from crowdopt.buckets import Buckets
from crowdopt.certificate import Space
from crowdopt.order import Order
from crowdopt.problem import Problem
from crowdopt.solve.enumerate import count_mappings, enumerate_mappings, full_lattice, likelihoods

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


@dataclass(frozen=True)
class Counted:
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


def table_2() -> list[Counted]:
    """The rows of Table 2, exact."""
    return [counted(n_labels, m) for n_labels, m in PRINTED]


def counted(n_labels: int, m: int) -> Counted:
    """The exact numbers for any R and m."""
    lattice = full_lattice(n_labels, m)
    return Counted(
        n_labels=n_labels,
        m=m,
        buckets=len(lattice),
        unconstrained=n_labels**N_ITEMS,
        bucketized=n_labels ** len(lattice),
        dominance=count_mappings(Order.of(lattice[:, None]), n_labels),
        printed=PRINTED.get((n_labels, m), ()),
    )


def agrees(number: int, printed: str) -> bool:
    """Whether a printed number is this one, cut or rounded to the digits it has; bare powers give the magnitude only.

    >>> agrees(28744, "2.8*10^4"), agrees(28744, "2.9*10^4"), agrees(28744, "10^4"), agrees(28744, "28745")
    (True, True, True, False)
    """
    found = re.fullmatch(r"(?:([0-9.]+)\*)?10\^([0-9]+)", printed)
    if found is None:
        return number == int(printed)
    digits, power = found[1], int(found[2])
    if digits is None:
        return len(str(number)) - 1 == power
    unit = 10 ** (power - len(digits.partition(".")[2]))
    cut, rounded = number // unit, (number + unit // 2) // unit
    return int(digits.replace(".", "")) in {cut, rounded}


def up_to(m: int) -> int:
    """Mappings that respect the order when items have any number of responses up to m, none included; two labels.

    >>> up_to(3)
    16
    """
    buckets = [counts for counts in product(range(m + 1), repeat=2) if sum(counts) <= m]
    return count_mappings(Order.of(np.array(buckets, np.int64)[:, None]), 2)


def appendix_count(m: int) -> int:
    """What the appendix counts in place of :func:`up_to`."""
    return (1 << (m + 1)) - 1 + (1 << m)


@dataclass(frozen=True)
class Counterexample:
    """A crowd whose likeliest mapping does not respect the order.

    Attributes:
        items: The answers that each item got.
        best: The likeliest labels, and their likelihood.
        ordered: The likeliest labels that respect the order, and theirs.
    """

    items: tuple[tuple[int, ...], ...]
    best: tuple[tuple[int, ...], float]
    ordered: tuple[tuple[int, ...], float]


def counterexample() -> Counterexample:
    """Five items with two ratings each, all mappings of which are compared."""
    items = ((3, 3), (2, 3), (2, 3), (1, 3), (1, 2))
    rows = [[ratings.count(label) for label in (1, 2, 3)] for ratings in items]
    buckets, index = Buckets.from_arrays(rows)
    problem = Problem(buckets, Space.ALL)
    every = np.array(list(product(range(3), repeat=buckets.n_buckets)), np.uint8)
    ordered = enumerate_mappings(Order.of(buckets.counts), 3)

    def likeliest(mappings: np.ndarray) -> tuple[tuple[int, ...], float]:
        values = likelihoods(problem, mappings)
        # Of equals, the one that agrees with most answers: renaming labels changes nothing.
        ties = mappings[values >= values.max() - 1e-9].astype(np.int64)
        found = max(ties, key=buckets.agreement)
        return tuple(int(label) + 1 for label in found[index]), math.exp(values.max())

    return Counterexample(items, likeliest(every), likeliest(ordered))
