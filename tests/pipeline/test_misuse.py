"""Wrong arguments in Python: one clear error of ours, never one of a library's."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
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
        (None, "cannot read None: give a path"),
        ("postgresql://ann@127.0.0.1/crowd", "say what to read of it with table or query"),
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
        crowdopt.prove(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "no,yes"}, "must be a list"),
        ({"scale": "interval"}, "scale must be one of ordinal, nominal, not 'interval'"),
        ({"selectivity": [0.5, 0.5]}, "dict"),
        ({"selectivity": 3}, "dict"),
        ({"selectivity": {"no": 0.5}}, "a share for each"),
        ({"selectivity": {"no": 0.5, "NO": 0.5}}, "selectivity names the label 'no' twice"),
        ({"space": "everything"}, "dominance or all"),
        ({"engine": "magic"}, "no engine 'magic'"),
        ({"time_limit": -1}, "time limit"),
        ({"time_limit": float("nan")}, "time limit"),
        ({"duplicates": "some"}, "must be one of"),
        ({"keep": ["absent"]}, "no column named 'absent'"),
        ({"labels": 5}, "must be a list"),
        ({"task": 5}, "task must be a text, not 5"),
        ({"group": 3}, "group must be the name of a column, not 3"),
        ({"na": None}, "na must be a list of texts, not None"),
        ({"keep": 5}, "keep must be a list of texts, not 5"),
        ({"keep": ["note", 5]}, "keep must be a list of texts, and 5 is none"),
        ({"worker_columns": ["gpt-4o", 3]}, "worker_columns must be a list of texts, and 3 is none"),
        ({"task_columns": [None]}, "task_columns must be a list of texts, and None is none"),
        ({"labels": None}, "must be a list"),
        ({"labels": ["yes"]}, "at least two"),
        ({"labels": ["no", "maybe"]}, "1 label not on the scale no, maybe: 'yes'"),
        ({"labels": range(65)}, "not on the scale"),
        ({"selectivity": {"no": 0.5, "yes": "half"}}, "a share must be a number"),
        ({"selectivity": {"no": 0.5, "yes": 0.4}}, "sum to 1"),
        ({"time_limit": "long"}, "time limit"),
        ({"time_limit": None}, "time limit"),
        ({"memory_limit": 5}, "memory limit 5"),
        ({"memory_limit": "lots"}, "memory limit 'lots'"),
        ({"memory_limit": "-1GB"}, "negative"),
        ({"memory_limit": "9" * 400}, "memory limit"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"seed": "zero"}, "seed"),
        ({"seed": True}, "seed"),
        ({"engine": "scan", "labels": ["no", "maybe", "yes"]}, "for two labels"),
        ({"engine": "chain", "space": "all"}, "'dominance'"),
        ({"engine": "chain", "labels": ["no", "maybe", "yes"], "scale": "nominal"}, "'dominance'"),
        ({"space": "dominance", "labels": ["no", "maybe", "yes"], "scale": "nominal"}, "needs ordered labels"),
    ],
)
def test_options_that_mean_nothing(options, message):
    with pytest.raises(InputError, match=message):
        crowdopt.prove(FRAME, **options)


def matrix(**changed):
    """A prior matrix by names, with some entries changed."""
    cells = {"no": {"no": 1, "yes": 2}, "yes": {"no": 3, "yes": 4}}
    return {true: row | {"no": changed.get(true, row["no"])} for true, row in cells.items()}


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (5, "cannot read an int"),
        (True, "cannot read a bool"),
        ([], "cannot read a list"),
        ([("a", "no")], "cannot read a list"),
        (FRAME["label"], "cannot read a pandas.Series"),
        ("no such file.csv", "no such file"),
        ({}, "no rows with a task and a label"),
        ({"a": None, "b": float("nan")}, "no rows with a task and a label"),
        ({"a": "maybe"}, "gold label 'maybe' of task 'a' is not on the scale no, yes"),
        ({"a": ["no"]}, "is not on the scale"),
        ({"z": "no"}, "gold task 'z' is not in the data"),
        ({1: "no"}, "gold task '1' is not in the data"),
        ({1: "no", "1": "yes"}, "gives task '1' two different labels"),
        ({"a": "no", "b": "no", "c": "no"}, "nothing left to estimate"),
        (FRAME[["task"]], "no column named 'label'"),
        (FRAME[["task", "label"]], "the gold gives task 'b' two different labels"),
        (FRAME[["task", "label"]].iloc[:0], "no rows with a task and a label"),
        (pl.DataFrame({"task": [["a"]], "label": ["no"]}), "nested"),
        (pl.DataFrame({"task": ["a"], "label": [["no"]]}), "nested"),
    ],
)
def test_gold_that_means_nothing(gold, message):
    with pytest.raises(InputError, match=message):
        crowdopt.prove(FRAME, gold=gold)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (5, "2 rows"),
        (True, "2 rows"),
        ("x", "cannot read the prior matrix x"),
        (b"x", "must hold numbers"),
        (Path("no such file.json"), "cannot read no such file.json"),
        ([], "2 rows"),
        ([1, 2], r"2 rows \(true labels\) of 2 numbers \(answers\), not the shape \(2,\)"),
        ([[1, 2], [3]], "must hold numbers"),
        ([[1, 2, 3]] * 3, r"not the shape \(3, 3\)"),
        ([[[1, 2], [3, 4]]] * 2, r"not the shape \(2, 2, 2\)"),
        ([[1, 2], [3, -4]], "a pseudo-count in the prior matrix must be"),
        ([[1, 2], [3, float("nan")]], "a pseudo-count in the prior matrix must be"),
        ([[1, 2], [3, float("inf")]], "a pseudo-count in the prior matrix must be"),
        ([[1, 2], [3, 1e16]], "a pseudo-count in the prior matrix must be"),
        ([[1, 2], [3, 10**400]], "must hold numbers"),
        ([[1, 2], [3, "many"]], "must hold numbers"),
        ([[1, 2], [3, None]], "pseudo-count|must hold numbers"),
        ([[1, 2], [3, 4j]], "must hold numbers"),
        (object(), "must hold numbers"),
        (pd.DataFrame([[1, 2], [3, 4]]), "one row for each of no, yes; it has 0, 1"),
        (pd.DataFrame([[1, 2], [3, 4]], index=["no", "no"], columns=["no", "yes"]), "one row for each of no, yes"),
        (pd.DataFrame([[1, 2], [3, 4]], index=["no", "yes"], columns=["no", "no"]), "one column for each of no, yes"),
        (pl.DataFrame({"no": [1, 2], "yes": [3, 4]}), "a pandas frame with the true labels as index"),
        (duckdb.sql("SELECT 1 AS no, 2 AS yes"), "a pandas frame with the true labels as index"),
        ({}, "one row for each of no, yes; it has none"),
        ({"no": 1, "yes": 2}, "a dict of pseudo-counts by answer for each true label"),
        ({"no": [1, 2], "yes": [3, 4]}, "a dict of pseudo-counts by answer for each true label"),
        ({"no": {"no": 1, "yes": 2}}, "one row for each of no, yes; it has no"),
        ({"no": {"no": 1}, "yes": {"no": 1, "yes": 2}}, "one column for each of no, yes; it has no"),
        (matrix() | {"maybe": {"no": 1, "yes": 2}}, "one row for each of no, yes; it has no, yes, maybe"),
        (matrix(no="many"), "must hold numbers"),
        (matrix(yes=[1]), "must hold numbers"),
        (matrix(yes=-1), "a pseudo-count in the prior matrix must be"),
        (matrix(yes=None), "pseudo-count|must hold numbers"),
        (matrix(yes=10**400), "must hold numbers"),
        (crowdopt.prove(FRAME.replace("yes", "ja")), "prior solution has the label 'ja'"),
    ],
)
def test_a_prior_that_means_nothing(prior, message):
    with pytest.raises(InputError, match=message):
        crowdopt.prove(FRAME, prior_matrix=prior)


@pytest.mark.parametrize("smoothing", ["a", "1", True, [1], -1, -0.1, float("nan"), float("inf"), 1e16, 10**400, 1j])
def test_smoothing_that_means_nothing(smoothing):
    with pytest.raises(InputError, match=r"^smoothing (must be|is too large)"):
        crowdopt.prove(FRAME, smoothing=smoothing)
    with pytest.raises(InputError, match="smoothing"):
        crowdopt.GlobalOptimum(smoothing=smoothing).fit(FRAME)


@pytest.mark.parametrize("smoothing", [np.float64(0.5), np.float32(0.5), Fraction(1, 2), 0.5])
def test_numbers_of_other_kinds_are_numbers(smoothing):
    expected = crowdopt.prove(FRAME, smoothing=0.5)
    found = crowdopt.prove(FRAME, smoothing=smoothing, seed=np.int64(3), time_limit=np.int64(60))
    assert found.certificate == expected.certificate
    assert crowdopt.verify(crowdopt.Solution.from_dict(found.to_dict()), FRAME).verdict == "CONFIRMED"


def test_columns_that_are_read_may_have_dots_and_quotes(tmp_path):
    path = tmp_path / "r.csv"
    named = {"task": 'the "task"', "worker": "a.worker", "label": "it's.a.label"}
    FRAME.rename(columns=named).to_csv(path, index=False)
    for data in (path, duckdb.connect().from_df(FRAME.rename(columns=named))):
        found = crowdopt.prove(data, **named)
        assert found.certificate == crowdopt.prove(FRAME).certificate
        assert crowdopt.verify(found, path).verdict == "CONFIRMED"
    kept = crowdopt.prove(path, **named, keep=["a.worker"])
    assert kept.answers["a_worker"].to_pylist() == FRAME.groupby("task")["worker"].min().tolist()
    with pytest.raises(ColumnError, match="double quote"):
        crowdopt.prove(path, **named, keep=['the "task"'])
    wide = FRAME.pivot_table(index="task", columns="worker", values="label", aggfunc="first")
    wide.add_suffix(""" "x".y""").to_csv(path)
    found = crowdopt.prove(path, wide=True)
    assert found.answers["label"].to_pylist() == crowdopt.prove(FRAME).answers["label"].tolist()
    assert found.workers()["worker"].to_pylist() == [f'{name} "x".y' for name in wide.columns]


def test_answers_in_files_have_no_columns_with_a_double_quote(tmp_path):
    path = tmp_path / "r.csv"
    FRAME.replace("yes", '"yes"').to_csv(path, index=False)
    solution = crowdopt.prove(path)
    with pytest.raises(ColumnError, match="double quote"):
        solution.answers_frame(probabilities=True)
    assert solution.answers["label"].to_pylist() == ['"yes"', "no", "no"]


def test_columns_that_are_not_read_may_have_any_name():
    connection = duckdb.connect()
    relation = connection.from_df(FRAME.assign(**{'a "quoted" name': 1}))
    assert crowdopt.prove(relation).certificate == crowdopt.prove(FRAME).certificate


def test_the_estimator_takes_pandas_only():
    with pytest.raises(InputError, match="pandas"):
        crowdopt.GlobalOptimum().fit(pl.from_pandas(FRAME))


SURROGATE = "a\ud800"


@pytest.mark.parametrize("kind", [object, "string[python]"])
@pytest.mark.parametrize("name", ["task", "worker", "label", "note"])
def test_half_a_character_is_named_with_its_place(name, kind):
    """No file and no other library can hold it: they end in UnicodeEncodeError."""
    texts = FRAME.assign(note="x").astype(object)
    texts.loc[texts.index[1], name] = SURROGATE
    data = texts.astype({name: kind})
    for verb in (crowdopt.aggregate, crowdopt.prove):
        with pytest.raises(ColumnError, match=rf"^column '{name}' has a text in row 2 that is no Unicode: 'a\\ud800';"):
            verb(data, keep=["note"])


@pytest.mark.parametrize(
    "value", [["no"], ("no",), {"no": 1}, {"no"}, np.array(["no"])], ids=lambda one: type(one).__name__
)
@pytest.mark.parametrize("name", ["task", "label"])
def test_objects_of_several_values_are_named(name, value):
    kind = {"ndarray": "arrays"}.get(type(value).__name__, f"{type(value).__name__}s")
    with pytest.raises(ColumnError, match=f"^the {name} column holds {kind}; it must hold one value per row$"):
        crowdopt.aggregate(FRAME.assign(**{name: [value] * len(FRAME)}))


@pytest.mark.parametrize("limit", ["1", "1.5", "5i", "5 iB", "1Ki"])
def test_a_memory_limit_without_a_unit_is_refused(limit, tmp_path):
    """Of a file as of a frame: the database must not have to say so in its words."""
    FRAME.to_csv(tmp_path / "r.csv", index=False)
    for data in (tmp_path / "r.csv", FRAME):
        with pytest.raises(InputError, match=rf"^cannot read the memory limit '{limit}': write a number and a unit"):
            crowdopt.aggregate(data, memory_limit=limit)


def test_threads_are_a_whole_number(tmp_path):
    FRAME.to_csv(tmp_path / "r.csv", index=False)
    for threads in ("x", 1.5, True, 0):
        with pytest.raises(InputError, match=f"^the number of threads must be 1 to 1024, not {threads!r}$"):
            crowdopt.aggregate(tmp_path / "r.csv", threads=threads)
    assert crowdopt.aggregate(tmp_path / "r.csv", threads=np.int64(1)).totals.n_tasks == 3


def test_a_negative_memory_limit_is_refused(tmp_path):
    path = tmp_path / "r.csv"
    FRAME.to_csv(path, index=False)
    with pytest.raises(CrowdoptError, match="negative"):
        crowdopt.prove(path, memory_limit="-1GB")


def test_estimated_shares_are_not_recommended_where_they_leave_one_label():
    """A crowd that hardly agrees: the estimate would call everything yes, which helps nobody."""
    from crowdopt.studies.simulate import crowd

    made = crowd(3000, 100, (3, 7), matrix=[[0.55, 0.45], [0.3, 0.7]], seed=3)
    advice = " ".join(crowdopt.prove(pd.DataFrame(made.to_dict())).advice)
    estimated = crowdopt.prove(pd.DataFrame(made.to_dict()), selectivity="estimate")
    assert min(estimated.shares) == 0
    assert "--selectivity estimate" not in advice
    assert crowdopt.prove(pd.DataFrame(made.to_dict()), engine="vote").advice == ()


def test_data_in_the_place_of_a_solution():
    with pytest.raises(InputError, match="give the solution, or the path of its file, and then the data"):
        crowdopt.verify(FRAME, FRAME)
