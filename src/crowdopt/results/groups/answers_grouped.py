"""Answers of all groups: one row per task, made by one join of the tasks with the columns of all solutions."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from crowdopt.data.columns import check_answer_columns
from crowdopt.data.encode import parts_by_group
from crowdopt.data.known_labels import TASK_TEXT, KnownBy, agreed_labels, labelled_tasks, with_text
from crowdopt.data.prepare import GROUP_VALUE
from crowdopt.data.responses import no_response
from crowdopt.data.tables.table import Table, fetch, fetch_arrow, folds_case, small_table, with_texts
from crowdopt.errors import InputError
from crowdopt.model.letters import is_missing_word
from crowdopt.model.scale import canonical_text
from crowdopt.results.accuracy import Accuracy, OffScale
from crowdopt.results.answers import as_typed
from crowdopt.results.solution_consensus import ConsensusSolution

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crowdopt._arrays import Ints
    from crowdopt.data.groups import GroupedSource
    from crowdopt.results.solutions import Solutions


def grouped_answer_table(solutions: Solutions[Any], source: GroupedSource, *, probabilities: bool = False) -> Table:
    """The answers of all groups that have a solution, sorted by group and task."""
    columns = _columns(solutions, probabilities=probabilities)
    reading, table = source.reading, source.table
    named = ["task", *columns, *reading.kept]
    check_answer_columns([reading.group_name, *named], fold=folds_case(table))
    joined = _joined(solutions, source, columns)
    if source.prepared.kept is not None:
        joined = joined.join(source.prepared.kept, on=["group", "task"], how="left")
    native = GROUP_VALUE if GROUP_VALUE in table.collect_schema().names() else "group"
    joined = joined.sort(native, "task").select(nw.col(native).alias(reading.group_name), *named)
    return as_typed(joined, source.prepared.types)


def _joined(solutions: Solutions[Any], source: GroupedSource, columns: dict[str, Any]) -> Table:
    """The tasks of the groups that have a solution, with columns by row of the solutions (see ``answer_columns``)."""
    names = {group: one.need_tasks().names for group, one in solutions.items() if isinstance(one, ConsensusSolution)}
    return _joined_by_name(names, source, columns) if names else _joined_by_counts(solutions, source, columns)


def _joined_by_counts(groups: Iterable[str], source: GroupedSource, columns: dict[str, Any]) -> Table:
    """The tasks of groups with columns by bucket, behind which is the one of tasks without a response."""
    rows = {group: source.rows(group) for group in groups}
    counts = np.concatenate(list(rows.values()))
    keys: dict[str, Any] = {"group": [group for group, own in rows.items() for _ in own]}
    keys |= {name: counts[:, at] for name, at in source.columns.items()}
    known = small_table(keys | columns, like=source.table)
    return source.table.join(known, on=list(keys), how="inner").drop(*source.columns)


def buckets_by_group(source: GroupedSource, tasks: Mapping[str, Any]) -> dict[str, Ints]:
    """The bucket of each task, by group, given the tasks that have a response as Arrow arrays of texts."""
    import pyarrow.compute as pc

    sizes = [counted.buckets.n_buckets + 1 for counted in source.groups.values()]
    joined = _joined_by_counts(source.groups, source, {"row": np.concatenate([np.arange(size) for size in sizes])})
    found = fetch_arrow(with_text(joined).select("group", TASK_TEXT, "row"))
    texts, rows = found[TASK_TEXT].combine_chunks(), found["row"].to_numpy()
    return {
        group: rows[part][pc.index_in(tasks[group], texts.take(part)).to_numpy()]
        for group, part in parts_by_group(found["group"])
    }


def _joined_by_name(names: Mapping[str, Any], source: GroupedSource, columns: dict[str, Any]) -> Table:
    """The tasks of groups with columns by task, given the names of those that have a response."""
    table, silent = with_text(source.table).drop(*source.columns), _silent_tasks(source)
    groups: list[str] = []
    tasks: list[str] = []
    at: list[int] = []
    first = 0
    for group, array in names.items():
        own, others = array.to_pylist(), silent.get(group, [])
        groups += [group] * (len(own) + len(others))
        tasks += own + others
        at += [*range(first, first + len(own)), *[first + len(own)] * len(others)]
        first += len(own) + 1
    taken = {name: _rows_at(column, at) for name, column in columns.items()}
    known = small_table({"group": groups, TASK_TEXT: tasks} | taken, like=table)
    return table.join(known, on=["group", TASK_TEXT], how="inner").drop(TASK_TEXT)


def _rows_at(column: Any, at: Sequence[int]) -> Any:
    """Some entries of a column, an array or a list, some of them perhaps several times."""
    return column[at] if isinstance(column, np.ndarray) else [column[i] for i in at]


def _silent_tasks(source: GroupedSource) -> dict[str, list[str]]:
    """The tasks without any response, as texts, by group."""
    found: dict[str, list[str]] = {}
    if any(counted.totals.n_no_response for counted in source.groups.values()):
        rows = fetch(with_text(source.table.filter(no_response(source.columns))).select("group", TASK_TEXT))
        for group, task in zip(rows["group"], rows[TASK_TEXT], strict=True):
            found.setdefault(group, []).append(task)
    return found


def _columns(solutions: Solutions[Any], *, probabilities: bool) -> dict[str, Any]:
    """The columns of the answers by row, of all groups; a label that a group does not have has no probability."""
    parts = [solution.answer_columns(probabilities=probabilities) for solution in solutions.values()]
    names = sorted({name: None for part in parts for name in part}, key=lambda name: name.startswith("p_"))
    columns = {
        name: list(chain.from_iterable(part.get(name, [None] * len(part["label"])) for part in parts)) for name in names
    }
    return columns | {"n_responses": np.array(columns["n_responses"], np.int64)}


def accuracy_by_group(solutions: Solutions[Any], source: GroupedSource, truth: Any) -> dict[str | None, Accuracy]:
    """The accuracy in every group for which the truth names tasks, and under None that of all of them together.

    Args:
        solutions: The solutions.
        source: Their tasks.
        truth: A table of true labels, with groups and tasks.
    """
    found = _right_by_group(solutions, source, _known(truth, source))
    if not sum(one.answered for one in found.values()):
        raise InputError("the truth names none of the tasks that have answers, in no group")
    return _accuracies(solutions, found)


def export_accuracy_by_group(solutions: Solutions[Any], source: GroupedSource) -> dict[str | None, Accuracy]:
    """The same for the known labels that an export brings; empty if it brings none."""
    if (given := source.export_labels) is None:
        return {}
    table, n_two_labels = agreed_labels(given.table, source.reading, _spelled_in(source))
    rows = fetch(table)
    known = {"group": rows["group"], "task": rows["task"], "true": rows["label"]}
    found = _right_by_group(solutions, source, known) if rows["task"] else {}
    if not sum(one.answered for one in found.values()):
        return {}
    accuracy = {group: replace(one, answered=given.answered) for group, one in _accuracies(solutions, found).items()}
    return accuracy | {None: replace(accuracy[None], n_two_labels=n_two_labels)}


class _Right(NamedTuple):
    """Of the tasks of known label of a group: how many are right, have an answer, and are there at all."""

    right: int
    answered: int
    n: int
    off_scale: OffScale


def _right_by_group(solutions: Solutions[Any], source: GroupedSource, known: dict[str, list[Any]]) -> dict[str, _Right]:
    """How many of the known labels the answers of each group have."""
    values = chain.from_iterable(one.answer_columns()["label"] for one in solutions.values())
    labels = {"answer": [None if value is None else canonical_text(value) for value in values]}
    answers = with_texts(_joined(solutions, source, labels).select("group", "task", "answer"), ["task"])
    joined = small_table(known | _off_scale(known, source), like=answers).join(
        answers, on=["group", "task"], how="left"
    )
    answered = ~nw.col("answer").is_null()
    marks = {
        "answered": nw.lit(1),
        "right": nw.when(nw.col("answer") == nw.col("true")).then(nw.lit(1)),
        "others": nw.when(nw.col("other") != "").then(nw.lit(1)),
        "word": nw.when(nw.col("word") != "").then(nw.col("word")),
        "other": nw.when(nw.col("other") != "").then(nw.col("other")),
    }
    rows = fetch(
        joined.select("group", *(nw.when(answered).then(mark).alias(name) for name, mark in marks.items()))
        .group_by("group")
        .agg(nw.len().alias("n"), nw.col("answered", "right", "others").count(), nw.col("word", "other").min())
    )
    return {
        group: _Right(
            int(rows["right"][at]),
            int(rows["answered"][at]),
            int(rows["n"][at]),
            OffScale(int(rows["others"][at]), rows["word"][at] or rows["other"][at] or ""),
        )
        for at, group in enumerate(rows["group"])
    }


def _off_scale(known: dict[str, list[Any]], source: GroupedSource) -> dict[str, list[str]]:
    """The known labels that no worker of their group gave, and those of them that are words for a missing one."""
    scales = {group: counted.scale.places for group, counted in source.groups.items()}
    pairs = zip(known["group"], known["true"], strict=True)
    others = ["" if true in scales.get(group, {}) else true for group, true in pairs]
    return {"other": others, "word": [text if is_missing_word(text) else "" for text in others]}


def _accuracies(solutions: Solutions[Any], found: Mapping[str, _Right]) -> dict[str | None, Accuracy]:
    """Of every group, and under None that of all of them together."""
    examples = sorted(
        (one.off_scale.example for one in found.values() if one.off_scale.n_tasks),
        key=lambda text: (not is_missing_word(text), text),
    )
    others = OffScale(sum(one.off_scale.n_tasks for one in found.values()), next(iter(examples), ""))
    right, answered, n = (sum(column) for column in list(zip(*found.values(), strict=True))[:3])
    accuracy: dict[str | None, Accuracy] = {
        group: _accuracy(found[group]) for group in solutions if group in found and found[group].answered
    }
    return accuracy | {None: _accuracy(_Right(right, answered, n, others))}


def _accuracy(of: _Right) -> Accuracy:
    return Accuracy(of.right / of.answered, of.answered, of.n - of.answered, off_scale=of.off_scale)


def _known(truth: Any, source: GroupedSource) -> dict[str, list[Any]]:
    """The truth as columns of texts: group, task and true label."""
    rows = fetch(labelled_tasks(truth, source.reading, "truth", _spelled_in(source)))
    if not rows["task"]:
        raise InputError("the truth has no rows with a group, a task and a label")
    return {"group": rows["group"], "task": rows["task"], "true": rows["label"]}


def _spelled_in(source: GroupedSource) -> KnownBy:
    """The groups, as known labels follow their spelling."""
    return KnownBy(source.table, {group: counted.scale.labels for group, counted in source.groups.items()})
