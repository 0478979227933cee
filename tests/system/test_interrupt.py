"""Ctrl-C and SIGTERM: while proving, the best answers so far; before, and while aggregating, nothing at all."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from crowdopt import _startup
from crowdopt.cli import entry
from crowdopt.cli.console import Console

pty = pytest.importorskip("pty", reason="a terminal is needed, which Windows has no stand-in for")

PROGRAM = Path(sys.executable).parent / "crowdopt"
SIDE = 90
"""Buckets of 0 to 89 yes and no: about half a minute of work for the engine."""


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.005)


def start(folder, *args, **kwargs):
    """Starts the program with a temporary folder and a working folder of its own."""
    for name in ("temporary", "work"):
        (folder / name).mkdir()
    return subprocess.Popen(
        [PROGRAM, *map(str, args)],
        cwd=folder / "work",
        env=os.environ | {"TMPDIR": str(folder / "temporary"), "TERM": "xterm"},
        stdout=subprocess.PIPE,
        **kwargs,
    )


def ends_in_one_line(program, ending, folder):
    """Ends the program, and checks that it says so once and leaves nothing behind."""
    number, word, code = ending
    program.send_signal(number)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out, err) == (code, b"", f"crowdopt: {word}; nothing was written\n".encode())
    assert list((folder / "work").iterdir()) == []
    assert list((folder / "temporary").iterdir()) == []


class Terminal:
    """A pseudo-terminal: what the program shows on standard error."""

    def __init__(self):
        self.ours, self.theirs = pty.openpty()
        self.shown = b""

    def shows(self, text):
        self._read(0.05)
        return text in self.shown

    def rest(self):
        """All that was shown, once the program has ended."""
        while self._read(0.2):
            pass
        return self.shown

    def close(self):
        for end in (self.ours, self.theirs):
            os.close(end)

    def _read(self, seconds):
        ready = select.select([self.ours], [], [], seconds)[0]
        if ready:
            self.shown += os.read(self.ours, 1 << 16)
        return ready


@pytest.fixture
def terminal():
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.fixture
def program(tmp_path):
    """Starts programs and makes sure that they end."""
    started = []

    def run(*args, **kwargs):
        started.append(start(tmp_path, *args, **kwargs))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    """A file that is read in no time and takes long to solve with estimated selectivity."""
    path = tmp_path_factory.mktemp("hard") / "hard.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT printf('t%02d_%02d', yes, no) AS task, i AS worker, if(i < yes, 'yes', 'no') AS label "
            f"FROM range({SIDE}) a(yes), range({SIDE}) b(no), range({2 * SIDE}) c(i) WHERE i < yes + no) "
            f"TO '{path}'"
        )
    return path


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A file that takes long to read and no time to solve."""
    path = tmp_path_factory.mktemp("long") / "long.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 't' || i // 5 AS task, 'w' || i % 5 AS worker, hash(i) % 2 AS label "
            f"FROM range(4_000_000) r(i)) TO '{path}'"
        )
    return path


def test_interrupt_while_comparing_keeps_the_proof(program, terminal, tmp_path):
    path = tmp_path / "many.parquet"
    with duckdb.connect() as connection:  # proved in no time; the consensus takes seconds
        connection.execute(
            "COPY (SELECT i // 3 AS task, 'w' || hash(i) % 999 AS worker, "
            "if(hash(i) % 5 = 0, 1, 1 + i // 3 % 3) AS label "
            f"FROM range(1_500_000) r(i)) TO '{path}'"
        )
    options = ("--duplicates", "all", "-o", "answers.csv", "--solution", "solution.json")
    proving = program("prove", path, *options, stderr=terminal.theirs)
    wait_for(lambda: terminal.shows(b"comparing with the consensus"), "the proof", 60)
    proving.send_signal(signal.SIGINT)
    out, _ = proving.communicate(timeout=60)
    assert proving.returncode == 130
    assert b"compared with majorities only: someone asked to stop" in b" ".join(out.split())
    assert b"crowdopt: interrupted; the best answers so far were kept" in terminal.rest()
    solution = json.loads((tmp_path / "work" / "solution.json").read_text())
    assert solution["certificate"]["stop"] == "FINISHED"
    assert (tmp_path / "work" / "answers.csv").is_file()


