"""What counting through crowdopt costs on an engine, against SQL written by hand for the same engine.

python benchmarks/databases.py [--responses 1e6] [--repeats 3] [--quick]

Both sides do the same to a table of responses: check that nothing is missing and nobody answered twice, count by task,
find the buckets. By hand that is plain SQL; crowdopt goes through its own reading, checking and counting. CPU time is
that of this process and, for PostgreSQL, of the server and all that it starts. The start of programs, the search, and
writing answers are left out: they have a benchmark of their own (spine.py).

The server is one that this script starts on loopback, and stops.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import adbc_driver_postgresql.dbapi as postgresql
import duckdb

from crowdopt.data.load import load
from crowdopt.data.readers.addresses import Database
from crowdopt.data.reading import Reading
from crowdopt.data.tables.workspace import Workspace
from crowds import Crowd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from support.servers import server  # noqa: E402 -- the server that the tests start, too

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = 1.3
TICKS = 100
"""Of a second, in which Linux counts the time of processes."""

CHECKS = (
    "SELECT worker, label, count(*), count(task) FROM {table} GROUP BY worker, label",
    "SELECT count(*) FROM (SELECT 1 FROM {table} GROUP BY task, worker HAVING count(*) > 1) AS repeated",
)
COUNT = (
    "CREATE TEMP TABLE counts AS SELECT task, count(*) FILTER (WHERE label = 'no') AS low, "
    "count(*) FILTER (WHERE label = 'yes') AS high FROM {table} GROUP BY task"
)
BUCKETS = "SELECT low, high, count(*) FROM counts GROUP BY low, high"
TASKS = "SELECT task, low, high FROM counts"
"""The counts come over, since answers are made from them: crowdopt has them here, too."""


def by_hand_duckdb(path: Path) -> int:
    """The SQL on the Parquet file."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        for query in (*CHECKS, COUNT):
            connection.execute(query.format(table=f"'{path}'")).fetchall()
        connection.execute(f"COPY counts TO '{folder}/counts.parquet'")
        return len(connection.execute(BUCKETS).fetchall())


def by_hand_postgresql(table: str) -> int:
    """The SQL on the server; counts per task come over as Arrow."""
    with postgresql.connect(server().address) as connection, connection.cursor() as cursor:
        for query in CHECKS:
            cursor.execute(query.format(table=table))
            cursor.fetchall()
        cursor.execute(COUNT.format(table=table))
        cursor.execute(BUCKETS)
        n_buckets = len(cursor.fetchall())
        cursor.execute(TASKS)
        cursor.fetch_arrow_table()
        return n_buckets


def by_crowdopt(data: object) -> int:
    """What ``prove`` does before it solves."""
    with Workspace() as workspace:
        return load(data, Reading(), workspace).counts.buckets.n_buckets


def server_seconds() -> float:
    """CPU time of the server and of all its processes, those that have ended included."""
    main = server().process.pid
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended, and counts with its parent
            continue
        if int(entry.name) == main:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == main:
            total += sum(map(int, fields[11:13]))
    return total / TICKS


def measure(work: Callable[[], int]) -> tuple[int, float]:
    """The buckets, and the CPU seconds of this process and the server."""
    before = time.process_time() + server_seconds()
    found = work()
    time.sleep(0.3)  # until the server has taken leave of its processes
    return found, time.process_time() + server_seconds() - before


def main() -> None:
    """Makes the data, measures, prints."""
    parser = argparse.ArgumentParser(description="Measures counting through crowdopt against SQL written by hand.")
    parser.add_argument("--responses", default="1e6", help="number of responses")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few responses, one repeat")
    chosen = parser.parse_args()
    n_responses, repeats = (10_000, 1) if chosen.quick else (int(float(chosen.responses)), chosen.repeats)
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as folder:
        path = Path(folder) / "responses.parquet"
        Crowd(n_responses).write(str(path))
        server().load(duckdb.sql(f"FROM '{path}'").to_arrow_reader(100_000), "responses")
        server().run("ANALYZE responses")
        engines: dict[str, tuple[Callable[[], int], Callable[[], int]]] = {
            "DuckDB": (lambda: by_crowdopt(str(path)), lambda: by_hand_duckdb(path)),
            "PostgreSQL": (
                lambda: by_crowdopt(Database(server().address, table="responses")),
                lambda: by_hand_postgresql("responses"),
            ),
        }
        print("| engine | responses | crowdopt | by hand | ratio | target |\n| --- | --: | --: | --: | --: | --- |")
        for engine, works in engines.items():
            works[0]()  # imports, and caches of the disk
            runs = [[measure(work) for work in works] for _ in range(repeats)]
            if len({found for run in runs for found, _ in run}) > 1:
                sys.exit(f"{engine}: the buckets differ")
            ours, theirs = (statistics.median(run[side][1] for run in runs) for side in (0, 1))
            ratio = ours / theirs if theirs else float("nan")
            met = "met" if ratio <= TARGET else "MISSED"
            print(f"| {engine} | {n_responses:,} | {ours:.2f} s | {theirs:.2f} s | {ratio:.2f} | ≤ {TARGET}: {met} |")


if __name__ == "__main__":
    main()
