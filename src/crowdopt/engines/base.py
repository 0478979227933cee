"""What every engine takes and returns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crowdopt.errors import InputError
from crowdopt.model.certificate import Certificate, Proof, Space, Stop
from crowdopt.options.model import DEFAULT_TIME_LIMIT

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.model.margins import Margins
    from crowdopt.model.parameters import ModelParameters
    from crowdopt.model.problem import Problem


clock = time.monotonic
"""The clock that limits look at."""


@dataclass(frozen=True)
class Progress:
    """How far an engine is: best log-likelihood so far, best bound so far, work done, seconds taken."""

    objective: float
    bound: float
    work: int
    seconds: float


OnProgress = Callable[[Progress], bool]
"""Called now and then while an engine runs; returning True asks it to stop with the best so far."""


@dataclass(frozen=True)
class Limits:
    """When to stop. The clock starts when the limits are made.

    Labels never depend on the clock: it stops proofs. What looks for labels is limited by counted work, and asks
    :attr:`without_clock`; the labels of a proof that the clock stopped are those that the search found.

    Attributes:
        seconds: Time that may pass.
        on_progress: Called now and then; says when to stop.
        bytes: Memory that an engine may take for what it lists; None for its own limits.
        seed: Of an engine's random choices.
        started: The time of the clock at the start.
    """

    seconds: float = DEFAULT_TIME_LIMIT
    on_progress: OnProgress | None = None
    bytes: int | None = None
    seed: int = 0
    started: float = field(default_factory=lambda: clock())  # noqa: PLW0108 -- the clock of the time it is made

    def __post_init__(self) -> None:
        if not self.seconds >= 0:  # which is also true of not-a-number
            raise InputError(f"the time limit must be a number of seconds of at least 0, not {self.seconds!r}")

    def fit(self, most: int, bytes_each: int, part: int = 1) -> int:
        """How many things of a size fit into a part of the memory, the one that is ``1 / part`` of it; at most so many.

        >>> Limits(bytes=1_000).fit(most=50, bytes_each=10, part=4), Limits().fit(most=50, bytes_each=10, part=4)
        (25, 50)
        """
        return most if self.bytes is None else min(most, self.bytes // (part * bytes_each))

    @cached_property
    def without_clock(self) -> Limits:
        """The same limits for work that is counted: someone may still ask to stop."""
        return replace(self, seconds=math.inf)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return clock() - self.started

    def reached(self, objective: float, bound: float, work: int) -> Stop | None:
        """Reports progress, and says whether to stop and why."""
        elapsed = self.elapsed
        if self.on_progress is not None and self.on_progress(Progress(objective, bound, work, elapsed)):
            return Stop.INTERRUPT
        return Stop.TIME if elapsed >= self.seconds else None

    def asked_to_stop(self, found: Certificate) -> bool:
        """Whether someone asks to stop after an engine is done, while more is looked at."""
        return found.bound is not None and self.reached(found.objective, found.bound, found.work) is Stop.INTERRUPT


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an engine found: labels per bucket, and what it can say for them.

    Attributes:
        mapping: Index of the label of each bucket.
        objective: Log-likelihood of the mapping.
        bound: No mapping in ``space`` is more likely; None if nothing was proved.
        space: Where the bound holds.
        work: Mappings or steps evaluated.
        stop: Why the engine stopped.
        margins: Where the engine has better ones than the loss of moving one bucket.
        runner_up: The likeliest of all other mappings in the space, where the engine knows it.
        tolerance: Within which the engine proves, where that is not the tolerance of an evaluation.
        witness: What lets another program check the bound, where the data alone do not.
        likelier: Log-likelihood of likelier labels that a proof met before it was stopped; None if it met none. They
            are not handed over, as it depends on the clock whether they are met.
        parameters: Matrices and shares that the engine found, where they do not follow from the mapping.
    """

    mapping: Ints
    objective: float
    bound: float | None
    space: Space
    work: int
    stop: Stop = Stop.FINISHED
    margins: Margins | None = None
    runner_up: Ints | None = None
    tolerance: float | None = None
    witness: dict[str, Any] | None = None
    likelier: float | None = None
    parameters: ModelParameters | None = None


@dataclass(frozen=True)
class Engine:
    """An engine, as its own file declares it; its title, and what its answers promise, are in model/claims.py.

    Attributes:
        name: By which users ask for it, and certificates name it.
        run: Solves a problem as well as the limits allow. Raises TooManyUpSets if there are more than it lists.
        refuses: Why it cannot answer a problem, as the rest of a sentence; None if it can.
        one_label: Whether it also answers where there is but one label to give.
    """

    name: str
    run: Callable[[Problem, Limits], Outcome]
    refuses: Callable[[Problem], str | None] = lambda _: None
    one_label: bool = False


def needs_order(problem: Problem) -> str | None:
    """Refuses problems where labels need not respect the order."""
    if problem.space is Space.DOMINANCE:
        return None
    return "searches labels that respect the order: ask for the space 'dominance'"


def is_tight(problem: Problem, outcome: Outcome) -> bool:
    """Whether the gap closes: what PROVED means, whatever an engine believes."""
    return outcome.bound is not None and outcome.bound - outcome.objective <= _tolerance(problem, outcome)


def _tolerance(problem: Problem, outcome: Outcome) -> float:
    return problem.tolerance(outcome.objective) if outcome.tolerance is None else outcome.tolerance


def certify(problem: Problem, outcome: Outcome, *, engine: str, seconds: float, fingerprint: str) -> Certificate:
    """Turns an outcome into a certificate."""
    proof = Proof.NONE
    if outcome.bound is not None:
        proof = Proof.PROVED if is_tight(problem, outcome) else Proof.BOUNDED
    return Certificate(
        proof=proof,
        stop=outcome.stop,
        space=outcome.space,
        given=problem.given,
        objective=outcome.objective,
        bound=outcome.bound,
        tolerance=_tolerance(problem, outcome),
        engine=engine,
        work=outcome.work,
        seconds=seconds,
        fingerprint=fingerprint,
        witness=outcome.witness,
    )
