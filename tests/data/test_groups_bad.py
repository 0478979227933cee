"""Groups that cannot be answered do not stop the others."""

from __future__ import annotations

import json
import sys

import pandas as pd
import pyarrow as pa
import pytest

from crowdopt import prove, verify
from crowdopt.cli.app import main
from crowdopt.errors import InputError
from crowdopt.options.words import python_words
from crowdopt.verify.verdict import Verdict
from support.groups import broken, by_group, crowd
from support.ways import BACKENDS, plain

BROKEN = {
    "duplicates": (
        {"duplicates": "error"},
        "2 (task, worker) pairs occur more than once: 2 with identical labels, 0 with conflicting ones",
    ),
    "conflicts": ({"duplicates": "same"}, "1 (task, worker) pair has conflicting labels"),
    "missing": ({"missing": "error"}, "rows is incomplete (1 without a label); leave out --missing error"),
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
    solutions = prove(given, group="question", **options)
    assert list(solutions) == ["how much", "is it?"]
    assert list(solutions.failures) == ["colour"]
    assert reason in solutions.failures["colour"]
    rest = data[data["question"] != "colour"]
    assert by_group(solutions) == by_group(prove(rest, group="question", **options))
    assert solutions.rows()[-1]["failure"] == solutions.failures["colour"]
    solutions.save(tmp_path / "solutions.json")
    found = verify(tmp_path / "solutions.json", given)
    read = how not in {
        "engine",
        "labels",
    }  # what cannot be read has no solution; what is too much for an engine can be
    assert found.verdict is (Verdict.CONFIRMED if read else Verdict.BOUND_NOT_RECHECKED)
    [said] = found.reasons
    assert said.startswith("group colour has no solution")
    assert python_words(reason) in said


def test_a_solution_that_was_taken_away_is_not_confirmed(tmp_path):
    """A group that cannot be read has none; of one that can, the file would only say so."""
    path, data = tmp_path / "solutions.json", crowd()
    prove(data, group="question").save(path)
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
        prove(data, group="question", duplicates="error")
    with pytest.raises(InputError, match="none of the 3 groups can be answered; 'colour': there is no engine 'magic'"):
        prove(crowd(), group="question", engine="magic")


BAD = {
    "nulls": (
        b"q,t,w,yes\n,t,w,yes\n", ["--group", "group", "--missing", "error"],
        ["1 of 2 rows have no group (column 'group')", "leave out --missing error"],
    ),
    "nothing but nulls": (
        b",t,w,yes\n", ["--group", "group", "--missing", "drop"], ["1 of 1 rows have no group (column 'group')"]
    ),
    "no such column": (b"q,t,w,yes\n", ["--group", "grop"], ["no column named 'grop'", "did you mean --group group?"]),
    "no rows": (b"", ["--group", "group"], ["data.csv: there are no responses: the input has no rows"]),
    "the column of tasks": (b"q,t,w,yes\n", ["--group", "task"], ["must be different columns"]),
    "gold": (b"q,t,w,yes\n", ["--group", "group", "--gold", "data.csv"], ["do not go with --group: take"]),
    "a summary of no groups": (b"q,t,w,yes\n", ["--group-summary", "s.csv"], ["only with --group"]),
    "a bad place": (b"q,t,w,yes\n", ["--group", "group", "--group-summary", "s.txt"], ["the name must end in"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(fails, name):
    rows, options, expected = BAD[name]
    message = fails("prove", "data.csv", "-o", "a.csv", "--solution", "s.json", *options,
                    files={"data.csv": b"group,task,worker,label\n" + rows})  # fmt: skip
    for part in expected:
        assert part in message


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("groups", [["q", None, "q", "p"], [1, None, 1, 2], ["q", "", "q", "p"]], ids=str)
def test_a_row_without_a_group_may_be_an_error_of_all(backend, groups):
    rows = {"group": groups, "task": list("aabb"), "worker": list("vwvw"), "label": ["yes", "no", "no", "no"]}
    with pytest.raises(InputError, match=r"1 of 4 rows have no group \(column 'group'\); fill it in"):
        prove(BACKENDS[backend](pa.table(rows)), group="group", missing="error")


@pytest.mark.grid
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("groups", [["q", None, "q", "p"], [1, None, 1, 2], ["q", "", "q", "p"]], ids=str)
def test_rows_without_a_group_are_dropped(backend, groups):
    rows = {"group": groups, "task": list("aabb"), "worker": list("vwvw"), "label": ["yes", "no", "no", "no"]}
    rows["text"] = list("xyzz")
    data = BACKENDS[backend](pa.table(rows))
    solutions = prove(data, group="group", keep=["text"])
    table = pa.table(rows)
    rest = BACKENDS[backend](table.take([0, 2, 3]))
    expected = prove(rest, group="group", keep=["text"])
    assert plain(solutions.answers) == plain(expected.answers)
    assert solutions.summary()["n_without_group"] == 1
    assert expected.summary()["n_without_group"] == 0
    assert verify(solutions, data).verdict is Verdict.CONFIRMED


def test_all_files_that_were_written_are_named(tmp_path, monkeypatch, capsys):
    crowd().to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    options = ["--group", "question", "-o", "a.csv", "--solution", "s.json", "--group-summary", "g.csv"]
    monkeypatch.setattr(sys, "argv", ["crowdopt", "prove", "data.csv", *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code in {0, None}
    assert "answers in a.csv, solution in s.json, summary of groups in g.csv" in capsys.readouterr().out
