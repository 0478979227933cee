"""Databases: counted where they are, the same answers as from anywhere else, and nothing said that must not be."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from traceback import format_exception_only
from types import SimpleNamespace

import pyarrow as pa
import pytest

import crowdopt.data.readers.database_rows as reading_databases
import crowdopt.data.readers.postgres_counts as counting
from crowdopt import Database, Solution, Solutions, aggregate, verify
from crowdopt.cli.app import main
from crowdopt.cli.report_commands import command_line
from crowdopt.data.tables.workspace import Workspace
from crowdopt.errors import ColumnError, InputError, MissingExtraError, OutputError
from crowdopt.results.write.database import write_rows
from crowdopt.studies.paper.output import check_folder
from support.servers import PASSWORD, QUOTED, server, to_sqlite
from support.ways import ROWS, canonical, facts, plain, to_arrow, to_pandas

PROGRAM = [sys.executable, "-m", "crowdopt"]
KINDS = ["postgresql", "sqlite"]


def database(kind, table, path, name="responses"):
    return server().load(table) if kind == "postgresql" else to_sqlite(table, path / "data.db", name)


@pytest.fixture
def crowdopt(monkeypatch, capsys):
    """The command line, in a folder of its own; in this process, since there are many runs."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def run(*arguments, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["crowdopt", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code or 0, stdout=said.out, stderr=said.err)

    return run


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
    assert facts(aggregate(database(kind, table, tmp_path), **options)) == facts(aggregate(table, **options))


@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_solved_as_from_a_frame(kind, tmp_path):
    table = with_more(ROWS)
    found, expected = (aggregate(data, group="question") for data in (database(kind, table, tmp_path), table))
    assert {name: one.certificate for name, one in found.items()} == {
        name: one.certificate for name, one in expected.items()
    }


@pytest.mark.parametrize("chosen", PUSHED)
def test_the_server_counts_and_only_counts_come_over(chosen, queries):
    data = server().load(with_more(ROWS * 3 if chosen == "all" else ROWS))
    solution = aggregate(data, smoothing=0.5, **PUSHED[chosen])  # without advice, for which rows are looked at
    assert len(queries) == 2
    assert all(" GROUP BY " in query for query in queries)
    assert solution.answers.num_rows == 25
    assert len(queries) == 2
    assert solution.workers().num_rows == 9
    assert queries[2:4] == queries[:2]  # counted once more, with the rows
    assert len(queries) == 5


@pytest.mark.parametrize("missing", ["task", "worker", "label"])
@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_those_of_a_frame(kind, missing, tmp_path):
    rows = [dict(zip(("task", "worker", "label"), row, strict=True)) for row in ROWS]
    for at in (3, 40):
        rows[at][missing] = None
    table = pa.Table.from_pylist(rows)
    data = database(kind, table, tmp_path)
    assert facts(aggregate(data, missing="drop")) == facts(aggregate(table, missing="drop"))
    with pytest.raises(InputError, match=f"2 of 97 rows are incomplete \\(2 without a {missing}\\)"):
        aggregate(data)


@pytest.mark.parametrize("kind", KINDS)
def test_empty_texts_are_missing(kind, tmp_path):
    table = pa.table({"task": ["a", "a", "b", ""], "worker": ["u", "", "u", "u"], "label": ["x", "y", "", "x"]})
    with pytest.raises(InputError, match="3 of 4 rows are incomplete"):
        aggregate(database(kind, table, tmp_path))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("conflict", [False, True])
