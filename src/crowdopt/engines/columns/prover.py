"""Proving: that no mapping of a relaxation is better than a target, or how much better one could be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns import pricing_heuristics as heuristics
from crowdopt.engines.columns.dual_prices import Prices
from crowdopt.engines.columns.master_lp import Master
from crowdopt.engines.columns.pricing import Priced, Pricing
from crowdopt.engines.columns.pricing_ordered import OrderedPricing
from crowdopt.engines.columns.set_shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.engines.columns.relaxation import Relaxation
    from crowdopt.engines.columns.set_terms import Term

    Told = Callable[[float, int], bool]

MOST_ROUNDS, MOST_PROGRAMS = 30, 5
"""Rounds of finding cuts and moving prices, and of them those that need the linear program, before giving up."""

CELLS_WHEN_FAILED = 20_000
"""Cells that are looked at, per term, for the bound of prices that prove nothing more."""

CUTS_AT_ONCE = 40
"""Violated sets that are made cuts in one round, of each term."""

FLIPPED = 20
"""Best sets of which one bucket is flipped when refitting finds no violated one."""

AT_ONCE = 1 << 17
"""Starts times items that are refitted between two looks at the limits, under an order."""

STARTS_PER_CELL = 16
"""Starts that are refitted in the time that one cell takes."""

STEP = 0.3
"""How far to go to the prices of the linear program: they are at a corner, and others that prove as much are not."""

SHARE = 0.1
"""Part of the tolerance that prices may take up."""


@dataclass(eq=False)
class Finding:
    """What came out.

    Attributes:
        proved: Whether no mapping is better than the target, within the tolerance.
        bound: No mapping of the relaxation is better than this.
        prices: The prices behind the bound.
        gains: By term, what a label can gain at most.
        likely: About the bound that the best prices seen would prove, as far as heuristics tell.
        mixture: Where it failed: sets by share, greatest first, that cover all buckets (master_lp.py).
        stopped: Whether the limits stopped it: of time, or of memory; or that it is out of reach.
        hopeless: Whether it is out of reach: the bounds of pricing hardly fell.
        cells: Cells that the bound took, where it failed.
        full: Whether the linear program was given up for the limit of memory: with more it might have proved more.
    """

    proved: bool
    bound: float
    prices: Floats
    gains: Floats
    likely: float = math.inf
    mixture: list[tuple[float, int, Bools]] = field(default_factory=list)
    stopped: bool = False
    full: bool = False
    hopeless: bool = False
    cells: int = 0


class Prover:
    """One attempt.

    Args:
        relaxation: The relaxation.
        mapping: A good mapping of it, best a local optimum.
        target: What no mapping should be better than; at least what ``mapping`` reaches.
        tolerance: Within which.
        rng: For random starts.
        go_on: Told a bound and the work done since the last call; asks to stop by returning False.
        patient: Whether to go on where the bounds of pricing hardly fall.
    """

    def __init__(
        self,
        relaxation: Relaxation,
        mapping: Ints,
        target: float,
        tolerance: float,
        rng: np.random.Generator,
        go_on: Callable[[float, int], bool],
        *,
        patient: bool = True,
    ) -> None:
        self.relaxation, self.target, self.tolerance, self.rng, self.go_on = relaxation, target, tolerance, rng, go_on
        self.patient, self.hopeless = patient, False
        self.prices = Prices(relaxation, mapping, target, tolerance)
        self.share = SHARE * tolerance / relaxation.n_labels
        allowed = [at for at, term in enumerate(relaxation.terms) if term.log_share > -np.inf]
        # What takes longest comes last: its bounds, as they come, are then those of the whole.
        self.active = sorted(allowed, key=lambda at: relaxation.terms[at].shape is Shape.BETWEEN)
        self.probabilities = np.zeros((0, relaxation.buckets.responses.shape[1]))
        self.master: Master | None = None
        self.best = self.prices.prices, math.inf
        self.stopped = self.full = False
        self.rounds = self.programs = 0

    def run(self, known: dict[int, Bools], cells: int = CELLS_WHEN_FAILED) -> Finding:
        """Tries to prove the target, beginning with known sets by term; ``cells`` are for the bound if that fails."""
        while self.seek(known):
            finding = self._settle(cells)
            if finding is not None:
                return finding
            known = {}
            if not self._mend():
                break
        return self.failed(cells)

    def seek(self, known: dict[int, Bools]) -> bool:
        """Looks for prices for which no violated cut is found, beginning with known sets by term."""
        if sum(self.prices.add(at, sets) for at, sets in known.items()):
            self.prices.project()
        stuck = False
        while self.rounds < MOST_ROUNDS:
            self.rounds += 1
            n_cuts = len(self.prices.cuts)
            if not self._find_cuts():
                return not self.stopped
            if (stuck and len(self.prices.cuts) == n_cuts) or not self._mend():
                break
            stuck = len(self.prices.cuts) == n_cuts
        return False

    def found(self) -> dict[int, Bools]:
        """The sets of all cuts, by term."""
        return {at: self._cuts_of(at) for at in self.active}

    def _cuts_of(self, at: int) -> Bools:
        """The sets of the cuts of a term."""
        cuts = [cut for term, cut in self.prices.cuts if term == at]
        return np.array(cuts, bool).reshape(-1, len(self.relaxation.buckets))

    def _mend(self) -> bool:
        """Moves the prices away from violated cuts; returns whether that worked, and there is time."""
        return self._has_time() and (self.prices.project() or self._find_room())

    def _find_cuts(self) -> bool:
        """Adds cuts that are violated; returns whether hints found any. Under an order first with little effort."""
        many = 30 * self.relaxation.n_labels + 20
        return (self.relaxation.order is not None and self._look_around(many // 5)) or self._look_around(many)

    def _look_around(self, n_starts: int) -> bool:
        """The same with so many starts; remembers the best prices, as far as they tell."""
        prices, buckets = self.prices, self.relaxation.buckets
        worth_most = np.array([term.empty for term in self.relaxation.terms])
        found = False
        for at in self.active:
            term = self.relaxation.terms[at]
            begin = np.concatenate(
                [heuristics.starting_probabilities(buckets, n_starts, self.rng), self.probabilities[-2 * n_starts :]]
            )
            sets, worth = self._good_sets(term, begin)
            self._has_time(len(begin) * len(buckets) // STARTS_PER_CELL)
            worth_most[at] = max(worth_most[at], worth[0])
            violated = sets[worth > prices.gains[at] + self.share][:CUTS_AT_ONCE]
            if len(violated):
                found = True
                prices.add(at, violated)
                self._remember(violated @ buckets.responses + term.offset)
        likely = self.sum(prices.prices, worth_most)
        if likely < self.best[1]:
            self.best = prices.prices.copy(), likely
        return found

    def _good_sets(self, term: Term, begin: Floats) -> tuple[Bools, Floats]:
        """Sets that are worth much to a label of the term, best first."""
        buckets, prices, order = self.relaxation.buckets, self.prices.prices, self.relaxation.order
        enough = self.prices.gains[self.relaxation.term_of[term.labels[0]]] + self.share
        if order is None:
            sets, worth = heuristics.good_sets(buckets, term, prices, begin)
            return (sets, worth) if worth[0] > enough else heuristics.flipped(buckets, term, prices, sets[:FLIPPED])
        items = self.relaxation.items[term.shape]
        step = max(1, AT_ONCE // items.arcs.n_items)
        parts: list[Bools] = []
        for at in range(0, len(begin), step):
            if self._has_time() or not parts:
                parts.append(heuristics.good_closed_sets(buckets, term, items, prices, begin[at : at + step])[0])
        sets, worth = heuristics.best_first(buckets, term, prices, np.concatenate(parts))
        return (
            (sets, worth)
            if worth[0] > enough
            else heuristics.flipped_along(buckets, term, order, prices, sets[:FLIPPED])
        )

    def _remember(self, counts: Floats) -> None:
        """Keeps the answer probabilities of sets, to begin with next time."""
        found = heuristics.shares(counts, self.relaxation.buckets.n_classes)
        self.probabilities = np.concatenate([self.probabilities, found])

    def sum(self, prices: Floats, gains: Floats) -> float:
        """Prices and the gains of all labels in one sum, rounded once: they may be far larger than what they sum to."""
        return math.fsum([*prices, *gains[self.relaxation.term_of]])

    def _settle(self, cells: int) -> Finding | None:
        """Exact pricing: the proof if no set is worth more than its label gains; else adds what was found as cuts."""
        prices = self.prices
        bounds, priced = self.bounds(prices.prices, prices.gains + self.share, self.share / 4, first=True)
        bound = self.sum(prices.prices, bounds)
        if bound <= self.target + self.tolerance / 2:
            return Finding(proved=True, bound=bound, prices=prices.prices, gains=bounds)
        if self.stopped:
            return Finding(
                proved=False, bound=bound, prices=prices.prices, gains=bounds, stopped=True, hopeless=self.hopeless
            )
        added = sum(prices.add(at, np.array(found.sets)) for at, found in priced.items() if found.sets)
        return None if added else self.failed(cells)

    def bounds(
        self, prices: Floats, thresholds: Floats, slack: float, *, first: bool, most: float = math.inf
    ) -> tuple[Floats, dict[int, Priced]]:
        """The most that a label of each term can gain, within slack or below the threshold."""
        bounds = np.array([term.empty for term in self.relaxation.terms])
        priced = {}
        for at in self.active:
            seen = 0

            def told(bound: float, cells: int, at: int = at) -> bool:
                nonlocal seen
                bounds[at] = bound
                whole = self.sum(prices, bounds) if at == self.active[-1] else math.inf
                self.stopped |= not self.go_on(whole, cells - seen)
                seen = cells
                return (not self.stopped and cells < most) or cells == 0  # at least a first bound

            priced[at] = self.priced(at, prices, thresholds[at], slack, told, first=first)
            bounds[at] = priced[at].bound
            self.hopeless |= priced[at].hopeless
            self.stopped |= priced[at].full or self.hopeless
        return bounds, priced

    def priced(self, at: int, prices: Floats, threshold: float, slack: float, told: Told, *, first: bool) -> Priced:
        """The search for the set that is worth most to a label of a term."""
        buckets, term = self.relaxation.buckets, self.relaxation.terms[at]
        if self.relaxation.order is None:
            pricing = Pricing(buckets, term, prices, threshold, slack, self.relaxation.memory)
            return pricing.run(told, first=first, patient=self.patient)
        items, known = self.relaxation.items[term.shape], self._cuts_of(at)
        ordered = OrderedPricing(buckets, term, items, prices, threshold, slack, known, self.relaxation.memory)
        return ordered.run(told, first=first, patient=self.patient)

    def _find_room(self) -> bool:
        """Asks the linear program for prices within all cuts; returns whether there are any."""
        self.programs += 1
        if self.programs > MOST_PROGRAMS:
            return False
        if self.master is None:
            self.master = Master(self.prices, self.target + SHARE / 2 * self.tolerance)
        self.master.know(self.prices.cuts)
        if not self.master.solve(self._has_time):
            self.full |= self.master.full
            return False
        self.prices.move(self.master.prices, self.master.gains, STEP)
        if not self.prices.project():
            self.prices.move(self.master.prices, self.master.gains, 1.0)
        return True

    def _has_time(self, work: int = 0) -> bool:
        """Tells of work that was done, and asks whether to go on; never again once it was told not to."""
        if not self.stopped:
            self.stopped = not self.go_on(math.inf, work)
        return not self.stopped

    def failed(self, cells: int) -> Finding:
        """The bound of the best prices seen, and where to branch."""
        slack = max(0.02 * (self.best[1] - self.target), self.share)
        nothing = np.full(len(self.relaxation.terms), -np.inf)
        bounds, priced = self.bounds(self.best[0], nothing, slack / self.relaxation.n_labels, first=False, most=cells)
        bound = self.sum(self.best[0], bounds)
        mixture = self.master.mixture() if self.master is not None else []
        proved = bound <= self.target + self.tolerance / 2
        looked = sum(found.cells for found in priced.values())
        return Finding(
            *(proved, bound, self.best[0], bounds, self.best[1], mixture, self.stopped, self.full, self.hopeless),
            cells=looked,
        )
