"""One set of rows by every way in: the same answers, as the kind of table that was brought."""

from __future__ import annotations

import json
from functools import partial

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from crowdopt import aggregate
from crowdopt.errors import InputError
from crowdopt.scale import canonical_text

NAMES = ["task", "worker", "label"]


def crowd(seed: int = 0, n_tasks: int = 25) -> list[tuple[int, str, str]]:
    rng = np.random.default_rng(seed)
    truth = rng.random(n_tasks) < 0.4
    return [
        (task * 7 % 101, f"w{worker}", "yes" if rng.random() < (0.8 if truth[task] else 0.2) else "no")
        for task in range(n_tasks)
        for worker in rng.permutation(9)[: rng.integers(1, 8)]
    ]


ROWS = crowd()


def to_pandas(rows, path=None):
    return pd.DataFrame(rows, columns=NAMES)


def wide(rows) -> pd.DataFrame:
    return to_pandas(rows).pivot(index="task", columns="worker", values="label").reset_index().rename_axis(columns=None)  # noqa: PD010


def to_polars(rows, path=None):
    return pl.DataFrame(rows, schema=NAMES, orient="row")


def to_arrow(rows, path=None):
    return pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)))


def to_duckdb(rows, path=None, connection=None):
    return (connection or duckdb).from_arrow(to_arrow(rows))


def to_text(rows, path, suffix=".csv", separator=",", shape=to_pandas):
    shape(rows).to_csv(path / f"data{suffix}", index=False, sep=separator)
    return str(path / f"data{suffix}")


def to_parquet(rows, path):
    pq.write_table(to_arrow(rows), path / "data.parquet")
    return path / "data.parquet"


def to_jsonl(rows, path):
    lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in rows]
    (path / "data.jsonl").write_text("\n".join(lines))
    return [str(path / "data.jsonl")]


def to_excel(rows, path):
    book = openpyxl.Workbook()
    for row in [NAMES, *rows]:
        book.active.append(row)
    book.save(path / "data.xlsx")
    return path / "data.xlsx"


WAYS = {
    "pandas": to_pandas,
    "pandas-object": lambda rows, _: to_pandas(rows).astype(object),
    "pandas-category": lambda rows, _: to_pandas(rows).astype({"worker": "category", "label": "category"}),
    "pandas-nullable": lambda rows, _: to_pandas(rows).convert_dtypes(),
    "pandas-pyarrow": lambda rows, _: to_pandas(rows).convert_dtypes(dtype_backend="pyarrow"),
    "pandas-odd-index": lambda rows, _: to_pandas(rows).set_index(np.zeros(len(rows), int)),
    "polars": to_polars,
    "polars-lazy": lambda rows, _: to_polars(rows).lazy(),
    "polars-category": lambda rows, _: to_polars(rows).with_columns(pl.col("label").cast(pl.Categorical)),
    "polars-enum": lambda rows, _: to_polars(rows).with_columns(pl.col("label").cast(pl.Enum(["yes", "no"]))),
    "arrow": to_arrow,
    "arrow-dictionary": lambda rows, _: to_arrow(rows).set_column(
        2, "label", to_arrow(rows)["label"].dictionary_encode()
    ),
    "duckdb": to_duckdb,
    "duckdb-own": lambda rows, _: to_duckdb(rows, connection=duckdb.connect()),
    "csv": to_text,
    "tsv": partial(to_text, suffix=".tsv", separator="\t"),
    "xlsx": to_excel,
    "parquet": to_parquet,
    "jsonl": to_jsonl,
    "wide-csv": partial(to_text, shape=wide),
    "wide-pandas": lambda rows, _: wide(rows),
    "wide-polars": lambda rows, _: pl.from_pandas(wide(rows)),
    "wide-arrow": lambda rows, _: pa.Table.from_pandas(wide(rows), preserve_index=False),
    "wide-duckdb": lambda rows, _: duckdb.from_arrow(pa.Table.from_pandas(wide(rows), preserve_index=False)),
    "wide-duckdb-own": lambda rows, _: duckdb.connect().from_arrow(
        pa.Table.from_pandas(wide(rows), preserve_index=False)
    ),
}


