"""Columns whose type has an order: it is the order of the labels, and the file says so."""

from __future__ import annotations

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdopt import Solution, prove, verify
from crowdopt.data.reading import Reading
from crowdopt.data.responses import check
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import InputError
from crowdopt.model.scale import canonical_text
from support.ways import canonical, facts, plain, to_arrow, to_pandas, to_polars, to_text, wide

ORDER = ["low", "none", "mid", "high"]
"""Not sorted, and one that never occurs."""


def marks(seed=0):
    rng = np.random.default_rng(seed)
    used = ["low", "mid", "high"]
    return [
        (task, f"w{worker}", used[int(np.clip(task % 3 + rng.integers(-1, 2), 0, 2))])
        for task in range(20)
        for worker in range(4)
    ]


ROWS = marks()


def enum(categories) -> str:
    return f"ENUM ({', '.join(literal(text) for text in categories)})"


def duckdb_enum(table, categories=ORDER):
    relation = duckdb.connect().from_arrow(table)
    names = [name for name in relation.columns if name not in {"task", "worker"}]
    casts = ", ".join(f"CAST({name} AS {enum(categories)}) AS {name}" for name in names)
    return relation.query("source", f"SELECT * REPLACE ({casts}) FROM source")


def arrow_dictionary(table, *, ordered=True, categories=ORDER):
    for at, name in enumerate(table.column_names):
        if name not in {"task", "worker"}:
            codes = [None if text is None else categories.index(text) for text in table[name].to_pylist()]
            column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), categories, ordered=ordered)
            table = table.set_column(at, name, column)
    return table


ORDERED = {
    "pandas": lambda: to_pandas(ROWS).astype({"label": pd.CategoricalDtype(ORDER, ordered=True)}),
    "polars": lambda: to_polars(ROWS).with_columns(pl.col("label").cast(pl.Enum(ORDER))),
    "polars-lazy": lambda: to_polars(ROWS).lazy().with_columns(pl.col("label").cast(pl.Enum(ORDER))),
    "arrow": lambda: arrow_dictionary(to_arrow(ROWS)),
    "duckdb": lambda: duckdb_enum(to_arrow(ROWS)),
}
WIDE = {
    "pandas": lambda: wide(ROWS).astype(
        {name: pd.CategoricalDtype(ORDER, ordered=True) for name in wide(ROWS).columns if name != "task"}
    ),
    "polars": lambda: pl.from_pandas(wide(ROWS)).with_columns(pl.exclude("task").cast(pl.Enum(ORDER))),
    "arrow": lambda: arrow_dictionary(pa.Table.from_pandas(wide(ROWS), preserve_index=False)),
    "duckdb": lambda: duckdb_enum(pa.Table.from_pandas(wide(ROWS), preserve_index=False)),
}


def label_type(answers):
    if isinstance(answers, duckdb.DuckDBPyRelation):
        return str(answers.types[answers.columns.index("label")])
    if isinstance(answers, pa.Table):
        return answers["label"].type.value_type
    return answers.collect_schema()["label"] if isinstance(answers, pl.LazyFrame) else answers["label"].dtype


@pytest.mark.parametrize("way", ORDERED)
def test_an_ordered_type_is_the_scale(way, tmp_path):
    data = ORDERED[way]()
    solution = prove(data, engine="vote")
    assert (solution.scale.labels, solution.scale.kind, solution.scale.inferred) == (tuple(ORDER), "ordinal", False)
    assert (solution.reading.labels, solution.reading.scale) == (tuple(ORDER), "ordinal")
    assert solution.certificate.space == "dominance"
    named = prove(to_text(ROWS, tmp_path), labels=ORDER, engine="vote")
    assert solution.certificate.fingerprint == named.certificate.fingerprint
    assert facts(solution) == facts(named)
    expected = f"ENUM({str(tuple(ORDER))[1:-1]})" if way == "duckdb" else label_type(data)
    assert label_type(solution.answers) == expected


@pytest.mark.parametrize("way", ORDERED)
def test_the_file_of_an_ordered_type_is_verified_from_anywhere(way, tmp_path):
    data, path = ORDERED[way](), to_text(ROWS, tmp_path)
    prove(data, engine="vote").save(tmp_path / "solution.json")
    for source in (path, data, to_pandas(ROWS), to_arrow(ROWS)):
        assert verify(tmp_path / "solution.json", source).verdict == "CONFIRMED"


@pytest.mark.parametrize("way", ORDERED)
def test_the_file_of_plain_texts_is_verified_from_an_ordered_type(way, tmp_path):
    """The file says that the scale was taken from the labels, whatever the type of the column is now."""
    for said in ({}, {"labels": ["mid", "high", "low"]}, {"scale": "nominal"}):
        solution = prove(to_text(ROWS, tmp_path), engine="vote", **said)
        assert verify(solution, ORDERED[way]()).verdict == "CONFIRMED"


@pytest.mark.parametrize("way", ORDERED)
def test_what_the_user_says_outdoes_the_type(way):
    data = ORDERED[way]()
    scale = check(data, Reading(labels=("high", "mid", "low"))).scale
    assert (scale.labels, scale.kind) == (("high", "mid", "low"), "ordinal")
    responses = check(data, Reading(scale="nominal"))
    assert (responses.scale.labels, responses.scale.kind) == (("high", "low", "mid"), "nominal")
    assert responses.reading == Reading(scale="nominal")
    assert check(data, Reading(scale="ordinal")).scale.labels == tuple(ORDER)


