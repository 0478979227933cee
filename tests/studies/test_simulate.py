from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdopt.errors import InputError
from crowdopt.studies.simulate import crowd, near_errors, random_matrix, uniform_errors
from crowdopt.studies.simulate_counts import Lattice, tasks_by_share

MATRIX = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.0, 0.4, 0.6]])
SHARE = np.array([0.5, 0.2, 0.3])


def within_noise(hits, n, p):
    """Whether a count is within five standard deviations of what p gives."""
    return np.abs(hits - n * p) <= 5 * np.sqrt(n * p * (1 - p))


def test_answers_follow_the_matrix_and_truth_the_selectivity():
    drawn = crowd(60_000, 40, 5, labels=("a", "b", "c"), selectivity=SHARE, matrix=MATRIX, seed=1)
    true = np.searchsorted(drawn.labels, drawn.truth)
    assert within_noise(np.bincount(true), 60_000, SHARE).all()
    confusion = np.zeros((3, 3))
    np.add.at(confusion, (np.repeat(true, 5), np.searchsorted(drawn.labels, drawn.label)), 1)
    assert within_noise(confusion, confusion.sum(axis=1, keepdims=True), MATRIX).all()
    assert confusion[2, 0] == 0


def test_labels_are_alike_by_default():
    drawn = crowd(40_000, 3, 1, labels=("d", "a", "c", "b"), seed=2)
    assert within_noise(np.unique(drawn.truth, return_counts=True)[1], 40_000, 0.25).all()


def test_answers_are_independent_given_the_truth():
    drawn = crowd(50_000, 20, 2, matrix=[[0.8, 0.2], [0.3, 0.7]], selectivity=[1, 0], seed=3)
    wrong = (drawn.label == "yes").reshape(-1, 2)
    assert within_noise(wrong.all(axis=1).sum(), 50_000, 0.04)


@given(
    n_tasks=st.integers(1, 30),
    n_workers=st.integers(1, 25),
    ends=st.tuples(st.integers(1, 25), st.integers(1, 25)),
    seed=st.integers(0, 2**64),
)
def test_every_crowd_is_well_formed(n_tasks, n_workers, ends, seed):
    low, high = sorted(min(end, n_workers) for end in ends)
    drawn = crowd(n_tasks, n_workers, (low, high), seed=seed)
    pairs = np.char.add(drawn.task, drawn.worker)
    assert len(np.unique(pairs)) == len(pairs)
    tasks, sizes = np.unique(drawn.task, return_counts=True)
    assert tasks.tolist() == drawn.tasks.tolist()
    assert len(tasks) == len(drawn.truth) == n_tasks
    assert low <= sizes.min()
    assert sizes.max() <= high
    assert set(drawn.label) | set(drawn.truth) <= set(drawn.labels)
    np.testing.assert_allclose(drawn.matrix.sum(axis=1), 1)


def test_sizes_are_uniform_between_the_ends():
    drawn = crowd(40_000, 9, (2, 5), seed=4)
    sizes = np.unique(drawn.task, return_counts=True)[1]
    values, times = np.unique(sizes, return_counts=True)
    assert values.tolist() == [2, 3, 4, 5]
    assert within_noise(times, 40_000, 0.25).all()


@pytest.mark.parametrize("responses", [1, 3, 4, 7, (1, 7)])
def test_loads_are_about_even(responses):
    drawn = crowd(20_000, 7, responses, seed=5)
    loads = np.unique(drawn.worker, return_counts=True)[1]
    assert len(loads) == 7
    assert within_noise(loads, len(drawn.worker), 1 / 7).all()


def test_every_set_of_workers_is_alike():
    drawn = crowd(100_000, 5, 2, seed=6)
    sets = np.unique(np.sort(drawn.worker.reshape(-1, 2), axis=1), axis=0, return_counts=True)[1]
    assert len(sets) == 10
    assert within_noise(sets, 100_000, 0.1).all()


def test_same_seed_same_crowd():
    first, again, other = (crowd(200, 30, (1, 6), labels=("a", "b", "c"), seed=seed) for seed in (8, 8, 9))
    for name, column in first.to_dict().items():
        assert np.array_equal(column, again.to_dict()[name])
    assert np.array_equal(first.truth, again.truth)
    assert np.array_equal(first.matrix, again.matrix)
    assert not np.array_equal(first.matrix, other.matrix)


