"""The independent check of prices: against trying every set, and against the engine's own prices, honest and not."""

from __future__ import annotations

import copy
import math
import time

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.columns.engine import columns
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.objective import Objective
from crowdopt.model.order import tails
from crowdopt.model.problem import Problem
from crowdopt.verify import witness as witness_module
from crowdopt.verify.optimum import Undecided
from crowdopt.verify.witness import doubt
from crowdopt.verify.witness_sets import Sets, worth_more
from support.pricing import MOST_BUCKETS, NEVER, every_set, fits, leaves, random_problem, term
from support.problems import KINDS, random_objective


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_sets_equal_trying_all(n_labels, kind, effort):
    """A threshold a little above the best set holds, one a little below does not: 1000 problems, or a share."""
    for seed in range(effort(25, whole=True)):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 5])
        problem = random_problem(rng, kind, n_labels, equal=bool(seed % 2))
        n = problem.buckets.n_buckets
        label = int(rng.integers(n_labels))
        fixed = rng.random(n) < rng.choice([0.0, 0.3])
        free = ~fixed if seed % 3 else ~fixed & (rng.random(n) < 0.8)
        share = rng.dirichlet(np.ones(n_labels))
        prices = problem.buckets.responses[:, 0] @ np.log(share) * rng.choice([0.5, 1.0]) + rng.normal(size=n)
        sets = Sets.under(problem, label, fixed, free, prices)
        best = value_of_best(problem, label, fixed, free, prices)
        if best == -math.inf:  # a label that no task may have, with a bucket under it
            assert not worth_more(sets, -1e9, NEVER)
            continue
        assert not worth_more(sets, best + 1e-6, NEVER)
        assert worth_more(sets, best - 1e-6, NEVER)


def value_of_best(problem: Problem, label: int, fixed: np.ndarray, free: np.ndarray, prices: np.ndarray) -> float:
    """The best set: all of them, summed up in one product and judged one by one in plain arithmetic."""
    sets = every_set(int(free.sum()))
    responses, tasks = problem.buckets.responses, problem.buckets.weights
    counts = np.tensordot(sets, responses[free], 1) + responses[fixed].sum(axis=0)
    n_tasks = sets @ tasks[free] + tasks[fixed].sum()
    return float(max(term(problem, label, counts, n_tasks) - sets @ prices[free]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_sets_of_several_classes(n_labels, n_classes, effort):
    for seed in range(effort(15, whole=True)):
        rng = np.random.default_rng([seed, n_labels, n_classes])
        counts = rng.integers(0, 4, (int(rng.integers(1, MOST_BUCKETS)), n_classes, n_labels))
        counts[:, 0, 0] += counts.sum(axis=(1, 2)) == 0
        buckets, _ = Buckets.from_arrays(counts, rng.integers(1, 9, len(counts)))
        problem = Problem(buckets, Space.ALL, Objective("estimated" if seed % 2 else "none"))
        n = buckets.n_buckets
        prices = -rng.exponential(5.0, n) * buckets.weights
        nothing, everything = np.zeros(n, bool), np.ones(n, bool)
        sets = Sets.under(problem, 0, nothing, everything, prices)
        best = value_of_best(problem, 0, nothing, everything, prices)
        assert not worth_more(sets, best + 1e-6, NEVER)
        assert worth_more(sets, best - 1e-6, NEVER)


def priced(seed: int, n_labels: int, kind: str, n_responses: int) -> tuple[Problem, dict, float]:
    """A problem with the witness of its optimum, and what it proves."""
    rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 6])
    matrix = 0.3 * np.eye(n_labels) + 0.7 * rng.dirichlet(np.ones(n_labels), n_labels)
    counts = [rng.multinomial(n_responses, matrix[j]) for j in rng.integers(n_labels, size=60)]
    objective, _ = random_objective(rng, kind, n_labels)
    problem = Problem(Buckets.from_arrays(counts)[0], Space.ALL, objective)
    outcome = columns(problem, Limits(math.inf))
    assert outcome.witness is not None
    return problem, outcome.witness, outcome.bound + outcome.tolerance


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_labels", "n_responses"), [(2, 4), (3, 2), (3, 3), (4, 2)])
def test_honest_prices_prove_and_others_do_not(n_labels, n_responses, kind):
    problem, witness, bound = priced(n_responses, n_labels, kind, n_responses)
    assert doubt(problem, witness, bound, NEVER) is None
    rng = np.random.default_rng(n_responses)
    for lie in (lower_a_gain, raise_a_gain, forget_a_part, forget_a_number, say_a_word):
        lied = copy.deepcopy(witness)
        if lie(lied, rng):
            assert "does not prove the bound" in (doubt(problem, lied, bound, NEVER) or ""), lie.__name__
    below = doubt(problem, witness, bound - 2e-3, NEVER)
    assert below is not None
    assert "sum up to" in below


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_prices_prove_what_they_prove(n_labels, kind, monkeypatch, effort):
    """Random prices with the gains that follow, or a little less than these: 240 problems, or a share."""
    for seed in range(effort(6, whole=True)):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 7])
        problem = random_problem(rng, kind, n_labels, equal=bool(seed % 2))
        n = problem.buckets.n_buckets
        prices = problem.buckets.responses[:, 0] @ np.log(rng.dirichlet(np.ones(n_labels))) + rng.normal(size=n)
        nothing, everything = np.zeros(n, bool), np.ones(n, bool)
        gains = [value_of_best(problem, j, nothing, everything, prices) for j in range(n_labels)]
        bound = math.fsum([*prices, *gains])
        witness = {"prices": prices.tolist(), "gains": gains}
        assert_proves(problem, witness, bound, int(rng.integers(n_labels)), monkeypatch)


