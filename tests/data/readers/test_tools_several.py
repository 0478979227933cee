"""Several answers in one cell, which are no label of their own; and files of one tool with columns of their own."""

from __future__ import annotations

import json

import pytest

from crowdopt.errors import ColumnError, InputError
from support.exports import as_json, as_table, opened

HIT = ["HITId", "WorkerId", "AssignmentStatus"]
JSON = ["Answer.taskAnswers"]


def turk(path, columns, *rows):
    """Assignments of one worker each: (task, cells)."""
    return as_table(
        path, [*HIT, *columns], [[hit, f"w{n}", "Approved", *cells] for n, (hit, *cells) in enumerate(rows)]
    )


def labels(path, **options):
    return [label for *_, label in opened(path, **options)[0]]


def test_checked_boxes_of_mturk_are_several_answers(tmp_path):
    path = turk(tmp_path / "m.csv", ["Answer.topics"], ["1", "a"], ["2", "b"], ["3", "a|b"])
    with pytest.raises(InputError, match=r"m\.csv: HIT 3, worker w2: more than one option of 'topics' \(a\|b\)"):
        opened(path)
    assert labels(path, where="task != 3") == ["a", "b"]
    for others in ("c|d", "a|d", "|"):  # parts that nobody gave alone may belong together
        path = turk(tmp_path / "m.csv", ["Answer.topics"], ["1", "a"], ["2", "b"], ["3", others])
        assert labels(path) == ["a", "b", others]
    items = [["1", "a", "b"], ["2", "b", "a|b"]]
    path = turk(tmp_path / "m.csv", ["Input.t_1", "Input.t_2", "Answer.q_1", "Answer.q_2"], *(
        [hit, "x", "y", *cells] for hit, *cells in items
    ))  # fmt: skip
    with pytest.raises(InputError, match=r"HIT 2, worker w1: more than one option of 'q_\*' \(a\|b\)"):
        opened(path)


@pytest.mark.parametrize("columns", [["Answer.q"], ["Answer.q.labels"], JSON])
def test_a_list_of_one_is_that_one_of_several_an_error_and_empty_none(columns, tmp_path):
    def cell(value):
        return json.dumps([{"q": value}]) if columns == JSON else json.dumps(value)

    rows = [["1", cell(["a"])], ["2", cell([])], ["3", cell([5])], ["4", cell([None, "b"])]]
    assert labels(turk(tmp_path / "m.csv", columns, *rows)) == ["a", "5", "b"]
    with pytest.raises(InputError, match=r"HIT 5, worker w4: more than one option of 'q' \(a, b\), and one label"):
        opened(turk(tmp_path / "m.csv", columns, *rows, ["5", cell(["a", "b"])]))


def test_elements_for_several_labels_are_read(tmp_path):
    answers = [{"labels": ["a"]}, {"labels": []}, {"label": "b"}, {"labels": ["c"]}]
    rows = [[str(n), json.dumps([{"multi": one}])] for n, one in enumerate(answers)]
    assert labels(turk(tmp_path / "m.csv", JSON, *rows)) == ["a", "b", "c"]
    rows.append(["9", json.dumps([{"multi": {"labels": ["a", "b"]}}])])
    with pytest.raises(InputError, match=r"m\.csv: HIT 9, worker w4: more than one option of 'multi' \(a, b\)"):
        opened(turk(tmp_path / "m.csv", JSON, *rows))


def test_radio_buttons_with_names_of_their_own_are_one_question(tmp_path):
    forms = [{"btn1": {"yes": n % 2 == 0}, "btn2": {"no": n % 2 == 1}} for n in range(3)]
    path = turk(tmp_path / "m.csv", JSON, *([str(n), json.dumps([one])] for n, one in enumerate(forms)))
    rows, source = opened(path)
    assert [label for *_, label in rows] == ["yes", "no", "yes"]
    assert source.reading.question == "btn1/btn2"
    assert source.notes[0].startswith("radio buttons are taken for the options of one question")
    assert labels(path, question="btn2") == ["no"]
    columns = ["Answer.neg.neg", "Answer.pos.pos", "Answer.sure.on"]
    cells = [["1", "true", "false", "true"], ["2", "false", "true", "false"]]
    path = turk(tmp_path / "m.csv", columns, *cells)
    assert labels(path, question="neg.neg/pos.pos") == ["neg", "pos"]
    path = turk(tmp_path / "m.csv", columns, *cells, ["3", "true", "true", "false"])  # these are boxes to check
    with pytest.raises(InputError, match=r"3 questions: name one with --question \(neg\.neg, pos\.pos, sure\)"):
        opened(path)


