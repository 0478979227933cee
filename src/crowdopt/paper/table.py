"""Table 2 of the paper: how far buckets and their order shrink the number of mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdopt.order import Order
from crowdopt.paper.counts import N_ITEMS, table_2
from crowdopt.paper.diagrams import Diagram
from crowdopt.solve.enumerate import count_mappings, full_lattice

if TYPE_CHECKING:
    from crowdopt.paper.counts import Counted

WORDS = (
    f"For {N_ITEMS} items with m responses of R ratings each: all mappings, those that treat a bucket as a whole, and "
    "those that also respect the order. The last two columns are what the chain engine works on instead: sets of "
    "buckets closed upwards, and pairs of them one inside the other."
)


def number_of_mappings() -> Diagram:
    """Table 2, counted; with the up-sets and pairs of them that a search by chains needs instead."""
    return Diagram("", [_row(counted) for counted in table_2()], WORDS)


def _row(counted: Counted) -> dict[str, Any]:
    order = Order.of(full_lattice(counted.n_labels, counted.m)[:, None])
    return {
        "R": counted.n_labels,
        "m": counted.m,
        "all": counted.unconstrained,
        "by bucket": counted.bucketized,
        "in order": counted.dominance,
        "in order, as printed": counted.printed[2].replace("*", " × "),
        # A mapping of two labels is one up-set, and one of three a pair of them, one inside the other.
        "up-sets": count_mappings(order, 2),
        "pairs of up-sets": count_mappings(order, 3),
    }
