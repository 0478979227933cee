"""Prices at which every label likes its own buckets best, by projections.

Looks for prices λ that prove that no mapping is better than a target (relaxation.py). With μ_t what a label of term t
may gain and r_t the number of its labels, that asks for Σ_b λ_b + Σ_t r_t μ_t ≤ target and λ(S) + μ_t ≥ Ψ_t(S) for
every term t and set S: one linear inequality, a *cut*, for each. There are too many to list; those that are
violated are found as they are needed.

A start in closed form around a good mapping: bucket b costs what it adds to its own label, less a part of what it
would add less to the next best one. Labels that nothing tells apart gain the same. Then the prices are projected
onto violated cuts, the most violated first and a little beyond it. Where the target is what the mapping itself
reaches (*tight*), its own sets must be worth just what their labels gain, and prices beyond those of single moves
prove nothing: projections keep to both. Otherwise they keep the sum, and there is room.

If there are such prices, this mostly finds them. A failure proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.engines.columns.relaxation import Relaxation

FIRST_SHARE = 0.4
"""Where the gain of labels lies at first between the least and the most that the prices of single moves allow."""

MARGIN, SHRINK = 0.1, 0.4
"""Distance kept from cuts, in the metric of the projections, and how it shrinks when they fail."""

TRIES, TRIES_IN_ORDER = 2, 8
"""Attempts at keeping a distance from all cuts, each with less of it from those that stood in the way.

