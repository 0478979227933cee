"""Why an export has no answers, and which of several files is wrong: said truly."""

from __future__ import annotations

import json

import pytest

import crowdopt
from crowdopt.errors import InputError
from support.exports import as_json, as_table, opened

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


def chosen(*choices, kind="choices"):
    return [{"from_name": "mood", "to_name": "text", "type": kind, "value": {"choices": list(choices)}}]


def annotated(number, *results, **more):
    """A task of Label Studio."""
    annotations = [
        {"id": number * 10 + n, "completed_by": n, "result": one, "was_cancelled": False} | more
        for n, one in enumerate(results)
    ]
    return {"id": number, "data": {"text": "x"}, "annotations": annotations, "drafts": []}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (annotated(1), "nobody has annotated a task of it yet"),
        (annotated(1) | {"annotations": [12, 13]}, "its annotations are but numbers, and not what was answered"),
        (annotated(1, chosen("P"), [], was_cancelled=True), r"all annotations were skipped \(cancelled\)$"),
        (annotated(1) | {"drafts": [{"id": 3, "result": chosen("P")}]}, "all annotations are drafts"),
        (annotated(1, [], []), "its annotations have no results"),
    ],
    ids=["none", "ids", "skipped", "drafts", "empty"],
)
def test_label_studio_without_answers(task, said, tmp_path):
    with pytest.raises(InputError, match=rf"s\.json has no answers: {said}"):
        opened(as_json(tmp_path / "s.json", [task]))


def test_label_studio_with_other_results(tmp_path):
    path = as_json(tmp_path / "s.json", [annotated(1, chosen(kind="textarea"))])
    with pytest.raises(InputError, match=r"has no results that are read \(choices, .*\): all are textarea"):
        opened(path)


def test_responses_of_argilla_1_are_told(tmp_path):
    record = {"id": "1", "fields": {"text": "x"}, "metadata": {}, "status": "completed"}
    given = [{"values": {"mood": {"value": "P"}}, "status": "submitted", "user_id": "u"}]
    with pytest.raises(InputError, match=r"a\.json has lists of responses, as Argilla 1 writes them: move the dataset"):
        opened(as_json(tmp_path / "a.json", [record | {"responses": given}]))
    with pytest.raises(InputError, match="nobody has responded to a record of it yet"):
        opened(as_json(tmp_path / "a.json", [record | {"responses": {}}]))


@pytest.mark.parametrize("tool", ["label-studio", "argilla", "label-studio flat"])
def test_the_file_that_is_wrong_is_named(tool, tmp_path):
    if tool == "label-studio":
        good, bad = annotated(1, chosen("P")), annotated(2, chosen("P", "N"))
    elif tool == "argilla":
        good, bad = (
            {"id": "1", "q.responses": [one], "q.responses.users": ["u"], "q.responses.status": ["submitted"]}
            for one in ("P", ["P", "N"])
        )
    else:
        good, bad = (
            {"text": "x", "id": 1, "mood": one, "annotator": 1, "annotation_id": 1, "created_at": "", "updated_at": "",
             "lead_time": 1}
            for one in ("P", {"choices": ["P", "N"]})
        )  # fmt: skip
    paths = [as_json(tmp_path / name, [one]) for name, one in (("1.json", good), ("2.json", bad))]
    with pytest.raises(InputError, match=r"2\.json: (task|record|annotation) "):
        opened(*paths)


def test_columns_that_are_not_there_count_as_empty_only_if_nobody_needs_them(tmp_path):
    header = ["HITId", "WorkerId", "AssignmentStatus", "Answer.q"]
    path = as_table(tmp_path / "m.csv", header, [["1", "w", "Approved", "a"]])
    assert opened(path, path)[0] == [("1", "w", "a")] * 2


def test_examples_go_back_to_prodigy_as_what_they_are(tmp_path):
    examples = [
        {"text": "t", "_input_hash": n, "_task_hash": n, "_view_id": view, "_annotator_id": worker} | answer
        for worker in ("v", "w")
        for n, view, answer in (
            (1, "choice", {"accept": ["A"], "options": [{"id": "A"}], "answer": "accept"}),
            (2, "classification", {"answer": "reject"}),
        )
    ]
    solution = crowdopt.aggregate(as_json(tmp_path / "p.jsonl", examples))
    solution.write(tmp_path / "out.jsonl", output_format="prodigy")
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["accept"], first["answer"]) == (["A"], "accept")
    assert ("accept" in second, second["answer"]) == (False, "reject")
