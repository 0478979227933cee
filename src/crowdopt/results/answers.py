"""Answers: one row per task, made by one join of the tasks' counts with the buckets' labels."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.columns import check_answer_columns
from crowdopt.data.known_labels import TASK_TEXT, with_text
from crowdopt.data.responses import by_name, by_task
from crowdopt.data.tables.sparse import Entries, spread
from crowdopt.data.tables.table import Table, folds_case, with_types
from crowdopt.model.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crowdopt._arrays import Floats
    from crowdopt.data.known_labels import GoldCounts
    from crowdopt.data.reading import Reading
    from crowdopt.data.responses import Responses, TaskCounts
    from crowdopt.results.solution_proof import ProofSolution


ANSWER_COLUMNS = ("task", "label", "confidence", "margin", "margin_kind", "n_responses", "status")
"""The columns of the answers; what is kept from the source stands behind them under its own name."""


PREDICTED_COLUMNS = ("task", "label", "confidence", "n_responses", "status")
"""The columns of predictions; ``mean``, p_LABEL, and what is kept from the source, stand behind them."""

ENTRIES = "crowdopt_entries"
"""Stands for columns that are mostly empty, among columns by task."""

NO_ROW = -1
"""Stands for the row of a task that has no answer of its own."""


def check_kept(reading: Reading, columns: Sequence[str]) -> None:
    """Raises, before anything is solved, if a column that is to be kept has the name of one of the answers."""
    check_answer_columns([*([reading.group_name] if reading.group else []), *columns, *reading.kept])


def answer_table(
    solution: ProofSolution, responses: Responses, counts: TaskCounts, *, probabilities: bool = False
) -> Table:
    """The answers of all tasks, sorted by task."""
    columns = bucket_columns(solution, counts.gold, probabilities=probabilities)
    return task_table(columns, responses, counts, first=ANSWER_COLUMNS)


def task_table(
    columns: Mapping[str, Any], responses: Responses, counts: TaskCounts, first: Sequence[str] = ("task",)
) -> Table:
    """Columns by bucket (see :func:`by_task`) as a table with a row for each task, sorted, and what is to be kept."""
    _check_names(columns, responses, counts, first)
    return _sorted_table(by_task(columns, counts), columns, responses, first)


def named_table(
    parts: Iterable[tuple[Any, Mapping[str, Any]]],
    nobody: Mapping[str, Any],
    responses: Responses,
    counts: TaskCounts,
    first: Sequence[str] = ("task",),
) -> Table:
    """Columns by task (see :func:`by_name`) as a table with a row for each task, sorted, and what is to be kept.

    Where columns are mostly empty, parts have ``Entries`` of them, under the name ENTRIES.
    """
    names, columns = next(rest := iter(parts))
    parts = chain([(names, columns)], rest)
    if ENTRIES in columns:
        return _sparse_table(parts, nobody, responses, counts, first, columns)
    _check_names(columns, responses, counts, first)
    return _sorted_table(by_name(parts, nobody, counts), columns, responses, first)


def _sparse_table(
    parts: Iterable[tuple[Any, Mapping[str, Any]]],
    nobody: Mapping[str, Any],
    responses: Responses,
    counts: TaskCounts,
    first: Sequence[str],
    columns: Mapping[str, Any],
) -> Table:
    """The same where columns are mostly empty: they are spread when all else is done."""
    spread_names = [name for one in columns for name in (columns[ENTRIES].names if one == ENTRIES else [one])]
    wanted = _all_names(dict.fromkeys(spread_names), responses, first)
    check_answer_columns(wanted, fold=folds_case(counts.table))
    pieces: list[Entries] = []
    carried: dict[str, Any] = {}

    def with_carried() -> Iterator[tuple[Any, Mapping[str, Any]]]:
        n_rows = 0
        for names, found in parts:
            entries = found[ENTRIES]
            carried.update(entries.carried(n_rows, like=counts.table))
            n_rows += len(entries.sizes)
            if not (pieces and folds_case(counts.table)):  # a database has the rest
                pieces.append(entries)
            yield names, {name: found[name] for name in found if name != ENTRIES} | dict(carried)

    joined = by_name(with_carried(), nobody, counts)
    narrow = {name: None for name in (*columns, *carried) if name != ENTRIES}
    return spread(_sorted_table(joined, narrow, responses, first), pieces, wanted)


def joined_table(
    known: Table, nobody: Mapping[str, Any], responses: Responses, counts: TaskCounts, first: Sequence[str]
) -> Table:
    """A table of columns by the text of a task, in the place of the tasks, as :func:`named_table` makes it."""
    columns = dict.fromkeys(name for name in known.collect_schema().names() if name != TASK_TEXT)
    _check_names(columns, responses, counts, first)
    joined = with_text(counts.table.select("task")).join(known, on=TASK_TEXT, how="left").drop(TASK_TEXT)
    silent = {name: value for name, value in nobody.items() if value is not None}
    joined = joined.with_columns(nw.col(name).fill_null(value) for name, value in silent.items())
    return _sorted_table(joined, columns, responses, first)


def _check_names(columns: Mapping[str, Any], responses: Responses, counts: TaskCounts, first: Sequence[str]) -> None:
    """Raises if two columns have one name, before they are brought to where the tasks are."""
    check_answer_columns(_all_names(columns, responses, first), fold=folds_case(counts.table))


def _all_names(columns: Mapping[str, Any], responses: Responses, first: Sequence[str]) -> list[str]:
    return [*first, *(name for name in columns if name not in first), *responses.reading.kept]


def _sorted_table(joined: Table, columns: Mapping[str, Any], responses: Responses, first: Sequence[str]) -> Table:
    named = _all_names(columns, responses, first)
    if responses.kept is not None:
        joined = joined.join(responses.kept, on="task", how="left")
    return as_typed(joined.select(*named).sort("task"), responses.types)


def as_typed(table: Table, types: Mapping[str, Any]) -> Table:
    """The table with those of its columns that come from the source in the types that they have there."""
    names = table.collect_schema().names()
    wanted = {name: dtype for name, dtype in types.items() if name in names and _castable(dtype, table)}
    return with_types(table, wanted)


def _castable(dtype: Any, table: Table) -> bool:
    """Whether a column is to be cast to the type of the source; pandas has more types than Narwhals (as_brought)."""
    if dtype == nw.Categorical:
        return True
    return dtype not in {None, nw.Unknown, nw.Object} and not table.implementation.is_pandas_like()


def as_brought(answers: Any, original: Any, reading: Reading) -> Any:
    """A table with an index of its own, and workers and labels of the type that they have in the source, if pandas."""
    if not nw.dependencies.is_pandas_dataframe(answers):
        return answers
    answers = answers.reset_index(drop=True)
    if reading.wide:
        return answers
    sources = {"worker": reading.worker}
    if not reading.bins:  # whose names are no labels of the source
        sources |= {"label": reading.label, "answered": reading.label}
    brought = {name: _as_in(answers[name], original[source]) for name, source in sources.items() if name in answers}
    return answers.assign(**brought)


def _as_in(column: Any, source: Any) -> Any:
    """A pandas column with the type of the one that its values come from."""
    dtype = source.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and column.isna().any():
        return column  # NumPy's integers cannot be missing
    categories = getattr(dtype, "categories", None)
    if categories is not None:  # which need not be texts
        by_text = {canonical_text(value): value for value in categories}
        texts = column.astype(object).map(canonical_text, na_action="ignore")
        if not set(texts.dropna()) <= by_text.keys():  # a label whose spelling was put right
            return column
        column = texts.map(by_text.__getitem__, na_action="ignore")
    return column.astype(dtype)


def placed_by_bucket(counts: TaskCounts) -> Table:
    """The tasks with the number of their bucket, ``row``; without those of known label and without a response."""
    none = np.full(1 + (len(counts.gold.labels) if counts.gold else 0), NO_ROW)
    placed = by_task({"row": np.append(np.arange(counts.buckets.n_buckets), none)}, counts)
    return placed.filter(nw.col("row") != NO_ROW)


def bucket_columns(solution: ProofSolution, gold: GoldCounts | None, *, probabilities: bool) -> dict[str, Any]:
    """The columns of the answers, in the rows that :func:`by_task` wants."""
    posterior, values = solution.posterior, solution.scale.values
    rows = np.arange(solution.buckets.n_buckets)
    margin = solution.margins.values
    known = gold.labels.tolist() if gold else []
    unknown = [None] * len(known)
    n_known = gold.counts.sum(axis=(1, 2)) if gold else []
    columns: dict[str, Any] = {
        "label": [*(values[j] for j in solution.mapping), None, *(values[j] for j in known)],
        "confidence": [*_floats(posterior[rows, solution.mapping]), None, *(1.0 for _ in known)],
        "margin": [*_floats(np.where(np.isfinite(margin), margin, np.nan)), None, *unknown],
        "margin_kind": [*[solution.margins.kind] * len(rows), None, *unknown],
        "n_responses": np.array([*solution.buckets.sizes, 0, *n_known], np.int64),
        "status": [
            *("tie" if tied else "ok" for tied in solution.margins.tied),
            "no_response",
            *("gold" for _ in known),
        ],
    }
    if probabilities:
        for j, label in enumerate(solution.scale.labels):
            columns[f"p_{label}"] = [*_floats(posterior[:, j]), None, *(float(j == other) for other in known)]
    return columns


def _floats(values: Floats) -> list[float | None]:
    """Not-a-number becomes missing."""
    return [None if np.isnan(value) else float(value) for value in values]
