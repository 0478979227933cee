"""Memory that ends, and files that change while they are read: one line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import crowdopt
from support.fault_commands import OUTPUTS, RUN, as_csv, left, rows

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
    done = limited(megabytes, "prove", "data.csv", *OUTPUTS, *options, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert left(tmp_path) == ["data.csv"]


@pytest.mark.parametrize("options", [(), ("--find-classes", "2")], ids=["labels", "classes"])
def test_enough_addresses_are_enough(options, tmp_path):
    (tmp_path / "data.csv").write_text(as_csv(rows(200)))
    done = limited(1500, "prove", "data.csv", *OUTPUTS, *options, "--threads", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(tmp_path) == ["answers.csv", "data.csv", "solution.json"]


BOMBS = {
    "rows.csv.gz": (b"task,worker,label\na,v,yes\n", b"a,w,yes\n", ""),
    "line.csv.gz": (b"task,worker,label\na,v,yes\n", b"x", "line 3: a row of more than 16 MB"),
    "header.csv.gz": (b"", b"x", "the header cannot be read"),
    "quote.csv.gz": (b'task,worker,label\na,v,"', b"yes\n", "line 2: a quote is not closed"),
    "rows.jsonl.gz": (b"", b'{"task": "a", "worker": "w", "label": "yes"}\n', ""),
    "line.jsonl.gz": (b'{"task": "', b"x", "a record of more than 64 MB"),
    "rows.csv.zst": (b"task,worker,label\na,v,yes\n", b"a,w,yes\n", ""),
    "line.csv.zst": (b"task,worker,label\na,v,yes\n", b"x", "line 3: a row of more than 16 MB"),
}
"""Files that unpack to a hundred times what they are: how each begins, what comes again and again, what is wrong."""

UNPACKED, LIBRARIES = 120 << 20, 300
"""Bytes of each; and megabytes that libraries, and what they read into, take beside the limit of memory."""

PEAK = """
import os, sys
silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss, flush=True)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs a command, whose output is of no interest here, and prints the peak of its memory in kilobytes."""


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_unpacks_a_thousandfold_stays_below_the_limit(name, tmp_path):
    first, again, said = BOMBS[name]
    block = again * ((1 << 20) // len(again))
    packed = pa.CompressedOutputStream(str(tmp_path / name), "zstd") if name.endswith("zst") else None
    with packed or gzip.open(tmp_path / name, "wb") as file:
        file.write(first)
        for _ in range(UNPACKED // len(block)):
            file.write(block)
    assert (tmp_path / name).stat().st_size < UNPACKED / 100
    limit = 500 if "jsonl" in name else 200  # each thread has room for two records of JSON
    command = [*RUN, "aggregate", name, "-o", "answers.csv", "--memory-limit", f"{limit}MB", "--threads", "2"]
    # A process begins with the peak of who starts it, so a small one does.
    done = subprocess.run(
        [sys.executable, "-S", "-c", PEAK, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, said in done.stderr) == (2 if said else 0, True)
    assert done.stderr.count("\n") == bool(said)
    assert (tmp_path / "answers.csv").exists() is not bool(said)
    assert int(done.stdout) * 1024 < (limit + LIBRARIES) * 1e6


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
def test_memory_that_ends_in_a_phase_is_one_line(place, error, faulty, tmp_path):
    Path("data.csv").write_text(as_csv(rows(20)))
    faulty.fault(place, error)
    code, out, err = faulty("prove", "data.csv", *OUTPUTS)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("crowdopt: out of memory; ")
    assert left() == ["data.csv"]
    assert left(tmp_path / "temporary") == []


def test_other_errors_are_not_taken_for_a_lack_of_memory(faulty):
    Path("data.csv").write_text(as_csv(rows(20)))

    def bug():
        raise RuntimeError("a bug")

    faulty.fault("crowdopt.results.solve_counts.run", bug)
    with pytest.raises(RuntimeError, match="a bug"):
        faulty("prove", "data.csv")


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
def test_a_file_that_changes_while_it_is_read_is_an_error(name, how, faulty, tmp_path):
    write_rows(name, rows(30))
    write_rows(f"other.{name}", rows(50, 1))
    change = {
        "rewritten": lambda: write_rows(name, rows(50, 1)),
        "cut": lambda: cut(name),
        "replaced": lambda: Path(f"other.{name}").replace(name),
        "gone": lambda: Path(name).unlink(),
    }[how]
    faulty.on_phase("counting", change)
    said = f"crowdopt: {name} was changed while it was read: read it again when nobody writes or removes it\n"
    assert faulty("prove", name, *OUTPUTS) == (2, "", said)
    assert not Path("answers.csv").exists()
    assert left(tmp_path / "temporary") == []


@pytest.mark.parametrize("phase", ["finding classes", "comparing with the consensus"])
def test_a_file_that_changes_while_it_is_read_again_is_an_error(phase, faulty):
    write_rows("data.csv", rows(30))
    faulty.on_phase(phase, lambda: write_rows("data.csv", rows(50, 1)))
    said = "crowdopt: data.csv was changed while it was read: read it again when nobody writes or removes it\n"
    assert faulty("prove", "data.csv", "--find-classes", "2", *OUTPUTS) == (2, "", said)
    assert not Path("answers.csv").exists()


def test_a_file_that_changes_before_kept_columns_are_read_is_an_error(faulty):
    Path("data.csv").write_text("task,worker,label,city\na,v,yes,x\na,w,no,x\nb,v,no,y\n")
    faulty.on_phase("writing", lambda: Path("data.csv").write_text("task,worker,label,city\na,v,yes,changed\n"))
    code, _, err = faulty("prove", "data.csv", "--keep", "city", *OUTPUTS)
    assert (code, err) == (
        2,
        "crowdopt: data.csv was changed while it was read: read it again when nobody writes or removes it\n",
    )
    assert left() == ["data.csv"]


def test_a_file_that_changes_under_groups_or_verify_is_an_error(faulty):
    Path("data.csv").write_text(as_csv(rows(30)))
    crowdopt.prove("data.csv").save("made.json")
    faulty.fault("crowdopt.data.load.count_tasks", lambda: cut("data.csv"))
    assert "was changed while it was read" in faulty("verify", "made.json", "data.csv")[2]
    Path("data.csv").write_text(as_csv(rows(30)))
    faulty.on_phase("counting", lambda: cut("data.csv"))
    assert "was changed while it was read" in faulty("prove", "data.csv", "--group", "batch")[2]
