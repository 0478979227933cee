"""Dawid and Skene's model in a few lines, to compare with where crowd-kit is not installed.

And crowd-kit's own, in the interpreter that has it: run as a program, this file prints the accuracies of crowd-kit's
majority vote and Dawid-Skene on sets of responses, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS, PSEUDO = 100, 0.01


def dawid_skene(task: np.ndarray, worker: np.ndarray, label: np.ndarray, n_labels: int) -> np.ndarray:
    """The probability of each label (task, label) with one matrix per worker, by EM from the shares of the votes."""
    n_tasks, n_workers = int(task.max()) + 1, int(worker.max()) + 1
    votes = np.zeros((n_tasks, n_labels))
    np.add.at(votes, (task, label), 1)
    labels = votes / votes.sum(axis=1, keepdims=True)
    for _ in range(ROUNDS):
        counts = np.full((n_workers, n_labels, n_labels), PSEUDO)
        np.add.at(counts, (worker, slice(None), label), labels[task])
        matrix = np.log(counts / counts.sum(axis=2, keepdims=True))  # worker, true, answered
        scores = np.tile(np.log(np.maximum(labels.mean(axis=0), 1e-300)), (n_tasks, 1))
        np.add.at(scores, task, matrix[worker, :, label])
        before, labels = labels, np.exp(scores - scores.max(axis=1, keepdims=True))
        labels /= labels.sum(axis=1, keepdims=True)
        if np.abs(labels - before).max() < 1e-6:
            break
    return labels


def crowd_kit(python: str | None, folders: list[Path]) -> dict[str, dict[str, float]]:
    """Accuracy of crowd-kit's aggregators on each set, by an interpreter that has it; nothing where there is none."""
    if python is None and find_spec("crowdkit") is None:
        return {}
    command = [python or sys.executable, __file__, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _crowd_kit_accuracies(folder: Path) -> dict[str, float]:
    import pandas as pd
    from crowdkit.aggregation import DawidSkene, MajorityVote  # type: ignore[import-not-found]

    data, truth = (pd.read_csv(folder / name, dtype=str) for name in ("responses.csv", "truth.csv"))
    known = truth.set_index("task")["label"]
    known = known[known.index.isin(data["task"])]
    ways: dict[str, Any] = {"MajorityVote": MajorityVote(), "DawidSkene": DawidSkene(n_iter=ROUNDS)}
    return {name: float((way.fit_predict(data)[known.index] == known).mean()) for name, way in ways.items()}


if __name__ == "__main__":
    print(json.dumps({Path(name).name: _crowd_kit_accuracies(Path(name)) for name in sys.argv[1:]}))
