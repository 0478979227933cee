"""From coded responses to a ConsensusSolution. It needs nothing of the data themselves: any process can do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.data.parts import EncodedParts
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.model.agreement import Agreement, agreement
from crowdopt.model.objective import read_shares
from crowdopt.model.scale import named_labels
from crowdopt.model.sparse_agreement import SparseVotes, sparse_agreement
from crowdopt.results.doubts import doubts_about_crowd
from crowdopt.results.solution_consensus import ConsensusSolution
from crowdopt.results.source_consensus import SourceConsensus
from crowdopt.results.words.contradicted import that_teach_nothing

if TYPE_CHECKING:
    from typing import Any

    from crowdopt._arrays import Floats
    from crowdopt.consensus.work import OnShare
    from crowdopt.data.coded import Encoded
    from crowdopt.data.counts import CountedProblem
    from crowdopt.data.load import Source
    from crowdopt.model.scale import Scale
    from crowdopt.results.cluster.consensus import ClusterConsensus
    from crowdopt.results.tasks.consensus_tasks import TaskSums


def solve_consensus(
    counted: CountedProblem,
    parts: EncodedParts | Source,
    label_shares: Any = None,
    on_share: OnShare | None = None,
) -> ConsensusSolution:
    """Finds the consensus of one problem.

    Args:
        counted: What was counted of it.
        parts: Its responses; or their source, if they stay on a cluster.
        label_shares: The known shares of the labels, as the user says them; None if they are not known.
        on_share: Called now and then with the share of the work that is done.
    """
    scale = counted.scale
    shares = read_label_shares(label_shares, scale)
    consensus = found_consensus(parts, scale, shares, on_share)
    sums = consensus.sums
    n_free = int(sums.label_tasks.sum())
    return ConsensusSolution(
        scale=scale,
        totals=counted.totals,
        reading=counted.reading,
        notes=counted.notes,
        crowd=_agreement(counted, sums),
        learnt=consensus.learnt,
        given_shares=() if shares is None else tuple(shares.tolist()),
        label_tasks=tuple(map(int, sums.label_tasks)),
        expected_answers=sums.expected_answers,
        mean_confidence=float(sums.confidence.sum()) / n_free if n_free else 1.0,
        n_uncertain=int(sums.n_uncertain),
        n_tied=int(sums.n_tied),
        fingerprint=counted.fingerprint,
        doubts=doubts_about_crowd(consensus),
        advice=that_teach_nothing(consensus.of_known_label),
        tasks=consensus,
    )


def found_consensus(
    parts: EncodedParts | Source, scale: Scale, shares: Floats | None, on_share: OnShare | None
) -> SourceConsensus | ClusterConsensus:
    """The consensus of responses that are here, or of a source whose responses stay on a cluster."""
    if isinstance(parts, EncodedParts):
        return SourceConsensus.of(parts, scale, shares, on_share)
    from crowdopt.results.cluster.consensus import ClusterConsensus

    return ClusterConsensus.of(parts, shares, on_share)


def _agreement(counted: CountedProblem, sums: TaskSums) -> Agreement:
    """How far the workers agree, by what was counted; of many labels by the votes on all tasks."""
    if counted.scale.has_many_labels:
        return sparse_agreement(SparseVotes.joined([votes for _, votes in sums.sparse]), counted.scale.kind)
    return agreement(counted.buckets.counts, counted.buckets.weights, metric=counted.scale.kind)


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
