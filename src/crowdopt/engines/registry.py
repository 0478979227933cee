"""The list of engines, and the choice among them.

An engine is one file in this room and one line in ``crowdopt.model.claims.CLAIMS``. Its file has a function
``(problem, limits) -> Outcome``, which knows nothing of files or tables, and a declaration (:class:`Engine`) of what it
cannot answer. The line says where that declaration is, what people call the engine, and what its answers promise. The
line is in the model, and not here, as ``verify`` reads it too, and may import no engine. All else follows from these
lines: ENGINES, the choices of ``--engine``, the methods that ``compare`` and the report set beside the optimum, and the
checks of ``verify``. An engine that shall be picked automatically also needs its place in :func:`_automatic`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from crowdopt.engines.base import Engine, Limits, Outcome, certify, is_tight
from crowdopt.engines.chain import chain
from crowdopt.engines.columns.engine import COLUMNS, columns
from crowdopt.engines.scan import in_plane, proves
from crowdopt.engines.trivial import TRIVIAL
from crowdopt.errors import InputError
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.claims import CLAIMS
from crowdopt.model.margins import single_moves
from crowdopt.model.order import TooManyUpSets, TooMuchMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Ints
    from crowdopt.model.certificate import Certificate
    from crowdopt.model.margins import Margins
    from crowdopt.model.parameters import ModelParameters
    from crowdopt.model.problem import Problem


def engine_named(name: str) -> Engine:
    """The engine that a line of CLAIMS points to."""
    engine = resolve_name(CLAIMS[name].at)
    if not isinstance(engine, Engine) or engine.name != name:
        raise TypeError(f"{CLAIMS[name].at} does not declare an engine {name!r}")
    return engine


ENGINES: dict[str, Engine] = {name: engine_named(name) for name in sorted(CLAIMS) if CLAIMS[name].by_name}
"""Every engine that can be asked for, by name."""

FEW_UP_SETS = 10_000
"""Up-sets past which three labels or more are proved by prices rather than by listing: pairs of them take longer."""


@dataclass(frozen=True, eq=False)
class Solved:
    """An outcome with its certificate and margins: what :func:`run` returns."""

    mapping: Ints
    certificate: Certificate
    margins: Margins
    runner_up: Ints | None
    likelier: float | None = None
    parameters: ModelParameters | None = None


def run(
    problem: Problem,
    limits: Limits,
    *,
    labels: Sequence[str],
    classes: Sequence[str] = (),
    responses: str = "",
    engine: str = "auto",
) -> Solved:
    """Solves a problem with the named engine, or with the one that fits, and certifies the outcome.

    The certificate's fingerprint covers the names of labels and classes, and the digest of the responses if there are
    any behind the counts.
    """
    check_engine(problem, engine)
    check_ranked(problem)
    before = limits.elapsed
    name, outcome = _answer(problem, limits, engine)
    certificate = certify(
        problem,
        outcome,
        engine=name,
        seconds=limits.elapsed - before,
        fingerprint=problem.buckets.fingerprint(labels, classes, responses),
    )
    margins = outcome.margins or single_moves(problem, outcome.mapping)
    return Solved(outcome.mapping, certificate, margins, outcome.runner_up, outcome.likelier, outcome.parameters)


def check_engine(problem: Problem, engine: str) -> None:
    """Raises where the named engine cannot answer."""
    if engine == "auto":
        return
    if problem.space is Space.PARAMETERS:
        raise InputError(f"engine {engine!r} decides labels; the marginal likelihood has an engine of its own")
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; there are auto, {', '.join(ENGINES)}")
    if reason := ENGINES[engine].refuses(problem):
        raise InputError(f"engine {engine!r} {reason}")


def check_ranked(problem: Problem) -> None:
    """Raises where a ranking of the classes would change nothing, as no order is asked for."""
    if problem.ranked and problem.buckets.n_classes > 1 and problem.space is not Space.DOMINANCE:
        raise InputError(
            "ranked classes matter only among answers that respect the order of the labels: the scale must be ordinal, "
            "and the space 'dominance'"
        )


def _answer(problem: Problem, limits: Limits, engine: str) -> tuple[str, Outcome]:
    """The name of the engine that answered, and its outcome."""
    asked = ENGINES.get(engine)
    if problem.space is Space.PARAMETERS:
        return "marginal", engine_named("marginal").run(problem, limits)  # found here, as it needs a compiler
    if problem.buckets.n_labels == 1 and not (asked and asked.one_label):
        return TRIVIAL.name, TRIVIAL.run(problem, limits)
    if asked is None:
        return _automatic(problem, limits)
    try:
        return engine, asked.run(problem, limits)
    except TooMuchMemory:
        raise InputError(
            "the sets of buckets that respect the order are too many for the memory limit: raise --memory-limit, or "
            "leave the choice of the engine to 'auto'"
        ) from None
    except TooManyUpSets as reason:
        raise InputError(
            f"{reason} respect the order: too many for engine {engine!r}; leave the choice to 'auto'"
        ) from None


def _automatic(problem: Problem, limits: Limits) -> tuple[str, Outcome]:
    """The first engine that can prove its answer, if any can; the cheapest proofs are tried first."""
    if proves(problem):
        return "scan", ENGINES["scan"].run(problem, limits)
    ordered, plane = problem.space is Space.DOMINANCE, in_plane(problem)
    handed_over = Stop.FINISHED
    priced = COLUMNS.refuses(problem) is None and (ordered or not plane)
    if ordered:
        try:
            few = FEW_UP_SETS if priced and problem.buckets.n_labels > 2 else None
            return "chain", chain(problem, limits, few)
        except TooManyUpSets as reason:
            handed_over = Stop.MEMORY if isinstance(reason, TooMuchMemory) else handed_over
    if priced and handed_over is Stop.FINISHED:
        return _priced(problem, limits)
    name = "scan" if plane else "search"
    outcome = ENGINES[name].run(problem, limits)
    return name, replace(outcome, stop=handed_over) if outcome.stop is Stop.FINISHED else outcome


def _priced(problem: Problem, limits: Limits) -> tuple[str, Outcome]:
    """Proves by prices; where these leave a gap under dominance and there is time, by listing all the same."""
    outcome = columns(problem, limits)
    in_time = outcome.stop in {Stop.FINISHED, Stop.MEMORY, Stop.REACH}
    if problem.space is Space.DOMINANCE and in_time and not is_tight(problem, outcome):
        with suppress(TooManyUpSets):  # the gap then stays
            listed = chain(problem, limits)
            if is_tight(problem, listed):
                return "chain", listed
            outcome = replace(outcome, stop=listed.stop)
    return "columns", outcome
