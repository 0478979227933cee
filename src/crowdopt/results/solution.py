"""Solution: the labels of all tasks, and what goes with them; what both verbs return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from crowdopt.errors import CrowdoptError, SolutionFileError
from crowdopt.options.words import speaking_python

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.counts import Totals
    from crowdopt.data.load import Source
    from crowdopt.data.readers.addresses import Database
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.table import Table
    from crowdopt.data.worker_classes import WorkerClass
    from crowdopt.model.agreement import Agreement
    from crowdopt.model.scale import Scale
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.kinds import Kind
    from crowdopt.results.tasks.judged_tasks import JudgedTasks
    from crowdopt.results.words.summary import Summary
    from crowdopt.results.workers.table import Workers


@speaking_python
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Solution(ABC):
    """The labels of all tasks, and what goes with them: a consensus or a proof.

    Attributes:
        scale: The labels.
        totals: Numbers of tasks, workers and responses.
        reading: How the source was read.
        classes: The classes of workers, in the order of the matrices; none if all workers are alike.
        notes: What is odd about the rows and what was done with them, in words; empty if nothing is.
        doubts: Why the answers should be checked before anybody relies on them, in words; empty if nothing is known.
        advice: What else a user should know; empty if nothing.
        accuracy: Against a known truth, if one was given.
        export_accuracy: On the tasks whose label the export of a tool knows, and that were not pinned; None if there
            are none.
        source: The tasks, while in memory.
    """

    # Methods import what they call: it loads table libraries, which takes longer than to load a solution.
    # Those for people (report, charts, notebook cells) call the room above, and nothing else here does.

    kind: ClassVar[Kind]

    scale: Scale
    totals: Totals
    reading: Reading
    classes: tuple[WorkerClass, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    accuracy: Accuracy | None = None
    export_accuracy: Accuracy | None = None
    source: Source | None = None

    @property
    def ranked(self) -> bool:
        """Whether the classes of workers are ranked, best first."""
        return len(self.reading.ranked) > 1

    @property
    def classes_found(self) -> bool:
        """Whether the classes of workers were found in the data: which they are is then not proved."""
        return bool(self.reading.found)

    @property
    def interrupted(self) -> bool:
        """Whether the work was stopped because someone asked for it, and these are the best answers so far."""
        return False

    @property
    @abstractmethod
    def agreement(self) -> Agreement:
        """Krippendorff's alpha, of the kind of the scale, and mean pairwise agreement between workers."""

    @property
    @abstractmethod
    def share_uncertain(self) -> float:
        """Share of the answered tasks whose label is less probable than UNCERTAIN_BELOW."""

    @property
    def answers(self) -> Any:
        """One row per task, as the same kind of table as the input (a PyArrow table for files)."""
        return self.answers_frame()

    def answers_frame(self, *, probabilities: bool = False) -> Any:
        """Like :attr:`answers`, with a column ``p_<label>`` for every label if wanted."""
        from crowdopt.results.reread import as_frame

        return as_frame(self.answers_table(probabilities=probabilities), self.need_source())

    @abstractmethod
    def answers_table(self, *, probabilities: bool = False) -> Table:
        """Like :attr:`answers`, as a lazy Narwhals frame."""

    @abstractmethod
    def answer_columns(self, *, probabilities: bool = False) -> dict[str, Any]:
        """The columns of the answers by row, of what the solution tells apart; the last is for tasks without response.

        Rows of tasks of known label are not always there: groups, whose answers are made of these, have no such tasks.
        """

    @property
    def probabilities(self) -> Any:
        """One row per task with the probability of every label, ``p_<label>``; the same kind of table as the input."""
        from crowdopt.results.reread import as_frame

        table = self.answers_table(probabilities=True)
        return as_frame(table.select("task", *self.probability_names), self.need_source())

    @property
    def probability_names(self) -> list[str]:
        """The columns that the probabilities of all labels have."""
        return [f"p_{label}" for label in self.scale.labels]

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
            output_format: ``table``, or what the tool imports that the responses were exported from:
                ``label-studio`` (.json: tasks with predictions, for a new project), ``label-studio-predictions``
                (.json: for the project that they came from), ``argilla`` (.json: records with suggestions) or
                ``prodigy`` (.jsonl: answered examples).
            spreadsheet_safe: Whether to put an apostrophe before texts of .csv and .tsv files that a spreadsheet would
                take for a formula. It changes what is written, also ids of tasks, so nobody gets it unasked.
        """
        from crowdopt.results.write.files import write_table

        if output_format != "table":
            from crowdopt.results.write.for_tools import write_for_tool

            write_for_tool(self, self.need_source(), path, output_format)
            return
        table, workspace = self.answers_table(probabilities=probabilities), self.need_source().workspace
        write_table(table, path, workspace, spreadsheet_safe=spreadsheet_safe)

    def workers(self, data: Any = None) -> Any:
        """One row per worker: skill or information, accuracy with an interval, what others say, why it is flagged.

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
            classes: The class of every new worker, as for ``prove``, beside those that the solution knows. Workers
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
        """Writes one HTML file that shows the answers and how sure they are; a proof lets one try to do better.

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
            ``confidence``, how probable the labels are, and of a proof ``methods``, how much less likely the labels of
            the usual methods are.

        Raises:
            MissingExtraError: The packages of the extra ``report`` are not installed.
        """
        from crowdopt.report.solution_charts import charts_of

        return charts_of(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, or why it is to be checked; the main facts, how workers answer."""
        from crowdopt.report.notebook import cell_of

        return cell_of(self)

    @abstractmethod
    def judged(self, source: Source) -> JudgedTasks:
        """The tasks of other data, judged by what was found here."""

    @abstractmethod
    def measured(self, source: Source) -> Workers:
        """How good the workers are, by the data that the solution was made from."""

    @abstractmethod
    def placed(self) -> tuple[Table, Ints]:
        """The tasks with the number of their row (columns ``task`` and ``row``), and the label of each row.

        Tasks without a response, and those of known label, are not there: it is no merit to have their label.
        """

    def scored(self, accuracy: Accuracy, known: Table, placed: Table) -> Accuracy:
        """The accuracy with what else can be said of it.

        Args:
            accuracy: How many are right.
            known: The true labels, as (task, true).
            placed: What :meth:`placed` gives, with tasks that can be joined to these.
        """
        del known, placed
        return accuracy

    @abstractmethod
    def with_source(self, source: Source) -> Self:
        """The solution with the tasks of the data that it was made from, read again, and what they give to doubt."""

    @abstractmethod
    def confidences(self) -> tuple[Floats, Ints]:
        """The probability of the label of each row, and how many tasks the row stands for; without known labels."""

    @abstractmethod
    def check_same(self, source: Source) -> None:
        """Raises if the responses are not those behind the labels."""

    @abstractmethod
    def words(self) -> Summary:
        """The summary in words: what people see on the terminal."""

    def need_source(self) -> Source:
        """The tasks; raises if they are not in memory."""
        if self.source is None:
            raise CrowdoptError("a solution that was loaded from a file has no tasks: answers need the data")
        return self.source

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """The main facts as plain JSON values: what the option ``--json`` prints."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The whole solution as plain JSON values: what is in the file."""

    def save(self, path: str | Path) -> None:
        """Writes the solution file, whole or not at all.

        The parameters of very many workers go to a file beside it, ``<name>.workers.parquet``; keep both together.
        """
        from crowdopt.results.solution_file.format import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a solution file."""
        from crowdopt.results.solution_file.format import decode, read_file

        return cls._checked(decode(*read_file(path)))

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """The inverse of :meth:`to_dict`. Checks form, not truth: that is what ``verify`` is for."""
        from crowdopt.results.solution_file.format import decode

        return cls._checked(decode(data))

    @classmethod
    def _checked(cls, solution: Solution) -> Self:
        if not isinstance(solution, cls):
            raise SolutionFileError(
                f"this is the file of a {solution.kind}, and one of a {getattr(cls, 'kind', 'solution')} is needed"
            )
        return solution
