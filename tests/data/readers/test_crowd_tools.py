"""What only MTurk, Toloka, Appen and Zooniverse have: several items in a HIT, tainted judgments, workflows."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter

import pytest

from crowdopt import aggregate, verify
from crowdopt.errors import InputError
from support.needs import SAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


@pytest.fixture
def write(tmp_path):
    """Writes a table; returns its path."""

    def write(header, rows, name="export.csv"):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t" if name.endswith(".tsv") else ",").writerows([header, *rows])
        return tmp_path / name

    return write


def responses(source, **options):
    """All responses that count, as (task, worker, label)."""
    solution = aggregate(source, **options)  # it holds the database
    table = solution.source.responses.table.collect().to_arrow()
    found = [tuple(map(row.get, ("task", "worker", "label"))) for row in table.to_pylist()]
    return Counter(tuple(map(str, row)) for row in found if None not in row)


def notes(source, **options):
    """What is said of the rows of an export."""
    source = aggregate(source, **options).source
    return (*source.about_export, *source.notes)


# MTurk

HIT = ["HITId", "WorkerId", "AssignmentStatus"]


def turk(write, columns, rows, end=("Approve", "Reject")):
    """Rows of HIT, worker and what stands in the columns."""
    return write([*HIT, *columns, *end], [[hit, worker, "Submitted", *cells] for hit, worker, *cells in rows])


def test_every_item_of_a_hit_is_a_task():
    with (SAMPLES / "mturk_items.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["AssignmentStatus"] != "Rejected"]
    expected = Counter(
        (
            f"{row['HITId']}/{item}",
            row["WorkerId"],
            next(one for one in ("bad", "good") if row[f"{ticks}.{one}"] == "true"),
        )
        for row in rows
        for item in range(1, 5)
        if row[f"Input.text_{item}"] and (ticks := f"Answer.rating_{item}")
    )
    assert expected.total() == 30
    for question in ("rating", "rating_*"):
        assert responses(SAMPLES / "mturk_items.csv", question=question) == expected
    kept = aggregate(
        SAMPLES / "mturk_items.csv", question="rating", keep=["text", "source", "item"]
    ).answers.to_pylist()
    assert {(row["task"], row["text"], row["source"], str(row["item"])) for row in kept} == {
        (f"{row['HITId']}/{item}", row[f"Input.text_{item}"], row[f"Input.source_{item}"], str(item))
        for row in rows
        for item in range(1, 5)
        if row[f"Input.text_{item}"]
    }


def test_items_can_be_told_apart_by_what_was_put_in_and_rejected_ones_are_counted():
    path = SAMPLES / "mturk_items.csv"
    by_text = responses(path, question="rating", task="text", tool="mturk")
    assert len({task for task, _, _ in by_text}) == 11
    assert by_text.total() == 30
    assert "answers of rejected assignments left out: 3" in notes(path, question="rating")
    assert responses(path, question="rating", keep_rejected=True).total() == 33
    assert responses(path, question="rating_2").total() == 8  # one question, a task for each HIT


def test_numbered_answers_are_items_if_the_inputs_are_numbered_alike(write):
    rows = [("h", worker, *"xyz", *labels) for worker, labels in (("a", ["1", "2", ""]), ("b", ["1", "1", "2"]))]
    answers = [f"Answer.grade{n}" for n in range(3)]
    alike = turk(write, [*(f"Input.url_{n}" for n in range(3)), *answers], rows)
    assert responses(alike) == Counter(
        [("h/0", "a", "1"), ("h/1", "a", "2"), ("h/0", "b", "1"), ("h/1", "b", "1"), ("h/2", "b", "2")]
    )
    assert any("left out" in note for note in notes(alike))  # an item that was there and has no answer
    assert "3 items in a HIT, each a task: grade*" in notes(alike)
    assert "3 items in a HIT, each a task: grade*" in notes(alike, question="grade")
    fewer, shifted = ["Input.a", "Input.url_0", "Input.url_1"], ["Input.url_1", "Input.url_2", "Input.url_3"]
    for inputs in (["Input.a", "Input.b", "Input.c"], shifted, fewer):
        other = turk(write, [*inputs, *answers], rows)
        with pytest.raises(
            InputError, match=r"4 questions: .*\(questions: grade0, grade1, grade2, grade\*\); 'grade\*'"
        ):
            aggregate(other)
        assert responses(other, question="grade1") == Counter([("h", "a", "2"), ("h", "b", "1")])
    with pytest.raises(InputError, match=r"no question 'grad'; did you mean 'grade'\?"):
        aggregate(alike, question="grad")


def test_work_with_a_reason_for_its_rejection_is_rejected(write):
    path = turk(write, ["Answer.q"], [("h", "a", "x"), ("h", "b", "x", "x"), ("h", "c", "y", "", "too fast")])
    assert responses(path) == Counter([("h", "a", "x"), ("h", "b", "x")])
    assert notes(path)[0] == "rejected assignments left out: 1"
    assert responses(path, keep_rejected=True).total() == 3


# Toloka

TOLOKA = ["OUTPUT:q", "GOLDEN:q", "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ACCEPT:verdict"]


def test_toloka_tells_tasks_apart_by_a_short_name_where_documents_are_put_in(write):
    long = "Ω" * 201
    rows = [
        [text, label, "", worker, "APPROVED", "+"]
        for text, label in (("short", "yes"), (long, "no"))
        for worker in ("a", "b")
    ]
    blank = [""] * 6
    path = write(["INPUT:text", *TOLOKA], [*rows[:2], blank, *rows[2:], blank], "export.tsv")
    short = hashlib.md5(long.encode(), usedforsecurity=False).hexdigest()[:16]
    solution = aggregate(path, keep=["text"])
    assert {row["task"]: row["text"] for row in solution.answers.to_pylist()} == {"short": "short", short: long}
    assert not any("without" in note for note in solution.source.notes)


def test_toloka_tells_tasks_apart_by_all_inputs_together(write):
    rows = [[one, two, "yes", "", worker, "APPROVED", ""] for one, two in ("xy", "xz", "yz") for worker in "ab"]
    found = responses(write(["INPUT:a", "INPUT:b", *TOLOKA], rows, "export.tsv"))
    assert {task for task, _, _ in found} == {
        hashlib.md5(f'["{one}","{two}"]'.encode(), usedforsecurity=False).hexdigest()[:16]
        for one, two in ("xy", "xz", "yz")
    }


def test_toloka_leaves_out_what_the_requester_rejects(write):
    rows = [["t", "yes", "", "a", "SUBMITTED", "+"], ["t", "yes", "", "b", "SUBMITTED", "-"]]
    path = write(["INPUT:a", *TOLOKA], rows, "export.tsv")
    assert responses(path) == Counter([("t", "a", "yes")])
    assert notes(path)[0] == "rejected assignments left out: 1"


# Appen

REPORT = ["_unit_id", "_golden", "_tainted", "_worker_id", "q", "text", "q_gold"]


def test_each_line_of_an_answer_is_a_response(write):
    rows = [
        ["1", "false", "false", "7", "cat\ndog", "pets", ""],
        ["1", "false", "false", "8", "cat\r\n", "pets", ""],
        ["2", "false", "false", "7", "", "none", ""],
        ["2", "false", "false", "8", "owl", "none", ""],
        ["2", "false", "true", "9", "cat\nowl", "none", ""],
    ]
    path = write(REPORT, rows)
    assert responses(path) == Counter([("1", "7", "cat"), ("1", "7", "dog"), ("1", "8", "cat"), ("2", "8", "owl")])
    said = notes(path)
    assert said[:2] == (
        "tainted judgments left out: 1",
        "judgments with several answers: 1, each answer counts as a response",
    )
    assert any(note.startswith("1 of 5 rows") for note in said)
    assert responses(path, keep_rejected=True).total() == 6


def test_test_questions_measure_and_those_with_several_right_answers_do_not(write):
    gold = {"1": ("true", "cat"), "2": ("true", "cat\ndog"), "3": ("false", "dog"), "4": ("false", "")}
    rows = [
        [unit, golden, "false", worker, "cat" if worker != "9" else "dog", unit, known]
        for unit, (golden, known) in gold.items()
        for worker in "789"
    ]
    path = write(REPORT, rows)
    solution = aggregate(path)
    assert solution.export_accuracy.n_tasks == 1
    assert "test questions with several right answers, which measure nothing: 1" in solution.source.about_export
    assert aggregate(path, gold="export").reading.gold == (("1", "cat"),)


def test_questions_of_a_report_are_what_judgments_of_a_unit_differ_in(write):
    header = ["_unit_id", "_worker_id", "_trust", "q", "hidden", "comment", "text", "q_gold", "hidden_gold"]
    rows = [
        [unit, worker, f"0.{worker}", "same", text, comment, text, "", ""]
        for unit, text in (("1", "one"), ("2", "two"))
        for worker, comment in (("7", "fine"), ("8", ""))
    ]
    with pytest.raises(InputError, match=r"has 2 questions: name one with question \(q, comment\)"):
        aggregate(write(header, rows))
    assert responses(write(header, rows), question="q").total() == 4
    without = [[*row[:5], "", *row[6:]] for row in rows]
    assert responses(write(header, without)) == responses(write(header, rows), question="q")


REPORTS = ["_unit_id", "_worker_id", "relevant", "toxic", "text"]


def two_questions(write):
    """Two reports of one job: judgments differ in `relevant` in the first, and in `toxic` in the later one."""
    votes = [(unit, worker, "yes" if unit % 2 or worker == "c" else "no") for unit in range(6) for worker in "abc"]
    first = write(REPORTS, [[unit, worker, vote, "no", unit] for unit, worker, vote in votes], "first.csv")
    return first, write(REPORTS, [[unit, worker, "yes", vote, unit] for unit, worker, vote in votes], "later.csv")


def test_the_question_that_was_found_is_asked_again(write):
    first, later = two_questions(write)
    solution = aggregate(first)
    assert solution.reading.question == "relevant"
    assert verify(solution, first).verdict.value == "REPRODUCED"
    assert {row["label"] for row in solution.predict(later).to_pylist()} == {"yes"}


def test_any_column_may_be_named_and_is_asked_for_where_nothing_differs(write):
    first, _ = two_questions(write)
    assert {label for _, _, label in responses(first, question="toxic")} == {"no"}
    alike = write(REPORTS, [[unit, worker, "yes", "no", unit] for unit in range(3) for worker in "abc"])
    with pytest.raises(InputError, match=r"none differs .* name one with question \(relevant, toxic, text\)"):
        aggregate(alike)
    assert responses(alike, question="relevant").total() == 9
    with pytest.raises(InputError, match="did you mean 'toxic'"):
        aggregate(alike, question="toxik")


def test_an_aggregated_report_is_refused(write):
    path = write(["_unit_id", "_golden", "_unit_state", "_trusted_judgments", "q", "q:confidence"], [["1"] * 6])
    with pytest.raises(InputError, match=r"export\.csv is an aggregated report of Appen, .* download the full report"):
        aggregate(path)


# Zooniverse

ZOO = ["classification_id", "user_name", "workflow_id", "workflow_name", "gold_standard", "annotations", "subject_ids"]


def zoo(write, answers, task="T0"):
    """Classifications of one workflow: (subject, user, value)."""
    rows = [
        [n, user, 10, "Flow", "", json.dumps([{"task": task, "value": value}]), subject]
        for n, (subject, user, value) in enumerate(answers)
    ]
    return write(ZOO, rows)


def test_a_choice_alone_in_a_list_a_survey_or_a_dropdown_is_a_label(write):
    select = {"select_label": "Kind", "option": True, "value": "c5d1", "label": "Owl"}
    survey = {"choice": "OWL", "answers": {"HOWMANY": "1"}, "filters": {}}
    for values, label, note in (
        (["Owl", ["Owl"], "Owl"], "Owl", None),
        ([5, [5], 5], "5", None),
        ([[survey], [survey], []], "OWL", "of a survey"),
        ([[select], [select], None], "Owl", "of a dropdown"),
    ):
        path = zoo(write, [("1", "a", values[0]), ("1", "b", values[1]), ("2", "a", values[2])])
        assert {one for *_, one in responses(path)} == {label}
        assert note is None or any(said.startswith(note) for said in notes(path))


def test_anonymous_users_stay_apart_and_the_same_user_again_is_told(write):
    anonymous = [("1", f"not-logged-in-{name}", "Yes") for name in ("c1", "c2")]
    path = zoo(write, [*anonymous, ("1", "a", "Yes"), ("1", "a", "No"), ("2", "a", "No"), ("2", "a", "No")])
    found = responses(path)
    assert found.total() == 5
    assert len({worker for _, worker, _ in found}) == 3
    assert any("once a worker gave different answers to one task" in note for note in notes(path))
    assert any("1 row repeats an answer" in note for note in notes(path))


def test_answers_inside_a_task_of_several_are_found(write):
    inner = [{"task": "T1", "value": "Yes"}, {"task": "T2", "value": [{"x": 1, "y": 2}]}]
    path = zoo(write, [("1", "a", inner), ("1", "b", inner)], task="T3")
    assert responses(path) == Counter([("1", "a", "Yes"), ("1", "b", "Yes")])


def test_gold_standard_classifications_are_known_labels(write):
    annotation = {value: json.dumps([{"task": "T0", "value": value}]) for value in ("Yes", "No")}
    rows = [
        [1, "expert", 10, "Flow", "true", annotation["No"], "1"],
        *([n, f"u{n}", 10, "Flow", "", annotation["Yes" if n % 2 else "No"], s] for n in range(4) for s in ("1", "2")),
    ]
    path = write(ZOO, rows)
    assert aggregate(path).export_accuracy.n_tasks == 1
    pinned = aggregate(path, gold="export")
    assert pinned.reading.gold == (("1", "No"),)
    assert responses(path).total() == 9
    assert responses(path, gold="export").total() == 8


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (
            [["Owl", "Cat"]],
            r"export\.csv: classification 0: several answers to T0 \(\[\"Owl\",\"Cat\"\]\), and one label",
        ),
        ([[{"x": 1, "y": 2, "tool": 0}]], r"export\.csv: all answers are drawings, answers about them, texts in parts"),
        ([{"text": "abc"}], "all answers are drawings, answers about them, texts in parts"),
        ([None, []], "is no export of Zooniverse with answers"),
    ],
    ids=["several", "drawing", "text", "nothing"],
)
def test_what_gives_no_label_is_refused(write, values, match):
    with pytest.raises(InputError, match=match):
        aggregate(zoo(write, [("1", f"u{n}", value) for n, value in enumerate(values)]))


def test_annotations_that_are_cut_short_are_an_error(write):
    path = write(
        ZOO, [[1, "a", 10, "F", "", '[{"task":"T0","value":"Yes"}]', "1"], [2, "b", 10, "F", "", '[{"ta', "1"]]
    )
    with pytest.raises(InputError, match=r'classification 2: its annotations are no list of JSON: \[\{"ta'):
        aggregate(path)


@pytest.mark.parametrize("question", ["Reviews/T0", "3130/T0"])
def test_a_workflow_is_named_by_its_name_or_id(question):
    with (SAMPLES / "zooniverse.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["workflow_id"] == "3130"]
    found = responses(SAMPLES / "zooniverse.csv", question=question)
    assert found == Counter(
        (row["subject_ids"], row["user_name"], json.loads(row["annotations"])[0]["value"]) for row in rows
    )


@pytest.mark.parametrize(
    ("question", "match"),
    [
        ("", r"has 3 questions: name one with question \(Reviews/T0, Reviews/T1, Survey/T0\)"),
        ("T0", r"has 'T0' in 2 workflows: name one with question \(questions: Reviews/T0, Reviews/T1, Survey/T0\)"),
        ("T2", "the answers to T2 are drawings, answers about them, texts in parts, or dropdowns"),
        ("Review/T0", r"no question 'Review/T0'; did you mean 'Reviews/T0'\?"),
    ],
)
def test_a_question_that_is_not_one_is_told(question, match):
    with pytest.raises(InputError, match=match):
        aggregate(SAMPLES / "zooniverse.csv", question=question)


def test_what_is_known_of_a_subject_says_which_rows_count():
    text = "Good case, excellent value."
    solution = aggregate(SAMPLES / "zooniverse.csv", question="Reviews/T0", where=f'text = "{text}"', keep=["text"])
    assert set(solution.answers["text"].to_pylist()) == {text}
