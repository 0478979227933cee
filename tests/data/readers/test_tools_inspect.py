"""inspect-ai: tables with scores of several values and without, and errors that name the file."""

from __future__ import annotations

import csv
import json

import duckdb
import pytest

import crowdopt
from crowdopt.errors import InputError
from support.juries import as_json, notes, responses
from support.needs import SAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


def table(path, **scores):
    """The samples of an evaluation; each scorer has a list of values."""
    n = len(next(iter(scores.values())))
    columns = {"sample_id": [f"u{i}" for i in range(n)], "eval_id": ["e"] * n, "id": [f"s{i}" for i in range(n)]}
    columns |= {"epoch": [1] * n} | {f"score_{name}": values for name, values in scores.items()}
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return path


def test_what_is_not_a_number_is_no_score(tmp_path):
    values = "('u1', 'e', 's1', 1, 1.0::DOUBLE, 'nan'::DOUBLE), ('u2', 'e', 's2', 1, 0.0, 1.0)"
    rows = f"SELECT * FROM (VALUES {values}) AS t (sample_id, eval_id, id, epoch, score_a, score_b)"
    duckdb.sql(rows).write_parquet(str(tmp_path / "s.parquet"))
    for path in (tmp_path / "s.parquet", table(tmp_path / "s.csv", a=["1.0", "0.0"], b=["nan", "1.0"])):
        solution = crowdopt.aggregate(path)
        assert [worker for _, worker, _ in responses(solution)] == ["a", "a", "b"]
        assert [float(label) for *_, label in responses(solution)] == [1, 0, 1]
        assert notes(solution) == ["empty cells of scores left out: 1"]


def test_scores_of_several_values_in_a_table_have_questions(tmp_path):
    scores = [{"tone": "C", "length": 3}, {"tone": "I", "length": 2}, {"tone": "C"}, {"tone": "C", "length": None}]
    path = table(tmp_path / "s.csv", a=[json.dumps(one) for one in scores], b=["C", "I", "", "C"])
    with pytest.raises(InputError, match=r"2 questions.*\(length, tone\)"):
        crowdopt.aggregate(path)
    solution = crowdopt.aggregate(path, question="tone")
    assert [label for *_, label in responses(solution)] == ["C", "I", "C", "C"]
    assert notes(solution) == ["empty cells of scores left out: 1", "scores without 'tone' left out: 3"]
    assert crowdopt.verify(solution, path).verdict.value == "REPRODUCED"
    found = responses(crowdopt.aggregate(path, question="length"))
    assert [float(label) for *_, label in found if label] == [3, 2]


def test_values_of_a_score_that_are_not_numbers_are_no_labels(tmp_path):
    path = table(tmp_path / "s.csv", a=['{"x": NaN}', '{"x": 1}', '{"x": 0}'])
    assert [label for *_, label in responses(crowdopt.aggregate(path)) if label is not None] in (["1", "0"], [1, 0])


def test_a_list_of_scores_is_refused_and_texts_in_brackets_are_not(tmp_path):
    path = table(tmp_path / "s.csv", a=["[1, 2]", "C"])
    with pytest.raises(InputError, match=r"s\.csv: sample s0: the score of a is not one value: \[1, 2\]"):
        crowdopt.aggregate(path)
    table(path, a=['{"x": [1]}', '{"x": 2}'])
    with pytest.raises(InputError, match=r"s\.csv: sample s0: the score of a is not one value"):
        crowdopt.aggregate(path, question="x")
    table(path, a=["[A]", "{B"])
    assert [label for *_, label in responses(crowdopt.aggregate(path))] == ["[A]", "{B"]


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (None, "no list of samples in"),
        ([{"id": None, "scores": {"a": {"value": "C"}}}], "no id in the sample"),
        ([{"id": "s", "scores": {"a": {"value": [1]}}}], 'sample "s": the score of a is not one value'),
    ],
)
def test_errors_name_the_file_among_several(samples, said, tmp_path):
    bad = as_json(tmp_path / "bad.json", {"version": 2, "eval": {"eval_id": "e"}, "samples": samples})
    with pytest.raises(InputError, match=rf"bad\.json: {said}"):
        crowdopt.aggregate([SAMPLES / "inspect_log.json", bad])
