"""Hints: sets of buckets that are worth much to a label at given prices, found fast and without a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.solve.terms import distinct

if TYPE_CHECKING:
    from crowdopt.solve.terms import Goods, Term
    from crowdopt.types import Bools, Floats

ROUNDS = 30
"""Rounds of refitting."""

_TINY = 1e-300


def starts(goods: Goods, n_starts: int, rng: np.random.Generator) -> Floats:
    """Answer probabilities to begin with: random ones, and those of random buckets, smoothed."""
    n_answers = goods.responses.shape[1]
    shares = goods.responses / goods.responses.sum(axis=1, keepdims=True)
    near = 0.8 * shares[rng.integers(len(goods), size=n_starts // 3)] + 0.2 / n_answers
    return np.concatenate([rng.dirichlet(np.full(n_answers, 0.7), size=n_starts - len(near)), near])


def good_sets(goods: Goods, term: Term, prices: Floats, probabilities: Floats) -> tuple[Bools, Floats]:
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
        sets = np.zeros((len(logs), len(goods)), bool)
        for _ in range(ROUNDS):
            chosen = logs @ goods.responses.T + per_task[:, None] * goods.tasks > prices
            if (chosen == sets).all():
                break
            sets = chosen
            responses, tasks = goods.sums(sets)
            counts = responses + term.offset
            logs = np.log(np.maximum(counts / np.maximum(counts.sum(axis=1, keepdims=True), _TINY), _TINY))
            if term.total:
                per_task = 1 + np.log(np.maximum(tasks + term.known, _TINY) / term.total)
    return _sorted(goods, term, prices, sets)


def flipped(goods: Goods, term: Term, prices: Floats, sets: Bools) -> tuple[Bools, Floats]:
    """The sets after the one bucket was put in, or taken out, that makes most of each."""
    responses, tasks = goods.sums(sets)
    sign = np.where(sets, -1.0, 1.0)
    after = term.values(responses[:, None, :] + sign[:, :, None] * goods.responses, tasks[:, None] + sign * goods.tasks)
    best = (after - sign * prices).argmax(axis=1)
    turned = sets.copy()
    rows = np.arange(len(sets))
    turned[rows, best] = ~turned[rows, best]
    return _sorted(goods, term, prices, turned)


def _sorted(goods: Goods, term: Term, prices: Floats, sets: Bools) -> tuple[Bools, Floats]:
    sets = distinct(sets)
    worth = term.values(*goods.sums(sets)) - sets @ prices
    order = np.argsort(-worth, kind="stable")
    return sets[order], worth[order]
