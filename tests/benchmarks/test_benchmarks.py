"""The benchmarks of answers run, and print what docs/results.md shows. What they measure is not judged here."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import duckdb
import pytest

from support.needs import ROOT, SHARED, need

QUICK_SETS = ("movies3", "wsd", "ic")
PARTS = ["end_to_end", "aggregate_speed", "exact", "growth", "accuracy", "workers", "found_classes"]


def run(script: str, *options: str) -> str:
    path = ROOT / "benchmarks" / script
    need(path.is_file(), f"benchmarks/{script}")
    done = subprocess.run([sys.executable, path, *options], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tables(printed: str) -> dict[str, list[dict[str, str]]]:
    """The rows of every table by its name, each row by column."""
    found: dict[str, list[dict[str, str]]] = {}
    for block in printed.split("<!-- end of ")[:-1]:
        name, _, body = block.partition("<!-- ")[2].partition(" -->")
        lines = [line for line in body.splitlines() if line.startswith("|")]
        columns, rule, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in lines)
        assert set(rule) <= {"---", "--:"}
        found[name] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "figures.json"
    printed = run("ratings.py", "--quick", "--json", str(path))
    return tables(printed), json.loads(path.read_text(encoding="utf-8"))


def test_ratings_times_and_proofs(ratings):
    shown, figures = ratings
    assert list(shown) == [f"ratings.py ({part})" for part in "abcd"]
    rows = shown["ratings.py (a)"]
    assert [row["crowd"] for row in rows] == ["sharp", "diagonal", "random"] * (len(rows) // 3)
    for row in rows:
        most = row["up-sets"].split(" to ")[-1].replace(",", "")
        listed = most.isdigit() and int(most) <= 10_000
        assert row["engine"] == ("chain" if listed else "columns")
        assert (float(row["largest gap"].replace(",", "")) < 0.001) == (row["proof"] == "PROVED")
        assert bool(row["first answer"]) != listed
        assert row["proof"] == "PROVED" or not listed
    assert {row["engine"] for row in rows} == {"chain", "columns"}
    for run in figures["a"]:
        assert run["calls"]
        assert min(run["calls"]) > 0
        if run["first"] is not None:
            assert 0 < run["first"] <= run["last"]


def test_ratings_work_against_mappings(ratings):
    shown, figures = ratings
    counted = {(row["n_labels"], row["size"]): row["mappings"] for row in figures["b"]}
    assert counted == {(3, 3): 126, (3, 4): 462, (5, 3): 106_441_769}
    assert [row["same optimum"] for row in shown["ratings.py (b)"]] == ["yes", "yes", ""]
    assert all(row["proof"] == "PROVED" for row in figures["b"])
    assert figures["b"][-1]["ratio"] >= 500


def test_ratings_heuristics_against_the_optimum(ratings):
    shown, figures = ratings
    assert [row["start"] for row in shown["ratings.py (c)"][:4]] == ["EM(1)", "EM(2)", "EM(3)", "EM(*)"]
    for row in figures["c"]:
        if row["space"] == ["all"]:
            assert row["above"] == 0  # nothing is above a proved optimum over all mappings
    assert all(-1e-6 <= run["loss"] <= run["claimed_gap"] + 1e-6 for run in figures["d"])
    assert [row["labels"] for row in shown["ratings.py (d)"]] == ["3", "all", "3", "all", "4", "3"]


def test_real_sets(shared_set, tmp_path):
    for name in QUICK_SETS:
        shared_set(name)
    path = tmp_path / "figures.json"
    shown = tables(run("real_sets.py", "--quick", "--json", str(path), "--data", str(SHARED)))
    assert [row["set"] for row in shown["real_sets.py (a)"]] == [name for name in QUICK_SETS for _ in range(2)]
    assert [row["set"] for row in shown["real_sets.py (b)"]] == list(QUICK_SETS)
    proofs = {(row["set"], row["selectivity"]): row["proof"] for row in shown["real_sets.py (a)"]}
    assert proofs["movies3", "none"] == proofs["ic", "none"] == "PROVED"
    figures = json.loads(path.read_text(encoding="utf-8"))
    for entry in figures["sets"]:
        if entry["prove, one matrix"]["space"] == "all" and entry["prove, one matrix"]["proof"] == "PROVED":
            best = entry["prove, one matrix"]["log_likelihood"] + entry["prove, one matrix"]["tolerance"]
            assert all(entry[other]["log_likelihood"] <= best for other in ("majority vote", "EM(*)", "soft EM"))


def test_real_sets_without_data(tmp_path):
    assert "no data sets" in run("real_sets.py", "--quick", "--data", str(tmp_path))


def test_workers(shared_set, tmp_path):
    for name in QUICK_SETS:
        shared_set(name)
    path = tmp_path / "figures.json"
    shown = tables(run("workers.py", "--quick", "--json", str(path), "--data", str(SHARED)))
    assert [row["set"] for row in shown["workers.py (a)"]] == [*QUICK_SETS, "all 2"]
    assert [row["workers"] for row in shown["workers.py (a)"]] == ["20", "11", "0", "31"]
    figures = json.loads(path.read_text(encoding="utf-8"))
    assert len(figures["sets"]["movies3"][0]["holds"]) == 20
    assert len(shown["workers.py (b)"]) == len(figures["makes"]) + 1 == 3


def test_workers_without_data(tmp_path):
    assert "no data sets" in run("workers.py", "--quick", "--data", str(tmp_path))


def test_given_classes(tmp_path):
    path = tmp_path / "figures.json"
    printed = run("classes_given.py", "--quick", "--json", str(path), "--data", str(tmp_path))
    assert "There is no set `weather`" in printed
    shown, figures = tables(printed), json.loads(path.read_text(encoding="utf-8"))
    assert list(shown) == ["classes_given.py (a)", "classes_given.py (b)"]
    assert [row["crowds"] for row in shown["classes_given.py (a)"]] == ["5", "1"]
    assert len(shown["classes_given.py (b)"]) == 2 * 2 * 3
    assert len(figures["simulated"]) == 6


def test_given_classes_of_a_real_set(shared_set, tmp_path):
    shared_set("weather")
    shown = tables(run("classes_given.py", "--quick", "--data", str(SHARED)))
    assert shown["classes_given.py (c)"][0]["way"] == "classes"
    names = [row["class"] for row in shown["classes_given.py (d)"]]
    assert names == ["amt (110 workers)"] * 5 + ["crowdflower (461 workers)"] * 5


def test_aggregate_speed():
    (row,) = tables(run("aggregate_speed.py", "--quick"))["aggregate_speed.py"]
    assert (row["responses"], row["labels"], row["workers"]) == ("10,000", "2", "1,000")
    assert min(float(row[name]) for name in ("our accuracy", "DawidSkene's")) > 0.8


def test_aggregate_scale():
    shown = tables(run("aggregate_scale.py", "--quick"))
    assert [row["program"] for row in shown["aggregate_scale.py (a)"]] == 2 * ["crowdopt", "DawidSkene", "MajorityVote"]
    assert {row["runs"] for row in shown["aggregate_scale.py (a)"]} == {"1"}
    assert [row["to"] for row in shown["aggregate_scale.py (b)"]] == ["100", "1,000", "10,000"]
    assert [row["what grows"] for row in shown["aggregate_scale.py (c)"]] == ["tasks"]


def test_many_labels():
    shown = tables(run("many_labels.py", "--quick"))
    whole = shown["many_labels.py (a)"][-1]
    assert float(whole["crowdopt"]) > float(whole["vote"])
    assert [row["model"] for row in shown["many_labels.py (b)"]] == ["skills", "matrices", "vote"]
    assert [row["program"] for row in shown["many_labels.py (c)"]] == ["crowdopt", "MajorityVote"]


def test_sampling():
    (row,) = tables(run("sampling.py", "--quick"))["sampling.py"]
    assert row["labels that differ"] == "0.00%"  # so few are not sampled


def test_rounds(shared_set, tmp_path):
    shared_set("ic")
    shown = tables(run("rounds.py", "--quick", "--data", str(SHARED)))["rounds.py"]
    assert [row["crowds"] for row in shown] == [*(f"thinned, {most}" for most in (2, 3, 5, 8, "all")), "simulated, all"]
    assert [row["number"] for row in shown[:2]] == ["2", "2"]  # one set, two draws
    assert tables(run("rounds.py", "--quick", "--data", str(tmp_path)))["rounds.py"] == shown[-1:]


def test_groups(tmp_path):
    shown = tables(run("groups.py", "--quick", "--json", str(tmp_path / "figures.json")))
    for part in ("b", "c"):
        assert {row["groups"] for row in shown[f"groups.py ({part})"]} == {"10"}
    assert len(shown["groups.py (a)"]) == 9


def test_next_responses(tmp_path):
    path = tmp_path / "figures.json"
    printed = tables(run("next_responses.py", "--quick", "--json", str(path)))
    shown = [*printed["next_responses.py (a)"], *printed["next_responses.py (b)"]]
    figures = json.loads(path.read_text(encoding="utf-8"))["settings"]
    assert len(shown) == len(figures) == 4
    for row, figure in zip(shown, figures, strict=True):
        assert row["after all"] == f"{figure['random'][-1]:.3f} / {figure['named'][-1]:.3f}"
        assert figure["random"][0] == figure["named"][0]  # both begin with the same responses
        assert 0 <= figure["share"] <= 1


def test_found_classes(shared_set, tmp_path):
    for name in ("ic", "bluebirds"):
        shared_set(name)
    path = tmp_path / "figures.json"
    shown = tables(run("found_classes.py", "--quick", "--json", str(path), "--data", str(SHARED)))
    assert [(row["set"], row["proof"]) for row in shown["found_classes.py (a)"]] == [
        ("ic", "PROVED"), ("bluebirds", "PROVED"),
    ]  # fmt: skip
    figures = json.loads(path.read_text(encoding="utf-8"))
    assert {tuple(one["proof"]["given"]) for one in figures["sets"]} == {
        ("found classes", "found shares", "found smoothing")
    }
    assert {row["proof"] for row in shown["found_classes.py (b)"]} == {"PROVED"}


def test_found_classes_without_data(tmp_path):
    said = run("found_classes.py", "--quick", "--data", str(tmp_path))
    assert "no data sets" in said
    assert list(tables(said)) == ["found_classes.py (b)"]


def test_databases_count_the_same_as_by_hand():
    lines = [line.split("|") for line in run("databases.py", "--quick").splitlines()[2:]]
    assert [line[1].strip() for line in lines] == ["DuckDB", "PostgreSQL"]
    assert all(float(line[3].split()[0]) > 0 and float(line[5]) > 0 for line in lines)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The folder that the tiny version of all parts leaves."""
    folder = tmp_path_factory.mktemp("bench")
    run("bench.py", "--quick", "--out", str(folder))
    return folder


