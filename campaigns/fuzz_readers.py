"""Who reads spoilt files, how these are drawn, and what may come of them."""

from __future__ import annotations

import io
import json
import math
import re
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pandas as pd
import polars as pl
import pyarrow as pa

import crowdopt
from campaigns.mutations import (
    HOSTILE,
    ODD_VALUES,
    Rng,
    as_csv,
    as_jsonl,
    as_parquet,
    as_sqlite,
    as_xlsx,
    packed,
    spoil_bytes,
    spoil_json,
    spoil_rows,
    spoil_value,
    spoil_zip,
    table,
)
from crowdopt import Database, Solution, Solutions, verify
from crowdopt.cli.app import main as command_line
from crowdopt.verify.verdict import Verdict
from support.needs import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable


LONGEST = 1200
"""Characters of an error; whoever wrote a long cell does not want to read it again."""


INSIDE = re.compile(
    r"[Tt]raceback|[Dd]uck ?[Dd][Bb]|read_csv|read_json|read_ndjson|read_parquet|json_extract|maximum_object_size|"
    r"max_line_size|ignore_errors|INTERNAL|[A-Z]\w+ Error: |Invalid Input|LINE \d|SELECT |CAST|recursion|builtins|"
    r"numpy|pyarrow|pandas\.|NoneType|object at 0x|export\.parquet|sheet\.parquet|crowdopt_(?!version)|/copies/|"
    r"crowdopt-\w{8}|unhashable|subscriptable|unexpected keyword|positional argument|out of bounds|not iterable|"
    r"has no attribute|list indices|unsupported operand|not supported between"
)
"""Words of what we are made of, which say nothing to who reads an error."""


GOOD = "task,worker,label\na,ann,yes\na,bob,yes\nb,ann,no\nb,bob,yes\nc,bob,no\nd,ann,no\nd,bob,no\nd,eve,yes\n"


RATED = "task,worker,label\n" + "".join(f"t{t},w{w},{1 + (t * 7 + w * w) % 3}\n" for t in range(9) for w in range(3))


GROUPED = "group," + GOOD.replace("\n", "\ng1,").removesuffix("g1,") + "g2,a,ann,no\ng2,b,ann,yes\n"


OPTIONS: dict[str, Any] = {"threads": 1, "time_limit": 1.0}


@dataclass(frozen=True)
class Reader:
    """A way in for files of one kind.

    Attributes:
        name: The name of the file.
        make: Draws the bytes of a spoilt file.
        read: Reads it in the current folder; returns what is wrong with the outcome, or nothing.
    """

    name: str
    make: Callable[[Rng], bytes]
    read: Callable[[str, int], str]


# Ways in.


def aggregated(name: str, choice: int) -> str:
    """The responses, through Python or the command line."""
    return _aggregated(name, choice, _chosen_options(name, choice))


def asked(question: str) -> Callable[[str, int], str]:
    """The responses to a question, likewise."""
    return lambda name, choice: _aggregated(name, choice, {"question": question} | _chosen_options(name, choice))


def _aggregated(name: str, choice: int, options: dict[str, Any]) -> str:
    if choice % 3 == 0:
        return _ran("prove", name, *_as_words(options), "--threads", "1", "--time-limit", "1",
                    "-o", "out/answers.csv", "--solution", "out/solution.json")  # fmt: skip
    return _closed(crowdopt.prove(name, **options, **OPTIONS))


def unasked(name: str, choice: int) -> str:
    """The responses of an export that has one question."""
    lenient = {"missing": "drop", "duplicates": "all"} if choice % 2 else {}
    return _closed(crowdopt.prove(name, **lenient, **OPTIONS))


def _chosen_options(name: str, choice: int) -> dict[str, Any]:
    """Options that let more files through, so that what lies behind the first check is tried too."""
    lenient = {"missing": "drop", "duplicates": "all"} if choice % 2 else {}
    if name.endswith(".json") and choice % 5:
        lenient["question"] = "sentiment"
    more = {2: {"encoding": "utf-16"}, 3: {"encoding": "latin-1"}, 4: {"delimiter": ";"}, 5: {"wide": True},
            6: {"group": "worker"}, 7: {"keep": ["label"]}, 8: {"tool": ""}, 9: {"bins": 3}}  # fmt: skip
    return lenient | (more.get(choice % 40, {}) if not name.endswith(".json") else {})


