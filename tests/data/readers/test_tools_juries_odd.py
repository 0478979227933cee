"""What exports of juries, and of tools with a file for each worker, may have in them beside plain answers."""

from __future__ import annotations

import csv
import json

import pytest

import crowdopt
from crowdopt.errors import InputError
from support.juries import as_json, as_lines, lines, notes, responses
from support.needs import SAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


# OpenAI


def request(task, *contents, model="gpt-4o", status=200, **more):
    choices = [{"index": n, "message": {"role": "assistant", "content": one}} for n, one in enumerate(contents)]
    body = {"model": model, "choices": choices} if model else {"choices": choices}
    return {"custom_id": task, "response": {"status_code": status, "body": body}, "error": None} | more


def test_short_answers_of_a_batch_are_labels(tmp_path):
    path = as_lines(
        tmp_path / "b.jsonl",
        [
            request("a", " Pass\n"),
            request("b", '"fail"'),
            request("c", "```\nfail\n```"),
            request("d", "because " * 20),
            request("e", None),
            request("f", "pass", status=429),
            request("g", error={"code": "batch_expired"}, response=None),
            request("h", "pass", "fail"),
            request("i", "pass", model=None),
        ],
    )
    solution = crowdopt.aggregate(path)
    found = [(task, worker, label.lower()) for task, worker, label in responses(solution)]
    assert sorted(found) == [
        ("a", "gpt-4o", "pass"),
        ("b", "gpt-4o", "fail"),
        ("c", "gpt-4o", "fail"),
        ("h", "gpt-4o", "fail"),
        ("h", "gpt-4o", "pass"),
        ("i", "b", "pass"),
    ]
    assert notes(solution) == [
        "answers of more than 100 characters, which are no labels, left out: 1",
        "empty answers left out: 1",
        "failed requests left out: 2",
    ]


def test_a_batch_of_json_has_questions(tmp_path):
    answers = [
        '{"score": 4, "reason": "' + "so " * 60 + '"}',
        '{"score": 2, "reason": "no"}',
        "4",
        '{"reason": "?"}',
        "{",
    ]
    path = as_lines(tmp_path / "b.jsonl", [request(str(n), one) for n, one in enumerate(answers)])
    solution = crowdopt.aggregate(path)
    assert responses(solution) == [("0", "gpt-4o", 4), ("1", "gpt-4o", 2)]
    assert notes(solution) == ["answers without 'score' left out: 3", "label: 'score' of the JSON that was answered"]
    as_lines(path, [request(str(n), json.dumps({"a": "x", "b": "y"})) for n in range(2)])
    with pytest.raises(InputError, match=r"2 questions.*\(a, b\)"):
        crowdopt.aggregate(path)
    assert responses(crowdopt.aggregate(path, question="b")) == [("0", "gpt-4o", "y"), ("1", "gpt-4o", "y")]


def test_one_object_among_texts_is_no_question(tmp_path):
    answers = ["yes", "no"] * 8 + ["yes", '{"verdict": "yes"}']
    path = as_lines(tmp_path / "b.jsonl", [request(str(n), one) for n, one in enumerate(answers)])
    said = r"1 answers are JSON, 17 are texts: name the key with question \(verdict\)"
    with pytest.raises(InputError, match=said):
        crowdopt.aggregate(path)
    assert responses(crowdopt.aggregate(path, question="verdict")) == [("17", "gpt-4o", "yes")]
    as_lines(path, [request("a", '{"verdict": "yes"}'), request("b", "no"), request("c", "no", status=429)])
    assert crowdopt.aggregate(path).reading.question == "verdict"


def test_texts_that_are_numbers_are_numbers_beside_numbers(tmp_path):
    path = tmp_path / "b.jsonl"
    for first, labels in (("4", [4, 4, 2]), ("4.5", [4.5, 4.0, 2.0])):
        scores = [first, 4, "2"]
        as_lines(path, [request(str(n), json.dumps({"score": one})) for n, one in enumerate(scores)])
        assert [label for _, _, label in responses(crowdopt.aggregate(path))] == labels


def test_scorers_of_other_kinds_are_read_apart(tmp_path):
    scores = [("h", "A"), ("h", "B"), ("g", 4), ("g", 2)]
    lines = [request(str(n), json.dumps({"score": score}), model=model) for n, (model, score) in enumerate(scores)]
    path = as_lines(tmp_path / "b.jsonl", lines)
    with pytest.raises(InputError, match=r"a number in some and text in some responses; .* or take some with where"):
        crowdopt.aggregate(path)
    for model, labels in (("h", {"A", "B"}), ("g", {"4", "2"})):
        found = crowdopt.aggregate(path, where=f"worker = {model}")
        assert {str(label) for _, _, label in responses(found) if label} == labels


