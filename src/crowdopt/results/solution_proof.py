"""ProofSolution: the likeliest labels under a stated model, their response matrices, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from crowdopt.model.agreement import Agreement, agreement
from crowdopt.model.certificate import Stop
from crowdopt.model.objective import Objective, pooled_matrix, posterior, response_matrix
from crowdopt.model.problem import Problem
from crowdopt.options.words import speaking_python
from crowdopt.results.kinds import UNCERTAIN_BELOW, Kind
from crowdopt.results.solution import Solution

if TYPE_CHECKING:
    from crowdopt._arrays import Counts, Floats, Ints
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.certificate import Certificate
    from crowdopt.model.margins import Margins
    from crowdopt.model.parameters import ModelParameters
    from crowdopt.results.tasks.judged_tasks import JudgedTasks
    from crowdopt.results.words.summary import Summary
    from crowdopt.results.workers.table import Workers


@speaking_python
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ProofSolution(Solution):
    """What ``prove`` gives.

    Attributes:
        buckets: The distinct counts of responses.
        mapping: Index of the label of each bucket.
        margins: How much likelihood each bucket's label is worth.
        objective: What was maximised.
        certificate: What was proved.
        seed: Seed of the engine's random choices.
        runner_up: The likeliest of all other mappings in the space, where the engine knows it: not in the file.
        likelier: Log-likelihood of likelier labels that the proof met before it was stopped: not in the file. They are
            not the answer, as it depends on the clock whether they are met.
        parameters: The matrices and shares that maximise the marginal likelihood, where that was asked for; else None,
            as matrices and shares then follow from the labels.
        left: Whether someone asked to stop while it was compared with the consensus: not in the file.
    """

    kind: ClassVar[Kind] = "proof"

    buckets: Buckets
    mapping: Ints
    margins: Margins
    objective: Objective
    certificate: Certificate
    seed: int = 0
    runner_up: Ints | None = None
    likelier: float | None = None
    parameters: ModelParameters | None = None
    left: bool = False

    @property
    def problem(self) -> Problem:
        """What the certificate speaks of."""
        return Problem(self.buckets, self.certificate.space, self.objective, self.ranked, self.reading.found)

    @property
    def gap_per_task(self) -> float | None:
        """Nats by which better labels could still win, over the tasks that were answered; None if nothing is proved."""
        gap = self.certificate.gap
        return None if gap is None else gap / self.buckets.n_tasks

    @property
    def interrupted(self) -> bool:
        """Whether the engine was stopped, or the comparison with the consensus, because someone asked for it."""
        return self.certificate.stop is Stop.INTERRUPT or self.left

    @cached_property
    def _by_label(self) -> tuple[Ints, Ints]:
        return self.buckets.by_label(self.mapping)

    @cached_property
    def matrix(self) -> Floats:
        """Response matrix [class, true, answered]; rows sum to one, or are NaN where nothing is known of a label."""
        if self.parameters is not None:
            return self.parameters.matrix
        return response_matrix(self._by_label[0], self.objective)

    @cached_property
    def soft_matrix(self) -> Floats:
        """Like :attr:`matrix`, with the labels averaged over by their probability and not chosen.

        The likeliest labels make workers look a little more alike to them than they are: every choice is in favour of
        the matrix that it is chosen with. To know how often workers err, take this: soft EM from :attr:`matrix` on. It
        takes labels to be equally frequent unless there is a selectivity.
        """
        if self.parameters is not None:
            return self.matrix
        from crowdopt.engines.em.soft import soften

        return soften(self.problem, self.matrix)

    @cached_property
    def shares(self) -> Floats:
        """Share of the answered tasks that each label was given."""
        tasks = self._by_label[1]
        return np.asarray(tasks / tasks.sum())

    @cached_property
    def posterior(self) -> Floats:
        """Probability of every label for every bucket under the fitted matrix and selectivity."""
        return self.posterior_of(self.buckets.counts)

    def posterior_of(self, counts: Ints) -> Floats:
        """The same for any counts (bucket, class, label), for example of new tasks; see :meth:`matrix_for`."""
        return posterior(counts, self.matrix_for(counts), self.log_shares)

    def matrix_for(self, counts: Ints) -> Floats:
        """The matrices of the classes of some counts (bucket, class, label).

        Counts may have one class more than the solution: workers whose class is not known. Theirs is the matrix that
        the same labels give if all workers are in one class, so every class weighs as much as it has responses.
        """
        if counts.shape[1] == len(self.matrix):
            return self.matrix
        return np.concatenate([self.matrix, pooled_matrix(self.responses_by_label, self.objective)])

    @property
    def responses_by_label(self) -> Counts:
        """The responses (label, class, answer) that tasks of each label have, or are expected to have."""
        if self.parameters is None:
            return self._by_label[0]
        return np.asarray(np.einsum("bz,bka->zka", self.posterior, self.buckets.responses))

    @cached_property
    def log_shares(self) -> Floats:
        """Ln of the share of every label, as the posterior uses it."""
        if self.parameters is not None:
            return self.parameters.log_shares
        return self.objective.log_shares(self._by_label[1])

    @cached_property
    def agreement(self) -> Agreement:
        """Krippendorff's alpha, of the kind of the scale, and mean pairwise agreement between workers."""
        return agreement(self.buckets.counts, self.buckets.weights, metric=self.scale.kind)

    @property
    def share_uncertain(self) -> float:
        """Share of the answered tasks whose label is less probable than UNCERTAIN_BELOW."""
        confidence, weights = self.confidences()
        return float(weights[confidence < UNCERTAIN_BELOW].sum() / weights.sum())

    def judged(self, source: Source) -> JudgedTasks:
        """The tasks of other data, judged by the matrices and the shares of labels."""
        from crowdopt.results.tasks.judged_tasks import judge_counts

        return judge_counts(self, source)

    def measured(self, source: Source) -> Workers:
        """How good the workers are, by the data that the solution was made from."""
        from crowdopt.results.workers.table import workers_of

        return workers_of(self, source)

    def placed(self) -> tuple[Table, Ints]:
        """The tasks with the number of their bucket, and the label of each bucket."""
        from crowdopt.results.answers import placed_by_bucket

        return placed_by_bucket(self.need_source().counts), self.mapping

    def with_source(self, source: Source) -> Self:
        """The solution with the tasks of the data that it was made from, read again, and what they give to doubt."""
        from crowdopt.results.beside_consensus import beside_consensus

        again = replace(self, scale=source.responses.scale, source=source)
        found = beside_consensus(again)
        return replace(found.of(again), doubts=(found.missing and self.doubts) or found.doubts)

    def confidences(self) -> tuple[Floats, Ints]:
        """The probability of the label of each bucket, and its tasks."""
        return self.posterior[np.arange(self.buckets.n_buckets), self.mapping], self.buckets.weights

    def check_same(self, source: Source) -> None:
        """Raises if the responses, counted by task, are not those behind the labels."""
        from crowdopt.results.reread import check_same_counts

        check_same_counts(self, source)

    def words(self) -> Summary:
        """The summary in words."""
        from crowdopt.results.words.summary import summarise

        return summarise(self)

    def answers_table(self, *, probabilities: bool = False) -> Table:
        """Like :attr:`answers`, as a lazy Narwhals frame."""
        from crowdopt.results.answers import answer_table

        source = self.need_source()
        return answer_table(self, source.responses, source.counts, probabilities=probabilities)

    def answer_columns(self, *, probabilities: bool = False) -> dict[str, Any]:
        """The columns of the answers by bucket; the last row is for tasks without response."""
        from crowdopt.results.answers import bucket_columns

        return bucket_columns(self, None, probabilities=probabilities)

    def summary(self) -> dict[str, Any]:
        """The main facts as plain JSON values: what ``crowdopt prove --json`` prints."""
        from crowdopt.results.words.facts import facts_of

        return facts_of(self)

    def to_dict(self) -> dict[str, Any]:
        """The whole solution as plain JSON values: what is in the file."""
        from crowdopt.results.solution_file.proof import encode_proof

        return encode_proof(self)

    def __repr__(self) -> str:
        certificate = self.certificate
        what = f"{certificate.proof} over {certificate.space}" if certificate.bound is not None else "unproved"
        gap = "" if certificate.gap is None else f", gap {certificate.gap:.3g}"
        check = "CHECK, " if self.doubts else ""
        return (
            f"<Solution {check}{what}: {self.totals.n_tasks} tasks, {self.totals.n_workers} workers, "
            f"{self.scale.n_labels} labels; loglik {certificate.objective:.2f}{gap}, "
            f"{certificate.engine} {certificate.seconds:.3f} s>"
        )
