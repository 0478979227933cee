"""Exports of Label Studio, Argilla and Prodigy as these tools really wrote them, counted in another way."""

from __future__ import annotations

import ast
import csv
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from crowdopt import aggregate, verify
from crowdopt.errors import InputError
from support.needs import SHARED, need

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


def export(name: str) -> Path:
    """A real export; they are not part of this repository."""
    path = SHARED / "exports" / name
    need(path.is_file(), f"the shared export {name!r} ({path})")
    return path


def read_json(name):
    return json.loads(export(name).read_text(encoding="utf-8"))


def read_csv(name):
    with export(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if name.endswith("tsv") else ","))


def label_of(value):
    """The label in a value of Label Studio."""
    ((field, found),) = value.items()
    return found[0] if field == "choices" else " > ".join(found[0]) if field == "taxonomy" else found


def studio(name, question):
    """Task, worker and label of the annotations of an export in JSON; None where there is no answer."""
    for task in read_json(name):
        for one in task["annotations"]:
            if not one["was_cancelled"]:
                values = [result["value"] for result in one["result"] if result["from_name"] == question]
                yield task["id"], one["completed_by"], label_of(values[0]) if values else None


def flat(rows, question):
    for row in rows:
        yield row["id"], row["annotator"], row.get(question) or None


def argilla_nested(question):
    for record in read_json("argilla_records.json"):
        for one in record["responses"].get(question, []):
            yield record["id"], one["user_id"], one["value"]


def argilla_flat(question):
    for row in read_csv("argilla_flat.csv"):
        if row[f"{question}.responses"]:
            names = ("", ".users", ".status")
            lists = [ast.literal_eval(row[f"{question}.responses{name}"]) for name in names]
            for label, user, status in zip(*lists, strict=True):
                if status == "submitted":
                    yield row["id"], user, label


def prodigy(name):
    for line in export(name).read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        yield one["_task_hash"], one.get("_annotator_id", Path(name).stem), one["answer"]


CASES = {
    "label_studio.json": ({}, lambda: studio("label_studio.json", "sentiment")),
    "label_studio_min.json": ({}, lambda: flat(read_json("label_studio_min.json"), "sentiment")),
    "label_studio.csv": ({}, lambda: flat(read_csv("label_studio.csv"), "sentiment")),
    "label_studio.tsv": ({}, lambda: flat(read_csv("label_studio.tsv"), "sentiment")),
    "label_studio_min_own_id.json": ({}, lambda: flat(read_json("label_studio_min_own_id.json"), "sentiment")),
    "label_studio_pairwise.json": ({}, lambda: studio("label_studio_pairwise.json", "pw")),
    "prodigy_sessions.jsonl": ({}, lambda: prodigy("prodigy_sessions.jsonl")),
    "prodigy_no_session.jsonl": ({}, lambda: prodigy("prodigy_no_session.jsonl")),
} | {
    f"{name}, {question}": ({"question": question}, lambda make=make, question=question: make(question))
    for name, make, questions in (
        (
            "label_studio_mixed.json",
            lambda question: studio("label_studio_mixed.json", question),
            ("intent", "stars", "tax", "num"),
        ),
        ("argilla_records.json", argilla_nested, ("sentiment", "stars")),
        ("argilla_flat.csv", argilla_flat, ("sentiment", "stars")),
    )
    for question in questions
}
"""Exports, what must be said of them, and another way to read them."""

COUNTED = {
    "label_studio.json": (225, 56, 5, 224),
    "label_studio.csv": (225, 56, 5, 224),
    "label_studio_min_own_id.json": (36, 12, 3, 36),
    "label_studio_pairwise.json": (60, 20, 3, 60),
    "label_studio_mixed.json, intent": (150, 30, 5, 149),
    "argilla_records.json, stars": (163, 40, 5, 163),
    "argilla_flat.csv, stars": (142, 40, 5, 142),
    "prodigy_sessions.jsonl": (6, 6, 1, 6),
    "prodigy_no_session.jsonl": (40, 40, 1, 40),
}
"""Rows, tasks, workers and responses that the other way finds in some of them, so that it is not empty itself."""


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_is_what_another_way_of_reading_finds(case):
    options, make = CASES[case]
    rows = list(make())
    given = [(str(task), str(worker), str(label)) for task, worker, label in rows if label is not None]
    tasks, workers = {str(task) for task, *_ in rows}, {worker for _, worker, _ in given}
    solution = aggregate(export(case.partition(",")[0]), **options)
    total = solution.totals
    assert (total.n_tasks, total.n_workers, total.n_responses) == (len(tasks), len(workers), len(given))
    assert COUNTED.get(case, (len(rows), len(tasks), len(workers), len(given))) == (
        len(rows), len(tasks), len(workers), len(given),
    )  # fmt: skip
    read = solution.source.responses.table.collect().to_arrow().to_pylist()
    found = defaultdict(Counter)
    for row in read:
        if row["label"] is not None:
            found[str(row["task"])][str(row["worker"]), str(row["label"])] += 1
    expected = defaultdict(Counter)
    for task, worker, label in given:
        expected[task][worker, label] += 1
    assert found == expected


