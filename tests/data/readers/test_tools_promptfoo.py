"""promptfoo: one output is one task, whatever wrote it, and what asks for different things is several workers."""

from __future__ import annotations

import csv
import json
from itertools import product

import pytest

import crowdopt
from crowdopt.errors import InputError
from support.juries import as_json, as_lines, lines, notes, responses
from support.needs import SAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

PROVIDERS = ("openai:a", "openai:b")


def graded(**passes):
    """What graders say; each is the metric of an assertion."""
    parts = [
        {"pass": passed, "score": int(passed), "assertion": {"type": "llm-rubric", "metric": metric}}
        for metric, passed in passes.items()
    ]
    return {"pass": all(passes.values()), "score": 1, "componentResults": parts}


def early(tmp_path, results, name="early.json", **more):
    """A document of an early version."""
    return as_json(tmp_path / name, {"results": {"version": 2, "results": results, "stats": {}}, "config": {}} | more)


def result(text, provider="openai:a", template="Say {{v}}", **passes):
    """A result of an early version, which has no numbers of tests and prompts."""
    prompt = {"raw": template.replace("{{v}}", text), "label": template} if template else None
    own = {"id": provider} if provider else None
    return {"provider": own, "prompt": prompt, "vars": {"v": text}, "gradingResult": graded(**passes)}


def test_outputs_of_early_versions_are_told_apart_by_provider_and_prompt(tmp_path):
    results = [
        result(text, provider, template, judge=provider == "openai:a")
        for text, provider, template in product("xy", PROVIDERS, ("Say {{v}}", "Sing {{v}}"))
    ]
    solution = crowdopt.aggregate(early(tmp_path, results))
    assert solution.reading.tool == "promptfoo"
    assert responses(solution) == sorted(
        (f'{{"v":"{text}"}}, {provider}, {template}', "judge", str(provider == "openai:a").lower())
        for text, provider, template in product("xy", PROVIDERS, ("Say {{v}}", "Sing {{v}}"))
    )
    alone = crowdopt.aggregate(early(tmp_path, [result(text, judge=True) for text in "xy"]))
    assert [task for task, *_ in responses(alone)] == ['{"v":"x"}', '{"v":"y"}']


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"provider": "openai:b"}, "openai:b, Say {{v}}"),
        ({"provider": {"id": "openai:a", "label": "hot"}}, "openai:a, hot, Say {{v}}"),
        ({"prompt": "Sing"}, "openai:a, Sing"),
        ({"prompt": {"raw": "Sing", "display": "Song"}}, "openai:a, Song"),
        ({"prompt": {"raw": "Sing"}}, "openai:a, Sing"),
        ({"prompt": {"raw": "Sing " * 50}}, f"openai:a, {'Sing ' * 20}… 53c20f9e"),
    ],
)
def test_what_tells_a_prompt(change, told, tmp_path):
    results = [result("x", judge=True), result("x", judge=False) | change]
    found = responses(crowdopt.aggregate(early(tmp_path, results)))
    assert {task.partition(", ")[2]: label for task, _, label in found} == {
        "openai:a, Say {{v}}": "true",
        told: "false",
    }


def test_without_anything_that_tells_a_prompt_results_are_refused(tmp_path):
    path = early(tmp_path, [result("x", judge=True), result("y", provider="", template="", judge=True)])
    with pytest.raises(InputError, match=r"early\.json: no promptIdx, provider or prompt in"):
        crowdopt.aggregate(path)


def test_repeated_tests_of_early_versions_are_tasks_of_their_own(tmp_path):
    path = early(tmp_path, [result("x", judge=True, other=True), result("x", judge=False), result("y", judge=True)])
    wanted = [
        ('{"v":"x"}', "judge", "true"), ('{"v":"x"}', "other", "true"), ('{"v":"x"}, output 2', "judge", "false"),
        ('{"v":"y"}', "judge", "true"),
    ]  # fmt: skip
    assert responses(crowdopt.aggregate(path)) == wanted
    twice = crowdopt.aggregate([path, path])
    assert (twice.totals.n_tasks, twice.totals.n_responses) == (3, 4)


def test_a_document_whose_results_are_no_results_is_refused(tmp_path):
    path = as_json(tmp_path / "lm.json", {"results": {"hellaswag": {"acc": 0.5}}, "config": {}})
    with pytest.raises(InputError, match=r"lm\.json: no list of results"):
        crowdopt.aggregate(path)


def test_evaluations_are_told_apart(tmp_path):
    whole = json.loads((SAMPLES / "promptfoo.json").read_text())
    path = as_json(tmp_path / "other.json", whole | {"evalId": "eval-2"})
    both = crowdopt.aggregate([SAMPLES / "promptfoo.json", path])
    assert (both.totals.n_tasks, both.totals.n_responses) == (16, 46)
    assert "0, eval eval-2" in both.answers["task"].to_pylist()
    again = crowdopt.aggregate([SAMPLES / "promptfoo.json", SAMPLES / "promptfoo.json"])
    assert (again.totals.n_tasks, again.totals.n_responses) == (8, 23)
    merged = crowdopt.aggregate([SAMPLES / "promptfoo.json", path], tool="promptfoo", task="testIdx")
    assert merged.totals.n_tasks == 8
    files = [as_lines(tmp_path / f"{name}.jsonl", lines("promptfoo.jsonl")) for name in ("monday", "tuesday")]
    tasks = crowdopt.aggregate(files).answers["task"].to_pylist()
    assert {task.partition(", ")[2] for task in tasks} == {"eval monday", "eval tuesday"}


