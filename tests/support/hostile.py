"""Responses whose names and labels mean harm."""

from __future__ import annotations

import csv

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


def responses(texts, label="label"):
    """A response of two workers to each text, whose workers and labels are such texts too."""
    labels = ["=yes", "<b>no</b>"]
    rows = [
        (text, f"{texts[at % len(texts)]} {n}", labels[(at + n * (at % 3 == 0)) % 2])
        for at, text in enumerate(texts)
        for n in range(2)
    ]
    return pd.DataFrame(rows, columns=["task", "worker", label])


def written(frame, path):
    """The frame as a file of the kind that its name says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, quoting=csv.QUOTE_ALL)  # or pandas leaves a carriage return bare
    return path
