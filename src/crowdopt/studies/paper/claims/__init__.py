"""The paper's claims about its experiments and its counts, in its order, each with what was measured and a verdict.

A verdict is computed, by a criterion that stands next to the claim and goes out with it. Comparisons are judged by
intervals; words such as "near", "comparable" or "fairly well" had to be given a number, which was done with a pilot of
20 trials at hand, not blindly. So the numbers measured stand beside every verdict. Where the paper leaves a choice open
that matters (how random workers are drawn, how EM breaks ties), a claim holds only if it does either way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crowdopt.studies.paper.claims import counts
from crowdopt.studies.paper.claims.appendix import CHECKS as APPENDIX_A
from crowdopt.studies.paper.claims.filtering import CHECKS as SIMULATED
from crowdopt.studies.paper.claims.rating import APPENDIX_B
from crowdopt.studies.paper.claims.rating import RATINGS_OF_SECTION_4 as RATING
from crowdopt.studies.paper.claims.real import CHECKS as REAL
from crowdopt.studies.paper.verdicts import Claim, ClaimVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt.studies.paper.experiments import Experiment

__all__ = ["CHECKS", "Claim", "ClaimVerdict", "check_claims"]

CHECKS = (
    *counts.SECTION_1, *counts.SECTION_3, *SIMULATED, *REAL, *counts.COUNTS_OF_SECTION_4, *RATING, *counts.SECTION_4_4,
    *counts.SECTION_5, *APPENDIX_A, *APPENDIX_B, *counts.APPENDIX_C,
)  # fmt: skip
"""All claims, in the order of the paper."""


def check_claims(experiments: Mapping[str, Experiment] | Iterable[Experiment]) -> list[Claim]:
    """Checks every claim against the experiments that were run; claims about others are "not measured"."""
    if not isinstance(experiments, Mapping):
        experiments = {experiment.name: experiment for experiment in experiments}
    return [
        Claim(position, check.where, check.claim, check.criterion, check.judge(experiments))
        for position, check in enumerate(CHECKS, 1)
    ]
