"""Input that means harm: names and cells that are SQL, scripts or formulas, fields and files that are far too large."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdopt
from crowdopt import Database
from crowdopt.errors import InputError
from crowdopt.results.write.files import write_columns
from support.browsing import Page
from support.hostile import responses, written

MB = 1 << 20
TEXTS = [
    "x'; DROP TABLE responses; --", "Robert'); DROP TABLE answers;--", "a;b", "it's", "<script>alert(1)</script>",
    "</script><script>document.title='broken'</script>", "<img src=x onerror=\"document.title='broken'\">",
    "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\tx", "\rx", "two\nlines", "\u202eright to left", "\x1b[31mred",
    "%s%n", "${HOME}", "{{7*7}}", "../../../etc/passwd", "/etc/hostname", "read_csv('/etc/hostname')", "NULL", "-0.5",
]  # fmt: skip
QUOTED = [*TEXTS, 'say "no"', 'x"; DROP TABLE responses; --']
"""Also with double quotes, which the names of some columns may not have."""


MEASURED = """
import os, sys
process = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ)
_, status, usage = os.wait4(process, 0)
print("peak", usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs Python from a small process: a process that begins as a copy of a large one counts as large ever after."""


def run(*words, cwd, environment=None):
    """Runs the program; gives its exit code, what it says, and the most memory that it had, in bytes."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", MEASURED, "-m", "crowdopt", *map(str, words)],
        cwd=cwd, capture_output=True, text=True, check=False, env=os.environ | (environment or {}),
    )  # fmt: skip
    said, _, kilobytes = done.stdout.rpartition("peak ")
    return done.returncode, said + done.stderr, int(kilobytes) * 1024


# Texts.


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("out", ["csv", "tsv", "parquet", "jsonl", "db"])
def test_texts_come_out_as_they_went_in(tmp_path, kind, out):
    path = written(responses(QUOTED), tmp_path / f"r.{kind}")
    solution = crowdopt.prove(path, verbatim=True)  # names in text files keep the blanks around them
    target = tmp_path / f"answers.{out}"
    solution.write(Database(f"sqlite:///{target}", table="x'; DROP TABLE y; --") if out == "db" else target)
    assert sorted(_tasks(target)) == sorted(QUOTED)
    assert sorted(solution.answers["task"].to_pylist()) == sorted(QUOTED)
    assert crowdopt.verify(solution, path).verdict == "CONFIRMED"


def _tasks(path):
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection:
            return [task for (task,) in connection.execute('SELECT task FROM "x\'; DROP TABLE y; --"')]
    if path.suffix == ".parquet":
        return pq.read_table(path)["task"].to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line)["task"] for line in path.read_text(encoding="utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        return [row["task"] for row in csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")]


