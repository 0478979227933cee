"""Comparing answers with known true labels: those of a truth, and those that an export brings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.known_labels import KnownBy, agreed_labels, labelled_tasks, without_gold
from crowdopt.data.notes import if_missing
from crowdopt.data.tables.table import Table, coded, fetch, fetch_integers, small_table, with_texts
from crowdopt.errors import InputError
from crowdopt.model.letters import is_missing_word, shown
from crowdopt.model.scale import MAX_LABELS, MOST_LABELS, canonical_text, named_labels
from crowdopt.results.answers import NO_ROW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Bools, Ints
    from crowdopt.data.reading import Reading
    from crowdopt.results.solution import Solution

NO_LABEL = -1
"""Stands for the index of a label that is not on the scale; numbers below it for a few of those that may be named."""

FEW = 3
"""Labels that are not on the scale and may be named."""


def accuracy_of(solution: Solution, truth: Any, *, same_place: bool) -> Accuracy:
    """The accuracy of a solution on the tasks whose true label is known; labels are compared as canonical text.

    Args:
        solution: The solution, with its tasks.
        truth: A table of true labels.
        same_place: Whether it was read by the database that the answers are in.
    """
    answers, labels = solution.placed()
    known, answers, others = known_labels(solution, truth, answers, same_place=same_place)
    found = _compared(known, answers)
    if not len(found["n"]):
        raise InputError("all tasks of the truth are gold: their labels were given, and nothing is left to compare")
    if (found["row"] == NO_ROW).all():
        raise InputError(f"the truth names none of the tasks that have answers; {_first_tasks(known, answers)}")
    return solution.scored(_counted(found, labels, others), known, answers)


def export_accuracy_of(solution: Solution) -> Accuracy | None:
    """The accuracy on the tasks whose label the export knows, and that were not pinned; None if there are none."""
    given = solution.need_source().export_labels
    if given is None:
        return None
    answers, labels = solution.placed()
    known_by = KnownBy(answers, {"": solution.scale.labels})
    table, n_two_labels = agreed_labels(given.table, solution.reading, known_by)
    known, others = _coded(table, solution, answers, same_place=True)
    known, answers = _same_tasks(_free(known, solution), answers)
    found = _compared(known, answers)
    if (found["row"] == NO_ROW).all():
        return None
    scored = solution.scored(_counted(found, labels, others), known, answers)
    return replace(scored, n_two_labels=n_two_labels, answered=given.answered)


def _compared(known: Table, answers: Table) -> dict[str, Ints]:
    """How many tasks have each true label and row; NO_ROW is for those without an answer."""
    joined = known.join(answers, on="task", how="left").with_columns(nw.col("row").fill_null(NO_ROW))
    return fetch_integers(joined.group_by("true", "row").agg(nw.len().alias("n")))


def _counted(found: dict[str, Ints], labels: Ints, others: Sequence[str]) -> Accuracy:
    """The accuracy, given what was compared, the label of each row, and a few known labels that are on no scale."""
    here = found["row"] != NO_ROW
    true, row, n = (found[name][here] for name in ("true", "row", "n"))
    compared = Compared(np.maximum(true, NO_LABEL), row, n)
    n_truth, n_compared = int(found["n"].sum()), int(compared.n.sum())
    n_right = int(compared.n @ compared.right(labels))
    odd = off_scale(true, n, others)
    return Accuracy(n_right / n_compared, n_compared, n_truth - n_compared, compared, off_scale=odd)


def off_scale(true: Ints, n: Ints, others: Sequence[str]) -> OffScale:
    """What is not on the scale among true labels, given how often each occurs and the first of those that are not."""
    named = next((text for at, text in enumerate(others, 1) if (true == NO_LABEL - at).any()), "")
    return OffScale(int(n[true <= NO_LABEL].sum()), named)


def known_labels(
    solution: Solution, truth: Any, tasks: Table, *, same_place: bool
) -> tuple[Table, Table, tuple[str, ...]]:
    """The truth as (task, index of the true label), without gold tasks, and a table of tasks that it can be joined to.

    And a few of its labels that are not on the scale, for which numbers below NO_LABEL stand.

    Args:
        solution: The solution, which has the scale.
        truth: A table of true labels.
        tasks: A table with a column ``task``.
        same_place: Whether the truth was read by the database that the tasks are in.
    """
    table = labelled_tasks(truth, solution.reading, "truth", KnownBy(tasks, {"": solution.scale.labels}))
    _check_labels(table, solution)
    known, others = _coded(table, solution, tasks, same_place=same_place)
    return (*_same_tasks(_free(known, solution), tasks), others)


def _free(known: Table, solution: Solution) -> Table:
    """Without the tasks whose label was pinned."""
    return without_gold(known, solution.reading.gold) if solution.reading.gold else known


def _coded(table: Table, solution: Solution, like: Table, *, same_place: bool) -> tuple[Table, tuple[str, ...]]:
    """Known labels as (task, index of the true label), one row per task, in the same place as the answers.

    And a few of those that are not on the scale.
    """
    codes, others = _codes(table, solution)
    # DuckDB tables of two connections cannot be joined; other kinds can if they are the same.
    if (
        len(codes) <= MAX_LABELS + FEW
        and table.implementation == like.implementation
        and (same_place or not table.implementation.is_duckdb())
    ):
        return table.select("task", coded("label", codes, NO_LABEL).alias("true")), others
    rows = fetch(table)
    true = np.array([codes.get(value, NO_LABEL) for value in rows["label"]], np.int64)
    return small_table({"task": rows["task"], "true": true}, like=like), others


def _check_labels(table: Table, solution: Solution) -> None:
    """Raises if the labels of the truth cannot be those of the answers."""
    limit = 2 * MOST_LABELS
    values, labels = _values(table, limit), solution.scale.labels
    if not values:
        raise InputError("the truth has no rows with a task and a label")
    if len(values) > limit:
        raise InputError(f"the truth has more than {limit} different labels; the answers have {named_labels(labels)}")
    texts = sorted(map(canonical_text, values))
    if not set(texts) & set(labels):
        raise InputError(
            f"the truth's labels ({', '.join(texts[:5])}) are none of the answers' ({named_labels(labels)})"
        )


def _values(table: Table, limit: int) -> list[Any]:
    """The known labels, or some of them if they are more than there can be."""
    return list(fetch(table.select("label").unique().head(limit + 1))["label"])


def _codes(table: Table, solution: Solution) -> tuple[dict[Any, int], tuple[str, ...]]:
    """The known labels that are on the scale, and the index of each; and a few others, words for a missing one first.

    These have numbers, too, below NO_LABEL.
    """
    places = solution.scale.places
    texts = {value: canonical_text(value) for value in fetch(table.select("label").unique())["label"]}
    others = sorted(set(texts.values()).difference(places), key=lambda text: (not is_missing_word(text), text))[:FEW]
    known = places | {text: NO_LABEL - at for at, text in enumerate(others, 1)}
    return {value: known[text] for value, text in texts.items() if text in known}, tuple(others)


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


@dataclass(frozen=True, eq=False)
class Compared:
    """Tasks with a known truth, in as few rows as tell them apart.

    Attributes:
        true: The true label, or NO_LABEL if it is not on the scale.
        row: The row of the solution.
        n: How many tasks have both.
    """

    true: Ints
    row: Ints
    n: Ints

    def right(self, labels: Ints) -> Bools:
        """Whether labels, of all rows of the solution, are the true ones."""
        return np.asarray(labels[self.row] == self.true)

    def of_rows(self, start: int, end: int) -> Compared:
        """The tasks of some rows, which are numbered from the first of these."""
        here = (start <= self.row) & (self.row < end)
        return Compared(self.true[here], self.row[here] - start, self.n[here])


@dataclass(frozen=True)
class OffScale:
    """Tasks whose true label is not on the scale, so that no answer can be right.

    Attributes:
        n_tasks: Their number.
        example: Such a label, a word for a missing one if there is one; empty if none is known.
    """

    n_tasks: int = 0
    example: str = ""

    def in_words(self, of: str, reading: Reading) -> str:
        """How many they are, of what, and what to do if there is no true label; empty if there are none."""
        if not self.n_tasks:
            return ""
        said = f"of {of}, {self.n_tasks:,} {'has' if self.n_tasks == 1 else 'have'} a true label that no worker gave"
        said += f", such as {shown(self.example)}" if self.example else ""
        return f"{said}; {if_missing([self.example], reading)}" if is_missing_word(self.example) else said


@dataclass(frozen=True)
class Accuracy:
    """How many of the tasks with a known truth got it right.

    Attributes:
        value: Share of right labels among the tasks that have a truth and a label.
        n_tasks: Number of those tasks.
        n_unknown: Tasks of the truth file that have no label here.
        compared: Those tasks by their true label and row of the solution: from these follows the accuracy of any other
            labels of the rows. None where groups were compared all at once.
        log_loss: Mean of −ln of the confidence of labels that are right, and of one minus it of those that are wrong.
            None where confidences are not meant to be probabilities of being right.
        vote: The same share for majority vote, ties shared; None where it was not asked for.
        n_two_labels: Tasks that have two known labels in the export, which cannot be compared.
        answered: Whether the known labels are those of responses, too, which counted as all others.
        off_scale: The tasks whose true label no worker gave.
    """

    value: float
    n_tasks: int
    n_unknown: int
    compared: Compared | None = field(default=None, repr=False, compare=False)
    log_loss: float | None = None
    vote: float | None = None
    n_two_labels: int = 0
    answered: bool = False
    off_scale: OffScale = OffScale()
