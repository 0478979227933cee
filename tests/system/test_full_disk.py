"""A full or read-only disk: one line that says so, and nothing left behind. The disk is one of the test's own."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import duckdb
import pytest

import crowdopt

SCRIPT = """
mount -t tmpfs -o size=2m tmpfs small || exit 99
case "$DISK" in
    filled) head -c 3M /dev/zero > small/filler 2> /dev/null ;;
    read-only) mount -o remount,ro small || exit 99 ;;
esac
"$@"
code=$?
ls -A small | grep -v filler
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
    (folder / "few.csv").write_text("task,worker,label\na,v,yes\na,w,yes\nb,v,no\nb,w,yes\n")
    crowdopt.prove(folder / "few.csv").save(folder / "made.json")
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
    assert said in failing("small", ["prove", *words], folder, folder / temporary if temporary else tmp_path)
    assert list(tmp_path.iterdir()) == []


TARGETS = {
    "solution": ["prove", "few.csv", "-o", "answers.csv", "--solution", "small/solution.json"],
    "report": ["prove", "few.csv", "-o", "answers.csv", "--report", "small/report.html"],
    "answers": ["prove", "few.csv", "-o", "small/answers.jsonl", "--solution", "solution.json"],
    "table": ["prove", "few.csv", "-o", "sqlite:///small/a.db", "--output-table", "a", "--solution", "s.json"],
    "simulate": ["simulate", "-o", "crowd.csv", "--truth", "small/truth.csv"],
    "predict": ["predict", "made.json", "few.csv", "-o", "small/predictions.csv"],
    "workers": ["workers", "made.json", "few.csv", "-o", "workers.csv", "--confusion", "small/confusion.csv"],
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("disk", ["filled", "read-only"])
def test_an_output_that_has_no_place_leaves_none_of_the_others(disk, target, folder, tmp_path):
    said = failing(disk, TARGETS[target], folder, tmp_path)
    named = next(word for word in TARGETS[target] if "small" in word).removeprefix("sqlite:///")
    assert named in said
    assert "written:" not in said
    assert list(tmp_path.iterdir()) == []


def failing(disk, words, folder, temporary):
    """Runs a command beside a disk of some kind; what it says in the one line that it has to fail with."""
    before = sorted(folder.iterdir())
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run(
        [*alone, "sh", "-c", SCRIPT, "sh", sys.executable, "-m", "crowdopt", *words],
        cwd=folder, env=os.environ | {"TMPDIR": str(temporary), "DISK": disk},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("crowdopt: ")
    assert done.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before
    return done.stderr
