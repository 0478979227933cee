"""Exports of MTurk, Toloka, Appen and Zooniverse as the tools really wrote them, and counts that need no reader."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from crowdopt import aggregate
from support.needs import SHARED, need

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


def export(name: str) -> Path:
    """A real export; they are not part of this repository."""
    path = SHARED / "exports" / name
    need(path.is_file(), f"the shared export {name!r} ({path})")
    return path


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows with anything in them, of a module that knows nothing of tools."""
    with export(name).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t" if name.endswith(".tsv") else ",", restval=""))
    return [row for row in rows if any(row.values())]


def by_columns(name: str, task: str, worker: str, label: str) -> Counter[tuple[str, str, str]]:
    return Counter((row[task], row[worker], row[label]) for row in rows_of(name))


def turk_items(name: str, question: str) -> Counter[tuple[str, str, str]]:
    """The ticked option of each item."""
    ticked = Counter()
    for row in rows_of(name):
        for column, value in row.items():
            family, _, option = column.removeprefix("Answer.").partition(".")
            if value == "true" and family.rpartition("_")[0] == question:
                ticked[f"{row['HITId']}/{family.rpartition('_')[2]}", row["WorkerId"], option] += 1
    return ticked


def turk_texts(name: str, question: str) -> Counter[tuple[str, str, str]]:
    """What was written of each item."""
    numbers = range(1, 11)
    return Counter(
        (f"{row['HITId']}/{n}", row["WorkerId"], row[f"Answer.{question}_{n}"])
        for row in rows_of(name)
        for n in numbers
    )


def turk_ticks(name: str, question: str) -> Counter[tuple[str, str, str]]:
    ticks = f"Answer.{question}."
    return Counter(
        (row["HITId"], row["WorkerId"], column.removeprefix(ticks))
        for row in rows_of(name)
        for column, value in row.items()
        if column.startswith(ticks) and value == "true"
    )


def pairs_of_toloka(name: str, question: str) -> Counter[tuple[str, str, str]]:
    found = Counter()
    for row in rows_of(name):
        inputs = [value for column, value in row.items() if column.startswith("INPUT:")]
        listed = json.dumps(inputs, ensure_ascii=False, separators=(",", ":"))
        task = hashlib.md5(listed.encode(), usedforsecurity=False).hexdigest()[:16]
        found[task, row["ASSIGNMENT:worker_id"], row[f"OUTPUT:{question}"]] += 1
    return found


def classifications(name: str, question: str) -> Counter[tuple[str, str, str]]:
    return Counter(
        (row["subject_ids"], row["user_name"], one["value"])
        for row in rows_of(name)
        for one in json.loads(row["annotations"])
        if one["task"] == question
    )


TURK, MANY = "mturk_batch_results.csv", "mturk_batch_many_questions.csv"
TOLOKA, ZOO = "toloka_assignments.tsv", "zooniverse_classifications.csv"
FULL, LINES = "appen_full_report.csv", "appen_full_multiline.csv"

CASES: dict[str, tuple[str, dict[str, Any], Callable[[], Counter[tuple[str, str, str]]], tuple[int, int, int]]] = {
    "mturk": (TURK, {}, lambda: by_columns(TURK, "HITId", "WorkerId", "Answer.emotion.label"), (30, 21, 60)),
    "mturk, items": (MANY, {"question": "coherence"}, lambda: turk_items(MANY, "coherence"), (10, 5, 50)),
    "mturk, pattern": (MANY, {"question": "search_prob_*"}, lambda: turk_items(MANY, "search_prob"), (10, 5, 50)),
    "mturk, texts": (MANY, {"question": "explanation"}, lambda: turk_texts(MANY, "explanation"), (10, 5, 50)),
    "mturk, ticks": (MANY, {"question": "age"}, lambda: turk_ticks(MANY, "age"), (1, 5, 5)),
    "toloka": (TOLOKA, {"question": "result"}, lambda: pairs_of_toloka(TOLOKA, "result"), (78, 23, 174)),
    "toloka, another": (TOLOKA, {"question": "office"}, lambda: pairs_of_toloka(TOLOKA, "office"), (78, 23, 174)),
    "appen": (FULL, {}, lambda: by_columns(FULL, "_unit_id", "_worker_id", "top_member_employee"), (10, 67, 150)),
    "appen, one label": (
        LINES,
        {},
        lambda: by_columns(LINES, "_unit_id", "_worker_id", "selected_answer"),
        (3, 41, 60),
    ),
    "zooniverse, T0": (ZOO, {"question": "T0"}, lambda: classifications(ZOO, "T0"), (7, 1, 7)),
    "zooniverse, T1": (ZOO, {"question": "T1"}, lambda: classifications(ZOO, "T1"), (3, 1, 3)),
}


