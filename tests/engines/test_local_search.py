"""The search engine against brute force on small problems, and against the chain engine on crowds."""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from crowdopt.engines.base import Limits, certify
from crowdopt.engines.chain import chain
from crowdopt.engines.local_search import Climbs, Steps, search
from crowdopt.engines.tie_breaking import renamed
from crowdopt.model import margins
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import MAPPING_SPACES, Proof, Space, Stop
from crowdopt.model.margins import closure_moves
from crowdopt.model.objective import Objective
from crowdopt.model.order import Order
from crowdopt.model.problem import Problem
from crowdopt.studies.simulate import random_matrix
from support import oracle, problems
from support.lattice import respects

module = sys.modules["crowdopt.engines.local_search"]  # the package has a function of that name

KINDS = ["none", "estimated", "given", "forbidden", "gold", "prior and given", "smoothing"]
N_TASKS = {2: 8, 3: 6, 4: 5}
"""Few enough tasks, by number of labels, to enumerate every mapping."""


def random_objective(rng, kind, n_labels, n_classes=1):
    if kind in {"gold", "prior and given", "smoothing"}:
        objective, _ = problems.random_objective(rng, kind, n_labels)
        given = objective.offsets
        every = np.repeat(given.gold_responses, n_classes, axis=1)
        prior = None if given.prior is None else np.repeat(given.prior, n_classes, axis=1)
        return replace(objective, offsets=replace(given, gold_responses=every, prior=prior))
    if kind in {"none", "estimated"}:
        return Objective(kind)
    shares = rng.dirichlet(np.ones(n_labels))
    if kind == "forbidden":
        shares[rng.integers(n_labels)] = 0
        shares /= shares.sum()
    return Objective("given", tuple(shares.tolist()))


def oracle_words(objective):
    """An objective of one class in the oracle's words."""
    shares = {"none": None, "estimated": "estimate", "given": list(objective.shares)}[objective.kind]
    if objective.offsets is None:
        return shares
    return oracle.Added(shares, objective.offsets.counts[:, 0], objective.offsets.gold_tasks)


def random_tasks(rng, n_labels, *, equal):
    n_tasks = int(rng.integers(1, N_TASKS[n_labels] + 1))
    size = np.full(n_tasks, rng.integers(1, 5)) if equal else rng.integers(1, 6, n_tasks)
    matrix = rng.dirichlet(np.full(n_labels, rng.choice([0.3, 1.0])), n_labels)
    return np.stack([rng.multinomial(n, matrix[rng.integers(n_labels)]) for n in size])


def random_crowd(rng, n_labels, n_responses, *, ordered, n_tasks=1000):
    """Buckets of a crowd whose matrix has monotone likelihood ratios, or only its largest entries on the diagonal."""
    matrix = random_matrix(n_labels, rng)
    if ordered:
        distance = np.arange(n_labels) - np.sort(rng.uniform(0, n_labels - 1, n_labels))[:, None]
        matrix = np.exp(-((distance / rng.uniform(0.5, 2)) ** 2))
        matrix /= matrix.sum(axis=1, keepdims=True)
    truth = rng.choice(n_labels, n_tasks, p=rng.dirichlet(np.full(n_labels, 2.0)))
    sizes = rng.integers(n_responses, n_responses + 1, n_tasks)
    return Buckets.from_arrays(rng.multinomial(sizes, matrix[truth]))[0]


@pytest.mark.grid
@pytest.mark.parametrize("space", MAPPING_SPACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_never_above_brute_force_nor_the_bound_below_it(equal, kind, space, effort):
    reached, tried = 0, 0
    for n_labels in (2, 3, 4):
        for seed in range(effort(25)):
            rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind)])
            tasks = random_tasks(rng, n_labels, equal=equal)
            objective = random_objective(rng, kind, n_labels)
            buckets, index = Buckets.from_arrays(tasks)
            outcome = search(Problem(buckets, space, objective), Limits())
            shares = oracle_words(objective)
            best = oracle.brute_force(tasks, space=space, shares=shares).value
            value = oracle.log_likelihood(tasks, outcome.mapping[index], shares)
            assert outcome.objective == pytest.approx(value, abs=1e-9)
            assert np.isfinite(value)
            assert value <= best + 1e-9 <= outcome.bound + 2e-9
            assert (outcome.space, outcome.stop) == (space, Stop.FINISHED)
            if space is Space.DOMINANCE:
                assert oracle.respects_order(tasks, outcome.mapping[index])
            reached += value >= best - 1e-9
            tried += 1
    assert reached >= 0.98 * tried


