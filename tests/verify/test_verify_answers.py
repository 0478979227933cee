"""The answers that people hand over: each must be the one that the data give, in every kind of table."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdopt import aggregate, prove, verify
from crowdopt.errors import ColumnError, InputError
from crowdopt.verify.verdict import Verdict
from support.mixed_crowds import grouped_crowds, mixed_crowd

VERBS = {"consensus": (aggregate, Verdict.REPRODUCED), "proof": (prove, Verdict.CONFIRMED)}

NAMES = ["task", "worker", "label"]


@pytest.fixture(params=VERBS)
def verb(request):
    return VERBS[request.param]


def ratings() -> pd.DataFrame:
    return mixed_crowd(2, (1, 2, 3))


@pytest.mark.grid
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
@pytest.mark.parametrize("probabilities", [True, False])
def test_what_is_written_is_the_same(verb, suffix, probabilities, tmp_path):
    run, verdict = verb
    ratings().to_csv(tmp_path / "data.csv", index=False)
    brought = [ratings(), tmp_path / "data.csv"]
    for data, other in (brought, reversed(brought)):
        solution = run(data)
        solution.save(tmp_path / "solution.json")
        answers = tmp_path / f"answers.{suffix}"
        solution.write(answers, probabilities=probabilities)
        found = verify(tmp_path / "solution.json", other, answers=answers)
        assert (found.verdict, found.reasons) == (verdict, ())
        assert found.claim.endswith("; the answers are the same, task by task")


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas], ids=["pd", "pl", "pa"])
def test_tables_of_python_are_the_same(verb, kind):
    run, verdict = verb
    data = kind(ratings())
    solution = run(data)
    assert verify(solution, data, answers=solution.answers_frame(probabilities=True)).verdict is verdict
    assert verify(solution, ratings(), answers=solution.answers).verdict is verdict


def test_what_is_written_has_the_columns_of_the_answers(verb, tmp_path):
    """And none for the index of a pandas table."""
    solution = verb[0](mixed_crowd())
    solution.write(tmp_path / "answers.csv")
    assert list(pd.read_csv(tmp_path / "answers.csv").columns) == list(solution.answers.columns)


SOURCES = {
    "numbers": {"labels": (1, 2, 3)},
    "fractions": {"labels": (0.5, 1.0, 2.25)},
    "truth values": {"labels": (False, True)},
    "texts of numbers": {"labels": ("01", "2", "3.0")},
    "formulas": {"labels": ("=A1", "-x", "@y")},
}


@pytest.mark.grid
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_labels_of_every_type_are_the_same_as_they_are_written(verb, name, suffix, tmp_path):
    run, verdict = verb
    data = mixed_crowd(4, **SOURCES[name])
    solution = run(data)
    solution.write(tmp_path / f"answers.{suffix}")
    assert verify(solution, data, answers=tmp_path / f"answers.{suffix}").verdict is verdict
    assert verify(solution, data, answers=solution.answers).verdict is verdict


TASKS = {
    "numbers": lambda number: number,
    "fractions": lambda number: number / 4,
    "times": lambda number: pd.Timestamp("2024-02-28T23:30:00") + pd.Timedelta(minutes=7 * number),
    "formulas": lambda number: f"={number}" if number % 2 else f"-{number}",
    "apostrophes": lambda number: f"'{number}",
}


@pytest.mark.grid
@pytest.mark.parametrize("name", TASKS)
def test_tasks_of_every_type_are_found_as_they_are_written(verb, name, tmp_path):
    run, verdict = verb
    data = mixed_crowd(4)
    data = data.assign(task=[TASKS[name](int(task[1:])) for task in data.task])
    solution = run(data)
    for suffix in ("csv", "parquet", "jsonl"):
        solution.write(tmp_path / f"answers.{suffix}")
        assert verify(solution, data, answers=tmp_path / f"answers.{suffix}").verdict is verdict


def test_apostrophes_for_spreadsheets_are_taken_for_what_they_are(verb, tmp_path):
    run, verdict = verb
    data = mixed_crowd(4, ("=A1", "no"))
    data = data.assign(task=[f"+{task}" for task in data.task])
    solution = run(data)
    solution.write(tmp_path / "answers.csv", spreadsheet_safe=True)
    text = (tmp_path / "answers.csv").read_text()
    assert "\n'+t7,'=A1," in text
    assert verify(solution, data, answers=tmp_path / "answers.csv").verdict is verdict
    (tmp_path / "answers.csv").write_text(text.replace("'+t7,'=A1", "'+t7,no"))
    found = verify(solution, data, answers=tmp_path / "answers.csv")
    assert found.reasons == ("task '+t7' has label no in the answers, =A1 in the solution",)


def test_apostrophes_of_the_data_are_theirs():
    data = mixed_crowd(4)
    data = data.assign(task=[f"'={task}" if task != "t0" else "=t1" for task in data.task])
    solution = aggregate(data)
    wrong = solution.answers.assign(task=lambda answers: answers.task.replace("=t1", "'=t0"))
    assert verify(solution, data, answers=solution.answers).verdict is Verdict.REPRODUCED
    assert verify(solution, data, answers=wrong).reasons == (
        "task '=t1' is not in the answers",
        'task "\'=t0" is in the answers, and is no task of the solution',
    )


def test_tasks_without_a_response_and_gold_are_compared(tmp_path):
    data = pd.concat([mixed_crowd(), pd.DataFrame({"task": ["silent"], "worker": ["w0"], "label": [None]})])
    solution = aggregate(data, gold={"t0": "yes"}, missing="drop")
    solution.write(tmp_path / "answers.csv", probabilities=True)
    assert set(solution.answers["status"]) >= {"gold", "no_response"}
    assert verify(solution, data, answers=tmp_path / "answers.csv").verdict is Verdict.REPRODUCED
    answers = pd.read_csv(tmp_path / "answers.csv")
    wrong = answers.assign(label=answers.label.fillna("no"))
    assert verify(solution, data, answers=wrong).reasons == (
        "task 'silent' has label no in the answers, none in the solution",
    )


# Differences.


def put(column, value, row=3):
    def change(answers):
        return answers.assign(**{column: [value if at == row else old for at, old in enumerate(answers[column])]})

    return change


DIFFERENCES = {
    "a label": (put("label", 9), "task 't11' has label 9 in the answers, {label} in the solution"),
    "no label": (put("label", None), "task 't11' has no label in the answers, {label} in the solution"),
    "a confidence": (put("confidence", 0.5), "task 't11' has confidence 0.5 in the answers, {confidence}"),
    "no confidence": (put("confidence", None), "task 't11' has no confidence in the answers, {confidence}"),
    "a probability": (put("p_2", 0.123), "task 't11' has p_2 0.123 in the answers, {p_2}"),
    "a number of responses": (put("n_responses", 77), "task 't11' has n_responses 77 in the answers"),
    "a status": (put("status", "gold"), "task 't11' has status gold in the answers, ok in the solution"),
    "a task less": (lambda answers: answers.drop(index=3), "task 't11' is not in the answers"),
    "a task twice": (lambda answers: pd.concat([answers, answers.iloc[[3]]]), "task 't11' is in the answers twice"),
    "a strange task": (put("task", "x"), "task 'x' is in the answers, and is no task of the solution"),
    "no task": (put("task", None), "a row without a task is in the answers, and is no task of the solution"),
}  # fmt: skip
OF_ONE = {
    "consensus": {"a mean": (put("mean", 1.5), "task 't11' has mean 1.5 in the answers, {mean}")},
    "proof": {
        "a margin": (put("margin", 0.5), "task 't11' has margin 0.5 in the answers, {margin}"),
        "a kind of margin": (put("margin_kind", "any"), "task 't11' has margin_kind any in the answers"),
    },
}
CASES = [(kind, name) for kind, own in OF_ONE.items() for name in DIFFERENCES | own]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_every_difference_is_named(kind, name, tmp_path):
    change, said = (DIFFERENCES | OF_ONE[kind])[name]
    data, run = ratings(), VERBS[kind][0]
    solution = run(data)
    answers = solution.answers_frame(probabilities=True)
    wrong = change(answers)
    wrong.to_csv(tmp_path / "answers.csv", index=False)
    expected = said.format(**answers[answers.task == "t11"].iloc[0])
    for brought in (wrong, tmp_path / "answers.csv"):
        found = verify(solution, data, answers=brought)
        assert (found.verdict, found.exit_code) == (Verdict.REJECTED, 1)
        assert any(reason.startswith(expected[:60]) for reason in found.reasons), (expected, found.reasons)


def test_a_label_that_looks_alike_is_written_out(tmp_path):
    data = mixed_crowd()
    solution = aggregate(data)
    answers = solution.answers.replace({"label": {"no": "n\u043e"}})
    answers.to_csv(tmp_path / "answers.csv", index=False)
    reasons = verify(solution, data, answers=tmp_path / "answers.csv").reasons
    assert r"has label 'n\u043e' in the answers, 'no' in the solution" in reasons[0]


def test_however_many_labels_are_spelled_otherwise(monkeypatch):
    """More than are fetched at once."""
    monkeypatch.setattr(import_module("crowdopt.verify.answers"), "AT_ONCE", 1_000)
    n = 2_500
    data = pd.DataFrame([(f"t{i}", f"w{j}", f"Label {i}") for i in range(n) for j in range(2)], columns=NAMES)
    solution = aggregate(data)
    answers = solution.answers.assign(label=lambda frame: frame.label.str.upper() + " ")
    found = verify(solution, data, answers=answers)
    assert (found.verdict, found.reasons) == (Verdict.REPRODUCED, ())
    answers.loc[answers.index[[3, n - 1]], "label"] = ["LABEL 5", "label"]
    found = verify(solution, data, answers=answers)
    assert (found.verdict, len(found.reasons)) == (Verdict.REJECTED, 2)


@pytest.mark.parametrize(("step", "close"), [(1e-7, True), (2e-6, False), (float("nan"), False)])
def test_numbers_may_be_rounded(step, close):
    data = ratings()
    solution = aggregate(data)
    answers = solution.answers.assign(confidence=lambda frame: frame.confidence + step)
    assert (verify(solution, data, answers=answers).verdict is Verdict.REPRODUCED) == close


def test_the_first_few_of_many_are_named():
    data = mixed_crowd(n_tasks=40)
    solution = aggregate(data)
    wrong = solution.answers.assign(label=lambda frame: frame.label.map({"no": "yes", "yes": "no"}))
    *named, rest = verify(solution, data, answers=wrong).reasons
    assert len(named) == 5
    assert rest == "and 35 more tasks have another label"
    few = verify(solution, data, answers=solution.answers.iloc[:10]).reasons
    assert few[-1] == "and 25 more tasks: each is not in the answers"


def test_columns_of_the_users_are_not_compared():
    data = ratings().assign(text=lambda frame: frame.task + "!")
    solution = aggregate(data, keep=["text"])
    answers = solution.answers.assign(mine=1).rename(columns={"text": "p_text"})
    assert verify(solution, data, answers=answers).verdict is Verdict.REPRODUCED
    assert verify(solution, data, answers=solution.answers[["label", "task"]]).verdict is Verdict.REPRODUCED


def test_answers_of_the_other_verb_are_rejected():
    data = ratings()
    found = verify(aggregate(data), data, answers=prove(data).answers)
    assert found.reasons[0] == "the answers have a column 'margin', and the solution has none"


def test_answers_of_a_solution_that_is_wrong_are_not_compared():
    data = ratings()
    solution = aggregate(data)
    found = verify(solution, data.iloc[1:], answers=solution.answers)
    assert found.reasons == ("these are not the responses that the solution was made from",)


@pytest.mark.parametrize("missing", ["task", "label"])
def test_answers_without_a_column_cannot_be_read(missing):
    data = ratings()
    solution = aggregate(data)
    with pytest.raises(ColumnError, match=f"no column named '{missing}' for the answers"):
        verify(solution, data, answers=solution.answers.drop(columns=missing))


@pytest.mark.parametrize("answers", [3, ["a", 1], {"t0": "yes"}])
def test_answers_that_are_no_table_cannot_be_read(answers):
    with pytest.raises(InputError):
        verify(aggregate(ratings()), ratings(), answers=answers)


def test_unproved_bounds_stay_so_unless_answers_differ():
    rng = np.random.default_rng(1)
    rows = [(t, w, "yes" if rng.random() < 0.5 else "no") for t in range(60) for w in range(int(rng.integers(1, 9)))]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    solution = prove(data, selectivity="estimate")
    kept = verify(solution, data, answers=solution.answers, time_limit=0.0)
    assert kept.verdict is Verdict.BOUND_NOT_RECHECKED
    wrong = solution.answers.assign(n_responses=0)
    assert verify(solution, data, answers=wrong, time_limit=0.0).verdict is Verdict.REJECTED


@pytest.mark.parametrize("labels", [("Yes", "yes"), ("0.5", "1.0")], ids=["case", "dots"])
def test_answers_without_probabilities_need_no_columns_for_them(verb, labels, tmp_path):
    """In a file such columns could not stand side by side, or at all; in a frame of the user they can."""
    run, verdict = verb
    data, answers = tmp_path / "data.csv", tmp_path / "answers.csv"
    mixed_crowd(4, labels).to_csv(data, index=False)
    solution = run(data, verbatim=True)
    solution.write(answers)
    assert verify(solution, data, answers=answers).verdict is verdict
    frame = pd.read_csv(data, dtype=str)
    in_frame = run(frame, verbatim=True)
    assert list(in_frame.probabilities.columns) == ["task", *(f"p_{label}" for label in labels)]
    assert verify(in_frame, frame, answers=in_frame.answers_frame(probabilities=True)).verdict is verdict


# Groups.


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_answers_of_groups_are_compared(verb, suffix, tmp_path):
    run, verdict = verb
    data = grouped_crowds()
    solutions = run(data, group="group")
    answers = tmp_path / f"answers.{suffix}"
    solutions.write(answers, probabilities=True)
    data.to_csv(tmp_path / "data.csv", index=False)
    assert verify(solutions, data, answers=answers).verdict is verdict
    assert verify(solutions, tmp_path / "data.csv", answers=answers).verdict is verdict


def test_a_task_of_another_group_is_another_task(verb):
    data = grouped_crowds()
    solutions = verb[0](data, group="group")
    answers = solutions.answers
    at = int(np.flatnonzero((answers.group == "b") & (answers.task == "t3"))[0])
    wrong = put("label", {"no": "yes", "yes": "no"}[answers.label[at]], at)(answers)
    found = verify(solutions, data, answers=wrong)
    label = answers.label[at]
    assert found.reasons == (
        f"task 't3' of group b has label {wrong.label[at]} in the answers, {label} in the solution",
    )
    moved = verify(solutions, data, answers=put("group", "x", at)(answers))
    assert moved.reasons == (
        "task 't3' of group b is not in the answers",
        "task 't3' of group x is in the answers, and is no task of the solution",
    )
    with pytest.raises(ColumnError, match="no column named 'group' for the answers"):
        verify(solutions, data, answers=answers.drop(columns="group"))


# The command.


@pytest.mark.parametrize("command", ["aggregate", "prove"])
def test_words_and_codes_of_the_command(crowdopt, tmp_path, command):
    data, saved, answers = (tmp_path / name for name in ("data.csv", "solution.json", "answers.csv"))
    mixed_crowd(3).to_csv(data, index=False)
    crowdopt(command, data, "--solution", saved, "-o", answers, "--probabilities")
    assert "the answers are the same, task by task" in crowdopt("verify", saved, data, "--answers", answers)
    frame = pd.read_csv(answers)
    put("label", {"no": "yes", "yes": "no"}[frame.label[2]], 2)(frame).to_csv(answers, index=False)
    said = crowdopt("verify", saved, data, "--answers", answers, code=1)
    task, label = frame.task[2], frame.label[2]
    other = {"no": "yes", "yes": "no"}[label]
    assert said == f"REJECTED\n  task '{task}' has label {other} in the answers, {label} in the solution\n"
    assert json.loads(crowdopt("verify", saved, data, "--answers", answers, "--json", code=1))["verdict"] == "REJECTED"
    assert "no such file" in crowdopt("verify", saved, data, "--answers", tmp_path / "none.csv", code=2)
