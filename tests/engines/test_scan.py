"""The scan engine against brute force over every mapping of tasks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt.engines.base import Limits
from crowdopt.engines.registry import run
from crowdopt.engines.scan import rank_by_share, scan
from crowdopt.engines.solve import solve
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import MAPPING_SPACES, Proof, Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.problem import Problem
from support import oracle
from support.problems import KINDS, PLAIN_KINDS, random_objective

SELECTIVITIES = ["none", "estimate", "given", "forbidden"]


def random_tasks(rng: np.random.Generator, *, equal: bool) -> np.ndarray:
    """A few tasks with few responses: small enough to enumerate, and full of ties."""
    n_tasks = int(rng.integers(1, 10))
    size = np.full(n_tasks, rng.integers(1, 6)) if equal else rng.integers(1, 7, n_tasks)
    lean = rng.choice([0.5, 0.7, 0.9])
    truth = rng.random(n_tasks) < rng.choice([0.2, 0.5])
    yes = rng.binomial(size, np.where(truth, lean, 1 - lean))
    return np.stack([size - yes, yes], axis=1)


def random_selectivity(rng: np.random.Generator, kind: str):
    if kind == "given":
        share = round(float(rng.choice([0.5, rng.uniform(0.02, 0.98)])), 3)
        return [1 - share, share]
    if kind == "forbidden":
        return [1.0, 0.0] if rng.random() < 0.5 else [0.0, 1.0]
    return kind


@pytest.mark.parametrize("space", ["dominance", "all"])
@pytest.mark.parametrize("kind", SELECTIVITIES)
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force_in_the_space_it_names(equal, kind, space, effort):
    for seed in range(effort(400, whole=True)):
        rng = np.random.default_rng([seed, equal, SELECTIVITIES.index(kind), space == "all"])
        tasks = random_tasks(rng, equal=equal)
        selectivity = random_selectivity(rng, kind)
        result = solve(tasks, selectivity=selectivity, space=space)
        certificate = result.certificate
        shares = None if selectivity == "none" else selectivity
        truth = oracle.brute_force(tasks, space=certificate.space, shares=shares)
        value = oracle.log_likelihood(tasks, result.mapping, shares)
        assert certificate.objective == pytest.approx(value, abs=1e-9)
        assert certificate.bound >= truth.value - 1e-9
        assert truth.value - value <= certificate.gap + 1e-9
        if space == "dominance":
            assert oracle.respects_order(tasks, result.mapping)
        assert certificate.proof is Proof.PROVED
        assert value == pytest.approx(truth.value, abs=1e-9)
        told_apart = isinstance(selectivity, list) and selectivity[0] != selectivity[1]
        assert certificate.space is (Space.DOMINANCE if told_apart and space == "dominance" else Space.ALL)
        assert certificate.engine == ("chain" if told_apart and space == "dominance" and varies(tasks) else "scan")


def varies(tasks: np.ndarray) -> bool:
    return len(np.unique(tasks.sum(axis=1))) > 1


@pytest.mark.parametrize("space", MAPPING_SPACES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in PLAIN_KINDS])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force_with_offsets(equal, kind, space, effort):
    for seed in range(effort(100, whole=True)):
        rng = np.random.default_rng([seed, equal, KINDS.index(kind), space is Space.ALL])
        tasks = random_tasks(rng, equal=equal)
        objective, added = random_objective(rng, kind, 2)
        buckets, index = Buckets.from_arrays(tasks)
        solved = run(Problem(buckets, space, objective), Limits(), labels=["0", "1"])
        certificate, mapping = solved.certificate, solved.mapping[index]
        assert certificate.proof is Proof.PROVED
        truth = oracle.brute_force(tasks, space=certificate.space.value, shares=added)
        assert certificate.objective == pytest.approx(truth.value, abs=1e-9)
        assert oracle.log_likelihood(tasks, mapping, added) == pytest.approx(truth.value, abs=1e-9)
        assert certificate.given == objective.given
        if space is Space.DOMINANCE:
            assert oracle.respects_order(tasks, mapping)


@pytest.mark.parametrize("kind", SELECTIVITIES)
def test_tie_rule_prefers_agreement_then_the_smallest_mapping(kind, effort):
    """With equal numbers the engine sees every optimum that respects the order, so the rule is fully checkable."""
    for seed in range(effort(400, whole=True)):
        rng = np.random.default_rng([seed, 77])
        tasks = random_tasks(rng, equal=True)
        selectivity = random_selectivity(rng, kind)
        shares = None if selectivity == "none" else selectivity
        result = solve(tasks, selectivity=selectivity)
        optima = oracle.brute_force(tasks, space="dominance", shares=shares).mappings
        rows = np.arange(len(tasks))
        agreement = np.array([tasks[rows, mapping].sum() for mapping in optima])
        optima = optima[agreement == agreement.max()]
        order = np.lexsort((tasks[:, 1], tasks[:, 0]))
        smallest = min(optima, key=lambda mapping: mapping[order].tolist())
        assert result.mapping.tolist() == smallest.tolist()


def test_margins_with_equal_numbers_are_exact(effort):
    for seed in range(effort(400, whole=True)):
        rng = np.random.default_rng([seed, 5])
        tasks = random_tasks(rng, equal=True)
        buckets, index = Buckets.from_arrays(tasks)
        kind = ["none", "estimated"][seed % 2]
        outcome = scan(Problem(buckets, objective=Objective(kind)), Limits())
        assert outcome.margins is not None
        assert outcome.margins.kind == "exact"
        shares = "estimate" if kind == "estimated" else None
        consistent = oracle.consistent_mappings(tasks)
        values = np.array([oracle.log_likelihood(tasks, mapping, shares) for mapping in consistent])
        for task, bucket in enumerate(index):
            other = values[consistent[:, task] != outcome.mapping[bucket]].max()
            assert outcome.margins.values[bucket] == pytest.approx(max(0.0, values.max() - other), abs=1e-8)


@pytest.mark.parametrize(("a", "b"), [((1, 1), (0, 1)), ((3, 1), (1, 3))])
def test_swapping_the_labels_swaps_a_unique_answer(a, b):
    counts = np.array([a, b, (4, 0), (0, 4), (5, 2)])
    weights = np.array([3, 2, 9, 8, 1])
    forward = solve(counts, weights).mapping
    swapped = solve(counts[:, ::-1], weights).mapping
    assert (forward == 1 - swapped).all()


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=8),
    st.sampled_from(["none", "estimate"]),
    st.randoms(use_true_random=False),
)
def test_order_of_rows_and_merging_change_nothing(rows, selectivity, random):
    counts = np.array(rows)
    if counts.sum() == 0:
        return
    result = solve(counts, selectivity=selectivity)
    shuffled = list(range(len(rows)))
    random.shuffle(shuffled)
    again = solve(counts[shuffled], selectivity=selectivity)
    assert again.mapping.tolist() == result.mapping[shuffled].tolist()
    assert again.certificate == result.certificate
    doubled = solve(np.concatenate([counts, counts]), selectivity=selectivity)
    weighted = solve(counts, np.full(len(counts), 2), selectivity=selectivity)
    assert doubled.certificate == weighted.certificate


def test_thresholds_alone_miss_optima_that_lines_find():
    """With estimated selectivity and varying numbers a threshold on the share of yes is not enough."""
    missed = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 9])
        tasks = random_tasks(rng, equal=False)
        buckets, _ = Buckets.from_arrays(tasks)
        problem = Problem(buckets, objective=Objective("estimated"))
        from crowdopt.engines.scan import Cuts

        best_threshold = Cuts(problem).values.max()
        missed += best_threshold < scan(problem, Limits()).objective - 1e-9
    assert missed > 0


def big_varying_problem(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    grid = np.array([(no, yes) for no in range(n) for yes in range(n) if no + yes])
    return grid, np.random.default_rng(3).integers(1, 50, len(grid))


def test_past_the_time_limit_the_answer_is_bounded_never_proved():
    counts, weights = big_varying_problem()
    result = solve(counts, weights, selectivity="estimate", time_limit=0.0)
    certificate = result.certificate
    assert (certificate.proof, certificate.stop) == (Proof.BOUNDED, Stop.TIME)
    assert certificate.gap > certificate.tolerance
    full = solve(counts[:300], weights[:300], selectivity="estimate")
    assert full.certificate.proof is Proof.PROVED
    short = solve(counts[:300], weights[:300], selectivity="estimate", time_limit=0.0).certificate
    assert short.bound >= full.certificate.objective >= short.objective


def test_a_callback_that_asks_to_stop_is_an_interrupt():
    counts, weights = big_varying_problem(12)
    seen = []

    def stop_at_fifth(progress):
        seen.append(progress)
        return len(seen) == 5

    certificate = solve(counts, weights, selectivity="estimate", on_progress=stop_at_fifth).certificate
    assert (certificate.proof, certificate.stop) == (Proof.BOUNDED, Stop.INTERRUPT)
    assert [p.work for p in seen] == sorted(p.work for p in seen)
    assert all(p.objective <= p.bound for p in seen)


def test_counts_too_large_for_exact_slopes_are_bounded():
    certificate = solve([[2**26, 1], [1, 3], [2, 5]], selectivity="estimate").certificate
    assert certificate.proof is Proof.BOUNDED
    assert certificate.stop is Stop.MEMORY


def test_shares_are_ranked_without_rounding():
    """Two shares that differ by 1e-20 are different, and the right one is higher."""
    n = 10**10
    buckets, _ = Buckets.from_arrays([[n - 1, n], [n, n + 1], [1, 1], [2, 2]])
    ranks = {tuple(row[0]): rank for row, rank in zip(buckets.counts.tolist(), rank_by_share(buckets), strict=True)}
    assert ranks[1, 1] == ranks[2, 2] < ranks[n, n + 1] < ranks[n - 1, n]


@pytest.mark.parametrize(
    ("counts", "mapping"), [([[0, 5]], [1]), ([[5, 0]], [0]), ([[2, 2]], [0]), ([[0, 1], [0, 7]], [1, 1])]
)
def test_trivial_problems_have_real_certificates(counts, mapping):
    result = solve(counts)
    assert result.mapping.tolist() == mapping
    assert result.certificate.proof is Proof.PROVED
    assert result.certificate.gap == 0


def test_an_unused_label_has_no_row_in_the_matrix():
    matrix = solve([[0, 5], [0, 3]]).matrix
    assert np.isnan(matrix[0, 0]).all()
    assert matrix[0, 1].tolist() == [0.0, 1.0]


def test_an_exact_tie_under_given_shares_goes_to_the_crowd_that_is_right_side_up():
    result = solve([[0, 5], [1, 4], [4, 1], [5, 0]], [1, 2, 2, 1], selectivity=[0.3, 0.7], space="all")
    assert result.mapping.tolist() == [1, 1, 0, 0]


def engine_outcome(counts, weights, objective=None):
    buckets, index = Buckets.from_arrays(counts, weights)
    outcome = scan(Problem(buckets, objective=objective or Objective()), Limits())
    return outcome.mapping[index].tolist(), outcome.margins.tied[index].tolist()


def test_buckets_of_one_share_that_could_go_either_way_together_are_ties():
    mapping, tied = engine_outcome([[4, 0], [0, 4], [1, 1], [2, 2]], [20, 20, 1, 1])
    assert mapping[:2] == [0, 1]
    assert tied == [False, False, True, True]


@pytest.mark.parametrize("kind", SELECTIVITIES)
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_a_tie_is_a_real_one_and_margins_are_never_below_the_true_ones(equal, kind, effort):
    for seed in range(effort(100, whole=True)):
        rng = np.random.default_rng([seed, 31, equal, SELECTIVITIES.index(kind)])
        tasks = random_tasks(rng, equal=equal)
        selectivity = random_selectivity(rng, kind)
        shares = None if selectivity == "none" else selectivity
        objective = {"none": Objective(), "estimate": Objective("estimated")}.get(kind)
        objective = objective or Objective("given", tuple(selectivity))
        buckets, index = Buckets.from_arrays(tasks)
        outcome = scan(Problem(buckets, objective=objective), Limits())
        # Over all mappings, or where the space is dominance over those that respect the order.
        candidates = oracle.consistent_mappings(tasks) if outcome.space is Space.DOMINANCE else None
        candidates = oracle.all_mappings(*tasks.shape) if candidates is None else candidates
        values = oracle._values(tasks, candidates, shares)
        for task, bucket in enumerate(index):
            other = values[candidates[:, task] != outcome.mapping[bucket]].max()
            assert outcome.margins.values[bucket] >= max(0.0, outcome.objective - other) - 1e-9
            if outcome.margins.tied[bucket]:
                assert other >= outcome.objective - 2e-9


def test_a_forbidden_label_needs_no_search():
    counts, weights = big_varying_problem(18)
    result = solve(counts, weights, selectivity=[1.0, 0.0], time_limit=20)
    assert result.certificate.proof is Proof.PROVED
    assert not result.mapping.any()


def test_a_stop_after_the_last_line_is_no_stop():
    counts, weights = big_varying_problem(4)
    n_buckets = len(counts)
    calls = []

    def stop_when_all_is_done(progress):
        calls.append(progress)
        return len(calls) > n_buckets

    certificate = solve(counts, weights, selectivity="estimate", on_progress=stop_when_all_is_done).certificate
    assert (certificate.proof, certificate.stop) == (Proof.PROVED, Stop.FINISHED)


@pytest.mark.parametrize("time_limit", [-1, float("nan")])
def test_a_time_limit_is_a_number_of_seconds(time_limit):
    with pytest.raises(InputError, match="time limit"):
        solve([[1, 2]], time_limit=time_limit)


@pytest.mark.parametrize(
    ("counts", "weights", "message"),
    [
        ([[2**62, 2**62], [1, 0]], None, "64-bit"),
        ([[2, 1], [1, 0]], [2**62, 1], "64-bit"),
        ([[0, 0]], None, "no responses"),
        ([[1, 2]], [0], "no responses"),
        ([[1, 2], [1]], None, "rectangular"),
        ([[1, -2]], None, "at least 0"),
        ([[1, 2.5]], None, "whole numbers"),
        ([[1, 2]], [1, 2], "weights have shape"),
    ],
)
def test_impossible_counts_are_refused(counts, weights, message):
    with pytest.raises(InputError, match=message):
        solve(counts, weights)
