"""Everything that the report of a consensus shows, gathered once, as plain JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.report.content_shared import (
    how_to_repeat,
    least_certain,
    most_frequent,
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
        "answers": ["this label", "another one"] if solution.by_skill else list(map(isolated, solution.scale.labels)),
        "tasks": unsure,
        "vote": _beside_vote(solution),
        "accuracy": truth_by_label(solution, solution.need_tasks().labels) if solution.accuracy else None,
        "calibration": calibration(solution),
        "reproduce": how_to_repeat(solution, command, solution.fingerprint),
    }


def _answers_by_label(solution: ConsensusSolution) -> list[dict[str, Any]]:
    """The expected answers to the tasks of each label, as shares and as numbers, and how many tasks have the label.

    Of many labels the most frequent ones.
    """
    shares, counts = solution.answer_shares, solution.expected_answers
    return [
        {
            "label": isolated(label),
            "n_tasks": solution.label_tasks[at],
            "shares": plain_numbers(shares[at]),
            "counts": plain_numbers(counts[at]),
        }
        for at, label in most_frequent(solution.scale.labels, solution.label_tasks)
    ]


def _seconds(solution: ConsensusSolution, names: Sequence[str]) -> list[dict[str, Any]]:
    """The second label of some tasks, and its probability; none if there is but one label."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[dict[str, Any]] = [{"second": "", "p_second": None} for _ in names]
    if solution.scale.n_labels == 1:
        return found
    wanted, labels = pa.array(names, pa.string()), solution.scale.labels
    for tasks in solution.need_parts():
        at, seconds = pc.index_in(wanted, value_set=tasks.names).fill_null(-1).to_numpy(), tasks.seconds
        for place in np.flatnonzero(at >= 0):
            label, probability = (column[at[place]].item() for column in seconds)
            if label >= 0:
                found[place] = {"second": isolated(labels[label]), "p_second": probability}
    return found


def _beside_vote(solution: ConsensusSolution) -> dict[str, Any]:
    """On how many tasks another label has more responses, and which of the two is right where the truth is known.

    Labels that share the most responses are all labels of the vote: each is right for its part.
    """
    compared = solution.accuracy.compared if solution.accuracy else None
    facts: dict[str, Any] = {"n_tasks": 0, "n_different": 0, "n_tied": 0}
    if solution.accuracy and compared is not None:
        facts |= {"accuracy": solution.accuracy.vote, "n_truth": 0, "n_right": 0, "n_vote_right": 0.0}
    end = 0
    for tasks in solution.need_parts():
        labels = tasks.labels
        outvoted = tasks.free & (tasks.vote_shares_of(labels, np.arange(len(labels))) == 0)
        facts["n_tasks"] += int(tasks.free.sum())
        facts["n_different"] += int(outvoted.sum())
        facts["n_tied"] += int((tasks.free & tasks.vote_is_tied).sum())
        start, end = end, end + len(labels)
        if compared is not None:
            here = compared.of_rows(start, end)
            n = here.n * outvoted[here.row]
            facts["n_truth"] += int(n.sum())
            facts["n_right"] += int(n @ here.right(labels))
            facts["n_vote_right"] += float(n @ tasks.vote_shares_of(here.true, here.row))
    return facts


def calibration(solution: ConsensusSolution) -> list[dict[str, Any]] | None:
    """Labels by their confidence: how many should be right, and how many are; None if no truth was given."""
    if solution.accuracy is None or (compared := solution.accuracy.compared) is None:
        return None
    tasks = solution.need_tasks()
    confidence, known = tasks.labelled.confidence[compared.row], compared.n
    right = compared.n * compared.right(tasks.labels)
    place = np.searchsorted(CONFIDENCE_EDGES[1:-1], confidence, side="right")
    numbers = [np.bincount(place, weights, len(CONFIDENCE_EDGES) - 1) for weights in (known, known * confidence, right)]
    return [
        {"low": low, "high": high, "n_tasks": int(n), "expected": expected / n, "right": found / n}
        for low, high, n, expected, found in zip(CONFIDENCE_EDGES, CONFIDENCE_EDGES[1:], *numbers, strict=False)
        if n
    ]
