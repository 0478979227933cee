"""Doubts: why answers should be checked before anybody relies on them, in words. They come before every green word."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.errors import CheckWarning, DataWarning
from crowdopt.model.agreement import excess_over_chance
from crowdopt.model.sparse_agreement import SparseVotes, sparse_excess
from crowdopt.options.words import python_speaks, python_words
from crowdopt.results.tasks.consensus_tasks import TaskSums
from crowdopt.results.words.contradicted import Contradicted
from crowdopt.results.words.sentences import overruling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Ints
    from crowdopt.model.scale import Scale
    from crowdopt.results.cluster.consensus import ClusterConsensus
    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.solutions import Solutions
    from crowdopt.results.source_consensus import SourceConsensus

CHANCE_ERRORS = 2.0
"""Standard errors by which agreement must exceed what chance gives to be told from it."""

FEW = 5
"""Tasks of known label below which nobody wonders whether their labels were exchanged."""

PROVEN = 0.5
"""Share of the responses from which on workers who answered tasks of known label vouch for a crowd."""


def doubts_about_crowd(consensus: SourceConsensus | ClusterConsensus) -> tuple[str, ...]:
    """Why no labels of this crowd can be relied on; empty if nothing speaks against them.

    A worker who repeats an answer does not agree with anybody. Tasks of known label tell how good workers are, too.
    """
    said = _about_agreement(consensus.sums, consensus.scale, proven=consensus.share_proven > PROVEN)
    return (*said, *_about_known(Contradicted.in_tasks(consensus.of_known_label)))


def _about_agreement(sums: TaskSums, scale: Scale, *, proven: bool) -> tuple[str, ...]:
    """Whether workers agree with each other more than by chance."""
    if not sums.sparse:
        return _about_chance(sums.voters, sums.weights, scale, proven=proven)
    voters = SparseVotes.joined([one for one, _ in sums.sparse])
    found = [sparse_excess(voters, metric) for metric in ("nominal", scale.kind)]
    return _about_excess(found, int((voters.totals > 1).sum()), proven=proven)


def _about_known(found: Contradicted) -> tuple[str, ...]:
    """Whether known labels may have been exchanged."""
    n_clear, n_against = found.n_clear, len(found.cases)
    if n_clear < FEW or 2 * n_against <= n_clear:
        return ()
    said = f"known labels contradict most of the {found.who} on {n_against:,} of {n_clear:,} tasks ({found.examples})"
    return (f"{said}, so these labels may have been exchanged; look at them",)


def doubts_about_proof(
    solution: ProofSolution, consensus: SourceConsensus | None = None, rows: Ints | None = None
) -> tuple[str, ...]:
    """Why proved labels are to be checked: nobody can know them, or they overrule majorities or the consensus.

    Args:
        solution: The proof.
        consensus: That of the same responses; None if nobody found it.
        rows: The bucket of each of its tasks, or a negative number.
    """
    buckets, mapping = solution.buckets, solution.mapping
    shares = {"clear majorities": buckets.overruled(mapping)}
    if consensus is None or rows is None:
        votes, proven = buckets.counts.sum(axis=1), solution.totals.n_gold > 0
        found = Contradicted(0, ()) if solution.source is None else Contradicted.in_counts(solution.source)
        following = _following(found, shares, solution)
        if solution.reading.duplicates == "all":  # counts do not tell who repeats an answer, and so agrees with nobody
            return following
        # Where a worker's different answers to a task count, they look like disagreement: that gives more to doubt.
        return (*_about_chance(votes, buckets.weights, solution.scale, proven=proven), *following)
    tasks, here = consensus.whole, rows >= 0
    overruled = (mapping[rows[here]] != tasks.labels[here]) & ~tasks.labelled.tied[here]
    shares["the consensus"] = float(overruled.mean()) if len(overruled) else 0.0
    said = _about_agreement(TaskSums.of(tasks), solution.scale, proven=consensus.share_proven > PROVEN)
    return (*said, *_following(Contradicted.in_tasks(tasks), shares, solution))


def _following(found: Contradicted, shares: dict[str, float], solution: ProofSolution) -> tuple[str, ...]:
    """What to say of proved labels that overrule others, and of the known labels that they may follow."""
    overruled = overruling(shares)
    follow = found.cases and (overruled or _exchanged(found, solution))
    return (*((found.that_labels_follow(),) if follow else _about_known(found)), *overruled)


def _exchanged(found: Contradicted, solution: ProofSolution) -> bool:
    """Whether most tasks with the same clear majority as one of known label got its label, too."""
    votes, index = solution.buckets.counts.sum(axis=1), solution.scale.index
    clear = 2 * votes.max(axis=1) > votes.sum(axis=1)
    crossed = np.zeros((votes.shape[1], votes.shape[1]), np.int64)
    np.add.at(crossed, (votes.argmax(axis=1)[clear], solution.mapping[clear]), solution.buckets.weights[clear])
    pairs = {(index(answer), index(known)) for _, known, answer, _, _ in found.cases}
    return any(crossed[answer, known] > crossed[answer, answer] for answer, known in pairs)


def _about_chance(votes: Ints, weights: Ints, scale: Scale, *, proven: bool) -> tuple[str, ...]:
    found = [excess_over_chance(votes, metric, weights) for metric in ("nominal", scale.kind)]
    return _about_excess(found, int(weights[votes.sum(axis=1) > 1].sum()), proven=proven)


def _about_excess(found: Iterable[float | None], n_tasks: int, *, proven: bool) -> tuple[str, ...]:
    """Whether workers agree more than by chance, or else, if they are not proven, why that cannot be asked.

    Args:
        found: By how many standard errors they do, as categories and on the scale.
        n_tasks: How many tasks two workers answered.
        proven: Whether workers are known by tasks of known label.
    """
    excess = max((one for one in found if one is not None), default=None)
    if (excess is None and proven) or (excess is not None and excess > CHANCE_ERRORS):
        return ()
    if not n_tasks:
        return ("no task was answered by two workers, so nothing tells how good they are; have tasks answered twice",)
    if excess is None:
        said = "all responses to tasks that several workers answered are the same label"
        return (f"{said}, so agreement cannot be told from chance; add tasks that should get another label",)
    if excess > 0:
        said = "two workers agree on a task little more often than by chance, or on too few tasks to tell"
        return (f"{said} ({n_tasks:,}), so that may be luck; have more tasks answered twice",)
    said = f"two workers agree on a task no more often than by chance (tasks: {n_tasks:,})"
    return (f"{said}, so these labels may be guesses; look at the question, or collect more responses",)


def doubts_about_groups(groups: Mapping[str, Solution]) -> tuple[str, ...]:
    """How many groups are to be checked, and why the first of them; empty if none is."""
    doubts = [(group, one.doubts[0]) for group, one in groups.items() if one.doubts]
    return tuple(f"{len(doubts):,} of {len(groups):,} groups; {group!r}: {why}" for group, why in doubts[:1])


def doubts_of(result: Solution | Solutions[Any]) -> tuple[str, ...]:
    """Why one solution, or those of groups, should be checked."""
    return doubts_about_groups(result) if isinstance(result, Mapping) else result.doubts


def notes_of(result: Solution | Solutions[Any]) -> tuple[str, ...]:
    """What is odd about the data: notes on the rows, true labels that nobody gave, known labels that teach nothing."""
    if isinstance(result, Mapping):
        idle: tuple[str, ...] = ()
        measured = result.accuracy.get(None), result.export_accuracy.get(None)
    else:
        idle = result.advice if result.kind == "consensus" else ()
        measured = result.accuracy, result.export_accuracy
    others = [
        one.off_scale.in_words(f"{one.n_tasks:,} tasks of known label", result.reading) for one in measured if one
    ]
    return (*result.notes, *filter(None, others), *idle)


def warn_of(doubts: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Warns whoever called this package of doubts and of notes about the data; the command line prints them itself."""
    if not python_speaks():
        return
    level, frame = 1, sys._getframe()  # noqa: SLF001 -- inspect.stack() reads all files of the stack
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
        level, frame = level + 1, frame.f_back
    for note in notes:
        warnings.warn(f"note: {python_words(note)}", DataWarning, stacklevel=level)
    for doubt in doubts:
        warnings.warn(f"CHECK: {python_words(doubt)}", CheckWarning, stacklevel=level)
