"""The linear program of prices: is there room for prices that prove a bound?

Given cuts λ(S) + μ_t ≥ Ψ_t(S) (dual_prices.py), looks for prices λ and gains μ within Σ_b λ_b + Σ_t r_t μ_t ≤ target,
r_t being the number of labels of term t, that keep away from the cuts as far as they can: every cut is to hold with
a margin in proportion to how much its set differs from the sets of a known good mapping. If the largest margin is
negative, no prices near that mapping prove the target, as long as only these cuts are known and all the more when
others are added. The dual of the program then is a mixture of sets that covers every bucket once: a fractional
mapping, which says where to branch.

Solved by HiGHS, warm from one call to the next. Nothing here has to be exact: prices are proved by pricing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.engines.columns.set_terms import sums_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.engines.columns.dual_prices import Prices


BYTES_PER_NUMBER = 64
"""What the solver takes for a number of the program: it has it by row and by column, factorised, and indexed."""

ROWS_AT_ONCE = 50
"""Violated cuts that come into the program at a time."""

STEPS_AT_ONCE = 500
"""Steps of the simplex method between two looks at the limits."""


class Master:
    """The program of one relaxation.

    Attributes:
        prices: λ, after :meth:`solve`.
        gains: μ by term.
        margin: The largest margin, in units of what single moves lose; negative if there are no such prices.
        full: Whether it did not find out, as the program would take too much memory.
    """

    def __init__(self, prices: Prices, target: float) -> None:
        """Makes the program around the mapping of ``prices``."""
        import highspy

        self.relaxation, self.own, self.width = prices.relaxation, prices.own, prices.width
        # The solver's tolerances are absolute: in these units no number is large.
        self.unit = max(1.0, abs(target) / 1000)
        self.n, self.n_terms = len(prices.prices), len(prices.gains)
        self.solver: Any = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
            self.solver.setOptionValue(option, value)
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self.solver.setOptionValue(option, 1e-9)  # 1e-7, the default, is coarse for sums over many buckets
        self.solver.setOptionValue("simplex_iteration_limit", STEPS_AT_ONCE)
        self.infinite = highspy.kHighsInf
        pad = 4 * prices.width + 0.1 * self.relaxation.buckets.responses.sum(axis=1)
        for low, high in zip((prices.least - pad) / self.unit, (prices.most + pad) / self.unit, strict=True):
            self.solver.addVar(float(low), float(high))
        for term in self.relaxation.terms:
            self.solver.addVar(term.empty / self.unit, self.infinite)
        self.solver.addVar(-self.infinite, 1.0)
        self.solver.changeColCost(self.n + self.n_terms, -1.0)
        every = np.concatenate([np.ones(self.n), [len(term.labels) for term in self.relaxation.terms]])
        self._row(-self.infinite, target / self.unit, np.arange(self.n + self.n_terms), every)
        self.rows: list[int] = []
        self.most_numbers = self.relaxation.memory.sets // (2 * BYTES_PER_NUMBER)
        self.n_cuts, self.full = 0, False
        self.duals = np.zeros(1)  # until the program is solved for the first time
        self.sets = np.zeros((0, self.n), bool)
        self.terms, self.values, self.away = np.zeros(0, int), np.zeros(0), np.zeros(0)
        for at, sets in prices.neighbours:
            self._know(at, sets)

    def _row(self, low: float, high: float, index: Ints, values: Floats) -> None:
        self.solver.addRow(low, high, len(index), index.astype(np.int32), values.astype(float))

    def _know(self, term: int, sets: Bools) -> None:
        """Adds cuts to those that are known; they come into the program when they are violated."""
        if not len(sets):
            return
        own = self.own[list(self.relaxation.terms[term].labels)]
        away = np.stack([sums_over(sets != one, self.width) for one in own]).min(axis=0)
        self.sets = np.concatenate([self.sets, sets])
        self.terms = np.concatenate([self.terms, np.full(len(sets), term)])
        values = self.relaxation.terms[term].values(*self.relaxation.buckets.sums(sets))
        self.values = np.concatenate([self.values, values / self.unit])
        self.away = np.concatenate([self.away, away / self.unit])

    def know(self, cuts: list[tuple[int, Bools]]) -> None:
        """Adds the cuts that are new in a list that only ever grows."""
        new, self.n_cuts = cuts[self.n_cuts :], len(cuts)
        for at in range(self.n_terms):
            self._know(at, np.array([s for term, s in new if term == at]).reshape(-1, self.n))

    def solve(self, go_on: Callable[[], bool]) -> bool:
        """Solves the program; returns whether there are prices for the target, as far as the limits let it find out.

        If it would take too much memory, it does not find out, and is ``full``.
        """
        while self._run(go_on):
            solution: Any = self.solver.getSolution()
            x = np.array(solution.col_value)
            self.duals = np.array(solution.row_dual)
            prices, gains, self.margin = x[: self.n], x[self.n : -1], float(x[-1])
            solved = self._status() == "kOptimal" and bool(np.isfinite(x).all())
            if not solved or self.margin < -1e-9:  # negative by more than the solver's tolerance
                return False
            short = self.values + self.away * self.margin - sums_over(self.sets, prices) - gains[self.terms]
            worst = np.argsort(-short, kind="stable")[:ROWS_AT_ONCE]
            worst = worst[short[worst] > 1e-8]  # rows that are less violated are so by the solver's rounding
            if not len(worst):
                self.prices, self.gains = prices * self.unit, gains * self.unit
                return True
            self.most_numbers -= int(self.sets[worst].sum())
            self.full = self.most_numbers < 0
            if self.full:
                return False
            for at in worst:
                index = np.concatenate([np.flatnonzero(self.sets[at]), [self.n + self.terms[at], len(x) - 1]])
                values = np.concatenate([np.ones(len(index) - 1), [-self.away[at]]])
                self._row(float(self.values[at]), self.infinite, index, values)
                self.rows.append(int(at))
        return False

    def _run(self, go_on: Callable[[], bool]) -> bool:
        """Solves the program as it is; returns whether the limits let it."""
        self.solver.run()
        while self._status() == "kIterationLimit":
            if not go_on():
                return False
            self.solver.run()
        return go_on()

    def _status(self) -> str:
        return str(self.solver.getModelStatus()).rpartition(".")[2]

    def mixture(self) -> list[tuple[float, int, Bools]]:
        """The sets of the dual with their shares, greatest first: together they cover every bucket about once."""
        whole = max(abs(float(self.duals[0])), 1e-300)  # so that nothing is divided by zero
        share = np.abs(self.duals[1:]) / whole
        order = [i for i in np.argsort(-share, kind="stable") if share[i] > 1e-7]  # the rest is rounding
        return [(float(share[i]), int(self.terms[self.rows[i]]), self.sets[self.rows[i]]) for i in order]
