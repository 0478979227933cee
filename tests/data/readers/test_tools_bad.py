"""Exports that are damaged, of another tool or of another version: one line that names the place, nothing written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.needs import SAMPLES

STUDIO, MINIMAL, ENTERPRISE = "label_studio.json", "label_studio_min.json", "label_studio_enterprise.json"
Q = ("--question", "sentiment")


def sample(name):
    return (SAMPLES / name).read_bytes()


def swapped(name, old, new, times=-1):
    content = sample(name)
    assert old.encode() in content
    return content.replace(old.encode(), new.encode(), times)


def changed(name, change):
    """A sample of JSON, or of JSON Lines, with something done to its records."""
    lines = name.endswith(".jsonl")
    text = sample(name).decode()
    records = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    change(records)
    written = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
    return written.encode()


def first_annotation(**fields):
    """Changes fields of the first annotation of the first task; None takes one away."""

    def change(records):
        annotation = records[0]["annotations"][0]
        for name, value in fields.items():
            if value is None:
                del annotation[name]
            else:
                annotation[name] = value

    return change


def first_record(**fields):
    def change(records):
        for name, value in fields.items():
            if value is None:
                del records[0][name]
            else:
                records[0][name] = value

    return change


def every_record(**fields):
    def change(records):
        for one in records:
            first_record(**fields)([one])

    return change


def place(annotation):
    """Makes the results of an annotation those of a region."""
    for one in annotation["result"]:
        one["value"] |= {"start": 0, "end": 3}


def flat_csv(cell):
    """A CSV of Label Studio with one annotation; quotes in the cell are doubled."""
    header = "annotation_id,annotator,created_at,id,lead_time,mood,text,updated_at"
    return f'{header}\n7,"3","2026-01-01",1,2.5,"{cell}","a text","2026-01-01"\n'.encode()


def result(value, kind="choices"):
    return {"from_name": "sentiment", "to_name": "text", "type": kind, "value": value}


CASES = {
    "truncated": ((STUDIO, sample(STUDIO)[:3000]), Q, ["export.json, line ", "not JSON", "cut short"]),
    "truncated minimal": ((MINIMAL, sample(MINIMAL)[:-4]), Q, ["export.json, line ", "not JSON", "cut short"]),
    "truncated lines": (("prodigy.jsonl", sample("prodigy.jsonl")[:-30]), (), ["export.jsonl, line 25", "not JSON"]),
    "truncated rows": (("mturk.csv", sample("mturk.csv")[:-30]), (), ["export.csv"]),
    "not UTF-8": (
        (STUDIO, swapped(STUDIO, "Broke", "Br").replace(b"Br ", b"Br\xff ")),
        Q,
        ["export.json", "not UTF-8"],
    ),
    "plain rows": (("rows.json", b'[{"task": 1, "worker": 2, "label": 3}]'), (), ["JSON Lines", ".jsonl", "--from"]),
    "an object": (
        ("rows.json", b'{"a": 1}'),
        ("--from", "label-studio"),
        ["no export of Label Studio", "'id'", "(keys: a)"],
    ),
    "no questions": (("mturk.csv", swapped("mturk.csv", "Answer.", "Reply.")), ("--from", "mturk"), ["no question"]),
    "several questions": (("mturk_questions.csv", None), (), ["2 questions", "--question (comment, sentiment)"]),
    "misspelt question": (
        (STUDIO, None),
        ("--question", "sentimnt"),
        ["'sentimnt'", "did you mean 'sentiment'?", "stars"],
    ),
    "unknown question": (("toloka.tsv", None), ("--question", "colour"), ["'colour'", "(questions: sentiment)"]),
    "question of a table": (("responses.csv", None), Q, ["--question is for exports", "export.csv is none"]),
    "no question there": (("prodigy.jsonl", None), Q, ["--question means nothing for an export of Prodigy"]),
    "nothing is rejected": ((STUDIO, None), (*Q, "--keep-rejected"), ["--keep-rejected means nothing", "Label Studio"]),
    "worker columns": (
        ("promptfoo.jsonl", None),
        ("--from", "promptfoo", "--worker-columns", "namedScores.*"),
        ["no wide table: leave out --worker-columns, or read it as a plain table with --from table"],
    ),
    "worker columns of a document": (
        ("inspect_log.json", None),
        ("--task", "id", "--worker-columns", "score_*"),
        ["leave out --worker-columns, or export CSV, and read that with --from table"],
    ),
    "task columns": (("mturk.csv", None), ("--from", "mturk", "--task-columns", "Answer.*"), ["out --task-columns"]),
    "wide": (("mturk.csv", None), ("--from", "mturk", "--wide"), ["leave out --wide"]),
    "unknown column": (("mturk.csv", None), ("--keep", "txt"), ["'txt'", "did you mean 'text'?"]),
    # another tool, another version
    "toloka as mturk": (("toloka.tsv", None), ("--from", "mturk"), ["no export of MTurk", "'HITId'", "--from toloka"]),
    "studio as argilla": ((STUDIO, None), ("--from", "argilla"), ["<question>.responses", "--from label-studio"]),
    "argilla as studio": (("argilla.json", None), ("--from", "label-studio"), ["'data'", "--from argilla"]),
    "table as prodigy": (("responses.csv", None), ("--from", "prodigy"), ["'_task_hash'", "(columns: task, worker"]),
    "table as crowd-kit": (("mturk.csv", None), ("--from", "crowd-kit"), ["'task'", "--from mturk"]),
    "old studio": (
        (STUDIO, swapped(STUDIO, '"annotations"', '"completions"')),
        ("--from", "label-studio"),
        ["'completions'", "1.0"],
    ),
    "unanswered argilla": (
        ("argilla.json", b'[{"id": "a", "fields": {}, "metadata": {}, "suggestions": {}, "responses": {}}]'),
        (),
        ["has no answers", "nobody has responded"],
    ),
    "old argilla": (
        ("argilla.jsonl", b'{"id": "a", "text": "t", "label": [{"user_id": "u", "value": "v"}]}'),
        ("--from", "argilla"),
        ["'<question>.responses'", "(keys: id, text, label)"],
    ),
    # MTurk
    "no worker": (("mturk.csv", swapped("mturk.csv", "WorkerId", "Who")), ("--from", "mturk"), ["'WorkerId'"]),
    "no status": (
        ("mturk.csv", swapped("mturk.csv", "AssignmentStatus", "S")),
        ("--from", "mturk"),
        ["'AssignmentStatus'"],
    ),
    "two options": (
        ("mturk_questions.csv", swapped("mturk_questions.csv", '"false","true"', '"true","true"', 1)),
        Q,
        ["HIT 3HIT00EXAMPLE, worker A0WORKEREXAMPLE", "(Negative, Positive)"],
    ),
    "answers that are no JSON": (
        ("mturk_answers.csv", swapped("mturk_answers.csv", '"[{""comment', '"{""comment', 1)),
        Q,
        ["HIT 3HIT00EXAMPLE", "Answer.taskAnswers is not JSON"],
    ),
    "all rejected": (
        ("mturk.csv", sample("mturk.csv").replace(b"Approved", b"Rejected").replace(b"Submitted", b"Rejected")),
        (),
        ["no responses", "nothing but 26 rejected assignments"],
    ),
    # Toloka
    "no status in toloka": (("toloka.tsv", swapped("toloka.tsv", ":status", ":state")), (), ["'ASSIGNMENT:status'"]),
    "no task in toloka": (
        ("toloka.tsv", swapped("toloka.tsv", ":task_id", ":t").replace(b"INPUT:", b"IN:")),
        (),
        ["'ASSIGNMENT:task_id'"],
    ),
    # Label Studio
    "no annotator": (
        (STUDIO, changed(STUDIO, first_annotation(completed_by=None))),
        Q,
        ["task 1, annotation 100", "'completed_by'"],
    ),
    "no result": ((STUDIO, changed(STUDIO, first_annotation(result=None))), Q, ["task 1, annotation 100", "'result'"]),
    "no id": (
        (STUDIO, changed(STUDIO, first_record(id=None))),
        Q,
        ["export.json: no task with an id: {", "annotations"],
    ),
    "no list": ((STUDIO, changed(STUDIO, first_record(annotations=7))), Q, ["task 1 has no list 'annotations'"]),
    "no task": ((STUDIO, changed(STUDIO, lambda tasks: tasks.append(5))), Q, ["export.json: no task with an id: 5"]),
    "several choices": (
        (STUDIO, changed(STUDIO, first_annotation(result=[result({"choices": ["Positive", "Negative"]})]))),
        Q,
        ["task 1, annotation 100", "several choices of 'sentiment'"],
    ),
    "several results": (
        (STUDIO, changed(STUDIO, first_annotation(result=[result({"choices": ["Positive"]})] * 2))),
        Q,
        ["task 1, annotation 100", "several results of 'sentiment'"],
    ),
    "unanswered": (
        (STUDIO, changed(STUDIO, first_annotation(result=[]))),
        [*Q, "--missing", "error"],
        ["1 of 25 rows", "1 without a label", "--missing error"],
    ),
    "boxes": (
        (STUDIO, sample(STUDIO).replace(b'"type": "choices"', b'"type": "rectanglelabels"')),
        Q,
        ["the results of 'sentiment' are rectanglelabels, not choices, ratings, ", "of the task"],
    ),
    "nothing but boxes": (
        (STUDIO, re.sub(rb'"type": "(choices|rating)"', b'"type": "labels"', sample(STUDIO))),
        (),
        ["no results that are read (choices, ratings, taxonomies, numbers or pairwise choices)", "labels"],
    ),
    "no annotator in JSON-MIN": (
        (MINIMAL, changed(MINIMAL, first_record(annotator=None))),
        Q,
        ["annotation 100", "'annotator'"],
    ),
    "several choices in JSON-MIN": (
        (MINIMAL, changed(MINIMAL, first_record(sentiment={"choices": ["Positive", "Negative"]}))),
        Q,
        ["annotation 100", "'sentiment' is not one label of the task", '{"choices":["Positive","Negative"]}'],
    ),
    "empty": ((STUDIO, b"[]"), (), ["export.json is empty", "no records"]),
    "empty JSON-MIN": ((STUDIO, b"[\n\n]"), ("--from", "label-studio"), ["export.json is empty", "no records"]),
    "header only": (
        ("label_studio.csv", b'"annotation_id","annotator","created_at","lead_time","updated_at"\n'),
        (),
        ["export.csv is empty", "no annotations"],
    ),
    "header with questions": (
        ("label_studio.csv", b"annotation_id,annotator,created_at,id,lead_time,mood,text,updated_at\n"),
        (),
        ["export.csv", "name one with --question (mood, text)"],
    ),
    "nobody has annotated": (
        (STUDIO, changed(STUDIO, every_record(annotations=[]))),
        (),
        ["export.json has no answers", "nobody has annotated"],
    ),
    "results of regions": (
        (
            STUDIO,
            changed(STUDIO, lambda tasks: [place(one) for task in tasks for one in task["annotations"]]),
        ),
        Q,
        ["the results of 'sentiment' are choices of regions"],
    ),
    "several paths": (
        (STUDIO, changed(STUDIO, first_annotation(result=[result({"taxonomy": [["a"], ["b"]]}, "taxonomy")]))),
        Q,
        ["task 1, annotation 100", "several choices of 'sentiment'"],
    ),
    "a region in a CSV": (
        ("label_studio.csv", flat_csv('[{""start"": 0, ""end"": 2, ""choices"": [""a""]}]')),
        ("--question", "mood"),
        ["annotation 7", "'mood' is not one label of the task", "start"],
    ),
    "several in a CSV": (
        ("label_studio.csv", flat_csv('{""choices"": [""a"", ""b""]}')),
        ("--question", "mood"),
        ["annotation 7", "'mood' is not one label of the task", "choices"],
    ),
    "truncated CSV": (
        ("label_studio.csv", flat_csv("good") + flat_csv("good").splitlines()[1][:-14]),
        ("--question", "mood"),
        ["export.csv"],
    ),
    # Prodigy
    "no hash": (
        ("prodigy.jsonl", changed("prodigy.jsonl", first_record(_task_hash=None))),
        (),
        ["no _task_hash in", "Good case"],
    ),
    "no hashes": (
        ("prodigy.jsonl", swapped("prodigy.jsonl", "_task_hash", "h")),
        ("--from", "prodigy"),
        ["'_task_hash'"],
    ),
    "several accepted": (
        ("prodigy.jsonl", changed("prodigy.jsonl", first_record(accept=["Positive", "Negative"]))),
        (),
        ["several options were accepted", "Positive", "Negative"],
    ),
    "odd answer": (
        ("prodigy.jsonl", changed("prodigy.jsonl", first_record(answer="maybe"))),
        (),
        ["accept, reject or ignore"],
    ),
    "spans": (
        ("prodigy.jsonl", changed("prodigy.jsonl", every_record(_view_id="ner_manual", accept=None))),
        (),
        ["made with ner_manual", "spans"],
    ),
    # Argilla
    "a cell that is no list": (
        (
            "argilla.csv",
            b"id,q.responses,q.responses.users,q.responses.status\na,\"['x'\",\"['u']\",\"['submitted']\"\n",
        ),
        (),
        ['record "a"', "the responses to 'q' are not a list"],
    ),
    "uneven lists in cells": (
        ("argilla.csv", b"id,q.responses,q.responses.users\na,\"['x', 'y']\",['u']\n"),
        (),
        ['record "a"', "the lists of 'q' are not equally long"],
    ),
    "several labels, nested": (
        (
            "argilla.json",
            b'[{"id": "a", "fields": {}, "metadata": {}, "responses": {"q": [{"value": ["x", "y"], "user_id": "u"}]}}]',
        ),
        (),
        ['record "a"', "more than one value", '["x","y"]'],
    ),
    "uneven": (
        ("argilla.json", changed("argilla.json", first_record(**{"sentiment.responses": ["Positive"]}))),
        Q,
        ['record "review-0"', "not equally long"],
    ),
    "many labels": (
        (
            "argilla.json",
            changed("argilla.json", first_record(**{"sentiment.responses": [["a", "b"], "Positive", "Positive"]})),
        ),
        Q,
        ['record "review-0"', "more than one value", '["a","b"]'],
    ),
    "no id in argilla": (
        ("argilla.json", changed("argilla.json", first_record(id=None))),
        Q,
        ["no id in", "00000000-1111"],
    ),
    "mixed types": (
        ("argilla.json", changed("argilla.json", first_record(**{"stars.responses": ["five", 5, 5]}))),
        ("--question", "stars"),
        ["a number in some and text in some responses"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_export(fails, case):
    (name, content), options, expected = CASES[case]
    file = f"export{Path(name).suffix}"
    message = fails(
        "prove", file, "-o", "answers.csv", "--solution", "solution.json", *options,
        files={file: sample(name) if content is None else content},
    )  # fmt: skip
    for part in expected:
        assert part in message
