"""Zooniverse: what is an answer about a subject, and what is about a mark on it, or to another question."""

from __future__ import annotations

import json

import pytest

from crowdopt.errors import InputError
from support.exports import as_table, opened

HEADER = ["classification_id", "user_name", "workflow_id", "workflow_name", "workflow_version", "annotations",
          "subject_data", "subject_ids"]  # fmt: skip
POINT = {"task": "T0", "taskType": "drawing", "value": [{"x": 1, "y": 2, "details": [{"task": "T0.0.0"}]}]}


def mark(place, value, **more):
    return {"task": "T0.0.0", "taskType": "single", "markIndex": place, "value": value} | more


def asked(value, task="T0", label="Is there one?"):
    return {"task": task, "task_label": label, "value": value}


def zoo(path, *rows):
    """Classifications of one subject: (version, annotations)."""
    return as_table(
        path / "z.csv",
        HEADER,
        [
            [n, f"u{n}", 10, "Flow", version, json.dumps(annotations), '{"1": {"site": "a"}}', 1]
            for n, (version, annotations) in enumerate(rows)
        ],
    )


def test_answers_about_marks_are_left_out_and_counted(tmp_path):
    path = zoo(
        tmp_path,
        ("1.1", [POINT, mark(0, "big"), mark(1, "small"), asked("Yes", "T1")]),
        ("1.1", [asked("No", "T1"), {"task": "T0.0.1", "value": "red"}]),
    )
    rows, source = opened(path)
    assert rows == [("1", "u0", "Yes"), ("1", "u1", "No")]
    assert source.reading.question == "10/T1"
    assert source.notes == ("answers about marks of drawings left out: 3",)


def test_answers_about_marks_alone_are_refused(tmp_path):
    path = zoo(tmp_path, ("1.1", [POINT, mark(0, "big"), mark(1, "small")]))
    with pytest.raises(InputError, match=r"z\.csv: all answers are drawings, answers about them,"):
        opened(path)
    with pytest.raises(InputError, match=r"all answers are drawings, answers about them,"):
        opened(zoo(tmp_path, ("1.1", [mark(0, "big")])))
    for wanted in ("T0.0.0", "10/T0.0.0"):
        with pytest.raises(InputError, match=rf"the answers to {wanted} are about marks of a drawing"):
            opened(path, question=wanted)


def test_a_task_that_asked_different_things_is_told(tmp_path):
    path = zoo(tmp_path, ("1.1", [asked("Yes")]), ("2.5", [asked("3", label="How many?")]), ("2.6", [asked("4")]))
    rows, source = opened(path)
    assert len(rows) == 3
    (note,) = source.notes
    assert note.startswith("T0 asks 'How many?' and 'Is there one?' in versions of the workflow")
    assert '--where "workflow_version = …"' in note
    assert opened(path, where="workflow_version = 2.5")[1].notes == ()


def test_conditions_come_before_the_search_for_questions(tmp_path):
    drawn = {"task": "T0", "task_label": "Draw", "value": [{"x": 1, "y": 2, "tool": 0}]}
    path = zoo(tmp_path, ("1.1", [asked("Yes")]), ("22.5", [drawn]))
    with pytest.raises(InputError, match=r'give no labels; --where "workflow_version = …" takes one version'):
        opened(path)
    for where in ("workflow_version = 1.1", "worker = u0", "task = 1 and workflow_version < 2"):
        assert opened(path, where=where)[0] == [("1", "u0", "Yes")]
    assert opened(path, where="site = a and user_name = u0")[0] == [("1", "u0", "Yes")]


def test_only_rows_that_count_must_have_one_label(tmp_path):
    path = zoo(tmp_path, ("1.1", [asked(["x"])]), ("1.1", [asked(["x", "y"])]))
    assert opened(path, where="worker != u1")[0] == [("1", "u0", "x")]
    for where in ("worker = u1", "label = z", ""):  # of several labels none says whether the row counts
        with pytest.raises(InputError, match="classification 1: several answers to T0"):
            opened(path, where=where)


@pytest.mark.parametrize("value", [{"selection": 1, "option": True}, [{"option": True, "value": "abc123"}]])
def test_dropdowns_that_do_not_say_what_was_chosen_are_called_so(value, tmp_path):
    with pytest.raises(InputError, match="or dropdowns that do not say what was chosen, which give no labels"):
        opened(zoo(tmp_path, ("1.1", [asked(value)])))
