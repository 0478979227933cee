"""Files as annotation tools and people who keep juries really write them: counts as plain Python counts them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from crowdopt import aggregate, verify
from crowdopt.errors import InputError
from support.needs import SHARED, need

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

EXPORTS = SHARED / "exports"


def exports(pattern: str) -> list[Path]:
    """Real exports; they are not part of this repository."""
    found = sorted(EXPORTS.glob(pattern))
    need(bool(found), f"the shared export {pattern!r} ({EXPORTS})")
    return found


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows(path: Path) -> list[dict]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def per_judge(files):
    return [(one["id"], path.stem, one["verdict"]) for path in files for one in lines(path)]


def openai_batch(files):
    found = []
    for path in files:
        for one in lines(path):
            body = one["response"]["body"]
            verdict = json.loads(body["choices"][0]["message"]["content"])["verdict"]
            found.append((one["custom_id"], body["model"], verdict))
    return found


def openai_batch_by_file(files):
    judges = {one["response"]["body"]["model"]: path.stem for path in files for one in lines(path)}
    return [(task, judges[judge], verdict) for task, judge, verdict in openai_batch(files)]


def inspect_log(files):
    (log,) = [json.loads(path.read_text()) for path in files]
    return [(one["id"], judge, score["value"]) for one in log["samples"] for judge, score in one["scores"].items()]


def inspect_samples(files):
    return [
        (row["id"], name.removeprefix("score_"), row[name])
        for row in rows(files[0])
        for name in row
        if name.startswith("score_") and row[name]
    ]


def graded(results, key="pass"):
    return [
        (one["testIdx"], part["assertion"]["metric"], part[key])
        for one in results
        for part in one["gradingResult"]["componentResults"]
    ]


def promptfoo_json(files):
    return graded(json.loads(files[0].read_text())["results"]["results"])


def promptfoo_scores(files):
    return graded(json.loads(files[0].read_text())["results"]["results"], "score")


def promptfoo_lines(files):
    return graded(lines(files[0]))


def promptfoo_table(files):
    return [
        (row["n"], name.removeprefix("Metric: "), f"{float(row[name]):g}")
        for row in rows(files[0])
        for name in row
        if name.startswith("Metric: ") and row[name]
    ]


def prodigy(files):
    return [
        (one["_task_hash"], one.get("_annotator_id") or one.get("_session_id") or path.stem, one["answer"])
        for path in files
        for one in lines(path)
        if one["answer"] != "ignore"
    ]


CASES = {
    "a file for each judge": (
        "juries/per_judge/*.jsonl",
        {"task": "id", "label": "verdict", "worker_from_file": True},
        per_judge,
    ),
    "openai-batch": ("juries/openai_batch/*.jsonl", {}, openai_batch),
    "openai-batch by file": ("juries/openai_batch/*.jsonl", {"worker_from_file": True}, openai_batch_by_file),
    "inspect-ai": ("juries/inspect_log.json", {}, inspect_log),
    "inspect-ai table": ("juries/inspect_samples.csv", {}, inspect_samples),
    "promptfoo": ("juries/promptfoo.json", {}, promptfoo_json),
    "promptfoo scores": ("juries/promptfoo.json", {"question": "score"}, promptfoo_scores),
    "promptfoo lines": ("juries/promptfoo.jsonl", {}, promptfoo_lines),
    "promptfoo table": ("juries/promptfoo.csv", {}, promptfoo_table),
    "prodigy sessions": ("prodigy_sessions.jsonl", {}, prodigy),
    "prodigy without sessions": ("prodigy_no_session.jsonl", {}, prodigy),
}


def text(value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("case", CASES)
def test_counts_are_those_of_plain_python(case):
    pattern, options, count = CASES[case]
    files = exports(pattern)
    everything = count(files)
    wanted = [(text(task), worker, text(label)) for task, worker, label in everything if label is not None]
    solution = aggregate(files, **options)
    table = solution.source.responses.table.collect().to_arrow().to_pylist()
    found = [(text(row["task"]), row["worker"], row["label"]) for row in table if row["label"] is not None]
    assert Counter((task, worker) for task, worker, _ in found) == Counter((t, w) for t, w, _ in wanted)
    assert Counter(text(label) for _, _, label in wanted) == Counter(text(label) for *_, label in found)
    totals = solution.totals
    assert (totals.n_tasks, totals.n_workers) == (len({one[0] for one in wanted}), len({one[1] for one in wanted}))
    assert (totals.n_responses, totals.n_dropped) == (len(wanted), len(everything) - len(wanted))
    per_task = dict(
        zip(*(map(text, solution.answers[name].to_pylist()) for name in ("task", "n_responses")), strict=True)
    )
    assert per_task == {task: str(n) for task, n in Counter(one[0] for one in wanted).items()}
    assert verify(solution, files).verdict.value == "REPRODUCED"


def test_the_jury_is_measured_against_its_truth():
    files, (truth,) = exports("juries/per_judge/*.jsonl"), exports("juries/truth.csv")
    known = {row["task"]: row["label"] for row in rows(truth)}
    solution = aggregate(files, task="id", label="verdict", worker_from_file=True, truth=truth)
    right = [known[row["task"]] == row["label"] for row in solution.answers.to_pylist()]
    assert (solution.accuracy.n_tasks, solution.accuracy.value) == (200, sum(right) / 200)


@pytest.mark.parametrize(
    ("file", "match"),
    [
        ("doccano_one_user.jsonl", r"example 206: 'label' marks parts of it \(\[1914,1929,\"PRODUCT\"\]\)"),
        ("ground_truth_output.manifest", "is a manifest of groundtruth/object-detection: that is no label of a whole"),
    ],
)
def test_what_is_no_label_of_a_whole_is_refused_in_one_sentence(file, match):
    with pytest.raises(InputError, match=match) as error:
        aggregate(exports(file)[0])
    assert "\n" not in str(error.value)
