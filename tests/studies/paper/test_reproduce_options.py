"""What the command that makes the paper again can be told, and what happens when something is missing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crowdopt import _parallel
from crowdopt.results.write.files import write_columns
from crowdopt.studies.paper.catalogue import CATALOGUE, pick
from crowdopt.studies.paper.reproduce import reproduce, run_experiments
from crowdopt.studies.paper.setups import ALL_EM, OPT, OPT_SHARES
from crowdopt.studies.simulate import crowd
from support.paper_pages import PROGRAM, rows_of, run

pytestmark = pytest.mark.full


def test_nothing_of_an_earlier_run_is_left_but_files_of_others(tmp_path):
    mine, forged = tmp_path / "notes.txt", tmp_path / "claims.txt"
    for path in (mine, forged):
        path.write_text("mine")
    run("--only", "fig2,table2", "--out", tmp_path)
    assert (tmp_path / "fig2.svg").is_file()
    with (tmp_path / "files.txt").open("a") as file:
        file.write("claims.txt\n../other\n")
    run("--only", "fig1", "--out", tmp_path)
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"fig1.csv", "fig1.svg", "fig1.png", "claims.csv", "claims.md", "index.html", "files.txt",
                     "notes.txt", "claims.txt"}  # fmt: skip
    assert mine.read_text() == forged.read_text() == "mine"
    assert len(rows_of(tmp_path / "claims.csv")) == 1


def test_names_of_figures():
    assert [entry.name for entry in pick(["FIG3a,table2", " fig14 "])] == ["fig3a", "table2", "fig14"]
    assert [entry.name for entry in pick(["beyond1"])] == ["beyond1"]
    assert pick([]) == list(CATALOGUE)


def test_other_seeds_give_other_numbers():
    name = "filtering-0.5"
    rows = [run_experiments([name], 2, seed, {}, 1, lambda _: None)[name].rows for seed in (3, 4, 3)]
    assert rows[0] != rows[1]
    assert rows[0] == rows[2]


def test_real_responses_are_used_where_they_are_given(tmp_path):
    drawn = crowd(40, 12, 4, seed=5)
    for name, columns in (("responses", drawn.to_dict()), ("truth", drawn.truth_dict())):
        write_columns(columns, tmp_path / f"{name}.csv")
    folders = {"ic": tmp_path, "product": tmp_path}
    sampled, whole = (made := reproduce(only=["fig4b", "beyond9"], trials=3, folders=folders, jobs=1)).figures
    assert {row["m"] for row in sampled.rows} == {1, 2, 3, 4}
    assert {row["algorithm"] for row in whole.rows} == {OPT, *ALL_EM, OPT_SHARES}
    assert made.missing == []
    assert "Not run" not in made.page
    assert "--ic was given 40 tasks with 4 responses or more" in made.page
    assert "--product was given 40 tasks with 4 responses or more" in made.page
    assert all(claim.verdict in {"not decided", "not measured"} for claim in made.claims)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "beyond9"], "Beyond 9 needs --product DIR"),
        (["--only", "fig3a,fig4b"], "Figure 4(b) needs --ic DIR"),
        (["--only", ","], "no figure is named"),
        (["--trials", 10**12, "--only", "fig3"], "1 to 1,000,000 trials"),
        (["--trials", 0, "--only", "fig3"], "1 to 1,000,000 trials"),
        (["--out", "x" * 300, "--only", "fig1"], "file name too long"),
        (["--ic", "nowhere", "--only", "fig4b"], "no such folder: nowhere"),
    ],
)
def test_what_cannot_be_run_is_one_line(tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    out = () if "--out" in options else ("--out", tmp_path / "out")
    _, err = run(*out, *options, code=2)
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_of_a_figure_of_which_some_parts_need_data_the_others_are_run():
    made = reproduce(only=["fig4"], trials=2, jobs=1)
    assert [bool(figure.rows) for figure in made.figures] == [True, False, False]
    assert "--ic DIR" in made.missing[0]


def test_an_unknown_figure_is_one_line_that_lists_all(tmp_path):
    _, err = run("--only", "fig99", "--out", tmp_path / "out", code=2)
    assert err.count("\n") == 1
    assert all(entry.name in err for entry in CATALOGUE)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--ic", "--product"])
def test_a_folder_without_data_is_one_line(tmp_path, option):
    _, err = run(option, tmp_path, "--trials", 1, "--out", tmp_path / "out", code=2)
    assert err.startswith("crowdopt: ")
    assert "responses.csv" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        _, err = run("--only", "fig1", "--out", out, code=2)
        assert "is not a folder" in err
        assert err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("package", ["altair", "jinja2", "vl_convert"])
def test_without_the_extra_it_is_one_line(tmp_path, package):
    code = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv = ['crowdopt', 'reproduce', '--out', {str(tmp_path)!r}]"
        "\n"
        "from crowdopt.cli.app import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2
    assert "pip install 'crowdopt[report]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_same_numbers_from_other_processes(monkeypatch):
    one, two = [], []
    expected = run_experiments(["filtering-0.5", "rating-2"], 30, 0, {}, 1, one.append)
    monkeypatch.setattr(_parallel, "ALONE", -1.0)  # nothing in this process
    found = run_experiments(["filtering-0.5", "rating-2"], 30, 0, {}, 2, two.append)
    assert [experiment.rows for experiment in found.values()] == [one.rows for one in expected.values()]
    assert [said[-1].rpartition(",")[0] for said in (one, two)] == [one[-1].rpartition(",")[0]] * 2


# Ctrl-C


def processes_of(mark):
    """The processes at work that have a mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # of others, or ended while we looked
            found += [path.parent.name] if mark.encode() in path.read_bytes() else []
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes where Linux has them")
def test_an_interrupt_is_one_line_and_leaves_no_file_and_no_process(tmp_path):
    out, mark = tmp_path / "out", f"of={tmp_path}"
    args = ["--only", "fig6", "--trials", "5000", "--jobs", "2", "--out", out]
    program = subprocess.Popen(
        [PROGRAM, "reproduce", *args],
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"of": str(tmp_path)},
    )
    try:
        deadline = time.monotonic() + 120
        while len(processes_of(mark)) < 3:  # the program and two workers
            assert time.monotonic() < deadline, "waited for the workers to start"
            time.sleep(0.05)
        time.sleep(1)
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does it: to all of its group
        _, err = program.communicate(timeout=120)
    finally:
        program.kill()
    assert (program.returncode, err) == (130, b"crowdopt: interrupted; nothing was written\n")
    assert not out.exists()
    deadline = time.monotonic() + 30
    while processes_of(mark):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.05)
