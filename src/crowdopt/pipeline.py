"""From data to a Solution: read, check, count, then find the consensus or prove. One direction, no way back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from crowdopt._option import complete, parse_bytes, taking
from crowdopt._parallel import n_cores
from crowdopt.data.bins import parse_bins
from crowdopt.data.columns import choose_group_truth, choose_truth
from crowdopt.data.load import OnPhase, Source, load, opened, paths_of, unchanged, workspace_for
from crowdopt.data.readers.addresses import database_of
from crowdopt.data.readers.open_files import explain_errors
from crowdopt.data.reading import Reading
from crowdopt.engines.base import Limits, OnProgress
from crowdopt.errors import ClassError, InputError
from crowdopt.model.offsets import checked_number, checked_whole
from crowdopt.model.scale import check_few_labels
from crowdopt.options.model import SolveOptions
from crowdopt.options.verbs import AggregateOptions, ProveOptions, belongs_to_aggregate, belongs_to_prove
from crowdopt.options.words import in_python_words
from crowdopt.results.answers import ANSWER_COLUMNS, check_kept
from crowdopt.results.beside_consensus import beside_consensus, what_to_compare
from crowdopt.results.doubts import doubts_of, notes_of, warn_of
from crowdopt.results.found_classes import checked_n_classes, with_found_classes
from crowdopt.results.groups.solve_groups import OnGroup, aggregate_groups, prove_groups
from crowdopt.results.solution import Solution
from crowdopt.results.solve_consensus import solve_consensus
from crowdopt.results.solve_counts import check_likelihood, solve_counted
from crowdopt.results.source_consensus import consensus_columns, tasks_of

if TYPE_CHECKING:
    from crowdopt.consensus.work import OnShare
    from crowdopt.data.groups import GroupedSource
    from crowdopt.data.tables.workspace import Workspace
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.solution_consensus import ConsensusSolution
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.solutions import Solutions

_S = TypeVar("_S", bound=Solution)
_R = TypeVar("_R", bound="Solution | Solutions[Any]")


@overload
def aggregate(
    data: Any,
    *,
    group: Literal[""] = "",
    on_phase: OnPhase | None = None,
    on_share: OnShare | None = None,
    on_group: OnGroup | None = None,
    **options: Unpack[AggregateOptions],
) -> ConsensusSolution: ...
@overload
def aggregate(
    data: Any,
    *,
    group: str,
    on_phase: OnPhase | None = None,
    on_share: OnShare | None = None,
    on_group: OnGroup | None = None,
    **options: Unpack[AggregateOptions],
) -> Solutions[ConsensusSolution]: ...
@in_python_words
@taking(AggregateOptions, belongs_to_prove)
def aggregate(
    data: Any,
    *,
    group: str = "",
    on_phase: OnPhase | None = None,
    on_share: OnShare | None = None,
    on_group: OnGroup | None = None,
    **options: Unpack[AggregateOptions],
) -> ConsensusSolution | Solutions[ConsensusSolution]:
    """Finds the label of every task that is most likely right, with a probability that means what it says.

    Args:
        data: A path (CSV, TSV, Parquet, JSON Lines, Excel; a list of them or a glob), or a pandas, Polars,
            PyArrow, DuckDB or PySpark table; or a ``Database``, or its address (``postgresql://…``, ``sqlite:///…``).
        group: Name of a column of groups (questions, batches, languages). Each is a problem of its own, with labels of
            its own; a task belongs to its group, and may have the name of a task of another one.
        on_phase: Called with a word when a new phase of the work begins.
        on_share: Called now and then with the share of the weighing that is done, from 0 to 1. Not used for groups.
        on_group: Called with the number of groups that are done, and of all; return True to leave the others.
        options: How to read, and what is known: see ``AggregateOptions``.

    Returns:
        The solution; its ``answers`` are a table of the same kind as ``data`` (a PyArrow table for files). With a
        column of groups, the solutions of all of them.

    Raises:
        InputError: With what is wrong, where, and what to do.

    >>> import pandas as pd
    >>> rows = [(task, worker, "yes" if task < "c" else "no") for task in "abcd" for worker in ("ann", "bob", "cy")]
    >>> solution = aggregate(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    >>> solution.answers[["task", "label"]].to_dict("list")
    {'task': ['a', 'b', 'c', 'd'], 'label': ['yes', 'yes', 'no', 'no']}
    """
    job = _Job.of(data, options, group, on_phase)
    with _closed_on_error(job.workspace):
        job.on_phase("reading")
        return _doubted(job.find_consensus_by_group(on_group) if group else job.find_consensus(on_share))


@overload
def prove(
    data: Any,
    *,
    group: Literal[""] = "",
    on_progress: OnProgress | None = None,
    on_phase: OnPhase | None = None,
    on_share: OnShare | None = None,
    on_group: OnGroup | None = None,
    **options: Unpack[ProveOptions],
) -> ProofSolution: ...
@overload
def prove(
    data: Any,
    *,
    group: str,
    on_progress: OnProgress | None = None,
    on_phase: OnPhase | None = None,
    on_share: OnShare | None = None,
    on_group: OnGroup | None = None,
    **options: Unpack[ProveOptions],
) -> Solutions[ProofSolution]: ...
@in_python_words
@taking(ProveOptions, belongs_to_aggregate)
def prove(
    data: Any,
    *,
    group: str = "",
    on_progress: OnProgress | None = None,
    on_phase: OnPhase | None = None,
    on_share: OnShare | None = None,
    on_group: OnGroup | None = None,
    **options: Unpack[ProveOptions],
) -> ProofSolution | Solutions[ProofSolution]:
    """Estimates the true label of every task by maximum likelihood, with a certificate.

    Args:
        data: A path (CSV, TSV, Parquet, JSON Lines, Excel; a list of them or a glob), or a pandas, Polars,
            PyArrow, DuckDB or PySpark table; or a ``Database``, or its address (``postgresql://…``, ``sqlite:///…``).
        group: Name of a column of groups (questions, batches, languages). Each is solved as a problem of its own, with
            labels of its own; a task belongs to its group, and may have the name of a task of another one.
        on_progress: Called now and then while solving; return True to stop with the best so far. Not used for groups.
        on_phase: Called with a word when a new phase of the work begins.
        on_share: Called now and then with the share of a consensus that is found, from 0 to 1. Not used for groups.
        on_group: Called with the number of groups that are done, and of all; return True to leave the others unsolved.
        options: How to read, what is known, how to solve: see ``ProveOptions``.

    Returns:
        The solution; its ``answers`` are a table of the same kind as ``data`` (a PyArrow table for files). With a
        column of groups, the solutions of all of them.

    Raises:
        InputError: With what is wrong, where, and what to do.

    >>> import pandas as pd
    >>> rows = [row.split() for row in ("a ann yes", "a bob yes", "b ann no", "b bob yes", "c bob no")]
    >>> solution = prove(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    >>> solution.certificate.proof
    <Proof.PROVED: 'PROVED'>
    >>> solution.answers[["task", "label"]].to_dict("list")
    {'task': ['a', 'b', 'c'], 'label': ['yes', 'no', 'no']}
    """
    _check_model(options, group)
    job = _Job.of(data, options, group, on_phase)
    with _closed_on_error(job.workspace):
        job.on_phase("reading")
        return _doubted(job.prove_by_group(on_group) if group else job.prove(on_progress, on_share))


def _doubted(result: _R) -> _R:
    """A result, after warnings of what is odd about the rows, and of what there is to doubt in it."""
    warn_of(doubts_of(result), notes_of(result))
    return result


@dataclass(frozen=True, eq=False)
class _Job:
    """One call of :func:`aggregate` or :func:`prove`, checked: what to read, how, where, and what to make of it."""

    data: Any
    reading: Reading
    n_bins: int
    workspace: Workspace | None
    options: Any
    on_phase: OnPhase

    @classmethod
    def of(cls, data: Any, options: AggregateOptions | ProveOptions, group: str, on_phase: OnPhase | None) -> _Job:
        """Checks the options before anything is read."""
        data = database_of(data, options["table"], options["query"])
        n_bins, edges = _check_options(options, group)
        reading = Reading.of(options, group=group, bins=edges)
        workspace = workspace_for(data, memory_limit=options["memory_limit"], threads=options["threads"])
        return cls(data, reading, n_bins, workspace, options, on_phase or (lambda _: None))

    @property
    def wanted(self) -> SolveOptions:
        """How to solve: labels of single workers, or of classes that are found, have no order that all share."""
        wanted = complete(SolveOptions, self.options)
        unordered = self.options["each"] or self.options["find_classes"] is not None
        return {**wanted, "space": wanted["space"] or ("all" if unordered else None)}

    def load(self) -> Source:
        """Reads and counts one problem."""
        options = self.options
        return load(
            self.data, self.reading, self.workspace,
            n_bins=self.n_bins, gold=options["gold"], classes=options.get("classes"),
            each=options.get("each", False), on_phase=self.on_phase,
        )  # fmt: skip

    def with_accuracy(self, solution: _S) -> _S:
        """The solution with its accuracy, if there is a truth, and that on the known labels of an export."""
        from crowdopt.results.accuracy import export_accuracy_of

        with self.reading_again():
            solution = replace(solution, export_accuracy=export_accuracy_of(solution))
        if self.options["truth"] is None:
            return solution
        self.on_phase("comparing with the truth")
        return replace(solution, accuracy=accuracy(solution, self.options["truth"]))

    @contextmanager
    def reading_again(self) -> Iterator[None]:
        """Files that were read before are read once more: raises if one was changed, and explains what fails."""
        with unchanged(self.workspace), explain_errors(paths_of(self.data)):
            yield

    def find_consensus(self, on_share: OnShare | None) -> ConsensusSolution:
        """Reads, counts and aggregates one problem."""
        source = self.load()
        check_kept(source.reading, consensus_columns([source.responses.scale]))
        self.on_phase("coding")
        with self.reading_again():
            parts = tasks_of(source)
        shares = self.options["label_shares"]
        self.on_phase("weighing")
        solution = solve_consensus(source.counted, parts, shares, on_share)
        return self.with_accuracy(replace(solution, source=source))

    def prove(self, on_progress: OnProgress | None, on_share: OnShare | None) -> ProofSolution:
        """Reads, counts and solves one problem."""
        options, source, wanted = self.options, self.load(), self.wanted
        check_few_labels(source.responses.scale)
        check_kept(source.reading, ANSWER_COLUMNS)
        consensus = None
        if (n_classes := options["find_classes"]) is not None:
            self.on_phase("finding classes")
            with self.reading_again():
                source, wanted, consensus = with_found_classes(source, checked_n_classes(n_classes), wanted, on_share)
        self.on_phase("solving")
        limits = Limits(options["time_limit"], on_progress, parse_bytes(options["memory_limit"]), wanted["seed"])
        solution = replace(solve_counted(source.counted, wanted, limits), source=source)
        self.on_phase("comparing with the consensus")
        with self.reading_again():
            found = beside_consensus(solution, consensus, lambda: limits.asked_to_stop(solution.certificate), on_share)
        return self.with_accuracy(found.of(solution))

    def find_consensus_by_group(self, on_group: OnGroup | None) -> Solutions[ConsensusSolution]:
        """Reads and counts all groups, and aggregates each as a problem of its own."""
        groups = self.load_groups()
        check_kept(groups.reading, consensus_columns(counted.scale for counted in groups.groups.values()))
        self.on_phase("coding")
        with self.reading_again():
            encoded = groups.encoded()
        self.on_phase("weighing")
        shares = self.options["label_shares"]
        solutions = aggregate_groups(groups, encoded, shares, jobs=self.jobs, on_group=on_group)
        return self.with_group_accuracy(solutions, groups)

    def prove_by_group(self, on_group: OnGroup | None) -> Solutions[ProofSolution]:
        """Reads and counts all groups, and proves each as a problem of its own."""
        groups, options = self.load_groups(), self.options
        check_kept(groups.reading, ANSWER_COLUMNS)
        self.on_phase("coding")
        with self.reading_again():
            compared = what_to_compare(groups)
        self.on_phase("solving")
        solutions = prove_groups(
            groups, compared, self.wanted, options["time_limit"], parse_bytes(options["memory_limit"]),
            jobs=self.jobs, on_group=on_group,
        )  # fmt: skip
        return self.with_group_accuracy(solutions, groups)

    @property
    def jobs(self) -> int:
        """How many processes work on groups."""
        return n_cores() if self.options["jobs"] is None else int(self.options["jobs"])

    def load_groups(self) -> GroupedSource:
        """Reads and counts all groups."""
        from crowdopt.data.groups import load_groups

        return load_groups(
            self.data, self.reading, self.workspace,
            n_bins=self.n_bins, classes=self.options.get("classes"), each=self.options.get("each", False),
            on_phase=self.on_phase,
        )  # fmt: skip

    def with_group_accuracy(self, solutions: Solutions[_S], groups: GroupedSource) -> Solutions[_S]:
        """The solutions with their accuracy, if there is a truth, and that on the known labels of an export."""
        from crowdopt.results.groups.answers_grouped import export_accuracy_by_group

        with self.reading_again():
            solutions = replace(solutions, export_accuracy=export_accuracy_by_group(solutions, groups))
        if self.options["truth"] is None:
            return solutions
        self.on_phase("comparing with the truth")
        return replace(solutions, accuracy=group_accuracy(solutions, groups, self.options["truth"]))


def _check_options(options: AggregateOptions | ProveOptions, group: str) -> tuple[int, tuple[float, ...]]:
    """Checks options before anything is read, and turns numbers into numbers; the number and the edges of bins."""
    if not isinstance(group, str):
        raise InputError(f"group must be the name of a column, not {group!r}")
    options["labels"] = _several(options["labels"], "labels", "lowest")
    parse_bytes(options["memory_limit"])
    if options["jobs"] is not None:
        options["jobs"] = checked_whole(options["jobs"], "the number of jobs", at_least=1)
    if group and options["gold"] is not None:
        raise InputError(
            "tasks of known label (--gold) do not go with --group: take the rows of a group alone, with its gold"
        )
    return parse_bins(options["bins"])


def _check_model(options: ProveOptions, group: str) -> None:
    """Checks options that only ``prove`` has."""
    options["ranked"] = _several(options["ranked"], "ranked", "best")
    options["time_limit"] = checked_number(options["time_limit"], "the time limit")
    options["seed"] = checked_whole(options["seed"], "the seed", at_least=0)
    check_likelihood(options)
    _check_classes(options, group)


def _several(given: Any, name: str, first: str) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{name} must be a list, {first} first, not {given!r}")
    return tuple(given)  # which may be read only once


def _check_classes(options: ProveOptions, group: str) -> None:
    """Raises if the classes of workers are said in two ways."""
    ways = {
        "--each": options["each"],
        "--find-classes": options["find_classes"] is not None,
        "--classes": options["classes"] is not None,
        "--class": options["class_"],
        "--ranked": options["ranked"],
    }
    first, *others = [*(name for name, given in ways.items() if given), ""]
    if others and others[0] and first in {"--each", "--find-classes"}:
        raise ClassError(f"{first} does not go with {others[0]}: say in one way only who is in which class")
    if options["find_classes"] is not None:
        checked_n_classes(options["find_classes"])
        if group:
            raise ClassError("--find-classes does not go with --group: prove the rows of a group alone, with it")


def accuracy(solution: Solution, truth: Any) -> Accuracy:
    """Compares the answers with known true labels, both as canonical text."""
    from crowdopt.results.accuracy import accuracy_of

    workspace = solution.source.workspace if solution.source else None
    with opened(truth, choose_truth(solution.reading), solution.reading, workspace) as table:
        return accuracy_of(solution, table, same_place=workspace is not None and table is not truth)


def group_accuracy(solutions: Solutions[Any], source: GroupedSource, truth: Any) -> dict[str | None, Accuracy]:
    """The same for groups: of each of them, and of all."""
    from crowdopt.results.groups.answers_grouped import accuracy_by_group

    with opened(truth, choose_group_truth(solutions.reading), solutions.reading, source.workspace) as table:
        return accuracy_by_group(solutions, source, table)


@contextmanager
def _closed_on_error(workspace: Workspace | None) -> Iterator[None]:
    """The workspace lives on with the solution, which needs it for its answers; on an error it goes at once."""
    try:
        yield
    except BaseException:
        if workspace is not None:
            workspace.close()
        raise
