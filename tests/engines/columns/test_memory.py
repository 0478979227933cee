"""The columns engine in too little memory: it proves less, and nothing that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.columns.column_pool import Pool
from crowdopt.engines.columns.engine import columns
from crowdopt.engines.columns.memory import OWN, Memory
from crowdopt.engines.columns.pricing import Pricing
from crowdopt.engines.columns.relaxation import Relaxation
from crowdopt.engines.enumeration import full_lattice
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.problem import Problem
from support import oracle
from support.pricing import every_worth, go_on
from support.problems import KINDS, certificate_of, random_objective, random_tasks

PARTS = ("cells", "work", "sets", "nodes")
"""The parts of the memory of a proof that begins at all."""


@pytest.mark.parametrize("n_bytes", [0, 2_000])
def test_a_bound_holds_where_open_cells_do_not_fit(n_bytes):
    rng, stopped = np.random.default_rng(0), 0
    for _ in range(20):
        counts = rng.multinomial(5, rng.dirichlet(np.ones(4)), size=8)
        whole = Relaxation.of(Problem(Buckets.from_arrays(counts)[0], Space.ALL))
        buckets, term = whole.buckets, whole.terms[0]
        prices = rng.normal(-2, 1, len(buckets))
        best = every_worth(buckets, term, prices)[1].max()
        memory = replace(OWN, cells=n_bytes)
        found = Pricing(buckets, term, prices, -np.inf, 1e-6, memory).run(go_on)
        assert found.bound >= best - 1e-9
        assert found.finished is not found.full
        stopped += found.full
    assert stopped


@pytest.mark.parametrize("space", [Space.ALL, Space.DOMINANCE])
def test_a_proof_that_does_not_fit_is_a_true_bound(space):
    problem = Problem(Buckets.from_arrays(full_lattice(3, 4), np.arange(1, 16))[0], space)
    outcome, whole = columns(problem, Limits(bytes=1000)), columns(problem, Limits())
    certificate = certificate_of(problem, outcome)
    assert (certificate.proof, certificate.stop) == (Proof.BOUNDED, Stop.MEMORY)
    assert outcome.objective <= whole.objective + 1e-9 <= outcome.bound + 2e-9
    assert certificate_of(problem, whole).proof is Proof.PROVED


def limit(monkeypatch, **parts):
    """Lets proofs have so many bytes of some parts of the memory."""
    monkeypatch.setattr(Memory, "of", classmethod(lambda _, __: replace(OWN, **parts)))


def test_a_gap_that_the_memory_of_the_linear_program_left_open_is_told_as_one(monkeypatch):
    problem = Problem(
        Buckets.from_arrays([[0, 3, 0], [0, 0, 3], [2, 1, 0], [0, 0, 3], [0, 0, 3]])[0],
        Space.DOMINANCE,
        Objective("given", (3 / 14, 4 / 7, 3 / 14)),
    )
    proved = columns(problem, Limits())
    assert (certificate_of(problem, proved).proof, proved.stop) == (Proof.PROVED, Stop.FINISHED)
    limit(monkeypatch, sets=0)
    bounded = columns(problem, Limits())
    assert (certificate_of(problem, bounded).proof, bounded.stop) == (Proof.BOUNDED, Stop.MEMORY)


@pytest.mark.parametrize("space", [Space.ALL, Space.DOMINANCE])
def test_no_wrong_optimum_is_proved_in_little_memory(space, monkeypatch, effort):
    """Problems of all kinds against brute force, a few parts of the memory being tiny; some of them must be stopped."""
    stops = set()
    for seed in range(effort(150)):
        rng = np.random.default_rng([seed, 11])
        n_labels, kind = int(rng.choice([2, 3, 3, 4])), KINDS[seed % len(KINDS)]
        tasks = random_tasks(rng, n_labels, equal=bool(rng.integers(2)))
        objective, words = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, space, objective)
        few = rng.choice(PARTS, int(rng.integers(1, 4)), replace=False)
        limit(monkeypatch, **{str(part): int(rng.choice([0, 300, 1_000, 3_000, 8_000, 20_000])) for part in few})
        outcome = columns(problem, Limits(5))
        certificate = certificate_of(problem, outcome)
        best = oracle.brute_force(tasks, space=space.value, shares=words).value
        assert outcome.bound >= best - 1e-9, (seed, few)
        assert outcome.objective == pytest.approx(oracle.log_likelihood(tasks, outcome.mapping[index], words), abs=1e-9)
        if certificate.proof is Proof.PROVED:
            assert outcome.objective >= best - certificate.tolerance - 1e-9, (seed, few)
        stops.add(outcome.stop)
    assert {Stop.FINISHED, Stop.MEMORY} <= stops


def test_open_parts_that_do_not_fit_leave_a_true_bound(monkeypatch):
    problem = Problem(Buckets.from_arrays([[1, 1, 1], [1, 0, 2], [2, 1, 0], [1, 1, 1], [0, 1, 2]])[0], Space.ALL)
    proved = columns(problem, Limits())
    assert "children" in proved.witness  # the space had to be split
    limit(monkeypatch, nodes=0)
    bounded = columns(problem, Limits())
    assert (certificate_of(problem, bounded).proof, bounded.stop) == (Proof.BOUNDED, Stop.MEMORY)
    assert bounded.bound >= proved.objective


def test_a_pool_keeps_the_latest_sets_that_fit():
    problem = Problem(Buckets.from_arrays(full_lattice(3, 3))[0], Space.ALL)
    n = problem.buckets.n_buckets
    whole = Relaxation.of(problem, replace(OWN, sets=2 * n * 5 * 4))  # of one term, looked through a few times over
    pool, sets = Pool(whole), np.eye(n, dtype=bool)
    pool.keep({}, whole, np.arange(n), {0: sets})
    assert sorted(map(tuple, pool.sets[0])) == sorted(map(tuple, sets[-4:]))
