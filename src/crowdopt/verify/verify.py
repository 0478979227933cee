"""Checking a solution against the data, without trusting the engine that made it.

Nothing here imports an engine. The data are read and counted again; the likelihood, the matrix, the order,
the margins and the bound are computed anew, the bound by the plainest way that can work (optimum.py).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.readers.addresses import database_of
from crowdopt.errors import ClassError, GoldError, InputError, SolutionFileError, one_line
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.margins import MAX_BUCKETS
from crowdopt.model.order import violation
from crowdopt.results.solution import Solution
from crowdopt.verify import optimum as recheck
from crowdopt.verify.optimum import Alternatives, Recheck, Undecided, agreement_of_best_names, log_likelihood

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crowdopt._arrays import Ints
    from crowdopt.data.counts import Totals
    from crowdopt.data.known_labels import GoldCounts
    from crowdopt.data.worker_classes import WorkerClass
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.margins import Margins
    from crowdopt.model.problem import Problem
    from crowdopt.model.scale import Scale
    from crowdopt.results.solutions import Solutions

DEFAULT_TIME_LIMIT = 60.0

PROVING_ENGINES = frozenset({"chain", "columns", "enumerate", "scan", "search", "trivial"})
"""The engines that leave a bound."""

OTHER_ENGINES = frozenset({"em", "em1", "em2", "em3", "soft-em", "vote"})
"""The engines that prove nothing."""


class Verdict(StrEnum):
    """What came out of a verification."""

    CONFIRMED = "CONFIRMED"
    """What the solution says about the data is right, the bound included; its work, seconds and seed are its own.

    Of engines that prove nothing (EM), this means the likelihood, counts and margins, not how the labels were found.
    """
    BOUND_NOT_RECHECKED = "BOUND NOT RE-CHECKED"
    """Likelihood, labels and counts are right; time or size stopped the check of the bound, margins or ties."""
    REJECTED = "REJECTED"
    """Something is wrong."""


@dataclass(frozen=True)
class Verification:
    """The verdict.

    Attributes:
        reasons: What is wrong, or why the bound was not checked.
        claim: What the solution says, of which that is the verdict: an unproved answer is confirmed as unproved.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    claim: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", tuple(map(one_line, self.reasons)))
        object.__setattr__(self, "claim", one_line(self.claim))

    @property
    def exit_code(self) -> int:
        """0, 3 or 1: confirmed, bound not re-checked, rejected."""
        return {Verdict.CONFIRMED: 0, Verdict.BOUND_NOT_RECHECKED: 3, Verdict.REJECTED: 1}[self.verdict]


def verify(
    solution: Solution | Solutions | str | Path,
    data: Any,
    *,
    table: str = "",
    query: str = "",
    time_limit: float = DEFAULT_TIME_LIMIT,
    memory_limit: str | None = None,
    threads: int | None = None,
    jobs: int | None = None,
    on_group: Callable[[int, int], object] = lambda *_: None,
) -> Verification:
    """Checks a solution (or a solution file) against the data it was made from.

    Args:
        solution: The solution, or the solutions of groups, or the path of its file.
        data: The data, in any form that ``aggregate`` takes. It is read with the options in the solution.
        table: The table of a database to read, if ``data`` is its address.
        query: The SELECT to read instead.
        time_limit: Seconds for the check of the bound; of groups, for each of them.
        memory_limit: Memory of the database that reads files.
        threads: Threads of that database.
        jobs: Processes that check groups; as many as there are cores if None.
        on_group: Called now and then with the number of groups that are checked, and of all.

    Raises:
        InputError: The data cannot be read at all, or there is no solution file.
    """
    from crowdopt.data.load import load, with_found_classes, workspace_for

    data = database_of(data, table, query)
    if isinstance(solution, str | Path):
        try:
            solution = _load(solution)
        except SolutionFileError as error:
            if _is_solution_file(data):
                raise InputError(
                    "the solution comes first and the data second; here it is the other way round"
                ) from error
            return Verification(Verdict.REJECTED, (str(error),))
    if not isinstance(solution, Solution):
        from crowdopt.verify.groups import verify_groups

        limits: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads, "jobs": jobs}
        return verify_groups(solution, data, time_limit=time_limit, on_group=on_group, **limits)
    workspace = workspace_for(data, memory_limit=memory_limit, threads=threads)
    data = with_found_classes(solution.source, data)
    try:
        source = load(data, solution.reading, workspace, resolved=True)
        scale, buckets = source.responses.scale, source.counts.buckets
        numbers, gold, classes = source.totals, source.counts.gold, source.responses.classes
    except (ClassError, GoldError) as error:
        return Verification(Verdict.REJECTED, (str(error),))
    finally:
        if workspace is not None:
            workspace.close()
    found = check_against(solution, scale, buckets, numbers, gold, classes, time_limit=time_limit)
    return replace(found, claim=_claim(solution))


