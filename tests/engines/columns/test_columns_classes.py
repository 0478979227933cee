"""Prices for several classes of workers: pricing against trying every set, the engine against brute force."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pandas as pd
import pytest

from crowdopt import prove, solve, verify
from crowdopt.engines.base import Limits
from crowdopt.engines.columns.engine import columns
from crowdopt.engines.columns.pricing import Pricing
from crowdopt.engines.columns.pricing_cells import cut, whole_space
from crowdopt.engines.columns.pricing_ordered import OrderedPricing
from crowdopt.engines.columns.prover import Prover
from crowdopt.engines.columns.relaxation import Relaxation
from crowdopt.engines.columns.set_shapes import Items, Shape, allows
from crowdopt.engines.columns.set_terms import BucketSet, Term, terms_of
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.problem import Problem
from crowdopt.studies.simulate import uniform_errors
from crowdopt.verify.verdict import Verdict
from crowdopt.verify.witness import doubt
from support import oracle
from support.lattice import respects
from support.pricing import NEVER, every_worth, go_on, leaves
from support.problems import KINDS, certificate_of, random_objective
from support.problems import random_classed_tasks as random_tasks

SHAPES = list(itertools.product([2, 3], [2, 3]))
"""Classes and labels."""


def random_problem(rng: np.random.Generator, kind: str, n_classes: int, n_labels: int, *, most: int) -> Problem:
    """A few buckets of many or few tasks; some have no response of a class."""
    n_buckets = int(rng.integers(1, most + 1))
    counts = rng.integers(0, 4, (n_buckets, n_classes, n_labels)) * (rng.random((n_buckets, n_classes, 1)) < 0.7)
    counts[:, 0, 0] += counts.sum(axis=(1, 2)) == 0
    weights = rng.integers(1, rng.choice([2, 10, 200]), n_buckets)
    objective, _ = random_objective(rng, kind, n_labels, n_classes)
    return Problem(Buckets.from_arrays(counts, weights)[0], Space.ALL, objective)


def random_prices(rng: np.random.Generator, buckets: BucketSet) -> np.ndarray:
    """About what a bucket adds to a random set: where prices matter most."""
    shares = rng.dirichlet(np.ones(buckets.responses.shape[1] // buckets.n_classes), buckets.n_classes)
    return buckets.responses @ np.log(shares.ravel()) + rng.normal(size=len(buckets)) * rng.choice([0.0, 1.0, 5.0])


def check_priced(
    buckets: BucketSet, term: Term, prices: np.ndarray, sets: np.ndarray, worth: np.ndarray, search
) -> None:
    """The bound, best set and thresholds of a search, against what all sets are worth."""
    best = worth.max()
    rounding = 1e-12 * float(np.abs(prices).sum() + buckets.responses.sum())  # which every bound adds, and more
    found = search(-np.inf)
    assert found.finished
    assert best - 1e-9 <= found.bound <= best + 1.1e-7 + rounding
    assert found.best == pytest.approx(best, abs=1e-7)
    if best > worth[~sets.any(axis=1)].max() + 1e-6:
        values = [float(term.values(*buckets.sums(s[None]))[0] - s @ prices) for s in found.sets]
        assert max(values) == pytest.approx(best, abs=1e-7)
    assert search(best - 1e-5).bound >= best - 1e-9
    over = search(best + 1e-3)
    assert (over.finished, over.bound, over.sets) == (True, best + 1e-3, [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "n_labels"), SHAPES)
def test_pricing_equals_trying_every_set(n_classes, n_labels, kind, effort):
    for seed in range(effort(6)):
        rng = np.random.default_rng([seed, n_classes, n_labels, KINDS.index(kind), 41])
        problem = random_problem(rng, kind, n_classes, n_labels, most=8)
        buckets = BucketSet.of(problem)
        term = terms_of(problem)[int(rng.integers(len(terms_of(problem))))]
        if term.log_share == -np.inf:
            continue
        prices = random_prices(rng, buckets)
        sets, worth = every_worth(buckets, term, prices)

        def search(threshold, buckets=buckets, term=term, prices=prices):
            return Pricing(buckets, term, prices, threshold, 1e-7).run(go_on)

        check_priced(buckets, term, prices, sets, worth, search)


@pytest.mark.grid
@pytest.mark.parametrize("shape", [Shape.LOWER, Shape.UPPER, Shape.BETWEEN])
@pytest.mark.parametrize("ranked", [False, True])
def test_ordered_pricing_equals_trying_every_set(shape, ranked):
    for seed, (n_classes, n_labels) in itertools.product(range(2), SHAPES):
        rng = np.random.default_rng([seed, n_classes, n_labels, ranked, 42])
        free = random_problem(rng, KINDS[seed], n_classes, n_labels, most=7)
        problem = Problem(free.buckets, Space.DOMINANCE, free.objective, ranked)
        buckets, term, items = BucketSet.of(problem), terms_of(problem)[0], Items(shape, problem.order)
        prices = random_prices(rng, buckets)
        sets, worth = every_worth(buckets, term, prices)
        allowed = allows(shape, problem.order, sets)

        def search(threshold, buckets=buckets, term=term, items=items, prices=prices, none=sets[:0]):
            return OrderedPricing(buckets, term, items, prices, threshold, 1e-7, none).run(go_on)

        check_priced(buckets, term, prices, sets[allowed], worth[allowed], search)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "n_labels"), SHAPES)
def test_equals_brute_force(n_classes, n_labels, kind, effort):
    """Value, proof and witness; in every second problem some tasks have no response of a class."""
    for seed in range(effort(4)):
        rng = np.random.default_rng([seed, n_classes, n_labels, KINDS.index(kind), 43])
        tasks = random_tasks(rng, n_classes, n_labels, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, n_labels, n_classes)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, Space.ALL, objective)
        outcome = columns(problem, Limits(np.inf))
        certificate = certificate_of(problem, outcome)
        truth = oracle.brute_force(tasks, space="all", shares=shares).value
        assert (certificate.proof, certificate.space, certificate.stop) == (Proof.PROVED, Space.ALL, Stop.FINISHED)
        assert outcome.objective == pytest.approx(truth, abs=1e-6)
        assert outcome.bound >= truth - 1e-9
        assert outcome.objective == pytest.approx(
            oracle.log_likelihood(tasks, outcome.mapping[index], shares), abs=1e-9
        )
        if outcome.witness is not None:
            assert doubt(problem, outcome.witness, outcome.bound + outcome.tolerance, NEVER) is None


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranked", [False, True])
def test_equals_brute_force_under_dominance(ranked, kind):
    """Value and bound; where the bound stays open, the answer says so."""
    for seed, (n_classes, n_labels) in enumerate(SHAPES):
        rng = np.random.default_rng([ranked, n_classes, n_labels, KINDS.index(kind), 44])
        tasks = random_tasks(rng, n_classes, n_labels, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, n_labels, n_classes)
        problem = Problem(Buckets.from_arrays(tasks)[0], Space.DOMINANCE, objective, ranked)
        outcome = columns(problem, Limits(np.inf))
        truth = oracle.brute_force(tasks, space="dominance", shares=shares, ranked=ranked).value
        assert outcome.objective <= truth + 1e-9
        assert outcome.bound >= truth - 1e-9
        assert respects(problem.order, outcome.mapping)
        if certificate_of(problem, outcome).proof is Proof.PROVED:
            assert outcome.objective == pytest.approx(truth, abs=1e-6)
        if outcome.witness is not None and n_classes * n_labels < 6:  # with more the check takes seconds
            assert doubt(problem, outcome.witness, outcome.bound + outcome.tolerance, NEVER) is None


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
def test_no_proof_of_what_is_not_the_best(kind):
    """Mappings that fall short, as incumbents of a proof: it fails, with a bound that holds."""
    offered = 0
    for seed, (n_classes, n_labels) in itertools.product(range(3), SHAPES):
        rng = np.random.default_rng([seed, n_classes, n_labels, KINDS.index(kind), 45])
        tasks = random_tasks(rng, n_classes, n_labels, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, n_labels, n_classes)
        problem = Problem(Buckets.from_arrays(tasks)[0], Space.ALL, objective)
        relaxation = Relaxation.of(problem)
        best = oracle.brute_force(tasks, space="all", shares=shares).value
        tolerance = problem.price_tolerance(best)
        allowed = np.flatnonzero(objective.shares or np.ones(n_labels))
        for mapping in rng.choice(allowed, (2, problem.buckets.n_buckets)):
            value = float(relaxation.values(mapping).sum())
            if value < best - 2 * tolerance:
                finding = Prover(relaxation, mapping, value, tolerance, rng, lambda *_: True).run({})
                assert not finding.proved
                assert finding.bound >= best - 1e-9
                offered += 1
    assert offered >= 3


def experts_and_regulars(seed: int, n_labels: int, sizes: tuple[int, ...], n_tasks: int = 300) -> np.ndarray:
    """Counts (task, class, label): classes from the best to the worst, with so many responses a task."""
    rng = np.random.default_rng([seed, n_labels, *sizes])
    truth = rng.integers(n_labels, size=n_tasks)
    skills = np.linspace(0.85, 0.55, len(sizes))
    made = [rng.multinomial(m, uniform_errors(n_labels, s)[truth]) for m, s in zip(sizes, skills, strict=True)]
    return np.stack(made, axis=1)


@pytest.mark.parametrize(("n_labels", "sizes"), [(2, (2, 5)), (2, (1, 2, 3)), (3, (1, 2))])
def test_stopped_anywhere_the_bound_holds(n_labels, sizes):
    """Interrupted at its first, second, ... report, it says so, and never that the answer is the best."""
    problem = Problem(Buckets.from_arrays(experts_and_regulars(1, n_labels, sizes))[0], Space.ALL)
    whole = columns(problem, Limits(np.inf))
    assert certificate_of(problem, whole).proof is Proof.PROVED
    for stop_at in (1, 2, 3, 5, 8, 13, 21):
        reports = []

        def stop(progress, stop_at=stop_at, reports=reports):
            reports.append(progress)
            return len(reports) >= stop_at

        outcome = columns(problem, Limits(np.inf, stop))
        assert all(bound >= whole.objective - whole.tolerance for bound in [outcome.bound, *(p.bound for p in reports)])
        if len(reports) >= stop_at:
            assert outcome.stop is Stop.INTERRUPT
        else:
            assert outcome.objective == pytest.approx(whole.objective, abs=1e-6)
    assert columns(problem, Limits(0.0)).stop is Stop.TIME


def test_a_class_that_answers_nothing_changes_nothing():
    tasks = experts_and_regulars(2, 3, (4,))
    empty = np.concatenate([tasks, np.zeros_like(tasks)], axis=1)
    alone, both = (columns(Problem(Buckets.from_arrays(t)[0], Space.ALL), Limits(np.inf)) for t in (tasks, empty))
    assert both.mapping.tolist() == alone.mapping.tolist()
    assert both.objective == pytest.approx(alone.objective, abs=1e-9)
    assert certificate_of(Problem(Buckets.from_arrays(empty)[0], Space.ALL), both).proof is Proof.PROVED


def test_same_answer_whatever_the_order_of_rows_and_classes():
    tasks = experts_and_regulars(3, 2, (2, 3, 3))
    first = columns(Problem(Buckets.from_arrays(tasks)[0], Space.ALL), Limits(np.inf))
    shuffled = np.random.default_rng(0).permutation(tasks)
    again = columns(Problem(Buckets.from_arrays(shuffled)[0], Space.ALL), Limits(np.inf))
    assert first.mapping.tolist() == again.mapping.tolist()
    assert (first.objective, first.bound, first.work) == (again.objective, again.bound, again.work)
    assert first.witness == again.witness
    turned = columns(Problem(Buckets.from_arrays(tasks[:, ::-1])[0], Space.ALL), Limits(np.inf))
    assert turned.objective == pytest.approx(first.objective, abs=1e-6)


def test_more_classes_are_proved_by_prices_without_being_asked():
    tasks = experts_and_regulars(4, 2, (2, 5))
    certificate = solve(tasks, space="all").certificate
    assert (certificate.engine, certificate.proof, certificate.space) == ("columns", Proof.PROVED, Space.ALL)
    assert certificate.given == ("classes",)


def test_verify_prices_again(tmp_path):
    """The witness of an honest solution is accepted; one with a gain that is too small, or too large, is not."""
    tasks = experts_and_regulars(5, 3, (1, 3), n_tasks=80)
    rows = [
        (f"t{t}", f"{'er'[k]}{i}", str(answer), "er"[k])
        for t, of_task in enumerate(tasks)
        for k, counts in enumerate(of_task)
        for i, answer in enumerate(np.repeat(np.arange(3), counts))
    ]
    data = pd.DataFrame(rows, columns=["task", "worker", "label", "class"])
    solution = prove(data, class_="class", scale="nominal")
    assert (solution.certificate.engine, solution.certificate.proof) == ("columns", Proof.PROVED)
    assert verify(solution, data).verdict is Verdict.CONFIRMED
    problem = Problem(solution.buckets, Space.ALL)
    bound = solution.certificate.bound + solution.certificate.tolerance
    witness = solution.certificate.witness
    assert doubt(problem, witness, bound, NEVER) is None
    for by, reason in ((-1.0, "worth more to label"), (0.01, "sum up to")):
        spoiled = copy.deepcopy(witness)
        leaves(spoiled)[0]["gains"][0] += by
        assert reason in (doubt(problem, spoiled, bound, NEVER) or "")


def test_cells_shrink_in_every_class():
    """However far outside a cell the best set lies in one class, the others are cut as well."""
    classes = np.repeat([0, 1], 3)
    for seed in range(10):
        rng = np.random.default_rng([seed, 46])
        best = rng.dirichlet(np.ones(3), 2).ravel() * np.repeat(rng.uniform(0, 100, 2), 3)
        cells = whole_space(np.zeros(6), classes, 0.0, 0.0, 0.0, 0).rows(slice(1))
        for _ in range(120):
            halves = cut(cells, cells.facets @ best, 0.0)
            outside = (halves.facets @ best)[:, classes == seed % 2].min(axis=1)
            cells = halves.rows(np.array([outside.argmin()]))
        widths = [np.ptp(cells.corners[0, classes == k], axis=0).max() for k in (0, 1)]
        assert max(widths) < 1e-3
