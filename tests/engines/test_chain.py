"""The chain engine against brute force, the reference engine and the scan."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest

from crowdopt.engines import chain_paths as paths
from crowdopt.engines.base import Limits, certify
from crowdopt.engines.chain import chain, list_up_sets
from crowdopt.engines.enumeration import count_mappings, enumerate_all, enumerate_mappings, full_lattice
from crowdopt.engines.local_search import search
from crowdopt.engines.scan import scan
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.order import Order, TooManyUpSets, TooMuchMemory
from crowdopt.model.problem import Problem
from support import oracle
from support.lattice import respects
from support.problems import KINDS, oracle_choice, oracle_ties, random_objective, random_tasks


def certificate_of(problem, outcome):
    return certify(problem, outcome, engine="chain", seconds=0.0, fingerprint="")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force(equal, n_labels, kind, effort):
    """Value, proof, tie rule and margins of 2000 problems, or a share of them."""
    for seed in range(effort(25, whole=True)):
        rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind), 4])
        tasks = random_tasks(rng, n_labels, equal=equal)
        objective, shares = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, objective=objective)
        outcome = chain(problem, Limits())
        certificate = certificate_of(problem, outcome)
        truth = oracle.brute_force(tasks, space="dominance", shares=shares)
        assert (certificate.proof, certificate.space) == (Proof.PROVED, Space.DOMINANCE)
        assert certificate.gap <= certificate.tolerance
        assert outcome.objective == pytest.approx(truth.value, abs=1e-9)
        assert outcome.bound >= truth.value - 1e-9
        assert outcome.objective == pytest.approx(
            oracle.log_likelihood(tasks, outcome.mapping[index], shares), abs=1e-9
        )
        assert oracle.respects_order(tasks, outcome.mapping[index])
        assert outcome.mapping[index].tolist() == oracle_choice(tasks, truth.mappings, objective)
        assert_margins_are_exact(tasks, index, shares, outcome, truth.value)


def assert_margins_are_exact(tasks, index, shares, outcome, best):
    assert outcome.margins.kind == "exact"
    consistent = oracle.consistent_mappings(tasks)
    values = oracle._values(tasks, consistent, shares)
    for task, bucket in enumerate(index):
        other = values[consistent[:, task] != outcome.mapping[bucket]].max(initial=-np.inf)
        assert outcome.margins.values[bucket] == pytest.approx(max(0.0, best - other), abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_ties_are_those_that_agreement_leaves(kind, effort):
    for seed in range(effort(100, whole=True)):
        rng = np.random.default_rng([seed, KINDS.index(kind), 6])
        tasks = random_tasks(rng, 3, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, 3)
        buckets, index = Buckets.from_arrays(tasks)
        outcome = chain(Problem(buckets, objective=objective), Limits())
        optima = oracle.brute_force(tasks, space="dominance", shares=shares).mappings
        tied = (oracle_ties(tasks, optima, objective) != outcome.mapping[index]).any(axis=0)
        assert outcome.margins.tied[index].tolist() == tied.tolist()


def random_crowd(seed: int, n_labels: int, size: int, n_tasks: int = 1000) -> Buckets:
    """Responses of one crowd that is right more often than not."""
    rng = np.random.default_rng([seed, n_labels, size])
    matrix = 0.5 * np.eye(n_labels) + 0.5 * rng.dirichlet(np.ones(n_labels), n_labels)
    truth = rng.integers(n_labels, size=n_tasks)
    return Buckets.from_arrays([rng.multinomial(size, matrix[j]) for j in truth])[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_labels", "size"), [(3, 5), (4, 3)])
def test_equals_enumeration_on_a_thousand_tasks(n_labels, size, kind):
    for seed in range(3):
        objective, _ = random_objective(np.random.default_rng(seed), kind, n_labels)
        problem = Problem(random_crowd(seed, n_labels, size), objective=objective)
        outcome, reference = chain(problem, Limits()), enumerate_all(problem, Limits())
        assert outcome.mapping.tolist() == reference.mapping.tolist()
        assert outcome.objective == reference.objective
        assert outcome.bound == pytest.approx(reference.bound, abs=1e-9)
        assert outcome.margins.kind == reference.margins.kind == "exact"
        assert outcome.margins.values == pytest.approx(reference.margins.values, abs=1e-8)
        assert certificate_of(problem, outcome).proof is Proof.PROVED
        assert reference.work == count_mappings(Order.of(problem.buckets.counts), n_labels)


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_loops_give_what_arrays_give(monkeypatch, kind, effort):
    """Small problems are worked out with arrays, large ones with compiled loops: here small ones with both."""
    for seed in range(effort(20, whole=True)):
        rng = np.random.default_rng([seed, KINDS.index(kind), 8])
        n_labels = int(rng.integers(2, 6))
        tasks = random_tasks(rng, n_labels, equal=bool(seed % 2))
        objective, _ = random_objective(rng, kind, n_labels)
        problem = Problem(Buckets.from_arrays(tasks)[0], objective=objective)
        arrays = chain(problem, Limits())
        with monkeypatch.context() as patch:
            patch.setattr(paths, "MAX_DENSE", 0)
            compiled = chain(problem, Limits())
        assert compiled.mapping.tolist() == arrays.mapping.tolist()
        assert compiled.objective == arrays.objective
        assert compiled.bound == pytest.approx(arrays.bound, abs=1e-9)
        assert compiled.margins.kind == "exact"
        assert compiled.margins.values == pytest.approx(arrays.margins.values, abs=1e-9)
        assert compiled.margins.tied.tolist() == arrays.margins.tied.tolist()


def two_label_problem(seed: int, kind: str, *, equal: bool):
    rng = np.random.default_rng([seed, KINDS.index(kind), equal, 2])
    tasks = random_tasks(rng, 2, equal=equal)
    objective, shares = random_objective(rng, kind, 2)
    buckets, _ = Buckets.from_arrays(tasks, rng.integers(1, 30, len(tasks)))
    return Problem(buckets, objective=objective), np.repeat(buckets.counts[:, 0], buckets.weights, axis=0), shares


@pytest.mark.parametrize(
    ("kind", "equal"),
    [*((kind, True) for kind in KINDS), ("none", False), ("smoothing", False), ("uniform", False)],
)
def test_equals_the_scan_on_two_labels(kind, equal, effort):
    for seed in range(effort(100, whole=True)):
        problem, _, _ = two_label_problem(seed, kind, equal=equal)
        outcome, reference = chain(problem, Limits()), scan(problem, Limits())
        assert outcome.objective == pytest.approx(reference.objective, abs=1e-9)
        assert outcome.bound == pytest.approx(reference.bound, abs=1e-9)
        if equal:
            assert outcome.mapping.tolist() == reference.mapping.tolist()
            assert outcome.margins.values == pytest.approx(reference.margins.values, abs=1e-8)


@pytest.mark.parametrize("kind", ["given", "gold", "prior", "gold and estimate", "prior and given"])
def test_is_the_truth_where_lines_are_only_bounds(kind, effort):
    """Labels told apart, varying numbers, dominance: the scan brackets what the chain proves, at times falls short."""
    short = 0
    for seed in range(effort(300, whole=True)):
        problem, tasks, shares = two_label_problem(seed, kind, equal=False)
        outcome, bracket = chain(problem, Limits()), scan(problem, Limits())
        mappings = enumerate_mappings(Order.of(problem.buckets.counts), 2).astype(int)
        spread = np.repeat(mappings, problem.buckets.weights, axis=1)
        assert outcome.objective == pytest.approx(oracle._values(tasks, spread, shares).max(), abs=1e-9)
        assert certificate_of(problem, outcome).proof is Proof.PROVED
        assert bracket.objective <= outcome.objective + 1e-9 <= bracket.bound + 2e-9
        short += bracket.bound - bracket.objective > 1e-9
    assert short > 0


def test_offsets_for_which_no_line_is_best():
    """A prior tells the labels apart, and the best mapping that respects the order is no threshold at all."""
    counts = np.array([[1, 1], [7, 5], [0, 1], [2, 4]])  # (no, yes)
    offsets = Offsets.of(2, prior=np.array([[[15.0, 31.0]], [[18.0, 25.0]]]))
    problem = Problem(Buckets.from_arrays(counts, [3, 5, 1, 5])[0], objective=Objective(offsets=offsets))
    best, bracket = chain(problem, Limits()), scan(problem, Limits())
    assert certificate_of(problem, best).proof is Proof.PROVED
    assert certificate_of(problem, bracket).proof is Proof.BOUNDED
    assert bracket.objective < best.objective - 1e-3
    assert best.objective <= bracket.bound


def test_the_introduction_of_the_paper():
    """Three buckets above one another and three labels: 27 bucketized mappings, 10 that respect the order."""
    tasks = np.array([[0, 0, 3], [1, 1, 1], [3, 0, 0]])
    assert len(oracle.all_mappings(*tasks.shape)) == 27
    buckets, index = Buckets.from_arrays(tasks, [300, 100, 100])
    mappings = enumerate_mappings(Order.of(buckets.counts), 3)[:, index] + 1
    in_the_paper = ["333", "332", "331", "322", "321", "311", "222", "221", "211", "111"]
    assert sorted("".join(map(str, mapping)) for mapping in mappings.tolist()) == sorted(in_the_paper)
    outcome = chain(Problem(buckets), Limits())
    assert outcome.mapping[index].tolist() == [2, 1, 0]
    assert outcome.objective == pytest.approx(300 * math.log(1 / 3))


def test_the_best_of_all_mappings_need_not_respect_the_order():
    """The paper's "global" optimum is one among mappings that respect the order: a counterexample to more."""
    responses = [(3, 3), (2, 3), (2, 3), (1, 3), (1, 2)]
    tasks = np.array([[answers.count(label) for label in (1, 2, 3)] for answers in responses])
    best = oracle.brute_force(tasks, space="all")
    assert math.exp(best.value) == pytest.approx(0.001648, abs=5e-7)
    assert [2, 1, 1, 2, 0] in best.mappings.tolist()
    assert not oracle.respects_order(tasks, np.array([2, 1, 1, 2, 0]))
    problem = Problem(Buckets.from_arrays(tasks)[0])
    outcome = chain(problem, Limits())
    assert math.exp(outcome.objective) == pytest.approx(0.001372, abs=5e-7)
    assert (certificate_of(problem, outcome).proof, outcome.space) == (Proof.PROVED, Space.DOMINANCE)


