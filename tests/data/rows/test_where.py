"""Rows that are asked for: the same of every table, told, and remembered."""

from __future__ import annotations

import json

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdopt
from crowdopt.data.load import open_responses, workspace_for
from crowdopt.data.reading import Reading
from crowdopt.data.rows.conditions import parse_conditions
from crowdopt.data.tables.table import adopt, fetch
from crowdopt.errors import ColumnError, GoldError, InputError
from support.needs import SAMPLES
from support.servers import server, to_sqlite

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

ROWS = [
    {"task": f"t{task}", "worker": f"w{worker}", "label": "yes" if (task * worker) % 3 else "no",
     "the status": ("Approved", "Rejected", "on hold", None)[(task + worker) % 4], "n": task + 0.5 * worker,
     "round": str(task % 12), "o'k?": worker % 2 == 0}
    for task in range(20) for worker in range(4)
]  # fmt: skip

CONDITIONS = {
    "the status = Approved": lambda row: row["the status"] == "Approved",
    "'the status' == \"on hold\"": lambda row: row["the status"] == "on hold",
    "the status != Approved": lambda row: row["the status"] != "Approved",
    "the status = ''": lambda row: row["the status"] is None,
    "the status != ''": lambda row: row["the status"] is not None,
    "the status >= Rejected": lambda row: (row["the status"] or "") >= "Rejected",
    "the status < on": lambda row: row["the status"] is not None and row["the status"] < "on",
    "n >= 10": lambda row: row["n"] >= 10,
    "n = 4.50": lambda row: row["n"] == 4.5,
    "n<3 and n>1.5": lambda row: 1.5 < row["n"] < 3,
    "round < 10 AND round > 2": lambda row: 2 < int(row["round"]) < 10,
    "round <= 2e0 and the status = Rejected": lambda row: int(row["round"]) <= 2 and row["the status"] == "Rejected",
    '"o\'k?" = true and worker != w2': lambda row: row["o'k?"] and row["worker"] != "w2",
    "task = 't1'": lambda row: row["task"] == "t1",
}


def frame():
    return pd.DataFrame(ROWS)


