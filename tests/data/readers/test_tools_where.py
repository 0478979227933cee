"""Exports whose rows do not all count, and what their known labels are then."""

from __future__ import annotations

import pytest

from crowdopt.errors import GoldError, InputError
from support.exports import as_json, as_table, opened


def annotation(number, worker, *choices, star=False, name="mood"):
    """An annotation of Label Studio."""
    value = {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}
    return {"id": number, "completed_by": worker, "result": [value], "was_cancelled": False, "ground_truth": star}


def task(number, *annotations, **data):
    return {"id": number, "data": {"text": f"t{number}"} | data, "annotations": list(annotations)}


def scored(task_, **scores):
    samples = {name: {"value": value} for name, value in scores.items()}
    return {"id": task_, "epoch": 1, "input": "q", "target": "t", "scores": samples, "uuid": f"u{task_}"}


def log(*samples):
    evaluation = {"eval_id": "e1", "run_id": "r1", "model": "gpt", "task": "x"}
    return {"version": 2, "status": "success", "eval": evaluation, "plan": {}, "results": {}, "samples": list(samples)}


def test_equal_numbers_are_one_label_also_as_texts(tmp_path):
    path = as_json(tmp_path / "log.json", log(scored(1, a="C", b=1, c=1.0), scored(2, a="I", b=0.0, c=0.5)))
    rows, _ = opened(path, where="worker != a")
    assert rows == [("1", "b", "1"), ("1", "c", "1"), ("2", "b", "0"), ("2", "c", "0.5")]


def test_rows_that_do_not_count_may_be_wrong(tmp_path):
    tasks = [
        task(1, annotation(1, 1, "P", "N"), annotation(2, 2, "P"), split="old"),
        task(2, annotation(3, 1, "N"), split="new"),
    ]
    path = as_json(tmp_path / "s.json", tasks)
    for where in ("task != 1", "split = new", "worker = 1 and task = 2"):
        assert opened(path, where=where)[0] == [("2", "1", "N")]
    with pytest.raises(InputError, match=r"s\.json: task 1, annotation 1: several choices"):
        opened(path, where="worker = 1")


def test_questions_are_those_of_rows_that_count(tmp_path):
    tasks = [task(1, annotation(1, 1, "P"), split="old"), task(2, annotation(2, 1, "x", name="topic"), split="new")]
    path = as_json(tmp_path / "s.json", tasks)
    with pytest.raises(InputError, match="has 2 questions"):
        opened(path)
    assert opened(path, where="split = new")[0] == [("2", "1", "x")]
    header = ["HITId", "WorkerId", "AssignmentStatus", "Input.kind", "Answer.taskAnswers"]
    rows = [["H1", "w", "Approved", "a", '[{"q":"x"}]'], ["H2", "w", "Approved", "b", '[{"r":"y"}]']]
    path = as_table(tmp_path / "m.csv", header, rows)
    for where in ("kind = b", "task = H2"):
        assert opened(path, where=where)[0] == [("H2", "w", "y")]


def test_known_labels_that_cannot_be_pinned_are_counted(tmp_path):
    answered = task(1, annotation(1, 1, "P"), annotation(2, 9, "N", star=True))
    alone = task(2, annotation(3, 9, "N", star=True))
    rows, source = opened(as_json(tmp_path / "s.json", [answered, alone]), export_gold=True)
    assert rows == [("1", "1", "P")]
    assert "known labels of tasks that nobody else answered left out: 1" in source.notes
    path = as_json(tmp_path / "s.json", [task(1, annotation(1, 1, "P")), alone])
    with pytest.raises(GoldError, match=r"s\.json knows labels only of tasks that nobody else answered"):
        opened(path, export_gold=True)
    path = as_json(tmp_path / "s.json", [task(1, annotation(1, 1, "P"))])
    with pytest.raises(GoldError, match=r"s\.json brings no known labels"):
        opened(path, export_gold=True)