def test_a_generator_is_drawn_from():
    rng = np.random.default_rng(10)
    first, second = (crowd(50, 10, 3, seed=rng) for _ in range(2))
    assert not np.array_equal(first.worker, second.worker)
    assert np.array_equal(first.worker, crowd(50, 10, 3, seed=np.random.default_rng(10)).worker)


def test_crowds_are_the_same_everywhere():
    drawn = crowd(1000, 50, (2, 6), labels=("a", "b", "c"), seed=2024)
    text = "".join(map(",".join, (*drawn.to_dict().values(), drawn.truth))) + repr(drawn.matrix.tolist())
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "b73326bb2fe4398d"


def test_ids_and_tables():
    drawn = crowd(1000, 20, 2, seed=11)
    assert drawn.tasks[[0, 999]].tolist() == ["t0001", "t1000"]
    assert set(drawn.worker) == {f"w{i:02}" for i in range(1, 21)}
    assert list(drawn.to_dict()) == ["task", "worker", "label"]
    assert list(drawn.truth_dict()) == ["task", "label"]
    assert drawn.truth_dict()["label"] is drawn.truth


def test_random_matrix_of_two_labels():
    rng = np.random.default_rng(12)
    rates = np.array([np.diag(random_matrix(2, rng)) for _ in range(4000)])
    assert (rates >= 0.5).all()
    assert (rates < 1).all()
    np.testing.assert_allclose(rates.mean(axis=0), 0.75, atol=5 * 0.5 / np.sqrt(12 * 4000))


@pytest.mark.parametrize("n_labels", [3, 4, 7])
def test_random_matrix_of_more_labels(n_labels):
    rng = np.random.default_rng(13)
    drawn = np.array([random_matrix(n_labels, rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn.sum(axis=2), 1)
    assert (drawn >= 0).all()
    assert (drawn.argmax(axis=2) == np.arange(n_labels)).all()
    # The expected largest of n uniform spacings is (1 + 1/2 + ... + 1/n) / n.
    expected = np.mean(1 / np.arange(1, n_labels + 1))
    np.testing.assert_allclose(np.diagonal(drawn, axis1=1, axis2=2).mean(axis=0), expected, atol=0.02)


def test_certain_labels_are_certain():
    drawn = crowd(5000, 5, 3, labels=("a", "b", "c"), selectivity=[0.3, 0.7, 0], matrix=np.eye(3), seed=14)
    assert np.array_equal(drawn.label, np.repeat(drawn.truth, 3))
    assert set(drawn.truth) == {"a", "b"}


def test_arguments_are_not_aliased():
    given_matrix = np.eye(2)
    drawn = crowd(1, 1, 1, matrix=given_matrix, seed=15)
    given_matrix[:] = 0.5
    assert drawn.matrix.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"responses": 11}, "there are only 10"),
        ({"responses": (2, 11)}, "there are only 10"),
        ({"responses": (3, 2)}, "not from 3 to 2"),
        ({"responses": (1, 2, 3)}, "low, high"),
        ({"responses": 0}, "responses must be"),
        ({"responses": 1.5}, "whole number"),
        ({"n_tasks": 0}, "n_tasks must be"),
        ({"n_workers": -1}, "n_workers must be"),
        ({"labels": ("a",)}, "at least two"),
        ({"labels": ("a", "a")}, "distinct"),
        ({"labels": ("a", "", "b")}, "none empty"),
        ({"n_tasks": 10**12}, "too many to draw at once"),
        ({"n_workers": 10**12}, "too many to draw at once"),
        ({"kind": "mlr", "labels": tuple("abcd")}, "too rare"),
        ({"kind": "odd"}, "any, diagonal, mlr"),
        ({"labels": "ab"}, "sequence of texts"),
        ({"labels": (0, 1)}, "sequence of texts"),
        ({"selectivity": [0.5, 0.6]}, "selectivity must sum to 1"),
        ({"selectivity": [-0.5, 1.5]}, "between 0 and 1"),
        ({"selectivity": [np.nan, 1]}, "between 0 and 1"),
        ({"selectivity": [0.2, 0.3, 0.5]}, "one entry per label, 2, not 3"),
        ({"selectivity": ["x", "y"]}, "numbers"),
        ({"matrix": [[0.9, 0.2], [0.5, 0.5]]}, "matrix must sum to 1 in every row"),
        ({"matrix": [[1.1, -0.1], [0.5, 0.5]]}, "between 0 and 1"),
        ({"matrix": [0.5, 0.5]}, "one entry per label, 2 by 2, not 2"),
        ({"matrix": [[1], [0.5, 0.5]]}, "numbers"),
        ({"seed": -1}, "seed must be"),
        ({"seed": None}, "seed must be"),
        ({"seed": 1.5}, "seed must be"),
        ({"skew": -1}, "skew must be"),
        ({"skew": np.nan}, "skew must be"),
        ({"experts": 11}, "experts must be"),
        ({"experts": -1}, "experts must be"),
        ({"experts": 1.5}, "experts must be"),
        ({"experts": 2, "expert_matrix": [[0.9, 0.2], [0.5, 0.5]]}, "expert_matrix must sum"),
    ],
)
def test_impossible_crowds(changes, message):
    with pytest.raises(InputError, match=message):
        crowd(**{"n_tasks": 5, "n_workers": 10, "responses": 3, "seed": 0, **changes})


