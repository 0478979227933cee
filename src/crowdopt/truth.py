"""Comparing answers with known true labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.errors import InputError
from crowdopt.frames import Table, adopt, fetch, settle, small_table
from crowdopt.read.columns import choose_truth
from crowdopt.solution import Accuracy

if TYPE_CHECKING:
    from crowdopt.solution import Solution


def compare(solution: Solution, truth: Any, *, same_place: bool) -> Accuracy:
    """The accuracy of a solution on the tasks whose true label is known, compared as canonical text.

    Args:
        solution: The solution, with its tasks.
        truth: A table of true labels.
        same_place: Whether it was read by the database that the answers are in.
    """
    answers = _texts(solution.answers_table().select("task", "label"), "task", "label")
    known = _known(solution, truth, like=answers, same_place=same_place)
    labelled = answers.filter(~nw.col("label").is_null()).select("task", nw.col("label").alias("answer"))
    joined = known.join(labelled, on="task", how="left")
    right = nw.when(nw.col("answer") == nw.col("label")).then(nw.lit(1)).alias("right")
    found = fetch(joined.select("task", "answer", right).select(nw.col("task", "answer", "right").count()))
    n_truth, n_compared, n_right = (int(found[name][0]) for name in ("task", "answer", "right"))
    if not n_compared:
        raise InputError(f"the truth names none of the tasks that have answers; {_first_tasks(known, labelled)}")
    return Accuracy(n_right / n_compared, n_compared, n_truth - n_compared)


def _known(solution: Solution, truth: Any, like: Table, *, same_place: bool) -> Table:
    """The true labels as (task, label) texts, one row per task, in the same place as the answers."""
    table = adopt(truth)
    task, label = choose_truth(solution.reading)(table.collect_schema().names())
    table = _texts(table, task, label).filter(~nw.col("task").is_null(), ~nw.col("label").is_null()).unique()
    # DuckDB tables of two connections cannot be joined; other kinds can if they are the same.
    if not (table.implementation == like.implementation and (same_place or not table.implementation.is_duckdb())):
        table = small_table(fetch(table), like=like)
    table = settle(table)
    if not int(fetch(table.select(nw.len().alias("n")))["n"][0]):
        raise InputError("the truth has no rows with a task and a label")
    repeated = fetch(table.group_by("task").agg(nw.len().alias("n")).filter(nw.col("n") > 1).sort("task").head(1))[
        "task"
    ]
    if repeated:
        raise InputError(f"the truth gives task {repeated[0]!r} two different labels")
    labels = set(fetch(table.select("label").unique().head(1000))["label"])
    if labels.isdisjoint(solution.scale.labels):
        raise InputError(
            f"the truth's labels ({', '.join(sorted(labels)[:5])}) are none of the answers' "
            f"({', '.join(solution.scale.labels)})"
        )
    return table


def _texts(table: Table, task: str, label: str) -> Table:
    schema = table.collect_schema()
    return table.select(_text(task, schema[task]).alias("task"), _text(label, schema[label]).alias("label"))


def _text(name: str, dtype: Any) -> nw.Expr:
    """The canonical text of a column, computed where the column is (see ``scale.canonical_text``)."""
    column = nw.col(name)
    if dtype == nw.Boolean:
        known = nw.when(column).then(nw.lit("true")).otherwise(nw.lit("false"))
        return nw.when(~column.is_null()).then(known)
    if dtype.is_float():
        whole = column.round(0) == column
        return nw.when(whole).then(column.round(0).cast(nw.Int64).cast(nw.String)).otherwise(column.cast(nw.String))
    return column.cast(nw.String)


def _first_tasks(known: Table, answers: Table) -> str:
    firsts = [fetch(table.select("task").sort("task").head(1))["task"] for table in (known, answers)]
    theirs, ours = (repr(first[0]) if first else "nothing" for first in firsts)
    return f"it begins with {theirs}, the tasks with {ours}"
