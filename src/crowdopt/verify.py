"""Checking a solution against the data, without trusting the engine that made it.

Nothing here imports an engine. The data are read and counted again; the likelihood, the matrix, the order,
the margins and the bound are computed anew, the bound by the plainest way that can work (recheck.py).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt import recheck
from crowdopt.certificate import Proof, Space
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.order import violation
from crowdopt.problem import Problem
from crowdopt.recheck import Recheck, Undecided, agreement_of_best_names, log_likelihood
from crowdopt.solution import Solution, Totals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crowdopt.buckets import Buckets
    from crowdopt.gold import GoldCounts
    from crowdopt.scale import Scale
    from crowdopt.types import Bools

DEFAULT_TIME_LIMIT = 60.0

PROVING_ENGINES = frozenset({"chain", "columns", "enumerate", "scan", "search", "trivial"})
"""The engines that leave a bound."""

OTHER_ENGINES = frozenset({"em", "em1", "em2", "em3", "soft-em", "vote"})
"""The engines that prove nothing."""

MAX_BUCKETS_MOVED = 2_000
"""Buckets up to which margins under dominance are those of moves that respect the order."""


class Verdict(StrEnum):
    """What came out of a verification."""

    CONFIRMED = "CONFIRMED"
    """What the solution says about the data is right, the bound included; its work, seconds and seed are its own."""
    BOUND_NOT_RECHECKED = "BOUND NOT RE-CHECKED"
    """Likelihood, labels and counts are right; time or size stopped the check of the bound."""
    REJECTED = "REJECTED"
    """Something is wrong."""


@dataclass(frozen=True)
class Verification:
    """The verdict, with what is wrong or why the bound was not checked."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, 3 or 1: confirmed, bound not re-checked, rejected."""
        return {Verdict.CONFIRMED: 0, Verdict.BOUND_NOT_RECHECKED: 3, Verdict.REJECTED: 1}[self.verdict]