def plain(answers) -> dict[str, list]:
    """Answers of any kind as Python lists."""
    if isinstance(answers, duckdb.DuckDBPyRelation):
        rows = answers.fetchall()
        return {name: [row[i] for row in rows] for i, name in enumerate(answers.columns)}
    if isinstance(answers, pl.LazyFrame):
        answers = answers.collect()
    if isinstance(answers, pd.DataFrame):
        return {name: [None if pd.isna(v) else v for v in column.tolist()] for name, column in answers.items()}
    return answers.to_dict(as_series=False) if isinstance(answers, pl.DataFrame) else answers.to_pydict()


def canonical(solution) -> list[tuple]:
    """What every way in must agree on, by task."""
    columns = plain(solution.answers)
    texts = [[None if v is None else canonical_text(v) for v in columns[name]] for name in ("task", "label", "status")]
    return sorted(zip(*texts, columns["confidence"], columns["margin"], columns["n_responses"], strict=True))


def facts(solution) -> tuple:
    return canonical(solution), solution.certificate, solution.totals, solution.scale.labels


@pytest.mark.parametrize("selectivity", ["none", "estimate"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same(way, selectivity, tmp_path):
    solution = aggregate(WAYS[way](ROWS, tmp_path), wide=way.startswith("wide"), selectivity=selectivity)
    assert facts(solution) == facts(aggregate(to_pandas(ROWS), selectivity=selectivity))


KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table, "polars-lazy": pl.LazyFrame}


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_the_kind_of_table_that_was_brought(way, tmp_path):
    data = WAYS[way](ROWS, tmp_path)
    answers = aggregate(data, wide=way.startswith("wide")).answers
    stem = way.removeprefix("wide-")
    kind = KINDS.get(stem) or KINDS.get(stem.split("-")[0], duckdb.DuckDBPyRelation)
    assert type(answers) is kind
    if kind is pd.DataFrame:
        assert answers.index.tolist() == list(range(len(answers)))
    found = plain(answers)
    assert found["task"] == sorted(found["task"])
    if kind is not duckdb.DuckDBPyRelation or "duckdb" in way:
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
    expected = [canonical_text(labels[text == "yes"]) for _, text, *_ in canonical(aggregate(to_pandas(ROWS)))]
    for dtype in dtypes["pandas"]:
        solution = aggregate(to_pandas(rows).astype({"label": dtype}))
        assert solution.answers["label"].dtype == to_pandas(rows).astype({"label": dtype})["label"].dtype
        assert [text for _, text, *_ in canonical(solution)] == expected
    for dtype in dtypes["polars"]:
        data = to_polars(rows).with_columns(pl.col("label").cast(dtype))
        for way in (data, data.to_arrow(), duckdb.from_arrow(data.to_arrow())):
            solution = aggregate(way)
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
    answers = aggregate(to_pandas([*rows, (1000, None, labels[0])]), missing="drop").answers
    assert answers["label"].dtype == dtype
    assert answers["task"].dtype == "int64"
    last = answers.iloc[-1]
    assert (last["task"], last["status"], last["n_responses"]) == (1000, "no_response", 0)
    assert last[["label", "confidence", "margin"]].isna().all()


@pytest.mark.parametrize("way", ["pandas", "pandas-pyarrow", "polars", "polars-lazy", "arrow", "duckdb-own", "csv"])
def test_kept_columns_are_carried(way, tmp_path):
    data = to_pandas(ROWS).assign(text=lambda d: "about " + d["task"].astype(str), size=lambda d: d["task"] / 2)
    frames = {
        "pandas": data, "pandas-pyarrow": data.convert_dtypes(dtype_backend="pyarrow"), "polars": pl.from_pandas(data),
        "polars-lazy": pl.from_pandas(data).lazy(), "arrow": pa.Table.from_pandas(data, preserve_index=False),
    }  # fmt: skip
    if way == "csv":
        data.to_csv(tmp_path / "data.csv", index=False)
    found = frames.get(way, str(tmp_path / "data.csv") if way == "csv" else None)
    found = duckdb.connect().from_arrow(frames["arrow"]) if found is None else found
    answers = plain(aggregate(found, keep=["text", "size"]).answers)
    assert list(answers)[-2:] == ["text", "size"]
    assert answers["text"] == [f"about {task}" for task in answers["task"]]
    assert [float(size) for size in answers["size"]] == [int(task) / 2 for task in answers["task"]]


@pytest.mark.parametrize("truth_way", ["pandas", "polars", "polars-lazy", "arrow", "duckdb", "duckdb-own", "csv"])
@pytest.mark.parametrize("way", ["pandas", "pandas-pyarrow", "polars-lazy", "arrow", "duckdb", "duckdb-own", "csv"])
def test_truth_of_any_kind_goes_with_data_of_any_kind(way, truth_way, tmp_path):
    answers = aggregate(to_pandas(ROWS)).answers
    wrong = answers["label"].tolist()
    wrong[0] = "no" if wrong[0] == "yes" else "yes"
    known = [(task, "-", label) for task, label in zip(answers["task"], wrong, strict=True)]
    (tmp_path / "truth").mkdir()
    truth = WAYS[truth_way]([*known[:10], (5000, "-", "no")], tmp_path / "truth")
    accuracy = aggregate(WAYS[way](ROWS, tmp_path), truth=truth).accuracy
    assert (accuracy.value, accuracy.n_tasks, accuracy.n_unknown) == (0.9, 10, 1)


@pytest.mark.parametrize("column", NAMES)
def test_a_column_of_mixed_types_is_an_input_error(column):
    data = to_pandas([(1, "w", "1"), (1, "v", "0"), (2, "w", "1")]).astype(object)
    data[column] = pd.Series([1, "1", "0"], dtype=object)
    with pytest.raises(InputError):
        aggregate(data)


small_crowds = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 5), st.sampled_from(["no", "yes"])),
    min_size=1, max_size=40, unique_by=lambda row: row[:2],
)  # fmt: skip
options = st.fixed_dictionaries({"selectivity": st.sampled_from(["none", "estimate"])})


