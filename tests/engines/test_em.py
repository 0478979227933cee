"""Expectation maximisation: that it climbs, where it stops, and that it never beats brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from crowdopt.engines.base import Limits, certify
from crowdopt.engines.em.hard import START_NAMES, em, em1, em2, em3, hard_em, named_start
from crowdopt.engines.em.soft import soft_em, soft_em_engine
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from support import oracle

KINDS = ["none", "estimated", "given", "forbidden"]
KNOWN = ["nothing", "smoothing", "gold"]
ENGINES = [em, em1, em2, em3, soft_em_engine]
STARTS = [*START_NAMES, "vote", "random", "zeros"]
N_TASKS = {2: 8, 3: 6, 4: 5, 5: 4}
"""Few enough tasks, by number of labels, to enumerate every mapping."""


def random_objective(rng, kind, n_labels, offsets=None):
    if kind in {"none", "estimated"}:
        return Objective(kind, offsets=offsets)
    shares = rng.dirichlet(np.ones(n_labels))
    if kind == "forbidden":
        shares[rng.integers(n_labels)] = 0
        shares /= shares.sum()
    return Objective("given", tuple(shares.tolist()), offsets)


def random_offsets(rng, known, n_labels, n_classes):
    if known == "gold":
        responses = rng.integers(0, 4, (n_labels, n_classes, n_labels)) * rng.integers(0, 2, (n_labels, 1, 1))
        return Offsets.of(n_labels, n_classes, gold=(responses, responses.any(axis=(1, 2)).astype(np.int64)))
    return Offsets.of(n_labels, n_classes, smoothing=0.0 if known == "nothing" else 0.5)


def random_counts(rng, n_tasks, n_labels, n_classes, *, equal):
    """Tasks of a crowd; some tasks have no response from some class."""
    sizes = rng.integers(1, 5, n_classes) + np.zeros((n_tasks, 1), int)
    if not equal:
        sizes = rng.integers(0, 6, (n_tasks, n_classes))
        sizes[sizes.sum(axis=1) == 0, 0] = 1
    matrix = rng.dirichlet(np.full(n_labels, rng.choice([0.2, 1.0])), (n_classes, n_labels))
    truth = rng.integers(n_labels, size=n_tasks)
    return np.stack([rng.multinomial(sizes[:, k], matrix[k, truth]) for k in range(n_classes)], axis=1)


def random_start(rng, name, problem):
    shape = (problem.buckets.n_classes, problem.buckets.n_labels, problem.buckets.n_labels)
    if name == "random":
        return rng.dirichlet(np.ones(shape[1]), shape[:2]) * rng.uniform(0.1, 9, (*shape[:2], 1))
    if name == "zeros":
        return (rng.random(shape) < 0.6) + np.eye(shape[1])[rng.permutation(shape[1])]
    return name


def random_problems(n_seeds, *, n_tasks=25, starts=STARTS):
    """Problems of every kind with a start of every kind: (problem, start)."""
    for n_labels, n_classes, equal, kind in itertools.product((2, 3, 4, 5), (1, 2), (True, False), KINDS):
        for seed in range(n_seeds):
            rng = np.random.default_rng([seed, n_labels, n_classes, equal, KINDS.index(kind)])
            counts = random_counts(rng, n_tasks, n_labels, n_classes, equal=equal)
            offsets = random_offsets(rng, rng.choice(KNOWN), n_labels, n_classes)
            buckets, _ = Buckets.from_arrays(counts, rng.integers(1, 9, n_tasks))
            problem = Problem(buckets, Space.ALL, random_objective(rng, kind, n_labels, offsets))
            for name in starts:
                yield problem, random_start(rng, name, problem)


def rises(trace):
    """Whether a trace never falls by more than rounding."""
    return all(b >= a - 1e-9 * (1 + abs(b)) for a, b in itertools.pairwise(trace))


def forbidden(problem):
    return [label for label, share in enumerate(problem.objective.shares) if share == 0]


def log_p(matrix, counts, label):
    """Ln of the probability of the counts (class, answer) of one task, from the definition."""
    total = 0.0
    for k, i in itertools.product(*map(range, counts.shape)):
        if counts[k, i]:
            p = matrix[k, label, i]
            total += counts[k, i] * math.log(p) if p > 0 else -math.inf  # also where there is no row
    return total


def log(share):
    return math.log(share) if share > 0 else -math.inf


def marginal(problem, matrix, shares):
    """The marginal log-likelihood, from the definition."""
    total, objective = 0.0, problem.objective
    for counts, weight in zip(problem.buckets.counts, problem.buckets.weights, strict=True):
        terms = [log_p(matrix, counts, label) + log(share) for label, share in enumerate(shares)]
        total += weight * np.logaddexp.reduce(terms)
    if objective.offsets is not None:
        for label, share in enumerate(shares):
            total += log_p(matrix, objective.offsets.counts[label], label)
            if objective.kind == "estimated" and objective.offset_tasks(label):
                total += objective.offset_tasks(label) * math.log(share)
    return total


def test_hard_em_climbs_and_stops_where_its_own_matrix_agrees(effort):
    for problem, start in random_problems(effort(3)):
        run = hard_em(problem, start)
        assert rises(run.trace)
        assert run.converged
        assert run.stop is Stop.FINISHED
        assert np.isfinite(run.trace).all()
        assert not np.isin(run.mapping, forbidden(problem)).any()
        assert run.value == run.trace[-1] == problem.objective.of_mapping(problem.buckets, run.mapping)
        assert run.rounds == len(run.trace)
        rows = run.matrix[~np.isnan(run.matrix).any(axis=-1)]
        assert np.allclose(rows.sum(axis=-1), 1)
        _, tasks = problem.buckets.by_label(run.mapping)
        log_shares = problem.objective.log_shares(tasks)
        for counts, label in zip(problem.buckets.counts, run.mapping, strict=True):
            scores = np.array([log_p(run.matrix, counts, j) + log_shares[j] for j in range(len(tasks))])
            assert np.isfinite(scores[label])
            assert label == np.flatnonzero(scores >= scores.max() - 1e-9)[0]


def test_hard_em_fits_its_matrix_to_its_mapping_however_it_ends():
    for problem, start in random_problems(1):
        for max_rounds in (1, 2, 1000):
            run = hard_em(problem, start, max_rounds=max_rounds)
            assert run.rounds <= max_rounds
            for label in range(problem.buckets.n_labels):
                at = run.mapping == label
                for k in range(problem.buckets.n_classes):
                    counts = problem.buckets.responses[at, k].sum(axis=0).astype(float)
                    if problem.objective.offsets is not None:
                        counts += problem.objective.offsets.counts[label, k]
                    if counts.sum():
                        assert run.matrix[k, label] == pytest.approx(counts / counts.sum())
                    else:
                        assert np.isnan(run.matrix[k, label]).all() or at.any() or problem.objective.offsets is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_never_above_brute_force(equal, kind):
    reached = 0
    for n_labels, seed in itertools.product(N_TASKS, range(10)):
        rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind)])
        tasks = random_counts(rng, N_TASKS[n_labels], n_labels, 1, equal=equal)[:, 0]
        objective = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, Space.ALL, objective)
        shares = {"none": None, "estimated": "estimate"}.get(kind, list(objective.shares))
        best = oracle.brute_force(tasks, space="all", shares=shares).value
        values = {}
        for engine in ENGINES:
            outcome = engine(problem, Limits())
            value = oracle.log_likelihood(tasks, outcome.mapping[index], shares)
            assert np.isfinite(value)
            assert outcome.objective == pytest.approx(value, abs=1e-9)
            assert value <= best + 1e-9
            assert outcome.bound is None
            assert (outcome.space, outcome.stop) == (Space.ALL, Stop.FINISHED)
            values[engine] = value
        assert values[em] == pytest.approx(max(values[em1], values[em2], values[em3]), abs=1e-9)
        reached += values[em] >= best - 1e-9
    assert 0 < reached < 10 * len(N_TASKS)  # a local search: often right, not always


def test_soft_em_climbs_and_reports_what_it_computed():
    for problem, start in random_problems(1, starts=["1", "vote", "random", "zeros"]):
        run = soft_em(problem, start, max_rounds=30)
        assert rises(run.trace)
        assert run.trace[-1] >= run.trace[0]
        assert run.stop is Stop.FINISHED
        assert run.trace[-1] == pytest.approx(marginal(problem, run.matrix, run.shares), rel=1e-9)
        assert np.isfinite(run.trace[1:]).all()
        assert np.allclose(run.posterior.sum(axis=1), 1)
        assert not run.posterior[:, forbidden(problem)].any()
        assert not np.isin(run.mapping, forbidden(problem)).any()
        assert run.value == problem.objective.of_mapping(problem.buckets, run.mapping) > -math.inf
        rows, best = np.arange(problem.buckets.n_buckets), run.posterior.max(axis=1)
        assert (run.posterior[rows, run.mapping] >= best - 1e-9).all()
        if problem.objective.kind != "estimated":
            n_labels = problem.buckets.n_labels
            assert run.shares == pytest.approx(problem.objective.shares or [1 / n_labels] * n_labels)


@pytest.mark.full
def test_soft_em_converges_to_a_fixed_point_of_both_steps():
    tried = 0
    for problem, start in random_problems(1, n_tasks=12, starts=["vote", "random"]):
        run = soft_em(problem, start, max_rounds=400, tolerance=1e-12)
        if not run.converged:  # EM can be arbitrarily slow
            continue
        tried += 1
        counts, weights = problem.buckets.counts, problem.buckets.weights
        scores = np.array([[log_p(run.matrix, x, j) + log(s) for j, s in enumerate(run.shares)] for x in counts])
        posterior = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
        assert run.posterior == pytest.approx(posterior, abs=1e-9)
        expected = np.einsum("b,bj,bki->jki", weights, posterior, counts)
        tasks = weights @ posterior
        if problem.objective.offsets is not None:
            expected += problem.objective.offsets.counts
            tasks += problem.objective.offsets.gold_tasks
        whole = expected.sum(axis=-1, keepdims=True)
        refitted = np.swapaxes(expected / np.where(whole > 0, whole, 1), 0, 1)
        mass = np.swapaxes(whole, 0, 1) / whole.sum()  # a row that hardly counts is hardly determined
        error = np.where(mass > 0, mass * np.abs(refitted - run.matrix), 0)
        assert error.max() < 1e-4
        if problem.objective.kind == "estimated":
            assert run.shares == pytest.approx(tasks / tasks.sum(), abs=1e-4)
    assert tried > 80


def test_the_gradient_of_the_marginal_likelihood_vanishes_at_convergence():
    """Moving along any direction that keeps rows and shares normalised changes nothing to first order."""
    rng = np.random.default_rng(7)
    truth = rng.integers(3, size=300)
    matrix = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    buckets, _ = Buckets.from_arrays(rng.multinomial(rng.integers(2, 6, 300), matrix[truth]))
    problem = Problem(buckets, Space.ALL, Objective("estimated"))
    run = soft_em(problem, "1", max_rounds=20_000, tolerance=0.0)
    assert run.converged
    assert (run.matrix > 0.01).all()
    step = 1e-5
    for _ in range(10):
        by_row = rng.normal(size=(1, 3, 3))
        by_row -= by_row.mean(axis=-1, keepdims=True)
        by_share = rng.normal(size=3)
        by_share -= by_share.mean()
        up, down = (marginal(problem, run.matrix + h * by_row, run.shares + h * by_share) for h in (step, -step))
        assert abs(up - down) / (2 * step) < 0.01
        assert max(up, down) <= run.trace[-1] + 1e-9


def test_an_example_by_hand():
    """Three answers a task, two labels. From error rates of .25 the first assignment is the majority's.

    Then N_0 = (2 + 3, 1) and N_1 = 3 · (1, 2). So p(·|0) = (5/6, 1/6) and p(·|1) = (1/3, 2/3), which confirm the
    mapping: (1, 2) has 5/216 and 4/27, (2, 1) has 25/216 and 2/27, (3, 0) has 125/216 and 1/27.
    """
    buckets, _ = Buckets.from_arrays([[1, 2], [2, 1], [3, 0]], [3, 1, 1])
    run = hard_em(Problem(buckets), "1")
    assert run.mapping.tolist() == [1, 0, 0]
    assert run.matrix[0] == pytest.approx(np.array([[5 / 6, 1 / 6], [1 / 3, 2 / 3]]))
    value = 5 * math.log(5 / 6) + math.log(1 / 6) + 3 * math.log(1 / 3) + 6 * math.log(2 / 3)
    assert run.trace == pytest.approx((value, value))
    assert run.converged


def test_an_example_by_hand_in_which_a_bucket_moves():
    """Workers who miss much of what is there: the majority says no to (2, 1), its matrix yes.

    Majority: N_0 = 50 · (3, 0) + 10 · (2, 1) = (170, 10), N_1 = 20 · (1, 2) + 4 · (0, 3) = (20, 52). Then (2, 1) has
    (17/18)² / 18 = .0496 and (5/18)² · 13/18 = .0557: it moves, and N_0 = (150, 0), N_1 = (40, 62) move nothing more.
    """
    buckets, _ = Buckets.from_arrays([[0, 3], [1, 2], [2, 1], [3, 0]], [4, 20, 10, 50])
    problem = Problem(buckets)
    assert hard_em(problem, "1", max_rounds=1).mapping.tolist() == [1, 1, 0, 0]
    run = hard_em(problem, "1")
    assert run.mapping.tolist() == [1, 1, 1, 0]
    assert run.matrix[0] == pytest.approx(np.array([[1, 0], [40 / 102, 62 / 102]]))
    before = 170 * math.log(17 / 18) + 10 * math.log(1 / 18) + 20 * math.log(5 / 18) + 52 * math.log(13 / 18)
    after = 40 * math.log(40 / 102) + 62 * math.log(62 / 102)
    assert run.trace == pytest.approx((before, after, after))


def test_a_zero_of_the_matrix_never_goes_away():
    """Majority: N_0 = (170, 10), N_1 = (0, 30), so nothing that has a no can go to yes, although (2, 1) should.

    From p(no|yes) = 1/2 it does: (2, 1) has (17/18)² / 18 = .0496 and 1/8.
    """
    buckets, _ = Buckets.from_arrays([[0, 3], [2, 1], [3, 0]], [10, 10, 50])
    stuck = hard_em(Problem(buckets), "1")
    assert stuck.mapping.tolist() == [1, 0, 0]
    assert stuck.matrix[0] == pytest.approx(np.array([[170 / 180, 10 / 180], [0, 1]]))
    freed = hard_em(Problem(buckets), [[17, 1], [1, 1]])
    assert freed.mapping.tolist() == [1, 1, 0]
    assert freed.matrix[0] == pytest.approx(np.array([[1, 0], [1 / 3, 2 / 3]]))
    assert freed.value == pytest.approx(20 * math.log(1 / 3) + 40 * math.log(2 / 3))
    assert freed.value > stuck.value


def test_an_example_of_soft_em_by_hand():
    """Posteriors (.75, .25) and (.25, .75) of two single answers give back the matrix that they came from."""
    buckets, _ = Buckets.from_arrays([[1, 0], [0, 1]])
    run = soft_em(Problem(buckets), "1")
    assert run.posterior == pytest.approx(np.array([[0.25, 0.75], [0.75, 0.25]]))
    assert run.matrix[0] == pytest.approx(named_start("1", 2))
    assert run.trace == pytest.approx((2 * math.log(0.5),) * 2)
    assert run.converged
    assert run.mapping.tolist() == [1, 0]


def test_one_round_of_soft_em_by_hand():
    """Estimated shares: 3 tasks (1, 0) and 1 (0, 1) from .75 give .75·3 + .25·1 = 2.5 tasks of 4 to label 0."""
    buckets, _ = Buckets.from_arrays([[1, 0], [0, 1]], [3, 1])
    run = soft_em(Problem(buckets, objective=Objective("estimated")), "1", max_rounds=2)
    assert run.shares == pytest.approx([2.5 / 4, 1.5 / 4])
    assert run.matrix[0] == pytest.approx(np.array([[2.25 / 2.5, 0.25 / 2.5], [0.75 / 1.5, 0.75 / 1.5]]))
    assert run.rounds == 2
    assert run.stop is Stop.FINISHED


def test_offsets_are_responses_to_tasks_of_known_label():
    """Gold pulls a bucket of two against one over, and keeps a label without tasks in the game."""
    buckets, _ = Buckets.from_arrays([[2, 1]])
    gold = np.array([[[30, 0]], [[20, 10]]]), np.array([10, 10])
    problem = Problem(buckets, objective=Objective("estimated", offsets=Offsets.of(2, gold=gold)))
    run = hard_em(problem, "1")
    assert run.mapping.tolist() == [1]
    assert run.matrix[0] == pytest.approx(np.array([[1, 0], [22 / 33, 11 / 33]]))
    assert run.trace[0] < run.trace[-1]  # first by the start under label 0, then by what gold says
    soft = soft_em(problem, "1")
    assert soft.mapping.tolist() == [1]
    assert soft.shares == pytest.approx([10 / 21, 11 / 21], abs=1e-3)


@pytest.mark.parametrize("kind", ["none", "estimated"])
def test_em2_for_two_labels_stays_at_one_label_and_a_low_likelihood(kind):
    """Workers in agreement on a balanced set: error rates near one half, far below EM(1) and EM(3)."""
    buckets, _ = Buckets.from_arrays([[5, 0], [4, 1], [1, 4], [0, 5]], [40, 10, 10, 40])
    problem = Problem(buckets, objective=Objective(kind))
    run = hard_em(problem, "2")
    assert run.mapping.tolist() == [0, 0, 0, 0]
    assert run.matrix[0, 0] == pytest.approx([0.5, 0.5])
    assert np.isnan(run.matrix[0, 1]).all()
    first, second, third, best = (engine(problem, Limits()) for engine in (em1, em2, em3, em))
    assert second.objective == pytest.approx(500 * math.log(0.5))
    assert first.objective == pytest.approx(third.objective)
    assert first.objective > second.objective + 100
    assert first.mapping.tolist() == [1, 1, 0, 0] == best.mapping.tolist()  # the first among equals
    assert hard_em(problem, "3").mapping.tolist() == [0, 0, 1, 1]
    assert third.mapping.tolist() == [1, 1, 0, 0]  # named by agreement: exactly as likely, and not upside down
    assert best.work == (2 + 2 + 2) * 4


@pytest.mark.parametrize("space", Space)
@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_names_agree_with_most_responses_where_the_likelihood_cannot_tell_them_apart(n_labels, space):
    rng, differ = np.random.default_rng(12), 0
    for _ in range(10):
        buckets, _ = Buckets.from_arrays(random_counts(rng, 30, n_labels, 1, equal=False))
        problem = Problem(buckets, space)
        plain, engine = hard_em(problem, "3").mapping, em3(problem, Limits())
        named = [np.array(names)[plain] for names in itertools.permutations(range(n_labels))]
        assert buckets.agreement(engine.mapping) == max(map(buckets.agreement, named))
        assert any(np.array_equal(engine.mapping, one) for one in named)
        assert engine.objective == pytest.approx(problem.objective.of_mapping(buckets, plain), rel=1e-12)
        differ += not np.array_equal(engine.mapping, plain)
        told_apart = Problem(
            buckets, space, Objective("given", tuple(np.arange(1, n_labels + 1) / (n_labels * (n_labels + 1) / 2)))
        )
        assert np.array_equal(em3(told_apart, Limits()).mapping, hard_em(told_apart, "3").mapping)
    assert differ


def test_em2_goes_to_the_largest_share_if_shares_are_given():
    buckets, _ = Buckets.from_arrays([[5, 0], [0, 5]])
    assert hard_em(Problem(buckets, objective=Objective("given", (0.4, 0.6))), "2").mapping.tolist() == [1, 1]
    assert hard_em(Problem(buckets, objective=Objective("given", (0.5, 0.5))), "2").mapping.tolist() == [0, 0]


def test_ties_to_the_highest_label_are_the_mirror_image_of_ties_to_the_lowest():
    rng, differ = np.random.default_rng(4), 0
    for size in (2, 3, 4, 6):
        lower = np.arange(size + 1)
        for _ in range(8):
            weights = rng.integers(1, 40, size + 1)
            there, mirrored = (
                Problem(Buckets.from_arrays(np.column_stack(columns), weights)[0], Space.ALL)
                for columns in ((lower, size - lower), (size - lower, lower))
            )
            turn = np.argsort(mirrored.buckets.counts[:, 0, 1])  # buckets are sorted by their counts
            for start in START_NAMES:
                low, high = hard_em(mirrored, start), hard_em(there, start, ties="highest")
                np.testing.assert_array_equal(high.mapping, 1 - low.mapping[turn])
                assert high.value == pytest.approx(low.value)
                assert high.tied == low.tied
                other = hard_em(there, start)
                assert other.tied or np.array_equal(other.mapping, high.mapping)
                differ += not np.array_equal(other.mapping, high.mapping)
            assert hard_em(there, "2").tied
    assert differ


def test_no_other_rule_for_ties():
    with pytest.raises(InputError, match="the lowest or the highest label, not to 'votes'"):
        hard_em(Problem(Buckets.from_arrays([[1, 2]])[0]), "1", ties="votes")


def test_ties_go_to_the_lowest_label_whatever_rounding_does():
    """Under rows that are permutations of each other, sums of the same logarithms in another order."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        row = rng.dirichlet(np.ones(3))
        start = [row[rng.permutation(3)] for _ in range(3)]
        few, many = (Problem(Buckets.from_arrays([[n, n, n]])[0]) for n in rng.integers(1, [99, 2**40]))
        assert hard_em(few, start, max_rounds=1).mapping.tolist() == [0]
        assert hard_em(many, start, max_rounds=1).mapping.tolist() == [0]
        assert soft_em(few, start, max_rounds=1).mapping.tolist() == [0]


