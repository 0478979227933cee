"""Dawid and Skene's model in a few lines, to compare with where crowd-kit is not installed."""

from __future__ import annotations

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
