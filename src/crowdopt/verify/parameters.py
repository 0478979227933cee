"""A proof about parameters against what was counted: the value, the labels that follow, the names, and the bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.claims import CLAIMS, UNKNOWN
from crowdopt.model.problem import PARAMETER_TOLERANCE
from crowdopt.verify.optimum import Undecided
from crowdopt.verify.optimum_marginal import Marginal, labels_of, most_named
from crowdopt.verify.witness_boxes import doubt_about_boxes, saturated_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Floats
    from crowdopt.model.problem import Problem
    from crowdopt.results.solution_proof import ProofSolution


def about_parameters(solution: ProofSolution, problem: Problem) -> Iterator[str]:
    """What is wrong with the value, the tolerance, and the labels that follow from the parameters."""
    if solution.parameters is None:
        yield "a proof about parameters has none"
        return
    certificate = solution.certificate
    if CLAIMS.get(certificate.engine, UNKNOWN).space is not problem.space:
        yield f"engine {certificate.engine!r} does not prove parameters"
    marginal = Marginal(problem)
    point = marginal.point(solution.parameters)
    value, close = marginal.value(point), rounding_of(problem)
    if not math.isclose(certificate.objective, value, rel_tol=0, abs_tol=close):
        yield f"the marginal log-likelihood is {value!r}, not {certificate.objective!r}"
        return
    if certificate.tolerance != PARAMETER_TOLERANCE:
        yield f"the tolerance should be {PARAMETER_TOLERANCE:.3g}, not {certificate.tolerance:.3g}"
    if certificate.given != problem.given:
        yield f"the proof is given {list(problem.given)}, not {list(certificate.given)}"
    if marginal.shares is not None and not np.allclose(point[0], marginal.shares, rtol=0, atol=1e-12):
        yield "the shares of the labels are not those that are given"
    yield from _about_labels_of(solution, marginal, point)


def rounding_of(problem: Problem) -> float:
    """How far two sums of the marginal likelihood may be apart: by sizes of terms that no order of summing exceeds."""
    buckets = problem.buckets
    return 1e-9 + 1e-13 * (buckets.n_responses + buckets.n_tasks) * math.log(2 + buckets.n_buckets)


def _about_labels_of(solution: ProofSolution, marginal: Marginal, point: Floats) -> Iterator[str]:
    """Labels, margins and ties follow from the parameters; free names of labels agree with most responses."""
    votes = solution.buckets.counts.sum(axis=1)
    mapping, odds, tied = labels_of(marginal.scores(point), votes)
    margins = solution.margins
    if not np.array_equal(mapping, solution.mapping):
        yield "a label is not the most probable one by the parameters"
    elif not np.allclose(odds, margins.values, rtol=1e-6, atol=1e-8) or margins.kind != "odds":
        yield "the margins do not follow from the parameters"
    elif not np.array_equal(tied, margins.tied):
        yield "the ties do not follow from the parameters"
    if solution.objective.interchangeable:
        tasks = marginal.posterior(point) * marginal.weights[:, None]
        expected = tasks.T @ votes
        if most_named(expected) > np.trace(expected) + 1e-6 * expected.sum():
            yield "other names of the labels agree with more responses"


def about_bound_of_parameters(solution: ProofSolution, problem: Problem, deadline: float) -> Iterator[str]:
    """Whether no parameters are above the bound.

    Raises:
        Undecided: If that takes too long, or there is nothing to check it by.
    """
    certificate, parameters = solution.certificate, solution.parameters
    if certificate.bound is None or parameters is None:
        yield "a proof about parameters leaves a bound"
        return
    if certificate.bound < certificate.objective:
        yield f"the bound {certificate.bound!r} is below the value of the answer"
        return
    bound = certificate.bound + rounding_of(problem)
    marginal = Marginal(problem)
    if (better := marginal.better_than(bound, marginal.point(parameters))) is not None:
        yield f"there are parameters with marginal log-likelihood {better!r}, above the bound {certificate.bound!r}"
        return
    if certificate.witness is None:
        if saturated_bound(problem) <= bound:
            return
        raise Undecided("the solution has no boxes to check its bound by")
    if reason := doubt_about_boxes(problem, certificate.witness, bound, deadline):
        yield reason
