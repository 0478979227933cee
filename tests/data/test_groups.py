"""Groups: many problems in one table, each answered as if it were alone."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdopt import Solution, Solutions, prove, verify
from crowdopt.errors import ColumnError, CrowdoptError, InputError, SolutionFileError
from crowdopt.verify.verdict import Verdict
from support.groups import NAMES, SCALES, alone, broken, by_group, crowd
from support.ways import BACKENDS, plain


def assert_as_if_alone(solutions: Solutions, data: pd.DataFrame, **options) -> None:
    answers = by_group(solutions)
    assert set(answers) == set(solutions) == {str(group) for group in data["question"].unique()}
    for group in data["question"].unique():
        expected = alone(data, group, **options)
        found = solutions[group]
        assert found.certificate == expected.certificate
        assert found.totals == expected.totals
        assert found.scale.labels == expected.scale.labels
        assert (found.mapping.tolist(), found.classes) == (expected.mapping.tolist(), expected.classes)
        columns = plain(expected.answers)
        rows = zip(*(columns[name] for name in NAMES), strict=True)
        assert answers[str(group)] == sorted((str(row[0]), *row[1:]) for row in rows)


# 1. As if each group were alone.


@pytest.mark.parametrize("backend", [*BACKENDS, "csv", "parquet"])
def test_every_way_in_gives_what_each_group_alone_gives(backend, tmp_path):
    data = crowd()
    if backend in BACKENDS:
        source = BACKENDS[backend](pa.Table.from_pandas(data, preserve_index=False))
    else:
        source = tmp_path / f"data.{backend}"
        getattr(data, f"to_{backend}")(source, index=False)
    solutions = prove(source, group="question")
    assert list(solutions) == ["colour", "how much", "is it?"]
    assert_as_if_alone(solutions, data)
    assert verify(solutions, data.sample(frac=1, random_state=2)).verdict is Verdict.CONFIRMED


@pytest.mark.parametrize(
    "options",
    [
        {"class_": "class"},
        {"class_": "class", "ranked": ["expert", "regular"], "labels": list("abc")},
        {"selectivity": "estimate"},
        {"engine": "vote"},
        {"smoothing": 0.5, "scale": "nominal"},
        {"space": "all", "engine": "search"},
    ],
    ids=str,
)
def test_options_are_those_of_every_group(options):
    data = crowd(1)
    if "labels" in options:
        data["label"] = data["label"].map(
            dict(zip(["blue", "no", "1", "green", "yes", "2", "red", "3"], "aaabbbcc", strict=True))
        )
    solutions = prove(data, group="question", **options)
    assert_as_if_alone(solutions, data, **options)
    assert verify(solutions, data).verdict is Verdict.CONFIRMED


@pytest.mark.grid
@pytest.mark.parametrize("kind", ["int", "float", "bool", "date", "category", "datetime"])
@pytest.mark.parametrize("backend", ["pandas", "polars", "arrow", "duckdb", "parquet"])
def test_groups_of_any_type_keep_it(kind, backend, tmp_path):
    data = crowd()
    values = {
        "int": [10, 9, 8], "float": [0.5, 1.0, 2.0], "bool": [True, False, True],
        "date": list(pd.to_datetime(["2024-01-01", "2024-02-01", "2023-01-01"]).date),
        "datetime": list(pd.to_datetime(["2024-01-01 10:00", "2024-02-01 00:00", "2023-01-01 12:30"])),
        "category": ["x", "y", "z"],
    }[kind]  # fmt: skip
    if kind == "bool":
        data = data[data["question"] != "how much"]
    data["question"] = data["question"].map(dict(zip(["colour", "is it?", "how much"], values, strict=True)))
    table = pa.Table.from_pandas(data, preserve_index=False)
    if kind == "category":
        table = table.set_column(0, "question", table["question"].dictionary_encode())
    source = tmp_path / "data.parquet"
    if backend == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, source)
    else:
        source = BACKENDS[backend](table)
    solutions = prove(source, group="question")
    found = plain(solutions.answers)["question"]
    assert set(found) == set(data["question"])
    assert found == sorted(found)
    assert len(solutions) == data["question"].nunique()
    for value in data["question"].unique():
        assert solutions[value].totals.n_tasks == 12


def test_rows_that_differ_only_in_the_class_are_in_conflict():
    rows = [
        ("q", "a", "x", "yes", "1"),
        ("q", "a", "x", "yes", "2"),
        ("q", "b", "x", "no", "1"),
        ("q", "b", "y", "no", "2"),
    ]
    data = pd.DataFrame(rows, columns=["question", "task", "worker", "label", "kind"])
    with pytest.raises(InputError, match=r"1 \(task, worker\) pair has conflicting labels"):
        prove(data, group="question", class_="kind", duplicates="same")


def test_a_column_that_cannot_be_kept_is_named():
    data = crowd().assign(group=1)
    with pytest.raises(ColumnError, match="a column named 'group' cannot be kept beside group"):
        prove(data, group="question", keep=["group"])


def test_a_wide_table_may_have_groups():
    data = crowd().drop(columns="class")
    data = data[data["question"] != "how much"]
    wide = data.pivot(index=["question", "task"], columns="worker", values="label").reset_index()  # noqa: PD010
    wide = wide.rename_axis(columns=None)
    for source in (wide, BACKENDS["duckdb"](pa.Table.from_pandas(wide, preserve_index=False))):
        solutions = prove(source, group="question", wide=True)
        assert by_group(solutions) == by_group(prove(data, group="question"))


def test_kept_columns_probabilities_and_truth(tmp_path):
    data = crowd()
    data["note"] = data["question"].str[0] + data["task"].astype(str)
    rng = np.random.default_rng(0)
    rows = [(q, t, SCALES[q][rng.integers(len(SCALES[q]))]) for q in SCALES for t in range(8)]
    truth = pd.DataFrame(rows, columns=["question", "task", "label"])
    truth.to_csv(tmp_path / "truth.csv", index=False)
    data.to_csv(tmp_path / "data.csv", index=False)
    for source, known in (
        (data, truth),
        (tmp_path / "data.csv", tmp_path / "truth.csv"),
        (data, tmp_path / "truth.csv"),
    ):
        solutions = prove(source, group="question", keep=["note"], truth=known)
        answers = plain(solutions.answers_frame(probabilities=True))
        assert answers["note"] == [q[0] + str(t) for q, t in zip(answers["question"], answers["task"], strict=True)]
        given = dict(
            zip(zip(answers["question"], map(str, answers["task"]), strict=True), answers["label"], strict=True)
        )
        right = [given[q, str(t)] == label for q, t, label in rows]
        assert solutions.accuracy[None].value == pytest.approx(np.mean(right))
        assert solutions.accuracy["colour"].value == pytest.approx(np.mean(right[:8]))
        assert solutions.summary()["accuracy"] == solutions.accuracy[None].value
        for label in ("blue", "yes", "3"):
            asked = next(question for question, labels in SCALES.items() if label in labels)
            for question, p in zip(answers["question"], answers[f"p_{label}"], strict=True):
                assert (p is None) == (question != asked)
    with pytest.raises(ColumnError, match="no column named 'question' for the group"):
        prove(data, group="question", truth=truth.drop(columns="question"))


@pytest.mark.full
def test_the_solution_of_a_group_goes_on_from_the_rows_of_that_group(tmp_path):
    data = crowd(3, 30)
    data = data[(data["question"] != "colour") | (data["class"] == "regular")]
    classes = dict(zip(data["worker"], data["class"], strict=True))
    prove(data, group="question", classes=classes).save(tmp_path / "solutions.json")
    solutions = Solutions.load(tmp_path / "solutions.json")
    for question in SCALES:
        rows = data[data["question"] == question].reset_index(drop=True)
        mine = {worker: classes[worker] for worker in rows["worker"]}
        expected, found = prove(rows, classes=mine), solutions[question]
        assert verify(found, rows).verdict is Verdict.CONFIRMED
        assert found.workers(rows).equals(expected.workers())
        assert found.predict(rows).equals(expected.predict(rows))
        assert found.next_tasks(rows).equals(expected.next_tasks(rows))
        found.save(tmp_path / "one.json")
        assert verify(tmp_path / "one.json", rows).verdict is Verdict.CONFIRMED


def test_a_group_may_lack_a_class():
    data = crowd()
    data = data[(data["question"] != "colour") | (data["class"] == "regular")]
    solutions = prove(data, group="question", class_="class", ranked=["expert", "regular"])
    assert [one.name for one in solutions["colour"].classes] == ["regular"]
    assert [one.name for one in solutions["is it?"].classes] == ["expert", "regular"]
    assert solutions["colour"].certificate.given == ()
    assert verify(solutions, data).verdict is Verdict.CONFIRMED


def test_a_worker_may_be_in_another_class_in_another_group():
    data = crowd()
    data.loc[data["question"] == "colour", "class"] = "all alike"
    solutions = prove(data, group="question", class_="class")
    assert not solutions.failures
    assert [one.name for one in solutions["colour"].classes] == ["all alike"]


# 4. The file.


def test_a_file_comes_back_as_it_was(tmp_path):
    data = broken(crowd(), "duplicates")
    solutions = prove(data, group="question", class_="class", duplicates="error")
    solutions.save(tmp_path / "solutions.json")
    loaded = Solutions.load(tmp_path / "solutions.json")
    assert loaded.to_dict() == solutions.to_dict()
    assert loaded.failures == solutions.failures
    assert repr(loaded) == repr(solutions) == "<Solutions of 3 groups: CHECK 2 of them, 2 PROVED, 1 failed; 24 tasks>"
    with pytest.raises(SolutionFileError, match="solutions of many groups, and this needs one"):
        Solution.load(tmp_path / "solutions.json")
    with pytest.raises(CrowdoptError, match="have no tasks"):
        loaded.answers  # noqa: B018
    prove(crowd()[crowd()["question"] == "colour"]).save(tmp_path / "one.json")
    with pytest.raises(SolutionFileError, match="not a file of the solutions of groups"):
        Solutions.load(tmp_path / "one.json")


def exchange(data):
    one, other = data["groups"][:2]
    one["group"], other["group"] = other["group"], one["group"]


def flip_a_label(data):
    labels = data["groups"][1]["buckets"]["label"]
    labels[0] = 1 - labels[0] if labels[0] < 2 else 0


def take_all_solutions_away(data):
    data["failures"] += [{"group": one["group"], "reason": "bad"} for one in data["groups"]]
    data["groups"] = []


def lower_a_bound(data):
    data["groups"][1]["certificate"]["bound"] -= 1


LIES = {
    "exchanged": exchange,
    "dropped": lambda data: data["groups"].pop(),
    "invented": lambda data: data["groups"][0].update(group="taste"),
    "twice": lambda data: data["groups"].append(data["groups"][0]),
    "failed elsewhere": lambda data: data["failures"].append({"group": "taste", "reason": "bad"}),
    "failed and solved": lambda data: data["failures"].append({"group": data["groups"][0]["group"], "reason": "bad"}),
    "none solved": take_all_solutions_away,
    "label": flip_a_label,
    "bound": lower_a_bound,
    "column": lambda data: data["reading"].update(group=""),
    "extra": lambda data: data.update(more=1),
    "version": lambda data: data.update(format_version=2),
}


@pytest.mark.parametrize("how", LIES)
def test_lies_are_rejected(how, tmp_path):
    data = crowd()
    told = prove(data, group="question").to_dict()
    LIES[how](told)
    (tmp_path / "lie.json").write_text(json.dumps(told))
    found = verify(tmp_path / "lie.json", data)
    assert found.verdict is Verdict.REJECTED, how
    assert found.reasons


def test_other_data_are_rejected():
    data = crowd()
    solutions = prove(data, group="question")
    changed = data.copy()
    changed.loc[changed.index[-1], "label"] = "1" if changed["label"].iloc[-1] != "1" else "2"
    found = verify(solutions, changed)
    assert found.verdict is Verdict.REJECTED
    assert all(reason.startswith("group how much: ") for reason in found.reasons)
    more = pd.concat([data, data.iloc[:3].assign(question="taste")])
    assert verify(solutions, more).reasons == ("group taste of the data has neither a solution nor a reason why not",)
    assert verify(solutions, pd.concat([data, data.iloc[:1]])).verdict is Verdict.REJECTED


# 5. The command line.


def test_the_command_line(monkeypatch, tmp_path, invoke):
    monkeypatch.chdir(tmp_path)
    data = pd.concat([crowd(seed, 5).assign(question=lambda d, s=seed: d["question"] + f" {s}") for seed in range(9)])
    bad = data.iloc[:1]  # a duplicate
    pd.concat([data, bad]).to_csv("data.csv", index=False)
    options = (
        "--group",
        "question",
        "-o",
        "answers.csv",
        "--solution",
        "solutions.json",
        "--group-summary",
        "groups.csv",
        "--duplicates",
        "error",
    )
    code, out, err = invoke("prove", "data.csv", *options)
    assert code == 4
    assert err.startswith("crowdopt: group colour 0: 1 (task, worker) pair occurs more than once")
    assert err.count("\n") == 1
    first, second, *_ = out.splitlines()
    assert first.startswith("CHECK: 16 of 26 groups; ")
    assert second.startswith("27 groups: CHECK 16 of them, 26 PROVED, 1 failed; 130 tasks")
    assert "… and 6 more; --group-summary FILE.csv has all of them" in out
    answers, figures = pd.read_csv("answers.csv"), pd.read_csv("groups.csv")
    assert list(answers.columns[:3]) == ["question", "task", "label"]
    assert len(answers) == 130
    assert len(figures) == 27
    assert figures["failure"].notna().sum() == 1
    assert figures["n_tasks"].sum() == 130
    code, out, _ = invoke("verify", "solutions.json", "data.csv")
    assert code == 0
    assert "CONFIRMED" in out.splitlines()
    assert "group colour 0 has no solution" in out
    data.to_csv("data.csv", index=False)
    code, out, _ = invoke("prove", "data.csv", "--group", "question", "--json")
    summary = json.loads(out)
    assert code == 0
    assert (summary["n_groups"], summary["n_failures"], len(summary["groups"])) == (27, 0, 27)
