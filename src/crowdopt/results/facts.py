"""The main facts of a solution as plain JSON values: what ``crowdopt prove --json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Floats
    from crowdopt.results.solution import Solution


def facts_of(solution: Solution) -> dict[str, Any]:
    """The facts by name."""
    certificate, totals, accuracy = solution.certificate, solution.totals, solution.accuracy
    facts: dict[str, Any] = {
        "proof": certificate.proof.value,
        "stop": certificate.stop.value,
        "space": certificate.space.value,
        "engine": certificate.engine,
        "log_likelihood": certificate.objective,
        "bound": certificate.bound,
        "gap": certificate.gap,
        "tolerance": certificate.tolerance,
        "work": certificate.work,
        "seconds": certificate.seconds,
        "n_tasks": totals.n_tasks,
        "n_gold": totals.n_gold,
        "n_no_response": totals.n_no_response,
        "n_workers": totals.n_workers,
        "n_responses": totals.n_responses,
        "n_dropped": totals.n_dropped,
        "n_buckets": solution.buckets.n_buckets,
        "tool": solution.reading.tool or None,
        "labels": list(solution.scale.labels),
        "scale": solution.scale.kind,
        "scale_inferred": solution.scale.inferred,
        "classes": [dict(vars(one)) for one in solution.classes],
        "classes_found": solution.classes_found,
        "ranked": solution.ranked,
        "matrix": nested(solution.matrix),
        "selectivity": {"kind": solution.objective.kind, "shares": _reported_shares(solution)},
        "label_shares": solution.shares.tolist(),
        "agreement": solution.agreement.to_dict(),
        "given": list(certificate.given),
        "next_best": next_best(solution),
        "fingerprint": certificate.fingerprint,
        "advice": list(solution.advice),
    }
    if accuracy is not None:
        facts |= {"accuracy": accuracy.value, "n_truth": accuracy.n_tasks, "n_truth_unknown": accuracy.n_unknown}
    return facts


def next_best(solution: Solution) -> dict[str, Any] | None:
    """By how much the likeliest of all other labels are less likely, and how many tasks they label otherwise."""
    if solution.runner_up is None:
        return None
    loss = solution.certificate.objective - solution.objective.of_mapping(solution.buckets, solution.runner_up)
    n_tasks = solution.buckets.weights[solution.runner_up != solution.mapping].sum()
    return {"loss": max(loss, 0.0), "n_tasks": int(n_tasks)}


def _reported_shares(solution: Solution) -> list[float] | None:
    """How frequent the labels are taken to be, where the objective says something of it."""
    objective = solution.objective
    if objective.kind == "none":
        return None
    if objective.shares:
        return list(objective.shares)
    _, tasks = solution.buckets.by_label(solution.mapping)
    tasks = tasks + (objective.offsets.gold_tasks if objective.offsets else 0)
    return [float(share) for share in tasks / tasks.sum()]


def nested(matrix: Floats) -> list[Any]:
    """Nested lists with None for undefined entries."""
    return [[[None if np.isnan(p) else float(p) for p in row] for row in rows] for rows in matrix]
