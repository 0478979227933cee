"""From data to a Solution: read, check, count, solve. One direction, no way back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from crowdopt._parallel import n_cores, run_all
from crowdopt.classes.apply import advise_classes, check_alone, checked_number, with_found_classes
from crowdopt.data.bins import parse_bins
from crowdopt.data.columns import choose_group_truth, choose_truth
from crowdopt.data.load import OnPhase, Source, load, opened, workspace_for
from crowdopt.data.readers.addresses import database_of
from crowdopt.engines.registry import DEFAULT_TIME_LIMIT, Limits, OnProgress
from crowdopt.errors import InputError
from crowdopt.model.offsets import number
from crowdopt.model.scale import canonical_text
from crowdopt.reading import Duplicates, Missing, Reading, ToolName
from crowdopt.results.answers import check_kept
from crowdopt.results.solution import Solution
from crowdopt.results.solutions import INTERRUPTED, Solutions, with_own_readings
from crowdopt.solving import LOST, Asked, solve_counted, solve_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crowdopt.data.groups import GroupedSource
    from crowdopt.data.tables.workspace import Workspace
    from crowdopt.results.accuracy import Accuracy

    OnGroup = Callable[[int, int], bool]
    """Called with the number of groups that are done, and of all; returning True asks to stop."""


@overload
def aggregate(data: Any, *, group: Literal[""] = "", **options: Any) -> Solution: ...
@overload
def aggregate(data: Any, *, group: str, **options: Any) -> Solutions: ...
def aggregate(  # type: ignore[misc]  # the overloads leave out the options, which are the same for both
    data: Any,
    *,
    table: str = "",
    query: str = "",
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    class_: str = "",
    group: str = "",
    wide: bool = False,
    keep: Sequence[str] = (),
    labels: Sequence[Any] = (),
    scale: Literal["ordinal", "nominal"] | None = None,
    bins: int | Sequence[float] | None = None,
    duplicates: Duplicates = "error",
    order_by: str = "",
    missing: Missing = "error",
    na: Sequence[str] = (),
    encoding: str = "",
    delimiter: str = "",
    tool: ToolName = "auto",
    question: str = "",
    keep_rejected: bool = False,
    ignore_gold: bool = False,
    selectivity: str | dict[Any, float] | None = None,
    gold: Any = None,
    prior_matrix: Any = None,
    smoothing: float | None = None,
    classes: Any = None,
    ranked: Sequence[Any] = (),
    find_classes: int | Literal["auto"] | None = None,
    space: Literal["dominance", "all"] | None = None,
    engine: str = "auto",
    truth: Any = None,
    time_limit: float = DEFAULT_TIME_LIMIT,
    memory_limit: str | None = None,
    threads: int | None = None,
    jobs: int | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    on_phase: OnPhase | None = None,
    on_group: OnGroup | None = None,
) -> Solution | Solutions:
    """Estimates the true label of every task by maximum likelihood, with a certificate.

    Args:
        data: A path (CSV, TSV, Parquet, JSON Lines, Excel; a list of them or a glob), or a pandas, Polars,
            PyArrow, DuckDB or PySpark table; or a ``Database``, or its address (``postgresql://…``, ``sqlite:///…``).
        table: The table of the database to read, if ``data`` is an address.
        query: The SELECT to read instead.
        task: Name of the column of tasks.
        worker: Name of the column of workers.
        label: Name of the column of answers.
        class_: Name of a column with the class of each response's worker. A column is used for this only if it is named
            here. With ``classes``, the column of that table instead.
        group: Name of a column of groups (questions, batches, languages). Each is solved as a problem of its own, with
            labels of its own; a task belongs to its group, and may have the name of a task of another one.
        wide: One row per task and one column per worker.
        keep: Further columns to carry to the answers.
        labels: The scale, lowest label first; taken from the data if empty.
        scale: Whether the order of the labels means something (``ordinal``) or not (``nominal``). If None: two labels,
            numbers, named labels and ordered categories are ordinal; three and more texts are nominal.
        bins: For labels that are scores: the number of bins of equal width, or a list of edges between bins, lowest
            first. A score on an edge goes to the upper bin.
        duplicates: When a worker answered a task more than once: ``error``, ``same`` (count identical answers
            once), ``first`` or ``last`` (needs ``order_by``), or ``all`` (count every answer).
        order_by: Column that orders a worker's answers to one task: numbers as numbers; texts as text, unless they come
            from a text file and all look like numbers.
        missing: Rows without task, worker, label or group: ``error`` or ``drop``.
        na: Texts that stand for a missing label.
        encoding: Of text files; UTF-8 if empty.
        delimiter: Of text files; taken from the header if empty.
        tool: The annotation tool whose export the files are: ``mturk``, ``label-studio``, ``toloka``, ``prodigy``,
            ``argilla`` or ``crowd-kit``; empty for a plain table. ``auto`` takes what can only be such an export for
            one, unless columns are named.
        question: The question of an export that has several.
        keep_rejected: Whether to count work that was rejected in the tool.
        ignore_gold: Whether to leave out the labels that an export knows, which are gold otherwise.
        selectivity: ``none``, ``estimate``, or the known share of each label, as a dict or ``"no=0.9,yes=0.1"``. If
            None: ``none``; where classes are found, what held-out responses ask for.
        gold: Tasks of known label (a path or table with the task and label columns, or a dict of labels by task). They
            keep their labels, and their responses teach how workers answer.
        prior_matrix: Pseudo-counts by (true, answered) to start from: an array in the order of the scale, a nested
            dict, a CSV file with a row for each true label and a column for each answer, or a solution (or its file),
            whose counts they are.
        smoothing: A pseudo-count for every entry of the response matrix. If None: none; where classes are found, as
            much as held-out responses ask for.
        classes: The class of every worker (a path or table with the worker column and a column ``class``, or a dict of
            classes by worker). Each class has a response matrix of its own.
        find_classes: Finds that many classes of workers in the data, or as many as held-out responses ask for
            (``auto``). The labels are then solved for given these classes, over all mappings unless ``space`` says
            otherwise; that the classes are the best ones is not proved.
        ranked: The classes, best first: then a better worker's response counts for more in the order of answers.
        space: Mappings to search: those that respect the order of the scale (``dominance``), or ``all``.
        engine: ``auto``, or the name of an engine.
        truth: Known true labels (a path or table with the task and label columns) to compute the accuracy.
        time_limit: Seconds for the engine; past them the result is BOUNDED. Of groups, for each of them.
        memory_limit: Memory of the database that reads files, and of what an engine lists, for example ``"1GB"``.
        threads: Threads of that database.
        jobs: Processes that solve groups; as many as there are cores if None. The answers do not depend on it.
        seed: Seed of an engine's random choices.
        on_progress: Called now and then while solving; return True to stop with the best so far. Not used for groups.
        on_phase: Called with a word when a new phase of the work begins.
        on_group: Called with the number of groups that are done, and of all; return True to leave the others unsolved.

    Returns:
        The solution; its ``answers`` are a table of the same kind as ``data`` (a PyArrow table for files). With a
        column of groups, the solutions of all of them.

    Raises:
        InputError: With what is wrong, where, and what to do.

    >>> import pandas as pd
    >>> rows = [
    ...     ("a", "ann", "yes"),
    ...     ("a", "bob", "yes"),
    ...     ("b", "ann", "no"),
    ...     ("b", "bob", "yes"),
    ...     ("c", "bob", "no"),
    ... ]
    >>> solution = aggregate(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    >>> solution.certificate.proof
    <Proof.PROVED: 'PROVED'>
    >>> solution.answers[["task", "label"]].to_dict("list")
    {'task': ['a', 'b', 'c'], 'label': ['yes', 'no', 'no']}
    """
    data = database_of(data, table, query)
    for name, given, first in (("labels", labels, "lowest"), ("ranked", ranked, "best")):
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError(f"{name} must be a list, {first} first, not {given!r}")
    seconds, n_bytes, seed = number(time_limit, "the time limit"), parse_bytes(memory_limit), _checked_seed(seed)
    n_bins, edges = parse_bins(bins)
    reading = Reading(
        task=task,
        worker=worker,
        label=label,
        class_column=class_,
        group=group,
        wide=wide,
        keep=tuple([keep] if isinstance(keep, str) else keep),
        duplicates=duplicates,
        order_by=order_by,
        missing=missing,
        na=tuple([na] if isinstance(na, str) else na),
        labels=tuple(canonical_text(text) for text in labels),
        scale=scale or "",
        bins=edges,
        ranked=tuple(canonical_text(name) for name in ranked),
        encoding=encoding,
        delimiter=delimiter,
        tool=tool,
        question=question,
        keep_rejected=keep_rejected,
        ignore_gold=ignore_gold,
    )
    report = on_phase or (lambda _: None)
    asked = Asked(
        selectivity=selectivity,
        prior_matrix=prior_matrix,
        smoothing=smoothing,
        space=space,
        engine=engine,
        seed=seed,
        scale_said=bool(scale or reading.labels or bins is not None),
    )
    jobs = _checked_jobs(jobs)
    if find_classes is not None:
        find_classes = checked_number(find_classes)
        known = {"--class": class_, "--ranked": reading.ranked, "--group": group}
        tables = {"--classes": classes, "--gold": gold, "--prior-matrix": prior_matrix}
        check_alone(
            [*(name for name, value in known.items() if value), *(name for name in tables if tables[name] is not None)]
        )
    if group and gold is not None:
        raise InputError(
            "tasks of known label (--gold) do not go with --group: aggregate the rows of a group alone, with its gold"
        )
    with _closed_on_error(data, memory_limit=memory_limit, threads=threads) as workspace:
        report("reading")
        if group:
            from crowdopt.data.groups import load_groups

            groups = load_groups(data, reading, workspace, n_bins=n_bins, classes=classes, on_phase=report)
            check_kept(groups.reading)
            report("solving")
            solutions = solve_groups(groups, asked, seconds, n_bytes, jobs=jobs, on_group=on_group)
            if truth is not None:
                report("comparing with the truth")
                solutions = replace(solutions, accuracy=group_accuracy(solutions, groups, truth))
            return solutions
        source = load(data, reading, workspace, n_bins=n_bins, gold=gold, classes=classes, on_phase=report)
        check_kept(source.reading)
        start = None
        if find_classes is not None:
            check_alone(["the known labels of an export (--ignore-gold)"] if source.reading.gold else [])
            report("finding classes")
            source, asked, start = with_found_classes(source, find_classes, asked)
        report("solving")
        limits = Limits(seconds, on_progress, n_bytes, seed, start)
        solution = replace(solve_counted(source.counted, asked, limits), source=source)
        solution = replace(solution, advice=(*solution.advice, *advise_classes(solution)))
        if truth is not None:
            report("comparing with the truth")
            solution = replace(solution, accuracy=accuracy(solution, truth))
    return solution


def solve_source(source: Source, *, limits: Limits, **options: Any) -> Solution:
    """Solves what was counted; see ``solving.Asked`` for the options."""
    return replace(solve_counted(source.counted, Asked(**options), limits), source=source)


def accuracy(solution: Solution, truth: Any) -> Accuracy:
    """Compares the answers with known true labels, both as canonical text."""
    from crowdopt.results.accuracy import accuracy_of

    workspace = solution.source.workspace if solution.source else None
    with opened(truth, choose_truth(solution.reading), solution.reading, workspace) as table:
        return accuracy_of(solution, table, same_place=workspace is not None and table is not truth)


def group_accuracy(solutions: Solutions, source: GroupedSource, truth: Any) -> dict[str | None, Accuracy]:
    """The same for groups: of each of them, and of all."""
    from crowdopt.results.answers_grouped import accuracy_by_group

    with opened(truth, choose_group_truth(solutions.reading), solutions.reading, source.workspace) as table:
        return accuracy_by_group(solutions, source, table)


def solve_groups(
    source: GroupedSource,
    asked: Asked,
    seconds: float,
    n_bytes: int | None = None,
    *,
    jobs: int = 1,
    on_group: OnGroup | None = None,
) -> Solutions:
    """Solves every group, within some seconds and bytes each, in several processes.

    Raises:
        InputError: No group can be answered.
        KeyboardInterrupt: Someone asked to stop before any group was solved.
    """
    prior = asked.prior_matrix
    if isinstance(prior, str | Path) and Path(prior).suffix.lower() == ".json":
        asked = replace(asked, prior_matrix=Solution.load(prior))  # once for all groups
    reading = replace(source.reading, classes=())  # solving does not need them, and there may be many
    room = None if n_bytes is None else n_bytes // jobs
    items = [(replace(counted, reading=reading), asked, seconds, room) for counted in source.groups.values()]
    report = on_group or (lambda done, total: False)  # noqa: ARG005
    found = run_all(solve_group, items, jobs, LOST, lambda done: report(done, len(items)), here=solve_group)
    solved: dict[str, Solution] = {}
    failures = dict(source.failures)
    for at, group in enumerate(source.groups):
        outcome = found.get(at, INTERRUPTED)
        if isinstance(outcome, str):
            failures[group] = outcome
        else:
            solved[group] = outcome
    if not solved and INTERRUPTED in failures.values():
        raise KeyboardInterrupt("no group was solved yet; nothing was written")
    if not solved:
        group, reason = next(iter(failures.items()))
        raise InputError(f"none of the {len(failures)} groups can be answered; {group!r}: {reason}")
    return Solutions(with_own_readings(solved, source.reading), failures, source.reading, source=source)


@contextmanager
def _closed_on_error(data: Any, *, memory_limit: str | None, threads: int | None) -> Iterator[Workspace | None]:
    """The workspace lives on with the solution, which needs it for its answers; on an error it goes at once."""
    workspace = workspace_for(data, memory_limit=memory_limit, threads=threads)
    try:
        yield workspace
    except BaseException:
        if workspace is not None:
            workspace.close()
        raise


def parse_bytes(text: str | None) -> int | None:
    """The number of bytes that a memory limit means; None if there is none.

    >>> parse_bytes("1.5GB"), parse_bytes("512 KiB")
    (1500000000, 524288)
    """
    if text is None:
        return None
    shape = r"\s*([0-9]{0,15}\.?[0-9]{1,15})\s*([KMGT]?)(i?)B?\s*"
    found = re.fullmatch(shape, text, re.IGNORECASE) if isinstance(text, str) else None
    if found is None:
        raise InputError(f"cannot read the memory limit {text!r}: write a text like 500MB or 2GB, nothing negative")
    power = " KMGT".index(found[2].upper() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def _checked_jobs(jobs: Any) -> int:
    if jobs is None:
        return n_cores()
    if isinstance(jobs, bool) or not isinstance(jobs, Integral) or jobs < 1:
        raise InputError(f"the number of jobs must be a whole number of at least 1, not {jobs!r}")
    return int(jobs)


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InputError(f"the seed must be a whole number of at least 0, not {seed!r}")
    return int(seed)