def test_a_matrix_needs_two_labels():
    with pytest.raises(InputError, match="at least two"):
        random_matrix(1, np.random.default_rng(0))


@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_any_matrix_may_be_drawn(n_labels):
    rng = np.random.default_rng(16)
    drawn = np.array([random_matrix(n_labels, rng, "any") for _ in range(4000)])
    np.testing.assert_allclose(drawn.sum(axis=2), 1)
    np.testing.assert_allclose(drawn.mean(axis=0), 1 / n_labels, atol=0.03)
    on_diagonal = (drawn.argmax(axis=2) == np.arange(n_labels)).sum(axis=0)
    assert within_noise(on_diagonal, 4000, 1 / n_labels).all()


def test_swapping_is_as_good_as_drawing_anew():
    rng = np.random.default_rng(17)
    swapped = np.array([random_matrix(3, rng)[1] for _ in range(4000)])
    rows = np.array([random_matrix(3, rng, "any")[1] for _ in range(12_000)])
    kept = rows[rows.argmax(axis=1) == 1]
    for power in (1, 2):
        np.testing.assert_allclose((swapped**power).mean(axis=0), (kept**power).mean(axis=0), atol=0.015)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_monotone_likelihood_ratios(n_labels):
    rng = np.random.default_rng(18)
    for _ in range(50):
        drawn = random_matrix(n_labels, rng, "mlr")
        ratio = drawn[1:] / drawn[:-1]
        assert (np.diff(ratio, axis=1) >= -1e-12).all()
        np.testing.assert_allclose(drawn.sum(axis=1), 1)


def test_matrices_that_cannot_be_drawn():
    with pytest.raises(InputError, match="too rare"):
        random_matrix(4, np.random.default_rng(0), "mlr")
    with pytest.raises(InputError, match="any, diagonal, mlr"):
        random_matrix(3, np.random.default_rng(0), "best")


def test_skewed_sizes():
    drawn = crowd(40_000, 9, (2, 5), skew=1.5, seed=19)
    sizes = np.unique(drawn.task, return_counts=True)[1]
    share = np.arange(1, 5) ** -1.5
    assert within_noise(np.bincount(sizes)[2:], 40_000, share / share.sum()).all()


def test_experts_answer_by_their_own_matrix():
    regular, expert = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.95, 0.05], [0.1, 0.9]])
    drawn = crowd(20_000, 10, 5, matrix=regular, experts=3, expert_matrix=expert, seed=20)
    assert drawn.experts == ("w01", "w02", "w03")
    by_expert = np.isin(drawn.worker, drawn.experts)
    true, answer = np.repeat(drawn.truth, 5) == "yes", drawn.label == "yes"
    for asked, matrix in ((by_expert, expert), (~by_expert, regular)):
        for label in (0, 1):
            some = asked & (true == label)
            assert within_noise(answer[some].sum(), some.sum(), matrix[label, 1])


