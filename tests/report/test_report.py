"""The report as a file: what it says, what it leaves out, and what becomes of bad input."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdopt
from crowdopt.errors import MissingExtraError
from crowdopt.model.buckets import Buckets
from crowdopt.report.charts import svg_of
from crowdopt.report.content import gather
from crowdopt.report.lattice_layout import WIDTH, lay_out
from crowdopt.results.words.sentences import verdict_of
from support.commands import Text
from support.reports import CASES, HOSTILE, TURNED, crowd, hostile, solved, turned


def report_of(solution, folder, **options):
    path = folder / "report.html"
    solution.report(path, **options)
    return path.read_text(encoding="utf-8")


def test_every_part_is_there_and_links_lead_somewhere(tmp_path):
    frame = crowd(60, 3, (3, 4), 31)
    truth = frame.groupby("task", as_index=False)["label"].median().astype({"label": int})
    solution = crowdopt.prove(frame, truth=truth, keep=["text"], class_="kind")
    page = Text(report_of(solution, tmp_path, command="crowdopt prove 'my file.csv'"))
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert {"answers", "buckets", "tasks", "workers", "others", "truth", "again"} <= set(page.ids)
    assert page.scripts == 2
    for words in (
        "Class a", "Class b", "text of 7", "majority vote", "EM(*), the best of these", "soft EM",
        "crowdopt prove 'my file.csv'", solution.certificate.fingerprint, f"crowdopt {crowdopt.__version__}",
    ):  # fmt: skip
        assert words in page.text


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_says_what_the_certificate_does(name, tmp_path):
    solution = replace(solved(name), doubts=())
    certificate, said = solution.certificate, verdict_of(solution)
    assert (certificate.proof == "PROVED") == (said.word == "PROVED")
    assert ("possible answers" in said.sentence) == (certificate.space == "all" and certificate.proof != "NONE")
    assert ("respect the order" in said.sentence) == (certificate.space == "dominance" and certificate.proof != "NONE")
    assert ("given these classes of workers" in said.sentence) == ("classes" in certificate.given)
    assert ("within" in said.sentence) == (certificate.proof == "BOUNDED")
    assert ("Nothing was proved" in said.sentence) == (certificate.proof == "NONE")
    page = Text(report_of(solution, tmp_path)).text
    assert said.sentence in page
    assert ("of its class" in page) == bool(solution.classes)
    assert ("all by one response matrix" in page) == (not solution.classes)


def test_the_words_of_each_verdict():
    assert verdict_of(solved("line")).sentence == "These answers are the most likely among all 2^80 possible answers."
    assert verdict_of(solved("triangle")).sentence == (
        "These answers are the most likely among all answers that respect the order of the scale."
    )
    knowledge = crowdopt.prove(crowd(30, 2, (3, 3), 32), gold={"t0001": "1"}, smoothing=0.5)
    assert verdict_of(knowledge).sentence.endswith(
        "order of the scale, given the tasks of known label and the smoothing."
    )
    stopped = verdict_of(crowdopt.prove(crowd(200, 5, (5, 7), 33), engine="search"))
    assert stopped.word == "BOUNDED"
    assert re.fullmatch(
        r"These answers are within [\d.,e+]+ nats of the most likely among all .* the scale\.", stopped.sentence
    )
    assert "may exist" in stopped.more[0]
    assert verdict_of(solved("vote")).word == "NOT PROVED"


def test_found_classes_are_named_as_found(tmp_path):
    solution = crowdopt.prove(crowd(80, 2, (5, 5), 44, names=["no", "yes"]), find_classes=2, time_limit=10)
    assert "given classes of workers that were found in the same responses" in verdict_of(solution).sentence
    page = Text(report_of(solution, tmp_path))
    assert verdict_of(solution).sentence in page.text
    assert "2 classes:" in page.text


def test_other_methods_are_compared_by_the_same_likelihood():
    frame = crowd(80, 3, (3, 5), 34)
    truth = frame.groupby("task", as_index=False)["label"].median().astype({"label": int})
    solution = crowdopt.prove(frame, truth=truth)
    rows = {row["engine"]: row for row in gather(solution)["others"]}
    for engine, row in rows.items():
        other = crowdopt.prove(frame, truth=truth, engine=engine)
        assert row["log_likelihood"] == pytest.approx(other.certificate.objective, rel=1e-12)
        assert row["loss"] == pytest.approx(solution.certificate.objective - other.certificate.objective, abs=1e-6)
        assert row["accuracy"] == pytest.approx(other.accuracy.value, abs=1e-12)
        assert row["n_different"] == int(other.buckets.weights[other.mapping != solution.mapping].sum())


def test_a_likelier_method_that_breaks_the_order_is_called_so():
    solution = crowdopt.prove(crowd(150, 3, (4, 4), 0, right=0.5))
    others = gather(solution)["others"]
    likelier = [row for row in others if row["loss"] < -1e-6]
    assert likelier
    assert all(row["why"] == "more likely, but it breaks the order of the scale" for row in likelier)


def test_the_truth_by_label_adds_up(files):
    solution = crowdopt.prove(files / "responses.csv", truth=files / "half.csv")
    facts = gather(solution)["accuracy"]
    table = {row["label"]: row["counts"] for row in facts["rows"]}
    assert sum(map(sum, table.values())) == facts["n_tasks"] == 30
    right = sum(table[label][j] for j, label in enumerate(solution.scale.labels) if label in table)
    assert right / 30 == pytest.approx(facts["value"])
    assert facts["n_without"] == 30


def test_a_truth_off_the_scale_is_a_row_of_its_own():
    frame = crowd(20, 2, (3, 3), 35, names=["no", "yes"])
    truth = pd.DataFrame({"task": ["t0001", "t0002"], "label": ["yes", "perhaps"]})
    solution = crowdopt.prove(frame, truth=truth)
    rows = gather(solution)["accuracy"]["rows"]
    assert rows[-1]["label"] == "a label that is not on the scale"
    assert sum(rows[-1]["counts"]) == 1


def test_the_least_certain_tasks_come_first_and_long_tables_are_cut(tmp_path):
    frame = crowd(2500, 2, (1, 3), 36, names=["no", "yes"], n_workers=1100)
    solution = crowdopt.prove(frame)
    facts = gather(solution)
    confidence = [row["confidence"] for row in facts["tasks"]["rows"]]
    assert len(confidence) == 2000
    assert confidence == sorted(confidence)
    assert confidence == sorted(solution.answers["confidence"])[:2000]
    assert facts["workers"]["n_workers"] > len(facts["workers"]["rows"]) == 1000
    page = Text(report_of(solution, tmp_path))
    assert "All 2,500 tasks are in the answers file" in page.text


@pytest.mark.full
def test_a_hundred_thousand_tasks_are_less_than_three_megabytes(tmp_path):
    rng = np.random.default_rng(37)
    n_tasks, size = 100_000, 3
    task, nth = np.arange(n_tasks).repeat(size), np.tile(np.arange(size), n_tasks)
    truth = rng.integers(3, size=n_tasks).repeat(size)
    label = np.where(rng.random(len(task)) < 0.7, truth, rng.integers(3, size=len(task)))
    frame = pd.DataFrame({"task": task, "worker": (task + 1000 * nth) % 5003, "label": label})
    assert len(report_of(crowdopt.prove(frame), tmp_path).encode()) < 3_000_000


@pytest.mark.full
def test_long_texts_many_workers_and_many_buckets_do_not_make_it_larger(tmp_path):
    frame = crowd(2500, 5, (4, 9), 41, n_workers=1100)
    frame["worker"] = "<worker>" * 20 + frame["worker"]
    for name in ("text", "more", "most"):
        frame[name] = "<&>'🦜" * 120 + frame["task"]
    solution = crowdopt.prove(frame, keep=["text", "more", "most"], engine="vote")
    assert solution.buckets.n_buckets > 300
    assert len(report_of(solution, tmp_path).encode()) < 3_000_000


def test_what_users_bring_is_escaped(tmp_path):
    solution = crowdopt.prove(hostile(), keep=["text"], labels=["calm", HOSTILE, "שלום"])
    page = report_of(solution, tmp_path, command=HOSTILE)
    assert HOSTILE not in page
    assert Text(page).scripts == 2
    notebook = solution._repr_html_()
    assert HOSTILE not in notebook
    assert "&lt;img src=x" in notebook


BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067")


@pytest.mark.parametrize("options", [{}, {"class_": "kind"}], ids=["alike", "classes"])
def test_no_text_turns_the_direction_of_what_stands_beside_it(tmp_path, options):
    frame = turned()
    truth = frame.groupby("task", as_index=False)["label"].first()
    solution = crowdopt.prove(frame, keep=["text"], labels=["לא", TURNED], truth=truth, **options)
    page = report_of(solution, tmp_path, command=f"crowdopt prove --labels לא,{TURNED}")
    for text in (page, solution._repr_html_()):
        assert not BIDI & set(text)
        assert text.count("\u2068") == text.count("\u2069") > 0
        assert "yes\\u202e" in text
    words = Text(page).text
    for wanted in ("answers \u2068לא\u2069", "t0001\\u2067\\u200f", "w1\\u2067\\u200f"):
        assert wanted in words
    assert ("Class \u2068טוב\u2069" in words) == ("\\u202dnew" in words) == bool(options)


def test_only_the_script_of_the_page_may_run(tmp_path):
    import base64
    import hashlib

    page = report_of(solved("line"), tmp_path)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.replace("&#39;", "'").endswith(f"script-src 'sha256-{digest}'")
    assert "default-src &#39;none&#39;" in policy


def test_the_same_data_in_any_order_give_the_same_page(tmp_path):
    frame = crowd(80, 3, (3, 5), 38)
    pages = []
    for rows in (frame, frame.sample(frac=1, random_state=0)):
        page = report_of(crowdopt.prove(rows), tmp_path)
        pages.append(re.sub(r"\d+\.\d+ s\b", "", page))
    assert pages[0] == pages[1]


@pytest.mark.full
def test_every_kind_of_table_gives_the_same_page(tmp_path):
    import duckdb
    import polars as pl
    import pyarrow as pa

    frame = crowd(60, 3, (3, 4), 42)
    frame.loc[frame["task"] == "t0007", "label"] = None  # a task without any response
    frame["label"] = frame["label"].astype("Int64")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pages = set()
    for data in (
        frame,
        pl.from_arrow(table),
        pl.from_arrow(table).lazy(),
        table,
        duckdb.from_arrow(table),
        tmp_path / "rows.csv",
    ):
        solution = crowdopt.prove(data, keep=["text"], missing="drop")
        page = report_of(solution, tmp_path)
        assert "1 without a response" in page
        assert "t0007" not in page
        pages.add(re.sub(r"\d+\.\d+ s\b", "", page))
    assert len(pages) == 1


def test_scores_in_bins_and_wide_tables_have_a_report(tmp_path):
    rng = np.random.default_rng(43)
    wide = pd.DataFrame({f"w{k}": rng.random(30).round(3) for k in range(4)})
    wide.insert(0, "task", [f"t{k}" for k in range(30)])
    page = Text(report_of(crowdopt.prove(wide, wide=True, bins=3), tmp_path))
    assert "3, ordered" in page.text
    assert "bins" in page.text


@pytest.mark.parametrize("name", [name for name in CASES if name != "plane-knowledge"])
def test_buckets_stand_apart_and_inside_the_picture(name):
    solution = solved(name)
    counts, weights = solution.buckets.counts[:300], solution.buckets.weights[:300]
    layout = lay_out(
        Buckets(counts, weights),
        solution.mapping[:300],
        solution.scale.labels,
        ordered=solution.scale.kind == "ordinal",
    )
    x, y = layout.at.T
    assert ((x - layout.radius >= 0) & (x + layout.radius <= WIDTH)).all()
    assert ((y - layout.radius >= 0) & (y + layout.radius <= layout.height)).all()
    apart = np.hypot(x[:, None] - x, y[:, None] - y) - layout.radius[:, None] - layout.radius
    np.fill_diagonal(apart, np.inf)
    assert (apart >= -0.5).all()


def test_borders_lie_between_their_buckets():
    solution = CASES["triangle-varying"]()
    layout = lay_out(solution.buckets, solution.mapping, solution.scale.labels, ordered=True)
    borders = layout.borders()
    assert borders
    for a, b, *ends in borders:
        for end in np.array(ends).reshape(2, 2):
            distance = np.hypot(*(layout.at - end).T)
            assert distance[a] == pytest.approx(distance[b], abs=0.5)
            assert distance[a] <= distance.min() + 0.5


def test_trivial_crowds_have_a_report(tmp_path):
    one_label = pd.DataFrame([("a", "w", "yes"), ("b", "w", "yes")], columns=["task", "worker", "label"])
    assert "all possible answers: there is but one label" in Text(report_of(crowdopt.prove(one_label), tmp_path)).text
    one_task = pd.DataFrame([("a", "w", "yes"), ("a", "v", "no")], columns=["task", "worker", "label"])
    assert "2^1 possible answers" in Text(report_of(crowdopt.prove(one_task), tmp_path)).text
    unused = crowdopt.prove(one_task, labels=["no", "perhaps", "yes"])
    assert "no such task" in Text(report_of(unused, tmp_path)).text
    many = crowd(300, 30, (3, 3), 39, names=[f"label {j:02d}" for j in range(30)])
    assert "30, categories" in Text(report_of(crowdopt.prove(many, engine="em"), tmp_path)).text


def test_a_notebook_shows_a_solution():
    shown = solved("classes")._repr_html_()
    assert shown.startswith('<div class="crowdopt">')
    for words in ("PROVED", "given these classes of workers", "of class a", "<svg"):
        assert words in shown


def test_a_notebook_needs_no_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    shown = solved("line")._repr_html_()
    assert "<svg" not in shown
    assert "2^80 possible answers" in shown


@pytest.mark.parametrize("name", ["line", "shelves", "classes"])
def test_the_charts_of_the_report_are_there_for_notebooks(name, tmp_path):
    solution = solved(name)
    charts = solution.charts()
    assert list(charts) == ["confidence", "methods"]
    page = report_of(solution, tmp_path)
    for chart in charts.values():
        assert svg_of(chart.to_dict()).partition(">")[2] in page  # but for the words that are added for screen readers
        assert "vega-embed" in chart._repr_mimebundle_()["text/html"]


def test_charts_need_their_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match="report"):
        solved("line").charts()


@pytest.mark.parametrize("package", ["jinja2", "altair", "vl_convert"])
def test_a_missing_package_is_named_before_anything_is_written(package, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'crowdopt[report]'")):
        solved("line").report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
