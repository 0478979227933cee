"""Exact pricing against trying every set of buckets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from crowdopt.buckets import Buckets
from crowdopt.certificate import Space
from crowdopt.problem import Problem
from crowdopt.solve.market import Market
from crowdopt.solve.pricing import Pricing
from crowdopt.solve.terms import Goods, Term, terms_of
from test_enumerate import KINDS, random_objective

MOST_BUCKETS = 9


def random_problem(rng: np.random.Generator, kind: str, n_labels: int, *, equal: bool) -> Problem:
    """Up to nine buckets of many or few tasks, from a random crowd."""
    n_buckets = int(rng.integers(1, MOST_BUCKETS + 1))
    sizes = np.full(n_buckets, rng.integers(1, 9)) if equal else rng.integers(1, 9, n_buckets)
    matrix = rng.dirichlet(np.full(n_labels, rng.choice([0.3, 1.0, 3.0])), n_labels)
    counts = np.stack([rng.multinomial(size, matrix[rng.integers(n_labels)]) for size in sizes])
    weights = rng.integers(1, rng.choice([2, 10, 200]), n_buckets)
    objective, _ = random_objective(rng, kind, n_labels)
    return Problem(Buckets.from_arrays(counts, weights)[0], Space.ALL, objective)


def random_prices(rng: np.random.Generator, goods: Goods, term: Term) -> np.ndarray:
    """About what a bucket adds to a random set: where prices matter most."""
    share = rng.dirichlet(np.ones(goods.responses.shape[1]))
    per_task = np.log(rng.uniform(0.1, 0.9)) if rng.random() < 0.5 else 0.0
    prices = goods.responses @ np.log(share) + goods.tasks * per_task
    return prices * rng.choice([0.5, 1.0, 1.0]) + rng.normal(size=len(goods)) * rng.choice([0.0, 1.0, 5.0])


def every_worth(goods: Goods, term: Term, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All sets, and what they are worth."""
    sets = (np.arange(1 << len(goods))[:, None] >> np.arange(len(goods))) & 1 == 1
    with np.errstate(invalid="ignore"):
        worth = term.values(*goods.sums(sets)) - sets @ prices
    return sets, worth


def go_on(bound: float, cells: int) -> bool:
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_equals_trying_every_set(n_labels, kind):
    """Bound, best set and threshold of 4000 problems."""
    for seed in range(100):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind)])
        problem = random_problem(rng, kind, n_labels, equal=bool(seed % 2))
        goods = Goods.of(problem)
        term = terms_of(problem)[-1]
        if term.log_share == -np.inf:
            continue
        prices = random_prices(rng, goods, term)
        _, worth = every_worth(goods, term, prices)
        best = worth.max()
        found = Pricing(goods, term, prices, -np.inf, 1e-7).run(go_on)
        assert found.finished
        assert best - 1e-9 <= found.bound <= best + 1.1e-7
        assert found.best == pytest.approx(best, abs=1e-7)
        if best > worth[0] + 1e-6:
            values = [float(term.values(*goods.sums(s[None]))[0] - s @ prices) for s in found.sets]
            assert max(values) == pytest.approx(best, abs=1e-7)
        # What is worth a little more than asked is never missed, what is worth less is not a matter.
        below = Pricing(goods, term, prices, best - 1e-5, 1e-7).run(go_on)
        assert below.bound >= best - 1e-9
        over = Pricing(goods, term, prices, best + 1e-3, 1e-7).run(go_on)
        assert over.finished
        assert over.bound == best + 1e-3
        assert not over.sets


def test_terms_are_those_of_the_objective_also_for_huge_numbers():
    """Near one a logarithm has to be taken of the rest: else a trillion tasks are off by more than the tolerance."""
    counts = np.array([[0, 0, 5], [0, 5, 0], [2, 2, 1], [5, 0, 0]])
    weights = np.array([1_000_034_943_973, 999_960_367_386, 1, 999_933_507_739])
    problem = Problem(Buckets.from_arrays(counts, weights)[0], Space.ALL)
    market = Market.of(problem)
    for mapping in itertools.product(range(3), repeat=4):
        labels = np.array(mapping)
        value = problem.objective.of_mapping(problem.buckets, labels)
        assert market.values(labels).sum() == pytest.approx(value, rel=1e-13, abs=1e-9)
