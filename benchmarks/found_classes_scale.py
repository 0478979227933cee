"""Classes found among many workers in many responses: time and memory, next to crowd-kit's Dawid-Skene.

python benchmarks/found_classes_scale.py [--quick] [--json FILE] [--responses N] [--workers N] [--crowd-kit PYTHON]

Draws responses of three kinds of workers, writes them to a file, and aggregates that file by each way in a process of
its own: ``crowdopt prove --find-classes 3``, and crowd-kit's DawidSkene in an interpreter that has it. Reading the
file is part of both. Where crowd-kit is not installed, this says so and measures the rest.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from processes import elsewhere, environment, measure
from tables import describe, parser, say, show, write_json

PER_TASK = 5
SKILLS = (0.95, 0.75, 0.55)
"""How often workers of each class are right."""

NAMES = {"crowdopt": "crowdopt prove --find-classes 3", "crowd-kit": "crowd-kit's DawidSkene"}

CROWD_KIT = """
import sys
import pandas as pd
from crowdkit.aggregation import DawidSkene
labels = DawidSkene(n_iter=100).fit_predict(pd.read_parquet(sys.argv[1]))
labels.rename("label").reset_index().to_parquet(sys.argv[2])
"""


def make(folder: str, n_responses: int, n_workers: int) -> None:
    """Draws the responses and the truth."""
    rng = np.random.default_rng(0)
    n_tasks = n_responses // PER_TASK
    truth, task = rng.random(n_tasks) < 0.4, np.repeat(np.arange(n_tasks), PER_TASK)
    worker = rng.integers(n_workers, size=n_tasks * PER_TASK)
    right = rng.random(len(task)) < rng.choice(SKILLS, size=n_workers)[worker]
    words = np.array(["no", "yes"])
    data = {"task": task, "worker": worker, "label": words[np.where(right, truth[task], ~truth[task]).astype(int)]}
    pq.write_table(pa.table(data), Path(folder) / "data.parquet")
    known = {"task": np.arange(n_tasks), "label": words[truth.astype(int)]}
    pq.write_table(pa.table(known), Path(folder) / "truth.parquet")


def share_right(folder: str, answers: str) -> float:
    """The accuracy of answers in a file."""
    found, truth = (
        pq.read_table(Path(folder) / name, columns=["task", "label"]).sort_by("task").to_pydict()
        for name in (answers, "truth.parquet")
    )
    if found["task"] != truth["task"]:
        raise ValueError(f"{answers} has other tasks than the truth")
    return float(np.mean(np.array(found["label"]) == np.array(truth["label"])))


def main() -> None:
    """Draws, measures, prints, writes."""
    options = parser("Classes found in many responses.")
    options.add_argument("--responses", type=int, default=10_000_000, metavar="N")
    options.add_argument("--workers", type=int, default=100_000, metavar="N")
    options.add_argument("--crowd-kit", metavar="PYTHON", help="an interpreter that has crowd-kit, if this has not")
    chosen = options.parse_args()
    sizes = (10_000, 100) if chosen.quick else (chosen.responses, chosen.workers)
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "runs": {}}
    print(describe(figures["environment"]) + "\n")
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as folder:
        elsewhere(make, folder, *sizes)
        data, target = f"{folder}/data.parquet", f"{folder}/{{}}.parquet"
        program = [sys.executable, "-m", "crowdopt", "prove", data, "-o", target.format("crowdopt")]
        ways = {"crowdopt": [*program, "--duplicates", "all", "--find-classes", "3", "--quiet"]}
        if chosen.crowd_kit or find_spec("crowdkit"):
            python = chosen.crowd_kit or sys.executable
            ways["crowd-kit"] = [python, "-c", CROWD_KIT, data, target.format("crowd-kit")]
        else:
            print("crowd-kit is not installed here: name an interpreter that has it with --crowd-kit.\n")
        rows = []
        for way, command in ways.items():
            say(way)
            run = measure(command)
            right = None if run.error else elsewhere(share_right, folder, f"{way}.parquet")
            figures["runs"][way] = asdict(run) | {"accuracy": right}
            shown = "" if right is None else f"{right:.4f}"
            rows.append([NAMES[way], f"{run.wall:.0f}", f"{run.peak_mb:,.0f}", shown, run.error])
    caption = f"{sizes[0]:,} responses of {sizes[1]:,} workers of three classes, {PER_TASK} to a task, from Parquet."
    show("found_classes_scale.py", caption, ("way", "seconds", "peak MB", "accuracy", "error"), rows)
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
