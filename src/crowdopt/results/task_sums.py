"""What the tasks of a consensus add up to: all that its solution says of them, in few numbers. Parts add up, too."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from crowdopt.consensus.grid import on_grid
from crowdopt.results.kinds import UNCERTAIN_BELOW

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crowdopt._arrays import Floats, Ints
    from crowdopt.results.consensus_tasks import ConsensusTasks


@dataclass(frozen=True, eq=False)
class TaskSums:
    """Sums over tasks; all but the expected answers without those of known label.

    Attributes:
        label_tasks: Tasks by label.
        expected_answers: See ``ConsensusSolution``.
        confidence: The sum of the confidences; it does not depend on the order of tasks.
        n_uncertain: Tasks whose label is less probable than UNCERTAIN_BELOW.
        n_tied: Tasks where another label is as probable.
        voters: How many workers give each label to a task: the distinct rows of ``ConsensusTasks.voters``.
        weights: How many tasks have these.
    """

    label_tasks: Floats
    expected_answers: Floats
    confidence: Floats
    n_uncertain: Floats
    n_tied: Floats
    voters: Ints
    weights: Ints

    @classmethod
    def of(cls, tasks: ConsensusTasks) -> Self:
        """Of some tasks."""
        free, labelled = tasks.free, tasks.labelled
        confidence = labelled.confidence[free]
        return cls(
            np.bincount(labelled.labels[free], minlength=tasks.scale.n_labels).astype(float),
            tasks.expected_answers(),
            on_grid(confidence).sum(),
            np.array(float((confidence < UNCERTAIN_BELOW).sum())),
            np.array(float(labelled.tied[free].sum())),
            *np.unique(tasks.voters[free], axis=0, return_counts=True),
        )

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Of all tasks of several parts."""
        total: dict[str, Floats] = {}
        voters, weights = zip(*(one.added_to(total) for one in parts), strict=True)
        return cls(**total, voters=np.concatenate(voters), weights=np.concatenate(weights))

    def added_to(self, total: dict[str, Floats]) -> tuple[Ints, Ints]:
        """Adds the numbers to others of the same names; gives the rest."""
        for name in NUMBERS:
            total[name] = total.get(name, 0.0) + getattr(self, name)
        return self.voters, self.weights

    def by_key(self) -> dict[bytes, float]:
        """Every number by a key of its own, under which those of all parts can be added up anywhere."""
        numbers = np.concatenate([np.ravel(getattr(self, name)) for name in NUMBERS])
        named = {b"n%d" % at: float(value) for at, value in enumerate(numbers) if value}
        rows = (row.tobytes() for row in self.voters.astype(np.int32))
        return named | {b"v" + row: float(weight) for row, weight in zip(rows, self.weights, strict=True)}

    @classmethod
    def from_keys(cls, values: Mapping[bytes, float], n_labels: int) -> Self:
        """The inverse of :meth:`by_key`."""
        shapes = [(n_labels,), (n_labels, n_labels), (), (), ()]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        flat: Floats = np.array([values.get(b"n%d" % at, 0.0) for at in range(ends[-1])])
        numbers = [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]
        rows = sorted(key for key in values if key.startswith(b"v"))
        voters = np.array([np.frombuffer(row[1:], np.int32) for row in rows], np.int64).reshape(-1, n_labels)
        weights = np.array([round(values[row]) for row in rows], np.int64)
        return cls(**dict(zip(NUMBERS, numbers, strict=True)), voters=voters, weights=weights)


NUMBERS = tuple(field.name for field in fields(TaskSums) if field.name not in {"voters", "weights"})
"""What is added up; of voters and weights the rows are joined."""
