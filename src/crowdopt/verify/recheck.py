"""The checks of one problem that take time: each is done once, by the cheapest plain means that can settle it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from crowdopt.model.certificate import Space
from crowdopt.verify.optimum import (
    Undecided,
    all_mappings,
    always_above,
    log_likelihood,
    scan_settles,
    two_label_values,
)
from crowdopt.verify.optimum_ordered import OrderedOptimum
from crowdopt.verify.witness import doubt

if TYPE_CHECKING:
    from crowdopt.model.problem import Problem


MAX_ENUMERATED = 4_096
"""Mappings up to which every one is tried."""


class Recheck:
    """The checks of one problem that take time; what two of them need is computed once."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline

    @cached_property
    def ordered(self) -> OrderedOptimum:
        """The best mappings that respect the order."""
        return OrderedOptimum(self.problem, self.deadline)

    def doubt(self, witness: Any, bound: float) -> str | None:
        """Why a witness of prices does not prove ``bound``; None if it does.

        Raises:
            Undecided: If that takes too long.
        """
        return doubt(self.problem, witness, bound, self.deadline)

    @property
    def lists_all(self) -> bool:
        """Whether there are so few mappings that all of them are tried."""
        return bool(self.problem.buckets.n_labels**self.problem.buckets.n_buckets <= MAX_ENUMERATED)

    def better_than(self, bound: float, *, proved: bool = False) -> float | None:
        """The log-likelihood of a mapping in the space that is above ``bound``, or None if there is none.

        Args:
            bound: The bound.
            proved: Whether a witness proved the bound, so that only what is cheap is checked once more.

        Raises:
            Undecided: If no method here settles it in time.
        """
        problem, buckets = self.problem, self.problem.buckets
        if bound >= always_above(problem):
            return None
        if self.lists_all:
            best = max(log_likelihood(problem, mapping) for mapping in all_mappings(problem))
        elif proved:
            return None
        elif buckets.n_labels == 2 and buckets.n_classes == 1 and scan_settles(problem):
            best = max(two_label_values(problem, self.deadline))
        elif problem.space is Space.DOMINANCE:
            best = self.ordered.value
        else:
            raise Undecided(
                "over all mappings of more than two labels a bound is checked by prices, and there are none"
            )
        return best if best > bound else None