def test_a_label_that_loses_all_tasks_is_out():
    buckets, _ = Buckets.from_arrays([[5, 1, 0], [1, 5, 0], [4, 2, 0]], [9, 9, 3])
    run = hard_em(Problem(buckets), "1")
    assert 2 not in run.mapping
    assert np.isnan(run.matrix[0, 2]).all()
    vote = soft_em(Problem(buckets), "vote")
    assert np.isnan(vote.matrix[0, 2]).all()
    assert not vote.posterior[:, 2].any()


def test_a_bucket_that_no_label_explains_stays_put():
    """Both rows of the start exclude the answer 1; share zero excludes label 0."""
    buckets, _ = Buckets.from_arrays([[0, 2], [2, 0]])
    start = [[1, 0], [1, 0]]
    assert hard_em(Problem(buckets), start).mapping.tolist() == [0, 0]
    only = Problem(buckets, objective=Objective("given", (0.0, 1.0)))
    for run in (hard_em(only, start), hard_em(only, "vote"), soft_em(only, start), soft_em(only, "vote")):
        assert run.mapping.tolist() == [1, 1]
        assert run.value == pytest.approx(4 * math.log(0.5))
    soft = soft_em(Problem(buckets, objective=Objective("given", (0.3, 0.7))), start, max_rounds=1)
    assert soft.posterior[0] == pytest.approx([0.3, 0.7])
    assert soft.trace == (-math.inf,)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("forbid", range(3))
