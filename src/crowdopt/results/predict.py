"""Prediction: labels for new responses under what a solution found. Nothing is fitted anew, and nothing is proved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.options.words import without_options
from crowdopt.results.answers import ENTRIES, PREDICTED_COLUMNS
from crowdopt.results.doubts import warn_of
from crowdopt.results.kinds import UNCERTAIN_BELOW
from crowdopt.results.labelling import probability_columns
from crowdopt.results.reread import as_frame, read_new

if TYPE_CHECKING:
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution import Solution
    from crowdopt.results.tasks.judged_tasks import JudgedTasks


@dataclass(frozen=True, eq=False)
class Prediction:
    """Labels for the tasks of new responses.

    Attributes:
        solution: The solution that they come from.
        source: The new responses.
    """

    solution: Solution
    source: Source

    @cached_property
    def judged(self) -> JudgedTasks:
        """The tasks of the new responses."""
        return self.solution.judged(self.source)

    @cached_property
    def status(self) -> list[str]:
        """For each row ``ok``, ``tie``, or ``unexplained``: answers that no label can have under the matrices."""
        labelled = self.judged.labelled
        named = np.where(labelled.tied, "tie", "ok")
        return [*(str(name) for name in np.where(labelled.explained, named, "unexplained")[:-1]), "no_response"]

    def table(self, *, probabilities: bool = False) -> Table:
        """One row per task, sorted; tasks without a response have no label."""
        judged, labelled, scale = self.judged, self.judged.labelled, self.source.responses.scale
        columns: dict[str, Any] = {
            "label": [*(scale.values[j] for j in labelled.labels[:-1]), None],
            "confidence": [*labelled.confidence[:-1].tolist(), None],
            "n_responses": judged.sizes,
            "status": self.status,
        }
        if judged.given is None:
            more = probability_columns(labelled.posterior[:-1], scale, judged.scores, every_label=probabilities)
        else:
            answered = np.arange(len(judged.sizes)) < len(judged.sizes) - 1
            more = judged.given.taken(answered).probability_columns(every_label=probabilities, sparse=True)
        columns |= {name: column if name == ENTRIES else [*column.tolist(), None] for name, column in more.items()}
        return judged.table(columns, first=PREDICTED_COLUMNS)

    def summary(self) -> dict[str, Any]:
        """The main facts as plain JSON values: what ``crowdopt predict --json`` prints."""
        weights, labels, labelled = self.judged.weights[:-1], self.solution.scale.labels, self.judged.labelled
        tasks = np.bincount(labelled.labels[:-1], weights, minlength=len(labels))
        uncertain, status = labelled.confidence[:-1] < UNCERTAIN_BELOW, np.array(self.status[:-1])
        unknown = self.judged.n_unknown_workers
        return {
            "n_tasks": int(weights.sum()) + self.source.counts.n_no_response,
            "n_no_response": self.source.counts.n_no_response,
            "n_responses": self.source.n_responses,
            **({"n_unknown_workers": unknown} if unknown is not None else {}),
            "labels": {label: int(n) for label, n in zip(labels, tasks, strict=True)},
            "n_uncertain": int(weights[uncertain].sum()),
            "n_tied": int(weights[status == "tie"].sum()),
            "n_unexplained": int(weights[status == "unexplained"].sum()),
        }


def predicted_frame(solution: Solution, data: Any, *, probabilities: bool = False, **classes: Any) -> Any:
    """The predictions as the kind of table that was brought; a PyArrow table for files."""
    with read_new(solution, data, **classes) as source:
        warn_of((), map(without_options, source.notes))
        return as_frame(Prediction(solution, source).table(probabilities=probabilities), source)
