"""The best set that respects an order, against trying every set."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.model.order import tails
from crowdopt.verify.witness_closures import Closures
from support.pricing import every_set, fits


@pytest.mark.parametrize("shape", ["any", "up", "down", "between"])
@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_equals_trying_every_set(n_labels, shape, effort):
    for seed in range(effort(15, whole=True)):
        rng = np.random.default_rng([seed, n_labels])
        counts = np.unique(rng.multinomial(4, np.full(n_labels, 1 / n_labels), size=9), axis=0)[:, None, :]
        if seed % 2:
            counts = np.unique(counts + rng.integers(0, 2, (len(counts), 1, n_labels)), axis=0)
        keys = tails(counts)
        above = (keys[None, :, :] >= keys[:, None, :]).all(axis=2)
        weights = rng.normal(size=(12, len(counts))) * rng.choice([0.01, 1.0, 1000.0], (12, 1))
        weights[rng.random(weights.shape) < 0.2] = 0.0
        sets = every_set(len(counts))
        assert [Closures.of(above, shape).allows(one) for one in sets] == fits(sets, above, shape).tolist()
        sets = sets[fits(sets, above, shape)]
        best = (weights @ sets.T).max(axis=1)
        found = Closures.of(above, shape).best(weights)
        size = np.abs(weights).sum(axis=1)
        assert (found >= best - 1e-12 * size).all()
        assert (found <= best + 2e-9 * size).all()
        for row, value in zip(weights, best, strict=True):
            chosen = Closures.of(above, shape).best_set(row)
            assert fits(chosen[None], above, shape)[0]
            assert row @ chosen >= value - 1e-6 * np.abs(row).sum()
