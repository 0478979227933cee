"""Juries of models as people really keep them: the counts of every file, against those that plain Python makes."""

from __future__ import annotations

import csv
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from crowdopt import aggregate, verify
from support.needs import SHARED, need

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

Triples = list[tuple[str, str, str]]
JUDGES = ("gpt-4o", "claude-3.5", "gemini-1.5", "llama-3-70b", "mistral")


def jury(name: str) -> Path:
    """A real file; they are not part of this repository."""
    path = SHARED / "exports" / "juries" / name
    need(path.is_file(), f"the shared jury {name!r} ({path})")
    return path


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as stream:
        yield from csv.DictReader(stream) if path.suffix == ".csv" else map(json.loads, stream)


def beginning(prefix: str, row: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}


CASES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "wide, by names": (
        "wide.csv", {"task": "id", "worker_columns": JUDGES}, lambda row: (row["id"], {j: row[j] for j in JUDGES}),
    ),
    "wide, all others": (
        "wide.csv", {"task": "id", "wide": True, "keep": ["question"]},
        lambda row: (row["id"], {j: row[j] for j in JUDGES}),
    ),
    "wide JSON Lines": ("wide.jsonl", {"wide": True}, lambda row: (row["task"], {j: row[j] for j in JUDGES})),
    "nested": (
        "nested.jsonl", {"task": "id", "worker_columns": "judgements.*.verdict"},
        lambda row: (row["id"], {name: one["verdict"] for name, one in row["judgements"].items()}),
    ),
    "inspect-ai's samples": (
        "inspect_samples.csv", {"task": "id", "worker_columns": "score_*"},
        lambda row: (row["id"], beginning("score_", row)),
    ),
    "promptfoo's table": (
        "promptfoo.csv", {"task": "n", "worker_columns": "Metric: *"},
        lambda row: (row["n"], beginning("Metric: ", row)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_jury_is_read_with_all_its_verdicts_and_no_others(case):
    name, options, read = CASES[case]
    path = jury(name)
    expected: Triples = [
        (task, judge, label)
        for task, verdicts in map(read, rows_of(path))
        for judge, label in verdicts.items()
        if label
    ]
    solution = aggregate(path, **options)
    totals = solution.totals
    assert totals.n_responses == len(expected)
    assert totals.n_tasks == len({task for task, _, _ in expected})
    assert totals.n_workers == len({judge for _, judge, _ in expected})
    rows = solution.source.responses.table.collect().to_arrow().to_pylist()
    found = [(row["task"], row["worker"], row["label"]) for row in rows if row["label"] is not None]
    assert sorted(found) == sorted(expected)
    per_task = Counter(task for task, _, _ in expected)
    answers = solution.answers.to_pylist()
    assert {row["task"]: row["n_responses"] for row in answers} == per_task
    assert verify(solution, path).verdict == "REPRODUCED"


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith(("wide", "nested"))])
def test_the_consensus_of_a_jury_is_the_same_in_every_form_and_near_the_truth(case):
    name, options, _ = CASES[case]
    truth = {row["task"]: row["label"] for row in rows_of(jury("truth.csv"))}
    solution = aggregate(jury(name), **options, truth=jury("truth.csv"))
    answers = {row["task"]: row["label"] for row in solution.answers.to_pylist()}
    assert solution.accuracy.value == sum(answers[task] == label for task, label in truth.items()) / len(truth) > 0.93
    by_names = aggregate(jury("wide.csv"), task="id", worker_columns=JUDGES)
    assert answers == {row["task"]: row["label"] for row in by_names.answers.to_pylist()}


def test_rows_are_taken_by_the_columns_of_a_tool():
    path = SHARED / "exports" / "toloka_assignments.tsv"
    need(path.is_file(), f"the shared export ({path})")
    with path.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["ASSIGNMENT:worker_id"]]
    worker = Counter(row["ASSIGNMENT:worker_id"] for row in rows).most_common(1)[0][0]
    taken = [row for row in rows if row["ASSIGNMENT:worker_id"] != worker and row["OUTPUT:result"]]
    where = f"worker != {worker} and task != ''"
    solution = aggregate(path, question="result", missing="drop-all", where=where, duplicates="all")
    assert solution.totals.n_responses == len(taken) < len(rows)
