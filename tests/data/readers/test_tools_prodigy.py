"""Prodigy: which interfaces give labels, of which examples."""

from __future__ import annotations

import pytest

from crowdopt.errors import InputError
from support.exports import as_json, opened

OPTIONS = {"options": [{"id": "A", "text": "a"}, {"id": "B", "text": "b"}]}


def example(number, view, worker="w", answer="accept", **more):
    hashes = {"_input_hash": number, "_task_hash": number * 10}
    return {"text": "t", **hashes, "_view_id": view, "answer": answer, "_annotator_id": worker} | more


@pytest.mark.parametrize(
    ("view", "more", "match"),
    [
        ("relations", {"relations": []}, "made with relations, where to accept says nothing of what was done"),
        ("text_input", {"user_input": "yes"}, "made with text_input, where to accept says nothing"),
        ("ner_manual", {"spans": []}, "made with ner_manual, which marks spans"),
        ("blocks", {"spans": [{"start": 0, "end": 1, "label": "X"}]}, "made with blocks of marks or texts without"),
        ("blocks", {"user_input": "yes"}, "made with blocks of marks or texts without options"),
        ("review", {"versions": [{"answer": "accept", "sessions": ["a", "b"]}]}, "it is a review, which decides"),
        ("classification", {"versions": []}, "it is a review, which decides"),
    ],
)
def test_what_gives_no_label_is_refused(view, more, match, tmp_path):
    path = as_json(tmp_path / "p.jsonl", [example(1, "classification"), example(2, view, **more)])
    with pytest.raises(InputError, match=rf"p\.jsonl: task 20: it .*{match.removeprefix('it ')}"):
        opened(path)
    assert opened(path, where=f"_view_id != {view}" if view != "classification" else "task != 20")[0] == [
        ("10", "w", "accept")
    ]


def test_blocks_with_options_or_without_marks_are_read(tmp_path):
    chosen = example(1, "blocks", spans=[{"start": 0, "end": 1}], accept=["A"], **OPTIONS)
    assert opened(as_json(tmp_path / "p.jsonl", [chosen]))[0] == [("10", "w", "A")]
    assert opened(as_json(tmp_path / "p.jsonl", [example(1, "blocks", html="x")]))[0] == [("10", "w", "accept")]


def test_every_example_is_read_by_what_it_is(tmp_path):
    examples = [
        example(1, "choice", accept=["A"], **OPTIONS),
        example(2, "choice", answer="reject", accept=[], **OPTIONS),
        example(3, "choice", accept=[], **OPTIONS),
        example(4, "classification", label="A"),
        example(5, "classification", answer="reject", label="A"),
        example(6, "classification", answer="ignore", label="A"),
    ]
    rows, source = opened(as_json(tmp_path / "p.jsonl", examples))
    assert rows == [("10", "w", "A"), ("40", "w", "accept"), ("50", "w", "reject")]
    assert source.notes == (
        "ignored examples left out: 1", "rejected examples left out: 1",
        "examples without options among others, whose labels are accept and reject: 2",
    )  # fmt: skip
    path = tmp_path / "p.jsonl"
    assert len(opened(path, where="_view_id = choice")[1].notes) == 2  # of what does not count nothing is said
    assert opened(as_json(path, examples[:3]))[1].notes == ("rejected examples left out: 1",)