def test_experts_err_half_as_often_by_default():
    drawn = crowd(10, 4, 2, matrix=[[0.6, 0.4], [0.2, 0.8]], experts=1, seed=21)
    np.testing.assert_allclose(drawn.expert_matrix, [[0.8, 0.2], [0.1, 0.9]])
    nobody = crowd(10, 4, 2, seed=21)
    assert nobody.experts == ()
    assert nobody.expert_matrix is None


def test_tables_are_distributed_as_crowds_are():
    n, size = 30_000, 3
    drawn = crowd(n, 10, size, labels=("a", "b", "c"), selectivity=SHARE, matrix=MATRIX, seed=22)
    answers = np.searchsorted(drawn.labels, drawn.label).reshape(n, size)
    counts = np.stack([(answers == label).sum(axis=1) for label in range(3)], axis=1)
    lattice = Lattice.full(3, size)
    probability = lattice.probabilities(MATRIX)
    true = np.searchsorted(drawn.labels, drawn.truth)
    for label in range(3):
        seen = np.array([(counts[true == label] == bucket[0]).all(axis=1).sum() for bucket in lattice.counts])
        assert within_noise(seen, (true == label).sum(), probability[label]).all()
        table = lattice.draw(np.bincount(true), MATRIX, np.random.default_rng(23))
        assert within_noise(table[label], (true == label).sum(), probability[label]).all()
        assert table[label].sum() == (true == label).sum()


@given(
    seed=st.integers(0, 2**32), n_labels=st.integers(2, 4), sizes=st.lists(st.integers(0, 4), min_size=1, max_size=2)
)
def test_probabilities_of_buckets_sum_to_one_before_rounding_is_mended(seed, n_labels, sizes):
    rng = np.random.default_rng(seed)
    lattice = Lattice.full(n_labels, sizes)
    matrices = np.array([random_matrix(n_labels, rng, "any") for _ in sizes])
    raw = lattice.ways * np.prod(matrices.swapaxes(0, 1)[:, None] ** lattice.counts, axis=(2, 3))
    np.testing.assert_allclose(raw.sum(axis=1), 1)
    np.testing.assert_allclose(lattice.probabilities(matrices), raw)
    assert (lattice.counts.sum(axis=2) == sizes).all()
    assert len(np.unique(lattice.counts.reshape(len(lattice.counts), -1), axis=0)) == len(lattice.counts)


def test_classes_are_drawn_independently():
    expert, regular = [[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]]
    lattice = Lattice.full(2, [1, 2])
    alone = [Lattice.full(2, 1).probabilities(expert), Lattice.full(2, 2).probabilities(regular)]
    product = (alone[0][:, :, None] * alone[1][:, None, :]).reshape(2, -1)
    np.testing.assert_allclose(lattice.probabilities([expert, regular]), product)


@given(n=st.integers(1, 2000), parts=st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_exact_shares(n, parts):
    shares = np.array(parts) / sum(parts)
    tasks = tasks_by_share(n, shares)
    assert tasks.sum() == n
    assert (np.abs(tasks - n * shares) < 1 + 1e-6).all()


def test_the_papers_shares_are_exact():
    assert tasks_by_share(1000, [0.2, 0.6, 0.2]).tolist() == [200, 600, 200]
    assert tasks_by_share(1000, [0.4, 0.2, 0.4]).tolist() == [400, 200, 400]


@pytest.mark.parametrize("bad", [{"sizes": []}, {"sizes": [-1]}, {"n_labels": 1}])
def test_lattices_that_do_not_exist(bad):
    with pytest.raises(InputError, match="there are no counts"):
        Lattice.full(**{"n_labels": 2, "sizes": 3, **bad})


@pytest.mark.parametrize("n_labels", [1, 2, 3, 5])
@pytest.mark.parametrize("near", [0.0, 0.3, 1.0])
def test_errors_of_ratings_are_rarer_the_further_they_go(n_labels, near):
    matrix = near_errors(n_labels, 0.7, near)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(n_labels))
    for true, row in enumerate(matrix):
        for answered in range(n_labels):
            step = abs(answered - true)
            if n_labels > 1 and step == 0:
                assert row[answered] == 0.7
            nearer = answered + np.sign(true - answered)
            if step > 1:
                assert row[answered] == pytest.approx(near * row[nearer])
    if near == 1:
        assert matrix == pytest.approx(uniform_errors(n_labels, 0.7))
