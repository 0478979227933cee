"""Classes of workers found in simulated crowds whose classes are known."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.found_classes import Answers, choose, find_classes


def drawn(seed: int, matrices, *, n_tasks: int = 400, workers: int = 20, per_task: int = 9, shares=None):
    """Responses of ``workers`` workers of each class; with the labels and the classes that they were drawn from."""
    rng = np.random.default_rng(seed)
    matrices = np.asarray(matrices, float)
    n_classes, n_labels = matrices.shape[:2]
    truth = rng.choice(n_labels, n_tasks, p=shares)
    classes = np.repeat(np.arange(n_classes), workers)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.permutation(len(classes))[:per_task] for _ in range(n_tasks)])
    label = np.array(
        [rng.choice(n_labels, p=matrices[classes[w], truth[t]]) for t, w in zip(task, worker, strict=True)]
    )
    return task, worker, label, truth, classes


def symmetric(n_labels: int, right: float) -> np.ndarray:
    matrix = np.full((n_labels, n_labels), (1 - right) / (n_labels - 1))
    np.fill_diagonal(matrix, right)
    return matrix


SHARP, BLUNT = symmetric(3, 0.9), symmetric(3, 0.45)
YES_SAYER = np.array([[0.3, 0.7], [0.05, 0.95]])


def same(found: np.ndarray, true: np.ndarray) -> float:
    return float((found == true).mean())


@pytest.mark.parametrize("seed", range(5))
def test_finds_experts(seed):
    task, worker, label, truth, classes = drawn(seed, [SHARP, BLUNT])
    best, tried = find_classes(Answers.of(task, worker, label, 3))
    assert best.setting.n_classes == 2
    assert not best.setting.estimated
    assert same(best.classes, classes) > 0.95  # the class that is right more often comes first
    assert same(best.labels, truth) > 0.95
    assert {one.setting.n_classes for one in tried} >= {1, 2, 3}


@pytest.mark.parametrize("seed", range(5))
def test_one_class_where_there_is_one(seed):
    task, worker, label, truth, _ = drawn(seed, [symmetric(3, 0.7)])
    best, _ = find_classes(Answers.of(task, worker, label, 3))
    assert best.setting.n_classes == 1
    assert same(best.labels, truth) > 0.9


def test_finds_those_who_always_say_yes():
    task, worker, label, truth, classes = drawn(1, [symmetric(2, 0.85), YES_SAYER])
    best, _ = find_classes(Answers.of(task, worker, label, 2))
    assert same(best.classes, classes) > 0.9
    assert same(best.labels, truth) > 0.95


def test_shares_are_estimated_where_labels_are_rare():
    skewed = drawn(2, [symmetric(2, 0.8)], per_task=3, n_tasks=3000, workers=30, shares=[0.95, 0.05])
    best, _ = find_classes(Answers.of(*skewed[:3], 2))
    assert best.setting.estimated
    even = drawn(2, [symmetric(2, 0.8)], per_task=3, n_tasks=3000, workers=30)
    best, _ = find_classes(Answers.of(*even[:3], 2))
    assert not best.setting.estimated


def test_a_label_that_nobody_means_is_left_out():
    """Doubtful tasks are no reason to give them the name of a label that is rarely said."""
    rng = np.random.default_rng(3)
    parts = [drawn(seed, [symmetric(3, 0.9)], n_tasks=150, shares=[0.5, 0.5, 0.0]) for seed in (1, 2)]
    task = np.concatenate([parts[0][0], parts[1][0] + 150])
    worker, label = (np.concatenate([part[at] for part in parts]) for at in (1, 2))
    doubtful = task >= 150
    label = np.where(doubtful, rng.choice(3, len(label), p=[0.42, 0.42, 0.16]), label)
    best, _ = find_classes(Answers.of(task, worker, label, 3), 1)
    assert best.setting.allowed == (True, True, False)
    assert set(best.labels.tolist()) == {0, 1}


def test_the_order_of_rows_does_not_matter():
    task, worker, label, _, _ = drawn(4, [SHARP, BLUNT], n_tasks=100)
    best, tried = find_classes(Answers.of(task, worker, label, 3))
    order = np.random.default_rng(0).permutation(len(task))
    again, tried_again = find_classes(Answers.of(task[order], worker[order], label[order], 3))
    assert best.classes.tolist() == again.classes.tolist()
    assert best.labels.tolist() == again.labels.tolist()
    assert [one.score for one in tried] == [one.score for one in tried_again]


def test_what_is_given_is_kept():
    task, worker, label, _, _ = drawn(5, [SHARP, BLUNT], n_tasks=100)
    answers = Answers.of(task, worker, label, 3)
    best, tried = find_classes(answers, 3, estimated=True, smoothing=1.0)
    assert (best.setting.n_classes, best.setting.estimated, best.setting.smoothing) == (3, True, 1.0)
    assert len(tried) == 1
    stopped, first = find_classes(answers, on_progress=lambda _: True)
    assert len(first) == 1
    assert stopped is first[0]


def test_the_criterion_prefers_uniform_shares_unless_it_is_clear():
    task, worker, label, _, _ = drawn(6, [SHARP], n_tasks=50)
    _, tried = find_classes(Answers.of(task, worker, label, 3), 1)
    plain = max((one for one in tried if not one.setting.estimated), key=lambda one: one.score)
    assert choose(tried, n_tasks=10**9) is plain
    assert choose(tried, n_tasks=0) is max(tried, key=lambda one: one.score)
    assert choose([one for one in tried if one.setting.estimated], n_tasks=10**9).setting.estimated


def test_many_responses_are_judged_by_some_of_the_tasks(monkeypatch):
    task, worker, label, truth, classes = drawn(7, [SHARP, BLUNT])
    monkeypatch.setattr("crowdopt.found_classes.MAX_JUDGED", 1500)
    best, tried = find_classes(Answers.of(task, worker, label, 3))
    assert len(tried[0].labels) < len(truth) == len(best.labels)
    assert best.setting.n_classes == 2
    assert same(best.classes, classes) > 0.95
