"""The tasks of a consensus of many labels: what ``ConsensusTasks`` is, with sparse tables in the place of dense ones.

Of each task it has the labels that the task received, or is known to have; the others of its labels are one rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.consensus.given import GivenLabels
from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.teaching import crossed_given, idle_given
from crowdopt.data.tables.sparse import Entries
from crowdopt.model.sparse_agreement import SparseVotes
from crowdopt.results.answers import ENTRIES
from crowdopt.results.labelling import Labelled, numeric_scores
from crowdopt.results.tasks.consensus_tasks import TIED, as_objects, label_order, scored_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Bools, Floats, Ints, SmallInts
    from crowdopt.consensus.given import GivenShares
    from crowdopt.data.coded import Encoded
    from crowdopt.model.scale import Scale
    from crowdopt.results.accuracy import Accuracy

BY_TASK = ("sizes", "other", "known", "n_responses")
BY_ENTRY = ("label", "votes", "voters", "probabilities")
"""The arrays that have a row for each task, and for each label that it received."""


@dataclass(frozen=True, eq=False)
class GivenTasks:
    """Tasks that have a response or a known label, in the order of their codes.

    Attributes:
        names: The tasks as an Arrow array of texts.
        scale: The labels.
        sizes: How many labels each task received, or is known to have.
        n_responses: How many responses each task has.
        label: These labels, sorted by task and label.
        votes: Responses of each.
        voters: Workers whose most frequent response to the task each is.
        probabilities: The probability of each.
        other: The probability of all other labels of each task together.
        known: The label that a task is known to have (gold), or -1.
        answers: Responses by label, to these and to all other tasks of the same data.
        shares: How frequent each label is among tasks.
    """

    names: Any
    scale: Scale
    sizes: Ints
    n_responses: Ints
    label: SmallInts
    votes: SmallInts
    voters: SmallInts
    probabilities: Floats
    other: Floats
    known: Ints
    answers: Ints
    shares: Floats

    @classmethod
    def of(
        cls, encoded: Encoded, given: GivenLabels, found: GivenShares, scale: Scale, answers: Ints, shares: Floats
    ) -> GivenTasks:
        """The tasks of coded responses, given the probabilities of their labels."""
        once = encoded.coded.one_each()
        at = np.searchsorted(given.task * scale.n_labels + given.label, once.task * scale.n_labels + once.answer)
        once_each = np.bincount(at, minlength=len(given.label))
        label, votes, voters = (column.astype(np.int32) for column in (given.label, given.votes, once_each))
        sizes = np.diff(given.start)
        n_responses = np.bincount(encoded.coded.task, encoded.coded.times, encoded.coded.n_tasks).astype(np.int64)
        tasks = encoded.tasks, scale, sizes, n_responses, label, votes, voters
        return cls(*tasks, found.entries, found.other, encoded.known, answers, shares)

    @classmethod
    def joined(cls, parts: Iterable[GivenTasks]) -> GivenTasks:
        """The tasks of several parts of the same data."""
        import pyarrow as pa

        all_ = list(parts)
        if len(all_) == 1:
            return all_[0]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in all_]) for name in (*BY_TASK, *BY_ENTRY)
        }
        return replace(all_[0], names=pa.concat_arrays([one.names for one in all_]), **columns)

    def taken(self, kept: Bools) -> GivenTasks:
        """Only some of the tasks."""
        import pyarrow as pa

        entries = np.repeat(kept, self.sizes)
        columns: dict[str, Any] = {name: getattr(self, name)[kept] for name in BY_TASK}
        columns |= {name: getattr(self, name)[entries] for name in BY_ENTRY}
        return replace(self, names=self.names.filter(pa.array(kept)), **columns)

    @property
    def free(self) -> Bools:
        """Which tasks have a label that was found, and not one that was known."""
        return np.asarray(self.known < 0)

    @cached_property
    def task(self) -> Ints:
        """The task of each entry."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def labelled(self) -> Labelled:
        """The label of each task; the posterior is that of this label, of the next one, and of all others."""
        order, n_tasks = label_order(self.scale, self.answers), len(self.sizes)
        labels = self._first_of(self.probabilities, order)
        unknown = int(order[self.shares[order].argmax()])  # of a task that received none
        labels = np.where(labels < 0, unknown, labels)
        most = self._most(self.probabilities)
        tied = np.bincount(self.task, self.probabilities >= most[self.task] - TIED, n_tasks) > 1
        first = self._at(labels, self.probabilities)
        first = np.where(self.sizes == 0, self.shares[unknown], first)
        second = self._most(np.where(self.label == labels[self.task], 0.0, self.probabilities))
        posterior = np.stack([first, second, np.maximum(1 - first - second, 0.0)], axis=1)
        return _FirstLabelled(labels, tied, np.ones(n_tasks, bool), posterior)

    @property
    def labels(self) -> Ints:
        """The label of each task; where it is known, that one."""
        return self.labelled.labels

    @cached_property
    def seconds(self) -> tuple[Ints, Floats]:
        """The label of each task that is the most probable of all others that it received, or -1, and how probable."""
        others = np.where(self.label == self.labels[self.task], -1.0, self.probabilities)
        order = np.arange(self.scale.n_labels)
        found = np.where(self._most(others, -1.0) < 0, -1, self._first_of(others, order))
        return found, self._at(found, self.probabilities)

    def _most(self, values: Floats, least: float = 0.0) -> Floats:
        """The largest value of each task."""
        most = np.full(len(self.sizes), least)
        np.maximum.at(most, self.task, values)
        return most

    def _first_of(self, values: Floats, order: Ints) -> Ints:
        """The label of each task with the largest value, of several the first in an order; -1 of none."""
        near = values >= self._most(values, -np.inf)[self.task] - TIED
        rank, best = np.empty(len(order), np.int64), np.full(len(self.sizes), len(order))
        rank[order] = np.arange(len(order))
        np.minimum.at(best, self.task[near], rank[self.label[near]])
        return np.asarray(np.append(order, -1)[best])

    def _at(self, labels: Ints, values: Floats) -> Floats:
        """The value of one label of each task; zero if the task did not receive it."""
        mine = self.label == labels[self.task]
        return np.asarray(np.bincount(self.task[mine], values[mine], len(self.sizes)), np.float64)

    def expected_answers(self) -> Floats:
        """How many responses to tasks of each label are expected to be that label, and another one (label, 2).

        Behind them those to tasks of labels that they did not receive.
        """
        exact, n_labels = on_grid(self.probabilities), self.scale.n_labels
        right = np.bincount(self.label, exact * self.votes, n_labels)
        asked = np.bincount(self.label, exact * self.n_responses[self.task], n_labels)
        rest = self.n_responses.sum() - asked.sum()
        return np.append(np.stack([right, asked - right], axis=1), [[0.0, max(rest, 0.0)]], axis=0)

    @property
    def all_votes(self) -> SparseVotes:
        """How many responses give each label, of tasks whose label was found."""
        return SparseVotes(self.sizes, self.label, self.votes, self.scale.n_labels).some(self.free)

    @property
    def free_voters(self) -> SparseVotes:
        """How many workers give each label, of the same tasks."""
        return SparseVotes(self.sizes, self.label, self.voters, self.scale.n_labels).some(self.free)

    @cached_property
    def top_voters(self) -> tuple[Ints, Ints, Ints]:
        """Of each task how many workers give a label, how many give the most frequent one, and which one that is."""
        total = np.bincount(self.task, self.voters, len(self.sizes)).astype(np.int64)
        most, order = self._most(self.voters.astype(float)).astype(np.int64), np.arange(self.scale.n_labels)
        return total, most, self._first_of(self.voters.astype(float), order)

    @property
    def taught(self) -> Bools:
        """Which tasks have a known label that teaches how workers answer."""
        start = np.append(0, np.cumsum(self.sizes))
        label, votes = self.label.astype(np.int64), self.votes.astype(np.int64)
        given = GivenLabels(start, label, votes, np.zeros(0, np.int64), self.scale.n_labels)
        idle = idle_given([crossed_given(given, self.known)], self.scale.n_labels)
        return np.asarray((self.known >= 0) & ~idle[self.known])

    def vote_shares_of(self, labels: Ints, tasks: Ints) -> Floats:
        """The share that labels have of the labels with the most responses to some tasks."""
        top = (self.votes > 0) & (self.votes == self._most(self.votes.astype(float))[self.task])
        number, n_labels = np.bincount(self.task, top, len(self.sizes)), self.scale.n_labels
        keys = self.task[top] * n_labels + self.label[top]
        wanted = tasks * n_labels + labels
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        is_top = (labels >= 0) & (keys[at] == wanted) if len(keys) else np.zeros(len(tasks), bool)
        return np.where(is_top, 1.0 / np.maximum(number[tasks], 1), 0.0)

    @property
    def vote_is_tied(self) -> Bools:
        """Whether several labels have the most responses."""
        top = (self.votes > 0) & (self.votes == self._most(self.votes.astype(float))[self.task])
        return np.bincount(self.task, top, len(self.sizes)) > 1

    def columns(self, *, probabilities: bool, sparse: bool = False) -> dict[str, Any]:
        """The columns of the answers by task; if ``sparse``, those of probabilities as entries."""
        labelled = self.labelled
        status = np.where(self.known >= 0, "gold", np.where(labelled.tied, "tie", "ok"))
        columns = {
            "label": as_objects(self.scale.values)[labelled.labels],
            "confidence": labelled.confidence,
            "n_responses": self.n_responses,
            "status": status.astype(object),
        }
        return columns | self.probability_columns(every_label=probabilities, sparse=sparse)

    def probability_columns(self, *, every_label: bool, sparse: bool = False) -> dict[str, Any]:
        """What answers say of probabilities beside that of the label; see ``labelling.probability_columns``.

        A label that a task did not receive has none: what is left is ``p_other``. In a mean it is where labels are.
        """
        columns: dict[str, Any] = {}
        if (scores := numeric_scores(self.scale)) is not None:
            given = np.bincount(self.task, self.probabilities * scores[self.label], len(self.sizes))
            share = np.bincount(self.task, self.shares[self.label], len(self.sizes))
            score = np.bincount(self.task, self.shares[self.label] * scores[self.label], len(self.sizes))
            rest = (self.shares @ scores - score) / np.maximum(1 - share, TIED)
            columns["mean"] = given + self.other * np.clip(rest, scores[0], scores[-1])
        if every_label:
            entries = Entries(probability_names(self.scale, given=False), self.sizes, self.label, self.probabilities)
            columns |= {ENTRIES: entries} if sparse else self._of_every_label()
            columns[other_column(self.scale)] = self.other
        return columns

    def _of_every_label(self) -> dict[str, Any]:
        import pyarrow as pa

        n_tasks = len(self.sizes)
        order = np.argsort(self.label, kind="stable")
        ends = np.searchsorted(self.label[order], np.arange(self.scale.n_labels + 1))
        columns: dict[str, Any] = {}
        for j, name in enumerate(self.scale.labels):
            own = order[ends[j] : ends[j + 1]]
            values, missing = np.zeros(n_tasks), np.ones(n_tasks, bool)
            values[self.task[own]], missing[self.task[own]] = self.probabilities[own], False
            columns[f"p_{name}"] = pa.array(values, mask=missing)
        return columns

    def scored(self, accuracy: Accuracy) -> Accuracy:
        """An accuracy (see ``accuracy_of``) with the log-loss of the confidences, and that of majority vote."""
        return scored_by(self, accuracy)


