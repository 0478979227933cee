"""The certified maximum of the marginal likelihood: no parameters are above a stated bound, none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdopt.engines.base import Limits, Progress
from crowdopt.engines.marginal.engine import marginal
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.problem import PARAMETER_TOLERANCE as TOLERANCE
from support.marginal import KINDS, random_parameters, small_problem, values_at

SIZES = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1)]
POINTS = 100_000
SECONDS = 0.5


def value_of(problem, found):
    return float(values_at(problem, found.parameters.shares[None], found.parameters.matrix[None])[0])


def check_bound(problem, found, rng, n_points=POINTS):
    """The value is that of the parameters, and nobody is above the bound; rounding of this sum aside."""
    assert found.objective == pytest.approx(value_of(problem, found), abs=1e-9)
    assert found.bound >= found.objective
    for _ in range(max(1, n_points // 20_000)):
        highest = values_at(problem, *random_parameters(rng, problem, min(n_points, 20_000))).max()
        assert highest <= found.bound + 1e-9


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_random_parameters_are_above_the_bound(size, kind, effort):
    rng = np.random.default_rng([*size, KINDS.index(kind)])
    for _ in range(effort(10)):
        problem = small_problem(rng, *size, kind)
        check_bound(problem, marginal(problem, Limits(SECONDS)), rng)


@pytest.mark.parametrize("kind", ["plain", "smoothing", "gold", "unanimous", "one each"])
def test_no_point_of_a_fine_grid_is_above_the_bound(kind, effort):
    rng = np.random.default_rng(KINDS.index(kind))
    steps = np.concatenate([[0.0, 1e-6], np.linspace(0.01, 0.99, 50), [1 - 1e-6, 1.0]])
    share, first, second = (axis.ravel() for axis in np.meshgrid(steps, steps, steps))
    shares = np.stack([share, 1 - share], axis=1)
    matrices = np.stack([first, 1 - first, second, 1 - second], axis=1).reshape(-1, 1, 2, 2)
    for _ in range(effort(20)):
        problem = small_problem(rng, 2, 1, kind)
        found = marginal(problem, Limits(60.0))
        assert found.bound - found.objective <= TOLERANCE
        assert values_at(problem, shares, matrices).max() <= found.bound + 1e-9


@pytest.mark.parametrize(("size", "answers"), [((2, 1), 4), ((2, 2), 4), ((3, 1), 9)], ids=str)
def test_small_crowds_are_proved(size, answers, effort):
    rng = np.random.default_rng(size)
    for _ in range(effort(30)):
        problem = small_problem(rng, *size, "skilled", answers=(answers - 3, answers))
        found = marginal(problem, Limits(60.0))
        assert (found.stop, found.space) == (Stop.FINISHED, Space.PARAMETERS)
        assert found.bound - found.objective <= TOLERANCE


def test_better_parameters_are_looked_for_from_many_starts(effort):
    rng = np.random.default_rng(5)
    for _ in range(effort(20)):
        problem = small_problem(rng, 2, 2, "noise")
        found = marginal(problem, Limits(60.0))
        shares, matrices = random_parameters(rng, problem, 20_000)
        assert values_at(problem, shares, matrices).max() <= found.objective + TOLERANCE


@pytest.mark.parametrize("size", [(2, 3), (3, 1), (6, 1)], ids=str)
def test_no_clock_changes_the_labels(size):
    problem = small_problem(np.random.default_rng(size), *size)
    whole = marginal(problem, Limits(5.0))
    stopped = marginal(problem, Limits(0.0))
    assert stopped.bound >= whole.objective
    if stopped.objective == whole.objective:
        assert np.array_equal(stopped.mapping, whole.mapping)
        assert np.array_equal(stopped.parameters.matrix, whole.parameters.matrix)
    else:  # the search itself found better ones
        assert stopped.objective < whole.objective


def test_who_watches_can_stop_it():
    seen: list[Progress] = []

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) > 2

    problem = small_problem(np.random.default_rng(3), 3, 2, "noise")
    found = marginal(problem, Limits(60.0, stop))
    assert found.stop is Stop.INTERRUPT
    assert [one.work for one in seen] == sorted(one.work for one in seen)
    check_bound(problem, found, np.random.default_rng(0), 20_000)


def test_little_memory_stops_it():
    problem = small_problem(np.random.default_rng(3), 3, 2, "noise")
    found = marginal(problem, Limits(60.0, bytes=20_000))
    assert found.stop is Stop.MEMORY
    check_bound(problem, found, np.random.default_rng(0), 20_000)


def test_exchanged_labels_have_the_names_that_agree_with_most_responses():
    rng = np.random.default_rng(11)
    for _ in range(5):
        problem = small_problem(rng, 3, 1, answers=(6, 9))
        found = marginal(problem, Limits(1.0))
        votes = problem.buckets.counts.sum(axis=1)
        assert np.average(votes.argmax(axis=1) == found.mapping, weights=problem.buckets.weights) > 0.5


def test_one_label_is_certain():
    problem = small_problem(np.random.default_rng(0), 2, 1)
    one = replace(problem, buckets=replace(problem.buckets, counts=problem.buckets.counts.sum(axis=2, keepdims=True)))
    found = marginal(one, Limits(60.0))
    assert (found.objective, found.mapping.max()) == (0.0, 0)
    assert 0 <= found.bound <= 1e-9


def test_known_shares_stay_as_they_are():
    problem = small_problem(np.random.default_rng(2), 3, 1, "shares")
    found = marginal(problem, Limits(1.0))
    assert found.parameters.shares == pytest.approx(problem.objective.shares, rel=1e-14)
    forbidden = replace(problem, objective=replace(problem.objective, shares=(0.0, 0.4, 0.6)))
    assert marginal(forbidden, Limits(1.0)).mapping.min() > 0
