"""When workers answered and how long they took: in tables of workers, and nowhere else."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime
from statistics import median

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdopt
from crowdopt.errors import InputError
from support.needs import SAMPLES, SHARED, need

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning", "ignore::crowdopt.errors.DataWarning")

LONG = SAMPLES / "verdicts" / "long.csv"
NAMES = {"task": "id", "worker": "judge", "label": "verdict"}
TIMED = NAMES | {"time": "asked_at", "seconds": "took"}


def expected():
    with LONG.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    by_worker = {
        judge: [row for row in rows if row["judge"] == judge] for judge in sorted({row["judge"] for row in rows})
    }
    return {
        judge: (
            min(row["asked_at"] for row in own).removesuffix("Z"),
            max(row["asked_at"] for row in own).removesuffix("Z"),
            median(float(row["took"]) for row in own),
        )
        for judge, own in by_worker.items()
    }


def found(workers):
    table = pa.table(workers) if not isinstance(workers, pa.Table) else workers
    columns = [table[name].to_pylist() for name in ("worker", "first_response", "last_response", "median_seconds")]
    return {worker: tuple(rest) for worker, *rest in zip(*columns, strict=True)}


WAYS = {
    "csv": lambda: LONG,
    "pandas": lambda: pd.read_csv(LONG),
    "polars": lambda: pl.read_csv(LONG, try_parse_dates=True),
    "polars-lazy": lambda: pl.read_csv(LONG).lazy(),
    "arrow": lambda: pa.Table.from_pandas(pd.read_csv(LONG, parse_dates=["asked_at"])),
    "duckdb": lambda: duckdb.connect().read_csv(str(LONG)),
}


@pytest.mark.parametrize("verb", [crowdopt.aggregate, crowdopt.prove])
@pytest.mark.parametrize("way", WAYS)
def test_the_table_of_workers_has_them_and_labels_do_not_depend_on_them(way, verb):
    solution = verb(WAYS[way](), **TIMED)
    workers = solution.workers()
    workers = workers.collect() if isinstance(workers, pl.LazyFrame) else workers
    workers = workers.to_arrow_table() if way == "duckdb" else workers
    workers = pa.Table.from_pandas(workers) if isinstance(workers, pd.DataFrame) else workers
    workers = workers.to_arrow() if isinstance(workers, pl.DataFrame) else workers
    assert found(workers) == expected()
    assert solution.source.fingerprint == verb(WAYS[way](), **NAMES).source.fingerprint


def test_they_are_kept_for_what_comes_after(tmp_path):
    solution = crowdopt.aggregate(LONG, **TIMED)
    solution.save(tmp_path / "s.json")
    loaded = crowdopt.Solution.load(tmp_path / "s.json")
    assert crowdopt.verify(loaded, LONG).verdict == "REPRODUCED"
    assert found(loaded.workers(LONG)) == expected()
    new = pd.read_csv(LONG).drop(columns=["asked_at", "took"])
    assert len(loaded.predict(new)) == 60  # of new responses nobody needs to know
    solution.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for first, last, _ in expected().values():
        assert f"<td>{first.replace('T', ' ')}</td><td>{last.replace('T', ' ')}</td>" in page


TIMES = {
    "2026-11-19T10:00:00Z": "2026-11-19T10:00:00",
    "2026-11-19T10:00:00.25+02:00": "2026-11-19T08:00:00",
    "2026-11-19 10:00:00-0530": "2026-11-19T15:30:00",
    "2015-10-26 15:38:06+02": "2015-10-26T13:38:06",
    "2015-10-26 15:38:06-08": "2015-10-26T23:38:06",
    "2015-10-26T15:38:00+0545": "2015-10-26T09:53:00",
    "2026-11-19 10:00": "2026-11-19T10:00:00",
    "2024-02-23 16:17:42 UTC": "2024-02-23T16:17:42",
    "Sat Feb 22 05:50:29 PST 2020": "2020-02-22T13:50:29",
    "Sun Nov 01 01:30:00 PDT 2020": "2020-11-01T08:30:00",
    "Sun Nov 01 01:10:00 PST 2020": "2020-11-01T09:10:00",
    "Sun Nov 01 01:10:00 UTC 2020": "2020-11-01T01:10:00",
    "3/24/2016 17:57:02": "2016-03-24T17:57:02",
    "1700000000": datetime.fromtimestamp(1.7e9, UTC).strftime("%Y-%m-%dT%H:%M:%S"),
    "1700000000500": datetime.fromtimestamp(1.7e9, UTC).strftime("%Y-%m-%dT%H:%M:%S"),
}


def test_times_are_read_as_tools_write_them(tmp_path):
    lines = ["task,worker,label,at", *(f'a,"{time}",x,"{time}"' for time in TIMES), "a,nobody,x,"]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    workers = crowdopt.aggregate(tmp_path / "r.csv", time="at").workers()
    times = dict(zip(workers["worker"].to_pylist(), workers["first_response"].to_pylist(), strict=True))
    assert times == TIMES | {"nobody": None}


WRONG = (
    "yesterday", "12:00", "7", "25/12/2020 10:00:00", "-1700000000", "inf", "nan", "1e30", "1e18",
    "Sun Nov 01 01:10:00 EST 2020", "2020-11-01T01:30:00 CET",
    "2026-01-01 10:00:00+99:99", "2026-01-01 10:00:00+02:75", "2026-01-01 10:00:00+15",
)  # fmt: skip


def test_zones_that_are_not_known_are_named():
    rows = pd.DataFrame({"task": ["a"], "worker": "w", "label": "x", "at": ["Sun Nov 01 01:10:00 EST 2020"]})
    with pytest.raises(InputError, match=r"zones of other names than PST, PDT, UTC, GMT are not converted"):
        crowdopt.aggregate(rows, time="at")


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_time_is_an_error(wrong):
    rows = pd.DataFrame({"task": ["a", "b"], "worker": "w", "label": "x", "at": ["2026-01-01", wrong]})
    with pytest.raises(
        InputError, match=f"1 response has something else than a time for time .for example '{re.escape(wrong)}'"
    ):
        crowdopt.aggregate(rows, time="at")


def test_what_is_no_number_of_seconds_is_an_error():
    rows = pd.DataFrame({"task": ["a", "b"], "worker": "w", "label": "x", "s": ["5", "5s"]})
    with pytest.raises(InputError, match=r"something else than a number of seconds for seconds .for example '5s'"):
        crowdopt.aggregate(rows, seconds="s")
    for negative in (["-5", "5"], [5, -0.5]):
        with pytest.raises(InputError, match=r"1 response has something else than a number of seconds .* none below 0"):
            crowdopt.aggregate(rows.assign(s=negative), seconds="s")
    with pytest.raises(InputError, match="leave them out with group"):
        crowdopt.aggregate(rows, seconds="s", group="label")


def test_the_times_of_a_real_export():
    path = SHARED / "exports" / "label_studio.csv"
    need(path.is_file(), f"the shared export ({path})")
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["sentiment"]]
    names = {"task": "id", "worker": "annotator", "label": "sentiment"}
    workers = crowdopt.aggregate(path, **names, tool="", time="created_at", seconds="lead_time").workers().to_pylist()
    assert len(workers) == len({row["annotator"] for row in rows})
    for worker in workers:
        own = [row for row in rows if row["annotator"] == worker["worker"]]
        assert worker["median_seconds"] == median(float(row["lead_time"]) for row in own)
        assert worker["first_response"] == min(row["created_at"] for row in own)[:19]


@pytest.mark.parametrize(
    ("file", "seconds", "took"),
    [("label_studio.json", "lead_time", 12.5), ("labelbox.ndjson", "seconds_to_create", 9)],
)
def test_tools_say_how_long_an_answer_took(file, seconds, took):
    workers = crowdopt.aggregate(SAMPLES / file, question="sentiment", seconds=seconds).workers().to_pylist()
    assert {row["median_seconds"] for row in workers} == {took}