def test_failed_requests_of_the_sample_are_counted():
    solution = crowdopt.aggregate(sorted(SAMPLES.glob("openai_batch/*.jsonl")))
    everything = [one for path in SAMPLES.glob("openai_batch/*.jsonl") for one in lines(path)]
    failed = [one for one in everything if (one["response"] or {}).get("status_code") != 200]
    assert (len(everything), len(failed)) == (25, 2)
    assert notes(solution)[0] == "failed requests left out: 2"


# inspect-ai


def log(tmp_path, change, name="log.json"):
    value = json.loads((SAMPLES / "inspect_log.json").read_text())
    change(value)
    return as_json(tmp_path / name, value)


def test_epochs_and_evaluations_are_tasks_of_their_own(tmp_path):
    def twice(value):
        value["samples"] += [one | {"epoch": 2} for one in value["samples"]]

    solution = crowdopt.aggregate(log(tmp_path, twice))
    assert (solution.totals.n_tasks, solution.totals.n_responses) == (16, 46)
    assert "t0, epoch 2" in solution.answers["task"].to_pylist()
    merged = crowdopt.aggregate(log(tmp_path, twice), tool="inspect-ai", task="id")
    assert (merged.totals.n_tasks, merged.totals.n_responses) == (8, 23)
    other = log(tmp_path, lambda value: value["eval"].update(eval_id="cD4"), "other.json")
    both = crowdopt.aggregate([SAMPLES / "inspect_log.json", other])
    assert (both.totals.n_tasks, both.totals.n_responses) == (16, 46)
    assert "t0, run cD4" in both.answers["task"].to_pylist()
    again = crowdopt.aggregate([SAMPLES / "inspect_log.json", SAMPLES / "inspect_log.json"])
    assert (again.totals.n_tasks, again.totals.n_responses) == (8, 23)


def test_epochs_of_a_table(tmp_path):
    with (SAMPLES / "inspect_samples.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    with (tmp_path / "s.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows, *([*row[:5], "2", *row[6:]] for row in rows)])
    solution = crowdopt.aggregate(tmp_path / "s.csv")
    assert (solution.totals.n_tasks, solution.totals.n_responses) == (16, 46)
    assert notes(solution) == ["empty cells of scores left out: 34"]


def test_scores_of_several_values_have_questions(tmp_path):
    def valued(value):
        for one in value["samples"]:
            for score in one["scores"].values():
                score["value"] = {"tone": score["value"], "length": 3}

    with pytest.raises(InputError, match=r"2 questions.*\(length, tone\)"):
        crowdopt.aggregate(log(tmp_path, valued))
    solution = crowdopt.aggregate(log(tmp_path, valued), question="tone")
    assert responses(solution) == responses(crowdopt.aggregate(SAMPLES / "inspect_log.json"))


def test_samples_and_scores_without_a_value_are_counted(tmp_path):
    def without(value):
        value["samples"][0]["scores"] = None
        value["samples"][1]["scores"]["gpt_4o"] = {"value": float("nan")}
        value["samples"][2]["scores"] = {}

    solution = crowdopt.aggregate(log(tmp_path, without))
    assert notes(solution) == ["samples without scores left out: 2"]
    assert (solution.totals.n_responses, solution.totals.n_dropped) == (23 - 3 - 3, 1)


# promptfoo


def test_prompts_are_tasks_of_their_own_and_what_is_not_graded_is_counted(tmp_path):
    records = lines("promptfoo.jsonl")
    records += [one | {"promptIdx": 1} for one in records]
    records[0]["gradingResult"] = None
    records[1]["gradingResult"]["componentResults"] += [{"pass": True, "score": 1, "assertion": None}]
    solution = crowdopt.aggregate(as_lines(tmp_path / "p.jsonl", records))
    assert (solution.totals.n_tasks, solution.totals.n_responses) == (15, 43)
    assert "0, prompt 1" in solution.answers["task"].to_pylist()
    assert notes(solution) == ["outputs that were not graded left out: 1", "sums of several assertions left out: 2"]