def test_bench_leaves_results_and_a_page(bench):
    results = json.loads((bench / "results.json").read_text(encoding="utf-8"))
    assert list(results["parts"]) == PARTS
    [case] = results["parts"]["end_to_end"]["cases"]
    ours = {"crowdopt aggregate", "crowdopt prove"}
    assert set(case["median"]) > ours | {"crowd-kit MajorityVote", "crowd-kit DawidSkene", "plain DuckDB"}
    assert case["accuracy"]["crowdopt prove"] == case["accuracy"]["plain DuckDB"]
    for cell in results["parts"]["exact"]["cells"]:
        assert {one["proof"] for one in cell["crowds"]} == {"PROVED"}
        assert {one["agrees"] for one in cell["crowds"]} == {True if cell["space"] == "dominance" else None}
    page = (bench / "index.html").read_text(encoding="utf-8")
    assert "This is the tiny version" in page
    for name in ("aggregate_speed.py", "accuracy.py (d)", "workers.py (b)", "found_classes.py (b)"):
        assert f"<h3>{name}</h3>" in page


def test_bench_measures_one_part_again_and_keeps_the_others(bench):
    before = json.loads((bench / "results.json").read_text(encoding="utf-8"))["parts"]
    run("bench.py", "--quick", "--out", str(bench), "--only", "exact")
    after = json.loads((bench / "results.json").read_text(encoding="utf-8"))["parts"]
    assert [name for name in before if before[name] == after[name]] == [name for name in PARTS if name != "exact"]
    assert [one["work"] for one in _crowds(before)] == [one["work"] for one in _crowds(after)]