def test_a_share_of_zero_forbids_a_label(engine, forbid):
    buckets, _ = Buckets.from_arrays(3 * np.eye(3, dtype=int) + np.ones((3, 3), int), [5, 6, 7])
    shares = [0.5, 0.5, 0.5]
    shares[forbid] = 0.0
    outcome = engine(Problem(buckets, Space.ALL, Objective("given", tuple(shares))), Limits())
    assert forbid not in outcome.mapping
    assert np.isfinite(outcome.objective)


def test_named_starts_are_the_papers_after_transposing():
    assert named_start("1", 2).tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert named_start("2", 2).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert named_start("3", 2).tolist() == [[0.25, 0.75], [0.75, 0.25]]
    printed = {
        "1": [[0.6, 0.33, 0.07], [0.33, 0.34, 0.33], [0.07, 0.33, 0.6]],
        "2": [[0.34, 0.33, 0.33], [0.33, 0.34, 0.33], [0.33, 0.33, 0.34]],
        "3": [[0.07, 0.33, 0.6], [0.33, 0.34, 0.33], [0.6, 0.34, 0.07]],
    }
    for name, columns in printed.items():
        matrix = np.array(columns).T
        if name == "3":
            matrix[1] /= 1.01
        assert named_start(name, 3) == pytest.approx(matrix)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 9])