def test_without_a_metric_the_model_that_graded_is_the_worker(tmp_path):
    records = lines("promptfoo.jsonl")
    for one in records:
        for part in one["gradingResult"]["componentResults"]:
            del part["assertion"]["metric"]
    records[0]["gradingResult"]["componentResults"][0]["assertion"]["provider"] = "openai:gpt-4o"
    records[0]["gradingResult"]["componentResults"][1]["assertion"] = {"type": "contains", "value": "good"}
    solution = crowdopt.aggregate(as_lines(tmp_path / "p.jsonl", records))
    assert {worker for _, worker, _ in responses(solution)} == {
        "contains", *(f"openai:{judge}" for judge in ("gpt-4o", "claude-3.5", "llama-3.1", "mistral", "gemini-1.5"))
    }  # fmt: skip


def test_results_in_one_list_and_one_in_each_line_are_read_together(tmp_path):
    path = as_lines(tmp_path / "p.jsonl", [one | {"testIdx": one["testIdx"] + 100} for one in lines("promptfoo.jsonl")])
    both = crowdopt.aggregate([SAMPLES / "promptfoo.json", path])
    alone = crowdopt.aggregate(SAMPLES / "promptfoo.json"), crowdopt.aggregate(path)
    assert [(task.partition(",")[0], *more) for task, *more in responses(both)] == sorted(
        row for one in alone for row in responses(one)
    )
    assert notes(both) == []


# SageMaker Ground Truth


def answered(content, worker="w"):
    return {"answers": [{"workerId": worker, "answerContent": content}]}


def test_forms_of_ground_truth_hold_labels_in_several_ways(tmp_path):
    forms = [{"label": "cat"}, {"labels": ["cat"]}, {"cat": True, "dog": False}, "cat", {"labels": []}, {"cat": False}]
    for n, one in enumerate(forms):
        folder = tmp_path / str(n)
        folder.mkdir()
        as_json(folder / "2024.json", answered({"animal": one, "note": "fine"}))
    solution = crowdopt.aggregate(sorted(tmp_path.glob("*/*.json")), question="animal")
    assert responses(solution)[:4] == [(str(n), "w", "cat") for n in range(4)]
    assert (solution.totals.n_responses, solution.totals.n_dropped) == (4, 2)


def test_answers_in_other_folders_are_objects_by_their_files(tmp_path):
    for name in ("one", "two"):
        as_json(tmp_path / f"{name}.json", answered({"crowd-classifier": {"label": name}}))
    solution = crowdopt.aggregate(sorted(tmp_path.glob("*.json")))
    assert solution.answers["task"].to_pylist() == ["one", "two"]


def test_an_option_with_a_slash_is_ticked_or_not_like_others(tmp_path):
    path = as_json(tmp_path / "a.json", answered({"animal": {"n/a": {}, "n": True}}))
    with pytest.raises(InputError, match="are no labels of whole objects"):
        crowdopt.aggregate(path)
    as_json(path, answered({"animal": {"n/a": True, "n": False}}))
    assert responses(crowdopt.aggregate(path)) == [("a", "w", "n/a")]


def test_objects_of_two_jobs_are_not_one(tmp_path):
    for job, label in (("a/job", "cat"), ("b/job", "dog")):
        for iteration, number, worker in (
            ("iteration-1", "0", "w"),
            ("iteration-1", "1", "w"),
            ("iteration-2", "0", "v"),
        ):
            folder = tmp_path / job / "annotations" / "worker-response" / iteration / number
            folder.mkdir(parents=True)
            as_json(folder / "2024.json", answered({"animal": {"label": label}}, worker))
    both = crowdopt.aggregate(sorted(tmp_path.glob("*/job/**/*.json")))
    assert dict(zip(*(both.answers[name].to_pylist() for name in ("task", "label")), strict=True)) == {
        f"{job}/job/{number}": label for job, label in (("a", "cat"), ("b", "dog")) for number in "01"
    }
    assert both.totals.n_responses == 6
    one = crowdopt.aggregate(sorted(tmp_path.glob("a/job/**/*.json")))
    assert one.answers["task"].to_pylist() == ["0", "1"]


# doccano, Prodigy, Labelbox


BAD = {
    "doccano": ({"id": 1, "text": "a", "label": ["x"], "Comments": []}, {"label": ["x", "y"]}),
    "prodigy": ({"_task_hash": 1, "_input_hash": 2, "answer": "accept"}, {"answer": "maybe"}),
    "openai-batch": (request("a", '{"v": "x"}'), {"custom_id": None}),
    "ground-truth": (
        {"datasetObjectId": "0", "annotations": [{"workerId": "w", "annotationData": {"content": '{"a": "x"}'}}]},
        {"annotations": None},
    ),
}


