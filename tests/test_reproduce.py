"""The paper made again through the real command: every file, the page, and what happens when something is missing."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import zlib
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from crowdopt.charts import DARK
from crowdopt.paper.catalogue import CATALOGUE, Drawn, Listing, Plot, label_of
from crowdopt.paper.claims import CHECKS, Claim
from crowdopt.paper.experiments import SETUPS
from crowdopt.paper.figures import METRICS, STYLES, Figure
from crowdopt.paper.leads import SHORTFALL
from crowdopt.paper.page import ERRATA, SECTIONS, VERDICTS, Run, number, render, section_of
from crowdopt.paper.reproduce import reproduce, run_experiments
from crowdopt.simulate import crowd
from crowdopt.write import write_columns

PROGRAM = Path(sys.executable).parent / "crowdopt"
ROW = ["experiment", "m", "algorithm", "metric", "mean", "low", "high", "trials"]
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "link", "img", "input", "hr"}
NEEDS_DATA = {
    entry.name for entry in CATALOGUE if not isinstance(entry, Drawn) and entry.experiment in {"ic", "product"}
}


def run(*args, code=0):
    """Runs the program, checks its exit code, and gives standard output and standard error."""
    done = subprocess.run(
        [PROGRAM, "reproduce", *map(str, args)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All of the paper for which no data are needed, with two trials a point: the folder, and what was printed."""
    folder = tmp_path_factory.mktemp("made") / "new" / "folder"
    out, err = run("--trials", 2, "--seed", 3, "--jobs", 2, "--out", folder, "--json")
    assert err == ""
    return folder, json.loads(out)


class Page(HTMLParser):
    """What is on a page; raises where a tag is not closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.words, self.open = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert not {"src", "srcset", "xlink:href"} & given.keys()
        assert not [name for name in given if name.startswith("on")]
        assert tag not in {"script", "link", "iframe", "img"}
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def check_png(data):
    """A PNG whose every part has the right checksum, twice as large as a drawing."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds = 8, []
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        kinds.append(kind)
        at += 12 + size
    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")
    width, height = struct.unpack(">II", data[16:24])
    assert 600 < width < 1400
    assert 400 < height < 1400


# The catalogue


def test_the_catalogue_has_every_figure_of_the_paper():
    own = [entry for entry in CATALOGUE if entry.section != "beyond"]
    assert len([entry for entry in own if isinstance(entry, Plot)]) == 20
    numbers = {int(re.findall(r"\d+", entry.name)[0]) for entry in own if entry.name.startswith("fig")}
    assert numbers == set(range(1, 15))
    assert len({entry.name for entry in CATALOGUE}) == len(CATALOGUE)
    assert {entry.section for entry in CATALOGUE} <= SECTIONS.keys()


def test_every_plot_shows_what_its_experiment_measures():
    for entry in CATALOGUE:
        if isinstance(entry, Plot | Listing):
            assert entry.experiment in SETUPS
        if isinstance(entry, Plot):
            setup = SETUPS[entry.experiment]
            assert entry.metric in {*setup.metrics, SHORTFALL}
            assert entry.metric in METRICS
            assert set(entry.algorithms) <= {*setup.algorithms} & STYLES.keys()


def test_every_claim_has_a_place_on_the_page_and_every_verdict_a_sign():
    assert {section_of(check.where) for check in CHECKS} <= SECTIONS.keys() - {"beyond"}
    assert {"holds", "fails", "in part", "not measured"} == VERDICTS.keys()


def test_the_errata_are_those_of_the_document():
    text = (Path(__file__).resolve().parents[1] / "docs" / "errata.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^## \d+\. (.*)$", text, re.MULTILINE)) == ERRATA


# The files


def test_the_program_says_what_it_made(made):
    folder, said = made
    assert said["page"] == str(folder / "index.html")
    assert said["figures"] == [entry.name for entry in CATALOGUE if entry.name not in NEEDS_DATA]
    assert sum(said["claims"].values()) == len(CHECKS)
    assert said["claims"]["holds"] > 0
    assert ["--ic" in said["missing"][0], "--product" in said["missing"][1]] == [True, True]


def test_every_figure_is_an_svg_a_png_and_a_csv(made):
    folder, _ = made
    tables = {entry.name for entry in CATALOGUE if isinstance(entry, Listing)} | {"table2"}
    expected = {"index.html", "claims.csv"}
    for entry in CATALOGUE:
        if entry.name not in NEEDS_DATA:
            expected |= {
                f"{entry.name}.{kind}" for kind in (("csv",) if entry.name in tables else ("csv", "svg", "png"))
            }
    assert {path.name for path in folder.iterdir()} == expected


def test_drawings_are_well_formed_described_and_can_be_recoloured(made):
    folder, _ = made
    for path in folder.glob("*.svg"):
        root = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 -- a file of our own
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        assert root.get("aria-label").startswith(label_of(path.stem))
        nodes = list(root.iter())
        used = {node.get(name) for node in nodes for name in ("fill", "stroke")} - {None, "none"}
        assert used <= DARK.keys()
        # Drawings share one page, where two things of one name would be mixed up.
        assert not [node for node in nodes if node.get("id") or "url(" in str(node.attrib)]
        assert any(label_of(path.stem) in "".join(node.itertext()) for node in nodes if node.tag == f"{SVG}text")


