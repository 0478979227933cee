"""Lies about solutions, for test_verify: ways to change a true solution file into a wrong one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import oracle
from crowdopt import recheck
from crowdopt.certificate import Space
from crowdopt.objective import Objective, response_matrix
from crowdopt.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt import Solution


def problem_of(solution: Solution, space: Space | None = None) -> Problem:
    return Problem(solution.buckets, space or solution.certificate.space, solution.objective)


def optimum(solution: Solution, space: Space) -> float:
    """The best log-likelihood of a small problem, by trying every mapping of its buckets from the definition."""
    tasks = np.repeat(solution.buckets.counts[:, 0, :], solution.buckets.weights, axis=0)
    kind = solution.objective.kind
    shares = {"none": None, "estimated": "estimate", "given": list(solution.objective.shares)}[kind]
    return oracle.brute_force(tasks, space=space.value, shares=shares).value


# Lies. Each takes a solution's dictionary and a random generator, changes it in place, and says what for the
# record; or returns None where the change would leave the file true or the case does not have such a thing.


LIES: list[Callable[..., str | None]] = []


def a_lie(function):
    LIES.append(function)
    return function


@a_lie
def flip_a_label(data, solution, rng):
    at = int(rng.integers(len(data["buckets"]["label"])))
    data["buckets"]["label"][at] = 1 - data["buckets"]["label"][at]
    return "flip"


@a_lie
def flip_a_label_and_make_the_rest_fit(data, solution, rng):
    """Everything that follows from the labels is recomputed, as a liar with a calculator would."""
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


def refit(data, solution, mapping):
    """The parts of a file that follow from the labels."""
    responses, tasks = solution.buckets.by_label(mapping)
    data["label_shares"] = (tasks / tasks.sum()).tolist()
    data["matrix"] = [
        [[None if math.isnan(p) else p for p in row] for row in rows] for rows in response_matrix(responses).tolist()
    ]


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
    if data["certificate"]["engine"] == "vote":
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
    counts[int(rng.integers(2))] += 1
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
    if solution.certificate.space is Space.ALL or data["certificate"]["bound"] is None:
        return None
    if solution.buckets.n_tasks > 10:
        return None
    if optimum(solution, Space.ALL) <= solution.certificate.bound + 2 * solution.certificate.tolerance:
        return None
    data["certificate"]["space"] = "all"
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
    data["buckets"]["margin"][at] = 1.0 if margin is None else margin + float(rng.choice([1e-3, 1.0]))
    return "margin"


@a_lie
def forget_a_margin(data, solution, rng):
    finite = [at for at, margin in enumerate(data["buckets"]["margin"]) if margin is not None]
    if not finite:
        return None
    data["buckets"]["margin"][finite[int(rng.integers(len(finite)))]] = None
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
    row = data["matrix"][0][int(rng.integers(2))]
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
    data["reading"]["labels"] = ["yes", "no"]
    return "labels"


@a_lie
def call_a_label_missing(data, solution, rng):
    data["reading"] |= {"na": ["yes"], "missing": "drop"}
    return "na"


@a_lie
def change_the_scale(data, solution, rng):
    name, value = [("kind", "nominal"), ("inferred", False), ("labels", ["no", "YES"])][int(rng.integers(3))]
    data["scale"][name] = value
    return name


@a_lie
def change_the_selectivity(data, solution, rng):
    """From given to none, or to another share; the likelihood of the answer itself must change for it to be a lie."""
    shares = [0.37, 0.63]
    if solution.objective.shares == tuple(shares):
        return None
    data["selectivity"] = {"kind": "given", "shares": shares}
    data["certificate"]["given"] = ["selectivity"]
    return "selectivity"


@a_lie
def drop_the_selectivity(data, solution, rng):
    if abs(recheck.log_likelihood(problem_of(solution), solution.mapping) - plain_value(solution)) < 1e-6:
        return None
    data["selectivity"] = {"kind": "none", "shares": []}
    data["certificate"]["given"] = []
    return "no selectivity"


def plain_value(solution: Solution) -> float:
    return Objective().of_mapping(solution.buckets, solution.mapping)
