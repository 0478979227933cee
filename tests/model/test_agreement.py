from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdopt.errors import InputError
from crowdopt.model.agreement import Agreement, agreement, excess_over_chance

EXAMPLE = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
"""Computing Krippendorff's Alpha-Reliability (2011), section C: 4 observers, 12 units."""


def buckets(tasks, n_labels):
    """Counts and weights of tasks given as lists of label indices."""
    rows = Counter(tuple(task.count(label) for label in range(n_labels)) for task in tasks)
    counts = np.array(list(rows), dtype=np.int64).reshape(len(rows), 1, n_labels)
    return counts, np.array(list(rows.values()), dtype=np.int64)


def direct(tasks, metric):
    """Alpha and pairwise agreement from their definitions, pair by pair."""
    tasks = [task for task in tasks if len(task) > 1]
    values = [value for task in tasks for value in task]
    if not values:
        return None, None
    total = Counter(values)

    def distance(a, b):
        if metric == "nominal":
            return float(a != b)
        low, high = min(a, b), max(a, b)
        return (sum(total[g] for g in range(low, high + 1)) - (total[low] + total[high]) / 2) ** 2

    pairs = [pair for task in tasks for pair in permutations(task, 2)]
    pairwise = sum(a == b for a, b in pairs) / len(pairs)
    if len(total) == 1:
        return None, pairwise
    observed = sum(distance(a, b) / (len(task) - 1) for task in tasks for a, b in permutations(task, 2)) / len(values)
    chance = [distance(a, b) for a, b in permutations(values, 2)]
    return 1 - observed / (sum(chance) / len(chance)), pairwise


@pytest.mark.parametrize(("metric", "alpha"), [("nominal", 0.743), ("ordinal", 0.815)])
def test_published_example(metric, alpha):
    tasks = [[int(cell) - 1 for cell in unit if cell != "."] for unit in zip(*EXAMPLE, strict=True)]
    assert agreement(*buckets(tasks, 5), metric=metric).alpha == pytest.approx(alpha, abs=5e-4)


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
@given(tasks=st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=8))
def test_equals_the_sum_over_all_pairs(tasks, metric):
    alpha, pairwise = direct(tasks, metric)
    found = agreement(*buckets(tasks, 4), metric=metric)
    assert found.alpha == (None if alpha is None else pytest.approx(alpha, abs=1e-12))
    assert found.pairwise == (None if pairwise is None else pytest.approx(pairwise, abs=1e-12))


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
def test_classes_are_summed_over(metric):
    split = np.array([[[1, 0, 1], [1, 0, 0]], [[0, 2, 0], [0, 0, 1]], [[0, 0, 0], [3, 0, 0]]])
    weights = np.array([4, 2, 1])
    assert agreement(split, weights, metric) == agreement(split.sum(axis=1, keepdims=True), weights, metric)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([], Agreement(None, None)),
        ([[0], [1]], Agreement(None, None)),
        ([[1, 1], [1, 1, 1], [0]], Agreement(None, 1.0)),  # the lone 0 cannot be paired
        ([[0, 0], [1, 1]], Agreement(1.0, 1.0)),
    ],
)
def test_edges(tasks, expected):
    assert agreement(*buckets(tasks, 2)) == expected


def test_tasks_with_one_response_do_not_count():
    counts = np.array([[[2, 0]], [[1, 2]], [[1, 0]]])
    with_lone = agreement(counts, np.array([3, 2, 10**12]))
    assert with_lone == agreement(counts[:2], np.array([3, 2]))


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
def test_large_weights_keep_full_precision(metric):
    counts = np.array([[[2, 0, 1]], [[1, 1, 0]], [[0, 2, 0]], [[0, 0, 3]]])
    scale = 10**12
    weights = np.array([3, 1, 2, 5])
    found = agreement(counts, weights * scale, metric)
    small = agreement(counts, weights, metric)
    assert found.pairwise == pytest.approx(small.pairwise, rel=1e-15)
    if metric == "nominal":  # in exact integers, up to the last division
        totals = [scale * int(weights @ counts[:, 0, label]) for label in range(3)]
        n = sum(totals)
        observed = scale * (3 * 4 // 2 + 1 * 2)
        expected = n * n - sum(total * total for total in totals)
        assert found.alpha == pytest.approx(1 - observed * (n - 1) / expected, rel=1e-14)
    # The n - 1 of alpha is all that the scale changes.
    n_small = int((counts.sum(axis=(1, 2)) * weights).sum())
    assert (1 - found.alpha) * (n_small - 1) / n_small == pytest.approx(1 - small.alpha, rel=1e-11)


def test_large_counts_keep_full_precision():
    half = 10**12
    found = agreement(np.array([[[half, half]]]), np.array([10**6]))
    assert found.pairwise == pytest.approx((half - 1) / (2 * half - 1), rel=1e-15)
    assert found.alpha == pytest.approx(0, abs=1e-11)


def test_rare_disagreement_is_not_lost():
    found = agreement(np.array([[[2, 0]], [[1, 1]], [[0, 2]]]), np.array([10**12, 1, 10**12]))
    assert 1 - found.alpha == pytest.approx(1e-12, rel=1e-3)


def test_wrong_metric():
    with pytest.raises(InputError, match="interval"):
        agreement(np.array([[[1, 1]]]), np.array([2]), metric="interval")


def test_to_dict():
    assert Agreement(None, 0.5).to_dict() == {"alpha": None, "pairwise": 0.5}


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
@pytest.mark.parametrize("n_labels", [2, 5])
def test_what_chance_gives_is_within_its_errors(metric, n_labels):
    rng = np.random.default_rng(n_labels)
    shares = rng.dirichlet(np.full(n_labels, 3.0))
    sizes = rng.integers(2, 6, size=300)
    excess = [excess_over_chance(rng.multinomial(sizes, shares), metric) for _ in range(400)]
    assert abs(np.mean(excess)) < 0.2
    assert 0.85 < np.std(excess) < 1.15


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
def test_labels_that_nobody_gave_change_nothing(metric):
    votes = np.random.default_rng(0).multinomial(3, [0.5, 0.3, 0.2], size=12)
    padded = np.insert(votes, [0, 0, 2, 3], 0, axis=1)
    assert excess_over_chance(padded, metric) == pytest.approx(excess_over_chance(votes, metric))


def test_nothing_exceeds_chance_where_nobody_could_disagree():
    assert excess_over_chance(np.array([[1, 0], [0, 1]])) is None
    assert excess_over_chance(np.array([[3, 0], [2, 0], [0, 1]])) is None
