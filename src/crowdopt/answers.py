"""Answers: one row per task, made by one join of the tasks' counts with the buckets' labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.frames import Table, small_table, with_types
from crowdopt.gold import TEXT, GoldCounts, with_text
from crowdopt.read.columns import check_answer_columns
from crowdopt.responses import ANSWER_COLUMNS
from crowdopt.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crowdopt.reading import Reading
    from crowdopt.responses import Responses, TaskCounts
    from crowdopt.scale import Scale
    from crowdopt.solution import Solution


def answer_table(solution: Solution, responses: Responses, counts: TaskCounts, *, probabilities: bool = False) -> Table:
    """The answers of all tasks, sorted by task."""
    columns = bucket_columns(solution, probabilities=probabilities)
    named = [*ANSWER_COLUMNS, *(name for name in columns if name not in ANSWER_COLUMNS), *responses.reading.keep]
    check_answer_columns(named, fold=counts.table.implementation.is_duckdb())
    joined = _with_gold(by_task(columns, solution, counts), counts.gold, solution.scale, probabilities=probabilities)
    if responses.kept is not None:
        joined = joined.join(responses.kept, on="task", how="left")
    wanted = {name: dtype for name, dtype in responses.types.items() if _castable(dtype, joined)}
    return with_types(joined.select(*named).sort("task"), wanted)


def by_task(columns: Mapping[str, Any], solution: Solution, counts: TaskCounts) -> Table:
    """Columns by bucket, the last row for tasks without any response, as columns by task."""
    keys = {name: _with_empty(solution.buckets.counts[:, 0, j], 0) for name, j in counts.columns.items()}
    buckets = small_table(keys | dict(columns), like=counts.table)
    return counts.table.join(buckets, on=list(keys), how="left").drop(*keys)


def _with_gold(answers: Table, gold: GoldCounts | None, scale: Scale, *, probabilities: bool) -> Table:
    """Gold tasks have the label that they are known to have, whatever others with the same responses got."""
    if gold is None:
        return answers
    joined = with_text(answers).join(gold.table, on=TEXT, how="left")
    known = ~nw.col("gold").is_null()
    instead: dict[str, Any] = {
        "label": nw.col("gold"),
        "confidence": nw.lit(1.0),
        "margin": nw.lit(None),
        "margin_kind": nw.lit(None),
        "status": nw.lit("gold"),
    }
    if probabilities:
        for text, value in zip(scale.labels, scale.values, strict=True):
            instead[f"p_{text}"] = nw.when(nw.col("gold") == value).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    changed = [nw.when(known).then(new).otherwise(nw.col(name)).alias(name) for name, new in instead.items()]
    return joined.with_columns(*changed).drop(TEXT, "gold")


def _castable(dtype: Any, table: Table) -> bool:
    """Whether a column is to be cast to the type of the source; pandas has more types than Narwhals (as_brought)."""
    if dtype == nw.Categorical:
        return True
    return dtype not in {None, nw.Unknown, nw.Object} and not table.implementation.is_pandas_like()


def as_brought(answers: Any, original: Any, reading: Reading) -> Any:
    """Answers with the index of a new table, and labels of the type that they have in the source, if it is pandas."""
    if not nw.dependencies.is_pandas_dataframe(answers):
        return answers
    answers = answers.reset_index(drop=True)
    if reading.wide or reading.bins:  # whose labels are no column of the source
        return answers
    dtype, labels = original[reading.label].dtype, answers["label"]
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and labels.isna().any():
        return answers  # NumPy's integers cannot be missing
    categories = getattr(dtype, "categories", None)
    if categories is not None:  # which need not be texts
        by_text = {canonical_text(value): value for value in categories}
        labels = labels.astype(object).map(lambda value: by_text[canonical_text(value)], na_action="ignore")
    return answers.assign(label=labels.astype(dtype))


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
