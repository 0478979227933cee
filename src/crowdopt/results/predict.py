"""Prediction: labels for new responses under what a solution found. Nothing is fitted anew, and nothing is proved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.worker_classes import UNKNOWN
from crowdopt.results.answers import task_table
from crowdopt.results.labelling import Labelled, label_counts
from crowdopt.results.reread import as_frame, read_new
from crowdopt.results.summary import UNCERTAIN_BELOW

if TYPE_CHECKING:
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution import Solution

PREDICTED_COLUMNS = ("task", "label", "confidence", "n_responses", "status")
"""The columns of predictions; p_LABEL, and what is kept from the source, stand behind them."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Labels for the tasks of new responses.

    Attributes:
        solution: The solution whose matrices they come from.
        source: The new responses.
    """

    solution: Solution
    source: Source

    @cached_property
    def labelled(self) -> Labelled:
        """The label of each bucket of the new responses."""
        return label_counts(self.solution, self.source.counts.buckets.counts)

    @cached_property
    def status(self) -> list[str]:
        """For each bucket ``ok``, ``tie``, or ``unexplained``: answers that no label can have under the matrices."""
        named = np.where(self.labelled.tied, "tie", "ok")
        return [str(name) for name in np.where(self.labelled.explained, named, "unexplained")]

    @property
    def n_unknown_workers(self) -> int:
        """Workers whose class is not known, if there are classes: they have the matrix of all classes together."""
        return sum(one.n_workers for one in self.source.responses.classes if one.name == UNKNOWN)

    def table(self, *, probabilities: bool = False) -> Table:
        """One row per task, sorted; tasks without a response have no label."""
        labelled, responses, buckets = self.labelled, self.source.responses, self.source.counts.buckets
        columns: dict[str, Any] = {
            "label": [*(responses.scale.values[j] for j in labelled.labels), None],
            "confidence": [*labelled.confidence.tolist(), None],
            "n_responses": np.append(buckets.sizes, 0),
            "status": [*self.status, "no_response"],
        }
        if probabilities:
            for j, label in enumerate(self.solution.scale.labels):
                columns[f"p_{label}"] = [*labelled.posterior[:, j].tolist(), None]
        return task_table(columns, responses, self.source.counts, first=PREDICTED_COLUMNS)

    def summary(self) -> dict[str, Any]:
        """The main facts as plain JSON values: what ``crowdopt predict --json`` prints."""
        weights, labels = self.source.counts.buckets.weights, self.solution.scale.labels
        tasks = np.bincount(self.labelled.labels, weights, minlength=len(labels))
        uncertain = self.labelled.confidence < UNCERTAIN_BELOW
        status = np.array(self.status)
        return {
            "n_tasks": int(weights.sum()) + self.source.counts.n_no_response,
            "n_no_response": self.source.counts.n_no_response,
            "n_responses": self.source.counts.buckets.n_responses,
            **({"n_unknown_workers": self.n_unknown_workers} if self.solution.classes else {}),
            "labels": {label: int(n) for label, n in zip(labels, tasks, strict=True)},
            "n_uncertain": int(weights[uncertain].sum()),
            "n_tied": int(weights[status == "tie"].sum()),
            "n_unexplained": int(weights[status == "unexplained"].sum()),
        }


def predicted_frame(solution: Solution, data: Any, *, probabilities: bool = False, **classes: Any) -> Any:
    """The predictions as the kind of table that was brought; a PyArrow table for files."""
    with read_new(solution, data, **classes) as source:
        return as_frame(Prediction(solution, source).table(probabilities=probabilities), source)
