"""Exports of juries, and of tools with a file for each worker, that cannot be read: one line says where, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crowdopt
from crowdopt.data.reading import Reading
from crowdopt.errors import InputError
from support.needs import SAMPLES

REQUESTS = next(SAMPLES.glob("ground_truth/consolidation-request/*/*.json"))
OPENAI = SAMPLES / "openai_batch" / "gpt-4o_output.jsonl"
DOCCANO = SAMPLES / "doccano" / "ann.jsonl"
LOG, PROMPTFOO, LABELBOX = SAMPLES / "inspect_log.json", SAMPLES / "promptfoo.jsonl", SAMPLES / "labelbox.ndjson"


def changed(path, change):
    """A sample with something done to its first record."""
    whole = path.suffix == ".json"
    records = json.loads(path.read_text()) if whole else [json.loads(line) for line in path.read_text().splitlines()]
    change(records[0] if isinstance(records, list) else records)
    return (json.dumps(records) if whole else "\n".join(map(json.dumps, records))).encode()


def swapped(path, old, new):
    content = path.read_bytes()
    assert old.encode() in content
    return content.replace(old.encode(), new.encode())


def setting(*keys, to):
    def change(record):
        for key in keys[:-1]:
            record = record[key]
        record[keys[-1]] = to

    return change


def form(value):
    """A worker's answer to one object."""
    return json.dumps({"answers": [{"workerId": "w", "answerContent": value}]}).encode()


def manifest(**metadata):
    return json.dumps({"source": "a text", "mood": 1, "mood-metadata": metadata}).encode()


Q = ("--question", "colour")
LABELS = ("projects", "cp1", "labels", 0)

