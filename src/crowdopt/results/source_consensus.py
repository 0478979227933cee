"""The consensus of a source: its responses in parts, what was learnt from them, and the tasks judged by that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np

from crowdopt.consensus.consensus import AllRows, Judge, fit_consensus
from crowdopt.consensus.given import GivenLabels
from crowdopt.consensus.parameters import LearntHere
from crowdopt.consensus.rows import RowParts, Rows
from crowdopt.consensus.skill_judge import SkillJudge, is_by_skill
from crowdopt.consensus.skills import needs_skills
from crowdopt.consensus.teaching import crossed_given, crossed_labels, idle_given, idle_labels
from crowdopt.data import parts as limits
from crowdopt.data.coded import Encoded
from crowdopt.data.parts import EncodedParts, encode_parts
from crowdopt.data.responses import by_name, silent_tasks
from crowdopt.data.tables.workspace import give_back
from crowdopt.results.answers import NO_ROW, PREDICTED_COLUMNS, named_table
from crowdopt.results.labelling import numeric_scores
from crowdopt.results.tasks.consensus_tasks import NOBODY, ConsensusTasks, TaskSums, label_probabilities
from crowdopt.results.tasks.given_tasks import GivenTasks, next_answers_by_skill
from crowdopt.results.tasks.judged_tasks import JudgedTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.parameters import Learnt, Parameters
    from crowdopt.consensus.work import OnShare
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.model.scale import Scale
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.solution_consensus import ConsensusSolution
    from crowdopt.results.tasks.consensus_tasks import AnyTasks


@dataclass(frozen=True, eq=False)
class SourceConsensus:
    """The tasks of a source, part by part: each part is judged whenever it is looked at, and only a single one is kept.

    Attributes:
        parts: The responses.
        parameters: What was learnt of the population, and of the workers of the parts.
        scale: The labels.
    """

    parts: EncodedParts
    parameters: Parameters
    scale: Scale

    @classmethod
    def of(
        cls,
        parts: EncodedParts,
        scale: Scale,
        shares: Floats | None = None,
        on_share: OnShare | None = None,
    ) -> SourceConsensus:
        """Learns from the responses; see ``find_consensus``."""
        by_skill = needs_skills(parts.n_labels, len(parts.workers))
        if parts.is_one:
            rows, all_rows = consensus_rows(parts.whole), None
        else:
            sample, place = parts.sample()
            in_parts = RowParts(lambda: map(consensus_rows, parts), len(parts.workers), parts.n_labels)
            rows, all_rows = consensus_rows(sample), _all_rows(parts, in_parts, place, by_skill=by_skill)
            del sample  # which takes more memory than the rows
            give_back()
        parameters, _ = fit_consensus(rows, all_rows, shares=shares, on_share=on_share, by_skill=by_skill)
        return cls(parts, parameters, scale)

    def judged(self) -> Iterator[tuple[Encoded, Rows, Floats]]:
        """The responses of each part, and the probabilities of all labels of its tasks."""
        by_skill = is_by_skill(self.parameters)
        judge = SkillJudge(self.parameters) if by_skill else Judge(self.parameters)
        for encoded in self.parts:
            rows = consensus_rows(encoded)
            yield encoded, rows, judge.every_label(rows) if isinstance(judge, SkillJudge) else judge.probabilities(rows)

    def __iter__(self) -> Iterator[AnyTasks]:
        if self.parts.is_one:
            yield self.whole
            return
        yield from self._judged_tasks()

    @property
    def here(self) -> Self:
        """The tasks in this process: these."""
        return self

    @cached_property
    def whole(self) -> AnyTasks:
        """All tasks at once."""
        return self._join(self._judged_tasks())

    @property
    def _join(self) -> Callable[[Iterable[Any]], AnyTasks]:
        return GivenTasks.joined if is_by_skill(self.parameters) else ConsensusTasks.joined

    def _judged_tasks(self) -> Iterator[AnyTasks]:
        answers = self.parts.answers
        if is_by_skill(self.parameters):
            return (given_tasks(self.parameters, encoded, self.scale, answers) for encoded in self.parts)
        return (ConsensusTasks.of(encoded, found, self.scale, answers) for encoded, _, found in self.judged())

    @cached_property
    def sums(self) -> TaskSums:
        """What all tasks add up to."""
        return TaskSums.joined(map(TaskSums.of, self))

    @property
    def learnt(self) -> LearntHere:
        """What was learnt, without the responses."""
        return LearntHere(self.parameters, tuple(self.parts.workers.to_pylist()))

    def answer_table(self, source: Source, *, probabilities: bool = False) -> Table:
        """The answers of all tasks, sorted by task."""
        parts = ((one.names, one.columns(probabilities=probabilities, sparse=True)) for one in self)
        return named_table(parts, NOBODY, source.responses, source.counts, first=PREDICTED_COLUMNS)

    def placed(self, source: Source) -> tuple[Table, Ints]:
        """The tasks with their number, ``row``, and the label of each; see ``Solution.placed``."""
        tasks = self.whole
        row = np.where(tasks.free, np.arange(len(tasks.names)), NO_ROW)
        table = by_name([(tasks.names, {"row": row})], {"row": NO_ROW}, source.counts)
        return table.filter(nw.col("row") != NO_ROW), tasks.labels

    def scored(self, accuracy: Accuracy, known: Table, placed: Table) -> Accuracy:
        """The accuracy with the log-loss of the confidences, and that of majority vote beside it."""
        del known, placed  # all is in the accuracy
        return self.whole.scored(accuracy)

    @cached_property
    def of_known_label(self) -> AnyTasks:
        """The tasks of known label."""
        parts = self if self.parts.has_known else islice(self, 1)  # which has none
        return self._join(tasks.taken(~tasks.free) for tasks in parts)

    @cached_property
    def share_proven(self) -> float:
        """The share of the responses to tasks of unknown label from workers who answered some of known label."""
        proven, free = (np.zeros(len(self.parts.workers)) for _ in range(2))
        for encoded in self.parts:
            coded, held = encoded.coded, encoded.known[encoded.coded.task] >= 0
            proven += np.bincount(coded.worker, coded.times * held, len(proven))
            free += np.bincount(coded.worker, coded.times * ~held, len(proven))
        return float(free[proven > 0].sum() / max(free.sum(), 1))


def given_tasks(parameters: Parameters, encoded: Encoded, scale: Scale, answers: Ints) -> GivenTasks:
    """The tasks of coded responses, judged by the skills of their workers."""
    rows = consensus_rows(encoded)
    given = GivenLabels.of(rows)
    found, shares = SkillJudge(parameters).probabilities(rows, given), parameters.population["skill_shares"]
    return GivenTasks.of(encoded, given, found, scale, answers, shares)


def _all_rows(parts: EncodedParts, rows: RowParts, place: Ints, *, by_skill: bool) -> AllRows:
    if by_skill:
        pairs = [crossed_given(GivenLabels.of(one), one.known) for one in (rows if parts.has_known else ())]
        idle = idle_given(pairs, parts.n_labels) if pairs else np.zeros(parts.n_labels, bool)
        return AllRows(rows, place, parts.labels_used, idle, parts.n_responses)
    crossed = np.zeros((parts.n_labels, parts.n_labels))
    for one in rows if parts.has_known else ():
        crossed += crossed_labels(one.votes, one.known)
    return AllRows(rows, place, parts.labels_used, idle_labels(crossed), parts.n_responses)


def consensus_rows(encoded: Encoded) -> Rows:
    """Coded responses as the consensus reads them."""
    return Rows.of(encoded.coded, encoded.known)


def encode_tasks(source: Source) -> EncodedParts:
    """The responses of a source, coded, and the tasks of known label, of which some may have no response."""
    gold = {task: source.responses.scale.index(label) for task, label in source.reading.gold}
    silent = sorted(gold.keys() & set(silent_tasks(source.counts))) if gold and source.counts.has_silent else []
    return encode_parts(source.responses, source.n_responses, gold, silent, _folder(source))


def _folder(source: Source) -> Path | None:
    return source.workspace.folder if source.workspace else None


def tasks_of(source: Source) -> EncodedParts | Source:
    """What :func:`encode_tasks` gives; or the source itself, if it is on a cluster and too large to be brought.

    A cluster learns matrices of workers. Where each worker has but a skill, the responses are brought.
    """
    is_large = source.elsewhere == "cluster" and source.n_responses > limits.SAMPLE
    stays = is_large and not needs_skills(source.responses.scale.n_labels, source.responses.n_workers)
    return source if stays else encode_tasks(source)


def consensus_of(source: Source, shares: Floats | None = None, on_share: OnShare | None = None) -> SourceConsensus:
    """The consensus of the responses of a source; see ``find_consensus``."""
    return SourceConsensus.of(encode_tasks(source), source.responses.scale, shares, on_share)


def known_shares(shares: Sequence[float], found: Sequence[str] = ()) -> Floats | None:
    """The shares of the labels if the user gave them, and they were not found; no label may be impossible."""
    return np.array(shares) if shares and min(shares) > 0 and "shares" not in found else None


def tasks_again(learnt: Learnt, source: Source) -> SourceConsensus:
    """The tasks of the data that a consensus was made from, by its parameters: what they were when it was found."""
    parts = encode_tasks(source)
    return SourceConsensus(parts, learnt.parameters.aligned(_places(learnt, parts.workers)), source.responses.scale)


def _places(learnt: Learnt, workers: Any) -> Ints:
    """The place of each worker among those of a consensus, or -1."""
    index = {name: at for at, name in enumerate(learnt.worker_names)}
    return np.array([index.get(name, -1) for name in workers.to_pylist()])


def judge_responses(solution: ConsensusSolution, source: Source) -> JudgedTasks:
    """The tasks of a source, judged by the last step of a consensus: workers that it does not know are average ones."""
    import pyarrow as pa

    parts = encode_parts(source.responses, source.n_responses, {}, (), _folder(source))
    place = _places(solution, parts.workers)
    if is_by_skill(solution.parameters):
        return _judged_by_skill(solution, source, parts.whole, place)
    judge = Judge(solution.parameters.aligned(place))
    names, sizes, found = [], [], []
    for number, encoded in enumerate(parts, 1):
        coded, is_last = encoded.coded, number == len(parts.held)
        rows = Rows.of(replace(coded, n_tasks=coded.n_tasks + is_last))  # the last task of all has no response
        names.append(encoded.tasks)
        sizes.append(np.diff(rows.start))
        found.append(judge.probabilities(rows))
    labelled = label_probabilities(np.concatenate(found), solution.scale, parts.answers)
    return JudgedTasks(
        source=source,
        labelled=labelled,
        sizes=np.concatenate(sizes),
        weights=np.append(np.ones(len(labelled.labels) - 1, np.int64), source.counts.n_no_response),
        matrix=_next_answers(solution)[None],
        classes=np.ones(1),
        n_unknown_workers=int((place < 0).sum()),
        names=pa.concat_arrays(names),
        scores=numeric_scores(solution.scale),
    )


def _judged_by_skill(solution: ConsensusSolution, source: Source, encoded: Encoded, place: Ints) -> JudgedTasks:
    """The same by skills. What answers may come next is told of a task's label, its next one, and of all others."""
    import pyarrow as pa

    coded, parameters = encoded.coded, solution.parameters.aligned(place)
    answers = np.bincount(coded.answer, coded.times, coded.n_labels).astype(np.int64)
    behind = pa.concat_arrays([encoded.tasks, pa.array([""], encoded.tasks.type)])  # it has no response
    longer = Encoded.of(replace(coded, n_tasks=coded.n_tasks + 1), behind, encoded.workers)
    given = given_tasks(parameters, longer, source.responses.scale, answers)
    right = solution.expected_answers.sum(axis=0)
    errors = parameters.population["skill_error_shares"]
    return JudgedTasks(
        source=source,
        labelled=given.labelled,
        sizes=given.n_responses,
        weights=np.append(np.ones(coded.n_tasks, np.int64), source.counts.n_no_response),
        matrix=next_answers_by_skill(given, float(right[0] / right.sum()), errors)[None],
        classes=np.ones(1),
        n_unknown_workers=int((place < 0).sum()),
        names=encoded.tasks,
        given=given,
    )


def _next_answers(solution: ConsensusSolution) -> Floats:
    """The shares of the next answers, by (label, answer): those so far, or an average worker's where there are none."""
    answers = solution.answer_shares
    return np.where(np.isnan(answers), solution.parameters.population["tilted_matrix"], answers)


def consensus_columns(scales: Iterable[Scale]) -> list[str]:
    """The columns that answers on some scales have, but for the probabilities of all labels."""
    rated = any(numeric_scores(scale) is not None for scale in scales)
    return [*PREDICTED_COLUMNS, *(["mean"] if rated else [])]
