"""Classes of workers given the consensus: against plain loops, under other names, on crowds of known classes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crowdopt.consensus.classes import auto_n_classes, find_classes
from crowdopt.consensus.consensus import find_consensus
from crowdopt.consensus.rows import Rows
from crowdopt.data.coded import Coded
from support.classed_crowds import BLUNT, SHARP, YES_SAYER, drawn, symmetric


def rows_of(task, worker, label, n_labels: int, known=None) -> Rows:
    return Rows.of(Coded.of(np.asarray(task), np.asarray(worker), np.asarray(label), n_labels), known)


def random_crowd(seed: int) -> tuple[Rows, np.ndarray]:
    """Responses at random, and probabilities of labels at random: no two workers are alike."""
    rng = np.random.default_rng(seed)
    n_labels, n_tasks, n_workers = int(rng.integers(2, 5)), 40, 15
    task, worker = np.repeat(np.arange(n_tasks), 6), np.concatenate([rng.permutation(n_workers)[:6] for _ in range(40)])
    rows = rows_of(task, worker, rng.integers(n_labels, size=len(task)), n_labels)
    return rows, np.round(rng.dirichlet(np.full(n_labels, 0.3), n_tasks), 4)


def by_loops(rows: Rows, probabilities: np.ndarray, n_classes: int):
    """The same classes, pseudo-counts and shares in plain loops, classes by their sets of workers."""
    n_workers, n_labels = rows.n_workers, rows.n_labels
    counts = np.zeros((n_workers, n_labels, n_labels))
    for task, worker, answer in zip(rows.task, rows.worker, rows.answer, strict=True):
        for label in range(n_labels):
            counts[worker, label, answer] += probabilities[task, label]
    agreement = [(np.trace(own) + 1.2) / (own.sum() + 2) for own in counts]
    ranked = sorted(range(n_workers), key=lambda worker: agreement[worker])
    classes = {worker: rank * n_classes // n_workers for rank, worker in enumerate(ranked)}
    everybody = counts.sum(axis=0)
    for _ in range(20):
        sums = [
            sum((counts[w] for w in classes if classes[w] == k), np.zeros_like(everybody)) for k in range(n_classes)
        ]
        matrices = []
        for own in sums:
            pulled = own + 0.01
            for label in range(n_labels):
                pulled[label] += 0.1 * own.sum() / n_labels * everybody[label] / everybody[label].sum()
            matrices.append(pulled / pulled.sum(axis=1, keepdims=True))
        scores = {w: [float((counts[w] * np.log(matrix)).sum()) for matrix in matrices] for w in classes}
        chosen = {w: scores[w].index(max(scores[w])) for w in classes}
        if chosen == classes:
            break
        classes = chosen
    found = {}
    for k in set(classes.values()):
        members = frozenset(w for w in classes if classes[w] == k)
        own = sum(counts[w] for w in members)
        smoothed = own + 0.5 / n_labels
        prior = smoothed / smoothed.sum(axis=1, keepdims=True) * own.sum() / n_labels
        found[members] = (np.trace(own) / own.sum(), prior)
    return found, probabilities.mean(axis=0)


@pytest.mark.parametrize("seed", range(12))
def test_equals_plain_loops(seed):
    rows, probabilities = random_crowd(seed)
    for n_classes in (1, 2, 4, 8):
        found = find_classes([(rows, probabilities)], n_classes)
        expected, shares = by_loops(rows, probabilities, n_classes)
        members = [frozenset(np.flatnonzero(found.classes == k).tolist()) for k in range(len(found.prior))]
        assert {*members} == {*expected}
        assert np.allclose(found.prior, [expected[own][1] for own in members], rtol=1e-6)
        assert np.allclose(found.shares, shares / shares.sum(), atol=1e-6)
        right = [expected[own][0] for own in members]
        assert right == sorted(right, reverse=True)  # the best class comes first


@pytest.mark.parametrize("seed", range(6))
def test_the_names_of_workers_and_tasks_change_nothing(seed):
    rng = np.random.default_rng(seed)
    task, worker, label, _, _ = drawn(seed, [SHARP, BLUNT], n_tasks=50, workers=6, per_task=4)
    worker = np.append(worker, [12, 13, 14])  # three workers who are alike in everything: each answered one task
    task, label = np.append(task, [0, 0, 0]), np.append(label, [1, 1, 1])
    new_worker, new_task = rng.permutation(15), rng.permutation(50)
    first, second = rows_of(task, worker, label, 3), rows_of(new_task[task], new_worker[worker], label, 3)
    for n_classes in (2, 3, 7, 15):
        one, other = (find_classes([(rows, find_consensus(rows).probabilities)], n_classes) for rows in (first, second))
        assert (other.classes[new_worker] == one.classes).all()
        assert len({*one.classes[12:]}) == 1
        assert np.array_equal(one.prior, other.prior)
        assert np.array_equal(one.shares, other.shares)


@pytest.mark.parametrize("seed", range(3))
def test_finds_experts(seed):
    task, worker, label, _, classes = drawn(seed, [SHARP, BLUNT])
    rows = rows_of(task, worker, label, 3)
    found = find_classes([(rows, find_consensus(rows).probabilities)], 2)
    assert (found.classes == classes).mean() > 0.9
    assert np.allclose(found.shares, 1 / 3, atol=0.1)


def test_finds_those_who_nearly_always_say_yes():
    task, worker, label, _, classes = drawn(1, [symmetric(2, 0.85), YES_SAYER])
    rows = rows_of(task, worker, label, 2)
    found = find_classes([(rows, find_consensus(rows).probabilities)], 2)
    assert (found.classes == classes).mean() > 0.9
    rates = found.prior / found.prior.sum(axis=2, keepdims=True)
    assert np.allclose(rates[1], YES_SAYER, atol=0.1)


def test_pseudo_counts_have_the_weight_of_the_responses():
    task, worker, label, _, _ = drawn(5, [SHARP, BLUNT], n_tasks=60)
    rows = rows_of(task, worker, label, 3)
    found = find_classes([(rows, find_consensus(rows).probabilities)], 4)
    sizes = np.bincount(found.classes[worker], minlength=len(found.prior))
    assert np.allclose(found.prior.sum(axis=2), sizes[:, None] / 3)


def test_shares_are_those_of_the_tasks_whose_label_is_not_known():
    task, worker, label, truth, _ = drawn(2, [symmetric(2, 0.9)], n_tasks=30)
    known = np.where(np.arange(30) < 20, truth, -1)
    rows = rows_of(task, worker, label, 2, known)
    found = find_consensus(rows).probabilities
    assert np.allclose(find_classes([(rows, found)], 1).shares, found[20:].mean(axis=0), atol=1e-9)


def test_one_label_and_labels_that_nobody_answers():
    for n_labels in (1, 3):
        rows = rows_of([0, 0, 1], [0, 1, 0], [0, 0, 0], n_labels)
        found = find_classes([(rows, find_consensus(rows).probabilities)], 2)
        assert found.shares.tolist() == [1.0] + [0.0] * (n_labels - 1)
        assert np.isfinite(found.prior).all()
        assert math.isclose(found.prior.sum(), 3)


def test_how_many_classes_are_found_if_nobody_says():
    assert [auto_n_classes(n_labels, 100) for n_labels in (1, 2, 3, 10)] == [8, 8, 2, 2]
    assert [auto_n_classes(2, n_workers) for n_workers in (1, 5, 8, 9)] == [1, 5, 8, 8]
    assert auto_n_classes(3, 1) == 1
