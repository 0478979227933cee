"""Where EM starts, and what it says when it is stopped."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from crowdopt.engines.base import Limits, certify
from crowdopt.engines.em.hard import em, em1, hard_em
from crowdopt.engines.em.soft import soft_em, soft_em_engine
from crowdopt.engines.em.steps import START_NAMES, named_start
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.problem import Problem
from support.em import ENGINES, KINDS, random_counts, random_objective, rises


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
def test_no_clock_changes_the_answer(kind, engine):
    rng = np.random.default_rng(10)
    buckets, _ = Buckets.from_arrays(random_counts(rng, 200, 4, 1, equal=False))
    problem = Problem(buckets, objective=random_objective(rng, kind, 4))
    outcome = engine(problem, Limits(0.0))
    certificate = certify(problem, outcome, engine=engine.__name__, seconds=0.0, fingerprint="")
    assert (certificate.proof, certificate.stop) == (Proof.NONE, Stop.FINISHED)
    whole = engine(problem, Limits())
    assert (outcome.mapping.tolist(), outcome.work) == (whole.mapping.tolist(), whole.work)
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
