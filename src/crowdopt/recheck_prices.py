"""The bound of a witness again: prices of buckets, and what every label can gain at them.

A witness of prices λ and gains μ claims that no set S of buckets is worth more than μ_j to label j: Ψ_j(S) − λ(S) ≤ μ_j.
Then every mapping has F = Σ_j Ψ_j(S_j) ≤ Σ_b λ_b + Σ_j μ_j. Or it splits the space by the label of a bucket, and has a
witness for every part. Here the claim is checked from the data, without the engine's code, by plain means: count vectors
are sorted into cones over smaller and smaller simplices; in a cone Φ, being convex and homogeneous, lies below the linear
function that agrees with it on the edges; so the sets whose counts are in the cone are worth at most a sum of positive
parts. A cone in which it is clear for every bucket whether the best set has it is settled by that one set.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.recheck import Undecided, label_value

if TYPE_CHECKING:
    from crowdopt.problem import Problem
    from crowdopt.types import Bools, Floats, Ints

AT_ONCE = 1 << 18
"""Cones times buckets that are worked on at once."""

MOST_CONES = 2_000_000
"""Open cones at a time: bounds memory."""

_EPS = float(np.finfo(float).eps)
_NEVER = -1e15  # stands for the logarithm of zero: times a count it outweighs any price


def doubt(problem: Problem, witness: Any, bound: float, deadline: float) -> str | None:
    """Why the witness does not prove that no mapping is likelier than ``bound``; None if it does.

    Raises:
        Undecided: If the time is up before all is checked.
    """
    parts: list[tuple[Any, dict[int, int]]] = [(witness, {})]
    while parts:
        part, fixed = parts.pop()
        if not isinstance(part, dict):
            return "the witness is damaged"
        if set(part) == {"bucket", "children"}:
            children = _children(problem, part, fixed)
            if isinstance(children, str):
                return children
            parts += children
        elif set(part) == {"prices", "gains"}:
            reason = _doubt_about_prices(problem, part, fixed, bound, deadline)
            if reason is not None:
                return reason
        else:
            return "the witness is damaged"
    return None


def _children(problem: Problem, part: dict[str, Any], fixed: dict[int, int]) -> list[tuple[Any, dict[int, int]]] | str:
    """The parts of a split space; or why they are not the whole of it."""
    bucket, children = part["bucket"], part["children"]
    n_labels = problem.buckets.n_labels
    named = {str(label): label for label in range(n_labels)}
    known_bucket = type(bucket) is int and 0 <= bucket < problem.buckets.n_buckets and bucket not in fixed
    if not known_bucket or not isinstance(children, dict) or not children.keys() <= named.keys():
        return "the witness is damaged"
    tried = {named[name] for name in children}
    for label in range(n_labels):
        forbidden = problem.objective.shares and problem.objective.shares[label] == 0
        if not forbidden and not any(_alike(problem, label, other, fixed) for other in tried):
            return f"the witness leaves out the mappings that give bucket {bucket} the label of index {label}"
    return [(children[name], {**fixed, bucket: named[name]}) for name in children]


def _alike(problem: Problem, one: int, other: int, fixed: dict[int, int]) -> bool:
    """Whether nothing tells two labels apart: no offset, no share, no bucket that is fixed under one of them."""
    if one == other:
        return True
    objective = problem.objective
    same_share = not objective.shares or objective.shares[one] == objective.shares[other]
    same_offset = bool(np.all(objective.offset(one) == objective.offset(other)))
    same_gold = objective.offset_tasks(one) == objective.offset_tasks(other)
    return same_share and same_offset and same_gold and not {one, other} & set(fixed.values())


def _doubt_about_prices(
    problem: Problem, part: dict[str, Any], fixed: dict[int, int], bound: float, deadline: float
) -> str | None:
    """Why the prices of a part of the space do not prove the bound there."""
    n_labels, n_buckets = problem.buckets.n_labels, problem.buckets.n_buckets
    prices, gains = _numbers(part["prices"], n_buckets), _numbers(part["gains"], n_labels)
    if prices is None or gains is None:
        return "the witness is damaged"
    free = np.array([b for b in range(n_buckets) if b not in fixed], np.int64)
    room = bound - math.fsum([*prices[free].tolist(), *gains.tolist()])
    if room < 0:
        return f"the prices of the witness prove {bound - room!r} at best, not {bound!r}"
    checked: list[int] = []
    for label in range(n_labels):
        if any(_alike(problem, label, other, fixed) and gains[label] >= gains[other] for other in checked):
            continue
        checked.append(label)
        buyer = _Buyer(problem, label, free, [b for b, at in fixed.items() if at == label], prices[free])
        if buyer.finds_more_than(gains[label] + room / n_labels, deadline):
            return f"a set of buckets is worth more to the label of index {label} than the witness says"
    return None


def _numbers(values: Any, length: int) -> Floats | None:
    """A list of so many finite numbers as an array; None if it is something else."""
    if not isinstance(values, list) or len(values) != length:
        return None
    if not all(type(value) in {int, float} and math.isfinite(value) for value in values):
        return None
    return np.array(values, dtype=float)


@dataclass(eq=False)
class _Cones:
    """Cones by their corners (cone, corner, answer), and the range of numbers of tasks of each."""

    corners: Floats
    low: Floats
    high: Floats

    def at(self, which: Ints | Bools | slice) -> _Cones:
        return _Cones(self.corners[which], self.low[which], self.high[which])

    def __len__(self) -> int:
        return len(self.low)


class _Buyer:
    """A label with the buckets that are fixed under it, and the prices of the free ones."""

    def __init__(self, problem: Problem, label: int, free: Ints, members: list[int], prices: Floats) -> None:
        buckets, objective = problem.buckets, problem.objective
        self.problem, self.label, self.free, self.members, self.asked = problem, label, free, members, prices
        responses = buckets.responses[:, 0, :].astype(float)
        weights = buckets.weights.astype(float)
        offset = np.broadcast_to(objective.offset(label), (1, buckets.n_labels))[0] + responses[members].sum(axis=0)
        used = responses[free].sum(axis=0) + offset > 0
        self.responses, self.tasks, self.offset = responses[free][:, used], weights[free], offset[used]
        self.forbidden = bool(objective.shares) and objective.shares[label] == 0
        self.total = self.known = 0.0
        self.prices, self.constant = prices, 0.0
        if objective.kind == "estimated":
            gold = [objective.offset_tasks(j) for j in range(buckets.n_labels)]
            self.total = float(buckets.n_tasks + sum(gold))
            self.known = gold[label] + float(weights[members].sum())
        elif objective.kind == "given" and not self.forbidden:
            self.prices = prices - self.tasks * math.log(objective.shares[label])
            self.constant = float(weights[members].sum()) * math.log(objective.shares[label])
        size = self.responses.sum() + self.offset.sum() + self.tasks.sum() + self.known + 1
        self.error = (len(free) + 64) * _EPS * (float(np.abs(self.prices).sum()) + size * (math.log(size) + 8))

    def worth(self, chosen: Ints) -> float:
        """Ψ less the prices, of a set of free buckets by their positions: from the definition."""
        buckets = self.problem.buckets
        every = [*self.free[chosen].tolist(), *self.members]
        responses, tasks = buckets.responses[every].sum(axis=0), int(buckets.weights[every].sum())
        value = label_value(self.problem, self.label, responses, tasks)
        return math.fsum([value, *(-self.asked[chosen]).tolist()])

    def finds_more_than(self, limit: float, deadline: float) -> bool:
        """Whether a set is worth more than ``limit``."""
        if self.worth(np.zeros(0, np.int64)) > limit:
            return True
        if self.forbidden or not len(self.free):
            return False
        n = self.responses.shape[1]
        low, high = (self.tasks.min() + self.known, self.tasks.sum() + self.known) if self.total else (1.0, 1.0)
        stack = [_Cones(np.eye(n)[None], np.array([low]), np.array([high]))]
        step = max(16, AT_ONCE // (len(self.free) * n))
        while stack:
            if time.monotonic() > deadline or sum(map(len, stack)) > MOST_CONES:
                raise Undecided("the time limit was reached before the prices behind the bound were checked")
            cones = stack.pop()
            if len(cones) > step:
                stack.append(cones.at(slice(step, None)))
                cones = cones.at(slice(0, step))
            answer = self._narrow(cones, limit - self.constant)
            if answer is True:
                return True
            if isinstance(answer, _Cones) and len(answer):
                stack.append(answer)
        return False

    def _narrow(self, cones: _Cones, limit: float) -> _Cones | bool:
        """The cones that may hold a set worth more than the limit, cut in two; True if there is such a set."""
        heights = _phi(cones.corners)
        slope = _planes(cones.corners, heights)
        per_task, constant = self._chords(cones)
        excess = slope @ self.responses.T + per_task[:, None] * self.tasks - self.prices
        bound = slope @ self.offset + per_task * self.known + constant + np.maximum(excess, 0.0).sum(axis=1)
        error = self.error * (1 + np.abs(slope).max(axis=1) + np.abs(per_task))
        rows = np.flatnonzero(bound + error > limit)
        if not len(rows):
            return False
        cones, heights, mass = cones.at(rows), heights[rows], (excess[rows] > 0) @ self.responses
        worth, wrong, sets = self._by_centre(cones)
        best = sets[int(worth.argmax())]
        if worth.max() > limit - self.error and self.worth(np.flatnonzero(best)) > limit + self.constant:
            return True
        rows = np.flatnonzero((worth + wrong + 64 * self.error > limit) & (wrong > 0))
        return self._halves(cones.at(rows), heights[rows], mass[rows].sum(axis=1) + self.offset.sum())

    def _by_centre(self, cones: _Cones) -> tuple[Floats, Floats, Bools]:
        """The sets that are best at the centres of cones: what they are worth, and how much more another one may be.

        Let S be any set whose answer probabilities p are in the cone. Its worth at p is that of the centre's set at p,
        which is no more than that set is worth, with what each bucket is worth at p that only one of the two has:
        never more than its most, or less than its least, in the cone.
        """
        centre = cones.corners.mean(axis=1)
        gain = np.log(centre) @ self.responses.T - self.prices
        rise = np.matmul(cones.corners / centre[:, None, :], self.responses.T).max(axis=1) - self.responses.sum(axis=1)
        most = gain + rise
        logs = np.log(np.where(cones.corners > 0, cones.corners, 1.0)) + np.where(cones.corners > 0, 0.0, _NEVER)
        least = np.matmul(logs, self.responses.T).min(axis=1) - self.prices
        if self.total:
            ends = [np.log(at / self.total)[:, None] for at in (cones.low, (cones.low + cones.high) / 2, cones.high)]
            least, gain, most = (x + self.tasks * (1 + end) for x, end in zip((least, gain, most), ends, strict=True))
        inside = gain > 0
        counts, tasks = inside @ self.responses + self.offset, inside @ self.tasks + self.known
        worth = _phi_of_counts(counts) - inside @ self.prices
        if self.total:
            worth += tasks * np.log(np.maximum(tasks, 1e-300) / self.total)
        wrong = np.where(inside, np.maximum(-least, 0.0), np.maximum(most, 0.0)).sum(axis=1)
        return worth, wrong, inside

    def _chords(self, cones: _Cones) -> tuple[Floats, Floats]:
        """Slope and height of a line above n ln(n / total) on the range of each cone."""
        if not self.total:
            return np.zeros(len(cones)), np.zeros(len(cones))
        at_low, at_high = (x * np.log(x / self.total) for x in (cones.low, cones.high))
        one = cones.high == cones.low
        slope = np.where(one, 0.0, (at_high - at_low) / np.where(one, 1.0, cones.high - cones.low))
        return slope, np.maximum(at_low - slope * cones.low, at_high - slope * cones.high)

    def _halves(self, cones: _Cones, heights: Floats, mass: Floats) -> _Cones:
        """Cuts cones along the edge, or the range of tasks, on which the plane is farthest above."""
        n, rows = cones.corners.shape[1], np.arange(len(cones))
        one, other = np.triu_indices(n, 1)
        middle = (cones.corners[:, one] + cones.corners[:, other]) / 2
        bend = (heights[:, one] + heights[:, other]) / 2 - _phi(middle)
        split = np.floor((cones.low + cones.high) / 2)
        slope, constant = self._chords(cones)
        gap = np.zeros(len(cones))
        if self.total:
            gap = np.where(cones.high > cones.low, slope * split + constant - split * np.log(split / self.total), -1.0)
        by_edge = bend.max(axis=1, initial=0.0) * mass >= gap if n > 1 else np.zeros(len(cones), bool)
        first, second = (_Cones(cones.corners.copy(), cones.low.copy(), cones.high.copy()) for _ in range(2))
        if n > 1:
            edge = bend.argmax(axis=1)
            at = rows[by_edge]
            first.corners[at, one[edge[at]]] = middle[at, edge[at]]
            second.corners[at, other[edge[at]]] = middle[at, edge[at]]
        first.high[~by_edge], second.low[~by_edge] = split[~by_edge], split[~by_edge] + 1
        pairs = zip(vars(first).values(), vars(second).values(), strict=True)
        return _Cones(*(np.concatenate(pair) for pair in pairs))


def _planes(corners: Floats, heights: Floats) -> Floats:
    """A linear function above Φ in each cone: the one through its corners, raised by what rounding left it short."""
    centre = corners.mean(axis=1)
    try:
        slope = np.linalg.solve(corners, heights[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        slope = np.log(centre)
    steep = ~(np.abs(slope).max(axis=1) < 1e3)  # nor not-a-number
    slope = np.where(steep[:, None], np.log(centre), slope)
    short = (heights - np.matmul(corners, slope[:, :, None])[:, :, 0]).max(axis=1)
    return np.asarray(slope + np.maximum(short, 0.0)[:, None])


def _phi(shares: Floats) -> Floats:
    """Φ of probability vectors."""
    return np.asarray((shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1))


def _phi_of_counts(counts: Floats) -> Floats:
    whole = np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
    return np.asarray((counts * np.log(np.where(counts > 0, counts, whole) / whole)).sum(axis=-1))
