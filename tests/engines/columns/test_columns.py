"""The columns engine against brute force, and what it says when it is stopped."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.chain import chain
from crowdopt.engines.columns.engine import columns
from crowdopt.engines.columns.master_lp import Master
from crowdopt.engines.columns.prover import Prover
from crowdopt.engines.columns.relaxation import Relaxation
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from support import oracle
from support.problems import KINDS, certificate_of, random_objective, random_tasks


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force(equal, n_labels, kind, effort):
    """Value and proof of 1280 problems, or a share of them."""
    for seed in range(effort({2: 25, 3: 25, 4: 10, 5: 4}[n_labels])):
        rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind), 9])
        tasks = random_tasks(rng, n_labels, equal=equal)
        objective, shares = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, Space.ALL, objective)
        outcome = columns(problem, Limits())
        certificate = certificate_of(problem, outcome)
        truth = oracle.brute_force(tasks, space="all", shares=shares)
        assert (certificate.proof, certificate.space, certificate.stop) == (Proof.PROVED, Space.ALL, Stop.FINISHED)
        assert outcome.objective == pytest.approx(truth.value, abs=1e-6)
        assert outcome.bound >= truth.value - 1e-9
        assert outcome.objective == pytest.approx(
            oracle.log_likelihood(tasks, outcome.mapping[index], shares), abs=1e-9
        )


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_no_proof_of_what_is_not_the_best(n_labels, kind, effort):
    """1000 mappings that fall short, or a share, as incumbents of a proof: it fails, with a bound that holds."""
    offered = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, n_labels, KINDS.index(kind), 10])
        tasks = random_tasks(rng, n_labels, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, n_labels)
        problem = Problem(Buckets.from_arrays(tasks)[0], Space.ALL, objective)
        relaxation = Relaxation.of(problem)
        best = oracle.brute_force(tasks, space="all", shares=shares).value
        tolerance = problem.price_tolerance(best)
        allowed = np.flatnonzero(objective.shares or np.ones(n_labels))
        mappings = [rng.choice(allowed, problem.buckets.n_buckets) for _ in range(4)]
        short = [mapping for mapping in mappings if relaxation.values(mapping).sum() < best - 2 * tolerance]
        for mapping in short[:3]:
            value = float(relaxation.values(mapping).sum())
            finding = Prover(relaxation, mapping, value, tolerance, rng, lambda *_: True).run({})
            assert not finding.proved
            assert finding.bound >= best - 1e-9
            offered += 1
        if offered >= effort(25):
            break
    assert offered >= effort(25) or (n_labels, kind) == (2, "forbidden")  # with one label left there is one mapping


def crowd(seed: int, n_labels: int, n_responses: int) -> Problem:
    rng = np.random.default_rng([seed, n_labels, n_responses])
    matrix = 0.3 * np.eye(n_labels) + 0.7 * rng.dirichlet(np.ones(n_labels), n_labels)
    tasks = [rng.multinomial(n_responses, matrix[j]) for j in rng.integers(n_labels, size=300)]
    return Problem(Buckets.from_arrays(tasks)[0], Space.ALL)


@pytest.mark.parametrize(("n_labels", "n_responses"), [(3, 3), (3, 6), (4, 3), (4, 5)])
def test_stopped_anywhere_the_bound_holds(n_labels, n_responses):
    """Interrupted at its first, second, ... report, it says so, and never that the answer is the best."""
    problem = crowd(1, n_labels, n_responses)
    best = columns(problem, Limits(np.inf)).objective
    for stop_at in (1, 2, 3, 5, 8, 13, 21, 34):
        reports = []

        def stop(progress, stop_at=stop_at, reports=reports):
            reports.append(progress)
            return len(reports) >= stop_at

        outcome = columns(problem, Limits(np.inf, stop))
        assert outcome.bound >= best - outcome.tolerance
        bounds = [progress.bound for progress in reports]
        assert all(bound >= best - outcome.tolerance for bound in bounds)
        if len(reports) >= stop_at:
            assert outcome.stop is Stop.INTERRUPT
        else:
            assert certificate_of(problem, outcome).proof is Proof.PROVED
    assert columns(problem, Limits(0.0)).stop is Stop.TIME


@pytest.mark.parametrize(("n_labels", "n_responses"), [(3, 2), (3, 5), (4, 3)])
def test_same_answer_whatever_the_order_of_rows(n_labels, n_responses):
    problem = crowd(2, n_labels, n_responses)
    rng = np.random.default_rng(0)
    first = columns(problem, Limits(np.inf))
    tasks = np.repeat(problem.buckets.counts[:, 0], problem.buckets.weights, axis=0)
    again = columns(Problem(Buckets.from_arrays(rng.permutation(tasks))[0], Space.ALL), Limits(np.inf))
    assert first.mapping.tolist() == again.mapping.tolist()
    assert (first.objective, first.bound, first.work) == (again.objective, again.bound, again.work)
    assert first.witness == again.witness


@pytest.mark.parametrize(("n_labels", "n_responses"), [(3, 4), (3, 10), (4, 4)])
def test_any_number_of_tasks(n_labels, n_responses):
    """A thousand times the tasks is the same problem a thousand times over."""
    problem = crowd(3, n_labels, n_responses)
    many = Buckets(problem.buckets.counts, problem.buckets.weights * 1000)
    once = columns(problem, Limits(np.inf))
    outcome = columns(Problem(many, Space.ALL), Limits(np.inf))
    assert certificate_of(Problem(many, Space.ALL), outcome).proof is Proof.PROVED
    assert outcome.objective == pytest.approx(1000 * once.objective, rel=1e-9)


def test_under_dominance_the_chain_is_bounded_by_it(effort):
    """Of all mappings the best is at least as likely as the best that respects the order."""
    for seed in range(effort(20)):
        problem = crowd(seed, 3, 4)
        ordered = chain(Problem(problem.buckets, Space.DOMINANCE), Limits(np.inf))
        assert columns(problem, Limits(np.inf)).objective >= ordered.objective - 1e-9


def test_stopped_before_the_first_program_is_solved(monkeypatch):
    """There are no duals yet to branch by; the bound is that of the first prices."""
    made = []
    first = Master.__init__

    def init(self, *arguments):
        made.append(self)
        first(self, *arguments)

    monkeypatch.setattr(Master, "__init__", init)
    rng = np.random.default_rng(0)
    tasks = np.eye(4, dtype=np.int64)[rng.integers(4, size=9)]
    offsets = Offsets.of(4, 1, prior=rng.random((4, 1, 4)))
    problem = Problem(Buckets.from_arrays(tasks)[0], Space.ALL, Objective("estimated", (), offsets))
    outcome = columns(problem, Limits(60.0, on_progress=lambda _: bool(made)))
    assert made
    assert outcome.stop is Stop.INTERRUPT
    assert outcome.bound >= columns(problem, Limits(np.inf)).objective - 1e-9
