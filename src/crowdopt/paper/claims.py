"""The paper's claims about its experiments, in its order, each with what was measured and a verdict.

A verdict is computed, by a criterion that stands next to the claim and goes out with it. Comparisons are judged by
intervals; words such as "near", "comparable" or "fairly well" had to be given a number, which was done with a pilot of
20 trials at hand, not blindly. So the numbers measured stand beside every verdict. Where the paper leaves a choice open
that matters (how random workers are drawn, how EM(*) breaks ties), a claim holds only if it does either way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crowdopt.paper.claims_appendix import APPENDIX_A, APPENDIX_C
from crowdopt.paper.claims_filtering import CHECKS as SECTION_3
from crowdopt.paper.claims_rating import APPENDIX_B, SECTION_4
from crowdopt.paper.verdicts import Claim, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt.paper.experiments import Experiment

__all__ = ["CHECKS", "Claim", "Verdict", "check_claims"]

CHECKS = (*SECTION_3, *SECTION_4, *APPENDIX_A, *APPENDIX_B, *APPENDIX_C)
"""All claims, in the order of the paper."""


def check_claims(experiments: Mapping[str, Experiment] | Iterable[Experiment]) -> list[Claim]:
    """Checks every claim against the experiments that were run; claims about others are "not measured"."""
    if not isinstance(experiments, Mapping):
        experiments = {experiment.name: experiment for experiment in experiments}
    return [check(experiments) for check in CHECKS]
