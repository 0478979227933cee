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

    from crowdopt.results.consensus_tasks import AnyTasks
    from crowdopt.results.solution_consensus import ConsensusSolution

CONFIDENCE_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Between these confidences it is counted how many labels are right."""


def gather_consensus(solution: ConsensusSolution, command: str = "") -> dict[str, Any]:
    """All facts of the report of a consensus.

    Args:
        solution: The solution, with its tasks.
        command: The command that made it; empty if it was made in Python.
    """
    tasks = solution.need_tasks()
    unsure = least_certain(solution, ("confidence", "n_responses", "status"))
    for row, second in zip(unsure["rows"], _seconds(tasks, unsure["names"]), strict=True):
        row.update(second)
    return shared_content(solution) | {
        "mean_confidence": solution.mean_confidence,
        "matrix": _answers_by_label(solution),
        "answers": ["this label", "another one"] if solution.by_skill else list(map(isolated, solution.scale.labels)),
        "tasks": unsure,
        "vote": _beside_vote(solution, tasks),
        "accuracy": truth_by_label(solution, tasks.labels),
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


def _seconds(tasks: AnyTasks, names: Sequence[str]) -> list[dict[str, Any]]:
    """The second label of some tasks, and its probability; none if there is but one label."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if tasks.scale.n_labels == 1:
        return [{"second": "", "p_second": None}] * len(names)
    at = pc.index_in(pa.array(names, tasks.names.type), value_set=tasks.names).to_numpy()
    labels, none = tasks.scale.labels, {"second": "", "p_second": None}
    seconds = zip(*(column[at].tolist() for column in tasks.seconds), strict=True)
    return [{"second": isolated(labels[j]), "p_second": p} if j >= 0 else none for j, p in seconds]


def _beside_vote(solution: ConsensusSolution, tasks: AnyTasks) -> dict[str, Any]:
    """On how many tasks another label has more responses, and which of the two is right where the truth is known.

    Labels that share the most responses are all labels of the vote: each is right for its part.
    """
    labels = tasks.labels
    outvoted = tasks.free & (tasks.vote_shares_of(labels, np.arange(len(labels))) == 0)
    facts: dict[str, Any] = {
        "n_tasks": int(tasks.free.sum()),
        "n_different": int(outvoted.sum()),
        "n_tied": int((tasks.free & tasks.vote_is_tied).sum()),
    }
    if solution.accuracy is None or (compared := solution.accuracy.compared) is None:
        return facts
    n = compared.n * outvoted[compared.row]
    return facts | {
        "accuracy": solution.accuracy.vote,
        "n_truth": int(n.sum()),
        "n_right": int(n @ compared.right(labels)),
        "n_vote_right": float(n @ tasks.vote_shares_of(compared.true, compared.row)),
    }


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
