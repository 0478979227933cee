"""One solution against what was counted in the data: every number in it, its claims, its bound, its margins.

What an answer claims is said by the name of its engine (model/claims.py). No engine is named or asked here.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.errors import InputError
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.claims import CLAIMS, UNKNOWN
from crowdopt.model.order import violation
from crowdopt.options.model import PATIENT_TIME_LIMIT
from crowdopt.results.words.sentences import overruling
from crowdopt.verify.alternatives import agreement_of_best_names
from crowdopt.verify.margins import about_choice, about_margins
from crowdopt.verify.optimum import Undecided, log_likelihood
from crowdopt.verify.parameters import about_bound_of_parameters, about_parameters
from crowdopt.verify.recheck import Recheck
from crowdopt.verify.verdict import Verdict, Verification, about_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Ints
    from crowdopt.data.counts import CountedProblem, Totals
    from crowdopt.data.known_labels import GoldCounts
    from crowdopt.data.worker_classes import WorkerClass
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.claims import Claims
    from crowdopt.model.problem import Problem
    from crowdopt.model.scale import Scale
    from crowdopt.results.beside_consensus import ConsensusComparison
    from crowdopt.results.solution_proof import ProofSolution


def check_proof(solution: ProofSolution, counted: CountedProblem, time_limit: float) -> Verification:
    """Checks a proof against what was counted, and that its file says so if its labels overrule clear majorities."""
    known = (counted.scale, counted.buckets, counted.totals, counted.gold, counted.classes)
    found = check_against(solution, *known, digest=counted.digest, time_limit=time_limit)
    if found.verdict is not Verdict.REJECTED and (wrong := tuple(about_notes(counted.notes, solution.notes))):
        return Verification(Verdict.REJECTED, wrong)
    told = any("clear majorities" in doubt for doubt in solution.doubts)
    if found.verdict is Verdict.REJECTED or solution.certificate.bound is None or told:
        return found
    unsaid = overruling({"clear majorities": counted.buckets.overruled(solution.mapping)})
    reasons = tuple(f"the file does not say that it is to be checked: {doubt}" for doubt in unsaid)
    return Verification(Verdict.REJECTED, reasons) if reasons else found


def with_doubts(found: Verification, solution: ProofSolution, comparison: ConsensusComparison) -> Verification:
    """A verdict with what the data give to doubt; where nobody looked at the consensus, also with what the file says.

    The consensus is no part of the check: a doubt changes no verdict.
    """
    said = solution.doubts if comparison.missing else ()
    others = (f"the file says: {doubt}" for doubt in said if doubt not in comparison.doubts)
    return replace(found, check=(*comparison.doubts, *others))


def check_against(
    solution: ProofSolution,
    scale: Scale,
    buckets: Buckets,
    numbers: Totals,
    gold: GoldCounts | None = None,
    classes: tuple[WorkerClass, ...] = (),
    *,
    digest: str = "",
    time_limit: float = PATIENT_TIME_LIMIT,
) -> Verification:
    """Checks a solution against what was counted in the data, and the digest of their responses."""
    wrong = list(_about_classes(solution, classes)) or list(_about_data(solution, scale, buckets, numbers))
    wrong = wrong or list(_about_gold(solution, gold)) or list(_about_fingerprint(solution, digest))
    if wrong:
        return Verification(Verdict.REJECTED, tuple(wrong))
    try:
        problem = replace(solution.problem, buckets=buckets)
    except InputError as error:
        return Verification(Verdict.REJECTED, (str(error),))
    marginal = problem.space is Space.PARAMETERS
    about = (about_parameters, _about_claims) if marginal else (_about_labels,)
    if wrong := [reason for check in about for reason in check(solution, problem)]:
        return Verification(Verdict.REJECTED, tuple(wrong))
    undecided = []
    for check in _slow_checks(solution, problem, time.monotonic() + time_limit):
        try:
            for reason in check:
                wrong.append(reason)  # one by one, as what was found before time ran out counts
        except Undecided as undone:
            undecided.append(str(undone))
    if wrong:
        return Verification(Verdict.REJECTED, tuple(wrong))
    return Verification(
        Verdict.BOUND_NOT_RECHECKED if undecided else Verdict.CONFIRMED, tuple(dict.fromkeys(undecided))
    )


def _slow_checks(solution: ProofSolution, problem: Problem, deadline: float) -> tuple[Iterator[str], ...]:
    """What takes time, as iterators over what is wrong; each may find that it cannot tell."""
    if problem.space is Space.PARAMETERS:
        return (about_bound_of_parameters(solution, problem, deadline),)
    checks = Recheck(problem, deadline)
    return tuple(check(solution, checks) for check in (_about_bound, about_margins, about_choice))


def _about_gold(solution: ProofSolution, gold: GoldCounts | None) -> Iterator[str]:
    """The responses to gold tasks, counted again; priors and smoothing are given, and no data can tell."""
    stored = solution.objective.offsets
    nothing = np.zeros((), np.int64)
    found = (gold.responses, gold.tasks) if gold else (nothing, nothing)
    claimed = (stored.gold_responses, stored.gold_tasks) if stored else (nothing, nothing)
    for what, ours, theirs in zip(("responses to gold tasks", "gold tasks"), found, claimed, strict=True):
        if not (ours == theirs).all():
            yield f"the {what} by label differ from the data"


def _about_classes(solution: ProofSolution, classes: tuple[WorkerClass, ...]) -> Iterator[str]:
    """The classes by name, in the order in which they are counted, and their workers."""
    ours, theirs = ([one.name for one in them] for them in (classes, solution.classes))
    if ours != theirs:
        yield f"the data have the classes {', '.join(ours) or 'none'}, the solution {', '.join(theirs) or 'none'}"
        return
    for found, stored in zip(classes, solution.classes, strict=True):
        if found != stored:
            yield f"class {found.name} has {found.n_workers} workers in the data, {stored.n_workers} in the solution"


def _about_data(solution: ProofSolution, scale: Scale, buckets: Buckets, numbers: Totals) -> Iterator[str]:
    if scale.labels != solution.scale.labels:
        yield f"the data have the labels {', '.join(scale.labels)}, the solution {', '.join(solution.scale.labels)}"
        return
    if (scale.kind, scale.inferred) != (solution.scale.kind, solution.scale.inferred):
        yield "the kind of scale does not follow from the reading options"
    same = np.array_equal(buckets.counts, solution.buckets.counts) and np.array_equal(
        buckets.weights, solution.buckets.weights
    )
    if not same:
        yield "the table of counts differs from the data"
    columns = (solution.mapping, solution.margins.values, solution.margins.tied)
    if any(column.shape != buckets.weights.shape for column in columns):
        yield "labels, margins and ties are not one for each bucket"
    for name, value in vars(numbers).items():
        stored = getattr(solution.totals, name)
        if stored != value:
            yield f"{name} is {value} in the data, {stored} in the solution"


def _about_fingerprint(solution: ProofSolution, digest: str) -> Iterator[str]:
    """All that is counted is the same: what is left are the responses themselves."""
    names = [one.name for one in solution.classes]
    found = solution.buckets.fingerprint(solution.scale.labels, names, digest)
    stored = solution.certificate.fingerprint
    if found != stored:
        yield (
            f"the data have the fingerprint {found[:12]}…, the solution {stored[:12]}…: the counts are the same, but "
            "tasks or workers have other names, or exchanged them"
        )


def _about_labels(solution: ProofSolution, problem: Problem) -> Iterator[str]:
    """Likelihood, tolerance, order, and what follows from the mapping."""
    certificate, buckets, mapping = solution.certificate, problem.buckets, solution.mapping
    claims = CLAIMS.get(certificate.engine, UNKNOWN)
    value = log_likelihood(problem, mapping)
    tolerance = problem.tolerance(value)
    if not math.isclose(certificate.objective, value, rel_tol=0, abs_tol=tolerance):
        yield f"the log-likelihood is {value!r}, not {certificate.objective!r}"
        return
    if claims.prices:
        tolerance = problem.price_tolerance(value)
    # The engine computed it from a log-likelihood that it rounded otherwise.
    if not math.isclose(certificate.tolerance, tolerance, rel_tol=1e-6):
        yield f"the tolerance should be {tolerance:.3g}, not {certificate.tolerance:.3g}"
    if certificate.given != problem.given:
        yield f"the proof is given {list(problem.given)}, not {list(certificate.given)}"
    yield from _about_claims(solution, problem)
    if _must_respect_order(solution, claims) and (pair := violation(buckets.counts, mapping, ranked=problem.ranked)):
        high, low = (_shown(buckets.counts[b]) for b in pair)
        yield f"the labels break the order: responses {high} dominate {low} and got the lower label"
    best = agreement_of_best_names(problem, mapping) if _must_have_best_names(solution, claims) else 0
    if best > buckets.agreement(mapping):
        yield "other names of the labels agree with more responses"
    if claims.majority:
        yield from _about_votes(solution)


def _shown(counts: Ints) -> Any:
    """The counts of a bucket, without an axis for one class."""
    return (counts if len(counts) > 1 else counts[0]).tolist()


def _must_respect_order(solution: ProofSolution, claims: Claims) -> bool:
    """Where the space asks for it, and where thresholds part labels that nothing tells apart: these rise."""
    certificate = solution.certificate
    if certificate.proof is Proof.NONE or solution.buckets.n_labels == 1:
        return False
    rising = claims.margins == "thresholds" and solution.objective.interchangeable
    return certificate.space is Space.DOMINANCE or rising


def _must_have_best_names(solution: ProofSolution, claims: Claims) -> bool:
    """Where names are free, and whoever promises the best of them got there."""
    finished = claims.exhaustive and solution.certificate.stop is Stop.FINISHED
    return (finished or claims.best_names) and solution.objective.interchangeable


def _about_claims(solution: ProofSolution, problem: Problem) -> Iterator[str]:
    """Only claims that are known here can be checked."""
    certificate, engine = solution.certificate, solution.certificate.engine
    claims = CLAIMS.get(engine, UNKNOWN)
    if claims is UNKNOWN:
        yield f"nothing is known here of an engine {engine!r}"
    elif claims.proves == (certificate.proof is Proof.NONE):
        yield f"engine {engine!r} does not leave a proof of {certificate.proof}"
    if not claims.cover(problem):
        yield f"engine {engine!r} does not solve such a problem"
    if certificate.witness is not None and not (claims.prices or claims.boxes):
        yield f"engine {engine!r} leaves no witness"
    if claims.exhaustive and solution.margins.kind == "exact" and certificate.stop is not Stop.FINISHED:
        yield f"engine {engine!r} leaves exact margins only where it finishes"
    if problem.space is Space.DOMINANCE and solution.scale.kind == "nominal" and problem.buckets.n_labels > 2:
        yield "labels without an order have no mappings that respect it"


def _about_votes(solution: ProofSolution) -> Iterator[str]:
    """A majority vote promises only that: the most votes, the lowest label among ties, ties marked."""
    votes = solution.buckets.counts.sum(axis=1)
    if not np.array_equal(votes.argmax(axis=1), solution.mapping):
        yield "a label is not the majority's"
    if not np.array_equal((votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1, solution.margins.tied):
        yield "the ties do not follow from the data"


def _doubt(witness: Any, limit: float, checks: Recheck) -> str | None:
    """Why a witness does not prove the bound. That it cannot be decided matters only if nothing else decides."""
    try:
        return checks.doubt(witness, limit)
    except Undecided:
        if checks.lists_all:
            return None
        raise


def _about_bound(solution: ProofSolution, checks: Recheck) -> Iterator[str]:
    certificate = solution.certificate
    if certificate.bound is None:
        return
    if certificate.bound < certificate.objective:
        yield f"the bound {certificate.bound!r} is below the log-likelihood of the answer"
        return
    limit = certificate.bound + certificate.tolerance
    if certificate.witness is not None and (reason := _doubt(certificate.witness, limit, checks)):
        yield reason
        return
    best = checks.better_than(limit, proved=certificate.witness is not None)
    if best is not None:
        yield f"there is a mapping in the space with log-likelihood {best!r}, above the bound {certificate.bound!r}"