@pytest.mark.parametrize("name", [*(text for text in TEXTS if not set(text) & {".", '"'}), "c0", "json", "_answers"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_columns_of_any_name_are_read_and_kept(tmp_path, name, kind):
    frame = responses(["a", "b", "c"], "answer")
    frame[name] = frame["task"] + "!"
    path = written(frame, tmp_path / f"r.{kind}")
    before = sorted(tmp_path.iterdir())
    kept = crowdopt.prove(path, label="answer", keep=[name]).answers
    assert sorted(kept[name].to_pylist()) == ["a!", "b!", "c!"]
    named = crowdopt.prove(path, label="answer", task=name)
    assert sorted(named.answers["task"].to_pylist()) == ["a!", "b!", "c!"]
    groups = crowdopt.prove(path, label="answer", group=name, jobs=1)
    assert sorted(groups) == ["a!", "b!", "c!"]
    assert sorted(tmp_path.iterdir()) == before


def test_what_is_printed_steers_no_terminal(tmp_path):
    labels = ["\x1b[31mred", "\u202e=yes"] * len(QUOTED)
    written(responses(QUOTED).assign(label=labels, part="\x1b[31mred"), tmp_path / "r.csv")
    for words in (["r.csv", "--keep", "worker"], ["r.csv", "--json"], ["r.csv", "--group", "part"]):
        _, said, _ = run("prove", *words, "--duplicates", "all", cwd=tmp_path)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", said) or "--json" in words
        assert "red" in said
        if "--json" in words:
            assert "\x1b[31mred" in json.loads(said)["labels"]


def test_a_report_runs_nothing_of_what_it_shows(browser, tmp_path):
    column = "<script>document.title='broken'</script>"
    frame = responses(TEXTS, column).assign(**{"<img src=x onerror=alert(1)>": TEXTS[4]})
    solution = crowdopt.prove(frame, label=column, keep=["<img src=x onerror=alert(1)>"])
    solution.report(tmp_path / "report.html", command="crowdopt </script><script>alert(1)</script>")
    dialogs = []
    page = Page(browser, tmp_path / "report.html")
    page.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.page.wait_for_load_state("networkidle")
    assert page.page.title() != "broken"
    assert page.page.eval_on_selector_all("img", "nodes => nodes.length") == 0
    page.close()
    assert dialogs == []


def test_a_path_is_a_path_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = responses(["a", "b", "c"])
    for name in (
        "r[1].csv",
        "r*.csv",
        "~.csv",
        "read_csv('x').csv",
        "x'; DROP TABLE y; --.csv",
        "a b?.csv",
        "$HOME.csv",
    ):
        assert crowdopt.prove(written(frame, tmp_path / name)).scale.n_labels == 2
        assert crowdopt.prove(name).scale.n_labels == 2
    for name in ("https://127.0.0.1:9/r.csv", "s3://bucket/r.csv", "~/r.csv", "file:///etc/hostname", "/etc/hostname"):
        with pytest.raises(InputError, match=r"no such file|cannot tell its format"):
            crowdopt.prove(name)


# Formulas.

FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", "-"]
HARMLESS = ["a=1", "", "-1", "+1.5", "-.5e3", "'=1", "1-1", "é", "007"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_formulas_get_an_apostrophe_if_that_is_asked_for(tmp_path, suffix):
    columns = {"=name": pa.array([*FORMULAS, *HARMLESS]), "number": pa.array([-1.5] * len([*FORMULAS, *HARMLESS]))}
    path = tmp_path / f"t{suffix}"
    write_columns(columns, path, spreadsheet_safe=True)
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t" if suffix == ".tsv" else ",")
    assert header == ["'=name", "number"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in FORMULAS), *HARMLESS]
    assert {row[1] for row in rows} == {"-1.5"}
    write_columns(columns, path)
    assert path.read_text(encoding="utf-8").startswith("=name")


def test_every_command_that_writes_a_table_can_spare_spreadsheets(tmp_path):
    frame = responses(["=1+1", "b", "c"]).replace({"worker": {"=1+1 0": "=w", "=1+1 1": "@w"}})
    written(frame.assign(part="=part"), tmp_path / "r.csv")
    safe = "--spreadsheet-safe"
    assert run("prove", "r.csv", "--solution", "s.json", "-o", "a.csv", safe, cwd=tmp_path)[0] == 0
    grouped = ("prove", "r.csv", "--group", "part", "-o", "g.csv", "--group-summary", "gs.csv", safe)
    assert run(*grouped, cwd=tmp_path)[0] == 0
    assert run("workers", "s.json", "r.csv", "-o", "w.csv", "--confusion", "c.tsv", safe, cwd=tmp_path)[0] == 0
    assert run("predict", "s.json", "r.csv", "-o", "p.csv", safe, cwd=tmp_path)[0] == 0
    assert run("next", "s.json", "r.csv", "-o", "n.csv", safe, cwd=tmp_path)[0] == 0
    for name in ("a.csv", "g.csv", "gs.csv", "w.csv", "c.tsv", "p.csv", "n.csv"):
        content = (tmp_path / name).read_text(encoding="utf-8")
        assert re.search("^'[=@]", content, re.MULTILINE), name
        assert not re.search("(^|[,\t])[=@]", content, re.MULTILINE), name
    code, said, _ = run("prove", "r.csv", "-o", "a.parquet", safe, cwd=tmp_path)
    assert (code, said) == (2, f"crowdopt: {safe} has a meaning only where a .csv or .tsv file is written\n")


# Sizes.

HEADER = b"task,worker,label\n"
ROWS = b"a,ann,yes\na,bob,yes\nb,ann,no\nb,bob,yes\nc,bob,no\n"
BOMBS = {
    "field.csv": (HEADER + b'"', b"a", b'",ann,yes\n', "a row of more than 16 MB|a quote is not closed"),
    "line.csv": (HEADER, b"a", b",ann,yes\n", "a row of more than 16 MB"),
    "header.csv": (b"", b"a,", b"\n", "the header cannot be read"),
    "blank.csv": (HEADER + ROWS, b"\n", b"", "as many blank lines"),
    "text.jsonl": (b'{"task": "', b"a", b'", "worker": "b", "label": "c"}\n', "a record of more than 64 MB"),
    "deep.json": (b"", b"[", b"", "a record of more than 16 MB|JSON"),
    "blank.json": (b"", b" ", b"", "empty|JSON"),
}
"""What 280 MB of one sign begin with, the sign, how they end, and what is said of them."""


@pytest.mark.parametrize(
    ("name", "packing"), [*((name, "gz") for name in BOMBS), ("line.csv", "zst"), ("text.jsonl", "zst")]
)
def test_a_file_that_unpacks_to_a_thousand_times_its_size(tmp_path, name, packing):
    head, sign, tail, said = BOMBS[name]
    path = tmp_path / f"{name}.{packing}"
    with gzip.open(path, "wb") if packing == "gz" else pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(head)
        for _ in range(280):
            stream.write(sign * (MB // len(sign)))
        stream.write(tail)
    assert path.stat().st_size * 900 < 280 * MB
    code, found, memory = run("prove", path.name, cwd=tmp_path, environment={"TMPDIR": str(tmp_path)})
    assert re.search(said, found), found
    assert code == 0 or found.count("\n") == 1
    assert memory < (2000 if name == "deep.json" else 600) * MB  # a record of brackets is a value for each of them
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name]


SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
CELL = b'<c t="inlineStr"><is><t>%s</t></is></c>'
TITLES = b"<row>" + b"".join(CELL % name for name in (b"task", b"worker", b"label")) + b"</row>"
SHEETS = {
    "cell": (
        SHEET + TITLES + b'<row><c t="inlineStr"><is><t>',
        b"a" * MB,
        b"</t></is></c></row></sheetData></worksheet>",
    ),
    "rows": (SHEET + TITLES, b"<row></row>" * (MB // 11), b"</sheetData></worksheet>"),
}


@pytest.mark.parametrize("kind", SHEETS)
def test_a_workbook_that_unpacks_to_a_thousand_times_its_size(tmp_path, kind):
    small, path = io.BytesIO(), tmp_path / "bomb.xlsx"
    openpyxl.Workbook().save(small)
    head, chunk, tail = SHEETS[kind]
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(small) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in set(old.namelist()) - {sheet}:
            new.writestr(name, old.read(name))
        with new.open(sheet, "w", force_zip64=True) as stream:
            stream.write(head)
            for _ in range(700):
                stream.write(chunk)
            stream.write(tail)
    code, said, memory = run("prove", path.name, cwd=tmp_path)
    assert (code, said.count("\n")) == (2, 1)
    assert "bomb.xlsx unpacks to more than" in said
    assert memory < 400 * MB


@pytest.mark.parametrize("verb", ["aggregate", "prove"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_cell_of_ten_megabytes_is_a_cell(tmp_path, kind, verb):
    frame = responses(["a", "b", "c"]).replace({"task": {"c": "x" * 10 * MB}})
    path = written(frame, tmp_path / f"r.{kind}")
    code, _, memory = run(verb, path, "-o", "answers.parquet", "-q", cwd=tmp_path)
    assert code == 0
    assert memory < 1000 * MB
    assert sorted(map(len, pq.read_table(tmp_path / "answers.parquet")["task"].to_pylist())) == [1, 1, 10 * MB]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "r.csv",
            HEADER + b"x" * 40 * MB + b",ann,yes\n",
            "r.csv, line 2: a row of more than 16 MB, or as many blank lines; is a quote not closed?",
        ),
        ("r.csv", HEADER + ROWS + b"x" * 40 * MB + b",ann,yes\n", "a row of more than 16 MB"),
        ("r.csv", HEADER + ROWS + b'"a\nb""' + b"x" * 40 * MB + b'",ann,yes\n', "a row of more than 16 MB"),
        ("r.csv", HEADER + ROWS + b'"' + b"x\n" * 20 * MB + b'",ann,yes\n', "16 MB"),
        ("r.csv", HEADER + b'"' + b"x" * 40 * MB + b'",ann,yes\n', "a row of more than 16 MB"),
        ("r.csv", b"x" * 40 * MB + b"," + HEADER + b"1," + ROWS, "a name has more than 128 KB"),
        ("r.json", b'[{"task": "' + b"x" * 40 * MB + b'"}]\n', "r.json has a record of more than 16 MB"),
    ],
    ids=["row", "last row", "quotes", "lines", "quoted", "header", "record"],
)
def test_a_cell_of_forty_megabytes_is_refused_in_words(tmp_path, monkeypatch, name, content, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        crowdopt.prove(name)
    assert said in str(error.value)


def test_a_hundred_thousand_labels_are_refused_in_words(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("task,worker,label\n" + "".join(f"t{n},w{n % 7},label {n}\n" for n in range(100_000)))
    with pytest.raises(InputError, match=r"100,000 different labels, such as .*; at most 10,000 are supported"):
        crowdopt.prove(path)


@pytest.mark.parametrize("depth", [1000, 1_000_000])
def test_lists_in_lists(tmp_path, monkeypatch, depth):
    monkeypatch.chdir(tmp_path)
    deep = "[" * depth + "]" * depth
    (tmp_path / "r.csv").write_bytes(HEADER + ROWS)
    (tmp_path / "deep.json").write_text(deep)
    (tmp_path / "deep.jsonl").write_text(f'{{"task": {deep}, "worker": "a", "label": "b"}}\n')
    (tmp_path / "beside.jsonl").write_text(f'{{"task": "t", "x": {deep}, "worker": "a", "label": "b"}}\n')
    with pytest.raises(InputError, match="JSON is read as JSON Lines"):
        crowdopt.prove("deep.json")
    with pytest.raises(InputError, match="'task' is nested"):
        crowdopt.prove("deep.jsonl")
    assert crowdopt.prove("beside.jsonl").totals.n_tasks == 1
    (reason,) = crowdopt.verify("deep.json", "r.csv").reasons
    assert reason == "deep.json is not a solution file: it has lists within lists without end"


@pytest.mark.parametrize("sign", ["x", "?", "\n", "a:/", "?%"])
def test_errors_are_short_whatever_they_quote(sign):
    """And are made at once: nothing looks through megabytes again and again."""
    error = InputError("no column named " + sign * 10 * MB + "\nat all")
    assert len(str(error)) < 1100
    assert "\n" not in str(error)
    assert str(error).startswith("no column named ")
    assert str(error).endswith(" at all")


def test_queries_of_the_workspace_change_no_setting_and_reach_no_network():
    from crowdopt.data.tables.workspace import Workspace

    with Workspace() as workspace:
        for query in ("SET autoload_known_extensions = true", "FROM 'https://127.0.0.1:9/r.csv'"):
            with pytest.raises(duckdb.Error):
                workspace.sql(query).fetchall()


def test_bytes_and_full_width_signs_are_no_way_around_the_apostrophe(tmp_path):
    path = tmp_path / "r.parquet"
    tasks = pa.array([b"=1+1", "＝v".encode(), b"b"], pa.binary())
    pq.write_table(pa.table({"task": tasks, "worker": ["w", "w", "w"], "label": ["yes", "no", "yes"]}), path)
    solution = crowdopt.prove(path)
    solution.write(tmp_path / "a.csv", spreadsheet_safe=True)
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("'=1+1,")
    write_columns({"task": pa.array(["＝v"])}, tmp_path / "b.csv", spreadsheet_safe=True)
    assert (tmp_path / "b.csv").read_text(encoding="utf-8").splitlines()[1] == "'＝v"
