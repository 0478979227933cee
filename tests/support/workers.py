"""The numbers of workers from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from support.ways import NAMES

Z = 1.959963984540054


def share_interval(k: float, n: float) -> tuple[float, float]:
    """The shares p whose distance from k / n is at most z standard errors, by solving that for p."""
    if n == 0:
        return 0.0, 1.0
    a, b, c = 1 + Z**2 / n, -(2 * k / n + Z**2 / n), (k / n) ** 2
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return max((-b - root) / (2 * a), 0.0), min((-b + root) / (2 * a), 1.0)


def own_accuracies(seed, n_workers=120, n_tasks=400, per_task=20, low=0.55, high=0.95):
    """A crowd whose workers each have an accuracy of their own; enough responses per task for right labels."""
    rng = np.random.default_rng(seed)
    accuracy, truth = rng.uniform(low, high, n_workers), rng.integers(0, 2, n_tasks)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.choice(n_workers, per_task, replace=False) for _ in range(n_tasks)])
    right = rng.random(len(task)) < accuracy[worker]
    label = np.where(right, truth[task], 1 - truth[task])
    return pd.DataFrame({"task": task, "worker": worker, "label": label}), accuracy


def with_odd_ones(seed, n=150):
    """A good crowd, and with it who always says yes, who guesses, who says the opposite, and a newcomer."""
    rng = np.random.default_rng(seed)
    data, _ = own_accuracies(seed, n_workers=40, n_tasks=300, per_task=9, low=0.75, high=0.95)
    truth = data.groupby("task")["label"].mean().round().astype(int)
    tasks = rng.choice(300, (4, n))
    odd = [
        *((task, 1000, 1) for task in np.unique(tasks[0])),
        *((task, 1001, int(rng.integers(2))) for task in np.unique(tasks[1])),
        *((task, 1002, 1 - truth[task]) for task in np.unique(tasks[2])),
        *((task, 1003, truth[task]) for task in np.unique(tasks[3])[:2]),
    ]
    return pd.concat([data, pd.DataFrame(odd, columns=NAMES)])
