"""Everything that the report of a proof shows, gathered once, as plain JSON values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.errors import InputError
from crowdopt.model.certificate import Space
from crowdopt.model.claims import titles
from crowdopt.model.order import violation
from crowdopt.report.content_shared import (
    how_to_repeat,
    least_certain,
    plain_numbers,
    shared_content,
    truth_by_label,
)
from crowdopt.report.lattice import lattice_of
from crowdopt.report.safe_text import visible, with_safe_names

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.results.solution_proof import ProofSolution

MAX_ORDERED = 5_000
"""Buckets up to which it is looked whether other answers respect the order: all pairs are compared."""

COMPARED_SECONDS = 10.0
"""Seconds for each of them; they take hundredths."""


def gather(solution: ProofSolution, command: str = "") -> dict[str, Any]:
    """All facts of the report of a proof.

    Args:
        solution: The solution, with its tasks.
        command: The command that made it; empty if it was made in Python.
    """
    named, certificate = with_safe_names(solution), solution.certificate
    tasks = least_certain(solution, ("confidence", "margin", "n_responses", "status"))
    engine = {"engine, seed": f"{certificate.engine}, {solution.seed}"}
    return shared_content(solution) | {
        "matrices": _matrices(named),
        "lattice": lattice_of(named),
        "tasks": tasks | {"margin_kind": solution.margins.kind},
        "others": compare_engines(solution),
        "accuracy": truth_by_label(solution, solution.mapping),
        "reproduce": how_to_repeat(solution, command, certificate.fingerprint, **engine),
    }


def _matrices(solution: ProofSolution) -> list[dict[str, Any]]:
    """The response matrix of each class, with the responses behind it."""
    responses, tasks = solution.buckets.by_label(solution.mapping)
    offsets = solution.objective.offsets
    known = 0 if offsets is None else offsets.counts
    behind = np.asarray(responses + known)
    names = [(one.name, one.n_workers) for one in solution.classes] or [("", solution.totals.n_workers)]
    return [
        {
            "name": name,
            "n_workers": n_workers,
            "rows": [
                {
                    "label": label,
                    "n_tasks": int(tasks[j]),
                    "shares": plain_numbers(row),
                    "counts": plain_numbers(behind[j, k]),
                }
                for j, (label, row) in enumerate(zip(solution.scale.labels, solution.matrix[k], strict=True))
            ],
        }
        for k, (name, n_workers) in enumerate(names)
    ]


def compare_engines(solution: ProofSolution) -> list[dict[str, Any]]:
    """What the usual methods make of the same counts: how likely, how many tasks differ, how many of them are right."""
    from crowdopt.engines.base import Limits
    from crowdopt.engines.registry import run

    problem, optimum = solution.problem, solution.certificate.objective
    if solution.parameters is not None:  # methods that decide labels are compared by the likelihood of decided labels
        problem = replace(problem, space=Space.ALL)
        optimum = solution.objective.of_mapping(solution.buckets, solution.mapping)
    rows: list[dict[str, Any]] = []
    for engine, name in titles().items():
        row: dict[str, Any] = {"engine": engine, "name": name}
        try:
            solved = run(problem, Limits(COMPARED_SECONDS), labels=solution.scale.labels, engine=engine)
        except InputError as error:
            rows.append(row | {"error": visible(str(error))})
            continue
        value = solution.objective.of_mapping(solution.buckets, solved.mapping)
        rows.append(
            row
            | {
                "log_likelihood": value if np.isfinite(value) else None,
                "loss": optimum - value if np.isfinite(value) else None,
                "why": _why(solution, value - optimum, solved.mapping),
                "n_different": int(solution.buckets.weights[solved.mapping != solution.mapping].sum()),
                "accuracy": share_right(solution, solved.mapping),
            }
        )
    return rows


def _why(solution: ProofSolution, lead: float, mapping: Ints) -> str:
    """How another method can be more likely than what was found, by some lead; empty if it is not."""
    if lead <= solution.certificate.tolerance:
        return ""
    if solution.certificate.space is Space.DOMINANCE and solution.buckets.n_buckets <= MAX_ORDERED:
        broken = violation(solution.buckets.counts, mapping, ranked=solution.ranked)
        return "more likely, but it breaks the order of the scale" if broken else "more likely"
    return "more likely"


def share_right(solution: ProofSolution, mapping: Ints) -> float | None:
    """The share of right labels that another mapping of the same buckets has; None if no truth was given."""
    if solution.accuracy is None or (compared := solution.accuracy.compared) is None:
        return None
    return float(compared.n @ compared.right(mapping) / compared.n.sum())