def verify(
    solution: Solution | str | Path,
    data: Any,
    *,
    time_limit: float = DEFAULT_TIME_LIMIT,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Verification:
    """Checks a solution (or a solution file) against the data it was made from.

    Args:
        solution: The solution or the path of its file.
        data: The data, in any form that ``aggregate`` takes. It is read with the options in the solution.
        time_limit: Seconds for the check of the bound.
        memory_limit: Memory of the database that reads files.
        threads: Threads of that database.

    Raises:
        InputError: The data cannot be read at all, or there is no solution file.
    """
    from crowdopt.source import load, workspace_for

    if not isinstance(solution, Solution):
        try:
            solution = Solution.load(solution)
        except SolutionFileError as error:
            return Verification(Verdict.REJECTED, (str(error),))
    workspace = workspace_for(data, memory_limit=memory_limit, threads=threads)
    try:
        source = load(data, solution.reading, workspace, resolved=True)
        scale, buckets = source.responses.scale, source.counts.buckets
        numbers, gold = source.totals, source.counts.gold
    finally:
        if workspace is not None:
            workspace.close()
    if wrong := tuple(_about_gold(solution, gold)):
        return Verification(Verdict.REJECTED, wrong)
    return check_against(solution, scale, buckets, numbers, time_limit=time_limit)


def check_against(
    solution: Solution,
    scale: Scale,
    buckets: Buckets,
    numbers: Totals,
    *,
    time_limit: float = DEFAULT_TIME_LIMIT,
) -> Verification:
    """Checks a solution against what was counted in the data."""
    if wrong := tuple(_about_data(solution, scale, buckets, numbers)):
        return Verification(Verdict.REJECTED, wrong)
    try:
        problem = Problem(buckets, solution.certificate.space, solution.objective)
    except InputError as error:
        return Verification(Verdict.REJECTED, (str(error),))
    if wrong := tuple(_about_labels(solution, problem)):
        return Verification(Verdict.REJECTED, wrong)
    checks = Recheck(problem, time.monotonic() + time_limit)
    undecided = []
    for check in (_about_bound, _about_margins):
        try:
            wrong += tuple(check(solution, checks))
        except Undecided as reason:
            undecided.append(str(reason))
    if wrong:
        return Verification(Verdict.REJECTED, wrong)
    return Verification(Verdict.BOUND_NOT_RECHECKED if undecided else Verdict.CONFIRMED, tuple(undecided))


def _about_gold(solution: Solution, gold: GoldCounts | None) -> Iterator[str]:
    """The responses to gold tasks, counted again; priors and smoothing are given, and no data can tell."""
    stored = solution.objective.offsets
    nothing = np.zeros((), np.int64)
    found = (gold.responses, gold.tasks) if gold else (nothing, nothing)
    claimed = (stored.gold_responses, stored.gold_tasks) if stored else (nothing, nothing)
    for what, ours, theirs in zip(("responses to gold tasks", "gold tasks"), found, claimed, strict=True):
        if not (ours == theirs).all():
            yield f"the {what} by label differ from the data"


def _about_data(solution: Solution, scale: Scale, buckets: Buckets, numbers: Totals) -> Iterator[str]:
    if scale.labels != solution.scale.labels:
        yield f"the data have the labels {', '.join(scale.labels)}, the solution {', '.join(solution.scale.labels)}"
        return
    if (scale.kind, scale.inferred) != (solution.scale.kind, solution.scale.inferred):
        yield "the kind of scale does not follow from the reading options"
    fingerprint = buckets.fingerprint(scale.labels)
    if fingerprint != solution.certificate.fingerprint:
        stored = solution.certificate.fingerprint
        yield f"the data have the fingerprint {fingerprint[:12]}…, the solution {stored[:12]}…"
    same = np.array_equal(buckets.counts, solution.buckets.counts) and np.array_equal(
        buckets.weights, solution.buckets.weights
    )
    if not same:
        yield "the table of counts differs from the data"
    for name, value in vars(numbers).items():
        stored = getattr(solution.totals, name)
        if stored != value:
            yield f"{name} is {value} in the data, {stored} in the solution"


def _about_labels(solution: Solution, problem: Problem) -> Iterator[str]:
    """Likelihood, tolerance, order, and what follows from the mapping."""
    certificate, buckets, mapping = solution.certificate, problem.buckets, solution.mapping
    value = log_likelihood(problem, mapping)
    tolerance = problem.tolerance(value)
    if not math.isclose(certificate.objective, value, rel_tol=0, abs_tol=tolerance):
        yield f"the log-likelihood is {value!r}, not {certificate.objective!r}"
        return
    if certificate.engine == "columns":
        tolerance = problem.price_tolerance(value)
    if not math.isclose(certificate.tolerance, tolerance, rel_tol=1e-6):
        yield f"the tolerance should be {tolerance:.3g}, not {certificate.tolerance:.3g}"
    given = solution.objective.given
    if certificate.given != given:
        yield f"the proof is given {list(given)}, not {list(certificate.given)}"
    yield from _about_claims(solution)
    if _must_respect_order(solution) and (pair := violation(buckets.counts, mapping)):
        high, low = (buckets.counts[b, 0].tolist() for b in pair)
        yield f"the labels break the order: responses {high} dominate {low} and got the lower label"
    # The scan names by the order alone: more yes is never the lower label.
    naming = {"chain", "columns", "enumerate", "search"}
    names_are_free = certificate.engine in naming and solution.objective.interchangeable
    if names_are_free and agreement_of_best_names(problem, mapping) > buckets.agreement(mapping):
        yield "other names of the labels agree with more responses"
    if certificate.engine == "vote":
        yield from _about_votes(solution)


def _must_respect_order(solution: Solution) -> bool:
    """Where the space asks for it, and for two labels that nothing tells apart: there thresholds rise."""
    certificate, buckets = solution.certificate, solution.buckets
    if certificate.proof is Proof.NONE or buckets.n_labels == 1:
        return False
    plane = buckets.n_labels == 2 and buckets.n_classes == 1 and certificate.engine != "columns"
    return certificate.space is Space.DOMINANCE or (plane and solution.objective.interchangeable)


def _about_margins(solution: Solution, checks: Recheck) -> Iterator[str]:
    """Margins, ties, and whether another labelling at hand should have been chosen."""
    problem, mapping, margins = checks.problem, solution.mapping, solution.margins
    value = solution.certificate.objective
    tolerance = problem.tolerance(value)
    if margins.kind == "exact" and not _margins_can_be_exact(solution, problem):
        yield "the margins are at most upper bounds, not exact"
        return
    tied: Bools | None
    if margins.kind == "exact" and solution.certificate.engine != "scan":
        loss = np.maximum(checks.ordered.margins(mapping, value), 0.0)
        tied, agrees_more = checks.ordered.tied(mapping, checks.ordered.value - tolerance), False
    else:
        other = recheck.alternatives(problem, mapping, value, _compared_with(solution, problem))
        loss, tied, agrees_more = other.loss, other.tied, other.agrees_more
    if not np.allclose(loss, margins.values, rtol=1e-6, atol=2 * tolerance):
        yield "the margins do not follow from the data"
    if agrees_more:
        yield "other labels are as likely and agree with more responses"
    if tied is not None and solution.certificate.engine != "vote" and not np.array_equal(tied, margins.tied):
        yield "the ties do not follow from the data"


def _about_claims(solution: Solution) -> Iterator[str]:
    """Only an engine whose promise is known here can be checked."""
    certificate = solution.certificate
    if certificate.engine not in PROVING_ENGINES | OTHER_ENGINES:
        yield f"nothing is known here of an engine {certificate.engine!r}"
    elif (certificate.engine in OTHER_ENGINES) != (certificate.proof is Proof.NONE):
        yield f"engine {certificate.engine!r} does not leave a proof of {certificate.proof}"
    buckets = solution.buckets
    fitting = {
        "scan": buckets.n_labels == 2 and buckets.n_classes == 1,
        "trivial": buckets.n_labels == 1,
        "chain": certificate.space is Space.DOMINANCE,
        "enumerate": certificate.space is Space.DOMINANCE,
        "columns": certificate.space is Space.ALL and buckets.n_classes == 1,
    }
    if not fitting.get(certificate.engine, True):
        yield f"engine {certificate.engine!r} does not solve such a problem"
    if certificate.witness is not None and certificate.engine != "columns":
        yield f"engine {certificate.engine!r} leaves no witness"


def _compared_with(solution: Solution, problem: Problem) -> frozenset[str]:
    """The labellings that margins are the least loss among (docs/theory.md, "Margins")."""
    certificate = solution.certificate
    if certificate.engine in {"chain", "enumerate", "search"} and certificate.space is Space.DOMINANCE:
        return frozenset({"closures" if problem.buckets.n_buckets <= MAX_BUCKETS_MOVED else "alike"})
    if certificate.engine != "scan":
        return frozenset({"moves"})
    if solution.margins.kind == "exact" or certificate.space is Space.DOMINANCE:
        return frozenset({"rising"})
    return frozenset({"moves", "rising"} if solution.objective.interchangeable else {"moves", "rising", "falling"})


def _margins_can_be_exact(solution: Solution, problem: Problem) -> bool:
    """Where an engine sees all mappings that compete: those that respect the order."""
    buckets, certificate = problem.buckets, solution.certificate
    if certificate.engine in {"chain", "enumerate"}:
        return certificate.space is Space.DOMINANCE
    beyond = certificate.space is Space.ALL and not solution.objective.interchangeable
    return certificate.engine == "scan" and buckets.equal_sizes and not beyond


def _about_votes(solution: Solution) -> Iterator[str]:
    """A majority vote promises only that: the most votes, the lowest label among ties, ties marked."""
    votes = solution.buckets.counts.sum(axis=1)
    if not np.array_equal(votes.argmax(axis=1), solution.mapping):
        yield "a label is not the majority's"
    if not np.array_equal((votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1, solution.margins.tied):
        yield "the ties do not follow from the data"


def _about_bound(solution: Solution, checks: Recheck) -> Iterator[str]:
    certificate = solution.certificate
    if certificate.bound is None:
        return
    if certificate.bound < certificate.objective:
        yield f"the bound {certificate.bound!r} is below the log-likelihood of the answer"
        return
    limit = certificate.bound + certificate.tolerance
    if certificate.witness is not None and (reason := checks.doubt(certificate.witness, limit)):
        yield reason
        return
    best = checks.better_than(limit, proved=certificate.witness is not None)
    if best is not None:
        yield f"there is a mapping in the space with log-likelihood {best!r}, above the bound {certificate.bound!r}"
