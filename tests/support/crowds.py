"""Crowds for the tests of the consensus: drawn, renamed, thinned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdopt.consensus.rows import Rows
from crowdopt.data.coded import Coded


def drawn_rows(seed: int, n_tasks: int = 60, n_workers: int = 12, n_labels: int = 3, per_task: int = 5) -> Rows:
    """Workers of any skill, tasks that mislead, some answered twice by the same worker."""
    rng = np.random.default_rng(seed)
    truth, decoy = rng.integers(n_labels, size=(2, n_tasks))
    skill, misleading = rng.uniform(0.3, 1.0, n_workers), rng.random(n_tasks) < 0.2
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([np.arange(n_workers), rng.integers(n_workers, size=len(task) - n_workers)])
    answer = np.where(rng.random(len(task)) < skill[worker], truth[task], rng.integers(n_labels, size=len(task)))
    answer = np.where(misleading[task] & (rng.random(len(task)) < 0.5), decoy[task], answer)
    return Rows.of(Coded.of(task, worker, answer, n_labels))


def rows_of(responses: list[tuple[int, int, int]], n_labels: int, **others) -> Rows:
    """Rows of (task, worker, answer)."""
    task, worker, answer = (np.array(column) for column in zip(*responses, strict=True))
    return Rows.of(Coded.of(task, worker, answer, n_labels), **others)


def renamed(rows: Rows, seed: int) -> tuple[Rows, np.ndarray, np.ndarray]:
    """The same responses with tasks and workers in another order, and the new index of each task and worker."""
    rng = np.random.default_rng(seed)
    task, worker = rng.permutation(rows.n_tasks), rng.permutation(rows.n_workers)
    mixed = rng.permutation(len(rows.worker))
    new = Coded.of(task[rows.task][mixed], worker[rows.worker][mixed], rows.answer[mixed], rows.n_labels)
    known = np.empty_like(rows.known)
    known[task] = rows.known
    return Rows.of(new, known), task, worker


def without_responses(rows: Rows, gone: np.ndarray) -> Rows:
    """The rows but for some; tasks and workers stay."""
    start = np.searchsorted(rows.task[~gone], np.arange(rows.n_tasks + 1))
    return replace(rows, start=start, worker=rows.worker[~gone], answer=rows.answer[~gone])
