"""The check of prices: against trying every set, on honest witnesses, and on ones that prove nothing."""

from __future__ import annotations

import copy
import json
import math
import time

import numpy as np
import pandas as pd
import pytest

from crowdopt import Solution, aggregate, verify
from crowdopt.buckets import Buckets
from crowdopt.certificate import Proof, Space
from crowdopt.errors import SolutionFileError
from crowdopt.problem import Problem
from crowdopt.recheck import Undecided
from crowdopt.recheck_prices import _Buyer, doubt
from crowdopt.solve.columns import columns
from crowdopt.solve.engine import Limits
from crowdopt.solve.terms import Goods, terms_of
from crowdopt.verify import Verdict
from test_enumerate import KINDS
from test_pricing import every_worth, random_prices, random_problem


def soon() -> float:
    return time.monotonic() + 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_equals_trying_every_set(n_labels, kind):
    """A limit above all sets, and one a little below the best, for 1000 problems; half with buckets fixed."""
    for seed in range(25):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 1])
        problem = random_problem(rng, kind, n_labels, equal=bool(seed % 2))
        goods, term = Goods.of(problem), terms_of(problem)[-1]
        prices = random_prices(rng, goods, term)
        members = [0] if seed % 4 > 1 and len(goods) > 1 and term.log_share > -math.inf else []
        free = np.arange(len(members), len(goods))
        if members:
            term = term.with_buckets(term.labels[0], goods.responses[0], goods.tasks[0])
        _, worth = every_worth(goods.only(free), term, prices[free])
        best = float(np.nanmax(worth))
        buyer = _Buyer(problem, term.labels[0], free, members, prices[free])
        assert not buyer.finds_more_than(best + 1e-6, soon())
        assert buyer.finds_more_than(best - 1e-6, soon())


def crowd(seed: int, n_labels: int, n_responses: int, n_tasks: int = 300) -> Buckets:
    """Tasks of a crowd that is right more often than not."""
    rng = np.random.default_rng([seed, n_labels, n_responses, 5])
    matrix = 0.4 * np.eye(n_labels) + 0.6 * rng.dirichlet(np.ones(n_labels), n_labels)
    truth = rng.integers(n_labels, size=n_tasks)
    return Buckets.from_arrays(np.stack([rng.multinomial(n_responses, matrix[j]) for j in truth]))[0]
