"""Doubts: why answers should be checked before anybody relies on them, in words. They come before every green word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.known_labels import TASK_TEXT, with_text
from crowdopt.data.readers.addresses import Database
from crowdopt.data.tables.spark import is_spark
from crowdopt.data.tables.table import fetch_arrow
from crowdopt.model.agreement import excess_over_chance
from crowdopt.results.consensus_tasks import consensus_of, known_shares, label_probabilities
from crowdopt.results.words.sentences import overruling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crowdopt._arrays import Ints
    from crowdopt.data.load import Source
    from crowdopt.results.consensus_tasks import ConsensusTasks, SourceConsensus
    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_proof import ProofSolution

MOST_RESPONSES = 2_000_000
"""Responses up to which proved labels are set beside the consensus; else, as in a database, beside majorities only."""

CHANCE_ERRORS = 2.0
"""Standard errors by which agreement must exceed what chance gives to be told from it."""

PROVEN = 0.5
"""Share of the responses from which on workers who answered tasks of known label vouch for a crowd."""


def doubts_about_crowd(tasks: ConsensusTasks) -> tuple[str, ...]:
    """Why no labels of this crowd can be relied on; empty if nothing speaks against them.

    A worker who repeats an answer does not agree with anybody. Tasks of known label tell how good workers are, too.
    """
    voters = tasks.voters[tasks.free]
    found = [excess_over_chance(voters, metric) for metric in ("nominal", tasks.scale.kind)]
    excess = max((one for one in found if one is not None), default=None)
    if excess is None:
        return () if tasks.share_proven > PROVEN else (_never_disagreed(voters),)
    if excess > CHANCE_ERRORS:
        return ()
    n_tasks = int((voters.sum(axis=1) > 1).sum())
    said = f"two workers agree on a task no more often than by chance (tasks: {n_tasks:,})"
    why, remedy = "these labels may be guesses", "look at the question, or collect more responses"
    if excess > 0:
        said = f"two workers agree on a task hardly more often than by chance (tasks: {n_tasks:,})"
        why, remedy = "that may be luck", "have more tasks answered twice"
    return (f"{said}, so {why}; {remedy}",)


def _never_disagreed(voters: Ints) -> str:
    if not (voters.sum(axis=1) > 1).any():
        return "no task was answered by two workers, so nothing tells how good they are; have tasks answered twice"
    found = "all responses to tasks that several workers answered are the same label"
    return f"{found}, so agreement cannot be told from chance; add tasks that should get another label"


def doubts_about_proof(solution: ProofSolution, consensus: SourceConsensus | None = None) -> tuple[str, ...]:
    """Why proved labels are to be checked: they overrule majorities, or the consensus, on too many tasks.

    Args:
        solution: The proof.
        consensus: The consensus of the same responses, if somebody has it already.
    """
    if solution.certificate.bound is None:
        return ()  # a heuristic promises nothing
    source = solution.source
    shares = {"clear majorities": solution.buckets.overruled(solution.mapping)}
    if consensus is None and source is not None and not solution.interrupted and _are_here(source):
        consensus = consensus_of(source, known_shares(solution.objective.shares, solution.reading.found))
    if consensus is not None:
        shares["the consensus"] = _against_consensus(solution, consensus)
    return overruling(shares)


def doubts_again(solution: ProofSolution) -> tuple[str, ...]:
    """The same of a proof from a file, with its data; what it says stays where the consensus is not computed here."""
    source = solution.source
    stays = solution.doubts if source is None or not _are_here(source) else ()
    return stays or doubts_about_proof(solution)


def doubts_about_groups(groups: Mapping[str, Solution]) -> tuple[str, ...]:
    """How many groups are to be checked, and why the first of them; empty if none is."""
    doubts = [(group, one.doubts[0]) for group, one in groups.items() if one.doubts]
    return tuple(f"{len(doubts):,} of {len(groups):,} groups; {group!r}: {why}" for group, why in doubts[:1])


def _are_here(source: Source) -> bool:
    """Whether the responses may all be looked at: a database and a cluster keep their rows, and many rows take long."""
    elsewhere = isinstance(source.original, Database) or is_spark(source.responses.table)
    return source.totals.n_responses <= MOST_RESPONSES and not elsewhere


def _against_consensus(solution: ProofSolution, consensus: SourceConsensus) -> float:
    """Share of the tasks that the consensus labels otherwise."""
    import pyarrow.compute as pc

    encoded, votes = consensus.encoded, consensus.rows.votes.sum(axis=0)
    labelled = label_probabilities(consensus.found.probabilities, solution.scale, votes)
    table, mapping = solution.placed()
    placed = fetch_arrow(with_text(table).select(TASK_TEXT, "row"))
    at = pc.index_in(placed[TASK_TEXT].combine_chunks(), encoded.tasks).to_numpy()
    differ = mapping[placed["row"].to_numpy()] != labelled.labels[at]
    return float((differ & ~labelled.tied[at]).mean()) if len(at) else 0.0
