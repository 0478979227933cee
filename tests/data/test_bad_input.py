"""Whatever is wrong with the input: exit code 2, one line that says what to do, and nothing left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crowdopt
from support.bad_input import CONTENTS, GOOD
from support.commands import HEADER, text
from support.commands import prove_command as prove
from support.needs import SAMPLES


@pytest.mark.parametrize("name", CONTENTS)
def test_bad_content(fails, name):
    content, expected = CONTENTS[name]
    message = fails(*prove(), files={"data.csv": content})
    for part in expected:
        assert part in message


MAYBE = text([*GOOD, ("d", "ann", "maybe")])


RATED = text([("a", "ann", "1"), ("a", "bob", "2"), ("b", "ann", "2"), ("b", "bob", "3"), ("c", "bob", "1")])


SCORES = text([(f"t{i}", "ann", f"{i / 7:.3f}") for i in range(100)])


CONFLICT = text([*GOOD, ("a", "ann", "no")])


ODD_LABELS = [("d", worker, label) for worker, label in zip("abcd", ("N/A", "maybe", "na", "none"), strict=True)]

OPTIONS = {
    "label that is not on the scale": (text(GOOD), ["--labels", "no,maybe"], ["1 label not on", "'yes'", "no, maybe"]),
    "third label where two were named": (text([*GOOD, ("d", "ann", "?")]), ["--labels", "no,yes"], ["1 label", "'?'"]),
    "labels that are not named": (MAYBE, ["--labels", "no,yes"], ["1 label not on the scale no, yes: 'maybe'"]),
    "one label named": (text(GOOD), ["--labels", "no"], ["at least two"]),
    "no label named": (text(GOOD), ["--labels", ","], ["twice"]),
    "65 labels named": (text(GOOD), ["--labels", ",".join(["no", "yes", *map("l{}".format, range(63))])],
                        ["65 different labels", "'l0', 'l1'", "at most 64"]),
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
    "labels off the scale": (
        text([*ODD_LABELS, *GOOD]),
        ["--labels", "no,yes"],
        ["4 labels not on the scale no, yes: 'N/A', 'maybe', 'na', 'none'; ",
         '--na "N/A,maybe,na,none" leaves them out, and --tidy leaves out words for a missing label'],
    ),
    "a label that looks like one of the scale": (
        text([*GOOD, ("d", "ann", "y\u0435s")]),
        ["--labels", "no,yes"],
        [r"1 label not on the scale no, yes: 'y\u0435s'; --tidy takes labels that look alike for one"],
    ),
    "a label that looks like one of a scale of other letters": (
        text(GOOD),
        ["--labels", "no,y\u0435s"],
        [r"1 label not on the scale no, 'y\u0435s': 'yes'; --tidy takes labels that look alike for one"],
    ),
    "bins of texts": (MAYBE, ["--bins", "0.5"], ["6 of 6 labels are not finite numbers", "'maybe'", "--na"]),
    "bins of one score": (
        text([("a", "ann", "3"), ("b", "ann", "3")]),
        ["--bins", "5"],
        ["all scores are 3", "--bins 3,"],
    ),
    "no task": (
        text([*GOOD, ("", "ann", "yes")]),
        ["--missing", "error"],
        ["1 of 6 rows", "1 without a task", "leave out --missing error"],
    ),
    "no worker": (
        text([*GOOD, ("d", "", "yes")]),
        ["--missing", "error"],
        ["1 of 6 rows", "1 without a worker", "leave out --missing error"],
    ),
    "no label": (
        text([*GOOD, ("d", "ann", ""), ("d", "bob", "")]),
        ["--missing", "error"],
        ["2 of 7 rows", "2 without a label", "leave out --missing error"],
    ),
    "duplicates": (
        text([*GOOD, ("a", "ann", "yes"), ("b", "ann", "yes"), ("c", "bob", "no")]),
        ["--duplicates", "error"],
        ["3 (task, worker) pairs", "2 with identical labels", "1 with conflicting", "(a, ann)", "--duplicates all"],
    ),
    "identical duplicates": (
        text([*GOOD, GOOD[0]]),
        ["--duplicates", "error"],
        ["1 with identical labels", "0 with", "leave out --duplicates error"],
    ),
    "conflicting duplicates": (
        CONFLICT,
        ["--duplicates", "same"],
        ["1 (task, worker) pair has conflicting labels", "(a, ann)", "leave out --duplicates same"],
    ),
    "first of no order": (CONFLICT, ["--duplicates", "first"], ["--order-by COL"]),
    "order of nothing": (CONFLICT, ["--order-by", "task"], ["--duplicates first|last"]),
    "order that does not decide": (
        text([(*row, "1") for row in [*GOOD, ("a", "ann", "no")]], (*HEADER, "n")),
        ["--duplicates", "last", "--order-by", "n"],
        ["1 (task, worker) pair has", "'n'", "cannot decide"],
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
        ["--probabilities", "--verbatim"],
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
    "memory limit of nothing": (text(GOOD), ["--memory-limit", ""], ["--memory-limit is empty"]),
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
    message = fails(*prove(*options), files={"data.csv": content} | TRUTHS)
    for part in expected:
        assert part in message


GOLD = {
    "off the scale": (
        b"task,label\na,0\nb,1\n",
        ["gold label '0' of task 'a' is not on the scale no, yes", "--labels"],
    ),
    "that looks like a label": (
        "task,label\na,no\nb,y\u0435s\n".encode(),
        [r"gold label 'y\u0435s' of task 'b' is not on the scale no, yes; --tidy takes labels that look alike for one"],
    ),
    "of an unknown task": (
        b"task,label\na,no\nx,no\n",
        ["the gold task 'x' is not in the data; take it out of the gold"],
    ),
    "of a task in another case": (
        b"task,label\nA,no\n",
        ["the gold task 'A' is not in the data; did you mean 'a'? Else take it out of the gold"],
    ),
    "of unknown tasks": (
        b"task,label\nx,no\ny,yes\n",
        ["the gold task 'x' (and 1 more) is not in the data; take them out of the gold"],
    ),
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
    message = fails(*prove("--gold", "gold.csv"), files={"data.csv": text(GOOD), "gold.csv": content})
    for part in expected:
        assert part in message


def test_gold_that_is_missing(fails):
    message = fails(*prove("--gold", "nowhere.csv"), files={"data.csv": text(GOOD)})
    assert "no such file: nowhere.csv" in message


def test_a_truth_that_is_gold(fails):
    files = {"data.csv": text(GOOD), "known.csv": b"task,label\na,no\n"}
    message = fails(*prove("--gold", "known.csv", "--truth", "known.csv"), files=files)
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
    assert expected in fails(*prove("--prior-matrix", "prior.csv"), files=files)


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
    solution = crowdopt.prove("rated.csv").to_dict()
    files = {"data.csv": text(GOOD), "object.json": b'{"a": 1}', "broken.json": b'{"format": "crowdopt solution",'}
    for file, content in {"rated.json": solution, "damaged.json": solution | {"offsets": {"smoothing": 1}}}.items():
        files[file] = json.dumps(content).encode()
    assert expected in fails(*prove("--prior-matrix", name), files=files)


def test_a_name_with_a_nul_character_is_told_as_such(fails):
    message = fails(
        "aggregate", "a.jsonl", "--task", "id", "--wide", files={"a.jsonl": b'{"id": "a", "x\\u0000y": "p", "b": "p"}'}
    )
    assert "the name 'x\\x00y' has a NUL character: take it out" in message


def test_a_question_may_have_a_nul_character(tmp_path):
    path = tmp_path / "a.json"
    path.write_text((SAMPLES / "label_studio.json").read_text().replace('"sentiment"', '"senti\\u0000ment"'))
    solution = crowdopt.aggregate(path, question="senti\0ment")
    assert solution.answers.equals(crowdopt.aggregate(SAMPLES / "label_studio.json", question="sentiment").answers)
