"""Best closed sets and their bounds against trying every set."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.engines.columns.closures import Arcs
from crowdopt.engines.columns.set_shapes import Items, Shape, allows
from crowdopt.model.buckets import Buckets
from crowdopt.model.order import Order

SHAPES = [Shape.LOWER, Shape.UPPER, Shape.BETWEEN]


def random_order(rng: np.random.Generator, n_labels: int, *, equal: bool) -> Order:
    """Up to ten buckets with few responses."""
    n_buckets = int(rng.integers(1, 11))
    sizes = np.full(n_buckets, rng.integers(1, 6)) if equal else rng.integers(1, 6, n_buckets)
    counts = np.stack([rng.multinomial(size, np.full(n_labels, 1 / n_labels)) for size in sizes])
    return Order.of(Buckets.from_arrays(counts)[0].counts)


def every_set(n: int) -> np.ndarray:
    return (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1


def by_definition(shape: Shape, order: Order, one: np.ndarray) -> bool:
    """Whether a set has the shape, pair by pair."""
    for a, b in np.argwhere(order.dominates):
        if (shape is Shape.UPPER and one[b] and not one[a]) or (shape is Shape.LOWER and one[a] and not one[b]):
            return False
        between = order.dominates[a] & order.dominates[:, b]
        if shape is Shape.BETWEEN and one[a] and one[b] and not one[between].all():
            return False
    return True


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_what_the_order_asks_for(shape):
    for seed in range(40):
        rng = np.random.default_rng([seed, 3])
        order = random_order(rng, int(rng.integers(2, 6)), equal=bool(seed % 2))
        sets = every_set(order.n_buckets)
        some = sets[rng.permutation(len(sets))[:60]]
        assert allows(shape, order, some).tolist() == [by_definition(shape, order, one) for one in some]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_best_sets_equal_trying_every_set(n_labels, shape, effort):
    """Sets and bounds for 6000 rows of weights, or a share of them, from no flow and from the flow of other weights."""
    for seed in range(effort(100, whole=True)):
        rng = np.random.default_rng([seed, n_labels])
        order = random_order(rng, n_labels, equal=bool(seed % 2))
        items, sets = Items(shape, order), every_set(order.n_buckets)
        allowed = sets[allows(shape, order, sets)]
        weights = rng.normal(size=(5, order.n_buckets)) * rng.choice([1e-3, 1.0, 1e6], (5, order.n_buckets))
        weights[rng.random(weights.shape) < 0.2] = 0.0
        flows = items.arcs.no_flows(5)
        items.settle(rng.permuted(weights, axis=1), flows)
        best = (weights @ allowed.T).max(axis=1)
        for flow in (items.arcs.no_flows(5), flows):
            found = items.settle(weights, flow)
            chosen = items.sets(found.inside)
            assert allows(shape, order, chosen).all()
            assert (np.abs((weights * chosen).sum(axis=1) - best) <= 1e-12 * found.size).all()
            assert (np.abs(found.bound - best) <= 1e-12 * found.size).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_any_flow_is_a_bound(shape, effort):
    """Flows of noise, not improved at all, or until a bound is enough."""
    for seed in range(effort(200, whole=True)):
        rng = np.random.default_rng([seed, 7])
        order = random_order(rng, int(rng.integers(2, 6)), equal=bool(seed % 2))
        items, sets = Items(shape, order), every_set(order.n_buckets)
        weights = rng.normal(size=(4, order.n_buckets))
        best = (weights @ sets[allows(shape, order, sets)].T).max(axis=1)
        noise = rng.exponential(size=(4, len(items.arcs))) * (rng.random((4, len(items.arcs))) < 0.5)
        untouched = items.settle(weights, noise.copy(), np.inf)
        assert (untouched.bound >= best - 1e-12).all()
        assert not untouched.inside.any()
        enough = best + rng.exponential(size=4)
        stopped = items.settle(weights, noise.copy(), enough)
        assert (stopped.bound >= best - 1e-12).all()
        assert (stopped.bound <= enough).all()


def test_long_ways_and_back():
    """A chain whose ends want opposite things, and a flow that has to be taken back."""
    n = 60
    chain = Arcs(np.arange(n - 1), np.arange(1, n), n)
    weights = np.zeros((1, n))
    weights[0, 0], weights[0, -1] = 5.0, -3.0
    found = chain.settle(weights, chain.no_flows(1))
    assert found.inside.all()
    assert found.bound[0] == pytest.approx(2.0)
    weights[0, -1] = -8.0
    found = chain.settle(weights, np.full((1, n - 1), 100.0))
    assert not found.inside.any()
    assert found.bound[0] == 0.0