@pytest.mark.parametrize(("n_labels", "n_responses", "n_crowds"), [(3, 5, 34), (4, 4, 33), (5, 3, 33)])
def test_finds_the_optimum_of_chain_in_nearly_all_crowds(n_labels, n_responses, n_crowds, effort):
    missed = []
    for seed in range(effort(n_crowds)):
        rng = np.random.default_rng([seed, n_labels, n_responses])
        buckets = random_crowd(rng, n_labels, n_responses, ordered=seed % 2 == 0)
        problem = Problem(buckets, objective=random_objective(rng, KINDS[seed % 3], n_labels))
        best, outcome = chain(problem, Limits()), search(problem, Limits())
        assert respects(Order.of(buckets.counts), outcome.mapping)
        assert outcome.objective <= best.bound + 1e-9
        if outcome.objective < best.objective - problem.tolerance(best.objective):
            missed.append(seed)
    assert len(missed) <= 0.05 * effort(n_crowds)


@pytest.mark.parametrize("space", MAPPING_SPACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [1, 2])
def test_gains_are_those_of_the_moves(n_classes, kind, space, effort):
    """Every entry equals the difference of two evaluated mappings; several classes and mappings at once."""
    for seed in range(effort(10)):
        rng = np.random.default_rng([seed, 3])
        counts = rng.integers(0, 3, (9, n_classes, 3))
        buckets, _ = Buckets.from_arrays(counts, rng.integers(1, 9, 9))
        problem = Problem(buckets, space, random_objective(rng, kind, 3, n_classes))
        moves, order = Steps(problem), Order.of(buckets.counts)
        mappings = module.starts(problem, 6)
        gains, votes = moves.gains(mappings), moves.agreement_gains(mappings)
        for mapping, gain, vote in zip(mappings, gains, votes, strict=True):
            value = problem.objective.of_mapping(buckets, mapping)
            for bucket, label in np.argwhere(mapping[:, None] != np.arange(3)):
                moved = mapping.copy()
                moved[bucket] = label
                if space is Space.DOMINANCE and label > mapping[bucket]:
                    moved[order.dominates[:, bucket]] = np.maximum(moved[order.dominates[:, bucket]], label)
                elif space is Space.DOMINANCE:
                    moved[order.dominates[bucket]] = np.minimum(moved[order.dominates[bucket]], label)
                expected = problem.objective.of_mapping(buckets, moved) - value
                assert gain[bucket, label] == pytest.approx(expected, abs=1e-8)
                assert vote[bucket, label] == buckets.agreement(moved) - buckets.agreement(mapping)


