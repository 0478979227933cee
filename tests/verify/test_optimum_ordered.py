"""The independent optimum under dominance, against brute force and the engine that it checks."""

from __future__ import annotations

import math
import time
from itertools import product

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.chain import chain
from crowdopt.engines.enumeration import full_lattice
from crowdopt.model.buckets import Buckets
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from crowdopt.verify import optimum_ordered
from crowdopt.verify.optimum import Undecided
from crowdopt.verify.optimum_ordered import OrderedOptimum
from support import oracle
from support.problems import KINDS, random_objective, random_tasks

NEVER = math.inf


def random_crowd(seed: int, n_labels: int, size: int) -> Buckets:
    """The responses to 1000 tasks of a crowd that is right more often than not."""
    rng = np.random.default_rng([seed, n_labels, size])
    matrix = 0.5 * np.eye(n_labels) + 0.5 * rng.dirichlet(np.ones(n_labels), n_labels)
    return Buckets.from_arrays([rng.multinomial(size, matrix[j]) for j in rng.integers(n_labels, size=1000)])[0]


def on_buckets(mappings: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Mappings of tasks that respect the order as mappings of buckets: equal tasks dominate each other."""
    _, first = np.unique(index, return_index=True)
    return mappings[:, first]


def assert_right(problem: Problem, mappings: np.ndarray, values: np.ndarray) -> None:
    """Value, margins and ties of the best mapping and of any, against all mappings that respect the order."""
    optimum = OrderedOptimum(problem, NEVER)
    assert optimum.value == pytest.approx(values.max(), abs=1e-9)
    agreement = np.array([problem.buckets.agreement(mapping) for mapping in mappings])
    for at in {int(values.argmax()), len(values) // 2}:
        mapping = mappings[at]
        others = [values[mappings[:, b] != label].max(initial=-np.inf) for b, label in enumerate(mapping)]
        assert optimum.margins(mapping, values.max()) == pytest.approx(values.max() - others, abs=1e-9)
        at_least = values.max() - problem.tolerance(values.max())
        ties = mappings[(values >= at_least) & (agreement >= agreement[at])]
        n_near = int((values >= at_least).sum())
        assert optimum.tied(mapping, at_least, n_near).tolist() == (ties != mapping).any(axis=0).tolist()
        assert optimum.tied(mapping, at_least, n_near - 1) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force(equal, n_labels, kind, effort):
    """600 problems."""
    for seed in range(effort(15, whole=True)):
        rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind), 21])
        tasks = random_tasks(rng, n_labels, equal=equal)
        objective, shares = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        consistent = oracle.consistent_mappings(tasks)
        values = oracle._values(tasks, consistent, shares)
        assert_right(Problem(buckets, objective=objective), on_buckets(consistent, index), values)


def by_definition(buckets: Buckets, mapping: np.ndarray, objective: Objective) -> float:
    """F from its definition, offsets included."""
    offsets, total = objective.offsets, 0.0
    for label, group in product(range(buckets.n_labels), range(buckets.n_classes)):
        answers = buckets.responses[mapping == label, group].sum(axis=0) + offsets.gold_responses[label, group]
        answers = answers + offsets.smoothing + (0 if offsets.prior is None else offsets.prior[label, group])
        total += sum(count * math.log(count / answers.sum()) for count in answers if count)
    for label, gold in enumerate(offsets.gold_tasks.tolist()):
        tasks = int(buckets.weights[mapping == label].sum())
        if objective.kind == "estimated" and tasks + gold:
            total += (tasks + gold) * math.log((tasks + gold) / (buckets.n_tasks + offsets.gold_tasks.sum()))
        if objective.kind == "given" and tasks:
            total += tasks * math.log(objective.shares[label]) if objective.shares[label] else -math.inf
    return total


def random_offsets(rng: np.random.Generator, shape: tuple[int, ...]) -> Offsets:
    """Gold tasks, a prior matrix with zeros and smoothing, each of them at times missing."""
    gold = rng.integers(0, 6, shape) * rng.integers(2)
    prior = np.maximum(rng.normal(0, 3, shape), 0) if rng.integers(2) else None
    return Offsets(gold, gold[:, 0].sum(axis=-1) // 2, prior, float(rng.choice([0.0, 0.5, 1.0])))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [1, 2])
def test_offsets_and_classes_equal_brute_force(n_classes, kind, effort):
    """What is known beforehand, whole numbers and fractions, for one and for two classes of workers."""
    for seed in range(effort(20, whole=True)):
        rng = np.random.default_rng([seed, n_classes, KINDS.index(kind), 22])
        n_labels = int(rng.integers(2, 5))
        plain, _ = random_objective(rng, kind, n_labels)
        counts = rng.integers(0, 3, (4, n_classes, n_labels)) + 1
        buckets, _ = Buckets.from_arrays(counts, rng.integers(1, 9, 4))
        objective = Objective(plain.kind, plain.shares, random_offsets(rng, (n_labels, n_classes, n_labels)))
        mappings = oracle.all_mappings(buckets.n_buckets, n_labels)
        for high, low in product(range(buckets.n_buckets), repeat=2):
            if all(oracle.dominates(*pair) for pair in zip(buckets.counts[high], buckets.counts[low], strict=True)):
                mappings = mappings[mappings[:, high] >= mappings[:, low]]
        values = np.array([by_definition(buckets, mapping, objective) for mapping in mappings])
        assert_right(Problem(buckets, objective=objective), mappings, values)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_engine_on_a_thousand_tasks(kind):
    objective, _ = random_objective(np.random.default_rng(3), kind, 4)
    problem = Problem(random_crowd(3, 4, 4), objective=objective)
    outcome = chain(problem, Limits())
    optimum = OrderedOptimum(problem, NEVER)
    assert optimum.value == pytest.approx(outcome.objective, abs=1e-9)
    assert outcome.margins.kind == "exact"
    margins = optimum.margins(outcome.mapping, outcome.objective)
    assert np.maximum(margins, 0) == pytest.approx(outcome.margins.values, abs=1e-8)
    tied = optimum.tied(outcome.mapping, optimum.value - problem.tolerance(optimum.value))
    assert tied.tolist() == outcome.margins.tied.tolist()


def test_more_than_64_buckets_need_more_than_one_word():
    """A total order of 131 buckets, whose mappings are thresholds."""
    counts = full_lattice(2, 130)
    buckets, _ = Buckets.from_arrays(counts, np.random.default_rng(1).integers(1, 9, len(counts)))
    order = np.argsort(buckets.counts[:, 0, 1])
    mappings = np.zeros((len(order) + 1, len(order)), np.int64)
    for cut, mapping in enumerate(mappings):
        mapping[order[cut:]] = 1
    problem = Problem(buckets)
    values = np.array([problem.objective.of_mapping(buckets, mapping) for mapping in mappings])
    tolerance = problem.tolerance(values.max())
    optimum = OrderedOptimum(problem, NEVER)
    assert optimum.value == pytest.approx(values.max(), abs=tolerance)
    best = mappings[values.argmax()]
    others = [values[mappings[:, b] != label].max() for b, label in enumerate(best)]
    assert optimum.margins(best, values.max()) == pytest.approx(values.max() - others, abs=2 * tolerance)


def test_up_sets_of_more_than_64_buckets():
    """The 78 buckets of three labels and eleven responses: 2^12 up-sets, C(25, 12) nested pairs."""
    problem = Problem(Buckets.from_arrays(full_lattice(3, 11))[0])
    sets = optimum_ordered._UpSets(problem, NEVER)
    members = np.array([sets.members(at) for at in range(len(sets))])
    assert len(np.unique(members, axis=0)) == len(sets) == 2**12
    assert not members[0].any()
    assert members[-1].all()
    inside = (~members).astype(np.float32) @ members.T.astype(np.float32) == 0
    assert all(sets.inside(outer).tolist() == np.flatnonzero(inside[outer]).tolist() for outer in range(len(sets)))
    assert inside.sum() == math.comb(25, 12)
    asked, some = members[700] & ~members[20], np.arange(5, 2000, 3)
    assert sets.lack_some(asked, some).tolist() == (~members[some][:, asked]).any(axis=1).tolist()
    assert sets.sums(problem.buckets.counts[:, 0]).T.tolist() == (members @ problem.buckets.counts[:, 0]).tolist()


def test_ties_are_told_by_values_without_rounding_on_the_way():
    problem = Problem(random_crowd(1, 3, 3))
    optimum = OrderedOptimum(problem, NEVER)
    one_label = np.zeros(problem.buckets.n_buckets, np.int64)  # agrees with fewer responses than the best
    assert optimum.tied(one_label, optimum.value).any()
    assert not optimum.tied(one_label, np.nextafter(optimum.value, 0)).any()


def test_one_label_has_one_mapping():
    offsets = Offsets.of(1, gold=(np.array([[[2]]]), np.array([1])))
    for objective in (Objective(), Objective("estimated"), Objective("given", (1.0,)), Objective(offsets=offsets)):
        assert OrderedOptimum(Problem(Buckets.from_arrays([[3], [4]])[0], objective=objective), NEVER).value == 0
    two_classes, _ = Buckets.from_arrays([[[3], [0]], [[4], [1]], [[5], [2]]])
    optimum = OrderedOptimum(Problem(two_classes), NEVER)
    mapping = np.zeros(3, np.int64)
    assert optimum.value == 0
    assert np.isinf(optimum.margins(mapping, 0.0)).all()
    assert optimum.tied(mapping, -1e-9).tolist() == [False] * 3


def test_counts_beyond_any_table_lose_no_digits():
    buckets = random_crowd(2, 3, 4)
    many = Buckets(buckets.counts, buckets.weights * 10**10)
    small, large = (OrderedOptimum(Problem(each), NEVER) for each in (buckets, many))
    assert large.value == pytest.approx(small.value * 10**10, rel=1e-15)


def test_a_nearly_perfect_crowd_loses_no_digits_to_strong_priors():
    """A prior of a billion sure answers: terms of size 1e10 would leave six digits after the point."""
    buckets = random_crowd(2, 3, 3)
    offsets = Offsets.of(3, prior=1e9 * np.eye(3)[:, None], smoothing=0.1)
    problem = Problem(buckets, objective=Objective(offsets=offsets))
    outcome, optimum = chain(problem, Limits()), OrderedOptimum(problem, NEVER)
    value = problem.objective.of_mapping(buckets, outcome.mapping)
    assert optimum.value == pytest.approx(value, abs=1e-9)


def test_a_deadline_that_has_passed_leaves_it_undecided():
    problem = Problem(random_crowd(1, 4, 3))
    with pytest.raises(Undecided, match="time limit"):
        OrderedOptimum(problem, time.monotonic() - 1)


def test_a_deadline_that_passes_later_stops_margins_and_ties(monkeypatch):
    problem = Problem(random_crowd(1, 4, 3))
    optimum = OrderedOptimum(problem, time.monotonic() + 3600)
    mapping = np.zeros(problem.buckets.n_buckets, np.int64)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 7200)
    with pytest.raises(Undecided, match="time limit"):
        optimum.margins(mapping, optimum.value)
    with pytest.raises(Undecided, match="time limit"):
        optimum.tied(mapping, optimum.value)


@pytest.mark.parametrize(("limit", "value"), [("MAX_UP_SETS", 63), ("MAX_BITS", 21 * 64 - 1)])
def test_too_many_up_sets_leave_it_undecided(monkeypatch, limit, value):
    """The 21 buckets of three labels and five responses have 64 up-sets."""
    problem = Problem(Buckets.from_arrays(full_lattice(3, 5))[0])
    assert OrderedOptimum(problem, NEVER).value < 0
    monkeypatch.setattr(optimum_ordered, limit, value)
    with pytest.raises(Undecided, match="more than 63 up-sets"):
        OrderedOptimum(problem, NEVER)
