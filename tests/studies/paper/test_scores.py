"""The paper's scores: against their definitions, and against SciPy row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance

from crowdopt.errors import InputError
from crowdopt.studies.paper.scores import distance_weighted, emd_score, fraction_incorrect, jsd_score


@st.composite
def estimates(draw):
    """A table of tasks by (true label, bucket), a mapping, and two response matrices."""
    n_labels, n_buckets = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    table = rng.integers(0, 9, (n_labels, n_buckets))
    table[0, 0] += 1
    matrices = rng.dirichlet(np.ones(n_labels), (2, n_labels))
    if draw(st.booleans()):  # with zeros and ones
        matrices[0] = np.eye(n_labels)[rng.permutation(n_labels)]
    return table, rng.integers(0, n_labels, n_buckets), *matrices


@given(estimates())
def test_errors_task_by_task(drawn):
    table, mapping, _, _ = drawn
    pairs = [(j, f) for j, row in enumerate(table) for f, n in zip(mapping, row, strict=True) for _ in range(n)]
    wrong = [true != found for true, found in pairs]
    off = [abs(true - found) for true, found in pairs]
    assert fraction_incorrect(table, mapping) == pytest.approx(np.mean(wrong))
    assert distance_weighted(table, mapping) == pytest.approx(np.mean(off))


@given(estimates())
def test_scores_of_matrices_row_by_row(drawn):
    *_, estimated, true = drawn
    places = np.arange(len(true))
    emd = [wasserstein_distance(places, places, p, q) for p, q in zip(estimated, true, strict=True)]
    jsd = [jensenshannon(p, q, base=2) ** 2 for p, q in zip(estimated, true, strict=True)]
    assert emd_score(estimated, true) == pytest.approx(sum(emd))
    assert jsd_score(estimated, true) == pytest.approx(sum(jsd))


@given(estimates())
def test_scores_are_in_their_ranges(drawn):
    table, mapping, estimated, true = drawn
    n_labels = len(true)
    assert 0 <= fraction_incorrect(table, mapping) <= 1
    assert 0 <= distance_weighted(table, mapping) <= n_labels - 1  # 2 for three ratings, as the paper has it
    assert 0 <= emd_score(estimated, true) <= n_labels * (n_labels - 1) + 1e-9  # 2 for two labels, as the paper has it
    assert 0 <= jsd_score(estimated, true) <= n_labels + 1e-9
    assert emd_score(true, true) == 0
    assert jsd_score(true, true) == pytest.approx(0, abs=1e-12)


def test_the_worst_scores_are_reached():
    right, wrong = np.eye(2), np.eye(2)[::-1]
    assert emd_score(wrong, right) == 2
    assert jsd_score(wrong, right) == pytest.approx(2)
    table = np.array([[5, 0], [0, 0], [0, 5]])
    assert distance_weighted(table, np.array([2, 0])) == 2
    assert fraction_incorrect(table, np.array([2, 0])) == 1


def test_many_at_once():
    rng = np.random.default_rng(3)
    tables, mappings = rng.integers(1, 9, (7, 1, 3, 5)), rng.integers(0, 3, (7, 4, 5))
    matrices = rng.dirichlet(np.ones(3), (2, 7, 3))
    for score in (fraction_incorrect, distance_weighted):
        found = score(tables, mappings)
        assert found.shape == (7, 4)
        assert found[2, 3] == score(tables[2, 0], mappings[2, 3])
    for score in (emd_score, jsd_score):
        np.testing.assert_allclose(score(*matrices), [score(p, q) for p, q in zip(*matrices, strict=True)])


def test_a_label_without_tasks_counts_as_even_odds():
    true = np.array([[0.9, 0.1], [0.3, 0.7]])
    missing, even = np.array([[0.8, 0.2], [np.nan, np.nan]]), np.array([[0.8, 0.2], [0.5, 0.5]])
    assert emd_score(missing, true) == emd_score(even, true)
    assert jsd_score(missing, true) == jsd_score(even, true)


def test_a_divergence_that_rounding_makes_negative_is_zero():
    rng = np.random.default_rng(4)
    true = rng.dirichlet(np.ones(3), (5000, 3))
    near = true * (1 + rng.uniform(-4e-16, 4e-16, true.shape))
    scores = jsd_score(near, true)
    assert (scores >= 0).all()
    assert scores.max() < 1e-14


def test_scores_take_lists():
    assert emd_score([[0.9, 0.1], [0.5, 0.5]], [[0.8, 0.2], [0.25, 0.75]]) == pytest.approx(0.35)
    assert jsd_score([[1, 0], [0, 1]], [[0, 1], [0, 1]]) == pytest.approx(1)
    assert fraction_incorrect([[3, 1], [0, 4]], [0, 1]) == 0.125
    assert distance_weighted([[3, 1], [0, 2], [1, 3]], [0, 2]) == 0.6


@pytest.mark.parametrize("score", [emd_score, jsd_score])
@pytest.mark.parametrize(
    ("estimated", "true", "message"),
    [
        (np.eye(2), [[np.nan, np.nan], [0, 1]], "true response matrix"),
        (np.eye(2), [[np.nan, 1], [0, 1]], "true response matrix"),
        ([[np.nan, 1], [0, 1]], np.eye(2), "estimated response matrix"),
        ([[0.5, 0.4], [0, 1]], np.eye(2), "estimated response matrix"),
        (np.eye(2), [[0.5, 0.6], [0, 1]], "sum to 1"),
        ([[1.5, -0.5], [0, 1]], np.eye(2), "probabilities"),
        (np.eye(2), np.eye(3), "one shape, not"),
        ([1, 0], [1, 0], "one shape, not"),
        ([[1, 0], [1]], np.eye(2), "array of numbers"),
    ],
)
def test_what_is_no_response_matrix_has_no_score(score, estimated, true, message):
    with pytest.raises(InputError, match=message):
        score(estimated, true)


def test_labels_for_other_buckets_do_not_fit():
    with pytest.raises(InputError, match="do not fit"):
        fraction_incorrect([[3, 1], [0, 4]], [0, 1, 1])
