"""Scores of probabilities against the truth, and differences of scores with their standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BINS = 10
"""Parts of equal size into which tasks are put by confidence, to see whether so many of them are right."""

SURE = 1e-4
"""Confidences are kept this far from 0 and 1: one wrong task must not decide a log-loss."""

TIED = 1e-9


@dataclass(frozen=True)
class Scores:
    """Scores on the tasks whose truth is known.

    Attributes:
        accuracy: Share of right labels; a tie counts for the share of the tied labels that are right.
        log_loss: Mean of −ln of the confidence that the chosen label is right, or of one minus it where it is wrong.
        calibration: Mean difference between the confidence and the share of right labels, in BINS parts.
    """

    accuracy: float
    log_loss: float
    calibration: float


def scores_of(probabilities: np.ndarray, truth: np.ndarray) -> Scores:
    """The scores of probabilities (task, label); the truth is an index, -1 if unknown, -2 for a label nobody gave."""
    known = truth != -1
    true, p = truth[known], probabilities[known]
    p = p / p.sum(axis=1, keepdims=True)
    top = p >= p.max(axis=1, keepdims=True) - TIED
    hit = np.where(true >= 0, top[np.arange(len(true)), np.maximum(true, 0)] / top.sum(axis=1), 0.0)
    confidence = np.clip(p.max(axis=1), SURE, 1 - SURE)
    right = p.argmax(axis=1) == true
    loss = -np.where(right, np.log(confidence), np.log(1 - confidence)).mean()
    parts = [part for part in np.array_split(np.argsort(confidence, kind="stable"), BINS) if len(part)]
    off = sum(len(part) * abs(confidence[part].mean() - right[part].mean()) for part in parts) / len(right)
    return Scores(float(hit.mean()), float(loss), float(off))


def difference(ours: np.ndarray, theirs: np.ndarray, base: np.ndarray | None = None) -> tuple[float, float]:
    """The mean of paired differences and its standard error, over the means of what has one base in common."""
    gaps = np.asarray(ours, float) - np.asarray(theirs, float)
    if base is not None:
        gaps = np.array([gaps[base == one].mean() for one in np.unique(base)])
    error = gaps.std(ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
    return float(gaps.mean()), float(error)


def vote_shares(task: np.ndarray, label: np.ndarray, n_tasks: int, n_labels: int) -> np.ndarray:
    """The shares of the votes: whose ties a score shares."""
    votes = np.bincount(task * n_labels + label, minlength=n_tasks * n_labels).reshape(n_tasks, n_labels)
    return votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
