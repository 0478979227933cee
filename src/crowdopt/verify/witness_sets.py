"""Sets of buckets again: whether any is worth more to a label than it should be.

Looks for a set S of free buckets with Ψ(S) − λ(S) above a threshold: for one label, Ψ(S) = Σ_c Φ(M_c(S)) with
M_c(S) the responses of class c to S and to the buckets fixed under the label, with what is known beforehand, plus
what shares add.

The mean answers p_c = M_c / |M_c| lie somewhere, and so in one of finitely many *cells*: a simplex for every class,
and a range of numbers of tasks where shares are estimated. A cell is bounded in two ways, and split in two if both
fail.

1. Φ is convex and of degree one. On the vectors that point into a simplex it is at most the linear function θ that
   equals it at the corners; so is n ln(n / total) below its chord. A sum of linear functions over buckets is
   largest with the buckets for which they are positive.
2. Ψ is convex with gradient ln p. Of the best sets take a smallest: it has b only if ⟨Y_b, ln p⟩ > λ_b, and lacks b
   only if ⟨Y_b, ln p⟩ ≤ λ_b. The logarithm is concave: its least values are at corners, and the tangent at the
   centre is above it. Some buckets are thus in, some out. With C the buckets that would be in at the centre, S is
   worth at most what C is and what each undecided bucket could be on the wrong side by.

Where sets have to respect an order, the second argument does not hold, as a bucket may not be taken in or left out
alone. Then the linear functions of the first are maximised over the sets that do (witness_closures.py).

Slower and plainer than the search of the engine, with which it shares no code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.verify.optimum import Undecided, check_clock

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats
    from crowdopt.model.problem import Problem
    from crowdopt.verify.witness_closures import Closures

_BLOCK = 1 << 17
"""Cells times buckets looked at together."""

_EPS = float(np.finfo(float).eps)
_ZERO_LOG = -1e15  # for the logarithm of zero: times a count it outweighs any price


@dataclass(frozen=True, eq=False)
class Sets:
    """What sets of free buckets are worth to a label.

    Attributes:
        answers: Responses by free bucket and answer, one array for every class that has any.
        known: Responses that every set has, by answer, for the same classes.
        tasks: By free bucket.
        prices: By free bucket, less what given shares add for its tasks.
        total: All tasks, where shares are estimated; else 0.
        known_tasks: Tasks that every set has, where shares are estimated.
        constant: Added to every set.
        allowed: Whether the label may have any bucket at all.
        closures: The sets that respect the order; None if any set will do.
    """

    answers: list[Floats]
    known: list[Floats]
    tasks: Floats
    prices: Floats
    total: float
    known_tasks: float
    constant: float
    allowed: bool
    closures: Closures | None = None

    @classmethod
    def under(
        cls,
        problem: Problem,
        label: int,
        fixed: Bools,
        free: Bools,
        prices: Floats,
        closures: Closures | None = None,
    ) -> Sets:
        """For one label, with buckets that are fixed under it."""
        buckets, objective = problem.buckets, problem.objective
        responses, weights = buckets.responses.astype(float), buckets.weights.astype(float)
        beforehand = np.broadcast_to(objective.offset(label), buckets.counts.shape[1:]).astype(float)
        known = beforehand + responses[fixed].sum(axis=0)
        used = [np.flatnonzero(responses[free, c].sum(axis=0) + known[c] > 0) for c in range(buckets.n_classes)]
        classes = [c for c in range(buckets.n_classes) if len(used[c])]
        total, known_tasks, log_share = 0.0, 0.0, 0.0
        if objective.kind == "estimated":
            gold = [objective.offset_tasks(j) for j in range(buckets.n_labels)]
            total, known_tasks = float(buckets.n_tasks + sum(gold)), float(gold[label] + weights[fixed].sum())
        share = objective.shares[label] if objective.shares else 1.0
        if share > 0:
            log_share = math.log(share)
        fixed_tasks = float(weights[fixed].sum())
        return cls(
            answers=[responses[free, c][:, used[c]] for c in classes],
            known=[known[c][used[c]] for c in classes],
            tasks=weights[free],
            prices=prices[free] - weights[free] * log_share,
            total=total,
            known_tasks=known_tasks,
            constant=fixed_tasks * log_share if share > 0 or not fixed_tasks else -math.inf,
            allowed=share > 0,
            closures=closures,
        )

    def worth(self, sets: Bools) -> Floats:
        """Ψ(S) − λ(S) of sets (set, bucket)."""
        worth = self.constant - sets @ self.prices
        for answers, known in zip(self.answers, self.known, strict=True):
            counts = sets @ answers + known
            worth += _times_log(counts, counts.sum(axis=1, keepdims=True)).sum(axis=1)
        return np.asarray(worth + self.share(sets @ self.tasks + self.known_tasks))

    def share(self, tasks: Floats) -> Floats:
        """What the estimated share of this many tasks adds."""
        return _times_log(tasks, np.full_like(tasks, self.total)) if self.total else np.zeros_like(tasks)

    @property
    def rounding(self) -> float:
        """More than rounding can do to a sum over all buckets (logarithms of counts are below 64)."""
        size = sum(float(a.sum() + k.sum()) for a, k in zip(self.answers, self.known, strict=True))
        terms = len(self.tasks) + sum(len(k) for k in self.known) + 64
        return terms * _EPS * (64 * (size + self.total) + float(np.abs(self.prices).sum()))


def worth_more(sets: Sets, threshold: float, deadline: float) -> bool:
    """Whether any set, the empty one too, is worth more than the threshold.

    Raises:
        Undecided: Past the deadline.
    """
    return set_above(sets, threshold, deadline) is not None


def set_above(sets: Sets, threshold: float, deadline: float) -> Bools | None:
    """A set, which may be empty, that is worth more than the threshold; None if there is none.

    Raises:
        Undecided: Past the deadline.
    """
    nothing = np.zeros(len(sets.tasks), bool)
    if sets.worth(nothing[None])[0] > threshold:
        return nothing
    if not sets.allowed or not len(sets.tasks):
        return None
    waiting = [_whole(sets)]
    most = max(16, _BLOCK // len(sets.tasks))
    while waiting:
        check_clock(deadline)
        cells = waiting.pop()
        if len(cells.low) > most:
            waiting.append(cells.only(slice(most, None)))
            cells = cells.only(slice(most))
        looked = _Look(sets, cells, threshold)
        if looked.best > threshold:
            return np.asarray(looked.best_set)
        left = np.flatnonzero(looked.bound > threshold)
        if len(left):
            waiting.append(cells.only(left).halves(looked.weights()[:, left], looked.range_weights()[left]))
    return None


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells: for every class the corners of simplices (cell, corner, answer), and ranges of tasks."""

    corners: list[Floats]
    low: Floats
    high: Floats

    def only(self, which: slice | np.ndarray) -> _Cells:
        return _Cells([c[which] for c in self.corners], self.low[which], self.high[which])

    def halves(self, weights: Floats, range_weights: Floats) -> _Cells:
        """Every cell in two: by the edge (of any class) or the range that matters most."""
        best, by = np.maximum(range_weights, 0.0), np.full(len(self.low), -1)
        edges: list[tuple[Floats, Floats]] = []
        for at, corners in enumerate(self.corners):
            one, other = np.triu_indices(corners.shape[1], 1)
            middle = (corners[:, one] + corners[:, other]) / 2
            bend = (_heights(corners)[:, one] + _heights(corners)[:, other]) / 2 - _heights(middle)
            edge = bend.argmax(axis=1) if len(one) else np.zeros(len(bend), int)
            edges.append((one[edge], other[edge]) if len(one) else (edge, edge))
            matters = weights[at] * (bend.max(axis=1, initial=0.0))
            by, best = np.where(matters > best, at, by), np.maximum(matters, best)
        if ((by < 0) & (self.low >= self.high)).any():
            raise Undecided("numbers are so large that rounding hides whether a set is worth more")
        return _joined([self._half(by, edges, side) for side in (0, 1)])

    def _half(self, by: np.ndarray, edges: list[tuple[np.ndarray, np.ndarray]], side: int) -> _Cells:
        """One half: the middle of the edge takes the place of one of its ends; or one half of the range."""
        corners, low, high = [c.copy() for c in self.corners], self.low.copy(), self.high.copy()
        for at, (one, other) in enumerate(edges):
            rows = np.flatnonzero(by == at)
            ends = one[rows], other[rows]
            middle = (corners[at][rows, ends[0]] + corners[at][rows, ends[1]]) / 2
            corners[at][rows, ends[side]] = middle
        rows = np.flatnonzero(by < 0)
        middle = np.floor((low[rows] + high[rows]) / 2)
        if side:
            low[rows] = np.minimum(middle + 1, high[rows])
        else:
            high[rows] = middle
        return _Cells(corners, low, high)


