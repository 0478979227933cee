"""The comparison of methods on the same rows: accuracy, log-loss, agreement, seconds, memory, likelihood."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import narwhals as nw
import numpy as np

from crowdopt._option import complete, declared, taking
from crowdopt.data.columns import choose_truth
from crowdopt.data.load import opened, paths_of
from crowdopt.data.readers.open_files import explain_errors
from crowdopt.data.tables.table import coded, fetch_integers
from crowdopt.errors import InputError, MissingExtraError
from crowdopt.model.offsets import checked_number
from crowdopt.options.verbs import AggregateOptions, CompareOptions, ProveOptions, gone
from crowdopt.options.words import in_python_words, speaking_python, spoken
from crowdopt.pipeline import prove
from crowdopt.results.accuracy import NO_LABEL, known_labels, off_scale
from crowdopt.results.tasks.consensus_tasks import SURE
from crowdopt.studies.compare.child_process import read_result, write_input
from crowdopt.studies.compare.methods import (
    CONSENSUS,
    CROWD_KIT,
    OUR_METHODS,
    SLOW,
    MethodInput,
    MethodLabels,
    has_crowd_kit,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crowdopt._arrays import Ints
    from crowdopt.results.solution_proof import ProofSolution

__all__ = ["Comparison", "MethodResult", "compare", "methods_for"]

GRACE = 120.0
"""Seconds beyond its limit after which a process that does not answer is ended."""

NO_TRUTH = -(2**62)
"""Stands for the truth of a task that has none; NO_LABEL and what is a little less are not on the scale."""


def _not_taken(function: str, name: str) -> Exception:
    if name in {*declared(ProveOptions), *declared(AggregateOptions), "group", "on_group", "on_progress", "on_share"}:
        return InputError(f"compare has no option {name!r}: not every method could heed it")
    return gone(function, name)


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What came of one method.

    Attributes:
        method: Its short name.
        title: What it is called.
        error: Why it failed; None if it did not.
        accuracy: Share of right labels among the tasks of known truth; None if no truth was given.
        log_loss: Mean of −ln of the probability that it gave to what came true of these labels, right or wrong; None
            without a truth, and of methods that say no probabilities.
        agrees: Share of the tasks that it labels as the consensus does; None if that did not run.
        log_likelihood: Of its labels, under the model that the engines maximise.
        loss: Nats that they are less likely than the likeliest labels of all methods.
        seconds: That it took, without starting Python and importing libraries.
        memory: MiB that its process had at most above those at the start; None where the system does not tell.
        proof: What was proved, over which space, within which gap; None for methods that prove nothing.
        labels: Index of the label of each task.
    """

    method: str
    title: str
    error: str | None = None
    accuracy: float | None = None
    log_loss: float | None = None
    agrees: float | None = None
    log_likelihood: float | None = None
    loss: float | None = None
    seconds: float | None = None
    memory: float | None = None
    proof: dict[str, Any] | None = None
    labels: Ints | None = field(default=None, repr=False)


@speaking_python
@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods on the same rows.

    Attributes:
        outcomes: One per method: the consensus, then the best first by accuracy, or, where no truth is known, by
            agreement with the consensus; those that failed are last.
        labels: The scale.
        n_tasks: Tasks with a response.
        n_workers: Workers.
        n_responses: Responses.
        n_truth: Tasks of known truth; 0 if no truth was given.
        fingerprint: Of the data.
        notes: What is odd about the rows, and what else to know.
    """

    outcomes: tuple[MethodResult, ...]
    labels: tuple[str, ...]
    n_tasks: int
    n_workers: int
    n_responses: int
    n_truth: int
    fingerprint: str
    notes: tuple[str, ...]

    @property
    def agreement(self) -> dict[str, dict[str, float]]:
        """The share of tasks that two methods label alike, for every pair that did not fail."""
        done = {one.method: one.labels for one in self.outcomes if one.labels is not None}
        return {a: {b: float((done[a] == done[b]).mean()) for b in done} for a in done}

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain JSON values: what ``crowdopt compare --json`` prints."""
        names = [one.name for one in fields(MethodResult) if one.name != "labels"]
        return {
            "n_tasks": self.n_tasks,
            "n_workers": self.n_workers,
            "n_responses": self.n_responses,
            "n_truth": self.n_truth,
            "labels": list(self.labels),
            "fingerprint": self.fingerprint,
            "methods": [{name: getattr(one, name) for name in names} for one in self.outcomes],
            "agreement": self.agreement,
            "notes": list(self.notes),
        }

    def report(self, path: str | Path, *, command: str = "") -> None:
        """Writes one HTML file that shows the comparison, whole or not at all."""
        from crowdopt.report.comparison_page import write_comparison

        write_comparison(self.to_dict(), path, command)


