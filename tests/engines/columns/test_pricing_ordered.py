"""Exact pricing of sets of a shape against trying every one."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.engines.columns.pricing_ordered import OrderedPricing
from crowdopt.engines.columns.set_shapes import Items, Shape, allows
from crowdopt.engines.columns.set_terms import BucketSet, terms_of
from crowdopt.model.order import Order
from support.pricing import every_worth, go_on, random_prices, random_problem
from support.problems import KINDS


@pytest.mark.grid
@pytest.mark.parametrize("shape", [Shape.LOWER, Shape.UPPER, Shape.BETWEEN])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_equals_trying_every_set(n_labels, kind, shape, effort):
    """Bound, best set and threshold of 1200 problems, or a share of them."""
    for seed in range(effort(10)):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 21])
        problem = random_problem(rng, kind, n_labels, equal=bool(seed % 2))
        buckets, term, order = BucketSet.of(problem), terms_of(problem)[-1], Order.of(problem.buckets.counts)
        if term.log_share == -np.inf:
            continue
        items, prices = Items(shape, order), random_prices(rng, buckets, term)
        sets, worth = every_worth(buckets, term, prices)
        allowed = allows(shape, order, sets)
        best = worth[allowed].max()
        some = sets[allowed][rng.integers(allowed.sum(), size=3)]

        def priced(threshold, known, items=items, buckets=buckets, term=term, prices=prices):
            return OrderedPricing(buckets, term, items, prices, threshold, 1e-7, known).run(go_on)

        rounding = 1e-12 * float(np.abs(prices).sum() + buckets.responses.sum())  # which every bound adds, and more
        found = priced(-np.inf, some[:0])
        assert found.finished
        assert best - 1e-9 <= found.bound <= best + 1.1e-7 + rounding
        assert found.best == pytest.approx(best, abs=1e-7)
        assert allows(shape, order, np.array(found.sets, bool).reshape(-1, len(buckets))).all()
        if best > worth[0] + 1e-6:
            values = [float(term.values(*buckets.sums(s[None]))[0] - s @ prices) for s in found.sets]
            assert max(values) == pytest.approx(best, abs=1e-7)
        # What is worth a little more than asked is never missed, what is worth less is not a matter.
        assert priced(best - 1e-5, some).bound >= best - 1e-9
        over = priced(best + 1e-3, some)
        assert over.finished
        assert over.bound == best + 1e-3
        assert not over.sets


@pytest.mark.parametrize("shape", [Shape.LOWER, Shape.UPPER, Shape.BETWEEN])
def test_what_it_says_when_stopped_is_a_bound(shape, effort):
    for seed in range(effort(60)):
        rng = np.random.default_rng([seed, 22])
        problem = random_problem(rng, KINDS[seed % 2], int(rng.integers(2, 6)), equal=bool(seed % 2))
        buckets, term, order = BucketSet.of(problem), terms_of(problem)[-1], Order.of(problem.buckets.counts)
        prices = random_prices(rng, buckets, term)
        sets, worth = every_worth(buckets, term, prices)
        best = worth[allows(shape, order, sets)].max()
        none = np.zeros((0, len(buckets)), bool)
        calls = iter(range(1 + seed % 5))
        search = OrderedPricing(buckets, term, Items(shape, order), prices, -np.inf, 1e-7, none)
        found = search.run(lambda *_, calls=calls: next(calls, None) is not None)
        assert found.bound >= best - 1e-9
        assert found.best <= best + 1e-9
