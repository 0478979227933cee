"""Dominance: the fast checks against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.model import order
from crowdopt.model.order import tails, violation
from support import oracle


def random_case(seed: int, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """A few distinct counts with labels that respect the order about as often as not."""
    rng = np.random.default_rng([seed, n_labels])
    counts = np.unique(rng.integers(0, 5, (int(rng.integers(1, 9)), n_labels)), axis=0)
    counts = counts[counts.sum(axis=1) > 0]
    counts = counts[rng.permutation(len(counts))]
    mean = counts @ np.arange(n_labels) / counts.sum(axis=1)
    noise = rng.normal(0, rng.choice([0.2, 2.0, 4.0]), len(counts))
    return counts, np.clip(np.rint(mean + noise), 0, n_labels - 1).astype(np.int64)


@pytest.mark.parametrize("block", [1, 1 << 22], ids=["many-blocks", "one-block"])
@pytest.mark.parametrize("n_classes", [1, 2], ids=["one-class", "two-classes"])
@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_violation_is_what_the_definition_says(monkeypatch, n_labels, n_classes, block):
    """Two equal classes have the order of one; for two labels they take the other of the two code paths."""
    monkeypatch.setattr(order, "_BLOCK", block)
    verdicts = []
    for seed in range(300):
        counts, mapping = random_case(seed, n_labels)
        if not len(counts):
            continue
        pair = violation(np.stack([counts] * n_classes, axis=1), mapping)
        assert (pair is None) == oracle.respects_order(counts, mapping)
        verdicts.append(pair is None)
        if pair is not None:
            high, low = pair
            assert oracle.dominates(counts[high], counts[low])
            assert mapping[high] < mapping[low]
    assert 0.2 < np.mean(verdicts) < 0.8


def test_classes_that_disagree_are_not_ordered():
    """Dominance must hold class by class: more yes from one class does not make up for less from the other."""
    counts = np.array([[[0, 2], [2, 0]], [[1, 1], [1, 1]]])
    assert violation(counts, np.array([0, 1])) is None
    assert violation(counts, np.array([1, 0])) is None
    counts = np.array([[[0, 2], [0, 2]], [[1, 1], [1, 1]]])
    assert violation(counts, np.array([0, 1])) == (0, 1)


def test_tails_count_from_both_ends():
    assert tails(np.array([[[1, 2, 4]]])).tolist() == [[6, 4, -1, -3]]
    assert tails(np.array([[[1, 2]]])).tolist() == [[2, -1]]


@pytest.mark.parametrize("n_classes", [1, 2])
def test_equal_counts_must_get_one_label(n_classes):
    counts = np.ones((2, n_classes, 2), np.int64)
    assert violation(counts, np.array([0, 1])) == (0, 1)
    assert violation(counts, np.array([1, 0])) == (1, 0)
    assert violation(counts, np.array([1, 1])) is None


def test_one_label_and_one_bucket_respect_any_order():
    assert violation(np.array([[[3]], [[4]]]), np.array([0, 0])) is None
    assert violation(np.array([[[3, 1]]]), np.array([1])) is None
