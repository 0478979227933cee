"""Learning about workers by a few looks at all responses, once a sample of the tasks has told about the population."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crowdopt._arrays import Floats
    from crowdopt.consensus.cells import AnswerCells
    from crowdopt.consensus.rows import RowParts, Rows

PASSES = 4
"""How often all responses are looked at for the parameters of all workers, after a fit to a sample of the tasks."""


class Learner(Protocol):
    """How a member of the consensus learns about workers.

    Looks at parts of the responses add up, and sums are on a grid: it does not matter who looks at which part. What
    follows for a worker depends on the sums of this worker alone.

    Attributes:
        name: The parameter of workers that it learns.
        rows: What has to be known of a worker for a step, by name, and what it has a row for: "worker", "cell" or
            "answered" cell. These are sums, and tables that a step begins with.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see above
    @property
    def rows(self) -> dict[str, str]: ...  # noqa: D102
    @property
    def cells(self) -> Callable[[Iterable[Rows], int, int], AnswerCells]:
        """Gives the cells of responses that it needs."""

    def begin(self, values: Floats, cells: AnswerCells) -> dict[str, Floats]:
        """The tables for a first look, from the parameters of the workers."""

    def look(self, parts: Iterable[Rows], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """What the responses add up to."""

    def learn(self, sums: dict[str, Floats], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """The tables that follow, for the next look."""

    def parameters(self, cells: AnswerCells, tables: dict[str, Floats]) -> Floats:
        """The parameters of the workers that follow."""


def learn_about_all(learner: Learner, parts: RowParts, values: Floats) -> Floats:
    """The parameters of all workers, given their responses in parts, and parameters to begin with."""
    cells = learner.cells(parts, parts.n_workers, parts.n_labels)
    tables = learner.begin(values, cells)
    for _ in range(PASSES):
        tables = learner.learn(learner.look(parts, cells, tables), cells, tables)
    return learner.parameters(cells, tables)
