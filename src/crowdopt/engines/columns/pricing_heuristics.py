"""Hints: sets of buckets that are worth much to a label at given prices, found fast and without a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.set_shapes import Shape
from crowdopt.engines.columns.set_terms import class_sums, distinct
from crowdopt.model.buckets import blocks_of

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Floats
    from crowdopt.engines.columns.set_shapes import Items
    from crowdopt.engines.columns.set_terms import BucketSet, Term
    from crowdopt.model.order import Order

ROUNDS = 30
"""Rounds of refitting."""

_TINY = 1e-300  # of a probability, whose logarithm must be finite
_LEAST = 1e-12  # of a probability, where an order makes buckets of all kinds go together


def starting_probabilities(buckets: BucketSet, n_starts: int, rng: np.random.Generator) -> Floats:
    """Answer probabilities (start, coordinate): random ones, and those of random buckets, smoothed."""
    n_coordinates = buckets.responses.shape[1]
    n_answers = n_coordinates // buckets.n_classes
    some = buckets.responses[rng.integers(len(buckets), size=n_starts // 3)]
    # Smoothed, so that no answer is impossible; and drawn (0.7 < 1) rather far from even.
    near = 0.8 * shares(some, buckets.n_classes) + 0.2 / n_answers
    drawn = rng.dirichlet(np.full(n_answers, 0.7), size=(n_starts - len(near), buckets.n_classes))
    return np.concatenate([drawn.reshape(-1, n_coordinates), near])


def shares(counts: Floats, n_classes: int) -> Floats:
    """Count vectors (..., coordinate) as shares of what each class answered; zeros where it answered nothing."""
    return np.asarray(counts / np.maximum(class_sums(counts, n_classes), _TINY))


def good_sets(buckets: BucketSet, term: Term, prices: Floats, probabilities: Floats) -> tuple[Bools, Floats]:
    """Distinct sets that refitting leads to, and what they are worth, best first.

    From each row of ``probabilities`` in turn: all buckets that are worth their price at these probabilities, then the
    probabilities of these buckets, and so on. What they are worth never falls, as in every step one of the two is the
    best for the other.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(probabilities, _TINY))
        per_task = np.full(len(logs), term.log_share)
        if term.total:
            per_task = 1 + np.log(np.linspace(0.02, 0.98, len(logs)))
        sets = np.zeros((len(logs), len(buckets)), bool)
        for _ in range(ROUNDS):
            chosen = logs @ buckets.responses.T + per_task[:, None] * buckets.tasks > prices
            if (chosen == sets).all():
                break
            sets = chosen
            logs, per_task = _refitted(buckets, term, sets, _TINY)
    return best_first(buckets, term, prices, sets)


def good_closed_sets(
    buckets: BucketSet, term: Term, items: Items, prices: Floats, probabilities: Floats
) -> tuple[Bools, Floats]:
    """The same for sets of a shape: the best of them at the probabilities of each step (closure_kernels.py)."""
    logs, flows = np.log(np.maximum(probabilities, _LEAST)), items.arcs.no_flows(len(probabilities))
    per_task = np.full(len(logs), term.log_share)
    if term.total:
        per_task = 1 + np.log(np.linspace(0.02, 0.98, len(logs)))
    sets = np.ones((len(logs), len(buckets)), bool)
    ends = [sets[:0]]
    for _ in range(ROUNDS):
        gains = logs @ buckets.responses.T + per_task[:, None] * buckets.tasks - prices
        chosen = items.sets(items.settle(gains, flows).inside)
        moving = (chosen != sets).any(axis=1)
        ends.append(chosen[~moving])
        # From where another one is, it would only be led to the same end.
        first = np.unique(np.packbits(chosen, axis=1), axis=0, return_index=True)[1]
        moving &= np.isin(np.arange(len(chosen)), first)
        sets, flows = chosen[moving], flows[moving]
        if not len(sets):
            break
        logs, per_task = _refitted(buckets, term, sets, _LEAST)
    return best_first(buckets, term, prices, np.concatenate([*ends, sets]))


def _refitted(buckets: BucketSet, term: Term, sets: Bools, least: float) -> tuple[Floats, Floats]:
    """What a response (set, coordinate) and a task (set) add by the probabilities of the buckets of each set."""
    responses, tasks = buckets.sums(sets)
    logs = np.log(np.maximum(shares(responses + term.offset, term.n_classes), least))
    if not term.total:
        return logs, np.full(len(sets), term.log_share)
    return logs, 1 + np.log(np.maximum(tasks + term.known, _TINY) / term.total)


def flipped(buckets: BucketSet, term: Term, prices: Floats, sets: Bools) -> tuple[Bools, Floats]:
    """The sets after the one bucket was put in, or taken out, that makes most of each."""
    responses, tasks = buckets.sums(sets)
    turned = sets.copy()
    for at in blocks_of(len(sets), buckets.responses.size):
        sign = np.where(sets[at], -1.0, 1.0)
        counts = responses[at, None, :] + sign[:, :, None] * buckets.responses
        after = term.values(counts, tasks[at, None] + sign * buckets.tasks)
        best = (after - sign * prices).argmax(axis=1)
        turned[at][np.arange(len(best)), best] ^= True
    return best_first(buckets, term, prices, turned)


def flipped_along(buckets: BucketSet, term: Term, order: Order, prices: Floats, sets: Bools) -> tuple[Bools, Floats]:
    """The same for sets of a shape: a bucket takes along what the order asks for."""
    alone = np.eye(len(buckets), dtype=bool)
    above, below = order.dominates.T | alone, order.dominates | alone
    turned = []
    for one in sets:
        if term.shape is Shape.BETWEEN:
            joins = (above[one].any(axis=0) | above) & (below[one].any(axis=0) | below)
        else:
            joins = one | (above if term.shape is Shape.UPPER else below)
        leaves = [one & ~above] if term.shape is not Shape.UPPER else []
        leaves += [one & ~below] if term.shape is not Shape.LOWER else []
        options = np.concatenate([joins[~one], *(left[one] for left in leaves)])
        worth = term.values(*buckets.sums(options)) - options @ prices
        turned.append(options[worth.argmax()])
    return best_first(buckets, term, prices, np.array(turned))


def best_first(buckets: BucketSet, term: Term, prices: Floats, sets: Bools) -> tuple[Bools, Floats]:
    """The different ones among sets, and what they are worth, best first."""
    sets = distinct(sets)
    worth = term.values(*buckets.sums(sets)) - sets @ prices
    order = np.argsort(-worth, kind="stable")
    return sets[order], worth[order]
