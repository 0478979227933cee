"""Every way in which a rising line can split the buckets of two labels, by turning a line around each bucket.

A line that touches no bucket can be moved until it touches one, without changing its slope; so around each
bucket, the *anchor*, a line is turned from level to upright, and the sets on its left before and after it
meets each other bucket are all splits there are (O(B²)). Sums over the left side change by the buckets that
the line passes, hence cumulative sums: O(B log B) per anchor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.engines.base import Limits
    from crowdopt.model.certificate import Stop
    from crowdopt.model.problem import Problem


@dataclass
class Search:
    """What was found so far: the best value either way, and the near-best mappings of each direction."""

    best: float
    work: int = 0
    rising: list[Ints] = field(default_factory=list)
    falling: list[Ints] = field(default_factory=list)
    best_rising: float = -np.inf
    best_falling: float = -np.inf


def best_lines(problem: Problem, limits: Limits, search: Search, bound: float, *, both_ways: bool) -> Stop | None:
    """Evaluates all splits by rising lines, the higher label on the right (and on the left if both ways).

    Returns:
        None when all were evaluated, else why it stopped early; ``search`` then holds the best so far.
    """
    buckets = problem.buckets
    yes, no = buckets.counts[:, 0, 1], buckets.counts[:, 0, 0]
    for anchor in range(buckets.n_buckets):
        if (stop := limits.reached(search.best, bound, search.work)) is not None:
            return stop
        _turn(problem, _Turn(yes - yes[anchor], no - no[anchor], anchor), search, both_ways=both_ways)
    return None


class _Turn:
    """The buckets as seen from one anchor: which the turning line passes, when, and on which side they start."""

    def __init__(self, across: Ints, up: Ints, anchor: int) -> None:
        self.anchor = anchor
        behind = (across < 0) | ((across == 0) & (up < 0))
        slope = _slope_key(np.where(behind, -across, across), np.where(behind, -up, up))
        # Ahead of the line and steeper, or behind it and less steep: left of a line that is just not level.
        self.left_at_start: Bools = np.where(behind, slope <= 0, slope > 0)
        self.left_at_start[anchor] = False
        passed = np.flatnonzero((slope > 0) & (slope < 2))
        passed = passed[passed != anchor]
        self.order = passed[np.argsort(slope[passed], kind="stable")]
        # Only between different slopes is there a line; buckets of one slope are passed together.
        sorted_slope = slope[self.order]
        last = np.ones(len(self.order), bool)
        last[:-1] = sorted_slope[1:] != sorted_slope[:-1]
        self.stops = np.concatenate([[0], np.flatnonzero(last) + 1])
        self.sign = np.where(behind[self.order], 1, -1)

    def left(self, stop: int) -> Bools:
        """The buckets left of the line after it passed the first ``stop`` of ``order``, without the anchor."""
        left = self.left_at_start.copy()
        left[self.order[:stop]] = self.sign[:stop] > 0
        return left

    def sums(self, amounts: Ints) -> Ints:
        """Sums of ``amounts`` left of the line at every stop, first without and then with the anchor."""
        start = amounts[self.left_at_start].sum(axis=0)
        steps = amounts[self.order] * self.sign.reshape(-1, *[1] * (amounts.ndim - 1))
        along = np.concatenate([start[None], start + np.cumsum(steps, axis=0)])[self.stops]
        return np.concatenate([along, along + amounts[self.anchor]])

    def mapping(self, candidate: int, *, rising: bool) -> Ints:
        """The mapping of candidate ``candidate`` of :meth:`sums`: a rising one puts label 0 on the left."""
        with_anchor, at = divmod(candidate, len(self.stops))
        left = self.left(int(self.stops[at]))
        left[self.anchor] = bool(with_anchor)
        return (~left if rising else left).astype(np.int64)


def _slope_key(across: Ints, up: Ints) -> Floats:
    """A number that grows with the angle of a direction, from -2 (down) over 0 (level) to 2 (up).

    Distinct directions of integers below 2^25 differ by more than 2^-50, so they get distinct numbers.
    """
    flat = np.abs(up) <= across
    divisor = np.maximum(np.where(flat, across, np.abs(up)), 1)
    ratio = np.where(flat, up, across) / divisor
    return np.where(flat, ratio, np.sign(up) * (2.0 - ratio))


def _turn(problem: Problem, turn: _Turn, search: Search, *, both_ways: bool) -> None:
    buckets, objective = problem.buckets, problem.objective
    left, tasks = turn.sums(buckets.responses), turn.sums(buckets.weights)
    sides = np.stack([left, buckets.responses.sum(axis=0) - left], axis=1)
    tasks = np.stack([tasks, buckets.n_tasks - tasks], axis=1)
    values = objective.total(sides, tasks)
    search.work += len(values)
    search.best_rising = _keep(problem, turn, values, search.best_rising, search.rising, rising=True)
    search.best = max(search.best, search.best_rising)
    if both_ways:
        values = objective.total(sides[:, ::-1], tasks[:, ::-1])
        search.work += len(values)
        search.best_falling = _keep(problem, turn, values, search.best_falling, search.falling, rising=False)
        search.best = max(search.best, search.best_falling)


def _keep(problem: Problem, turn: _Turn, values: Floats, best: float, kept: list[Ints], *, rising: bool) -> float:
    """Adds this turn's near-best mappings to ``kept``, forgetting what a better one leaves behind."""
    top = float(values.max())
    if top == -np.inf:  # every split uses a label that is forbidden
        return best
    tolerance = problem.tolerance(max(top, best))
    if top > best + tolerance:
        kept.clear()
    elif top < best - tolerance:
        return best
    seen = {mapping.tobytes() for mapping in kept}
    for candidate in np.flatnonzero(values >= max(top, best) - tolerance):
        mapping = turn.mapping(int(candidate), rising=rising)
        if mapping.tobytes() not in seen:
            seen.add(mapping.tobytes())
            kept.append(mapping)
    return max(best, top)