@pytest.mark.parametrize("shares", [(), (0.0, 0.3, 0.3, 0.4)], ids=["plain", "first-label-forbidden"])
def test_past_the_time_limit_the_answer_is_bounded_never_proved(shares):
    objective = Objective("given", shares) if shares else Objective()
    problem = Problem(random_crowd(1, 4, 4), objective=objective)
    short = certificate_of(problem, outcome := chain(problem, Limits(seconds=0.0)))
    assert (short.proof, short.stop, short.space) == (Proof.BOUNDED, Stop.TIME, Space.DOMINANCE)
    assert respects(Order.of(problem.buckets.counts), outcome.mapping)
    assert short.objective == problem.objective.of_mapping(problem.buckets, outcome.mapping) > -np.inf
    full = certificate_of(problem, chain(problem, Limits()))
    assert (full.proof, full.stop) == (Proof.PROVED, Stop.FINISHED)
    assert short.bound >= full.objective >= short.objective
    assert outcome.mapping.tolist() == search(problem, Limits()).mapping.tolist()  # whenever the clock stopped it
    assert outcome.margins.kind == "upper"


def test_a_callback_that_asks_to_stop_is_an_interrupt():
    problem = Problem(random_crowd(1, 4, 5))
    seen = []

    def stop_at_once(progress):
        seen.append(progress)
        return True

    outcome = chain(problem, Limits(on_progress=stop_at_once))
    certificate = certificate_of(problem, outcome)
    assert (certificate.proof, certificate.stop) == (Proof.BOUNDED, Stop.INTERRUPT)
    assert len(seen) == 1
    assert all(progress.objective <= progress.bound for progress in seen)