def test_named_starts_of_any_size(n_labels):
    first, second, third = (named_start(name, n_labels) for name in START_NAMES)
    for matrix in (first, second, third):
        assert matrix.shape == (n_labels, n_labels)
        assert matrix.sum(axis=1) == pytest.approx(np.ones(n_labels))
        assert (matrix > 0).all()
    assert first.argmax(axis=1).tolist() == list(range(n_labels))
    assert third == pytest.approx(first[::-1], abs=0.01)
    assert np.abs(second - 1 / n_labels).max() <= 0.01
    assert (np.diag(second)[:, None] >= second).all()


@pytest.mark.parametrize(
    "start",
    [
        "4",
        "",
        [[1, 0], [0, 0]],
        [[1, -1], [0, 1]],
        [[1, math.nan], [0, 1]],
        [[1, math.inf], [0, 1]],
        [[1, 2, 3]] * 3,
        [1, 2],
        [[[1, 1], [1, 1]]] * 2,
        [[1, 2], [1]],
        [["a", "b"], ["c", "d"]],
        None,
    ],
)
@pytest.mark.parametrize("run", [hard_em, soft_em])
def test_bad_starts(run, start):
    buckets, _ = Buckets.from_arrays([[1, 2], [2, 1]])
    with pytest.raises(InputError, match="start"):
        run(Problem(buckets), start)