def _claim(solution: Solution) -> str:
    """What was said to be proved, and about how much of the data; not how it came about, which no data can tell."""
    from crowdopt.results.summary import headline

    dropped = solution.totals.n_dropped
    return headline(solution, run=False) + (f"; {dropped:,} incomplete rows left out" if dropped else "")


def _is_solution_file(data: Any) -> bool:
    """Whether what should be data is a solution, as when the two were exchanged."""
    from crowdopt.data.load import paths_of
    from crowdopt.results.file_format import FORMAT, has_groups, read_json

    paths = paths_of(data)
    if len(paths) != 1 or Path(paths[0]).suffix.lower() != ".json":
        return False
    try:
        found = read_json(paths[0])
    except InputError:
        return False
    return has_groups(found) or (isinstance(found, dict) and found.get("format") == FORMAT)


def _load(path: str | Path) -> Solution | Solutions:
    """What is in a file: one solution, or those of groups."""
    from crowdopt.results.file_format import decode, decode_groups, has_groups, read_json

    data = read_json(path)
    return decode_groups(data) if has_groups(data) else decode(data)


def check_against(
    solution: Solution,
    scale: Scale,
    buckets: Buckets,
    numbers: Totals,
    gold: GoldCounts | None = None,
    classes: tuple[WorkerClass, ...] = (),
    *,
    time_limit: float = DEFAULT_TIME_LIMIT,
) -> Verification:
    """Checks a solution against what was counted in the data."""
    wrong = list(_about_classes(solution, classes)) or list(_about_data(solution, scale, buckets, numbers))
    wrong = wrong or list(_about_gold(solution, gold))
    if wrong:
        return Verification(Verdict.REJECTED, tuple(wrong))
    try:
        problem = replace(solution.problem, buckets=buckets)
    except InputError as error:
        return Verification(Verdict.REJECTED, (str(error),))
    if wrong := list(_about_labels(solution, problem)):
        return Verification(Verdict.REJECTED, tuple(wrong))
    checks = Recheck(problem, time.monotonic() + time_limit)
    undecided = []
    for check in (_about_bound, _about_margins, _about_choice):
        try:
            for reason in check(solution, checks):
                wrong.append(reason)  # one by one, as what was found before time ran out counts
        except Undecided as undone:
            undecided.append(str(undone))
    if wrong:
        return Verification(Verdict.REJECTED, tuple(wrong))
    return Verification(
        Verdict.BOUND_NOT_RECHECKED if undecided else Verdict.CONFIRMED, tuple(dict.fromkeys(undecided))
    )


def _about_gold(solution: Solution, gold: GoldCounts | None) -> Iterator[str]:
    """The responses to gold tasks, counted again; priors and smoothing are given, and no data can tell."""
    stored = solution.objective.offsets
    nothing = np.zeros((), np.int64)
    found = (gold.responses, gold.tasks) if gold else (nothing, nothing)
    claimed = (stored.gold_responses, stored.gold_tasks) if stored else (nothing, nothing)
    for what, ours, theirs in zip(("responses to gold tasks", "gold tasks"), found, claimed, strict=True):
        if not (ours == theirs).all():
            yield f"the {what} by label differ from the data"


def _about_classes(solution: Solution, classes: tuple[WorkerClass, ...]) -> Iterator[str]:
    """The classes by name, in the order in which they are counted, and their workers."""
    ours, theirs = ([one.name for one in them] for them in (classes, solution.classes))
    if ours != theirs:
        yield f"the data have the classes {', '.join(ours) or 'none'}, the solution {', '.join(theirs) or 'none'}"
        return
    for found, stored in zip(classes, solution.classes, strict=True):
        if found != stored:
            yield f"class {found.name} has {found.n_workers} workers in the data, {stored.n_workers} in the solution"


def _about_data(solution: Solution, scale: Scale, buckets: Buckets, numbers: Totals) -> Iterator[str]:
    if scale.labels != solution.scale.labels:
        yield f"the data have the labels {', '.join(scale.labels)}, the solution {', '.join(solution.scale.labels)}"
        return
    if (scale.kind, scale.inferred) != (solution.scale.kind, solution.scale.inferred):
        yield "the kind of scale does not follow from the reading options"
    fingerprint = buckets.fingerprint(scale.labels, [one.name for one in solution.classes])
    if fingerprint != solution.certificate.fingerprint:
        stored = solution.certificate.fingerprint
        yield f"the data have the fingerprint {fingerprint[:12]}…, the solution {stored[:12]}…"
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
    if certificate.given != problem.given:
        yield f"the proof is given {list(problem.given)}, not {list(certificate.given)}"
    yield from _about_claims(solution)
    if _must_respect_order(solution) and (pair := violation(buckets.counts, mapping, ranked=problem.ranked)):
        high, low = (_shown(buckets.counts[b]) for b in pair)
        yield f"the labels break the order: responses {high} dominate {low} and got the lower label"
    if _must_have_best_names(solution) and agreement_of_best_names(problem, mapping) > buckets.agreement(mapping):
        yield "other names of the labels agree with more responses"
    if certificate.engine == "vote":
        yield from _about_votes(solution)


