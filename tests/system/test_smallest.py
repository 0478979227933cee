"""The smallest problems there are: one label, one worker, one task, one response."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import crowdopt

SMALLEST = {
    "one response": [("a", "ann", "yes")],
    "one task and label": [("a", worker, "yes") for worker in ("u", "v", "w")],
    "one task": [("a", "u", "yes"), ("a", "v", "no"), ("a", "w", "yes")],
    "one task and worker": [("a", "u", "yes"), ("a", "u", "no")],
    "one worker and label": [(task, "u", "yes") for task in "abc"],
    "one worker": [("a", "u", "yes"), ("b", "u", "no"), ("c", "u", "yes")],
    "one label": [(task, worker, "yes") for task in "abc" for worker in ("u", "v", "w")],
}

COMMANDS = [
    ("{verb}", "d.csv", "-o", "a.csv", "--solution", "s.json", "--report", "r.html"),
    ("verify", "s.json", "d.csv", "--answers", "a.csv"),
    ("workers", "s.json", "d.csv", "-o", "w.csv", "--confusion", "c.csv"),
    ("predict", "s.json", "d.csv", "-o", "p.csv", "--probabilities"),
    ("next", "s.json", "d.csv", "-o", "n.csv"),
    ("report", "s.json", "d.csv", "-o", "again.html"),
]


@pytest.mark.parametrize("verb", ["aggregate", "prove"])
@pytest.mark.parametrize("rows", SMALLEST.values(), ids=SMALLEST)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_every_command_has_an_answer(verb, rows, faulty):
    pd.DataFrame(rows, columns=["task", "worker", "label"]).to_csv("d.csv", index=False)
    for command in COMMANDS:
        code, out, err = faulty(*(word.format(verb=verb) for word in command))
        assert (code, err) == (0, ""), command
        assert not re.search(r"\b(nan|inf)\b", out), command
    answers = pd.read_csv("a.csv")
    assert answers["task"].tolist() == sorted({task for task, _, _ in rows})
    assert answers["confidence"].between(0, 1).all()
    assert len(pd.read_csv("w.csv")) == len({worker for _, worker, _ in rows})
    assert Path("r.html").stat().st_size > 0


@pytest.mark.parametrize("verb", [crowdopt.aggregate, crowdopt.prove])
@pytest.mark.parametrize("rows", SMALLEST.values(), ids=SMALLEST)
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::crowdopt.errors.CheckWarning")
def test_frames_have_the_same_answers(verb, rows, tmp_path):
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    solution = verb(frame)
    assert solution.answers["task"].tolist() == sorted(set(frame["task"]))
    assert set(solution.workers()["worker"]) == set(frame["worker"])
    assert solution.predict(frame)["label"].tolist() == solution.answers["label"].tolist()
    assert len(solution.next_tasks()) == frame["task"].nunique()
    solution.save(tmp_path / "s.json")
    assert crowdopt.verify(tmp_path / "s.json", frame).verdict.value in {"REPRODUCED", "CONFIRMED"}
