"""Proofs beside the consensus of the same responses: what that gives to doubt, or why nobody looked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from crowdopt.data.known_labels import TASK_TEXT, with_text
from crowdopt.data.parts import EncodedParts
from crowdopt.data.tables.table import fetch_arrow
from crowdopt.model.certificate import Stop
from crowdopt.results.answers import NO_ROW
from crowdopt.results.doubts import doubts_about_proof
from crowdopt.results.groups.answers_grouped import buckets_by_group
from crowdopt.results.source_consensus import SourceConsensus, consensus_of, known_shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.work import OnShare
    from crowdopt.data.coded import Encoded
    from crowdopt.data.groups import GroupedSource
    from crowdopt.data.load import Source
    from crowdopt.results.solution_proof import ProofSolution

MOST_RESPONSES = 2_000_000
"""Responses up to which the consensus is found for a proof, which takes seconds; beyond, majorities must do."""

INTERRUPTED, LEFT = "the search was interrupted", "someone asked to stop"
"""Why nobody looks at the consensus of an answer that the user waited for long enough."""

ALONE = "these labels were compared with majorities only"
"""What is said where nobody looked at the consensus."""

ToCompare: TypeAlias = "tuple[Encoded, Ints] | str"
"""The responses of a group and the bucket of each of their tasks; or why they are not compared."""


_Proof = TypeVar("_Proof", bound="ProofSolution")


@dataclass(frozen=True)
class ConsensusComparison:
    """What a look at the consensus says of proved labels.

    Attributes:
        doubts: Why the labels should be checked; empty if nothing speaks against them.
        missing: Why nobody looked at the consensus; empty if somebody did.
    """

    doubts: tuple[str, ...] = ()
    missing: str = ""

    @property
    def advice(self) -> tuple[str, ...]:
        """What the user should hear if nobody looked."""
        return (f"{ALONE}: {self.missing}; crowdopt aggregate may differ",) if self.missing else ()

    def of(self, solution: _Proof) -> _Proof:
        """The proof with what was found."""
        other = (line for line in solution.advice if not line.startswith(ALONE))
        advice = (*other, *self.advice)
        return replace(solution, doubts=self.doubts, advice=advice, left=self.missing == LEFT)


class _StopAskedError(Exception):
    """Someone asked to leave it."""


def beside_consensus(
    solution: ProofSolution,
    consensus: SourceConsensus | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_share: OnShare | None = None,
) -> ConsensusComparison:
    """Sets a proof, which has its source, beside the consensus; a heuristic promises nothing, and is not compared.

    Args:
        solution: The proof.
        consensus: The consensus of the same responses, if somebody has it already.
        stop: Asked now and then whether to leave it.
        on_share: Told now and then the share of the consensus that is found.
    """
    if solution.certificate.bound is None:
        return ConsensusComparison()

    def told(share: float) -> None:
        if stop():
            raise _StopAskedError
        if on_share is not None:
            on_share(share)

    source = solution.need_source()
    if consensus is None:
        if missing := _reason_not_to_compare(source, solution):
            return ConsensusComparison(doubts_about_proof(solution), missing)
        try:
            consensus = consensus_of(source, _shares(solution), told)
        except _StopAskedError:
            return ConsensusComparison(doubts_about_proof(solution), LEFT)
    rows = _buckets_of(solution, consensus.whole.names)
    return ConsensusComparison(doubts_about_proof(solution, consensus, rows))


def _reason_not_to_compare(source: Source | GroupedSource, solution: ProofSolution | None = None) -> str:
    """Why the consensus is not found for a proof; empty if nothing speaks against it."""
    if solution is not None and solution.certificate.stop is Stop.INTERRUPT:
        return INTERRUPTED
    if source.elsewhere:
        return f"the responses stay on the {source.elsewhere}"
    return f"there are more than {MOST_RESPONSES:,} responses" if source.n_responses > MOST_RESPONSES else ""


def what_to_compare(source: GroupedSource) -> list[ToCompare]:
    """What each group needs to be compared with the consensus, or why it is not."""
    if missing := _reason_not_to_compare(source):
        return [missing] * len(source.groups)
    encoded = source.encoded()
    buckets = buckets_by_group(source, {group: one.tasks for group, one in encoded.items()})
    return [(encoded[group], buckets[group]) for group in source.groups]


def group_beside_consensus(solution: ProofSolution, compared: ToCompare) -> ConsensusComparison:
    """Sets the proof of a group, which has no source, beside the consensus."""
    if solution.certificate.bound is None:
        return ConsensusComparison()
    if isinstance(compared, str) or solution.interrupted:
        missing = compared if isinstance(compared, str) else INTERRUPTED
        return ConsensusComparison(doubts_about_proof(solution), missing)
    encoded, buckets = compared
    consensus = SourceConsensus.of(EncodedParts.of(encoded), solution.scale, _shares(solution))
    return ConsensusComparison(doubts_about_proof(solution, consensus, buckets))


def _shares(solution: ProofSolution) -> Floats | None:
    return known_shares(solution.objective.shares, solution.reading.found)


def _buckets_of(solution: ProofSolution, tasks: Any) -> Ints:
    """The bucket of each task (an Arrow array of texts); NO_ROW for those of known label."""
    import pyarrow.compute as pc

    placed = fetch_arrow(with_text(solution.placed()[0]).select(TASK_TEXT, "row"))
    at = np.full(len(tasks), NO_ROW)
    at[pc.index_in(placed[TASK_TEXT].combine_chunks(), tasks).to_numpy()] = placed["row"].to_numpy()
    return at
