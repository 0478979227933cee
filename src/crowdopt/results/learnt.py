"""What a consensus has learnt: enough to judge other tasks, and what its file holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from crowdopt.consensus.parameters import Parameters


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
