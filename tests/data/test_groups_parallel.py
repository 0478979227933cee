"""Groups in several processes: nothing changes, and whoever asks to stop gets what is there."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from crowdopt import _parallel as jobs
from crowdopt import prove, verify
from crowdopt.data import groups
from crowdopt.data.tables import table as frames
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.results.solutions import NOT_SOLVED_YET
from crowdopt.verify.verdict import Verdict
from support.groups import alone, by_group, crowd
from support.ways import plain

# 2. In parallel.


def test_processes_change_nothing(monkeypatch):
    data = pd.concat([crowd(seed).assign(question=lambda d, s=seed: f"{s} " + d["question"]) for seed in range(6)])
    expected = prove(data, group="question", jobs=1)
    monkeypatch.setattr(jobs, "ALONE", -1.0)  # nothing in this process
    for n in (2, 3):
        counted: list[tuple[int, int]] = []
        found = prove(data, group="question", jobs=n, on_group=lambda *numbers, into=counted: into.append(numbers))
        assert by_group(found) == by_group(expected)
        assert [found[group].certificate for group in found] == [expected[group].certificate for group in expected]
        assert counted[-1] == (18, 18)
        assert counted == sorted(counted)
    assert verify(found, data, jobs=2).verdict is Verdict.CONFIRMED


def test_the_number_of_queries_does_not_depend_on_the_number_of_groups(monkeypatch, tmp_path):
    calls = []
    for module in (frames, groups):
        original = module.fetch
        monkeypatch.setattr(module, "fetch", lambda table, original=original: calls.append(1) or original(table))
    numbers = []
    for n_groups in (3, 60):
        data = pd.concat([crowd(seed, 4).assign(question=str(seed)) for seed in range(n_groups)])
        data = data[data["label"].isin(["no", "yes"])]
        data.to_csv(tmp_path / "data.csv", index=False)
        calls.clear()
        solutions = prove(tmp_path / "data.csv", group="question", jobs=1)
        assert len(solutions) == n_groups
        assert solutions.answers.num_rows == 4 * n_groups
        numbers.append(len(calls))
    assert numbers[0] == numbers[1] < 12


def test_whoever_asks_to_stop_gets_what_is_there():
    data = crowd()
    solutions = prove(data, group="question", jobs=1, on_group=lambda done, _: done == 2)
    assert list(solutions) == ["colour", "how much"]
    assert solutions.failures == {"is it?": NOT_SOLVED_YET}
    assert solutions.interrupted
    assert set(plain(solutions.answers)["question"]) == {"colour", "how much"}
    with pytest.raises(CrowdoptError, match="group 'is it\\?' has no solution: interrupted"):
        solutions["is it?"]


def test_whoever_asks_to_stop_before_anything_is_solved_gets_nothing(monkeypatch):
    monkeypatch.setattr(jobs, "ALONE", -1.0)
    with pytest.raises(KeyboardInterrupt, match="no group was solved yet"):
        prove(crowd(), group="question", jobs=2, on_group=lambda *_: True)


def test_a_group_that_is_stopped_keeps_the_best_so_far():
    rows = [(g, f"{y} {n}", i, int(i < y)) for g in "ab" for y in range(12) for n in range(12) for i in range(y + n)]
    data = pd.DataFrame(rows, columns=["question", "task", "worker", "label"])
    asked = []
    solutions = prove(
        data, group="question", selectivity="estimate", jobs=1, on_group=lambda *_: asked.append(1) or len(asked) > 2
    )
    assert solutions["a"].certificate.stop == "INTERRUPT"
    assert solutions.failures == {"b": NOT_SOLVED_YET}
    assert solutions.interrupted
    assert verify(solutions, data).verdict is not Verdict.REJECTED


def numbers(item, stop=None):
    """Some work that asks whether to stop, as engines do; tells the process and what it was asked to."""
    stopped = False
    for _ in range(item):
        stopped = stopped or (stop is not None and stop())
    return (os.getpid(), stopped, item)


def test_what_takes_long_is_handed_over_and_done_again_from_the_start(monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr(jobs.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(jobs, "ALONE", 10.0)
    items = [1, 2, 50, 1, 2]
    found = jobs.run_all(numbers, items, 2, None, here=numbers)
    assert [found[at][1:] for at in range(5)] == [(False, item) for item in items]
    assert [found[at][0] == os.getpid() for at in range(5)] == [True, True, False, False, False]
    found = jobs.run_all(numbers, items, 1, None, here=numbers)
    assert {found[at] for at in range(5)} == {(os.getpid(), False, item) for item in items}


def raises(item):
    raise ValueError(item)


@pytest.mark.full
def test_what_ends_its_process_is_tried_once_more_and_then_lost(monkeypatch, capfd):
    monkeypatch.setattr(jobs, "ALONE", -1.0)
    assert jobs.run_all(raises, [1, 2, 3], 2, "lost") == {0: "lost", 1: "lost", 2: "lost"}
    assert capfd.readouterr().err.count("ValueError: 3") == 2


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True])
def test_jobs_are_counted_in_whole_numbers(bad):
    with pytest.raises(InputError, match="the number of jobs"):
        prove(crowd(), group="question", jobs=bad)


@pytest.mark.full
def test_thousands_of_groups(tmp_path):
    rng = np.random.default_rng(0)
    n_groups, n_tasks, n_workers = 2000, 4, 3
    size = n_groups * n_tasks * n_workers
    truth = np.repeat(rng.integers(2, size=n_groups * n_tasks), n_workers)
    data = pd.DataFrame(
        {
            "question": np.repeat(np.arange(n_groups), n_tasks * n_workers),
            "task": np.tile(np.repeat(np.arange(n_tasks), n_workers), n_groups),
            "worker": np.tile(np.arange(n_workers), n_groups * n_tasks),
            "label": np.where(rng.random(size) < 0.8, truth, 1 - truth),
        }
    )
    solutions = prove(data, group="question", labels=[0, 1])
    assert len(solutions) == n_groups
    assert solutions.summary()["proofs"] == {"PROVED": n_groups}
    assert len(solutions.answers) == n_groups * n_tasks
    for group in (0, 999, 1999):
        expected = alone(data, group, labels=[0, 1])
        assert solutions[group].certificate == expected.certificate