def _crowds(parts):
    return [one for cell in parts["exact"]["cells"] for one in cell["crowds"]]


@pytest.fixture
def page(monkeypatch):
    """The module that draws the page."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("page")


def _case(responses, ratio, stopped=""):
    names = ("crowd-kit MajorityVote", "crowd-kit DawidSkene")
    return {
        "crowd": {"responses": responses, "labels": 2},
        "times_crowdopt": {name: dict.fromkeys(("wall", "cpu", "peak"), ratio) for name in names},
        "median": {name: {"error": "", "stopped": stopped} for name in names},
    }


def test_results_of_one_verb_are_shown_under_the_names_of_today(page):
    bench = importlib.import_module("bench")
    old = json.loads((bench.RELEASES / "0.1.0.json").read_text(encoding="utf-8"))
    shown = page.render(old)
    assert "prove, one matrix" in shown
    assert "whose only verb" in shown
    assert page.named_as_now({**old, "verbs": bench.VERBS})["parts"] is old["parts"]


def test_a_target_is_met_or_missed_by_what_was_measured(page):
    found = page.verdicts([_case(10**5, 0.5), _case(10**6, 3.0), _case(10**7, 7.0, "did not end")])
    assert [(one["responses"], one["program"].split()[1], one["met"]) for one in found] == [
        (10**6, "MajorityVote", True),
        (10**6, "DawidSkene", False),
        (10**7, "MajorityVote", True),
        (10**7, "DawidSkene", True),
    ]
    assert [one["stopped"] for one in found] == ["", "", "did not end", "did not end"]


def test_a_reason_to_give_no_answer_is_told_once(page):
    def on(name, **errors):
        return {"set": name, "methods": {method: {"error": error} for method, error in errors.items()}}

    found = page.failures([on("a", KOS="two labels only", GLAD="stopped"), on("b", KOS="two labels only", GLAD=None)])
    assert found == [
        {"method": "GLAD", "reason": "stopped", "sets": ["a"]},
        {"method": "KOS", "reason": "two labels only", "sets": ["a", "b"]},
    ]


def test_a_change_of_work_is_found_and_a_change_of_time_is_not(page):
    def results(work, seconds, proof="PROVED"):
        crowd = {"kind": "any", "seed": 0, "proof": proof, "work": work, "seconds": seconds}
        cell = {"space": "all", "labels": 3, "responses": 5, "crowds": [crowd]}
        return {"parts": {"exact": {"cells": [cell]}}}

    assert page.changes(results(7, 1.0), results(7, 9.0)) == []
    assert page.changes(results(7, 1.0), None) == []
    assert page.changes(results(8, 1.0, "BOUNDED"), results(7, 1.0, "BOUNDED")) == []
    [change] = page.changes(results(14, 1.0), results(7, 1.0))
    assert change == {"where": "all (3, 5), any 0", "before": 7, "now": 14, "times": 2.0}


def test_the_release_before_is_the_greatest_smaller_version(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module("bench")
    for name in ("0.2.0", "0.10.0", "0.9.1"):
        (tmp_path / f"{name}.json").write_text("{}", encoding="utf-8")
    assert module.earlier("0.10.0", tmp_path).stem == "0.9.1"
    assert module.earlier("0.2.0", tmp_path) is None
    assert module.latest(tmp_path).stem == "0.10.0"


def test_the_exponent_of_a_power_is_its_power(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    growth = importlib.import_module("growth")
    assert growth.exponent([(x, 3 * x**1.5) for x in (1, 10, 100, 1000)]) == 1.5
    assert growth.exponent([(1, 1), (2, 0), (3, 1)]) is None


def test_a_simulated_crowd_is_what_it_says(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    crowds = importlib.import_module("crowds")
    path = tmp_path / "responses.parquet"
    crowds.Crowd(6000, labels=3, per_task=6, workers=100, classes=2).write(str(path))
    with duckdb.connect() as con:
        shape = con.execute(
            f"SELECT count(*), count(DISTINCT task), count(DISTINCT worker), count(DISTINCT class), min(label), "
            f"max(label), count(DISTINCT (task, worker)) FROM '{path}'"
        ).fetchall()
        right = con.execute(
            f"SELECT class, avg((label = 1 + hash(substr(task, 2)::BIGINT, 3) % 3)::INT) FROM '{path}' "
            "GROUP BY class ORDER BY class"
        ).fetchall()
    assert shape == [(6000, 1000, 100, 2, 1, 3, 6000)]
    assert [name for name, _ in right] == ["c0", "c1"]
    assert right[0][1] > right[1][1] > 0.5


def test_a_process_that_takes_too_long_is_ended_and_says_so(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    processes = importlib.import_module("processes")
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    slept = processes.measure(sleep, processes.Cap(0.3, 4))
    assert (slept.stopped, slept.error) == ("did not end within 0.005 minutes", "")
    grow = [sys.executable, "-c", "import sys; sys.stdin.read(); b = bytearray(3 * 10**9)"]
    assert "MemoryError" in processes.measure(grow, processes.Cap(60, 1)).error
    fails = [sys.executable, "-c", "import sys; print('out'); sys.exit('a reason')"]
    said = tmp_path / "said"
    assert processes.measure(fails, said=said).error == "exit code 1: a reason"
    assert said.read_text(encoding="utf-8") == "out\n"
