"""One set of rows by every way in: the same answers, as the kind of table that was brought."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
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
from crowdopt import GlobalOptimum, aggregate
from crowdopt.errors import ColumnError, InputError
from crowdopt.pipeline import accuracy
from crowdopt.reading import Reading
from crowdopt.responses import check, count_tasks
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


KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table, "polars-lazy": pl.LazyFrame,
         "duckdb": duckdb.DuckDBPyRelation}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_the_kind_of_table_that_was_brought(way, tmp_path):
    data = WAYS[way](ROWS, tmp_path)
    answers = aggregate(data, wide=way.startswith("wide")).answers
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


DAY, LATER = dt.datetime(2024, 5, 1, 9, 30), dt.datetime(2024, 5, 2)  # noqa: DTZ001
LABELS = {
    "decimal": (Decimal("1.50"), Decimal("2.00")),
    "date": (dt.date(2024, 5, 1), dt.date(2024, 5, 2)),
    "datetime": (DAY, LATER),
    "large": (float(2**53), float(2**53 + 2)),
    "huge": (1e300, 2e300),
    "float": (1.0, 2.5),
    "bool": (False, True),
}
BACKENDS = {
    "pandas": lambda table: table.to_pandas(),
    "pandas-pyarrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars-lazy": lambda table: pl.from_arrow(table).lazy(),
    "arrow": lambda table: table,
    "duckdb": duckdb.from_arrow,
    "duckdb-own": lambda table: duckdb.connect().from_arrow(table),
}


@pytest.mark.parametrize("shape", ["same", "text", "arrow"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("labels", LABELS)
def test_truth_of_any_type_is_compared_as_canonical_text(labels, backend, shape):
    values = [LABELS[labels][label == "yes"] for _, _, label in ROWS]
    data = to_arrow(ROWS).set_column(2, "label", pa.array(values))
    solution = aggregate(BACKENDS[backend](data))
    plain_solution = aggregate(to_arrow(ROWS))
    assert solution.buckets.counts.tolist() == plain_solution.buckets.counts.tolist()
    answers = plain_solution.answers.to_pydict()
    true = [LABELS[labels][label == "yes"] for label in answers["label"]]
    true[0] = LABELS[labels][true[0] == LABELS[labels][0]]
    tasks = answers["task"]
    if shape == "text":
        true, tasks = [canonical_text(value) for value in true], [str(task) for task in tasks]
    truth = pa.table({"task": tasks, "label": pa.array(true)})
    truth = truth if shape == "arrow" else BACKENDS[backend](truth)
    found = accuracy(solution, truth)
    assert (found.value, found.n_tasks, found.n_unknown) == (1 - 1 / len(true), len(true), 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tasks_of_different_types_are_compared_as_canonical_text(backend):
    rows = [(float(task), worker, label) for task, worker, label in ROWS]
    answers = aggregate(to_arrow(ROWS)).answers.to_pydict()
    for tasks in (answers["task"], [str(task) for task in answers["task"]], [Decimal(t) for t in answers["task"]]):
        truth = BACKENDS[backend](pa.table({"task": tasks, "label": answers["label"]}))
        found = aggregate(BACKENDS[backend](to_arrow(rows)), truth=truth).accuracy
        assert (found.value, found.n_tasks, found.n_unknown) == (1, len(tasks), 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_missing_labels_of_the_truth_are_left_out(backend):
    truth = pa.table({"task": [0, 7, 7, 14], "label": ["yes", "", "?", None]})
    found = aggregate(BACKENDS[backend](to_arrow(ROWS)), truth=BACKENDS[backend](truth), na=["?"]).accuracy
    assert (found.n_tasks, found.n_unknown) == (1, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_wide_columns_of_different_types_are_made_canonical_text(backend):
    columns = {
        "task": ["a", "b", "c"],
        "w1": ["1", "1.5", None],
        "w2": [1.0, 1.5, None],
        "w3": pa.array([1, None, 1], pa.int8()),
        "w4": [Decimal("1.00"), Decimal("1.50"), None],
        "w5": pa.array([1, 1.5, None], pa.float32()),
    }
    solution = aggregate(BACKENDS[backend](pa.table(columns)), wide=True)
    assert (solution.scale.labels, solution.totals.n_responses) == (("1", "1.5"), 10)
    half = DAY.replace(microsecond=500_000)
    times = [pa.array([DAY, half, None], pa.timestamp(unit)) for unit in ("us", "ms", "ns")]
    columns = {"task": ["a", "b", "c"], "w0": [DAY.isoformat(), half.isoformat(), None]}
    columns |= {f"w{n}": array for n, array in enumerate(times, 1)}
    solution = aggregate(BACKENDS[backend](pa.table(columns)), wide=True)
    assert solution.scale.labels == ("2024-05-01T09:30:00", "2024-05-01T09:30:00.500000")
    assert solution.totals.n_responses == 8
    columns = {"task": ["a", "b", "c"], "w1": ["true", "false", None], "w2": [True, None, False]}
    solution = aggregate(BACKENDS[backend](pa.table(columns)), wide=True)
    assert (solution.scale.labels, solution.totals.n_responses) == (("false", "true"), 4)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_objects_of_pandas_are_what_they_hold(missing):
    columns = {"w1": ["1", "2.5", missing], "w2": [1.0, 2.5, missing], "w3": [1, 2.5, missing]}
    data = pd.DataFrame({"task": ["a", "b", "c"], **columns}, dtype=object)
    for workers in (["w1", "w2", "w3"], ["w2", "w3"]):
        solution = aggregate(data[["task", *workers]], wide=True)
        assert solution.scale.labels == ("1", "2.5")
        assert solution.answers["status"].tolist() == ["ok", "ok", "no_response"]
    data = pd.DataFrame({"task": ["a", "b", "c"], "worker": "w", "label": [True, False, missing]}, dtype=object)
    solution = aggregate(data, missing="drop")
    assert solution.scale.labels == ("false", "true")
    assert solution.answers["label"].tolist()[:2] == [True, False]


@pytest.mark.parametrize("backend", BACKENDS)
def test_kept_categories_are_text_and_nested_columns_are_refused(backend):
    data = to_arrow(ROWS)
    note = pa.array([f"about {task}" for task, _, _ in ROWS])
    data = data.append_column("note", note.dictionary_encode())
    data = data.append_column("nested", pa.array([[task] for task, _, _ in ROWS]))
    answers = plain(aggregate(BACKENDS[backend](data), keep=["note", "note"]).answers)
    assert answers["note"] == [f"about {task}" for task in answers["task"]]
    with pytest.raises(ColumnError, match="'nested'"):
        aggregate(BACKENDS[backend](data), keep=["nested"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_of_the_answers_have_names_of_their_own(backend):
    data = BACKENDS[backend](to_arrow(ROWS).append_column("p_yes", pa.array([1] * len(ROWS))))
    solution = aggregate(data, keep=["p_yes"])
    with pytest.raises(ColumnError, match="two columns named 'p_yes'"):
        solution.answers_frame(probabilities=True)
    data = BACKENDS[backend](to_arrow(ROWS).append_column("Status", pa.array([1] * len(ROWS))))
    with pytest.raises(ColumnError, match="'status' and 'Status'"):
        aggregate(data, keep=["Status"])


@pytest.mark.parametrize("values", [(DAY, LATER), (DAY.date(), LATER.date()), (Decimal("1.50"), Decimal(2))],
                         ids=["datetime", "date", "decimal"])  # fmt: skip
def test_categories_of_other_objects_come_back(values):
    data = to_pandas([(task, worker, values[label == "yes"]) for task, worker, label in ROWS])
    data = data.astype({"label": "category"})
    answers = aggregate(data).answers
    assert answers["label"].dtype == data["label"].dtype
    expected = [values[label == "yes"] for label in aggregate(to_pandas(ROWS)).answers["label"]]
    assert answers["label"].tolist() == expected


def test_options_may_be_numpy_values():
    data = to_pandas([(task, worker, label == "yes") for task, worker, label in ROWS])
    labels = np.array(sorted(data["label"].unique()))
    solution = aggregate(data, labels=labels, selectivity={np.bool_(False): 0.6, np.bool_(True): 0.4})  # noqa: FBT003
    assert solution.scale.labels == ("false", "true")
    assert solution.objective.shares == (0.6, 0.4)
    model = GlobalOptimum(labels=labels).fit(data)
    assert model.labels_.tolist() == aggregate(data).answers["label"].tolist()
    assert repr(model) == "GlobalOptimum(labels=array([False,  True]))"


@pytest.mark.parametrize("duplicates", ["error", "all"])
def test_labels_that_cannot_be_counted_are_an_error(monkeypatch, duplicates):
    responses = check(to_polars(ROWS), Reading(duplicates=duplicates))
    broken = replace(responses, scale=replace(responses.scale, values=("no", "YES")))
    with pytest.raises(InputError, match=f"of {len(ROWS)} responses could be counted"):
        count_tasks(broken)


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
