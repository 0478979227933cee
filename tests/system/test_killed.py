"""Killed, or a process of it: old or new outputs, never a part."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

import crowdopt
from crowdopt import _parallel as jobs
from crowdopt.errors import CrowdoptError
from crowdopt.studies.paper import reproduce
from support.fault_commands import OUTPUTS, RUN, as_csv, left, rows
from support.faults import killed_at

# Killed: old or new, never a part.


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Two folders of outputs of all kinds, old ones and new ones, and what is in them."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("old", "new")}
    for turn, folder in enumerate(folders.values()):
        for name, responses in (("old.csv", rows(40)), ("new.csv", rows(60, 1))):
            (folder / name).write_text(as_csv(responses))
        solution = crowdopt.prove(folder / ("old.csv", "new.csv")[turn])
        database = crowdopt.Database(f"sqlite:///{folder}/answers.db", table="answers")
        for target in (folder / "answers.csv", folder / "answers.parquet", database):
            solution.write(target)
        solution.save(folder / "solution.json")
        solution.report(folder / "report.html")
    found = {name: contents(folder) for name, folder in folders.items()}
    assert all(found["old"][name] != found["new"][name] for name in found["old"])
    return folders["old"], found


@pytest.fixture
def killed(versions, tmp_path):
    """A folder with the old outputs, and what is in old and new ones."""
    return Path(shutil.copytree(versions[0], tmp_path / "killed")), versions[1]


def outputs(suffix="csv"):
    if suffix == "db":
        return ("-o", "sqlite:///answers.db", "--output-table", "answers", "--replace", "--solution", "solution.json")
    return ("-o", f"answers.{suffix}", "--solution", "solution.json")


def contents(folder):
    """What is in each output, as its reader sees it: all of it can be read, whatever happened."""
    with duckdb.connect() as connection, closing(sqlite3.connect(folder / "answers.db")) as sqlite:
        parquet = connection.execute(f"FROM '{folder}/answers.parquet'").fetchall()
        table = sqlite.execute("SELECT * FROM answers").fetchall()
    page = (folder / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    solution = json.loads((folder / "solution.json").read_text())
    fingerprint = solution["certificate"]["fingerprint"]
    return {
        "answers.csv": (folder / "answers.csv").read_text(),
        "answers.parquet": parquet,
        "answers.db": table,
        "solution.json": fingerprint,
        "report.html": page.count("<tr"),
    }


def states(folder, found):
    """Which outputs are old and which are new; none may be anything else, and nothing nameless may be left."""
    now = contents(folder)
    which = {name: next((age for age in found if found[age][name] == now[name]), "broken") for name in now}
    known = {*now, "old.csv", "new.csv", "answers.db-journal"}  # with which SQLite undoes what was begun
    assert all(name.startswith(".crowdopt-") and name.endswith(".tmp") for name in set(left(folder)) - known)
    return which


@pytest.mark.parametrize(
    ("suffix", "place", "when", "new"),
    [
        ("csv", "crowdopt.results.write.files.copy_query", 1, []),
        ("csv", "crowdopt.results.write.files.copy_query", -1, []),
        ("parquet", "crowdopt.results.write.files.copy_query", -1, []),
        ("csv", "pathlib.Path.write_text", -1, []),
        ("csv", "pathlib.Path.replace", 1, []),
        ("csv", "pathlib.Path.replace", 2, ["solution.json"]),
        ("parquet", "pathlib.Path.replace", -2, ["solution.json", "answers.parquet"]),
        ("db", "crowdopt.results.write.database._portable", -1, []),
        ("csv", "crowdopt.cli.console.print_result", 1, ["solution.json", "answers.csv"]),
    ],
)
def test_killed_at_a_moment_leaves_old_or_new_outputs(suffix, place, when, new, killed):
    folder, found = killed
    assert killed_at(place, when, "prove", "new.csv", *outputs(suffix), cwd=folder) == -signal.SIGKILL
    assert states(folder, found) == {name: "new" if name in new else "old" for name in found["old"]}


def test_killed_while_the_report_is_written_leaves_the_old_one(killed):
    folder, found = killed
    args = ("prove", "new.csv", *outputs(), "--report", "report.html")
    assert killed_at("pathlib.Path.write_text", -2, *args, cwd=folder) == -signal.SIGKILL
    assert set(states(folder, found).values()) == {"old"}


def test_killed_at_any_moment_leaves_old_or_new_outputs(killed):
    folder, found = killed
    started = time.monotonic()
    subprocess.run([*RUN, "prove", "new.csv", *outputs(), "-q"], cwd=folder, check=True, timeout=120)
    seconds = time.monotonic() - started
    for part in range(1, 9):
        options = (*outputs(("csv", "parquet", "db")[part % 3]), "-q")
        program = subprocess.Popen([*RUN, "prove", ("old.csv", "new.csv")[part % 2], *options], cwd=folder)
        time.sleep(seconds * (0.6 + 0.05 * part))
        program.kill()
        program.wait(timeout=60)
        assert "broken" not in states(folder, found).values()
    for suffix in ("csv", "parquet", "db"):
        subprocess.run([*RUN, "prove", "new.csv", *outputs(suffix), "-q"], cwd=folder, check=True, timeout=120)
    assert states(folder, found) == dict.fromkeys(found["new"], "new") | {"report.html": "old"}


# A process of a parallel run is killed.


def dies(item):
    """Kills its process for item 2, and for item 1 the first time."""
    folder, number = item
    first = Path(folder) / "first"
    if number == 2 or (number == 1 and not first.exists()):
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_process_that_is_killed_costs_at_most_what_killed_it(monkeypatch, tmp_path):
    monkeypatch.setattr(jobs, "ALONE", -1.0)
    items = [(str(tmp_path), number) for number in range(8)]
    found = jobs.run_all(dies, items, 2, "lost")
    assert found == {at: "lost" if at == 2 else at for at in range(8)}


KILLED = """
import os, signal
from crowdopt.results import solve_counts
from crowdopt.verify import groups as verify_groups
def killed(module, name, place):
    function = getattr(module, name)
    def faulty(item):
        if item[place].buckets.n_tasks == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(item)
    setattr(module, name, faulty)
