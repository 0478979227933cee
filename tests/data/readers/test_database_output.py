"""Answers written to tables of databases: whole or not at all, and never over the input."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal

import pyarrow as pa
import pytest

from crowdopt import Database, prove
from crowdopt.data.tables.workspace import Workspace
from crowdopt.errors import OutputError
from crowdopt.results.write.database import write_rows
from support.databases import KINDS, database
from support.servers import server, to_sqlite
from support.ways import ROWS, plain, to_arrow, to_pandas


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_written_to_a_table(kind, tmp_path, program):
    data = database(kind, to_arrow(ROWS), tmp_path)
    target = Database(data.address, table=f"answers_{data.table}")
    solution = prove(data)
    solution.write(target, probabilities=True)
    order = f"SELECT * FROM {target.table} ORDER BY task"
    if kind == "postgresql":
        rows = server().run(order)
    else:
        with closing(sqlite3.connect(tmp_path / "data.db")) as connection:
            rows = connection.execute(order).fetchall()
    assert rows == list(zip(*plain(solution.answers_frame(probabilities=True)).values(), strict=True))
    with pytest.raises(OutputError, match="it exists; add replace=True"):
        solution.write(target)
    prove(to_pandas(ROWS)).write(Database(data.address, table=target.table, replace=True))
    done = program(
        "prove", data.address, "--table", data.table, "-o", target.address, "--output-table", target.table,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "it exists; add --replace to write a new one in its place" in done.stderr


def test_values_of_odd_types_are_written(tmp_path):
    table = to_arrow(ROWS).append_column("price", [[Decimal("1.50")] * len(ROWS)])
    table = table.set_column(0, "task", table["task"].cast(pa.uint8()))
    for target in (Database(server().address, table="odd"), Database(f"sqlite:///{tmp_path}/new.db", table="odd")):
        solution = prove(table, keep=["price"])
        solution.write(target)
        again = prove(target, label="label", worker="status", keep=["price"], duplicates="all")
        assert again.answers["price"].to_pylist() == ["1.50"] * 25
        assert again.answers["task"].to_pylist() == sorted({row[0] for row in ROWS})


class Broken:
    """Rows that end in an error."""

    columns, types = ("a",), ("VARCHAR",)

    def project(self, _):
        return self

    def to_arrow_reader(self, _):
        def batches():
            yield pa.record_batch({"a": ["x"] * 100_000})
            raise RuntimeError("no more")

        return pa.RecordBatchReader.from_batches(pa.schema([("a", pa.string())]), batches())


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_written_whole_or_not_at_all(kind, tmp_path):
    address = server().address if kind == "postgresql" else f"sqlite:///{tmp_path}/data.db"
    with Workspace() as workspace, pytest.raises(OutputError, match="no more"):
        write_rows(Broken(), Database(address, table="half"), workspace)
    if kind == "postgresql":
        assert server().run("SELECT to_regclass('half') IS NULL") == [(True,)]
    else:
        assert list(tmp_path.iterdir()) == []
    old = Database(address, table="half", replace=True)
    prove(to_pandas(ROWS)).write(old)
    with Workspace() as workspace, pytest.raises(OutputError, match="no more"):
        write_rows(Broken(), old, workspace)
    assert prove(old, worker="status", duplicates="all").totals.n_tasks == 25


def test_what_is_no_table_is_not_replaced():
    server().run("CREATE VIEW seen AS SELECT 1 AS one")
    with pytest.raises(OutputError, match="it is no table"):
        prove(to_pandas(ROWS)).write(Database(server().address, table="seen", replace=True))


@pytest.mark.parametrize(
    ("read", "write", "name", "said"),
    [
        (("--table", "responses"), "sqlite:///data.db", "Responses", "it is the input"),
        (("--table", "responses"), "sqlite:///sub/../data.db", "responses", "it is the input"),
        (("--table", "responses"), "sqlite:///link.db", "responses", "it is the input"),
        (("--table", "main.responses"), "sqlite:///data.db", "responses", "it is the input"),
        (("--query", "SELECT * FROM responses"), "sqlite:///link.db", "responses", "what is read may come from it"),
        (("--table", "seen"), "sqlite:///data.db", "responses", "what is read may come from it"),
        (("--table", "responses"), "sqlite:///data.db", "main.new", "written without a dot"),
    ],
)
def test_the_input_is_not_replaced_however_it_is_spelt_in_sqlite(read, write, name, said, tmp_path, program):
    data = to_sqlite(to_arrow(ROWS), tmp_path / "data.db")
    (tmp_path / "link.db").symlink_to("data.db")
    (tmp_path / "sub").mkdir()
    with closing(sqlite3.connect(tmp_path / "data.db")) as connection, connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM responses")
    before = (tmp_path / "data.db").read_bytes()
    words = ("-o", write, "--output-table", name, "--replace")
    done = program("prove", data.address, *read, *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert (tmp_path / "data.db").read_bytes() == before


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize(
    ("read", "name", "said"),
    [
        (("--table", "{t}"), "public.{t}", "it is the input"),
        (("--table", "public.{t}"), "{t}", "it is the input"),
        (("--query", "SELECT * FROM {t}"), "public.{t}", "what is read may come from it"),
        (("--table", "parent_{t}"), "{t}", "what is read may come from it"),
    ],
)
def test_the_input_is_not_replaced_however_it_is_spelt_in_postgresql(host, read, name, said, tmp_path, program):
    data = server().load(to_arrow(ROWS))
    table = data.table
    server().run(f"CREATE TABLE parent_{table} (LIKE {table})", f"ALTER TABLE {table} INHERIT parent_{table}")
    words = [word.format(t=table) for word in (*read, "--output-table", name)]
    target = data.address.replace("127.0.0.1", host)
    done = program("prove", data.address, *words, "-o", target, "--replace", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert server().run(f"SELECT count(*) FROM {table}") == [(len(ROWS),)]


def test_another_table_of_the_same_database_is_replaced(tmp_path, program):
    for data in (server().load(to_arrow(ROWS)), to_sqlite(to_arrow(ROWS), tmp_path / "data.db")):
        words = ("-o", data.address, "--output-table", f"answers_{data.table}", "--replace")
        for _ in range(2):
            done = program("prove", data.address, "--table", data.table, *words, cwd=tmp_path)
            assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{a}", "--table", "{t}", "-o", "{a}", "--output-table", "{t}", "--replace"), "it is the input"),
        (("{a}", "--table", "{t}", "-o", "{a}"), "say which table to write with --output-table"),
        (("{a}", "--table", "{t}", "-o", "a.csv", "--output-table", "x"), "only if -o is the address of a database"),
        (("{a}", "--table", "{t}", "-o", "a.csv", "--replace"), "only if -o is the address of a database"),
        (("{a}", "{a}", "--table", "{t}"), "a database must be the only input"),
        (("responses.csv", "--table", "{t}"), "a table or query is part of a database"),
        (("{a}", "--table", "{t}", "--solution", "{a}"), "a file is meant"),
        (("{a}", "--table", "{t}", "-o", "sqlite:///nowhere/a.db", "--output-table", "x"), "does not exist"),
    ],
)
def test_options_that_contradict(words, said, tmp_path, program):
    data = server().load(to_arrow(ROWS))
    to_pandas(ROWS).to_csv(tmp_path / "responses.csv", index=False)
    done = program("prove", *(word.format(a=data.address, t=data.table) for word in words), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "s3cret" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["responses.csv"]


def test_results_that_go_on_from_a_solution(tmp_path, program):
    data = server().load(to_arrow(ROWS))
    source = (data.address, "--table", data.table)
    assert program("prove", *source, "--solution", "s.json", cwd=tmp_path).returncode == 0
    for command, n_rows in (("workers", 9), ("predict", 25), ("next", 10)):
        target = Database(f"sqlite:///{tmp_path}/out.db", table=command)
        words = ("-o", target.address, "--output-table", command)
        done = program(command, "s.json", *source, *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        with closing(sqlite3.connect(tmp_path / "out.db")) as connection:
            assert connection.execute(f"SELECT count(*) FROM {command}").fetchall() == [(n_rows,)]
    assert program("verify", "s.json", *source, cwd=tmp_path).stdout.splitlines()[0] == "CONFIRMED"
    assert program("report", "s.json", *source, "-o", "r.html", cwd=tmp_path).returncode == 0
    done = program("compare", *source, "--methods", "vote,em", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
