"""Engines, and the function that picks one.

An engine is a function ``(problem, limits) -> Outcome`` in a file of its own that knows nothing of files or frames;
of other engines only the search, where it needs something to hand over when it is stopped. ENGINES is the list of
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crowdopt.engines.base import DEFAULT_TIME_LIMIT, Engine, Limits, OnProgress, Outcome, certify, is_tight
from crowdopt.engines.chain import chain
from crowdopt.engines.columns.engine import MAX_BUCKETS, columns
from crowdopt.engines.em.hard import em, em1, em2, em3
from crowdopt.engines.em.soft import soft_em_engine
from crowdopt.engines.enumeration import enumerate_all
from crowdopt.engines.local_search import search
from crowdopt.engines.scan import proves, scan
from crowdopt.engines.vote import vote
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Certificate, Space, Stop
from crowdopt.model.margins import Margins, single_moves
from crowdopt.model.objective import Objective, response_matrix
from crowdopt.model.offsets import Offsets, checked_number, checked_prior
from crowdopt.model.order import TooManyUpSets, TooMuchMemory
from crowdopt.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats, Ints

ENGINES: dict[str, Engine] = {
    "chain": chain,
    "columns": columns,
    "em": em,
    "em1": em1,
    "em2": em2,
    "em3": em3,
    "enumerate": enumerate_all,
    "scan": scan,
    "search": search,
    "soft-em": soft_em_engine,
    "vote": vote,
}
"""Every engine by name."""

__all__ = ["DEFAULT_TIME_LIMIT", "ENGINES", "Limits", "OnProgress", "Result", "run", "solve"]


FEW_UP_SETS = 10_000
"""Up-sets past which three labels or more are proved by prices rather than by listing: pairs of them take longer."""


@dataclass(frozen=True, eq=False)
class Solved:
    """An outcome with its certificate and margins: what :func:`run` returns."""

    mapping: Ints
    certificate: Certificate
    margins: Margins
    runner_up: Ints | None


@dataclass(frozen=True, eq=False)
class Result:
    """What :func:`solve` returns.

    Attributes:
        mapping: Index of the label of each given row of counts; -1 for rows without responses.
        matrix: Response matrix [class, true, answered]; NaN rows where nothing is known.
        certificate: What was proved.
    """

    mapping: Ints
    matrix: Floats
    certificate: Certificate


def run(
    problem: Problem, limits: Limits, *, labels: Sequence[str], classes: Sequence[str] = (), engine: str = "auto"
) -> Solved:
    """Solves a problem with the named engine, or with the one that fits, and certifies the outcome."""
    check_engine(problem, engine)
    check_ranked(problem)
    before = limits.elapsed
    name, outcome = _answer(problem, limits, engine)
    certificate = certify(
        problem,
        outcome,
        engine=name,
        seconds=limits.elapsed - before,
        fingerprint=problem.buckets.fingerprint(labels, classes),
    )
    margins = outcome.margins or single_moves(problem, outcome.mapping)
    return Solved(outcome.mapping, certificate, margins, outcome.runner_up)


def check_engine(problem: Problem, engine: str) -> None:
    """Raises where the named engine cannot answer."""
    buckets = problem.buckets
    if engine != "auto" and engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; there are auto, {', '.join(ENGINES)}")
    if engine == "scan" and buckets.n_labels > 1 and not _is_plane(problem):
        here = f"{buckets.n_labels} labels" + (f" and {buckets.n_classes} classes" if buckets.n_classes > 1 else "")
        raise InputError(f"engine 'scan' is for two labels and one class; here are {here}")
    if engine in {"chain", "enumerate"} and problem.space is not Space.DOMINANCE:
        raise InputError(f"engine {engine!r} searches labels that respect the order: ask for the space 'dominance'")
    if engine == "columns" and not _has_columns(problem):
        raise InputError(
            f"engine 'columns' is for at most {MAX_BUCKETS:,} different counts; here are {buckets.n_buckets:,}"
        )


def check_ranked(problem: Problem) -> None:
    """Raises where a ranking of the classes would change nothing, as no order is asked for."""
    if problem.ranked and problem.buckets.n_classes > 1 and problem.space is not Space.DOMINANCE:
        raise InputError(
            "ranked classes matter only among answers that respect the order of the labels: the scale must be ordinal, "
            "and the space 'dominance'"
        )


def _answer(problem: Problem, limits: Limits, engine: str) -> tuple[str, Outcome]:
    """The name of the engine that answered, and its outcome: the first that can prove its answer, if any can."""
    if problem.buckets.n_labels == 1 and engine != "vote":
        return "trivial", _trivial(problem)
    if engine == "chain":
        try:
            return engine, chain(problem, limits)
        except TooManyUpSets as reason:
            raise InputError(
                f"{reason} respect the order: too many for engine 'chain'; leave the choice to 'auto'"
            ) from None
    if engine != "auto":
        return engine, ENGINES[engine](problem, limits)
    if _is_plane(problem) and proves(problem):
        return "scan", scan(problem, limits)
    handed_over = Stop.FINISHED
    priced = _has_columns(problem) and (problem.space is Space.DOMINANCE or not _is_plane(problem))
    if problem.space is Space.DOMINANCE:
        try:
            few = FEW_UP_SETS if priced and problem.buckets.n_labels > 2 else None
            return "chain", chain(problem, limits, few)
        except TooManyUpSets as reason:
            handed_over = Stop.MEMORY if isinstance(reason, TooMuchMemory) else handed_over
    if priced and handed_over is Stop.FINISHED:
        return _priced(problem, limits)
    name = "scan" if _is_plane(problem) else "search"
    outcome = ENGINES[name](problem, limits)
    return name, replace(outcome, stop=handed_over) if outcome.stop is Stop.FINISHED else outcome


def _priced(problem: Problem, limits: Limits) -> tuple[str, Outcome]:
    """Proves by prices; where these leave a gap under dominance and there is time, by listing all the same."""
    outcome = columns(problem, limits)
    if problem.space is Space.DOMINANCE and outcome.stop is Stop.FINISHED and not is_tight(problem, outcome):
        with suppress(TooManyUpSets):  # the gap then stays
            listed = chain(problem, limits)
            if is_tight(problem, listed):
                return "chain", listed
            outcome = replace(outcome, stop=listed.stop)
    return "columns", outcome


def _has_columns(problem: Problem) -> bool:
    """Whether the columns engine can answer."""
    return problem.buckets.n_buckets <= MAX_BUCKETS


def _is_plane(problem: Problem) -> bool:
    return problem.buckets.n_labels == 2 and problem.buckets.n_classes == 1


def _trivial(problem: Problem) -> Outcome:
    """One label: there is one mapping, and every response agrees with it."""
    mapping = np.zeros(problem.buckets.n_buckets, np.int64)
    value = problem.objective.of_mapping(problem.buckets, mapping)
    return Outcome(mapping, value, value, Space.ALL, work=1)


def solve(
    counts: Any,
    weights: Any = None,
    *,
    scale: Literal["ordinal", "nominal"] = "ordinal",
    space: Literal["dominance", "all"] | None = None,
    selectivity: Literal["none", "estimate"] | Sequence[float] = "none",
    prior_matrix: Any = None,
    smoothing: float = 0.0,
    ranked: bool = False,
    engine: str = "auto",
    time_limit: float = DEFAULT_TIME_LIMIT,
    on_progress: OnProgress | None = None,
) -> Result:
    """Finds the likeliest labels for count vectors.

    Two labels are proved by a scan, but for labels told apart under dominance with numbers of responses that vary.
    These, and more labels under dominance, are proved while few enough sets of buckets respect the order (``chain``);
    beyond that, and over all mappings, more labels are proved by prices (``columns``), which takes the longer the more
    labels there are. Several classes of workers are proved like more labels, also where there are two labels.

    Args:
        counts: Responses by (row, label), lowest label first, or by (row, class, label); whole numbers.
        weights: How many tasks have each row of counts; one each if not given.
        scale: Whether the labels are ordered.
        space: Mappings to search: those that respect the order, or all. By default ``dominance`` for ordinal
            scales and for two labels, else ``all``.
        selectivity: ``none``, ``estimate``, or the known share of each label.
        prior_matrix: Pseudo-counts by (true, answered), or by (class, true, answered): what is known of the workers.
        smoothing: A pseudo-count for every entry.
        ranked: Whether the classes stand in the order of their skill, best first: under dominance, what a better class
            answers then counts for more.
        engine: Name of an engine, or ``auto``.
        time_limit: Seconds; past them the result is BOUNDED.
        on_progress: Called now and then; return True to stop with the best so far.

    Returns:
        Labels per row, the response matrix, and the certificate.

    >>> result = solve([[0, 3], [1, 2], [2, 1], [3, 0]], [30, 12, 9, 49])
    >>> result.mapping
    array([1, 1, 0, 0])
    >>> print(result.certificate.proof, result.certificate.space, round(result.certificate.objective, 3))
    PROVED all -75.046
    """
    buckets, index = Buckets.from_arrays(counts, weights)
    if scale not in {"ordinal", "nominal"}:
        raise InputError(f"scale must be ordinal or nominal, not {scale!r}")
    if space is None:
        space = "dominance" if scale == "ordinal" or buckets.n_labels <= 2 else "all"
    if space not in {"dominance", "all"}:
        raise InputError(f"space must be dominance or all, not {space!r}")
    offsets = Offsets.of(
        buckets.n_labels,
        buckets.n_classes,
        prior=checked_prior(prior_matrix, buckets),
        smoothing=checked_number(smoothing, "smoothing"),
    )
    problem = Problem(buckets, Space(space), _objective(selectivity, offsets), ranked)
    names = [str(j) for j in range(buckets.n_labels)]
    solved = run(problem, Limits(time_limit, on_progress), labels=names, engine=engine)
    responses, _ = buckets.by_label(solved.mapping)
    mapping = np.where(index >= 0, solved.mapping[index], -1)
    return Result(mapping, response_matrix(responses, problem.objective), solved.certificate)


def _objective(selectivity: str | Sequence[float], offsets: Offsets | None) -> Objective:
    if isinstance(selectivity, str):
        if selectivity not in {"none", "estimate"}:
            raise InputError(f"selectivity must be none, estimate or a share per label, not {selectivity!r}")
        return Objective("estimated" if selectivity == "estimate" else "none", offsets=offsets)
    if not isinstance(selectivity, Iterable):
        raise InputError(f"selectivity must be none, estimate or a share per label, not {selectivity!r}")
    return Objective("given", tuple(checked_number(share, "a share") for share in selectivity), offsets)
