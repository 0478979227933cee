"""Three questions to one crowd."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdopt import Solution, Solutions, prove
from support.ways import plain

SCALES = {"colour": ["blue", "green", "red"], "is it?": ["no", "yes"], "how much": ["1", "2", "3"]}


NAMES = ("task", "label", "confidence", "margin", "n_responses", "status")


def crowd(seed: int = 0, n_tasks: int = 12) -> pd.DataFrame:
    """Three questions about the same tasks, with labels of their own."""
    rng = np.random.default_rng(seed)
    rows = []
    for question, labels in SCALES.items():
        for task in range(n_tasks):
            truth = rng.integers(len(labels))
            for worker in rng.permutation(6)[: rng.integers(2, 5)]:
                answer = truth if rng.random() < 0.8 else rng.integers(len(labels))
                rows.append((question, task, f"w{worker}", labels[answer], "expert" if worker < 2 else "regular"))
    return pd.DataFrame(rows, columns=["question", "task", "worker", "label", "class"])


def by_group(solutions: Solutions) -> dict[str, list[tuple]]:
    columns = plain(solutions.answers)
    rows: dict[str, list[tuple]] = {}
    for group, *row in zip(columns["question"], *(columns[name] for name in NAMES), strict=True):
        rows.setdefault(str(group), []).append((str(row[0]), *row[1:]))
    return {group: sorted(found) for group, found in rows.items()}


def alone(data: pd.DataFrame, group, **options) -> Solution:
    return prove(data[data["question"] == group].reset_index(drop=True), **options)


# 3. Groups that cannot be answered.


def broken(data: pd.DataFrame, how: str) -> pd.DataFrame:
    first = data[data["question"] == "colour"]
    if how == "duplicates":
        return pd.concat([data, first.iloc[:2]])
    if how == "conflicts":
        return pd.concat([data, first.iloc[:1].assign(label="a fourth")])
    if how == "missing":
        return pd.concat([data, first.iloc[:1].assign(label=None, task=99)])
    if how == "empty":
        return data.assign(label=data["label"].where(data["question"] != "colour"))
    if how == "labels":
        return pd.concat([data, first.iloc[[0] * 70].assign(label=[f"l{i}" for i in range(70)], task=range(100, 170))])
    if how == "classes":
        return pd.concat([data, first.iloc[:1].assign(task=99, worker="w0", **{"class": "regular"})])
    return data
