"""Lies about solutions, for the tests of verify: ways to change a true solution file into a wrong one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from campaigns.truth import beaten, margins_of, problem_of, refit, retell, still_fit
from crowdopt.model.certificate import Space

if TYPE_CHECKING:
    from collections.abc import Callable


# Lies. Each takes a solution's dictionary and a random generator, changes it in place, and says what for the
# record; or returns None where the change would leave the file true or the case does not have such a thing.


LIES: list[Callable[..., str | None]] = []
"""About solutions of any number of labels."""


def a_lie(function):
    LIES.append(function)
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
    fit = still_fit(data, margins_of(problem_of(solution), mapping, value, certificate["engine"], "upper"))
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
    if not beaten(solution, solution.certificate.bound, Space.ALL):
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
