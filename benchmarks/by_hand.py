"""The yardstick: the job of ``crowdopt prove`` for two labels, as one would write it by hand for DuckDB.

python benchmarks/by_hand.py INPUT.parquet OUTPUT.parquet [--no-duplicate-check] [--unsorted] [--memory-limit 1GB]

It checks that nothing is missing and that no worker answered a task twice, counts, finds the likeliest cut, and
writes one row per task with the columns that crowdopt writes. It knows one file format, one shape of input and one
way to fail; what crowdopt takes beyond this script is the price of everything else that it does.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from dataclasses import dataclass

import duckdb

TOLERANCE = 1e-9
"""Log-likelihoods closer than this are a tie."""


@dataclass(frozen=True)
class Bucket:
    """Tasks with the same counts: responses "low" and "high" to each, and how many tasks there are."""

    low: int
    high: int
    tasks: int


@dataclass(frozen=True)
class Overview:
    """The numbers of what went in, and the two labels in alphabetical order."""

    responses: int
    workers: int
    labels: tuple[str, str]


def overview(con: duckdb.DuckDBPyConnection) -> Overview:
    """One pass for missing values, labels and workers; ends the program if something is missing."""
    rows, tasks, with_worker, with_label, workers, low, high = con.execute(
        "SELECT count(*), count(task), count(worker), count(label), count(DISTINCT worker), min(label), max(label) "
        "FROM responses"
    ).fetchall()[0]
    if not rows or min(tasks, with_worker, with_label) < rows:
        sys.exit(f"{rows} rows: {tasks} tasks, {with_worker} workers and {with_label} labels are there")
    if low == high:
        sys.exit(f"there is one label only: {low}")
    return Overview(rows, workers, (low, high))


def check_duplicates(con: duckdb.DuckDBPyConnection, responses: int) -> None:
    """Ends the program if a worker answered a task more than once; counts the pairs only where there are some."""
    distinct = con.execute("SELECT count(*) FROM (SELECT DISTINCT task, worker FROM responses)").fetchall()[0][0]
    if distinct == responses:
        return
    repeated = con.execute(
        "SELECT count(*) FROM (SELECT 1 FROM responses GROUP BY task, worker HAVING count(*) > 1)"
    ).fetchall()[0][0]
    sys.exit(f"{repeated} pairs (task, worker) occur more than once")


def count(con: duckdb.DuckDBPyConnection, found: Overview) -> list[Bucket]:
    """Counts per task, kept in the table ``counts``, and the histogram of the counts."""
    low, high = map(literal, found.labels)
    con.execute(
        "CREATE TEMP TABLE counts AS SELECT task, "
        f"count(*) FILTER (label = {low}) AS low, count(*) FILTER (label = {high}) AS high "
        "FROM responses GROUP BY task"
    )
    rows = con.execute("SELECT low, high, count(*) FROM counts GROUP BY low, high").fetchall()
    buckets = [Bucket(*row) for row in rows]
    if sum((b.low + b.high) * b.tasks for b in buckets) != found.responses:
        sys.exit("there are more than two labels")
    return sorted(buckets, key=lambda b: (b.high / (b.low + b.high), b.high))


def side(buckets: list[Bucket]) -> tuple[float, float]:
    """The log-likelihood of buckets that share one label, and the share of "high" among their responses."""
    low = sum(b.low * b.tasks for b in buckets)
    high = sum(b.high * b.tasks for b in buckets)
    value = sum(n * math.log(n / (low + high)) for n in (low, high) if n)
    return value, high / max(1, low + high)


def answers(buckets: list[Bucket], labels: tuple[str, str]) -> list[tuple[object, ...]]:
    """For each bucket: its counts, label, confidence, margin, margin_kind, n_responses and status.

    All cuts of the buckets, ordered by their share of "high" responses, are tried; a margin is what the best cut
    that gives the bucket the other label loses.
    """
    values = [side(buckets[:cut])[0] + side(buckets[cut:])[0] for cut in range(len(buckets) + 1)]
    best = max(values)
    cut = values.index(best)
    shares = side(buckets[:cut])[1], side(buckets[cut:])[1]
    rows: list[tuple[object, ...]] = []
    for i, bucket in enumerate(buckets):
        label = int(i >= cut)
        others = values[i + 1 :] if label else values[: i + 1]
        margin = best - max(others)
        status = "tie" if margin <= TOLERANCE else "ok"
        sure = confidence(bucket, shares, label)
        size = bucket.low + bucket.high
        rows.append((bucket.low, bucket.high, labels[label], sure, margin, "exact", size, status))
    return rows


def confidence(bucket: Bucket, shares: tuple[float, float], label: int) -> float:
    """The probability of a bucket's label, both labels being equally likely beforehand."""
    scores = []
    for share in shares:
        terms = ((bucket.low, 1 - share), (bucket.high, share))
        scores.append(sum((n * math.log(p) if p > 0 else -math.inf) for n, p in terms if n))
    return 1 / (1 + math.exp(min(700.0, scores[1 - label] - scores[label])))


def literal(value: object) -> str:
    """A number or text as SQL; the exponent makes a number a DOUBLE with all its digits."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"{value:.17e}" if isinstance(value, float) else str(value)


def write(con: duckdb.DuckDBPyConnection, rows: list[tuple[object, ...]], output: str, *, unsorted: bool) -> None:
    """Joins the buckets' labels onto the tasks and writes them."""
    con.execute(
        "CREATE TEMP TABLE buckets (low BIGINT, high BIGINT, label VARCHAR, confidence DOUBLE, margin DOUBLE, "
        "margin_kind VARCHAR, n_responses BIGINT, status VARCHAR)"
    )
    # Literals, not parameters: those make DuckDB import pandas and pyarrow, for half a second and 90 MB.
    values = ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in rows)
    con.execute(f"INSERT INTO buckets VALUES {values}")
    con.execute(
        "COPY (SELECT task, label, confidence, margin, margin_kind, n_responses, status "
        f"FROM counts JOIN buckets USING (low, high) {'' if unsorted else 'ORDER BY task'}) "
        f"TO {literal(output)} (FORMAT parquet)"
    )


def main() -> None:
    """Reads the options, does the work, prints the numbers as JSON."""
    parser = argparse.ArgumentParser(description="Crowd responses to labels, by hand.")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--no-duplicate-check", action="store_true")
    parser.add_argument("--unsorted", action="store_true", help="do not sort the answers by task")
    parser.add_argument("--memory-limit", help="for DuckDB, for example 1GB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="by-hand-") as spill:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": spill,
            "preserve_insertion_order": "false",
        }
        if options.memory_limit:
            settings["memory_limit"] = options.memory_limit
        with duckdb.connect(config=settings) as con:
            source = f"read_parquet({literal(options.input)})"
            con.execute(f"CREATE TEMP VIEW responses AS SELECT task, worker, label FROM {source}")
            found = overview(con)
            if not options.no_duplicate_check:
                check_duplicates(con, found.responses)
            buckets = count(con, found)
            write(con, answers(buckets, found.labels), options.output, unsorted=options.unsorted)
    totals = {"n_tasks": sum(b.tasks for b in buckets), "n_workers": found.workers, "n_responses": found.responses}
    print(json.dumps(totals))


if __name__ == "__main__":
    main()
