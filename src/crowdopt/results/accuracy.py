"""Comparing answers with known true labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.known_labels import KnownBy, labelled_tasks, without_gold
from crowdopt.data.tables.table import Table, coded, fetch, fetch_integers, small_table, with_texts
from crowdopt.errors import InputError
from crowdopt.model.scale import MAX_LABELS, canonical_text
from crowdopt.results.answers import NO_ROW

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.results.solution import Solution

NO_LABEL = -1
"""Stands for the index of a label that is not on the scale."""


def accuracy_of(solution: Solution, truth: Any, *, same_place: bool) -> Accuracy:
    """The accuracy of a solution on the tasks whose true label is known; labels are compared as canonical text.

    Args:
        solution: The solution, with its tasks.
        truth: A table of true labels.
        same_place: Whether it was read by the database that the answers are in.
    """
    answers, labels = solution.placed()
    known, answers = known_labels(solution, truth, answers, same_place=same_place)
    joined = known.join(answers, on="task", how="left").with_columns(nw.col("row").fill_null(NO_ROW))
    found = fetch_integers(joined.group_by("true", "row").agg(nw.len().alias("n")))
    n_truth, compared = int(found["n"].sum()), found["row"] != NO_ROW
    if not n_truth:
        raise InputError("all tasks of the truth are gold: their labels were given, and nothing is left to compare")
    if not compared.any():
        raise InputError(f"the truth names none of the tasks that have answers; {_first_tasks(known, answers)}")
    by_row = np.zeros((solution.scale.n_labels + 1, len(labels)), np.int64)
    # NO_LABEL, for truths off the scale, is the last row.
    np.add.at(by_row, tuple(found[name][compared] for name in ("true", "row")), found["n"][compared])
    n_compared = int(by_row.sum())
    n_right = int(by_row[labels, np.arange(len(labels))].sum())
    return solution.scored(Accuracy(n_right / n_compared, n_compared, n_truth - n_compared, by_row))


def known_labels(solution: Solution, truth: Any, tasks: Table, *, same_place: bool) -> tuple[Table, Table]:
    """The truth as (task, index of the true label), without gold tasks, and a table of tasks that it can be joined to.

    Args:
        solution: The solution, which has the scale.
        truth: A table of true labels.
        tasks: A table with a column ``task``.
        same_place: Whether the truth was read by the database that the tasks are in.
    """
    known = _known(solution, truth, like=tasks, same_place=same_place)
    if solution.reading.gold:
        known = without_gold(known, solution.reading.gold)
    return _same_tasks(known, tasks)


def _known(solution: Solution, truth: Any, like: Table, *, same_place: bool) -> Table:
    """The truth as (task, index of the true label), one row per task, in the same place as the answers."""
    known_by = KnownBy(like, {"": solution.scale.labels})
    table = labelled_tasks(truth, solution.reading, "truth", known_by)
    codes = _codes(table, solution)
    # DuckDB tables of two connections cannot be joined; other kinds can if they are the same.
    if table.implementation == like.implementation and (same_place or not table.implementation.is_duckdb()):
        return table.select("task", coded("label", codes, NO_LABEL).alias("true"))
    rows = fetch(table)
    true = np.array([codes.get(value, NO_LABEL) for value in rows["label"]], np.int64)
    return small_table({"task": rows["task"], "true": true}, like=like)


def _codes(table: Table, solution: Solution) -> dict[Any, int]:
    """The labels of the truth that are on the scale, and the index of each."""
    limit = 10 * MAX_LABELS
    values = fetch(table.select("label").unique().head(limit + 1))["label"]
    if not values:
        raise InputError("the truth has no rows with a task and a label")
    texts = {value: canonical_text(value) for value in values}
    labels = solution.scale.labels
    codes = {value: labels.index(text) for value, text in texts.items() if text in labels}
    if len(values) > limit:
        raise InputError(f"the truth has more than {limit} different labels; the answers have {', '.join(labels)}")
    if not codes:
        raise InputError(
            f"the truth's labels ({', '.join(sorted(texts.values())[:5])}) are none of the answers' "
            f"({', '.join(labels)})"
        )
    return codes


def _same_tasks(known: Table, answers: Table) -> tuple[Table, Table]:
    """Both with tasks that can be compared: as they are if they have one type, else as text."""
    ours, theirs = answers.collect_schema()["task"], known.collect_schema()["task"]
    if ours == theirs:
        return known, answers
    return with_texts(known, ["task"]), with_texts(answers, ["task"])


def _first_tasks(known: Table, answers: Table) -> str:
    firsts = [fetch(table.select("task").sort("task").head(1))["task"] for table in (known, answers)]
    theirs, ours = (repr(canonical_text(first[0])) if first else "nothing" for first in firsts)
    return f"it begins with {theirs}, the tasks with {ours}"


@dataclass(frozen=True)
class Accuracy:
    """How many of the tasks with a known truth got it right.

    Attributes:
        value: Share of right labels among the tasks that have a truth and a label.
        n_tasks: Number of those tasks.
        n_unknown: Tasks of the truth file that have no label here.
        by_row: Those tasks by (true label, row of the solution), a last row for truths that are not on the scale: from
            these follows the accuracy of any other labels of the rows. None where groups were compared all at once.
        log_loss: Mean of −ln of the confidence of labels that are right, and of one minus it of those that are wrong.
            None where confidences are not meant to be probabilities of being right.
        vote: The same share for majority vote, ties shared; None where it was not asked for.
    """

    value: float
    n_tasks: int
    n_unknown: int
    by_row: Ints | None = field(default=None, repr=False, compare=False)
    log_loss: float | None = None
    vote: float | None = None
