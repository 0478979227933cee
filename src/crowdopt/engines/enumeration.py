"""Rating by enumeration: the reference engine, which looks at every mapping that respects the order.

Maximises the log-likelihood over dominance-consistent mappings by Algorithm 2 of the paper, corrected: the buckets
are walked from the top, starting from the one empty mapping, and each may get any label from the lowest up to the
lowest label of the buckets that cover it. (The paper writes a range from the lowest to the highest label of those; it
would miss most mappings.) Exact, and simple enough to check other engines by. Cost: one likelihood per mapping, of
which there are 126 for 3 labels and 3 responses, and 106,441,769 for 5 labels and 3 responses.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdopt.engines.base import Engine, Limits, Outcome, needs_order
from crowdopt.engines.local_search import search
from crowdopt.engines.tie_breaking import choose, renamed
from crowdopt.errors import InputError
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.margins import Margins, closure_moves
from crowdopt.model.order import Order, UpSets

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.model.problem import Problem

SmallInts: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Labels of many mappings, a byte each wherever that holds them."""

MAX_MAPPINGS = 3_000_000
"""More are not enumerated."""

MAX_COUNTED_UP_SETS = 20_000
"""More are not listed in order to count mappings."""

BYTES_PER_MAPPING = 64
"""What else a mapping takes while all are made and compared, beside its labels, which are there up to three times."""

_BLOCK = 1 << 15
"""Mappings evaluated at once: bounds memory."""

_PAIRS = 1 << 22
"""Pairs of up-sets compared at once: bounds memory."""


class TooManyMappings(Exception):  # noqa: N818 -- a reason to go another way, not an error
    """There are more mappings that respect the order than were allowed."""


def enumerate_mappings(order: Order, n_labels: int, limit: int = MAX_MAPPINGS) -> SmallInts:
    """Every mapping that respects the order, one a row, each once.

    Every partial mapping has at least one way on (label 0), so their number never falls on the way.

    Raises:
        TooManyMappings: If there are more than ``limit``.
    """
    mappings: SmallInts = np.zeros((1, order.n_buckets), np.min_scalar_type(n_labels - 1))
    for bucket in order.from_top:
        highest = mappings[:, order.covers[:, bucket]].min(axis=1, initial=n_labels - 1)
        choices = highest.astype(np.int64) + 1
        total = int(choices.sum())
        if total > limit:
            raise TooManyMappings(f"more than {limit} mappings respect the order")
        first = np.cumsum(choices) - choices
        mappings = np.repeat(mappings, choices, axis=0)
        mappings[:, bucket] = np.arange(total) - np.repeat(first, choices)
    return mappings


def count_mappings(order: Order, n_labels: int, limit: int = MAX_COUNTED_UP_SETS) -> int:
    """The number of mappings that respect the order, without enumerating them.

    A mapping is a chain of nested up-sets, so with c_1 = 1 and c_k(U) = Σ c_k-1(U') over the up-sets U' ⊆ U the number
    is c_R of all buckets: one sum over the pairs of nested up-sets per label. In whole numbers of any size.

    Raises:
        TooManyUpSets: If the order has more than ``limit`` up-sets.

    >>> count_mappings(Order.of(full_lattice(3, 3)[:, None]), 3)
    126
    """
    sets = UpSets.of(order, limit)
    chains: NDArray[Any] = np.ones(len(sets), np.int64)
    for _ in range(n_labels - 1):
        if int(chains.max()) * len(sets) > np.iinfo(np.int64).max:
            chains = chains.astype(object)
        chains = _sums_inside(sets, chains)
    return int(chains[-1])


