"""Solutions: the answers of many groups, each with a solution of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from crowdopt.errors import CrowdoptError
from crowdopt.model.scale import canonical_text
from crowdopt.options.words import speaking_python
from crowdopt.results.solution import Solution
from crowdopt.results.solution_consensus import ConsensusSolution
from crowdopt.results.solution_proof import ProofSolution
from crowdopt.results.words.facts import export_facts
from crowdopt.results.words.sentences import expected_right

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt.data.groups import GroupedSource
    from crowdopt.data.readers.addresses import Database
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.table import Table
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.kinds import Kind


S_co = TypeVar("S_co", bound=Solution, covariant=True)
_S = TypeVar("_S", bound=Solution)


@speaking_python
@dataclass(frozen=True, eq=False, repr=False)
class Solutions(Mapping[str, S_co], Generic[S_co]):
    """The solutions of all groups, by the text of the group; all are of one kind.

    Attributes:
        groups: The solutions. Each is like that of the rows of its group alone, and can go on from these: predict,
            workers, verify.
        failures: Why other groups have none.
        reading: How the source was read.
        accuracy: Against a known truth, by group, where one was given; the last, None, is of all groups.
        export_accuracy: On the tasks whose label the export of a tool knows, likewise.
        source: The tasks, while in memory.
        notes: What is odd about the rows of all groups and what was done with them, in words.
    """

    groups: dict[str, S_co]
    failures: dict[str, str]
    reading: Reading
    accuracy: dict[str | None, Accuracy] = field(default_factory=dict)
    export_accuracy: dict[str | None, Accuracy] = field(default_factory=dict)
    source: GroupedSource | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, group: Any) -> S_co:
        """The solution of a group, which may be named as the source has it."""
        text = canonical_text(group)
        if text in self.failures:
            raise CrowdoptError(f"group {text!r} has no solution: {self.failures[text]}")
        return self.groups[text]

    def __contains__(self, group: object) -> bool:
        return canonical_text(group) in self.groups

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def interrupted(self) -> bool:
        """Whether some group was not solved, or not to the end, because someone asked to stop."""
        stopped = any(solution.interrupted for solution in self.groups.values())
        return stopped or NOT_SOLVED_YET in self.failures.values()

    @property
    def answers(self) -> Any:
        """One row per task of all groups, as the same kind of table as the input (a PyArrow table for files)."""
        return self.answers_frame()

    def answers_frame(self, *, probabilities: bool = False) -> Any:
        """Like :attr:`answers`, with a column ``p_<label>`` for every label of any group if wanted."""
        from crowdopt.results.reread import as_frame

        return as_frame(self.answers_table(probabilities=probabilities), self._need_source())

    def answers_table(self, *, probabilities: bool = False) -> Table:
        """Like :attr:`answers`, as a lazy Narwhals frame."""
        from crowdopt.results.groups.answers_grouped import grouped_answer_table

        return grouped_answer_table(self, self._need_source(), probabilities=probabilities)

    def write(
        self, path: str | Path | Database, *, probabilities: bool = False, spreadsheet_safe: bool = False
    ) -> None:
        """Writes the answers to a file or a database, whole or not at all; see :meth:`Solution.write`."""
        from crowdopt.results.write.files import write_table

        table, workspace = self.answers_table(probabilities=probabilities), self._need_source().workspace
        write_table(table, path, workspace, spreadsheet_safe=spreadsheet_safe)

    def _need_source(self) -> GroupedSource:
        if self.source is None:
            raise CrowdoptError("solutions that were loaded from a file have no tasks: answers need the data")
        return self.source

    @property
    def kind(self) -> Kind:
        """Whether the solutions are consensuses or proofs."""
        return next(iter(self.groups.values())).kind

    @property
    def figures(self) -> tuple[str, ...]:
        """The columns of the summary by group."""
        return FIGURES[self.kind]

    def rows(self) -> list[dict[str, Any]]:
        """A row of figures for every group, those without a solution last: what ``--group-summary`` writes."""
        nothing = dict.fromkeys(self.figures)
        rows = [nothing | self._row(group, solution) for group, solution in self.groups.items()]
        return [*rows, *(nothing | {"group": group, "failure": why} for group, why in self.failures.items())]

    def _row(self, group: str, solution: Solution) -> dict[str, Any]:
        facts, accuracy = solution.summary(), self.accuracy.get(group)
        return {name: facts[name] for name in self.figures if name in facts} | {
            "group": group,
            "n_labels": solution.scale.n_labels,
            "alpha": solution.agreement.alpha,
            "uncertain": solution.share_uncertain,
            "accuracy": accuracy.value if accuracy else None,
            "n_doubts": len(solution.doubts),
            "n_advice": len(solution.advice),
        }

    def write_summary(self, path: str | Path, *, spreadsheet_safe: bool = False) -> None:
        """Writes :meth:`rows` to a .csv, .tsv, .parquet or .jsonl file."""
        from crowdopt.results.write.files import write_columns

        rows = self.rows()
        columns = {name: np.array([row[name] for row in rows], dtype=object) for name in self.figures}
        write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)

    def summary(self) -> dict[str, Any]:
        """The main facts of all groups as plain JSON values: what the option ``--json`` prints."""
        whole, all_ = self.accuracy.get(None), self.groups.values()
        return {
            "kind": self.kind,
            "n_groups": len(self.groups) + len(self.failures),
            "n_failures": len(self.failures),
            "n_check": sum(bool(one.doubts) for one in all_),
            "notes": list(self.notes),
            **self._of_kind(),
            "n_tasks": sum(one.totals.n_tasks for one in all_),
            "n_responses": sum(one.totals.n_responses for one in all_),
            **({"n_without_group": self.source.n_without_group} if self.source else {}),
            **({"accuracy": whole.value, "n_truth": whole.n_tasks} if whole else {}),
            **export_facts(self.export_accuracy.get(None)),
            "groups": [{"group": group} | self._facts(group, one) for group, one in self.groups.items()],
            "failures": [{"group": group, "reason": reason} for group, reason in self.failures.items()],
        }

    def _of_kind(self) -> dict[str, Any]:
        """What only consensuses have, or only proofs."""
        proofs = [one for one in self.groups.values() if isinstance(one, ProofSolution)]
        if proofs:
            return {"proofs": dict(sorted(Counter(one.certificate.proof.value for one in proofs).items()))}
        found = [one for one in self.groups.values() if isinstance(one, ConsensusSolution)]
        sure = [one for one in found if not one.doubts]  # of the others nobody knows how many are right
        n_sure = sum(sum(one.label_tasks) for one in sure)
        expected = sum(sum(one.label_tasks) * one.mean_confidence for one in sure)
        return {
            "mean_confidence": expected / n_sure if n_sure else None,
            "n_uncertain": sum(one.n_uncertain for one in found),
            "n_tied": sum(one.n_tied for one in found),
        }

    def _facts(self, group: str, solution: Solution) -> dict[str, Any]:
        accuracy = self.accuracy.get(group)
        facts = solution.summary() | ({"accuracy": accuracy.value, "n_truth": accuracy.n_tasks} if accuracy else {})
        return facts | export_facts(self.export_accuracy.get(group))

    def to_dict(self) -> dict[str, Any]:
        """All solutions as plain JSON values: what is in the file."""
        from crowdopt.results.solution_file.format import encode_groups

        return encode_groups(self)

    def save(self, path: str | Path) -> None:
        """Writes one file with the solutions of all groups, whole or not at all."""
        from crowdopt.results.solution_file.format import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Solutions[Any]:
        """Reads a file of solutions."""
        from crowdopt.results.solution_file.format import read_file

        return cls.decoded(*read_file(path))

    @classmethod
    def from_dict(cls, data: Any) -> Solutions[Any]:
        """The inverse of :meth:`to_dict`. Checks form, not truth: that is what ``verify`` is for."""
        return cls.decoded(data, {})

    @classmethod
    def decoded(cls, data: Any, beside: dict[str, Any]) -> Solutions[Any]:
        """The solutions of a file, and of the one beside it that has the parameters of workers."""
        from crowdopt.results.solution_file.format import decode_groups

        groups, failures, reading, notes = decode_groups(data, beside)
        return Solutions(with_own_readings(groups, reading), failures, reading, notes=notes)

    def __repr__(self) -> str:
        facts = self.summary()
        return f"<Solutions of {facts['n_groups']} groups: {group_verdict(facts)}; {facts['n_tasks']} tasks>"


def group_verdict(facts: Mapping[str, Any]) -> str:
    """What was found of all groups, in words, given the facts of :meth:`Solutions.summary`."""
    found = [f"CHECK {facts['n_check']:,} of them"] if facts["n_check"] else []
    if facts["kind"] == "proof":
        found += [f"{number:,} {proof}" for proof, number in facts["proofs"].items()]
    else:
        others = "of the others " if facts["n_check"] and facts["mean_confidence"] is not None else ""
        found += [f"{others}{expected_right(facts['mean_confidence'])}"]
    found += [f"{facts['n_failures']:,} failed"] if facts["n_failures"] else []
    return ", ".join(found)


def read_solution_file(path: str | Path) -> Solution | Solutions[Any]:
    """What is in a solution file: one solution, or those of groups."""
    from crowdopt.results.solution_file.format import decode, format_of, read_file
    from crowdopt.results.solution_file.parts import GROUPS_FORMAT

    data, beside = read_file(path)
    return Solutions.decoded(data, beside) if format_of(data) == GROUPS_FORMAT else decode(data, beside)


def with_own_readings(groups: Mapping[str, _S], reading: Reading) -> dict[str, _S]:
    """The solutions of groups, each read as the rows of its group alone are to be read: with the classes it has."""
    of_classes: dict[frozenset[str], Reading] = {}  # shared, as there may be many groups, and many workers
    found = {}
    for group, solution in groups.items():
        names = frozenset(one.name for one in solution.classes)
        if names not in of_classes:
            of_classes[names] = replace(
                reading,
                group="",
                classes=tuple(pair for pair in reading.classes if pair[1] in names),
                ranked=tuple(name for name in reading.ranked if name in names),
            )
        found[group] = replace(solution, reading=of_classes[names])
    return found


NOT_SOLVED_YET = "interrupted before it was solved"
"""Why a group has no solution if someone asked to stop."""

FIGURES: dict[Kind, tuple[str, ...]] = {
    "consensus": (
        *("group", "n_tasks", "n_workers", "n_responses", "n_labels", "mean_confidence", "n_uncertain", "n_tied"),
        *("n_doubts", "alpha", "uncertain", "accuracy", "n_advice", "failure"),
    ),
    "proof": (
        *("group", "proof", "stop", "space", "engine", "n_tasks", "n_workers", "n_responses", "n_labels"),
        *(
            "log_likelihood",
            "gap",
            "gap_per_task",
            "n_doubts",
            "alpha",
            "uncertain",
            "accuracy",
            "n_advice",
            "seconds",
            "failure",
        ),
    ),
}
"""The columns of the summary by group."""
