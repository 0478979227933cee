"""All mappings: the likeliest of them, proved by prices, for the whole space or for the parts it is split into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.engines.base import Limits, Outcome
from crowdopt.engines.columns.branch_and_bound import Branching
from crowdopt.engines.columns.column_pool import Pool
from crowdopt.engines.columns.memory import Memory
from crowdopt.engines.columns.prover import Finding, Prover
from crowdopt.engines.columns.relaxation import Relaxation
from crowdopt.engines.local_search import Climbs
from crowdopt.engines.perturbation import shake
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.margins import closure_moves

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.engines.isotone_em import IsotoneEM
    from crowdopt.model.problem import Problem


FEW_STARTS = 16
"""Climbs before the first attempt at a proof: where it succeeds, more would have been in vain."""

SEARCH_AFTER = 150_000
"""Cells of the first attempts at a proof after which the search is finished first: they then take seconds anyway."""

CELLS_FOR_THE_WHOLE = 400_000
"""Cells that are looked at, per term, for the bound over the whole space where it has to be split."""

MANY_CELLS, FAR = 100_000, 5.0
"""Where that took so many cells, and left so many nats that no prices will do away with, splitting is of no use: it
asks for the same again in each of many parts."""


class Columns:
    """One run.

    The labels that are handed over are those of the search (``climbs``), which is counted and always done to its end,
    or the optimum: so they do not depend on when the clock stops the proof. Random numbers of the search are its own.

    Attributes:
        bound: No mapping is better, so far.
        witness: What proves that.
        work: Steps of climbs, cells and rounds of projections.
        beyond: Likelier mappings that the proof met.
        searched: Whether the search is done.
        again: Whether the search found something better while an attempt at a proof was under way.
        full: Whether the linear program of some attempt was given up for the limit of memory.
    """

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem, self.limits, self.bound = problem, limits, problem.plain_bound
        self.witness: dict[str, Any] | None = None
        self.stop = Stop.FINISHED
        self.climbs = Climbs(problem, limits)
        self.beyond = self.climbs.apart()
        self.dice, self.rng = (np.random.Generator(np.random.PCG64([limits.seed, of])) for of in (2, 1))
        self.memory = Memory.of(limits.bytes)
        self.relaxation = Relaxation.of(problem, self.memory)
        self.pool = Pool(self.relaxation)
        self.proving, self.full, self.searched, self.again = 0, False, False, False

    @property
    def work(self) -> int:
        """All work so far."""
        return self.climbs.work + self.proving

    def run(self) -> Outcome:
        """Searches and proves; what stops the proof, but for someone who asks for it, does not stop the search."""
        self.climbs.run(FEW_STARTS)
        self.stop = self._stopped()
        if self.stop is Stop.FINISHED and not self._is_proved():
            self._prove_all()
        if self.stop is not Stop.INTERRUPT and not self._is_proved():
            self._search()
        return self._outcome()

    def _prove_all(self) -> None:
        """Proves, and improves what cannot be proved, until that is of no use."""
        while self.stop is Stop.FINISHED:
            mapping, value = self._best()
            tolerance = self.problem.price_tolerance(value)
            prover = self._prover(mapping, value, tolerance)
            finding = self._prove(prover, CELLS_FOR_THE_WHOLE if self.searched else 0)
            if self._is_to_be_repeated():
                continue
            if finding.proved or finding.stopped:
                return
            if not self.searched:
                self._search()
                if self.stop is not Stop.FINISHED or self._best()[1] > value + tolerance:
                    continue
                finding = self._kept(prover.failed(CELLS_FOR_THE_WHOLE))
                if finding.proved or finding.stopped:
                    return
            if finding.cells >= MANY_CELLS and finding.likely > value + FAR:
                self.stop = Stop.REACH
            elif not self._branch(mapping, tolerance, finding):
                return

    def _search(self) -> None:
        """Does what is left of the search."""
        if not self.searched:
            self.searched, self.climbs.bound = True, self.bound
            self.climbs.run()
            self._shake()

    def _shake(self, em: IsotoneEM | None = None) -> None:
        """Ends the search with better mappings from good ones."""
        if self.climbs.stop is Stop.FINISHED:
            shake(self.climbs, self.dice, self.problem.price_tolerance(self.climbs.best), em)
        self._heed_climbs()

    def _heed_climbs(self) -> None:
        """Stops everything if someone stopped the climbs; nothing else does."""
        if self.climbs.stop is not Stop.FINISHED:
            self.stop = self.climbs.stop

    def _stopped(self) -> Stop:
        """Why to stop before any attempt at a proof; FINISHED if there is no reason to."""
        fits = self.memory.holds(self.problem.buckets.n_buckets)
        return self.climbs.stop if self.climbs.stop is not Stop.FINISHED or fits else Stop.MEMORY

    def _is_proved(self) -> bool:
        """Whether the bound is down to the best mapping."""
        value = self._best()[1]
        return self.bound <= value + self.problem.price_tolerance(value)

    def _best(self) -> tuple[Ints, float]:
        """The best mapping so far, whoever found it."""
        found = self.climbs.found | self.beyond.found
        key = max(found, key=lambda key: (found[key], key))
        mapping = np.frombuffer(key, np.int64)
        return mapping, float(self.relaxation.values(mapping).sum())

    def _go_on(self, bound: float, work: int) -> bool:
        """Counts work, keeps a better bound, asks the limits; ends an attempt when a search finds something better."""
        self.proving += work
        value = max(self.climbs.best, max(self.beyond.found.values(), default=-np.inf))
        stop = self.limits.reached(value, max(min(self.bound, bound), value), self.work)
        self.stop = stop or self.stop
        if stop is None and not self.searched and self.proving >= SEARCH_AFTER:
            self._search()
            self.again = self.climbs.best > value + self.problem.price_tolerance(value)
        return self.stop is Stop.FINISHED and not self.again

    def _is_to_be_repeated(self) -> bool:
        """Whether an attempt was ended for a better mapping: asked once."""
        again, self.again = self.again, False
        return again and self.stop is Stop.FINISHED

    def _prover(self, mapping: Ints, value: float, tolerance: float) -> Prover:
        """What tries to prove that no mapping of all is better than a value by more than a tolerance."""
        return Prover(self.relaxation, mapping, value, tolerance, self.rng, self._go_on, patient=False)

    def _prove(self, prover: Prover, cells: int) -> Finding:
        """Tries to prove that at once; ``cells`` are for the bound if that fails."""
        every = np.arange(self.problem.buckets.n_buckets)
        finding = prover.run(self.pool.known({}, self.relaxation, every, prover.prices.prices), cells)
        self.pool.keep({}, self.relaxation, every, prover.found())
        return self._kept(finding)

    def _kept(self, finding: Finding) -> Finding:
        """Keeps the bound of prices for the whole space, if it is the best, and why an attempt was stopped."""
        self.full |= finding.full
        gains = finding.gains[self.relaxation.term_of]
        self._keep(finding.bound, {"prices": finding.prices.tolist(), "gains": gains.tolist()})
        if finding.stopped and self.stop is Stop.FINISHED and not self.again:  # the other limits say so themselves
            self.stop = Stop.REACH if finding.hopeless else Stop.MEMORY
        return finding

    def _branch(self, mapping: Ints, tolerance: float, finding: Finding) -> bool:
        """Splits the space until all is proved or the limits are reached; or returns True when it finds better."""
        tree = Branching(self.relaxation, mapping, tolerance, self.rng, self._go_on, self.pool)
        tree.run(finding)
        if tree.better is not None:
            self.beyond.keep(tree.better[None])
            self.beyond.climb(tree.better[None].copy())
            return True
        if self.stop is Stop.FINISHED and tree.heap:
            self.stop = Stop.MEMORY
        self._keep(tree.bound, tree.witness())
        return False

    def _keep(self, bound: float, witness: dict[str, Any] | None) -> None:
        """Keeps a bound if it is the best."""
        if bound < self.bound:
            self.bound, self.witness = bound, witness

    def _outcome(self) -> Outcome:
        """The best mapping under its best names, with its bound; a gap that memory left open is its doing.

        That of the search, unless what the proof met is proved to be the best.
        """
        problem, mapping, likelier = self.problem, self.climbs.chosen(), None
        value = problem.objective.of_mapping(problem.buckets, mapping)
        tolerance = problem.price_tolerance(value)
        if self.beyond.found and self.beyond.best > value + tolerance:
            best = self.beyond.chosen()
            likelier = problem.objective.of_mapping(problem.buckets, best)
            if self.bound <= likelier + tolerance:
                mapping, value, likelier = best, likelier, None
        left_open = self.stop is Stop.FINISHED and self.full and self.bound > value + tolerance
        return Outcome(
            mapping,
            value,
            max(self.bound, value),
            problem.space,
            self.work,
            Stop.MEMORY if left_open else self.stop,
            margins=closure_moves(problem, mapping) if problem.space is Space.DOMINANCE else None,
            tolerance=tolerance,
            witness=self.witness,
            likelier=likelier,
        )