def test_repeated_answers_are_explained(kind, conflict, tmp_path):
    task, worker, label = ROWS[0]
    other = {"no": "yes", "yes": "no"}[label] if conflict else label
    data = database(kind, to_arrow([*ROWS, (task, worker, other)]), tmp_path)
    with pytest.raises(InputError, match=f"1 .task, worker. pairs occur more than once.*{task}, {worker}"):
        aggregate(data)
    if not conflict:
        assert facts(aggregate(data, duplicates="same")) == facts(aggregate(to_arrow(ROWS)))


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
        solution = aggregate(data.address, query=query, labels=[low, high])
        labels = solution.answers["label"].to_pylist()
        assert {type(label) for label in labels} == {type(low)}, name
        expected = aggregate(to_arrow(ROWS))
        assert labels == [high if label == "yes" else low for label in expected.answers["label"].to_pylist()]
        assert solution.certificate.objective == expected.certificate.objective


def test_texts_are_compared_byte_by_byte_whatever_the_column_says():
    table = pa.table({"task": ["a", "A", "é", "e\u0301"], "worker": ["u"] * 4, "label": ["x", "X", "y", "X"]})
    data = server().load(table)
    server().run("CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    columns = ", ".join(f'{name} COLLATE "alike" AS {name}' for name in table.column_names)
    solution = aggregate(data.address, query=f"SELECT {columns} FROM {data.table}")
    assert facts(solution) == facts(aggregate(table))
    fewer = aggregate(data.address, query=f"SELECT {columns} FROM {data.table}", na=["X"], missing="drop")
    assert facts(fewer) == facts(aggregate(table, na=["X"], missing="drop"))
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
    answers = aggregate(to_sqlite(table, tmp_path / "data.db"), missing="drop").answers
    assert answers.select(["task", "label"]).to_pydict() == {"task": ["a", "b"], "label": ["x", "y"]}


def test_a_label_that_is_1_here_and_text_there_is_an_error(tmp_path):
    with closing(sqlite3.connect(tmp_path / "data.db")) as connection, connection:
        connection.execute("CREATE TABLE responses (task, worker, label)")
        connection.executemany(
            "INSERT INTO responses VALUES (?, ?, ?)", [(k, "w", 1 if k % 2 else "1") for k in range(3000)]
        )
    with pytest.raises(ColumnError, match="column 'label' holds texts in some rows and numbers in others"):
        aggregate(f"sqlite:///{tmp_path}/data.db", table="responses")


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
    solution = aggregate(data, task=names[0], worker=names[1], label=names[2])
    assert facts(solution) == facts(aggregate(to_arrow(ROWS)))


def test_backslashes_are_themselves_whatever_the_server_is_set_to():
    table = pa.table({"task": [1, 1, 2, 2], "worker": ["u", "v"] * 2, "label": ["a\\b", "it's", "a\\b", "a\\b"]})
    data = server().load(table)
    address = f"{data.address}?options=-c%20standard_conforming_strings%3Doff"
    assert facts(aggregate(address, table=data.table)) == facts(aggregate(table))


def test_two_columns_of_one_name_are_refused():
    query = "SELECT 1 AS task, 'w' AS worker, 'x' AS label, 'y' AS label"
    with pytest.raises(ColumnError, match="the query has two columns named 'label'"):
        aggregate(server().address, query=query)


def test_the_smallest_integer_of_sqlite(tmp_path):
    table = pa.table({"task": [-(2**63), 2**63 - 1], "worker": ["u", "u"], "label": ["x", "y"]})
    solution = aggregate(to_sqlite(table, tmp_path / "data.db"))
    assert sorted(solution.answers["task"].to_pylist()) == [-(2**63), 2**63 - 1]


def test_a_text_that_is_not_utf8_names_the_database(tmp_path):
    data = to_sqlite(to_arrow(ROWS), tmp_path / "data.db")
    with closing(sqlite3.connect(tmp_path / "data.db")) as connection, connection:
        connection.execute("UPDATE responses SET label = CAST(x'ff41' AS TEXT) WHERE task = 7")
    with pytest.raises(InputError, match=r"data\.db: a text is not UTF-8"):
        aggregate(data)


def test_a_table_of_another_schema():
    data = server().load(to_arrow(ROWS))
    server().run("CREATE SCHEMA elsewhere", f"CREATE TABLE elsewhere.mine AS SELECT * FROM {data.table}")
    assert facts(aggregate(data.address, table="elsewhere.mine")) == facts(aggregate(to_arrow(ROWS)))
    assert facts(aggregate(data.address, table=f"public.{data.table}")) == facts(aggregate(to_arrow(ROWS)))
    with pytest.raises(InputError, match=r"has no table 'mine'; did you mean 'elsewhere.mine'"):
        aggregate(data.address, table="mine")


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
    solution = aggregate(data, smoothing=0.5)
    server().run(change.format(t=data.table))
    with pytest.raises(InputError, match="other rows than when they were counted"):
        solution.workers()


def test_rows_that_did_not_change_come_over_later():
    data = server().load(to_arrow(ROWS))
    solution = aggregate(data, smoothing=0.5)
    server().run(f"UPDATE {data.table} SET label = label")  # other places, the same rows
    assert plain(solution.workers()) == plain(aggregate(to_pandas(ROWS), smoothing=0.5).workers())


@pytest.mark.parametrize("kind", KINDS)
def test_a_solution_is_verified_against_its_database(kind, tmp_path):
    data = database(kind, to_arrow(ROWS), tmp_path)
    solution = aggregate(data)
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
        ({"table": "{table}", "task": "tusk"}, "no column named 'tusk' for the task; did you mean --task task"),
        ({}, "say what to read of it with --table or --query"),
        ({"table": "{table}", "query": "SELECT 1"}, "leave out --table or --query"),
    ],
)
def test_bad_input_is_one_line(kind, options, said, tmp_path, crowdopt):
    data = database(kind, to_arrow(ROWS), tmp_path)
    options = {name: value.format(table=data.table) for name, value in options.items()}
    with pytest.raises(InputError, match=said) as caught:
        aggregate(data.address, **options)
    assert "\n" not in str(caught.value)
    assert facts(aggregate(data)) == facts(aggregate(to_arrow(ROWS)))  # which is still there
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    before = set(tmp_path.iterdir())
    done = crowdopt("aggregate", data.address, *words, "-o", "answers.csv", "--solution", "s.json", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("crowdopt: ")
    assert set(tmp_path.iterdir()) == before


def test_a_query_cannot_write():
    server().run("CREATE SEQUENCE counted")
    for query in ("SELECT nextval('counted') AS task, 'w' AS worker, 'x' AS label",
                  "WITH gone AS (DELETE FROM pg_class RETURNING *) SELECT 1 AS task"):  # fmt: skip
        with pytest.raises(InputError, match=r"it must be one SELECT|must be at the top level"):
            aggregate(server().address, query=query)
    assert server().run("SELECT is_called FROM counted") == [(False,)]


def addresses():
    """Addresses that do not work, each with a password that must not be shown."""
    right = server().address
    return {
        "wrong password": right.replace(QUOTED, "wr0ngpass"),
        "unreachable": f"postgresql://crowd:{QUOTED}@127.0.0.1:1/postgres",
        "unknown host": f"postgresql://crowd:{QUOTED}@nowhere.invalid/postgres",
        "unknown database": f"{right}x",
        "unknown option": f"{right}?passwort=s3cret",
        "password as an option": f"postgresql://crowd@127.0.0.1:{server().port}/postgres?password=wr0ngpass",
        "slash": "postgresql://crowd:s3cret/x@127.0.0.1/postgres",
        "hash": "postgresql://crowd:s3cret#x@127.0.0.1/postgres",
        "question mark": "postgresql://crowd:s3cret?x@127.0.0.1/postgres",
        "port": "postgresql://crowd:s3cret@127.0.0.1:s3cret/postgres",
        "no host": "postgresql://crowd:s3cret",
        "bracket": "postgresql://crowd:s3cret[@127.0.0.1/postgres",
    }


@pytest.mark.parametrize("case", [
    "wrong password", "unreachable", "unknown host", "unknown database", "unknown option", "password as an option",
    "slash", "hash", "question mark", "port", "no host", "bracket",
])  # fmt: skip
def test_a_server_that_refuses_is_one_line_without_a_password(case, tmp_path, crowdopt):
    address = addresses()[case]
    for words in (
        ("aggregate", address, "--table", "t", "-o", "answers.csv"),
        ("aggregate", address),
        ("aggregate", "responses.csv", "-o", address, "--output-table", "t"),
        ("aggregate", "responses.csv", "--truth", address),
        ("verify", "none.json", address, "--table", "t"),
    ):
        to_pandas(ROWS).to_csv(tmp_path / "responses.csv", index=False)
        done = crowdopt(*words, cwd=tmp_path)
        assert done.returncode in ({2} if words[0] == "aggregate" else {1, 2}), done
        assert done.stderr.startswith("crowdopt: ")
        assert done.stderr.count("\n") == 1
        for secret in ("s3cret", "wr0ngpass", "%2F%40"):
            assert secret not in done.stdout + done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["responses.csv"]


def test_errors_in_python_hold_no_password_either():
    for address in addresses().values():
        with pytest.raises(InputError) as caught:
            aggregate(address, table="t")
        shown = "".join(format_exception_only(caught.value)) + str(caught.value.__context__)
        for secret in ("s3cret", "wr0ngpass", "%2F%40"):
            assert secret not in shown
    assert PASSWORD not in repr(Database(server().address, table="t"))
    assert QUOTED not in repr(Database(server().address, table="t"))


def chain(error):
    """An error, and all that are shown with it."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize("form", [str, Path, str.upper])
def test_an_address_where_a_file_is_meant_is_not_shown(form):
    address, frame = form("postgresql://ann:s3cret@h/db.csv"), to_pandas(ROWS)
    solution = aggregate(frame)
    for wrong in (
        lambda: aggregate(frame, prior_matrix=address),
        lambda: aggregate(frame, truth=address),
        lambda: solution.save(address),
        lambda: solution.write(address),
        lambda: solution.report(address),
        lambda: Solution.load(address),
        lambda: Solutions.load(address),
        lambda: verify(address, frame),
        lambda: check_folder(Path(address)),
    ):
        with pytest.raises(InputError, match=r"a file is meant|is a database: say what") as caught:
            wrong()
        for error in chain(caught.value):
            assert "s3cret" not in f"{error!r}{error}".lower()


@pytest.mark.parametrize("address", [
    "postgresql://my user:s3cret@h/db", "postgresql://ann:s3 cret@h/db", "postgresql://ann:s3\ncret@h/db",
    "postgres://h/db?password=s3 cret", "postgresql://h/db?pass%77ord=s3 cret&sslmode=prefer",
    "postgresql://ann:s3/cret@h/db", "postgresql://ann:s3@cret@h/db", "postgresql://ann:1/s3cret@h/db",
])  # fmt: skip
@pytest.mark.parametrize("option", ["", "--output=", "-o"])
def test_the_command_of_a_report_holds_no_password(address, option, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["crowdopt", "aggregate", option + address, "--table", "t 1"])
    told = command_line()
    assert "s3" not in told
    assert "cret" not in told
    assert told.endswith(" --table 't 1'")
    assert f"{option}postgres" in told


@pytest.mark.parametrize("text", [
    "postgresql://h:5432/db: worker ann@x.com answered twice", "postgresql://h/db: worker ann@x.com answered twice",
    "postgresql://ann@h:5432/db: worker bob@x.com", "postgresql://h: worker ann@x.com", "sqlite:///a.db: ann@x.com",
    "postgresql://[::1]:5432/db: worker ann@x.com", "100% of ann@x.com = b",
])  # fmt: skip
def test_the_last_net_lets_other_text_pass(text):
    assert str(InputError(text)) == text


@pytest.mark.parametrize("text", [
    "postgresql:/ann:s3cret@h/db: no", "x://my user:s3 cret@h", "x://u:a@s3cret@h", "x://h?password=s3 cret",
    "x://h?a=b&pass%77ord=s3 cret", "x://ann:s3\ncret@h",
])  # fmt: skip
def test_the_last_net_holds_passwords(text):
    said = str(InputError(text))
    assert "s3" not in said
    assert "cret" not in said


def test_nothing_that_is_written_holds_a_password(tmp_path, crowdopt):
    data = server().load(to_arrow(ROWS))
    target = ("-o", server().address, "--output-table", f"answers_{data.table}")
    files = ("--solution", "s.json", "--report", "r.html")
    for more in ((), ("--json",)):
        done = crowdopt(
            "aggregate", data.address, "--table", data.table, *target, *files, "--replace", *more, cwd=tmp_path
        )
        assert (done.returncode, done.stderr) == (0, "")
        for text in (done.stdout, (tmp_path / "s.json").read_text(), (tmp_path / "r.html").read_text()):
            assert "s3cret" not in text
    assert f"crowdopt aggregate {server().shown} --table" in (tmp_path / "r.html").read_text()


def test_a_password_from_the_environment(tmp_path, crowdopt, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    data = server().load(to_arrow(ROWS))
    done = crowdopt("aggregate", server().shown, "--table", data.table, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_written_to_a_table(kind, tmp_path, crowdopt):
    data = database(kind, to_arrow(ROWS), tmp_path)
    target = Database(data.address, table=f"answers_{data.table}")
    solution = aggregate(data)
    solution.write(target, probabilities=True)
    order = f"SELECT * FROM {target.table} ORDER BY task"
    if kind == "postgresql":
        rows = server().run(order)
    else:
        with closing(sqlite3.connect(tmp_path / "data.db")) as connection:
            rows = connection.execute(order).fetchall()
    assert rows == list(zip(*plain(solution.answers_frame(probabilities=True)).values(), strict=True))
    with pytest.raises(OutputError, match="it exists; add --replace"):
        solution.write(target)
    aggregate(to_pandas(ROWS)).write(Database(data.address, table=target.table, replace=True))
    done = crowdopt(
        "aggregate", data.address, "--table", data.table, "-o", target.address, "--output-table", target.table,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "it exists; add --replace to write a new one in its place" in done.stderr


def test_values_of_odd_types_are_written(tmp_path):
    table = to_arrow(ROWS).append_column("price", [[Decimal("1.50")] * len(ROWS)])
    table = table.set_column(0, "task", table["task"].cast(pa.uint8()))
    for target in (Database(server().address, table="odd"), Database(f"sqlite:///{tmp_path}/new.db", table="odd")):
        solution = aggregate(table, keep=["price"])
        solution.write(target)
        again = aggregate(target, label="label", worker="status", keep=["price"], duplicates="all")
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
    aggregate(to_pandas(ROWS)).write(old)
    with Workspace() as workspace, pytest.raises(OutputError, match="no more"):
        write_rows(Broken(), old, workspace)
    assert aggregate(old, worker="status", duplicates="all").totals.n_tasks == 25


def test_what_is_no_table_is_not_replaced():
    server().run("CREATE VIEW seen AS SELECT 1 AS one")
    with pytest.raises(OutputError, match="it is no table"):
        aggregate(to_pandas(ROWS)).write(Database(server().address, table="seen", replace=True))


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
def test_the_input_is_not_replaced_however_it_is_spelt_in_sqlite(read, write, name, said, tmp_path, crowdopt):
    data = to_sqlite(to_arrow(ROWS), tmp_path / "data.db")
    (tmp_path / "link.db").symlink_to("data.db")
    (tmp_path / "sub").mkdir()
    with closing(sqlite3.connect(tmp_path / "data.db")) as connection, connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM responses")
    before = (tmp_path / "data.db").read_bytes()
    words = ("-o", write, "--output-table", name, "--replace")
    done = crowdopt("aggregate", data.address, *read, *words, cwd=tmp_path)
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
def test_the_input_is_not_replaced_however_it_is_spelt_in_postgresql(host, read, name, said, tmp_path, crowdopt):
    data = server().load(to_arrow(ROWS))
    table = data.table
    server().run(f"CREATE TABLE parent_{table} (LIKE {table})", f"ALTER TABLE {table} INHERIT parent_{table}")
    words = [word.format(t=table) for word in (*read, "--output-table", name)]
    target = data.address.replace("127.0.0.1", host)
    done = crowdopt("aggregate", data.address, *words, "-o", target, "--replace", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert server().run(f"SELECT count(*) FROM {table}") == [(len(ROWS),)]


def test_another_table_of_the_same_database_is_replaced(tmp_path, crowdopt):
    for data in (server().load(to_arrow(ROWS)), to_sqlite(to_arrow(ROWS), tmp_path / "data.db")):
        words = ("-o", data.address, "--output-table", f"answers_{data.table}", "--replace")
        for _ in range(2):
            done = crowdopt("aggregate", data.address, "--table", data.table, *words, cwd=tmp_path)
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
def test_options_that_contradict(words, said, tmp_path, crowdopt):
    data = server().load(to_arrow(ROWS))
    to_pandas(ROWS).to_csv(tmp_path / "responses.csv", index=False)
    done = crowdopt("aggregate", *(word.format(a=data.address, t=data.table) for word in words), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "s3cret" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["responses.csv"]


def test_results_that_go_on_from_a_solution(tmp_path, crowdopt):
    data = server().load(to_arrow(ROWS))
    source = (data.address, "--table", data.table)
    assert crowdopt("aggregate", *source, "--solution", "s.json", cwd=tmp_path).returncode == 0
    for command, n_rows in (("workers", 9), ("predict", 25), ("next", 10)):
        target = Database(f"sqlite:///{tmp_path}/out.db", table=command)
        words = ("-o", target.address, "--output-table", command)
        done = crowdopt(command, "s.json", *source, *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        with closing(sqlite3.connect(tmp_path / "out.db")) as connection:
            assert connection.execute(f"SELECT count(*) FROM {command}").fetchall() == [(n_rows,)]
    assert crowdopt("verify", "s.json", *source, cwd=tmp_path).stdout.splitlines()[0] == "CONFIRMED"
    assert crowdopt("report", "s.json", *source, "-o", "r.html", cwd=tmp_path).returncode == 0
    done = crowdopt("compare", *source, "--methods", "vote,em", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_missing_driver_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crowdopt\[databases\]'"):
        aggregate(to_sqlite(to_arrow(ROWS), tmp_path / "data.db"))


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "data.db").write_text("task,worker,label\n")
    for address, said in (("data.db", "not a database"), ("none.db", "there is no file")):
        with pytest.raises(InputError, match=said):
            aggregate(f"sqlite:///{tmp_path}/{address}", table="t")
    with pytest.raises(InputError, match="names no file"):
        aggregate("sqlite://data.db", table="t")
    assert [path.name for path in tmp_path.iterdir()] == ["data.db"]


def test_interrupt_while_the_server_works(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    query = "SELECT 1 AS task, 'w' AS worker, 'x' AS label FROM pg_sleep(60)"
    process = subprocess.Popen(
        [*PROGRAM, "aggregate", server().address, "--query", query, "-o", "answers.csv"],
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
        assert canonical(aggregate(backwards)) == canonical(aggregate(to_arrow(ROWS)))


def test_there_is_a_server_that_these_tests_started():
    assert server().process.poll() is None
    assert Path(f"/proc/{server().process.pid}").exists()
