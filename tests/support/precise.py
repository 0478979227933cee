"""The log-likelihood to sixty digits, and the best of all mappings by it; whole numbers and fractions all the way.

Written from the definition. Imports nothing from crowdopt.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

from support import oracle

DIGITS = 60
NEVER = Decimal("-Infinity")


@dataclass(frozen=True, eq=False)
class Exact:
    """A problem whose likelihoods are known to sixty digits.

    Attributes:
        counts: Counts by (bucket, class, label).
        weights: Tasks in each bucket.
        shares: None, ``estimate``, or the share of each label.
        known: Pseudo-counts by (label, class, answer), whole numbers or fractions; None for none.
        known_tasks: Tasks known to have each label; None for none.
    """

    counts: np.ndarray
    weights: np.ndarray
    shares: str | tuple[float, ...] | None = None
    known: list[list[list[Fraction]]] | None = None
    known_tasks: tuple[int, ...] | None = None
    _levels: dict[tuple[int, tuple[int, ...]], Decimal] = field(default_factory=dict, repr=False)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return int(self.counts.shape[2])

    def value(self, mapping: np.ndarray) -> Decimal:
        """The log-likelihood of a mapping of buckets."""
        with localcontext(prec=DIGITS):
            members = [tuple(np.flatnonzero(mapping == label).tolist()) for label in range(self.n_labels)]
            return sum((self.level(label, these) for label, these in enumerate(members)), Decimal(0))

    def level(self, label: int, members: tuple[int, ...]) -> Decimal:
        """What the buckets of one label add to the log-likelihood."""
        if (label, members) not in self._levels:
            answers, tasks = self._sums(members)
            self._levels[label, members] = self.of_sums(label, answers, tasks)
        return self._levels[label, members]

    def of_sums(self, label: int, answers: list[list[int]], tasks: int) -> Decimal:
        """The same, of the responses by (class, answer) and the number of tasks of a label."""
        total = Decimal(0)
        with localcontext(prec=DIGITS):
            for k, row in enumerate(answers):
                parts = [Fraction(n) + (self.known[label][k][i] if self.known else 0) for i, n in enumerate(row)]
                total += sum((times_log(part, sum(parts) - part) for part in parts), Decimal(0))
            return total + self._share_term(label, tasks)

    def _sums(self, members: tuple[int, ...]) -> tuple[list[list[int]], int]:
        """In whole numbers of any size."""
        weights = [int(self.weights[b]) for b in members]
        rows = [self.counts[b].tolist() for b in members]
        shape = self.counts.shape[1:]
        sums = [
            [sum(w * row[k][i] for w, row in zip(weights, rows, strict=True)) for i in range(shape[1])]
            for k in range(shape[0])
        ]
        return sums, sum(weights)

    def _share_term(self, label: int, tasks: int) -> Decimal:
        if self.shares is None:
            return Decimal(0)
        if self.shares == "estimate":
            known = self.known_tasks or (0,) * self.n_labels
            here, total = tasks + known[label], sum(int(w) for w in self.weights) + sum(known)
            return times_log(Fraction(here), Fraction(total - here))
        if not tasks:
            return Decimal(0)
        share = Decimal(self.shares[label])
        return tasks * share.ln() if share else NEVER

    def mappings(self, space: str, *, ranked: bool = False) -> list[np.ndarray]:
        """All mappings of buckets in a space."""
        pairs = [
            (a, b)
            for a, b in itertools.permutations(range(len(self.counts)), 2)
            if space == "dominance" and oracle.dominates(self.counts[a], self.counts[b], ranked=ranked)
        ]
        everything = itertools.product(range(self.n_labels), repeat=len(self.counts))
        return [np.array(labels) for labels in everything if all(labels[a] >= labels[b] for a, b in pairs)]

    def optimum(self, space: str, *, ranked: bool = False) -> Decimal:
        """The likelihood of the best of them."""
        return max(self.value(mapping) for mapping in self.mappings(space, ranked=ranked))


def times_log(part: Fraction, rest: Fraction) -> Decimal:
    """``part * ln(part / (part + rest))``, nought where part is nought."""
    return _as_decimal(part) * (_log(part) - _log(part + rest)) if part else Decimal(0)


@cache
def _log(number: Fraction) -> Decimal:
    return Decimal(number.numerator).ln() - Decimal(number.denominator).ln()


def _as_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
