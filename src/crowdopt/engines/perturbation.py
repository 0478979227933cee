"""Shaking: better mappings from good ones, where climbs from random starts may have missed the best.

Takes the best mappings found so far, replaces the answer probabilities of one or two labels by those of a random
bucket, gives every bucket the label that explains it best, or under dominance finds the best labels that respect the
order (isotone_em.py), and climbs (local_search.py). It proves nothing; the cost is that of the climbs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.isotone_em import IsotoneEM
    from crowdopt.engines.local_search import Climbs

AT_ONCE = 48
"""Mappings shaken at once."""

PATIENCE = 4
"""Batches without anything better after which to end."""

BEST = 12
"""Good mappings that are shaken."""


def shake(climbs: Climbs, rng: np.random.Generator, step: float, em: IsotoneEM | None = None) -> bool:
    """Adds mappings to those found, until that brings nothing better; returns whether anything was gained.

    Args:
        climbs: What was found so far.
        rng: For random choices.
        step: Gains that are none.
        em: Under dominance, what finds the best labels that respect the order.
    """
    before = best = climbs.best
    patience = PATIENCE
    while patience and climbs.go_on():
        good = _good(climbs, step)
        chosen = np.stack([good[min(int(rng.exponential(3)), len(good) - 1)] for _ in range(AT_ONCE)])
        shaken = [_shaken(climbs, mapping, rng) for mapping in chosen]
        ends = _assigned(climbs, np.stack(shaken)) if em is None else em.run_from(np.stack(shaken))
        climbs.climb(np.unique(ends, axis=0))
        after = climbs.best
        patience = PATIENCE if after > best + step else patience - 1
        best = max(best, after)
    return best > before + step


def _good(climbs: Climbs, step: float) -> list[Ints]:
    """The best mappings found, one of each value: equal values mostly are equal clusters under other names."""
    good: list[Ints] = []
    last = np.inf
    for key in sorted(climbs.found, key=lambda key: (-climbs.found[key], key)):
        if climbs.found[key] < last - step:
            good.append(np.frombuffer(key, np.int64))
            last = climbs.found[key]
        if len(good) == BEST:
            break
    return good


def _shaken(climbs: Climbs, mapping: Ints, rng: np.random.Generator) -> Floats:
    """Answer probabilities (label, class, answer) of a mapping, after one or two labels were begun anew."""
    problem = climbs.problem
    counts = problem.buckets.counts.astype(float)
    by_label = problem.buckets.by_label(mapping)[0] + 0.5  # or what was never answered would stay impossible
    if problem.objective.offsets is not None:
        by_label = by_label + problem.objective.offsets.counts
    for label in rng.permutation(_allowed(climbs))[: rng.integers(1, 3)]:
        by_label[label] = counts[rng.integers(len(counts))] + rng.uniform(0.05, 1.0)
    return np.asarray(by_label / by_label.sum(axis=2, keepdims=True))


def _assigned(climbs: Climbs, probabilities: Floats) -> Ints:
    """Every bucket under the label that explains it best, by probabilities (mapping, label, class, answer)."""
    buckets, allowed = climbs.problem.buckets, _allowed(climbs)
    counts = buckets.counts.reshape(buckets.n_buckets, -1).astype(float)
    logs = np.log(probabilities[:, allowed]).reshape(len(probabilities), len(allowed), -1)
    return np.asarray(allowed[(counts @ logs.transpose(0, 2, 1)).argmax(axis=2)])


def _allowed(climbs: Climbs) -> Ints:
    """The labels that no share forbids."""
    return np.flatnonzero(climbs.problem.objective.shares or np.ones(climbs.problem.buckets.n_labels))