@in_python_words
@taking(CompareOptions, _not_taken)
def compare(
    data: Any, *, on_phase: Callable[[str], None] | None = None, **options: Unpack[CompareOptions]
) -> Comparison:
    """Runs every method on the same rows, each in a process of its own, one after the other.

    Args:
        data: The responses, in any form that ``aggregate`` takes.
        on_phase: Called with a word when a new phase of the work begins.
        options: How to read the data, which methods to run, and what the likelihood is: see ``CompareOptions``.

    Returns:
        One outcome per method; one that fails says why.

    Raises:
        InputError: With what is wrong with the data or an option.
    """
    phase, truth, time_limit = on_phase or (lambda _: None), options["truth"], options["time_limit"]
    how = complete(ProveOptions, {**options, "engine": "vote", "truth": None})
    solution = prove(data, on_phase=phase, **how)
    try:
        wanted, notes = methods_for(solution, options["methods"], all_methods=options["all_methods"])
        smoothing = 0.0 if options["smoothing"] is None else checked_number(options["smoothing"], "smoothing")
        rows = _rows(solution)
        true, told = (None, "") if truth is None else _truth(solution, truth)
    finally:
        if solution.source is not None and solution.source.workspace is not None:
            solution.source.workspace.close()
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="crowdopt-compare-") as folder:
        write_input(Path(folder), rows, smoothing, time_limit, options["seed"])
        for method in wanted:
            phase(f"running {title_of(method)}")
            outcomes.append(_run(method, Path(folder), rows, true, time_limit))
    return Comparison(
        outcomes=_ordered(_with_losses(_with_agreement(outcomes))),
        labels=solution.scale.labels,
        n_tasks=rows.n_tasks,
        n_workers=rows.n_workers,
        n_responses=len(rows.task),
        n_truth=0 if true is None else int((true != NO_TRUTH).sum()),
        fingerprint=solution.certificate.fingerprint,
        notes=tuple(map(spoken, (*solution.notes, *filter(None, [told]), *notes))),
    )


def methods_for(
    solution: ProofSolution, named: Sequence[str] = (), *, all_methods: bool = False
) -> tuple[list[str], tuple[str, ...]]:
    """The methods to run, and what is to be said of those that are left out."""
    known = [*OUR_METHODS, *CROWD_KIT]
    if unknown := [name for name in named if name not in known]:
        raise InputError(f"there is no method {unknown[0]!r}; there are {', '.join(known)}")
    ordered = solution.scale.kind == "ordinal" or solution.scale.n_labels <= 2
    if "opt-dominance" in named and not ordered:
        raise InputError("opt-dominance needs ordered labels: say --scale ordinal, or --labels from lowest to highest")
    if not has_crowd_kit():
        if set(named) & set(CROWD_KIT):
            raise MissingExtraError("comparing with crowd-kit", "compare")
        known = list(OUR_METHODS)
    left_out = {
        "crowd-kit's methods are left out: pip install 'crowdopt[compare]'": len(known) == len(OUR_METHODS),
        f"crowd-kit's slow methods are left out ({', '.join(SLOW)}): add --all": not (named or all_methods)
        and len(known) > len(OUR_METHODS),
    }
    unfit = {*(() if ordered else ("opt-dominance",)), *(() if solution.scale.n_labels == 2 else ("KOS",))}
    fitting = [name for name in known if name not in unfit and (all_methods or name not in SLOW)]
    return list(dict.fromkeys(named)) or fitting, tuple(note for note, said in left_out.items() if said)