def test_lists_of_toloka_are_several_answers(tmp_path):
    header = ["INPUT:x", "OUTPUT:q", "GOLDEN:q", "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"]
    rows = [["x", '["a"]', '["a"]', "1", "w", "APPROVED"], ["x", "b", '["a","b"]', "2", "w", "APPROVED"]]
    rows += [["x", "[]", "", "3", "w", "APPROVED"], ["x", "[oops", "", "4", "w", "APPROVED"]]
    found, source = opened(as_table(tmp_path / "t.tsv", header, rows))
    assert found == [("1", "w", "a"), ("2", "w", "b"), ("4", "w", "[oops")]
    assert source.gold is not None
    path = as_table(tmp_path / "t.tsv", header, [*rows, ["x", '["a","b"]', "", "5", "v", "APPROVED"]])
    with pytest.raises(InputError, match=r"t\.tsv: task 5, worker v: several answers to 'q' \(\[\"a\",\"b\"\]\)"):
        opened(path)


def test_labels_of_doccanos_csv_that_are_several_are_told(tmp_path):
    path = as_table(
        tmp_path / "ann.csv", ["id", "data", "label"], [["1", "x", "a"], ["2", "y", "b"], ["3", "z", "a#b"]]
    )
    (named, note) = opened(path, task="id", worker_from_file=True)[1].notes
    assert "one file, so one worker" in named
    assert note.startswith("1 label is others with # between them (for example 'a#b')")
    path = as_table(tmp_path / "ann.csv", ["id", "data", "label"], [["1", "x", "a"], ["2", "y", "c#"]])
    assert len(opened(path, task="id", worker_from_file=True)[1].notes) == 1


def test_early_exports_of_doccano_are_told(tmp_path):
    one = {"id": 1, "text": "x", "annotations": [{"label": 1, "user": 1}], "meta": {}, "annotation_approver": None}
    with pytest.raises(InputError, match=r"d\.jsonl has 'annotations' with numbers for labels and users, as early"):
        opened(as_json(tmp_path / "d.jsonl", [one]))


# Numbers in names


TWO = [f"Answer.item{item}_q{question}" for item in (1, 2) for question in (1, 2)]


def test_any_number_in_a_name_may_be_the_item(tmp_path):
    path = turk(tmp_path / "m.csv", TWO, ["H", "a", "b", "c", "d"])
    with pytest.raises(InputError, match=r"questions: item\*_q1, item1_q\*, item\*_q2, item2_q\*\); 'item\*_q1' makes"):
        opened(path)
    assert opened(path, question="item*_q1")[0] == [("H/1", "w0", "a"), ("H/2", "w0", "c")]
    assert opened(path, question="item2_q*")[0] == [("H/1", "w0", "c"), ("H/2", "w0", "d")]
    assert opened(path, question="item2_q")[0] == opened(path, question="item2_q*")[0]
    assert opened(path, question="item2_q1")[0] == [("H", "w0", "c")]
    path = turk(tmp_path / "m.csv", ["Input.item1_t", "Input.item2_t", "Answer.item1_q", "Answer.item2_q"],
                ["H", "x", "y", "a", "b"])  # fmt: skip
    rows, source = opened(path, keep=("item*_t",))
    assert rows == [("H/1", "w0", "a"), ("H/2", "w0", "b")]
    assert source.notes == ("2 items in a HIT, each a task: item*_q",)


# Files of one tool


def test_files_of_a_tool_agree_in_what_is_needed_alone(tmp_path):
    one = turk(tmp_path / "1.csv", ["Input.text", "Answer.s"], ["H", "x", "a"])
    two = turk(tmp_path / "2.csv", ["Input.text", "Input.url", "Answer.s", "Answer.note"], ["H", "x", "u", "b", "z"])
    assert opened(one, two, question="s")[0] == [("H", "w0", "a"), ("H", "w0", "b")]
    with pytest.raises(ColumnError, match=r"1\.csv has no column 'Answer\.note', but .*2\.csv has"):
        opened(one, two, question="note")
    for name, needed, more in (
        ("appen", ["_unit_id", "_worker_id", "q"], "extra"),
        ("toloka", ["ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "OUTPUT:q"], "INPUT:url"),
        ("label-studio", ["annotation_id", "annotator", "id", "q"], "url"),
    ):
        one = as_table(tmp_path / f"{name}1.csv", needed, [["1", "w", "7", "a"][: len(needed)]])
        two = as_table(tmp_path / f"{name}2.csv", [*needed, more], [[*["2", "v", "7", "b"][: len(needed)], "u"]])
        assert len(opened(one, two, tool=name, question="q")[0]) == 2, name
    with pytest.raises(ColumnError, match="has no column '_worker_id'"):
        opened(as_table(tmp_path / "x.csv", ["_unit_id", "q"], [["1", "a"]]), tmp_path / "appen2.csv", tool="appen")
