"""What the consensus has learnt: enough to tell the labels of other tasks, without those that it learnt from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.learning import Learner


@dataclass(frozen=True, eq=False)
class Parameters:
    """All that the last step of the three members used to find the probabilities of labels.

    With R labels and W workers. A state of ``kinds`` is 2 · label, or that plus 1 for a contested task. Matrices are
    indexed by (label or state, answer); those of the population are what is expected of a worker of whom nothing is
    known.

    Attributes:
        population: ``vote_shares`` (R), ``vote_precision`` (), ``tilted_shares`` (R), ``tilted_kinds`` (R, R + 1; the
            last column: no tilt), ``tilted_matrix`` (R, R), ``kinds_shares`` (2R), ``kinds_matrix`` (2R, R).
        workers: ``vote_precision`` (W), ``tilted_matrix`` (W, R, R), ``kinds_matrix`` (W, 2R, R).

    Where workers have a skill, and no matrices (see ``skills.py``), the population has ``vote_shares``,
    ``vote_precision``, ``skill_shares`` (R), ``skill_error_shares`` (R), ``skill_kinds`` (3) and ``skill`` (), and the
    workers ``vote_precision`` and ``skill``.
    """

    population: dict[str, Floats]
    workers: dict[str, Floats]

    def aligned(self, index: Ints) -> Parameters:
        """The parameters for other workers.

        Args:
            index: Of each of them the index among ours, or -1 for one whom we do not know, who gets the population's.
        """
        workers = {
            name: np.concatenate([ours, self.population[name][None]])[index]  # at -1 is the last, the population's
            for name, ours in self.workers.items()
        }
        return Parameters(self.population, workers)

    def joined(self, other: Parameters) -> Parameters:
        """These and the parameters of another member."""
        return Parameters(self.population | other.population, self.workers | other.workers)

    def with_all_labels(self, labels: Ints, n_labels: int) -> Parameters:
        """The parameters on a scale of more labels, ``labels`` being ours: the others have a share of zero.

        Nobody answers them, and a task that had one would be answered anyhow.
        """
        if len(labels) == n_labels:
            return self
        states = (2 * labels[:, None] + np.arange(2)).ravel()
        rows = {"tilted_matrix": labels, "kinds_matrix": states}

        def spread(name: str, values: Floats) -> Floats:
            if name in rows:
                n_rows = n_labels * len(rows[name]) // len(labels)
                matrix = np.full((*values.shape[:-2], n_rows, n_labels), 1 / n_labels)
                matrix[..., rows[name], :] = 0.0
                matrix[..., rows[name][:, None], labels] = values
                return matrix
            if name == "tilted_kinds":
                kinds = np.zeros((n_labels, n_labels + 1))
                kinds[:, n_labels] = 1.0
                kinds[labels[:, None], np.append(labels, n_labels)] = values
                return kinds
            if values.ndim and name.endswith("shares"):
                shares = np.zeros(n_labels * len(values) // len(labels))
                shares[states if name == "kinds_shares" else labels] = values
                return shares
            return values

        return Parameters(
            {name: spread(name, values) for name, values in self.population.items()},
            {name: spread(name, values) for name, values in self.workers.items()},
        )


@dataclass(frozen=True, eq=False)
class Fitted:
    """A member of the consensus, fitted.

    Attributes:
        parameters: Of the population, and of the workers that it was fitted to.
        n_rounds: After how many rounds.
        learner: Learns the parameters of any workers from their responses. What describes the population stays.
    """

    parameters: Parameters
    n_rounds: int
    learner: Learner


class Learnt(Protocol):
    """What was learnt, wherever it is."""

    @property
    def parameters(self) -> Parameters:
        """What the last step of the consensus used: of the population, and of every worker."""

    @property
    def worker_names(self) -> tuple[str, ...]:
        """The workers as texts, in the order of the parameters."""


@dataclass(frozen=True, eq=False)
class LearntHere:
    """What was learnt, in memory; see :class:`Learnt`."""

    parameters: Parameters
    worker_names: tuple[str, ...]
