"""One label: there is one mapping, every response agrees with it, and nothing is left to search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.base import Engine, Limits, Outcome
from crowdopt.model.certificate import Space

if TYPE_CHECKING:
    from crowdopt.model.problem import Problem


def trivial(problem: Problem, limits: Limits) -> Outcome:
    """The one mapping."""
    del limits  # one evaluation needs none
    mapping = np.zeros(problem.buckets.n_buckets, np.int64)
    value = problem.objective.of_mapping(problem.buckets, mapping)
    return Outcome(mapping, value, value, Space.ALL, work=1)


TRIVIAL = Engine("trivial", trivial)
