"""What is written for annotation tools: each answer at its task, in the form in which the tool had it."""

from __future__ import annotations

import json
from typing import get_args, get_type_hints

import pytest

import crowdopt
from crowdopt.cli.app import AggregateCommand
from crowdopt.results.write.for_tools import MODEL, TOOL_FORMATS
from support.needs import SAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


def write_tasks(path, tasks):
    """An export of Label Studio: the results of each annotation of each task."""
    annotations = [
        [{"id": 10 * n + k, "completed_by": k, "result": result} for k, result in enumerate(one)]
        for n, one in enumerate(tasks)
    ]
    listed = [{"id": n, "data": {"text": f"t{n}"}, "annotations": one} for n, one in enumerate(annotations)]
    path.write_text(json.dumps(listed), encoding="utf-8")
    return path


def result(value, kind, **more):
    return {"from_name": "q", "to_name": "text", "type": kind, "value": value} | more


def written(solution, path, output_format):
    solution.write(path, output_format=output_format)
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def test_the_formats_are_the_same_everywhere():
    hint = get_type_hints(AggregateCommand, include_extras=True)["output_format"]
    assert get_args(get_args(hint)[0]) == ("table", *TOOL_FORMATS)


def test_a_path_is_written_back_as_it_was_even_if_its_steps_have_the_sign_between_steps(tmp_path):
    paths = [["a > b", "c"], ["d"], ["a > b", "c"]]
    tasks = [[[result({"taxonomy": [path]}, "taxonomy")]] * 3 for path in paths]
    solution = crowdopt.aggregate(write_tasks(tmp_path / "export.json", tasks))
    assert [row["label"] for row in solution.answers.to_pylist()] == ["a > b > c", "d", "a > b > c"]
    said = written(solution, tmp_path / "p.json", "label-studio-predictions")
    assert [one["result"][0]["value"] for one in said] == [{"taxonomy": [path]} for path in paths]


def test_results_of_regions_are_counted_and_left_out(tmp_path):
    whole = [result({"choices": ["yes"]}, "choices", id="w"), result({"choices": ["no"]}, "choices", id="x")]
    spans = [
        {"from_name": "ner", "to_name": "text", "type": "labels", "value": {"start": 0, "end": 2}, "id": "r"},
        result({"choices": ["maybe"]}, "choices", id="r"),  # has the id of a region
        result({"choices": ["maybe"]}, "choices", id="s", parentID="r"),
        result({"choices": ["maybe"], "x": 1, "y": 2, "width": 3}, "choices", id="b"),
    ]
    tasks = [[[whole[n % 2], *spans]] * 2 for n in range(4)]
    solution = crowdopt.aggregate(write_tasks(tmp_path / "export.json", tasks))
    assert solution.scale.labels == ("no", "yes")
    assert (solution.totals.n_responses, solution.source.about_export) == (8, ("results of regions left out: 24",))
    said = written(solution, tmp_path / "p.json", "label-studio")
    assert [one["predictions"][0]["result"][0]["value"]["choices"] for one in said] == [["yes"], ["no"]] * 2


@pytest.mark.parametrize("to_name", [["a", "b"], "a,b", "a"])
def test_pairwise_names_one_object_since_label_studio_takes_no_prediction_with_two(to_name, tmp_path):
    tasks = [[[result({"selected": side}, "pairwise") | {"to_name": to_name}]] * 3 for side in ("left", "right")]
    solution = crowdopt.aggregate(write_tasks(tmp_path / "export.json", tasks))
    said = written(solution, tmp_path / "p.json", "label-studio-predictions")
    assert [one["result"][0]["to_name"] for one in said] == ["a"] * 2
    assert [one["result"][0]["value"] for one in said] == [{"selected": "left"}, {"selected": "right"}]


def test_an_id_with_blanks_around_it_gets_its_answer(tmp_path):
    values = {" a": "x", "b": "y"}
    records = [
        {"id": name, "fields": {"text": name}, "metadata": {"n": 1},
         "responses": {"q": [{"value": value, "user_id": user} for user in "uv"]}}
        for name, value in values.items()
    ]  # fmt: skip
    (tmp_path / "export.json").write_text(json.dumps(records), encoding="utf-8")
    said = written(crowdopt.aggregate(tmp_path / "export.json"), tmp_path / "s.json", "argilla")
    assert {one["id"]: one["suggestions"]["q"]["value"] for one in said} == values


def test_flat_records_of_argilla_come_with_what_log_takes(tmp_path):
    solution = crowdopt.aggregate(SAMPLES / "argilla.json", question="stars")
    said = written(solution, tmp_path / "s.json", "argilla")
    records = {one["id"]: one for one in json.loads((SAMPLES / "argilla.json").read_text(encoding="utf-8"))}
    for one, row in zip(said, solution.answers.to_pylist(), strict=True):
        assert one == {
            "id": row["task"], "text": records[row["task"]]["text"], "stars": row["label"],
            "stars.suggestion.score": row["confidence"], "stars.suggestion.agent": MODEL,
        }  # fmt: skip


def test_examples_of_prodigy_have_the_option_that_was_found(tmp_path):
    solution = crowdopt.aggregate(SAMPLES / "prodigy.jsonl")
    said = written(solution, tmp_path / "examples.jsonl", "prodigy")
    rows = {row["task"]: row for row in solution.answers.to_pylist()}
    assert len(said) == len(rows) == 8
    for one in said:
        row = rows[one["_task_hash"]]
        assert (one["accept"], one["answer"], one["score"]) == ([row["label"]], "accept", row["confidence"])
        assert {"text", "options", "_input_hash"} <= set(one)
    again = crowdopt.aggregate(tmp_path / "examples.jsonl")  # which is what db-out would write of it
    assert {row["task"]: row["label"] for row in again.answers.to_pylist()} == {
        task: row["label"] for task, row in rows.items()
    }


def test_the_command_line_writes_them_all(monkeypatch, tmp_path, invoke):
    monkeypatch.chdir(tmp_path)
    for form, sample, more in (
        ("label-studio", "label_studio.json", ["--question", "stars"]),
        ("label-studio-predictions", "label_studio.json", ["--question", "stars"]),
        ("argilla", "argilla.json", ["--question", "stars"]),
        ("prodigy", "prodigy.jsonl", []),
    ):
        target = f"{form}{TOOL_FORMATS[form].suffix}"
        code, *_ = invoke("aggregate", SAMPLES / sample, *more, "-o", target, "--output-format", form)
        assert (code, len((tmp_path / target).read_text(encoding="utf-8").splitlines()) >= 8) == (0, True)
    code, _, err = invoke("aggregate", SAMPLES / "prodigy.jsonl", "-o", "a.json", "--output-format", "prodigy")
    assert (code, "must end in .jsonl" in err) == (2, True)
    assert not (tmp_path / "a.json").exists()