@pytest.mark.parametrize("tool", BAD)
def test_errors_name_the_file_among_several(tool, tmp_path):
    record, wrong = BAD[tool]
    good, bad = (
        as_lines(tmp_path / f"{name}.jsonl", [one]) for name, one in (("good", record), ("bad", record | wrong))
    )
    with pytest.raises(InputError, match=r"bad\.jsonl: "):
        crowdopt.aggregate([good, bad], tool=tool)


def test_examples_without_a_label_are_counted():
    solution = crowdopt.aggregate(sorted(SAMPLES.glob("doccano/*.jsonl")))
    assert notes(solution) == ["examples without a label left out: 17", "workers have the names of their files: 5"]
    one = crowdopt.aggregate(SAMPLES / "doccano" / "ann.jsonl")
    assert notes(one)[-1] == "one file, so one worker, by its name: ann"
    assert one.totals.n_workers == 1


@pytest.mark.parametrize("keys", [{"Comments"}, set()])
@pytest.mark.parametrize("name", ["label", "labels", "cats"])
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_versions_of_doccano(keys, name, suffix, tmp_path):
    records = [{"id": n, "text": "a", name: ["x"]} | {key: [] for key in keys} for n in range(3)]
    path = (
        as_lines(tmp_path / f"ann{suffix}", records) if suffix == ".jsonl" else as_json(tmp_path / "ann.json", records)
    )
    solution = crowdopt.aggregate(path)
    assert (solution.reading.tool, solution.totals.n_responses) == ("doccano", 3)


def test_prodigy_without_sessions_has_the_names_of_files(tmp_path):
    records = lines("prodigy.jsonl")
    names = sorted({one["_annotator_id"] for one in records})
    for name in names:
        own = [one | {"_annotator_id": None} for one in records if one["_annotator_id"] == name]
        as_lines(tmp_path / f"{name}.jsonl", [{key: one[key] for key in one if key != "_session_id"} for one in own])
    solution = crowdopt.aggregate(sorted(tmp_path.glob("*.jsonl")))
    known = crowdopt.aggregate(SAMPLES / "prodigy.jsonl")
    assert responses(solution) == responses(known)
    assert notes(solution)[-1] == "no session: workers have the names of their files: 5"
    by_file = crowdopt.aggregate(SAMPLES / "prodigy.jsonl", worker_from_file=True)
    assert {worker for _, worker, _ in responses(by_file)} == {"prodigy"}


def test_labels_of_labelbox_that_are_none_are_counted(tmp_path):
    records = lines("labelbox.ndjson")
    labels = records[0]["projects"]["cp1"]["labels"]
    labels[0]["performance_details"]["skipped"] = True
    labels[1]["annotations"]["classifications"][0] = {
        "name": "sentiment", "checklist_answers": [{"name": "Negative", "value": "negative"}]
    }  # fmt: skip
    labels[2]["annotations"]["classifications"][0] = {"name": "sentiment", "text_answer": {"content": "Negative"}}
    records[1]["projects"]["cp1"]["labels"] = []
    solution = crowdopt.aggregate(as_lines(tmp_path / "l.ndjson", records))
    assert notes(solution) == ["data rows without a label left out: 1", "skipped labels left out: 1"]
    assert [label for task, _, label in responses(solution) if task == "cl000"] == ["Negative", "Negative"]
    assert solution.totals.n_responses == 23 - 3 - 1


# Several tools


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("label_studio.json", "mturk.csv"), ("an export of Label Studio", "an export of MTurk (batch results)")),
        (("mturk.csv", "mturk.csv", "toloka.tsv"), ("an export of MTurk", "an export of Toloka (assignments)")),
        (("promptfoo.json", "inspect_log.json"), ("an export of promptfoo", "an export of inspect-ai")),
        (("promptfoo.jsonl", "labelbox.ndjson"), ("an export of promptfoo", "an export of Labelbox")),
        (("label_studio.json", "label_studio.csv"), ("JSON", "a table")),
        (("label_studio.json", "verdicts/wide.csv"), ("an export of Label Studio", "a table")),
    ],
)
def test_files_of_several_tools_are_told_apart(names, said):
    with pytest.raises(InputError) as error:
        crowdopt.aggregate([SAMPLES / name for name in names])
    told = str(error.value)
    assert f"{names[0]} is {said[0]}" in told
    assert f"{names[-1]} is {said[1]}: read one at a time" in told


def test_files_of_one_tool_are_told_what_is_wrong_with_them():
    with pytest.raises(InputError, match="name one with question"):
        crowdopt.aggregate([SAMPLES / "label_studio.json", SAMPLES / "label_studio.json"])
