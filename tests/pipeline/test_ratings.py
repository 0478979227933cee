"""Three to five labels end to end: what is proved and by whom, and that the file holds."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from crowdopt import Solution, prove, verify
from crowdopt.engines.registry import ENGINES
from crowdopt.errors import InputError
from support import oracle
from support.printed import unchecked
from support.ratings import by_hand, categories, ratings, reread, value_of
from support.ways import WAYS, canonical, facts, plain, to_polars, to_text

SIZES = [(3, 3), (3, (1, 4)), (3, 6), (4, 3), (4, (1, 2)), (5, 2), pytest.param(5, 3, marks=pytest.mark.full)]


@pytest.mark.grid
@pytest.mark.parametrize(("n_labels", "responses"), SIZES)
@pytest.mark.parametrize("selectivity", ["none", "estimate"])
def test_ratings_are_proved_over_all_that_respect_the_order(n_labels, responses, selectivity, tmp_path):
    rows = ratings(n_labels, responses)
    solution = prove(to_polars(rows), selectivity=selectivity)
    certificate = solution.certificate
    assert (certificate.proof, certificate.stop, certificate.gap) == ("PROVED", "FINISHED", 0)
    assert (certificate.space, certificate.engine) == ("dominance", "chain")
    assert (solution.scale.kind, solution.scale.labels) == ("ordinal", tuple("12345"[:n_labels]))
    assert solution.margins.kind == "exact"
    shares = "estimate" if selectivity == "estimate" else None
    assert value_of(solution, rows, shares) == pytest.approx(certificate.objective)
    assert reread(solution, rows, tmp_path) == "CONFIRMED"
    # Nobody finds better ones that respect the order, and no bound on them is lower.
    other = prove(to_polars(rows), selectivity=selectivity, engine="search").certificate
    assert other.objective <= certificate.objective + 1e-9
    assert other.bound >= certificate.objective
    everything = prove(to_polars(rows), selectivity=selectivity, space="all").certificate
    assert everything.bound >= certificate.objective


@pytest.mark.grid
@pytest.mark.parametrize(("n_labels", "responses"), SIZES)
@pytest.mark.parametrize("selectivity", ["none", "estimate"])
def test_categories_are_proved_over_everything(n_labels, responses, selectivity, tmp_path):
    rows = categories(n_labels, responses)
    solution = prove(to_polars(rows), selectivity=selectivity)
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
        other = prove(to_polars(rows), selectivity=selectivity, engine=engine).certificate
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
        ordered = prove(to_polars(rows), labels=labels)
        assert ordered.certificate.proof == "PROVED"
        assert ordered.certificate.objective == pytest.approx(best["dominance"], abs=1e-9)
        free = prove(to_polars(rows), labels=labels, space="all").certificate
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
            prove(to_polars(rows), engine=engine, space=space)
        return
    solution = prove(to_polars(rows), engine=engine, space=space)
    certificate = solution.certificate
    assert certificate.engine == engine
    proofs = {"chain": "PROVED", "columns": "PROVED", "enumerate": "PROVED", "search": "BOUNDED"}
    assert certificate.proof == proofs.get(engine, "NONE")
    assert (certificate.bound is None) == (certificate.proof == "NONE")
    assert value_of(solution, rows) == pytest.approx(certificate.objective)
    assert reread(solution, rows, tmp_path) == "CONFIRMED"
    assert Solution.load(tmp_path / "solution.json").certificate == certificate
    best = prove(to_polars(rows), space=space).certificate.objective
    if proofs.get(engine) == "PROVED":
        assert certificate.objective == pytest.approx(best, abs=1e-6 if engine == "columns" else 1e-9)
    if engine == "search" and space == "dominance":
        assert certificate.objective <= best + 1e-9 <= certificate.bound + 1e-9


def test_the_vote_is_the_majority():
    rows = categories(4, (1, 5))
    answers = plain(prove(to_polars(rows), engine="vote").answers)
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
    solution = prove(WAYS[way](rows, tmp_path), wide=way.startswith("wide"))
    expected = prove(to_polars(rows))
    assert facts(solution) == facts(expected)
    assert solution.summary()["next_best"] == expected.summary()["next_best"]
    assert verify(solution, WAYS[way](rows, tmp_path)).verdict == "CONFIRMED"


@pytest.mark.parametrize("make", [ratings, categories])
def test_order_of_rows_and_number_of_threads_change_nothing(make, tmp_path):
    rows = make(5, 3)
    expected = facts(prove(to_polars(rows)))
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    assert facts(prove(to_polars(shuffled))) == expected
    path = to_text(shuffled, tmp_path)
    for threads in (1, 2):
        assert facts(prove(path, threads=threads)) == expected


@pytest.mark.parametrize("make", [ratings, categories])
def test_whole_numbers_and_texts_are_the_same_labels(make):
    rows = make(3, 3)
    code = {label: j for j, label in enumerate(sorted({label for _, _, label in rows}))}
    numbers = [(task, worker, code[label]) for task, worker, label in rows]
    kind = {"scale": "ordinal" if make is ratings else "nominal"}
    found, expected = prove(to_polars(numbers), **kind), prove(to_polars(rows))
    assert found.certificate.objective == expected.certificate.objective
    assert [code[label] for label in plain(expected.answers)["label"]] == plain(found.answers)["label"]


def test_the_order_that_is_named_counts():
    """Reversed, every chain is a chain again; mixed up, it is another question."""
    rows = ratings(3, 3)
    forward = prove(to_polars(rows), labels=["1", "2", "3"]).certificate.objective
    assert prove(to_polars(rows), labels=["3", "2", "1"]).certificate.objective == pytest.approx(forward)
    mixed = prove(to_polars(rows), labels=["2", "1", "3"])
    assert mixed.certificate.objective < forward
    assert mixed.certificate.proof == "PROVED"
    tasks = np.array(list(by_hand(rows, ["2", "1", "3"]).values()))
    mapping = np.array([["2", "1", "3"].index(row[1]) for row in canonical(mixed)])
    names = [row[0] for row in canonical(mixed)]
    assert oracle.respects_order(np.array([by_hand(rows, ["2", "1", "3"])[name] for name in names]), mapping)
    assert len(tasks) == len(mapping)


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
    found = json.loads(crowdopt("prove", path, *options, "--json"))
    assert (found["scale"], found["scale_inferred"]) == (kind, inferred)
    assert found["space"] == ("dominance" if kind == "ordinal" else "all")
    first = unchecked(crowdopt("prove", path, *options))[0]
    assumed = "; the labels look like ratings and were taken as ordered (--scale nominal if they are names)"
    assert first.endswith(assumed) == (kind == "ordinal" and inferred)
    assert ("all answers that respect the order of the labels" in first) == (kind == "ordinal")
    assert ("all possible answers" in first) == (kind == "nominal")


def test_the_next_best_is_said(crowdopt, tmp_path):
    path = to_text(ratings(3, 3), tmp_path)
    found = json.loads(crowdopt("prove", path, "--json", "-o", tmp_path / "answers.csv"))["next_best"]
    assert found.keys() == {"loss", "n_tasks"}
    with (tmp_path / "answers.csv").open(newline="") as file:
        margins = [float(row["margin"]) for row in csv.DictReader(file)]
    assert found["loss"] == pytest.approx(min(margins), abs=1e-9)
    assert 0 < found["n_tasks"] <= len(margins)
    words = f"the likeliest other labels lose {found['loss']:,.3g} nats; they differ on {found['n_tasks']} task"
    assert words in crowdopt("prove", path)


def test_labels_that_nobody_gives_stay_on_the_scale():
    rows = ratings(3, 3)
    solution = prove(to_polars(rows), labels=["0", "1", "2", "3", "4"])
    assert solution.certificate.proof == "PROVED"
    assert solution.scale.occurring == {1, 2, 3}
    assert verify(solution, to_polars(rows)).verdict == "CONFIRMED"
    three = prove(to_polars(rows), labels=["1", "2", "3"])
    assert solution.certificate.objective >= three.certificate.objective - 1e-9
