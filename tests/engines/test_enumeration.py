"""The reference engine: its counts against the paper, its mappings and answers against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.engines import enumeration as engine
from crowdopt.engines.base import Limits, certify
from crowdopt.engines.enumeration import (
    TooManyMappings,
    count_mappings,
    enumerate_all,
    enumerate_mappings,
    full_lattice,
    likelihoods,
)
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.order import Order, TooManyUpSets, UpSets
from crowdopt.model.problem import Problem
from support import oracle
from support.problems import KINDS, oracle_choice, oracle_ties, random_objective, random_tasks

# Labels, responses per task, dominance-consistent mappings, up-sets, pairs of nested up-sets: the paper's Table 2
# without its rounding, and (4, 5), which is not in it.
TABLE_2 = [
    (3, 3, 126, 16, 126),
    (3, 4, 462, 32, 462),
    (3, 5, 1_716, 64, 1_716),
    (4, 3, 28_744, 66, 1_796),
    (4, 4, 2_741_334, 352, 43_408),
    (5, 2, 28_314, 32, 462),
    (5, 3, 106_441_769, 352, 43_408),
    (4, 5, 582_213_270, 2_431, 1_780_179),
]


def lattice_order(n_labels: int, size: int) -> Order:
    return Order.of(full_lattice(n_labels, size)[:, None])


def up_to(size: int, n_labels: int) -> np.ndarray:
    """All buckets with up to ``size`` responses, the one without any included."""
    return np.concatenate([full_lattice(n_labels, m) for m in range(size + 1)])


@pytest.mark.parametrize(("n_labels", "size", "mappings", "up_sets", "pairs"), TABLE_2)
def test_table_2_of_the_paper_comes_out_exactly(n_labels, size, mappings, up_sets, pairs):
    order = lattice_order(n_labels, size)
    assert count_mappings(order, n_labels) == mappings
    sets = UpSets.of(order, 5_000)
    assert len(sets) == count_mappings(order, 2) == up_sets
    assert sets.inside(slice(0, len(sets)), len(sets)).sum() == count_mappings(order, 3) == pairs


@pytest.mark.parametrize("row", [row for row in TABLE_2 if row[2] < 100_000], ids=str)
def test_enumerated_as_many_as_counted(row):
    n_labels, size, expected, *_ = row
    order = lattice_order(n_labels, size)
    mappings = enumerate_mappings(order, n_labels)
    assert len(np.unique(mappings, axis=0)) == len(mappings) == expected
    high, low = np.nonzero(order.dominates)
    assert (mappings[:, high] >= mappings[:, low]).all()
    assert enumerate_mappings(order, n_labels, limit=expected).shape == (expected, order.n_buckets)
    with pytest.raises(TooManyMappings):
        enumerate_mappings(order, n_labels, limit=expected - 1)


@pytest.mark.parametrize("size", range(1, 8))
def test_two_labels_and_up_to_m_responses_have_a_power_of_two_mappings(size):
    """The paper's Appendix C, corrected: 2^(m+1), the bucket without responses included."""
    order = Order.of(up_to(size, 2)[:, None])
    assert count_mappings(order, 2) == len(enumerate_mappings(order, 2)) == 2 ** (size + 1)


def test_counting_does_not_overflow():
    """A total order of B buckets has C(B + R - 1, R - 1) mappings: with many labels far beyond 64 bits."""
    from math import comb

    order = lattice_order(2, 99)
    assert count_mappings(order, 40) == comb(139, 39) > 2**64
    assert count_mappings(order, 1) == 1


def test_counting_in_many_blocks_is_the_same(monkeypatch):
    monkeypatch.setattr(engine, "_PAIRS", 100)
    assert count_mappings(lattice_order(4, 3), 4) == 28_744


def test_counting_refuses_too_many_up_sets():
    with pytest.raises(TooManyUpSets):
        count_mappings(lattice_order(3, 5), 3, limit=63)