def test_bad_limits():
    problem = Problem(Buckets.from_arrays([[1, 2]])[0])
    for run in (hard_em, soft_em):
        with pytest.raises(InputError, match="at least one round"):
            run(problem, "1", max_rounds=0)
    for tolerance in (-1e-9, math.nan):
        with pytest.raises(InputError, match="tolerance"):
            soft_em(problem, "1", tolerance=tolerance)
    with pytest.raises(InputError, match="no start 'vote'"):
        named_start("vote", 2)


def test_starts_are_normalised_and_shared_by_all_classes():
    counts = np.random.default_rng(9).integers(0, 4, (20, 2, 3)) + 1
    problem = Problem(Buckets.from_arrays(counts)[0], Space.ALL)
    matrix = named_start("1", 3)
    for run in (hard_em, soft_em):
        named = run(problem, "1")
        for start in (matrix, 7 * matrix, 1e308 * matrix, np.stack([matrix, 3 * matrix])):
            other = run(problem, start)
            assert other.mapping.tolist() == named.mapping.tolist()
            assert other.trace == pytest.approx(named.trace)
    assert matrix == pytest.approx(named_start("1", 3))  # untouched


def test_a_class_without_responses_under_a_label_does_not_make_its_responses_free():
    """Class 1 never answers the tasks of label 0 at first; its row there stays that of the start."""
    counts = [[[5, 0], [0, 0]], [[0, 5], [0, 2]], [[0, 5], [2, 0]]]
    problem = Problem(Buckets.from_arrays(counts)[0], Space.ALL)
    run = hard_em(problem, "1")
    assert run.matrix[1, 0] == pytest.approx([0.75, 0.25])
    assert run.mapping.tolist() == [1, 1, 0]
    assert rises(run.trace)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_time_still_gives_a_valid_answer(kind, engine):
    rng = np.random.default_rng(10)
    buckets, _ = Buckets.from_arrays(random_counts(rng, 200, 4, 1, equal=False))
    problem = Problem(buckets, objective=random_objective(rng, kind, 4))
    outcome = engine(problem, Limits(0.0))
    certificate = certify(problem, outcome, engine=engine.__name__, seconds=0.0, fingerprint="")
    assert (certificate.proof, certificate.stop) == (Proof.NONE, Stop.TIME)
    assert outcome.work == buckets.n_buckets
    assert outcome.objective == problem.objective.of_mapping(buckets, outcome.mapping) > -math.inf


