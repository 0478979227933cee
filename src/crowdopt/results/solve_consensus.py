"""From coded responses to a ConsensusSolution. It needs nothing of the data themselves: any process can do it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.data.parts import EncodedParts
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.model.agreement import Agreement, agreement
from crowdopt.model.objective import read_shares
from crowdopt.model.scale import named_labels
from crowdopt.model.sparse_agreement import SparseVotes, sparse_agreement
from crowdopt.results.doubts import doubts_about_crowd
from crowdopt.results.given_tasks import GivenTasks
from crowdopt.results.kinds import UNCERTAIN_BELOW
from crowdopt.results.solution_consensus import ConsensusSolution, expected_shape
from crowdopt.results.source_consensus import SourceConsensus
from crowdopt.results.words.contradicted import that_teach_nothing

if TYPE_CHECKING:
    from typing import Any

    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.work import OnShare
    from crowdopt.data.counts import CountedProblem
    from crowdopt.data.encode import Encoded
    from crowdopt.model.scale import Scale
    from crowdopt.results.consensus_tasks import AnyTasks


def solve_consensus(
    counted: CountedProblem,
    parts: EncodedParts,
    label_shares: Any = None,
    on_share: OnShare | None = None,
) -> ConsensusSolution:
    """Finds the consensus of one problem.

    Args:
        counted: What was counted of it.
        parts: Its responses.
        label_shares: The known shares of the labels, as the user says them; None if they are not known.
        on_share: Called now and then with the share of the work that is done.
    """
    scale = counted.scale
    shares = read_label_shares(label_shares, scale)
    consensus = SourceConsensus.of(parts, scale, shares, on_share)
    found = _Sums.of(consensus)
    return ConsensusSolution(
        scale=scale,
        totals=counted.totals,
        reading=counted.reading,
        notes=counted.notes,
        crowd=found.agreement(counted),
        parameters=consensus.parameters,
        worker_names=tuple(parts.workers.to_pylist()),
        given_shares=() if shares is None else tuple(shares.tolist()),
        label_tasks=tuple(found.label_tasks.tolist()),
        expected_answers=found.expected_answers,
        mean_confidence=found.confidence / int(found.label_tasks.sum()) if found.label_tasks.any() else 1.0,
        n_uncertain=found.n_uncertain,
        n_tied=found.n_tied,
        fingerprint=counted.fingerprint,
        doubts=found.doubts,
        advice=that_teach_nothing(consensus.of_known_label),
        tasks=consensus,
    )


@dataclass(eq=False)
class _Sums:
    """What the tasks of all parts add up to; see ``ConsensusSolution``."""

    label_tasks: Ints
    expected_answers: Floats
    confidence: float = 0.0
    n_uncertain: int = 0
    n_tied: int = 0
    doubts: tuple[str, ...] = ()
    votes: list[SparseVotes] = field(default_factory=list)

    @classmethod
    def of(cls, consensus: SourceConsensus) -> _Sums:
        """Looks at every part once."""
        n_labels = consensus.scale.n_labels
        sums = cls(np.zeros(n_labels, np.int64), np.zeros(expected_shape(n_labels, consensus.parameters)))
        sums.doubts = doubts_about_crowd(map(sums.added, consensus), consensus.share_proven)
        return sums

    def agreement(self, counted: CountedProblem) -> Agreement:
        """How far the workers agree, by what was counted; of many labels by the votes on all tasks."""
        if counted.scale.has_many_labels:
            return sparse_agreement(SparseVotes.joined(self.votes), counted.scale.kind)
        return agreement(counted.buckets.counts, counted.buckets.weights, metric=counted.scale.kind)

    def added(self, tasks: AnyTasks) -> AnyTasks:
        """The same tasks, which are now part of the sums."""
        if tasks.scale.has_many_labels and isinstance(tasks, GivenTasks):
            self.votes.append(tasks.all_votes)
        free, labelled = tasks.free, tasks.labelled
        confidence = labelled.confidence[free]
        self.label_tasks += np.bincount(labelled.labels[free], minlength=len(self.label_tasks))
        self.expected_answers += tasks.expected_answers()
        self.confidence += float(confidence.sum())
        self.n_uncertain += int((confidence < UNCERTAIN_BELOW).sum())
        self.n_tied += int(labelled.tied[free].sum())
        return tasks


def find_group_consensus(item: tuple[CountedProblem, Encoded, Any]) -> ConsensusSolution | str:
    """The consensus of one group, given the known shares of its labels; a text says why there is none."""
    counted, encoded, label_shares = item
    try:
        return solve_consensus(counted, EncodedParts.of(encoded), label_shares)
    except CrowdoptError as error:
        return str(error)
    except MemoryError:
        return "there was not enough memory to aggregate it; try --jobs 1"


def read_label_shares(given: Any, scale: Scale) -> Floats | None:
    """The known shares of the labels in the order of the scale; None if there are none.

    Raises:
        InputError: They are no positive shares, or not those of the labels.
    """
    if given is None:
        return None
    shares = np.array(read_shares(given, scale.labels, "label_shares"))
    if not ((shares > 0) & (shares <= 1)).all() or abs(shares.sum() - 1) > 1e-6:
        raise InputError(f"the label shares must be above 0 and sum to 1, not {named_labels([*map(str, shares)])}")
    exact = abs(shares.sum() - 1) < 1e-12  # as those of a solution file are, which must come out as they were
    return shares if exact else np.asarray(shares / shares.sum())
