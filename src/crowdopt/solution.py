"""Solution: labels, response matrices and certificate, and the file that holds them."""

from __future__ import annotations

import json
import math
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from crowdopt._version import __version__
from crowdopt.buckets import Buckets
from crowdopt.certificate import Certificate
from crowdopt.errors import CrowdoptError, InputError, SolutionFileError
from crowdopt.margins import Margins
from crowdopt.metrics import Agreement, agreement
from crowdopt.objective import Objective, posterior, response_matrix
from crowdopt.reading import Reading
from crowdopt.scale import Scale

if TYPE_CHECKING:
    from crowdopt.frames import Table
    from crowdopt.responses import Responses, TaskCounts
    from crowdopt.types import Floats, Ints
    from crowdopt.workspace import Workspace

FORMAT = "crowdopt solution"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Totals:
    """What went in: all tasks, those without a usable response, workers, responses, and rows left out."""

    n_tasks: int
    n_no_response: int
    n_workers: int
    n_responses: int
    n_dropped: int


@dataclass(frozen=True)
class Accuracy:
    """How many of the tasks with a known truth got it right.

    Attributes:
        value: Share of right labels among the tasks that have a truth and a label.
        n_tasks: Number of those tasks.
        n_unknown: Tasks of the truth file that have no label here.
    """

    value: float
    n_tasks: int
    n_unknown: int


