"""The main facts of a solution as plain JSON values: what the option ``--json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Floats
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_consensus import ConsensusSolution
    from crowdopt.results.solution_proof import ProofSolution


def facts_of(solution: ProofSolution) -> dict[str, Any]:
    """The facts of a proof by name."""
    certificate = solution.certificate
    return common_facts(solution) | {
        "likelihood": certificate.likelihood,
        "proof": certificate.proof.value,
        "stop": certificate.stop.value,
        "space": certificate.space.value,
        "engine": certificate.engine,
        "log_likelihood": certificate.objective,
        "bound": certificate.bound,
        "gap": certificate.gap,
        "gap_per_task": solution.gap_per_task,
        "likelier": solution.likelier,
        "tolerance": certificate.tolerance,
        "work": certificate.work,
        "seconds": certificate.seconds,
        "n_buckets": solution.buckets.n_buckets,
        "classes": [dict(vars(one)) for one in solution.classes],
        "classes_found": solution.classes_found,
        "ranked": solution.ranked,
        "matrix": nested(solution.matrix),
        "selectivity": {"kind": solution.objective.kind, "shares": _reported_shares(solution)},
        "label_shares": solution.shares.tolist(),
        "given": list(certificate.given),
        "next_best": next_best(solution),
        "fingerprint": certificate.fingerprint,
    }


def consensus_facts(solution: ConsensusSolution) -> dict[str, Any]:
    """The facts of a consensus by name."""
    tasks = sum(solution.label_tasks)
    accuracy = solution.accuracy
    scores = {} if accuracy is None else {"log_loss": accuracy.log_loss, "vote_accuracy": accuracy.vote}
    return (
        common_facts(solution)
        | scores
        | {
            "mean_confidence": solution.mean_confidence,
            "n_uncertain": solution.n_uncertain,
            "n_tied": solution.n_tied,
            "label_shares": [n / max(tasks, 1) for n in solution.label_tasks],
            "given_shares": list(solution.given_shares) or None,
            "fingerprint": solution.fingerprint,
        }
    )


def common_facts(solution: Solution) -> dict[str, Any]:
    """What there is to say of every solution."""
    totals, accuracy = solution.totals, solution.accuracy
    facts: dict[str, Any] = {
        "kind": solution.kind,
        "check": list(solution.doubts),
        "notes": list(solution.notes),
        "advice": list(solution.advice),
        **vars(totals),
        "tool": solution.reading.tool or None,
        "labels": list(solution.scale.labels),
        "scale": solution.scale.kind,
        "scale_inferred": solution.scale.inferred,
        "agreement": solution.agreement.to_dict(),
    }
    if accuracy is not None:
        facts |= {"accuracy": accuracy.value, "n_truth": accuracy.n_tasks, "n_truth_unknown": accuracy.n_unknown}
        facts["n_truth_off_scale"] = accuracy.off_scale.n_tasks
    return facts | export_facts(solution.export_accuracy)


def export_facts(accuracy: Accuracy | None) -> dict[str, Any]:
    """The accuracy on the known labels of an export, and how many tasks have one; nothing if there is none."""
    return {} if accuracy is None else {"export_accuracy": accuracy.value, "n_export_known": accuracy.n_tasks}


def next_best(solution: ProofSolution) -> dict[str, Any] | None:
    """By how much the likeliest of all other labels are less likely, and how many tasks they label otherwise."""
    if solution.runner_up is None:
        return None
    loss = solution.certificate.objective - solution.objective.of_mapping(solution.buckets, solution.runner_up)
    n_tasks = solution.buckets.weights[solution.runner_up != solution.mapping].sum()
    return {"loss": max(loss, 0.0), "n_tasks": int(n_tasks)}


def _reported_shares(solution: ProofSolution) -> list[float] | None:
    """How frequent the labels are taken to be, where the objective says something of it."""
    objective = solution.objective
    if objective.kind == "none":
        return None
    if solution.parameters is not None:
        return [float(share) for share in solution.parameters.shares]
    if objective.shares:
        return list(objective.shares)
    _, tasks = solution.buckets.by_label(solution.mapping)
    tasks = tasks + (objective.offsets.gold_tasks if objective.offsets else 0)
    return [float(share) for share in tasks / tasks.sum()]


def nested(matrix: Floats) -> list[Any]:
    """Nested lists with None for undefined entries."""
    return [[[None if np.isnan(p) else float(p) for p in row] for row in rows] for rows in matrix]
