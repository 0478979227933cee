"""Lies that are told of more labels, engines and kinds of knowledge. The liar makes all the rest fit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from campaigns.lies import claim_all_mappings, flip_a_label, pick
from campaigns.truth import beaten, digest_of, margins_of, offsets_of, optimum, problem_of, refit, retell, still_fit
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space
from crowdopt.verify.alternatives import agreement_of_best_names
from crowdopt.verify.optimum import always_above, log_likelihood
from support import oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.model.offsets import Offsets


RATING_LIES: list[Callable[..., str | None]] = []
"""About solutions of more than two labels, and of all engines but the scan."""


def a_rating_lie(function):
    RATING_LIES.append(function)
    return function


@a_rating_lie
def flip_a_label_and_make_everything_fit(data, solution, rng):
    """Labels that are less likely, or break the order, with their own margins; and said to be proved."""
    if data["certificate"]["bound"] is None and data["certificate"]["engine"] != "vote":
        return None  # of other engines this is true: likelihood and margins are those of the labels
    flip_a_label(data, solution, rng)
    mapping = np.array(data["buckets"]["label"])
    value = solution.objective.of_mapping(solution.buckets, mapping)
    if not math.isfinite(value) or value >= solution.certificate.objective - 4 * solution.certificate.tolerance:
        return None
    if data["certificate"]["bound"] is not None:
        data["certificate"]["bound"] = value
    retell(data, solution, mapping)
    return "all refit"


@a_rating_lie
def flip_a_label_and_be_modest(data, solution, rng):
    """The same with a bound that holds: no lie unless the engine, having looked at all mappings, had to see better."""
    certificate = data["certificate"]
    if certificate["engine"] not in {"chain", "enumerate"} or certificate["stop"] != "FINISHED":
        return None
    if flip_a_label_and_make_everything_fit(data, solution, rng) is None:
        return None
    bound = always_above(problem_of(solution))
    certificate |= {"bound": bound, "gap": bound - certificate["objective"], "proof": "BOUNDED"}
    return "modest"


@a_rating_lie
def rename_the_labels(data, solution, rng):
    """The same clusters by other names: as likely where nothing tells labels apart, but not as agreeable."""
    names = rng.permutation(solution.buckets.n_labels)
    mapping = names[solution.mapping]
    if not math.isfinite(solution.objective.of_mapping(solution.buckets, mapping)):
        return None
    engine, problem = data["certificate"]["engine"], problem_of(solution)
    worse = solution.buckets.agreement(mapping) < solution.buckets.agreement(solution.mapping)
    breaks = problem.space is Space.DOMINANCE and not oracle.respects_order(
        solution.buckets.counts, mapping.tolist(), ranked=solution.ranked
    )
    finished = engine in {"chain", "enumerate"} and data["certificate"]["stop"] == "FINISHED"
    if engine == "vote":
        wrong = (mapping != solution.mapping).any()
    elif data["certificate"]["bound"] is None:
        wrong = False
    elif solution.objective.interchangeable:
        best = agreement_of_best_names(problem, mapping)
        named_better = engine == "search" and best > solution.buckets.agreement(mapping)
        wrong = breaks or (finished and worse) or named_better
    else:
        value = log_likelihood(problem, mapping)
        wrong = breaks or (solution.certificate.proof is Proof.PROVED and beaten(solution, value, problem.space))
    if not wrong:
        return None
    retell(data, solution, mapping)
    return f"names {names.tolist()}"


@a_rating_lie
def rename_the_labels_and_hide_it(data, solution, rng):
    """The same, with margins that an engine also leaves, so that nothing is compared with all mappings."""
    if data["certificate"]["engine"] != "chain" or solution.margins.kind != "exact":
        return None
    data["buckets"]["margin_kind"] = "upper"
    return rename_the_labels(data, solution, rng)


@a_rating_lie
def claim_a_proof(data, solution, rng):
    """What was only bounded is said to be proved."""
    certificate = data["certificate"]
    if certificate["proof"] != "BOUNDED" or not beaten(solution, certificate["objective"], solution.certificate.space):
        return None
    certificate |= {"proof": "PROVED", "bound": certificate["objective"], "gap": 0.0}
    return "proof"


@a_rating_lie
def claim_a_proof_of_a_heuristic(data, solution, rng):
    """The labels of an engine that proves nothing, by an engine that does."""
    certificate = data["certificate"]
    if certificate["proof"] != "NONE" or not beaten(solution, certificate["objective"], solution.certificate.space):
        return None
    engine = "search" if solution.certificate.space is Space.ALL else str(rng.choice(["search", "chain", "enumerate"]))
    certificate |= {"proof": "PROVED", "bound": certificate["objective"], "gap": 0.0, "engine": engine}
    data["buckets"]["margin_kind"] = "upper" if engine == "search" else "exact"
    retell(data, solution, solution.mapping)
    return "proof"


@a_rating_lie
def lower_the_bound_below_the_optimum(data, solution, rng):
    """A gap that is too small, though not none."""
    certificate = data["certificate"]
    if certificate["proof"] != "BOUNDED" or not beaten(solution, certificate["objective"], solution.certificate.space):
        return None
    best = optimum(solution, solution.certificate.space)
    bound = best - (best - certificate["objective"]) * float(rng.choice([0.1, 0.5]))
    certificate |= {"bound": bound, "gap": bound - certificate["objective"]}
    return "low bound"


a_rating_lie(claim_all_mappings)


@a_rating_lie
def claim_an_order(data, solution, rng):
    """Labels without an order, and yet a bound among mappings that respect it."""
    if solution.scale.kind != "nominal":
        return None
    data["certificate"]["space"] = "dominance"
    retell(data, solution, solution.mapping)
    return "order"


def _with_other_counts(data, solution, counts, weights):
    """Other counts with a fingerprint of their own, and all that follows from them."""
    buckets, index = Buckets.from_arrays(counts, weights)
    if buckets.n_buckets != len(counts):
        return None
    mapping = np.empty_like(solution.mapping)
    mapping[index] = solution.mapping
    data["buckets"] |= {"counts": buckets.counts.tolist(), "weights": buckets.weights.tolist()}
    data["certificate"]["fingerprint"] = buckets.fingerprint(
        solution.scale.labels, [one.name for one in solution.classes], digest_of(solution)
    )
    retell(data, solution, mapping, buckets=buckets)
    data["agreement"] = replace(solution, buckets=buckets).agreement.to_dict()
    return "signed"


@a_rating_lie
def change_a_count_and_sign_it(data, solution, rng):
    counts = solution.buckets.counts.copy()
    at, (high, low) = int(rng.integers(len(counts))), rng.permutation(solution.buckets.n_labels)[:2]
    if not counts[at, 0, low]:
        return None
    counts[at, 0, high] += 1
    counts[at, 0, low] -= 1
    return _with_other_counts(data, solution, counts, solution.buckets.weights)


@a_rating_lie
def change_a_weight_and_sign_it(data, solution, rng):
    weights = solution.buckets.weights.copy()
    at = int(rng.integers(len(weights)))
    weights[at] += 1
    data["totals"]["n_tasks"] += 1
    data["totals"]["n_responses"] += int(solution.buckets.sizes[at])
    return _with_other_counts(data, solution, solution.buckets.counts, weights)


@a_rating_lie
def call_exact_margins_upper(data, solution, rng):
    """Exact margins are never larger than upper ones: a lie only where they are smaller."""
    if solution.margins.kind != "exact":
        return None
    value = solution.certificate.objective
    if still_fit(data, margins_of(problem_of(solution), solution.mapping, value, "chain", "upper")):
        return None
    data["buckets"]["margin_kind"] = "upper"
    return "upper"


@a_rating_lie
def deny_all_margins(data, solution, rng):
    """Nothing is certain: all margins nought, all tied."""
    table = data["buckets"]
    if all(table["tied"]) and not any(table["margin"]):
        return None
    table |= {"margin": [0.0] * len(table["margin"]), "tied": [True] * len(table["tied"])}
    return "no margins"


@a_rating_lie
def turn_all_ties(data, solution, rng):
    data["buckets"]["tied"] = [not tied for tied in data["buckets"]["tied"]]
    return "all ties"


@a_rating_lie
def name_an_engine_that_cannot(data, solution, rng):
    """Engines of other numbers of labels, of other spaces, and with other promises."""
    proving = {"scan", "trivial"} if solution.buckets.n_labels > 2 else {"trivial"}
    if solution.certificate.space is Space.ALL:
        proving |= {"chain", "enumerate"}
    heuristics = {"em", "em1", "em2", "em3", "soft-em", "vote"}
    unfit = heuristics | proving if data["certificate"]["bound"] is not None else proving | {"search"}
    data["certificate"]["engine"] = pick(sorted(unfit), rng)
    return data["certificate"]["engine"]


@a_rating_lie
def contradict_the_proof(data, solution, rng):
    """A proof without a bound, a bound without a proof, a proof with a gap."""
    certificate = data["certificate"]
    value = certificate["objective"]
    wrong = [
        {"proof": "PROVED", "bound": value + 1, "gap": 1.0},
        {"proof": "PROVED", "bound": None, "gap": None},
        {"proof": "BOUNDED", "bound": None, "gap": None},
        {"proof": "NONE", "bound": value + 1, "gap": 1.0},
        {"proof": "CERTAIN"},
    ]
    certificate |= pick(wrong, rng)
    return "contradiction"


@a_rating_lie
def contradict_the_stop(data, solution, rng):
    """An engine that was stopped does not know exact margins; and there are only so many reasons to stop."""
    if solution.margins.kind == "exact":
        data["certificate"]["stop"] = str(rng.choice(["TIME", "MEMORY", "INTERRUPT", "BORED"]))
    else:
        data["certificate"]["stop"] = "BORED"
    return "stop"


@a_rating_lie
def spoil_a_witness(data, solution, rng):
    """Prices that are lower than those that prove the bound, and gains that hide it."""
    witness = data["certificate"]["witness"]
    while witness and "children" in witness:
        witness = pick(list(witness["children"].values()), rng)
    if not witness:
        return None
    label = int(rng.integers(len(witness["gains"])))
    witness["gains"][label] -= 1.0 + 2 * max(0.0, solution.certificate.gap or 0.0) + solution.certificate.tolerance
    return f"gain of label {label}"


@a_rating_lie
def bring_a_witness(data, solution, rng):
    data["certificate"]["witness"] = pick([True, {}, "me"], rng)
    return "witness"


def _tell_offsets(data, offsets: Offsets):
    data["offsets"] = {
        "gold_responses": offsets.gold_responses.tolist(),
        "gold_tasks": offsets.gold_tasks.tolist(),
        "prior": None if offsets.prior is None else offsets.prior.tolist(),
        "smoothing": offsets.smoothing,
    }


def _change_only_the_matrix(data, solution, offsets: Offsets, what: str):
    """Other pseudo-counts with the matrix that they make; the likelihood stays what it was."""
    objective = replace(solution.objective, offsets=offsets)
    if abs(objective.of_mapping(solution.buckets, solution.mapping) - solution.certificate.objective) < 1e-6:
        return None
    _tell_offsets(data, offsets)
    refit(data, solution, solution.mapping, objective)
    data["certificate"]["given"] = list(replace(solution.problem, objective=objective).given)
    return what


@a_rating_lie
def change_the_smoothing(data, solution, rng):
    offsets = offsets_of(solution)
    return _change_only_the_matrix(data, solution, replace(offsets, smoothing=offsets.smoothing + 0.25), "smoothing")


@a_rating_lie
def change_the_prior(data, solution, rng):
    offsets = offsets_of(solution)
    prior = np.zeros(offsets.gold_responses.shape) if offsets.prior is None else offsets.prior.copy()
    prior[int(rng.integers(len(prior))), 0] += rng.integers(1, 4, prior.shape[2])
    return _change_only_the_matrix(data, solution, replace(offsets, prior=prior), "prior")


@a_rating_lie
def change_the_smoothing_and_forget_the_margins(data, solution, rng):
    """Matrix, likelihood and bound fit, as far as the liar knows; the margins are those of the old problem."""
    objective = replace(solution.objective, offsets=replace(offsets_of(solution), smoothing=float(rng.uniform(2, 3))))
    before = {name: data["buckets"][name] for name in ("margin", "tied")}
    _tell_offsets(data, objective.offsets)
    retell(data, solution, solution.mapping, objective)
    told = {"buckets": before}
    if data["certificate"]["engine"] == "vote" or still_fit(told, (data["buckets"]["margin"], data["buckets"]["tied"])):
        return None
    data["buckets"] |= before
    return "old margins"


@a_rating_lie
def invent_gold_counts(data, solution, rng):
    """Counts of gold tasks that are not in the data, and all that follows from them."""
    offsets = offsets_of(solution)
    responses, tasks = offsets.gold_responses.copy(), offsets.gold_tasks.copy()
    label = int(rng.integers(len(tasks)))
    if rng.random() < 0.5 or solution.objective.kind != "estimated":
        responses[label, 0, int(rng.integers(len(tasks)))] += 1
    else:
        tasks[label] += 1
    objective = replace(solution.objective, offsets=replace(offsets, gold_responses=responses, gold_tasks=tasks))
    _tell_offsets(data, objective.offsets)
    retell(data, solution, solution.mapping, objective)
    return "gold counts"


@a_rating_lie
def forget_gold_counts(data, solution, rng):
    """The gold tasks are left out of the fit, though not of the table of counts."""
    if not solution.reading.gold:
        return None
    offsets = offsets_of(solution)
    none = replace(
        offsets, gold_responses=np.zeros_like(offsets.gold_responses), gold_tasks=np.zeros_like(offsets.gold_tasks)
    )
    _tell_offsets(data, none)
    retell(data, solution, solution.mapping, replace(solution.objective, offsets=none))
    return "no gold counts"


@a_rating_lie
def forget_a_gold_task(data, solution, rng):
    if not solution.reading.gold:
        return None
    data["reading"]["gold"].pop()
    return "no gold"


@a_rating_lie
def relabel_a_gold_task(data, solution, rng):
    if not solution.reading.gold:
        return None
    pair = pick(data["reading"]["gold"], rng)
    pair[1] = pick([label for label in solution.scale.labels if label != pair[1]], rng)
    return "gold label"
