"""Responses in parts: the population is learnt from a sample of whole tasks, and every worker from all responses."""

from __future__ import annotations

from dataclasses import replace
from hashlib import md5

import numpy as np
import pandas as pd
import pytest

import crowdopt
from crowdopt.consensus.consensus import AllRows, Judge, find_consensus, fit_consensus
from crowdopt.consensus.rows import RowParts, Rows
from crowdopt.data import parts
from crowdopt.data.coded import Coded
from crowdopt.data.parts import CodedPart, EncodedParts, in_sample
from crowdopt.report.content_consensus import gather_consensus

SMALL = 600
"""Responses of a part, and of the sample, in these tests."""


@pytest.fixture
def _small_parts(monkeypatch):
    for name in ("SAMPLE", "PART"):
        monkeypatch.setattr(parts, name, SMALL)


def responses(n_tasks: int = 600, n_workers: int = 40, n_labels: int = 3, seed: int = 0) -> pd.DataFrame:
    """Workers of several skills; some answer a task twice, some tasks have many responses."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_tasks)
    task = np.repeat(np.arange(n_tasks), sizes)
    worker = rng.zipf(1.3, len(task)) % n_workers
    truth, skill = rng.integers(0, n_labels, n_tasks), rng.uniform(0.4, 0.95, n_workers)
    label = np.where(rng.random(len(task)) < skill[worker], truth[task], rng.integers(0, n_labels, len(task)))
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label})
    names = {"task": "t{:04d}", "worker": "w{}", "label": "label {}"}
    return frame.apply(lambda column: column.map(names[column.name].format)).drop_duplicates(["task", "worker"])


def answers_of(data) -> pd.DataFrame:
    found = crowdopt.aggregate(data).answers
    return (found if isinstance(found, pd.DataFrame) else found.to_pandas()).astype({"label": str})


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("memory", ["in memory", "on disk"])
def test_the_same_from_every_source_in_any_order(tmp_path, monkeypatch, memory):
    if memory == "on disk":
        monkeypatch.setattr(parts, "IN_MEMORY", 0)
    frame = responses()
    expected = answers_of(frame)
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled.to_csv(tmp_path / "a.csv", index=False)
    shuffled.to_parquet(tmp_path / "a.parquet", index=False)
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", shuffled):
        found = answers_of(source)
        assert found["task"].tolist() == expected["task"].tolist()
        assert found["label"].tolist() == expected["label"].tolist()
        assert np.abs(found["confidence"] - expected["confidence"]).max() < 1e-12


@pytest.mark.usefixtures("_small_parts")
def test_numbered_tasks_stay_numbers_and_silent_tasks_stay_in(tmp_path):
    frame = responses().assign(task=lambda one: one["task"].str[1:].astype(int))
    silent = pd.DataFrame({"task": [10_000], "worker": ["w1"], "label": [None]})
    frame = pd.concat([frame, silent])
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    for source in (frame, tmp_path / "a.parquet"):
        found = crowdopt.aggregate(source, missing="drop").answers
        found = found if isinstance(found, pd.DataFrame) else found.to_pandas()
        assert found["task"].tolist() == sorted(set(frame["task"]))
        assert found["status"].tolist()[-1] == "no_response"


@pytest.mark.usefixtures("_small_parts")
def test_known_labels_are_kept_and_verify_reproduces(tmp_path):
    frame = responses()
    frame.to_csv(tmp_path / "a.csv", index=False)
    gold = {"t0001": "label 2", "t0599": "label 0"}
    solution = crowdopt.aggregate(tmp_path / "a.csv", gold=gold)
    found = solution.answers.to_pandas().set_index("task")
    assert found.loc[list(gold), "label"].to_dict() == gold
    assert (found.loc[list(gold), "status"] == "gold").all()
    solution.save(tmp_path / "s.json")
    assert crowdopt.verify(tmp_path / "s.json", tmp_path / "a.csv").verdict.value == "REPRODUCED"
    assert crowdopt.verify(tmp_path / "s.json", frame, answers=solution.answers).verdict.value == "REPRODUCED"


@pytest.mark.usefixtures("_small_parts")
def test_parts_are_whole_tasks_and_all_of_them():
    frame = responses()
    solution = crowdopt.aggregate(frame)
    held = solution.tasks.parts
    assert not held.is_one
    names = [name for part in held for name in part.tasks.to_pylist()]
    assert names == sorted(set(frame["task"]))
    assert sum(len(part.coded.task) for part in held) == len(frame)
    assert max(part.coded.times.sum() for part in held) <= SMALL + frame["task"].value_counts().max()
    assert held.answers.tolist() == frame["label"].value_counts().sort_index().tolist()
    whole = held.whole
    assert whole.tasks.to_pylist() == names
    assert whole.coded.times.sum() == len(frame)


@pytest.mark.usefixtures("_small_parts")
def test_workers_and_the_report_are_those_of_all_responses_at_once(monkeypatch):
    frame = responses().sample(frac=1, random_state=2)
    truth = pd.DataFrame({"task": ["t0001", "t0300", "t0599"], "label": ["label 2", "label 0", "label 1"]})
    solution = crowdopt.aggregate(frame, gold={"t0002": "label 1"}, truth=truth)
    several = solution.tasks.parts
    workers, confusion = solution.workers(), solution.confusion()
    report = gather_consensus(solution)
    assert len(several.held) > 2
    one = EncodedParts(several.workers, several.n_labels, [several.whole])
    whole = replace(solution, tasks=replace(solution.tasks, parts=one))
    monkeypatch.setattr(parts, "SAMPLE", len(frame))  # for whoever reads the data once more
    pd.testing.assert_frame_equal(whole.workers(), workers, rtol=1e-9)
    pd.testing.assert_frame_equal(whole.confusion(), confusion, rtol=1e-9)
    again = gather_consensus(whole)
    for name in ("vote", "accuracy", "calibration"):
        assert again[name] == report[name]
    assert again["tasks"]["rows"] == report["tasks"]["rows"]


@pytest.mark.usefixtures("_small_parts")
def test_a_file_and_a_frame_are_cut_alike_so_workers_are_the_same_to_the_last_bit(tmp_path):
    frame = responses()
    frame.sample(frac=1, random_state=1).to_parquet(tmp_path / "a.parquet", index=False)
    here, there = crowdopt.aggregate(frame), crowdopt.aggregate(tmp_path / "a.parquet")
    sizes = [[part.coded.times.sum() for part in one.tasks.parts] for one in (here, there)]
    assert sizes[0] == sizes[1]
    assert min(sizes[0][:-1]) > SMALL / 2
    pd.testing.assert_frame_equal(there.workers().to_pandas(), here.workers(), check_dtype=False, check_exact=True)


@pytest.mark.usefixtures("_small_parts")
def test_known_labels_outlive_a_look_at_the_next_tasks(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "IN_MEMORY", 0)
    responses().to_csv(tmp_path / "a.csv", index=False)
    solution = crowdopt.aggregate(tmp_path / "a.csv", gold={f"t{n:04d}": "label 1" for n in range(40)})
    before = solution.answers.to_pandas()
    assert (before["status"] == "gold").sum() == 40
    assert len(solution.next_tasks(n=5)) == 5
    pd.testing.assert_frame_equal(solution.answers.to_pandas(), before)


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("sizes", [[700, 5], [5, 700], [1300], [300, 300, 1]])
def test_large_tasks_are_the_same_from_a_file_and_a_frame(tmp_path, sizes):
    rng = np.random.default_rng(0)
    rows = [(f"t{n}", f"w{w}", f"label {rng.random() < 0.8:d}") for n, size in enumerate(sizes) for w in range(size)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    here, there = crowdopt.aggregate(frame), crowdopt.aggregate(tmp_path / "a.csv")
    pd.testing.assert_frame_equal(there.answers.to_pandas(), here.answers, check_dtype=False)
    assert there.mean_confidence == here.mean_confidence


@pytest.mark.usefixtures("_small_parts")
def test_new_responses_are_judged_part_by_part_as_they_are_at_once(monkeypatch):
    frame, solution = responses(seed=1), crowdopt.aggregate(responses())
    predicted, following = solution.predict(frame), solution.next_tasks(frame)
    monkeypatch.setattr(parts, "SAMPLE", len(frame))
    pd.testing.assert_frame_equal(solution.predict(frame), predicted, rtol=1e-12)
    pd.testing.assert_frame_equal(solution.next_tasks(frame), following, rtol=1e-12)


def test_a_part_survives_its_file(tmp_path):
    encoded = crowdopt.aggregate(responses()).tasks.parts.whole
    part = CodedPart.of(encoded)
    part.write(tmp_path / "part.arrow")
    again = CodedPart.read(tmp_path / "part.arrow")
    assert again.tasks.equals(part.tasks)
    for name in ("sizes", "known", "worker", "answer"):
        assert np.array_equal(getattr(again, name), getattr(part, name))
    back = again.encoded(encoded.workers, encoded.coded.n_labels).coded
    for name in ("task", "worker", "answer", "times"):
        assert np.array_equal(getattr(back, name), getattr(encoded.coded, name))


def test_the_sample_is_chosen_by_the_text_of_the_task():
    tasks = [f"täsk {number}" for number in range(1000)]
    expected = [int(md5(task.encode(), usedforsecurity=False).hexdigest()[:8], 16) < 0.25 * 2**32 for task in tasks]
    assert in_sample(tasks, 0.25).tolist() == expected
    assert in_sample(tasks, 1.0).all()


@pytest.mark.usefixtures("_small_parts")
def test_a_sample_of_few_large_tasks_is_not_empty():
    rng = np.random.default_rng(0)
    task, worker = np.divmod(np.arange(2000), 500)
    held = EncodedParts.of(_encoded(Coded.of(task, worker, rng.integers(0, 2, 2000), 2)))
    sample, place = held.sample()
    assert 2 * len(sample.coded.task) >= SMALL
    assert (place >= 0).sum() == sample.coded.n_workers


def _encoded(coded):
    import pyarrow as pa

    from crowdopt.data.coded import Encoded

    tasks, workers = (
        pa.array([f"{kind}{n:05d}" for n in range(number)])
        for kind, number in (("t", coded.n_tasks), ("w", coded.n_workers))
    )
    return Encoded.of(coded, tasks, workers)


def drawn(n_tasks: int, n_labels: int, n_workers: int, seed: int):
    """Workers with matrices of their own and long-tailed loads, a few who guess; and the truth."""
    rng = np.random.default_rng(seed)
    share = 0.6 ** np.arange(n_labels)
    truth = rng.choice(n_labels, n_tasks, p=share / share.sum())
    task = np.repeat(np.arange(n_tasks), 5)
    load = 1 / np.arange(1, n_workers + 1)
    worker = rng.choice(n_workers, len(task), p=load / load.sum())
    skill = np.where(rng.random(n_workers) < 0.1, 1 / n_labels, rng.beta(8, 3, n_workers))
    right = rng.random(len(task)) < skill[worker]
    answer = np.where(right, truth[task], rng.integers(0, n_labels, len(task)))
    _, worker = np.unique(worker, return_inverse=True)
    return Rows.of(Coded.of(task, worker, answer, n_labels)), truth


@pytest.mark.parametrize("n_labels", [2, 5])
def test_a_fit_to_a_sample_is_about_as_good_as_one_to_all(n_labels):
    rows, truth = drawn(20_000, n_labels, 400, n_labels)
    full = find_consensus(rows).probabilities
    chosen = in_sample(map(str, range(rows.n_tasks)), 0.5)
    kept = chosen[rows.task]
    workers, worker = np.unique(rows.worker[kept], return_inverse=True)
    _, task = np.unique(rows.task[kept], return_inverse=True)
    few = Rows.of(Coded.of(task, worker, rows.answer[kept], n_labels))
    place = np.full(rows.n_workers, -1)
    place[workers] = np.arange(len(workers))
    in_parts = RowParts(lambda: iter([rows]), rows.n_workers, n_labels)
    parameters, _ = fit_consensus(
        few, AllRows(in_parts, place, rows.labels_used, np.zeros(n_labels, bool), len(rows.worker))
    )
    found = Judge(parameters).probabilities(rows)
    assert (found.argmax(axis=1) != full.argmax(axis=1)).mean() < 0.005
    losses = [-np.log(np.clip(one[np.arange(len(truth)), truth], 1e-4, 1)).mean() for one in (found, full)]
    assert losses[0] - losses[1] < 0.002
