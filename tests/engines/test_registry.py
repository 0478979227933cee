"""``crowdopt.solve`` on arrays: which engine answers, and what it may claim."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest

from crowdopt import Proof, Space, solve
from crowdopt.engines.base import Limits
from crowdopt.engines.columns.engine import columns
from crowdopt.engines.registry import ENGINES
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import MAPPING_SPACES, Stop
from crowdopt.model.claims import CLAIMS
from crowdopt.model.objective import Objective
from crowdopt.model.problem import Problem
from support import oracle

chain_module = sys.modules["crowdopt.engines.chain"]  # the package has a function of that name
columns_module = sys.modules["crowdopt.engines.columns.engine"]
registry = sys.modules["crowdopt.engines.registry"]


def ratings(rng: np.random.Generator, n_labels: int, n_tasks: int, size: int) -> np.ndarray:
    return rng.multinomial(size, rng.dirichlet(np.ones(n_labels), n_tasks))


@pytest.mark.parametrize("n_labels", [3, 4, 5])
def test_ratings_are_proved_under_dominance(n_labels, effort):
    for seed in range(effort(40, whole=True)):
        rng = np.random.default_rng([seed, n_labels])
        tasks = ratings(rng, n_labels, int(rng.integers(2, 6)), int(rng.integers(1, 4)))
        result = solve(tasks)
        best = oracle.brute_force(tasks, space="dominance")
        certificate = result.certificate
        assert (certificate.engine, certificate.proof, certificate.space) == ("chain", Proof.PROVED, Space.DOMINANCE)
        assert certificate.objective == pytest.approx(best.value, abs=1e-9)
        assert oracle.respects_order(tasks, result.mapping)


@pytest.mark.parametrize("options", [{"scale": "nominal"}, {"space": "all"}])
def test_categories_are_proved_over_all_mappings(options, effort):
    for seed in range(effort(20, whole=True)):
        tasks = ratings(np.random.default_rng(seed), 3, 6, 4)
        certificate = solve(tasks, **options).certificate
        best = oracle.brute_force(tasks, space="all").value
        assert (certificate.engine, certificate.space) == ("columns", Space.ALL)
        assert certificate.objective <= best + 1e-9 <= certificate.bound + 2e-9
        assert (certificate.proof, certificate.gap <= certificate.tolerance) == (Proof.PROVED, True)


def test_past_the_number_of_up_sets_prices_take_over(monkeypatch):
    tasks = ratings(np.random.default_rng(1), 3, 40, 5)
    listed = solve(tasks).certificate
    monkeypatch.setattr(chain_module, "MAX_UP_SETS", 10)
    priced = solve(tasks).certificate
    assert (listed.engine, priced.engine, priced.proof) == ("chain", "columns", Proof.PROVED)
    assert priced.objective == pytest.approx(listed.objective, abs=1e-6)
    with pytest.raises(InputError, match="too many"):
        solve(tasks, engine="chain")


def test_past_the_number_of_buckets_nothing_is_priced(monkeypatch):
    tasks = ratings(np.random.default_rng(1), 3, 40, 5)
    monkeypatch.setattr(chain_module, "MAX_UP_SETS", 10)
    monkeypatch.setattr(columns_module, "MAX_BUCKETS", 10)
    certificate = solve(tasks).certificate
    assert (certificate.engine, certificate.proof) == ("search", Proof.BOUNDED)
    with pytest.raises(InputError, match="at most 10"):
        solve(tasks, engine="columns")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "scan"}, "two labels"),
        ({"engine": "chain", "space": "all"}, "dominance"),
        ({"engine": "enumerate", "scale": "nominal"}, "dominance"),
        ({"engine": "none"}, "no engine"),
    ],
)
def test_engines_that_cannot_answer_say_so(options, message):
    with pytest.raises(InputError, match=message):
        solve([[1, 2, 0], [0, 1, 2]], **options)


def test_a_gap_that_listing_cannot_close_in_time_keeps_the_bound_of_prices(monkeypatch):
    tasks = ratings(np.random.default_rng(1), 3, 40, 5)
    monkeypatch.setattr(registry, "FEW_UP_SETS", 10)
    listed = solve(tasks).certificate.objective

    def with_a_gap(problem, limits):
        outcome = columns(problem, limits)
        return replace(outcome, bound=outcome.objective + 0.01)

    monkeypatch.setattr(registry, "columns", with_a_gap)
    closed = solve(tasks).certificate
    assert (closed.engine, closed.proof, closed.objective) == ("chain", Proof.PROVED, pytest.approx(listed, abs=1e-9))
    monkeypatch.setattr(registry, "chain", stopped_chain(registry.chain))
    certificate = solve(tasks).certificate
    assert (certificate.engine, certificate.proof, certificate.stop) == ("columns", Proof.BOUNDED, Stop.TIME)
    assert certificate.gap == pytest.approx(0.01, abs=1e-6)
    assert certificate.witness is not None


def stopped_chain(chain):
    """The chain engine, whose time is up when it may list all."""

    def stopped(problem, limits, most=None):
        return chain(problem, limits if most else Limits(0.0), most)

    return stopped


@pytest.mark.parametrize("name", ENGINES)
def test_no_engine_answers_what_its_claims_do_not_cover(name):
    """What an engine refuses, and what ``verify`` expects of it, are written in two places, and agree."""
    for n_labels, n_classes, space in itertools.product((2, 3, 4), (1, 2), MAPPING_SPACES):
        counts = np.eye(n_labels, dtype=int)[:, None].repeat(n_classes, axis=1)
        problem = Problem(Buckets.from_arrays(counts)[0], space, Objective())
        assert CLAIMS[name].cover(problem) or ENGINES[name].refuses(problem)


def test_a_dict_of_shares_is_refused():
    """Its keys, which are labels, could be taken for the shares."""
    with pytest.raises(InputError, match="selectivity must be none, estimate or a share per label"):
        solve([[0, 3], [1, 2]], selectivity={0: 0.5, 1: 0.5})
