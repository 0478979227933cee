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
    from crowdopt.model.problem import Problem


FEW_STARTS = 16
"""Climbs before the first attempt at a proof: where it succeeds, more would have been in vain."""

CELLS_FOR_THE_WHOLE = 400_000
"""Cells that are looked at, per term, for the bound over the whole space where it has to be split."""


class Columns:
    """One run.

    Attributes:
        bound: No mapping is better, so far.
        witness: What proves that.
        work: Steps of climbs, cells and rounds of projections.
        full: Whether the linear program of some attempt was given up for the limit of memory.
    """

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem, self.limits, self.bound = problem, limits, problem.plain_bound
        self.witness: dict[str, Any] | None = None
        self.stop = Stop.FINISHED
        self.climbs = Climbs(problem, limits)
        self.rng = np.random.Generator(np.random.PCG64([limits.seed, 1]))
        self.memory = Memory.of(limits.bytes)
        self.relaxation = Relaxation.of(problem, self.memory)
        self.pool = Pool(self.relaxation)
        self.proving, self.full = 0, False

    @property
    def work(self) -> int:
        """All work so far."""
        return self.climbs.work + self.proving

    def run(self) -> Outcome:
        """Searches, proves, and improves what cannot be proved, until that is of no use."""
        self.climbs.run(FEW_STARTS)
        self.stop = self._stopped()
        searched = shaken = False
        while self.stop is Stop.FINISHED:
            mapping, value = self._best()
            tolerance = self.problem.price_tolerance(value)
            finding = self._prove(mapping, value, tolerance)
            if finding.proved or finding.stopped:
                break
            if not searched:
                searched = True
                self.climbs.run()
                self.stop = self.climbs.stop
                if self.stop is not Stop.FINISHED or self._best()[1] > value + tolerance:
                    continue
            if not shaken:
                shaken = True
                self.climbs.bound = self.bound
                better = shake(self.climbs, self.rng, tolerance)
                self.stop = self.climbs.stop
                if better or self.stop is not Stop.FINISHED:
                    continue
            if not self._branch(mapping, tolerance, finding):
                break
        return self._outcome()

    def _stopped(self) -> Stop:
        """Why to stop before any attempt at a proof; FINISHED if there is no reason to."""
        fits = self.memory.holds(self.problem.buckets.n_buckets)
        return self.climbs.stop if self.climbs.stop is not Stop.FINISHED or fits else Stop.MEMORY

    def _best(self) -> tuple[Ints, float]:
        """The best mapping so far."""
        key = max(self.climbs.found, key=lambda key: (self.climbs.found[key], key))
        mapping = np.frombuffer(key, np.int64)
        return mapping, float(self.relaxation.values(mapping).sum())

    def _go_on(self, bound: float, work: int) -> bool:
        """Counts work, keeps a better bound, asks the limits."""
        self.proving += work
        value = max(self.climbs.found.values())
        stop = self.limits.reached(value, max(min(self.bound, bound), value), self.work)
        self.stop = stop or self.stop
        return stop is None

    def _prove(self, mapping: Ints, value: float, tolerance: float, cells: int = CELLS_FOR_THE_WHOLE) -> Finding:
        """Tries to prove at once that no mapping of all is better; ``cells`` are for the bound if that fails."""
        prover = Prover(self.relaxation, mapping, value, tolerance, self.rng, self._go_on)
        every = np.arange(len(mapping))
        finding = prover.run(self.pool.known({}, self.relaxation, every, prover.prices.prices), cells)
        self.pool.keep({}, self.relaxation, every, prover.found())
        self._keep_finding(finding)
        return finding

    def _keep_finding(self, finding: Finding) -> None:
        """Keeps the bound of prices for the whole space, if it is the best, and why an attempt was stopped."""
        self.full |= finding.full
        gains = finding.gains[self.relaxation.term_of]
        self._keep(finding.bound, {"prices": finding.prices.tolist(), "gains": gains.tolist()})
        if finding.stopped and self.stop is Stop.FINISHED:
            self.stop = Stop.MEMORY  # the other limits say so themselves

    def _branch(self, mapping: Ints, tolerance: float, finding: Finding) -> bool:
        """Splits the space until all is proved or the limits are reached; or returns True when it finds better."""
        tree = Branching(self.relaxation, mapping, tolerance, self.rng, self._go_on, self.pool)
        tree.run(finding)
        if tree.better is not None:
            self.climbs.keep(tree.better[None])
            self.climbs.climb(tree.better[None].copy())
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
        """The best mapping under its best names, with its bound; a gap that memory left open is its doing."""
        problem, mapping = self.problem, self.climbs.chosen()
        value = problem.objective.of_mapping(problem.buckets, mapping)
        tolerance = problem.price_tolerance(value)
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
        )