def _as_words(options: dict[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        option = {"tool": "--from"}.get(name, f"--{name}")
        shown = {"": "table"}.get(value, value) if name == "tool" else value
        words += [option] if value is True else [option, *(shown if isinstance(shown, list) else [str(shown)])]
    return words


def _ran(*words: str, codes: tuple[int, ...] = (0, 2, 4)) -> str:
    """Runs a command in this process: what is wrong with its exit code or what it says on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["crowdopt", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            command_line()
            code: Any = 0
        except SystemExit as exited:
            code = exited.code or 0
    said = err.getvalue()
    if code not in codes:
        return f"exit code {code}: {said[:200]}"
    if code == 2 and not (said.startswith("crowdopt: ") and said.count("\n") == 1 and said.endswith("\n")):
        return f"not one line: {said[:200]!r}"
    return about_message(said.rstrip("\n")) if code == 2 else ""


def _closed(result: Any) -> str:
    """Uses an answer, and lets go of it."""
    try:
        len(result.answers)
        json.dumps(result.summary(), allow_nan=False)
    finally:
        if result.source is not None and result.source.workspace is not None:
            result.source.workspace.close()
    return ""


def from_database(name: str, choice: int) -> str:
    """A file of SQLite."""
    del choice
    return _closed(crowdopt.prove(Database(f"sqlite:///{Path(name).absolute()}", table="responses"), **OPTIONS))


def beside(option: str, data: str = GOOD) -> Callable[[str, int], str]:
    """A second file beside good responses."""

    def read(name: str, choice: int) -> str:
        Path("good.csv").write_text(data, encoding="utf-8")
        try:
            if choice % 3 == 0:
                return _ran("prove", "good.csv", f"--{option.replace('_', '-')}", name, "--threads", "1")
            return _closed(crowdopt.prove("good.csv", **{option: name}, **OPTIONS))
        finally:
            Path("good.csv").unlink()

    return read


def as_frame(name: str, choice: int) -> str:
    """A frame of odd values, of one of three kinds."""
    columns = json.loads(Path(name).read_bytes())
    try:
        frame = [pd.DataFrame, pl.DataFrame, pa.table][choice % 3](columns)
    except (ValueError, TypeError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError):
        return ""  # not a frame to begin with
    return _closed(crowdopt.prove(frame, missing="drop", duplicates="all", time_limit=1.0))


@cache
def true_solution(kind: str) -> bytes:
    """A true solution file, with the data in the current folder."""
    data = {"solution": GOOD, "ratings": RATED, "groups": GROUPED}[kind]
    more = {"solution": {"gold": {"a": "yes"}, "smoothing": 0.5}, "ratings": {}, "groups": {"group": "group"}}[kind]
    with tempfile.TemporaryDirectory() as folder:
        path, saved = Path(folder) / "good.csv", Path(folder) / "s.json"
        path.write_text(data, encoding="utf-8")
        result = (
            crowdopt.prove(path, **more, jobs=1, **OPTIONS)
            if kind == "groups"
            else crowdopt.prove(path, **more, **OPTIONS)
        )
        result.save(saved)
        _closed(result)
        return saved.read_bytes()


def verified(kind: str) -> Callable[[str, int], str]:
    """A solution file, checked against the data that it was made from."""

    def read(name: str, choice: int) -> str:
        Path("good.csv").write_text({"solution": GOOD, "ratings": RATED, "groups": GROUPED}[kind], encoding="utf-8")
        try:
            if choice % 4 == 0:
                (Solutions if kind == "groups" else Solution).load(name)
                return ""
            if choice % 4 == 1:
                return _ran("verify", name, "good.csv", "--threads", "1", codes=(0, 1, 2, 3))
            found = verify(name, "good.csv", threads=1, jobs=1, time_limit=5.0)
            if found.verdict is Verdict.CONFIRMED:
                return about_meaning(Path(name).read_bytes(), true_solution(kind))
            return next(filter(None, map(about_message, found.reasons)), "")
        finally:
            Path("good.csv").unlink()

    return read


OWN = {"crowdopt_version", "seed", "seconds", "work", "reading", "doubts"}
"""What no data can tell; how data are read shows in what was counted, and ``verify`` finds doubts by itself."""


def about_meaning(content: bytes, true: bytes) -> str:
    """Whether a file that was confirmed says something else than the true one."""
    return f"CONFIRMED, but {where} differs" if (where := _differs(json.loads(content), json.loads(true), "")) else ""


def _differs(ours: Any, theirs: Any, place: str) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = sorted((ours.keys() | theirs.keys()) - OWN)
        found = (_differs(ours.get(name), theirs.get(name), f"{place}/{name}") for name in names)
        return next(filter(None, found), "")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        found = (
            _differs(one, other, f"{place}/{at}") for at, (one, other) in enumerate(zip(ours, theirs, strict=True))
        )
        return next(filter(None, found), "")
    if type(ours) in {int, float} and type(theirs) in {int, float}:
        return "" if math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-6) else place
    return "" if type(ours) is type(theirs) and ours == theirs else place


# What is read.


def _delimited(delimiter: str = ",", **options: Any) -> Callable[[Rng], bytes]:
    def make(rng: Rng) -> bytes:
        content = as_csv(spoil_rows(table(rng, **options), rng), rng, delimiter)
        return content if rng.random() < 0.3 else spoil_bytes(content, rng)

    return make


def _packed(packing: str) -> Callable[[Rng], bytes]:
    def make(rng: Rng) -> bytes:
        content = packed(_delimited()(rng), packing)
        return content if rng.random() < 0.4 else spoil_bytes(content, rng)

    return make


def _rows_as(write: Callable[[Any, Rng], bytes], spoil: Callable[[bytes, Rng], bytes]) -> Callable[[Rng], bytes]:
    def make(rng: Rng) -> bytes:
        content = write(table(rng), rng)
        return content if rng.random() < 0.2 else rng.choice([spoil, spoil_bytes])(content, rng)

    return make


def _sample(*names: str) -> Callable[[Rng], bytes]:
    def make(rng: Rng) -> bytes:
        name = rng.choice(names)
        content = (SAMPLES / name).read_bytes()
        by_value = name.endswith(("json", "jsonl")) and rng.random() < 0.7
        return (spoil_json if by_value else spoil_bytes)(content, rng)

    return make


def _spoilt_solution(kind: str) -> Callable[[Rng], bytes]:
    return lambda rng: (spoil_json if rng.random() < 0.7 else spoil_bytes)(true_solution(kind), rng)


def _frame(rng: Rng) -> bytes:
    header, *rows = table(rng)
    columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(header)}
    name = rng.choice(header)
    what = rng.randrange(4)
    if what == 0:
        columns[name][rng.randrange(len(rows))] = rng.choice([*ODD_VALUES, *HOSTILE])
    elif what == 1:
        columns[name] = [rng.choice(ODD_VALUES) for _ in rows]
    elif what == 2:
        columns[rng.choice(HOSTILE)] = columns.pop(name)
    else:
        columns[name] = [spoil_value(cell, rng) for cell in columns[name]]
    return json.dumps(columns).encode()


def _matrix(rng: Rng) -> bytes:
    rows = [["", "no", "yes"], ["no", "2", "1"], ["yes", "1", "2"]]
    content = as_csv(spoil_rows(rows, rng), rng)
    return content if rng.random() < 0.4 else spoil_bytes(content, rng)


def _pairs(*rows: tuple[str, str]) -> Callable[[Rng], bytes]:
    def make(rng: Rng) -> bytes:
        content = as_csv(spoil_rows([list(row) for row in rows], rng), rng)
        return content if rng.random() < 0.4 else spoil_bytes(content, rng)

    return make


KNOWN = (("task", "label"), ("a", "yes"), ("b", "no"))


CLASSES = (("worker", "class"), ("ann", "expert"), ("bob", "other"), ("eve", "other"))


REQUESTS = "ground_truth/consolidation-request/iteration-1/2024-03-04_11-00-00.json"
"""The sample of SageMaker Ground Truth that has all objects."""


READERS = {
    "csv": Reader("r.csv", _delimited(), aggregated),
    "tsv": Reader("r.tsv", _delimited("\t"), aggregated),
    "csv.gz": Reader("r.csv.gz", _packed("gz"), aggregated),
    "csv.zst": Reader("r.csv.zst", _packed("zst"), aggregated),
    "jsonl": Reader("r.jsonl", _rows_as(as_jsonl, spoil_json), aggregated),
    "parquet": Reader("r.parquet", _rows_as(as_parquet, spoil_bytes), aggregated),
    "xlsx": Reader("r.xlsx", _rows_as(as_xlsx, spoil_zip), aggregated),
    "sqlite": Reader("r.db", _rows_as(as_sqlite, spoil_bytes), from_database),
    "frame": Reader("r.json", _frame, as_frame),
    "juries": Reader(
        "r.jsonl",
        _sample("openai_batch/gpt-4o_output.jsonl", "openai_batch/claude-3.5_output.jsonl", "promptfoo.jsonl"),
        aggregated,
    ),
    "juries.json": Reader("r.json", _sample("inspect_log.json", "promptfoo.json", REQUESTS), unasked),
    "juries.csv": Reader("r.csv", _sample("inspect_samples.csv", "promptfoo.csv"), aggregated),
    "annotators": Reader("r.jsonl", _sample("doccano/ann.jsonl", "labelbox.ndjson"), aggregated),
    "mturk": Reader("r.csv", _sample("mturk.csv", "mturk_answers.csv", "mturk_questions.csv"), aggregated),
    "items of mturk": Reader("r.csv", _sample("mturk_items.csv"), asked("rating")),
    "toloka": Reader("r.tsv", _sample("toloka.tsv"), aggregated),
    "appen": Reader("r.csv", _sample("appen.csv"), aggregated),
    "zooniverse": Reader("r.csv", _sample("zooniverse.csv"), asked("Reviews/T0")),
    "crowd-kit": Reader("r.csv", _sample("crowd_kit.csv"), aggregated),
    "prodigy": Reader("r.jsonl", _sample("prodigy.jsonl", "prodigy_binary.jsonl"), aggregated),
    "argilla": Reader("r.json", _sample("argilla.json", "argilla_records.json"), aggregated),
    "argilla, lists in cells": Reader("r.csv", _sample("argilla.csv"), aggregated),
    "label-studio, CSV": Reader("r.csv", _sample("label_studio.csv"), aggregated),
    "label-studio": Reader(
        "r.json", _sample("label_studio.json", "label_studio_min.json", "label_studio_enterprise.json"), aggregated
    ),
    "gold": Reader("known.csv", _pairs(*KNOWN), beside("gold")),
    "truth": Reader("known.csv", _pairs(*KNOWN), beside("truth")),
    "classes": Reader("classes.csv", _pairs(*CLASSES), beside("classes")),
    "prior matrix": Reader("prior.csv", _matrix, beside("prior_matrix")),
    "prior solution": Reader("prior.json", _spoilt_solution("solution"), beside("prior_matrix")),
    "solution": Reader("s.json", _spoilt_solution("solution"), verified("solution")),
    "solution of ratings": Reader("s.json", _spoilt_solution("ratings"), verified("ratings")),
    "solution of groups": Reader("s.json", _spoilt_solution("groups"), verified("groups")),
}


# What is wrong.


def about_message(message: str) -> str:
    """What is wrong with the words of an error."""
    if not message.strip():
        return "an error without words"
    if "\n" in message:
        return f"more than a line: {message[:200]!r}"
    if len(message) > LONGEST:
        return f"{len(message)} characters: {message[:100]!r}"
    found = INSIDE.search(message)
    return f"says {found[0]!r}: {message[:300]!r}" if found else ""