def test_pictures_are_whole(made):
    folder, _ = made
    for path in folder.glob("*.png"):
        check_png(path.read_bytes())


def test_tables_have_the_numbers_behind_the_plots(made):
    folder, _ = made
    for entry in CATALOGUE:
        if isinstance(entry, Plot) and entry.name not in NEEDS_DATA:
            with (folder / f"{entry.name}.csv").open(newline="") as file:
                rows = list(csv.DictReader(file))
            assert list(rows[0]) == ROW
            assert {row["experiment"] for row in rows} == {entry.experiment}
            assert {row["metric"] for row in rows} == {entry.metric}
            assert {row["trials"] for row in rows} == {"2"}
            assert {int(row["m"]) for row in rows} == set(SETUPS[entry.experiment].sizes)
            assert all(float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in rows)


def test_table_2_is_counted(made):
    folder, _ = made
    with (folder / "table2.csv").open(newline="") as file:
        counts = {(row["R"], row["m"]): row["in order"] for row in csv.DictReader(file)}
    assert counts["3", "3"] == "126"
    assert counts["5", "3"] == "106441769"


# The page


def test_the_page_shows_every_figure_and_claim_and_loads_nothing(made):
    folder, _ = made
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert len(text) < 3_000_000
    assert set(re.findall(r"https?://[^\"' <)]*", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "@import" not in text
    assert "url(" not in text
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids)
    assert {entry.name for entry in CATALOGUE} <= set(page.ids)
    assert {f"claim-{k}" for k in range(1, len(CHECKS) + 1)} <= set(page.ids)
    for link in page.links:
        assert link[1:] in page.ids if link.startswith("#") else (folder / link).is_file()
    for entry in CATALOGUE:
        assert f"{label_of(entry.name)}. {entry.title}" in page.text
    for check in CHECKS:
        assert " ".join(check.claim.split()) in page.text
    assert text.count("<svg ") == len(list(folder.glob("*.svg")))
    assert all(title in page.text for title in ERRATA)
    assert all(verdict in page.text for verdict in VERDICTS)


def test_the_page_says_what_is_missing_and_how_to_get_it(made):
    folder, _ = made
    page = Page((folder / "index.html").read_text(encoding="utf-8"))
    assert "Without --ic DIR nothing is measured on the image comparisons" in page.text
    assert "Without --product DIR" in page.text
    assert page.text.count("Not run: its data are missing") == len(NEEDS_DATA)


def test_whatever_comes_from_outside_is_escaped():
    evil = "<script>alert('x')</script> & \"y\""
    figure = Figure("fig3a", evil, "3.5.1", evil, evil, [{evil: evil}])
    text = render(Run({evil: evil}, [figure], [Claim(evil, evil, evil, "fails", evil)], [evil]))
    assert "<script" not in text
    assert Page(text).text.count(evil) >= 10


def test_numbers_for_people():
    assert number(float(np.float64(0.5))) == "0.5"
    assert number(-0.00012345) == "−0.0001234"
    assert number(999_999_999) == "999,999,999"
    assert number("2.8 × 10^4") == "2.8 × 10^4"


# Options


def test_the_same_numbers_with_one_process_and_only_what_was_asked_for(made, tmp_path):
    folder, _ = made
    out, _ = run("--trials", 2, "--seed", 3, "--jobs", 1, "--only", "fig3", "--only", "fig7", "--out", tmp_path)
    names = ["fig3a", "fig3b", "fig3c", "fig7"]
    assert sorted(path.stem for path in tmp_path.glob("*.svg")) == names
    for name in names:
        for kind in ("csv", "svg"):
            assert (tmp_path / f"{name}.{kind}").read_bytes() == (folder / f"{name}.{kind}").read_bytes()
    assert "4 of 4 figures and tables" in out
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert "section-3.5.1" in page.ids
    assert "section-A" not in page.ids


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
    assert {row["algorithm"] for row in whole.rows} == set(SETUPS["product"].algorithms)
    assert made.missing == []
    assert "Not run" not in made.page


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
        "from crowdopt.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2
    assert "pip install 'crowdopt[report]'" in done.stderr
    assert done.stderr.count("\n") == 1


# Ctrl-C


def processes_of(session):
    """The processes of a session that are still at work."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        if int(fields[3]) == session and fields[0] not in {"Z", "X"}:
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes where Linux has them")
def test_an_interrupt_is_one_line_and_leaves_no_file_and_no_process(tmp_path):
    out = tmp_path / "out"
    args = ["--only", "fig6", "--trials", "5000", "--jobs", "2", "--out", out]
    program = subprocess.Popen([PROGRAM, "reproduce", *args], stderr=subprocess.PIPE, start_new_session=True)
    try:
        deadline = time.monotonic() + 120
        while len(processes_of(program.pid)) < 4:  # the program, two workers, and what watches over them
            assert time.monotonic() < deadline, "waited for the workers to start"
            time.sleep(0.05)
        time.sleep(1)
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does it: to all of them
        _, err = program.communicate(timeout=120)
    finally:
        program.kill()
    assert (program.returncode, err) == (130, b"crowdopt: interrupted; nothing was written\n")
    assert not out.exists()
    deadline = time.monotonic() + 30
    while processes_of(program.pid):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.05)
