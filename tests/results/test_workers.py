"""Workers: every number against plain Python, through every way in; intervals and flags against what they promise."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdopt import Solution, prove
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.model.scale import canonical_text
from support.ways import NAMES, ROWS, WAYS, plain, to_pandas
from support.workers import share_interval

COLUMNS = ["worker", "class", "n_responses", "accuracy", "accuracy_low", "accuracy_high", "agreement", "agreement_low",
           "agreement_high", "n_compared", "chance", "information", "flag", "reason"]  # fmt: skip


class Oracle:
    """All that is said of workers, from rows and a solution, one response at a time."""

    def __init__(self, rows, solution, gold=None):
        self.labels = list(solution.scale.labels)
        self.matrix = solution.matrix[0].tolist()
        self.log_shares = solution.log_shares.tolist()
        self.shares = solution.shares.tolist()
        self.rows = [
            (canonical_text(task), canonical_text(worker), canonical_text(label)) for task, worker, label in rows
        ]
        self.gold = gold or {}
        answers = plain(solution.answers)
        self.given = {
            canonical_text(task): canonical_text(label)
            for task, label in zip(answers["task"], answers["label"], strict=True)
            if label is not None
        }
        self.by_task = defaultdict(list)
        for task, worker, label in self.rows:
            self.by_task[task].append((worker, label))

    def without(self, task, worker):
        """The label of a task under the fitted matrix if a worker had said nothing; None if nobody else did."""
        if task in self.gold:
            return self.gold[task]
        votes = Counter(label for other, label in self.by_task[task] if other != worker)
        if not votes:
            return None
        scores = []
        for row, share in zip(self.matrix, self.log_shares, strict=True):
            score = share
            for label, n in votes.items():
                p = row[self.labels.index(label)]
                score += n * math.log(p) if p > 0 else -math.inf  # also for rows that are not known
            scores.append(score)
        best = max(scores)
        near = [j for j, score in enumerate(scores) if score >= best - 1e-9]
        return self.labels[max(near, key=lambda j: (votes[self.labels[j]], -j))]

    def worker(self, name):
        """Accuracy, agreement, chance and information of one worker."""
        own = [(task, label) for task, worker, label in self.rows if worker == name]
        right = sum(self.given[task] == label for task, label in own)
        others = [(self.without(task, name), label) for task, label in own]
        compared = [(other, label) for other, label in others if other is not None]
        n, agreed = len(compared), sum(other == label for other, label in compared)
        of_others, of_own = Counter(other for other, _ in compared), Counter(label for _, label in compared)
        return {
            "worker": name,
            "n_responses": len(own),
            "accuracy": right / len(own),
            "accuracy_low": share_interval(right, len(own))[0],
            "accuracy_high": share_interval(right, len(own))[1],
            "agreement": agreed / n if n else None,
            "agreement_low": share_interval(agreed, n)[0],
            "agreement_high": share_interval(agreed, n)[1],
            "n_compared": n,
            "chance": sum(of_others[x] / n * of_own[x] / n for x in self.labels) if n else None,
            "information": self.bits(own),
        }

    def bits(self, own):
        """Mutual information of truth and answer: R pseudo-responses of the crowd for each true label."""
        n_labels = len(self.labels)
        counts = Counter((self.given[task], label) for task, label in own)
        rows = []
        for true, crowd_row in zip(self.labels, self.matrix, strict=True):
            known = [1 / n_labels if math.isnan(p) else p for p in crowd_row]
            smoothed = [counts[true, answer] + n_labels * p for answer, p in zip(self.labels, known, strict=True)]
            rows.append([value / sum(smoothed) for value in smoothed])
        total = 0.0
        for i in range(n_labels):
            overall = sum(share * row[i] for share, row in zip(self.shares, rows, strict=True))
            for share, row in zip(self.shares, rows, strict=True):
                if share and row[i]:
                    total += share * row[i] * math.log2(row[i] / overall)
        return total

    def confusion(self):
        counts = Counter((worker, self.given[task], label) for task, worker, label in self.rows)
        of = Counter((worker, self.given[task]) for task, worker, _ in self.rows)
        return [
            (worker, label, answer, n, of[worker, label], n / of[worker, label], *share_interval(n, of[worker, label]))
            for (worker, label, answer), n in counts.items()
        ]


def by_worker(table):
    columns = plain(table)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return {canonical_text(row["worker"]): row for row in rows}


def check(rows, solution, data, gold=None):
    """Compares the tables of workers and of their answers with the oracle."""
    oracle, table = Oracle(rows, solution, gold), solution.workers(data)
    found = by_worker(table)
    names = [canonical_text(name) for name in plain(table)["worker"]]
    assert set(names) == {worker for _, worker, _ in oracle.rows}
    for name in names:
        for column, value in oracle.worker(name).items():
            assert found[name][column] == (
                value if value is None or column == "worker" else pytest.approx(value, abs=1e-12)
            )
    confusion = plain(solution.confusion(data))
    texts = [[canonical_text(value) for value in confusion.pop(name)] for name in ("worker", "label", "answered")]
    said = sorted(zip(*texts, *confusion.values(), strict=True))
    assert said == [(*row[:5], *map(pytest.approx, row[5:])) for row in sorted(oracle.confusion())]
    return found


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_numbers_of_the_oracle(way, tmp_path):
    data = WAYS[way](ROWS, tmp_path)
    solution = prove(data, wide=way.startswith("wide"))
    found = check(ROWS, solution, data)
    table = solution.workers()
    assert list(plain(table)) == COLUMNS
    assert type(table) is type(solution.answers)
    assert by_worker(table) == found
    assert plain(table)["worker"] == sorted(plain(table)["worker"])


def ratings(seed, n_labels=3, n_tasks=40, repeats=0.0):
    """A crowd on n labels; with repeats some workers answer a task more than once."""
    rng = np.random.default_rng(seed)
    labels = [f"l{j}" for j in range(n_labels)]
    rows = []
    for task in range(n_tasks):
        true = rng.integers(n_labels)
        for worker in rng.permutation(8)[: rng.integers(1, 7)]:
            for _ in range(1 + (rng.random() < repeats) + (rng.random() < repeats)):
                rows.append((f"t{task}", f"w{worker}", labels[true if rng.random() < 0.6 else rng.integers(n_labels)]))  # noqa: PERF401
    return rows


OPTIONS = {
    "plain": {},
    "estimated": {"selectivity": "estimate"},
    "given": {"selectivity": {"l0": 0.5, "l1": 0.3, "l2": 0.2}},
    "a label forbidden": {"selectivity": {"l0": 0.6, "l1": 0.4, "l2": 0.0}},
    "smoothed": {"smoothing": 0.5},
    "vote": {"engine": "vote"},
    "a label nobody says": {"labels": ["l0", "l1", "l2", "l3"]},
    "ordered": {"labels": ["l2", "l0", "l1"]},
}


@pytest.mark.grid
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("repeats", [0.0, 0.4])
def test_numbers_are_those_of_the_oracle(options, repeats, effort):
    for seed in range(effort(3)):
        rows = ratings(seed, repeats=repeats)
        data = to_pandas(rows)
        solution = prove(data, **options, duplicates="all" if repeats else "error", time_limit=5)
        check(rows, solution, data)


def test_all_of_a_workers_answers_to_a_task_are_taken_out():
    # b alone said yes, three times: without b the task is a no.
    rows = [("x", "a", "no"), ("x", "b", "yes"), ("x", "b", "yes"), ("x", "b", "yes")]
    rows += [(f"{label}{i}", worker, label) for i in range(5) for worker in "acd" for label in ("no", "yes")]
    data = to_pandas(rows)
    for frame in (data, pl.from_pandas(data), duckdb.from_arrow(pa.Table.from_pandas(data))):
        solution = prove(frame, duplicates="all")
        found = check(rows, solution, frame)
        assert (found["b"]["n_compared"], found["b"]["agreement"]) == (3, 0)


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv"])
def test_gold_labels_are_what_workers_are_compared_with(kind, tmp_path):
    rows = [*ratings(5), ("alone", "w0", "l2")]
    gold = {"t1": "l2", "t2": "l0", "t3": "l1", "alone": "l1"}
    data = WAYS[kind](rows, tmp_path)
    solution = prove(data, gold=gold, time_limit=5)
    found = check(rows, solution, data, gold)
    before = check(rows, prove(data, time_limit=5), data)
    assert found["w0"]["n_compared"] == before["w0"]["n_compared"] + 1  # nobody else answered it, but it is known


def test_tasks_that_nobody_else_answered_are_not_compared():
    rows = [("a", "x", "no"), ("b", "x", "yes"), ("c", "y", "yes"), ("c", "z", "yes")]
    solution = prove(to_pandas(rows))
    found = check(rows, solution, None)
    assert (found["x"]["n_compared"], found["x"]["agreement"]) == (0, None)
    assert (found["x"]["flag"], found["x"]["reason"]) == ("unclear", "nobody else answered its tasks")
    assert found["y"]["agreement"] == 1


def test_rows_without_a_label_or_worker_are_no_responses():
    rows = [*ROWS, (500, "w0", None), (501, None, "yes"), (7, "nobody", None)]
    frame = pd.DataFrame(rows, columns=NAMES)
    solution = prove(frame, missing="drop")
    expected = plain(prove(to_pandas(ROWS)).workers())
    assert plain(solution.workers(frame)) == expected
    assert plain(solution.workers(pl.from_pandas(frame))) == expected


@pytest.mark.parametrize("kind", ["int64", "float64", "category", "datetime64[us]", "Int64"])
def test_workers_keep_the_type_of_the_source(kind):
    frame = to_pandas(ROWS)
    numbers = frame["worker"].str[1:].astype(int)
    frame["worker"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(numbers, "D") if "time" in kind else numbers
    frame = frame.astype({"worker": kind})
    solution = prove(frame)
    assert solution.workers()["worker"].dtype == frame["worker"].dtype
    assert solution.confusion()["worker"].dtype == frame["worker"].dtype
    assert solution.workers()["accuracy"].tolist() == plain(prove(to_pandas(ROWS)).workers())["accuracy"]
    if kind != "category":
        assert (
            pl.DataFrame(solution.workers(pl.from_pandas(frame)))["worker"].dtype
            == pl.from_pandas(frame)["worker"].dtype
        )


def test_bins_are_labels_of_the_confusion():
    frame = to_pandas(ROWS).assign(label=lambda table: np.where(table["label"] == "yes", 0.9, 0.2))
    confusion = prove(frame, bins=[0.5]).confusion()
    assert set(confusion["label"]) == {"below 0.5", "0.5 and above"}
    assert confusion["n"].sum() == len(ROWS)


def test_order_of_rows_and_parts_of_work_change_nothing(monkeypatch):
    rows = ratings(9, n_tasks=60)
    data = to_pandas(rows)
    solution = prove(data, time_limit=5)
    expected = plain(solution.workers())
    assert plain(solution.workers(data.sample(frac=1, random_state=1))) == expected
    monkeypatch.setattr("crowdopt.results.workers.table.CELLS", 18)  # two workers at a time
    assert plain(solution.workers(data)) == expected


def test_data_that_are_not_those_of_the_solution_are_refused():
    solution = prove(to_pandas(ROWS))
    for other in (ROWS[:-1], [(*row[:2], "yes") for row in ROWS], [*ROWS, (999, "w1", "maybe")]):
        with pytest.raises(InputError, match="not the responses that the solution was made from"):
            solution.workers(to_pandas(other))
    golden = prove(to_pandas(ROWS), gold={"0": "yes"})
    with pytest.raises(InputError, match="gold task '0' is not in the data"):
        golden.workers(to_pandas([row for row in ROWS if row[0]]))


def test_solution_from_a_file_needs_the_data(tmp_path):
    solution = prove(to_pandas(ROWS))
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    with pytest.raises(CrowdoptError, match="give the data"):
        loaded.workers()
    assert plain(loaded.workers(to_pandas(ROWS))) == plain(solution.workers())