@settings(max_examples=30)
@given(small_crowds, options, st.randoms(use_true_random=False))
def test_order_of_rows_and_chunks_change_nothing(rows, chosen, random):
    expected = facts(aggregate(to_polars(rows), **chosen))
    random.shuffle(rows)
    assert facts(aggregate(to_polars(rows), **chosen)) == expected
    cut = random.randrange(len(rows) + 1)
    parts = [to_polars(part) for part in (rows[:cut], rows[cut:]) if part]
    assert facts(aggregate(pl.concat(parts, rechunk=False), **chosen)) == expected


@settings(max_examples=20)
@given(small_crowds, options, st.permutations(range(8)), st.permutations(range(6)))
def test_names_of_tasks_and_workers_change_nothing(rows, chosen, tasks, workers):
    before = aggregate(to_polars(rows), **chosen)
    after = aggregate(to_polars([(tasks[t], workers[w], label) for t, w, label in rows]), **chosen)
    assert after.certificate == before.certificate
    renamed = sorted((str(tasks[int(task)]), *rest) for task, *rest in canonical(before))
    assert canonical(after) == renamed


@settings(max_examples=40)
@given(small_crowds, options)
def test_exchanging_the_labels_exchanges_answers_that_are_unique(rows, chosen):
    other = {"no": "yes", "yes": "no"}
    before = aggregate(to_polars(rows), **chosen, labels=["no", "yes"])
    after = aggregate(to_polars([(t, w, other[label]) for t, w, label in rows]), **chosen, labels=["no", "yes"])
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
    solution = aggregate(str(tmp_path / "*" / f"data{suffix}"), threads=threads)
    assert facts(solution) == facts(aggregate(to_pandas(ROWS)))


@pytest.mark.parametrize("values", [(1, 2), (1.0, 2.5), (False, True)], ids=["int", "float", "bool"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_categories_of_any_type_equal_the_plain_values(values, missing):
    low, high = values
    labels = [high, high, low, high, low, None if missing else low]
    rows = {"task": list("aabbcd"), "worker": list("xyxyxy"), "label": pd.Series(labels, dtype=object)}
    plain = pd.DataFrame(rows).convert_dtypes()
    categories = plain.astype({"label": pd.CategoricalDtype(list(values))})
    expected = aggregate(plain, missing="drop")
    found = aggregate(categories, missing="drop")
    assert found.certificate.fingerprint == expected.certificate.fingerprint
    assert found.answers["label"].dtype == categories["label"].dtype
    assert found.answers["label"].astype(object).tolist()[:3] == expected.answers["label"].tolist()[:3]
