"""Faults while responses are held in parts on disk, as many are: nothing half written, one line, no file left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import crowdopt
from crowdopt.data import parts
from crowdopt.data.tables import duckdb
from support.fault_commands import OUTPUTS, as_csv, left, rows
from support.faults import killed_at

SMALL = 1500
"""Responses of a part, and of the sample, in these tests; DuckDB streams no fewer than 2048 at once."""

ON_DISK = (
    "from crowdopt.data import parts; from crowdopt.data.tables import duckdb; "
    f"duckdb.STREAMED = parts.SAMPLE = parts.PART = {SMALL}; parts.IN_MEMORY = 0"
)
"""What a process of its own has to do for that."""

AGGREGATE = ("aggregate", "data.csv", *OUTPUTS, "--report", "report.html", "--keep", "batch")

MOMENTS = [
    ("crowdopt.data.tables.table.coded_stream", 1),
    ("crowdopt.data.parts.CodedPart.write", 1),
    ("crowdopt.data.parts.CodedPart.write", -4),
    ("crowdopt.data.parts.EncodedParts.sample", 1),
    ("crowdopt.data.parts.CodedPart.read", -14),
    ("crowdopt.results.source_consensus.fit_consensus", -1),
    ("crowdopt.consensus.consensus.Judge.members", 3),
    ("crowdopt.consensus.consensus.Judge.probabilities_without", 2),
    ("crowdopt.results.source_consensus.SourceConsensus.answer_table", -1),
    ("crowdopt.results.write.files.copy_query", -1),
]
"""Calls in which the fault comes, after them if negative."""


@pytest.fixture
def _data(faulty, monkeypatch):
    for name in ("SAMPLE", "PART"):
        monkeypatch.setattr(parts, name, SMALL)
    monkeypatch.setattr(parts, "IN_MEMORY", 0)
    monkeypatch.setattr(duckdb, "STREAMED", SMALL)
    Path("data.csv").write_text(as_csv(rows(4000)))


def answers(name):
    """What a file of answers says."""
    return Path(name).read_bytes()


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize(("place", "when"), MOMENTS)
def test_an_ending_leaves_nothing(place, when, faulty, ending, tmp_path):
    number, word, code = ending
    faulty.interrupt(place, when, number)
    assert faulty(*AGGREGATE) == (code, "", f"crowdopt: {word}; nothing was written\n")
    assert left() == ["data.csv"]
    assert left(tmp_path / "temporary") == []


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize(("place", "when"), MOMENTS)
def test_a_killed_run_leaves_the_old_answers_and_the_next_one_writes_new_ones(place, when, faulty, tmp_path):
    for name in ("answers.csv", "solution.json", "report.html"):
        Path(name).write_text("old")
    assert killed_at(place, when, *AGGREGATE, cwd=Path.cwd(), before=ON_DISK) == -9
    assert {answers(name) for name in ("answers.csv", "solution.json", "report.html")} == {b"old"}
    for file in Path.cwd().glob(".crowdopt-*.tmp"):  # all that there may be more
        file.unlink()
    assert left() == ["answers.csv", "data.csv", "report.html", "solution.json"]
    if when < -1:
        assert faulty(*AGGREGATE, "-q")[0] == 0
        assert crowdopt.verify("solution.json", "data.csv").verdict.value == "REPRODUCED"


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize("phase", ["counting", "coding", "weighing", "writing"])
@pytest.mark.parametrize("how", ["rewritten", "replaced", "gone"])
def test_a_source_that_changes_is_an_error(phase, how, faulty, tmp_path):
    Path("other.csv").write_text(as_csv(rows(4001, 1)))
    change = {
        "rewritten": lambda: Path("data.csv").write_text(as_csv(rows(4001, 1))),
        "replaced": lambda: Path("other.csv").replace("data.csv"),
        "gone": lambda: Path("data.csv").unlink(),
    }[how]
    faulty.on_phase(phase, change)
    said = "crowdopt: data.csv was changed while it was read: read it again when nobody writes or removes it\n"
    assert faulty(*AGGREGATE) == (2, "", said)
    assert not any(Path(name).exists() for name in ("answers.csv", "solution.json", "report.html"))
    assert left(tmp_path / "temporary") == []


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize("phase", ["weighing", "writing"])
@pytest.mark.parametrize("what", ["folder", "part", "half a part"])
def test_temporary_files_that_are_gone_are_one_line(phase, what, faulty, tmp_path):
    def remove():
        [folder] = (tmp_path / "temporary").iterdir()
        if what == "folder":
            shutil.rmtree(folder)
        elif what == "part":
            next(folder.rglob("part-3.arrow")).unlink()
        else:
            os.truncate(next(folder.rglob("part-3.arrow")), 5000)

    faulty.on_phase(phase, remove)
    code, out, err = faulty(*AGGREGATE)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("crowdopt: temporary files cannot be used: ")
    assert left() == ["data.csv"]
    assert left(tmp_path / "temporary") == []


BESIDE_A_SMALL_DISK = """
mount -t tmpfs -o size=2m tmpfs small || exit 99
"$@"
code=$?
ls -A small
exit $code
"""


@pytest.mark.parametrize("full", ["temporary", "target"])
def test_a_full_disk_is_one_line(full, tmp_path):
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    code = (
        f"import sys; {ON_DISK}; parts.SAMPLE = parts.PART = 30_000; "
        "sys.argv[0] = 'crowdopt'; from crowdopt.cli.entry import main; main()"
    )
    (tmp_path / "data.csv").write_text(as_csv(rows(100_000)))
    for folder in ("small", "temporary"):
        (tmp_path / folder).mkdir()
    temporary, target = ("small", "answers.csv") if full == "temporary" else ("temporary", "small/answers.jsonl")
    command = [sys.executable, "-c", code, "aggregate", "data.csv", "-o", target, "--solution", "solution.json"]
    done = subprocess.run(
        [*alone, "sh", "-c", BESIDE_A_SMALL_DISK, "sh", *command],
        cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path / temporary)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    said = "the disk that holds temporary files is full" if full == "temporary" else "No space left on device"
    assert said in done.stderr
    assert left(tmp_path) == ["data.csv", "small", "temporary"]
    assert left(tmp_path / "temporary") == []
