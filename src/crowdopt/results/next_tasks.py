"""Where the next responses are worth most: tasks ranked by what further responses are expected to do for their labels.

The gain of a task depends on its posterior alone, so it is computed for each row of judged tasks, and one join carries
it to the tasks.

With ρ the posterior of the labels and p the response matrix, h more responses come out as the counts y with
probability Σ_j ρ_j P(y | j), and then label j is as probable as ρ_j P(y | j) divided by that. So the label that is
most probable then has the expected probability Σ_y max_j ρ_j P(y | j). A maximum of sums is at most the sum of the
maxima, and Σ_y P(y | j) = 1: the expectation never falls, from h to h + 1 neither (docs/workers.md).
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.known_labels import without_gold
from crowdopt.data.tables.table import fetch, settle
from crowdopt.errors import InputError
from crowdopt.model.scale import canonical_text
from crowdopt.options.words import without_options
from crowdopt.results.doubts import warn_of
from crowdopt.results.reread import as_frame, read_new, reread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.results.solution import Solution

NEXT_COLUMNS = ("task", "label", "confidence", "n_responses", "gain", "gain_per_response", "n_more")
"""The columns of the ranking; what is kept from the source stands behind them."""

RANK = "crowdopt_rank"
"""The column that tasks are sorted by."""

GAIN_DIGITS = 12
"""Gains that differ only behind so many digits are equal, whatever rounding did to them."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The tasks of a source in the order in which further responses pay.

    Attributes:
        solution: The solution that says how workers answer.
        source: All responses so far.
    """

    solution: Solution
    source: Source

    def table(self, n: int) -> Table:
        """The n tasks that gain most per response; of equal ones those with fewer responses, then by task."""
        if not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"the number of tasks must be a whole number from 1, not {n!r}")
        judged, values = self.solution.judged(self.source), self.source.responses.scale.values
        labelled = judged.labelled
        gains = expected_gains(labelled.posterior, judged.matrix, judged.classes)
        columns: dict[str, Any] = {
            "label": [*(values[j] for j in labelled.labels[:-1]), None],
            "confidence": [*labelled.confidence[:-1].tolist(), None],
            "n_responses": judged.sizes,
            "gain": gains.one,
            "gain_per_response": gains.rate,
            "n_more": gains.n_responses,
            RANK: _ranks(gains.rate, judged.sizes),
        }
        table = judged.table(columns, first=NEXT_COLUMNS)
        if self.solution.reading.gold:
            table = without_gold(table, self.solution.reading.gold)
        return settle(table.sort(RANK, "task").head(n)).sort(RANK, "task").drop(RANK)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Rows of the ranking as plain JSON values; tasks, labels and what was kept as texts."""
        columns = fetch(table)
        numbers = set(NEXT_COLUMNS) - {"task", "label"}
        plain = [
            [value if name in numbers or value is None else canonical_text(value) for value in column]
            for name, column in columns.items()
        ]
        return [dict(zip(columns, values, strict=True)) for values in zip(*plain, strict=True)]


def next_frame(solution: Solution, data: Any, n: int, **classes: Any) -> Any:
    """The ranking as the kind of table that was brought; a PyArrow table for files."""
    with ranked(solution, data, **classes) as ranking:
        warn_of((), () if data is None else map(without_options, ranking.source.notes))
        return as_frame(ranking.table(n), ranking.source)


@contextmanager
def ranked(solution: Solution, data: Any, **options: Any) -> Iterator[Ranking]:
    """The ranking of the tasks of some data, which may have grown since; without data, of those in memory."""
    with reread(solution) if data is None else read_new(solution, data, **options) as source:
        yield Ranking(solution, source)


def _ranks(rate: Floats, sizes: Ints) -> Ints:
    """Whole numbers in the order of the tasks, equal for equal rates and sizes."""
    keys = np.stack([-np.round(rate, GAIN_DIGITS), sizes], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


MAX_AHEAD, MAX_OUTCOMES = 9, 1000
"""How many responses to look ahead: at most so many, with at most so many outcomes, and at least two."""


ROUNDING = 1e-12
"""Gains up to this are none: they may be rounding, which also makes them negative."""


@dataclass(frozen=True, eq=False)
class Gains:
    """What further responses are worth to each of some tasks.

    Attributes:
        one: Expected increase of the probability of the label by one response.
        rate: Expected increase per response, by as many responses as make that largest.
        n_responses: That number of responses, the least if several do.
    """

    one: Floats
    rate: Floats
    n_responses: Ints


def expected_gains(posterior: Floats, matrix: Floats, classes: Floats) -> Gains:
    """The gains of tasks with the given posteriors (task, label).

    Args:
        posterior: Probability of each label.
        matrix: How workers answer: (class, true label, answer), or (class, task, true label, answer).
        classes: The share of responses that come from each class. Who answers next is not known, so a gain is the mean
            over classes, all further responses to a task coming from one.
    """
    answers = np.where(np.isnan(matrix), 1 / matrix.shape[-1], matrix)
    now = posterior.max(axis=1)
    gains = []
    for n_responses in range(1, look_ahead(matrix.shape[-1]) + 1):
        later = sum(share * _value(posterior, rows, n_responses) for share, rows in zip(classes, answers, strict=True))
        gains.append(np.where(later - now > ROUNDING, later - now, 0.0))
    rates = np.array([gain / n for n, gain in enumerate(gains, 1)])
    best = (rates >= rates.max(axis=0) * (1 - 1e-9)).argmax(axis=0)
    return Gains(gains[0], np.take_along_axis(rates, best[None], axis=0)[0], best + 1)


def look_ahead(n_labels: int) -> int:
    """How many responses to look ahead.

    >>> [look_ahead(n_labels) for n_labels in (1, 2, 3, 5, 10, 64)]
    [9, 9, 9, 9, 4, 2]
    """
    feasible = [n for n in range(1, MAX_AHEAD + 1) if math.comb(n + n_labels - 1, n) <= MAX_OUTCOMES]
    return max(2, *feasible)


def _value(posterior: Floats, rows: Floats, n_responses: int) -> Floats:
    """The expected probability of the most probable label after some responses by a matrix (true, answer).

    Each row may have a matrix of its own.
    """
    value = np.zeros(len(posterior))
    for outcome in _outcomes(rows.shape[-1], n_responses):
        orders = math.factorial(n_responses) / math.prod(math.factorial(n) for n in outcome)
        value += orders * (posterior * np.prod(rows**outcome, axis=-1)).max(axis=1)
    return value


def _outcomes(n_labels: int, n_responses: int) -> Iterator[tuple[int, ...]]:
    """All counts of answers that so many responses can make.

    >>> list(_outcomes(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    for bars in combinations(range(n_responses + n_labels - 1), n_labels - 1):
        edges = (-1, *bars, n_responses + n_labels - 1)
        yield tuple(high - low - 1 for low, high in pairwise(edges))
