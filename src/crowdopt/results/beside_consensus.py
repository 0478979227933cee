"""Proofs beside the consensus of the same responses: what that gives to doubt, or why nobody looked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from crowdopt.data.known_labels import TASK_TEXT, with_text
from crowdopt.data.readers.addresses import Database
from crowdopt.data.tables.spark import is_spark
from crowdopt.data.tables.table import fetch_arrow
from crowdopt.results.answers import NO_ROW
from crowdopt.results.consensus_tasks import SourceConsensus, consensus_of, known_shares
from crowdopt.results.doubts import doubts_about_proof
from crowdopt.results.groups.answers_grouped import buckets_by_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.encode import Encoded
    from crowdopt.data.groups import GroupedSource
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution_proof import ProofSolution

MOST_RESPONSES = 2_000_000
"""Responses up to which the consensus is found for a proof, which takes seconds; beyond, majorities must do."""


INTERRUPTED = "the search was interrupted"
"""Why nobody looks at the consensus of an answer that the user waited for long enough."""

ToCompare: TypeAlias = "tuple[Encoded, Ints] | str"
"""The responses of a group and the bucket of each of their tasks; or why they are not compared."""


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
        if not self.missing:
            return ()
        return (f"these labels were compared with majorities only: {self.missing}; crowdopt aggregate may differ",)


class _StopAskedError(Exception):
    """Someone asked to leave it."""


def _reason_not_to_compare(responses: Table, original: Any, n_responses: int) -> str:
    """Why the consensus of some responses is not found for a proof; empty if nothing speaks against it."""
    if is_spark(responses):
        return "the responses stay on the cluster"
    if isinstance(original, Database) and original.kind == "postgresql":
        return "the responses stay on the server"
    return f"there are more than {MOST_RESPONSES:,} responses" if n_responses > MOST_RESPONSES else ""


def beside_consensus(
    solution: ProofSolution, consensus: SourceConsensus | None = None, stop: Callable[[], bool] = lambda: False
) -> ConsensusComparison:
    """Sets a proof, which has its source, beside the consensus.

    Args:
        solution: The proof.
        consensus: The consensus of the same responses, if somebody has it already.
        stop: Asked now and then whether to leave it.
    """

    def on_member(_: str) -> None:
        if stop():
            raise _StopAskedError

    try:
        if consensus is None:
            source = solution.need_source()
            missing = INTERRUPTED if solution.interrupted else ""
            missing = missing or _reason_not_to_compare(
                source.responses.table, source.original, source.totals.n_responses
            )
            if missing or solution.certificate.bound is None:
                return without_consensus(solution, missing)
            consensus = consensus_of(source, _shares(solution), on_member)
    except _StopAskedError:
        return without_consensus(solution, "someone asked to stop")
    tasks = consensus.tasks(solution.scale)
    return ConsensusComparison(doubts_about_proof(solution, tasks, _buckets_of(solution, tasks.names)))


def without_consensus(solution: ProofSolution, missing: str) -> ConsensusComparison:
    """What there is to doubt without a look at the consensus; of a heuristic, which promises nothing, not a word."""
    return (
        ConsensusComparison()
        if solution.certificate.bound is None
        else ConsensusComparison(doubts_about_proof(solution), missing)
    )


def what_to_compare(source: GroupedSource) -> list[ToCompare]:
    """What each group needs to be compared with the consensus, or why it is not."""
    n_responses = sum(counted.totals.n_responses for counted in source.groups.values())
    if missing := _reason_not_to_compare(source.responses, source.original, n_responses):
        return [missing] * len(source.groups)
    encoded = source.encoded()
    buckets = buckets_by_group(source, {group: one.tasks for group, one in encoded.items()})
    return [(encoded[group], buckets[group]) for group in source.groups]


def group_beside_consensus(solution: ProofSolution, compared: ToCompare) -> ConsensusComparison:
    """Sets the proof of a group, which has no source, beside the consensus."""
    if isinstance(compared, str):
        return without_consensus(solution, compared)
    if solution.interrupted or solution.certificate.bound is None:
        return without_consensus(solution, INTERRUPTED)
    encoded, buckets = compared
    consensus = SourceConsensus.of(encoded, np.full(encoded.coded.n_tasks, -1), _shares(solution))
    return ConsensusComparison(doubts_about_proof(solution, consensus.tasks(solution.scale), buckets))


def _shares(solution: ProofSolution) -> Floats | None:
    return known_shares(solution.objective.shares, solution.reading.found)


def _buckets_of(solution: ProofSolution, tasks: Any) -> Ints:
    """The bucket of each task (an Arrow array of texts); NO_ROW for those of known label."""
    import pyarrow.compute as pc

    placed = fetch_arrow(with_text(solution.placed()[0]).select(TASK_TEXT, "row"))
    at = np.full(len(tasks), NO_ROW)
    at[pc.index_in(placed[TASK_TEXT].combine_chunks(), tasks).to_numpy()] = placed["row"].to_numpy()
    return at
