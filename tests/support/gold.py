"""Gold for the rows that go in every way, and what is counted by hand."""

from __future__ import annotations

import csv

import numpy as np

from support.ways import plain

GOLD = {0: "no", 7: "yes", 14: "yes", 21: "no", 28: "no"}
"""Five of the tasks of ROWS."""


def counts_of(rows, labels) -> dict:
    """By hand: answers by label of every task."""
    counts: dict = {}
    for task, _, label in rows:
        counts.setdefault(task, np.zeros(len(labels), int))[labels.index(label)] += 1
    return counts


def by_label(counts, given, n_labels) -> tuple[np.ndarray, np.ndarray]:
    """By hand: answers (label, answer) and number of the tasks whose label is given."""
    answers, tasks = np.zeros((n_labels, n_labels)), np.zeros(n_labels, int)
    for task, label in given.items():
        answers[label] += counts[task]
        tasks[label] += 1
    return answers, tasks


def answers_by_task(solution) -> dict:
    answers = plain(solution.answers_frame(probabilities=True))
    rows = zip(*answers.values(), strict=True)
    return {row[0]: dict(zip(answers, row, strict=True)) for row in rows}


# The same from everywhere


def as_rows(gold):
    """Gold as rows of the usual three columns, of which the worker is not needed."""
    return [(task, "-", label) for task, label in gold.items()]


BASIC = np.array([[3.0, 1.5], [0.25, 4.0]])


def counts_behind(solution, rows, labels) -> np.ndarray:
    """By hand: what the workers of a solution answered to tasks of each label, in the order of ``labels``."""
    counts = counts_of(rows, labels)
    given = {row["task"]: labels.index(row["label"]) for row in answers_by_task(solution).values()}
    return by_label(counts, given, len(labels))[0]


def write_matrix(path, matrix, labels, delimiter=","):
    with path.open("w", newline="") as file:
        rows = [["true", *labels], *([label, *row] for label, row in zip(labels, matrix, strict=True))]
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path
