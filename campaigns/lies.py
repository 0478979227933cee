"""Lies about solutions, for the tests of verify: ways to change a true solution file into a wrong one."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crowdopt import Solution, verify
from crowdopt.errors import SolutionFileError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.objective import Objective, response_matrix
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from crowdopt.verify.alternatives import agreement_of_best_names, alternatives
from crowdopt.verify.check import check_against
from crowdopt.verify.optimum import always_above, log_likelihood
from crowdopt.verify.optimum_ordered import OrderedOptimum
from crowdopt.verify.verdict import Verdict, Verification
from support import oracle

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TRIED = 20_000
"""Mappings of tasks up to which brute force tries all of them."""


def problem_of(solution: Solution, space: Space | None = None) -> Problem:
    return replace(solution.problem, space=space or solution.certificate.space)


def judge(lied: dict, solution: Solution, data, **options) -> Verification:
    """Like ``verify`` of a file with these contents; the data are counted again only if they are read differently."""
    try:
        loaded = Solution.from_dict(json.loads(json.dumps(lied)))
    except SolutionFileError as error:
        return Verification(Verdict.REJECTED, (str(error),))
    if lied["reading"] != solution.to_dict()["reading"]:
        return verify(loaded, data, **options)
    counted = (solution.scale, solution.buckets, solution.totals, gold_of(solution), classes_of(solution))
    return check_against(loaded, *counted, **options)


def gold_of(solution: Solution):
    """What was counted of gold tasks, if the solution was made from data."""
    return solution.source.counts.gold if solution.source else None


def classes_of(solution: Solution):
    """What was counted of classes of workers, if the solution was made from data."""
    return solution.source.responses.classes if solution.source else ()


# What is true, by brute force.


def as_tasks(solution: Solution) -> np.ndarray:
    return np.repeat(solution.buckets.counts, solution.buckets.weights, axis=0)


def can_be_tried(solution: Solution) -> bool:
    return solution.buckets.n_labels**solution.buckets.n_tasks <= MAX_TRIED


def optimum(solution: Solution, space: Space) -> float:
    """The best log-likelihood of a small problem, by trying every mapping of its tasks from the definition."""
    added = _added(solution.objective, solution)
    return oracle.brute_force(as_tasks(solution), space=space.value, shares=added, ranked=solution.ranked).value


def _added(objective: Objective, solution: Solution) -> oracle.Added:
    shares = {"none": None, "estimated": "estimate", "given": list(objective.shares)}[objective.kind]
    offsets = objective.offsets or _offsets(solution)
    known = offsets.gold_responses + (0 if offsets.prior is None else offsets.prior) + offsets.smoothing
    return oracle.Added(shares, known, offsets.gold_tasks)


def _beaten(solution: Solution, value: float, space: Space) -> bool:
    """Whether brute force finds something clearly likelier than ``value``; False also if it cannot be asked."""
    return can_be_tried(solution) and optimum(solution, space) > value + 4 * solution.certificate.tolerance


# What a liar with a calculator makes fit.


def refit(data, solution, mapping, objective=None, buckets=None):
    """The parts of a file that follow from the labels."""
    responses, tasks = (buckets or solution.buckets).by_label(mapping)
    data["label_shares"] = (tasks / tasks.sum()).tolist()
    matrix = response_matrix(responses, objective or solution.objective).tolist()
    data["matrix"] = [[[None if math.isnan(p) else p for p in row] for row in rows] for rows in matrix]


def retell(data, solution, mapping, objective=None, buckets=None):
    """Everything about other labels, another objective or other counts: also likelihood, bound, margins and ties.

    A bound stays where it was if it leaves room; else it is what it takes for a proof.
    """
    objective, buckets = objective or solution.objective, buckets or solution.buckets
    certificate, table = data["certificate"], data["buckets"]
    problem = Problem(buckets, Space(certificate["space"]), objective, solution.ranked)
    value = log_likelihood(problem, mapping)
    refit(data, solution, mapping, objective, buckets)
    certificate |= {"objective": value, "tolerance": problem.tolerance(value), "given": list(problem.given)}
    if certificate["bound"] is not None:
        room = certificate["proof"] == "BOUNDED" and certificate["bound"] > value
        bound = certificate["bound"] if room else value
        certificate |= {"bound": bound, "gap": bound - value, "proof": "BOUNDED" if room else "PROVED"}
    loss, tied = margins_of(problem, mapping, value, certificate["engine"], table["margin_kind"])
    table |= {"label": mapping.tolist(), "margin": loss, "tied": tied}


def margins_of(problem: Problem, mapping, value: float, engine: str, kind: str):
    """Margins and ties as ``engine`` would leave them."""
    if kind == "exact":
        best = OrderedOptimum(problem, math.inf)
        loss, tied = best.margins(mapping, value), best.tied(mapping, best.value - problem.tolerance(value))
    else:
        closures = problem.space is Space.DOMINANCE and engine in {"chain", "columns", "enumerate", "search"}
        moves = alternatives(problem, mapping, value, frozenset({"closures" if closures else "moves"}))
        loss, tied = moves.loss, moves.tied
    return [max(x, 0.0) if math.isfinite(x) else None for x in loss.tolist()], tied.tolist()


def _still_fit(data, margins_and_ties) -> bool:
    """Whether the margins and ties of a file are those."""
    table, (margins, tied) = data["buckets"], margins_and_ties
    numbers = [[math.inf if x is None else x for x in values] for values in (table["margin"], margins)]
    return bool(np.allclose(*numbers, atol=1e-6)) and tied == table["tied"]


# Lies. Each takes a solution's dictionary and a random generator, changes it in place, and says what for the
# record; or returns None where the change would leave the file true or the case does not have such a thing.


LIES: list[Callable[..., str | None]] = []
"""About solutions of any number of labels."""

RATING_LIES: list[Callable[..., str | None]] = []
"""About solutions of more than two labels, and of all engines but the scan."""


def a_lie(function):
    LIES.append(function)
    return function


def a_rating_lie(function):
    RATING_LIES.append(function)
    return function


def pick(values, rng):
    return values[int(rng.integers(len(values)))]


@a_lie
def flip_a_label(data, solution, rng):
    labels = data["buckets"]["label"]
    at = int(rng.integers(len(labels)))
    labels[at] = pick([label for label in range(solution.buckets.n_labels) if label != labels[at]], rng)
    return "flip"


@a_lie
def flip_a_label_and_make_the_rest_fit(data, solution, rng):
    """Everything that follows from the labels is recomputed, as a liar with a calculator would; not the margins."""
    flip_a_label(data, solution, rng)
    mapping = np.array(data["buckets"]["label"])
    value = solution.objective.of_mapping(solution.buckets, mapping)
    if not math.isfinite(value) or value >= solution.certificate.objective - solution.certificate.tolerance:
        return None
    refit(data, solution, mapping)
    certificate = data["certificate"]
    certificate["objective"] = value
    if certificate["bound"] is not None:
        certificate |= {"bound": value, "gap": 0.0, "proof": "PROVED"}
        certificate["tolerance"] = problem_of(solution).tolerance(value)
        return "refit"
    fit = _still_fit(data, margins_of(problem_of(solution), mapping, value, certificate["engine"], "upper"))
    return None if fit and certificate["engine"] != "vote" else "refit"


@a_lie
def turn_the_crowd_upside_down(data, solution, rng):
    """Exchanging the labels leaves the likelihood alone where they are interchangeable: a perfect lie otherwise."""
    if solution.objective.kind == "given" or data["certificate"]["engine"] != "scan":
        return None
    mapping = 1 - np.array(data["buckets"]["label"])
    turned, agreement = solution.buckets.agreement(mapping), solution.buckets.agreement(solution.mapping)
    if turned == agreement:
        return None
    data["buckets"]["label"] = mapping.tolist()
    refit(data, solution, mapping)
    return "upside down"


@a_lie
def claim_nothing(data, solution, rng):
    """Labels without a proof, under the name of an engine that always leaves one."""
    if data["certificate"]["bound"] is None:
        return None
    data["certificate"] |= {"proof": "NONE", "bound": None, "gap": None}
    return "unproved"


@a_lie
def name_another_engine(data, solution, rng):
    data["certificate"]["engine"] = "oracle" if rng.random() < 0.5 else "scanx"
    return "engine"


@a_lie
def change_a_count(data, solution, rng):
    counts = data["buckets"]["counts"][int(rng.integers(len(data["buckets"]["counts"])))][0]
    counts[int(rng.integers(len(counts)))] += 1
    return "count"


@a_lie
def change_a_weight(data, solution, rng):
    data["buckets"]["weights"][int(rng.integers(len(data["buckets"]["weights"])))] += 1
    return "weight"


@a_lie
def move_the_objective(data, solution, rng):
    certificate = data["certificate"]
    step = float(rng.choice([-1, 1]) * rng.choice([10 * certificate["tolerance"], 0.01, 1.0]))
    certificate["objective"] += step
    if certificate["bound"] is not None:
        certificate["bound"] += step
        certificate["gap"] = max(0.0, certificate["bound"] - certificate["objective"])
    return f"objective {step}"


@a_lie
def lower_the_bound_below_the_objective(data, solution, rng):
    if data["certificate"]["bound"] is None:
        return None
    data["certificate"]["bound"] = data["certificate"]["objective"] - float(rng.choice([1e-6, 1.0]))
    data["certificate"] |= {"gap": 0.0, "proof": "PROVED"}
    return "bound"


def claim_all_mappings(data, solution, rng):
    certificate = data["certificate"]
    if solution.certificate.space is Space.ALL or certificate["bound"] is None:
        return None
    if not _beaten(solution, solution.certificate.bound, Space.ALL):
        return None
    certificate["space"] = "all"
    if certificate["engine"] != "scan":
        certificate["engine"], data["buckets"]["margin_kind"] = "search", "upper"
        retell(data, solution, solution.mapping)
    return "space"


@a_lie
def move_the_gap(data, solution, rng):
    gap = data["certificate"]["gap"]
    data["certificate"]["gap"] = 0.5 if gap is None else gap + 0.5
    return "gap"


@a_lie
def move_the_tolerance(data, solution, rng):
    data["certificate"]["tolerance"] *= float(rng.choice([0.5, 2, 1e9]))
    return "tolerance"


@a_lie
def change_the_fingerprint(data, solution, rng):
    fingerprint = data["certificate"]["fingerprint"]
    data["certificate"]["fingerprint"] = ("0" if fingerprint[0] != "0" else "1") + fingerprint[1:]
    return "fingerprint"


@a_lie
def change_what_is_given(data, solution, rng):
    data["certificate"]["given"] = [] if data["certificate"]["given"] else ["selectivity"]
    return "given"


@a_lie
def move_a_margin(data, solution, rng):
    at = int(rng.integers(len(data["buckets"]["margin"])))
    margin = data["buckets"]["margin"][at]
    step = float(rng.choice([1e-3, 1.0]))
    data["buckets"]["margin"][at] = 1.0 if margin is None else margin + step * max(1.0, margin)
    return "margin"


@a_lie
def forget_a_margin(data, solution, rng):
    finite = [at for at, margin in enumerate(data["buckets"]["margin"]) if margin is not None]
    if not finite:
        return None
    data["buckets"]["margin"][pick(finite, rng)] = None
    return "no margin"


@a_lie
def claim_exact_margins(data, solution, rng):
    if solution.margins.kind == "exact":
        return None
    data["buckets"]["margin_kind"] = "exact"
    return "exact"


@a_lie
def flip_a_tie(data, solution, rng):
    at = int(rng.integers(len(data["buckets"]["tied"])))
    data["buckets"]["tied"][at] = not data["buckets"]["tied"][at]
    return "tied"


@a_lie
def change_the_matrix(data, solution, rng):
    row = pick(data["matrix"][0], rng)
    row[0] = 0.5 if row[0] is None else row[0] + 1e-6
    return "matrix"


@a_lie
def change_a_total(data, solution, rng):
    name = str(rng.choice(list(data["totals"])))
    data["totals"][name] += 1
    return name


@a_lie
def change_the_agreement(data, solution, rng):
    data["agreement"]["pairwise"] = 0.123 if data["agreement"]["pairwise"] is None else None
    return "agreement"


@a_lie
def turn_the_scale(data, solution, rng):
    data["reading"]["labels"] = list(reversed(solution.scale.labels))
    return "labels"


@a_lie
def call_a_label_missing(data, solution, rng):
    occurs = solution.buckets.counts.any(axis=(0, 1))
    if not occurs[-1] or occurs.sum() < 2:
        return None
    data["reading"] |= {"na": [solution.scale.labels[-1]], "missing": "drop"}
    return "na"


@a_lie
def change_the_scale(data, solution, rng):
    scale = data["scale"]
    other = {
        "kind": "nominal" if scale["kind"] == "ordinal" else "ordinal",
        "inferred": not scale["inferred"],
        "labels": [*scale["labels"][:-1], scale["labels"][-1] + "X"],
    }
    name = pick(list(other), rng)
    scale[name] = other[name]
    return name


@a_lie
def change_the_selectivity(data, solution, rng):
    """From given to none, or to another share; the likelihood of the answer itself must change for it to be a lie."""
    shares = [0.63 * 0.37**label for label in range(solution.buckets.n_labels - 1)]
    shares.append(1 - math.fsum(shares))
    other = replace(solution.objective, kind="given", shares=tuple(shares))
    if abs(other.of_mapping(solution.buckets, solution.mapping) - solution.certificate.objective) < 1e-6:
        return None
    data["selectivity"] = {"kind": "given", "shares": shares}
    data["certificate"]["given"] = list(replace(solution.problem, objective=other).given)
    return "selectivity"


@a_lie
def drop_the_selectivity(data, solution, rng):
    other = replace(solution.objective, kind="none", shares=())
    if abs(other.of_mapping(solution.buckets, solution.mapping) - solution.certificate.objective) < 1e-6:
        return None
    data["selectivity"] = {"kind": "none", "shares": []}
    data["certificate"]["given"] = list(replace(solution.problem, objective=other).given)
    return "no selectivity"


# Lies that are told of more labels, engines and kinds of knowledge. The liar makes all the rest fit.


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
        wrong = breaks or (solution.certificate.proof is Proof.PROVED and _beaten(solution, value, problem.space))
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
    if certificate["proof"] != "BOUNDED" or not _beaten(solution, certificate["objective"], solution.certificate.space):
        return None
    certificate |= {"proof": "PROVED", "bound": certificate["objective"], "gap": 0.0}
    return "proof"


@a_rating_lie
def claim_a_proof_of_a_heuristic(data, solution, rng):
    """The labels of an engine that proves nothing, by an engine that does."""
    certificate = data["certificate"]
    if certificate["proof"] != "NONE" or not _beaten(solution, certificate["objective"], solution.certificate.space):
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
    if certificate["proof"] != "BOUNDED" or not _beaten(solution, certificate["objective"], solution.certificate.space):
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
        solution.scale.labels, [one.name for one in solution.classes]
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
    if _still_fit(data, margins_of(problem_of(solution), solution.mapping, value, "chain", "upper")):
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


# Knowledge. Other pseudo-counts, consistently told, are true of another problem: only what does not fit is a lie.


def _offsets(solution: Solution) -> Offsets:
    n_classes, n_labels = solution.buckets.counts.shape[1:]
    nothing = Offsets(np.zeros((n_labels, n_classes, n_labels), np.int64), np.zeros(n_labels, np.int64))
    return solution.objective.offsets or nothing


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
    offsets = _offsets(solution)
    return _change_only_the_matrix(data, solution, replace(offsets, smoothing=offsets.smoothing + 0.25), "smoothing")


@a_rating_lie
def change_the_prior(data, solution, rng):
    offsets = _offsets(solution)
    prior = np.zeros(offsets.gold_responses.shape) if offsets.prior is None else offsets.prior.copy()
    prior[int(rng.integers(len(prior))), 0] += rng.integers(1, 4, prior.shape[2])
    return _change_only_the_matrix(data, solution, replace(offsets, prior=prior), "prior")


@a_rating_lie
def change_the_smoothing_and_forget_the_margins(data, solution, rng):
    """Matrix, likelihood and bound fit, as far as the liar knows; the margins are those of the old problem."""
    objective = replace(solution.objective, offsets=replace(_offsets(solution), smoothing=float(rng.uniform(2, 3))))
    before = {name: data["buckets"][name] for name in ("margin", "tied")}
    _tell_offsets(data, objective.offsets)
    retell(data, solution, solution.mapping, objective)
    told = {"buckets": before}
    if data["certificate"]["engine"] == "vote" or _still_fit(
        told, (data["buckets"]["margin"], data["buckets"]["tied"])
    ):
        return None
    data["buckets"] |= before
    return "old margins"


@a_rating_lie
def invent_gold_counts(data, solution, rng):
    """Counts of gold tasks that are not in the data, and all that follows from them."""
    offsets = _offsets(solution)
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
    offsets = _offsets(solution)
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
