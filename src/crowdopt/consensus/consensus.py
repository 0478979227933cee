"""The consensus: p(label | task) = ¼ vote + ½ tilted + ¼ kinds, a fixed mean of three posteriors.

They fail in different places, so that their mean is right more often than each, and its probabilities mean what they
say. There is nothing to set, and nothing random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.consensus.kinds import fit_kinds, kinds_states
from crowdopt.consensus.parameters import Parameters
from crowdopt.consensus.teaching import with_teaching_labels
from crowdopt.consensus.tilted import fit_tilted, tilted_states
from crowdopt.consensus.vote import fit_vote, vote_labels, vote_labels_without
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Floats
    from crowdopt.consensus.rows import Rows

WEIGHTS = {"vote": 0.25, "tilted": 0.5, "kinds": 0.25}
"""The members and their weights."""

_FITS = {"vote": fit_vote, "tilted": fit_tilted, "kinds": fit_kinds}


@dataclass(frozen=True, eq=False)
class FoundConsensus:
    """What the members agree on.

    Attributes:
        probabilities: Of the labels (task, label); those of a task sum to one.
        parameters: What they follow from, given the responses.
        members: The posteriors of the members (task, label), by name.
        rounds: How many rounds each member took.
    """

    probabilities: Floats
    parameters: Parameters
    members: dict[str, Floats]
    rounds: dict[str, int]


def find_consensus(
    rows: Rows, *, shares: Floats | None = None, on_member: Callable[[str], None] | None = None
) -> FoundConsensus:
    """Fits the members and takes their mean.

    A label that nobody answered, and that no task is known to have, gets no probability, unless shares are given: so a
    scale of more labels changes nothing. Known labels that would exchange names are kept, and teach nothing.

    Args:
        rows: The responses, and the labels that are known.
        shares: The shares of the labels, if they are known: positive, and one in sum.
        on_member: Called with the name of each member before it is fitted.
    """
    if not len(rows.worker):
        raise InputError("there is no response with a label; give at least one")
    labels = np.flatnonzero(rows.labels_used) if shares is None else np.arange(rows.n_labels)
    few, parameters, rounds = with_teaching_labels(rows).with_evidence().with_labels(labels), Parameters({}, {}), {}
    for name, fit in _FITS.items():
        if on_member:
            on_member(name)
        found, rounds[name] = fit(few, shares)
        parameters = parameters.joined(found)
    parameters = parameters.with_all_labels(labels, rows.n_labels)
    members = members_of(rows, parameters)
    return FoundConsensus(mean_of(members), parameters, members, rounds)


def probabilities_of(rows: Rows, parameters: Parameters) -> Floats:
    """The probabilities of the labels (task, label), given the parameters of these workers."""
    return mean_of(members_of(rows, parameters))


def probabilities_without(rows: Rows, parameters: Parameters) -> Floats:
    """What the others say: the probabilities (response, label) of its task without this worker's responses to it.

    The parameters stay. If nobody else answered a task, what is left is how frequent the labels are.
    """
    return mean_of(
        {
            "vote": vote_labels_without(rows, parameters),
            "tilted": tilted_states(rows, parameters).labels_without(rows),
            "kinds": kinds_states(rows, parameters).labels_without(rows),
        }
    )


def members_of(rows: Rows, parameters: Parameters) -> dict[str, Floats]:
    """The posteriors of the members (task, label), by name, given the parameters of these workers."""
    return {
        "vote": vote_labels(rows, parameters),
        "tilted": tilted_states(rows, parameters).labels(rows),
        "kinds": kinds_states(rows, parameters).labels(rows),
    }


def mean_of(members: dict[str, Floats]) -> Floats:
    """The fixed mean of the members' posteriors."""
    mean = np.sum([WEIGHTS[name] * posterior for name, posterior in members.items()], axis=0)
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))