def _joined(parts: list[_Cells]) -> _Cells:
    corners = [np.concatenate([part.corners[at] for part in parts]) for at in range(len(parts[0].corners))]
    return _Cells(corners, np.concatenate([p.low for p in parts]), np.concatenate([p.high for p in parts]))


def _whole(sets: Sets) -> _Cells:
    """The one cell that everything is in; numbers of tasks are those of sets that are not empty."""
    low = sets.known_tasks + sets.tasks.min() if sets.total else 1.0
    high = sets.known_tasks + sets.tasks.sum() if sets.total else 1.0
    return _Cells([np.eye(len(known))[None] for known in sets.known], np.array([low]), np.array([high]))


class _Look:
    """Bounds of some cells.

    Attributes:
        bound: By cell.
        best: What the best set met on the way is worth.
        best_set: That set.
    """

    def __init__(self, sets: Sets, cells: _Cells, threshold: float) -> None:
        self.sets, self.cells = sets, cells
        n = len(cells.low), len(sets.tasks)
        least, most, centre = np.zeros(n), np.zeros(n), np.zeros(n)  # of the gradient, by cell and bucket
        for answers, corners in zip(sets.answers, cells.corners, strict=True):
            middle = corners.mean(axis=1)
            logs = np.where(corners > 0, np.log(np.where(corners > 0, corners, 1.0)), _ZERO_LOG)
            tangent = np.log(middle)[:, None] + corners / middle[:, None] - 1
            least += (logs @ answers.T).min(axis=1)
            most += (tangent @ answers.T).max(axis=1)
            centre += np.log(middle) @ answers.T
        if sets.total:
            ends = 1 + np.log(np.stack([cells.low, (cells.low + cells.high) / 2, cells.high]) / sets.total)
            least, centre, most = (x + ends[i][:, None] * sets.tasks for i, x in enumerate((least, centre, most)))
        least, centre, most = least - sets.prices, centre - sets.prices, most - sets.prices
        doubt = sets.rounding
        if sets.closures is None:
            surely, maybe = least > doubt, most > -doubt
        else:
            surely, maybe = np.zeros(n, bool), np.ones(n, bool)
        self.chosen = surely | (maybe & (centre > 0))
        worth = sets.worth(self.chosen)
        wrong = np.where(self.chosen, np.maximum(-least, 0.0), np.maximum(most, 0.0))
        near = worth + np.where(maybe & ~surely, wrong, 0.0).sum(axis=1)
        base, gain = self._linear()
        linear = base + np.where(surely, gain, np.where(maybe, np.maximum(gain, 0.0), 0.0)).sum(axis=1)
        self.bound = np.minimum(near, linear) + doubt
        self.best, self.best_set = float(worth.max()), self.chosen[worth.argmax()]
        if sets.closures is not None:
            self._respect(sets.closures, base + doubt, gain, centre, threshold)

    def _respect(self, closures: Closures, base: Floats, gain: Floats, centre: Floats, threshold: float) -> None:
        """Bounds anew, by sets that respect the order, what is left; and looks for one that is worth much."""
        self.best = -math.inf
        left = np.flatnonzero(self.bound > threshold)
        if not len(left):
            return
        self.bound[left] = np.minimum(self.bound[left], base[left] + closures.best(gain[left]))
        worst = left[self.bound[left].argmax()]
        self.best_set = closures.best_set(centre[worst])
        self.best = float(self.sets.worth(self.best_set[None])[0])

    def _linear(self) -> tuple[Floats, Floats]:
        """Linear functions above Φ and the share: what every set has of them by cell, and what a bucket adds."""
        sets, cells = self.sets, self.cells
        base = np.full(len(cells.low), sets.constant)
        gain = np.tile(-sets.prices, (len(cells.low), 1))
        for answers, known, corners in zip(sets.answers, sets.known, cells.corners, strict=True):
            heights = _heights(corners)
            slope = np.linalg.solve(corners, heights[:, :, None])[:, :, 0]
            short = heights - (corners @ slope[:, :, None])[:, :, 0]
            slope += np.maximum(short.max(axis=1), 0.0)[:, None]  # rounding must not leave it below a corner
            gain += slope @ answers.T
            base += slope @ known
        if sets.total:
            low, high = cells.low, cells.high
            ends = sets.share(low), sets.share(high)
            tangent = 1 + np.log(low / sets.total)
            rise = np.where(high > low, (ends[1] - ends[0]) / np.maximum(high - low, 1.0), tangent)
            gain += rise[:, None] * sets.tasks
            base += np.maximum(ends[0] - rise * low, ends[1] - rise * high) + rise * sets.known_tasks
        return base, gain

    def weights(self) -> Floats:
        """How much the bend of a simplex matters, by class and cell: the responses of the chosen set."""
        both = zip(self.sets.answers, self.sets.known, strict=True)
        return np.stack([self.chosen @ answers.sum(axis=1) + known.sum() + 1.0 for answers, known in both])

    def range_weights(self) -> Floats:
        """By how much the chord of the share is above it in the middle of the range."""
        low, high = self.cells.low, self.cells.high
        middle = (low + high) / 2
        return (self.sets.share(low) + self.sets.share(high)) / 2 - self.sets.share(middle)


def _heights(points: Floats) -> Floats:
    """Φ at probability vectors."""
    return np.asarray((points * np.log(np.where(points > 0, points, 1.0))).sum(axis=-1))


def _times_log(part: Floats, whole: Floats) -> Floats:
    """``part * ln(part / whole)``, zero where part is zero."""
    return np.asarray(part * np.log(np.where(part > 0, part, 1.0) / np.where(part > 0, whole, 1.0)))