More where mappings respect an order: there are prices nearly always, and the linear program's are far from good ones.
"""

OVER = 1.5
"""Projections go this much of the way."""

MOST_CUTS = 1_200
"""Cuts beyond which those that prices are farthest from are forgotten, down to half of them."""

MOST_STEPS = 1_000
"""Projections in a row."""


class Prices:
    """Prices around a mapping, with the cuts found so far.

    Attributes:
        prices: λ.
        gains: μ by term.
        tight: Whether the target is what the mapping reaches.
        low, high: What a bucket would add to the next best label, and adds to its own.
        neighbours: By term, the sets of the mapping, and those after one move.
        cuts: Term and set of every cut.
    """

    def __init__(self, relaxation: Relaxation, mapping: Ints, target: float, tolerance: float) -> None:
        self.relaxation, self.own, self.values = relaxation, relaxation.sets(mapping), relaxation.values(mapping)
        self.high, would_add = relaxation.moves(mapping)
        second = would_add.max(axis=1, initial=-np.inf)
        self.low = np.where(np.isfinite(second), np.minimum(second, self.high), self.high - np.abs(self.high) - 1.0)
        sizes = relaxation.buckets.responses.sum(axis=1)
        # How far a price can be moved; never zero, as lengths are measured by it.
        self.width = np.maximum(self.high - self.low, 1e-9 * (1.0 + sizes))
        if relaxation.order is not None:  # where single moves say little, as few of them are allowed
            self.width = np.clip(np.abs(self.high - self.low), 0.02 * sizes, 1.5 * sizes)
        self.prices, self.gains = self.high.copy(), np.zeros(len(relaxation.terms))
        for at, term in enumerate(relaxation.terms):
            self._start(at, list(term.labels))
        room = target - float(self.values.sum())
        self.tight = room <= tolerance
        if not self.tight:
            self.gains += room / relaxation.n_labels
        pad = np.zeros(len(sizes)) if self.tight else np.maximum(2 * self.width, 0.05 * sizes)
        if relaxation.order is not None:
            pad = 4 * self.width + sizes
        self.least, self.most = self.low - pad, self.high + pad
        self._metric()
        size = len(self.prices) + len(self.gains)
        self.rows, self.directions, self.products = np.zeros((0, size)), np.zeros((0, size)), np.zeros((0, 0))
        self.values_of_cuts, self.lengths, self.margins = np.zeros(0), np.zeros(0), np.zeros(0)
        self.neighbours = relaxation.neighbours(mapping)
        self.cuts: list[tuple[int, Bools]] = []
        self.keys: set[tuple[int, bytes]] = set()

    def _start(self, at: int, labels: list[int]) -> None:
        """Sets the gain of a term, and the prices of the buckets of its labels."""
        empty = self.relaxation.terms[at].empty
        used = [label for label in labels if self.own[label].any()]
        at_high = {label: self.values[label] - self.high[self.own[label]].sum() for label in used}
        room = {label: self.width[self.own[label]].sum() for label in used}
        least = max([empty, *at_high.values()])
        most = min([at_high[label] + room[label] for label in used], default=least)
        self.gains[at] = empty if len(used) < len(labels) else least + FIRST_SHARE * max(0.0, most - least)
        for label in used:
            own = self.own[label]
            self.prices[own] -= (self.gains[at] - at_high[label]) * self.width[own] / room[label]

    def _metric(self) -> None:
        """What projections must not change, and lengths relative to the room that single moves leave."""
        terms, n = self.relaxation.terms, len(self.prices)
        room = [max(float(self.width[own].sum()), 1e-9) for own in self.own]
        scale = [0.1 * min(room[label] for label in term.labels) for term in terms]
        self.scale = np.concatenate([self.width, scale]) ** 2
        gain = np.eye(len(terms))[self.relaxation.term_of]
        self.kept = np.unique(np.concatenate([self.own.astype(float), gain], axis=1), axis=0)
        scaled = self.kept * self.scale
        self.to_kept = np.linalg.pinv(scaled @ self.kept.T) @ scaled
        self.box = self.direction(np.eye(n, n + len(terms)))
        squares = np.diagonal(self.box)
        movable = squares > 1e-12 * self.scale[:n]  # prices that what is kept determines stay where they are
        self.box_lengths = np.where(movable, np.sqrt(np.maximum(squares, 1e-300)), np.inf)

    def direction(self, rows: Floats) -> Floats:
        """The shortest ways to change the values of rows that leave what is kept as it is."""
        scaled = rows * self.scale
        return np.asarray(scaled - (scaled @ self.kept.T) @ self.to_kept)

    def add(self, term: int, sets: Bools) -> int:
        """Adds cuts; returns how many were new."""
        new = [s for s in sets if (term, s.tobytes()) not in self.keys]
        if not new:
            return 0
        self.keys.update((term, s.tobytes()) for s in new)
        self.cuts += [(term, s) for s in new]
        chosen = np.array(new)
        gain = np.tile(np.arange(len(self.gains)) == term, (len(new), 1))
        rows = np.concatenate([chosen, gain], axis=1).astype(float)
        directions = self.direction(rows)
        squares = (directions * rows).sum(axis=1)
        free = squares > 1e-12 * (rows**2 @ self.scale)  # on the others these projections have no influence
        values = self.relaxation.terms[term].values(*self.relaxation.buckets.sums(chosen))
        self._append(rows[free], directions[free], values[free], np.sqrt(squares[free]))
        return len(new)

    def _append(self, rows: Floats, directions: Floats, values: Floats, lengths: Floats) -> None:
        """Adds rows; of too many, those that the prices are farthest from are dropped."""
        n = len(self.rows)
        keep = np.arange(n)
        if n + len(rows) > MOST_CUTS:
            short = (self.values_of_cuts - self.rows @ np.concatenate([self.prices, self.gains])) / self.lengths
            keep = np.sort(np.argsort(-short, kind="stable")[: MOST_CUTS // 2])
        across = self.rows[keep] @ directions.T
        self.products = np.block([[self.products[np.ix_(keep, keep)], across], [across.T, rows @ directions.T]])
        self.rows = np.concatenate([self.rows[keep], rows])
        self.directions = np.concatenate([self.directions[keep], directions])
        self.values_of_cuts = np.concatenate([self.values_of_cuts[keep], values])
        self.lengths = np.concatenate([self.lengths[keep], lengths])
        self.margins = np.concatenate([self.margins[keep], np.full(len(rows), MARGIN)])

    def project(self) -> bool:
        """Moves the prices until no known cut is violated; returns whether that worked.

        Where it does not, the cuts that stood in the way are asked for less distance, and it is tried again.
        """
        return any(self._project() for _ in range(TRIES if self.relaxation.order is None else TRIES_IN_ORDER))

    def _project(self) -> bool:
        """One attempt."""
        x = np.concatenate([self.prices, self.gains])
        n = len(self.prices)
        short = (self.values_of_cuts - self.rows @ x) / self.lengths + self.margins
        hit = np.zeros(len(short), bool)
        done = False
        for _ in range(min(100 + 4 * len(short), MOST_STEPS)):
            outside = np.maximum(self.least - x[:n], x[:n] - self.most)
            beyond = np.where(np.isfinite(self.box_lengths), outside, 0.0) / self.box_lengths
            violated = np.where(short > self.margins / 2, short, 0.0)
            cut, side = int(violated.argmax()) if len(short) else -1, int(beyond.argmax())
            if cut >= 0 and violated[cut] > max(0.0, beyond[side]):
                by = OVER * short[cut] / self.lengths[cut]
                x += by * self.directions[cut]
                short -= by * self.products[cut] / self.lengths
                hit[cut] = True
            elif beyond[side] > 1e-9:  # in the metric of the projections: less is rounding
                by = (1.0 if x[side] < self.least[side] else -1.0) * beyond[side] / self.box_lengths[side]
                x += by * self.box[side]
                short -= by * self.directions[:, side] / self.lengths  # projections are symmetric
            else:
                done = True
                break
        self.prices, self.gains = x[:n].copy(), x[n:].copy()
        if not done:
            self.margins[hit] *= SHRINK
        return done

    def move(self, prices: Floats, gains: Floats, share: float) -> None:
        """Moves the prices a share of the way to others."""
        self.prices = self.prices + share * (prices - self.prices)
        self.gains = self.gains + share * (gains - self.gains)
