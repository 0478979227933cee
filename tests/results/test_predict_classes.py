"""Predictions and the next response where workers have classes: by the matrices of these, or by the shared one."""

from __future__ import annotations

import json
import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt import Solution, prove
from crowdopt.errors import ClassError, ColumnError, InputError
from crowdopt.model.scale import canonical_text
from support.problems import gain_by_sequences
from support.ways import BACKENDS, WAYS, plain, to_pandas

SKILL = {"expert": 0.95, "regular": 0.7}
PAIRS = {f"w{number}": "expert" if number < 3 else "regular" for number in range(9)}
NEWCOMERS = ["x", "y"]
"""Workers whom the solutions do not know."""


def crowd(seed: int = 0, n_tasks: int = 60, labels=("no", "yes"), newcomers=()) -> list[tuple[int, str, str]]:
    """Responses of experts, regulars and newcomers; the numbers of each vary, and a task may have no expert's."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(n_tasks):
        truth = rng.integers(len(labels))
        for worker in rng.permutation([*PAIRS, *newcomers])[: rng.integers(1, 7)]:
            right = rng.random() < SKILL[PAIRS.get(worker, "regular")]
            rows.append((task, str(worker), labels[truth if right else rng.integers(len(labels))]))
    return rows


ROWS, NEW = crowd(), crowd(seed=5, newcomers=NEWCOMERS)


def fitted(rows, solution, classes, smoothing=0.0, gold=None):
    """The matrix of every class, and under None that of all together, from the rows and the labels of their tasks."""
    answers, labels = plain(solution.answers), solution.scale.labels
    given = dict(zip(map(canonical_text, answers["task"]), answers["label"], strict=True)) | (gold or {})
    counts = {one: np.zeros((len(labels), len(labels))) for one in (*sorted(set(classes.values())), None)}
    for task, worker, label in rows:
        for one in (classes[worker], None):
            counts[one][labels.index(given[canonical_text(task)]), labels.index(label)] += 1
    for one in counts:
        counts[one] += smoothing * (len(counts) - 1 if one is None else 1)
    return {one: table / table.sum(axis=1, keepdims=True) for one, table in counts.items()}


def posteriors(rows, matrices, classes, shares) -> dict[str, list[float]]:
    """The probability of every label of each task: responses are multiplied one by one."""
    labels, joint = list(shares), defaultdict(lambda: list(shares.values()))
    for task, worker, label in rows:
        matrix = matrices[classes.get(worker)]
        known = joint[canonical_text(task)]
        joint[canonical_text(task)] = [p * matrix[j][labels.index(label)] for j, p in enumerate(known)]
    return {task: [p / sum(row) for p in row] for task, row in joint.items()}


def shares_of(solution) -> dict[str, float]:
    return dict(zip(solution.scale.labels, map(math.exp, solution.log_shares), strict=True))


def found_by(table, labels) -> dict[str, list[float]]:
    columns = plain(table)
    rows = zip(*(columns[f"p_{label}"] for label in labels), strict=True)
    return {canonical_text(task): list(row) for task, row in zip(columns["task"], rows, strict=True)}


def same(found, expected) -> None:
    assert found.keys() == expected.keys()
    for task, row in expected.items():
        assert found[task] == pytest.approx(row, rel=1e-9, abs=1e-14)


OPTIONS = {
    "plain": {},
    "ranked": {"ranked": ["expert", "regular"]},
    "estimated": {"selectivity": "estimate"},
    "given": {"selectivity": {"no": 0.9, "yes": 0.1}},
    "smoothed": {"smoothing": 2},
    "gold": {"gold": {"7": "yes", "14": "no", "20": "no"}},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_known_workers_have_their_class_and_others_the_shared_matrix(options, tmp_path):
    solution = prove(to_pandas(ROWS), classes=PAIRS, **options)
    matrices = fitted(ROWS, solution, PAIRS, options.get("smoothing", 0), options.get("gold"))
    expected = posteriors(NEW, matrices, PAIRS, shares_of(solution))
    found = solution.predict(to_pandas(NEW), probabilities=True)
    same(found_by(found, ["no", "yes"]), expected)
    for task, label, confidence in zip(found["task"], found["label"], found["confidence"], strict=True):
        assert confidence == pytest.approx(max(expected[str(task)]))
        assert confidence == pytest.approx(expected[str(task)][["no", "yes"].index(label)])
    solution.save(tmp_path / "solution.json")
    again = Solution.load(tmp_path / "solution.json").predict(to_pandas(NEW), probabilities=True)
    assert found_by(again, ["no", "yes"]) == found_by(found, ["no", "yes"])


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_predicts_alike(way, tmp_path):
    solution = prove(WAYS[way](ROWS, tmp_path), wide=way.startswith("wide"), classes=PAIRS)
    expected = posteriors(NEW, fitted(ROWS, solution, PAIRS), PAIRS, shares_of(solution))
    same(found_by(solution.predict(WAYS[way](NEW, tmp_path), probabilities=True), ["no", "yes"]), expected)


@pytest.mark.full
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    n_labels=st.integers(2, 3),
    selectivity=st.sampled_from(["none", "estimate"]),
    smoothing=st.sampled_from([0.0, 0.5]),
    space=st.sampled_from(["dominance", "all"]),
)
def test_the_same_rows_have_the_confidence_of_the_solution(seed, n_labels, selectivity, smoothing, space):
    labels = "abc"[:n_labels]
    data = to_pandas(crowd(seed % 2**31, 12, labels))
    options = {"labels": list(labels), "selectivity": selectivity, "smoothing": smoothing, "space": space}
    solution = prove(data, classes=PAIRS, time_limit=5, **options)
    names = [f"p_{label}" for label in labels]
    answers, found = solution.answers_frame(probabilities=True), solution.predict(data, probabilities=True)
    assert answers[["task", *names]].equals(found[["task", *names]])
    alike = answers["label"] == found["label"]
    assert answers["confidence"][alike].equals(found["confidence"][alike])
    assert (found["confidence"] >= answers["confidence"]).all()  # the most probable label, whatever the order says


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_column_of_classes_is_read_in_the_new_data_too(backend):
    def table(rows, classes):
        frame = to_pandas(rows).assign(tier=[classes.get(worker) for _, worker, _ in rows])
        return BACKENDS[backend](pa.Table.from_pandas(frame, preserve_index=False))

    solution = prove(table(ROWS, PAIRS), class_="tier")
    matrices, shares = fitted(ROWS, solution, PAIRS), shares_of(solution)
    now = PAIRS | {"w8": "expert", "x": "expert", "y": "trainee"}  # promoted, new, and of a class that nobody was in
    for classes in (PAIRS, now, dict.fromkeys(PAIRS, "trainee"), {"w0": "expert"}):
        known = {worker: name for worker, name in classes.items() if name in SKILL}
        found = solution.predict(table(NEW, classes), probabilities=True)
        same(found_by(found, ["no", "yes"]), posteriors(NEW, matrices, known, shares))
    with pytest.raises(ColumnError, match="no column named 'tier'"):
        solution.predict(to_pandas(NEW))


def test_new_workers_may_have_a_class(tmp_path):
    solution = prove(to_pandas(ROWS), classes=PAIRS)
    matrices, shares = fitted(ROWS, solution, PAIRS), shares_of(solution)
    more = {"x": "expert", "w0": "regular"}  # who goes before what the solution knows
    frame = pd.DataFrame(more.items(), columns=["worker", "class"])
    frame.to_csv(tmp_path / "more.csv", index=False)
    frame.rename(columns={"class": "tier"}).to_csv(tmp_path / "tiers.csv", index=False)
    expected = posteriors(NEW, matrices, PAIRS | more, shares)
    for given_as in ({"classes": more}, {"classes": frame}, {"classes": tmp_path / "more.csv"},
                     {"classes": tmp_path / "tiers.csv", "class_": "tier"}):  # fmt: skip
        same(found_by(solution.predict(to_pandas(NEW), probabilities=True, **given_as), ["no", "yes"]), expected)
    column = to_pandas(NEW).assign(tier=[more.get(worker) for _, worker, _ in NEW])
    found = solution.predict(column, probabilities=True, class_="tier")
    same(found_by(found, ["no", "yes"]), posteriors(NEW, matrices, more, shares))


def test_the_file_of_a_solution_of_a_column_needs_the_column_or_a_table():
    solution = prove(to_pandas(ROWS).assign(tier=[PAIRS[worker] for _, worker, _ in ROWS]), class_="tier")
    found = solution.predict(to_pandas(NEW), probabilities=True, classes=PAIRS)
    expected = posteriors(NEW, fitted(ROWS, solution, PAIRS), PAIRS, shares_of(solution))
    same(found_by(found, ["no", "yes"]), expected)


def test_without_classes_nobody_is_unknown():
    solution = prove(to_pandas(ROWS))
    renamed = to_pandas(NEW).replace({"x": "another", "y": "and another"})
    assert solution.predict(to_pandas(NEW)).equals(solution.predict(renamed))
    for options in ({"classes": PAIRS}, {"class_": "tier"}):
        with pytest.raises(ClassError, match="the solution knows no classes of workers"):
            solution.predict(to_pandas(NEW), **options)


def test_a_worker_of_the_new_data_is_in_one_class():
    solution = prove(to_pandas(ROWS), classes=PAIRS)
    column = to_pandas(NEW).assign(tier="expert")
    column.loc[column.index[-1], ["worker", "tier"]] = ["w0", "regular"]
    with pytest.raises(ClassError, match="worker 'w0' is in 2 classes"):
        solution.predict(column, class_="tier")
    with pytest.raises(InputError, match="on the scale"):
        solution.predict(to_pandas([(1, "w0", "maybe"), (1, "x", "no")]))


def test_a_class_that_never_saw_a_label_rules_it_out_and_the_shared_matrix_does_not():
    rows = [(task, worker, "no" if task < 3 else "yes") for task in range(6) for worker in ("w3", "w4", "w5")]
    rows += [(task, "w0", "no") for task in range(3)]  # experts saw only "no"
    solution = prove(to_pandas(rows), classes=PAIRS, smoothing=0)
    assert np.isnan(solution.matrix[0, 1]).all()
    new = [("a", "w0", "no"), ("b", "x", "yes"), ("c", "w0", "yes")]
    found = plain(solution.predict(to_pandas(new), probabilities=True))
    assert found["p_yes"] == [0.0, 1.0, 0.5]
    assert found["status"] == ["ok", "ok", "unexplained"]


# The next response.


@pytest.mark.parametrize("newcomers", [False, True])
def test_the_gain_is_the_mean_over_the_classes_of_who_may_answer(newcomers):
    rows = crowd(3, 15, newcomers=NEWCOMERS if newcomers else ())
    solution = prove(to_pandas(ROWS), classes=PAIRS)
    matrices = fitted(ROWS, solution, PAIRS)
    known = posteriors(rows, matrices, PAIRS, shares_of(solution))
    share = {one: sum(PAIRS[worker] == one for _, worker, _ in ROWS) / len(ROWS) for one in SKILL}
    found = plain(solution.next_tasks(to_pandas(rows), n=15))
    assert found["gain_per_response"] == sorted(found["gain_per_response"], reverse=True)
    for task, confidence, gain, rate, n in zip(
        *(found[name] for name in ("task", "confidence", "gain", "gain_per_response", "n_more")), strict=True
    ):
        posterior = known[str(task)]
        assert confidence == pytest.approx(max(posterior))

        def expected(number, posterior=posterior):
            return sum(share[one] * gain_by_sequences(posterior, matrices[one], number) for one in SKILL)

        assert gain == pytest.approx(max(expected(1), 0), abs=1e-12)
        assert rate == pytest.approx(max(expected(n) / n, 0), abs=1e-12)


def test_the_data_in_memory_and_the_same_data_again_rank_alike():
    solution = prove(to_pandas(ROWS), classes=PAIRS)
    assert solution.next_tasks(n=60).equals(solution.next_tasks(to_pandas(ROWS), n=60))
    more = solution.next_tasks(to_pandas(NEW), n=60, classes={"x": "expert"})
    assert not more.equals(solution.next_tasks(to_pandas(NEW), n=60))


# The command line.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    to_pandas(ROWS).to_csv("data.csv", index=False)
    to_pandas(NEW).to_csv("new.csv", index=False)
    pd.DataFrame(PAIRS.items(), columns=["worker", "class"]).to_csv("classes.csv", index=False)
    pd.DataFrame([("x", "expert")], columns=["worker", "class"]).to_csv("more.csv", index=False)
    to_pandas(NEW).assign(tier="expert").to_csv("tiers.csv", index=False)
    prove("data.csv", classes="classes.csv").save("solution.json")
    return tmp_path


def test_commands_use_the_classes(crowdopt, folder):
    solution = Solution.load("solution.json")
    for options, arguments, n_unknown in (
        ({}, [], 2),
        ({"classes": "more.csv"}, ["--classes", "more.csv"], 1),
    ):
        said = crowdopt("predict", "solution.json", "new.csv", "-o", "found.csv", *arguments)
        assert f"{n_unknown} worker{'' if n_unknown == 1 else 's'} whose class is not known" in said
        found = pd.read_csv("found.csv")
        assert found["label"].tolist() == plain(solution.predict("new.csv", **options))["label"]
        facts = json.loads(crowdopt("predict", "solution.json", "new.csv", "--json", *arguments))
        assert facts["n_unknown_workers"] == n_unknown
        rows = json.loads(crowdopt("next", "solution.json", "new.csv", "-n", "7", "--json", *arguments))["tasks"]
        expected = plain(solution.next_tasks("new.csv", n=7, **options))
        assert [row["gain"] for row in rows] == expected["gain"]
    facts = json.loads(crowdopt("predict", "solution.json", "tiers.csv", "--class", "tier", "--json"))
    assert facts["n_unknown_workers"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--classes", "none.csv"], "none.csv"),
        (["--class", "tier"], "no column named 'tier'"),
        (["--classes", "new.csv"], "no column named 'class'"),
        (["--classes", "more.csv", "-o", "more.csv"], "it is one of the inputs"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "next"])
def test_bad_classes_are_one_line_and_nothing_is_written(crowdopt, folder, command, arguments, message):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    said = crowdopt(command, "solution.json", "new.csv", *arguments, code=2)
    assert message in said
    assert said.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
