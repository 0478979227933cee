"""Known labels teach, but do not exchange the names of labels: those are what most workers mean by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdopt.consensus import consensus
from crowdopt.consensus.consensus import find_consensus
from crowdopt.consensus.rows import Rows
from crowdopt.consensus.teaching import teaches
from crowdopt.data.coded import Coded
from support.crowds import drawn_rows, renamed


def crowd(seed: int, n_tasks: int = 60, n_labels: int = 3, per_task: int = 4, right: float = 0.7) -> Rows:
    """Five workers who are right so often and else pick evenly: a small crowd that disagrees much."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n_tasks)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.permutation(5)[:per_task] for _ in range(n_tasks)])
    other = (truth[task] + rng.integers(1, n_labels, size=len(task))) % n_labels
    return Rows.of(Coded.of(task, worker, np.where(rng.random(len(task)) < right, truth[task], other), n_labels))


def clear_majorities(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Which tasks have one label from more than half of their workers, and the label with most votes of every task."""
    return 2 * rows.votes.max(axis=1) > rows.votes.sum(axis=1), rows.votes.argmax(axis=1)


def with_wrong_labels(rows: Rows, number: int, seed: int) -> Rows:
    """Some tasks of a clear majority are said to have the next label: all in the same sense, which misleads most."""
    clear, most = clear_majorities(rows)
    at = np.random.default_rng(seed).permutation(np.flatnonzero(clear))[:number]
    known = np.full(rows.n_tasks, -1)
    known[at] = (most[at] + 1) % rows.n_labels
    return replace(rows, known=known)


def kept(rows: Rows) -> tuple[int, int, int]:
    """Clear majorities of tasks without a known label; how many of them the consensus has without, and with those."""
    clear, most = clear_majorities(rows)
    clear &= rows.known < 0
    free = find_consensus(replace(rows, known=np.full(rows.n_tasks, -1))).probabilities.argmax(axis=1)
    found = find_consensus(rows).probabilities.argmax(axis=1)
    return int(clear.sum()), int((clear & (free == most)).sum()), int((clear & (found == most)).sum())


@pytest.mark.parametrize("number", [1, 2, 5, 10, 20])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_wrong_known_labels_take_no_clear_majority_along(number, n_labels):
    for seed in range(3):
        rows = with_wrong_labels(crowd(seed, n_labels=n_labels), number, seed)
        n_clear, before, after = kept(rows)
        assert n_clear >= 20
        assert after >= before - 1, (number, seed)
        held = rows.known >= 0
        assert (find_consensus(rows).probabilities[held, rows.known[held]] == 1.0).all()  # and yet they are kept


def test_without_that_rule_they_would(monkeypatch):
    """What the test above would miss if it could not fail."""
    monkeypatch.setattr(consensus, "idle_labels", lambda crossed: np.zeros(len(crossed), bool))
    lost = [before - after for before, after in (kept(with_wrong_labels(crowd(seed), 20, seed))[1:] for seed in (0, 1))]
    assert min(lost) > 20


def test_unanimous_tasks_keep_their_labels_in_crowds_of_all_kinds():
    for seed in range(6):
        rows = with_wrong_labels(drawn_rows(seed, n_tasks=80, n_labels=2 + seed % 3, per_task=4), 8, seed)
        unanimous = (rows.votes.max(axis=1) == rows.votes.sum(axis=1)) & (rows.known < 0)
        assert unanimous.sum() > 5
        found = find_consensus(rows).probabilities.argmax(axis=1)
        assert (found == rows.votes.argmax(axis=1))[unanimous].all()


def biased(seed: int) -> tuple[Rows, np.ndarray]:
    """Workers who call half of the second label the first: what known labels can teach, and votes cannot."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(300) < 0.4).astype(int)
    task = np.repeat(np.arange(300), 5)
    right = np.where(truth == 1, 0.4, 0.9)[task]
    answer = np.where(rng.random(len(task)) < right, truth[task], 1 - truth[task])
    return Rows.of(Coded.of(task, rng.integers(30, size=len(task)), answer, 2)), truth


def test_many_right_known_labels_teach_how_workers_err():
    gains = []
    for seed in range(4):
        rows, truth = biased(seed)
        known = np.where(np.random.default_rng(seed + 100).random(300) < 0.2, truth, -1)
        told = replace(rows, known=known)
        assert (teaches(told.votes, known) == (known >= 0)).all()
        before, after = (find_consensus(one).probabilities.argmax(axis=1) == truth for one in (rows, told))
        gains.append(after[known < 0].mean() - before[known < 0].mean())
    assert min(gains) >= 0
    assert np.mean(gains) > 0.05


def test_some_wrong_ones_among_many_right_ones_teach_like_others():
    rows, truth = biased(5)
    known = np.where(np.arange(300) % 5 == 0, truth, -1)
    known[[0, 5, 10]] = 1 - truth[[0, 5, 10]]
    assert (teaches(rows.votes, known) == (known >= 0)).all()


VOTES = np.array([[3, 0, 0], [0, 3, 0], [0, 3, 0], [0, 0, 3], [2, 2, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([-1, -1, -1, -1, -1, -1], []),
        ([0, 1, 1, 2, 0, -1], [0, 1, 2, 3, 4]),  # right ones
        ([1, -1, -1, -1, -1, -1], []),  # a wrong one alone
        ([1, 1, 1, -1, -1, -1], [0, 1, 2]),  # two right ones of the same label outweigh it
        ([1, 0, 0, 2, -1, -1], [3]),  # two labels exchanged: a third one teaches
        ([1, 2, 2, 0, -1, -1], []),  # three labels in a circle
        ([-1, 0, -1, -1, 0, -1], []),  # a tie is half confirmed: one and a half against a half
        ([0, 0, -1, -1, 0, -1], [0, 1, 4]),  # and one and a half are as many
        ([-1, -1, -1, -1, -1, 2], [5]),  # nobody answered it, so nobody contradicts it
    ],
)
def test_which_known_labels_teach(known, expected):
    assert np.flatnonzero(teaches(VOTES, np.array(known))).tolist() == expected


def test_other_names_and_another_order_change_nothing():
    rows = with_wrong_labels(crowd(3), 10, 3)
    other, task, _ = renamed(rows, 1)
    assert (teaches(other.votes, other.known)[task] == teaches(rows.votes, rows.known)).all()
    ours, theirs = find_consensus(rows).probabilities, find_consensus(other).probabilities
    assert np.abs(ours - theirs[task]).max() < 1e-9
