"""The tasks of a consensus: from probabilities to labels, answers and judgements of other data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np

from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.teaching import teaches
from crowdopt.data.responses import by_name
from crowdopt.results.answers import NO_ROW, PREDICTED_COLUMNS
from crowdopt.results.labelling import Labelled, numeric_scores, probability_columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.data.encode import Coded, Encoded
    from crowdopt.data.responses import TaskCounts
    from crowdopt.data.tables.table import Table
    from crowdopt.model.scale import Scale
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.given_tasks import GivenTasks

SURE = 1e-4
"""A log-loss takes confidences to be this far from 0 and 1: one wrong task must not decide it."""

TIED = 1e-9
"""Labels whose probabilities differ by no more than this are tied."""

BY_TASK = ("votes", "voters", "probabilities", "known")
"""The arrays that have a row for each task."""

NOBODY = {"label": None, "confidence": None, "n_responses": 0, "status": "no_response"}
"""What answers say of a task without a response; of all else nothing."""


@dataclass(frozen=True, eq=False)
class ConsensusTasks:
    """Tasks that have a response or a known label, in the order of their codes, with all probabilities.

    Attributes:
        names: The tasks as an Arrow array of texts.
        scale: The labels.
        votes: Responses by (task, label).
        voters: Workers whose most frequent response to the task each label is, by (task, label).
        probabilities: The probability of every label, by (task, label).
        known: The label that a task is known to have (gold), or -1.
        answers: Responses by label, to these and to all other tasks of the same data.
    """

    names: Any
    scale: Scale
    votes: Ints
    voters: Ints
    probabilities: Floats
    known: Ints
    answers: Ints

    @classmethod
    def of(cls, encoded: Encoded, probabilities: Floats, scale: Scale, answers: Ints) -> ConsensusTasks:
        """The tasks of coded responses, given the probabilities of their labels."""
        coded = encoded.coded
        votes, voters = votes_of(coded), votes_of(coded.one_each())
        return cls(encoded.tasks, scale, votes, voters, probabilities, encoded.known, answers)

    @classmethod
    def joined(cls, parts: Iterable[ConsensusTasks]) -> ConsensusTasks:
        """The tasks of several parts of the same data."""
        import pyarrow as pa

        all_ = list(parts)
        if len(all_) == 1:
            return all_[0]
        columns: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in all_]) for name in BY_TASK}
        return replace(all_[0], names=pa.concat_arrays([one.names for one in all_]), **columns)

    def taken(self, kept: Bools) -> ConsensusTasks:
        """Only some of the tasks."""
        import pyarrow as pa

        columns: dict[str, Any] = {name: getattr(self, name)[kept] for name in BY_TASK}
        return replace(self, names=self.names.filter(pa.array(kept)), **columns)

    @property
    def free(self) -> Bools:
        """Which tasks have a label that was found, and not one that was known."""
        return np.asarray(self.known < 0)

    @cached_property
    def labelled(self) -> Labelled:
        """The label of each task."""
        return label_probabilities(self.probabilities, self.scale, self.answers)

    @property
    def labels(self) -> Ints:
        """The label of each task; where it is known, that one."""
        return self.labelled.labels

    def expected_answers(self) -> Floats:
        """How many responses of each answer tasks of each label are expected to have, by (label, answer).

        Every response is shared among the labels of its task as these are probable. The sums do not depend on the order
        of the tasks.
        """
        return np.asarray(on_grid(self.probabilities).T @ self.votes)

    def placed(self, counts: TaskCounts) -> Table:
        """The tasks with their number, ``row``; without those of known label and without a response."""
        row = np.where(self.known < 0, np.arange(len(self.names)), NO_ROW)
        return placed_rows(by_name([(self.names, {"row": row})], {"row": NO_ROW}, counts))

    def columns(self, *, probabilities: bool, sparse: bool = False) -> dict[str, Any]:
        """The columns of the answers by task."""
        del sparse  # no label is without a probability
        labelled, scale = self.labelled, self.scale
        status = np.where(self.known >= 0, "gold", np.where(labelled.tied, "tie", "ok"))
        columns = {
            "label": as_objects(scale.values)[labelled.labels],
            "confidence": labelled.confidence,
            "n_responses": self.votes.sum(axis=1),
            "status": status.astype(object),
        }
        more = probability_columns(self.probabilities, scale, numeric_scores(scale), every_label=probabilities)
        return columns | more

    def scored(self, accuracy: Accuracy) -> Accuracy:
        """An accuracy (see ``accuracy_of``) with the log-loss of the confidences, and that of majority vote."""
        return scored_by(self, accuracy)

    @cached_property
    def seconds(self) -> tuple[Ints, Floats]:
        """The label of each task that is the most probable of all others, and how probable it is."""
        others = self.probabilities.copy()
        others[np.arange(len(others)), self.labels] = -1.0
        return others.argmax(axis=1), others.max(axis=1)

    @property
    def top_voters(self) -> tuple[Ints, Ints, Ints]:
        """Of each task how many workers give a label, how many give the most frequent one, and which one that is."""
        return self.voters.sum(axis=1), self.voters.max(axis=1, initial=0), self.voters.argmax(axis=1)

    @property
    def taught(self) -> Bools:
        """Which tasks have a known label that teaches how workers answer."""
        return teaches(self.votes, self.known)

    def vote_shares_of(self, labels: Ints, tasks: Ints) -> Floats:
        """The share that labels have of the labels with the most responses to some tasks."""
        top = self.votes == self.votes.max(axis=1, keepdims=True)
        return np.where(labels >= 0, top[tasks, labels] / top.sum(axis=1)[tasks], 0.0)

    @property
    def vote_is_tied(self) -> Bools:
        """Whether several labels have the most responses."""
        top = self.votes == self.votes.max(axis=1, keepdims=True)
        return np.asarray(top.sum(axis=1) > 1)


AnyTasks: TypeAlias = "ConsensusTasks | GivenTasks"
"""The tasks of a consensus, of few labels or of many."""


def placed_rows(table: Table) -> Table:
    """Tasks with their number, without those that have none."""
    return table.filter(nw.col("row") != NO_ROW)


def scored_by(tasks: AnyTasks, accuracy: Accuracy) -> Accuracy:
    """An accuracy with the log-loss of the confidences of its tasks, and that of majority vote."""
    if (compared := accuracy.compared) is None:
        return accuracy
    right = compared.right(tasks.labels)
    confidence = np.clip(tasks.labelled.confidence[compared.row], SURE, 1 - SURE)
    loss = compared.n @ np.where(right, np.log(confidence), np.log1p(-confidence))
    vote = compared.n @ tasks.vote_shares_of(compared.true, compared.row)
    return replace(accuracy, log_loss=float(-loss / accuracy.n_tasks), vote=float(vote / accuracy.n_tasks))


def label_order(scale: Scale, votes: Ints) -> Ints:
    """Labels in the order in which they are taken where they are tied; see :func:`label_probabilities`."""
    return np.arange(scale.n_labels) if scale.kind == "ordinal" else np.lexsort((np.array(scale.labels), -votes))


def label_probabilities(probabilities: Floats, scale: Scale, votes: Ints) -> Labelled:
    """The most probable label of each row.

    Of labels that are tied it is the lowest if they are ordered, else the one with more responses, then the first by
    name.

    Args:
        probabilities: The probability of every label, by (row, label).
        scale: The labels.
        votes: Responses by label, of all tasks together.
    """
    order = label_order(scale, votes)
    near = probabilities >= probabilities.max(axis=1, keepdims=True) - TIED
    labels = order[near[:, order].argmax(axis=1)]
    explained = np.ones(len(probabilities), bool)
    return Labelled(labels, near.sum(axis=1) > 1, explained, probabilities)


def votes_of(coded: Coded) -> Ints:
    """Responses by (task, label)."""
    at, length = coded.task * coded.n_labels + coded.answer, coded.n_tasks * coded.n_labels
    return np.bincount(at, coded.times, minlength=length).reshape(-1, coded.n_labels).astype(np.int64)


def as_objects(values: Iterable[Any]) -> Any:
    """Values of any kind as an array of Python objects."""
    listed = list(values)
    objects = np.empty(len(listed), object)
    objects[:] = listed
    return objects


def consensus_columns(scales: Iterable[Scale]) -> list[str]:
    """The columns that answers on some scales have, but for the probabilities of all labels."""
    rated = any(numeric_scores(scale) is not None for scale in scales)
    return [*PREDICTED_COLUMNS, *(["mean"] if rated else [])]