def _rows(solution: ProofSolution) -> MethodInput:
    """The responses as whole numbers: tasks and workers numbered as they are sorted."""
    source = solution.source
    if source is None:
        raise TypeError("what was just read has a source")
    scale = solution.scale
    table = source.responses.table.filter(~nw.col("label").is_null())
    codes = {scale.values[j]: j for j in sorted(scale.occurring)}
    with explain_errors(paths_of(source.original)):
        for name in ("task", "worker"):
            numbers = table.select(name).unique().with_row_index(f"{name}_number", order_by=name)
            table = table.join(numbers, on=name, how="inner")
        columns = fetch_integers(
            table.select("task_number", "worker_number", coded("label", codes, NO_LABEL).alias("label"))
        )
    # In an order that does not depend on the one of the rows: sums of fractions do.
    order = np.lexsort((columns["label"], columns["worker_number"], columns["task_number"]))
    task, worker, label = (columns[name][order] for name in ("task_number", "worker_number", "label"))
    return MethodInput(task, worker, label, scale, solution.objective)


def _truth(solution: ProofSolution, truth: Any) -> tuple[Ints, str]:
    """The index of the true label of each task, in their order, NO_TRUTH where none is known; and what is odd."""
    source = solution.source
    if source is None:
        raise TypeError("what was just read has a source")
    tasks = source.responses.table.filter(~nw.col("label").is_null()).select("task").unique()
    tasks = tasks.with_row_index("task_number", order_by="task")
    with opened(truth, choose_truth(solution.reading), solution.reading, source.workspace) as table:
        known, tasks, others = known_labels(solution, table, tasks, same_place=bool(paths_of(truth)))
        found = fetch_integers(known.join(tasks, on="task", how="inner").select("task_number", "true"))
    true = np.full(solution.buckets.n_tasks, NO_TRUTH)
    true[found["task_number"]] = found["true"]
    if (true == NO_TRUTH).all():
        raise InputError("the truth names none of the tasks that have answers")
    odd = off_scale(found["true"], np.ones_like(found["true"]), others)
    return true, odd.in_words(f"{len(found['true']):,} tasks of known label", solution.reading)


def _run(method: str, folder: Path, rows: MethodInput, true: Ints | None, time_limit: float) -> MethodResult:
    """One method, in a process of its own."""
    command = [sys.executable, "-m", "crowdopt.studies.compare.child_process", str(folder), method]
    title = title_of(method)
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=time_limit + GRACE)  # noqa: S603
    except subprocess.TimeoutExpired:
        return MethodResult(method, title, error=f"stopped after {time_limit + GRACE:g} s")
    if not (folder / f"{method}.json").exists():
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return MethodResult(method, title, error=f"its process ended with {done.returncode}: {' '.join(last)}")
    facts, found = read_result(folder, method)
    if found is None:
        return MethodResult(method, title, error=facts["error"])
    value = rows.log_likelihood(found.labels)
    return MethodResult(
        method,
        title,
        accuracy=None if true is None else float((found.labels == true)[true != NO_TRUTH].mean()),
        log_loss=None if true is None else _log_loss(found, true),
        log_likelihood=value if np.isfinite(value) else None,
        seconds=facts["seconds"],
        memory=facts["memory"],
        proof=found.proof or None,
        labels=found.labels,
    )


def _log_loss(found: MethodLabels, true: Ints) -> float | None:
    if found.confidence is None:
        return None
    known = true != NO_TRUTH
    right, sure = (found.labels == true)[known], np.clip(found.confidence[known], SURE, 1 - SURE)
    return float(-np.where(right, np.log(sure), np.log1p(-sure)).mean())


def _with_agreement(outcomes: list[MethodResult]) -> list[MethodResult]:
    first = next((one.labels for one in outcomes if one.method == CONSENSUS), None)
    if first is None:
        return outcomes
    return [one if one.labels is None else replace(one, agrees=float((one.labels == first).mean())) for one in outcomes]


def _ordered(outcomes: Sequence[MethodResult]) -> tuple[MethodResult, ...]:
    """The consensus, then the best first, then what failed; equals stay in their order."""

    def place(one: MethodResult) -> tuple[bool, bool, float]:
        worth = one.agrees if one.accuracy is None else one.accuracy
        return one.method != CONSENSUS, one.error is not None, -(worth or 0.0)

    return tuple(sorted(outcomes, key=place))


def _with_losses(outcomes: list[MethodResult]) -> list[MethodResult]:
    values = [one.log_likelihood for one in outcomes if one.log_likelihood is not None]
    return [
        one if one.log_likelihood is None else replace(one, loss=max(values) - one.log_likelihood) for one in outcomes
    ]
