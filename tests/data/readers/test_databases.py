"""Databases: counted where they are, the same answers as from anywhere else."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import crowdopt.data.readers.database_rows as reading_databases
import crowdopt.data.readers.postgres_counts as counting
import crowdopt.data.tables.duckdb as parts_of_files
from crowdopt import Database, aggregate, prove, verify
from crowdopt.data import parts
from crowdopt.errors import ColumnError, InputError, MissingExtraError
from support.databases import KINDS, database
from support.servers import PASSWORD, QUOTED, server, to_sqlite
from support.ways import ROWS, canonical, facts, plain, to_arrow, to_pandas

PROGRAM = [sys.executable, "-m", "crowdopt"]


@pytest.fixture
def queries(monkeypatch):
    """The queries whose rows come over."""
    seen = []
    copy = reading_databases.copy
    for module in (reading_databases, counting):
        monkeypatch.setattr(
            module, "copy", lambda cursor, query, workspace: seen.append(query) or copy(cursor, query, workspace)
        )
    return seen


def with_more(rows):
    """Rows with a class and a group, and some with something missing."""
    table = to_arrow(rows)
    workers = table["worker"].to_pylist()
    tasks = table["task"].to_pylist()
    return table.append_column("tier", [[2 if w < "w4" else 1 for w in workers]]).append_column(
        "question", [["even" if task % 2 else "odd" for task in tasks]]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on_disk", [False, True])
def test_many_responses_give_the_same_parts_as_those_of_a_file(kind, on_disk, tmp_path, monkeypatch):
    for name in ("SAMPLE", "PART"):
        monkeypatch.setattr(parts, name, 1_000)
    monkeypatch.setattr(parts, "IN_MEMORY", 0 if on_disk else 1 << 22)
    monkeypatch.setattr(parts_of_files, "STREAMED", 1_000)
    table = to_arrow(
        [(task, f"w{who}", "yes" if task * who % 7 < 3 else "no") for task in range(2_000) for who in range(3)]
    )
    file = tmp_path / "rows.parquet"
    parquet.write_table(table, file)
    expected = aggregate(file)
    assert len(expected.tasks.parts.held) > 2
    found = aggregate(database(kind, table, tmp_path))
    assert len(found.tasks.parts.held) == len(expected.tasks.parts.held)
    assert found.fingerprint == expected.fingerprint
    assert found.answers.equals(expected.answers)


PUSHED = {
    "plain": {},
    "all": {"duplicates": "all"},
    "same": {"duplicates": "same"},
    "class": {"class_": "tier"},
    "ranked": {"class_": "tier", "ranked": ["2", "1"]},
    "gold": {"gold": {0: "no", 7: "yes"}},
    "labels": {"labels": ["yes", "no"]},
    "na": {"na": ["yes"], "missing": "drop", "labels": ["no", "yes"]},
}


COPIED = {
    "keep": {"keep": ["question"]},
    "classes": {"classes": {f"w{k}": "a" if k < 4 else "b" for k in range(9)}},
    "last": {"duplicates": "last", "order_by": "tier"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chosen", PUSHED | COPIED)
def test_options_mean_the_same_as_for_a_frame(kind, chosen, tmp_path):
    options = (PUSHED | COPIED)[chosen]
    table = with_more(ROWS)
    assert facts(prove(database(kind, table, tmp_path), **options)) == facts(prove(table, **options))


@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_solved_as_from_a_frame(kind, tmp_path):
    table = with_more(ROWS)
    found, expected = (prove(data, group="question") for data in (database(kind, table, tmp_path), table))
    assert {name: one.certificate for name, one in found.items()} == {
        name: one.certificate for name, one in expected.items()
    }


@pytest.mark.parametrize("chosen", PUSHED)
def test_the_server_counts_and_only_counts_come_over(chosen, queries):
    data = server().load(with_more(ROWS * 3 if chosen == "all" else ROWS))
    solution = prove(data, smoothing=0.5, **PUSHED[chosen])  # without advice, for which rows are looked at
    assert len(queries) == 3
    assert all(" GROUP BY " in query for query in queries[:2])
    assert queries[2].startswith("SELECT count(*) AS n, sum(")  # of digests
    assert solution.answers.num_rows == 25
    assert len(queries) == 3
    assert solution.workers().num_rows == 9
    assert queries[3:6] == queries[:3]  # counted once more, with the rows
    assert len(queries) == 7


@pytest.mark.parametrize("missing", ["task", "worker", "label"])
@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_those_of_a_frame(kind, missing, tmp_path):
    rows = [dict(zip(("task", "worker", "label"), row, strict=True)) for row in ROWS]
    for at in (3, 40):
        rows[at][missing] = None
    table = pa.Table.from_pylist(rows)
    data = database(kind, table, tmp_path)
    assert facts(prove(data)) == facts(prove(table))
    assert prove(data).notes == (f"2 of 97 rows are incomplete and were left out: 2 without a {missing}",)
    with pytest.raises(InputError, match=f"2 of 97 rows are incomplete \\(2 without a {missing}\\)"):
        prove(data, missing="error")


@pytest.mark.parametrize("kind", KINDS)
def test_empty_texts_are_missing(kind, tmp_path):
    table = pa.table({"task": ["a", "a", "b", ""], "worker": ["u", "", "u", "u"], "label": ["x", "y", "", "x"]})
    with pytest.raises(InputError, match="3 of 4 rows are incomplete"):
        prove(database(kind, table, tmp_path))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("conflict", [False, True])
def test_repeated_answers_are_explained(kind, conflict, tmp_path):
    task, worker, label = ROWS[0]
    other = {"no": "yes", "yes": "no"}[label] if conflict else label
    data = database(kind, to_arrow([*ROWS, (task, worker, other)]), tmp_path)
    with pytest.raises(InputError, match=f"1 .task, worker. pair occurs more than once.*{task}, {worker}"):
        prove(data, duplicates="error")
    if not conflict:
        assert facts(prove(data, duplicates="same")) == facts(prove(to_arrow(ROWS)))


def test_labels_keep_their_types_in_postgresql():
    types = {"int2": (1, 2), "int8": (1, 2), "bool": (False, True), "float8": (0.5, 1.5), "text": ("a", "b"),
             "numeric(9,2)": ("1", "2.5"), "char(5)": ("a", "b"), "mood": ("sad", "glad")}  # fmt: skip
    data = server().load(to_arrow(ROWS))
    server().run("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    for name, (low, high) in types.items():
        written = [str(value).lower() for value in (low, high)]
        query = (
            f"SELECT task, worker, CASE label WHEN 'no' THEN '{written[0]}' ELSE '{written[1]}' END::{name} AS label "
            f"FROM {data.table};"
        )
        solution = prove(data.address, query=query, labels=[low, high])
        labels = solution.answers["label"].to_pylist()
        assert {type(label) for label in labels} == {type(low)}, name
        expected = prove(to_arrow(ROWS))
        assert labels == [high if label == "yes" else low for label in expected.answers["label"].to_pylist()]
        assert solution.certificate.objective == expected.certificate.objective


def test_texts_are_compared_byte_by_byte_whatever_the_column_says():
    table = pa.table({"task": ["a", "A", "é", "e\u0301"], "worker": ["u"] * 4, "label": ["x", "X", "y", "X"]})
    data = server().load(table)
    server().run("CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    columns = ", ".join(f'{name} COLLATE "alike" AS {name}' for name in table.column_names)
    solution = prove(data.address, query=f"SELECT {columns} FROM {data.table}")
    assert facts(solution) == facts(prove(table))
    fewer = prove(data.address, query=f"SELECT {columns} FROM {data.table}", na=["X"], verbatim=True)
    assert facts(fewer) == facts(prove(table, na=["X"], verbatim=True))
    assert fewer.totals.n_responses == 2


def test_nulls_before_the_first_value_do_not_change_its_type_in_sqlite(tmp_path):
    n = 5000
    table = pa.table(
        {
            "task": [None] * n + ["a", "b"],
            "worker": [None] * n + [1.5, 2.5],
            "label": pa.array([None] * n + ["x", "y"]),
        }
    )
    answers = prove(to_sqlite(table, tmp_path / "data.db"), missing="drop").answers
    assert answers.select(["task", "label"]).to_pydict() == {"task": ["a", "b"], "label": ["x", "y"]}


def test_a_label_that_is_1_here_and_text_there_is_an_error(tmp_path):
    with closing(sqlite3.connect(tmp_path / "data.db")) as connection, connection:
        connection.execute("CREATE TABLE responses (task, worker, label)")
        connection.executemany(
            "INSERT INTO responses VALUES (?, ?, ?)", [(k, "w", 1 if k % 2 else "1") for k in range(3000)]
        )
    with pytest.raises(ColumnError, match="column 'label' holds texts in some rows and numbers in others"):
        prove(f"sqlite:///{tmp_path}/data.db", table="responses")


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_any_signs_are_quoted(kind, tmp_path):
    names = ['ta;sk"--', "wor'ker", "la.bel"]
    table = to_arrow(ROWS).rename_columns(names)
    odd = 'resp"onses; DROP TABLE x'
    if kind == "postgresql":
        data = server().load(table, odd)
    else:
        to_sqlite(table, tmp_path / "data.db")
        with closing(sqlite3.connect(tmp_path / "data.db")) as connection, connection:
            connection.execute('ALTER TABLE responses RENAME TO "resp""onses; DROP TABLE x"')
        data = Database(f"sqlite:///{tmp_path}/data.db", table=odd)
    solution = prove(data, task=names[0], worker=names[1], label=names[2])
    assert facts(solution) == facts(prove(to_arrow(ROWS)))


def test_backslashes_are_themselves_whatever_the_server_is_set_to():
    table = pa.table({"task": [1, 1, 2, 2], "worker": ["u", "v"] * 2, "label": ["a\\b", "it's", "a\\b", "a\\b"]})
    data = server().load(table)
    address = f"{data.address}?options=-c%20standard_conforming_strings%3Doff"
    assert facts(prove(address, table=data.table)) == facts(prove(table))


def test_two_columns_of_one_name_are_refused():
    query = "SELECT 1 AS task, 'w' AS worker, 'x' AS label, 'y' AS label"
    with pytest.raises(ColumnError, match="the query has two columns named 'label'"):
        prove(server().address, query=query)


def test_the_smallest_integer_of_sqlite(tmp_path):
    table = pa.table({"task": [-(2**63), 2**63 - 1], "worker": ["u", "u"], "label": ["x", "y"]})
    solution = prove(to_sqlite(table, tmp_path / "data.db"))
    assert sorted(solution.answers["task"].to_pylist()) == [-(2**63), 2**63 - 1]


def test_a_text_that_is_not_utf8_names_the_database(tmp_path):
    data = to_sqlite(to_arrow(ROWS), tmp_path / "data.db")
    with closing(sqlite3.connect(tmp_path / "data.db")) as connection, connection:
        connection.execute("UPDATE responses SET label = CAST(x'ff41' AS TEXT) WHERE task = 7")
    with pytest.raises(InputError, match=r"data\.db: a text is not UTF-8"):
        prove(data)


def test_a_table_of_another_schema():
    data = server().load(to_arrow(ROWS))
    server().run("CREATE SCHEMA elsewhere", f"CREATE TABLE elsewhere.mine AS SELECT * FROM {data.table}")
    assert facts(prove(data.address, table="elsewhere.mine")) == facts(prove(to_arrow(ROWS)))
    assert facts(prove(data.address, table=f"public.{data.table}")) == facts(prove(to_arrow(ROWS)))
    with pytest.raises(InputError, match=r"has no table 'mine'; did you mean 'elsewhere.mine'"):
        prove(data.address, table="mine")


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO {t} VALUES (1, 'w9', 'no')",
        "UPDATE {t} SET label = CASE label WHEN 'no' THEN 'yes' ELSE 'no' END",
        "UPDATE {t} SET task = task + 1",
        "UPDATE {t} SET worker = 'x' || worker",
    ],
)
def test_rows_that_changed_since_they_were_counted_are_noticed(change):
    data = server().load(to_arrow(ROWS))
    solution = prove(data, smoothing=0.5)
    server().run(change.format(t=data.table))
    with pytest.raises(InputError, match="other rows than when they were counted"):
        solution.workers()


def test_rows_that_did_not_change_come_over_later():
    data = server().load(to_arrow(ROWS))
    solution = prove(data, smoothing=0.5)
    server().run(f"UPDATE {data.table} SET label = label")  # other places, the same rows
    assert plain(solution.workers()) == plain(prove(to_pandas(ROWS), smoothing=0.5).workers())


@pytest.mark.parametrize("kind", KINDS)
def test_a_solution_is_verified_against_its_database(kind, tmp_path):
    data = database(kind, to_arrow(ROWS), tmp_path)
    solution = prove(data)
    solution.save(tmp_path / "solution.json")
    assert verify(tmp_path / "solution.json", data).verdict == "CONFIRMED"
    assert verify(tmp_path / "solution.json", data.address, table=data.table).verdict == "CONFIRMED"
    assert PASSWORD not in (tmp_path / "solution.json").read_text()
    assert QUOTED not in (tmp_path / "solution.json").read_text()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"query": "DELETE FROM {table}"}, "the query cannot be run.*it must be one SELECT"),
        ({"query": "SELECT 1; DROP TABLE {table}"}, "the query cannot be run.*it must be one SELECT"),
        ({"query": "SELECT * FROM {table} WHERE 1 = 0"}, "there are no responses: the input has no rows"),
        ({"query": "SELECT task FROM {table}"}, "no column named 'worker'"),
        ({"query": "SELECT * FROM nowhere"}, "nowhere"),
        ({"table": "nowhere"}, "has no table 'nowhere'"),
        ({"table": "{table}", "task": "tusk"}, "no column named 'tusk' for the task; did you mean task=\"task\""),
        ({}, "say what to read of it with table or query"),
        ({"table": "{table}", "query": "SELECT 1"}, "leave out table or query"),
    ],
)
def test_bad_input_is_one_line(kind, options, said, tmp_path, program):
    data = database(kind, to_arrow(ROWS), tmp_path)
    options = {name: value.format(table=data.table) for name, value in options.items()}
    with pytest.raises(InputError, match=said) as caught:
        prove(data.address, **options)
    assert "\n" not in str(caught.value)
    assert facts(prove(data)) == facts(prove(to_arrow(ROWS)))  # which is still there
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    before = set(tmp_path.iterdir())
    done = program("prove", data.address, *words, "-o", "answers.csv", "--solution", "s.json", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("crowdopt: ")
    assert set(tmp_path.iterdir()) == before


def test_a_query_cannot_write():
    server().run("CREATE SEQUENCE counted")
    for query in ("SELECT nextval('counted') AS task, 'w' AS worker, 'x' AS label",
                  "WITH gone AS (DELETE FROM pg_class RETURNING *) SELECT 1 AS task"):  # fmt: skip
        with pytest.raises(InputError, match=r"it must be one SELECT|must be at the top level"):
            prove(server().address, query=query)
    assert server().run("SELECT is_called FROM counted") == [(False,)]


def test_a_missing_driver_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crowdopt\[databases\]'"):
        prove(to_sqlite(to_arrow(ROWS), tmp_path / "data.db"))


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "data.db").write_text("task,worker,label\n")
    for address, said in (("data.db", "not a database"), ("none.db", "there is no file")):
        with pytest.raises(InputError, match=said):
            prove(f"sqlite:///{tmp_path}/{address}", table="t")
    with pytest.raises(InputError, match="names no file"):
        prove("sqlite://data.db", table="t")
    assert [path.name for path in tmp_path.iterdir()] == ["data.db"]


def test_interrupt_while_the_server_works(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    query = "SELECT 1 AS task, 'w' AS worker, 'x' AS label FROM pg_sleep(60)"
    process = subprocess.Popen(
        [*PROGRAM, "prove", server().address, "--query", query, "-o", "answers.csv"],
        cwd=tmp_path, env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()"
    running = f"{sleeping} AND state = 'active'"
    until(lambda: server().run(running) == [(1,)])
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "crowdopt: interrupted; nothing was written\n")
    assert list(temporary.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    until(lambda: server().run(sleeping) == [(0,)])


def until(test) -> None:
    for _ in range(600):
        if test():
            return
        time.sleep(0.1)
    raise AssertionError("waited for a minute")


def test_canonical_answers_do_not_depend_on_the_order_of_rows(tmp_path):
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        backwards = database(kind, to_arrow(ROWS[::-1]), tmp_path / kind)
        assert canonical(prove(backwards)) == canonical(prove(to_arrow(ROWS)))


def test_there_is_a_server_that_these_tests_started():
    assert server().process.poll() is None
    assert Path(f"/proc/{server().process.pid}").exists()
