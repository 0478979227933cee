"""Groups of a consensus: each aggregated as if it were alone, in as many processes as one likes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdopt import Solutions, aggregate, verify
from crowdopt import _parallel as jobs
from crowdopt.errors import ColumnError, InputError
from crowdopt.results.groups import solve_groups
from crowdopt.verify.verdict import Verdict
from support.groups import SCALES, broken
from support.groups import crowd as classed_crowd
from support.ways import BACKENDS, plain

COLUMNS = ["question", "task", "label", "confidence", "n_responses", "status", "mean"]
EVERY_LABEL = [f"p_{label}" for question in sorted(SCALES) for label in SCALES[question]]


def crowd(seed: int = 0, n_tasks: int = 12) -> pd.DataFrame:
    return classed_crowd(seed, n_tasks).drop(columns="class")


def rows_of(data: pd.DataFrame, group) -> pd.DataFrame:
    return data[data["question"] == group].reset_index(drop=True)


def by_group(solutions) -> dict[str, dict]:
    """The columns of the answers, by group, sorted by the text of the task."""
    columns = plain(solutions.answers_frame(probabilities=True))
    found: dict[str, dict] = {}
    for group in solutions:
        at = [i for i, one in enumerate(columns["question"]) if str(one) == group]
        at.sort(key=lambda i: str(columns["task"][i]))
        found[group] = {name: [column[i] for i in at] for name, column in columns.items() if name != "question"}
    return found


def assert_as_if_alone(solutions, data: pd.DataFrame, **options) -> None:
    answers = by_group(solutions)
    assert set(answers) == {str(group) for group in data["question"].unique()}
    for group in data["question"].unique():
        expected, found = aggregate(rows_of(data, group), **options), solutions[group]
        assert found.summary() == expected.summary()
        assert np.array_equal(found.need_tasks().probabilities, expected.need_tasks().probabilities)
        assert found.worker_names == expected.worker_names
        columns = plain(expected.answers_frame(probabilities=True))
        at = sorted(range(len(columns["task"])), key=lambda i: str(columns["task"][i]))
        mine = answers[str(group)]
        for name, column in columns.items():
            kind = str if name == "task" else lambda value: value  # which files may have as texts
            assert [kind(value) for value in mine[name]] == [kind(column[i]) for i in at], name
        for name in mine.keys() - columns.keys():
            assert set(mine[name]) == {None}, name


# 1. As if each group were alone.


@pytest.mark.parametrize("backend", [*BACKENDS, "csv", "parquet"])
def test_every_way_in_gives_what_each_group_alone_gives(backend, tmp_path):
    data = crowd()
    if backend in BACKENDS:
        source = BACKENDS[backend](pa.Table.from_pandas(data, preserve_index=False))
    else:
        source = tmp_path / f"data.{backend}"
        getattr(data, f"to_{backend}")(source, index=False)
    solutions = aggregate(source, group="question")
    assert list(solutions) == ["colour", "how much", "is it?"]
    assert list(plain(solutions.answers)) == COLUMNS
    assert list(plain(solutions.answers_frame(probabilities=True))) == [*COLUMNS, *EVERY_LABEL]
    assert_as_if_alone(solutions, data)


def test_the_order_of_rows_changes_nothing():
    data = crowd(2)
    found = aggregate(data.sample(frac=1, random_state=1), group="question")
    assert by_group(found) == by_group(aggregate(data, group="question"))


@pytest.mark.parametrize("kind", ["int", "float", "date"])
def test_groups_of_any_type_keep_it(kind):
    values = {
        "int": [10, 9, 8],
        "float": [0.5, 1.0, 2.0],
        "date": list(pd.to_datetime(["2024-01-01", "2024-02-01", "2023-01-01"]).date),
    }[kind]
    data = crowd()
    data["question"] = data["question"].map(dict(zip(SCALES, values, strict=True)))
    table = pa.Table.from_pandas(data, preserve_index=False)
    for backend in ("pandas", "polars", "duckdb"):
        solutions = aggregate(BACKENDS[backend](table), group="question")
        found = plain(solutions.answers)["question"]
        assert found == sorted(found)
        assert set(found) == set(plain(BACKENDS[backend](table))["question"])
        assert solutions[values[0]].totals.n_tasks == 12


def test_tasks_without_a_response_are_in_the_answers():
    data = crowd()
    data.loc[(data["question"] == "colour") & (data["task"] == 3), "label"] = None
    more = pd.DataFrame([("how much", 77, "w0", None)], columns=list(data))
    data = pd.concat([data, more], ignore_index=True)
    for source in (data, BACKENDS["duckdb"](pa.Table.from_pandas(data, preserve_index=False))):
        solutions = aggregate(source, group="question", missing="drop")
        assert_as_if_alone(solutions, data, missing="drop")
        columns = plain(solutions.answers)
        silent = [i for i, status in enumerate(columns["status"]) if status == "no_response"]
        assert [(columns["question"][i], columns["task"][i]) for i in silent] == [("colour", 3), ("how much", 77)]
        assert {columns[name][i] for i in silent for name in ("label", "confidence", "mean")} == {None}
        assert {columns["n_responses"][i] for i in silent} == {0}


def test_a_wide_table_may_have_groups():
    data = crowd()
    data = data[data["question"] != "how much"]
    wide = data.pivot(index=["question", "task"], columns="worker", values="label").reset_index()  # noqa: PD010
    wide = wide.rename_axis(columns=None)
    found = aggregate(wide, group="question", wide=True)
    assert by_group(found) == by_group(aggregate(data, group="question"))


def test_without_a_rating_there_is_no_mean():
    data = crowd()
    data = data[data["question"] != "how much"]
    assert list(plain(aggregate(data, group="question").answers)) == COLUMNS[:-1]
    noted = data.assign(mean="a note")
    answers = plain(aggregate(noted, group="question", keep=["mean"]).answers)
    assert set(answers["mean"]) == {"a note"}
    with pytest.raises(ColumnError, match="two columns named 'mean'"):
        aggregate(crowd().assign(mean="a note"), group="question", keep=["mean"])


def test_kept_columns_and_truth(tmp_path):
    data = crowd()
    data["note"] = data["question"].str[0] + data["task"].astype(str)
    rng = np.random.default_rng(0)
    rows = [(q, t, SCALES[q][rng.integers(len(SCALES[q]))]) for q in SCALES for t in range(8)]
    truth = pd.DataFrame(rows, columns=["question", "task", "label"])
    truth.to_csv(tmp_path / "truth.csv", index=False)
    data.to_csv(tmp_path / "data.csv", index=False)
    for source, known in ((data, truth), (tmp_path / "data.csv", tmp_path / "truth.csv")):
        solutions = aggregate(source, group="question", keep=["note"], truth=known)
        answers = plain(solutions.answers)
        assert answers["note"] == [q[0] + str(t) for q, t in zip(answers["question"], answers["task"], strict=True)]
        tasks = zip(answers["question"], map(str, answers["task"]), strict=True)
        given = dict(zip(tasks, answers["label"], strict=True))
        right = [given[q, str(t)] == label for q, t, label in rows]
        assert solutions.accuracy[None].value == pytest.approx(np.mean(right))
        assert solutions.accuracy["colour"].value == pytest.approx(np.mean(right[:8]))
        assert solutions.accuracy["is it?"].n_tasks == 8


# 2. What is known, and what goes wrong.


def test_shares_must_fit_the_labels_of_each_group():
    shares = {"no": 0.9, "yes": 0.1}
    solutions = aggregate(crowd(), group="question", label_shares=shares)
    assert list(solutions) == ["is it?"]
    assert solutions["is it?"].given_shares == (0.9, 0.1)
    assert set(solutions.failures) == {"colour", "how much"}
    assert "a share for each of blue, green, red" in solutions.failures["colour"]
    assert set(plain(solutions.answers)["question"]) == {"is it?"}
    with pytest.raises(InputError, match="none of the 3 groups can be answered; 'colour': "):
        aggregate(crowd(), group="question", label_shares={"a": 0.5, "b": 0.5})


@pytest.mark.parametrize("how", ["duplicates", "missing"])
def test_one_bad_group_does_not_stop_the_others(how):
    data = broken(classed_crowd(), how).drop(columns="class")
    solutions = aggregate(data, group="question", duplicates="error", missing="error")
    assert list(solutions) == ["how much", "is it?"]
    assert list(solutions.failures) == ["colour"]
    rest = data[data["question"] != "colour"]
    assert by_group(solutions) == by_group(aggregate(rest, group="question"))


# 3. In processes.


def test_processes_change_nothing(monkeypatch):
    data = pd.concat([crowd(seed).assign(question=lambda d, s=seed: f"{s} " + d["question"]) for seed in range(4)])
    expected = aggregate(data, group="question", jobs=1)
    for alone, large in ((-1.0, 10**9), (60.0, 1)):  # nothing in this process; or because groups count as large
        monkeypatch.setattr(jobs, "ALONE", alone)
        monkeypatch.setattr(solve_groups, "LARGE", large)
        started = []
        start = jobs._start
        monkeypatch.setattr(jobs, "_start", lambda start=start, into=started: into.append(1) or start())
        counted: list[tuple[int, int]] = []
        found = aggregate(data, group="question", jobs=2, on_group=lambda *n, into=counted: into.append(n))
        monkeypatch.setattr(jobs, "_start", start)
        assert len(started) == 2  # not one for each group
        assert by_group(found) == by_group(expected)
        assert counted[-1] == (12, 12)
        assert counted == sorted(counted)


def test_small_groups_stay_in_this_process(monkeypatch):
    monkeypatch.setattr(jobs, "ALONE", 10.0**6)
    monkeypatch.setattr(jobs, "_start", lambda: pytest.fail("a process was started"))
    assert len(aggregate(crowd(), group="question", jobs=2)) == 3


def test_whoever_asks_to_stop_gets_nothing():
    with pytest.raises(KeyboardInterrupt, match="not all groups were aggregated"):
        aggregate(crowd(), group="question", jobs=1, on_group=lambda done, _: done == 2)
    with pytest.raises(KeyboardInterrupt, match="nothing was written"):
        aggregate(crowd(), group="question", jobs=2, on_group=_interrupt)


def _interrupt(done, total):
    raise KeyboardInterrupt("nothing was written")


# 4. Figures and words.


def doubtful() -> pd.DataFrame:
    """The three questions, and one to which every task has one response only."""
    once = pd.DataFrame([("once", t, "w0", "ab"[t % 2]) for t in range(5)], columns=list(crowd()))
    return pd.concat([crowd(n_tasks=40), once])


def test_figures_are_those_of_a_consensus():
    data = broken(doubtful().assign(**{"class": ""}), "duplicates")
    solutions = aggregate(data, group="question", duplicates="error")
    *rows, failed = solutions.rows()
    assert [list(row) for row in rows] == [list(failed)] * 3
    assert "proof" not in failed
    assert {name for name, value in failed.items() if value is not None} == {"group", "failure"}
    for row in rows:
        one = solutions[row["group"]]
        assert row["mean_confidence"] == one.mean_confidence
        assert (row["n_uncertain"], row["n_tied"]) == (one.n_uncertain, one.n_tied)
        assert row["n_doubts"] == (row["group"] == "once")
    facts = solutions.summary()
    assert (facts["kind"], facts["n_check"], facts["n_failures"]) == ("consensus", 1, 1)
    answers = plain(solutions.answers)
    confidence = [value for value in answers["confidence"] if value is not None]
    pairs = zip(answers["question"], answers["confidence"], strict=True)
    sure = [value for group, value in pairs if group != "once" and value is not None]
    assert facts["mean_confidence"] == pytest.approx(np.mean(sure), abs=1e-12)
    assert facts["n_uncertain"] == sum(value < 0.8 for value in confidence)
    assert "proofs" not in facts
    assert repr(solutions).startswith("<Solutions of 4 groups: CHECK 1 of them, of the others about ")
    assert repr(solutions).endswith("% of the labels are expected to be right, 1 failed; 85 tasks>")


def test_the_command_line(monkeypatch, tmp_path, invoke):
    monkeypatch.chdir(tmp_path)
    data = doubtful()
    pd.concat([data, data.iloc[:1]]).to_csv("data.csv", index=False)  # a duplicate
    options = ("--group", "question", "-o", "answers.csv", "--probabilities", "--group-summary", "groups.csv")
    stop = ("--duplicates", "error")
    code, out, err = invoke("aggregate", "data.csv", *options, *stop)
    assert code == 4
    assert err.startswith("crowdopt: group colour: 1 (task, worker) pair occurs more than once")
    assert err.count("\n") == 1
    lines = out.splitlines()
    assert lines[0].startswith("CHECK: 1 of 3 groups; 'once': no task was answered by two workers")
    assert lines[1].startswith("4 groups: CHECK 1 of them, of the others about ")
    assert "1 failed; 85 tasks" in lines[1]
    cells = [line for line in lines if line.startswith("│")]
    assert cells[0].split()[1:4] == ["once", "│", "CHECK"]  # the first of all, and the only one
    assert "".join(cells).count("CHECK") == 1
    assert any(line.startswith("CHECK: group once: no task was answered by two workers") for line in lines)
    answers, figures = pd.read_csv("answers.csv"), pd.read_csv("groups.csv")
    assert list(answers) == [
        *COLUMNS,
        *(name for name in EVERY_LABEL if name[2:] not in SCALES["colour"]),
        "p_a",
        "p_b",
    ]
    assert len(answers) == 85
    assert figures["failure"].notna().sum() == 1
    assert figures["n_doubts"].sum() == 1
    code, out, _ = invoke("aggregate", "data.csv", "--group", "question", "--json", *stop)
    facts = json.loads(out)
    assert (code, facts["n_groups"], facts["n_check"], len(facts["groups"])) == (4, 4, 1, 3)
    assert [bool(one["check"]) for one in facts["groups"]] == [False, False, True]


def test_a_file_comes_back_as_it_was(tmp_path):
    data = broken(classed_crowd(), "duplicates").drop(columns="class")
    solutions = aggregate(data, group="question", duplicates="error")
    solutions.save(tmp_path / "solutions.json")
    loaded = Solutions.load(tmp_path / "solutions.json")
    assert (loaded.kind, repr(loaded)) == ("consensus", repr(solutions))
    assert (loaded.to_dict(), loaded.rows()) == (solutions.to_dict(), solutions.rows())
    rows = rows_of(data, "is it?")
    assert loaded["is it?"].predict(rows).equals(solutions["is it?"].predict(rows))
    assert verify(tmp_path / "solutions.json", data.sample(frac=1, random_state=1)).verdict is Verdict.REPRODUCED


@pytest.mark.full
def test_thousands_of_groups():
    rng = np.random.default_rng(0)
    n_groups, n_tasks, n_workers = 1000, 4, 3
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
    solutions = aggregate(data, group="question", labels=[0, 1])
    assert len(solutions) == n_groups
    assert len(solutions.answers) == n_groups * n_tasks
    for group in (0, 499, 999):
        expected = aggregate(rows_of(data, group), labels=[0, 1])
        assert np.array_equal(solutions[group].need_tasks().probabilities, expected.need_tasks().probabilities)
