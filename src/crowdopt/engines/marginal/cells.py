"""What the responses themselves rule out, without looking at any box (docs/theory.md, Fact 10).

No parameters explain the counts of answers better than the counts explain themselves: the *saturated* bound. What is
near it must have nearly the observed probability for every choice of few answers: the cells.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, product
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.marginal.cell_kernels import far_end
from crowdopt.engines.marginal.row_kernels import EPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.marginal.likelihood import MarginalLikelihood

MOST_CELLS = 600
TOO_FAR = 0.7
"""Divergence per task from which on an interval says next to nothing."""

Cells = tuple["Ints", "Ints", "Ints", "Floats", "Floats"]
"""Classes and answers of the members of every cell, how many these are, and the interval of its probability."""


def saturated(likelihood: MarginalLikelihood) -> float:
    """At least the maximum of L over all parameters: each pattern of answers as probable as it is frequent, outward."""
    counts, weights = likelihood.counts, likelihood.weights
    answered = counts.sum(axis=2)
    _, design = np.unique(answered, axis=0, return_inverse=True)
    alike = np.bincount(design.ravel(), weights)[design.ravel()]
    ways = _log_factorial(answered).sum(axis=1) - _log_factorial(counts).sum(axis=(1, 2))
    terms = weights * (np.log(weights / alike) - ways)
    size = float((weights * (np.abs(np.log(weights / alike)) + _log_factorial(answered).sum(axis=1) + 1)).sum())
    own = likelihood.pseudo[likelihood.pseudo > 0]
    whole = np.broadcast_to(likelihood.pseudo.sum(axis=1, keepdims=True), likelihood.pseudo.shape)
    known = own * np.log(own / whole[likelihood.pseudo > 0])
    size += float(np.abs(known).sum() + own.sum())
    return float(terms.sum() + known.sum() + (len(weights) + answered.max() + own.size + 64) * 4 * EPS * size)


def _log_factorial(numbers: Floats) -> Floats:
    """Ln n! as a sum of logarithms, whose rounding is plain."""
    logs = np.log(np.maximum(np.arange(int(numbers.max()) + 1), 1))
    return np.asarray(np.cumsum(logs)[numbers.astype(np.int64)])


def probability_cells(likelihood: MarginalLikelihood, slack: float, most_members: int) -> Cells:
    """The cells of at most so many members, for parameters that are within ``slack`` nats of the saturated bound."""
    found: list[tuple[list[int], list[int], float, float]] = []
    for m in range(1, most_members + 1):
        for classes in combinations_with_replacement(range(likelihood.n_classes), m):
            found += _cells_among(likelihood, classes, slack)
        if len(found) > MOST_CELLS:
            break
    width = max(most_members, 1)
    members, answers = np.zeros((len(found), width), np.int64), np.zeros((len(found), width), np.int64)
    for at, (classes_of, answers_of, _, _) in enumerate(found):
        members[at, : len(classes_of)], answers[at, : len(answers_of)] = classes_of, answers_of
    sizes = np.array([len(classes_of) for classes_of, *_ in found], np.int64)
    ends = np.array([(least, most) for *_, least, most in found]).reshape(-1, 2)
    return members, answers, sizes, np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])


def _cells_among(
    likelihood: MarginalLikelihood, classes: tuple[int, ...], slack: float
) -> Iterator[tuple[list[int], list[int], float, float]]:
    """The cells of some classes: their members, and the interval of the probability of each order of answers.

    Members are drawn from the answers of a task without replacement. Cells that differ in the order of answers have
    one probability, and count together.
    """
    need = np.bincount(classes, minlength=likelihood.n_classes)
    answered = likelihood.counts.sum(axis=2)
    able = (answered >= need).all(axis=1)
    weights = likelihood.weights[able]
    if not len(weights):
        return
    limit = slack / weights.sum() * (1 + 1e-9) + (len(weights) + 16) * 200 * EPS
    if limit > TOO_FAR:
        return
    counts = likelihood.counts[able]
    ways = np.prod([_falling(answered[able, k], n) for k, n in enumerate(need.tolist())], axis=0)
    choices = [list(combinations_with_replacement(range(likelihood.n_labels), n)) for n in need.tolist()]
    for chosen in product(*choices):
        members = [(k, a) for k, answers in enumerate(chosen) for a in answers]
        drawn = np.ones(len(weights))
        for (k, a), n in Counter(members).items():
            drawn = drawn * _falling(counts[:, k, a], n)
        orders = prod(factorial(n) for n in need.tolist()) // prod(factorial(n) for n in Counter(members).values())
        share = min(float((weights * drawn / ways).sum() / weights.sum() * orders), 1.0)
        ends = (far_end(share, limit, upwards) / orders for upwards in (False, True))
        yield [k for k, _ in members], [a for _, a in members], *ends


def _falling(numbers: Floats, m: int) -> Floats:
    """N (n − 1) … of m factors."""
    out = np.ones(len(numbers))
    for i in range(m):
        out = out * np.maximum(numbers - i, 0)
    return out
