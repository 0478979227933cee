"""Solution: labels, response matrices and certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.errors import CrowdoptError, InputError
from crowdopt.model.agreement import Agreement, agreement
from crowdopt.model.certificate import Stop
from crowdopt.model.objective import Objective, pooled_matrix, posterior, response_matrix
from crowdopt.model.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.counts import Totals
    from crowdopt.data.load import Source
    from crowdopt.data.readers.addresses import Database
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.table import Table
    from crowdopt.data.worker_classes import WorkerClass
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.certificate import Certificate
    from crowdopt.model.margins import Margins
    from crowdopt.model.scale import Scale
    from crowdopt.results.accuracy import Accuracy


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The answer to an aggregation problem.

    Attributes:
        scale: The labels.
        buckets: The distinct counts of responses.
        mapping: Index of the label of each bucket.
        margins: How much likelihood each bucket's label is worth.
        objective: What was maximised.
        certificate: What was proved.
        totals: Numbers of tasks, workers and responses.
        reading: How the source was read.
        classes: The classes of workers, in the order of the matrices; none if all workers are alike.
        seed: Seed of the engine's random choices.
        advice: What a user should know before trusting the answers; empty if nothing.
        runner_up: The likeliest of all other mappings in the space, where the engine knows it: not in the file.
        accuracy: Against a known truth, if one was given.
        source: The tasks, while in memory.
    """

    # Methods import what they call: it loads table libraries, which takes longer than to load a solution.
    # Those for people (report, charts, notebook cells) call the room above, and nothing else here does.

    scale: Scale
    buckets: Buckets
    mapping: Ints
    margins: Margins
    objective: Objective
    certificate: Certificate
    totals: Totals
    reading: Reading
    classes: tuple[WorkerClass, ...] = ()
    seed: int = 0
    advice: tuple[str, ...] = ()
    runner_up: Ints | None = None
    accuracy: Accuracy | None = None
    source: Source | None = None

    @property
    def ranked(self) -> bool:
        """Whether the classes of workers are ranked, best first."""
        return len(self.reading.ranked) > 1

    @property
    def classes_found(self) -> bool:
        """Whether the classes of workers were found in the data: which they are is then not proved."""
        return self.reading.classes_found

    @property
    def problem(self) -> Problem:
        """What the certificate speaks of."""
        return Problem(self.buckets, self.certificate.space, self.objective, self.ranked, self.classes_found)

    @property
    def interrupted(self) -> bool:
        """Whether the engine was stopped because someone asked for it."""
        return self.certificate.stop is Stop.INTERRUPT

    @cached_property
    def _by_label(self) -> tuple[Ints, Ints]:
        return self.buckets.by_label(self.mapping)

    @cached_property
    def matrix(self) -> Floats:
        """Response matrix [class, true, answered]; rows sum to one, or are NaN where nothing is known of a label."""
        return response_matrix(self._by_label[0], self.objective)

    @cached_property
    def soft_matrix(self) -> Floats:
        """Like :attr:`matrix`, with the labels averaged over by their probability and not chosen.

        The likeliest labels make workers look a little more alike to them than they are: every choice is in favour of
        the matrix that it is chosen with. To know how often workers err, take this: soft EM from :attr:`matrix` on. It
        takes labels to be equally frequent unless there is a selectivity.
        """
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
        return np.concatenate([self.matrix, pooled_matrix(self._by_label[0], self.objective)])

    @cached_property
    def log_shares(self) -> Floats:
        """Ln of the share of every label, as the posterior uses it."""
        return self.objective.log_shares(self._by_label[1])

    @cached_property
    def agreement(self) -> Agreement:
        """Krippendorff's alpha, of the kind of the scale, and mean pairwise agreement between workers."""
        return agreement(self.buckets.counts, self.buckets.weights, metric=self.scale.kind)

    @property
    def answers(self) -> Any:
        """One row per task, as the same kind of table as the input (a PyArrow table for files)."""
        return self.answers_frame()

    def answers_frame(self, *, probabilities: bool = False) -> Any:
        """Like :attr:`answers`, with a column ``p_<label>`` for every label if wanted."""
        from crowdopt.results.reread import as_frame

        return as_frame(self.answers_table(probabilities=probabilities), self._need_source())

    def answers_table(self, *, probabilities: bool = False) -> Table:
        """Like :attr:`answers`, as a lazy Narwhals frame."""
        from crowdopt.results.answers import answer_table

        source = self._need_source()
        return answer_table(self, source.responses, source.counts, probabilities=probabilities)

    def write(
        self,
        path: str | Path | Database,
        *,
        probabilities: bool = False,
        output_format: str = "table",
        spreadsheet_safe: bool = False,
    ) -> None:
        """Writes the answers to a .csv, .tsv, .parquet or .jsonl file or a database, whole or not at all.

        Args:
            path: Where to.
            probabilities: Whether to add a column ``p_<label>`` for every label.
            output_format: ``table``, or ``label-studio`` for a .json file of its tasks with predictions; the responses
                must then be an export of Label Studio.
            spreadsheet_safe: Whether to put an apostrophe before texts of .csv and .tsv files that a spreadsheet would
                take for a formula. It changes what is written, also ids of tasks, so nobody gets it unasked.
        """
        from crowdopt.results.write.files import write_table

        if output_format == "label-studio":
            from crowdopt.data.readers.addresses import Database
            from crowdopt.results.write.label_studio import write_predictions

            if isinstance(path, Database):
                raise InputError("predictions for Label Studio go to a .json file, not to a database")
            write_predictions(self, self._need_source(), path)
            return
        if output_format != "table":
            raise InputError(f"the output format must be table or label-studio, not {output_format!r}")
        table, workspace = self.answers_table(probabilities=probabilities), self._need_source().workspace
        write_table(table, path, workspace, spreadsheet_safe=spreadsheet_safe)

    def workers(self, data: Any = None) -> Any:
        """One row per worker: accuracy with an interval, agreement with the others, information, flags with a reason.

        Args:
            data: The data that the solution was made from, in any form that ``aggregate`` takes; not needed while the
                solution has them in memory.

        Returns:
            The same kind of table as the data (a PyArrow table for files); docs/workers.md explains its columns.
        """
        from crowdopt.results.workers.table import worker_frame

        return worker_frame(self, data)

    def confusion(self, data: Any = None) -> Any:
        """One row for each worker, label of tasks and answer to them: how often, of how many, with an interval."""
        from crowdopt.results.workers.table import worker_frame

        return worker_frame(self, data, confusion=True)

    def predict(self, new: Any, *, probabilities: bool = False, classes: Any = None, class_: str = "") -> Any:
        """Labels the tasks of new responses with the fitted matrices and shares of labels; nothing is fitted anew.

        Args:
            new: Responses in any form that ``aggregate`` takes; read with the options that the solution was made with.
            probabilities: Whether to add a column ``p_<label>`` for every label.
            classes: The class of every new worker, as for ``aggregate``, beside those that the solution knows. Workers
                in no class of the solution have the matrix of all classes together.
            class_: Name of the column of classes, in ``classes`` or else in the new responses.

        Returns:
            One row per task: label, confidence, n_responses, status; the same kind of table as ``new`` (a PyArrow
            table for files).

        Raises:
            InputError: Also for a label that is not on the scale of the solution.
        """
        from crowdopt.results.predict import predicted_frame

        return predicted_frame(self, new, probabilities=probabilities, classes=classes, class_=class_)

    def next_tasks(self, data: Any = None, n: int = 10, *, classes: Any = None, class_: str = "") -> Any:
        """The n tasks where further responses are expected to do most for the probability of the label.

        Args:
            data: All responses so far, in any form that ``aggregate`` takes; not needed while the solution has them in
                memory. They may have grown since the solution was made.
            n: How many tasks.
            classes: Classes of new workers; see :meth:`predict`.
            class_: Name of the column of classes; see :meth:`predict`.

        Returns:
            One row per task, the best first: label, confidence, gain of one response, gain per response, and by how
            many responses; the same kind of table as the data (a PyArrow table for files).
        """
        from crowdopt.results.next_tasks import next_frame

        return next_frame(self, data, n, classes=classes, class_=class_)

    def report(self, path: str | Path, data: Any = None, *, command: str = "") -> None:
        """Writes one HTML file that shows the answers, how sure they are, and lets one try to do better.

        Args:
            path: Where to; ends in .html. It is written whole or not at all.
            data: The data that the solution was made from, in any form that ``aggregate`` takes; not needed while the
                solution has them in memory.
            command: The command that made the solution, if the page is to show it.

        Raises:
            MissingExtraError: The packages of the extra ``report`` are not installed.
        """
        from crowdopt.report.write_report import write_report

        write_report(self, path, data, command)

    def charts(self) -> dict[str, Any]:
        """The charts of the report by name, as Altair charts: for notebooks, to change them, or to save them.

        Returns:
            ``confidence``, how probable the labels are, and ``methods``, how much less likely the labels of the usual
            methods are.

        Raises:
            MissingExtraError: The packages of the extra ``report`` are not installed.
        """
        from crowdopt.report.solution_charts import charts_of

        return charts_of(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the main facts, how workers answer."""
        from crowdopt.report.notebook import cell_of

        return cell_of(self)

    def _need_source(self) -> Source:
        if self.source is None:
            raise CrowdoptError("a solution that was loaded from a file has no tasks: answers need the data")
        return self.source

    def summary(self) -> dict[str, Any]:
        """The main facts as plain JSON values: what ``crowdopt prove --json`` prints."""
        from crowdopt.results.facts import facts_of

        return facts_of(self)

    def to_dict(self) -> dict[str, Any]:
        """The whole solution as plain JSON values: what is in the file."""
        from crowdopt.results.file_format import encode

        return encode(self)

    def save(self, path: str | Path) -> None:
        """Writes the solution file, whole or not at all."""
        from crowdopt.results.file_format import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Solution:
        """Reads a solution file."""
        from crowdopt.results.file_format import decode, read_json

        return decode(read_json(path), cls)

    @classmethod
    def from_dict(cls, data: Any) -> Solution:
        """The inverse of :meth:`to_dict`. Checks form, not truth: that is what ``verify`` is for."""
        from crowdopt.results.file_format import decode

        return decode(data, cls)

    def __repr__(self) -> str:
        certificate = self.certificate
        what = f"{certificate.proof} over {certificate.space}" if certificate.bound is not None else "unproved"
        gap = "" if certificate.gap is None else f", gap {certificate.gap:.3g}"
        return (
            f"<Solution {what}: {self.totals.n_tasks} tasks, {self.totals.n_workers} workers, "
            f"{self.scale.n_labels} labels; loglik {certificate.objective:.2f}{gap}, "
            f"{certificate.engine} {certificate.seconds:.3f} s>"
        )
