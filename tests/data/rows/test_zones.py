"""Times with a zone: they mean the same on every machine and from every library."""

from __future__ import annotations

import time

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdopt

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning", "ignore::crowdopt.errors.DataWarning")

WHERE = 'at >= "2024-07-01T09:00:00"'


def table():
    rows = [(f"t{task}", worker, "yes" if (task + ord(worker)) % 3 else "no") for task in range(4) for worker in "abc"]
    times = pd.date_range("2024-07-01 09:00:00", periods=len(rows), freq="15min", tz="Europe/Berlin")
    return pa.Table.from_pandas(pd.DataFrame(rows, columns=["task", "worker", "label"]).assign(at=times))


def from_new_york():
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    return connection.from_arrow(table())


def to_parquet(path):
    pq.write_table(table(), path / "r.parquet")
    return path / "r.parquet"


WAYS = {
    "parquet": to_parquet,
    "pandas": lambda _: table().to_pandas(),
    "objects": lambda _: table().to_pandas().astype({"at": object}),
    "polars": lambda _: pl.from_arrow(table()),
    "arrow": lambda _: table(),
    "duckdb of another zone": lambda _: from_new_york(),
}


@pytest.fixture(params=["UTC", "America/New_York"])
def machine(request, monkeypatch):
    with monkeypatch.context() as changed:
        changed.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


@pytest.mark.parametrize("way", WAYS)
def test_the_same_rows_count_wherever_the_machine_is(way, machine, tmp_path):
    del machine
    data = WAYS[way](tmp_path)
    solution = crowdopt.aggregate(data, where=WHERE)
    assert solution.source.about_export == (f"8 of 12 rows left out by --where ({WHERE})",)  # 11:00 in Berlin
    assert crowdopt.verify(solution, data).verdict == "REPRODUCED"


@pytest.mark.parametrize("way", WAYS)
def test_tasks_that_are_times_have_one_fingerprint(way, machine, tmp_path):
    del machine
    found = crowdopt.aggregate(WAYS[way](tmp_path), task="at", time="at")
    naive = table().to_pandas().assign(at=lambda frame: frame["at"].dt.tz_convert("UTC").dt.tz_localize(None))
    assert found.fingerprint == crowdopt.aggregate(naive, task="at").fingerprint