@dataclass(frozen=True, eq=False)
class Source:
    """Where the tasks are, for as long as the solution is in memory: not part of the file."""

    responses: Responses
    counts: TaskCounts
    original: Any
    workspace: Workspace | None


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
        seed: Seed of the engine's random choices.
        advice: What a user should know before trusting the answers; empty if nothing.
        accuracy: Against a known truth, if one was given.
        source: The tasks, while in memory.
    """

    scale: Scale
    buckets: Buckets
    mapping: Ints
    margins: Margins
    objective: Objective
    certificate: Certificate
    totals: Totals
    reading: Reading
    seed: int = 0
    advice: tuple[str, ...] = ()
    accuracy: Accuracy | None = None
    source: Source | None = None

    @cached_property
    def _by_label(self) -> tuple[Ints, Ints]:
        return self.buckets.by_label(self.mapping)

    @cached_property
    def matrix(self) -> Floats:
        """Response matrix [class, true, answered]; rows sum to one, or are NaN where no task has the label."""
        return response_matrix(self._by_label[0])

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
        """The same for any counts (bucket, class, label), for example of new tasks."""
        return posterior(counts, self.matrix, self.objective.log_shares(self._by_label[1]))

    @cached_property
    def agreement(self) -> Agreement:
        """Krippendorff's alpha and mean pairwise agreement between workers."""
        return agreement(self.buckets.counts, self.buckets.weights)

    @property
    def answers(self) -> Any:
        """One row per task, as the same kind of table as the input (a DuckDB relation for files)."""
        return self.answers_frame()

    def answers_frame(self, *, probabilities: bool = False) -> Any:
        """Like :attr:`answers`, with a column ``p_<label>`` for every label if wanted."""
        from crowdopt.answers import as_brought
        from crowdopt.frames import restore

        table = self.answers_table(probabilities=probabilities)
        source = self._need_source()
        if source.workspace is None:
            return as_brought(restore(table, source.original), source.original, self.reading.label)
        relation = table.to_native()
        # The database lives as long as the relation does, even if the solution is gone before.
        weakref.finalize(relation, lambda _: None, source.workspace)
        return relation

    def answers_table(self, *, probabilities: bool = False) -> Table:
        """Like :attr:`answers`, as a lazy Narwhals frame."""
        from crowdopt.answers import answer_table

        source = self._need_source()
        return answer_table(self, source.responses, source.counts, probabilities=probabilities)

    def write(self, path: str | Path, *, probabilities: bool = False) -> None:
        """Writes the answers to a .csv, .tsv, .parquet or .jsonl file, whole or not at all."""
        from crowdopt.write import write_table

        write_table(self.answers_table(probabilities=probabilities), path, self._need_source().workspace)

    def _need_source(self) -> Source:
        if self.source is None:
            raise CrowdoptError("a solution that was loaded from a file has no tasks: aggregate the data for answers")
        return self.source

    def summary(self) -> dict[str, Any]:
        """The main facts as plain JSON values: what ``crowdopt aggregate --json`` prints."""
        facts: dict[str, Any] = {
            "proof": self.certificate.proof.value,
            "stop": self.certificate.stop.value,
            "space": self.certificate.space.value,
            "engine": self.certificate.engine,
            "log_likelihood": self.certificate.objective,
            "bound": self.certificate.bound,
            "gap": self.certificate.gap,
            "tolerance": self.certificate.tolerance,
            "work": self.certificate.work,
            "seconds": self.certificate.seconds,
            "n_tasks": self.totals.n_tasks,
            "n_no_response": self.totals.n_no_response,
            "n_workers": self.totals.n_workers,
            "n_responses": self.totals.n_responses,
            "n_dropped": self.totals.n_dropped,
            "n_buckets": self.buckets.n_buckets,
            "labels": list(self.scale.labels),
            "scale": self.scale.kind,
            "scale_inferred": self.scale.inferred,
            "matrix": _nested(self.matrix),
            "selectivity": {"kind": self.objective.kind, "shares": self._reported_shares()},
            "label_shares": self.shares.tolist(),
            "agreement": self.agreement.to_dict(),
            "fingerprint": self.certificate.fingerprint,
            "advice": list(self.advice),
        }
        if self.accuracy is not None:
            facts["accuracy"] = self.accuracy.value
            facts["n_truth"] = self.accuracy.n_tasks
            facts["n_truth_unknown"] = self.accuracy.n_unknown
        return facts

    def _reported_shares(self) -> list[float] | None:
        if self.objective.kind == "none":
            return None
        return list(self.objective.shares) or self.shares.tolist()

    def to_dict(self) -> dict[str, Any]:
        """The whole solution as plain JSON values: what is in the file."""
        finite = np.isfinite(self.margins.values)
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "crowdopt_version": __version__,
            "certificate": self.certificate.to_dict(),
            "scale": {
                "labels": list(self.scale.labels),
                "kind": self.scale.kind,
                "inferred": self.scale.inferred,
            },
            "reading": self.reading.to_dict(),
            "selectivity": {"kind": self.objective.kind, "shares": list(self.objective.shares)},
            "seed": self.seed,
            "totals": dict(vars(self.totals)),
            "agreement": self.agreement.to_dict(),
            "matrix": _nested(self.matrix),
            "label_shares": self.shares.tolist(),
            "buckets": {
                "counts": self.buckets.counts.tolist(),
                "weights": self.buckets.weights.tolist(),
                "label": self.mapping.tolist(),
                "margin": [float(v) if ok else None for v, ok in zip(self.margins.values, finite, strict=True)],
                "margin_kind": self.margins.kind,
                "tied": self.margins.tied.tolist(),
            },
            "advice": list(self.advice),
            "accuracy": None if self.accuracy is None else dict(vars(self.accuracy)),
        }

    def save(self, path: str | Path) -> None:
        """Writes the solution file, whole or not at all."""
        from crowdopt.write import write_text

        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=None) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a solution file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise SolutionFileError(f"{path} is not a solution file: it is not UTF-8 text") from error
        try:
            data = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise SolutionFileError(f"{path} is not a solution file: {error}") from error
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """The inverse of :meth:`to_dict`. Checks form, not truth: that is what ``verify`` is for."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise SolutionFileError("this is not a crowdopt solution file")
        if data.get("format_version") != FORMAT_VERSION:
            raise SolutionFileError(
                f"the solution file has format version {data.get('format_version')!r}; this crowdopt reads version "
                f"{FORMAT_VERSION}: aggregate the data again, or use the version that wrote it "
                f"({data.get('crowdopt_version', 'unknown')})"
            )
        try:
            solution = cls(**_parse(data))
            _check_derived(solution, data)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            if isinstance(error, SolutionFileError):
                raise
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise SolutionFileError(f"the solution file is damaged: {reason}") from error
        return solution

    def __repr__(self) -> str:
        certificate = self.certificate
        what = f"{certificate.proof} over {certificate.space}" if certificate.bound is not None else "unproved"
        gap = "" if certificate.gap is None else f", gap {certificate.gap:.3g}"
        return (
            f"<Solution {what}: {self.totals.n_tasks} tasks, {self.totals.n_workers} workers, "
            f"{self.scale.n_labels} labels; loglik {certificate.objective:.2f}{gap}, "
            f"{certificate.engine} {certificate.seconds:.3f} s>"
        )


def _parse(data: dict[str, Any]) -> dict[str, Any]:
    table = data["buckets"]
    labels = tuple(_texts(data["scale"]["labels"]))
    if len(set(labels)) < len(labels):
        raise SolutionFileError("the solution file is damaged: its scale has a label twice")
    if data["scale"]["kind"] not in {"ordinal", "nominal"} or type(data["scale"]["inferred"]) is not bool:
        raise SolutionFileError("the solution file is damaged: its scale is neither ordinal nor nominal")
    if data["selectivity"]["kind"] not in {"none", "given", "estimated"}:
        raise SolutionFileError(f"the solution file is damaged: selectivity {data['selectivity']['kind']!r}")
    shares = tuple(_share(share) for share in data["selectivity"]["shares"])
    if shares and len(shares) != len(labels):
        raise SolutionFileError("the solution file is damaged: its selectivity does not have a share for each label")
    counts = np.array(table["counts"], dtype=np.int64)
    buckets, index = Buckets.from_arrays(counts, np.array(table["weights"]))
    mapping = np.array(table["label"], dtype=np.int64)
    if not np.array_equal(index, np.arange(buckets.n_buckets)):
        raise SolutionFileError("the solution file is damaged: its buckets are not distinct and sorted")
    sizes = {len(mapping), len(table["margin"]), len(table["tied"]), buckets.n_buckets}
    if len(sizes) > 1 or buckets.n_labels != len(labels):
        raise SolutionFileError("the solution file is damaged: its bucket columns differ in length")
    if len(mapping) and not (mapping.min() >= 0 and mapping.max() < len(labels)):
        raise SolutionFileError("the solution file is damaged: a bucket has a label that is not on the scale")
    if table["margin_kind"] not in {"exact", "upper"}:
        raise SolutionFileError(f"the solution file is damaged: margin kind {table['margin_kind']!r}")
    margin = np.array([np.inf if value is None else value for value in table["margin"]], dtype=float)
    accuracy = data["accuracy"]
    return {
        "scale": Scale(labels, labels, data["scale"]["kind"], data["scale"]["inferred"], frozenset(range(len(labels)))),
        "buckets": buckets,
        "mapping": mapping,
        "margins": Margins(margin, table["margin_kind"], np.array(table["tied"], dtype=bool)),
        "objective": Objective(data["selectivity"]["kind"], shares),
        "certificate": Certificate.from_dict(data["certificate"]),
        "totals": Totals(**{name: _whole(value) for name, value in data["totals"].items()}),
        "reading": _parse_reading(data["reading"]),
        "seed": _integer(data["seed"]),
        "advice": tuple(_texts(data["advice"])),
        "accuracy": None if accuracy is None else _parse_accuracy(**accuracy),
    }


def _parse_reading(data: dict[str, Any]) -> Reading:
    for name, default in Reading().to_dict().items():
        if type(data[name]) is not type(default):
            raise TypeError(f"the reading option {name!r} cannot be {data[name]!r}")
        if isinstance(default, list):
            _texts(data[name])
    return Reading.from_dict(data)


def _parse_accuracy(value: Any, n_tasks: Any, n_unknown: Any) -> Accuracy:
    return Accuracy(_share(value), _whole(n_tasks), _whole(n_unknown))


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{values!r} is not a list of texts")
    return values


def _share(value: Any) -> float:
    if type(value) not in {int, float} or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is not a share between 0 and 1")
    return float(value)


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is not an integer")
    return value


def _whole(value: Any) -> int:
    if _integer(value) < 0:
        raise ValueError(f"{value!r} is not a number of things")
    return int(value)


def _check_derived(solution: Solution, data: dict[str, Any]) -> None:
    """What the file repeats for its readers must follow from the rest, and nothing may have changed on the way in."""
    derived = solution.to_dict() | {"crowdopt_version": data["crowdopt_version"]}
    if unknown := sorted(data.keys() - derived.keys()):
        raise SolutionFileError(f"the solution file is damaged: {unknown[0]!r} does not belong there")
    for name, value in derived.items():
        if not _same(value, data[name]):
            raise SolutionFileError(f"the solution file is damaged: its {name} does not follow from its labels")


def _same(ours: Any, theirs: Any) -> bool:
    """Whether two JSON values are equal, numbers up to rounding; a text, a list or true is no number."""
    if isinstance(ours, dict):
        return (
            isinstance(theirs, dict) and ours.keys() == theirs.keys() and all(_same(ours[k], theirs[k]) for k in ours)
        )
    if isinstance(ours, list):
        return isinstance(theirs, list) and len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, float):
        return type(theirs) in {int, float} and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
    return type(ours) is type(theirs) and bool(ours == theirs)


def _nested(matrix: Floats) -> list[Any]:
    """Nested lists with None for undefined entries."""
    return [[[None if np.isnan(p) else float(p) for p in row] for row in rows] for rows in matrix]
