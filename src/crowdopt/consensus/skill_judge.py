"""Tells the labels of tasks by the skills of their workers: sparse tables in the place of those of ``Judge``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.consensus.given import GivenLabels, GivenShares
from crowdopt.consensus.skills import WEIGHTS, labels_without, skills_of_labels, votes_of_labels

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.parameters import Parameters
    from crowdopt.consensus.rows import Rows


def is_by_skill(parameters: Parameters) -> bool:
    """Whether parameters are skills, and not matrices."""
    return "skill" in parameters.population


@dataclass(frozen=True, eq=False)
class SkillJudge:
    """Tells the labels of tasks.

    Attributes:
        parameters: What was learnt; see ``Parameters``.
    """

    parameters: Parameters

    def members(self, rows: Rows, given: GivenLabels) -> dict[str, GivenShares]:
        """The posteriors of the members, by name."""
        return {
            "vote": votes_of_labels(rows, given, self.parameters),
            "skill": skills_of_labels(rows, given, self.parameters),
        }

    def probabilities(self, rows: Rows, given: GivenLabels) -> GivenShares:
        """The probabilities of the labels that each task received, and of all others together."""
        return mean_of_given(self.members(rows, given))

    def every_label(self, rows: Rows) -> Floats:
        """The probabilities of all labels (task, label), for those who can hold so many."""
        given = GivenLabels.of(rows)
        found, shares = self.probabilities(rows, given), self.parameters.population["skill_shares"]
        left = np.tile(shares, (rows.n_tasks, 1))
        left[given.task, given.label] = 0.0
        table = left * (found.other / np.maximum(left.sum(axis=1), np.finfo(float).tiny))[:, None]
        table[given.task, given.label] = found.entries
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def without(self, rows: Rows, given: GivenLabels) -> tuple[Ints, Floats]:
        """What the others say; see :func:`skills.labels_without`."""
        return labels_without(rows, given, self.parameters)


def mean_of_given(members: dict[str, GivenShares]) -> GivenShares:
    """The fixed mean of the members' posteriors."""
    entries, other = (
        np.sum([WEIGHTS[name] * getattr(shares, part) for name, shares in members.items()], axis=0)
        for part in ("entries", "other")
    )
    return GivenShares(entries, other)