def to_jsonl(path):
    (path / "r.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return path / "r.jsonl"


def to_csv(path):
    frame().replace({True: "true", False: "false"}).to_csv(path / "r.csv", index=False)
    return path / "r.csv"


def to_parquet(path):
    frame().to_parquet(path / "r.parquet")
    return path / "r.parquet"


WAYS = {
    "pandas": lambda _: frame(),
    "pandas, an index of one's own": lambda _: frame().set_index(pd.Index([7] * len(ROWS))),
    "polars": lambda _: pl.DataFrame(ROWS),
    "polars-lazy": lambda _: pl.DataFrame(ROWS).lazy(),
    "arrow": lambda _: pa.Table.from_pylist(ROWS),
    "duckdb": lambda _: duckdb.connect().from_arrow(pa.Table.from_pylist(ROWS)),
    "csv": to_csv,
    "jsonl": to_jsonl,
    "parquet": to_parquet,
    "sqlite": lambda path: to_sqlite(pa.Table.from_pylist(ROWS), path / "r.db"),
}


def to_csv_of(rows, path):
    pd.DataFrame(rows).to_csv(path / "r.csv", index=False)
    return path / "r.csv"


def to_parquet_of(rows, path):
    pa.parquet.write_table(pa.Table.from_pylist(rows), path / "r.parquet")
    return path / "r.parquet"


WITH_NANS = {
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "polars-lazy": lambda rows, _: pl.DataFrame(rows).lazy(),
    "arrow": lambda rows, _: pa.Table.from_pylist(rows),
    "duckdb": lambda rows, _: duckdb.connect().from_arrow(pa.Table.from_pylist(rows)),
    "parquet": to_parquet_of,
}
WITH_TEXTS = WITH_NANS | {
    "csv": to_csv_of,
    "sqlite": lambda rows, path: to_sqlite(pa.Table.from_pylist(rows), path / "r.db"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_rows_that_count_are_those_that_plain_python_takes(way, tmp_path):
    data = WAYS[way](tmp_path)
    for where, is_taken in CONDITIONS.items():
        taken = sorted((row["task"], row["worker"], row["label"]) for row in ROWS if is_taken(row))
        if way == "sqlite":
            where = where.replace("= true", "= 1")  # noqa: PLW2901 -- it has no truth values
        workspace = workspace_for(data)
        found = open_responses(data, Reading(where=where), workspace)
        rows = fetch(adopt(found.table, lambda _: ["task", "worker", "label"]))
        assert sorted(zip(*rows.values(), strict=True)) == taken, where
        assert found.left_out == f"{len(ROWS) - len(taken)} of {len(ROWS)} rows left out by --where ({where})"
        assert 0 < len(taken) < len(ROWS)


@pytest.mark.parametrize("way", ["pandas", "polars-lazy", "csv"])
def test_it_is_as_if_the_others_were_not_there(way, tmp_path):
    where = "n >= 5 and the status != Rejected"
    data = WAYS[way](tmp_path)
    alone = pd.DataFrame([row for row in ROWS if row["n"] >= 5 and row["the status"] != "Rejected"])
    solution = crowdopt.aggregate(data, where=where)
    assert solution.fingerprint == crowdopt.aggregate(alone).fingerprint
    assert crowdopt.verify(solution, data).verdict == "REPRODUCED"
    left = len(ROWS) - len(alone)
    assert solution.source.about_export == (f"{left} of 80 rows left out by --where ({where})",)
    assert solution.words().facts["source"] == solution.source.about_export[0]


def test_a_postgresql_server_gives_the_same():
    database = server().load(pa.Table.from_pylist(ROWS))
    solution = crowdopt.prove(database, where="n >= 10 and the status != Approved")
    taken = [row for row in ROWS if row["n"] >= 10 and row["the status"] != "Approved"]
    assert solution.totals.n_responses == len(taken)


SECONDS = ["3", "5", "12.5", "N/A", "unknown", "-1", "1e3", "", None, "nan", "inf"]
BY_NUMBER = {
    "seconds >= 5": (5, 12.5, 1000),
    "seconds > 5": (12.5, 1000),
    "seconds <= 3": (3, -1),
    "seconds < 3": (-1,),
}
"""Conditions, and the numbers that they take."""


def timed(seconds):
    return [
        {"task": f"t{place}", "worker": f"w{n}", "label": "yes" if place % 2 else "no", "seconds": value}
        for place, value in enumerate(seconds)
        for n in range(2)
    ]


@pytest.mark.parametrize("way", WITH_TEXTS)
@pytest.mark.parametrize("where", BY_NUMBER)
def test_what_is_no_number_is_neither_more_nor_less_than_one(way, where, tmp_path):
    data = WITH_TEXTS[way](timed(SECONDS), tmp_path)
    workspace = workspace_for(data)
    found = open_responses(data, Reading(where=where), workspace)
    rows = fetch(adopt(found.table, lambda _: ["task", "seconds"]))
    assert {float(value) for value in rows["seconds"]} == {*BY_NUMBER[where]}
    left = len(SECONDS) - len(BY_NUMBER[where])
    assert found.left_out == (
        f"{2 * left} of {2 * len(SECONDS)} rows left out by --where ({where}); "
        "12 rows have no number in 'seconds' and are left out"
    )


@pytest.mark.parametrize("way", WITH_NANS)
def test_a_fraction_that_is_no_number_is_neither_more_nor_less(way, tmp_path):
    data = WITH_NANS[way](timed([3.0, 5.0, float("nan"), 7.5]), tmp_path)
    for where, taken in {
        "seconds >= 5": {5, 7.5},
        "seconds <= 5": {3, 5},
        "seconds >= 3 and seconds < 6": {3, 5},
    }.items():
        workspace = workspace_for(data)
        found = open_responses(data, Reading(where=where), workspace)
        assert {*fetch(adopt(found.table, lambda _: ["seconds"]))["seconds"]} == taken
        assert found.left_out.endswith("; 2 rows have no number in 'seconds' and are left out")


def test_texts_are_in_order_as_texts_and_every_row_may_have_a_number():
    found = open_responses(pl.DataFrame(timed(["3", "5"])), Reading(where="seconds >= 5"), None)
    assert found.left_out == "2 of 4 rows left out by --where (seconds >= 5)"
    found = open_responses(pl.DataFrame(timed(["b", "a", None])), Reading(where="seconds >= b"), None)
    assert found.left_out == "4 of 6 rows left out by --where (seconds >= b)"


def test_a_postgresql_server_takes_no_text_for_a_number():
    database = server().load(pa.Table.from_pylist(timed(["3", "5", "12", "N/A", None])))
    solution = crowdopt.prove(database, where="seconds >= 5")
    assert solution.totals.n_responses == 4
    assert solution.source.about_export[0].endswith("; 4 rows have no number in 'seconds' and are left out")


def test_the_summary_tells_of_rows_without_a_number(tmp_path):
    solution = crowdopt.aggregate(to_csv_of(timed([*SECONDS[:4], "8"]), tmp_path), where="seconds >= 3")
    assert "2 rows have no number in 'seconds' and are left out" in solution.words().facts["source"]


def test_groups_are_of_the_rows_that_count_and_say_how_many_do_not():
    solutions = crowdopt.aggregate(frame(), where="n >= 5", group="the status")
    assert set(solutions) == {"Approved", "Rejected", "on hold"}
    left = sum(row["n"] < 5 for row in ROWS)
    assert f"{left} of 80 rows left out by --where (n >= 5)" in solutions.notes


def test_it_is_remembered(tmp_path):
    path = to_csv(tmp_path)
    solution = crowdopt.prove(path, where="n >= 5", task="task")
    solution.save(tmp_path / "s.json")
    loaded = crowdopt.Solution.load(tmp_path / "s.json")
    assert loaded.reading.where == "n >= 5"
    assert crowdopt.verify(loaded, path).verdict == "CONFIRMED"
    assert len(loaded.predict(path)) == len({row["task"] for row in ROWS if row["n"] >= 5})


def test_what_leaves_nothing_is_an_error_that_says_what_there_is():
    with pytest.raises(
        InputError, match=r"none of the 80 rows is left by where.*'the status' has 'Approved', 'Rejected'"
    ):
        crowdopt.aggregate(frame(), where="the status = approved")
    with pytest.raises(ColumnError, match="no column named 'statu' for the where option"):
        crowdopt.aggregate(frame(), where="statu = Approved")


@pytest.mark.parametrize(
    "text", ["status", "= 3", "a = 1 and", "a = x and b", "a =", 'a = "x', 'a = "x" y', "a = b or c and", " ", "a ~ 3"]
)
def test_what_is_no_condition_is_an_error(text):
    with pytest.raises(InputError, match=r"is no (condition|value)"):
        parse_conditions(text)


@pytest.mark.parametrize("value", ["x'; DROP TABLE t; --", '"; SELECT 1; --', "%", "1) OR (1=1", "\\"])
def test_values_are_only_values(value, tmp_path):
    rows = pd.DataFrame([{"task": "a", "worker": w, "label": "x", "q": q} for w, q in (("u", value), ("v", "other"))])
    rows.to_csv(tmp_path / "r.csv", index=False)
    quoted = "'" + value.replace("'", "''") + "'"
    for data in (rows, tmp_path / "r.csv"):
        assert crowdopt.aggregate(data, where=f"q = {quoted}").totals.n_responses == 1


def test_a_task_of_known_label_that_has_no_rows_left_measures_nothing(tmp_path):
    lines = ["INPUT:text\tGOLDEN:a\tOUTPUT:a\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\tASSIGNMENT:status"]
    for task in range(6):
        gold = "yes" if task < 3 else ""
        lines += [f"x{task}\t{gold}\t{'yes' if task % 2 else 'no'}\tt{task}\tw{w}\tAPPROVED" for w in range(3)]
    path = tmp_path / "pool.tsv"
    path.write_text("\n".join(lines) + "\n")
    whole = crowdopt.aggregate(path)
    assert (whole.export_accuracy.n_tasks, whole.totals.n_tasks) == (3, 6)
    part = crowdopt.aggregate(path, where="text != x0")
    assert (part.export_accuracy.n_tasks, part.totals.n_tasks) == (2, 5)
    pinned = crowdopt.aggregate(path, where="text != x0", gold="export")
    assert [task for task, _ in pinned.reading.gold] == ["t1", "t2"]


@pytest.mark.parametrize(
    "text",
    [
        "seconds <> 5", "status != ok or seconds > 100", "seconds >= 6 <= 8", "seconds > 5 && seconds < 8", "a = !b",
        "status = ok and", "status = ok OR bad", "status = or", "status = a | b", "status = it's", "status = a AND",
    ],
)  # fmt: skip
def test_a_bare_value_takes_no_operators(text):
    with pytest.raises(InputError, match="there is no or; quote a value that has these signs"):
        parse_conditions(text)


def test_words_with_or_and_and_in_them_and_quoted_operators_are_values():
    text = 'a = more oranges and b = "x or y & z" and c = sand AND d != and/or'
    assert [one.value for one in parse_conditions(text)] == ["more oranges", "x or y & z", "sand", "and/or"]


BIG = 12345678901234567
"""As a fraction it is the same as the next whole number."""

OF_BIG = {
    "pandas": pd.DataFrame,
    "pandas of Arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "duckdb": lambda columns: duckdb.connect().from_arrow(pa.table(columns)),
    "texts": lambda columns: pl.DataFrame(columns).with_columns(pl.col("big").cast(str)),
}


@pytest.mark.parametrize("way", OF_BIG)
def test_whole_numbers_are_compared_digit_by_digit(way):
    columns = {"task": ["a", "b", "c", "d"], "worker": ["w"] * 4, "label": ["x", "y", "x", "y"],
               "big": [BIG, BIG + 1, -BIG, 0]}  # fmt: skip
    found = {
        f"big = {BIG}": "a", f"big = +0{BIG + 1}": "b", f"big != {BIG}": "bcd", f"big = -{BIG}": "c",
        "big > 5": "ab", "big = 0.0": "d", f"big = {BIG / 1}": "ab",
    }  # fmt: skip
    for where, tasks in found.items():
        data = OF_BIG[way](columns)
        opened = open_responses(data, Reading(where=where), workspace_for(data))
        assert sorted(fetch(adopt(opened.table, lambda _: ["task"]))["task"]) == list(tasks), where


def test_seconds_may_be_any_whole_number():
    columns = {"task": list("ab"), "worker": ["w"] * 2, "label": ["x", "y"], "took": [BIG, BIG]}
    workers = crowdopt.aggregate(pa.table(columns), seconds="took").workers()
    assert workers["median_seconds"].to_pylist() == [float(BIG)]


def test_a_pattern_takes_no_column_of_a_condition_for_a_worker():
    rows = pd.DataFrame(
        {"task": ["a", "b", "c"], "split": ["test", "test", "dev"], "ann": list("xyx"), "bob": list("xyy")}
    )
    solution = crowdopt.aggregate(rows, where="split = test", worker_columns="*")
    assert sorted(solution.workers()["worker"]) == ["ann", "bob"]
    named = crowdopt.aggregate(rows, where="split = test", worker_columns=["ann", "split"])
    assert sorted(named.workers()["worker"]) == ["ann", "split"]


@pytest.mark.parametrize("where", ["flag = true", "flag = True", "flag != FALSE"])
def test_truth_values_are_found_in_any_case(where, tmp_path):
    rows = pd.DataFrame({"task": list("abc"), "worker": "w", "label": "x", "flag": [True, False, True]})
    rows.to_csv(tmp_path / "r.csv", index=False)  # as True and False
    for data in (rows, tmp_path / "r.csv"):
        workspace = workspace_for(data)
        found = open_responses(data, Reading(where=where), workspace)
        assert sorted(fetch(adopt(found.table, lambda _: ["task"]))["task"]) == ["a", "c"]


def test_conditions_that_leave_no_known_label_are_told():
    path = SAMPLES / "appen.csv"
    with pytest.raises(GoldError, match="leaves no task whose label the export knows"):
        crowdopt.aggregate(path, gold="export", where="_golden = false")
    assert crowdopt.aggregate(path, gold="export", where="_golden = true").reading.gold
