"""Three to five labels end to end: what is proved, by whom, within which limits, and that the file holds."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import crowdopt as crowdopt_package
from crowdopt import Solution, aggregate, verify
from crowdopt.engines.chain_paths import MAX_DENSE
from crowdopt.engines.registry import ENGINES
from crowdopt.errors import InputError
from crowdopt.model.order import Order, UpSets
from crowdopt.studies.simulate import crowd, uniform_errors
from support import oracle
from support.effort import first_fast
from support.ways import WAYS, canonical, facts, plain, to_polars, to_text

PROGRAM = Path(sys.executable).parent / "crowdopt"
NAMES = dict(zip("12345", ["plum", "apple", "fig", "lime", "pear"], strict=True))
"""Categories, whose order as texts is another one than that of the ratings."""


def rows_of(made) -> list[tuple[str, str, str]]:
    return list(zip(made.task.tolist(), made.worker.tolist(), made.label.tolist(), strict=True))


@cache
def ratings(n_labels: int = 3, responses=3, n_tasks: int = 60, seed: int = 0) -> list[tuple[str, str, str]]:
    """Ratings from 1 up, mostly right, and where wrong mostly near."""
    distance = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels)))
    matrix = np.exp(-distance / 0.7)
    matrix /= matrix.sum(axis=1, keepdims=True)
    labels = [str(j + 1) for j in range(n_labels)]
    return rows_of(crowd(n_tasks, 20, responses, labels=labels, matrix=matrix, seed=seed))


@cache
def categories(n_labels: int = 3, responses=3, n_tasks: int = 60, seed: int = 0) -> list[tuple[str, str, str]]:
    labels = list(NAMES.values())[:n_labels]
    return rows_of(crowd(n_tasks, 20, responses, labels=labels, matrix=uniform_errors(n_labels, 0.7), seed=seed))


def by_hand(rows, labels) -> dict[str, np.ndarray]:
    counts: dict[str, np.ndarray] = {}
    for task, _, label in rows:
        counts.setdefault(task, np.zeros(len(labels), int))[labels.index(label)] += 1
    return counts


def value_of(solution, rows, shares=None) -> float:
    """The log-likelihood of the answers, from the definition."""
    labels, answers = list(solution.scale.labels), plain(solution.answers)
    counts = by_hand(rows, labels)
    tasks = np.array([counts[task] for task in answers["task"]])
    mapping = np.array([labels.index(label) for label in answers["label"]])
    return oracle.log_likelihood(tasks, mapping, shares)


def reread(solution, rows, tmp_path):
    """The verdict on the file of a solution."""
    solution.save(tmp_path / "solution.json")
    return verify(tmp_path / "solution.json", to_polars(rows)).verdict


SIZES = [(3, 3), (3, (1, 4)), (3, 6), (4, 3), (4, (1, 2)), (5, 2), pytest.param(5, 3, marks=pytest.mark.full)]


@pytest.mark.grid
@pytest.mark.parametrize(("n_labels", "responses"), SIZES)
@pytest.mark.parametrize("selectivity", ["none", "estimate"])
def test_ratings_are_proved_over_all_that_respect_the_order(n_labels, responses, selectivity, tmp_path):
    rows = ratings(n_labels, responses)
    solution = aggregate(to_polars(rows), selectivity=selectivity)
    certificate = solution.certificate
    assert (certificate.proof, certificate.stop, certificate.gap) == ("PROVED", "FINISHED", 0)
    assert (certificate.space, certificate.engine) == ("dominance", "chain")
    assert (solution.scale.kind, solution.scale.labels) == ("ordinal", tuple("12345"[:n_labels]))
    assert solution.margins.kind == "exact"
    shares = "estimate" if selectivity == "estimate" else None
    assert value_of(solution, rows, shares) == pytest.approx(certificate.objective)
    assert reread(solution, rows, tmp_path) == "CONFIRMED"
    # Nobody finds better ones that respect the order, and no bound on them is lower.
    other = aggregate(to_polars(rows), selectivity=selectivity, engine="search").certificate
    assert other.objective <= certificate.objective + 1e-9
    assert other.bound >= certificate.objective
    everything = aggregate(to_polars(rows), selectivity=selectivity, space="all").certificate
    assert everything.bound >= certificate.objective


@pytest.mark.grid
@pytest.mark.parametrize(("n_labels", "responses"), SIZES)
@pytest.mark.parametrize("selectivity", ["none", "estimate"])
def test_categories_are_proved_over_everything(n_labels, responses, selectivity, tmp_path):
    rows = categories(n_labels, responses)
    solution = aggregate(to_polars(rows), selectivity=selectivity)
    certificate = solution.certificate
    assert (certificate.proof, certificate.stop, certificate.engine) == ("PROVED", "FINISHED", "columns")
    assert certificate.space == "all"
    assert (solution.scale.kind, solution.scale.labels) == ("nominal", tuple(sorted({row[2] for row in rows})))
    assert 0 <= certificate.gap <= certificate.tolerance
    shares = "estimate" if selectivity == "estimate" else None
    assert value_of(solution, rows, shares) == pytest.approx(certificate.objective)
    assert reread(solution, rows, tmp_path) == "CONFIRMED"
    assert solution.summary()["next_best"] is None
    for engine in ("em", "em1", "em2", "em3", "soft-em"):
        other = aggregate(to_polars(rows), selectivity=selectivity, engine=engine).certificate
        assert other.objective <= certificate.objective + 1e-9, engine
        assert other.objective <= certificate.bound


def test_small_problems_against_brute_force():
    rng = np.random.default_rng(3)
    for n_labels in [3, 4] * 5:
        rows = [
            (f"t{task}", f"w{w}", str(rng.integers(n_labels) + 1))
            for task in range(6 if n_labels == 3 else 5)
            for w in range(rng.integers(1, 4))
        ]
        labels = [str(j + 1) for j in range(n_labels)]
        tasks = np.array(list(by_hand(rows, labels).values()))
        best = {space: oracle.brute_force(tasks, space=space).value for space in ("dominance", "all")}
        ordered = aggregate(to_polars(rows), labels=labels)
        assert ordered.certificate.proof == "PROVED"
        assert ordered.certificate.objective == pytest.approx(best["dominance"], abs=1e-9)
        free = aggregate(to_polars(rows), labels=labels, space="all").certificate
        assert free.proof == "PROVED"
        assert free.objective == pytest.approx(best["all"], abs=1e-6)
        assert free.bound >= best["all"] - 1e-9


@pytest.mark.grid
@pytest.mark.parametrize("space", ["dominance", "all"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("responses", [2, (1, 3)], ids=["equal", "varying"])
def test_every_engine_by_name(engine, space, responses, tmp_path):
    rows = ratings(3, responses, 40)
    if engine == "scan" or (engine in {"chain", "enumerate"} and space == "all"):
        with pytest.raises(InputError, match=f"engine '{engine}'"):
            aggregate(to_polars(rows), engine=engine, space=space)
        return
    solution = aggregate(to_polars(rows), engine=engine, space=space)
    certificate = solution.certificate
    assert certificate.engine == engine
    proofs = {"chain": "PROVED", "columns": "PROVED", "enumerate": "PROVED", "search": "BOUNDED"}
    assert certificate.proof == proofs.get(engine, "NONE")
    assert (certificate.bound is None) == (certificate.proof == "NONE")
    assert value_of(solution, rows) == pytest.approx(certificate.objective)
    assert reread(solution, rows, tmp_path) == "CONFIRMED"
    assert Solution.load(tmp_path / "solution.json").certificate == certificate
    best = aggregate(to_polars(rows), space=space).certificate.objective
    if proofs.get(engine) == "PROVED":
        assert certificate.objective == pytest.approx(best, abs=1e-6 if engine == "columns" else 1e-9)
    if engine == "search" and space == "dominance":
        assert certificate.objective <= best + 1e-9 <= certificate.bound + 1e-9


def test_the_vote_is_the_majority():
    rows = categories(4, (1, 5))
    answers = plain(aggregate(to_polars(rows), engine="vote").answers)
    labels = sorted({label for _, _, label in rows})
    counts = by_hand(rows, labels)
    for task, label, status in zip(answers["task"], answers["label"], answers["status"], strict=True):
        votes = counts[task]
        assert label == labels[votes.argmax()]
        assert status == ("tie" if (votes == votes.max()).sum() > 1 else "ok")


@pytest.mark.parametrize("make", [ratings, categories])
@pytest.mark.parametrize(
    "way", ["pandas", "pandas-pyarrow", "polars-lazy", "arrow", "duckdb-own", "csv", "parquet", "wide-csv"]
)
def test_the_kind_of_table_changes_nothing(make, way, tmp_path):
    rows = make(4, (1, 3))
    solution = aggregate(WAYS[way](rows, tmp_path), wide=way.startswith("wide"))
    expected = aggregate(to_polars(rows))
    assert facts(solution) == facts(expected)
    assert solution.summary()["next_best"] == expected.summary()["next_best"]
    assert verify(solution, WAYS[way](rows, tmp_path)).verdict == "CONFIRMED"


@pytest.mark.parametrize("make", [ratings, categories])
def test_order_of_rows_and_number_of_threads_change_nothing(make, tmp_path):
    rows = make(5, 3)
    expected = facts(aggregate(to_polars(rows)))
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    assert facts(aggregate(to_polars(shuffled))) == expected
    path = to_text(shuffled, tmp_path)
    for threads in (1, 2):
        assert facts(aggregate(path, threads=threads)) == expected


@pytest.mark.parametrize("make", [ratings, categories])
def test_whole_numbers_and_texts_are_the_same_labels(make):
    rows = make(3, 3)
    code = {label: j for j, label in enumerate(sorted({label for _, _, label in rows}))}
    numbers = [(task, worker, code[label]) for task, worker, label in rows]
    kind = {"scale": "ordinal" if make is ratings else "nominal"}
    found, expected = aggregate(to_polars(numbers), **kind), aggregate(to_polars(rows))
    assert found.certificate.objective == expected.certificate.objective
    assert [code[label] for label in plain(expected.answers)["label"]] == plain(found.answers)["label"]


def test_the_order_that_is_named_counts():
    """Reversed, every chain is a chain again; mixed up, it is another question."""
    rows = ratings(3, 3)
    forward = aggregate(to_polars(rows), labels=["1", "2", "3"]).certificate.objective
    assert aggregate(to_polars(rows), labels=["3", "2", "1"]).certificate.objective == pytest.approx(forward)
    mixed = aggregate(to_polars(rows), labels=["2", "1", "3"])
    assert mixed.certificate.objective < forward
    assert mixed.certificate.proof == "PROVED"
    tasks = np.array(list(by_hand(rows, ["2", "1", "3"]).values()))
    mapping = np.array([["2", "1", "3"].index(row[1]) for row in canonical(mixed)])
    names = [row[0] for row in canonical(mixed)]
    assert oracle.respects_order(np.array([by_hand(rows, ["2", "1", "3"])[name] for name in names]), mapping)
    assert len(tasks) == len(mapping)


# Limits


@pytest.mark.parametrize("make", [ratings, categories])
@pytest.mark.parametrize("size", [(3, 3), (3, 10, 1000), (4, (1, 3), 200)], ids=str)
def test_no_time_at_all(crowdopt, tmp_path, make, size):
    """Also where there are too many up-sets to be worked on at once."""
    rows = make(*size)
    path, saved, answers = to_text(rows, tmp_path), tmp_path / "solution.json", tmp_path / "answers.csv"
    found = json.loads(crowdopt("aggregate", path, "--time-limit", 0, "--json", "--solution", saved, "-o", answers))
    assert (found["proof"], found["stop"]) == ("BOUNDED", "TIME")
    assert 0 < found["gap"] < np.inf
    assert found["next_best"] is None
    assert crowdopt("verify", saved, path).splitlines()[0] == "CONFIRMED"
    with answers.open(newline="") as file:
        labels = {row["task"]: row["label"] for row in csv.DictReader(file)}
    assert labels.keys() == {task for task, _, _ in rows}
    assert set(labels.values()) <= set(found["labels"])
    said = crowdopt("aggregate", path, "--time-limit", 0)
    assert said.startswith("BOUNDED: within ")
    assert "stopped by the time limit" in said.splitlines()[0]


@pytest.mark.parametrize(
    ("limit", "way"),
    [("1KB", "pandas"), ("0.5 KiB", "polars-lazy"), ("1000B", "arrow"), ("1", "duckdb"), (" 2kb ", "polars")],
)
def test_little_memory_leaves_the_chain_to_the_search(limit, way, tmp_path):
    rows = ratings(3, (1, 4))
    solution = aggregate(WAYS[way](rows, tmp_path), memory_limit=limit)
    certificate = solution.certificate
    assert (certificate.engine, certificate.stop, certificate.proof) == ("search", "MEMORY", "BOUNDED")
    assert certificate.space == "dominance"
    proved = aggregate(WAYS[way](rows, tmp_path), memory_limit="1GB").certificate
    assert (proved.engine, proved.stop, proved.proof) == ("chain", "FINISHED", "PROVED")
    assert certificate.objective <= proved.objective + 1e-9 <= certificate.bound + 1e-9
    assert reread(solution, rows, tmp_path) == "CONFIRMED"
    assert "stopped by a limit on size" in headline_of(solution)


def headline_of(solution) -> str:
    from crowdopt.results.summary import summarise

    return summarise(solution).headline


def test_little_memory_and_the_chain_by_name():
    with pytest.raises(InputError, match="too many for engine 'chain'; leave the choice to 'auto'"):
        aggregate(to_polars(ratings(3, (1, 4))), memory_limit="1KB", engine="chain")


@pytest.mark.grid
@pytest.mark.parametrize("make", [ratings, categories])
@pytest.mark.parametrize("size", [(3, 3), (4, (1, 3), 200)], ids=str)
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_stopped_from_outside(make, size, calls, tmp_path):
    rows, seen = make(*size), []

    def stop(progress):
        seen.append(progress)
        return len(seen) >= calls

    solution = aggregate(to_polars(rows), on_progress=stop)
    certificate = solution.certificate
    if len(seen) < calls:  # it was done before
        assert certificate.stop == "FINISHED"
        return
    assert len(seen) == calls, "it was called again after it had said to stop"
    assert certificate.stop == "INTERRUPT"
    assert certificate.proof == "BOUNDED" or (certificate.engine == "chain" and solution.margins.kind == "upper")
    assert certificate.bound >= certificate.objective
    assert all(progress.bound >= progress.objective for progress in seen)
    assert reread(solution, rows, tmp_path) == "CONFIRMED"


def test_stopped_from_outside_at_once():
    for make in (ratings, categories):
        certificate = aggregate(to_polars(make()), on_progress=lambda _: True).certificate
        assert (certificate.stop, certificate.proof) == ("INTERRUPT", "BOUNDED")


def test_progress_that_says_nothing_changes_nothing():
    for make in (ratings, categories):
        rows = make(4, (1, 3))
        assert facts(aggregate(to_polars(rows), on_progress=lambda _: False)) == facts(aggregate(to_polars(rows)))


# The seed


@pytest.mark.parametrize("make", first_fast([ratings, categories]))
def test_the_seed_reaches_the_search(crowdopt, tmp_path, make):
    rows = make(4, (1, 3), 80)
    path = to_text(rows, tmp_path)
    best = {"ratings": aggregate(to_polars(rows)).certificate.objective, "categories": np.inf}[make.__name__]
    found = []
    for seed in (0, 1, 2, 1):
        saved = tmp_path / "solution.json"
        out = crowdopt("aggregate", path, "--engine", "search", "--seed", seed, "--json", "--solution", saved)
        facts_ = json.loads(out)
        assert json.loads(saved.read_text())["seed"] == seed
        assert facts_["log_likelihood"] <= best + 1e-9
        assert crowdopt("verify", saved, path).splitlines()[0] == "CONFIRMED"
        found.append((facts_["work"], facts_["log_likelihood"]))
        assert aggregate(to_polars(rows), engine="search", seed=seed).certificate.work == facts_["work"]
    assert found[1] == found[3]
    assert len({work for work, _ in found}) > 1


def test_the_seed_is_no_matter_where_nothing_is_drawn():
    rows = ratings(4, 3)
    assert facts(aggregate(to_polars(rows), seed=5)) == facts(aggregate(to_polars(rows)))
    assert aggregate(to_polars(rows), seed=np.int64(5)).to_dict()["seed"] == 5


# A cold start


@pytest.fixture(scope="module")
def many_up_sets(tmp_path_factory):
    """Ratings that need compiled loops."""
    rows = rows_of(crowd(1000, 20, 10, labels=["1", "2", "3"], matrix=uniform_errors(3, 0.5), seed=0))
    buckets = aggregate(to_polars(rows), time_limit=0).buckets
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
    for beside in (tmp_path / "file", package / "solve" / "__pycache__"):
        beside.write_text("no folder")
    environment = environment | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [PROGRAM, "aggregate", many_up_sets, "--json"],
        capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path, env=os.environ | environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["proof"], found["engine"]) == ("PROVED", "chain")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "site"]


# Words


@pytest.mark.parametrize(
    ("make", "options", "kind", "inferred"),
    [
        (ratings, (), "ordinal", True),
        (ratings, ("--scale", "ordinal"), "ordinal", False),
        (ratings, ("--labels", "1,2,3"), "ordinal", False),
        (ratings, ("--scale", "nominal"), "nominal", False),
        (categories, (), "nominal", True),
        (categories, ("--labels", "plum,apple,fig"), "ordinal", False),
    ],
)
def test_what_was_taken_for_granted_is_said(crowdopt, tmp_path, make, options, kind, inferred):
    path = to_text(make(3, 3), tmp_path)
    found = json.loads(crowdopt("aggregate", path, *options, "--json"))
    assert (found["scale"], found["scale_inferred"]) == (kind, inferred)
    assert found["space"] == ("dominance" if kind == "ordinal" else "all")
    first = crowdopt("aggregate", path, *options).splitlines()[0]
    assumed = "; the labels are numbers and were taken as ordered (--scale nominal if they are not)"
    assert first.endswith(assumed) == (kind == "ordinal" and inferred)
    assert ("all answers that respect the order of the labels" in first) == (kind == "ordinal")
    assert ("all possible answers" in first) == (kind == "nominal")


def test_the_next_best_is_said(crowdopt, tmp_path):
    path = to_text(ratings(3, 3), tmp_path)
    found = json.loads(crowdopt("aggregate", path, "--json", "-o", tmp_path / "answers.csv"))["next_best"]
    assert found.keys() == {"loss", "n_tasks"}
    with (tmp_path / "answers.csv").open(newline="") as file:
        margins = [float(row["margin"]) for row in csv.DictReader(file)]
    assert found["loss"] == pytest.approx(min(margins), abs=1e-9)
    assert 0 < found["n_tasks"] <= len(margins)
    words = f"the likeliest other labels lose {found['loss']:,.3g} nats; they differ on {found['n_tasks']} task"
    assert words in crowdopt("aggregate", path)


def test_labels_that_nobody_gives_stay_on_the_scale():
    rows = ratings(3, 3)
    solution = aggregate(to_polars(rows), labels=["0", "1", "2", "3", "4"])
    assert solution.certificate.proof == "PROVED"
    assert solution.scale.occurring == {1, 2, 3}
    assert verify(solution, to_polars(rows)).verdict == "CONFIRMED"
    three = aggregate(to_polars(rows), labels=["1", "2", "3"])
    assert solution.certificate.objective >= three.certificate.objective - 1e-9


def test_more_up_sets_than_can_be_listed(tmp_path):
    rows = rows_of(crowd(120, 20, (1, 4), labels=list("123456"), matrix=uniform_errors(6, 0.4), seed=0))
    solution = aggregate(to_polars(rows), time_limit=1)
    certificate = solution.certificate
    assert (certificate.proof, certificate.engine, certificate.space) == ("BOUNDED", "columns", "dominance")
    assert certificate.stop == "TIME"
    assert 0 < certificate.gap < np.inf
    assert value_of(solution, rows) == pytest.approx(certificate.objective)
    assert reread(solution, rows, tmp_path) in {"CONFIRMED", "BOUND NOT RE-CHECKED"}  # prices of six labels take long
    with pytest.raises(InputError, match="more than 40,000 sets of buckets respect the order: too many"):
        aggregate(to_polars(rows), engine="chain")
    with pytest.raises(InputError, match="enumerate"):
        aggregate(to_polars(rows), engine="enumerate")
