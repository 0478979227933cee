"""Crowds whose workers are of classes that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd


def symmetric(n_labels: int, right: float) -> np.ndarray:
    """The matrix of workers who are right so often, and err evenly."""
    return np.where(np.eye(n_labels, dtype=bool), right, (1 - right) / (n_labels - 1))


SHARP, BLUNT = symmetric(3, 0.9), symmetric(3, 0.45)
YES_SAYER = np.array([[0.3, 0.7], [0.05, 0.95]])


def drawn(seed: int, matrices, *, n_tasks: int = 300, workers: int = 15, per_task: int = 8):
    """Responses of ``workers`` workers of each class; with the labels and the classes that they were drawn from."""
    rng = np.random.default_rng(seed)
    matrices = np.asarray(matrices)
    n_classes, n_labels = matrices.shape[:2]
    truth = rng.integers(n_labels, size=n_tasks)
    classes = np.repeat(np.arange(n_classes), workers)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.permutation(len(classes))[:per_task] for _ in range(n_tasks)])
    edges = matrices[classes[worker], truth[task]].cumsum(axis=1)[:, :-1]
    return task, worker, (rng.random(len(task))[:, None] > edges).sum(axis=1), truth, classes


def classed_frame(seed: int = 0, matrices=(SHARP, BLUNT), **sizes) -> pd.DataFrame:
    """The responses of such a crowd as a table."""
    task, worker, label, _, _ = drawn(seed, matrices, **sizes)
    names = np.array(["low", "mid", "top"] if len(matrices[0]) == 3 else ["no", "yes"])
    texts = {"task": [f"t{t:03d}" for t in task], "worker": [f"w{w:02d}" for w in worker], "label": names[label]}
    return pd.DataFrame(texts)


def jury(seed: int, n_judges: int, n_labels: int, n_items: int = 500) -> pd.DataFrame:
    """Judges of any skill, each of whom judges every item; labels are names."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n_items)
    names = np.array([f"label {j}" for j in range(n_labels)])
    parts = []
    for judge in range(n_judges):
        right = rng.uniform(0.6, 0.95, n_labels)[truth]
        other = (truth + rng.integers(1, n_labels, size=n_items)) % n_labels
        label = np.where(rng.random(n_items) < right, truth, other)
        parts.append(pd.DataFrame({"task": range(n_items), "worker": f"judge {judge}", "label": names[label]}))
    return pd.concat(parts, ignore_index=True)
