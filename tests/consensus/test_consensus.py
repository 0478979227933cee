"""What the consensus promises, whatever the crowd: nothing depends on names, and nothing breaks at the edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdopt.consensus import threads
from crowdopt.consensus.consensus import FoundConsensus, Judge, find_consensus
from crowdopt.consensus.rows import Rows
from crowdopt.consensus.tilted import ranks
from crowdopt.data.coded import Coded
from crowdopt.errors import InputError
from support.crowds import drawn_rows, renamed, rows_of, without_responses


def checked(rows: Rows, **options) -> FoundConsensus:
    """The consensus, which is sound: finite, of sum one, and what its parameters say of the same responses."""
    found = find_consensus(rows, **options)
    for probabilities in (
        found.probabilities,
        *found.members.values(),
        Judge(found.parameters).probabilities_without(rows),
    ):
        assert np.isfinite(probabilities).all()
        assert (probabilities >= 0).all()
        assert np.abs(probabilities.sum(axis=1) - 1).max() < 1e-12
    for one in (*found.parameters.population.values(), *found.parameters.workers.values()):
        assert np.isfinite(one).all()
    for name in ("tilted_matrix", "kinds_matrix"):
        assert np.abs(found.parameters.workers[name].sum(axis=2) - 1).max() < 1e-6
    assert (Judge(found.parameters).probabilities(rows) == found.probabilities).all()
    return found


def balanced(n_labels: int) -> Rows:
    """Every label is as every other, and every worker as every other: rounds could go anywhere from there."""
    turns = [(turn + shift, turn, worker) for shift in range(2) for turn in range(n_labels) for worker in range(6)]
    numbered = {pair: at for at, pair in enumerate(sorted({(a, b) for a, b, _ in turns}))}
    return rows_of([(numbered[a, b], w, (a if w % 2 else b) % n_labels) for a, b, w in turns], n_labels)


CROWDS = {
    **{f"drawn {seed}": drawn_rows(seed, n_labels=2 + seed % 4, per_task=2 + seed % 5) for seed in range(8)},
    "sparse": drawn_rows(9, n_tasks=150, n_workers=100, n_labels=4, per_task=2),
    "balanced 2": balanced(2),
    "balanced 3": balanced(3),
    "one against one": rows_of([(t, w, (t + w) % 2) for t in range(8) for w in range(2)], 2),
}


@pytest.mark.parametrize("name", CROWDS)
def test_other_names_of_tasks_and_workers_and_order_of_rows_change_nothing(name):
    rows = CROWDS[name]
    ours = find_consensus(rows)
    for seed in range(3):
        other, task, worker = renamed(rows, seed)
        theirs = find_consensus(other)
        assert np.abs(ours.probabilities - theirs.probabilities[task]).max() < 1e-9
        for one, values in ours.parameters.workers.items():
            assert np.abs(values - theirs.parameters.workers[one][worker]).max() < 1e-9


@pytest.mark.parametrize("name", CROWDS)
def test_threads_change_nothing(name, monkeypatch):
    ours = find_consensus(CROWDS[name]).probabilities
    monkeypatch.setattr(threads, "n_cores", lambda: 3)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1.0)
    assert np.abs(find_consensus(CROWDS[name]).probabilities - ours).max() < 1e-9


def test_tied_workers_share_their_rank():
    assert ranks(np.array([0.5, 0.1, 0.5 + 1e-15, 0.9, 0.5 - 1e-15])).tolist() == [2, 0, 2, 4, 2]
    assert ranks(np.array([0.3])).tolist() == [0]


@pytest.mark.parametrize("n_labels", [1, 2, 5, 64])
def test_one_worker_and_one_response(n_labels):
    assert checked(rows_of([(0, 0, 0)], n_labels)).probabilities[0].tolist() == [1.0] + [0.0] * (n_labels - 1)


@pytest.mark.parametrize("n_labels", [2, 5, 64])
@pytest.mark.parametrize("n_workers", [1, 4])
def test_one_response_to_each_task(n_labels, n_workers):
    answers = [0, 1, 1, 0, 1, 0, 0, 1, 1, 1]
    found = checked(rows_of([(t, t % n_workers, a) for t, a in enumerate(answers)], n_labels))
    assert found.probabilities.argmax(axis=1).tolist() == answers


@pytest.mark.parametrize("n_labels", [2, 3, 64])
@pytest.mark.parametrize("n_tasks", [2, 50])
@pytest.mark.parametrize("n_workers", [1, 2, 7])
def test_unanimous_tasks_keep_their_label(n_labels, n_tasks, n_workers):
    answers = np.arange(n_tasks) * 7 % n_labels
    rows = rows_of([(t, w, answers[t]) for t in range(n_tasks) for w in range(n_workers)], n_labels)
    assert checked(rows).probabilities.argmax(axis=1).tolist() == answers.tolist()


def test_all_labels_of_a_long_scale():
    rows = drawn_rows(3, n_tasks=200, n_workers=20, n_labels=64)
    votes = rows.votes.max(axis=1)
    found = checked(rows).probabilities
    clear = votes >= 4
    assert clear.any()
    assert (found.argmax(axis=1) == rows.votes.argmax(axis=1))[clear].mean() > 0.95


@pytest.mark.parametrize("seed", range(6))
def test_a_longer_scale_changes_nothing(seed):
    """A label that nobody answered gets no probability, and does not move that of the others."""
    rows = drawn_rows(seed, n_labels=2 + seed % 3)
    used = np.array([1, 3, 4, 6])[: rows.n_labels]
    longer = replace(rows, answer=used[rows.answer], n_labels=8)
    ours, theirs = find_consensus(rows).probabilities, checked(longer).probabilities
    assert np.abs(ours - theirs[:, used]).max() < 1e-12
    assert theirs.sum() == pytest.approx(theirs[:, used].sum(), abs=1e-12)


def test_tasks_and_workers_without_responses():
    """A task that nobody answered has the shares of the labels; others do not notice."""
    rows = drawn_rows(5, n_tasks=80)
    gone = rows.task < 2
    found = checked(without_responses(rows, gone))
    assert np.abs(found.probabilities[0] - found.probabilities[1]).max() == 0
    shares = found.parameters.population
    kinds = shares["kinds_shares"].reshape(-1, 2).sum(axis=1)
    expected = shares["vote_shares"] / 4 + shares["tilted_shares"] / 2 + kinds / 4
    assert found.probabilities[0] == pytest.approx(expected, abs=1e-9)
    present = find_consensus(without_responses(rows, gone).with_evidence()).probabilities
    assert np.abs(found.probabilities[2:] - present).max() < 1e-12


def test_no_response_at_all_is_an_error():
    rows = drawn_rows(0)
    with pytest.raises(InputError, match="no response"):
        find_consensus(without_responses(rows, rows.task >= 0))


@pytest.mark.parametrize("seed", range(4))
def test_a_known_label_is_certain_and_teaches_who_is_right(seed):
    rows = drawn_rows(seed, n_labels=3)
    free = find_consensus(rows).probabilities
    known = np.where(np.arange(rows.n_tasks) % 5 == 0, free.argmax(axis=1), -1)
    known[0] = free[0].argmin()
    found = checked(replace(rows, known=known)).probabilities
    held = known >= 0
    assert (found[held, known[held]] == 1.0).all()
    assert (found.argmax(axis=1) == free.argmax(axis=1))[~held].mean() > 0.9


def test_labels_keep_their_names_under_some_wrong_known_labels():
    rows = drawn_rows(1, n_tasks=200, n_workers=20, n_labels=2, per_task=7)
    free = find_consensus(rows).probabilities.argmax(axis=1)
    known = np.where(np.arange(200) % 20 == 0, 1 - free, -1)
    found = checked(replace(rows, known=known)).probabilities.argmax(axis=1)
    assert (found == free)[known < 0].mean() > 0.9


def test_a_label_that_is_only_known():
    rows = replace(drawn_rows(2, n_labels=3), n_labels=5)
    known = np.where(np.arange(rows.n_tasks) == 4, 4, -1)
    found = checked(replace(rows, known=known)).probabilities
    assert found[4].tolist() == [0, 0, 0, 0, 1]
    assert (found[np.arange(rows.n_tasks) != 4].argmax(axis=1) < 3).all()


def test_given_shares_hold():
    rows = replace(drawn_rows(4, n_labels=3), n_labels=4)
    shares = np.array([0.1, 0.2, 0.6, 0.1])
    found = checked(rows, shares=shares)
    population = found.parameters.population
    assert (population["vote_shares"] == shares).all()
    assert (population["tilted_shares"] == shares).all()
    assert population["kinds_shares"].reshape(-1, 2).sum(axis=1) == pytest.approx(shares)
    more = find_consensus(rows, shares=np.array([0.1, 0.6, 0.2, 0.1])).probabilities.sum(axis=0)
    assert more[1] > found.probabilities.sum(axis=0)[1]


def test_a_mean_of_members_and_its_progress():
    told = []
    found = find_consensus(drawn_rows(0), on_share=told.append)
    assert told == sorted(told)
    assert told[0] == 0
    assert 0.8 < told[-1] <= 1
    assert len(told) == 3 + sum(found.rounds.values())
    assert [*found.members] == [*found.rounds] == ["vote", "tilted", "kinds"]
    mean = sum(weight * found.members[name] for name, weight in (("vote", 0.25), ("tilted", 0.5), ("kinds", 0.25)))
    assert np.abs(found.probabilities - mean).max() < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_what_the_others_say(seed):
    """As if the responses of the worker to the task were not there, the parameters being what they are."""
    rows = drawn_rows(seed, n_tasks=20, n_labels=2 + seed, per_task=1 + seed)
    known = np.where(np.arange(20) == 3, 1, -1)
    rows = replace(rows, known=known)
    parameters = find_consensus(rows).parameters
    found = Judge(parameters).probabilities_without(rows)
    for task, worker in {*zip(rows.task.tolist(), rows.worker.tolist(), strict=True)}:
        own = (rows.task == task) & (rows.worker == worker)
        expected = Judge(parameters).probabilities(without_responses(rows, own))[task]
        assert np.abs(found[own] - expected).max() < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_parameters_of_other_workers(seed):
    """Others, in another order, some of them unknown: who is known has the own matrix, who is not the population's."""
    rows = drawn_rows(seed)
    parameters = find_consensus(rows).parameters
    other, task, worker = renamed(rows, seed)
    back = np.argsort(worker)
    ours = Judge(parameters).probabilities(rows)
    assert np.abs(ours - Judge(parameters.aligned(back)).probabilities(other)[task]).max() < 1e-9
    unknown = parameters.aligned(np.where(np.arange(rows.n_workers) % 2 == 0, np.arange(rows.n_workers), -1))
    for name, values in unknown.workers.items():
        assert (values[0] == parameters.workers[name][0]).all()
        assert (values[1] == parameters.population[name]).all()
    guessed = Judge(unknown).probabilities(rows)
    assert np.isfinite(guessed).all()
    assert (guessed.argmax(axis=1) == ours.argmax(axis=1)).mean() > 0.7


def test_answers_that_were_never_seen_say_nothing():
    rows = replace(drawn_rows(0, n_labels=3), n_labels=4)
    parameters = find_consensus(rows).parameters
    first = Judge(parameters).probabilities(rows)
    task = np.append(rows.task, 0)
    more = Coded.of(task, np.append(rows.worker, 0), np.append(rows.answer, 3), 4)
    assert np.abs(Judge(parameters).probabilities(Rows.of(more))[1:] - first[1:]).max() < 1e-12
    for name in ("tilted_matrix", "kinds_matrix"):
        assert (parameters.workers[name][:, : len(parameters.population[name]) * 3 // 4, 3] == 0).all()


def test_a_repeated_response_counts_twice():
    once = rows_of([(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0), (2, 0, 1), (2, 1, 1)], 2)
    twice = rows_of([(0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0), (2, 0, 1), (2, 1, 1)], 2)
    assert len(twice.worker) == 7
    assert checked(twice).probabilities[0, 0] > checked(once).probabilities[0, 0]
