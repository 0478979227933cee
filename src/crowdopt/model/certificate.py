"""Certificate: what is known about an answer, over which space, by which engine, within which gap."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from crowdopt.errors import SolutionFileError
from crowdopt.model.strict_json import finite_number, of_kind


class Proof(StrEnum):
    """How much was proved."""

    PROVED = "PROVED"
    """No mapping in the space is more likely, beyond the tolerance."""
    BOUNDED = "BOUNDED"
    """No mapping in the space is more likely by more than the gap."""
    NONE = "NONE"
    """Nothing was proved: a heuristic answered."""


class Stop(StrEnum):
    """Why the engine stopped. Only FINISHED means that it did all it set out to do."""

    FINISHED = "FINISHED"
    TIME = "TIME"
    MEMORY = "MEMORY"
    INTERRUPT = "INTERRUPT"
    REACH = "REACH"
    """First bounds showed that a proof is out of reach."""


class Space(StrEnum):
    """The mappings among which the answer was sought."""

    DOMINANCE = "dominance"
    """Mappings that respect the order of the scale."""
    ALL = "all"
    """Every mapping of tasks to labels."""
    PARAMETERS = "parameters"
    """Every response matrix and all shares of labels, zeros included, for the marginal likelihood."""


MAPPING_SPACES = (Space.DOMINANCE, Space.ALL)
"""The spaces whose points are mappings."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What is known about an answer.

    Attributes:
        proof: PROVED, BOUNDED or NONE.
        stop: Why the engine stopped.
        space: The mappings among which ``bound`` holds. For two labels the default is ``dominance``; it reads
            ``all`` where the optimum is one over all mappings as well.
        given: What the proof takes for granted: for example the selectivity.
        objective: Log-likelihood of the answer, in nats; over ``parameters`` the marginal one.
        bound: No mapping in the space is more likely than this, and no parameters are; None where nothing was proved.
        tolerance: Log-likelihoods closer than this are not told apart (rounding included).
        engine: The engine that answered.
        work: Mappings (or steps) that the engine evaluated: a measure of effort free of the machine's noise.
        seconds: Time the engine took. Not part of any comparison.
        fingerprint: SHA-256 of the responses, counts and label texts that the certificate speaks of.
        witness: What lets another program check the bound, where the data alone do not; else None. For the engine
            ``columns``: ``prices`` of all buckets and the ``gains`` of all labels, or a ``bucket`` by whose label the
            space is split, with a witness for each part as ``children`` by label. For the marginal likelihood: the
            ``entries`` of parameters by which boxes are split, and where (``at``), depth first, -1 for a box that is
            not; and the class and answers whose probabilities give labels their ``names``.
    """

    proof: Proof
    stop: Stop
    space: Space
    given: tuple[str, ...]
    objective: float
    bound: float | None
    tolerance: float
    engine: str
    work: int
    seconds: float = field(compare=False)
    fingerprint: str
    witness: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if (self.bound is None) != (self.proof is Proof.NONE):
            raise ValueError("a bound is what tells BOUNDED and PROVED from NONE")
        if self.proof is Proof.PROVED and not (self.gap is not None and self.gap <= self.tolerance):
            raise ValueError(f"a gap of {self.gap} nats is not a proof")
        if self.work < 0 or self.seconds < 0:
            raise ValueError("nothing is done with less than no work, in less than no time")

    @property
    def likelihood(self) -> str:
        """What is maximised: ``joint``, that of decided labels, or ``marginal``, with the labels averaged over."""
        return "marginal" if self.space is Space.PARAMETERS else "joint"

    @property
    def gap(self) -> float | None:
        """Nats by which a better mapping could still win; never negative; None where nothing was proved."""
        return None if self.bound is None else max(0.0, self.bound - self.objective)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain JSON values."""
        return {
            "proof": self.proof.value,
            "stop": self.stop.value,
            "space": self.space.value,
            "given": list(self.given),
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "tolerance": self.tolerance,
            "engine": self.engine,
            "work": self.work,
            "seconds": self.seconds,
            "fingerprint": self.fingerprint,
            "witness": self.witness,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The inverse of :meth:`to_dict`; a stored gap that does not follow from the rest is an error."""
        try:
            certificate = cls(
                proof=Proof(data["proof"]),
                stop=Stop(data["stop"]),
                space=Space(data["space"]),
                given=tuple(of_kind(item, str, "not a text") for item in data["given"]),
                objective=finite_number(data["objective"]),
                bound=None if data["bound"] is None else finite_number(data["bound"]),
                tolerance=finite_number(data["tolerance"]),
                engine=of_kind(data["engine"], str, "not a text"),
                work=of_kind(data["work"], int, "not a whole number"),
                seconds=finite_number(data["seconds"]),
                fingerprint=of_kind(data["fingerprint"], str, "not a text"),
                witness=None if data["witness"] is None else of_kind(data["witness"], dict, "no witness"),
            )
        except KeyError as error:
            raise _damaged(f"{error} is missing") from error
        except ValueError as error:
            raise _damaged(str(error)) from error
        except TypeError as error:
            raise _damaged("what is given is not a list of texts") from error
        if data.get("gap") != certificate.gap:
            raise SolutionFileError(f"the certificate's gap {data.get('gap')!r} does not follow from its bound")
        return certificate


def _damaged(what: str) -> SolutionFileError:
    return SolutionFileError(f"the certificate is damaged: {what}")
