"""What was counted of one problem: all that solving and checking need, and nothing of the data themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crowdopt.data.known_labels import GoldCounts
    from crowdopt.data.reading import Reading
    from crowdopt.data.worker_classes import WorkerClass
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.scale import Scale


@dataclass(frozen=True, eq=False)
class CountedProblem:
    """What was counted of one problem.

    Attributes:
        scale: The labels.
        classes: The classes of workers; none if all are alike.
        buckets: The distinct counts.
        gold: Tasks of known label, if there are any.
        totals: Numbers of tasks, workers and responses.
        reading: How the data were read.
        digest: Of the responses; see ``fingerprint.py``. Empty if there are only counts.
        notes: What is odd about the rows and what was done with them, in the words of the command line.
    """

    scale: Scale
    classes: tuple[WorkerClass, ...]
    buckets: Buckets
    gold: GoldCounts | None
    totals: Totals
    reading: Reading
    digest: str = ""
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the responses, their counts, labels and classes."""
        return self.buckets.fingerprint(self.scale.labels, [one.name for one in self.classes], self.digest)


@dataclass(frozen=True)
class Totals:
    """What went in: tasks, of these gold ones and ones without a usable response; workers, responses, rows left out."""

    n_tasks: int
    n_gold: int
    n_no_response: int
    n_workers: int
    n_responses: int
    n_dropped: int
