"""EM by hand: small examples, ties, labels that go out, and shares."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.em.hard import em, em1, em2, em3, hard_em
from crowdopt.engines.em.soft import soft_em
from crowdopt.engines.em.steps import START_NAMES, named_start
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import MAPPING_SPACES, Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from support.em import ENGINES, random_counts


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


@pytest.mark.parametrize("space", MAPPING_SPACES)
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
