"""How much of the work is done: a share that grows, for whoever waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.consensus.rows import RowParts, Rows

OnShare = Callable[[float], None]
"""Called now and then with the share of the work that is done, from 0 to 1."""

COSTS = {"vote": 1.0, "tilted": 8.0, "kinds": 3.0, "skill": 4.0}
"""How long a look at a response takes each member of the consensus, compared with the others."""

ROUNDS, LOOKS = 40, 5
"""How often a member looks at the responses that it learns from; and at all, if it learns from a sample of them."""


@dataclass
class Work:
    """The work of finding a consensus.

    Attributes:
        n_responses: The responses that members learn from.
        n_all: All responses, if these are a sample; else 0.
        on_share: Called whenever more of it is done.
        members: The members that are to be fitted.
    """

    n_responses: int
    n_all: int
    on_share: OnShare
    members: tuple[str, ...]
    _done: float = 0.0
    _cost: float = 0.0
    _until: float = 0.0

    def begin(self, member: str) -> None:
        """A member begins: what the one before it did not need is done."""
        self._done, self._cost = self._until, COSTS[member]
        self._until += self._cost * (ROUNDS * self.n_responses + LOOKS * self.n_all)
        self._tell()

    def on_round(self) -> None:
        """A member looked once at what it learns from."""
        self._add(self.n_responses)

    def watched(self, parts: RowParts) -> RowParts:
        """Parts of all responses; looking at them is work."""

        def watch() -> Iterator[Rows]:
            for rows in parts:
                yield rows
                self._add(len(rows.worker))

        return type(parts)(watch, parts.n_workers, parts.n_labels)

    def _add(self, n_responses: int) -> None:
        self._done = min(self._done + self._cost * n_responses, self._until)
        self._tell()

    def _tell(self) -> None:
        total = sum(COSTS[name] for name in self.members) * (ROUNDS * self.n_responses + LOOKS * self.n_all)
        self.on_share(min(self._done / max(total, 1.0), 1.0))
