"""One file for each worker, and the exports in which language models judge: the same responses, whoever wrote them."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import sys

import duckdb
import pyarrow.csv
import pytest

import crowdopt
from crowdopt.errors import ColumnError, InputError
from support.needs import SAMPLES
from support.servers import to_sqlite

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

PLAIN = SAMPLES / "responses.csv"
JUDGES = ["claude-3.5", "gemini-1.5", "gpt-4o", "llama-3.1", "mistral"]
FROM_FILE = {"task": "id", "label": "verdict", "worker_from_file": True}
PASSED = {"true": "Positive", "1": "Positive", "C": "Positive", "false": "Negative", "0": "Negative", "I": "Negative"}
"""What graders say, and the label of the plain table that it stands for."""

SAME = {
    "a file for each": ("jury/*.jsonl", FROM_FILE, "text"),
    "doccano": ("doccano/*.jsonl", {}, "text"),
    "ground-truth, requests": ("ground_truth/consolidation-request/*/*.json", {}, "content"),
    "ground-truth, responses": ("ground_truth/worker-response/*/*/*.json", {}, ""),
    "openai-batch": ("openai_batch/*.jsonl", {}, ""),
    "openai-batch, by file": ("openai_batch/*.jsonl", {"worker_from_file": True}, ""),
    "inspect-ai": ("inspect_log.json", {}, "input"),
    "inspect-ai, table": ("inspect_samples.csv", {}, "input"),
    "promptfoo": ("promptfoo.json", {}, "text"),
    "promptfoo, lines": ("promptfoo.jsonl", {}, "text"),
    "promptfoo, score": ("promptfoo.json", {"question": "score"}, "text"),
    "promptfoo, table": ("promptfoo.csv", {}, "text"),
    "labelbox": ("labelbox.ndjson", {}, "row_data"),
}
"""Where the responses of the plain table are, how to read them, and the column that has the text of the review."""


def read(pattern, **options):
    return crowdopt.aggregate(sorted(SAMPLES.glob(pattern)), **options)


def workers(solution):
    return sorted(solution.workers()["worker"].to_pylist())


def answers(solution, key):
    return {
        " ".join(row[key].split()): (PASSED.get(str(row["label"]).lower(), PASSED.get(str(row["label"]), row["label"])))
        for row in solution.answers.to_pylist()
    }


@pytest.mark.parametrize("case", SAME)
def test_the_same_responses_give_the_same_answers(case):
    pattern, options, key = SAME[case]
    plain = crowdopt.aggregate(PLAIN, keep=["text"])
    solution = read(pattern, keep=[key] if key else [], **options)
    tool = case.partition(",")[0]
    assert solution.reading.tool == ("" if tool == "a file for each" else tool)
    assert solution.totals == plain.totals
    assert (solution.totals.n_tasks, solution.totals.n_workers, solution.totals.n_responses) == (8, 5, 23)
    if key:
        assert answers(solution, key) == answers(plain, "text")


@pytest.mark.parametrize("case", SAME)
def test_a_solution_needs_no_options_to_be_verified(case, tmp_path):
    pattern, options, _ = SAME[case]
    read(pattern, **options).save(tmp_path / "solution.json")
    solution = crowdopt.Solution.load(tmp_path / "solution.json")
    files = sorted(SAMPLES.glob(pattern))
    result = crowdopt.verify(solution, files)
    assert result.verdict.value == "REPRODUCED", result.reasons
    assert len(solution.predict(files)) == 8


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".jsonl", ".ndjson", ".xlsx"])
def test_names_of_files_name_workers_in_every_format(suffix, tmp_path):
    for judge in JUDGES:
        rows = [json.loads(line) for line in (SAMPLES / "jury" / f"{judge}.jsonl").read_text().splitlines()]
        path = tmp_path / f"{judge}{suffix}"
        if suffix in {".jsonl", ".ndjson"}:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif suffix == ".xlsx":
            openpyxl = pytest.importorskip("openpyxl")
            book = openpyxl.Workbook()
            for row in [("id", "verdict"), *((row["id"], row["verdict"]) for row in rows)]:
                book.active.append(row)
            book.save(path)
        elif suffix == ".parquet":
            table = [{"id": row["id"], "verdict": row["verdict"]} for row in rows]
            duckdb.from_arrow(pyarrow.Table.from_pylist(table)).write_parquet(str(path))
        else:
            with gzip.open(path, "wt") if suffix.endswith(".gz") else path.open("w") as file:
                writer = csv.writer(file, delimiter="\t" if suffix == ".tsv" else ",")
                writer.writerows([("id", "verdict"), *((row["id"], row["verdict"]) for row in rows)])
    for data in (sorted(tmp_path.iterdir()), str(tmp_path / "*")):
        solution = crowdopt.aggregate(data, **FROM_FILE)
        assert workers(solution) == JUDGES
        assert solution.totals == crowdopt.aggregate(PLAIN).totals


def test_only_known_suffixes_are_cut_and_folders_tell_files_of_one_name_apart(tmp_path):
    for place in ("a/x/out.csv", "b/x/out.csv", "b/y/out.v2.csv", "other.CSV"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("task,label\n1,yes\n2,no\n")
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    solution = crowdopt.aggregate(files, worker_from_file=True)
    assert workers(solution) == ["a/x/out", "b/x/out", "other", "out.v2"]
    assert solution.totals.n_responses == 8
    twice = crowdopt.aggregate([files[0], files[0]], worker_from_file=True)
    assert (workers(twice), twice.totals.n_responses) == (["out"], 2)


def test_the_same_names_however_the_files_are_named(tmp_path, monkeypatch):
    shutil.copytree(SAMPLES / "jury", tmp_path / "jury")
    whole = crowdopt.aggregate(sorted((tmp_path / "jury").glob("*")), **FROM_FILE)
    monkeypatch.chdir(tmp_path / "jury")
    assert crowdopt.verify(whole, "../jury/*.jsonl").verdict.value == "REPRODUCED"
    assert crowdopt.verify(whole, [f"{judge}.jsonl" for judge in JUDGES]).verdict.value == "REPRODUCED"


def test_the_worker_column_may_have_another_name_but_not_that_of_another_column():
    named = read("jury/*.jsonl", worker="judge", **FROM_FILE)
    assert workers(named) == JUDGES
    with pytest.raises(ColumnError, match="has a column 'worker': leave out worker_from_file=True"):
        crowdopt.aggregate(PLAIN, worker_from_file=True)
    said = named.words().facts["source"]
    assert said == "workers have the names of their files: 5"


def test_the_option_is_suggested_where_it_may_help():
    several = sorted(SAMPLES.glob("jury/*.jsonl"))
    columns = {"task": "id", "label": "verdict"}
    with pytest.raises(ColumnError, match="if every file has the answers of one worker, say worker_from_file=True"):
        crowdopt.aggregate(several, **columns)
    for data, options in ((several[0], columns), ([PLAIN, PLAIN], {"worker": "who"})):
        with pytest.raises(ColumnError) as error:
            crowdopt.aggregate(data, **options)
        assert "worker_from_file" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "options", "match"),
    [
        ("frame", {}, "a frame or a table of a database has none"),
        ("database", {}, "a frame or a table of a database has none"),
        ("jury/*.jsonl", {"wide": True}, "a wide table has a column for each worker: .* or wide=True"),
        ("jury/*.jsonl", {"worker_columns": "j_*"}, "a wide table has a column for each worker: .* or worker_columns"),
        ("label_studio.json", {"question": "sentiment"}, "worker_from_file=True means nothing for an export of Label"),
    ],
)
def test_the_option_means_nothing_for_other_data(data, options, match, tmp_path):
    table = pyarrow.csv.read_csv(PLAIN)
    if data == "database":
        to_sqlite(table, tmp_path / "r.db")
        data, options = f"sqlite:///{tmp_path / 'r.db'}", {"table": "responses"}
    elif data != "frame":
        data = sorted(SAMPLES.glob(data))
    with pytest.raises(InputError, match=match):
        crowdopt.aggregate(
            table if isinstance(data, str) and data == "frame" else data, worker_from_file=True, **options
        )


def test_standard_input_has_no_name(monkeypatch, tmp_path):
    example = {"_task_hash": 1, "_input_hash": 2, "answer": "accept"}
    (tmp_path / "prodigy.jsonl").write_text(json.dumps(example))
    doccano = SAMPLES / "doccano" / "ann.jsonl"
    for path, options in (
        (SAMPLES / "jury" / "mistral.jsonl", FROM_FILE),
        (doccano, {}),
        (tmp_path / "prodigy.jsonl", {}),
    ):
        with path.open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            with pytest.raises(InputError, match="standard input has none"):
                crowdopt.aggregate("-", **options)
