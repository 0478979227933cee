"""Gold from every kind of table, dict and file: the same answers, and their types."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdopt import prove, verify
from crowdopt.errors import InputError
from crowdopt.model.scale import canonical_text
from support import oracle
from support.gold import GOLD, answers_by_task, as_rows
from support.ways import BACKENDS, ROWS, WAYS, canonical, facts, plain, to_arrow, to_pandas, to_polars, to_text

EXPECTED = facts(prove(to_pandas(ROWS), gold=GOLD))


def test_what_is_expected_has_the_gold_labels():
    answers, _, totals, _ = EXPECTED
    assert {(task, label) for task, label, status, *_ in answers if status == "gold"} == {
        (str(task), label) for task, label in GOLD.items()
    }
    assert (totals.n_gold, totals.n_tasks) == (5, 25)


@pytest.mark.parametrize("way", WAYS)
def test_data_of_every_kind_with_gold_as_a_dict(way, tmp_path):
    solution = prove(WAYS[way](ROWS, tmp_path), wide=way.startswith("wide"), gold=GOLD)
    assert facts(solution) == EXPECTED


SOME = ["pandas", "pandas-pyarrow", "pandas-category", "polars-lazy", "arrow", "duckdb", "duckdb-own", "csv", "parquet"]


@pytest.mark.parametrize("gold_way", [*SOME, "polars", "pandas-object", "pandas-nullable", "tsv", "xlsx", "jsonl"])
def test_gold_of_every_kind(gold_way, tmp_path):
    (tmp_path / "gold").mkdir()
    for way in ("pandas", "polars-lazy", "duckdb-own", "csv"):
        gold = WAYS[gold_way](as_rows(GOLD), tmp_path / "gold")
        assert facts(prove(WAYS[way](ROWS, tmp_path), gold=gold)) == EXPECTED, way


@pytest.mark.grid
@pytest.mark.parametrize("gold_way", ["csv", "pandas", "arrow", "duckdb"])
@pytest.mark.parametrize("way", ["csv", "pandas", "pandas-float", "polars-lazy", "duckdb"])
@pytest.mark.parametrize("named", [{}, {"labels": [0, 1]}], ids=["found", "named"])
def test_whole_numbers_are_the_same_tasks_and_labels_as_texts(way, gold_way, named, tmp_path):
    """Text in a CSV file, whole or floating numbers in frames, and the types of the data come back."""
    code = {"no": 0, "yes": 1}
    rows = [(task, worker, code[label]) for task, worker, label in ROWS]
    (tmp_path / "gold").mkdir()
    gold = WAYS[gold_way]([(task, "-", code[label]) for task, label in GOLD.items()], tmp_path / "gold")
    data = (
        to_pandas(rows).astype({"task": float, "label": float})
        if way == "pandas-float"
        else WAYS[way](rows, tmp_path)
    )  # fmt: skip
    solution = prove(data, gold=gold, **named)
    assert canonical(solution) == canonical(prove(to_pandas(rows), gold={t: code[g] for t, g in GOLD.items()}, **named))
    answers = plain(solution.answers)
    kind = {"csv": str, "pandas-float": float}.get(way, int)
    assert {type(task) for task in answers["task"]} == {type(label) for label in answers["label"]} == {kind}


@pytest.mark.parametrize(
    "gold",
    [
        {0: "no", "7": "yes", 14.0: "yes", np.int64(21): "no", np.float64(28): "no"},
        {str(task): label for task, label in GOLD.items()},
        {**GOLD, "1000000": None, 35: float("nan")},
    ],
    ids=["numbers", "texts", "missing"],
)
def test_a_dict_of_any_kind_of_keys(gold):
    assert facts(prove(to_pandas(ROWS), gold=gold)) == EXPECTED


NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
"""Of pandas, which would else make floats of integers beside missing values."""


@pytest.mark.grid
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("cast", [int, bool])
def test_types_of_the_answers_are_those_without_gold(backend, cast):
    rows = [(1, "v", 1), (1, "w", 1), (2, "v", 0), (2, "w", 1), (3, "v", 0), (3, "w", 0), (3, "x", 0), (4, "v", None)]
    labels = pa.array([None if label is None else cast(label) for _, _, label in rows])
    table = to_arrow(rows).set_column(2, "label", labels)
    data = table.to_pandas(types_mapper=NULLABLE.get) if backend == "pandas" else BACKENDS[backend](table)
    before = prove(data, missing="drop").answers
    after = prove(data, missing="drop", gold={3: cast(1)}).answers
    types = {
        "duckdb": lambda a: a.types,
        "polars": lambda a: a.collect_schema() if backend == "polars-lazy" else a.schema,
    }
    types |= {"pandas": lambda a: a.dtypes.tolist(), "arrow": lambda a: a.schema}
    assert types[backend.split("-")[0]](after) == types[backend.split("-")[0]](before)
    answers = plain(after)
    assert answers["status"][2:] == ["gold", "no_response"]
    assert answers["n_responses"] == [2, 2, 3, 0]  # no other task has three
    assert [type(label) for label in answers["label"]] == [cast, cast, cast, type(None)]
    assert answers["label"][2] == 1


def test_large_whole_numbers_are_not_rounded():
    large = 2**60 + 1
    rows = [(large, "v", large), (large, "w", large), (large + 1, "v", large + 1), (large + 1, "w", large)]
    for data in (to_pandas(rows), to_polars(rows), to_arrow(rows)):
        answers = plain(prove(data, gold={large: large}).answers)
        assert (answers["task"], answers["label"][0]) == ([large, large + 1], large)


@pytest.mark.parametrize("keep", ["gold", "c0", "crowdopt_task", "note"])
@pytest.mark.parametrize("way", ["pandas", "polars", "duckdb"])
def test_kept_columns_of_any_name(keep, way):
    data = to_pandas(ROWS).assign(**{keep: to_pandas(ROWS)["task"] + 1000})
    data = BACKENDS[way](pa.Table.from_pandas(data, preserve_index=False))
    answers = plain(prove(data, gold=GOLD, keep=[keep]).answers)
    assert answers[keep] == [task + 1000 for task in answers["task"]]


def test_gold_under_the_names_of_the_data_or_the_usual_ones(tmp_path):
    data = to_pandas(ROWS).rename(columns={"task": "item", "worker": "rater", "label": "answer"})
    named = {"task": "item", "worker": "rater", "label": "answer"}
    gold = to_pandas(as_rows(GOLD)).drop(columns="worker")
    for one in (gold, gold.rename(columns=named), gold.rename(columns={"task": "item"}), GOLD):
        assert canonical(prove(data.rename(columns={"item": "item"}), **named, gold=one)) == EXPECTED[0]


def test_order_of_rows_changes_nothing(tmp_path):
    backwards = dict(reversed(GOLD.items()))
    assert facts(prove(to_polars(ROWS[::-1]), gold=to_polars(as_rows(backwards)))) == EXPECTED
    assert prove(to_polars(ROWS), gold=backwards).reading == prove(to_polars(ROWS), gold=GOLD).reading
    twice = to_polars([*as_rows(GOLD), *as_rows(GOLD)])
    assert facts(prove(to_polars(ROWS), gold=twice)) == EXPECTED


def test_gold_may_be_scores_in_bins(tmp_path):
    rows = [(task, worker, 0.2 if label == "no" else 0.8) for task, worker, label in ROWS]
    for gold in (
        {0: 0.1, 7: 0.5, 14: 0.9, 21: 0.49, 28: 0.0},
        {t: ["below 0.5", "0.5 and above"][g == "yes"] for t, g in GOLD.items()},
    ):
        solution = prove(to_polars(rows), bins=[0.5], gold=gold)
        names = {"below 0.5": "no", "0.5 and above": "yes"}
        assert [(task, names[label], *rest) for task, label, *rest in canonical(solution)] == EXPECTED[0]
        assert verify(solution, to_text(rows, tmp_path)).verdict == "CONFIRMED"


@pytest.mark.parametrize("way", [*SOME, "wide-csv", "wide-polars"])
def test_the_file_needs_no_gold(way, tmp_path):
    (tmp_path / "gold").mkdir()
    gold = to_text(as_rows(GOLD), tmp_path / "gold")
    wide = way.startswith("wide")
    prove(WAYS[way](ROWS, tmp_path), gold=gold, wide=wide, smoothing=0.5).save(tmp_path / "solution.json")
    others = ["wide-csv", "wide-polars"] if wide else ["pandas", "polars-lazy", "arrow", "duckdb-own", "csv"]
    for other in others:
        assert verify(tmp_path / "solution.json", WAYS[other](ROWS, tmp_path)).verdict == "CONFIRMED", other


# Tasks without responses, and nothing left


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gold_task_without_a_usable_response_keeps_its_label(backend):
    rows = [("a", "v", "yes"), ("a", "w", "yes"), ("b", "v", "no"), ("c", "v", None), ("d", "v", None)]
    data = BACKENDS[backend](to_arrow(rows))
    solution = prove(data, missing="drop", gold={"c": "yes"}, selectivity="estimate")
    answers = answers_by_task(solution)
    assert answers["c"] == {
        "task": "c", "label": "yes", "confidence": 1, "margin": None, "margin_kind": None, "n_responses": 0,
        "status": "gold", "p_no": 0, "p_yes": 1,
    }  # fmt: skip
    assert (answers["d"]["label"], answers["d"]["status"]) == (None, "no_response")
    totals = solution.totals
    assert (totals.n_tasks, totals.n_gold, totals.n_no_response, totals.n_dropped) == (4, 1, 1, 2)
    # It counts for the shares, though it says nothing of how workers answer.
    added = oracle.Added("estimate", np.zeros((2, 2)), np.array([0, 1]))
    best = oracle.brute_force(np.array([[0, 2], [1, 0]]), space="all", shares=added).value
    assert solution.certificate.objective == pytest.approx(best)
    assert solution.certificate.given == ("gold",)
    assert verify(solution, data).verdict == "CONFIRMED"


def test_gold_of_all_tasks_leaves_nothing_to_estimate():
    rows = [("a", "v", "yes"), ("b", "v", "no"), ("c", "v", None)]
    for gold in ({"a": "yes", "b": "no"}, {"a": "yes", "b": "no", "c": "no"}):
        with pytest.raises(InputError, match=r"^every task with a response has a gold label"):
            prove(to_polars(rows), missing="drop", gold=gold)


def test_gold_of_a_label_that_nobody_answered():
    rows = [("a", "v", "1"), ("a", "w", "2"), ("b", "v", "2"), ("c", "v", "1"), ("c", "w", "1")]
    said = r"gold label '3' of task 'a' is not on the scale 1, 2; correct it, or name .* with labels"
    with pytest.raises(InputError, match=said):
        prove(to_polars(rows), gold={"a": 3})
    solution = prove(to_polars(rows), gold={"a": 3}, labels=[1, 2, 3])
    assert canonical(solution)[0][:3] == ("a", "3", "gold")
    assert solution.matrix[0, 2] == pytest.approx([0.5, 0.5, 0])
    assert verify(solution, to_polars(rows)).verdict == "CONFIRMED"
    numbers = to_polars([(task, worker, int(label)) for task, worker, label in rows])
    assert plain(prove(numbers, gold={"a": 3}, labels=[1, 2, 3]).answers)["label"][0] == 3


# Accuracy, the estimator, and words


@pytest.mark.grid
@pytest.mark.parametrize("way", ["pandas", "polars-lazy", "arrow", "duckdb-own", "csv"])
@pytest.mark.parametrize("truth_way", ["pandas", "duckdb-own", "csv"])
def test_accuracy_leaves_gold_out(way, truth_way, tmp_path):
    answers = {int(task): label for task, label, *_ in EXPECTED[0]}
    other = {"no": "yes", "yes": "no"}
    free = [task for task in answers if task not in GOLD]
    known = {task: answers[task] for task in free[:8]}
    known[free[0]] = other[known[free[0]]]
    # Gold is right by decree, so neither a true nor a false claim about it counts; nor does a task that is not there.
    known |= {0: GOLD[0], 7: other[GOLD[7]], 5000: "no"}
    (tmp_path / "truth").mkdir()
    truth = WAYS[truth_way](as_rows(known), tmp_path / "truth")
    accuracy = prove(WAYS[way](ROWS, tmp_path), gold=GOLD, truth=truth).accuracy
    assert (accuracy.value, accuracy.n_tasks, accuracy.n_unknown) == (7 / 8, 8, 1)


def test_a_truth_of_gold_tasks_alone_is_refused():
    with pytest.raises(InputError, match=r"^all tasks of the truth are gold"):
        prove(to_polars(ROWS), gold=GOLD, truth=to_polars(as_rows(GOLD)))


def test_canonical_texts_tell_tasks_apart():
    """A text is not the number that it looks like: 007 is another task than 7."""
    rows = [("007", "v", "no"), ("7", "v", "yes"), ("8", "v", "yes"), ("8", "w", "no")]
    solution = prove(to_polars(rows), gold={7: "no"})
    assert [(task, status) for task, _, status, *_ in canonical(solution)] == [
        ("007", "ok"),
        ("7", "gold"),
        ("8", "ok"),
    ]
    assert canonical_text(7) == "7"
    with pytest.raises(InputError, match=r"gold task '07' \(and 1 more\) is not in the data"):
        prove(to_polars(rows), gold={"07": "no", "09": "no", "8": "no"})


def test_gold_frames_are_read_with_the_options_of_the_data():
    gold = pl.DataFrame({"task": ["0", "7", None, "14"], "label": ["no", "?", "yes", ""]})
    assert prove(to_polars(ROWS), gold=gold, na=["?"]).reading.gold == (("0", "no"),)
