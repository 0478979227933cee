"""SageMaker Ground Truth: objects of several jobs, radio buttons, and what Ground Truth makes of the answers."""

from __future__ import annotations

import json

import pytest

import crowdopt
from crowdopt.errors import InputError
from support.juries import as_json, notes, responses

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

REQUESTS = "annotations/consolidated-annotation/consolidation-request"


def request(label, number="0", worker="w", content="a text"):
    answer = {"workerId": worker, "annotationData": {"content": json.dumps({"mood": {"label": label}})}}
    return {"datasetObjectId": number, "dataObject": {"content": content}, "annotations": [answer]}


def form(*answers):
    """What workers did with a form; each has a name of their own."""
    return {"answers": [{"workerId": f"w{n}", "answerContent": content} for n, content in enumerate(answers)]}


def test_objects_of_the_requests_of_two_jobs_are_not_one(tmp_path):
    for job, label in (("a", "glad"), ("b", "sad")):
        for iteration, numbers, worker in (("iteration-1", "01", "w"), ("iteration-2", "0", "v")):
            records = [request(label, number, worker, f"{job}{number}") for number in numbers]
            as_json(tmp_path / job / REQUESTS / iteration / "2024.json", records)
    both = crowdopt.aggregate(sorted(tmp_path.glob("*/**/*.json")))
    assert responses(both) == sorted(
        (f"{job}/{number}", worker, label)
        for job, label in (("a", "glad"), ("b", "sad"))
        for number, worker in (("0", "w"), ("1", "w"), ("0", "v"))
    )
    one = crowdopt.aggregate(sorted(tmp_path.glob("a/**/*.json")))
    assert one.answers["task"].to_pylist() == ["0", "1"]


def test_a_job_has_one_name_for_both_kinds_of_files(tmp_path):
    for job in ("a", "b"):
        as_json(tmp_path / job / REQUESTS / "iteration-1" / "2024.json", [request("glad")])
        as_json(
            tmp_path / job / "annotations/worker-response/iteration-1/0/2024.json", form({"mood": {"label": "sad"}})
        )
    for kind in ("consolidation-request", "worker-response"):
        solution = crowdopt.aggregate(sorted(tmp_path.glob(f"**/{kind}/**/*.json")))
        assert solution.answers["task"].to_pylist() == ["a/0", "b/0"]


def test_requests_of_two_jobs_in_one_folder_are_refused(tmp_path):
    files = [as_json(tmp_path / f"{name}.json", [request("glad", content=name)]) for name in ("one", "two")]
    with pytest.raises(InputError, match=r'\.json: object "0": another file has another object .* folder of their own'):
        crowdopt.aggregate(files)
    as_json(files[1], [request("sad", worker="v", content="one")])
    assert responses(crowdopt.aggregate(files)) == [("0", "v", "sad"), ("0", "w", "glad")]


def test_a_request_without_an_id_is_an_error_in_several_jobs_too(tmp_path):
    files = [as_json(tmp_path / job / "a.json", [request("glad", number)]) for job, number in (("a", "0"), ("b", None))]
    with pytest.raises(InputError, match=r"b/a\.json: no datasetObjectId in"):
        crowdopt.aggregate(files)


def test_consolidation_responses_say_what_they_are(tmp_path):
    made = {"datasetObjectId": "0", "consolidatedAnnotation": {"content": {"mood": {"label": "glad"}}}}
    path = as_json(tmp_path / "response.json", [made])
    asked = as_json(tmp_path / "request.json", [request("glad")])
    for files in ([path], [asked, path]):
        with pytest.raises(
            InputError, match=r"response\.json is a consolidation response: .*worker-response/"
        ) as error:
            crowdopt.aggregate(files)
        assert "\n" not in str(error.value)


def test_radio_buttons_with_names_of_their_own_are_one_question(tmp_path):
    path = as_json(
        tmp_path / "a.json",
        form(
            {"btn1": {"yes": True}, "btn2": {"no": False}},
            {"btn1": {"yes": False}, "btn2": {"no": True}},
            {"btn2": {"no": True}, "btn1": {"yes": False}},
        ),
    )
    solution = crowdopt.aggregate(path)
    assert responses(solution) == [("a", "w0", "yes"), ("a", "w1", "no"), ("a", "w2", "no")]
    assert notes(solution) == ["label: the one of the buttons btn1, btn2 that is chosen"]
    assert crowdopt.verify(solution, path).verdict.value == "REPRODUCED"
    assert responses(crowdopt.aggregate(path, question="btn2")) == [
        ("a", "w0", None),
        ("a", "w1", "no"),
        ("a", "w2", "no"),
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {"btn1": {"yes": True}, "btn2": {"no": True}},
        {"btn1": {"yes": False}, "btn2": {"no": False}},
        {"btn1": {"yes": True}, "btn2": {"no": False, "maybe": False}},
        {"btn1": {"yes": True}, "btn2": {"yes": False}},
        {"btn1": {"yes": True}, "btn2": {"no": False}, "why": "so"},
    ],
)
def test_other_forms_are_no_radio_buttons(odd, tmp_path):
    path = as_json(tmp_path / "a.json", form({"btn1": {"yes": True}, "btn2": {"no": False}}, odd))
    with pytest.raises(InputError, match=r"[23] questions: name one with question \(btn1, btn2"):
        crowdopt.aggregate(path)


@pytest.mark.parametrize("nothing", [[], [{"answers": []}], {"answers": []}])
def test_files_without_answers_are_counted(nothing, tmp_path):
    files = [as_json(tmp_path / str(n) / "a.json", form({"mood": {"label": "glad"}})) for n in range(3)]
    files += [as_json(tmp_path / str(n) / "a.json", nothing) for n in (3, 4)]
    solution = crowdopt.aggregate(files)
    assert responses(solution) == [(str(n), "w0", "glad") for n in range(3)]
    assert notes(solution) == ["files without answers left out: 2"]
    assert notes(crowdopt.aggregate(files[:3])) == []


def test_the_file_that_is_no_export_is_named(tmp_path):
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        answers = [{"workerId": w, "answerContent": {"crowd-classifier": {"label": "P"}}} for w in "ab"]
        (folder / "one.json").write_text(json.dumps({"answers": answers} if number != 2 else {"x": 1}))
    with pytest.raises(InputError, match=r"^\S*2/one\.json is no .*Ground Truth.* as \S*0/one\.json is: leave it out$"):
        crowdopt.aggregate(str(tmp_path / "*" / "one.json"))


def test_files_of_requests_without_annotations_are_counted(tmp_path):
    files = [as_json(tmp_path / "a.json", [request("glad")]), as_json(tmp_path / "b.json", [])]
    assert notes(crowdopt.aggregate(files)) == ["files without answers left out: 1"]