killed(solve_counts, "solve_group", 0)
killed(verify_groups, "check_group", 1)
from crowdopt._parallel import serve; serve()
"""
"""A process that is killed by the group of seven tasks."""


def test_a_group_whose_check_is_killed_is_not_confirmed(faulty):
    for group, size in {"a": 5, "b": 7}.items():
        Path(f"{group}.csv").write_text(as_csv(rows(size), group))
    crowdopt.prove(["a.csv", "b.csv"], group="batch", jobs=1).save("made.json")
    faulty.monkeypatch.setattr(jobs, "ALONE", -1.0)
    faulty.monkeypatch.setattr(jobs, "_SERVE", KILLED)
    code, out, err = faulty("verify", "made.json", "a.csv", "b.csv", "--jobs", "2")
    assert (code, out) == (2, "")
    assert err == (
        "crowdopt: group b was not checked: the process that checked it was ended, and so was a second one\n"
    )


def test_a_group_whose_process_is_killed_is_named_and_the_others_are_answered(faulty):
    sizes = {"a": 5, "b": 7, "c": 6}
    for group, size in sizes.items():
        Path(f"{group}.csv").write_text(as_csv(rows(size), group))
    faulty.monkeypatch.setattr(jobs, "ALONE", -1.0)
    faulty.monkeypatch.setattr(jobs, "_SERVE", KILLED)
    code, _, err = faulty("prove", "a.csv", "b.csv", "c.csv", "--group", "batch", "--jobs", "2", *OUTPUTS, "-q")
    assert code == 4
    assert err.startswith("crowdopt: group b: the process that solved it was ended")
    assert [line for line in err.splitlines()[1:] if not line.startswith("crowdopt: CHECK: ")] == []
    found = duckdb.execute("SELECT batch, count(*) FROM 'answers.csv' GROUP BY ALL ORDER BY ALL").fetchall()
    assert found == [("a", 5), ("c", 6)]


def dies_of_a_piece(piece):
    """Kills its process for the first trials, every time."""
    if piece.first == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.zeros((piece.last - piece.first, 1, 1))


def test_a_process_of_the_reproduction_that_is_killed_twice_is_one_line(monkeypatch):
    monkeypatch.setattr(jobs, "ALONE", -1.0)
    monkeypatch.setattr(reproduce, "run_piece", dies_of_a_piece)
    with pytest.raises(CrowdoptError, match="was ended, by someone or for lack of memory"):
        reproduce.run_experiments(["filtering-0.5"], 200, 0, {}, 2, lambda _: None)


def fails(piece):
    """An error of the function itself, in a process of its own."""
    raise ValueError(f"no such piece: {piece.first}")


def test_an_error_in_a_process_of_the_reproduction_is_raised_here(monkeypatch, capfd):
    monkeypatch.setattr(jobs, "ALONE", -1.0)
    monkeypatch.setattr(reproduce, "run_piece", fails)
    with pytest.raises(ValueError, match="no such piece: 0"):
        reproduce.run_experiments(["filtering-0.5"], 200, 0, {}, 2, lambda _: None)
    assert capfd.readouterr().err == ""
