"""The alternation of labels and classes: what it maximises never falls, and is what the rest of the product calls F."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from crowdopt.classes.mixture_em import (
    PULL,
    Settings,
    anchor,
    fit,
    harden,
    log_predictive,
    objective_of_classes,
    smoothing_counts,
    start,
)
from crowdopt.data.encode import Coded, labels_of_buckets
from crowdopt.model.buckets import Buckets
from crowdopt.model.offsets import Offsets

SHARES = ["answers", "estimate", "none", (0.2, 0.5, 0.3)]


def drawn(seed: int, n_tasks: int = 60, n_workers: int = 12, n_labels: int = 3, per_task: int = 5) -> Coded:
    """Workers of any skill, some tasks answered twice by the same worker."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n_tasks)
    skill = rng.uniform(0.2, 1.0, n_workers)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([np.arange(n_workers), rng.integers(n_workers, size=len(task) - n_workers)])
    right = rng.random(len(task)) < skill[worker]
    return Coded.of(task, worker, np.where(right, truth[task], rng.integers(n_labels, size=len(task))), n_labels)


def counted(coded: Coded, classes: np.ndarray, n_classes: int) -> np.ndarray:
    counts = np.zeros((coded.n_tasks, n_classes, coded.n_labels), np.int64)
    np.add.at(counts, (coded.task, classes[coded.worker], coded.answer), coded.times)
    return counts


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shares", SHARES)
def test_f_never_falls_and_is_the_objective(seed, shares):
    coded = drawn(seed)
    settings = Settings(3, shares, smoothing=(None, 0.0, 0.5)[seed % 3])
    decision = harden(coded, fit(coded, settings), settings)
    assert all(after >= before - 1e-9 for before, after in itertools.pairwise(decision.trace))
    n_classes = len(decision.prior)
    assert sorted(set(decision.classes.tolist())) == list(range(n_classes))
    buckets, index = Buckets.from_arrays(counted(coded, decision.classes, n_classes))
    mapping = labels_of_buckets(coded, decision.classes, decision.labels, buckets)
    assert mapping[index].tolist() == decision.labels.tolist()  # tasks with equal counts have equal labels
    prior = np.swapaxes(decision.prior, 0, 1)
    offsets = Offsets.of(coded.n_labels, n_classes, prior=prior if prior.any() else None)
    value = objective_of_classes(settings, decision.shares, offsets).of_mapping(buckets, mapping)
    assert n_classes < 3 or value == pytest.approx(decision.trace[-1], abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_gains_at_the_end(seed):
    """No single task and no single worker is better elsewhere, given the matrices: from the definition."""
    coded, settings = drawn(seed), Settings(2, "none")
    decision = harden(coded, fit(coded, settings), settings)
    counts = np.zeros((2, 3, 3))
    np.add.at(counts, (decision.classes[coded.worker], decision.labels[coded.task], coded.answer), coded.times)
    logs = np.log((counts + decision.prior) / (counts + decision.prior).sum(axis=2, keepdims=True))
    by_task, by_worker = np.zeros((coded.n_tasks, 3)), np.zeros((coded.n_workers, 2))
    for t, w, a, n in zip(coded.task, coded.worker, coded.answer, coded.times, strict=True):
        by_task[t] += n * logs[decision.classes[w], :, a]
        by_worker[w] += n * logs[:, decision.labels[t], a]
    assert (by_task.max(axis=1) - by_task[np.arange(coded.n_tasks), decision.labels] < 1e-8).all()
    assert (by_worker.max(axis=1) - by_worker[np.arange(coded.n_workers), decision.classes] < 1e-8).all()


def test_starts_are_of_equal_size_and_differ_by_seed():
    coded = drawn(1)
    first = start(coded, 4)
    assert first.sum(axis=0).tolist() == [3, 3, 3, 3]
    assert np.array_equal(first, start(coded, 4))
    assert not np.array_equal(first, start(coded, 4, seed=1))
    assert np.array_equal(start(coded, 4, seed=1), start(coded, 4, seed=1))


COUNTS = np.array([[[80.0, 10.0, 10.0], [30.0, 30.0, 40.0], [0.0, 0.0, 100.0]]])


def test_the_pull_is_a_share_of_the_responses_and_keeps_the_accuracy():
    added = smoothing_counts(COUNTS)[0]
    assert added.sum(axis=1) == pytest.approx(PULL * 300 / 3)  # a share of the 300 responses, the same for every row
    accuracy = (210 + 2) / (300 + 4)
    assert added[0] / added[0].sum() == pytest.approx([accuracy, (1 - accuracy) / 2, (1 - accuracy) / 2])
    assert (smoothing_counts(COUNTS, 2.0) == 2).all()


def test_decided_labels_are_anchored_at_the_matrices_of_undecided_ones():
    anchored, smoothed = anchor(COUNTS)[0], COUNTS[0] + smoothing_counts(COUNTS)[0]
    assert anchored.sum(axis=1) == pytest.approx(100)  # together as many as there are responses
    assert anchored / 100 == pytest.approx(smoothed / smoothed.sum(axis=1, keepdims=True))
    assert (anchor(COUNTS, 2.0) == 2).all()


def test_guessed_answers_make_a_task_hard_and_leave_the_matrices_alone():
    """Half of the answers to two in three tasks are guesses; the matrix of the others is found all the same."""
    rng = np.random.default_rng(4)
    n_tasks, n_workers, right = 300, 40, 0.9
    truth, guessed = rng.integers(2, size=n_tasks), np.arange(n_tasks) % 3 > 0
    task, worker = np.repeat(np.arange(n_tasks), n_workers), np.tile(np.arange(n_workers), n_tasks)
    correct = rng.random(len(task)) < np.where(guessed[task], right / 2 + 1 / 4, right)
    coded = Coded.of(task, worker, np.where(correct, truth[task], 1 - truth[task]), 2)
    found = fit(coded, Settings(1, "none"))
    hard = found.states[:, 2:].sum(axis=1)
    assert hard[guessed].mean() > 0.8
    assert hard[~guessed].mean() < 0.2
    assert np.diag(found.matrix[0, :2]) == pytest.approx([right, right], abs=0.05)


def test_predictions_are_probabilities():
    coded = drawn(2)
    found = fit(coded, Settings(2))
    total = np.zeros(len(coded.task))
    for answer in range(coded.n_labels):
        asked = Coded(coded.task, coded.worker, np.full_like(coded.answer, answer), coded.times, 60, 12, 3)
        total += np.exp(log_predictive(asked, found))
    assert total == pytest.approx(np.ones(len(total)))


def test_a_label_of_share_zero_is_never_used():
    coded = drawn(3)
    settings = Settings(2, (0.5, 0.5, 0.0), smoothing=0.5)
    decision = harden(coded, fit(coded, settings), settings)
    assert set(decision.labels.tolist()) == {0, 1}
