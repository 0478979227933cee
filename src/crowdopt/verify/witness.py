"""Prices again: whether a witness of prices proves its bound.

For prices λ of buckets and gains μ of labels with Ψ_j(S) − λ(S) ≤ μ_j for every set S of buckets and every label j,
no mapping is above Σ_b λ_b + Σ_j μ_j: add up the inequalities of the sets of the mapping. A witness has such
numbers for all mappings, or names a bucket by whose label the mappings are split and a witness for each part. Here
the parts are checked to be all of them, the sums to be below the bound, and the inequalities to hold: by trying
every set where there are few, however large the numbers are, else by a search (witness_sets.py), where there is an
order case by case (witness_cases.py) or, if that does not tell, with cuts (witness_closures.py).
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.model.certificate import Space
from crowdopt.model.order import tails
from crowdopt.verify.optimum import check_clock, label_value
from crowdopt.verify.witness_cases import worth_more_by_cases
from crowdopt.verify.witness_closures import Closures
from crowdopt.verify.witness_sets import Sets, worth_more

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Bools, Floats
    from crowdopt.model.problem import Problem
    from crowdopt.verify.witness_closures import Shape

FEW_BUCKETS = 6
"""Free buckets up to which every set of them is tried."""

_LARGEST = 1e300
"""No price or gain is as large; whole numbers in a file may be too large for arithmetic."""


class _Wrong(Exception):  # noqa: N818 -- an answer, not an error
    """Why a witness proves nothing."""


def doubt(problem: Problem, witness: Any, bound: float, deadline: float) -> str | None:
    """Why a witness does not prove ``bound``; None if it does.

    Raises:
        Undecided: Past the deadline.
    """
    try:
        for fixed, leaf in _leaves(problem, witness, {}):
            _check(problem, fixed, leaf, bound, deadline)
    except _Wrong as reason:
        return f"the witness does not prove the bound: {reason}"
    return None


def _leaves(problem: Problem, node: Any, fixed: dict[int, int]) -> Iterator[tuple[dict[int, int], Any]]:
    """The parts that a witness splits the mappings into, each with the labels of the buckets fixed in it."""
    if not isinstance(node, dict):
        raise _Wrong("a part of it is missing")
    if "bucket" not in node:
        yield fixed, node
        return
    bucket, children = node["bucket"], node.get("children")
    if type(bucket) is not int or not 0 <= bucket < problem.buckets.n_buckets or bucket in fixed:
        raise _Wrong(f"{bucket!r} is no bucket to split by")
    if problem.space is not Space.ALL:
        raise _Wrong("mappings that respect the order are not split")
    for label in _needed(problem, fixed):
        if not isinstance(children, dict) or str(label) not in children:
            raise _Wrong(f"it leaves out bucket {bucket} under label {label}")
        yield from _leaves(problem, children[str(label)], {**fixed, bucket: label})


def _needed(problem: Problem, fixed: dict[int, int]) -> Iterator[int]:
    """The labels that a bucket must be tried under: of those that nothing tells apart so far, the first."""
    seen = set()
    for label in range(problem.buckets.n_labels):
        key = (_key(problem, label), label if label in fixed.values() else None)
        if key not in seen and not _forbidden(problem, label):
            seen.add(key)
            yield label


def _key(problem: Problem, label: int) -> tuple[Any, ...]:
    """The same for labels that nothing tells apart."""
    objective = problem.objective
    offset = np.broadcast_to(objective.offset(label), problem.buckets.counts.shape[1:])
    share = objective.shares[label] if objective.shares else 1.0
    return offset.tobytes(), objective.offset_tasks(label), share


def _kind(problem: Problem, label: int) -> tuple[Any, ...]:
    """The same for labels that nothing tells apart and whose sets have the same shape."""
    return *_key(problem, label), _shape(problem, label)


def _shape(problem: Problem, label: int) -> Shape:
    """What the order asks of the sets of a label: the highest has an up-set, the lowest a down-set."""
    if problem.space is Space.ALL:
        return "any"
    used = [j for j in range(problem.buckets.n_labels) if not _forbidden(problem, j)]
    return "up" if label == used[-1] else "down" if label == used[0] else "between"


def _above(problem: Problem) -> Bools | None:
    """Whether a bucket (column) dominates another (row), itself included; None where there is no order."""
    if problem.space is Space.ALL:
        return None
    keys = tails(problem.buckets.counts, ranked=problem.ranked)
    return np.asarray((keys[None, :, :] >= keys[:, None, :]).all(axis=2))


def _forbidden(problem: Problem, label: int) -> bool:
    return bool(problem.objective.shares) and problem.objective.shares[label] == 0


def _check(problem: Problem, fixed: dict[int, int], leaf: Any, bound: float, deadline: float) -> None:
    """Raises unless the prices and gains of a part prove the bound for it."""
    prices = _numbers(leaf, "prices", problem.buckets.n_buckets)
    gains = _numbers(leaf, "gains", problem.buckets.n_labels)
    free, above = np.array([b not in fixed for b in range(len(prices))], bool), _above(problem)
    room = bound - math.fsum([*prices[free], *gains])
    if not room >= 0:
        raise _Wrong(f"its prices and gains sum up to {-room:.3g} more than that")
    for label in range(len(gains)):
        alike = [j for j in range(label) if j not in fixed.values() and _kind(problem, j) == _kind(problem, label)]
        if label not in fixed.values() and any(gains[j] <= gains[label] for j in alike):
            continue
        under = np.array([at == label for at in _labels(problem, fixed)])
        closures = None if above is None else Closures.of(above, _shape(problem, label))
        # What rounding adds to any sum over buckets is far less than the tolerance, of which this is a part.
        threshold = gains[label] + room / len(gains)
        more = None
        if free.sum() <= FEW_BUCKETS:
            more = _one_is_worth_more(problem, label, under, free, prices, closures, threshold, deadline)
        elif above is not None and closures is not None:  # where nothing is fixed, as such mappings are not split
            more = worth_more_by_cases(problem, label, prices, above, closures, threshold, deadline)
        if more is None:
            more = worth_more(Sets.under(problem, label, under, free, prices, closures), threshold, deadline)
        if more:
            raise _Wrong(f"a set of buckets is worth more to label {label} than its gain")


def _one_is_worth_more(
    problem: Problem,
    label: int,
    fixed: Bools,
    free: Bools,
    prices: Floats,
    closures: Closures | None,
    threshold: float,
    deadline: float,
) -> bool:
    """Whether a set of free buckets, with those fixed under the label, is worth more: all are tried, one by one."""
    responses, weights, members = problem.buckets.responses, problem.buckets.weights, np.flatnonzero(free)
    for chosen in itertools.product((False, True), repeat=len(members)):
        check_clock(deadline)
        inside = np.zeros(len(free), bool)
        inside[members] = chosen
        if closures is not None and not closures.allows(inside):
            continue
        under = inside | fixed
        worth = label_value(problem, label, responses[under].sum(axis=0), int(weights[under].sum()))
        if math.fsum([worth, *-prices[inside]]) > threshold:
            return True
    return False


def _labels(problem: Problem, fixed: dict[int, int]) -> list[int]:
    return [fixed.get(b, -1) for b in range(problem.buckets.n_buckets)]


def _numbers(leaf: dict[str, Any], name: str, length: int) -> Floats:
    numbers = leaf.get(name)
    if not isinstance(numbers, list) or len(numbers) != length:
        raise _Wrong(f"it has no {name} of length {length}")
    if any(isinstance(x, bool) or not isinstance(x, int | float) or not -_LARGEST < x < _LARGEST for x in numbers):
        raise _Wrong(f"its {name} are not all numbers")
    return np.array(numbers, float)