# Workers


def asked(path, *values, **more):
    """Results of tests in which a model is asked for several things, without a metric."""
    parts = [
        {"pass": value != "correct", "score": 1, "assertion": {"type": "llm-rubric", "value": value} | more}
        for value in values
    ]
    records = [
        {"testIdx": n, "promptIdx": 0, "vars": {"v": "x"}, "gradingResult": {"componentResults": parts}}
        for n in range(3)
    ]
    return as_lines(path, records)


@pytest.mark.parametrize(
    ("more", "grader"),
    [({}, "llm-rubric"), ({"provider": "openai:gpt"}, "openai:gpt"), ({"provider": {"id": "j.js"}}, "j.js")],
)
def test_assertions_that_ask_for_different_things_are_several_workers(more, grader, tmp_path):
    solution = crowdopt.aggregate(asked(tmp_path / "p.jsonl", "polite", "correct", **more))
    workers = (f"{grader}: correct", "false"), (f"{grader}: polite", "true")
    assert responses(solution) == [(str(n), *one) for n in range(3) for one in workers]
    assert notes(solution) == [f"assertions without a metric are workers by what they ask for: {grader}"]
    one = crowdopt.aggregate(tmp_path / "p.jsonl", where="assertion = polite")
    assert (one.totals.n_workers, one.totals.n_responses) == (1, 3)


def test_what_long_assertions_ask_for_is_shortened_and_not_merged(tmp_path):
    solution = crowdopt.aggregate(asked(tmp_path / "p.jsonl", "is " * 50 + "polite", "is " * 50 + "brief"))
    assert solution.totals.n_workers == 2
    assert all(len(worker) < 130 for _, worker, _ in responses(solution))


def test_a_metric_is_one_worker_and_so_is_a_grader_that_is_asked_once_in_each_test(tmp_path):
    solution = crowdopt.aggregate(asked(tmp_path / "p.jsonl", "polite", "correct", metric="tone"))
    assert {worker for _, worker, _ in responses(solution)} == {"tone"}
    records = [
        one | {"testIdx": n}
        for n, value in enumerate(("a", "b"))
        for one in map(json.loads, asked(tmp_path / "q.jsonl", value).read_text().splitlines()[:1])
    ]
    solution = crowdopt.aggregate(as_lines(tmp_path / "q.jsonl", records))
    assert {worker for _, worker, _ in responses(solution)} == {"llm-rubric"}


# Tables

HEADER = ["v", "[openai:a] Say {{v}}", "Status", "Score", "Named Scores", "Grader Reason"]


def table(path, *rows, header=HEADER):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def row(text, output, **scores):
    return [text, output, "PASS", "1.00", json.dumps(scores), ""]


def test_rows_of_the_same_inputs_are_told_apart_by_their_description(tmp_path):
    rows = (
        ["is it polite?", *row("x", "o", judge=1)],
        ["is it brief?", *row("x", "o", judge=0)],
        ["", *row("y", "o", judge=1)],
    )
    path = table(tmp_path / "p.csv", *rows, header=["Description", *HEADER])
    assert responses(crowdopt.aggregate(path)) == [
        ("x, is it brief?", "judge", "0"), ("x, is it polite?", "judge", "1"), ("y", "judge", "1")
    ]  # fmt: skip


@pytest.mark.parametrize("described", [False, True])
def test_rows_that_nothing_tells_apart_have_numbers(described, tmp_path):
    rows = [row("x", "o", judge=1), row("x", "o", judge=0), row("x", "p", judge=1), row("y", "o", judge=1)]
    header = HEADER
    if described:
        rows, header = [["same", *one] for one in rows], ["Description", *HEADER]
    path = table(tmp_path / "p.csv", *rows, header=header)
    end = ", same" if described else ""
    found = responses(crowdopt.aggregate(path))
    assert [task for task, *_ in found] == [f"x{end}", f"x{end}, output 2", f"x{end}, output 3", f"y{end}"]
    twice = crowdopt.aggregate([path, table(tmp_path / "q.csv", *rows, header=header)])
    assert (twice.totals.n_tasks, twice.totals.n_responses) == (4, 4)


def test_inputs_may_be_called_as_anything_that_is_found(tmp_path):
    names = ["grader", "scores", "name", "number"]
    rows = [[*"abcd", *row("x", "o", judge=n)[1:]] for n in range(2)]
    path = table(tmp_path / "p.csv", *rows, header=[*names, *HEADER[1:]])
    solution = crowdopt.aggregate(path, keep=names)
    assert [solution.answers[name].to_pylist() for name in names] == [[one] * 2 for one in "abcd"]


# Errors


def test_errors_name_the_file_among_several(tmp_path):
    bad = as_lines(tmp_path / "bad.jsonl", [{"gradingResult": None, "testIdx": None, "promptIdx": 0}])
    with pytest.raises(InputError, match=r"bad\.jsonl: no testIdx in"):
        crowdopt.aggregate([SAMPLES / "promptfoo.jsonl", bad])
    several = table(tmp_path / "two.csv", row("x", "o"), header=[*HEADER, "[b] p", "Status", "Score", "Named Scores"])
    with pytest.raises(InputError, match=r"two\.csv has the outputs of 2 prompts"):
        crowdopt.aggregate([table(tmp_path / "one.csv", row("x", "o", judge=1)), several])
