"""Whatever is wrong with the input: exit code 2, one line that says what to do, and nothing left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdopt
from crowdopt.cli.app import main
from support.commands import HEADER, PROGRAM, text
from support.commands import aggregate_command as aggregate

GOOD = [("a", "ann", "yes"), ("a", "bob", "yes"), ("b", "ann", "no"), ("b", "bob", "yes"), ("c", "bob", "no")]


CONTENTS = {
    "misspelt column": (text(GOOD, ("tsk", "worker", "label")), ["'task'", "--task tsk", "tsk, worker, label"]),
    "column of another name": (text(GOOD, ("item", "worker", "label")), ["--task item"]),
    "other worker column": (text(GOOD, ("task", "Annotator", "label")), ["--worker Annotator"]),
    "other label column": (text(GOOD, ("task", "worker", "rating")), ["--label rating"]),
    "no such column": (text(GOOD, ("task", "worker", "zzz")), ["no column named 'label'", "task, worker, zzz"]),
    "column twice": (text([(*row, "x") for row in GOOD], (*HEADER, "label")), ["2 columns named 'label'"]),
    "empty file": (b"", ["data.csv is empty"]),
    "blank lines": (b"\n\n", ["data.csv is empty"]),
    "header only": (text([]), ["no responses"]),
    "no task": (text([*GOOD, ("", "ann", "yes")]), ["1 of 6 rows", "1 without a task", "--missing drop"]),
    "no worker": (text([*GOOD, ("d", "", "yes")]), ["1 of 6 rows", "1 without a worker", "--missing drop"]),
    "no label": (
        text([*GOOD, ("d", "ann", ""), ("d", "bob", "")]),
        ["2 of 7 rows", "2 without a label", "--missing drop"],
    ),
    "no label at all": (text([("a", "ann", "")]), ["1 of 1 rows", "1 without a label"]),
    "duplicates": (
        text([*GOOD, ("a", "ann", "yes"), ("b", "ann", "yes"), ("c", "bob", "no")]),
        ["3 (task, worker) pairs", "2 with identical labels", "1 with conflicting", "(a, ann)", "--duplicates all"],
    ),
    "identical duplicates": (text([*GOOD, GOOD[0]]), ["1 with identical labels", "0 with", "--duplicates same"]),
    "many labels": (
        text([(f"t{i}", "ann", f"label {i}") for i in range(1000)]),
        ["1000 different labels", "at most 64"],
    ),
    "one label too many": (
        text([(f"t{i}", "ann", f"label {i}") for i in range(65)]),
        ["65 different labels", "at most 64"],
    ),
    "many scores": (
        text([(f"t{i}", "ann", f"{i / 7:.3f}") for i in range(1000)]),
        ["1000 different labels", "at most 64", "scores need --bins (--bins 5 makes five of equal width)"],
    ),
    "blanks around a name": (text(GOOD, ("task", " worker", "label")), ["no column named 'worker'", "' worker'"]),
    "escape codes": (text(GOOD, ("task", "\x1b[31mred", "label")), ["\\x1b[31mred"]),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), ["not a text file", "PNG"]),
    "windows-1252": (text(GOOD) + "é,ann,no\n".encode("windows-1252"), ["UTF-8", "line 7", "windows-1252"]),
    "utf-16": (text(GOOD).decode().encode("utf-16"), ["UTF-16", "--encoding utf-16"]),
    "utf-16 without a mark": (text(GOOD).decode().encode("utf-16-le"), ["--encoding utf-16-le"]),
    "too many fields": (text([*GOOD, ("d", "ann", "no", "x")]), ["line 7", "4 fields", "3"]),
    "open quote": (text(GOOD) + b'"d,ann,no\n', ["line 7", "quote"]),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_bad_content(fails, name):
    content, expected = CONTENTS[name]
    message = fails(*aggregate(), files={"data.csv": content})
    for part in expected:
        assert part in message


MAYBE = text([*GOOD, ("d", "ann", "maybe")])
RATED = text([("a", "ann", "1"), ("a", "bob", "2"), ("b", "ann", "2"), ("b", "bob", "3"), ("c", "bob", "1")])
SCORES = text([(f"t{i}", "ann", f"{i / 7:.3f}") for i in range(100)])
CONFLICT = text([*GOOD, ("a", "ann", "no")])
OPTIONS = {
    "label that is not on the scale": (text(GOOD), ["--labels", "no,maybe"], ["1 label not on", "'yes'", "no, maybe"]),
    "third label where two were named": (text([*GOOD, ("d", "ann", "?")]), ["--labels", "no,yes"], ["1 label", "'?'"]),
    "labels that are not named": (MAYBE, ["--labels", "no,yes"], ["1 label not on the scale no, yes: 'maybe'"]),
    "one label named": (text(GOOD), ["--labels", "no"], ["at least two"]),
    "no label named": (text(GOOD), ["--labels", ","], ["twice"]),
    "65 labels named": (text(GOOD), ["--labels", ",".join(["no", "yes", *map("l{}".format, range(63))])],
                        ["65 different labels; at most 64", "'no', 'yes', 'l0'"]),
    "label named twice": (text(GOOD), ["--labels", "no,no"], ["twice"]),
    "order of texts": (MAYBE, ["--scale", "ordinal"], ["--labels, lowest first", "'maybe', 'no', 'yes'"]),
    "order of categories": (
        MAYBE,
        ["--space", "dominance", "--engine", "vote"],
        ["dominance needs ordered labels: say --scale ordinal, or --labels from lowest to highest"],
    ),
    "order of categories for an engine": (MAYBE, ["--engine", "chain"], ["engine 'chain'", "the space 'dominance'"]),
    "order of what is said to be categories": (
        MAYBE,
        ["--labels", "no,maybe,yes", "--scale", "nominal", "--space", "dominance", "--engine", "vote"],
        ["dominance needs ordered labels"],
    ),
    "bins that are named": (SCORES, ["--bins", "5", "--labels", "low,high"], ["--bins", "leave out --labels"]),
    "edges that are named": (SCORES, ["--bins", "5,9", "--labels", "low,high"], ["--bins", "leave out --labels"]),
    "bins that are categories": (SCORES, ["--bins", "5", "--scale", "nominal"], ["leave out --scale nominal"]),
    "edges of categories": (SCORES, ["--bins", "5,", "--scale", "nominal"], ["leave out --scale nominal"]),
    "one bin": (SCORES, ["--bins", "1"], ["2 to 64 bins, not 1", "--bins 1,"]),
    "65 bins": (SCORES, ["--bins", "65"], ["2 to 64 bins, not 65"]),
    "edges that fall": (SCORES, ["--bins", "3,2"], ["must rise", "3, 2"]),
    "edge twice": (SCORES, ["--bins", "3,3"], ["must rise", "3, 3"]),
    "edge that is infinite": (SCORES, ["--bins", "3,inf"], ["finite", "inf"]),
    "edge that is nan": (SCORES, ["--bins", "nan,"], ["finite", "nan"]),
    "edge that is no number": (SCORES, ["--bins", "0.3,high"], ["--bins takes numbers", "'0.3,high'"]),
    "64 edges": (SCORES, ["--bins", ",".join(map(str, range(64)))], ["64 edges make 65 bins", "at most 64"]),
    "bins of texts": (MAYBE, ["--bins", "0.5"], ["6 of 6 labels are not finite numbers", "'maybe'", "--na"]),
    "bins of one score": (
        text([("a", "ann", "3"), ("b", "ann", "3")]),
        ["--bins", "5"],
        ["all scores are 3", "--bins 3,"],
    ),
    "conflicting duplicates": (
        CONFLICT,
        ["--duplicates", "same"],
        ["1 (task, worker) pairs have conflicting labels", "(a, ann)", "--duplicates all"],
    ),
    "first of no order": (CONFLICT, ["--duplicates", "first"], ["--order-by COL"]),
    "order of nothing": (CONFLICT, ["--order-by", "task"], ["--duplicates first or last"]),
    "order that does not decide": (
        text([(*row, "1") for row in [*GOOD, ("a", "ann", "no")]], (*HEADER, "n")),
        ["--duplicates", "last", "--order-by", "n"],
        ["1 (task, worker) pairs", "'n'", "cannot decide"],
    ),
    "order column that is missing": (
        CONFLICT,
        ["--duplicates", "last", "--order-by", "workr"],
        ["no column named 'workr'", "did you mean 'worker'"],
    ),
    "kept column that is missing": (text(GOOD), ["--keep", "note"], ["no column named 'note'"]),
    "kept column of a reserved name": (text(GOOD, HEADER), ["--task", "worker", "--worker", "task", "--keep", "label"],
                                       ["two columns named 'label'"]),
    "kept column of a reserved name in another case": (
        text([(*row, "x") for row in GOOD], (*HEADER, "Status")),
        ["--keep", "Status"],
        ["'status' and 'Status'", "only in case"],
    ),
    "kept column of the name of a probability": (
        text([(*row, "x") for row in GOOD], (*HEADER, "P_Yes")),
        ["--keep", "P_Yes", "--probabilities"],
        ["'p_yes' and 'P_Yes'"],
    ),
    "probabilities of labels that differ in case": (
        text([("a", "ann", "yes"), ("b", "bob", "Yes")]),
        ["--probabilities"],
        ["'p_Yes' and 'p_yes'", "without --probabilities"],
    ),
    "one column for two roles": (text(GOOD), ["--worker", "task"], ["different columns"]),
    "truth of other tasks": (text(GOOD), ["--truth", "other.csv"], ["none of the tasks", "'x'", "'a'"]),
    "truth of other labels": (text(GOOD), ["--truth", "strange.csv"], ["labels (0, 1)", "(no, yes)"]),
    "truth that contradicts itself": (text(GOOD), ["--truth", "twice.csv"], ["'a'", "two different labels"]),
    "truth that is missing": (text(GOOD), ["--truth", "nowhere.csv"], ["no such file: nowhere.csv"]),
    "truth without a label": (text(GOOD), ["--truth", "bare.csv"], ["no column named 'label'"]),
    "share of an unknown label": (text(GOOD), ["--selectivity", "no=0.5,ja=0.5"], ["'ja=0.5'", "no, yes"]),
    "share that is no number": (text(GOOD), ["--selectivity", "no=half,yes=0.5"], ["'half' is not a number"]),
    "shares that are not all": (text(GOOD), ["--selectivity", "no=0.5,yes=0.6"], ["sum to 1", "1.1"]),
    "share that is missing": (text(GOOD), ["--selectivity", "no=1"], ["missing: yes"]),
    "share given twice": (text(GOOD), ["--selectivity", "no=0.5,no=0.5"], ["'no' twice"]),
    "negative share": (text(GOOD), ["--selectivity", "no=-1,yes=2"], ["between 0 and 1"]),
    "share that is nan": (text(GOOD), ["--selectivity", "no=nan,yes=1"], ["between 0 and 1"]),
    "word for selectivity": (text(GOOD), ["--selectivity", "guess"], ["'guess'", "estimate"]),
    "unknown encoding": (text(GOOD), ["--encoding", "klingon"], ["unknown encoding 'klingon'", "windows-1252"]),
    "wrong encoding": (text(GOOD) + b"\xff,x,no\n", ["--encoding", "utf-16"], ["not utf-16", "another --encoding"]),
    "long delimiter": (text(GOOD), ["--delimiter", "::"], ["one character"]),
    "shares of three labels that are not all": (
        RATED, ["--selectivity", "1=0.3,2=0.3,3=0.3"], ["selectivity must sum to 1, not 0.9"]
    ),
    "two shares of three labels": (RATED, ["--selectivity", "1=0.5,2=0.5"], ["a share for every label; missing: 3"]),
    "scan of three labels": (RATED, ["--engine", "scan"], ["engine 'scan' is for two labels", "here are 3 labels"]),
    "chain over everything": (RATED, ["--engine", "chain", "--space", "all"], ["engine 'chain'", "'dominance'"]),
    "enumeration of everything": (RATED, ["--engine", "enumerate", "--space", "all"], ["engine 'enumerate'"]),
    "smoothing that is nan": (text(GOOD), ["--smoothing", "nan"], ["smoothing must be", "nan"]),
    "smoothing that is infinite": (text(GOOD), ["--smoothing", "inf"], ["smoothing must be", "inf"]),
    "negative seed": (text(GOOD), ["--seed", "-1"], ["the seed must be a whole number of at least 0, not -1"]),
    "time limit that is nan": (text(GOOD), ["--time-limit", "nan"], ["time limit", "nan"]),
    "memory limit": (text(GOOD), ["--memory-limit", "lots"], ["memory limit", "'lots'"]),
    "memory limit below zero": (text(GOOD), ["--memory-limit=-1GB"], ["memory limit", "'-1GB'", "negative"]),
    "memory limit of nothing": (text(GOOD), ["--memory-limit", ""], ["memory limit", "''"]),
    "memory limit of strange units": (text(GOOD), ["--memory-limit", "5 apples"], ["memory limit", "'5 apples'"]),
    "threads": (text(GOOD), ["--threads", "99999999999"], ["threads"]),
}  # fmt: skip
TRUTHS = {
    "other.csv": b"task,label\nx,no\ny,yes\n",
    "strange.csv": b"task,label\na,0\nb,1\n",
    "twice.csv": b"task,label\na,no\na,yes\n",
    "bare.csv": b"task\na\n",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_bad_option(fails, name):
    content, options, expected = OPTIONS[name]
    message = fails(*aggregate(*options), files={"data.csv": content} | TRUTHS)
    for part in expected:
        assert part in message


GOLD = {
    "off the scale": (
        b"task,label\na,0\nb,1\n",
        ["gold label '0' of task 'a' is not on the scale no, yes", "--labels"],
    ),
    "of an unknown task": (b"task,label\na,no\nx,no\n", ["the gold task 'x' is not in the data"]),
    "of unknown tasks": (b"task,label\nx,no\ny,yes\n", ["the gold task 'x' (and 1 more) is not in the data"]),
    "that contradicts itself": (b"task,label\na,no\na,yes\n", ["the gold gives task 'a' two different labels"]),
    "that is empty": (b"", ["gold.csv is empty"]),
    "without rows": (b"task,label\n", ["the gold has no rows with a task and a label"]),
    "without a known label": (b"task,label\na,\n,no\n", ["the gold has no rows with a task and a label"]),
    "without a column of labels": (b"task\na\n", ["no column named 'label'"]),
    "of everything": (b"task,label\na,no\nb,no\nc,yes\n", ["every task with a response has a gold label"]),
    "in another encoding": ("task,label\né,no\n".encode("windows-1252"), ["gold.csv", "UTF-8", "windows-1252"]),
}


@pytest.mark.parametrize("name", GOLD)
def test_bad_gold(fails, name):
    content, expected = GOLD[name]
    message = fails(*aggregate("--gold", "gold.csv"), files={"data.csv": text(GOOD), "gold.csv": content})
    for part in expected:
        assert part in message


def test_gold_that_is_missing(fails):
    message = fails(*aggregate("--gold", "nowhere.csv"), files={"data.csv": text(GOOD)})
    assert "no such file: nowhere.csv" in message


def test_a_truth_that_is_gold(fails):
    files = {"data.csv": text(GOOD), "known.csv": b"task,label\na,no\n"}
    message = fails(*aggregate("--gold", "known.csv", "--truth", "known.csv"), files=files)
    assert "all tasks of the truth are gold" in message


PRIORS = {
    "three answers": (b",no,yes,maybe\nno,1,2,3\nyes,1,2,3\n", "one column for each of no, yes; it has no, yes, maybe"),
    "three labels": (b",no,yes\nno,1,2\nyes,1,2\nmaybe,1,2\n", "one row for each of no, yes; it has no, yes, maybe"),
    "a missing row": (b",no,yes\nno,1,2\n", "one row for each of no, yes; it has no"),
    "a missing column": (b",no\nno,1\nyes,2\n", "one column for each of no, yes; it has no"),
    "a row twice": (b",no,yes\nno,1,2\nno,1,2\n", "prior.csv has two rows for 'no'"),
    "a column twice": (b",no,no\nno,1,2\nyes,1,2\n", "one column for each of no, yes; it has no"),
    "uneven rows": (b",no,yes\nno,1,2\nyes,1\n", "prior.csv must be a table"),
    "no names": (b"1,2\n3,4\n", "one row for each of no, yes; it has 3"),
    "another delimiter": (b";no;yes\nno;1;2\nyes;1;2\n", "one row for each of no, yes; it has no;1;2, yes;1;2"),
    "negative": (b",no,yes\nno,1,2\nyes,1,-2\n", "a pseudo-count in the prior matrix must be"),
    "words": (b",no,yes\nno,1,few\nyes,1,2\n", "prior.csv must hold numbers: could not convert string to float: 'few'"),
    "a hole": (b",no,yes\nno,1,\nyes,1,2\n", "prior.csv must hold numbers: could not convert string to float: ''"),
    "nan": (b",no,yes\nno,1,nan\nyes,1,2\n", "a pseudo-count in the prior matrix must be"),
    "infinite": (b",no,yes\nno,1,inf\nyes,1,2\n", "a pseudo-count in the prior matrix must be"),
    "empty": (b"", "prior.csv must be a table"),
    "header only": (b",no,yes\n", "prior.csv must be a table"),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "prior.csv is not a table of text"),
}


@pytest.mark.parametrize("name", PRIORS)
def test_bad_prior_matrix(fails, name):
    content, expected = PRIORS[name]
    files = {"data.csv": text(GOOD), "prior.csv": content}
    assert expected in fails(*aggregate("--prior-matrix", "prior.csv"), files=files)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nowhere.csv", "cannot read the prior matrix nowhere.csv"),
        (".", "cannot read the prior matrix ."),
        ("nowhere.json", "cannot read nowhere.json"),
        ("rated.json", "the prior solution has the label '1', which is not on the scale no, yes"),
        ("object.json", "not a crowdopt solution file"),
        ("broken.json", "broken.json is not a solution file"),
        ("damaged.json", "the solution file is damaged: 'gold_responses' is missing"),
    ],
)
def test_bad_prior_solution(fails, name, expected):
    Path("rated.csv").write_bytes(RATED)
    solution = crowdopt.aggregate("rated.csv").to_dict()
    files = {"data.csv": text(GOOD), "object.json": b'{"a": 1}', "broken.json": b'{"format": "crowdopt solution",'}
    for file, content in {"rated.json": solution, "damaged.json": solution | {"offsets": {"smoothing": 1}}}.items():
        files[file] = json.dumps(content).encode()
    assert expected in fails(*aggregate("--prior-matrix", name), files=files)


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
    message = fails(*aggregate(**target), files={"data.csv": text(GOOD)})
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
    message = fails("aggregate", name, "-o", "answers.csv", "--solution", "solution.json", files=files)
    for part in expected:
        assert part in message


def test_missing_extra_is_named(fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    message = fails("aggregate", "data.xlsx", "-o", "answers.csv", files={"data.xlsx": b"PK\x03\x04"})
    assert "pip install 'crowdopt[excel]'" in message


def test_answers_and_json_cannot_share_standard_output(fails):
    assert "-o -" in fails("aggregate", "data.csv", "-o", "-", "--json", files={"data.csv": text(GOOD)})


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
    monkeypatch.setattr(sys, "argv", ["crowdopt", *aggregate(*options)])
    Path("data.csv").write_bytes(text(GOOD))
    with pytest.raises(SystemExit) as exited:
        main()
    out, err = capfd.readouterr()
    assert (exited.value.code, out) == (2, "")
    assert err.startswith("crowdopt: ")
    assert err.endswith("; see crowdopt aggregate --help\n")
    assert err.count("\n") == 1
    assert options[0] in err
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_wrong_option_shows_no_password(fails):
    message = fails("aggregate", "data.csv", "--threads", "postgresql://ann:secret@host/crowd", files={})
    assert "postgresql://ann@host/crowd" in message
    assert "secret" not in message


def test_exchanged_arguments_of_verify(fails):
    Path("data.csv").write_bytes(text(GOOD))
    crowdopt.aggregate("data.csv").save("solution.json")
    message = fails("verify", "data.csv", "solution.json", files={})
    assert "the solution comes first and the data second" in message


@pytest.mark.parametrize("name", ["duplicates", "windows-1252"])
def test_real_process_fails_in_one_line_and_leaves_nothing(tmp_path, name):
    content, expected = CONTENTS[name]
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    (work / "data.csv").write_bytes(content)
    done = subprocess.run(
        [PROGRAM, *aggregate()],
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
    assert "one of the inputs" in fails("aggregate", *named, "-o", "data.csv", files=files)
    assert Path("data.csv").read_bytes() == text(GOOD)


@pytest.mark.parametrize("target", ["output", "solution"])
def test_answers_cannot_take_the_place_of_a_prior(fails, target):
    name = {"output": "prior.csv", "solution": "prior.json"}[target]
    files = {"data.csv": text(GOOD), name: b",no,yes\nno,1,2\nyes,1,2\n"}
    assert "one of the inputs" in fails(*aggregate("--prior-matrix", name, **{target: name}), files=files)
    assert Path(name).read_bytes() == files[name]


def test_old_answers_survive_a_failure(fails):
    files = {"data.csv": text([*GOOD, GOOD[0]]), "answers.csv": b"old", "solution.json": b"old"}
    fails(*aggregate(), files=files)
    assert (Path("answers.csv").read_bytes(), Path("solution.json").read_bytes()) == (b"old", b"old")
