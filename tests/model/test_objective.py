"""The likelihood against arithmetic with fifty digits, and the posterior."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.objective import (
    MIN_TOLERANCE,
    Objective,
    phi,
    posterior,
    read_selectivity,
    response_matrix,
    times_log_share,
    tolerance,
)
from crowdopt.model.problem import Problem
from crowdopt.verify.optimum import log_likelihood

SIZES = [1, 3, 10, 1000, 10**6, 10**9, 10**12]
EPSILON = Decimal(float(np.finfo(float).eps))


def exact_term(part: int, whole: int) -> Decimal:
    with localcontext(prec=50):
        return Decimal(part) * (Decimal(part) / Decimal(whole)).ln() if part else Decimal(0)


def exact_value(objective: Objective, responses: np.ndarray, tasks: np.ndarray) -> Decimal:
    """F from its definition, to fifty digits."""
    with localcontext(prec=50):
        total = Decimal(0)
        for label, per_class in enumerate(responses.tolist()):
            for answers in per_class:
                total += sum((exact_term(count, sum(answers)) for count in answers), Decimal(0))
            n = int(tasks[label])
            if objective.kind == "estimated":
                total += exact_term(n, int(tasks.sum()))
            elif objective.kind == "given" and n:
                total += n * Decimal(objective.shares[label]).ln()
        return total


@pytest.mark.parametrize("whole", [1, 2, 3, 10, 10**6 + 1, 10**12, 2**53 - 1])
def test_one_term_is_good_to_a_few_units(whole):
    for part in {0, 1, whole // 3, whole // 2, whole // 2 + 1, max(whole - 2, 0), whole - 1, whole}:
        found = Decimal(float(times_log_share(np.array(part), np.array(whole - part))))
        exact = exact_term(part, whole)
        assert abs(found - exact) <= 8 * EPSILON * abs(exact)


def random_responses(rng: np.random.Generator, n_labels: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts of all magnitudes, with empty cells, empty rows, one-sided rows and rows of ratios near one."""
    size = rng.choice(SIZES, (n_labels, n_classes, n_labels))
    responses = rng.integers(0, size, endpoint=True)
    responses[rng.random(responses.shape) < 0.2] = 0
    if rng.random() < 0.3:
        responses[0] = 0
    if rng.random() < 0.3:
        responses[-1, :, 1:] = 0
        responses[-1, :, 0] = 10**12
    if rng.random() < 0.3:
        responses[0, :, 0], responses[0, :, 1:] = 10**12, rng.integers(0, 3)
    tasks = rng.integers(0, rng.choice(SIZES, n_labels), endpoint=True)
    tasks[0] += 1
    return responses, tasks


@pytest.mark.parametrize("kind", ["none", "given", "estimated"])
@pytest.mark.parametrize(("n_labels", "n_classes"), [(1, 1), (2, 1), (3, 2), (5, 1)])
def test_the_value_is_within_the_tolerance(n_labels, n_classes, kind):
    for seed in range(60):
        rng = np.random.default_rng([seed, n_labels, n_classes])
        responses, tasks = random_responses(rng, n_labels, n_classes)
        shares = (
            tuple((rng.dirichlet(np.ones(n_labels)) * 0.999 + 0.001 / n_labels).tolist()) if kind == "given" else ()
        )
        objective = Objective(kind, shares)
        found = float(objective.total(responses, tasks))
        exact = exact_value(objective, responses, tasks)
        assert abs(Decimal(found) - exact) <= Decimal(tolerance(found, n_labels, n_classes))


@pytest.mark.parametrize("kind", ["none", "given", "estimated"])
def test_the_independent_value_of_verify_is_as_good(kind):
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        counts = rng.integers(0, rng.choice([3, 1000, 10**6]), (6, 2))
        counts[0] = (10**9, 1)
        buckets, _ = Buckets.from_arrays(counts, rng.integers(1, 1000, 6))
        objective = Objective(kind, (0.9, 0.1) if kind == "given" else ())
        mapping = rng.integers(0, 2, buckets.n_buckets)
        exact = exact_value(objective, *buckets.by_label(mapping))
        limit = Decimal(tolerance(float(exact), 2))
        assert abs(Decimal(log_likelihood(Problem(buckets, objective=objective), mapping)) - exact) <= limit
        assert abs(Decimal(objective.of_mapping(buckets, mapping)) - exact) <= limit


counts_of_two = st.lists(st.integers(0, 10**12) | st.integers(0, 5), min_size=3, max_size=3)


@settings(max_examples=300)
@given(counts_of_two, counts_of_two)
def test_merging_never_gains(a, b):
    """Φ is convex and homogeneous: Φ(a + b) ≤ Φ(a) + Φ(b). This is what every bound rests on."""
    one, two = (np.array(counts)[None] for counts in (a, b))
    apart, together = float(phi(one) + phi(two)), float(phi(one + two))
    assert together <= apart + 2 * tolerance(together, 3)


@settings(max_examples=200)
@given(counts_of_two, st.integers(1, 1000))
def test_phi_is_homogeneous(counts, factor):
    counts = np.array(counts)[None]
    assert float(phi(counts * factor)) == pytest.approx(factor * float(phi(counts)), rel=1e-14)