@pytest.mark.parametrize("way", ORDERED)
def test_a_category_that_stands_for_a_missing_label_is_no_label(way):
    responses = check(ORDERED[way](), Reading(na=("none", "mid"), missing="drop"))
    assert responses.scale.labels == ("low", "high")
    assert responses.n_dropped == sum(label == "mid" for _, _, label in ROWS)


@pytest.mark.parametrize("way", WIDE)
def test_wide_tables_of_one_ordered_type(way):
    solution = prove(WIDE[way](), wide=True, engine="vote")
    assert (solution.scale.labels, solution.scale.inferred) == (tuple(ORDER), False)
    assert canonical(solution) == canonical(prove(to_polars(ROWS), labels=ORDER, engine="vote"))


def test_wide_tables_of_several_ordered_types_have_no_order():
    data = WIDE["polars"]().with_columns(pl.col("w1").cast(pl.String).cast(pl.Enum(ORDER[::-1])))
    solution = prove(data, wide=True, engine="vote")
    assert (solution.scale.labels, solution.scale.kind) == (("high", "low", "mid"), "nominal")


DAYS = [dt.datetime(2024, 5, day) for day in (3, 1, 2)]  # noqa: DTZ001
VALUES = {"int": [3, 1, 2], "float": [2.5, 0.5, 1.0], "bool": [True, False], "time": DAYS}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_ordered_categories_that_are_no_texts_keep_their_order(values, missing):
    """Ties go to the lower label, so that the answers tell the order."""
    of = dict(zip(["low", "high", "mid"], [*values, values[0]], strict=False))
    dtype = pd.CategoricalDtype(values, ordered=True)
    data = to_pandas([(task, worker, of[label]) for task, worker, label in ROWS]).astype({"label": dtype})
    texts = [(task, worker, next(name for name in of if of[name] == of[label])) for task, worker, label in ROWS]
    if missing:
        data.loc[0, "label"] = None
        texts = texts[1:]
    solution = prove(data, engine="vote", missing="drop")
    assert solution.scale.labels == tuple(canonical_text(value) for value in values)
    assert solution.answers["label"].dtype == dtype
    same = prove(to_pandas(texts), labels=list(of)[: len(values)], engine="vote")
    assert counts_of(solution) == counts_of(same)
    assert solution.answers["label"].tolist() == [of[label] for label in same.answers["label"]]


def counts_of(solution):
    return solution.buckets.counts.tolist(), solution.buckets.weights.tolist()


def test_unordered_categories_say_nothing():
    for data in (
        to_pandas(ROWS).astype({"label": pd.CategoricalDtype(ORDER)}),
        to_polars(ROWS).with_columns(pl.col("label").cast(pl.Categorical)),
        arrow_dictionary(to_arrow(ROWS), ordered=False),
    ):
        scale = check(data, Reading()).scale
        assert (scale.labels, scale.kind, scale.inferred) == (("high", "low", "mid"), "nominal", True)


def test_one_category_is_no_scale():
    data = to_pandas([(1, "v", "yes"), (2, "w", "yes")]).astype({"label": pd.CategoricalDtype(["yes"], ordered=True)})
    assert check(data, Reading()).scale.labels == ("yes",)


def test_too_many_categories():
    with pytest.raises(InputError, match="10,001 different labels"):
        check(
            to_polars(ROWS).with_columns(pl.col("label").cast(pl.Enum([*ORDER, *map("x{}".format, range(9997))]))),
            Reading(),
        )


def test_categories_with_quotes_and_line_breaks_come_back():
    odd = ["it's", 'a "b"', "one\ntwo", "back\\slash"]
    rows = [(task, worker, odd[task % 4]) for task, worker, _ in ROWS]
    answers = prove(duckdb_enum(to_arrow(rows), odd), engine="vote").answers
    assert answers.types[answers.columns.index("label")].children == [("values", odd)]
    assert plain(answers)["label"] == [odd[task % 4] for task in plain(answers)["task"]]


@pytest.mark.parametrize("which", ["first", "last"])
def test_an_order_column_is_compared_in_its_own_order(which):
    columns = {"task": ["a", "a"], "worker": ["w", "w"], "label": ["yes", "no"], "time": ["low", "high"]}
    expected = "yes" if which == "first" else "no"
    polars = pl.DataFrame(columns).with_columns(pl.col("time").cast(pl.Enum(ORDER)))
    relation = duckdb.connect().from_arrow(pa.table(columns))
    relation = relation.query("source", f"SELECT * REPLACE (CAST(time AS {enum(ORDER)}) AS time) FROM source")
    for data in (polars, relation):
        scale = check(data, Reading(duplicates=which, order_by="time"))
        assert plain(scale.table.to_native())["label"] == [expected]


def test_a_loaded_solution_has_the_scale_of_the_type(tmp_path):
    solution = prove(ORDERED["polars"](), engine="vote")
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    assert (loaded.scale.labels, loaded.scale.kind, loaded.scale.inferred) == (tuple(ORDER), "ordinal", False)
    assert loaded.reading == solution.reading
