"""Wide tables of any names, and the other way round: the responses that plain Python finds in them."""

from __future__ import annotations

import csv

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdopt
from crowdopt._option import split_columns
from crowdopt.errors import ColumnError, InputError
from support.needs import SAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

ODD = ["claude-3.5", "the best, cheapest", 'a "quoted" one', "  spaced", "task", "worker", "label", "crowdopt_0", "é"]
VERDICTS = [
    [None if (i * j) % 7 == 6 else "pass" if (i + j) % 3 else "fail" for j in range(len(ODD))] for i in range(30)
]
WIDE = pd.DataFrame(VERDICTS, columns=[f"m: {name}" for name in ODD]).assign(id=[f"i{i}" for i in range(30)], note="n")
EXPECTED = sorted((f"i{i}", name, v) for i, row in enumerate(VERDICTS) for name, v in zip(ODD, row, strict=True) if v)


def triples(solution):
    rows = solution.source.responses.table.collect().to_arrow().to_pylist()
    return sorted((row["task"], row["worker"], row["label"]) for row in rows if row["label"] is not None)


def to_csv(table, path):
    table.to_csv(path / "w.csv", index=False)
    return path / "w.csv"


def to_parquet(table, path):
    table.to_parquet(path / "w.parquet")
    return path / "w.parquet"


WAYS = {
    "pandas": lambda table, _: table,
    "polars": lambda table, _: pl.from_pandas(table),
    "polars-lazy": lambda table, _: pl.from_pandas(table).lazy(),
    "arrow": lambda table, _: pa.Table.from_pandas(table, preserve_index=False),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(pa.Table.from_pandas(table, preserve_index=False)),
    "csv": to_csv,
    "parquet": to_parquet,
}


@pytest.mark.parametrize("way", WAYS)
def test_workers_may_have_any_names(way, tmp_path):
    data = WAYS[way](WIDE, tmp_path)
    solution = crowdopt.aggregate(data, task="id", worker_columns="m: *", keep=["note"], verbatim=True)
    assert triples(solution) == EXPECTED
    assert solution.reading.wide
    assert crowdopt.verify(solution, data).verdict == "REPRODUCED"


@pytest.mark.parametrize("way", WAYS)
def test_all_other_columns_are_workers_if_none_is_named(way, tmp_path):
    data = WAYS[way](WIDE, tmp_path)
    named = sorted((task, f"m: {worker}", label) for task, worker, label in EXPECTED)
    assert triples(crowdopt.aggregate(data, task="id", wide=True, keep="note", verbatim=True)) == named


@pytest.mark.parametrize("way", WAYS)
def test_a_row_may_be_a_worker(way, tmp_path):
    columns = {f"q: {i}": [row[j] for row in (VERDICTS[i],) for j in range(len(ODD))] for i in range(30)}
    data = WAYS[way](pd.DataFrame({"who": ODD, "age": 30, **columns}), tmp_path)
    solution = crowdopt.aggregate(data, worker="who", task_columns=["q: *"], verbatim=True)
    assert triples(solution) == sorted((task.removeprefix("i"), worker, label) for task, worker, label in EXPECTED)
    assert solution.totals.n_tasks == 30


def test_a_worker_without_a_name_and_a_task_without_answers(tmp_path):
    (tmp_path / "s.csv").write_text("worker,a,b,c\nu,x,y,\nv,x,x,\n,x,y,\nw,y,x,\n")
    solution = crowdopt.aggregate(tmp_path / "s.csv", task_columns=["a", "b", "c"])
    assert (solution.totals.n_responses, solution.totals.n_tasks, solution.totals.n_no_response) == (6, 3, 1)
    assert solution.notes[0].startswith("3 of 12 cells are incomplete and were left out: 3 without a worker")


def test_names_are_quoted_as_in_csv_on_the_command_line(tmp_path):
    assert split_columns('claude-3.5, "the best, cheapest","a ""quoted"" one"') == ODD[:3]
    with pytest.raises(InputError, match="quoted as in CSV"):
        split_columns('"open')


def test_some_columns_are_workers_and_others_are_ordinary():
    solution = crowdopt.aggregate(
        WIDE, task="id", worker_columns=["m: claude-3.5", "m: worker"], where="m: label = pass", verbatim=True
    )
    passed = {f"i{i}" for i, row in enumerate(VERDICTS) if row[ODD.index("label")] == "pass"}
    wanted = {"claude-3.5", "worker"}
    assert triples(solution) == sorted(
        (task, f"m: {worker}", label) for task, worker, label in EXPECTED if worker in wanted and task in passed
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"worker_columns": ["m: nobody"]}, "no column named 'm: nobody' for the worker_columns option"),
        ({"worker_columns": "x_*"}, "no column is like 'x_\\*'"),
        ({"worker_columns": "*m*"}, r"'\*m\*' \(worker_columns\) has more than one \*; one stands for the name alone"),
        ({"worker_columns": ["id"]}, "cannot be a worker .* and something else"),
        ({"worker_columns": "m: *", "task_columns": "m: *"}, "leave out one of the two"),
        ({"worker_columns": "m: *", "class_": "note"}, "a wide table has no column for the class"),
        ({"task_columns": "m: *", "worker": "id", "keep": ["note"]}, "a row is a worker"),
        ({"worker_columns": "m: *", "time": "note"}, "are of one response"),
        ({"worker_columns": "m: *", "order_by": "note", "duplicates": "first"}, "leave out order_by"),
    ],
)
def test_what_cannot_be_is_an_error_with_a_remedy(options, said):
    with pytest.raises((ColumnError, InputError), match=said):
        crowdopt.prove(WIDE, **{"task": "id"} | options)


def test_two_columns_of_one_worker_are_an_error():
    twice = pd.DataFrame({"id": ["a"], "first_x": ["u"], "second_x": ["v"]})
    with pytest.raises(ColumnError, match="'first_x' and 'second_x' are both the worker 'x'; leave out one"):
        crowdopt.prove(twice, task="id", worker_columns=["first_*", "second_*"])


def sample(name):
    return SAMPLES / "verdicts" / name


JUDGES = ["gpt-4o", "claude-3.5", "gemini-1.5", "llama-3-70b", "mistral-large"]

FORMS = {
    "long.csv": {"task": "id", "worker": "judge", "label": "verdict"},
    "long.jsonl": {"task": "item.id", "worker": "judge.model", "label": "output.verdict"},
    "wide.csv": {"task": "id", "worker_columns": JUDGES},
    "wide.jsonl": {"task": "id", "worker_columns": JUDGES},
    "nested.jsonl": {"task": "id", "worker_columns": "judgements.*.verdict"},
    "per_judge.csv": {"worker": "judge", "task_columns": "verdict: *"},
}


@pytest.mark.parametrize("name", FORMS)
def test_one_jury_is_the_same_in_every_form(name):
    with sample("long.csv").open(newline="") as stream:
        expected = sorted((row["id"], row["judge"], row["verdict"]) for row in csv.DictReader(stream))
    solution = crowdopt.aggregate(sample(name), **FORMS[name])
    assert triples(solution) == expected
    plain = crowdopt.aggregate(sample("long.csv"), **FORMS["long.csv"])
    assert solution.fingerprint == plain.fingerprint
    columns = ["task", "label", "confidence", "n_responses", "status"]
    assert solution.answers.select(columns) == plain.answers.select(columns)
