"""Proofs under an order by prices of sets without one.

The set of a label of a mapping that respects an order is *convex*: it holds all that lies between two of its buckets.
So prices at which no convex set is worth more to any label than it gains prove that no such mapping is better. Sets of
any kind are priced far more quickly than those of a shape (pricing.py, pricing_ordered.py), and here convexity is asked
for only where it matters. All sets are one *case* to begin with. Where one that is worth too much is not convex, for
want of a bucket b between two of its buckets, its case is split. With a one of these two, a convex set is

    without a;  or with a and b, and so with all between them;  or with a, without b, and so without all beyond b.

Every case fixes some buckets inside or outside, and the others are priced as if there was no order.

Where the best mapping that respects the order is nearly the best of all, as it is in most large crowds, few cases are
enough, and all is proved in tenths of a second to two seconds for five labels. Where there would have to be many, this
gives up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.engines.columns import pricing_heuristics as heuristics
from crowdopt.engines.columns.memory import OWN
from crowdopt.engines.columns.pricing import KEPT, Priced, Pricing
from crowdopt.engines.columns.prover import FLIPPED, Finding, Prover
from crowdopt.engines.columns.relaxation import Relaxation
from crowdopt.engines.columns.set_shapes import Shape, allows
from crowdopt.engines.columns.set_terms import BucketSet, Term, terms_of
from crowdopt.model.certificate import Space

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats
    from crowdopt.engines.columns.memory import Memory
    from crowdopt.engines.columns.prover import Told
    from crowdopt.model.order import Order
    from crowdopt.model.problem import Problem

MOST_CASES = 40
"""Cases of a term beyond which to give up."""

MOST_CELLS = 1_000_000
"""Cells of the pricing of one case beyond which to give up: some ten seconds."""

_LEAST = 1e-12  # of a probability
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Case:
    """The sets that hold some buckets, and not some others: (bucket)."""

    inside: Bools
    outside: Bools

    @property
    def free(self) -> Bools:
        """The buckets that are not fixed."""
        return np.asarray(~(self.inside | self.outside))

    def term(self, term: Term, buckets: BucketSet) -> Term:
        """The term of a label for sets of free buckets, with those that are fixed inside."""
        tasks = float(buckets.tasks[self.inside].sum())
        return term.with_buckets(term.labels[0], buckets.responses[self.inside].sum(axis=0), tasks)

    def whole(self, sets: Bools) -> Bools:
        """Sets of free buckets as sets of all buckets."""
        every = np.tile(self.inside, (len(sets), 1))
        every[:, self.free] = sets
        return every

    def with_fixed(self, order: Order, inside: list[int], outside: list[int]) -> Case | None:
        """The case in which more buckets are fixed, with what then is so for convex sets; None if there are none."""
        held, lacked = self.inside.copy(), self.outside.copy()
        held[inside], lacked[outside] = True, True
        below, above = order.dominates[held].any(axis=0), order.dominates[:, held].any(axis=1)
        held |= below & above
        lacked |= order.dominates[lacked & below].any(axis=0) | order.dominates[:, lacked & above].any(axis=1)
        return None if (held & lacked).any() else Case(held, lacked)


class _TooMuch(Exception):  # noqa: N818 -- ends an attempt
    """There would have to be more cases, or cells of one, than there may be, or than there is room for."""


def relaxation_of(problem: Problem, memory: Memory = OWN) -> Relaxation:
    """The relaxation of a problem under dominance in which labels may have sets of any kind."""
    return Relaxation(BucketSet.of(problem), tuple(terms_of(replace(problem, space=Space.ALL))), problem.order, memory)


class ProverByCases(Prover):
    """One attempt; the relaxation is that of :func:`relaxation_of`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.begin()

    def begin(self) -> None:
        """Makes all sets one case of each term."""
        nothing = np.zeros(len(self.relaxation.buckets), bool)
        self.cases = {at: [Case(nothing, nothing)] for at in self.active}

    def run(self, known: dict[int, Bools], cells: int = 0) -> Finding:
        """Tries to prove the target, beginning with known convex sets by term; no ``cells`` are spent if that fails."""
        try:
            return super().run(known, cells)
        except _TooMuch:
            return self.failed(cells)

    def failed(self, cells: int) -> Finding:  # noqa: ARG002 -- see run
        """No bound: only that it failed."""
        prices, gains = self.prices.prices, self.prices.gains
        return Finding(
            proved=False, bound=math.inf, prices=prices, gains=gains, stopped=self.stopped, hopeless=self.hopeless
        )

    def _good_sets(self, term: Term, begin: Floats) -> tuple[Bools, Floats]:
        """Convex sets that are worth much to a label of the term, best first; splits cases whose best is not convex."""
        at, buckets, prices = int(self.relaxation.term_of[term.labels[0]]), self.relaxation.buckets, self.prices.prices
        enough, cases = self.prices.gains[at] + self.share, self.cases[at]
        good, done = [cases[0].inside[None]], 0
        while done < len(cases) and self._has_time():
            case = cases[done]
            asked = enough + prices[case.inside].sum()
            sets, worth = self._good_in(case, term, asked, begin)
            convex = self._convex(sets)
            good += [case.inside[None], sets[convex]]
            broken = sets[~convex & (worth > asked)]
            if len(broken):
                self.split(at, done, broken[0])
            else:
                done += 1
        return heuristics.best_first(buckets, term, prices, np.concatenate(good))

    def _good_in(self, case: Case, term: Term, asked: float, begin: Floats) -> tuple[Bools, Floats]:
        """Sets of a case, and what they are worth before what is inside is paid for, best first."""
        buckets, prices = self.relaxation.buckets, self.prices.prices
        some, label = buckets.only(case.free), case.term(term, buckets)
        if not len(some):
            return case.inside[None], np.array([label.empty])
        sets, worth = heuristics.good_sets(some, label, prices[case.free], begin)
        if worth[0] <= asked:
            sets, worth = heuristics.flipped(some, label, prices[case.free], sets[:FLIPPED])
        return case.whole(sets), worth

    def priced(self, at: int, prices: Floats, threshold: float, slack: float, told: Told, *, first: bool) -> Priced:
        """Prices all cases, and splits those in which only sets that are not convex are worth too much."""
        cases, done, looked, bound, finished = self.cases[at], 0, 0, -math.inf, True
        found = np.zeros((0, len(prices)), bool)
        while done < len(cases) and not self.stopped and not (first and len(found)):
            others = bound if done == len(cases) - 1 else math.inf  # no bound of all before the last has one

            def counted(worth: float, cells: int, others: float = others, before: int = looked) -> bool:
                if cells > MOST_CELLS:
                    raise _TooMuch
                return told(max(worth, others), before + cells)

            priced = self._price_case(at, cases[done], prices, threshold, slack, counted, first=first)
            looked += priced.cells
            sets = np.array(priced.sets, bool).reshape(-1, len(prices))
            convex = self._convex(sets)
            found = np.concatenate([found, sets[convex]])
            if len(sets) and not convex.any() and not self.stopped:
                self.split(at, done, sets[0])
                continue
            bound, done, finished = max(bound, priced.bound), done + 1, finished and priced.finished
        sets, worth = heuristics.best_first(self.relaxation.buckets, self.relaxation.terms[at], prices, found)
        best = float(worth.max(initial=-math.inf))
        all_done = done == len(cases)
        return Priced(bound if all_done else math.inf, best, list(sets[:KEPT]), looked, finished and all_done)

    def _price_case(
        self, at: int, case: Case, prices: Floats, threshold: float, slack: float, told: Told, *, first: bool
    ) -> Priced:
        """The search for the set of a case that is worth most, whatever the order."""
        buckets, paid = self.relaxation.buckets, math.fsum(prices[case.inside])
        some, term = buckets.only(case.free), case.term(self.relaxation.terms[at], buckets)
        least = term.empty - paid
        known = [case.inside] if least > threshold else []
        if not len(some):
            return Priced(least + _rounding(term.empty, paid), least, known, cells=1, finished=True)

        def told_worth(bound: float, cells: int) -> bool:
            return told(bound - paid + _rounding(bound, paid), cells)

        search = Pricing(some, term, prices[case.free], threshold + paid, slack, self.relaxation.memory)
        priced = search.run(told_worth, first=first, patient=self.patient)
        self.hopeless |= priced.hopeless
        if priced.full or priced.hopeless:
            raise _TooMuch
        sets = [*case.whole(np.array(priced.sets, bool).reshape(-1, len(some))), *known]
        bound = priced.bound - paid + _rounding(priced.bound, paid)
        return replace(priced, bound=bound, best=priced.best - paid, sets=sets)

    def _convex(self, sets: Bools) -> Bools:
        order = self.relaxation.order
        assert order is not None  # noqa: S101 -- such is the relaxation
        return allows(Shape.BETWEEN, order, sets)

    def split(self, at: int, which: int, broken: Bools) -> None:
        """Puts three cases in the place of one that has a set that is not convex."""
        order, cases = self.relaxation.order, self.cases[at]
        assert order is not None  # noqa: S101 -- such is the relaxation
        end, lacks = self._gap(order, at, broken)
        fixed: list[tuple[list[int], list[int]]] = [([], [end]), ([end, lacks], []), ([end], [lacks])]
        options = [cases[which].with_fixed(order, inside, outside) for inside, outside in fixed]
        cases[which : which + 1] = [case for case in options if case is not None]
        if len(cases) > MOST_CASES:
            raise _TooMuch

    def _gap(self, order: Order, at: int, broken: Bools) -> tuple[int, int]:
        """A bucket of a set that is not convex, and one that the set lacks between it and others.

        Such that as few as possible of the set are on its side; of several, the set would lose most by what it lacks.
        """
        dominates, buckets = order.dominates, self.relaxation.buckets
        above, below = dominates & broken[:, None], (dominates & broken).T  # [a, b]: a of the set is above, below b
        n_above, n_below = above.sum(axis=0), below.sum(axis=0)
        lacking = np.flatnonzero((n_above > 0) & (n_below > 0) & ~broken)
        counts = broken @ buckets.responses + self.relaxation.terms[at].offset
        logs = np.log(np.maximum(heuristics.shares(counts, buckets.n_classes), _LEAST))
        loss = self.prices.prices[lacking] - buckets.responses[lacking] @ logs
        fewest = np.minimum(n_above, n_below)[lacking]
        lacks = int(lacking[np.lexsort((-loss, fewest))[0]])
        side = above if n_above[lacks] <= n_below[lacks] else below
        return int(np.flatnonzero(side[:, lacks])[0]), lacks


def _rounding(worth: float, paid: float) -> float:
    """What rounding can do to sums and differences of a few numbers of this size."""
    return 8 * _EPS * (abs(worth) + abs(paid))
