"""Workers where labels are many: the sparse sums over parts are those of full tables, at once."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from crowdopt import Solution, aggregate
from crowdopt.data import parts
from crowdopt.results.workers import consensus
from crowdopt.results.workers.beside_given import ComparedWithGiven, measure_given
from crowdopt.results.workers.skill import ComparedWithAll, measure_skill

N_WORKERS, N_LABELS = 9, 12


def judged(seed, n_tasks=40):
    """Responses to tasks that received some labels; some of them twice by a worker, some of known label."""
    rng = np.random.default_rng(seed)
    columns = {name: [] for name in ("task", "worker", "answer", "known", "sizes", "label", "without")}
    for task in range(n_tasks):
        workers = np.sort(rng.choice(N_WORKERS - 1, rng.integers(1, 7)))  # the last one answers nothing
        answers, known = rng.integers(N_LABELS, size=len(workers)), rng.random() < 0.1
        labels = np.unique(answers)
        others = {worker: rng.dirichlet(np.full(len(labels) + 1, 0.3))[:-1] for worker in workers}
        columns["task"] += [task] * len(workers)
        columns["worker"] += workers.tolist()
        columns["answer"] += answers.tolist()
        columns["known"] += [known] * len(workers)
        columns["sizes"] += [len(labels)] * len(workers)
        columns["label"] += labels.tolist() * len(workers)
        columns["without"] += [p for worker in workers for p in others[worker]]
    arrays = {name: np.array(column) for name, column in columns.items()}
    right = [(weight, rng.random(len(arrays["task"]))) for weight in (0.25, 0.75)]
    return ComparedWithGiven(n_workers=N_WORKERS, n_labels=N_LABELS, right=right, **arrays)


def in_full(one):
    """The same beside all labels, of which tasks did not receive most."""
    without = np.zeros((len(one.task), one.n_labels))
    without[one.row, one.label] = one.without
    every = {field.name: getattr(one, field.name) for field in fields(one) if field.name not in {"sizes", "label"}}
    return ComparedWithAll(**every | {"without": without})


def in_parts(one, n):
    """Parts of whole tasks."""
    ends = np.linspace(0, one.task.max() + 1, n + 1).astype(int)
    for first, last in pairwise(ends):
        part = one.some((one.task >= first) & (one.task < last))
        yield replace(part, task=part.task - first)


def assert_same(found, expected):
    for field in fields(found):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        assert ours == pytest.approx(theirs, abs=1e-9), field.name


@pytest.mark.parametrize("seed", range(10))
def test_sparse_tables_are_full_ones_without_zeros(seed):
    one = judged(seed)
    assert_same(measure_given([one]), measure_skill([in_full(one)]))


@pytest.mark.parametrize("n", [2, 7, 40])
def test_parts_are_the_same_as_all_at_once(n):
    one = judged(3)
    assert_same(measure_given([*in_parts(one, n)]), measure_given([one]))


def test_no_part_has_more_than_a_task_or_so_many_labels_beside_responses(monkeypatch, tmp_path):
    """Also where responses are in parts themselves."""
    rng = np.random.default_rng(5)
    rows = [(f"t{t}", f"w{w}", f"l{rng.integers(90) if w % 3 else t}") for t in range(80) for w in range(8)]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    solution = aggregate(data)
    expected = solution.workers()
    sizes, begin = [], ComparedWithGiven.__init__

    def noted(self, **columns):
        begin(self, **columns)
        sizes.append((len(self.without), len(set(self.task))))

    monkeypatch.setattr(ComparedWithGiven, "__init__", noted)
    monkeypatch.setattr(consensus, "MOST_ENTRIES", 200)
    pd.testing.assert_frame_equal(solution.workers(), expected, rtol=1e-9, atol=1e-9)
    assert len(sizes) > 20
    assert all(n <= 200 or tasks == 1 for n, tasks in sizes)
    solution.save(tmp_path / "s.json")
    monkeypatch.setattr(parts, "SAMPLE", 600)
    monkeypatch.setattr(parts, "PART", 100)
    again = Solution.load(tmp_path / "s.json").workers(data)
    pd.testing.assert_frame_equal(again, expected, rtol=1e-9, atol=1e-9)