CASES = {
    # doccano
    "several labels": (
        "a.jsonl",
        changed(DOCCANO, setting("label", to=["x", "y"])),
        (),
        ["a.jsonl: example 1:", "several labels", "single one"],
    ),
    "spans": (
        "a.jsonl",
        changed(DOCCANO, setting("label", to=[[0, 4, "PER"]])),
        (),
        ["example 1:", "marks parts", "[0,4,"],
    ),
    "boxes": ("a.jsonl", changed(DOCCANO, setting("label", to=[{"id": 1}])), (), ["example 1:", "marks parts"]),
    "no list": (
        "a.jsonl",
        changed(DOCCANO, setting("label", to="x")),
        (),
        ["example 1:", "no list", "--task id", "--worker-from-file"],
    ),
    "no id of an example": ("a.jsonl", changed(DOCCANO, setting("id", to=None)), (), ["no id in"]),
    "a table": ("a.csv", b"id,text,label\n1,a,x\n", (), ["a.csv", "--task id", "--worker-from-file"]),
    "no label": ("a.jsonl", b'{"id": 1, "text": "a", "Comments": []}', ("--from", "doccano"), ["no key 'label'"]),
    "doccano, question": ("a.jsonl", DOCCANO.read_bytes(), Q, ["no question 'colour'", "(questions: label)"]),
    # OpenAI
    "the requests": (
        "a.jsonl",
        b'{"custom_id": "a", "method": "POST", "url": "/v1", "body": {}}',
        (),
        ["requests of a batch", "output file"],
    ),
    "no custom_id": ("a.jsonl", changed(OPENAI, setting("custom_id", to=None)), (), ["a.jsonl: no custom_id in"]),
    "no line of a batch": (
        "a.jsonl",
        OPENAI.read_bytes() + b'{"note": "from somewhere else"}\n',
        (),
        ["a.jsonl: no custom_id in", "from somewhere else"],
    ),
    "a request among answers": (
        "a.jsonl",
        OPENAI.read_bytes() + b'{"custom_id": "a", "method": "POST", "url": "/v1", "body": {}}\n',
        (),
        ["a.jsonl: no response or error in", '"method"'],
    ),
    "nothing but failures": (
        "a.jsonl",
        swapped(OPENAI, '"status_code": 200', '"status_code": 500'),
        (),
        ["nothing but", "failed requests"],
    ),
    "unknown key": (
        "a.jsonl",
        OPENAI.read_bytes(),
        ("--question", "verdikt"),
        ["'verdikt'", "did you mean 'verdict'?"],
    ),
    "truncated lines": ("a.jsonl", OPENAI.read_bytes()[:-40], (), ["a.jsonl, line", "not JSON"]),
    # inspect-ai
    "truncated": ("a.json", LOG.read_bytes()[:-400], (), ["a.json, line 1", "cut short"]),
    "header only": (
        "a.json",
        json.dumps({"version": 2, "status": "success", "eval": {}, "plan": {}}).encode(),
        (),
        ["without samples", "inspect log dump"],
    ),
    "samples are no list": ("a.json", changed(LOG, setting("samples", to=3)), (), ["no list of samples"]),
    "no id of a sample": ("a.json", changed(LOG, setting("samples", 0, "id", to=None)), (), ["no id in the sample"]),
    "a list of scores": (
        "a.json",
        changed(LOG, setting("samples", 0, "scores", "gpt_4o", "value", to=[1, 2])),
        (),
        ['sample "t0": the score of gpt_4o is not one value'],
    ),
    "question of a log": ("a.json", LOG.read_bytes(), Q, ["no question 'colour'"]),
    "question of samples": ("a.csv", (SAMPLES / "inspect_samples.csv").read_bytes(), Q, ["leave out --question"]),
    ".eval": ("a.eval", b"PK\x03\x04", (), ["a.eval", "inspect log dump"]),
    # promptfoo
    "several prompts": (
        "a.csv",
        b"q,[a] p,Status,Score,Named Scores,[b] p,Status,Score,Named Scores\n1,x,PASS,1,{},y,PASS,1,{}\n",
        (),
        ["2 prompts", "write JSON"],
    ),
    "pass of a table": (
        "a.csv",
        (SAMPLES / "promptfoo.csv").read_bytes(),
        ("--question", "pass"),
        ["no question 'pass'", "(questions: score)"],
    ),
    "unknown question": ("a.jsonl", PROMPTFOO.read_bytes(), Q, ["no question 'colour'", "(questions: pass, score)"]),
    "no test": ("a.jsonl", changed(PROMPTFOO, lambda one: one.update(testIdx=None, vars=None)), (), ["no testIdx in"]),
    "results are no list": ("a.json", b'{"evalId": "e", "results": {"version": 9}}', (), ["no list of results"]),
    "nothing graded": (
        "a.jsonl",
        b'{"gradingResult": null, "testIdx": 0, "promptIdx": 0}',
        (),
        ["nothing but 1 outputs that were not graded"],
    ),
    "no record of promptfoo": (
        "a.jsonl",
        PROMPTFOO.read_bytes() + b'{"note": "from somewhere else"}\n',
        (),
        ["a.jsonl: no list of results, or result, in", "from somewhere else"],
    ),
    # SageMaker Ground Truth
    "a manifest of labels": (
        "a.manifest",
        manifest(type="groundtruth/text-classification"),
        (),
        ["a.manifest is a manifest", "worker-response", "consolidation-request"],
    ),
    "a manifest of boxes": (
        "a.manifest",
        manifest(type="groundtruth/object-detection"),
        (),
        ["manifest of groundtruth/object-detection"],
    ),
    "answers that are boxes": (
        "a.json",
        form({"boundingBox": {"boundingBoxes": [], "inputImageProperties": {}}}),
        (),
        ["(boundingBox) are no labels"],
    ),
    "several options": ("a.json", form({"crowd-classifier": {"labels": ["x", "y"]}}), (), ["several labels"]),
    "no worker": ("a.json", b'{"answers": [{"answerContent": {"f": {"label": "x"}}}]}', (), ["no workerId in"]),
    "no list of answers": ("a.json", b'{"answers": 3}', ("--question", "f"), ["a.json has no question 'f'"]),
    "content elsewhere": (
        "a.json",
        changed(REQUESTS, setting("annotations", 0, "annotationData", to={"s3Uri": "s3://b/k"})),
        (),
        ['object "0": an answer has no content'],
    ),
    "two forms": ("a.json", form({"a": {"label": "x"}, "b": {"label": "y"}}), (), ["2 questions", "(a, b)"]),
    # Labelbox and CVAT
    "nobody": (
        "a.ndjson",
        changed(LABELBOX, setting(*LABELS, "label_details", to={})),
        (),
        ["data row \"cl000\", label l00: no 'created_by'", "label_details"],
    ),
    "a checklist": (
        "a.ndjson",
        changed(
            LABELBOX,
            setting(
                *LABELS,
                "annotations",
                "classifications",
                to=[{"name": "sentiment", "checklist_answers": [{"name": "x"}, {"name": "y"}]}],
            ),
        ),
        (),
        ["several answers to 'sentiment'"],
    ),
    "only parts": (
        "a.ndjson",
        swapped(LABELBOX, '"classifications": [{"feature_id"', '"more": [{"feature_id"'),
        (),
        ["no classifications of whole data rows"],
    ),
    "first version": (
        "a.json",
        b'[{"ID": "x", "DataRow ID": "y", "Labeled Data": "z", "Label": {}}]',
        (),
        ["first version"],
    ),
    "no projects": (
        "a.ndjson",
        changed(LABELBOX, setting("projects", to=None)),
        (),
        ['data row "cl000" has no projects'],
    ),
    "CVAT": ("annotations.xml", b"<annotations/>", (), ["CVAT", "not read yet", "task, worker and label"]),
    "zip": ("a.zip", b"PK\x03\x04", (), ["unpack it"]),
    # and of another tool
    "another tool": (
        "a.ndjson",
        LABELBOX.read_bytes(),
        ("--from", "openai-batch"),
        ["no export of an OpenAI batch", "--from labelbox"],
    ),
    "not a batch": ("a.jsonl", b'{"task": 1}', ("--from", "ground-truth"), ["no export of SageMaker Ground Truth"]),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_export(fails, case):
    name, content, options, expected = CASES[case]
    message = fails(
        "aggregate", name, "-o", "answers.csv", "--solution", "solution.json", *options, files={name: content}
    )
    for part in expected:
        assert part in message


@pytest.mark.parametrize("path", [OPENAI, DOCCANO, LOG, PROMPTFOO, LABELBOX, REQUESTS], ids=lambda path: path.name)
def test_samples_that_are_cut_short_say_where(fails, path):
    """At every twentieth of the file: an error of one line, or what is left is a whole file."""
    content = path.read_bytes()
    for part in range(1, 20):
        cut = content[: len(content) * part // 20]
        if path.suffix != ".json" and cut.rstrip().endswith(b"}") and cut.endswith(b"\n"):
            continue
        message = fails("aggregate", f"a{path.suffix}", "-o", "answers.csv", files={f"a{path.suffix}": cut})
        assert f"a{path.suffix}" in message
        Path(f"a{path.suffix}").unlink()


@pytest.mark.parametrize(("name", "advised"), [("ann.json", False), ("ann.jsonl", True)])
def test_json_that_is_no_table_is_not_advised_to_be_read_as_one(name, advised, tmp_path):
    record = '{"id": 1, "text": "a", "label": "x"}'
    (tmp_path / name).write_text(f"[{record}]" if name.endswith(".json") else record)
    with pytest.raises(InputError, match="is no list, as doccano writes it") as raised:
        crowdopt.aggregate(tmp_path / name)
    assert ("a table is read with" in str(raised.value)) is advised


def test_a_tool_that_nobody_knows_is_told_the_choices():
    with pytest.raises(InputError, match="must be one of auto, "):
        Reading(tool="nothing")
