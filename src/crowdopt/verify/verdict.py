"""What comes out of a verification."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from crowdopt.errors import one_line
from crowdopt.options.words import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator


def about_notes(found: tuple[str, ...], stored: tuple[str, ...]) -> Iterator[str]:
    """Whether a solution says of the rows what the data say: a file that keeps silent about them is not true."""
    if found != stored:
        ours, theirs = ("; ".join(notes) or "nothing" for notes in (found, stored))
        yield f"what is odd about the rows is '{ours}' by the data, '{theirs}' in the solution"


class Verdict(StrEnum):
    """What came out of a verification."""

    CONFIRMED = "CONFIRMED"
    """What the solution says about the data is right, the bound included; its work, seconds and seed are its own.

    Of engines that prove nothing (EM), this means the likelihood, counts and margins, not how the labels were found.
    """
    BOUND_NOT_RECHECKED = "BOUND NOT RE-CHECKED"
    """Likelihood, labels and counts are right; time or size stopped the check of the bound, margins or ties."""
    REPRODUCED = "REPRODUCED"
    """The data give the same consensus once more, number by number. Nothing is proved by that."""
    REJECTED = "REJECTED"
    """Something is wrong."""


EXIT_CODES = {
    Verdict.CONFIRMED: 0,
    Verdict.REPRODUCED: 0,
    Verdict.REJECTED: 1,
    Verdict.BOUND_NOT_RECHECKED: 3,
}


@dataclass(frozen=True)
class Verification:
    """The verdict.

    Attributes:
        reasons: What is wrong, or why the bound was not checked.
        claim: What the solution says, of which that is the verdict: an unproved answer is confirmed as unproved.
        notes: What is odd about the rows and what was done with them, by the data.
        check: Why the answers should be checked all the same, in words. Of a consensus these doubts follow from the
            data; of a proof they are what its file says.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    claim: str = ""
    check: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", tuple(map(one_line, self.reasons)))
        object.__setattr__(self, "claim", one_line(self.claim))
        object.__setattr__(self, "check", tuple(map(one_line, self.check)))

    @property
    def exit_code(self) -> int:
        """0, 3 or 1: confirmed or reproduced, bound not re-checked, rejected."""
        return EXIT_CODES[self.verdict]

    def spoken(self) -> Verification:
        """The verdict in the words of who is speaking."""
        reasons, check, notes = (tuple(map(spoken, said)) for said in (self.reasons, self.check, self.notes))
        return replace(self, reasons=reasons, claim=spoken(self.claim), check=check, notes=notes)

    def with_answers(self, differences: tuple[str, ...]) -> Verification:
        """The verdict after answers were compared, with what differs in them."""
        if not differences:
            return replace(self, claim=f"{self.claim}; the answers are the same, task by task")
        return replace(self, verdict=Verdict.REJECTED, reasons=(*differences, *self.reasons))
