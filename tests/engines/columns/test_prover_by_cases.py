"""Proofs under an order by cases: against trying every set and mapping, and the chain engine."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.chain import chain
from crowdopt.engines.columns import prover_by_cases as cases
from crowdopt.engines.columns.engine import columns
from crowdopt.engines.columns.engine_ordered import OrderedColumns
from crowdopt.engines.columns.pricing import Pricing
from crowdopt.engines.columns.pricing_ordered import OrderedPricing
from crowdopt.engines.columns.prover_by_cases import ProverByCases, relaxation_of
from crowdopt.engines.columns.set_shapes import Shape, allows
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.problem import Problem
from crowdopt.verify.witness import doubt
from support import oracle
from support.lattice import respects
from support.pricing import every_worth, go_on, random_prices, random_problem
from support.problems import KINDS, certificate_of, random_objective, random_tasks


def prover(problem: Problem, mapping: np.ndarray, rng: np.random.Generator) -> ProverByCases:
    """A prover for a mapping."""
    relaxation = relaxation_of(problem)
    value = float(relaxation.values(mapping).sum())
    return ProverByCases(relaxation, mapping, value, problem.price_tolerance(value), rng, go_on)


def dominance(rng: np.random.Generator, kind: str, n_labels: int, *, equal: bool) -> Problem:
    """A random problem under dominance."""
    free = random_problem(rng, kind, n_labels, equal=equal)
    return Problem(free.buckets, Space.DOMINANCE, free.objective)


@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_every_convex_set_is_in_one_case(n_labels, monkeypatch):
    """Whatever sets cases are split by: these are then in none."""
    monkeypatch.setattr(cases, "MOST_CASES", 10**6)
    n_split = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, n_labels, 71])
        problem = dominance(rng, "none", n_labels, equal=bool(seed % 2))
        search = prover(problem, np.zeros(problem.buckets.n_buckets, np.int64), rng)
        sets, _ = every_worth(search.relaxation.buckets, search.relaxation.terms[0], search.prices.prices)
        convex = allows(Shape.BETWEEN, problem.order, sets)
        search.begin()
        for _ in range(30):
            holds = np.array([members(case, sets) for case in search.cases[0]])
            assert (holds[:, convex].sum(axis=0) == 1).all()
            assert holds.sum(axis=0).max() == 1
            broken = split_at_random(search, sets, rng)
            if broken is None:
                break
            assert not any(members(case, broken[None])[0] for case in search.cases[0])
            n_split += 1
    assert n_split > 20


def split_at_random(search: ProverByCases, sets: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """Splits a case by one of the sets that are not convex, and returns it; None if there is none left."""
    holds = np.array([members(case, sets) for case in search.cases[0]])
    which, at = np.nonzero(holds & ~allows(Shape.BETWEEN, search.relaxation.order, sets))
    if not len(which):
        return None
    chosen = int(rng.integers(len(which)))
    search.split(0, int(which[chosen]), sets[at[chosen]])
    return np.asarray(sets[at[chosen]])


def members(case: cases.Case, sets: np.ndarray) -> np.ndarray:
    """Which sets are of a case."""
    return sets[:, case.inside].all(axis=1) & ~sets[:, case.outside].any(axis=1)


@pytest.mark.grid
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_pricing_equals_trying_every_set(n_labels, kind, first, monkeypatch, effort):
    """A threshold above the best convex set is the bound; one below it is exceeded, by convex sets that are found."""
    monkeypatch.setattr(cases, "MOST_CASES", 10**6)
    for seed in range(effort(30)):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 72])
        problem = dominance(rng, kind, n_labels, equal=bool(seed % 2))
        allowed = int(np.flatnonzero(problem.objective.shares or np.ones(n_labels))[0])
        search = prover(problem, np.full(problem.buckets.n_buckets, allowed), rng)
        at = search.active[-1]
        buckets, term = search.relaxation.buckets, search.relaxation.terms[at]
        prices = random_prices(rng, buckets, term)
        sets, worth = every_worth(buckets, term, prices)
        convex = allows(Shape.BETWEEN, problem.order, sets)
        best = worth[convex].max()
        for above in (1e-3, -1e-3):
            search.begin()
            found = search.priced(at, prices, best + above, 1e-7, go_on, first=first)
            assert found.bound >= best - 1e-9
            assert allows(Shape.BETWEEN, problem.order, np.array(found.sets, bool).reshape(-1, len(buckets))).all()
            if above > 0:
                assert found.finished
                assert found.bound == pytest.approx(best + above, abs=1e-9)
                assert not found.sets
            else:
                values = [float(term.values(*buckets.sums(one[None]))[0] - one @ prices) for one in found.sets]
                assert found.best == values[0] == max(values) == pytest.approx(best, abs=1.1e-3)


@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_stopped_anywhere_nothing_false_is_said(n_labels, monkeypatch, effort):
    """Pricing that is stopped at any report: every bound that it tells, and that of the end, holds for convex sets."""
    monkeypatch.setattr(sys.modules[Pricing.__module__], "MOST_CELLS_AT_ONCE", 1)  # so that it reports often
    n_split = n_told = 0
    for seed in range(effort(60)):
        rng = np.random.default_rng([seed, n_labels, 76])
        problem = dominance(rng, KINDS[seed % 2], n_labels, equal=bool(seed % 3))
        search = prover(problem, np.zeros(problem.buckets.n_buckets, np.int64), rng)
        buckets, term = search.relaxation.buckets, search.relaxation.terms[0]
        prices = random_prices(rng, buckets, term)
        sets, worth = every_worth(buckets, term, prices)
        best = worth[allows(Shape.BETWEEN, problem.order, sets)].max()
        n_reports = 0
        for part in range(13):  # the first time it is not stopped, and the reports are counted
            stop_at, told = 1 + part * n_reports // 12 if part else math.inf, []

            def until(bound, _, told=told, stop_at=stop_at, search=search):
                told.append(bound)
                search.stopped = len(told) >= stop_at
                return not search.stopped

            search.begin()
            search.stopped = False
            for _ in range(4):
                split_at_random(search, sets, np.random.default_rng(seed))
            found = search.priced(0, prices, best - 30.0, 1e-6, until, first=False)
            assert found.bound >= best - 1e-9
            assert min(told, default=best) >= best - 1e-9
            n_reports = max(n_reports, len(told))
            n_split += search.stopped and len(search.cases[0]) > 1
            n_told += sum(np.isfinite(told))
    assert n_split > effort(60)
    assert n_told > effort(15)


@pytest.mark.parametrize("ranked", [True, False])
def test_classes_of_workers(ranked, effort):
    """Two classes, and two or three labels: as by listing every mapping that respects the order."""
    proved = 0
    for seed in range(effort(60)):
        rng = np.random.default_rng([seed, ranked, 77])
        n_labels = int(rng.integers(2, 4))
        counts = rng.integers(0, 3, (int(rng.integers(2, 7)), 2, n_labels))
        counts[:, 0, 0] += counts.sum(axis=(1, 2)) == 0
        buckets, _ = Buckets.from_arrays(counts, rng.integers(1, 40, len(counts)))
        problem = Problem(buckets, Space.DOMINANCE, ranked=ranked)
        every = np.array(list(itertools.product(range(n_labels), repeat=buckets.n_buckets)))
        every = every[[respects(problem.order, mapping) for mapping in every]]
        values = np.array([problem.objective.of_mapping(buckets, mapping) for mapping in every])
        for at in (int(values.argmax()), int(rng.integers(len(values)))):
            finding = prover(problem, every[at], rng).run({})
            proved += finding.proved
            assert not finding.proved or values[at] >= values.max() - problem.price_tolerance(values.max())
            assert finding.bound >= values.max() - 1e-9
    assert proved > effort(60) / 4


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_proofs_equal_brute_force(n_labels, kind, effort):
    """The best mapping is proved or not, with a bound that holds and a witness; one that falls short never is."""
    proved = 0
    for seed in range(effort(18)):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 73])
        tasks = random_tasks(rng, n_labels, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, n_labels)
        problem = Problem(Buckets.from_arrays(tasks)[0], Space.DOMINANCE, objective)
        mappings = oracle.consistent_mappings(problem.buckets.counts[:, 0])
        relaxation = relaxation_of(problem)
        mappings = mappings[rng.permutation(len(mappings))[:400]]
        values = np.array([relaxation.values(mapping).sum() for mapping in mappings])
        best = oracle.brute_force(tasks, space="dominance", shares=shares).value
        for at in {int(values.argmax()), 0}:
            if values[at] == -np.inf:
                continue
            finding = prover(problem, mappings[at], rng).run({})
            assert finding.bound >= best - 1e-9
            if values[at] < best - 2 * problem.price_tolerance(best):
                assert not finding.proved
            if finding.proved:
                proved += 1
                gains = finding.gains[relaxation.term_of]
                witness = {"prices": finding.prices.tolist(), "gains": gains.tolist()}
                limit = finding.bound + problem.price_tolerance(best)
                assert n_labels > 4 or doubt(problem, witness, limit, math.inf) is None
    assert proved


def accurate(seed: int, n_labels: int, n_responses: int, n_tasks: int) -> Problem:
    """A crowd that is mostly right, and else mostly close."""
    rng = np.random.default_rng([seed, n_labels, n_responses, 74])
    far = np.abs(np.arange(n_labels)[:, None] - np.arange(n_labels))
    matrix = 0.03 ** (far / 2) * rng.uniform(0.5, 1.5, (n_labels, n_labels))
    matrix /= matrix.sum(axis=1, keepdims=True)
    tasks = [rng.multinomial(n_responses, matrix[j]) for j in rng.integers(n_labels, size=n_tasks)]
    return Problem(Buckets.from_arrays(tasks)[0], Space.DOMINANCE)


@pytest.mark.parametrize(("n_labels", "n_responses"), [(3, 9), (4, 4), (4, 5)])
def test_accurate_crowds(n_labels, n_responses, monkeypatch, effort):
    """All are proved as the chain engine does, without a single minimum cut."""
    monkeypatch.setattr(OrderedPricing, "run", lambda *_, **__: pytest.fail("priced with minimum cuts"))
    for seed in range(effort(4)):
        problem = accurate(seed, n_labels, n_responses, 20_000)
        outcome, truth = columns(problem, Limits(np.inf)), chain(problem, Limits(np.inf))
        assert certificate_of(problem, outcome).proof is Proof.PROVED
        assert outcome.objective == pytest.approx(truth.objective, abs=outcome.tolerance)
        assert outcome.bound >= truth.objective - 1e-9
        assert doubt(problem, outcome.witness, outcome.bound + outcome.tolerance, math.inf) is None


@pytest.mark.full
def test_five_labels(monkeypatch):
    """A crowd with too many up-sets to list: by cases as with minimum cuts, but the proof can be checked in no time."""
    problem = accurate(3, 5, 5, 20_000)
    outcome = columns(problem, Limits(np.inf))
    monkeypatch.setattr(OrderedColumns, "prove_by_cases", lambda _: False)
    other = columns(problem, Limits(np.inf))
    assert outcome.objective == other.objective
    assert outcome.mapping.tolist() == other.mapping.tolist()
    assert {certificate_of(problem, one).proof for one in (outcome, other)} == {Proof.PROVED}
    assert outcome.work < other.work
    assert doubt(problem, outcome.witness, outcome.bound + outcome.tolerance, math.inf) is None


def test_gives_up_without_a_bound(monkeypatch):
    """Where there would have to be too many cases, nothing is claimed, and minimum cuts go on."""
    problem = accurate(1, 4, 5, 20_000)
    truth = columns(problem, Limits(np.inf))
    search = prover(problem, truth.mapping, np.random.default_rng(0))
    assert search.run({}).proved
    assert len(search.cases[0]) > 1
    monkeypatch.setattr(cases, "MOST_CASES", 1)
    finding = prover(problem, truth.mapping, np.random.default_rng(0)).run({})
    assert (finding.proved, finding.stopped, finding.bound) == (False, False, math.inf)
    outcome = columns(problem, Limits(np.inf))
    assert certificate_of(problem, outcome).proof is Proof.PROVED
    assert outcome.objective == pytest.approx(truth.objective, abs=1e-9)
