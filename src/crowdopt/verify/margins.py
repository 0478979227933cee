"""Margins and ties against what the claims of an answer say they are compared with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.certificate import Space, Stop
from crowdopt.model.claims import CLAIMS, UNKNOWN
from crowdopt.model.margins import MAX_ORDERED_BUCKETS
from crowdopt.verify.alternatives import Alternatives, alternatives
from crowdopt.verify.optimum import Undecided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.model.claims import Claims
    from crowdopt.model.margins import Margins
    from crowdopt.model.problem import Problem
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.verify.recheck import Recheck


def about_margins(solution: ProofSolution, checks: Recheck) -> Iterator[str]:
    """Margins, ties, and whether another labelling at hand should have been chosen."""
    problem, mapping, margins = checks.problem, solution.mapping, solution.margins
    value, claims = solution.certificate.objective, CLAIMS.get(solution.certificate.engine, UNKNOWN)
    tolerance = problem.tolerance(value)
    if margins.kind == "exact" and not _can_be_exact(solution, claims):
        yield "the margins are at most upper bounds, not exact"
        return
    if margins.kind == "exact" and claims.exhaustive:
        tied = checks.ordered.tied(mapping, checks.ordered.value - tolerance)
        other = Alternatives(checks.ordered.margins(mapping, value), tied, agrees_more=False)  # see about_choice
    else:
        other = alternatives(problem, mapping, value, _compared_with(solution, claims), checks.deadline)
    # Two evaluations are rounded on either side, each by no more than the tolerance.
    close = 2 * tolerance + (_lookup_error(problem) if claims.looked_up else 0.0)
    if not np.allclose(np.maximum(other.loss, 0.0), margins.values, rtol=1e-6, atol=close):
        yield "the margins do not follow from the data"
    if margins.kind == "exact" and other.tied is not None and other.loss.min() < -2 * tolerance:
        yield "other labels are likelier, which whoever knows exact margins has seen"
    bound = solution.certificate.bound
    if bound is not None and value - other.loss.min() > bound + 2 * tolerance:
        yield "another labelling, which the margins are compared with, is above the bound"
    if other.agrees_more:
        yield "other labels are as likely and agree with more responses"
    if not claims.majority:
        yield from _about_ties(margins, other, 2 * tolerance)


def _about_ties(margins: Margins, other: Alternatives, close: float) -> Iterator[str]:
    """The same ties; of too many to look at, at least none where another label costs something."""
    if other.tied is None:
        wrong = bool((margins.tied & (other.loss > close)).any())
    else:
        wrong = not np.array_equal(other.tied, margins.tied)
    if wrong:
        yield "the ties do not follow from the data"
    elif other.tied is None:
        raise Undecided("too many labels are as likely as the best for an independent check of the ties")


def about_choice(solution: ProofSolution, checks: Recheck) -> Iterator[str]:
    """Who looked at all mappings that respect the order took the likeliest, and of these by agreement."""
    certificate, tolerance = solution.certificate, checks.problem.tolerance(solution.certificate.objective)
    if not CLAIMS.get(certificate.engine, UNKNOWN).exhaustive or certificate.stop is not Stop.FINISHED:
        return
    if certificate.objective < checks.ordered.value - 2 * tolerance - _lookup_error(checks.problem):
        yield "other labels are likelier, which an engine that finished has seen"
    if checks.ordered.agrees_more(solution.mapping, checks.ordered.value - tolerance):
        yield "other labels are as likely and agree with more responses"


def _lookup_error(problem: Problem) -> float:
    """What looked-up logarithms may do to a margin: rounding of terms of size N ln N (docs/theory.md, "Rounding")."""
    buckets, offsets = problem.buckets, problem.objective.offsets
    total = buckets.n_responses + (float(offsets.counts.sum()) if offsets else 0.0)
    terms = 4 * buckets.n_labels * buckets.n_classes * (4 + buckets.n_classes * (buckets.n_labels + 1))
    return terms * float(np.finfo(float).eps) * total * math.log(max(total, 2.0))


def _compared_with(solution: ProofSolution, claims: Claims) -> frozenset[str]:
    """The labellings that margins are the least loss among (docs/theory.md, "Margins")."""
    ordered = solution.certificate.space is Space.DOMINANCE
    if claims.margins == "thresholds":
        if solution.margins.kind == "exact" or ordered:
            return frozenset({"rising"})
        return frozenset({"moves", "rising"} if solution.objective.interchangeable else {"moves", "rising", "falling"})
    if claims.margins == "closures" and ordered:
        # Beyond these the order between all pairs of buckets is not known: only all buckets can move together.
        return frozenset({"closures" if solution.buckets.n_buckets <= MAX_ORDERED_BUCKETS else "alike"})
    return frozenset({"moves"})


def _can_be_exact(solution: ProofSolution, claims: Claims) -> bool:
    """Where all mappings that compete were seen: those that respect the order, or all thresholds."""
    everywhere = solution.certificate.space is Space.ALL
    if claims.exhaustive:
        return not everywhere
    beyond = everywhere and not solution.objective.interchangeable
    return claims.margins == "thresholds" and solution.buckets.equal_sizes and not beyond
