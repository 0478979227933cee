"""Branch and bound over boxes of parameters, best bound first, until nothing can beat the best point by the tolerance.

Let a maximiser beat the best point known by more than the threshold. It is in the box of all parameters, a renamed copy
of it where labels can exchange their names. No step cuts it away, as every step keeps what beats the threshold and is
left alone by EM, and splitting a box loses nothing. So when no box is left, there is none. The cost of a box is
O(buckets · labels² · classes), whatever the number of parameters; the number of boxes grows some 5 to 10 times with
every class.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import permutations
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.engines.marginal.box_kernels import examine_box
from crowdopt.engines.marginal.cells import Cells, probability_cells, saturated
from crowdopt.engines.marginal.starts import climb_by_em
from crowdopt.model.certificate import Stop
from crowdopt.model.problem import PARAMETER_TOLERANCE

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.base import Limits
    from crowdopt.engines.marginal.likelihood import MarginalLikelihood

MOST_SPLITS = 150_000
"""Splits that a witness has at most: three numbers each."""

MOST_BOXES = 1_000_000
"""Open boxes; each takes some hundred bytes beside its numbers."""

FEW_BOXES = 50
"""Boxes from each of which EM climbs; of later ones, from every so many."""

BOXES_BETWEEN_REPORTS = 16
NARROW = 1e-12
"""A box whose widest useful entry is narrower is not split any more."""

FEW_NAMINGS = 5_000
"""Orders of the answers up to which all are tried for the names of labels."""


@dataclass(eq=False)
class BoxSearch:
    """The state of a search.

    Attributes:
        likelihood: What is maximised.
        limits: When to stop.
        best: The best point known, and ``value``, its L; ``doubt`` is how far rounding may have taken that.
        boxes: How many were looked at.
    """

    likelihood: MarginalLikelihood
    limits: Limits
    best: Floats
    value: float = field(init=False)
    doubt: float = field(init=False)
    boxes: int = 0
    names: tuple[int, Ints] = field(init=False)
    cells: Cells = field(init=False)
    at_most: float = field(init=False)
    _open: list[tuple[float, int, Floats, Floats, int, int]] = field(default_factory=list)
    _given_up: float = -np.inf
    _splits: list[tuple[int, int, float, int]] = field(default_factory=list)
    _nodes: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.value, self.doubt = self.likelihood.value(self.best)
        self.at_most = saturated(self.likelihood)
        self.names = _naming(self.likelihood, self.best)
        slack = max(self.at_most - self.threshold, 0.0)
        self.cells = probability_cells(self.likelihood, slack, _cell_size(self.likelihood, slack))

    @property
    def threshold(self) -> float:
        """What a point must beat to matter: the best value, and the tolerance less what rounding may do to both."""
        return self.value + PARAMETER_TOLERANCE - 2 * self.doubt

    @property
    def bound(self) -> float:
        """No parameters have more: the largest of the open boxes and of what was closed."""
        closed = max(self.threshold, self._given_up) if self.boxes else -np.inf
        highest = max([closed, *(-one[0] for one in self._open[:1])])
        return float(max(min(highest if self.boxes else np.inf, self.at_most), self.value))

    def run(self) -> Stop:
        """Splits boxes until none is left, or a limit is reached."""
        if self.at_most <= self.threshold:
            return Stop.FINISHED
        most = self.limits.fit(MOST_BOXES, 16 * self.best.size + 1_000)
        self._push(*self.likelihood.whole_space(), self.at_most, 0)
        while self._open and -self._open[0][0] > self.threshold:
            if self.boxes % BOXES_BETWEEN_REPORTS < 2:
                stop = self.limits.reached(self.value, self.bound, self.boxes)
                if stop is not None:
                    return stop
            if len(self._open) >= most:
                return Stop.MEMORY
            self._split(*heapq.heappop(self._open))
        self._open.clear()
        return Stop.FINISHED

    def witness(self) -> dict[str, Any] | None:
        """The splits that lead to the boxes that were left, depth first, the lower half before the upper one.

        A box that was not split is -1; ``at`` has the numbers at which the others were. None if there are too many.
        """
        if len(self._splits) > MOST_SPLITS:
            return None
        entries: list[int] = []
        at: list[float] = []
        stack = [0]
        while stack:
            node = stack.pop()
            if node not in self._nodes:
                entries.append(-1)
                continue
            row, entry, where, first = self._splits[self._nodes[node]]
            entries.append(row * self.likelihood.n_labels + entry)
            at.append(where)
            stack += [first + 1, first]
        named_by, answers = self.names
        names = None if named_by < 0 else {"class": named_by, "answers": answers.tolist()}
        return {"names": names, "entries": entries, "at": at}

    def _split(self, below: float, node: int, low: Floats, high: Floats, row: int, entry: int) -> None:
        middle = _middle(low[row, entry], high[row, entry])
        first = 2 * len(self._splits) + 1
        self._nodes[node] = len(self._splits)
        self._splits.append((row, entry, middle, first))
        upper, lower = low.copy(), high.copy()
        upper[row, entry] = lower[row, entry] = middle
        self._push(low, lower, -below, first)
        self._push(upper, high, -below, first + 1)

    def _push(self, low: Floats, high: Floats, at_most: float, node: int) -> None:
        """Examines a box, and keeps it if it may have more than the threshold."""
        self.boxes += 1
        point, model = np.empty(low.shape), self.likelihood
        bound, row, entry = examine_box(
            low, high, model.counts, model.own, model.weights, model.pseudo, model.first_free, self.names, self.cells,
            self.threshold, point,
        )  # fmt: skip
        bound = min(bound, at_most)
        if bound <= self.threshold:
            return
        if self.boxes < FEW_BOXES or self.boxes % FEW_BOXES == 0:
            self._improve(point)
        if high[row, entry] - low[row, entry] < NARROW:
            self._given_up = max(self._given_up, bound)
            return
        heapq.heappush(self._open, (-bound, node, low, high, row, entry))

    def _improve(self, point: Floats) -> None:
        """Climbs from a point by EM, and keeps where that ends if it is better than all before."""
        start = np.maximum(point, 1e-6)
        (end,), _ = climb_by_em(self.likelihood, (start / start.sum(axis=1, keepdims=True))[None], 300)
        if self.likelihood.shares is not None:
            end[0] = self.likelihood.shares
        value, doubt = self.likelihood.value(end)
        if value > self.value + 1e-6:
            self.best, self.value, self.doubt = end, value, doubt


def _middle(low: float, high: float) -> float:
    """Where an interval is split: in the middle of arcsin √p, in which small probabilities have room."""
    middle = float(np.sin((np.arcsin(np.sqrt(low)) + np.arcsin(np.sqrt(high))) / 2) ** 2)
    return middle if low < middle < high else (low + high) / 2


def _cell_size(likelihood: MarginalLikelihood, slack: float) -> int:
    """Of how many answers cells are worth it: none where even the best parameters are far from the saturated bound."""
    if likelihood.n_labels == 2:
        return 3 if slack < 0.1 * likelihood.weights.sum() else 0
    return 5 if likelihood.n_classes == 1 else 3


def _naming(likelihood: MarginalLikelihood, point: Floats) -> tuple[int, Ints]:
    """The class of workers and the order of its answers that tell the labels apart best at a point; class -1 if none.

    Label j is then that, of labels j and above, with the largest probability of the j-th answer: every point has such
    names, so these are free to choose.
    """
    n, n_classes = likelihood.n_labels, likelihood.n_classes
    order = np.arange(n, dtype=np.int64)
    if not likelihood.interchangeable or n == 1:
        return -1, order
    responses = np.sqrt((likelihood.counts.sum(axis=2) * likelihood.weights[:, None]).sum(axis=0))
    orders = permutations(range(n)) if factorial(n) <= FEW_NAMINGS else [range(n)]
    named: tuple[float, int, Ints] = (-1.0, 0, order)
    for answers in orders:
        for k in range(n_classes):
            margin = _margin_of_names(point[1:].reshape(n, n_classes, n)[:, k], answers) * float(responses[k])
            if margin > named[0]:
                named = (margin, k, np.array(answers, np.int64))
    return named[1], named[2]


def _margin_of_names(matrix: Floats, answers: Any) -> float:
    """The least by which a label leads in the answer that names it, if answers name labels in this order."""
    left, margin = list(range(len(matrix))), 1.0
    for a in list(answers)[:-1]:
        first = max(left, key=lambda z: matrix[z, a])
        left.remove(first)
        margin = min(margin, float(matrix[first, a] - max(matrix[z, a] for z in left)))
    return margin
