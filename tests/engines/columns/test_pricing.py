"""Exact pricing against trying every set of buckets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from crowdopt.engines.columns.pricing import Pricing
from crowdopt.engines.columns.relaxation import Relaxation
from crowdopt.engines.columns.set_terms import BucketSet, terms_of
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.problem import Problem
from support.pricing import every_worth, go_on, random_prices, random_problem
from support.problems import KINDS


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_equals_trying_every_set(n_labels, kind, effort):
    """Bound, best set and threshold of 4000 problems, or a share of them."""
    for seed in range(effort(100, whole=True)):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind)])
        problem = random_problem(rng, kind, n_labels, equal=bool(seed % 2))
        buckets = BucketSet.of(problem)
        term = terms_of(problem)[-1]
        if term.log_share == -np.inf:
            continue
        prices = random_prices(rng, buckets, term)
        _, worth = every_worth(buckets, term, prices)
        best = worth.max()
        found = Pricing(buckets, term, prices, -np.inf, 1e-7).run(go_on)
        assert found.finished
        assert best - 1e-9 <= found.bound <= best + 1.1e-7
        assert found.best == pytest.approx(best, abs=1e-7)
        if best > worth[0] + 1e-6:
            values = [float(term.values(*buckets.sums(s[None]))[0] - s @ prices) for s in found.sets]
            assert max(values) == pytest.approx(best, abs=1e-7)
        # What is worth a little more than asked is never missed, what is worth less is not a matter.
        below = Pricing(buckets, term, prices, best - 1e-5, 1e-7).run(go_on)
        assert below.bound >= best - 1e-9
        over = Pricing(buckets, term, prices, best + 1e-3, 1e-7).run(go_on)
        assert over.finished
        assert over.bound == best + 1e-3
        assert not over.sets


def test_terms_are_those_of_the_objective_also_for_huge_numbers():
    """Near one a logarithm has to be taken of the rest: else a trillion tasks are off by more than the tolerance."""
    counts = np.array([[0, 0, 5], [0, 5, 0], [2, 2, 1], [5, 0, 0]])
    weights = np.array([1_000_034_943_973, 999_960_367_386, 1, 999_933_507_739])
    problem = Problem(Buckets.from_arrays(counts, weights)[0], Space.ALL)
    relaxation = Relaxation.of(problem)
    for mapping in itertools.product(range(3), repeat=4):
        labels = np.array(mapping)
        value = problem.objective.of_mapping(problem.buckets, labels)
        assert relaxation.values(labels).sum() == pytest.approx(value, rel=1e-13, abs=1e-9)