def test_interrupt_while_solving_keeps_the_best_answers(program, terminal, ending, hard, tmp_path):
    number, word, code = ending
    options = ("--selectivity", "estimate", "--time-limit", "600", "-o", "answers.csv", "--solution", "solution.json")
    solving = program("prove", hard, *options, stderr=terminal.theirs)
    wait_for(lambda: terminal.shows(b"solving: log-likelihood"), "the engine to report on the terminal")
    solving.send_signal(number)
    out, _ = solving.communicate(timeout=30)
    assert solving.returncode == code
    assert b"BOUNDED" in out
    assert b"interrupted" in out
    assert f"crowdopt: {word}; the best answers so far were kept".encode() in terminal.rest()
    with (tmp_path / "work" / "answers.csv").open(newline="") as file:
        answers = list(csv.DictReader(file))
    assert [row["task"] for row in answers] == [
        f"t{yes:02}_{no:02}" for yes in range(SIDE) for no in range(SIDE) if yes + no
    ]
    assert {row["label"] for row in answers} == {"no", "yes"}
    certificate = json.loads((tmp_path / "work" / "solution.json").read_text())["certificate"]
    assert (certificate["stop"], certificate["proof"]) == ("INTERRUPT", "BOUNDED")
    assert certificate["bound"] > certificate["objective"]
    assert list((tmp_path / "temporary").iterdir()) == []
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["answers.csv", "solution.json"]


@pytest.fixture(scope="module")
def groups(hard, tmp_path_factory):
    """An easy group and three hard ones."""
    path = tmp_path_factory.mktemp("groups") / "groups.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM (SELECT 'b' || i AS batch, h.* FROM '{hard}' h, range(3) r(i)) UNION ALL "
            "SELECT 'a', 't' || i, j, if((i + j) % 3 = 0, 'yes', 'no') FROM range(6) r(i), range(4) s(j)) "
            f"TO '{path}'"
        )
    return path


def left_running(folder):
    """Processes that have the temporary folder of a program, as far as the system tells."""
    mark = str(folder / "temporary").encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # of others, or gone in the meantime
            found += [path] if mark in path.read_bytes() else []
    return found


@pytest.mark.parametrize("n_processes", [1, 3], ids=["here", "elsewhere"])
def test_interrupt_of_groups_keeps_those_that_are_solved(program, terminal, ending, groups, tmp_path, n_processes):
    number, word, code = ending
    options = ("--group", "batch", "--jobs", "2", "--selectivity", "estimate", "--time-limit", "600")
    solving = program("prove", groups, *options, "-o", "answers.csv", "--solution", "s.json", stderr=terminal.theirs)
    wait_for(lambda: terminal.shows(b"solving groups"), "the bar of the groups")
    wait_for(lambda: not Path("/proc").exists() or len(left_running(tmp_path)) >= n_processes, "the processes")
    solving.send_signal(number)
    out, _ = solving.communicate(timeout=60)
    assert solving.returncode == code
    assert b"4 groups" in out
    shown = terminal.rest()
    assert f"crowdopt: {word}; the best answers so far were kept".encode() in shown
    assert b"group b2: interrupted before it was solved" in shown
    with (tmp_path / "work" / "answers.csv").open(newline="") as file:
        answered = {row["batch"] for row in csv.DictReader(file)}
    assert answered in ({"a"}, {"a", "b0"})  # what is solved in this process hands over its best
    saved = json.loads((tmp_path / "work" / "s.json").read_text())
    assert {one["group"] for one in saved["groups"]} == answered
    assert list((tmp_path / "temporary").iterdir()) == []
    assert left_running(tmp_path) == []