def _sums_inside(sets: UpSets, values: NDArray[Any]) -> NDArray[Any]:
    """For each up-set the sum of ``values`` of the up-sets inside it, itself included."""
    sums = np.empty_like(values)
    step = max(1, _PAIRS // len(sets))
    for start in range(0, len(sets), step):
        rows = slice(start, min(start + step, len(sets)))
        sums[rows] = sets.inside(rows, rows.stop).astype(values.dtype) @ values[: rows.stop]
    return sums


def full_lattice(n_labels: int, size: int) -> Ints:
    """All count vectors of ``size`` responses over ``n_labels`` labels, sorted as buckets are.

    >>> full_lattice(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    places = size + n_labels - 1
    bars = np.array(list(combinations(range(places), n_labels - 1)), np.int64).reshape(-1, n_labels - 1)
    return np.diff(bars, axis=1, prepend=-1, append=places) - 1


def enumerate_all(problem: Problem, limits: Limits) -> Outcome:
    """The optimum over dominance-consistent mappings by looking at all of them.

    Past the time limit it is what the search finds; for someone who asks to stop, the best so far.

    Raises:
        InputError: If there are more than MAX_MAPPINGS.
    """
    buckets = problem.buckets
    most = limits.fit(MAX_MAPPINGS, 3 * buckets.n_buckets + BYTES_PER_MAPPING)
    try:
        mappings = enumerate_mappings(Order.of(buckets.counts, ranked=problem.ranked), buckets.n_labels, most)
    except TooManyMappings:
        which = "to enumerate (the chain engine need not)" if most == MAX_MAPPINGS else "for the memory limit"
        raise InputError(
            f"more than {most:,} mappings respect the order of these {buckets.n_buckets} buckets: too many {which}"
        ) from None
    values = np.empty(len(mappings))
    best = -np.inf
    for start in range(0, len(mappings), _BLOCK):
        block = mappings[start : start + _BLOCK]
        values[start : start + len(block)] = likelihoods(problem, block)
        best = max(best, float(values[start : start + len(block)].max()))
        done = start + len(block)
        stop = limits.reached(best, max(best, problem.plain_bound), done)
        if stop is not None and done < len(mappings):
            if stop is Stop.TIME:  # labels must not depend on the clock
                return replace(search(problem, limits), work=done, stop=stop)
            return _unfinished(problem, mappings[int(values[:done].argmax())], done, stop)
    at_least = best - problem.tolerance(best)
    near = mappings[values >= at_least].astype(np.int64)
    mapping = choose(problem, list(near), at_least)
    value = problem.objective.of_mapping(buckets, mapping)
    margins = _margins(problem, mappings, values, mapping, near)
    return Outcome(mapping, value, max(best, value), Space.DOMINANCE, len(mappings), margins=margins)


def likelihoods(problem: Problem, mappings: SmallInts) -> Floats:
    """F of many mappings at once."""
    buckets = problem.buckets
    flat = buckets.responses.reshape(buckets.n_buckets, -1)
    member = [(mappings == label).astype(np.int64) for label in range(buckets.n_labels)]
    responses = np.stack([held @ flat for held in member], axis=1)
    tasks = np.stack([held @ buckets.weights for held in member], axis=1)
    return problem.objective.total(responses.reshape(len(mappings), -1, *buckets.counts.shape[1:]), tasks)


def _margins(problem: Problem, mappings: SmallInts, values: Floats, mapping: Ints, near: Ints) -> Margins:
    """Per bucket the loss of the best mapping that gives it another label, and whether one of ``near`` does so."""
    buckets, objective = problem.buckets, problem.objective
    other = [values[mappings[:, b] != mapping[b]].max(initial=-np.inf) for b in range(buckets.n_buckets)]
    agreement = buckets.agreement(mapping)  # which breaks ties: a mapping of less of it is not one
    near = near[[buckets.agreement(tie) >= agreement for tie in near]]
    tied = (near != mapping).any(axis=0)
    value = objective.of_mapping(buckets, mapping)
    return Margins(np.maximum(value - np.array(other), 0.0), "exact", tied)


def _unfinished(problem: Problem, found: SmallInts, work: int, stop: Stop) -> Outcome:
    """The best so far, or one label for all if that is better; the bound is the one that always holds."""
    buckets = problem.buckets
    same = [np.full(buckets.n_buckets, label, np.int64) for label in range(buckets.n_labels)]
    mapping = max(
        [found.astype(np.int64), *same], key=lambda candidate: problem.objective.of_mapping(buckets, candidate)
    )
    mapping = renamed(problem, mapping) if problem.objective.interchangeable else mapping
    value = problem.objective.of_mapping(buckets, mapping)
    margins = closure_moves(problem, mapping)
    return Outcome(mapping, value, max(problem.plain_bound, value), Space.DOMINANCE, work, stop, margins)


ENUMERATION = Engine("enumerate", enumerate_all, refuses=needs_order)