@pytest.mark.grid
@pytest.mark.parametrize("n_classes", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_no_closure_move_improves_the_answer_and_starts_respect_the_order(kind, n_classes, effort):
    for seed in range(effort(8)):
        rng = np.random.default_rng([seed, 4])
        buckets, _ = Buckets.from_arrays(rng.integers(0, 4, (25, n_classes, 4)), rng.integers(1, 50, 25))
        problem = Problem(buckets, objective=random_objective(rng, kind, 4, n_classes))
        order = Order.of(buckets.counts)
        assert all(respects(order, mapping) for mapping in module.starts(problem, 50))
        outcome = search(problem, Limits())
        assert respects(order, outcome.mapping)
        assert Steps(problem).gains(outcome.mapping[None]).max() <= 1e-6
        expected = closure_moves(problem, outcome.mapping)
        assert outcome.margins.kind == "upper"
        assert np.array_equal(outcome.margins.values, expected.values)


@pytest.mark.parametrize("space", MAPPING_SPACES)
def test_same_problem_same_answer(space):
    buckets = random_crowd(np.random.default_rng(1), 4, 5, ordered=False)
    first, second = (search(Problem(buckets, space), Limits()) for _ in range(2))
    assert first.mapping.tolist() == second.mapping.tolist()
    assert (first.objective, first.bound, first.work) == (second.objective, second.bound, second.work)


@pytest.mark.grid
@pytest.mark.parametrize("space", MAPPING_SPACES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_clock_changes_the_answer(kind, space):
    rng = np.random.default_rng(2)
    buckets = random_crowd(rng, 4, 5, ordered=True)
    problem = Problem(buckets, space, random_objective(rng, kind, 4))
    outcome = search(problem, Limits(0.0))
    certificate = certify(problem, outcome, engine="search", seconds=0.0, fingerprint="")
    assert (certificate.proof, certificate.stop) == (Proof.BOUNDED, Stop.FINISHED)
    assert np.isfinite(outcome.objective)
    whole = search(problem, Limits())
    assert outcome.mapping.tolist() == whole.mapping.tolist()
    assert (outcome.objective, outcome.bound, outcome.work) == (whole.objective, whole.bound, whole.work)
    if space is Space.DOMINANCE:
        assert respects(Order.of(buckets.counts), outcome.mapping)


@pytest.mark.parametrize("space", MAPPING_SPACES)
def test_interrupt_keeps_the_best_so_far_and_progress_only_rises(space):
    problem = Problem(random_crowd(np.random.default_rng(3), 4, 5, ordered=True), space)
    finished = search(problem, Limits())
    seen = []
    for calls in (1, 2, 5):

        def stop_after(progress, calls=calls):
            seen.append(progress)
            return len(seen) >= calls

        seen.clear()
        outcome = search(problem, Limits(on_progress=stop_after))
        assert outcome.stop is Stop.INTERRUPT
        assert len(seen) == calls
        assert seen[-1].objective - 1e-6 <= outcome.objective <= finished.objective
        assert all(b.objective >= a.objective and b.work >= a.work for a, b in itertools.pairwise(seen))


def test_counted_work_ends_the_search_of_a_large_problem(monkeypatch):
    monkeypatch.setattr(module, "SEARCH_WORK", 200_000_000)
    rng = np.random.default_rng(4)
    buckets, _ = Buckets.from_arrays(rng.integers(0, 6, (1500, 5)))
    for space in MAPPING_SPACES:
        started = time.monotonic()
        problem = Problem(buckets, space)
        climbs = Climbs(problem, Limits(0.0))
        climbs.run()
        most = climbs.moves.block * climbs.moves.charge  # of one step, after which it is asked whether to go on
        assert 200_000_000 <= climbs.spent <= 200_000_000 + most
        assert climbs.stop is Stop.FINISHED
        assert climbs.best == pytest.approx(search(problem, Limits()).objective)
        assert time.monotonic() - started < 20


def test_too_many_buckets_for_the_order(monkeypatch):
    monkeypatch.setattr(margins, "MAX_ORDERED_BUCKETS", 10)
    buckets = random_crowd(np.random.default_rng(5), 3, 6, ordered=True)
    problem = Problem(buckets)
    outcome = search(problem, Limits())
    assert outcome.stop is Stop.FINISHED
    assert respects(Order.of(buckets.counts), outcome.mapping)
    alone = [problem.objective.of_mapping(buckets, np.full(buckets.n_buckets, j)) for j in range(3)]
    assert outcome.objective >= max(alone)
    exact = chain(problem, Limits())
    same = outcome.mapping == exact.mapping
    lost = exact.objective - outcome.objective
    assert (outcome.margins.values + lost >= exact.margins.values - 1e-6)[same].all()


@pytest.mark.parametrize("n_labels", [3, 9])
def test_clusters_over_all_mappings_are_named_by_agreement(n_labels):
    """Workers who answer mostly right, on either side of the limit up to which all names are tried."""
    matrix = np.full((n_labels, n_labels), 0.2 / (n_labels - 1))
    np.fill_diagonal(matrix, 0.8)
    rng = np.random.default_rng(6)
    truth = np.arange(120) % n_labels
    buckets, _ = Buckets.from_arrays(rng.multinomial(7, matrix[truth]))
    problem = Problem(buckets, Space.ALL)
    plurality = buckets.counts[:, 0].argmax(axis=1)
    for _ in range(5):
        assert renamed(problem, rng.permutation(n_labels)[plurality]).tolist() == plurality.tolist()
    assert (search(problem, Limits()).mapping == plurality).mean() > 0.9


def test_given_shares_and_order_name_clusters_too():
    buckets, _ = Buckets.from_arrays([[9, 1, 0], [1, 9, 0]], [90, 10])
    shares = Objective("given", (0.1, 0.1, 0.8))
    mapping = np.array([1, 0])  # buckets are sorted: (1, 9, 0) first
    assert renamed(Problem(buckets, Space.ALL, shares), mapping).tolist() == [0, 2]
    assert renamed(Problem(buckets, Space.DOMINANCE), np.array([2, 1])).tolist() == [1, 0]


@pytest.mark.parametrize("space", MAPPING_SPACES)
def test_one_label_one_bucket_and_huge_counts(space):
    one, _ = Buckets.from_arrays([[3], [4]])
    assert search(Problem(one, space), Limits()).mapping.tolist() == [0, 0]
    single, _ = Buckets.from_arrays([[1, 2, 0]])
    assert search(Problem(single, space), Limits()).mapping.tolist() == [1]
    huge, _ = Buckets.from_arrays([[9, 1], [5, 5], [1, 9]], [2**57, 3, 2**57])
    outcome = search(Problem(huge, space), Limits())
    assert outcome.mapping.tolist()[::2] == [1, 0]