@pytest.mark.parametrize("n_labels", [2, 3, 4])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_the_mappings_are_those_of_the_definition(equal, n_labels, effort):
    for seed in range(effort(40, whole=True)):
        rng = np.random.default_rng([seed, n_labels, equal])
        counts = np.unique(random_tasks(rng, n_labels, equal=equal), axis=0)
        order = Order.of(counts[:, None])
        mappings = enumerate_mappings(order, n_labels)
        expected = oracle.consistent_mappings(counts)
        assert sorted(mappings.tolist()) == sorted(expected.tolist())
        assert count_mappings(order, n_labels) == len(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force(equal, n_labels, kind, effort):
    """Value, bound, tie rule and margins of 600 problems, or a share of them."""
    for seed in range(effort(20, whole=True)):
        rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind)])
        tasks = random_tasks(rng, n_labels, equal=equal)
        objective, shares = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, objective=objective)
        outcome = enumerate_all(problem, Limits())
        truth = oracle.brute_force(tasks, space="dominance", shares=shares)
        assert outcome.objective == pytest.approx(truth.value, abs=1e-9)
        certificate = certify(problem, outcome, engine="enumerate", seconds=0.0, fingerprint="")
        assert (certificate.proof, certificate.space) == (Proof.PROVED, Space.DOMINANCE)
        assert certificate.bound >= truth.value - 1e-9
        consistent = oracle.consistent_mappings(tasks)
        assert outcome.work == len(consistent)
        assert outcome.mapping[index].tolist() == oracle_choice(tasks, truth.mappings, objective)
        values = oracle._values(tasks, consistent, shares)
        for task, bucket in enumerate(index):
            other = values[consistent[:, task] != outcome.mapping[bucket]].max(initial=-np.inf)
            assert outcome.margins.values[bucket] == pytest.approx(max(0.0, truth.value - other), abs=1e-8)
        tied = (oracle_ties(tasks, truth.mappings, objective) != outcome.mapping[index]).any(axis=0)
        assert outcome.margins.kind == "exact"
        assert outcome.margins.tied[index].tolist() == tied.tolist()


def test_two_classes_of_workers_are_no_different():
    """Likelihoods of many mappings at once are those of one, class by class."""
    rng = np.random.default_rng(5)
    buckets, _ = Buckets.from_arrays(rng.integers(0, 3, (6, 2, 3)), rng.integers(1, 9, 6))
    problem = Problem(buckets, objective=Objective("estimated"))
    mappings = enumerate_mappings(Order.of(buckets.counts), 3)
    one_by_one = [problem.objective.of_mapping(buckets, mapping.astype(int)) for mapping in mappings]
    assert likelihoods(problem, mappings) == pytest.approx(one_by_one, abs=1e-10)
    assert enumerate_all(problem, Limits()).objective == pytest.approx(max(one_by_one), abs=1e-10)


def test_one_label_has_one_mapping():
    buckets, _ = Buckets.from_arrays([[3], [4], [5]])
    outcome = enumerate_all(Problem(buckets), Limits())
    assert (outcome.mapping.tolist(), outcome.work, outcome.objective) == ([0, 0, 0], 1, 0.0)
    assert np.isinf(outcome.margins.values).all()
    assert not outcome.margins.tied.any()


def test_blocks_change_nothing(monkeypatch):
    counts = full_lattice(3, 4)
    problem = Problem(Buckets.from_arrays(counts, np.arange(1, len(counts) + 1))[0])
    whole = enumerate_all(problem, Limits())
    monkeypatch.setattr(engine, "_BLOCK", 7)
    pieces = enumerate_all(problem, Limits())
    assert (whole.mapping == pieces.mapping).all()
    assert (whole.objective, whole.bound, whole.work) == (pieces.objective, pieces.bound, pieces.work)
    assert (whole.margins.values == pieces.margins.values).all()


def test_too_many_mappings_are_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr(engine, "enumerate_mappings", lambda order, n, _: enumerate_mappings(order, n, limit=100))
    with pytest.raises(InputError, match=r"too many to\s+enumerate"):
        enumerate_all(Problem(Buckets.from_arrays(full_lattice(3, 3))[0]), Limits())


@pytest.mark.parametrize("shares", [(), (0.0, 0.5, 0.5)], ids=["plain", "first-label-forbidden"])
def test_past_the_time_limit_the_answer_is_bounded(monkeypatch, shares):
    monkeypatch.setattr(engine, "_BLOCK", 10)
    counts = full_lattice(3, 4)
    objective = Objective("given", shares) if shares else Objective()
    problem = Problem(Buckets.from_arrays(counts, np.arange(1, len(counts) + 1))[0], objective=objective)
    full = enumerate_all(problem, Limits())
    short = enumerate_all(problem, Limits(seconds=0.0))
    assert (short.stop, short.work) == (Stop.TIME, 10)
    assert short.bound > full.objective >= short.objective > -np.inf
    asked = enumerate_all(problem, Limits(on_progress=lambda progress: progress.work >= 50))
    assert (asked.stop, asked.work) == (Stop.INTERRUPT, 50)
    assert asked.margins.kind == "upper"
