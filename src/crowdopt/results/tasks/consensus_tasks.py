"""The tasks of a consensus: from probabilities to labels, answers and judgements of other data."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.teaching import teaches
from crowdopt.results.kinds import UNCERTAIN_BELOW
from crowdopt.results.labelling import Labelled, numeric_scores, probability_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.data.coded import Coded, Encoded
    from crowdopt.model.scale import Scale
    from crowdopt.model.sparse_agreement import SparseVotes
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.tasks.given_tasks import GivenTasks

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


@dataclass(frozen=True, eq=False)
class TaskSums:
    """Sums over tasks; all but the expected answers without those of known label.

    Attributes:
        label_tasks: Tasks by label.
        expected_answers: See ``ConsensusSolution``.
        confidence: The sum of the confidences in two parts, each exact, so that the order of tasks changes nothing.
        n_uncertain: Tasks whose label is less probable than UNCERTAIN_BELOW.
        n_tied: Tasks where another label is as probable.
        voters: How many workers give each label to a task: the distinct rows of ``ConsensusTasks.voters``.
        weights: How many tasks have these.
        sparse: Of tasks of many labels the same, and how many responses give each label, in their place.
    """

    label_tasks: Floats
    expected_answers: Floats
    confidence: Floats
    n_uncertain: Floats
    n_tied: Floats
    voters: Ints
    weights: Ints
    sparse: tuple[tuple[SparseVotes, SparseVotes], ...] = ()

    @classmethod
    def of(cls, tasks: AnyTasks) -> Self:
        """Of some tasks."""
        free, labelled = tasks.free, tasks.labelled
        confidence = labelled.confidence[free]
        rows: dict[str, Any] = {"voters": np.zeros(0, np.int64), "weights": np.zeros(0, np.int64)}
        if isinstance(tasks, ConsensusTasks):
            rows["voters"], rows["weights"] = np.unique(tasks.voters[free], axis=0, return_counts=True)
        else:
            rows["sparse"] = ((tasks.free_voters, tasks.all_votes),)
        return cls(
            np.bincount(labelled.labels[free], minlength=tasks.scale.n_labels).astype(float),
            tasks.expected_answers(),
            np.array([one.sum() for one in _parted(confidence)]),
            np.array(float((confidence < UNCERTAIN_BELOW).sum())),
            np.array(float(labelled.tied[free].sum())),
            **rows,
        )

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Of all tasks of several parts."""
        total: dict[str, Any] = {}
        voters, weights, sparse = zip(*(one.added_to(total) for one in parts), strict=True)
        rows = np.concatenate(voters), np.concatenate(weights)
        return cls(**total, voters=rows[0], weights=rows[1], sparse=tuple(chain.from_iterable(sparse)))

    def added_to(self, total: dict[str, Floats]) -> tuple[Ints, Ints, tuple[Any, ...]]:
        """Adds the numbers to others of the same names; gives the rest."""
        for name in NUMBERS:
            total[name] = total.get(name, 0.0) + getattr(self, name)
        return self.voters, self.weights, self.sparse

    def by_key(self) -> dict[bytes, float]:
        """Every number by a key of its own, under which those of all parts can be added up anywhere, in any order.

        For that, what is below a grain stands apart: on a grid, sums of both are exact.
        """
        numbers = np.concatenate([np.ravel(getattr(self, name)) for name in NUMBERS])
        high = on_grid(numbers, 2.0**-20)
        both = zip((b"n", b"m"), (high, on_grid(numbers - high, 2.0**-60)), strict=True)
        named = {b"%b%d" % (key, at): float(one) for key, all_ in both for at, one in enumerate(all_) if one}
        rows = (row.tobytes() for row in self.voters.astype(np.int32))
        return named | {b"v" + row: float(weight) for row, weight in zip(rows, self.weights, strict=True)}

    @classmethod
    def from_keys(cls, values: Mapping[bytes, float], n_labels: int) -> Self:
        """The inverse of :meth:`by_key`."""
        shapes = [(n_labels,), (n_labels, n_labels), (2,), (), ()]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        flat: Floats = np.array([values.get(b"n%d" % at, 0.0) + values.get(b"m%d" % at, 0.0) for at in range(ends[-1])])
        numbers = [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]
        rows = sorted(key for key in values if key.startswith(b"v"))
        voters = np.array([np.frombuffer(row[1:], np.int32) for row in rows], np.int64).reshape(-1, n_labels)
        weights = np.array([round(values[row]) for row in rows], np.int64)
        summed: dict[str, Any] = dict(zip(NUMBERS, numbers, strict=True))
        return cls(**summed, voters=voters, weights=weights)


NUMBERS = tuple(field.name for field in fields(TaskSums) if field.name not in {"voters", "weights", "sparse"})
"""What is added up; of voters and weights the rows are joined."""


def _parted(values: Floats) -> tuple[Floats, Floats]:
    """Multiples of a small number, of which a hundred million between 0 and 1 have an exact sum; and what is left."""
    high = on_grid(values, 2.0**-26)
    return high, on_grid(values - high, 2.0**-52)


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
