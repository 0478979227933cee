"""Passwords of databases are nowhere: not in messages, reports and files."""

from __future__ import annotations

import sys
from pathlib import Path
from traceback import format_exception_only

import pytest

from crowdopt import Database, Solution, Solutions, prove, verify
from crowdopt.cli.report_commands import command_line
from crowdopt.errors import InputError
from crowdopt.studies.paper.output import check_folder
from support.servers import PASSWORD, QUOTED, server
from support.ways import ROWS, to_arrow, to_pandas


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
def test_a_server_that_refuses_is_one_line_without_a_password(case, tmp_path, program):
    address = addresses()[case]
    for words in (
        ("prove", address, "--table", "t", "-o", "answers.csv"),
        ("prove", address),
        ("prove", "responses.csv", "-o", address, "--output-table", "t"),
        ("prove", "responses.csv", "--truth", address),
        ("verify", "none.json", address, "--table", "t"),
    ):
        to_pandas(ROWS).to_csv(tmp_path / "responses.csv", index=False)
        done = program(*words, cwd=tmp_path)
        assert done.returncode in ({2} if words[0] == "prove" else {1, 2}), done
        assert done.stderr.startswith("crowdopt: ")
        assert done.stderr.count("\n") == 1
        for secret in ("s3cret", "wr0ngpass", "%2F%40"):
            assert secret not in done.stdout + done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["responses.csv"]


def test_errors_in_python_hold_no_password_either():
    for address in addresses().values():
        with pytest.raises(InputError) as caught:
            prove(address, table="t")
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
    solution = prove(frame)
    for wrong in (
        lambda: prove(frame, prior_matrix=address),
        lambda: prove(frame, truth=address),
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
    monkeypatch.setattr(sys, "argv", ["crowdopt", "prove", option + address, "--table", "t 1"])
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


def test_nothing_that_is_written_holds_a_password(tmp_path, program):
    data = server().load(to_arrow(ROWS))
    target = ("-o", server().address, "--output-table", f"answers_{data.table}")
    files = ("--solution", "s.json", "--report", "r.html")
    for more in ((), ("--json",)):
        done = program("prove", data.address, "--table", data.table, *target, *files, "--replace", *more, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        for text in (done.stdout, (tmp_path / "s.json").read_text(), (tmp_path / "r.html").read_text()):
            assert "s3cret" not in text
    assert f"crowdopt prove {server().shown} --table" in (tmp_path / "r.html").read_text()


def test_a_password_from_the_environment(tmp_path, program, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    data = server().load(to_arrow(ROWS))
    done = program("prove", server().shown, "--table", data.table, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
