"""From data to a Solution: read, check, count, solve. One direction, no way back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from crowdopt.advice import advise, advise_scale, advise_unanswered
from crowdopt.bins import parse_bins
from crowdopt.certificate import Space
from crowdopt.errors import InputError
from crowdopt.objective import Objective, parse_selectivity
from crowdopt.offsets import Offsets, number
from crowdopt.prior import read_prior
from crowdopt.problem import Problem
from crowdopt.read.columns import choose_truth
from crowdopt.read.tables import explain_errors
from crowdopt.reading import Duplicates, Missing, Reading
from crowdopt.scale import Scale, canonical_text
from crowdopt.solution import Accuracy, Solution
from crowdopt.solve import DEFAULT_TIME_LIMIT, Limits, OnProgress, run
from crowdopt.source import OnPhase, Source, load, open_table, paths_of, workspace_for
from crowdopt.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def aggregate(
    data: Any,
    *,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    class_: str = "",
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
    selectivity: str | dict[Any, float] = "none",
    gold: Any = None,
    prior_matrix: Any = None,
    smoothing: float = 0.0,
    classes: Any = None,
    ranked: Sequence[Any] = (),
    space: Literal["dominance", "all"] | None = None,
    engine: str = "auto",
    truth: Any = None,
    time_limit: float = DEFAULT_TIME_LIMIT,
    memory_limit: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    on_phase: OnPhase | None = None,
) -> Solution:
    """Estimates the true label of every task by maximum likelihood, with a certificate.

    Args:
        data: A path (CSV, TSV, Parquet, JSON Lines, Excel; a list of them or a glob), or a pandas, Polars, PyArrow
            or DuckDB table.
        task: Name of the column of tasks.
        worker: Name of the column of workers.
        label: Name of the column of answers.
        class_: Name of a column with the class of each response's worker. A column is used for this only if it is named
            here. With ``classes``, the column of that table instead.
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
        missing: Rows without task, worker or label: ``error`` or ``drop``.
        na: Texts that stand for a missing label.
        encoding: Of text files; UTF-8 if empty.
        delimiter: Of text files; taken from the header if empty.
        selectivity: ``none``, ``estimate``, or the known share of each label, as a dict or ``"no=0.9,yes=0.1"``.
        gold: Tasks of known label (a path or table with the task and label columns, or a dict of labels by task). They
            keep their labels, and their responses teach how workers answer.
        prior_matrix: Pseudo-counts by (true, answered) to start from: an array in the order of the scale, a nested
            dict, a CSV file with a row for each true label and a column for each answer, or a solution (or its file),
            whose counts they are.
        smoothing: A pseudo-count for every entry of the response matrix.
        classes: The class of every worker (a path or table with the worker column and a column ``class``, or a dict of
            classes by worker). Each class has a response matrix of its own.
        ranked: The classes, best first: then a better worker's response counts for more in the order of answers.
        space: Mappings to search: those that respect the order of the scale (``dominance``), or ``all``.
        engine: ``auto``, or the name of an engine.
        truth: Known true labels (a path or table with the task and label columns) to compute the accuracy.
        time_limit: Seconds for the engine; past them the result is BOUNDED.
        memory_limit: Memory of the database that reads files, and of what an engine lists, for example ``"1GB"``.
        threads: Threads of that database.
        seed: Seed of an engine's random choices.
        on_progress: Called now and then while solving; return True to stop with the best so far.
        on_phase: Called with a word when a new phase of the work begins.

    Returns:
        The solution; its ``answers`` are a table of the same kind as ``data`` (a PyArrow table for files).

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
    )
    report = on_phase or (lambda _: None)
    with _closed_on_error(data, memory_limit=memory_limit, threads=threads) as workspace:
        report("reading")
        source = load(data, reading, workspace, n_bins=n_bins, gold=gold, classes=classes, on_phase=report)
        report("solving")
        solution = solve_source(
            source,
            selectivity=selectivity,
            prior_matrix=prior_matrix,
            smoothing=smoothing,
            space=space,
            engine=engine,
            seed=seed,
            scale_said=bool(scale or reading.labels or bins is not None),
            limits=Limits(seconds, on_progress, n_bytes, seed),
        )
        if truth is not None:
            report("comparing with the truth")
            solution = replace(solution, accuracy=accuracy(solution, truth))
    return solution