def assert_nothing_is_left(folder):
    assert [*(folder / "work").iterdir(), *(folder / "temporary").iterdir(), *left_running(folder)] == []


def test_interrupt_while_aggregating_writes_nothing(program, terminal, ending, hard, tmp_path):
    number, word, code = ending
    weighing = program("aggregate", hard, "-o", "answers.csv", "--solution", "s.json", stderr=terminal.theirs)
    wait_for(lambda: terminal.shows(b"weighing"), "the consensus to be looked for")
    weighing.send_signal(number)
    out, _ = weighing.communicate(timeout=60)
    assert (weighing.returncode, out) == (code, b"")
    assert f"crowdopt: {word}; nothing was written".encode() in terminal.rest()
    assert_nothing_is_left(tmp_path)


@pytest.mark.parametrize(("jobs", "n_processes"), [(1, 1), (2, 3)], ids=["here", "elsewhere"])
def test_interrupt_while_aggregating_groups_writes_nothing(
    program, terminal, ending, groups, tmp_path, jobs, n_processes
):
    number, word, code = ending
    options = ("--group", "batch", "--jobs", jobs, "-o", "answers.csv", "--group-summary", "groups.csv")
    weighing = program("aggregate", groups, *options, stderr=terminal.theirs)
    wait_for(lambda: terminal.shows(b"weighing"), "the groups to be aggregated")
    wait_for(lambda: not Path("/proc").exists() or len(left_running(tmp_path)) >= n_processes, "the processes")
    weighing.send_signal(number)
    out, _ = weighing.communicate(timeout=60)
    assert (weighing.returncode, out) == (code, b"")
    assert f"crowdopt: {word}; nothing was written".encode() in terminal.rest()
    assert_nothing_is_left(tmp_path)


def test_quiet_shows_no_progress_on_a_terminal(program, terminal, hard):
    stopped = program(
        "prove", hard, "--selectivity", "estimate", "--time-limit", "3", "--quiet", stderr=terminal.theirs
    )
    out, _ = stopped.communicate(timeout=60)
    assert (stopped.returncode, out) == (0, b"")
    said = terminal.rest()
    assert said.startswith(b"crowdopt: CHECK: these labels overrule the consensus")
    assert said.count(b"\n") == 1


def test_a_closed_standard_output_is_no_error():
    command = ["sh", "-c", '"$0" --version >&-', PROGRAM]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_interrupt_while_reading_a_pipe_writes_nothing(program, ending, tmp_path):
    reading = program("prove", "-", "-o", "answers.csv", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    reading.stdin.write(b"task,worker,label\n" + b"a,ann,yes\n" * 300_000)
    reading.stdin.flush()
    # The input has not ended, so the program can be nowhere but in the middle of copying it.
    copied = tmp_path / "temporary"
    wait_for(lambda: any(path.is_file() and path.stat().st_size for path in copied.rglob("*")), "the copy to begin")
    ends_in_one_line(reading, ending, tmp_path)


@pytest.mark.parametrize("delay", [0.05, 0.2, 0.4, 0.6])
def test_interrupt_while_the_database_works_writes_nothing(program, ending, long, tmp_path, delay):
    """Whatever query it hits: the database has errors of its own for being interrupted."""
    options = ("--threads", "1", "-o", "answers.csv", "--solution", "solution.json")
    reading = program("prove", long, *options, stderr=subprocess.PIPE)
    wait_for(lambda: any((tmp_path / "temporary").iterdir()), "the database to start")
    time.sleep(delay)
    ends_in_one_line(reading, ending, tmp_path)


def test_interrupt_while_the_program_is_still_imported_is_one_line():
    code = """
import sys
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Slow())
sys.argv = ["crowdopt", "prove", "data.csv"]
from crowdopt.cli.entry import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "crowdopt: interrupted; nothing was written\n"


def test_interrupt_while_the_package_itself_is_imported_is_one_line(ending):
    number, word, code = ending
    script = """
import os, signal, sys
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "crowdopt.engines.registry":
            os.kill(os.getpid(), NUMBER)
sys.meta_path.insert(0, Slow())
sys.argv = [NAME, "prove", "data.csv"]
import crowdopt
print("imported")
"""
    for name, expected in (("crowdopt", code), ("another program", -number), ("-m", -number)):
        filled = script.replace("NAME", repr(name)).replace("NUMBER", str(int(number)))
        command = [sys.executable, "-c", filled]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout) == (expected, "")
        assert (done.stderr == f"crowdopt: {word}; nothing was written\n") is (expected == code)


def test_who_starts_the_program_may_have_it_ignore_an_ending(tmp_path, ending):
    (tmp_path / "few.csv").write_text("task,worker,label\na,ann,yes\nb,ann,no\n")
    script = f"""
import os, signal, sys
signal.signal({int(ending[0])}, signal.SIG_IGN)
sys.argv = ["crowdopt", "aggregate", {str(tmp_path / "few.csv")!r}, "-o", "-"]
from crowdopt.cli.console import Console
on_phase = Console.on_phase
Console.on_phase = lambda console, name: (os.kill(os.getpid(), {int(ending[0])}), on_phase(console, name))
from crowdopt.cli.entry import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout[:5]) == (0, "task,")