def assert_proves(problem: Problem, witness: dict, bound: float, label: int, monkeypatch) -> None:
    """Prices prove no less than their sum, and nothing with a smaller gain; whether sets are listed or searched."""
    modest = copy.deepcopy(witness)
    modest["gains"][label] -= 1e-3
    for few in (problem.buckets.n_buckets, -1):
        monkeypatch.setattr(witness_module, "FEW_BUCKETS", few)
        assert doubt(problem, witness, bound + 1e-6, NEVER) is None
        assert "sum up to" in (doubt(problem, witness, bound - 1e-6, NEVER) or "")
        assert "worth more to label" in (doubt(problem, modest, bound - 1e-3 + 1e-6, NEVER) or "")


def lower_a_gain(witness: dict, rng: np.random.Generator) -> bool:
    leaf = leaves(witness)[-1]
    leaf["gains"][int(rng.integers(len(leaf["gains"])))] -= 0.5 + abs(min(leaf["gains"]))
    return True


def raise_a_gain(witness: dict, rng: np.random.Generator) -> bool:
    leaf = leaves(witness)[0]
    leaf["gains"][0] += 0.01
    return True


def forget_a_part(witness: dict, rng: np.random.Generator) -> bool:
    children = witness.get("children", {})
    if children:
        del children[min(children)]
    return bool(children)


def forget_a_number(witness: dict, rng: np.random.Generator) -> bool:
    leaves(witness)[0]["prices"].pop()
    return True


def say_a_word(witness: dict, rng: np.random.Generator) -> bool:
    leaves(witness)[0]["gains"][0] = "much"
    return True


def test_time_is_no_proof():
    problem, witness, bound = priced(1, 3, "none", 4)
    with pytest.raises(Undecided):
        doubt(problem, witness, bound, time.monotonic() - 1)


@pytest.mark.parametrize("witness", [None, [], {}, {"bucket": 0}, {"bucket": -1, "children": {}}, {"prices": 3}])
def test_damaged_witness(witness):
    problem, _, bound = priced(1, 3, "none", 4)
    assert doubt(problem, witness, bound, NEVER) is not None


def test_parts_must_differ():
    """A bucket that is fixed cannot be split by once more."""
    problem, witness, bound = priced(1, 3, "none", 4)
    twice = {"bucket": 0, "children": {"0": {"bucket": 0, "children": {"0": witness}}}}
    assert "no bucket to split by" in (doubt(problem, twice, bound, NEVER) or "")


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_prices_prove_what_they_prove_under_dominance(n_labels, kind, monkeypatch):
    """The same with up-sets for the highest label, down-sets for the lowest and sets between for the others."""
    for seed in range(2):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 8])
        free = random_problem(rng, kind, n_labels, equal=bool(seed % 2))
        problem = Problem(free.buckets, Space.DOMINANCE, free.objective)
        n, keys = problem.buckets.n_buckets, tails(problem.buckets.counts)
        above = (keys[None, :, :] >= keys[:, None, :]).all(axis=2)
        prices = problem.buckets.responses[:, 0] @ np.log(rng.dirichlet(np.ones(n_labels))) + rng.normal(size=n)
        gains = []
        for label in range(n_labels):
            used = np.flatnonzero(problem.objective.shares or np.ones(n_labels))
            shape = "up" if label == used[-1] else "down" if label == used[0] else "between"
            sets = every_set(n)
            sets = sets[fits(sets, above, shape)]
            counts = np.tensordot(sets, problem.buckets.responses, 1)
            worth = term(problem, label, counts, sets @ problem.buckets.weights) - sets @ prices
            gains.append(float(worth.max()))
        bound = math.fsum([*prices, *gains])
        witness = {"prices": prices.tolist(), "gains": gains}
        assert_proves(problem, witness, bound, int(rng.integers(n_labels)), monkeypatch)
        split = {"bucket": 0, "children": {str(label): witness for label in range(n_labels)}}
        assert "are not split" in (doubt(problem, split, bound, NEVER) or "")
