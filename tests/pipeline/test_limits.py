"""Limits of time and memory, stops from outside, and the seed."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import crowdopt as crowdopt_package
from crowdopt import prove
from crowdopt.engines.chain_paths import MAX_DENSE
from crowdopt.errors import InputError
from crowdopt.model.order import Order, UpSets
from crowdopt.studies.simulate import crowd, uniform_errors
from support.effort import first_fast
from support.printed import unchecked
from support.ratings import categories, ratings, reread, rows_of, value_of
from support.ways import WAYS, facts, to_polars, to_text

PROGRAM = Path(sys.executable).parent / "crowdopt"


# Limits


@pytest.mark.parametrize("make", [ratings, categories])
@pytest.mark.parametrize("size", [(3, 3), (3, 10, 1000), (4, (1, 3), 200)], ids=str)
def test_no_time_at_all(crowdopt, tmp_path, make, size):
    """Also where there are too many up-sets to be worked on at once."""
    rows = make(*size)
    path, saved, answers = to_text(rows, tmp_path), tmp_path / "solution.json", tmp_path / "answers.csv"
    found = json.loads(crowdopt("prove", path, "--time-limit", 0, "--json", "--solution", saved, "-o", answers))
    assert (found["proof"], found["stop"]) == ("BOUNDED", "TIME")
    assert 0 < found["gap"] < np.inf
    assert found["next_best"] is None
    assert unchecked(crowdopt("verify", saved, path))[0] == "CONFIRMED"
    with answers.open(newline="") as file:
        labels = {row["task"]: row["label"] for row in csv.DictReader(file)}
    assert labels.keys() == {task for task, _, _ in rows}
    assert set(labels.values()) <= set(found["labels"])
    said = unchecked(crowdopt("prove", path, "--time-limit", 0))[0]
    assert said.startswith("BOUNDED: within ")
    assert "stopped by the time limit" in said


@pytest.mark.parametrize(
    ("limit", "way"),
    [("1KB", "pandas"), ("0.5 KiB", "polars-lazy"), ("1000B", "arrow"), ("1 b", "duckdb"), (" 2kb ", "polars")],
)
def test_little_memory_leaves_the_chain_to_the_search(limit, way, tmp_path):
    rows = ratings(3, (1, 4))
    solution = prove(WAYS[way](rows, tmp_path), memory_limit=limit)
    certificate = solution.certificate
    assert (certificate.engine, certificate.stop, certificate.proof) == ("search", "MEMORY", "BOUNDED")
    assert certificate.space == "dominance"
    proved = prove(WAYS[way](rows, tmp_path), memory_limit="1GB").certificate
    assert (proved.engine, proved.stop, proved.proof) == ("chain", "FINISHED", "PROVED")
    assert certificate.objective <= proved.objective + 1e-9 <= certificate.bound + 1e-9
    assert reread(solution, rows, tmp_path) == "CONFIRMED"
    assert "stopped by the limit of memory (--memory-limit)" in headline_of(solution)
    scanned = replace(solution, certificate=replace(certificate, engine="scan"))  # which may also mean large numbers
    assert "stopped by a limit on size, of numbers or by --memory-limit" in headline_of(scanned)


def headline_of(solution) -> str:
    from crowdopt.results.words.summary import summarise

    return summarise(solution).headline


def test_little_memory_and_the_chain_by_name():
    with pytest.raises(InputError, match="too many for the memory limit: raise memory_limit"):
        prove(to_polars(ratings(3, (1, 4))), memory_limit="1KB", engine="chain")


@pytest.mark.grid
@pytest.mark.parametrize("make", [ratings, categories])
@pytest.mark.parametrize("size", [(3, 3), (4, (1, 3), 200)], ids=str)
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_stopped_from_outside(make, size, calls, tmp_path):
    rows, seen = make(*size), []

    def stop(progress):
        seen.append(progress)
        return len(seen) >= calls

    solution = prove(to_polars(rows), on_progress=stop)
    certificate = solution.certificate
    if certificate.stop == "FINISHED":  # it was done before, or asked to leave the comparison with the consensus
        assert len(seen) < calls or "only: someone asked to stop;" in solution.advice[-1]
        return
    assert len(seen) == calls, "it was called again after it had said to stop"
    assert certificate.stop == "INTERRUPT"
    assert certificate.proof == "BOUNDED" or (certificate.engine == "chain" and solution.margins.kind == "upper")
    assert certificate.bound >= certificate.objective
    assert all(progress.bound >= progress.objective for progress in seen)
    assert reread(solution, rows, tmp_path) == "CONFIRMED"


def test_stopped_from_outside_at_once():
    for make in (ratings, categories):
        certificate = prove(to_polars(make()), on_progress=lambda _: True).certificate
        assert (certificate.stop, certificate.proof) == ("INTERRUPT", "BOUNDED")


def test_progress_that_says_nothing_changes_nothing():
    for make in (ratings, categories):
        rows = make(4, (1, 3))
        assert facts(prove(to_polars(rows), on_progress=lambda _: False)) == facts(prove(to_polars(rows)))


# The seed


@pytest.mark.parametrize("make", first_fast([ratings, categories]))
def test_the_seed_reaches_the_search(crowdopt, tmp_path, make):
    rows = make(4, (1, 3), 80)
    path = to_text(rows, tmp_path)
    best = {"ratings": prove(to_polars(rows)).certificate.objective, "categories": np.inf}[make.__name__]
    found = []
    for seed in (0, 1, 2, 1):
        saved = tmp_path / "solution.json"
        out = crowdopt("prove", path, "--engine", "search", "--seed", seed, "--json", "--solution", saved)
        facts_ = json.loads(out)
        assert json.loads(saved.read_text())["seed"] == seed
        assert facts_["log_likelihood"] <= best + 1e-9
        assert unchecked(crowdopt("verify", saved, path))[0] == "CONFIRMED"
        found.append((facts_["work"], facts_["log_likelihood"]))
        assert prove(to_polars(rows), engine="search", seed=seed).certificate.work == facts_["work"]
    assert found[1] == found[3]
    assert len({work for work, _ in found}) > 1


def test_the_seed_is_no_matter_where_nothing_is_drawn():
    rows = ratings(4, 3)
    assert facts(prove(to_polars(rows), seed=5)) == facts(prove(to_polars(rows)))
    assert prove(to_polars(rows), seed=np.int64(5)).to_dict()["seed"] == 5


# A cold start


@pytest.fixture(scope="module")
def many_up_sets(tmp_path_factory):
    """Ratings that need compiled loops."""
    rows = rows_of(crowd(1000, 20, 10, labels=["1", "2", "3"], matrix=uniform_errors(3, 0.5), seed=0))
    buckets = prove(to_polars(rows), time_limit=0).buckets
    assert MAX_DENSE < len(UpSets.of(Order.of(buckets.counts), 40_000)) < 5_000
    return to_text(rows, tmp_path_factory.mktemp("many"))


@pytest.mark.full
@pytest.mark.parametrize(
    "environment",
    [{"XDG_CACHE_HOME": "/proc/no/such/folder", "HOME": "/proc"}, {"XDG_CACHE_HOME": "", "HOME": "file"}],
    ids=["cache", "home"],
)
def test_a_fresh_process_says_nothing_of_a_cache_that_it_cannot_write(many_up_sets, tmp_path, environment):
    """Nor beside the program: installed by somebody else, it has no folder for compiled code there."""
    package = tmp_path / "site" / "crowdopt"
    shutil.copytree(Path(crowdopt_package.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    compiled = (package / "engines" / "__pycache__", package / "engines" / "columns" / "__pycache__")
    for beside in (tmp_path / "file", *compiled):
        beside.write_text("no folder")
    environment = environment | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [PROGRAM, "prove", many_up_sets, "--json"],
        capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path, env=os.environ | environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["proof"], found["engine"]) == ("PROVED", "chain")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "site"]


def test_more_up_sets_than_can_be_listed(tmp_path):
    rows = rows_of(crowd(120, 20, (1, 4), labels=list("123456"), matrix=uniform_errors(6, 0.4), seed=0))
    solution = prove(to_polars(rows), time_limit=1)
    certificate = solution.certificate
    assert (certificate.proof, certificate.engine, certificate.space) == ("BOUNDED", "columns", "dominance")
    assert certificate.stop == "TIME"
    assert 0 < certificate.gap < np.inf
    assert value_of(solution, rows) == pytest.approx(certificate.objective)
    assert reread(solution, rows, tmp_path) in {"CONFIRMED", "BOUND NOT RE-CHECKED"}  # prices of six labels take long
    with pytest.raises(InputError, match="more than 40,000 sets of buckets respect the order: too many"):
        prove(to_polars(rows), engine="chain")
    with pytest.raises(InputError, match="enumerate"):
        prove(to_polars(rows), engine="enumerate")
