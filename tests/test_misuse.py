"""Wrong arguments in Python: one clear error of ours, never one of a library's."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pytest

import crowdopt
from crowdopt.errors import ColumnError, CrowdoptError, InputError

ROWS = [("a", "ann", "yes"), ("a", "bob", "yes"), ("b", "ann", "no"), ("b", "bob", "yes"), ("c", "bob", "no")]
FRAME = pd.DataFrame(ROWS, columns=["task", "worker", "label"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "cannot read"),
        ([1, 2], "cannot read"),
        ({"task": []}, "cannot read"),
        (FRAME.set_axis([0, 1, 2], axis=1), "must be texts"),
        (FRAME.set_axis(["task", "task", "label"], axis=1), "one name|2 columns"),
        (FRAME.iloc[:0], "no responses"),
        ("no such file.csv", "no such file"),
        ("/dev/zero", "a device"),
    ],
)
def test_data_that_is_no_table(data, message):
    with pytest.raises(InputError, match=message):
        crowdopt.aggregate(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "no,yes"}, "must be a list"),
        ({"scale": "interval"}, "scale must be one of ordinal, nominal, not 'interval'"),
        ({"selectivity": [0.5, 0.5]}, "dict"),
        ({"selectivity": 3}, "dict"),
        ({"selectivity": {"no": 0.5}}, "a share for each"),
        ({"space": "everything"}, "dominance or all"),
        ({"engine": "magic"}, "no engine 'magic'"),
        ({"time_limit": -1}, "time limit"),
        ({"time_limit": float("nan")}, "time limit"),
        ({"duplicates": "some"}, "must be one of"),
        ({"keep": ["absent"]}, "no column named 'absent'"),
    ],
)
def test_options_that_mean_nothing(options, message):
    with pytest.raises(InputError, match=message):
        crowdopt.aggregate(FRAME, **options)


def test_names_with_a_double_quote_need_a_new_name_in_files(tmp_path):
    path = tmp_path / "r.csv"
    FRAME.rename(columns={"task": 'the "task"'}).to_csv(path, index=False)
    with pytest.raises(ColumnError, match="double quote"):
        crowdopt.aggregate(path, task='the "task"')
    FRAME.replace("yes", '"yes"').to_csv(path, index=False)
    solution = crowdopt.aggregate(path)
    with pytest.raises(ColumnError, match="double quote"):
        solution.answers_frame(probabilities=True)
    assert solution.answers["label"].to_pylist() == ['"yes"', "no", "no"]


def test_columns_that_are_not_read_may_have_any_name():
    connection = duckdb.connect()
    relation = connection.from_df(FRAME.assign(**{'a "quoted" name': 1}))
    assert crowdopt.aggregate(relation).certificate == crowdopt.aggregate(FRAME).certificate


def test_the_estimator_takes_pandas_only():
    with pytest.raises(InputError, match="pandas"):
        crowdopt.GlobalOptimum().fit(pl.from_pandas(FRAME))


def test_a_negative_memory_limit_is_refused(tmp_path):
    path = tmp_path / "r.csv"
    FRAME.to_csv(path, index=False)
    with pytest.raises(CrowdoptError, match="negative"):
        crowdopt.aggregate(path, memory_limit="-1GB")


def test_estimated_shares_are_not_recommended_where_they_leave_one_label():
    """A crowd that hardly agrees: the estimate would call everything yes, which helps nobody."""
    from crowdopt.simulate import crowd

    made = crowd(3000, 100, (3, 7), matrix=[[0.55, 0.45], [0.3, 0.7]], seed=3)
    advice = " ".join(crowdopt.aggregate(pd.DataFrame(made.to_dict())).advice)
    estimated = crowdopt.aggregate(pd.DataFrame(made.to_dict()), selectivity="estimate")
    assert min(estimated.shares) == 0
    assert "--selectivity estimate" not in advice
    assert crowdopt.aggregate(pd.DataFrame(made.to_dict()), engine="vote").advice == ()
