"""One set of rows, many ways in: what the tests of frames and of types share."""

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

from crowdopt.model.scale import canonical_text
from support.servers import server, to_sqlite

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
    "polars-enum": lambda rows, _: to_polars(rows).with_columns(pl.col("label").cast(pl.Enum(["no", "yes"]))),
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
    "postgresql": lambda rows, _: server().load(to_arrow(rows)),
    "sqlite": lambda rows, path: to_sqlite(to_arrow(rows), path / "data.db"),
    "wide-csv": partial(to_text, shape=wide),
    "wide-pandas": lambda rows, _: wide(rows),
    "wide-polars": lambda rows, _: pl.from_pandas(wide(rows)),
    "wide-postgresql": lambda rows, _: server().load(pa.Table.from_pandas(wide(rows), preserve_index=False)),
    "wide-sqlite": lambda rows, path: to_sqlite(
        pa.Table.from_pandas(wide(rows), preserve_index=False), path / "data.db"
    ),
    "wide-arrow": lambda rows, _: pa.Table.from_pandas(wide(rows), preserve_index=False),
    "wide-duckdb": lambda rows, _: duckdb.from_arrow(pa.Table.from_pandas(wide(rows), preserve_index=False)),
    "wide-duckdb-own": lambda rows, _: duckdb.connect().from_arrow(
        pa.Table.from_pandas(wide(rows), preserve_index=False)
    ),
}

CORE = {"pandas", "polars-lazy", "arrow", "duckdb", "csv", "sqlite"}
"""The ways that the fast tier tries; the full tier tries all of them."""

BACKENDS = {
    "pandas": lambda table: table.to_pandas(),
    "pandas-pyarrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars-lazy": lambda table: pl.from_arrow(table).lazy(),
    "arrow": lambda table: table,
    "duckdb": duckdb.from_arrow,
    "duckdb-own": lambda table: duckdb.connect().from_arrow(table),
}
"""From a PyArrow table to every kind of frame."""


def plain(answers) -> dict[str, list]:
    """Answers of any kind as Python lists."""
    if isinstance(answers, duckdb.DuckDBPyRelation):
        rows = answers.fetchall()
        return {name: [row[i] for row in rows] for i, name in enumerate(answers.columns)}
    if isinstance(answers, pl.LazyFrame):
        answers = answers.collect()
    if type(answers).__module__.startswith("pyspark."):
        answers = answers.toArrow()
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