def _shown(counts: Ints) -> Any:
    """The counts of a bucket, without an axis for one class."""
    return (counts if len(counts) > 1 else counts[0]).tolist()


def _must_respect_order(solution: Solution) -> bool:
    """Where the space asks for it, and after a scan of labels that nothing tells apart: there thresholds rise."""
    certificate = solution.certificate
    if certificate.proof is Proof.NONE or solution.buckets.n_labels == 1:
        return False
    rising = certificate.engine == "scan" and solution.objective.interchangeable
    return certificate.space is Space.DOMINANCE or rising


def _must_have_best_names(solution: Solution) -> bool:
    """Where names are free; but the scan names by the order alone, and engines that were stopped did not get there."""
    certificate = solution.certificate
    finished = certificate.engine in {"chain", "enumerate"} and certificate.stop is Stop.FINISHED
    return (finished or certificate.engine in {"columns", "search"}) and solution.objective.interchangeable


def _about_margins(solution: Solution, checks: Recheck) -> Iterator[str]:
    """Margins, ties, and whether another labelling at hand should have been chosen."""
    problem, mapping, margins = checks.problem, solution.mapping, solution.margins
    value = solution.certificate.objective
    tolerance = problem.tolerance(value)
    if margins.kind == "exact" and not _margins_can_be_exact(solution, problem):
        yield "the margins are at most upper bounds, not exact"
        return
    if margins.kind == "exact" and solution.certificate.engine != "scan":
        tied = checks.ordered.tied(mapping, checks.ordered.value - tolerance)
        other = Alternatives(checks.ordered.margins(mapping, value), tied, agrees_more=False)  # see _about_choice
    else:
        other = recheck.alternatives(problem, mapping, value, _compared_with(solution, problem), checks.deadline)
    close = 2 * tolerance + (_lookup_error(problem) if solution.certificate.engine == "chain" else 0.0)
    if not np.allclose(np.maximum(other.loss, 0.0), margins.values, rtol=1e-6, atol=close):
        yield "the margins do not follow from the data"
    if margins.kind == "exact" and other.tied is not None and other.loss.min() < -2 * tolerance:
        yield "other labels are likelier, which whoever knows exact margins has seen"
    bound = solution.certificate.bound
    if bound is not None and value - other.loss.min() > bound + 2 * tolerance:
        yield "another labelling, which the margins are compared with, is above the bound"
    if other.agrees_more:
        yield "other labels are as likely and agree with more responses"
    if solution.certificate.engine != "vote":
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


def _about_choice(solution: Solution, checks: Recheck) -> Iterator[str]:
    """An engine that looked at all mappings that respect the order took the likeliest, and of these by agreement."""
    certificate, tolerance = solution.certificate, checks.problem.tolerance(solution.certificate.objective)
    if certificate.engine not in {"chain", "enumerate"} or certificate.stop is not Stop.FINISHED:
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
    }
    if not fitting.get(certificate.engine, True):
        yield f"engine {certificate.engine!r} does not solve such a problem"
    if certificate.witness is not None and certificate.engine != "columns":
        yield f"engine {certificate.engine!r} leaves no witness"
    finished, exact = certificate.stop is Stop.FINISHED, solution.margins.kind == "exact"
    if certificate.engine in {"chain", "enumerate"} and exact and not finished:
        yield f"engine {certificate.engine!r} leaves exact margins only where it finishes"
    if certificate.space is Space.DOMINANCE and solution.scale.kind == "nominal" and buckets.n_labels > 2:
        yield "labels without an order have no mappings that respect it"


def _compared_with(solution: Solution, problem: Problem) -> frozenset[str]:
    """The labellings that margins are the least loss among (docs/theory.md, "Margins")."""
    certificate = solution.certificate
    if certificate.engine in {"chain", "columns", "enumerate", "search"} and certificate.space is Space.DOMINANCE:
        return frozenset({"closures" if problem.buckets.n_buckets <= MAX_BUCKETS else "alike"})
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


def _doubt(witness: Any, limit: float, checks: Recheck) -> str | None:
    """Why a witness does not prove the bound. That it cannot be decided matters only if nothing else decides."""
    try:
        return checks.doubt(witness, limit)
    except Undecided:
        if checks.lists_all:
            return None
        raise


def _about_bound(solution: Solution, checks: Recheck) -> Iterator[str]:
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
