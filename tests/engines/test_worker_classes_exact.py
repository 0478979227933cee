"""Classes of workers on arrays: every engine against brute force, with the order of each class and of ranked ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from crowdopt import solve
from crowdopt.engines.base import Limits
from crowdopt.engines.em.soft import soften
from crowdopt.engines.enumeration import full_lattice
from crowdopt.engines.registry import run
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.order import Order, tails, violation
from crowdopt.model.problem import Problem
from crowdopt.studies.simulate import uniform_errors
from crowdopt.verify.optimum_ordered import OrderedOptimum
from crowdopt.verify.recheck import Recheck
from support import oracle
from support.problems import random_classed_tasks as random_tasks

KINDS = ["none", "estimate", "given", "prior"]
SHAPES = list(itertools.product([2, 3], [2, 3]))
"""Classes and labels."""


def random_objective(rng: np.random.Generator, kind: str, n_classes: int, n_labels: int):
    """The objective, and what the oracle takes for it."""
    if kind == "prior":
        prior = rng.integers(0, 3, (n_labels, n_classes, n_labels)) + rng.choice([0.0, 0.5])
        offsets = Offsets.of(n_labels, n_classes, prior=prior.astype(float))
        return Objective(offsets=offsets), oracle.Added(None, prior, np.zeros(n_labels, int))
    if kind == "given":
        shares = rng.dirichlet(np.ones(n_labels)).tolist()
        return Objective("given", tuple(shares)), shares
    return Objective("estimated" if kind == "estimate" else "none"), kind if kind == "estimate" else None


def cases(kind: str, n_classes: int, n_labels: int, *, equal: bool, number: int):
    for seed in range(number):
        rng = np.random.default_rng([seed, n_classes, n_labels, equal, KINDS.index(kind)])
        tasks = random_tasks(rng, n_classes, n_labels, equal=equal)
        yield tasks, *random_objective(rng, kind, n_classes, n_labels)


@pytest.mark.parametrize("ranked", [False, True], ids=["rule-1", "rules-1-and-2"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "n_labels"), SHAPES)
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force_under_dominance(equal, n_classes, n_labels, kind, ranked, effort):
    """Value, proof, margins and the independent check of the bound: 3,200 problems, or a share."""
    for tasks, objective, shares in cases(kind, n_classes, n_labels, equal=equal, number=effort(50, whole=True)):
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, objective=objective, ranked=ranked)
        solved = run(problem, Limits(), labels=["x"] * n_labels)
        certificate, mapping = solved.certificate, solved.mapping[index]
        truth = oracle.brute_force(tasks, space="dominance", shares=shares, ranked=ranked)
        assert (certificate.engine, certificate.proof, certificate.space) == ("chain", Proof.PROVED, Space.DOMINANCE)
        assert certificate.objective == pytest.approx(truth.value, abs=1e-9)
        assert certificate.bound == pytest.approx(truth.value, abs=1e-8)
        assert oracle.log_likelihood(tasks, mapping, shares) == pytest.approx(truth.value, abs=1e-9)
        assert oracle.respects_order(tasks, mapping, ranked=ranked)
        assert OrderedOptimum(problem, np.inf).value == pytest.approx(truth.value, abs=1e-9)
        assert Recheck(problem, np.inf).better_than(truth.value + 1e-8) is None
        assert Recheck(problem, np.inf).better_than(truth.value - 1e-6) == pytest.approx(truth.value, abs=1e-9)
        consistent = oracle.consistent_mappings(tasks, ranked=ranked)
        values = oracle._values(tasks, consistent, shares)
        for task, bucket in enumerate(index):
            other = values[consistent[:, task] != mapping[task]].max(initial=-np.inf)
            assert solved.margins.values[bucket] == pytest.approx(max(0.0, truth.value - other), abs=1e-8)


@pytest.mark.parametrize(
    ("space", "ranked"),
    [(Space.DOMINANCE, False), (Space.DOMINANCE, True), (Space.ALL, False)],
    ids=["rule-1", "rules-1-and-2", "all"],
)
@pytest.mark.parametrize(("n_classes", "n_labels"), SHAPES)
def test_the_search_is_never_above_the_optimum_nor_its_bound_below(n_classes, n_labels, space, ranked, effort):
    found = []
    for kind, equal in itertools.product(KINDS, [True, False]):
        for tasks, objective, shares in cases(kind, n_classes, n_labels, equal=equal, number=effort(10, whole=True)):
            buckets, _ = Buckets.from_arrays(tasks)
            problem = Problem(buckets, space, objective, ranked)
            certificate = run(problem, Limits(), labels=["x"] * n_labels, engine="search").certificate
            truth = oracle.brute_force(tasks, space=space.value, shares=shares, ranked=ranked)
            assert certificate.objective <= truth.value + 1e-9
            assert certificate.bound >= truth.value - 1e-9
            found.append(certificate.objective >= truth.value - 1e-9)
    assert np.mean(found) > 0.9


def experts_and_regulars(seed: int, n_tasks: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Truth and counts: two experts a task, right 95 % of the time, and five regulars, right 65 %."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n_tasks)
    classes = [rng.multinomial(m, uniform_errors(2, skill)[truth]) for m, skill in ((2, 0.95), (5, 0.65))]
    return truth, np.stack(classes, axis=1)


@pytest.mark.parametrize("ranked", [False, True])
def test_experts_are_worth_telling(ranked):
    """Classes beat one shared matrix and the majority; experts are found to be better than regulars on every crowd."""
    accuracy = []
    for seed in range(10):
        truth, counts = experts_and_regulars(seed)
        result = solve(counts, ranked=ranked)
        assert result.certificate.proof is Proof.PROVED
        votes = counts.sum(axis=1)
        ways = (result.mapping, solve(votes).mapping, votes.argmax(axis=1))
        accuracy.append([np.mean(way == truth) for way in ways])
        right = np.diagonal(result.matrix, axis1=1, axis2=2)
        assert right == pytest.approx(np.array([[0.95] * 2, [0.65] * 2]), abs=0.08)
    accuracy = np.array(accuracy)
    assert (accuracy[:, 0] >= accuracy[:, 1:].max(axis=1)).mean() >= 0.9
    assert (accuracy[:, 0] - accuracy[:, 1:].max(axis=1)).mean() > 0.02


def test_matrices_are_recovered_within_sampling_error():
    """Softened, they are not drawn to extremes as those of the likeliest labels are; in standard errors."""
    errors = []
    for seed in range(20):
        truth, counts = experts_and_regulars(seed)
        found = soften(Problem(Buckets.from_arrays(counts)[0]), solve(counts, ranked=True).matrix)
        number = np.stack([counts[truth == j].sum(axis=(0, 2)) for j in range(2)], axis=1)
        skill = np.array([[0.95], [0.65]])
        errors.append((np.diagonal(found, axis1=1, axis2=2) - skill) / np.sqrt(skill * (1 - skill) / number))
    errors = np.array(errors)
    assert np.abs(errors.mean(axis=(0, 2))).max() < 0.5  # of 40 figures each, so that chance alone makes 0.16
    assert np.sqrt((errors**2).mean(axis=(0, 2))).max() < 1.8  # the truth is not known, so a little more than 1


def step_up(counts: tuple[tuple[int, ...], ...]):
    """Every bucket that is one step above: what may be done to a response without making the bucket lower.

    Raise a response by one label, exchange the classes of two responses so that the better one has the higher (the
    paper's second rule, one pair at a time), or hand a highest response to a better class, a lowest to a lesser one
    (where the numbers of the classes vary).
    """
    n_classes, n_labels = len(counts), len(counts[0])

    def changed(*changes: tuple[int, int, int]):
        table = [list(row) for row in counts]
        for k, i, by in changes:
            table[k][i] += by
        if min(min(row) for row in table) >= 0:
            yield tuple(map(tuple, table))

    for k in range(n_classes):
        yield from changed((k, n_labels - 1, 1))
        yield from changed((k, 0, -1))
        for i in range(n_labels - 1):
            yield from changed((k, i, -1), (k, i + 1, 1))
    for best, lesser in itertools.combinations(range(n_classes), 2):
        yield from changed((lesser, n_labels - 1, -1), (best, n_labels - 1, 1))
        yield from changed((best, 0, -1), (lesser, 0, 1))
        for low, high in itertools.combinations(range(n_labels), 2):
            yield from changed((best, low, -1), (lesser, low, 1), (lesser, high, -1), (best, high, 1))


@pytest.mark.parametrize(("n_classes", "n_labels", "most"), [(2, 2, 4), (3, 2, 3), (2, 3, 3)])
def test_ranked_dominance_is_what_single_steps_lead_to(n_classes, n_labels, most):
    """Reachable by steps through buckets that need not be observed: the transitive closure of both rules."""
    rows = np.concatenate([full_lattice(n_classes * n_labels, size) for size in range(most + 1)])
    buckets = [tuple(map(tuple, row.reshape(n_classes, n_labels).tolist())) for row in rows]
    room = 2 * most  # steps may pass through larger buckets
    reach = {}
    for bucket in buckets:
        seen, stack = {bucket}, [bucket]
        while stack:
            for above in step_up(stack.pop()):
                if above not in seen and sum(map(sum, above)) <= room:
                    seen.add(above)
                    stack.append(above)
        reach[bucket] = seen
    order = Order.of(np.array(buckets), ranked=True)
    for a, b in itertools.permutations(range(len(buckets)), 2):
        assert order.dominates[a, b] == (buckets[a] in reach[buckets[b]])
        assert order.dominates[a, b] == oracle.dominates(np.array(buckets[a]), np.array(buckets[b]), ranked=True)


def test_ranks_only_add_to_the_order():
    for seed in range(50):
        counts = np.unique(np.random.default_rng(seed).integers(0, 3, (8, 3, 3)), axis=0)
        plain, ranked = Order.of(counts), Order.of(counts, ranked=True)
        assert (ranked.dominates >= plain.dominates).all()
        position = np.argsort(ranked.from_top)
        assert (position[np.nonzero(ranked.dominates)[0]] < position[np.nonzero(ranked.dominates)[1]]).all()


def test_an_expert_outweighs_a_regular():
    """One yes of an expert and one no of a regular, or the other way round: only ranks tell them apart."""
    counts = np.array([[[0, 1], [1, 0]], [[1, 0], [0, 1]]])
    assert violation(counts, np.array([0, 1])) is None
    assert violation(counts, np.array([0, 1]), ranked=True) == (0, 1)
    assert violation(counts, np.array([1, 0]), ranked=True) is None
    assert tails(counts, ranked=True).tolist() == [[1, 0, 1, -1], [0, -1, 1, -1]]


def test_what_a_proof_takes_for_granted():
    counts = [[[0, 2], [1, 2]], [[2, 0], [2, 1]], [[1, 1], [0, 3]]]
    assert solve(counts).certificate.given == ("classes",)
    assert solve(counts, ranked=True).certificate.given == ("classes", "ranked classes")
    assert solve(counts, selectivity=[0.5, 0.5]).certificate.given == ("classes", "selectivity")
    assert solve([row[1] for row in counts], ranked=True).certificate.given == ()


def test_ranks_without_an_order_are_refused():
    with pytest.raises(InputError, match="ranked classes matter only among answers that respect the order"):
        solve([[[0, 2], [1, 2]], [[2, 0], [2, 1]]], ranked=True, space="all")
