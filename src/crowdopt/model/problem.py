"""Problem: buckets, the space of mappings, and the objective. What engines are given, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.errors import InputError
from crowdopt.model.buckets import blocks_of
from crowdopt.model.certificate import Space
from crowdopt.model.objective import Objective, phi, tolerance
from crowdopt.model.order import Order

if TYPE_CHECKING:
    from crowdopt.model.buckets import Buckets


PLAIN = Objective()
"""Nothing added: the likelihood of the responses alone."""


PRICE_TOLERANCE, PRICE_PRECISION = 1e-6, 1e-9
"""Within how many nats, or what part of the log-likelihood, prices prove an optimum."""


PARAMETER_TOLERANCE = 0.1
"""Within how many nats the largest marginal likelihood is proved: a likelihood ratio of 1.1."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Find the mapping of ``buckets`` in ``space`` that maximises ``objective``.

    Attributes:
        buckets: The distinct counts of responses.
        space: The mappings to search.
        objective: What to maximise.
        ranked: Whether the classes of workers are ranked, best first: the order then compares more buckets.
        found: What was found in the same responses, and not given: ``classes`` of workers, and with them the
            ``smoothing`` of their matrices and the ``shares`` of the labels.
    """

    buckets: Buckets
    space: Space = Space.DOMINANCE
    objective: Objective = PLAIN
    ranked: bool = False
    found: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.buckets.n_buckets:
            raise InputError("there are no responses")
        if self.objective.shares and len(self.objective.shares) != self.buckets.n_labels:
            raise InputError(
                f"selectivity has {len(self.objective.shares)} shares, but there are {self.buckets.n_labels} labels"
            )
        offsets = self.objective.offsets
        shape = (self.buckets.n_labels, *self.buckets.counts.shape[1:])
        if offsets is not None and offsets.gold_responses.shape != shape:
            raise InputError(
                f"offsets must have shape {shape} (label, class, answer), not {offsets.gold_responses.shape}"
            )

    @property
    def given(self) -> tuple[str, ...]:
        """What a proof takes for granted; which worker is in which class is only told apart if there are two."""
        several = self.buckets.n_classes > 1
        classes = (("classes", several), ("ranked classes", several and self.ranked))
        names = (*(name for name, used in classes if used), *self.objective.given)
        known_as = {"classes": "classes", "prior matrix": "smoothing", "selectivity": "shares"}
        return tuple(f"found {known_as[name]}" if known_as.get(name) in self.found else name for name in names)

    @cached_property
    def order(self) -> Order:
        """The order between buckets."""
        return Order.of(self.buckets.counts, ranked=self.ranked)

    @cached_property
    def plain_bound(self) -> float:
        """An upper bound on F that always holds: every bucket a cluster of its own, the dearest share for all.

        Φ is convex and homogeneous, hence Φ(a + b) ≤ Φ(a) + Φ(b), and no selectivity term is positive.
        """
        counts, weights = self.buckets.counts, self.buckets.weights
        blocks = blocks_of(len(counts), counts[0].size)
        bound = math.fsum(float(np.sum(weights[some] * phi(counts[some]))) for some in blocks)
        if self.objective.offsets is not None:
            bound += float(phi(self.objective.offsets.counts).sum())
        return bound + self.buckets.n_tasks * math.log(max(self.objective.shares, default=1.0))

    def price_tolerance(self, value: float) -> float:
        """The tolerance of proofs by prices at a log-likelihood of about ``value``.

        A price for every bucket is found by iteration, and its bound is a sum over all of them, so the gap cannot be
        driven down to the rounding of one evaluation. A millionth of a nat, or a billionth of the log-likelihood, is
        some hundred times what rounding does to such sums. Up to a million responses that is a thousandth of a nat,
        no likelihood ratio that anyone would act on; for 10¹² it is about a thousand nats. The certificate states it.
        """
        return max(PRICE_TOLERANCE, PRICE_PRECISION * abs(value))

    def tolerance(self, value: float) -> float:
        """The tolerance at a log-likelihood of about ``value``."""
        return tolerance(value, self.buckets.n_labels, self.buckets.n_classes)