class _FirstLabelled(Labelled):
    """Labels whose probability stands first."""

    @property
    def confidence(self) -> Floats:
        """Probability of the label of each row."""
        return np.asarray(self.posterior[:, 0])


def other_column(scale: Scale) -> str:
    """The column of the probability of all labels that a task did not receive; no label has its name."""
    name = "p_other"
    while name.removeprefix("p_") in scale.places:
        name += "_label"
    return name


def probability_names(scale: Scale, *, given: bool) -> list[str]:
    """The columns that the probabilities of all labels have."""
    return [*(f"p_{label}" for label in scale.labels), *([other_column(scale)] if given else [])]


def next_answers_by_skill(tasks: GivenTasks, skill: float, errors: Floats) -> Floats:
    """How the next worker answers tasks whose label is the first, the second, or another one (task, label, answer).

    All others are one label, of which a worker answers no other one: two answers that are different labels would else
    agree. So what further responses are worth is never said to be more than it is.

    Args:
        tasks: The tasks.
        skill: How often workers are right.
        errors: How frequent labels are among wrong answers.
    """
    padded = np.append(errors, 0.0)
    first, second = padded[tasks.labels], padded[tasks.seconds[0]]
    right, wrong = np.full(len(first), skill), 1 - skill

    def confused(given: Floats, label: Floats) -> Floats:
        """How often the answer is this one where the label is that one; never more than there are wrong answers."""
        return wrong * np.minimum(given / np.maximum(1 - label, np.finfo(float).tiny), 1.0)

    as_second, as_first = confused(second, first), confused(first, second)
    rows = [
        [right, as_second, wrong - as_second],
        [as_first, right, wrong - as_first],
        [wrong * first, wrong * second, right],
    ]
    return np.ascontiguousarray(np.moveaxis(np.array(rows), 2, 0))
