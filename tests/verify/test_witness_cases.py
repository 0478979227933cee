"""Sets that respect an order, looked through case by case: against trying every one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crowdopt.model.certificate import Space
from crowdopt.model.order import tails
from crowdopt.model.problem import Problem
from crowdopt.verify import witness_cases
from crowdopt.verify.witness_cases import worth_more_by_cases
from crowdopt.verify.witness_closures import Closures
from support.pricing import every_set, fits, random_problem, term
from support.problems import KINDS


def setting(seed: int, n_labels: int, kind: str) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A problem, prices around which sets compete, and which bucket (column) dominates which (row)."""
    rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 75])
    free = random_problem(rng, kind, n_labels, equal=bool(seed % 2))
    problem = Problem(free.buckets, Space.DOMINANCE, free.objective)
    keys = tails(problem.buckets.counts)
    prices = problem.buckets.responses[:, 0] @ np.log(rng.dirichlet(np.ones(n_labels)))
    return problem, prices + rng.normal(size=len(prices)), (keys[None, :, :] >= keys[:, None, :]).all(axis=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_equals_trying_every_set(n_labels, kind, effort):
    """A threshold a little above the best set holds or is not told; one a little below never holds."""
    told = 0
    for seed in range(effort(40)):
        problem, prices, above = setting(seed, n_labels, kind)
        label = int(np.flatnonzero(problem.objective.shares or np.ones(n_labels))[-1])
        sets = every_set(len(prices))
        counts = np.tensordot(sets, problem.buckets.responses, 1)
        worth = term(problem, label, counts, sets @ problem.buckets.weights) - sets @ prices
        for shape in ("between", "up", "down"):
            best = float(worth[fits(sets, above, shape)].max())
            closures = Closures.of(above, shape)
            high, low = (
                worth_more_by_cases(problem, label, prices, above, closures, best + by, math.inf)
                for by in (1e-6, -1e-6)
            )
            assert high is not True
            assert low is not False
            told += (high is False) + (low is True)
            if shape == "between":  # of which every set is that has no gap
                assert (high, low) == (False, True)
    assert told > effort(40) * 3


def test_few_cases_tell_nothing(monkeypatch):
    """Wherever all of the cases that there are tell something, one of many does not."""
    split = 0
    for seed in range(30):
        problem, prices, above = setting(seed, 3, "none")
        closures = Closures.of(above, "between")
        monkeypatch.setattr(witness_cases, "MOST_CASES", 150)
        best = best_between(problem, prices, above)
        assert worth_more_by_cases(problem, 0, prices, above, closures, best + 1e-6, math.inf) is False
        monkeypatch.setattr(witness_cases, "MOST_CASES", 1)
        split += worth_more_by_cases(problem, 0, prices, above, closures, best + 1e-6, math.inf) is None
    assert split > 3


def best_between(problem: Problem, prices: np.ndarray, above: np.ndarray) -> float:
    """What the best set without gaps is worth to label 0."""
    sets = every_set(len(prices))
    sets = sets[fits(sets, above, "between")]
    counts = np.tensordot(sets, problem.buckets.responses, 1)
    return float((term(problem, 0, counts, sets @ problem.buckets.weights) - sets @ prices).max())


def test_huge_prices_hide_nothing(effort):
    """With a price that no sum keeps its last digits beside, it is not told that nothing is worth more."""
    found = 0
    for seed in range(effort(120)):
        problem, prices, above = setting(seed, 3, "none")
        prices[seed % len(prices)] = -1e16
        best = exact_best(problem, prices, above)
        told = worth_more_by_cases(
            problem, 0, prices, above, Closures.of(above, "between"), math.nextafter(best, -math.inf), math.inf
        )
        assert told is not False
        found += told is True
    assert found


def exact_best(problem: Problem, prices: np.ndarray, above: np.ndarray) -> float:
    """The same, every set in one exact sum."""
    sets = every_set(len(prices))
    sets = sets[fits(sets, above, "between")]
    counts = np.tensordot(sets, problem.buckets.responses, 1)
    values = term(problem, 0, counts, sets @ problem.buckets.weights)
    return max(math.fsum([value, *-prices[one]]) for value, one in zip(values, sets, strict=True))


def test_without_time_nothing_is_told():
    problem, prices, above = setting(1, 3, "none")
    assert worth_more_by_cases(problem, 0, prices, above, Closures.of(above, "between"), 1e-9, -math.inf) is None
