"""The consensus: p(label | task) = ¼ vote + ½ tilted + ¼ kinds, a fixed mean of three posteriors.

They fail in different places, so that their mean is right more often than each, and its probabilities mean what they
say. There is nothing to set, and nothing random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crowdopt.consensus.given import GivenLabels
from crowdopt.consensus.kinds import fit_kinds, kinds_states
from crowdopt.consensus.learning import learn_about_all
from crowdopt.consensus.parameters import Parameters
from crowdopt.consensus.skills import fit_skills, fit_votes
from crowdopt.consensus.teaching import crossed_given, crossed_labels, idle_given, idle_labels
from crowdopt.consensus.tilted import fit_tilted, tilted_states
from crowdopt.consensus.vote import fit_vote, vote_labels, vote_labels_without
from crowdopt.consensus.work import Work
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.consensus.parameters import Fitted
    from crowdopt.consensus.rows import RowParts, Rows
    from crowdopt.consensus.work import OnShare

WEIGHTS = {"vote": 0.25, "tilted": 0.5, "kinds": 0.25}
"""The members and their weights."""

_Fits: TypeAlias = "dict[str, Callable[[Rows, Floats | None, Callable[[], None]], Fitted]]"
MATRIX_FITS: _Fits = {"vote": fit_vote, "tilted": fit_tilted, "kinds": fit_kinds}
SKILL_FITS: _Fits = {"vote": fit_votes, "skill": fit_skills}
"""How members are fitted, where workers have matrices and where they have skills."""


@dataclass(frozen=True, eq=False)
class AllRows:
    """All responses, where members are fitted to a sample of the tasks.

    Attributes:
        parts: The responses.
        place: Of each worker the index among those of the sample, or -1.
        labels_used: Which labels some worker answered or some task is known to have.
        idle: The labels that teach nothing where a task is known to have them; see ``teaching.py``.
        n_responses: Number of responses.
    """

    parts: RowParts
    place: Ints
    labels_used: Bools
    idle: Bools
    n_responses: int


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


def find_consensus(rows: Rows, *, shares: Floats | None = None, on_share: OnShare | None = None) -> FoundConsensus:
    """Fits the members and takes their mean.

    A label that nobody answered, and that no task is known to have, gets no probability, unless shares are given: so a
    scale of more labels changes nothing. Known labels that would exchange names are kept, and teach nothing.

    Args:
        rows: The responses, and the labels that are known.
        shares: The shares of the labels, if they are known: positive, and one in sum.
        on_share: Called now and then with the share of the work that is done.
    """
    parameters, rounds = fit_consensus(rows, shares=shares, on_share=on_share)
    members = Judge(parameters).members(rows)
    return FoundConsensus(mean_of(members), parameters, members, rounds)


def fit_consensus(
    rows: Rows,
    all_rows: AllRows | None = None,
    *,
    shares: Floats | None = None,
    on_share: OnShare | None = None,
    by_skill: bool = False,
) -> tuple[Parameters, dict[str, int]]:
    """The parameters of all workers, and how many rounds each member took.

    Args:
        rows: The responses; or some of them, if they are too many to look at all so often.
        all_rows: All responses then. What describes the population follows from ``rows`` alone.
        shares: See :func:`find_consensus`.
        on_share: See :func:`find_consensus`.
        by_skill: Whether workers have a skill and not a matrix; see ``skills.py``.
    """
    if not len(rows.worker):
        raise InputError("there is no response with a label; give at least one")
    if all_rows is None:
        used, idle = rows.labels_used, _idle(rows, by_skill=by_skill)
    else:
        used, idle = all_rows.labels_used, all_rows.idle
    labels = labels_to_fit(used, shares)
    parameters, rounds = Parameters({}, {}), {}
    fits = SKILL_FITS if by_skill else MATRIX_FITS
    work = Work(len(rows.worker), all_rows.n_responses if all_rows else 0, on_share or (lambda _: None), tuple(fits))
    for name, fitted in fit_members(rows.without_known(idle).with_labels(labels), shares, work, fits):
        found, rounds[name] = fitted.parameters, fitted.n_rounds
        if all_rows is not None:
            watched, learner = work.watched(all_rows.parts.without_known(idle).with_labels(labels)), fitted.learner
            start = found.aligned(all_rows.place).workers[learner.name]
            found = Parameters(found.population, {learner.name: learn_about_all(learner, watched, start)})
        parameters = parameters.joined(found)
    return parameters.with_all_labels(labels, rows.n_labels), rounds


def labels_to_fit(used: Bools, shares: Floats | None) -> Ints:
    """The labels that can have tasks: those that are used, or all of them if their shares are given."""
    return np.flatnonzero(used) if shares is None else np.arange(len(used))


def fit_members(
    rows: Rows, shares: Floats | None, work: Work, fits: _Fits = MATRIX_FITS
) -> Iterator[tuple[str, Fitted]]:
    """Fits one member after the other, by name, to rows of the labels that can have tasks."""
    few = rows.with_evidence()
    for name, fit in fits.items():
        work.begin(name)
        yield name, fit(few, shares, work.on_round)


def _idle(rows: Rows, *, by_skill: bool) -> Bools:
    if by_skill:
        return idle_given([crossed_given(GivenLabels.of(rows), rows.known)], rows.n_labels)
    return idle_labels(crossed_labels(rows.votes, rows.known))


class Judge:
    """Tells the labels of tasks by the parameters of their workers."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._states = {"tilted": tilted_states(parameters), "kinds": kinds_states(parameters)}

    def members(self, rows: Rows) -> dict[str, Floats]:
        """The posteriors of the members (task, label), by name."""
        votes = vote_labels(rows, self._parameters)
        return {"vote": votes} | {name: states.labels(rows) for name, states in self._states.items()}

    def probabilities(self, rows: Rows) -> Floats:
        """The probabilities of the labels (task, label)."""
        return mean_of(self.members(rows))

    def probabilities_without(self, rows: Rows) -> Floats:
        """What the others say: the probabilities (response, label) of its task without this worker's responses to it.

        The parameters stay. If nobody else answered a task, what is left is how frequent the labels are.
        """
        votes = vote_labels_without(rows, self._parameters)
        return mean_of({"vote": votes} | {name: states.labels_without(rows) for name, states in self._states.items()})


def mean_of(members: dict[str, Floats]) -> Floats:
    """The fixed mean of the members' posteriors."""
    mean = np.sum([WEIGHTS[name] * posterior for name, posterior in members.items()], axis=0)
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))
