"""A pool of sets of buckets that turned out to matter: what violated prices once may do so elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.set_terms import distinct, sums_over

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.engines.columns.relaxation import Relaxation
    from crowdopt.engines.columns.set_terms import Term

MOST_KEPT = 20_000
"""Sets that are kept, of each term."""

MOST_KNOWN = 300
"""Sets that a proof begins with, of each term."""


class Pool:
    """Sets of all buckets, by term of the whole problem, for parts of it in which some buckets are fixed."""

    def __init__(self, whole: Relaxation) -> None:
        self.whole = whole
        self.sets = [np.zeros((0, len(whole.buckets)), bool) for _ in whole.terms]
        # All of these, and those of one term a few times over while they are looked through.
        self.most = min(MOST_KEPT, whole.memory.sets // (2 * len(whole.buckets) * (len(whole.terms) + 4)))

    def keep(self, fixed: dict[int, int], part: Relaxation, free: Ints, found: dict[int, Bools]) -> None:
        """Keeps sets of free buckets, by term of the part; of too many, the latest."""
        for at, sets in found.items():
            every = np.zeros((len(sets), len(self.whole.buckets)), bool)
            every[:, free] = sets
            every[:, self._members(fixed, part.terms[at])] = True
            term = self._term(part.terms[at])
            kept = np.concatenate([self.sets[term], every])
            self.sets[term] = distinct(kept[max(0, len(kept) - self.most) :])

    def known(self, fixed: dict[int, int], part: Relaxation, free: Ints, prices: Floats) -> dict[int, Bools]:
        """The sets that fit a part, as sets of free buckets by its terms: those that are worth most at these prices."""
        known = {}
        for at, term in enumerate(part.terms):
            sets = self.sets[self._term(term)]
            members = self._members(fixed, term)
            others = [b for b in fixed if b not in members]
            here = distinct(sets[sets[:, members].all(axis=1) & ~sets[:, others].any(axis=1)][:, free])
            worth = term.values(*part.buckets.sums(here)) - sums_over(here, prices)
            known[at] = here[np.argsort(-worth, kind="stable")[:MOST_KNOWN]]
        return known

    def _term(self, term: Term) -> int:
        """The term of the whole problem that a term of a part comes from."""
        return int(self.whole.term_of[term.labels[0]])

    @staticmethod
    def _members(fixed: dict[int, int], term: Term) -> list[int]:
        """The buckets that are fixed under the label of a term."""
        return [b for b, label in fixed.items() if label == term.labels[0]]
