"""One set of rows by every way in: the same answers, as the kind of table that was brought."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt import prove
from crowdopt.errors import InputError
from crowdopt.model.scale import canonical_text
from support import oracle
from support.servers import server, to_sqlite
from support.ways import (
    BACKENDS,
    NAMES,
    ROWS,
    WAYS,
    canonical,
    facts,
    plain,
    to_jsonl,
    to_pandas,
    to_parquet,
    to_polars,
    to_text,
)


@pytest.mark.parametrize("selectivity", ["none", "estimate"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same(way, selectivity, tmp_path):
    solution = prove(WAYS[way](ROWS, tmp_path), wide=way.startswith("wide"), selectivity=selectivity)
    assert facts(solution) == facts(prove(to_pandas(ROWS), selectivity=selectivity))


KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table, "polars-lazy": pl.LazyFrame,
         "duckdb": duckdb.DuckDBPyRelation}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_the_kind_of_table_that_was_brought(way, tmp_path):
    data = WAYS[way](ROWS, tmp_path)
    answers = prove(data, wide=way.startswith("wide")).answers
    stem = way.removeprefix("wide-")
    kind = KINDS.get(stem) or KINDS.get(stem.split("-")[0], pa.Table)
    assert type(answers) is kind
    if kind is pd.DataFrame:
        assert answers.index.tolist() == list(range(len(answers)))
    found = plain(answers)
    assert found["task"] == sorted(found["task"])
    if not way.endswith(("csv", "tsv")):  # whose cells are text
        assert all(type(task) is int for task in found["task"])


@pytest.mark.parametrize(
    ("labels", "dtypes"),
    [
        ((0, 1), {"pandas": ["int64", "int8", "Int64", "int64[pyarrow]"], "polars": [pl.Int64, pl.Int8, pl.UInt16]}),
        ((False, True), {"pandas": ["bool", "boolean", "bool[pyarrow]"], "polars": [pl.Boolean]}),
        ((0.5, 1.5), {"pandas": ["float64", "float32", "Float64"], "polars": [pl.Float64, pl.Float32]}),
        (("no", "yes"), {"pandas": ["str", "object", "string", "category"], "polars": [pl.String, pl.Categorical]}),
    ],
    ids=["int", "bool", "float", "str"],
)
def test_labels_keep_the_type_of_the_source(labels, dtypes):
    rows = [(task, worker, labels[label == "yes"]) for task, worker, label in ROWS]
    expected = [canonical_text(labels[text == "yes"]) for _, text, *_ in canonical(prove(to_pandas(ROWS)))]
    for dtype in dtypes["pandas"]:
        solution = prove(to_pandas(rows).astype({"label": dtype}))
        assert solution.answers["label"].dtype == to_pandas(rows).astype({"label": dtype})["label"].dtype
        assert [text for _, text, *_ in canonical(solution)] == expected
    for dtype in dtypes["polars"]:
        data = to_polars(rows).with_columns(pl.col("label").cast(dtype))
        for way in (data, data.to_arrow(), duckdb.from_arrow(data.to_arrow())):
            solution = prove(way)
            assert [text for _, text, *_ in canonical(solution)] == expected
            if way is data:
                assert solution.answers["label"].dtype == dtype
            elif isinstance(way, pa.Table) and not pa.types.is_dictionary(way["label"].type):
                large = way["label"].type == pa.large_string()
                assert solution.answers["label"].type == (pa.string() if large else way["label"].type)
            elif isinstance(way, duckdb.DuckDBPyRelation) and "ENUM" not in str(way.types[2]):
                assert solution.answers.types[1] == way.types[2]


@pytest.mark.parametrize(("labels", "dtype"), [((0, 1), "Int64"), ((False, True), "boolean")])
def test_a_task_without_a_response_makes_pandas_labels_nullable(labels, dtype):
    rows = [(task, worker, labels[label == "yes"]) for task, worker, label in ROWS]
    answers = prove(to_pandas([*rows, (1000, None, labels[0])]), missing="drop").answers
    assert answers["label"].dtype == dtype
    assert answers["task"].dtype == "int64"
    last = answers.iloc[-1]
    assert (last["task"], last["status"], last["n_responses"]) == (1000, "no_response", 0)
    assert last[["label", "confidence", "margin"]].isna().all()


@pytest.mark.parametrize(
    "way", ["pandas", "pandas-pyarrow", "polars", "polars-lazy", "arrow", "duckdb-own", "csv", "postgresql", "sqlite"]
)
def test_kept_columns_are_carried(way, tmp_path):
    data = to_pandas(ROWS).assign(text=lambda d: "about " + d["task"].astype(str), size=lambda d: d["task"] / 2)
    frames = {
        "pandas": data, "pandas-pyarrow": data.convert_dtypes(dtype_backend="pyarrow"), "polars": pl.from_pandas(data),
        "polars-lazy": pl.from_pandas(data).lazy(), "arrow": pa.Table.from_pandas(data, preserve_index=False),
    }  # fmt: skip
    if way == "csv":
        data.to_csv(tmp_path / "data.csv", index=False)
    found = {
        "csv": lambda: str(tmp_path / "data.csv"),
        "duckdb-own": lambda: duckdb.connect().from_arrow(frames["arrow"]),
        "postgresql": lambda: server().load(frames["arrow"]),
        "sqlite": lambda: to_sqlite(frames["arrow"], tmp_path / "data.db"),
    }.get(way, lambda: frames[way])()
    answers = plain(prove(found, keep=["text", "size"]).answers)
    assert list(answers)[-2:] == ["text", "size"]
    assert answers["text"] == [f"about {task}" for task in answers["task"]]
    assert [float(size) for size in answers["size"]] == [int(task) / 2 for task in answers["task"]]


@pytest.mark.grid
@pytest.mark.parametrize(
    "truth_way", ["pandas", "polars", "polars-lazy", "arrow", "duckdb", "duckdb-own", "csv", "sqlite"]
)
@pytest.mark.parametrize(
    "way", ["pandas", "pandas-pyarrow", "polars-lazy", "arrow", "duckdb", "duckdb-own", "csv", "postgresql", "sqlite"]
)
def test_truth_of_any_kind_goes_with_data_of_any_kind(way, truth_way, tmp_path):
    answers = prove(to_pandas(ROWS)).answers
    wrong = answers["label"].tolist()
    wrong[0] = "no" if wrong[0] == "yes" else "yes"
    known = [(task, "-", label) for task, label in zip(answers["task"], wrong, strict=True)]
    (tmp_path / "truth").mkdir()
    truth = WAYS[truth_way]([*known[:10], (5000, "-", "no")], tmp_path / "truth")
    accuracy = prove(WAYS[way](ROWS, tmp_path), truth=truth).accuracy
    assert (accuracy.value, accuracy.n_tasks, accuracy.n_unknown) == (0.9, 10, 1)


@pytest.mark.parametrize("column", NAMES)
def test_a_column_of_mixed_types_is_an_input_error(column):
    data = to_pandas([(1, "w", "1"), (1, "v", "0"), (2, "w", "1")]).astype(object)
    data[column] = pd.Series([1, "1", "0"], dtype=object)
    with pytest.raises(InputError):
        prove(data)


small_crowds = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 5), st.sampled_from(["no", "yes"])),
    min_size=1, max_size=40, unique_by=lambda row: row[:2],
)  # fmt: skip
options = st.fixed_dictionaries({"selectivity": st.sampled_from(["none", "estimate"])})


@settings(max_examples=30)
@given(small_crowds, options, st.randoms(use_true_random=False))
def test_order_of_rows_and_chunks_change_nothing(rows, chosen, random):
    expected = facts(prove(to_polars(rows), **chosen))
    random.shuffle(rows)
    assert facts(prove(to_polars(rows), **chosen)) == expected
    cut = random.randrange(len(rows) + 1)
    parts = [to_polars(part) for part in (rows[:cut], rows[cut:]) if part]
    assert facts(prove(pl.concat(parts, rechunk=False), **chosen)) == expected


@settings(max_examples=20)
@given(small_crowds, options, st.permutations(range(8)), st.permutations(range(6)))
def test_names_of_tasks_and_workers_change_nothing_but_the_fingerprint(rows, chosen, tasks, workers):
    others = [(tasks[t], workers[w], label) for t, w, label in rows]
    before, after = prove(to_polars(rows), **chosen), prove(to_polars(others), **chosen)
    same_rows = sorted(rows) == sorted(others)
    assert (after.certificate.fingerprint == before.certificate.fingerprint) == same_rows
    assert replace(after.certificate, fingerprint="") == replace(before.certificate, fingerprint="")
    renamed = sorted((str(tasks[int(task)]), *rest) for task, *rest in canonical(before))
    assert canonical(after) == renamed


@settings(max_examples=40)
@given(small_crowds, options)
def test_exchanging_the_labels_exchanges_answers_that_are_unique(rows, chosen):
    other = {"no": "yes", "yes": "no"}
    before = prove(to_polars(rows), **chosen, labels=["no", "yes"])
    after = prove(to_polars([(t, w, other[label]) for t, w, label in rows]), **chosen, labels=["no", "yes"])
    assert after.certificate.objective == pytest.approx(before.certificate.objective, abs=1e-9)
    tasks = np.repeat(before.buckets.counts[:, 0, :], before.buckets.weights, axis=0)
    shares = "estimate" if chosen["selectivity"] == "estimate" else None
    optima = oracle.brute_force(tasks, space="all", shares=shares).mappings
    agreement = np.array([tasks[np.arange(len(tasks)), mapping].sum() for mapping in optima])
    if (agreement == agreement.max()).sum() == 1:
        assert [row[1] for row in canonical(after)] == [other[row[1]] for row in canonical(before)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("threads", [1, 2])
def test_files_in_pieces_and_threads_change_nothing(tmp_path, suffix, threads):
    write = {".csv": to_text, ".jsonl": to_jsonl, ".parquet": to_parquet}[suffix]
    for number, cut in enumerate((slice(0, 10), slice(10, 11), slice(11, None))):
        (tmp_path / str(number)).mkdir()
        write(ROWS[cut], tmp_path / str(number))
    solution = prove(str(tmp_path / "*" / f"data{suffix}"), threads=threads)
    assert facts(solution) == facts(prove(to_pandas(ROWS)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_label_has_no_margins(backend):
    """There is nothing to tell it from; the column is there all the same."""
    rows = {"task": ["t1", "t1", "t2"], "worker": ["w1", "w2", "w1"], "label": ["a", "a", "a"]}
    answers = plain(prove(BACKENDS[backend](pa.table(rows))).answers)
    assert answers["label"] == ["a", "a"]
    assert all(value is None or value != value for value in answers["margin"])  # noqa: PLR0124 - not-a-number
