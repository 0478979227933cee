"""Everything that the report of a consensus shows, gathered once, as plain JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.report.content_shared import (
    how_to_repeat,
    least_certain,
    plain_numbers,
    shared_content,
    truth_by_label,
)
from crowdopt.report.safe_text import isolated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.results.solution_consensus import ConsensusSolution

CONFIDENCE_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Between these confidences it is counted how many labels are right."""


def gather_consensus(solution: ConsensusSolution, command: str = "") -> dict[str, Any]:
    """All facts of the report of a consensus.

    Args:
        solution: The solution, with its tasks.
        command: The command that made it; empty if it was made in Python.
    """
    unsure = least_certain(solution, ("confidence", "n_responses", "status"))
    for row, second in zip(unsure["rows"], _seconds(solution, unsure["names"]), strict=True):
        row.update(second)
    return shared_content(solution) | {
        "mean_confidence": solution.mean_confidence,
        "matrix": _answers_by_label(solution),
        "tasks": unsure,
        "vote": _beside_vote(solution),
        "accuracy": truth_by_label(solution, solution.need_tasks().labels) if solution.accuracy else None,
        "calibration": calibration(solution),
        "reproduce": how_to_repeat(solution, command, solution.fingerprint),
    }


def _answers_by_label(solution: ConsensusSolution) -> list[dict[str, Any]]:
    """The expected answers to the tasks of each label, as shares and as numbers, and how many tasks have the label."""
    shares, counts = solution.answer_shares, solution.expected_answers
    return [
        {
            "label": isolated(label),
            "n_tasks": solution.label_tasks[at],
            "shares": plain_numbers(shares[at]),
            "counts": plain_numbers(counts[at]),
        }
        for at, label in enumerate(solution.scale.labels)
    ]


def _seconds(solution: ConsensusSolution, names: Sequence[str]) -> list[dict[str, Any]]:
    """The second label of some tasks, and its probability; none if there is but one label."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[dict[str, Any]] = [{"second": "", "p_second": None} for _ in names]
    if solution.scale.n_labels == 1:
        return found
    wanted, labels = pa.array(names, pa.string()), [isolated(label) for label in solution.scale.labels]
    for tasks in solution.need_parts():
        at = pc.index_in(wanted, value_set=tasks.names).fill_null(-1).to_numpy()
        for place in np.flatnonzero(at >= 0):
            others = tasks.probabilities[at[place]].copy()
            others[tasks.labels[at[place]]] = -1.0
            found[place] = {"second": labels[others.argmax()], "p_second": float(others.max())}
    return found


def _beside_vote(solution: ConsensusSolution) -> dict[str, Any]:
    """On how many tasks another label has more responses, and which of the two is right where the truth is known.

    Labels that share the most responses are all labels of the vote: each is right for its part.
    """
    by_row = solution.accuracy.by_row if solution.accuracy else None
    facts: dict[str, Any] = {"n_tasks": 0, "n_different": 0, "n_tied": 0}
    if solution.accuracy and by_row is not None:
        facts |= {"accuracy": solution.accuracy.vote, "n_truth": 0, "n_right": 0, "n_vote_right": 0.0}
    end = 0
    for tasks in solution.need_parts():
        labels, rows = tasks.labels, np.arange(len(tasks.labels))
        top = tasks.votes == tasks.votes.max(axis=1, keepdims=True)
        outvoted = tasks.free & ~top[rows, labels]
        facts["n_tasks"] += int(tasks.free.sum())
        facts["n_different"] += int(outvoted.sum())
        facts["n_tied"] += int((tasks.free & (top.sum(axis=1) > 1)).sum())
        start, end = end, end + len(rows)
        if by_row is not None:
            true, top = by_row[:, start:end][:, outvoted], top[outvoted]
            facts["n_truth"] += int(true.sum())
            facts["n_right"] += int(true[labels[outvoted], np.arange(len(top))].sum())
            facts["n_vote_right"] += float((true[:-1].T * top / top.sum(axis=1, keepdims=True)).sum())
    return facts


def calibration(solution: ConsensusSolution) -> list[dict[str, Any]] | None:
    """Labels by their confidence: how many should be right, and how many are; None if no truth was given."""
    if solution.accuracy is None or solution.accuracy.by_row is None:
        return None
    tasks, true = solution.need_tasks(), solution.accuracy.by_row
    confidence, known = tasks.labelled.confidence, true.sum(axis=0)
    right = true[tasks.labels, np.arange(len(tasks.labels))]
    place = np.searchsorted(CONFIDENCE_EDGES[1:-1], confidence, side="right")
    numbers = [np.bincount(place, weights, len(CONFIDENCE_EDGES) - 1) for weights in (known, known * confidence, right)]
    return [
        {"low": low, "high": high, "n_tasks": int(n), "expected": expected / n, "right": found / n}
        for low, high, n, expected, found in zip(CONFIDENCE_EDGES, CONFIDENCE_EDGES[1:], *numbers, strict=False)
        if n
    ]