def test_progress_is_reported_and_never_falls():
    seen = []
    outcome = chain(Problem(random_crowd(1, 4, 5)), Limits(on_progress=lambda progress: bool(seen.append(progress))))
    assert outcome.stop is Stop.FINISHED
    assert seen
    assert [progress.work for progress in seen] == sorted(progress.work for progress in seen)
    assert all(progress.bound >= outcome.objective - 1e-9 for progress in seen)


def test_the_same_answer_for_rows_in_any_order():
    counts = full_lattice(3, 4)
    weights = np.random.default_rng(8).integers(1, 50, len(counts))
    outcomes = []
    for seed in range(3):
        mixed = np.random.default_rng(seed).permutation(len(counts))
        outcomes.append(chain(Problem(Buckets.from_arrays(counts[mixed], weights[mixed])[0]), Limits()))
    for one, other in itertools.pairwise(outcomes):
        assert one.mapping.tolist() == other.mapping.tolist()
        assert (one.objective, one.bound, one.work) == (other.objective, other.bound, other.work)


@pytest.mark.parametrize("factor", [10**3, 10**6, 10**10], ids=["table", "large", "huge"])
def test_more_tasks_of_each_kind_change_nothing_but_the_scale(factor):
    """Past the table of logarithms, and with its rounding: the same mapping, proved."""
    buckets = random_crowd(2, 3, 4)
    many = Buckets(buckets.counts, buckets.weights * factor)
    small, large = chain(Problem(buckets), Limits()), chain(Problem(many), Limits())
    assert large.mapping.tolist() == small.mapping.tolist()
    assert large.objective == pytest.approx(small.objective * factor, rel=1e-12)
    assert certificate_of(Problem(many), large).proof is Proof.PROVED


