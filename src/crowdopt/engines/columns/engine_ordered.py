"""Ratings with too many up-sets to list: the likeliest mapping that respects the order, proved by prices.

Maximises the log-likelihood over dominance-consistent mappings, for any number of labels and classes of workers and
every objective. Prices bound it as they do over all mappings (engine_all.py), but a label is priced only by sets that
it can have: the lowest label by down-sets, the highest by up-sets, the others by what is between two up-sets
(set_shapes.py). For any prices λ, F ≤ Σ_b λ_b + Σ_j g_j(λ), g_j(λ) being the most that such a set is worth to label j,
computed exactly (pricing_ordered.py). That holds for every order, and so for equal and varying numbers of responses,
and for the orders of several classes, ranked or not.

With three and four labels this is nearly always tight, with five mostly. Where it is not, the space is not split: the
answer is BOUNDED, by prices for the least bound that there is time to find.

Before any of that, a few climbs and a proof by cases (prover_by_cases.py) are tried: in most large crowds all there is
to do.

Cost: up to two seconds where cases are enough, with up to five labels. Else two minimum cuts for every cell of the
pricing, whose number grows exponentially with the number of labels: tenths of a second for three labels, seconds for
four, some ten seconds for five; for two classes of workers tenths for two labels, a second for three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.engine_all import Columns
from crowdopt.engines.columns.prover_by_cases import ProverByCases, relaxation_of
from crowdopt.engines.isotone_em import IsotoneEM
from crowdopt.model.certificate import Stop

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.engines.base import Limits
    from crowdopt.model.problem import Problem

STARTS = 64
"""Starts of hard EM before the first attempt at a proof."""

MANY_DIMENSIONS = 4
"""Dimensions of the answers of all classes with which a proof takes long: a better mapping is looked for before it."""

LESS, MORE = 0.5, 5.0
"""How fast the room for prices shrinks, and grows, while it is not known how much is needed."""

CLOSE = 0.2
"""Part of the room that it may be too large by."""

LEAST = 1e-3
"""Part of the room so far that is the least to begin with."""

COARSE = 0.4
"""Part of the room that is the tolerance of a bound that proves no optimum."""


class OrderedColumns(Columns):
    """One run."""

    def __init__(self, problem: Problem, limits: Limits) -> None:
        super().__init__(problem, limits)
        self.em: IsotoneEM | None = None

    def _prove_all(self) -> None:
        """Proves, and improves what cannot be proved, until that is of no use."""
        if self.prove_by_cases():
            return
        self._climb_on()
        buckets = self.problem.buckets
        if buckets.n_classes * (buckets.n_labels - 1) >= MANY_DIMENSIONS:
            self._search()
        while self.stop is Stop.FINISHED:
            mapping, value = self._best()
            finding = self._prove(self._prover(mapping, value, self._tolerance()), cells=0)
            if self._is_to_be_repeated():
                continue
            if finding.proved or finding.stopped:
                return
            self._search()
            if self.stop is Stop.FINISHED and self._best()[1] <= value + self._tolerance():
                self._loosen(mapping, value, finding.likely - value)
                return

    def prove_by_cases(self) -> bool:
        """Tries the proof that needs no minimum cuts; returns whether that is the end, as it succeeds or is stopped."""
        relaxation, repeated = relaxation_of(self.problem, self.memory), True
        while repeated:
            mapping, value = self._best()
            tolerance = self.problem.price_tolerance(value)
            prover = ProverByCases(relaxation, mapping, value, tolerance, self.rng, self._go_on, patient=False)
            finding = prover.run({})
            repeated = self._is_to_be_repeated()
        if finding.bound < np.inf:
            gains = finding.gains[prover.relaxation.term_of]
            self._keep(finding.bound, {"prices": finding.prices.tolist(), "gains": gains.tolist()})
        if finding.hopeless and self.stop is Stop.FINISHED:  # what respects the order takes longer to price
            self.stop = Stop.REACH
        return finding.proved or self.stop is not Stop.FINISHED

    def _search(self) -> None:
        """Does what is left of the search."""
        self._climb_on()
        if not self.searched:
            self.searched, self.climbs.bound = True, self.bound
            self._shake(self.em)

    def _climb_on(self) -> None:
        """Climbs from where hard EM ends, once: from the different ones among its ends."""
        if self.em is not None or self.climbs.stop is not Stop.FINISHED:
            return
        self.em = IsotoneEM(self.climbs)
        mappings, block = np.unique(self.em.starts(STARTS, self.dice), axis=0), self.climbs.moves.block
        for at in range(0, len(mappings), block):
            if not self.climbs.climb(mappings[at : at + block]):
                break
        self._heed_climbs()

    def _tolerance(self) -> float:
        return self.problem.price_tolerance(self._best()[1])

    def _loosen(self, mapping: Ints, value: float, room: float) -> None:
        """Proves bounds that leave room above the best mapping: as little as there are prices for, and time."""
        low, high = 0.0, self.bound - value
        room = max(room, LEAST * high)  # as heuristics that miss the best sets tell too little
        while self.stop is Stop.FINISHED and high - low > CLOSE * high:
            room = min(room, (low + high) / 2)
            finding = self._prove(self._prover(mapping, value + room, COARSE * room), cells=0)
            low, high = (low, room) if finding.proved else (room, high)
            room = LESS * high if not low else (low + min(high, MORE * low)) / 2
