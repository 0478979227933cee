"""What others would run for the same job: responses in Parquet in, one label per task in Parquet out.

python benchmarks/peer.py MajorityVote|DawidSkene|duckdb INPUT.parquet OUTPUT.parquet

The two are crowd-kit's, with its defaults, on a pandas frame; ``duckdb`` is the majority vote as one statement of SQL.
"""

from __future__ import annotations

import sys


def crowd_kit(method: str, source: str, target: str) -> None:
    """An aggregator of crowd-kit."""
    import pandas as pd
    from crowdkit import aggregation

    responses = pd.read_parquet(source)
    answers = getattr(aggregation, method)().fit_predict(responses)
    answers.rename("label").reset_index().to_parquet(target)


def duckdb_vote(source: str, target: str) -> None:
    """The most frequent label of each task, the greatest of equals."""
    import duckdb

    counts = f"SELECT task, label, count(*) AS n FROM '{source}' GROUP BY task, label"
    best = f"SELECT task, arg_max(label, (n, label)) AS label FROM ({counts}) GROUP BY task ORDER BY task"
    duckdb.sql(f"COPY ({best}) TO '{target}' (FORMAT parquet)")


if __name__ == "__main__":
    way, *files = sys.argv[1:]
    duckdb_vote(*files) if way == "duckdb" else crowd_kit(way, *files)
