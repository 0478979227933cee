"""The paper made again through the real command: every file, and the page."""

from __future__ import annotations

import csv
import json
import re
from xml.etree import ElementTree as ET

import pytest

from crowdopt.report.charts import DARK
from crowdopt.studies.paper.catalogue import CATALOGUE, CROWDS, Listing, Misses, Plot, label_of
from crowdopt.studies.paper.claims import CHECKS
from crowdopt.studies.paper.em_vs_optimum import BELOW_ALL, SHORTFALL
from crowdopt.studies.paper.errata import ERRATA
from crowdopt.studies.paper.figures import METRICS, STYLES, Figure
from crowdopt.studies.paper.format import number_text
from crowdopt.studies.paper.glossary import CHOICES, VERDICT_WORDS
from crowdopt.studies.paper.output import CLAIM_COLUMNS
from crowdopt.studies.paper.page import SECTIONS, VERDICTS, Run, grid, render_paper, section_of
from crowdopt.studies.paper.reproduce import reproduce
from crowdopt.studies.paper.setups import ALL_EM, SETUPS
from crowdopt.studies.paper.verdicts import Claim, Criterion, Judgement
from support.needs import ROOT
from support.paper_pages import Page, check_png, rows_of, run

pytestmark = pytest.mark.full

ROW = ["experiment", "m", "algorithm", "metric", "mean", "low", "high", "trials"]
SVG = "{http://www.w3.org/2000/svg}"
NEEDS_DATA = {entry.name for entry in CATALOGUE if {"ic", "product"} & set(entry.experiments)}
TABLES = {entry.name for entry in CATALOGUE if isinstance(entry, Listing)} | {"table2"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All of the paper for which no data are needed, with two trials a point: the folder, and what was printed."""
    folder = tmp_path_factory.mktemp("made") / "new" / "folder"
    out, err = run("--trials", 2, "--seed", 3, "--jobs", 2, "--out", folder, "--json")
    assert err == ""
    return folder, json.loads(out)


# The catalogue


def test_the_catalogue_has_every_figure_of_the_paper():
    own = [entry for entry in CATALOGUE if entry.section not in {"beyond", "all"}]
    assert len([entry for entry in own if isinstance(entry, Plot)]) == 20
    numbers = {int(re.findall(r"\d+", entry.name)[0]) for entry in own if entry.name.startswith("fig")}
    assert numbers == set(range(1, 15))
    assert len({entry.name for entry in CATALOGUE}) == len(CATALOGUE)
    assert {entry.section for entry in CATALOGUE} <= SECTIONS.keys()


def test_every_plot_shows_what_its_experiment_measures():
    for entry in CATALOGUE:
        assert set(entry.experiments) <= SETUPS.keys()
        if isinstance(entry, Plot):
            setup = SETUPS[entry.experiment]
            below = BELOW_ALL if setup.all_mappings else SHORTFALL
            assert entry.metric in {*setup.metrics, below}
            assert entry.metric in METRICS
            assert set(entry.algorithms) <= {*setup.algorithms} & STYLES.keys()


def test_every_claim_has_a_place_on_the_page_and_every_verdict_a_sign():
    assert {section_of(check.where) for check in CHECKS} <= SECTIONS.keys() - {"beyond"}
    assert {"holds", "fails", "in part", "not decided", "not measured"} == VERDICTS.keys() == VERDICT_WORDS.keys()


def test_the_errata_are_those_of_the_document():
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \d+\. (.*)$", text, re.MULTILINE) == list(ERRATA)


def test_the_document_has_every_claim():
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    table = text.partition("<!-- claims.md -->")[2].partition("<!-- end -->")[0].replace("\\", "")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if re.match(r"\| \d", line)]
    assert [row[:3] for row in rows] == [[str(k), check.where, check.claim] for k, check in enumerate(CHECKS, 1)]
    assert {row[3] for row in rows} <= VERDICTS.keys() - {"not measured"}


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
    expected = {"index.html", "claims.csv", "claims.md", "experiments.csv"}
    for entry in CATALOGUE:
        if entry.name not in NEEDS_DATA:
            kinds = ("csv",) if entry.name in TABLES else ("csv", "svg", "png")
            expected |= {f"{entry.name}.{kind}" for kind in kinds}
    found = {path.name for path in folder.iterdir()} - {"files.txt"}
    assert {name for name in found if not name.startswith("claim-")} == expected
    assert (folder / "files.txt").read_text().split() == sorted(found)


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


def test_all_numbers_of_all_experiments_are_there(made):
    folder, _ = made
    rows = rows_of(folder / "experiments.csv")
    run_ones = {name for name, setup in SETUPS.items() if setup.data == "simulated"}
    assert {row["experiment"] for row in rows} == run_ones
    assert list(rows[0]) == ROW
    shown = [row for row in rows if (row["experiment"], row["metric"]) == ("filtering-0.5", "EMD")]
    again = [row for row in shown if row["algorithm"] in STYLES and row["algorithm"] != "OPT, estimated selectivity"]
    assert again == rows_of(folder / "fig3c.csv")


def test_claims_are_a_table_and_have_their_numbers(made):
    folder, said = made
    rows = rows_of(folder / "claims.csv")
    assert tuple(rows[0]) == CLAIM_COLUMNS
    assert [int(row["number"]) for row in rows] == list(range(1, len(CHECKS) + 1))
    assert all(row["claim"] and row["measured"] and row["holds if"] and row["fails if"] for row in rows)
    for verdict, count in said["claims"].items():
        assert sum(row["verdict"] == verdict for row in rows) == count
    lines = (folder / "claims.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 6 + len(CHECKS)
    assert "seed 3" in lines[0]
    assert lines[2].startswith(f"{len(CHECKS)} claims: {said['claims']['holds']} holds, ")
    assert lines[6].endswith("| holds |")
    files = {int(path.stem[6:]) for path in folder.glob("claim-*.csv")}
    by_words = {check.claim: number for number, check in enumerate(CHECKS, 1)}
    for words in ("The number of items", "EM ends in a lesser maximum", "By other metrics", "If all items are 1"):
        (number_of,) = [number for claim, number in by_words.items() if words in claim]
        assert number_of in files
        assert len(rows_of(folder / f"claim-{number_of:02}.csv")) >= 10
    items = rows_of(folder / f"claim-{by_words['The number of items hardly matters.']:02}.csv")
    assert {row["items"] for row in items} == {"100", "10000"}


def test_how_often_em_misses_is_a_table(made):
    folder, _ = made
    rows = rows_of(folder / "beyond10.csv")
    assert {row["experiment"] for row in rows} == set(CROWDS)
    assert len(CROWDS) == 14
    assert {row["algorithm"] for row in rows} == set(ALL_EM)
    assert {row["R"] for row in rows} == {"2", "3", "4", "5"}
    for row in rows:
        shares = [float(row[name]) for name in ("missed", "beat", "below_best")]
        assert all(share in {0.0, 0.5, 1.0} for share in shares)
        assert shares[0] + shares[1] <= 1
        assert (float(row["short"]) > 0) == (shares[0] > 0)
        assert (float(row["ahead"]) > 0) == (shares[1] > 0)
    page = Page((folder / "index.html").read_text(encoding="utf-8"))
    assert "below the best found" in page.text
    (entry,) = [entry for entry in CATALOGUE if isinstance(entry, Misses)]
    assert set(entry.drawn) <= set(entry.experiments)


def test_the_page_has_the_means_of_the_csv():
    figure = reproduce(only=["fig3b"], trials=3, jobs=1).figures[0]
    header, body = grid(figure)
    assert header == ["m", "OPT", "EM(*)", "EM(1)", "EM(2)", "EM(3)"]
    assert [line[0] for line in body] == [str(m) for m in range(1, 11)]
    means = {(row["m"], row["algorithm"]): row["mean"] for row in figure.rows}
    assert body == [[str(m), *(number_text(means[m, name]) for name in header[1:])] for m in range(1, 11)]


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
    assert {"choices", "errata"} <= set(page.ids)
    for link in page.links:
        assert link[1:] in page.ids if link.startswith("#") else (folder / link).is_file()
    for entry in CATALOGUE:
        assert f"{label_of(entry.name)}. {entry.title}" in page.text
    for check in CHECKS:
        assert " ".join(check.claim.split()) in page.text
        assert " ".join(check.criterion.holds.split()) in page.text
        assert " ".join(check.criterion.fails.split()) in page.text
    assert text.count("<svg ") == len(list(folder.glob("*.svg")))
    for words in (*ERRATA, *ERRATA.values(), *CHOICES, *CHOICES.values(), *VERDICT_WORDS.values()):
        assert words in page.text
    assert "took" not in page.text
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
    claim = Claim(1, evil, evil, Criterion(evil, evil, evil, evil), Judgement(evil, "fails", [{evil: evil}]))
    text = render_paper(Run({evil: evil}, [figure], [claim], [evil], [evil]))
    assert "<script" not in text
    assert Page(text).text.count(evil) >= 15


def test_long_tables_are_folded_and_short_ones_are_not():
    def page(lines):
        judged = Judgement("", "holds", [{"x": k} for k in range(lines)])
        return render_paper(Run({}, [], [Claim(7, "Section 4.3", "C", Criterion("h", "f"), judged)]))

    assert "<details" not in page(8)
    assert "All 9 lines" in page(9)
    assert 'href="claim-07.csv"' in page(1)
    assert "In part if" not in page(1)


# Options


def test_the_same_page_with_one_process_and_only_what_was_asked_for(made, tmp_path):
    folder, _ = made
    names = ["fig3a", "fig3b", "fig3c", "fig7"]
    one, two = tmp_path / "one", tmp_path / "two"
    out, _ = run("--trials", 2, "--seed", 3, "--jobs", 1, "--only", "fig3", "--only", "fig7", "--out", one)
    run("--trials", 2, "--seed", 3, "--jobs", 2, "--only", "Fig3, FIG7", "--out", two)
    assert sorted(path.stem for path in one.glob("*.svg")) == names
    for name in names:
        for kind in ("csv", "svg"):
            assert (one / f"{name}.{kind}").read_bytes() == (folder / f"{name}.{kind}").read_bytes()
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {p.name: p.read_bytes() for p in two.iterdir()}
    assert "4 of 4 figures and tables" in out
    page = Page((one / "index.html").read_text(encoding="utf-8"))
    assert "section-3.5.1" in page.ids
    assert "section-A" not in page.ids


def test_claims_keep_their_numbers_and_are_not_judged_by_a_part(made, tmp_path):
    folder, _ = made
    run("--trials", 2, "--seed", 3, "--only", "fig7", "--jobs", 1, "--out", tmp_path)
    whole = {row["number"]: row for row in rows_of(folder / "claims.csv")}
    part = {row["number"]: row for row in rows_of(tmp_path / "claims.csv")}
    assert 0 < len(part) < len(whole)
    for number_of, row in part.items():
        assert row["claim"] == whole[number_of]["claim"]
        if row["verdict"] == "not measured":
            assert row["measured"].startswith("Needs ")
        else:
            assert row == whole[number_of]
    assert {row["verdict"] for row in part.values()} == {"not measured"}
