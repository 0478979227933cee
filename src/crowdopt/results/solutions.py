"""Solutions: the answers of many groups, each with a solution of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.errors import CrowdoptError
from crowdopt.model.scale import canonical_text
from crowdopt.results.solution import Solution

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt.data.groups import GroupedSource
    from crowdopt.data.readers.addresses import Database
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.table import Table
    from crowdopt.results.accuracy import Accuracy


@dataclass(frozen=True, eq=False, repr=False)
class Solutions(Mapping[str, Solution]):
    """The solutions of all groups, by the text of the group.

    Attributes:
        groups: The solutions. Each is like that of the rows of its group alone, and can go on from these: predict,
            workers, verify.
        failures: Why other groups have none.
        reading: How the source was read.
        accuracy: Against a known truth, by group, where one was given; the last, None, is of all groups.
        source: The tasks, while in memory.
    """

    groups: dict[str, Solution]
    failures: dict[str, str]
    reading: Reading
    accuracy: dict[str | None, Accuracy] = field(default_factory=dict)
    source: GroupedSource | None = None

    def __getitem__(self, group: Any) -> Solution:
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
        from crowdopt.results.answers_grouped import grouped_answer_table

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

    def rows(self) -> list[dict[str, Any]]:
        """A row of figures for every group, those without a solution last: what ``--group-summary`` writes."""
        rows = [self._row(group, solution) for group, solution in self.groups.items()]
        return [*rows, *(dict.fromkeys(FIGURES) | {"group": g, "failure": why} for g, why in self.failures.items())]

    def _row(self, group: str, solution: Solution) -> dict[str, Any]:
        facts, accuracy = solution.summary(), self.accuracy.get(group)
        known = {name: facts[name] for name in FIGURES if name in facts}
        return dict.fromkeys(FIGURES) | known | {
            "group": group,
            "n_labels": solution.scale.n_labels,
            "alpha": solution.agreement.alpha,
            "uncertain": solution.share_uncertain,
            "accuracy": accuracy.value if accuracy else None,
            "n_advice": len(solution.advice),
        }  # fmt: skip

    def write_summary(self, path: str | Path, *, spreadsheet_safe: bool = False) -> None:
        """Writes :meth:`rows` to a .csv, .tsv, .parquet or .jsonl file."""
        from crowdopt.results.write.files import write_columns

        rows = self.rows()
        columns = {name: np.array([row[name] for row in rows], dtype=object) for name in FIGURES}
        write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)

    def summary(self) -> dict[str, Any]:
        """The main facts of all groups as plain JSON values: what ``crowdopt prove --json`` prints."""
        whole = self.accuracy.get(None)
        return {
            "n_groups": len(self.groups) + len(self.failures),
            "n_failures": len(self.failures),
            "proofs": dict(sorted(Counter(one.certificate.proof.value for one in self.groups.values()).items())),
            "n_tasks": sum(one.totals.n_tasks for one in self.groups.values()),
            "n_responses": sum(one.totals.n_responses for one in self.groups.values()),
            **({"n_without_group": self.source.n_without_group} if self.source else {}),
            **({"accuracy": whole.value, "n_truth": whole.n_tasks} if whole else {}),
            "groups": [{"group": group} | self._facts(group, one) for group, one in self.groups.items()],
            "failures": [{"group": group, "reason": reason} for group, reason in self.failures.items()],
        }

    def _facts(self, group: str, solution: Solution) -> dict[str, Any]:
        accuracy = self.accuracy.get(group)
        return solution.summary() | ({"accuracy": accuracy.value, "n_truth": accuracy.n_tasks} if accuracy else {})

    def to_dict(self) -> dict[str, Any]:
        """All solutions as plain JSON values: what is in the file."""
        from crowdopt.results.solution_file.format import encode_groups

        return encode_groups(self)

    def save(self, path: str | Path) -> None:
        """Writes one file with the solutions of all groups, whole or not at all."""
        from crowdopt.results.solution_file.format import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Solutions:
        """Reads a file of solutions."""
        from crowdopt.results.solution_file.format import read_file

        return cls.decoded(*read_file(path))

    @classmethod
    def from_dict(cls, data: Any) -> Solutions:
        """The inverse of :meth:`to_dict`. Checks form, not truth: that is what ``verify`` is for."""
        return cls.decoded(data, {})

    @classmethod
    def decoded(cls, data: Any, beside: dict[str, Any]) -> Solutions:
        """The solutions of a file, and of the one beside it that has the parameters of workers."""
        from crowdopt.results.solution_file.format import decode_groups

        groups, failures, reading = decode_groups(data, beside)
        return cls(with_own_readings(groups, reading), failures, reading)

    def __repr__(self) -> str:
        facts = self.summary()
        proofs = ", ".join(f"{number} {proof}" for proof, number in facts["proofs"].items())
        failed = f", {facts['n_failures']} failed" if self.failures else ""
        return f"<Solutions of {facts['n_groups']} groups: {proofs}{failed}; {facts['n_tasks']} tasks>"


def read_solution_file(path: str | Path) -> Solution | Solutions:
    """What is in a solution file: one solution, or those of groups."""
    from crowdopt.results.solution_file.format import decode, format_of, read_file
    from crowdopt.results.solution_file.parts import GROUPS_FORMAT

    data, beside = read_file(path)
    return Solutions.decoded(data, beside) if format_of(data) == GROUPS_FORMAT else decode(data, beside)


def with_own_readings(groups: Mapping[str, Solution], reading: Reading) -> dict[str, Solution]:
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

FIGURES = (
    *("group", "proof", "stop", "space", "engine", "n_tasks", "n_workers", "n_responses", "n_labels", "log_likelihood"),
    *("gap", "alpha", "uncertain", "accuracy", "n_advice", "seconds", "failure"),
)
"""The columns of the summary by group."""
