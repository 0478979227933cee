"""Where the next responses are worth most: tasks ranked by what further responses are expected to do for their labels.

The gain of a task depends on its counts alone, so it is computed per bucket, and one join carries it to the tasks.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.known_labels import without_gold
from crowdopt.data.tables.table import fetch, settle
from crowdopt.errors import InputError
from crowdopt.model.scale import canonical_text
from crowdopt.results.answers import task_table
from crowdopt.results.gains import expected_gains
from crowdopt.results.labelling import label_counts
from crowdopt.results.reread import as_frame, read_new, reread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution import Solution

COLUMNS = ("task", "label", "confidence", "n_responses", "gain", "gain_per_response", "n_more")
"""The columns of the ranking; what is kept from the source stands behind them."""

RANK = "crowdopt_rank"
"""The column that tasks are sorted by."""

DIGITS = 12
"""Gains that differ only behind so many digits are equal, whatever rounding did to them."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The tasks of a source in the order in which further responses pay.

    Attributes:
        solution: The solution whose matrices say how workers answer.
        source: All responses so far.
    """

    solution: Solution
    source: Source

    def table(self, n: int) -> Table:
        """The n tasks that gain most per response; of equal ones those with fewer responses, then by task."""
        if n < 1:
            raise InputError(f"the number of tasks must be at least 1, not {n!r}")
        counts, values = self.source.counts, self.source.responses.scale.values
        rows = np.concatenate([counts.buckets.counts, np.zeros_like(counts.buckets.counts[:1])])
        labelled = label_counts(self.solution, rows)
        responses = self.solution.buckets.responses.sum(axis=(0, 2))
        gains = expected_gains(labelled.posterior, self.solution.matrix, responses / responses.sum())
        sizes = np.append(counts.buckets.sizes, 0)
        columns: dict[str, Any] = {
            "label": [*(values[j] for j in labelled.labels[:-1]), None],
            "confidence": [*labelled.confidence[:-1].tolist(), None],
            "n_responses": sizes,
            "gain": gains.one,
            "gain_per_response": gains.rate,
            "n_more": gains.n_responses,
            RANK: _ranks(gains.rate, sizes),
        }
        if counts.gold is not None:  # rows that by_task asks for and that are left out below
            first = [0] * len(counts.gold.labels)
            columns = {name: [*column, *(column[i] for i in first)] for name, column in columns.items()}
        table = task_table(columns, self.source.responses, counts, first=COLUMNS)
        if self.solution.reading.gold:
            table = without_gold(table, self.solution.reading.gold)
        return settle(table.sort(RANK, "task").head(n)).sort(RANK, "task").drop(RANK)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Rows of the ranking as plain JSON values; tasks, labels and what was kept as texts."""
        columns = fetch(table)
        numbers = set(COLUMNS) - {"task", "label"}
        plain = [
            [value if name in numbers or value is None else canonical_text(value) for value in column]
            for name, column in columns.items()
        ]
        return [dict(zip(columns, values, strict=True)) for values in zip(*plain, strict=True)]


def next_frame(solution: Solution, data: Any, n: int, **classes: Any) -> Any:
    """The ranking as the kind of table that was brought; a PyArrow table for files."""
    with ranked(solution, data, **classes) as ranking:
        return as_frame(ranking.table(n), ranking.source)


@contextmanager
def ranked(solution: Solution, data: Any, **options: Any) -> Iterator[Ranking]:
    """The ranking of the tasks of some data, which may have grown since; without data, of those in memory."""
    with reread(solution) if data is None else read_new(solution, data, **options) as source:
        yield Ranking(solution, source)


def _ranks(rate: Floats, sizes: Ints) -> Ints:
    """Whole numbers in the order of the tasks, equal for equal rates and sizes."""
    keys = np.stack([-np.round(rate, DIGITS), sizes], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