def test_a_closed_pipe_is_no_verdict(tmp_path):
    small, saved = tmp_path / "small.csv", tmp_path / "solution.json"
    small.write_text("task,worker,label\na,ann,yes\nb,ann,no\n")
    subprocess.run([PROGRAM, "prove", small, "--solution", saved, "-q"], check=True, timeout=60)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as closed:
        done = subprocess.run(
            [PROGRAM, "verify", saved, small], stdout=closed, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_interrupt_while_verifying_is_no_verdict(program, ending, long, tmp_path):
    small, saved = tmp_path / "small.csv", tmp_path / "solution.json"
    small.write_text("task,worker,label\na,ann,yes\nb,ann,no\n")
    subprocess.run([PROGRAM, "prove", small, "--solution", saved, "-q"], check=True, timeout=60)
    verifying = program("verify", saved, long, "--threads", "1", stderr=subprocess.PIPE)
    wait_for(lambda: any((tmp_path / "temporary").iterdir()), "the database to start")
    time.sleep(0.2)
    ends_in_one_line(verifying, ending, tmp_path)


# An interrupt whose exception a library loses.


def test_an_interrupt_before_the_work_begins_is_not_lost(monkeypatch):
    monkeypatch.setattr(_startup, "_came", [])
    with contextlib.suppress(KeyboardInterrupt):
        _startup.interrupt(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Console(quiet=True):
        pytest.fail("the work began")


def test_an_interrupt_in_a_callback_comes_out_at_the_end(monkeypatch):
    monkeypatch.setattr(_startup, "_came", [])
    with pytest.raises(KeyboardInterrupt), Console(quiet=True), contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_nothing_is_said_of_an_interrupt_that_a_library_loses(capsys):
    class Library:
        def __del__(self):
            raise KeyboardInterrupt

    previous, sys.unraisablehook = sys.unraisablehook, entry._unraisable
    try:
        Library()
    finally:
        sys.unraisablehook = previous
    assert capsys.readouterr().err == ""


def test_an_ending_that_a_library_loses_or_makes_an_error_of_is_told_by_every_command(faulty, ending):
    number, word, code = ending

    def lost():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)

    def made_an_error():
        lost()
        raise ValueError("the query was stopped")

    for loses in (lost, made_an_error):
        faulty.fault("crowdopt.studies.simulate.crowd", loses)
        assert faulty("simulate", "-o", "crowd.csv") == (code, "", f"crowdopt: {word}; nothing was written\n")
    assert not _startup.was_interrupted()
