"""Files, targets and solutions that cannot be used: one line, and nothing is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdopt
from crowdopt.cli.app import main
from support.bad_input import CONTENTS, GOOD
from support.commands import PROGRAM, text
from support.commands import prove_command as prove


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"output": "nowhere/answers.csv"}, ["nowhere/answers.csv", "folder nowhere does not exist"]),
        ({"output": "answers.doc"}, ["'answers.doc'", ".csv, .tsv, .parquet, .jsonl"]),
        ({"output": "answers"}, [".csv, .tsv, .parquet, .jsonl"]),
        ({"output": "folder.csv"}, ["folder.csv", "is a folder"]),
        ({"output": "data.csv"}, ["data.csv", "one of the inputs"]),
        ({"output": "../work/data.csv"}, ["one of the inputs"]),
        ({"solution": "nowhere/solution.json"}, ["folder nowhere does not exist"]),
        ({"solution": "solution.csv"}, [".json"]),
        ({"solution": "-"}, [".json"]),
    ],
)
def test_bad_target(fails, target, expected):
    Path("folder.csv").mkdir()
    message = fails(*prove(**target), files={"data.csv": text(GOOD)})
    for part in expected:
        assert part in message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dta.csv", ["no such file: dta.csv", "did you mean data.csv?"]),
        ("nowhere/other.csv", ["no such file: nowhere/other.csv"]),
        ("folder", ["folder is a folder", "folder/*.csv"]),
        ("*.tsv", ["no file matches *.tsv"]),
        ("data.parquet", ["data.parquet is not a Parquet file"]),
        ("data.xlsx", ["data.xlsx is not a .xlsx file"]),
        ("data.csv.gz", ["data.csv.gz is not a gzip file"]),
        ("data.json", ["data.json, line 1, column 1: not JSON"]),
        ("data.doc", ["cannot tell its format"]),
        ("nested.parquet", ["'label'", "nested"]),
        ("cut.parquet", ["cut.parquet is damaged or cut short"]),
    ],
)
def test_bad_file(fails, name, expected):
    Path("folder").mkdir()
    pq.write_table(pa.table({"task": ["a"], "worker": ["ann"], "label": [["no"]]}), "nested.parquet")
    whole = Path("nested.parquet").read_bytes()
    suffixes = ["csv", "parquet", "xlsx", "csv.gz", "json", "doc"]
    files = {f"data.{suffix}": text(GOOD) for suffix in suffixes} | {"cut.parquet": whole[:-9]}
    message = fails("prove", name, "-o", "answers.csv", "--solution", "solution.json", files=files)
    for part in expected:
        assert part in message


def test_missing_extra_is_named(fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    message = fails("prove", "data.xlsx", "-o", "answers.csv", files={"data.xlsx": b"PK\x03\x04"})
    assert "pip install 'crowdopt[excel]'" in message


def test_answers_and_json_cannot_share_standard_output(fails):
    assert "-o -" in fails("prove", "data.csv", "-o", "-", "--json", files={"data.csv": text(GOOD)})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-o", "crowd.csv", "--responses", "many"], "--responses"),
        (["-o", "crowd.csv", "--responses", "7-3"], "low"),
        (["-o", "crowd.csv", "--workers", "2", "--responses", "3"], "3 responses per task"),
        (["-o", "crowd.csv", "--selectivity", "a,b"], "--selectivity"),
        (["-o", "crowd.csv", "--selectivity", "0.5,0.6"], "sum to 1"),
        (["-o", "crowd.csv", "--labels", "no"], "at least two"),
        (["-o", "crowd.csv", "--labels", "a,,b"], "none empty"),
        (["-o", "crowd.csv", "--tasks", "999999999999"], "too many to draw at once"),
        (["-o", "crowd.csv", "--kind", "any", "--accuracy", "0.8"], "give one of them"),
        (["-o", "crowd.csv", "--kind", "mlr", "--labels", "1,2,3,4"], "too rare"),
        (["-o", "crowd.csv", "--experts", "51"], "at most that of all workers, 50"),
        (["-o", "crowd.csv", "--truth", "crowd.csv"], "both"),
        (["-o", "-", "--truth", "-"], "both"),
        (["-o", "crowd.csv", "--truth", "nowhere/truth.csv"], "nowhere"),
        (["-o", "crowd.png"], "crowd.png"),
    ],
)
def test_bad_simulation(fails, options, expected):
    assert expected in fails("simulate", *options, files={})


@pytest.mark.parametrize(
    ("solution", "expected"),
    [("nowhere.json", "cannot read nowhere.json"), (".", "cannot read .")],
)
def test_solution_that_cannot_be_read(fails, solution, expected):
    assert expected in fails("verify", solution, "data.csv", files={"data.csv": text(GOOD)})


@pytest.mark.parametrize(
    "options",
    [
        ["--engine", "magic"],
        ["--time-limit", "-1"],
        ["--duplicates", "some"],
        ["--smoothing", "-1"],
        ["--smoothing", "much"],
        ["--space", "everything"],
        ["--scale", "interval"],
        ["--zzz"],
    ],
)
def test_bad_choice_is_explained_without_a_traceback(monkeypatch, capfd, tmp_path, options):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["crowdopt", *prove(*options)])
    Path("data.csv").write_bytes(text(GOOD))
    with pytest.raises(SystemExit) as exited:
        main()
    out, err = capfd.readouterr()
    assert (exited.value.code, out) == (2, "")
    assert err.startswith("crowdopt: ")
    assert err.endswith("; see crowdopt prove --help\n")
    assert err.count("\n") == 1
    assert options[0] in err
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_wrong_option_shows_no_password(fails):
    message = fails("prove", "data.csv", "--threads", "postgresql://ann:secret@host/crowd", files={})
    assert "postgresql://ann@host/crowd" in message
    assert "secret" not in message


def test_exchanged_arguments_of_verify(fails):
    Path("data.csv").write_bytes(text(GOOD))
    crowdopt.prove("data.csv").save("solution.json")
    message = fails("verify", "data.csv", "solution.json", files={})
    assert "the solution comes first and the data second" in message


@pytest.mark.parametrize("name", ["mostly no worker", "windows-1252"])
def test_real_process_fails_in_one_line_and_leaves_nothing(tmp_path, name):
    content, expected = CONTENTS[name]
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    (work / "data.csv").write_bytes(content)
    done = subprocess.run(
        [PROGRAM, *prove()],
        capture_output=True, text=True, check=False, timeout=60, cwd=work, env={"TMPDIR": str(temporary)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("crowdopt: ")
    assert done.stderr.count("\n") == 1
    assert all(part in done.stderr for part in expected)
    assert [path.name for path in work.iterdir()] == ["data.csv"]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("pattern", ["*.csv", "d?ta.csv", "**/data.csv"])
@pytest.mark.parametrize("option", ["input", "truth", "gold"])
def test_answers_cannot_take_the_place_of_what_a_pattern_finds(fails, pattern, option):
    named = [pattern] if option == "input" else ["other.tsv", f"--{option}", pattern]
    files = {"data.csv": text(GOOD), "other.tsv": text(GOOD).replace(b",", b"\t")}
    assert "one of the inputs" in fails("prove", *named, "-o", "data.csv", files=files)
    assert Path("data.csv").read_bytes() == text(GOOD)


@pytest.mark.parametrize("target", ["output", "solution"])
def test_answers_cannot_take_the_place_of_a_prior(fails, target):
    name = {"output": "prior.csv", "solution": "prior.json"}[target]
    files = {"data.csv": text(GOOD), name: b",no,yes\nno,1,2\nyes,1,2\n"}
    assert "one of the inputs" in fails(*prove("--prior-matrix", name, **{target: name}), files=files)
    assert Path(name).read_bytes() == files[name]


def test_old_answers_survive_a_failure(fails):
    files = {"data.csv": text([*GOOD, GOOD[0]]), "answers.csv": b"old", "solution.json": b"old"}
    fails(*prove("--duplicates", "error"), files=files)
    assert (Path("answers.csv").read_bytes(), Path("solution.json").read_bytes()) == (b"old", b"old")
