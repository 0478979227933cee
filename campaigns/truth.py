"""What is true of a solution by brute force, and what a liar with a calculator makes fit."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np

from crowdopt import Solution, verify
from crowdopt.errors import SolutionFileError
from crowdopt.model.certificate import Space
from crowdopt.model.objective import Objective, response_matrix
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from crowdopt.verify.alternatives import alternatives
from crowdopt.verify.check import check_against
from crowdopt.verify.optimum import log_likelihood
from crowdopt.verify.optimum_ordered import OrderedOptimum
from crowdopt.verify.verdict import Verdict, Verification
from support import oracle

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
    return check_against(loaded, *counted, digest=digest_of(solution), **options)


def gold_of(solution: Solution):
    """What was counted of gold tasks, if the solution was made from data."""
    return solution.source.counts.gold if solution.source else None


def classes_of(solution: Solution):
    """What was counted of classes of workers, if the solution was made from data."""
    return solution.source.responses.classes if solution.source else ()


def digest_of(solution: Solution) -> str:
    """The digest of the responses, if the solution was made from data."""
    return solution.source.digest if solution.source else ""


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
    offsets = objective.offsets or offsets_of(solution)
    known = offsets.gold_responses + (0 if offsets.prior is None else offsets.prior) + offsets.smoothing
    return oracle.Added(shares, known, offsets.gold_tasks)


def beaten(solution: Solution, value: float, space: Space) -> bool:
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


def still_fit(data, margins_and_ties) -> bool:
    """Whether the margins and ties of a file are those."""
    table, (margins, tied) = data["buckets"], margins_and_ties
    numbers = [[math.inf if x is None else x for x in values] for values in (table["margin"], margins)]
    return bool(np.allclose(*numbers, atol=1e-6)) and tied == table["tied"]


# Knowledge. Other pseudo-counts, consistently told, are true of another problem: only what does not fit is a lie.


def offsets_of(solution: Solution) -> Offsets:
    n_classes, n_labels = solution.buckets.counts.shape[1:]
    nothing = Offsets(np.zeros((n_labels, n_classes, n_labels), np.int64), np.zeros(n_labels, np.int64))
    return solution.objective.offsets or nothing
