"""Exports of annotation tools: the same responses, whoever wrote them down."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import sys
from pathlib import Path

import duckdb
import pyarrow.csv
import pytest

import crowdopt
from crowdopt.cli.options import CHOICES
from crowdopt.data.readers.tools import TOOL_NAMES
from crowdopt.data.reading import Reading
from crowdopt.errors import InputError
from crowdopt.results.words.summary import summarise
from support.needs import SAMPLES

PLAIN = SAMPLES / "responses.csv"
SENTIMENT = {"question": "sentiment"}
PINNED = {"gold": "export"}
MEASURES = "its known labels measure the answers (--gold export pins them)"

SAME = {
    "mturk": ("mturk.csv", {}),
    "mturk, an option per column": ("mturk_questions.csv", SENTIMENT),
    "mturk, answers as JSON": ("mturk_answers.csv", SENTIMENT),
    "toloka": ("toloka.tsv", {}),
    "label-studio": ("label_studio_enterprise.json", SENTIMENT),
    "label-studio, JSON-MIN": ("label_studio_min.json", SENTIMENT),
    "label-studio, CSV": ("label_studio.csv", SENTIMENT),
    "prodigy": ("prodigy.jsonl", {}),
    "argilla": ("argilla.json", SENTIMENT),
    "appen": ("appen.csv", {}),
    "zooniverse": ("zooniverse.csv", {"question": "Reviews/T0"}),
    "argilla, CSV": ("argilla.csv", SENTIMENT),
    "argilla, nested": ("argilla_records.json", SENTIMENT),
}
"""Exports whose responses are those of the plain table, and none besides."""


def prove(name, **options):
    return crowdopt.prove(SAMPLES / name, **options)


def answers(solution, key="text"):
    """What is said of every task, by the text of the review, which all exports but one have."""
    rows = solution.answers.to_pylist()
    return {
        " ".join(row[key].split()): [row[name] for name in ("label", "confidence", "margin", "n_responses", "status")]
        for row in rows
    }


def counted(solution):
    """The fingerprint of what was counted: tasks and workers have other names in every tool."""
    return solution.buckets.fingerprint(solution.scale.labels)


def same(solution, plain):
    assert answers(solution) == answers(plain)
    assert counted(solution) == counted(plain)
    assert solution.certificate.proof == plain.certificate.proof
    assert solution.certificate.objective == plain.certificate.objective
    assert solution.totals == plain.totals


def tool_of(case):
    return case.partition(",")[0]


@pytest.mark.parametrize("named", [False, True], ids=["recognised", "named"])
@pytest.mark.parametrize("case", SAME)
def test_the_same_responses_give_the_same_answers(case, named):
    file, options = SAME[case]
    solution = prove(file, tool=tool_of(case) if named else "auto", keep=["text"], **options)
    assert solution.reading.tool == tool_of(case)
    same(solution, crowdopt.prove(PLAIN, keep=["text"]))


def test_crowd_kit_of_today_is_a_plain_table_and_an_early_one_is_recognised():
    plain = crowdopt.prove(PLAIN)
    early, named = prove("crowd_kit.csv"), prove("responses.csv", tool="crowd-kit")
    assert (plain.reading.tool, early.reading.tool, named.reading.tool) == ("", "crowd-kit", "crowd-kit")
    for solution in (early, named):
        assert solution.answers.equals(plain.answers)
        assert solution.certificate.fingerprint == plain.certificate.fingerprint


def test_prodigy_without_options_takes_accept_and_reject_as_labels():
    solution, plain = prove("prodigy_binary.jsonl", keep=["text"]), crowdopt.prove(PLAIN, keep=["text"])
    names = {"accept": "Positive", "reject": "Negative"}
    assert {text: names[row[0]] for text, row in answers(solution).items()} == {
        text: row[0] for text, row in answers(plain).items()
    }
    assert solution.totals == plain.totals
    assert solution.certificate.objective == pytest.approx(plain.certificate.objective)


@pytest.mark.parametrize(
    ("file", "options", "notes"),
    [
        ("mturk.csv", {}, ["rejected assignments left out: 3"]),
        ("toloka.tsv", {}, ["rejected assignments left out: 3", "unfinished assignments left out: 1", MEASURES]),
        ("label_studio.json", SENTIMENT, ["cancelled annotations left out: 1", MEASURES]),
        ("prodigy.jsonl", {}, ["ignored examples left out: 1", "rejected examples left out: 1"]),
        ("argilla.json", SENTIMENT, ["discarded responses left out: 1", "drafts left out: 1"]),
        ("toloka.tsv", {"keep_rejected": True}, ["unfinished assignments left out: 1", MEASURES]),
        ("crowd_kit.csv", {}, []),
    ],
)
def test_what_does_not_count_is_left_out_and_said(file, options, notes):
    assert list(prove(file, **options).source.about_export) == notes


@pytest.mark.parametrize("file", ["mturk.csv", "toloka.tsv"])
def test_rejected_work_counts_if_it_is_wanted(file):
    assert prove(file, keep_rejected=True).totals.n_responses == 26
    assert prove(file).totals.n_responses == 23


def test_other_questions_of_the_same_export():
    stars = {2: "Negative", 5: "Positive"}
    plain = answers(crowdopt.prove(PLAIN, keep=["text"]))
    for file in ("label_studio_enterprise.json", "label_studio_min.json", "argilla.json"):
        solution = prove(file, question="stars", keep=["text"])
        assert solution.scale.labels == ("2", "5")
        assert {text: [stars[row[0]], *row[1:]] for text, row in answers(solution).items()} == plain
    assert prove("mturk_answers.csv", question="sure").scale.labels == ("no", "yes")


def test_ids_keep_their_type_and_columns_of_the_export_can_be_named():
    solution = prove("label_studio_enterprise.json", worker="email", **SENTIMENT)
    assert solution.answers["task"].to_pylist() == list(range(1, 9))
    assert solution.workers()["worker"].to_pylist()[0].endswith("@example.com")
    by_text = prove("mturk.csv", tool="mturk", task="text")
    assert set(by_text.answers["task"].to_pylist()) == set(
        crowdopt.prove(PLAIN, task="text").answers["task"].to_pylist()
    )
    latest = prove("label_studio_enterprise.json", duplicates="last", order_by="created_at", **SENTIMENT)
    assert latest.totals.n_responses == 23


@pytest.mark.parametrize(
    ("start", "shown"),
    [(2**64, str), (2**63, str), (2**53, int), (-(2**63) - 9, str)],
    ids=["2^64", "2^63", "2^53", "-"],
)
def test_large_ids_of_an_export_stay_apart(start, shown, tmp_path):
    tasks = json.loads((SAMPLES / "label_studio_enterprise.json").read_text())
    for task in tasks:
        task["id"] += start
    (tmp_path / "large.json").write_text(json.dumps(tasks))
    solution = crowdopt.prove(tmp_path / "large.json", **SENTIMENT)
    assert sorted(map(int, solution.answers["task"].to_pylist())) == [start + n for n in range(1, 9)]
    assert {type(task) for task in solution.answers["task"].to_pylist()} == {shown}


def test_toloka_without_task_ids_tells_tasks_apart_by_what_was_put_in(tmp_path):
    table = duckdb.read_csv(str(SAMPLES / "toloka.tsv"), all_varchar=True)
    one, two = tmp_path / "one.tsv", tmp_path / "two.tsv"
    table.query("t", 'SELECT * EXCLUDE "ASSIGNMENT:task_id" FROM t').write_csv(str(one), sep="\t")
    table.query("t", 'SELECT * EXCLUDE "ASSIGNMENT:task_id", left("INPUT:text", 3) AS "INPUT:start" FROM t').write_csv(
        str(two), sep="\t"
    )
    by_id, by_text, by_both = (crowdopt.prove(path) for path in (SAMPLES / "toloka.tsv", one, two))
    assert counted(by_id) == counted(by_text) == counted(by_both)
    assert "Does what it says." in by_text.answers["task"].to_pylist()
    named = hashlib.md5(b'["Does what it says.","Doe"]', usedforsecurity=False).hexdigest()[:16]
    assert named in by_both.answers["task"].to_pylist()


def test_exports_come_in_several_files_packed_and_as_other_kinds_of_tables(tmp_path):
    records = json.loads((SAMPLES / "argilla.json").read_text())
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (tmp_path / "lines.json").write_text("".join(json.dumps(one) + "\n" for one in records))
    (tmp_path / "half.json").write_text(json.dumps(records[:4]))
    (tmp_path / "rest.json").write_text(json.dumps(records[4:]))
    duckdb.read_json(str(SAMPLES / "argilla.json")).write_parquet(str(tmp_path / "records.parquet"))
    expected = prove("argilla.json", **SENTIMENT)
    for names in (["lines.jsonl"], ["lines.json"], ["half.json", "rest.json"], ["records.parquet"]):
        solution = crowdopt.prove([tmp_path / name for name in names], **SENTIMENT)
        assert solution.reading.tool == "argilla"
        assert solution.answers.equals(expected.answers)


def test_the_columns_of_mturk_name_their_question(tmp_path):
    text = (SAMPLES / "mturk.csv").read_text()
    for column, question in (("Answer.agree.on", "agree"), ("Answer.agree", "agree"), ("Answer.a.b", "a.b")):
        (tmp_path / "mturk.csv").write_text(text.replace("Answer.sentiment.label", column))
        assert crowdopt.prove(tmp_path / "mturk.csv", question=question).totals.n_responses == 23


def test_standard_input_is_recognised(monkeypatch):
    for file in ("label_studio_enterprise.json", "mturk.csv"):
        with (SAMPLES / file).open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            options = SENTIMENT if file.endswith("json") else {}
            assert crowdopt.prove("-", **options).totals.n_responses == 23


@pytest.mark.parametrize("case", [*SAME, "pinned", "not pinned"])
def test_a_solution_of_an_export_needs_no_options_to_be_verified(case, tmp_path):
    more = {"pinned": ("label_studio.json", PINNED | SENTIMENT), "not pinned": ("label_studio.json", SENTIMENT)}
    file, options = (SAME | more)[case]
    prove(file, **options).save(tmp_path / "solution.json")
    solution = crowdopt.Solution.load(tmp_path / "solution.json")
    result = crowdopt.verify(solution, SAMPLES / file)
    assert result.verdict.value == "CONFIRMED", result.reasons
    assert len(solution.workers(SAMPLES / file)) == solution.totals.n_workers
    assert len(solution.predict(SAMPLES / file)) == solution.totals.n_tasks


def test_a_solution_of_one_question_is_not_one_of_another(tmp_path):
    prove("argilla.json", **SENTIMENT).save(tmp_path / "solution.json")
    stored = json.loads((tmp_path / "solution.json").read_text())
    stored["reading"]["question"] = "stars"
    assert crowdopt.verify(crowdopt.Solution.from_dict(stored), SAMPLES / "argilla.json").verdict.value == "REJECTED"


def test_named_columns_make_an_export_a_plain_table():
    columns = {"task": "HITId", "worker": "WorkerId", "label": "AssignmentStatus"}
    solution = prove("mturk.csv", **columns)
    assert (solution.reading.tool, solution.totals.n_responses) == ("", 26)  # which knows nothing of rejected ones
    source = "a plain table, rejected work counts; --from mturk reads it as an export of MTurk (batch results)"
    assert summarise(solution).facts["source"] == source
    assert "source" not in summarise(crowdopt.prove(PLAIN)).facts
    with pytest.raises(InputError, match="no column named 'task'"):
        prove("mturk.csv", tool="")


def test_the_names_of_tools_are_the_same_everywhere():
    known = set(TOOL_NAMES)
    assert set(CHOICES["tools"]) == known | {"table", "auto"}
    for name in ("", "auto", *known):
        assert Reading(tool=name).tool == name
    with pytest.raises(InputError, match="--from must be one of auto, mturk"):
        Reading(tool="table")


def test_groups_of_an_export(invoke):
    solutions = prove("label_studio_enterprise.json", group="email", duplicates="all", **SENTIMENT)
    assert sum(one.totals.n_responses for one in solutions.values()) == 23
    code, out, _ = invoke("prove", SAMPLES / "toloka.tsv", "--group", "text", "--duplicates", "all")
    assert code == 0
    assert "8 groups" in out
    assert "an export of Toloka" in out


@pytest.mark.parametrize(("question", "value"), [("sentiment", {"choices": ["Positive"]}), ("stars", {"rating": 5})])
def test_label_studio_takes_the_answers_back(question, value, tmp_path):
    solution = prove("label_studio.json", question=question)
    solution.write(tmp_path / "predictions.json", output_format="label-studio")
    tasks = json.loads((tmp_path / "predictions.json").read_text())
    rows = {row["task"]: row for row in solution.answers.to_pylist()}
    export = {one["id"]: one for one in json.loads((SAMPLES / "label_studio.json").read_text())}
    control = next(one for one in export[1]["annotations"][0]["result"] if one["from_name"] == question)
    assert [task["id"] for task in tasks] == list(rows)
    for task in tasks:
        assert task["data"] == export[task["id"]]["data"]
        (prediction,) = task["predictions"]
        (result,) = prediction["result"]
        assert prediction["model_version"] == f"crowdopt {crowdopt.__version__}"
        assert prediction["score"] == rows[task["id"]]["confidence"]
        assert {name: result[name] for name in ("from_name", "to_name", "type")} == {
            name: control[name] for name in ("from_name", "to_name", "type")
        }
        (answer,) = result["value"].values()
        assert (answer[0] if question == "sentiment" else answer) == rows[task["id"]]["label"]
    assert tasks[0]["predictions"][0]["result"][0]["value"] == value


@pytest.mark.parametrize(
    ("file", "options", "target", "match"),
    [
        ("label_studio_min.json", SENTIMENT, "p.json", "export JSON instead of JSON-MIN, CSV or TSV"),
        ("prodigy.jsonl", {}, "p.json", "made from an export of Label Studio, and this is none"),
        ("label_studio.json", {"question": "stars", "bins": [3]}, "p.json", "leave out bins"),
        ("label_studio.json", SENTIMENT, "p.csv", "must end in .json"),
    ],
)
def test_predictions_need_an_export_that_says_what_they_belong_to(file, options, target, match, tmp_path):
    with pytest.raises(InputError, match=match):
        prove(file, **options).write(tmp_path / target, output_format="label-studio")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_output_format_is_an_error(tmp_path):
    with pytest.raises(
        InputError, match="table or label-studio or label-studio-predictions or argilla or prodigy, not 'xml'"
    ):
        prove("mturk.csv").write(tmp_path / "a.csv", output_format="xml")


def test_the_command_line_says_what_it_recognised_and_writes_predictions(monkeypatch, tmp_path, invoke):
    shutil.copy(SAMPLES / "label_studio.json", tmp_path / "export.json")
    monkeypatch.chdir(tmp_path)
    code, out, _ = invoke(
        "prove", "export.json", "--question", "sentiment", "-o", "predictions.json",
        "--output-format", "label-studio", "--solution", "solution.json",
    )  # fmt: skip
    said = " ".join(out.split())
    assert code == 0
    assert "an export of Label Studio; question 'sentiment'; cancelled annotations left out: 1" in said
    assert MEASURES in said
    assert len(json.loads(Path("predictions.json").read_text())) == 8
    assert invoke("verify", "solution.json", "export.json")[0] == 0
    code, out, _ = invoke("prove", "export.json", "--question", "sentiment", "--json")
    assert (code, json.loads(out)["tool"], json.loads(out)["n_gold"]) == (0, "label-studio", 0)
    code, out, _ = invoke("prove", PLAIN, "--json")
    assert json.loads(out)["tool"] is None
    code, out, err = invoke("prove", "export.json", "--question", "sentiment", "--output-format", "label-studio")
    assert (code, out) == (2, "")
    assert "needs -o FILE.json" in err


def test_a_frame_is_no_export():
    frame = pyarrow.csv.read_csv(PLAIN)
    with pytest.raises(InputError, match="give its path, not a frame"):
        crowdopt.prove(frame, tool="mturk")
    with pytest.raises(InputError, match="question is for exports"):
        crowdopt.prove(frame, question="q")


def test_prodigy_without_sessions_takes_each_file_for_a_worker(tmp_path):
    lines = [json.loads(line) for line in (SAMPLES / "prodigy_binary.jsonl").read_text().splitlines()]
    people = sorted({one["_session_id"] for one in lines})
    for n, who in enumerate(people):
        own = [one for one in lines if one["_session_id"] == who]
        unsigned = [{k: v for k, v in one.items() if k not in {"_annotator_id", "_session_id"}} for one in own]
        (tmp_path / f"{n}").mkdir()
        (tmp_path / f"{n}" / f"{who}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in unsigned))
    solution = crowdopt.prove(sorted(tmp_path.glob("*/*.jsonl")))
    assert counted(solution) == counted(prove("prodigy_binary.jsonl"))
    assert sorted(solution.workers()["worker"].to_pylist()) == people
    assert solution.source.about_export[-1] == f"no session: workers have the names of their files: {len(people)}"


AS_TEXT = {"python": repr, "numpy": lambda cell: repr(cell).replace(", ", " "), "json": json.dumps}
"""Lists as they are written into the cells of a CSV."""


@pytest.mark.parametrize("written", AS_TEXT)
def test_the_lists_in_a_csv_of_argilla_are_read_whoever_wrote_them(written, tmp_path):
    records = json.loads((SAMPLES / "argilla.json").read_text())
    names, as_text = list(records[0]), AS_TEXT[written]
    with (tmp_path / "argilla.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for one in records:
            writer.writerow([as_text(one[name]) if isinstance(one[name], list) else one[name] for name in names])
    for question in ("sentiment", "stars"):
        solution, named = (
            crowdopt.prove(path, question=question) for path in (tmp_path / "argilla.csv", SAMPLES / "argilla.json")
        )
        assert counted(solution) == counted(named)
        assert solution.source.about_export == named.source.about_export


def test_nested_records_of_argilla_are_the_flat_ones_without_their_status(tmp_path):
    nested = []
    for one in json.loads((SAMPLES / "argilla.json").read_text()):
        lists = [one[f"sentiment.responses{name}"] or [] for name in ("", ".users", ".status")]
        pairs = [
            {"value": value, "user_id": user, "status": status} for value, user, status in zip(*lists, strict=True)
        ]
        fields = {"id": one["id"], "fields": {"text": one["text"]}, "metadata": {"m": 1}}
        nested.append(fields | {"responses": {"sentiment": pairs}})
    (tmp_path / "nested.json").write_text(json.dumps(nested))
    solution = crowdopt.prove(tmp_path / "nested.json", keep=["text", "m"])
    same(solution, prove("argilla.json", keep=["text"], **SENTIMENT))
    for one in nested:
        for pair in one["responses"]["sentiment"]:
            del pair["status"]
    (tmp_path / "nested.json").write_text(json.dumps(nested))
    solution = crowdopt.prove(tmp_path / "nested.json")
    assert (solution.totals.n_responses, solution.totals.n_dropped) == (24, 1)
    assert solution.source.about_export == (
        "it does not say which responses are drafts or were discarded, so all count (flattened records say so)",
    )
