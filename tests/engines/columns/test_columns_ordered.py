"""The columns engine under dominance: against brute force and the chain engine, and what it says when it is stopped."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.chain import chain
from crowdopt.engines.columns.engine import columns
from crowdopt.engines.columns.engine_ordered import OrderedColumns
from crowdopt.engines.columns.prover import Prover
from crowdopt.engines.columns.relaxation import Relaxation
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.order import Order
from crowdopt.model.problem import Problem
from crowdopt.verify.witness import doubt
from support import oracle
from support.lattice import respects
from support.problems import KINDS, certificate_of, random_objective, random_tasks


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force(equal, n_labels, kind, monkeypatch, effort):
    """Value, bound and witness of 700 problems, or a share of them; nearly all have a proof. Some by cuts alone."""
    proved = 0
    by_cases = OrderedColumns.prove_by_cases
    for seed in range(effort(10 if n_labels < 5 else 4)):
        monkeypatch.setattr(OrderedColumns, "prove_by_cases", by_cases if seed % 2 else lambda _: False)
        rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind), 19])
        tasks = random_tasks(rng, n_labels, equal=equal)
        objective, shares = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, Space.DOMINANCE, objective)
        outcome = columns(problem, Limits(np.inf))
        certificate = certificate_of(problem, outcome)
        truth = oracle.brute_force(tasks, space="dominance", shares=shares)
        assert (certificate.space, certificate.stop) == (Space.DOMINANCE, Stop.FINISHED)
        assert oracle.respects_order(tasks, outcome.mapping[index])
        assert outcome.objective == pytest.approx(truth.value, abs=1e-6)
        assert outcome.bound >= truth.value - 1e-9
        assert outcome.objective == pytest.approx(
            oracle.log_likelihood(tasks, outcome.mapping[index], shares), abs=1e-9
        )
        proved += certificate.proof is Proof.PROVED
        if outcome.witness is not None and (seed == 0 or n_labels < 4):  # with more labels it takes seconds
            assert doubt(problem, outcome.witness, outcome.bound + outcome.tolerance, np.inf) is None
    assert proved >= effort(10 if n_labels < 5 else 4) * 0.7 - 1


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_no_proof_of_what_is_not_the_best(n_labels, kind, effort):
    """1000 mappings that fall short, or a share, as incumbents of a proof: it fails, with a bound that holds."""
    offered = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 11])
        tasks = random_tasks(rng, n_labels, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, n_labels)
        problem = Problem(Buckets.from_arrays(tasks)[0], Space.DOMINANCE, objective)
        relaxation = Relaxation.of(problem)
        best = oracle.brute_force(tasks, space="dominance", shares=shares).value
        tolerance = problem.price_tolerance(best)
        mappings = oracle.consistent_mappings(problem.buckets.counts[:, 0])
        mappings = mappings[rng.permutation(len(mappings))[:20]]
        values = np.array([relaxation.values(mapping).sum() for mapping in mappings])
        short = mappings[(values < best - 2 * tolerance) & (values > -np.inf)]
        for mapping in short[:2]:
            value = float(relaxation.values(mapping).sum())
            finding = Prover(relaxation, mapping, value, tolerance, rng, lambda *_: True).run({}, 500)
            assert not finding.proved
            assert finding.bound >= best - 1e-9
            offered += 1
        if offered >= effort(26):
            break
    assert offered >= effort(26) or (n_labels, kind) == (2, "forbidden")  # with one label left there is one mapping


def crowd(seed: int, n_labels: int, sizes: tuple[int, ...], n_tasks: int = 300) -> Problem:
    """Tasks of a crowd that is right more often than not, each with one of the given numbers of responses."""
    rng = np.random.default_rng([seed, n_labels, *sizes])
    matrix = 0.3 * np.eye(n_labels) + 0.7 * rng.dirichlet(np.ones(n_labels), n_labels)
    tasks = [rng.multinomial(rng.choice(sizes), matrix[j]) for j in rng.integers(n_labels, size=n_tasks)]
    return Problem(Buckets.from_arrays(tasks)[0], Space.DOMINANCE)


@pytest.mark.parametrize(
    ("n_labels", "sizes", "n_crowds"), [(3, (8,), 12), (4, (4,), 8), (5, (3,), 3), (3, (3, 4, 5), 10), (4, (2, 3), 4)]
)
def test_equals_the_chain(n_labels, sizes, n_crowds, monkeypatch, effort):
    monkeypatch.setattr(OrderedColumns, "prove_by_cases", lambda _: False)  # these are in test_prover_by_cases.py
    for seed in range(effort(n_crowds)):
        problem = crowd(seed, n_labels, sizes)
        outcome, truth = columns(problem, Limits(np.inf)), chain(problem, Limits(np.inf))
        assert outcome.objective == pytest.approx(truth.objective, abs=1e-6)
        assert outcome.bound >= truth.objective - 1e-9
        assert respects(Order.of(problem.buckets.counts), outcome.mapping)


@pytest.mark.grid
@pytest.mark.parametrize(("n_labels", "sizes"), [(3, (6,)), (4, (4,)), (3, (2, 3, 5))])
@pytest.mark.parametrize("by_cases", [True, False], ids=["cases", "cuts"])
def test_stopped_anywhere_the_bound_holds(n_labels, sizes, by_cases, monkeypatch):
    """Interrupted at its first, second, ... report, it says so, and every bound it gave holds."""
    if not by_cases:
        monkeypatch.setattr(OrderedColumns, "prove_by_cases", lambda _: False)
    problem = crowd(1, n_labels, sizes)
    best = chain(problem, Limits(np.inf)).objective
    for stop_at in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144):
        reports = []

        def stop(progress, stop_at=stop_at, reports=reports):
            reports.append(progress)
            return len(reports) >= stop_at

        outcome = columns(problem, Limits(np.inf, stop))
        assert outcome.bound >= best - outcome.tolerance
        assert all(progress.bound >= best - outcome.tolerance for progress in reports)
        assert respects(Order.of(problem.buckets.counts), outcome.mapping)
        if len(reports) >= stop_at:
            assert outcome.stop is Stop.INTERRUPT
        else:
            assert outcome.stop is Stop.FINISHED
    assert columns(problem, Limits(0.0)).stop is Stop.TIME


@pytest.mark.parametrize(("n_labels", "sizes"), [(3, (9,)), (4, (4,)), (3, (2, 4))])
def test_same_answer_whatever_the_order_of_rows(n_labels, sizes):
    problem = crowd(2, n_labels, sizes)
    rng = np.random.default_rng(0)
    first = columns(problem, Limits(np.inf))
    tasks = np.repeat(problem.buckets.counts[:, 0], problem.buckets.weights, axis=0)
    again = columns(Problem(Buckets.from_arrays(rng.permutation(tasks))[0]), Limits(np.inf))
    assert first.mapping.tolist() == again.mapping.tolist()
    assert (first.objective, first.bound, first.work) == (again.objective, again.bound, again.work)
    assert first.witness == again.witness


@pytest.mark.parametrize(("n_labels", "sizes"), [(3, (10,)), (4, (5,))])
def test_any_number_of_tasks(n_labels, sizes):
    """A thousand times the tasks is the same problem a thousand times over."""
    problem = crowd(3, n_labels, sizes)
    many = Problem(Buckets(problem.buckets.counts, problem.buckets.weights * 1000))
    outcome = columns(many, Limits(np.inf))
    assert certificate_of(many, outcome).proof is Proof.PROVED
    assert outcome.objective == pytest.approx(1000 * chain(problem, Limits(np.inf)).objective, rel=1e-9)


def test_more_buckets_than_up_sets_can_be_listed_of():
    """Twenty responses and three labels: a proof, with prices and gains that add up to its bound."""
    problem = crowd(4, 3, (20,), 400)
    outcome = columns(problem, Limits(np.inf))
    assert certificate_of(problem, outcome).proof is Proof.PROVED
    assert set(outcome.witness) == {"prices", "gains"}
    assert sum(outcome.witness["prices"]) + sum(outcome.witness["gains"]) == pytest.approx(outcome.bound, rel=1e-12)
