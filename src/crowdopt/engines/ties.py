"""The tie rule: among equally likely mappings, more agreement, then the lexicographically smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.model.problem import Problem


def choose(problem: Problem, mappings: list[Ints], at_least: float) -> Ints:
    """The mapping that the tie rule picks among those whose log-likelihood is at least ``at_least``."""
    buckets = problem.buckets
    good = [mapping for mapping in mappings if problem.objective.of_mapping(buckets, mapping) >= at_least]
    return min(good, key=lambda mapping: (-buckets.agreement(mapping), mapping.tolist()))