@pytest.mark.parametrize("case", ["label_studio.csv", "argilla_flat.csv, stars", "prodigy_no_session.jsonl"])
def test_solutions_of_real_exports_are_verified(case, tmp_path):
    options, _ = CASES[case]
    path = export(case.partition(",")[0])
    solution = aggregate(path, **options)
    solution.save(tmp_path / "solution.json")
    assert verify(tmp_path / "solution.json", path).verdict.value == "REPRODUCED"


def test_what_is_left_out_of_real_exports_is_said():
    def notes(name, **options):
        return list(aggregate(export(name), **options).source.about_export)

    assert notes("label_studio.json")[:2] == ["cancelled annotations left out: 4", "drafts left out: 1"]
    assert notes("label_studio_mixed.json", question="intent") == []
    assert notes("argilla_flat.csv", question="stars") == ["discarded responses left out: 5", "drafts left out: 16"]
    assert notes("argilla_records.json", question="stars")[0].startswith("it does not say which responses are drafts")
    assert notes("prodigy_no_session.jsonl") == ["no session: one file, so one worker, by its name: prodigy_no_session"]


def test_results_of_regions_are_no_labels_of_the_task():
    path = export("label_studio_mixed.json")
    with pytest.raises(InputError, match="the results of 'span_kind' are choices of regions"):
        aggregate(path, question="span_kind")
    with pytest.raises(InputError, match=r"5 questions: name one with question .intent, num, stars, tax, topics."):
        aggregate(path)
    with pytest.raises(InputError, match="several choices of 'topics'"):
        aggregate(path, question="topics")


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith(("label_studio_", "label_studio.json"))])
def test_predictions_are_written_in_the_form_of_their_control(case, tmp_path):
    name, (options, _) = case.partition(",")[0], CASES[case]
    solution = aggregate(export(name), **options)
    if "min" in name:
        with pytest.raises(InputError, match="export JSON instead"):
            solution.write(tmp_path / "p.json", output_format="label-studio-predictions")
        return
    rows = {row["task"]: row for row in solution.answers.to_pylist() if row["label"] is not None}
    tasks = {task["id"]: task for task in read_json(name)}
    controls = {json.dumps(_control(result)) for task in tasks.values() for one in task["annotations"]
                for result in one["result"]}  # fmt: skip
    for form in ("label-studio", "label-studio-predictions"):
        solution.write(tmp_path / f"{form}.json", output_format=form)
    same = json.loads((tmp_path / "label-studio-predictions.json").read_text(encoding="utf-8"))
    new = json.loads((tmp_path / "label-studio.json").read_text(encoding="utf-8"))
    assert [one["task"] for one in same] == [one["id"] for one in new] == sorted(rows)
    for prediction, task in zip(same, new, strict=True):
        assert task["data"] == tasks[task["id"]]["data"]
        assert [{"task": task["id"]} | one for one in task["predictions"]] == [prediction]
        assert prediction["score"] == rows[task["id"]]["confidence"]
        (result,) = prediction["result"]
        assert label_of(result["value"]) == rows[task["id"]]["label"]
        assert json.dumps(_control(result)) in controls


def _control(result):
    name = result["to_name"]  # of a pairwise control, one of two
    return [result["from_name"], name[0] if isinstance(name, list) else name, result["type"], *result["value"]]


def test_records_with_suggestions_bring_along_what_argilla_would_empty(tmp_path):
    solution = aggregate(export("argilla_records.json"), question="stars")
    solution.write(tmp_path / "suggestions.json", output_format="argilla")
    written = json.loads((tmp_path / "suggestions.json").read_text(encoding="utf-8"))
    records = {one["id"]: one for one in read_json("argilla_records.json")}
    rows = {row["task"]: row for row in solution.answers.to_pylist()}
    assert [one["id"] for one in written] == sorted(rows)
    assert len(written) == 40
    for one in written:
        assert {name: one[name] for name in ("fields", "metadata", "vectors")} == {
            name: records[one["id"]][name] for name in ("fields", "metadata", "vectors")
        }
        row, (said,) = rows[one["id"]], one["suggestions"].values()
        assert (said["value"], said["score"]) == (row["label"], row["confidence"])
        assert set(one) == {"id", "fields", "metadata", "vectors", "suggestions"}
    with pytest.raises(InputError, match="has no types"):
        aggregate(export("argilla_flat.csv"), question="stars").write(tmp_path / "a.json", output_format="argilla")


def test_examples_of_prodigy_have_the_answer_and_nobody_elses_name(tmp_path):
    solution = aggregate(export("prodigy_sessions.jsonl"))
    solution.write(tmp_path / "examples.jsonl", output_format="prodigy")
    lines = export("prodigy_sessions.jsonl").read_text(encoding="utf-8").splitlines()
    before = {one["_task_hash"]: one for one in map(json.loads, lines)}
    written = [json.loads(line) for line in (tmp_path / "examples.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(written) == 6
    for one in written:
        old = before[one["_task_hash"]]
        ours = {"_annotator_id", "_session_id", "_timestamp", "score", "answer"}
        assert {name: one[name] for name in old if name not in ours} == {
            name: old[name] for name in old if name not in ours
        }
        assert one["answer"] == old["answer"]  # there is one annotator
        assert one["_session_id"] == one["_annotator_id"] != old["_annotator_id"]