@pytest.mark.parametrize("case", CASES)
def test_every_response_of_a_real_export_is_read_as_it_stands(case):
    name, options, count, (n_tasks, n_workers, n_responses) = CASES[case]
    solution = aggregate(export(name), **options)
    assert solution.reading.tool == case.partition(",")[0]
    expected = count()
    table = solution.source.responses.table.collect().to_arrow().to_pylist()
    assert Counter((str(row["task"]), str(row["worker"]), str(row["label"])) for row in table) == expected
    tasks = Counter(task for task, _, _ in expected.elements())
    assert (len(tasks), len({worker for _, worker, _ in expected}), expected.total()) == (
        n_tasks,
        n_workers,
        n_responses,
    )
    totals = solution.totals
    assert (totals.n_tasks, totals.n_workers, totals.n_responses) == (n_tasks, n_workers, n_responses)
    assert {row["task"]: row["n_responses"] for row in solution.answers.to_pylist()} == tasks


def test_inputs_of_a_real_toloka_pool_are_kept_beside_the_short_names():
    rows = aggregate(export(TOLOKA), question="result", keep=["id_left", "id_right"]).answers.to_pylist()
    pairs = {(row["INPUT:id_left"], row["INPUT:id_right"]) for row in rows_of(TOLOKA)}
    assert {(row["id_left"], row["id_right"]) for row in rows} == pairs
    assert {len(row["task"]) for row in rows} == {16}


def test_the_control_tasks_of_a_real_toloka_pool_measure():
    known = {row["INPUT:id_left"] + row["INPUT:id_right"] for row in rows_of(TOLOKA) if row["GOLDEN:result"]}
    assert aggregate(export(TOLOKA), question="result").export_accuracy.n_tasks == len(known) == 7


def test_inputs_of_a_real_batch_are_kept():
    rows = aggregate(export(TURK), keep=["id_str", "emotion_label"]).answers.to_pylist()
    assert {(row["task"], row["id_str"], row["emotion_label"]) for row in rows} == {
        (row["HITId"], row["Input.id_str"], row["Input.emotion_label"]) for row in rows_of(TURK)
    }


def test_what_is_known_of_a_real_subject_is_kept():
    rows = aggregate(export(ZOO), question="T0", keep=["objectId"]).answers.to_pylist()
    assert {row["task"]: row["objectId"] for row in rows} == {
        row["subject_ids"]: json.loads(row["subject_data"])[row["subject_ids"]]["objectId"] for row in rows_of(ZOO)
    }


@pytest.mark.parametrize(
    ("name", "options", "wrong"),
    [
        (TURK, ["--question", "emotoin"], "no question 'emotoin'; did you mean 'emotion'?"),
        (MANY, [], "32 questions: name one with --question"),
        (TOLOKA, [], "10 questions: name one with --question"),
        (FULL, ["--from", "mturk"], "is no export of MTurk"),
        (ZOO, [], "2 questions: name one with --question (T0, T1)"),
        (ZOO, ["--from", "appen"], "is no export of Appen"),
    ],
)
def test_a_wrong_question_or_tool_is_one_line(invoke, name, options, wrong):
    code, out, err = invoke("aggregate", export(name), *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert str(export(name)) in err
    assert wrong in err


@pytest.mark.parametrize("name", [TURK, MANY, TOLOKA, FULL, LINES, ZOO])
def test_a_real_export_that_is_cut_short_is_one_line_or_the_rows_before(invoke, tmp_path, name):
    data = export(name).read_bytes()
    question = {MANY: ["--question", "age"], TOLOKA: ["--question", "result"], ZOO: ["--question", "T0"]}
    for share in (0.4, 0.63, 0.9):
        path = tmp_path / name
        path.write_bytes(data[: int(len(data) * share)])
        code, _, err = invoke("aggregate", path, *question.get(name, []), "-q", "-o", tmp_path / "answers.csv")
        assert code in {0, 2}
        if code:
            assert name in err
            assert "Traceback" not in err
            assert not (tmp_path / "answers.csv").exists()
        (tmp_path / "answers.csv").unlink(missing_ok=True)