def test_total_evaluates_many_mappings_like_one():
    rng = np.random.default_rng(0)
    responses, tasks = rng.integers(0, 9, (4, 5, 2, 1, 2)), np.full((4, 5, 2), 7)
    objective = Objective("estimated")
    values = objective.total(responses, tasks)
    assert values.shape == (4, 5)
    assert values[2, 3] == float(objective.total(responses[2, 3], tasks[2, 3]))


def test_a_share_of_zero_forbids_the_label():
    objective = Objective("given", (0.0, 1.0))
    responses = np.array([[[0, 0]], [[3, 4]]])
    assert np.isfinite(objective.total(responses, np.array([0, 2])))
    assert objective.total(responses[::-1], np.array([2, 0])) == -np.inf


def test_tolerance_grows_with_the_value_and_never_vanishes():
    assert tolerance(0.0, 2) == tolerance(-1e3, 2) == MIN_TOLERANCE
    assert tolerance(-1e12, 2) == (8 + 2 * 3 + 2 * 2) * float(np.finfo(float).eps) * 1e12
    assert tolerance(-1e12, 3, 2) > tolerance(-1e12, 3, 1) > tolerance(-1e12, 2, 1)


def test_matrix_rows_sum_to_one_or_are_undefined():
    matrix = response_matrix(np.array([[[3, 1], [0, 0]], [[0, 0], [0, 5]]]))  # label, class, answer
    assert matrix.shape == (2, 2, 2)
    assert matrix[0, 0].tolist() == [0.75, 0.25]
    assert matrix[1, 1].tolist() == [0.0, 1.0]
    assert np.isnan(matrix[0, 1]).all()
    assert np.isnan(matrix[1, 0]).all()


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.sampled_from(["none", "given", "estimated"]), st.integers(1, 4), st.integers(1, 3))
def test_posterior_is_bayes_rule_and_sums_to_one(seed, kind, n_labels, n_classes):
    rng = np.random.default_rng(seed)
    responses = rng.integers(0, 4, (n_labels, n_classes, n_labels))
    tasks = rng.integers(1, 5, n_labels)
    shares = tuple(rng.dirichlet(np.ones(n_labels)).tolist()) if kind == "given" else ()
    objective = Objective(kind, shares)
    counts = rng.integers(0, 4, (5, n_classes, n_labels))
    matrix = response_matrix(responses)
    found = posterior(counts, matrix, objective.log_shares(tasks))
    prior = {"none": np.ones(n_labels), "given": np.array(shares), "estimated": tasks / tasks.sum()}[kind]
    rows_known = ~np.isnan(matrix).any(axis=2)
    known = [[rows_known[:, j].any() and rows_known[x.any(axis=1), j].all() for j in range(n_labels)] for x in counts]
    likelihood = np.where(np.isnan(matrix), 1.0, matrix)[None] ** counts[:, :, None, :]
    joint = likelihood.prod(axis=(1, 3)) * prior * np.array(known)
    whole = joint.sum(axis=1, keepdims=True)
    open_ = rows_known.any(axis=0)
    allowed = open_ | ~open_.any()  # all that can be said where no label explains the counts
    expected = np.where(whole > 0, joint / np.where(whole > 0, whole, 1), allowed / allowed.sum())
    assert found == pytest.approx(expected, abs=1e-12)
    assert found.sum(axis=1) == pytest.approx(np.ones(5), abs=1e-12)


def test_posterior_of_extreme_counts_does_not_underflow():
    matrix = response_matrix(np.array([[[9, 1]], [[1, 9]]]))
    found = posterior(np.array([[[10**6, 0]], [[10**6, 10**6]]]), matrix, np.zeros(2))
    assert found.tolist() == [[1.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("most", "cannot read 'most'"),
        ("no=0.5,maybe=0.5", "cannot read 'maybe=0.5'"),
        ("no=0.5,no=0.5", "names the label 'no' twice"),
        ("no=half,yes=0.5", "'half' is not a number"),
        ("no=1", "missing: yes"),
        ("no=0.5,yes=0.6", "must sum to 1, not 1.1"),
        ("no=-0.5,yes=1.5", "between 0 and 1"),
        ("no=nan,yes=0.5", "between 0 and 1"),
        ("", "cannot read ''"),
        ("no=0.5,yes=0.5,", "cannot read ''"),
    ],
)
def test_selectivity_that_cannot_be_read(text, message):
    with pytest.raises(InputError, match=message):
        read_selectivity(text, ["no", "yes"])


@pytest.mark.parametrize(
    ("text", "labels", "objective"),
    [
        ("none", ["a", "b"], Objective()),
        ("estimate", ["a", "b"], Objective("estimated")),
        (" b = 0.25 , a=0.75", ["a", "b"], Objective("given", (0.75, 0.25))),
        ("a=1=0.5,b=0.5", ["a=1", "b"], Objective("given", (0.5, 0.5))),
        ("a=1,b=0", ["a", "b"], Objective("given", (1.0, 0.0))),
    ],
)
def test_selectivity_that_can(text, labels, objective):
    assert read_selectivity(text, labels) == objective


@pytest.mark.parametrize(("kind", "shares"), [("given", ()), ("none", (0.5, 0.5)), ("estimated", (1.0,))])
def test_shares_belong_to_given_selectivity(kind, shares):
    with pytest.raises(InputError, match="belong to given selectivity"):
        Objective(kind, shares)
