"""Boxes again: whether no parameters have a marginal likelihood above a bound.

A witness says how the space of all parameters was split into boxes: ``entries`` has, depth first, the entry (row ·
labels + answer) by which a box is split, or -1 where it is not; ``at`` has the numbers at which, the lower half coming
first. So whatever it says, its boxes are all of the space: what can be wrong is that a box holds more than the bound.
Here every box is shrunk and bounded again on the way down (witness_box_bounds.py). One that is not done where the
witness ends is split further, by widths. ``names`` are the class of workers and the answers whose probabilities tell
labels apart that could exchange their names: label j has the largest probability of the j-th answer among labels j and
above.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.verify.optimum import Undecided, check_clock
from crowdopt.verify.optimum_marginal import Marginal
from crowdopt.verify.witness_box_bounds import Boxes, summing_to_one

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.model.problem import Problem

ROUNDS = 3
"""How often a box is shrunk and bounded in turn."""

NUMBERS_AT_ONCE = 1 << 21
MOST_OPEN = 200_000
"""Boxes that wait at most: more would be no check that ends."""

NARROW = 1e-12


class WrongWitness(Exception):  # noqa: N818 -- an answer, not an error
    """Why a witness cannot be one."""


def saturated_bound(problem: Problem) -> float:
    """At least the maximum over all parameters: every pattern of answers as probable as it is frequent."""
    m = Marginal(problem)
    counts, weights = problem.buckets.counts.tolist(), problem.buckets.weights.tolist()
    alike: dict[tuple[int, ...], int] = {}
    designs = [tuple(sum(answers) for answers in bucket) for bucket in counts]
    for design, weight in zip(designs, weights, strict=True):
        alike[design] = alike.get(design, 0) + weight
    terms = []
    for bucket, design, weight in zip(counts, designs, weights, strict=True):
        orders = [weight * math.lgamma(n + 1) for n in design]
        terms += [weight * math.log(weight / alike[design]), *(-term for term in orders)]
        terms += [weight * math.lgamma(x + 1) for answers in bucket for x in answers]
    for row in m.pseudo.tolist():
        terms += [g * math.log(g / sum(row)) for g in row if g]
    return math.fsum(terms) + 1e-13 * math.fsum(map(abs, terms)) + 1e-12


def doubt_about_boxes(problem: Problem, witness: Any, bound: float, deadline: float) -> str | None:
    """Why a witness does not prove ``bound``; None if it does.

    Raises:
        Undecided: If that takes too long.
    """
    try:
        check = BoxCheck(problem, witness, bound, deadline)
        return None if saturated_bound(problem) <= bound else check.run()
    except WrongWitness as reason:
        return f"the witness does not prove the bound: {reason}"


class BoxCheck:
    """The check of one witness."""

    def __init__(self, problem: Problem, witness: Any, bound: float, deadline: float) -> None:
        self.marginal, self.bound, self.deadline = Marginal(problem), bound, deadline
        self.named_by, self.answers = _names(problem, witness)
        self.entry, self.at, self.upper = _splits(witness, self.marginal.rows * self.marginal.n_labels)

    def run(self) -> str | None:
        """Goes down all boxes; what is above the bound if something is."""
        m = self.marginal
        low, high = np.zeros((1, m.rows, m.n_labels)), np.ones((1, m.rows, m.n_labels))
        if m.shares is not None:
            low[:, 0] = high[:, 0] = m.shares
        step = max(1, NUMBERS_AT_ONCE // (len(m.weights) * m.n_labels * 8))
        waiting = [(low, high, np.zeros(1, np.int64))]
        n_open = 1
        while waiting:
            check_clock(self.deadline)
            low, high, node = waiting.pop()
            n_open -= len(node)
            if len(node) > step:
                waiting.append((low[step:], high[step:], node[step:]))
                n_open += len(node) - step
            halves = self._below(low[:step], high[:step], node[:step])
            if isinstance(halves, str):
                return halves
            if len(halves[2]):
                waiting.append(halves)
            n_open += len(halves[2])
            if n_open > MOST_OPEN:
                raise Undecided("the boxes of the witness are not enough to check the bound")
        return None

    def _below(self, low: Floats, high: Floats, node: Ints) -> tuple[Floats, Floats, Ints] | str:
        """The halves of the boxes that may hold more than the bound; or what is above it."""
        for _ in range(ROUNDS):
            low, high = self._named(low, high)
            low, high, some = summing_to_one(low, high, 0 if self.marginal.shares is None else 1)
            low, high, node = low[some], high[some], node[some]
            if not len(node):
                break
            boxes = Boxes(self.marginal, low, high)
            bounds, c, rows = boxes.bounds()
            some = (bounds > self.bound) & ~boxes.without_fixed_point()
            low, high = boxes.cut(c, rows, bounds - self.bound)
            low, high, node, c = low[some], high[some], node[some], c[some]
            some = np.asarray((low <= high).all(axis=(1, 2)))
            low, high, node = low[some], high[some], node[some]
        for point in (0.5 * (low + high))[node < 0][:4]:
            value = self.marginal.value(self.marginal.refitted(point / point.sum(axis=1, keepdims=True)))
            if value > self.bound:
                return f"there are parameters with marginal log-likelihood {value!r}, above the bound {self.bound!r}"
        return self._halves(low, high, node)

    def _named(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """What gives labels their names."""
        if self.named_by < 0:
            return low, high
        low, high, m = low.copy(), high.copy(), self.marginal
        for j, a in enumerate(self.answers):
            first = 1 + j * m.n_classes + self.named_by
            for other in range(j + 1, m.n_labels):
                row = 1 + other * m.n_classes + self.named_by
                low[:, first, a] = np.maximum(low[:, first, a], low[:, row, a])
                high[:, row, a] = np.minimum(high[:, row, a], high[:, first, a])
        return low, high

    def _halves(self, low: Floats, high: Floats, node: Ints) -> tuple[Floats, Floats, Ints]:
        """Two boxes for each: split as the witness says, or behind its end where the widest entry is, by log-odds."""
        count, n = len(node), self.marginal.n_labels
        every = np.arange(count)
        entry, at = np.where(node >= 0, self.entry[node], -1), self.at[node]
        own = np.asarray(entry < 0)
        wide = np.where(high - low > NARROW, np.arcsin(np.sqrt(high)) - np.arcsin(np.sqrt(low)), 0.0)
        widest = wide.reshape(count, -1).argmax(axis=1) if count else entry
        if count and (own & (wide.reshape(count, -1)[every, widest] <= 0)).any():
            raise Undecided("a box of the witness cannot be split, and its bound is not low enough")
        entry = np.where(own, widest, entry)
        row, answer = entry // n, entry % n
        first, last = low[every, row, answer], high[every, row, answer]
        middle = np.sin((np.arcsin(np.sqrt(first)) + np.arcsin(np.sqrt(last))) / 2) ** 2
        middle = np.where((first < middle) & (middle < last), middle, (first + last) / 2)
        middle = np.where(own, middle, np.clip(at, first, last))
        lower, upper = high.copy(), low.copy()
        lower[every, row, answer] = upper[every, row, answer] = middle
        below = np.where(own, -1, node + 1)
        above = np.where(own, -1, self.upper[node])
        # Of a split outside of what is left, one half is all there is.
        keep_high = np.asarray(own | (at < last))
        keep_low = np.asarray(own | (at > first) | ~keep_high)
        return (
            np.concatenate([low[keep_low], upper[keep_high]]),
            np.concatenate([lower[keep_low], high[keep_high]]),
            np.concatenate([below[keep_low], above[keep_high]]),
        )


def _names(problem: Problem, witness: Any) -> tuple[int, list[int]]:
    """What tells labels apart; class -1 where nothing needs to."""
    names = witness.get("names") if isinstance(witness, dict) else None
    if not isinstance(witness, dict) or set(witness) != {"names", "entries", "at"}:
        raise WrongWitness("it does not say how boxes are split")
    if names is None:
        return -1, []
    if not problem.objective.interchangeable:
        raise WrongWitness("it names labels, which cannot exchange their names here")
    by, answers = (names.get("class"), names.get("answers")) if isinstance(names, dict) else (None, None)
    n_labels = problem.buckets.n_labels
    whole = isinstance(answers, list) and all(type(a) is int for a in answers)
    if type(by) is not int or not 0 <= by < problem.buckets.n_classes or not whole:
        raise WrongWitness("it does not say what gives labels their names")
    if sorted(answers or []) != list(range(n_labels)):
        raise WrongWitness("labels are not named by one answer each")
    return by, list(answers or [])


def _splits(witness: dict[str, Any], n_entries: int) -> tuple[Ints, Floats, Ints]:
    """By node, depth first: the entry it is split by (-1: it is not), where, and which node is its upper half."""
    entries, numbers = witness["entries"], witness["at"]
    if not isinstance(entries, list) or not all(type(one) is int and -1 <= one < n_entries for one in entries):
        raise WrongWitness("it splits by what is no parameter")
    if not isinstance(numbers, list) or not all(type(one) in {int, float} and 0 <= one <= 1 for one in numbers):
        raise WrongWitness("it splits at what is no probability")
    if len(numbers) != sum(one >= 0 for one in entries) or len(entries) != 2 * len(numbers) + 1:
        raise WrongWitness("some of its boxes are missing")
    at, upper = np.zeros(len(entries)), np.full(len(entries), -1, np.int64)
    left = iter(numbers)
    missing: list[int] = []  # boxes whose upper half is still to come
    for node, entry in enumerate(entries):
        if node and entries[node - 1] < 0:
            if not missing:
                raise WrongWitness("some of its boxes are missing")
            upper[missing.pop()] = node
        if entry >= 0:
            at[node] = next(left)
            missing.append(node)
    if missing or entries[-1] >= 0:
        raise WrongWitness("some of its boxes are missing")
    return np.array(entries, np.int64), at, upper
