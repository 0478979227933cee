"""Problem: buckets, the space of mappings, and the objective. What engines are given, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdopt.certificate import Space
from crowdopt.errors import InputError
from crowdopt.objective import Objective, tolerance

if TYPE_CHECKING:
    from crowdopt.buckets import Buckets


PLAIN = Objective()
"""Nothing added: the likelihood of the responses alone."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Find the mapping of ``buckets`` in ``space`` that maximises ``objective``."""

    buckets: Buckets
    space: Space = Space.DOMINANCE
    objective: Objective = PLAIN

    def __post_init__(self) -> None:
        if not self.buckets.n_buckets:
            raise InputError("there are no responses to aggregate")
        if self.objective.shares and len(self.objective.shares) != self.buckets.n_labels:
            raise InputError(
                f"selectivity has {len(self.objective.shares)} shares, but there are {self.buckets.n_labels} labels"
            )

    def tolerance(self, value: float) -> float:
        """The tolerance at a log-likelihood of about ``value``."""
        return tolerance(value, self.buckets.n_labels, self.buckets.n_classes)
