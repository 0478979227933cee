"""What comes out of a verification."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crowdopt.errors import one_line


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
