"""Workers: every number against plain Python, through every way in; intervals and flags against what they promise."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter, defaultdict

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdopt import Solution, aggregate
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.model.scale import canonical_text
from crowdopt.results.workers.statistics import Typical, information, measure, wilson
from crowdopt.studies.simulate import crowd, uniform_errors
from support.printed import first_cells
from support.ways import NAMES, ROWS, WAYS, plain, to_pandas

Z = 1.959963984540054
COLUMNS = ["worker", "class", "n_responses", "accuracy", "accuracy_low", "accuracy_high", "agreement", "agreement_low",
           "agreement_high", "n_compared", "chance", "information", "flag", "reason"]  # fmt: skip


def share_interval(k: float, n: float) -> tuple[float, float]:
    """The shares p whose distance from k / n is at most z standard errors, by solving that for p."""
    if n == 0:
        return 0.0, 1.0
    a, b, c = 1 + Z**2 / n, -(2 * k / n + Z**2 / n), (k / n) ** 2
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return max((-b - root) / (2 * a), 0.0), min((-b + root) / (2 * a), 1.0)


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
    solution = aggregate(data, wide=way.startswith("wide"))
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
        solution = aggregate(data, **options, duplicates="all" if repeats else "error", time_limit=5)
        check(rows, solution, data)


def test_all_of_a_workers_answers_to_a_task_are_taken_out():
    # b alone said yes, three times: without b the task is a no.
    rows = [("x", "a", "no"), ("x", "b", "yes"), ("x", "b", "yes"), ("x", "b", "yes")]
    rows += [(f"{label}{i}", worker, label) for i in range(5) for worker in "acd" for label in ("no", "yes")]
    data = to_pandas(rows)
    for frame in (data, pl.from_pandas(data), duckdb.from_arrow(pa.Table.from_pandas(data))):
        solution = aggregate(frame, duplicates="all")
        found = check(rows, solution, frame)
        assert (found["b"]["n_compared"], found["b"]["agreement"]) == (3, 0)


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv"])
def test_gold_labels_are_what_workers_are_compared_with(kind, tmp_path):
    rows = [*ratings(5), ("alone", "w0", "l2")]
    gold = {"t1": "l2", "t2": "l0", "t3": "l1", "alone": "l1"}
    data = WAYS[kind](rows, tmp_path)
    solution = aggregate(data, gold=gold, time_limit=5)
    found = check(rows, solution, data, gold)
    before = check(rows, aggregate(data, time_limit=5), data)
    assert found["w0"]["n_compared"] == before["w0"]["n_compared"] + 1  # nobody else answered it, but it is known


def test_tasks_that_nobody_else_answered_are_not_compared():
    rows = [("a", "x", "no"), ("b", "x", "yes"), ("c", "y", "yes"), ("c", "z", "yes")]
    solution = aggregate(to_pandas(rows))
    found = check(rows, solution, None)
    assert (found["x"]["n_compared"], found["x"]["agreement"]) == (0, None)
    assert (found["x"]["flag"], found["x"]["reason"]) == ("too few", "nobody else answered its tasks")
    assert found["y"]["agreement"] == 1


def test_rows_without_a_label_or_worker_are_no_responses():
    rows = [*ROWS, (500, "w0", None), (501, None, "yes"), (7, "nobody", None)]
    frame = pd.DataFrame(rows, columns=NAMES)
    solution = aggregate(frame, missing="drop")
    expected = plain(aggregate(to_pandas(ROWS)).workers())
    assert plain(solution.workers(frame)) == expected
    assert plain(solution.workers(pl.from_pandas(frame))) == expected


@pytest.mark.parametrize("kind", ["int64", "float64", "category", "datetime64[us]", "Int64"])
def test_workers_keep_the_type_of_the_source(kind):
    frame = to_pandas(ROWS)
    numbers = frame["worker"].str[1:].astype(int)
    frame["worker"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(numbers, "D") if "time" in kind else numbers
    frame = frame.astype({"worker": kind})
    solution = aggregate(frame)
    assert solution.workers()["worker"].dtype == frame["worker"].dtype
    assert solution.confusion()["worker"].dtype == frame["worker"].dtype
    assert solution.workers()["accuracy"].tolist() == plain(aggregate(to_pandas(ROWS)).workers())["accuracy"]
    if kind != "category":
        assert (
            pl.DataFrame(solution.workers(pl.from_pandas(frame)))["worker"].dtype
            == pl.from_pandas(frame)["worker"].dtype
        )


def test_bins_are_labels_of_the_confusion():
    frame = to_pandas(ROWS).assign(label=lambda table: np.where(table["label"] == "yes", 0.9, 0.2))
    confusion = aggregate(frame, bins=[0.5]).confusion()
    assert set(confusion["label"]) == {"below 0.5", "0.5 and above"}
    assert confusion["n"].sum() == len(ROWS)


def test_order_of_rows_and_parts_of_work_change_nothing(monkeypatch):
    rows = ratings(9, n_tasks=60)
    data = to_pandas(rows)
    solution = aggregate(data, time_limit=5)
    expected = plain(solution.workers())
    assert plain(solution.workers(data.sample(frac=1, random_state=1))) == expected
    monkeypatch.setattr("crowdopt.results.workers.table.CELLS", 18)  # two workers at a time
    assert plain(solution.workers(data)) == expected


def test_data_that_are_not_those_of_the_solution_are_refused():
    solution = aggregate(to_pandas(ROWS))
    for other in (ROWS[:-1], [(*row[:2], "yes") for row in ROWS], [*ROWS, (999, "w1", "maybe")]):
        with pytest.raises(InputError, match="not the responses that the solution was made from"):
            solution.workers(to_pandas(other))
    golden = aggregate(to_pandas(ROWS), gold={"0": "yes"})
    with pytest.raises(InputError, match="gold task '0' is not in the data"):
        golden.workers(to_pandas([row for row in ROWS if row[0]]))


def test_solution_from_a_file_needs_the_data(tmp_path):
    solution = aggregate(to_pandas(ROWS))
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    with pytest.raises(CrowdoptError, match="give the data"):
        loaded.workers()
    assert plain(loaded.workers(to_pandas(ROWS))) == plain(solution.workers())


# What the statistics promise.


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("n", [5, 10, 20, 50, 200])
def test_intervals_cover_as_often_as_they_say_on_average(n):
    """Exactly, by summing over all outcomes: over accuracies from .5 to .99, mean coverage is .95 to a hundredth."""
    low, high = wilson(np.arange(n + 1), np.full(n + 1, n))
    covers = [
        sum(weight for k, weight in enumerate(binomial(n, p)) if low[k] <= p <= high[k])
        for p in np.linspace(0.5, 0.99, 99)
    ]
    assert np.mean(covers) == pytest.approx(0.95, abs=0.01)
    assert min(covers) > 0.83


def test_intervals_are_the_roots_of_their_definition():
    for n in range(8):
        for k in range(n + 1):
            low, high = wilson(np.array([k]), np.array([n]))
            assert (low[0], high[0]) == pytest.approx(share_interval(k, n), abs=1e-12)
            if n:
                assert low[0] <= k / n <= high[0]
                assert 0 <= low[0] < high[0] <= 1


def own_accuracies(seed, n_workers=120, n_tasks=400, per_task=20, low=0.55, high=0.95):
    """A crowd whose workers each have an accuracy of their own; enough responses per task for right labels."""
    rng = np.random.default_rng(seed)
    accuracy, truth = rng.uniform(low, high, n_workers), rng.integers(0, 2, n_tasks)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.choice(n_workers, per_task, replace=False) for _ in range(n_tasks)])
    right = rng.random(len(task)) < accuracy[worker]
    label = np.where(right, truth[task], 1 - truth[task])
    return pd.DataFrame({"task": task, "worker": worker, "label": label}), accuracy


def within_sampling_error(hits, n, share):
    """Four standard errors: less than one in ten thousand such tests would fail by chance."""
    return abs(hits / n - share) < 4 * math.sqrt(share * (1 - share) / n)


def test_intervals_cover_the_true_accuracy_in_simulated_crowds():
    hits = agreed = n = 0
    for seed in range(12):
        data, accuracy = own_accuracies(seed)
        table = aggregate(data).workers()
        true = accuracy[table["worker"]]
        hits += ((table["accuracy_low"] <= true) & (true <= table["accuracy_high"])).sum()
        agreed += ((table["agreement_low"] <= true) & (true <= table["agreement_high"])).sum()
        n += len(table)
    assert n == 12 * 120
    assert within_sampling_error(hits, n, 0.95)
    assert within_sampling_error(agreed, n, 0.95)


def test_agreement_is_not_flattered_where_accuracy_is():
    """Of workers who guess, three to a task, the majority agrees with each more often than not: but not the others."""
    data = pd.DataFrame(crowd(3000, 30, 3, matrix=uniform_errors(2, 0.5), seed=3).to_dict())
    table = aggregate(data, engine="vote").workers()
    assert table["accuracy"].mean() > 0.7
    assert table["agreement"].mean() == pytest.approx(0.5, abs=0.02)
    difference = (table["agreement"] - table["chance"]).mean()
    assert difference == pytest.approx(0, abs=0.02)


def test_information_is_the_mutual_information_of_truth_and_answer():
    matrix = np.array([[0.9, 0.1], [0.3, 0.7]])
    shares = np.array([0.6, 0.4])
    joint = shares[:, None] * matrix
    exact = sum(
        joint[j, i] * math.log2(joint[j, i] / (joint[j].sum() * joint[:, i].sum())) for j in range(2) for i in range(2)
    )
    many = np.rint(joint * 10**9).astype(np.int64)[None]
    other = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    assert information(many, other, shares)[0] == pytest.approx(exact, abs=1e-6)  # the data speak
    nothing = np.zeros((1, 2, 2), np.int64)
    assert information(nothing, matrix[None], shares)[0] == pytest.approx(exact, abs=1e-12)  # the class speaks
    assert information(nothing, other, shares)[0] == 0
    right, opposite = np.array([[[10**6, 0], [0, 10**6]]]), np.array([[[0, 10**6], [10**6, 0]]])
    for counts in (right, opposite):
        assert information(counts, other, np.array([0.5, 0.5]))[0] == pytest.approx(1, abs=1e-4)


def flags_of(data, **options):
    table = aggregate(data, **options).workers()
    return dict(zip(table["worker"], table["flag"].fillna(""), strict=True)), table


def with_odd_ones(seed, n=150):
    """A good crowd, and with it who always says yes, who guesses, who says the opposite, and a newcomer."""
    rng = np.random.default_rng(seed)
    data, _ = own_accuracies(seed, n_workers=40, n_tasks=300, per_task=9, low=0.75, high=0.95)
    truth = data.groupby("task")["label"].mean().round().astype(int)
    tasks = rng.choice(300, (4, n))
    odd = [
        *((task, 1000, 1) for task in np.unique(tasks[0])),
        *((task, 1001, int(rng.integers(2))) for task in np.unique(tasks[1])),
        *((task, 1002, 1 - truth[task]) for task in np.unique(tasks[2])),
        *((task, 1003, truth[task]) for task in np.unique(tasks[3])[:2]),
    ]
    return pd.concat([data, pd.DataFrame(odd, columns=NAMES)])


def test_flags_name_who_is_odd_and_spare_the_others():
    for seed in range(5):
        flags, table = flags_of(with_odd_ones(seed))
        assert [flags.pop(1000 + i) for i in range(4)] == ["same", "chance", "opposite", "too few"]
        assert Counter(flags.values())[""] >= 39
        reasons = table.set_index("worker")["reason"]
        assert "always answers '1'" in reasons[1000]
        assert "of 2" in reasons[1003]
        assert reasons.isna().sum() == (table["flag"].isna()).sum()


def test_workers_as_good_as_the_crowd_are_rarely_called_no_better_than_chance():
    """At most once in forty, at any number of responses; who guesses is called opposite at most once in forty."""
    typical = Typical(uniform_errors(2, 0.8)[None], np.array([[0.8, 0.8]]), np.array([0.5, 0.5]))
    rng = np.random.default_rng(0)
    for n in (5, 20, 40, 80):
        for accuracy, flag in ((0.8, 3), (0.5, 2)):
            truth = rng.integers(0, 2, (4000, n))
            answer = np.where(rng.random(truth.shape) < accuracy, truth, 1 - truth)
            counts = np.stack([((truth == j) & (answer == i)).sum(axis=1) for j in (0, 1) for i in (0, 1)], axis=1)
            counts = counts.reshape(-1, 2, 2)
            flags = measure(counts, counts, np.zeros(4000, np.int64), typical).flag
            assert (flags == flag).mean() < 0.025 + 4 * math.sqrt(0.025 * 0.975 / 4000)


def test_who_is_always_right_is_not_flagged_for_answering_the_same():
    always = np.array([[[100, 0], [0, 0]], [[100, 0], [20, 0]], [[100, 0], [2, 0]]])
    typical = Typical(uniform_errors(2, 0.8)[None], np.array([[0.8, 0.8]]), np.array([0.5, 0.5]))
    flags = measure(always, always, np.zeros(3, np.int64), typical).flag
    assert [flag == 1 for flag in flags] == [False, True, False]  # .2 to the power of 2 is not rare


def test_one_label_tells_nothing():
    table = aggregate(pd.DataFrame([(t, w, "yes") for t in range(9) for w in "ab"], columns=NAMES)).workers()
    assert table["accuracy"].tolist() == table["agreement"].tolist() == table["chance"].tolist() == [1, 1]
    assert table["information"].tolist() == [0, 0]
    assert table["flag"].tolist() == ["too few", "too few"]


# The command.


@pytest.fixture
def files(tmp_path):
    """A data file and a solution made from it."""
    data = with_odd_ones(1)
    data.to_csv(tmp_path / "data.csv", index=False)
    aggregate(tmp_path / "data.csv").save(tmp_path / "solution.json")
    return tmp_path / "solution.json", tmp_path / "data.csv"


def test_table_shows_the_worst_first_and_says_how_many_more(crowdopt, files):
    said = crowdopt("workers", *files)
    assert "44 workers, worst first" in said
    assert "and 24 more, better ones" in said
    assert "flagged: 1 same, 1 opposite, 1 chance, 1 too few" in said
    lines = first_cells(said)
    assert len(lines) == 20
    assert lines[0] == "1002"  # the opposite of everyone
    assert set(lines[1:3]) == {"1000", "1001"}
    assert crowdopt("workers", *files, "-q") == ""


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_files_hold_what_the_library_says(crowdopt, files, tmp_path, suffix):
    solution, data = files
    targets = [tmp_path / f"{name}.{suffix}" for name in ("workers", "confusion")]
    said = crowdopt("workers", solution, data, "-o", targets[0], "--confusion", targets[1])
    assert str(targets[0]) in said
    tables = Solution.load(solution).workers(data), Solution.load(solution).confusion(data)
    for target, table in zip(targets, tables, strict=True):
        if suffix == "parquet":
            assert pq.read_table(target).to_pydict() == table.to_pydict()
            continue
        rows = (
            [json.loads(line) for line in target.read_text().splitlines()]
            if suffix == "jsonl"
            else list(csv.DictReader(target.read_text().splitlines(), delimiter="\t" if suffix == "tsv" else ","))
        )
        for row, expected in zip(rows, table.to_pylist(), strict=True):
            assert list(row) == list(expected)
            for name, value in expected.items():
                number = isinstance(value, float)
                assert (float(row[name]) if number else row[name]) in (
                    value,
                    str(value),
                    "" if value is None else value,
                )


def test_json_has_the_worst_with_their_confusion(crowdopt, files):
    facts = json.loads(crowdopt("workers", *files, "--json"))
    assert facts["n_workers"] == 44
    assert facts["flags"] == {"same": 1, "opposite": 1, "chance": 1, "too few": 1}
    assert len(facts["worst"]) == 20
    worst = facts["worst"][0]
    assert (worst["worker"], worst["flag"]) == ("1002", "opposite")
    assert sum(n for row in worst["confusion"].values() for n in row.values()) == worst["n_responses"]
    highs = [row["accuracy_high"] for row in facts["worst"]]
    assert highs == sorted(highs)


def test_standard_output_gets_the_whole_table(crowdopt, files, tmp_path):
    crowdopt("workers", *files, "-o", tmp_path / "w.csv")
    assert crowdopt("workers", *files, "-o", "-") == (tmp_path / "w.csv").read_text()


BAD = {
    "other data": (["other.csv"], "not the responses that the solution was made from"),
    "no data": (["none.csv"], "none.csv"),
    "output over the data": (["data.csv", "-o", "data.csv"], "it is one of the inputs"),
    "confusion over the data": (["data.csv", "--confusion", "data.csv"], "it is one of the inputs"),
    "one file for two tables": (["data.csv", "-o", "w.csv", "--confusion", "w.csv"], "two results"),
    "a suffix nobody knows": (["data.csv", "-o", "w.xls"], "the name must end in"),
    "no such folder": (["data.csv", "-o", "none/w.csv"], "does not exist"),
    "two things on standard output": (["data.csv", "-o", "-", "--json"], "both print"),
    "missing column": (["columns.csv"], "no column named 'worker'"),
    "a label the scale lacks": (["labels.csv"], "not the responses"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_nothing_is_written(crowdopt, files, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    text = files[1].read_text()
    (tmp_path / "other.csv").write_text("task,worker,label\n1,2,0\n1,3,1\n")
    (tmp_path / "columns.csv").write_text(text.replace("worker", "who", 1))
    (tmp_path / "labels.csv").write_text(text + "1,5000,2\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    said = crowdopt("workers", "solution.json", *arguments, code=2)
    assert message in said
    assert said.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_damaged_solution_is_an_error(crowdopt, files, tmp_path):
    (tmp_path / "damaged.json").write_text("{}")
    assert "not a crowdopt solution file" in crowdopt("workers", tmp_path / "damaged.json", files[1], code=2)
    assert "cannot read" in crowdopt("workers", tmp_path / "none.json", files[1], code=2)
