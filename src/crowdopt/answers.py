"""Answers: one row per task, made by one join of the tasks' counts with the buckets' labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.frames import Table, small_table
from crowdopt.responses import ANSWER_COLUMNS

if TYPE_CHECKING:
    from crowdopt.responses import Responses, TaskCounts
    from crowdopt.solution import Solution


def answer_table(solution: Solution, responses: Responses, counts: TaskCounts, *, probabilities: bool = False) -> Table:
    """The answers of all tasks, sorted by task."""
    columns = bucket_columns(solution, probabilities=probabilities)
    keys = {name: _with_empty(solution.buckets.counts[:, 0, j], 0) for name, j in counts.columns.items()}
    buckets = small_table(keys | columns, like=counts.table)
    joined = counts.table.join(buckets, on=list(keys), how="left").drop(*keys)
    named = [*ANSWER_COLUMNS, *(name for name in columns if name not in ANSWER_COLUMNS)]
    if responses.kept is not None:
        joined = joined.join(responses.kept, on="task", how="left")
        named += responses.reading.keep
    casts = [nw.col(name).cast(dtype) for name, dtype in responses.types.items() if dtype in {nw.Categorical, nw.Enum}]
    answers = joined.select(*named).sort("task")
    return answers.with_columns(*casts) if casts else answers


def bucket_columns(solution: Solution, *, probabilities: bool) -> dict[str, Any]:
    """The columns of the answers, by bucket; the last row is for tasks without any response."""
    posterior = solution.posterior
    rows = np.arange(solution.buckets.n_buckets)
    margin = solution.margins.values
    columns: dict[str, Any] = {
        "label": [*(solution.scale.values[j] for j in solution.mapping), None],
        "confidence": _with_empty(posterior[rows, solution.mapping], None),
        "margin": _with_empty(np.where(np.isfinite(margin), margin, np.nan), None),
        "margin_kind": [*[solution.margins.kind] * len(rows), None],
        "n_responses": _with_empty(solution.buckets.sizes, 0),
        "status": [*("tie" if tied else "ok" for tied in solution.margins.tied), "no_response"],
    }
    if probabilities:
        for j, label in enumerate(solution.scale.labels):
            columns[f"p_{label}"] = _with_empty(posterior[:, j], None)
    return columns


def _with_empty(values: Any, empty: Any) -> Any:
    """Adds the value of a task without responses; not-a-number becomes missing."""
    if empty is not None:
        return np.append(values, empty)
    return [*(None if np.isnan(value) else float(value) for value in values), None]
