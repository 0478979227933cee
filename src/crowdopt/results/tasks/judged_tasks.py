"""Judged tasks: the probability of every label for the tasks of a source, under what a solution found.

Rows are what a solution tells apart: of a proof, the distinct counts of responses; of a consensus, the tasks.
Predictions and rankings are made of judged tasks, whichever rows they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.worker_classes import UNKNOWN
from crowdopt.results.answers import ENTRIES, named_table, task_table
from crowdopt.results.labelling import Labelled, label_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.tasks.given_tasks import GivenTasks


@dataclass(frozen=True, eq=False)
class JudgedTasks:
    """The rows of a source, judged; the last row stands for tasks without any response.

    Attributes:
        source: The responses.
        labelled: The label of each row, and the probability of every label.
        sizes: Responses to each task of a row; none in the last row.
        weights: Tasks in each row.
        matrix: How workers answer: (class, true label, answer).
        classes: The share of responses that come from each class.
        n_unknown_workers: Workers of whom the solution knows nothing; None where it tells no workers apart.
        names: The tasks as an Arrow array of texts, if rows are tasks; None if rows are buckets.
        scores: The labels as numbers, where their mean means something; else None.
        given: The tasks and the labels that they received, if there are many labels: then the probabilities are those
            of the label, of the next one, and of all others, and so are the matrices, one for each row.
    """

    source: Source
    labelled: Labelled
    sizes: Ints
    weights: Ints
    matrix: Floats
    classes: Floats
    n_unknown_workers: int | None = None
    names: Any = None
    scores: Floats | None = None
    given: GivenTasks | None = None

    def table(self, columns: Mapping[str, Sequence[Any]], first: Sequence[str]) -> Table:
        """Columns by row as a table with a row for each task, sorted, and what is to be kept."""
        responses, counts = self.source.responses, self.source.counts
        if self.names is not None:
            answered = {name: column if name == ENTRIES else column[:-1] for name, column in columns.items()}
            nobody = {name: column[-1] for name, column in columns.items() if name != ENTRIES}
            return named_table([(self.names, answered)], nobody, responses, counts, first=first)
        if counts.gold is not None:  # whose rows a table by buckets has too
            rows = [*range(len(self.sizes)), *[0] * len(counts.gold.labels)]
            columns = {name: [column[row] for row in rows] for name, column in columns.items()}
        return task_table(columns, responses, counts, first=first)


def judge_counts(solution: ProofSolution, source: Source) -> JudgedTasks:
    """The tasks of a source by their counts, under the matrices and the shares of labels of a proof."""
    buckets = source.counts.buckets
    responses = solution.buckets.responses.sum(axis=(0, 2))
    unknown = sum(one.n_workers for one in source.responses.classes if one.name == UNKNOWN)
    return JudgedTasks(
        source=source,
        labelled=label_counts(solution, np.concatenate([buckets.counts, np.zeros_like(buckets.counts[:1])])),
        sizes=np.append(buckets.sizes, 0),
        weights=np.append(buckets.weights, source.counts.n_no_response),
        matrix=solution.matrix,
        classes=responses / responses.sum(),
        n_unknown_workers=unknown if solution.classes else None,
    )