def test_up_sets_are_listed_while_they_and_the_memory_for_them_are_few_enough(monkeypatch):
    problem = Problem(random_crowd(1, 3, 5))
    assert len(list_up_sets(problem, Limits())) > 20
    with pytest.raises(TooMuchMemory):
        list_up_sets(problem, Limits(bytes=1000))
    monkeypatch.setattr(sys.modules[list_up_sets.__module__], "MAX_UP_SETS", 10)  # `chain` is the function
    with pytest.raises(TooManyUpSets) as reason:
        list_up_sets(problem, Limits())
    assert not isinstance(reason.value, TooMuchMemory)


@pytest.mark.parametrize("kind", ["none", "estimate", "given", "prior"])
def test_the_runner_up_is_the_best_of_the_rest(kind, effort):
    for seed in range(effort(60, whole=True)):
        rng = np.random.default_rng([seed, KINDS.index(kind), 21])
        n_labels = int(rng.integers(2, 5))
        tasks = random_tasks(rng, n_labels, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        outcome = chain(Problem(buckets, objective=objective), Limits())
        mappings = enumerate_mappings(Order.of(buckets.counts), n_labels).astype(int)
        others = mappings[(mappings != outcome.mapping).any(axis=1)]
        values = oracle._values(tasks, others[:, index], shares)
        assert outcome.runner_up.tolist() in others.tolist()
        value = oracle.log_likelihood(tasks, outcome.runner_up[index], shares)
        assert value == pytest.approx(values.max(), abs=1e-9)


def test_classes_of_workers_are_ordered_class_by_class():
    """Two classes of workers: the same engine, against the reference."""
    for seed in range(30):
        rng = np.random.default_rng([seed, 12])
        buckets, _ = Buckets.from_arrays(rng.integers(0, 3, (6, 2, 3)) + 1, rng.integers(1, 9, 6))
        problem = Problem(buckets, objective=Objective(["none", "estimated"][seed % 2]))
        outcome, reference = chain(problem, Limits()), enumerate_all(problem, Limits())
        assert outcome.mapping.tolist() == reference.mapping.tolist()
        assert outcome.margins.values == pytest.approx(reference.margins.values, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_table_of_logarithms_the_same_comes_out(monkeypatch, kind, effort):
    for seed in range(effort(10, whole=True)):
        rng = np.random.default_rng([seed, KINDS.index(kind), 9])
        n_labels = int(rng.integers(3, 6))
        objective, _ = random_objective(rng, kind, n_labels)
        problem = Problem(Buckets.from_arrays(random_tasks(rng, n_labels, equal=False))[0], objective=objective)
        expected = chain(problem, Limits())
        for limit in (0, 1_000):
            with monkeypatch.context() as patch:
                patch.setattr(paths, "MAX_TABLE", 0)
                patch.setattr(paths, "MAX_DENSE", limit)
                outcome = chain(problem, Limits())
            assert outcome.mapping.tolist() == expected.mapping.tolist()
            assert (outcome.objective, outcome.bound) == (expected.objective, expected.bound)
            assert outcome.margins.values == pytest.approx(expected.margins.values, abs=1e-9)


def test_a_clock_that_stops_the_margins_is_named_beside_the_proof(monkeypatch):
    monkeypatch.setattr(paths, "MAX_DENSE", 0)
    tasks = np.random.default_rng(4).multinomial(4, [0.3, 0.4, 0.3], 60)
    problem = Problem(Buckets.from_arrays(tasks)[0])
    reports = []

    def stop_at_the_margins(progress):
        reports.append(progress)
        return np.isfinite(progress.objective)

    outcome = chain(problem, Limits(on_progress=stop_at_the_margins))
    full = chain(problem, Limits())
    assert (outcome.stop, outcome.margins.kind) == (Stop.INTERRUPT, "upper")
    assert (outcome.objective, outcome.bound) == (full.objective, full.bound)
    assert (full.stop, full.margins.kind) == (Stop.FINISHED, "exact")