@pytest.mark.parametrize("engine", [em, em1])
def test_interrupt_keeps_the_best_so_far_and_progress_only_rises(engine):
    rng = np.random.default_rng(11)
    problem = Problem(Buckets.from_arrays(random_counts(rng, 300, 4, 1, equal=False))[0], Space.ALL)
    finished = engine(problem, Limits())
    for calls in range(1, 6):
        seen = []

        def stop_after(progress, calls=calls, seen=seen):
            seen.append(progress)
            return len(seen) >= calls

        outcome = engine(problem, Limits(on_progress=stop_after))
        assert len(seen) <= calls
        assert (outcome.stop is Stop.INTERRUPT) == (len(seen) == calls)
        assert seen[-1].objective - 1e-9 <= outcome.objective <= finished.objective <= seen[-1].bound
        assert all(b.objective >= a.objective - 1e-9 and b.work > a.work for a, b in itertools.pairwise(seen))


def test_same_problem_same_answer_and_extreme_sizes():
    huge, _ = Buckets.from_arrays([[9, 1], [5, 5], [1, 9]], [2**57, 3, 2**57])
    tall, _ = Buckets.from_arrays([[2**40, 2**38], [2**38, 2**40]])
    one, _ = Buckets.from_arrays([[3], [4]])
    for buckets, expected in ((huge, [1, 0]), (tall, [1, 0]), (one, [0, 0])):
        for engine in (em, em1, soft_em_engine):
            first, second = (engine(Problem(buckets, Space.ALL), Limits()) for _ in range(2))
            assert first.mapping[[0, -1]].tolist() == expected
            assert first.mapping.tolist() == second.mapping.tolist()
            assert (first.objective, first.work) == (second.objective, second.work)