def solve_source(
    source: Source,
    *,
    selectivity: str | dict[Any, float] = "none",
    prior_matrix: Any = None,
    smoothing: float = 0.0,
    space: Literal["dominance", "all"] | None = None,
    engine: str = "auto",
    seed: int = 0,
    scale_said: bool = False,
    limits: Limits,
) -> Solution:
    """Solves what was counted."""
    responses, counts = source.responses, source.counts
    scale, buckets = responses.scale, counts.buckets
    names = [one.name for one in responses.classes]
    offsets = Offsets.of(
        buckets.n_labels,
        buckets.n_classes,
        gold=(counts.gold.responses, counts.gold.tasks) if counts.gold else None,
        prior=read_prior(prior_matrix, scale, buckets, names),
        smoothing=number(smoothing, "smoothing"),
    )
    objective = replace(_objective(selectivity, scale), offsets=offsets)
    ranked = len(responses.reading.ranked) > 1
    problem = Problem(buckets, _space(space, scale), objective, ranked)
    solved = run(problem, limits, labels=scale.labels, classes=names, engine=engine)
    return Solution(
        scale=scale,
        buckets=buckets,
        mapping=solved.mapping,
        margins=solved.margins,
        objective=problem.objective,
        certificate=solved.certificate,
        totals=source.totals,
        reading=responses.reading,
        classes=responses.classes,
        seed=seed,
        advice=(
            *(advise(problem, solved.mapping) if solved.certificate.bound is not None else ()),
            *(() if scale_said else advise_scale(scale, buckets)),
            *(advise_unanswered(scale, buckets, solved.mapping) if solved.certificate.bound is not None else ()),
        ),
        runner_up=solved.runner_up,
        source=source,
    )


def accuracy(solution: Solution, truth: Any) -> Accuracy:
    """Compares the answers with known true labels, both as canonical text."""
    from crowdopt.truth import compare

    workspace = solution.source.workspace if solution.source else None
    with explain_errors(paths_of(truth)):
        if workspace is not None or not paths_of(truth):
            table = open_table(truth, choose_truth(solution.reading), solution.reading, workspace)
            return compare(solution, table, same_place=bool(paths_of(truth)))
        with Workspace() as own:
            table = open_table(truth, choose_truth(solution.reading), solution.reading, own)
            return compare(solution, table, same_place=False)


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


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InputError(f"the seed must be a whole number of at least 0, not {seed!r}")
    return int(seed)


def _space(space: str | None, scale: Scale) -> Space:
    ordered = scale.kind == "ordinal" or scale.n_labels <= 2
    if space is None:
        return Space.DOMINANCE if ordered else Space.ALL
    if space not in {"dominance", "all"}:
        raise InputError(f"space must be dominance or all, not {space!r}")
    if space == "dominance" and not ordered:
        raise InputError("dominance needs ordered labels: say --scale ordinal, or --labels from lowest to highest")
    return Space(space)


def _objective(selectivity: str | dict[Any, float], scale: Scale) -> Objective:
    if isinstance(selectivity, str):
        return parse_selectivity(selectivity, scale.labels)
    if not isinstance(selectivity, dict):
        raise InputError("selectivity must be none, estimate, or a dict with the share of each label")
    shares = {canonical_text(name): share for name, share in selectivity.items()}
    if set(shares) != set(scale.labels):
        raise InputError(f"selectivity must give a share for each of {', '.join(scale.labels)}")
    return Objective("given", tuple(number(shares[label], "a share") for label in scale.labels))
