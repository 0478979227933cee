"""A full disk: one line that says so, and nothing left behind. The disk is a small one of the test's own."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import duckdb
import pytest

SCRIPT = """
mount -t tmpfs -o size=2m tmpfs small || exit 99
"$@"
code=$?
ls -A small
exit $code
"""
"""Runs a command beside a small disk that nobody else sees, and lists what is left on it."""

N_TASKS = 150_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Responses that take more than the small disk has, since their tasks cannot be compressed."""
    folder = tmp_path_factory.mktemp("disk")
    (folder / "small").mkdir()
    with duckdb.connect() as connection, closing(sqlite3.connect(folder / "large.db")) as sqlite, sqlite:
        connection.execute(
            "CREATE TABLE responses AS SELECT md5(i::VARCHAR) AS task, 'w' || (i % 7) AS worker, "
            f"if(i % 3 = 0, 'yes', 'no') AS label FROM range({N_TASKS}) AS numbers(i)"
        )
        connection.execute(f"COPY responses TO '{folder}/large.parquet'")
        sqlite.execute("CREATE TABLE responses (task, worker, label)")
        rows = connection.execute("FROM responses").fetchall()
        sqlite.executemany("INSERT INTO responses VALUES (?, ?, ?)", rows)
    return folder


TEMPORARY = "the disk that holds temporary files is full; free some space or set TMPDIR to another disk"


@pytest.mark.parametrize(
    ("words", "temporary", "said"),
    [
        (["large.parquet", "-o", "answers.csv"], "small", TEMPORARY),
        (["large.parquet", "--duplicates", "same", "--memory-limit", "60MB", "--threads", "1"], "small", TEMPORARY),
        (["sqlite:///large.db", "--table", "responses", "-o", "answers.csv"], "small", TEMPORARY),
        (["large.parquet", "-o", "small/answers.csv"], "", "No space left on device"),
        (["large.parquet", "-o", "small/answers.parquet"], "", "No space left on device"),
        (["large.parquet", "-o", "sqlite:///small/answers.db", "--output-table", "a"], "", "database or disk is full"),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_nothing(words, temporary, said, folder, tmp_path):
    before = sorted(folder.iterdir())
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run(
        [*alone, "sh", "-c", SCRIPT, "sh", sys.executable, "-m", "crowdopt", "aggregate", *words],
        cwd=folder, env=os.environ | {"TMPDIR": str(folder / temporary if temporary else tmp_path)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("crowdopt: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before
    assert list(tmp_path.iterdir()) == []
