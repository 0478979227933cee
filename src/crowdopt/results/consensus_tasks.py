"""The tasks of a consensus: from probabilities to labels, answers and judgements of other data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.consensus.consensus import find_consensus, mean_of, members_of, probabilities_of
from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.rows import Rows
from crowdopt.data.encode import encode_responses
from crowdopt.data.responses import by_name, silent_tasks
from crowdopt.results.answers import NO_ROW, named_table
from crowdopt.results.judged_tasks import JudgedTasks
from crowdopt.results.labelling import Labelled, numeric_scores, probability_columns
from crowdopt.results.predict import PREDICTED_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.consensus.consensus import FoundConsensus
    from crowdopt.data.encode import Coded, Encoded
    from crowdopt.data.load import Source
    from crowdopt.data.responses import TaskCounts
    from crowdopt.data.tables.table import Table
    from crowdopt.model.scale import Scale
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.solution_consensus import ConsensusSolution

SURE = 1e-4
"""A log-loss takes confidences to be this far from 0 and 1: one wrong task must not decide it."""

TIED = 1e-9
"""Labels whose probabilities differ by no more than this are tied."""


@dataclass(frozen=True, eq=False)
class ConsensusTasks:
    """The tasks that have a response or a known label, in the order of their codes, with all probabilities.

    Attributes:
        names: The tasks as an Arrow array of texts.
        scale: The labels.
        votes: Responses by (task, label).
        voters: Workers whose most frequent response to the task each label is, by (task, label).
        probabilities: The probability of every label, by (task, label).
        known: The label that a task is known to have (gold), or -1.
        members: The probabilities that each member of the consensus gives, by its name.
        share_proven: The share of the responses to tasks of unknown label that come from workers who answered some of
            known label.
    """

    names: Any
    scale: Scale
    votes: Ints
    voters: Ints
    probabilities: Floats
    known: Ints
    members: dict[str, Floats]
    share_proven: float

    @classmethod
    def of(cls, encoded: Encoded, known: Ints, scale: Scale, members: dict[str, Floats]) -> ConsensusTasks:
        """The tasks of coded responses, the labels that are known, and what the members of the consensus say."""
        coded = encoded.coded
        return cls(
            encoded.tasks, scale, votes_of(coded), votes_of(coded.one_each()), mean_of(members), known, members,
            _share_proven(coded, known),
        )  # fmt: skip

    @property
    def free(self) -> Bools:
        """Which tasks have a label that was found, and not one that was known."""
        return np.asarray(self.known < 0)

    @cached_property
    def labelled(self) -> Labelled:
        """The label of each task."""
        return label_probabilities(self.probabilities, self.scale, self.votes.sum(axis=0))

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
        row = np.append(np.where(self.known < 0, np.arange(len(self.names)), NO_ROW), NO_ROW)
        return by_name({"row": row}, self.names, counts).filter(nw.col("row") != NO_ROW)

    def columns(self, *, probabilities: bool) -> dict[str, Any]:
        """The columns of the answers by task; the last row is for tasks without a response."""
        labelled, scale = self.labelled, self.scale
        status = np.where(self.known >= 0, "gold", np.where(labelled.tied, "tie", "ok"))
        columns = {
            "label": [*(scale.values[j] for j in labelled.labels), None],
            "confidence": [*labelled.confidence.tolist(), None],
            "n_responses": np.append(self.votes.sum(axis=1), 0),
            "status": [*status.tolist(), "no_response"],
        }
        more = probability_columns(self.probabilities, scale, numeric_scores(scale), every_label=probabilities)
        return columns | more

    def scored(self, accuracy: Accuracy) -> Accuracy:
        """An accuracy (see ``accuracy_of``) with the log-loss of the confidences, and that of majority vote."""
        if accuracy.by_row is None:
            return accuracy
        true, labels = accuracy.by_row[:-1].T, self.labels[:, None]  # truths off the scale are right for nobody
        right = np.take_along_axis(true, labels, axis=1)[:, 0]
        confidence = np.clip(self.labelled.confidence, SURE, 1 - SURE)
        loss = right @ np.log(confidence) + (accuracy.by_row.sum(axis=0) - right) @ np.log1p(-confidence)
        top = self.votes == self.votes.max(axis=1, keepdims=True)
        vote = (true * top / top.sum(axis=1, keepdims=True)).sum()
        return replace(accuracy, log_loss=float(-loss / accuracy.n_tasks), vote=float(vote / accuracy.n_tasks))


def label_probabilities(probabilities: Floats, scale: Scale, votes: Ints) -> Labelled:
    """The most probable label of each row.

    Of labels that are tied it is the lowest if they are ordered, else the one with more responses, then the first by
    name.

    Args:
        probabilities: The probability of every label, by (row, label).
        scale: The labels.
        votes: Responses by label, of all tasks together.
    """
    order = np.arange(scale.n_labels) if scale.kind == "ordinal" else np.lexsort((np.array(scale.labels), -votes))
    near = probabilities >= probabilities.max(axis=1, keepdims=True) - TIED
    labels = order[near[:, order].argmax(axis=1)]
    explained = np.ones(len(probabilities), bool)
    return Labelled(labels, near.sum(axis=1) > 1, explained, probabilities)


@dataclass(frozen=True, eq=False)
class SourceConsensus:
    """The consensus of a source, with its responses as codes.

    Attributes:
        encoded: The responses, and the names behind their codes.
        rows: The same responses as the consensus reads them.
        found: The consensus.
    """

    encoded: Encoded
    rows: Rows
    found: FoundConsensus

    @classmethod
    def of(
        cls,
        encoded: Encoded,
        known: Ints,
        shares: Floats | None = None,
        on_member: Callable[[str], None] | None = None,
    ) -> SourceConsensus:
        """The consensus of coded responses and known labels; see ``find_consensus``."""
        rows = Rows.of(encoded.coded, known)
        return cls(encoded, rows, find_consensus(rows, shares=shares, on_member=on_member))

    def tasks(self, scale: Scale) -> ConsensusTasks:
        """Its tasks, given what the labels are."""
        return ConsensusTasks.of(self.encoded, self.rows.known, scale, self.found.members)


def encode_tasks(source: Source) -> tuple[Encoded, Ints]:
    """The responses of a source, coded, and the label that each task is known to have, or -1.

    Behind the tasks that have a response stand those of known label that have none.
    """
    encoded, gold = encode_responses(source.responses), dict(source.reading.gold)
    if not gold:
        return encoded, np.full(encoded.coded.n_tasks, -1)
    import pyarrow as pa

    silent = sorted(gold.keys() & set(silent_tasks(source.counts))) if source.counts.has_silent else []
    names = pa.concat_arrays([encoded.tasks, pa.array(silent, encoded.tasks.type)])
    index, scale = {name: at for at, name in enumerate(names.to_pylist())}, source.responses.scale
    known = np.full(len(names), -1)
    for task, label in gold.items():
        known[index[task]] = scale.index(label)
    return replace(encoded, coded=replace(encoded.coded, n_tasks=len(names)), tasks=names), known


def consensus_of(
    source: Source, shares: Floats | None = None, on_member: Callable[[str], None] | None = None
) -> SourceConsensus:
    """The consensus of the responses of a source; see ``find_consensus``."""
    return SourceConsensus.of(*encode_tasks(source), shares, on_member)


def known_shares(shares: Sequence[float], found: Sequence[str] = ()) -> Floats | None:
    """The shares of the labels if the user gave them, and they were not found; no label may be impossible."""
    return np.array(shares) if shares and min(shares) > 0 and "shares" not in found else None


def votes_of(coded: Coded) -> Ints:
    """Responses by (task, label)."""
    at, length = coded.task * coded.n_labels + coded.answer, coded.n_tasks * coded.n_labels
    return np.bincount(at, coded.times, minlength=length).reshape(-1, coded.n_labels).astype(np.int64)


def _share_proven(coded: Coded, known: Ints) -> float:
    held = known[coded.task] >= 0
    proven = np.bincount(coded.worker[held], minlength=coded.n_workers) > 0
    times = coded.times * ~held
    return float((times * proven[coded.worker]).sum() / max(times.sum(), 1))


def tasks_again(solution: ConsensusSolution, source: Source) -> ConsensusTasks:
    """The tasks of the data that a consensus was made from, by its parameters: what they were when it was found."""
    encoded, known = encode_tasks(source)
    parameters = solution.parameters.aligned(_places(solution, encoded))
    members = members_of(Rows.of(encoded.coded, known), parameters)
    return ConsensusTasks.of(encoded, known, source.responses.scale, members)


def _places(solution: ConsensusSolution, encoded: Encoded) -> Ints:
    """The place of each worker among those of a consensus, or -1."""
    index = {name: at for at, name in enumerate(solution.worker_names)}
    return np.array([index.get(name, -1) for name in encoded.workers.to_pylist()])


def judge_responses(solution: ConsensusSolution, source: Source) -> JudgedTasks:
    """The tasks of a source, judged by the last step of a consensus: workers that it does not know are average ones."""
    encoded = encode_responses(source.responses)
    coded = encoded.coded
    place = _places(solution, encoded)
    rows = Rows.of(replace(coded, n_tasks=coded.n_tasks + 1))  # the last has no response
    probabilities = probabilities_of(rows, solution.parameters.aligned(place))
    labelled = label_probabilities(probabilities, solution.scale, votes_of(coded).sum(axis=0))
    return JudgedTasks(
        source=source,
        labelled=labelled,
        sizes=np.diff(rows.start),
        weights=np.append(np.ones(coded.n_tasks, np.int64), source.counts.n_no_response),
        matrix=_next_answers(solution)[None],
        classes=np.ones(1),
        n_unknown_workers=int((place < 0).sum()),
        names=encoded.tasks,
        scores=numeric_scores(solution.scale),
    )


def _next_answers(solution: ConsensusSolution) -> Floats:
    """The shares of the next answers, by (label, answer): those so far, or an average worker's where there are none."""
    answers = solution.answer_shares
    return np.where(np.isnan(answers), solution.parameters.population["tilted_matrix"], answers)


def consensus_answer_table(tasks: ConsensusTasks, source: Source, *, probabilities: bool = False) -> Table:
    """The answers of all tasks, sorted by task."""
    columns = tasks.columns(probabilities=probabilities)
    return named_table(columns, tasks.names, source.responses, source.counts, first=PREDICTED_COLUMNS)


def consensus_columns(scales: Iterable[Scale]) -> list[str]:
    """The columns that answers on some scales have, but for the probabilities of all labels."""
    rated = any(numeric_scores(scale) is not None for scale in scales)
    return [*PREDICTED_COLUMNS, *(["mean"] if rated else [])]
