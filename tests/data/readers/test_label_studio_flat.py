"""Label Studio's JSON-MIN, CSV and TSV: which of the keys is the answer, whatever else the data are called."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest

import crowdopt
from crowdopt.data.readers.tools.label_studio_flat import answers_among
from crowdopt.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

ABOUT = {"created_at": "2026-01-01", "updated_at": "2026-01-02", "lead_time": 4.5}

VOTES = {task: ["yes", "yes", "no"] if task % 3 else ["no", "no", "no"] for task in range(1, 13)}
"""What three annotators said of each task: on some they differ."""


def records(data, answers=lambda vote: {"mood": vote}):
    """The records of JSON-MIN: the data, the id, the answers and what is known of the annotation, each key once."""
    found = []
    for task, votes in VOTES.items():
        for annotator, vote in enumerate(votes):
            about = {"annotator": annotator, "annotation_id": 10 * task + annotator} | ABOUT
            found.append(data(task) | {"id": task} | answers(vote) | about)
    return found


def write(path, found, name):
    """The records as a file of their kind; a CSV of today has its columns sorted, and its data win over the answers."""
    path = path / name
    if name.endswith(".json"):
        path.write_text(json.dumps(found), encoding="utf-8")
        return path
    names = list(found[0]) if "old" in name else sorted(found[0])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if name.endswith("tsv") else ",", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(names)
        for one in found:
            writer.writerow(
                [cell if isinstance(cell := one[key], str | int | float) else json.dumps(cell) for key in names]
            )
    return path


def votes_of(solution):
    rows = solution.source.responses.table.collect().to_arrow().to_pylist()
    votes = {}
    for row in rows:
        votes.setdefault(int(row["task"]), []).append(str(row["label"]))
    return {task: Counter(labels) for task, labels in votes.items()}


DATA = {
    "plain": lambda task: {"text": f"t{task}"},
    "an id of their own": lambda task: {"id": task, "text": f"t{task}", "source": "web"},
    "keys of an annotation": lambda task: {"text": f"t{task}", "id": task, "updated_at": "2020", "annotator": "Doe"},
    "nested": lambda task: {"id": task, "list": [task, {"a": 1}], "dict": {"b": [2]}},
}


@pytest.mark.parametrize("name", ["export.json", "export.csv", "export.tsv", "old.csv"])
@pytest.mark.parametrize("data", DATA)
def test_the_answers_are_found_whatever_the_data_are_called(data, name, tmp_path):
    solution = crowdopt.aggregate(write(tmp_path, records(DATA[data]), name))
    assert solution.reading.tool == "label-studio"
    assert votes_of(solution) == {task: Counter(votes) for task, votes in VOTES.items()}
    assert solution.totals.n_workers == 3


def test_an_answer_that_is_called_as_a_field_of_the_data_is_an_answer(tmp_path):
    found = records(lambda task: {"mood": None, "text": f"t{task}"}, lambda vote: {"mood": vote})
    assert votes_of(crowdopt.aggregate(write(tmp_path, found, "export.json")))[1] == {"yes": 2, "no": 1}


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("export.json", r"3 questions: name one with question \(always, mood, tone\)"),
        ("export.csv", r"2 questions: name one with question \(mood, tone\)"),
    ],
)
def test_several_questions_must_be_named_and_data_are_none(name, match, tmp_path):
    found = records(DATA["plain"], lambda vote: {"mood": vote, "tone": vote.upper(), "always": "same"})
    path = write(tmp_path, found, name)
    with pytest.raises(InputError, match=match):
        crowdopt.aggregate(path)
    assert votes_of(crowdopt.aggregate(path, question="tone"))[1] == {"YES": 2, "NO": 1}
    assert votes_of(crowdopt.aggregate(path, question="always"))[1] == {"same": 3}
    with pytest.raises(InputError, match="did you mean 'mood'"):
        crowdopt.aggregate(path, question="moods")


@pytest.mark.parametrize("name", ["export.json", "old.csv"])
def test_an_answer_in_its_place_is_asked_for_whether_it_differs_or_not(name, tmp_path):
    path = write(tmp_path, records(DATA["plain"], lambda vote: {"mood": "same", "comment": vote}), name)
    with pytest.raises(InputError, match=r"2 questions: name one with question \(comment, mood\)"):
        crowdopt.aggregate(path)
    among = write(tmp_path, records(lambda task: {"text": f"t{task}", "id": task, "task": task % 2}), "among.json")
    with pytest.raises(InputError, match=r"2 questions: name one with question \(mood, task\)"):
        crowdopt.aggregate(among)
    assert votes_of(crowdopt.aggregate(among, question="mood"))[1] == {"yes": 2, "no": 1}


def test_how_the_question_was_found_is_said(tmp_path):
    said = "the answers are those to 'mood', the only ones that differ within a task"
    assert crowdopt.aggregate(write(tmp_path, records(DATA["plain"]), "export.csv")).source.about_export == (said,)
    assert crowdopt.aggregate(write(tmp_path, records(DATA["plain"]), "export.json")).source.about_export == ()


KINDS = {
    "rating": (lambda vote: [{"rating": {"yes": 5, "no": 1}[vote]}], {"yes": "5", "no": "1"}),
    "number": (lambda vote: [{"number": {"yes": 2.5, "no": 0}[vote]}], {"yes": "2.5", "no": "0"}),
    "taxonomy": (lambda vote: [{"taxonomy": [["a", vote]]}], {"yes": "a > yes", "no": "a > no"}),
    "pairwise": (lambda vote: [{"selected": vote}], {"yes": "yes", "no": "no"}),
    "a choice that looks like JSON": (lambda vote: {"yes": "[1]", "no": "{"}[vote], {"yes": "[1]", "no": "{"}),
}


@pytest.mark.parametrize("name", ["export.json", "export.csv"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_control_gives_its_label(kind, name, tmp_path):
    make, shown = KINDS[kind]
    solution = crowdopt.aggregate(write(tmp_path, records(DATA["plain"], lambda vote: {"mood": make(vote)}), name))
    given = {label: float(label) if kind == "number" else label for label in shown.values()}
    assert {
        task: Counter({float(label) if kind == "number" else label: n for label, n in votes.items()})
        for task, votes in votes_of(solution).items()
    } == {task: Counter(given[shown[vote]] for vote in votes) for task, votes in VOTES.items()}


def test_tasks_that_nobody_annotated_are_left_out_and_said(tmp_path):
    found = records(DATA["plain"])
    found.append({"text": "t99", "id": 99, "annotator": None, "annotation_id": None} | dict.fromkeys(ABOUT))
    solution = crowdopt.aggregate(write(tmp_path, found, "export.json"))
    assert solution.totals.n_responses == 36
    assert solution.source.about_export == ("tasks without annotations left out: 1",)


def test_the_order_of_keys_tells_answers():
    about = ["annotator", "annotation_id", "created_at", "updated_at", "lead_time"]
    assert answers_among(["text", "id", "mood", "stars", *about]) == ["mood", "stars"]
    assert answers_among(["text", "id", "mood", *about, "agreement"]) == ["mood"]
    assert answers_among(["lead_time", "id", "mood", *about[:-1]]) == ["mood"]
    assert answers_among(["id", "annotator", "text", "mood", *about[1:]]) == ["text", "mood"]
    assert answers_among(["id", *about]) == []
