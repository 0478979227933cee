"""Errata of the paper on error rates, likelihoods and EM, one test or more for each."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crowdopt.engines.em.steps import named_start
from crowdopt.engines.solve import solve
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.objective import response_matrix
from support import oracle
from support.errata import HALF, filtering, rating

if TYPE_CHECKING:
    from collections.abc import Iterator


def filtering_problems(max_size: int, max_tasks: int) -> Iterator[np.ndarray]:
    """All problems of filtering with equal numbers of responses, up to the order of the tasks."""
    for size, n_tasks in itertools.product(range(1, max_size + 1), range(1, max_tasks + 1)):
        for yes in itertools.combinations_with_replacement(range(size + 1), n_tasks):
            yield filtering(*((one, size - one) for one in yes))


def error_rates(tasks: np.ndarray, mapping) -> list[Fraction | None]:
    """(e_0, e_1) as Section 3.1 defines them: the share of responses that differ from 0, and from 1."""
    rates = []
    for label in (0, 1):
        answers = tasks[np.equal(mapping, label)].sum(axis=0)
        rates.append(Fraction(int(answers[1 - label]), int(answers.sum())) if answers.sum() else None)
    return rates


def reasonable(tasks: np.ndarray, mapping) -> bool:
    """Section 3.3: both rates at most one half (a rate of no responses is no obstacle)."""
    return all(rate is None or rate <= HALF for rate in error_rates(tasks, mapping))


def best_reasonable(tasks: np.ndarray) -> float:
    mappings = oracle.all_mappings(*tasks.shape)
    return max(oracle.log_likelihood(tasks, mapping) for mapping in mappings if reasonable(tasks, mapping))


# 1


def test_the_filtering_example_exchanges_its_two_error_rates():
    tasks, truth = filtering((3, 0), (1, 2), (2, 1), (2, 1)), np.array([1, 0, 1, 1])
    assert error_rates(tasks, truth) == [Fraction(1, 3), Fraction(2, 9)]
    buckets, index = Buckets.from_arrays(tasks)
    mapping = np.empty(buckets.n_buckets, np.int64)
    mapping[index] = truth
    responses, _ = buckets.by_label(mapping)
    matrix = response_matrix(responses)[0]
    assert (matrix[0, 1], matrix[1, 0]) == pytest.approx((1 / 3, 2 / 9))
    # The rates are those that make the responses likeliest; exchanged, as printed, they do not.
    likelihood = {
        rates: sum(
            no * math.log(1 - rates[0] if label == 0 else rates[1])
            + yes * math.log(rates[0] if label == 0 else 1 - rates[1])
            for (no, yes), label in zip(tasks.tolist(), truth, strict=True)
        )
        for rates in [(1 / 3, 2 / 9), (2 / 9, 1 / 3)]
    }
    assert likelihood[1 / 3, 2 / 9] == pytest.approx(oracle.log_likelihood(tasks, truth))
    assert likelihood[1 / 3, 2 / 9] > likelihood[2 / 9, 1 / 3] + 0.1


# 2


def test_a_cut_need_not_be_reasonable_and_can_beat_all_that_are():
    one = filtering((1, 0))
    assert oracle.respects_order(one, np.array([0]))
    assert error_rates(one, [0]) == [1, None]
    tasks = filtering((3, 0), (2, 1))
    assert oracle.respects_order(tasks, np.array([0, 0]))
    assert error_rates(tasks, [0, 0]) == [Fraction(5, 6), None]
    # The likeliest cut is unreasonable, so the two maxima of Theorem 3.1 differ.
    assert error_rates(tasks, [1, 0]) == [Fraction(2, 3), 0]
    best = oracle.brute_force(tasks, space="dominance")
    assert [1, 0] in best.mappings.tolist()
    assert best.value == pytest.approx(2 * math.log(2 / 3) + math.log(1 / 3))
    assert round(best.value, 3) == -1.910
    assert best_reasonable(tasks) == pytest.approx(5 * math.log(5 / 6) + math.log(1 / 6))
    assert round(best_reasonable(tasks), 3) == -2.703
    assert [f.tolist() for f in oracle.all_mappings(2, 2) if reasonable(tasks, f)] == [[1, 1]]
    assert error_rates(tasks, [0, 1]) == [1, Fraction(1, 3)]
    assert oracle.log_likelihood(tasks, np.array([0, 1])) == pytest.approx(best.value)
    assert oracle.log_likelihood(tasks, np.array([0, 0])) == pytest.approx(best_reasonable(tasks))
    certificate = solve(tasks).certificate
    assert (certificate.proof, certificate.space) == (Proof.PROVED, Space.ALL)
    assert certificate.objective == pytest.approx(best.value)


def test_with_two_responses_the_two_maxima_agree_and_a_cut_is_always_best_of_all():
    for tasks in filtering_problems(max_size=2, max_tasks=5):
        assert oracle.brute_force(tasks, space="dominance").value == pytest.approx(best_reasonable(tasks), abs=1e-9)
    differ = 0
    for tasks in filtering_problems(max_size=4, max_tasks=4):
        best = oracle.brute_force(tasks, space="all").value
        assert oracle.brute_force(tasks, space="dominance").value == pytest.approx(best, abs=1e-9)
        assert solve(tasks).certificate.objective == pytest.approx(best, abs=1e-9)
        differ += best > best_reasonable(tasks) + 1e-9
    assert differ > 0


# 7


def test_p00_counts_the_zeros():
    size = 3
    tasks, mapping = filtering((3, 0), (2, 1), (0, 3), (0, 3)), np.array([0, 1, 0, 0])
    i, n_k0 = 0, {3: 2}  # the first task is I_1 of Step 2, the second I_2; two others, with 3 zeros each, have value 0
    whole = size + sum(size * n for n in n_k0.values())
    with_zeros = Fraction(i + sum(k * n for k, n in n_k0.items()), whole)
    printed = Fraction(i + sum((size - k) * n for k, n in n_k0.items()), whole)
    e_0, _ = error_rates(tasks, mapping)
    assert 1 - e_0 == with_zeros == Fraction(2, 3)
    assert printed == 0


# 8


def test_only_filtering_is_described_by_two_error_rates():
    tasks = filtering((3, 0), (2, 1), (0, 3))
    result = solve(tasks)
    e_0, e_1 = map(float, error_rates(tasks, result.mapping))
    assert result.matrix[0] == pytest.approx(np.array([[1 - e_0, e_0], [e_1, 1 - e_1]]))
    # Three ratings: the same rates of error and different matrices. There are R (R - 1) numbers to estimate.
    first, second = (rating(low, "22", "33") for low in ("12", "13"))
    answers = [oracle_matrix(first), oracle_matrix(second)]
    assert np.diag(answers[0]).tolist() == np.diag(answers[1]).tolist() == [0.5, 1, 1]
    assert answers[0].tolist() != answers[1].tolist()
    assert [n * (n - 1) for n in (2, 3)] == [2, 6]


def oracle_matrix(tasks: np.ndarray) -> np.ndarray:
    """One task per label."""
    return tasks / tasks.sum(axis=1, keepdims=True)


# 9


def test_the_middle_column_of_the_third_start_sums_to_101_hundredths():
    hundredths = {
        "1": [(60, 33, 7), (33, 34, 33), (7, 33, 60)],
        "2": [(34, 33, 33), (33, 34, 33), (33, 33, 34)],
        "3": [(7, 33, 60), (33, 34, 33), (60, 34, 7)],
    }
    sums = {name: [sum(column) for column in zip(*rows, strict=True)] for name, rows in hundredths.items()}
    assert sums == {"1": [100, 100, 100], "2": [100, 100, 100], "3": [100, 101, 100]}
    assert named_start("3", 3).sum(axis=1) == pytest.approx(np.ones(3))
    assert named_start("3", 3)[1] == pytest.approx(np.array([33, 34, 34]) / 101)


# 10


def test_step_3_can_leave_the_reasonable_mappings_and_step_2_then_lowers_the_likelihood():
    tasks = filtering((0, 2), (0, 2), (1, 1), (2, 0), (2, 0))
    start, other = np.array([0, 1, 0, 0, 1]), np.array([0, 1, 0, 1, 1])
    assert error_rates(tasks, start) == [HALF, HALF]
    merged = np.array([0, 1, 0, 0, 0])
    value = {name: oracle.log_likelihood(tasks, f) for name, f in [("start", start), ("1", merged), ("2", other)]}
    assert [round(v, 3) for v in value.values()] == [-6.931, -5.293, -6.068]  # Step 3 picks the second
    assert error_rates(tasks, merged) == [Fraction(5, 8), 1]
    assert not oracle.respects_order(tasks, merged)
    swapped = merged.copy()  # Step 2: (1, 1) has value 0, and (0, 2), which it dominates, value 1
    swapped[[2, 1]] = swapped[[1, 2]]
    assert oracle.log_likelihood(tasks, swapped) == pytest.approx(value["start"])
    assert oracle.log_likelihood(tasks, swapped) < value["1"] - 1.6
    result = solve(tasks)
    best = oracle.brute_force(tasks, space="all")
    assert result.certificate.objective == pytest.approx(best.value)
    assert round(best.value, 3) == -2.703
    assert result.certificate.space is Space.ALL


# 11


def test_a_label_that_no_item_has_has_no_error_rate():
    tasks = filtering((3, 0), (3, 0))
    assert error_rates(tasks, [1, 1]) == [None, 0]  # cut-point m + 1: e_0 would be 0 / 0
    assert error_rates(tasks, [0, 0]) == [1, None]  # cut-point 0
    assert oracle.log_likelihood(tasks, np.array([1, 1])) == oracle.log_likelihood(tasks, np.array([0, 0])) == 0
    result = solve(tasks)
    assert result.mapping.tolist() == [1, 1]
    assert result.matrix[0, 1].tolist() == [0, 1]
    assert np.isnan(result.matrix[0, 0]).all()
    # Six ones: the likelihood (1 - e_1)^6 is largest at e_1 = 0, yet its slope is not 0 nor its curvature negative.
    likelihood = np.polynomial.Polynomial([1, -1]) ** 6
    assert max(np.linspace(0, 1, 11), key=likelihood) == 0
    assert (likelihood.deriv(1)(0), likelihood.deriv(2)(0)) == (-6, 30)


# 16


def test_the_skewed_example_has_error_rates_that_cannot_be():
    for tasks in filtering_problems(max_size=3, max_tasks=4):
        for mapping in oracle.all_mappings(*tasks.shape):
            e_0, e_1 = error_rates(tasks, mapping)
            share = Fraction(int(mapping.sum()), len(mapping))
            ones = Fraction(int(tasks[:, 1].sum()), int(tasks.sum()))
            assert ones == share * (1 - (e_1 or 0)) + (1 - share) * (e_0 or 0)
    # Eight ones in ten, nine items in ten of value 1: e_0 would have to be negative unless e_1 is at least 1/9.
    ones, share = Fraction(8, 10), Fraction(9, 10)
    e_0 = {e_1: (ones - share * (1 - e_1)) / (1 - share) for e_1 in (Fraction(1, 10), Fraction(1, 9))}
    assert e_0 == {Fraction(1, 10): Fraction(-1, 10), Fraction(1, 9): 0}
    # Ten items, one response each, eight ones: nine of value 1 and one of value 0 is possible, and likelier than ten.
    tasks = filtering(*[(1, 0)] * 8, *[(0, 1)] * 2)
    split, whole = np.array([1] * 9 + [0]), np.ones(10, int)
    assert error_rates(tasks, split) == [0, Fraction(1, 9)]
    assert error_rates(tasks, whole) == [None, Fraction(1, 5)]
    assert oracle.log_likelihood(tasks, split) > oracle.log_likelihood(tasks, whole) + 1
