"""Predictions: the posterior of new counts from its definition, ties by the rule, the same data predicted again."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter, defaultdict

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt import GlobalOptimum, Solution, prove
from crowdopt.errors import ColumnError, InputError
from crowdopt.model.scale import canonical_text
from crowdopt.results.labelling import label_counts
from support.ways import NAMES, ROWS, WAYS, crowd, plain, to_pandas

COLUMNS = ["task", "label", "confidence", "n_responses", "status"]
NEW = crowd(seed=8, n_tasks=30)


def oracle(rows, solution):
    """Label, confidence, probabilities and status of each task, one response at a time."""
    labels, votes = solution.scale.labels, defaultdict(Counter)
    for task, _, label in rows:
        votes[canonical_text(task)][canonical_text(label)] += 1
    found = {}
    for task, counted in votes.items():
        joint = []
        for j, row in enumerate(solution.matrix[0]):
            p = math.exp(solution.log_shares[j])
            for label, n in counted.items():
                p *= 0.0 if math.isnan(row[0]) else row[labels.index(label)] ** n
            joint.append(p)
        total = sum(joint)
        if total == 0:
            found[task] = None
            continue
        probabilities = [p / total for p in joint]
        near = [j for j, p in enumerate(probabilities) if p >= max(probabilities) * (1 - 1e-9)]
        agreeing = [j for j in near if counted[labels[j]] == max(counted[labels[i]] for i in near)]
        status = "tie" if len(agreeing) > 1 else "ok"
        label = agreeing[0]
        found[task] = (labels[label], probabilities[label], sum(counted.values()), status, *probabilities)
    return found


def predicted(table):
    columns = plain(table)
    texts = [[None if v is None else canonical_text(v) for v in columns.pop(name)] for name in ("task", "label")]
    return {task: tuple(rest) for task, *rest in zip(*texts, *columns.values(), strict=True)}


def same(found, expected):
    assert found.keys() == expected.keys()
    for task, row in expected.items():
        assert found[task] == tuple(
            value if isinstance(value, str) else pytest.approx(value, rel=1e-9) for value in row
        )


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_posterior(way, tmp_path):
    solution = prove(WAYS[way](ROWS, tmp_path), wide=way.startswith("wide"))
    new = WAYS[way](NEW, tmp_path)
    found = solution.predict(new, probabilities=True)
    assert type(found) is type(solution.answers)
    assert list(plain(found)) == [*COLUMNS, "p_no", "p_yes"]
    assert plain(found)["task"] == sorted(plain(found)["task"])
    same(predicted(found), oracle(NEW, solution))


OPTIONS = {
    "plain": {},
    "estimated": {"selectivity": "estimate"},
    "given": {"selectivity": {"no": 0.9, "yes": 0.1}},
    "forbidden": {"selectivity": {"no": 0.0, "yes": 1.0}},
    "smoothed": {"smoothing": 2},
    "prior": {"prior_matrix": [[30, 10], [5, 20]]},
    "gold": {"gold": {7: "yes", 14: "no"}},
    "vote": {"engine": "vote"},
    "a label nobody says": {"labels": ["no", "yes", "perhaps"], "scale": "nominal"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_predictions_use_the_matrices_and_shares_of_the_solution(options, tmp_path):
    solution = prove(to_pandas(ROWS), **options)
    expected = oracle(NEW, solution)
    same(predicted(solution.predict(to_pandas(NEW), probabilities=True)), expected)
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    same(predicted(loaded.predict(to_pandas(NEW), probabilities=True)), expected)


@pytest.mark.full
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    n_labels=st.integers(2, 4),
    selectivity=st.sampled_from(["none", "estimate"]),
    smoothing=st.sampled_from([0.0, 0.5]),
)
def test_predicting_the_same_data_gives_the_same_labels_where_these_are_most_probable(
    seed, n_labels, selectivity, smoothing
):
    rng = np.random.default_rng(seed)
    labels = "abcd"[:n_labels]
    rows = [(t, w, labels[rng.integers(n_labels)]) for t in range(8) for w in range(rng.integers(1, 4))]
    options = {"labels": list(labels), "selectivity": selectivity, "smoothing": smoothing, "time_limit": 5}
    for space in ("all", "dominance"):
        solution = prove(to_pandas(rows), space=space, **options)
        answers, found = plain(solution.answers), predicted(solution.predict(to_pandas(rows), probabilities=True))
        for task, label in zip(answers["task"], answers["label"], strict=True):
            *_, status = found[str(task)][:4]
            probabilities = found[str(task)][4:]
            own, best = probabilities[labels.index(label)], max(probabilities)
            others = sorted(probabilities)[-2]
            if own == best and others < best * (1 - 1e-6):
                assert found[str(task)][0] == label
            if space == "all" and solution.certificate.proof == "PROVED" and status != "unexplained":
                assert own == pytest.approx(best, rel=1e-5)  # an optimum over all mappings is one of these (Fact 2)


def test_under_the_order_a_label_need_not_be_the_most_probable():
    """Where the order of the labels is kept at the cost of likelihood, prediction does without the order."""
    items = [(1, 3, 3), (1, 2, 3), (2, 3, 3), (1, 2, 3), (1, 2, 3), (1, 1, 3)]
    rows = [(task, worker, label) for task, answers in enumerate(items) for worker, label in enumerate(answers)]
    solution = prove(to_pandas(rows))
    assert solution.certificate.space == "dominance"
    answers, found = solution.answers, solution.predict(to_pandas(rows), probabilities=True)
    assert answers["label"].tolist() == [2, 1, 3, 1, 1, 1]
    assert found["label"].tolist() == [2, 1, 3, 1, 1, 2]
    assert found["confidence"].iloc[-1] > answers["confidence"].iloc[-1]
    assert found["confidence"].tolist()[:-1] == answers["confidence"].tolist()[:-1]


def test_ties_go_to_what_most_responses_are_then_to_the_lowest_label():
    rows = [(f"{label}{i}", w, label) for label in ("no", "yes") for i in range(4) for w in range(3)]
    rows += [("x0", 0, "yes"), ("x0", 1, "no"), ("x0", 2, "no"), ("x1", 0, "no"), ("x1", 1, "yes"), ("x1", 2, "yes")]
    solution = prove(to_pandas(rows))  # by symmetry both labels err equally often
    new = [("t", 0, "yes"), ("t", 1, "no")]
    found = predicted(solution.predict(to_pandas(new)))
    assert found == {"t": ("no", 0.5, 2, "tie")}
    counts = np.array([[[5, 9, 1]], [[9, 5, 9]], [[1, 5, 9]]])
    rows = [(task, worker, label) for task in range(3) for worker in range(3) for label in "abc"]
    uniform = prove(to_pandas(rows),
                        duplicates="all", scale="nominal", smoothing=10**9)  # fmt: skip
    labelled = label_counts(uniform, counts)
    assert labelled.labels.tolist() == [1, 0, 2]
    assert labelled.tied.tolist() == [False, True, False]


def test_answers_that_no_label_explains_are_marked():
    rows = [(f"{label}{i}", w, label) for label in ("no", "yes") for i in range(3) for w in range(3)]
    solution = prove(to_pandas(rows))  # nobody ever errs
    new = [("a", 0, "no"), ("a", 1, "yes"), ("a", 2, "yes"), ("b", 0, "yes")]
    found = predicted(solution.predict(to_pandas(new), probabilities=True))
    assert found == {"a": ("yes", 0.5, 3, "unexplained", 0.5, 0.5), "b": ("yes", 1.0, 1, "ok", 0.0, 1.0)}
    forbidden = prove(to_pandas(rows), selectivity={"no": 1.0, "yes": 0.0})
    impossible = label_counts(forbidden, np.array([[[0, 0]]]))
    assert impossible.labels.tolist() == [0]


def test_tasks_without_a_response_have_no_label():
    frame = pd.DataFrame([*NEW, (500, "w1", None)], columns=NAMES)
    solution = prove(pd.DataFrame([*ROWS, (500, "w1", None)], columns=NAMES), missing="drop")
    last = solution.predict(frame, probabilities=True).iloc[-1]
    answer = solution.answers_frame(probabilities=True).iloc[-1]
    for name in last.index:
        assert last[name] == answer[name] or (pd.isna(last[name]) and pd.isna(answer[name]))


def test_gold_of_the_solution_says_nothing_of_new_tasks():
    solution = prove(to_pandas(ROWS), gold={7: "yes", 14: "no"})
    new = [(7, "w1", "no"), (7, "w2", "no"), (7, "w3", "no")]
    assert solution.predict(to_pandas(new))["label"].tolist() == ["no"]


@pytest.mark.parametrize(
    ("unknown", "said", "tidy"),
    [
        (["maybe"], "1 label not on the scale no, yes: 'maybe'", ""),
        (["maybe", "N/A"], "2 labels not on the scale no, yes: 'N/A', 'maybe'", "leaves out words for a missing label"),
        (["y\u0435s"], r"1 label not on the scale no, yes: 'y\u0435s'", "takes labels that look alike for one"),
    ],
)
def test_labels_off_the_scale_are_named_with_what_to_do(unknown, said, tidy):
    new = to_pandas([*NEW, *((1000 + at, "w", label) for at, label in enumerate(unknown))])
    said += "; take the rows out" + (f", or make the solution with tidy=True, which {tidy}" if tidy else "")
    solution = prove(to_pandas(ROWS))
    for ask in (solution.predict, solution.next_tasks):
        with pytest.raises(InputError) as error:
            ask(new)
        assert str(error.value) == said
    tidied = prove(to_pandas(ROWS), tidy=True)
    if "maybe" in unknown:
        with pytest.raises(InputError, match=r"^1 label not on the scale no, yes: 'maybe'; take the rows out$"):
            tidied.predict(new)
    else:
        assert len(tidied.predict(new)) == new["task"].nunique()


def test_one_label_can_be_predicted_and_no_other():
    rows = [(t, w, "yes") for t in range(3) for w in range(2)]
    solution = prove(to_pandas(rows))
    assert solution.predict(to_pandas(rows))["label"].tolist() == ["yes"] * 3
    with pytest.raises(InputError, match="not on the scale yes: 'no'"):
        solution.predict(to_pandas([(1, 2, "no")]))


def test_fewer_labels_than_the_scale_has_are_no_other_scale():
    solution = prove(to_pandas(ROWS))
    yes = [row for row in NEW if row[2] == "yes"]
    same(predicted(solution.predict(to_pandas(yes), probabilities=True)), oracle(yes, solution))


def test_labels_have_the_type_of_the_new_data():
    numbers = [(task, worker, int(label == "yes")) for task, worker, label in ROWS]
    solution = prove(to_pandas(numbers))
    for data, dtype in ((to_pandas(numbers), "int64"), (to_pandas(numbers).astype({"label": "float32"}), "float32")):
        assert solution.predict(data)["label"].dtype == dtype
    texts = [(task, worker, str(label)) for task, worker, label in numbers]
    assert set(solution.predict(pl.DataFrame(texts, schema=NAMES, orient="row"))["label"]) == {"0", "1"}


def test_bins_of_the_solution_hold_for_new_scores():
    frame = to_pandas(ROWS).assign(label=lambda table: np.where(table["label"] == "yes", 1.0, 0.0))
    solution = prove(frame, bins=2)
    new = pd.DataFrame([("a", 1, 7.0), ("a", 2, 9.0), ("b", 1, -3.0)], columns=NAMES)
    assert solution.predict(new)["label"].tolist() == ["0.5 and above", "below 0.5"]


def test_options_of_the_solution_are_used(tmp_path):
    rows = [(*row, f"about {row[0]}") for row in ROWS]
    frame = pd.DataFrame(rows, columns=["item", "who", "said", "note"])
    solution = prove(frame, task="item", worker="who", label="said", keep=["note"])
    found = solution.predict(frame)
    assert list(found) == [*COLUMNS, "note"]
    with pytest.raises(ColumnError, match="no column named 'item'"):
        solution.predict(to_pandas(NEW))
    assert solution.predict(pd.concat([frame, frame])).equals(found)
    strict = prove(frame, task="item", worker="who", label="said", duplicates="error")
    with pytest.raises(InputError, match="pairs occur more than once"):
        strict.predict(pd.concat([frame, frame]))


def test_estimator_predicts_the_same():
    model = GlobalOptimum().fit(to_pandas(ROWS))
    solution = prove(to_pandas(ROWS))
    new = to_pandas([*NEW, (1000, "w0", "no"), (1000, "w1", "yes")])
    assert model.predict(new).tolist() == solution.predict(new)["label"].tolist()


@pytest.mark.parametrize(
    "make", [pa.Table.from_pandas, pl.from_pandas, lambda f: duckdb.from_arrow(pa.Table.from_pandas(f))]
)
def test_solution_of_one_kind_of_table_predicts_another(make):
    solution = prove(to_pandas(ROWS))
    same(predicted(solution.predict(make(to_pandas(NEW)), probabilities=True)), oracle(NEW, solution))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    to_pandas(ROWS).to_csv("data.csv", index=False)
    to_pandas(NEW).to_csv("new.csv", index=False)
    to_pandas([*NEW, (1000, "w0", "maybe")]).to_csv("maybe.csv", index=False)
    prove("data.csv").save("solution.json")
    return tmp_path


def test_command_writes_the_predictions(crowdopt, folder):
    said = crowdopt("predict", "solution.json", "new.csv", "-o", "found.csv", "--probabilities")
    assert said.startswith(f"30 tasks, {len(NEW)} responses; no ")
    assert said.endswith("predictions in found.csv\n")
    with (folder / "found.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*COLUMNS, "p_no", "p_yes"]
    expected = oracle(NEW, Solution.load("solution.json"))
    assert {row["task"]: row["label"] for row in rows} == {task: row[0] for task, row in expected.items()}
    assert (
        crowdopt("predict", "solution.json", "new.csv", "-o", "-", "--probabilities")
        == (folder / "found.csv").read_text()
    )
    assert crowdopt("predict", "solution.json", "new.csv", "-q") == ""


def test_command_counts(crowdopt, folder):
    facts = json.loads(crowdopt("predict", "solution.json", "new.csv", "--json"))
    expected = oracle(NEW, Solution.load("solution.json")).values()
    assert facts == {
        "check": [],
        "notes": [],
        "n_tasks": 30,
        "n_no_response": 0,
        "n_responses": len(NEW),
        "labels": dict(sorted(Counter(row[0] for row in expected).items())),
        "n_uncertain": sum(row[1] < 0.8 for row in expected),
        "n_tied": sum(row[3] == "tie" for row in expected),
        "n_unexplained": 0,
    }


BAD = {
    "a label off the scale": (["maybe.csv", "-o", "found.csv"], "1 label not on the scale no, yes: 'maybe'"),
    "no data": (["none.csv", "-o", "found.csv"], "none.csv"),
    "output over the data": (["new.csv", "-o", "new.csv"], "it is one of the inputs"),
    "output over the solution": (["new.csv", "-o", "solution.json"], "the name must end in"),
    "two things on standard output": (["new.csv", "-o", "-", "--json"], "both print"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_nothing_is_written(crowdopt, folder, arguments, message):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    said = crowdopt("predict", "solution.json", *arguments, code=2)
    assert message in said
    assert said.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
