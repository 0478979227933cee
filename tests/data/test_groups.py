"""Groups: many problems in one table, each answered as if it were alone."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdopt import Solution, Solutions, aggregate, verify
from crowdopt import _parallel as jobs
from crowdopt.cli.app import main
from crowdopt.data import groups
from crowdopt.data.tables import table as frames
from crowdopt.errors import ColumnError, CrowdoptError, InputError, SolutionFileError
from crowdopt.results.solutions import NOT_SOLVED_YET
from crowdopt.verify.verdict import Verdict
from support.ways import BACKENDS, plain

SCALES = {"colour": ["blue", "green", "red"], "is it?": ["no", "yes"], "how much": ["1", "2", "3"]}


NAMES = ("task", "label", "confidence", "margin", "n_responses", "status")


def crowd(seed: int = 0, n_tasks: int = 12) -> pd.DataFrame:
    """Three questions about the same tasks, with labels of their own."""
    rng = np.random.default_rng(seed)
    rows = []
    for question, labels in SCALES.items():
        for task in range(n_tasks):
            truth = rng.integers(len(labels))
            for worker in rng.permutation(6)[: rng.integers(2, 5)]:
                answer = truth if rng.random() < 0.8 else rng.integers(len(labels))
                rows.append((question, task, f"w{worker}", labels[answer], "expert" if worker < 2 else "regular"))
    return pd.DataFrame(rows, columns=["question", "task", "worker", "label", "class"])


def by_group(solutions: Solutions) -> dict[str, list[tuple]]:
    columns = plain(solutions.answers)
    rows: dict[str, list[tuple]] = {}
    for group, *row in zip(columns["question"], *(columns[name] for name in NAMES), strict=True):
        rows.setdefault(str(group), []).append((str(row[0]), *row[1:]))
    return {group: sorted(found) for group, found in rows.items()}


def alone(data: pd.DataFrame, group, **options) -> Solution:
    return aggregate(data[data["question"] == group].reset_index(drop=True), **options)


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
    solutions = aggregate(source, group="question")
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
    solutions = aggregate(data, group="question", **options)
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
    solutions = aggregate(source, group="question")
    found = plain(solutions.answers)["question"]
    assert set(found) == set(data["question"])
    assert found == sorted(found)
    assert len(solutions) == data["question"].nunique()
    for value in data["question"].unique():
        assert solutions[value].totals.n_tasks == 12


def test_a_wide_table_may_have_groups():
    data = crowd().drop(columns="class")
    data = data[data["question"] != "how much"]
    wide = data.pivot(index=["question", "task"], columns="worker", values="label").reset_index()  # noqa: PD010
    wide = wide.rename_axis(columns=None)
    for source in (wide, BACKENDS["duckdb"](pa.Table.from_pandas(wide, preserve_index=False))):
        solutions = aggregate(source, group="question", wide=True)
        assert by_group(solutions) == by_group(aggregate(data, group="question"))


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
        solutions = aggregate(source, group="question", keep=["note"], truth=known)
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
        aggregate(data, group="question", truth=truth.drop(columns="question"))


@pytest.mark.full
def test_the_solution_of_a_group_goes_on_from_the_rows_of_that_group(tmp_path):
    data = crowd(3, 30)
    data = data[(data["question"] != "colour") | (data["class"] == "regular")]
    classes = dict(zip(data["worker"], data["class"], strict=True))
    aggregate(data, group="question", classes=classes).save(tmp_path / "solutions.json")
    solutions = Solutions.load(tmp_path / "solutions.json")
    for question in SCALES:
        rows = data[data["question"] == question].reset_index(drop=True)
        mine = {worker: classes[worker] for worker in rows["worker"]}
        expected, found = aggregate(rows, classes=mine), solutions[question]
        assert verify(found, rows).verdict is Verdict.CONFIRMED
        assert found.workers(rows).equals(expected.workers())
        assert found.predict(rows).equals(expected.predict(rows))
        assert found.next_tasks(rows).equals(expected.next_tasks(rows))
        found.save(tmp_path / "one.json")
        assert verify(tmp_path / "one.json", rows).verdict is Verdict.CONFIRMED


def test_a_group_may_lack_a_class():
    data = crowd()
    data = data[(data["question"] != "colour") | (data["class"] == "regular")]
    solutions = aggregate(data, group="question", class_="class", ranked=["expert", "regular"])
    assert [one.name for one in solutions["colour"].classes] == ["regular"]
    assert [one.name for one in solutions["is it?"].classes] == ["expert", "regular"]
    assert solutions["colour"].certificate.given == ()
    assert verify(solutions, data).verdict is Verdict.CONFIRMED


def test_a_worker_may_be_in_another_class_in_another_group():
    data = crowd()
    data.loc[data["question"] == "colour", "class"] = "all alike"
    solutions = aggregate(data, group="question", class_="class")
    assert not solutions.failures
    assert [one.name for one in solutions["colour"].classes] == ["all alike"]


# 2. In parallel.


def test_processes_change_nothing(monkeypatch):
    data = pd.concat([crowd(seed).assign(question=lambda d, s=seed: f"{s} " + d["question"]) for seed in range(6)])
    expected = aggregate(data, group="question", jobs=1)
    monkeypatch.setattr(jobs, "ALONE", -1.0)  # nothing in this process
    for n in (2, 3):
        counted: list[tuple[int, int]] = []
        found = aggregate(data, group="question", jobs=n, on_group=lambda *numbers, into=counted: into.append(numbers))
        assert by_group(found) == by_group(expected)
        assert [found[group].certificate for group in found] == [expected[group].certificate for group in expected]
        assert counted[-1] == (18, 18)
        assert counted == sorted(counted)
    assert verify(found, data, jobs=2).verdict is Verdict.CONFIRMED


def test_a_column_that_cannot_be_kept_is_named():
    data = crowd().assign(group=1)
    with pytest.raises(ColumnError, match="a column named 'group' cannot be kept beside --group"):
        aggregate(data, group="question", keep=["group"])


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
        solutions = aggregate(tmp_path / "data.csv", group="question", jobs=1)
        assert len(solutions) == n_groups
        assert solutions.answers.num_rows == 4 * n_groups
        numbers.append(len(calls))
    assert numbers[0] == numbers[1] < 12


def test_whoever_asks_to_stop_gets_what_is_there():
    data = crowd()
    solutions = aggregate(data, group="question", jobs=1, on_group=lambda done, _: done == 2)
    assert list(solutions) == ["colour", "how much"]
    assert solutions.failures == {"is it?": NOT_SOLVED_YET}
    assert solutions.interrupted
    assert set(plain(solutions.answers)["question"]) == {"colour", "how much"}
    with pytest.raises(CrowdoptError, match="group 'is it\\?' has no solution: interrupted"):
        solutions["is it?"]


def test_whoever_asks_to_stop_before_anything_is_solved_gets_nothing(monkeypatch):
    monkeypatch.setattr(jobs, "ALONE", -1.0)
    with pytest.raises(KeyboardInterrupt, match="no group was solved yet"):
        aggregate(crowd(), group="question", jobs=2, on_group=lambda *_: True)


def test_a_group_that_is_stopped_keeps_the_best_so_far():
    rows = [(g, f"{y} {n}", i, int(i < y)) for g in "ab" for y in range(12) for n in range(12) for i in range(y + n)]
    data = pd.DataFrame(rows, columns=["question", "task", "worker", "label"])
    asked = []
    solutions = aggregate(
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
        aggregate(crowd(), group="question", jobs=bad)


# 3. Groups that cannot be answered.


def broken(data: pd.DataFrame, how: str) -> pd.DataFrame:
    first = data[data["question"] == "colour"]
    if how == "duplicates":
        return pd.concat([data, first.iloc[:2]])
    if how == "conflicts":
        return pd.concat([data, first.iloc[:1].assign(label="a fourth")])
    if how == "missing":
        return pd.concat([data, first.iloc[:1].assign(label=None, task=99)])
    if how == "empty":
        return data.assign(label=data["label"].where(data["question"] != "colour"))
    if how == "labels":
        return pd.concat([data, first.iloc[[0] * 70].assign(label=[f"l{i}" for i in range(70)], task=range(100, 170))])
    if how == "classes":
        return pd.concat([data, first.iloc[:1].assign(task=99, worker="w0", **{"class": "regular"})])
    return data


BROKEN = {
    "duplicates": ({}, "2 (task, worker) pairs occur more than once: 2 with identical labels, 0 with conflicting ones"),
    "conflicts": ({"duplicates": "same"}, "1 (task, worker) pairs have conflicting labels"),
    "missing": ({}, "rows are incomplete (1 without a label); add --missing drop"),
    "empty": ({"missing": "drop"}, "there are no responses: no row has a task, a worker and a label"),
    "labels": ({}, "different labels, such as"),
    "classes": ({"class_": "class"}, "worker 'w0' is in several classes"),
    "scale": ({"scale": "ordinal"}, "the order of labels that are texts must be named"),
    "engine": ({"engine": "chain"}, "engine 'chain' searches labels that respect the order"),
}


@pytest.mark.grid
@pytest.mark.parametrize("source", ["pandas", "duckdb", "csv"])
@pytest.mark.parametrize("how", BROKEN)
def test_one_bad_group_does_not_stop_the_others(how, source, tmp_path):
    options, reason = BROKEN[how]
    data = broken(crowd(), how)
    if source == "csv":
        data.to_csv(tmp_path / "data.csv", index=False)
        given = tmp_path / "data.csv"
    else:
        given = BACKENDS[source](pa.Table.from_pandas(data, preserve_index=False))
    solutions = aggregate(given, group="question", **options)
    assert list(solutions) == ["how much", "is it?"]
    assert list(solutions.failures) == ["colour"]
    assert reason in solutions.failures["colour"]
    rest = data[data["question"] != "colour"]
    assert by_group(solutions) == by_group(aggregate(rest, group="question", **options))
    assert solutions.rows()[-1]["failure"] == solutions.failures["colour"]
    solutions.save(tmp_path / "solutions.json")
    found = verify(tmp_path / "solutions.json", given)
    read = "engine" not in options  # what cannot be read has no solution; what an engine refuses can be read
    assert found.verdict is (Verdict.CONFIRMED if read else Verdict.BOUND_NOT_RECHECKED)
    [said] = found.reasons
    assert said.startswith("group colour has no solution")
    assert reason in said


def test_a_solution_that_was_taken_away_is_not_confirmed(tmp_path):
    """A group that cannot be read has none; of one that can, the file would only say so."""
    path, data = tmp_path / "solutions.json", crowd()
    aggregate(data, group="question").save(path)
    forged = json.loads(path.read_text(encoding="utf-8"))
    group = forged["groups"].pop()["group"]
    forged["failures"].append({"group": group, "reason": "none of your business"})
    path.write_text(json.dumps(forged), encoding="utf-8")
    found = verify(path, data)
    assert found.verdict is Verdict.BOUND_NOT_RECHECKED
    assert found.reasons == (
        f"group {group} has no solution to check, though it can be read; the file says: none of your business",
    )


def test_if_no_group_can_be_answered_it_is_an_error():
    data = pd.concat([crowd(), crowd()])
    with pytest.raises(InputError, match=r"none of the 3 groups can be answered; 'colour': .* occur more than once"):
        aggregate(data, group="question")
    with pytest.raises(InputError, match="none of the 3 groups can be answered; 'colour': there is no engine 'magic'"):
        aggregate(crowd(), group="question", engine="magic")


BAD = {
    "nulls": (
        b"q,t,w,yes\n,t,w,yes\n", ["--group", "group"], ["1 of 2 rows have no group (column 'group')", "--missing drop"]
    ),
    "nothing but nulls": (
        b",t,w,yes\n", ["--group", "group", "--missing", "drop"], ["1 of 1 rows have no group (column 'group')"]
    ),
    "no such column": (b"q,t,w,yes\n", ["--group", "grop"], ["no column named 'grop'", "did you mean --group group?"]),
    "no rows": (b"", ["--group", "group"], ["there are no responses"]),
    "the column of tasks": (b"q,t,w,yes\n", ["--group", "task"], ["must be different columns"]),
    "gold": (b"q,t,w,yes\n", ["--group", "group", "--gold", "data.csv"], ["do not go with --group: aggregate"]),
    "a summary of no groups": (b"q,t,w,yes\n", ["--group-summary", "s.csv"], ["only with --group"]),
    "a bad place": (b"q,t,w,yes\n", ["--group", "group", "--group-summary", "s.txt"], ["the name must end in"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(fails, name):
    rows, options, expected = BAD[name]
    message = fails("aggregate", "data.csv", "-o", "a.csv", "--solution", "s.json", *options,
                    files={"data.csv": b"group,task,worker,label\n" + rows})  # fmt: skip
    for part in expected:
        assert part in message


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("groups", [["q", None, "q", "p"], [1, None, 1, 2], ["q", "", "q", "p"]], ids=str)
def test_a_row_without_a_group_is_an_error_of_all(backend, groups):
    rows = {"group": groups, "task": list("aabb"), "worker": list("vwvw"), "label": ["yes", "no", "no", "no"]}
    with pytest.raises(InputError, match=r"1 of 4 rows have no group \(column 'group'\); fill it in"):
        aggregate(BACKENDS[backend](pa.table(rows)), group="group")


@pytest.mark.grid
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("groups", [["q", None, "q", "p"], [1, None, 1, 2], ["q", "", "q", "p"]], ids=str)
def test_rows_without_a_group_can_be_dropped(backend, groups):
    rows = {"group": groups, "task": list("aabb"), "worker": list("vwvw"), "label": ["yes", "no", "no", "no"]}
    rows["text"] = list("xyzz")
    data = BACKENDS[backend](pa.table(rows))
    solutions = aggregate(data, group="group", missing="drop", keep=["text"])
    table = pa.table(rows)
    rest = BACKENDS[backend](table.take([0, 2, 3]))
    expected = aggregate(rest, group="group", keep=["text"])
    assert plain(solutions.answers) == plain(expected.answers)
    assert solutions.summary()["n_without_group"] == 1
    assert expected.summary()["n_without_group"] == 0
    assert verify(solutions, data).verdict is Verdict.CONFIRMED


def test_all_files_that_were_written_are_named(tmp_path, monkeypatch, capsys):
    crowd().to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    options = ["--group", "question", "-o", "a.csv", "--solution", "s.json", "--group-summary", "g.csv"]
    monkeypatch.setattr(sys, "argv", ["crowdopt", "aggregate", "data.csv", *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code in {0, None}
    assert "answers in a.csv, solution in s.json, summary of groups in g.csv" in capsys.readouterr().out


# 4. The file.


def test_a_file_comes_back_as_it_was(tmp_path):
    solutions = aggregate(broken(crowd(), "duplicates"), group="question", class_="class")
    solutions.save(tmp_path / "solutions.json")
    loaded = Solutions.load(tmp_path / "solutions.json")
    assert loaded.to_dict() == solutions.to_dict()
    assert loaded.failures == solutions.failures
    assert repr(loaded) == repr(solutions) == "<Solutions of 3 groups: 2 PROVED, 1 failed; 24 tasks>"
    with pytest.raises(SolutionFileError, match="solutions of many groups, and this needs one"):
        Solution.load(tmp_path / "solutions.json")
    with pytest.raises(CrowdoptError, match="have no tasks"):
        loaded.answers  # noqa: B018
    aggregate(crowd()[crowd()["question"] == "colour"]).save(tmp_path / "one.json")
    with pytest.raises(SolutionFileError, match="not a file of the solutions of groups"):
        Solutions.load(tmp_path / "one.json")


def exchange(data):
    one, other = data["groups"][:2]
    one["group"], other["group"] = other["group"], one["group"]


def flip_a_label(data):
    labels = data["groups"][1]["buckets"]["label"]
    labels[0] = 1 - labels[0] if labels[0] < 2 else 0


def lower_a_bound(data):
    data["groups"][1]["certificate"]["bound"] -= 1


LIES = {
    "exchanged": exchange,
    "dropped": lambda data: data["groups"].pop(),
    "invented": lambda data: data["groups"][0].update(group="taste"),
    "twice": lambda data: data["groups"].append(data["groups"][0]),
    "failed elsewhere": lambda data: data["failures"].append({"group": "taste", "reason": "bad"}),
    "failed and solved": lambda data: data["failures"].append({"group": data["groups"][0]["group"], "reason": "bad"}),
    "label": flip_a_label,
    "bound": lower_a_bound,
    "column": lambda data: data["reading"].update(group=""),
    "extra": lambda data: data.update(more=1),
    "version": lambda data: data.update(format_version=2),
}


@pytest.mark.parametrize("how", LIES)
def test_lies_are_rejected(how, tmp_path):
    data = crowd()
    told = aggregate(data, group="question").to_dict()
    LIES[how](told)
    (tmp_path / "lie.json").write_text(json.dumps(told))
    found = verify(tmp_path / "lie.json", data)
    assert found.verdict is Verdict.REJECTED, how
    assert found.reasons


def test_other_data_are_rejected():
    data = crowd()
    solutions = aggregate(data, group="question")
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
    )
    code, out, err = invoke("aggregate", "data.csv", *options)
    assert code == 4
    assert err.startswith("crowdopt: group colour 0: 1 (task, worker) pairs occur more than once")
    assert err.count("\n") == 1
    assert "27 groups: 26 PROVED, 1 failed; 130 tasks" in out
    assert "… and 6 more; --group-summary FILE.csv has all of them" in out
    answers, figures = pd.read_csv("answers.csv"), pd.read_csv("groups.csv")
    assert list(answers.columns[:3]) == ["question", "task", "label"]
    assert len(answers) == 130
    assert len(figures) == 27
    assert figures["failure"].notna().sum() == 1
    assert figures["n_tasks"].sum() == 130
    code, out, _ = invoke("verify", "solutions.json", "data.csv")
    assert code == 0
    assert out.splitlines()[0] == "CONFIRMED"
    assert "group colour 0 has no solution" in out
    data.to_csv("data.csv", index=False)
    code, out, _ = invoke("aggregate", "data.csv", "--group", "question", "--json")
    summary = json.loads(out)
    assert code == 0
    assert (summary["n_groups"], summary["n_failures"], len(summary["groups"])) == (27, 0, 27)


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
    solutions = aggregate(data, group="question", labels=[0, 1])
    assert len(solutions) == n_groups
    assert solutions.summary()["proofs"] == {"PROVED": n_groups}
    assert len(solutions.answers) == n_groups * n_tasks
    for group in (0, 999, 1999):
        expected = alone(data, group, labels=[0, 1])
        assert solutions[group].certificate == expected.certificate
