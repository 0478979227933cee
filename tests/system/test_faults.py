"""Faults: whatever ends a run, no output is half written, and what is said is one line."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

import crowdopt
from crowdopt import _parallel as jobs
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.results.write.files import check_target
from crowdopt.studies.paper import reproduce
from support.faults import Command, killed_at

OUTPUTS = ("-o", "answers.csv", "--solution", "solution.json")
NOTHING = "crowdopt: interrupted; nothing was written\n"
RUN = [sys.executable, "-m", "crowdopt"]


@pytest.fixture
def command(monkeypatch, capfd, tmp_path):
    """The command line, in a folder of its own."""
    for name in ("work", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return Command(monkeypatch, capfd)


def rows(n_tasks, turn=0):
    """Responses of three workers who do not always agree."""
    return [
        (f"t{i}", f"w{j}", "yes" if (i * (j + 2) + turn) % 5 < 2 else "no") for i in range(n_tasks) for j in range(3)
    ]


def as_csv(responses, batch="a"):
    lines = [("task", "worker", "label", "batch"), *((*row, batch) for row in responses)]
    return "\n".join(map(",".join, lines)) + "\n"


def left(folder="."):
    return sorted(path.name for path in Path(folder).iterdir())


# Killed: old or new, never a part.


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Two folders of outputs of all kinds, old ones and new ones, and what is in them."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("old", "new")}
    for turn, folder in enumerate(folders.values()):
        for name, responses in (("old.csv", rows(40)), ("new.csv", rows(60, 1))):
            (folder / name).write_text(as_csv(responses))
        solution = crowdopt.aggregate(folder / ("old.csv", "new.csv")[turn])
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
    assert killed_at(place, when, "aggregate", "new.csv", *outputs(suffix), cwd=folder) == -signal.SIGKILL
    assert states(folder, found) == {name: "new" if name in new else "old" for name in found["old"]}


def test_killed_while_the_report_is_written_leaves_the_old_one(killed):
    folder, found = killed
    args = ("aggregate", "new.csv", *outputs(), "--report", "report.html")
    assert killed_at("pathlib.Path.write_text", -2, *args, cwd=folder) == -signal.SIGKILL
    assert set(states(folder, found).values()) == {"old"}


def test_killed_at_any_moment_leaves_old_or_new_outputs(killed):
    folder, found = killed
    started = time.monotonic()
    subprocess.run([*RUN, "aggregate", "new.csv", *outputs(), "-q"], cwd=folder, check=True, timeout=120)
    seconds = time.monotonic() - started
    for part in range(1, 9):
        options = (*outputs(("csv", "parquet", "db")[part % 3]), "-q")
        program = subprocess.Popen([*RUN, "aggregate", ("old.csv", "new.csv")[part % 2], *options], cwd=folder)
        time.sleep(seconds * (0.6 + 0.05 * part))
        program.kill()
        program.wait(timeout=60)
        assert "broken" not in states(folder, found).values()
    for suffix in ("csv", "parquet", "db"):
        subprocess.run([*RUN, "aggregate", "new.csv", *outputs(suffix), "-q"], cwd=folder, check=True, timeout=120)
    assert states(folder, found) == dict.fromkeys(found["new"], "new") | {"report.html": "old"}


# Ctrl-C, phase by phase.


@pytest.mark.parametrize(
    ("phase", "args"),
    [
        ("reading", ["aggregate", "data.csv", *OUTPUTS]),
        ("counting", ["aggregate", "data.csv", *OUTPUTS]),
        ("writing", ["aggregate", "data.csv", *OUTPUTS]),
        ("counting", ["aggregate", "data.csv", "--group", "batch", *OUTPUTS]),
        ("verifying", ["verify", "made.json", "data.csv"]),
        ("running majority vote", ["compare", "data.csv", "--methods", "vote"]),
        ("measuring", ["workers", "made.json", "data.csv", "-o", "workers.csv", "--confusion", "confusion.csv"]),
        ("writing", ["predict", "made.json", "data.csv", "-o", "predictions.csv"]),
        ("ranking", ["next", "made.json", "data.csv", "-o", "next.csv"]),
        ("simulating", ["simulate", "-o", "crowd.csv", "--truth", "truth.csv"]),
        ("writing", ["simulate", "-o", "crowd.csv", "--truth", "truth.csv"]),
    ],
)
def test_interrupt_in_a_phase_writes_nothing(phase, args, command, tmp_path):
    Path("data.csv").write_text(as_csv(rows(20)))
    crowdopt.aggregate("data.csv").save("made.json")
    seen = []

    def interrupt():
        seen.append(phase)
        os.kill(os.getpid(), signal.SIGINT)

    command.on_phase(phase, interrupt)
    assert command(*args) == (130, "", NOTHING)
    assert seen
    assert left() == ["data.csv", "made.json"]
    assert left(tmp_path / "temporary") == []


@pytest.mark.parametrize(
    ("place", "when"),
    [
        ("crowdopt.results.write.files.copy_query", 1),
        ("crowdopt.results.write.files.copy_query", -1),
        ("pathlib.Path.write_text", -1),
        ("crowdopt.report.write_report.gather", 1),
        ("crowdopt.report.write_report.render", 1),
    ],
)
def test_interrupt_while_outputs_are_written_leaves_the_old_ones(place, when, command, tmp_path):
    Path("data.csv").write_text(as_csv(rows(20)))
    for name in ("answers.csv", "solution.json", "report.html"):
        Path(name).write_text("old")
    command.interrupt(place, when)
    assert command("aggregate", "data.csv", *OUTPUTS, "--report", "report.html") == (130, "", NOTHING)
    assert left() == ["answers.csv", "data.csv", "report.html", "solution.json"]
    assert {Path(name).read_text() for name in ("answers.csv", "solution.json", "report.html")} == {"old"}
    assert left(tmp_path / "temporary") == []


@pytest.mark.parametrize(
    ("place", "when"),
    [("pathlib.Path.replace", 1), ("pathlib.Path.replace", -1), ("crowdopt.cli.console.print_result", 1)],
)
def test_interrupt_after_the_outputs_are_written_says_so(place, when, command):
    Path("data.csv").write_text(as_csv(rows(20)))
    command.interrupt(place, when)
    said = "crowdopt: interrupted; written: solution.json, answers.csv\n"
    assert command("aggregate", "data.csv", *OUTPUTS) == (130, "", said)
    assert left() == ["answers.csv", "data.csv", "solution.json"]
    assert crowdopt.verify("solution.json", "data.csv").verdict.value == "CONFIRMED"


def test_a_second_interrupt_while_solving_writes_nothing(command, tmp_path):
    Path("data.csv").write_text(as_csv(rows(20)))
    command.interrupt("crowdopt.results.solve_counts.run")
    command.interrupt("crowdopt.results.solve_counts.run")
    assert command("aggregate", "data.csv", *OUTPUTS) == (130, "", NOTHING)
    assert left() == ["data.csv"]
    assert left(tmp_path / "temporary") == []


def test_interrupt_ends_the_process_of_a_method(command, tmp_path):
    Path("data.csv").write_text(as_csv(rows(20)))
    started, communicate = [], subprocess.Popen.communicate

    def interrupted(process, *args, **kwargs):
        started.append(process)
        os.kill(os.getpid(), signal.SIGINT)
        return communicate(process, *args, **kwargs)

    command.monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    assert command("compare", "data.csv", "--methods", "vote") == (130, "", NOTHING)
    assert [process.returncode for process in started] == [-signal.SIGKILL]
    assert left(tmp_path / "temporary") == []


# Outputs together, and what a message says of them.


def test_an_output_that_cannot_take_its_place_names_those_that_did(command):
    Path("data.csv").write_text(as_csv(rows(20)))
    command.fault("pathlib.Path.replace", lambda: Path("answers.csv").mkdir(), when=-1)
    said = "crowdopt: cannot write answers.csv: Is a directory; written: solution.json\n"
    assert command("aggregate", "data.csv", *OUTPUTS) == (2, "", said)
    assert left() == ["answers.csv", "data.csv", "solution.json"]


@pytest.mark.parametrize("there", [True, False], ids=["file", "nothing"])
def test_a_link_stays_a_link(there, command):
    Path("data.csv").write_text(as_csv(rows(20)))
    Path("elsewhere").mkdir()
    for name in ("answers.csv", "solution.json"):
        if there:
            Path("elsewhere", name).write_text("old")
        Path(name).symlink_to(Path("elsewhere", name))
    assert command("aggregate", "data.csv", *OUTPUTS, "-q")[0] == 0
    assert Path("answers.csv").is_symlink()
    assert Path("solution.json").is_symlink()
    assert left("elsewhere") == ["answers.csv", "solution.json"]
    assert crowdopt.verify("elsewhere/solution.json", "data.csv").verdict.value == "CONFIRMED"


def test_messages_name_the_output_as_the_user_does(command):
    Path("data.csv").write_text(as_csv(rows(20)))
    Path("device.csv").symlink_to("/dev/full")
    Path("lost.csv").symlink_to("nowhere/lost.csv")
    expected = {
        "/sys/a.csv": "cannot write /sys/a.csv: ",
        "/dev/full": "cannot write '/dev/full': the name must end in",
        "device.csv": "cannot write device.csv: it is a device or a pipe, and no file",
        "lost.csv": "cannot write lost.csv: the folder ",
    }
    for target, words in expected.items():
        code, out, err = command("aggregate", "data.csv", "-o", target)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"crowdopt: {words}")
        assert ".tmp" not in err


def test_two_links_to_one_file_are_not_two_outputs(command):
    for name in ("a.csv", "b.csv"):
        Path(name).symlink_to("same.csv")
    assert command("simulate", "-o", "a.csv", "--truth", "b.csv")[0] == 2


# Memory.


def limited(megabytes, *args, cwd):
    """Runs the command line with so many addresses and no more."""
    script = f'ulimit -v {megabytes * 1024} && exec "$@"'
    return subprocess.run(
        ["sh", "-c", script, "sh", *RUN, *args], cwd=cwd, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    ("megabytes", "options", "said"),
    [
        (100, (), "out of memory; free some or raise the limit"),
        (400, (), "out of memory; free some or raise the limit"),
        (1000, (), "out of memory; free some or raise the limit"),
        (4000, ("--report", "report.html"), "reserves 72 GB of addresses"),
    ],
)
def test_too_few_addresses_are_one_line(megabytes, options, said, tmp_path):
    (tmp_path / "data.csv").write_text(as_csv(rows(20)))
    done = limited(megabytes, "aggregate", "data.csv", *OUTPUTS, *options, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert left(tmp_path) == ["data.csv"]


@pytest.mark.parametrize("options", [(), ("--find-classes", "2")], ids=["labels", "classes"])
def test_enough_addresses_are_enough(options, tmp_path):
    (tmp_path / "data.csv").write_text(as_csv(rows(200)))
    done = limited(1500, "aggregate", "data.csv", *OUTPUTS, *options, "--threads", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(tmp_path) == ["answers.csv", "data.csv", "solution.json"]


def no_memory():
    raise MemoryError


def no_library():
    raise ImportError("libx.so: failed to map segment from shared object")


def no_thread():
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("error", [no_memory, no_library, no_thread])
@pytest.mark.parametrize(
    "place",
    ["crowdopt.data.load.count_tasks", "crowdopt.results.solve_counts.run", "crowdopt.results.write.files.copy_query"],
)
def test_memory_that_ends_in_a_phase_is_one_line(place, error, command, tmp_path):
    Path("data.csv").write_text(as_csv(rows(20)))
    command.fault(place, error)
    code, out, err = command("aggregate", "data.csv", *OUTPUTS)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("crowdopt: out of memory; ")
    assert left() == ["data.csv"]
    assert left(tmp_path / "temporary") == []


def test_other_errors_are_not_taken_for_a_lack_of_memory(command):
    Path("data.csv").write_text(as_csv(rows(20)))

    def bug():
        raise RuntimeError("a bug")

    command.fault("crowdopt.results.solve_counts.run", bug)
    with pytest.raises(RuntimeError, match="a bug"):
        command("aggregate", "data.csv")


# A file that changes while it is read.


def write_rows(name, responses):
    """A file of responses, in the format that its name says."""
    text = as_csv(responses)
    if name.endswith(".csv"):
        Path(name).write_text(text)
    elif name.endswith(".gz"):
        Path(name).write_bytes(gzip.compress(text.encode()))
    elif name.endswith(".jsonl"):
        keys = ("task", "worker", "label")
        Path(name).write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in responses))
    else:
        Path("rows.csv").write_text(text)
        duckdb.execute(f"COPY (FROM 'rows.csv') TO '{name}'")


def cut(name):
    """Takes away the second half of a file."""
    os.truncate(name, Path(name).stat().st_size // 2)


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.jsonl", "data.parquet"])
@pytest.mark.parametrize("how", ["rewritten", "cut", "replaced", "gone"])
def test_a_file_that_changes_while_it_is_read_is_an_error(name, how, command, tmp_path):
    write_rows(name, rows(30))
    write_rows(f"other.{name}", rows(50, 1))
    change = {
        "rewritten": lambda: write_rows(name, rows(50, 1)),
        "cut": lambda: cut(name),
        "replaced": lambda: Path(f"other.{name}").replace(name),
        "gone": lambda: Path(name).unlink(),
    }[how]
    command.on_phase("counting", change)
    said = f"crowdopt: {name} was changed while it was read: wait for who writes it\n"
    assert command("aggregate", name, *OUTPUTS) == (2, "", said)
    assert not Path("answers.csv").exists()
    assert left(tmp_path / "temporary") == []


def test_a_file_that_changes_before_kept_columns_are_read_is_an_error(command):
    Path("data.csv").write_text("task,worker,label,city\na,v,yes,x\na,w,no,x\nb,v,no,y\n")
    command.on_phase("writing", lambda: Path("data.csv").write_text("task,worker,label,city\na,v,yes,changed\n"))
    code, _, err = command("aggregate", "data.csv", "--keep", "city", *OUTPUTS)
    assert (code, err) == (2, "crowdopt: data.csv was changed while it was read: wait for who writes it\n")
    assert left() == ["data.csv"]


def test_a_file_that_changes_under_groups_or_verify_is_an_error(command):
    Path("data.csv").write_text(as_csv(rows(30)))
    crowdopt.aggregate("data.csv").save("made.json")
    command.fault("crowdopt.data.load.count_tasks", lambda: cut("data.csv"))
    assert "was changed while it was read" in command("verify", "made.json", "data.csv")[2]
    Path("data.csv").write_text(as_csv(rows(30)))
    command.on_phase("counting", lambda: cut("data.csv"))
    assert "was changed while it was read" in command("aggregate", "data.csv", "--group", "batch")[2]


# A process of a parallel run is killed.


def dies(item):
    """Kills its process for item 2, and for item 1 the first time."""
    folder, number = item
    first = Path(folder) / "first"
    if number == 2 or (number == 1 and not first.exists()):
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def dies_of_a_piece(piece):
    """Kills its process for the first trials, every time."""
    if piece.first == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.zeros((piece.last - piece.first, 1, 1))


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


def test_a_group_whose_check_is_killed_is_not_confirmed(command):
    for group, size in {"a": 5, "b": 7}.items():
        Path(f"{group}.csv").write_text(as_csv(rows(size), group))
    crowdopt.aggregate(["a.csv", "b.csv"], group="batch", jobs=1).save("made.json")
    command.monkeypatch.setattr(jobs, "ALONE", -1.0)
    command.monkeypatch.setattr(jobs, "_SERVE", KILLED)
    code, out, err = command("verify", "made.json", "a.csv", "b.csv", "--jobs", "2")
    assert (code, out) == (2, "")
    assert err == (
        "crowdopt: group b was not checked: the process that checked it was ended, and so was a second one\n"
    )


def test_a_group_whose_process_is_killed_is_named_and_the_others_are_answered(command):
    sizes = {"a": 5, "b": 7, "c": 6}
    for group, size in sizes.items():
        Path(f"{group}.csv").write_text(as_csv(rows(size), group))
    command.monkeypatch.setattr(jobs, "ALONE", -1.0)
    command.monkeypatch.setattr(jobs, "_SERVE", KILLED)
    code, _, err = command("aggregate", "a.csv", "b.csv", "c.csv", "--group", "batch", "--jobs", "2", *OUTPUTS, "-q")
    assert code == 4
    assert err.startswith("crowdopt: group b: the process that solved it was ended")
    assert err.count("\n") == 1
    found = duckdb.execute("SELECT batch, count(*) FROM 'answers.csv' GROUP BY ALL ORDER BY ALL").fetchall()
    assert found == [("a", 5), ("c", 6)]


def test_a_process_of_the_reproduction_that_is_killed_twice_is_one_line(monkeypatch):
    monkeypatch.setattr(jobs, "ALONE", -1.0)
    monkeypatch.setattr(reproduce, "run_piece", dies_of_a_piece)
    with pytest.raises(CrowdoptError, match="was ended, by someone or for lack of memory"):
        reproduce.run_experiments(["filtering-0.5"], 200, 0, {}, 2, lambda _: None)


@pytest.mark.parametrize(
    ("name", "said"), [("a" * 300 + ".csv", "File name too long"), ("loop.csv", "it is a link that leads to itself")]
)
def test_an_output_that_cannot_be_is_refused_before_any_work(tmp_path, name, said):
    target = tmp_path / name
    if name == "loop.csv":
        target.symlink_to(target)
    with pytest.raises(InputError, match=said):
        check_target(target, (".csv",))
