"""ConsensusSolution: the labels that are most likely right, their probabilities, and what is known of every worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from crowdopt.consensus.skill_judge import is_by_skill
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.options.words import speaking_python
from crowdopt.results.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.parameters import Learnt, Parameters
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.model.agreement import Agreement
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.cluster.consensus import ClusterConsensus
    from crowdopt.results.kinds import Kind
    from crowdopt.results.source_consensus import SourceConsensus
    from crowdopt.results.tasks.consensus_tasks import AnyTasks
    from crowdopt.results.tasks.judged_tasks import JudgedTasks
    from crowdopt.results.words.summary import Summary
    from crowdopt.results.workers.table import Workers


LEAST_EXPECTED = 1e-3
"""Where fewer responses than this are expected at a label, nothing is said of its tasks: it would be rounding."""


@speaking_python
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConsensusSolution(Solution):
    """What ``aggregate`` gives. It proves nothing: there is no certificate, no objective and no margin.

    Attributes:
        crowd: How much the workers agree.
        learnt: What was learnt of the population, and of every worker; on a cluster it stays until someone asks.
        given_shares: The known shares of the labels, if they were given.
        label_tasks: Tasks by label, without those of known label.
        expected_answers: How many responses of each answer tasks of each label are expected to have got, by
            (label, answer): of all tasks together. Where workers have skills: how many are that label, and how many
            another one, by (label, 2), and behind them those to tasks of labels that they did not receive.
        mean_confidence: The mean probability of the labels of these tasks: the share that is expected to be right.
        n_uncertain: Those whose label is less probable than UNCERTAIN_BELOW.
        n_tied: Those where another label is as probable.
        fingerprint: SHA-256 of the responses.
        tasks: The tasks, while in memory.
    """

    kind: ClassVar[Kind] = "consensus"
    certificate: ClassVar[None] = None
    objective: ClassVar[None] = None
    margins: ClassVar[None] = None

    crowd: Agreement
    learnt: Learnt
    given_shares: tuple[float, ...]
    label_tasks: tuple[int, ...]
    expected_answers: Floats
    mean_confidence: float
    n_uncertain: int
    n_tied: int
    fingerprint: str
    tasks: SourceConsensus | ClusterConsensus | None = None

    @property
    def parameters(self) -> Parameters:
        """What the last step of the consensus used: of the population, and of every worker."""
        return self.learnt.parameters

    @property
    def worker_names(self) -> tuple[str, ...]:
        """The workers as texts, in the order of the parameters."""
        return self.learnt.worker_names

    @property
    def agreement(self) -> Agreement:
        """Krippendorff's alpha, of the kind of the scale, and mean pairwise agreement between workers."""
        return self.crowd

    @property
    def share_uncertain(self) -> float:
        """Share of the answered tasks whose label is less probable than UNCERTAIN_BELOW."""
        return self.n_uncertain / max(sum(self.label_tasks), 1)

    @property
    def answer_shares(self) -> Floats:
        """Of the responses to tasks of a label, as expected, the share of each answer; NaN where none are expected."""
        total = self.expected_answers.sum(axis=1, keepdims=True)
        return np.asarray(self.expected_answers / np.where(total < LEAST_EXPECTED, np.nan, total))

    @property
    def by_skill(self) -> bool:
        """Whether workers have a skill, and no matrix: there are very many labels, or workers."""
        return is_by_skill(self.parameters)

    def need_tasks(self) -> AnyTasks:
        """All tasks at once; raises if the data are not there."""
        return self._need_consensus().whole

    def need_parts(self) -> Iterator[AnyTasks]:
        """The tasks part by part, as many as fit into memory; raises if the data are not there."""
        return iter(self._need_consensus().here)

    def _need_consensus(self) -> SourceConsensus | ClusterConsensus:
        if self.tasks is None:
            raise CrowdoptError("a solution that was loaded from a file has no tasks: answers need the data")
        return self.tasks

    def answers_table(self, *, probabilities: bool = False) -> Table:
        """Like :attr:`answers`, as a lazy Narwhals frame."""
        return self._need_consensus().answer_table(self.need_source(), probabilities=probabilities)

    def answer_columns(self, *, probabilities: bool = False) -> dict[str, Any]:
        """The columns of the answers by task; the last row is for tasks without response."""
        from crowdopt.results.tasks.consensus_tasks import NOBODY

        columns = self.need_tasks().columns(probabilities=probabilities)
        return {name: [*column.tolist(), NOBODY.get(name)] for name, column in columns.items()}

    @property
    def probability_names(self) -> list[str]:
        """The columns that the probabilities of all labels have."""
        from crowdopt.results.tasks.given_tasks import probability_names

        return probability_names(self.scale, given=self.by_skill)

    def judged(self, source: Source) -> JudgedTasks:
        """The tasks of other data, judged by the last step of the consensus; unknown workers are average ones."""
        from crowdopt.results.source_consensus import judge_responses

        return judge_responses(self, source)

    def measured(self, source: Source) -> Workers:
        """How good the workers are, by the data that the solution was made from."""
        from crowdopt.results.workers.consensus import consensus_workers

        return consensus_workers(self, source)

    def placed(self) -> tuple[Table, Ints]:
        """The tasks with their number, and the label of each."""
        return self._need_consensus().placed(self.need_source())

    def scored(self, accuracy: Accuracy, known: Table, placed: Table) -> Accuracy:
        """The accuracy with the log-loss of the confidences, and that of majority vote beside it."""
        return self._need_consensus().scored(accuracy, known, placed)

    def with_source(self, source: Source) -> Self:
        """The solution with the tasks of the data that it was made from, read again, and what they give to doubt."""
        from crowdopt.results.doubts import doubts_about_crowd
        from crowdopt.results.source_consensus import tasks_again
        from crowdopt.results.words.contradicted import that_teach_nothing

        tasks = tasks_again(self, source)
        said: dict[str, Any] = {"doubts": doubts_about_crowd(tasks)}
        said |= {"advice": that_teach_nothing(tasks.of_known_label)}
        return replace(self, scale=source.responses.scale, source=source, tasks=tasks, **said)

    def confidences(self) -> tuple[Floats, Ints]:
        """The probability of the label of each task, and a one for each."""
        tasks = self.need_tasks()
        return tasks.labelled.confidence[tasks.free], np.ones(int(tasks.free.sum()), np.int64)

    def check_same(self, source: Source) -> None:
        """Raises if the responses are not those behind the labels."""
        if source.counted.fingerprint != self.fingerprint:
            raise InputError(
                "these are not the responses that the solution was made from: run crowdopt aggregate on them"
            )

    def words(self) -> Summary:
        """The summary in words."""
        from crowdopt.results.words.summary_consensus import summarise_consensus

        return summarise_consensus(self)

    def summary(self) -> dict[str, Any]:
        """The main facts as plain JSON values: what ``crowdopt aggregate --json`` prints."""
        from crowdopt.results.words.facts import consensus_facts

        return consensus_facts(self)

    def to_dict(self) -> dict[str, Any]:
        """The whole solution as plain JSON values: what is in the file."""
        from crowdopt.results.solution_file.consensus import encode_consensus

        return encode_consensus(self)

    def __repr__(self) -> str:
        right = "CHECK" if self.doubts else f"{self.mean_confidence:.1%} expected to be right"
        return (
            f"<Solution by consensus: {self.totals.n_tasks} tasks, {self.totals.n_workers} workers, "
            f"{self.scale.n_labels} labels; {right}, {self.n_uncertain} uncertain>"
        )
