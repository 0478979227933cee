"""From coded responses to a ConsensusSolution. It needs nothing of the data themselves: any process can do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.consensus.consensus import find_consensus
from crowdopt.consensus.rows import Rows
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.model.agreement import agreement
from crowdopt.model.objective import read_shares
from crowdopt.results.consensus_tasks import ConsensusTasks
from crowdopt.results.doubts import doubts_about_crowd
from crowdopt.results.kinds import UNCERTAIN_BELOW
from crowdopt.results.solution_consensus import ConsensusSolution

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.counts import CountedProblem
    from crowdopt.data.encode import Encoded
    from crowdopt.model.scale import Scale


def solve_consensus(
    counted: CountedProblem,
    encoded: Encoded,
    known: Ints,
    label_shares: Any = None,
    on_member: Callable[[str], None] | None = None,
) -> ConsensusSolution:
    """Finds the consensus of one problem.

    Args:
        counted: What was counted of it.
        encoded: Its responses.
        known: The label that each task is known to have, or -1.
        label_shares: The known shares of the labels, as the user says them; None if they are not known.
        on_member: Called with the name of each member of the consensus before it is fitted.
    """
    scale = counted.scale
    shares = read_label_shares(label_shares, scale)
    found = find_consensus(Rows.of(encoded.coded, known), shares=shares, on_member=on_member)
    tasks = ConsensusTasks.of(encoded, known, scale, found.members)
    free, labelled = tasks.free, tasks.labelled
    confidence = labelled.confidence[free]
    return ConsensusSolution(
        scale=scale,
        totals=counted.totals,
        reading=counted.reading,
        notes=counted.notes,
        crowd=agreement(counted.buckets.counts, counted.buckets.weights, metric=scale.kind),
        parameters=found.parameters,
        worker_names=tuple(encoded.workers.to_pylist()),
        given_shares=() if shares is None else tuple(shares.tolist()),
        label_tasks=tuple(np.bincount(labelled.labels[free], minlength=scale.n_labels).tolist()),
        expected_answers=tasks.expected_answers(),
        mean_confidence=float(confidence.mean()) if len(confidence) else 1.0,
        n_uncertain=int((confidence < UNCERTAIN_BELOW).sum()),
        n_tied=int(labelled.tied[free].sum()),
        fingerprint=counted.fingerprint,
        doubts=doubts_about_crowd(tasks),
        tasks=tasks,
    )


def find_group_consensus(item: tuple[CountedProblem, Encoded, Any]) -> ConsensusSolution | str:
    """The consensus of one group, given the known shares of its labels; a text says why there is none."""
    counted, encoded, label_shares = item
    try:
        return solve_consensus(counted, encoded, np.full(encoded.coded.n_tasks, -1), label_shares)
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
        raise InputError(f"the label shares must be above 0 and sum to 1, not {shares.tolist()}")
    exact = abs(shares.sum() - 1) < 1e-12  # as those of a solution file are, which must come out as they were
    return shares if exact else np.asarray(shares / shares.sum())
