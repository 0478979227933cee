"""The commands that show: the report of a solution, and the comparison of methods.

Options in, library calls, words out.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from crowdopt.cli.console import Console, print_json, print_rows
from crowdopt.cli.options import (
    AsJson,
    DuplicatesChoice,
    From,
    IgnoreGold,
    Inputs,
    KeepRejected,
    MemoryLimit,
    MissingChoice,
    Query,
    Question,
    Quiet,
    ScaleChoice,
    SolutionFile,
    Table,
    Threads,
    TimeLimit,
    ToolChoice,
)
from crowdopt.cli.parse import split_texts
from crowdopt.data.readers.addresses import database_of, shown_argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.studies.compare.comparison import Comparison, Outcome

ReportFile = Annotated[
    str | None,
    typer.Option(metavar="FILE.html", help="Write one HTML page that shows it all; needs crowdopt\\[report]."),
]
Truth = Annotated[str | None, typer.Option(metavar="FILE", help="Known true labels, to show the accuracy.")]


def report(
    solution: SolutionFile,
    inputs: Inputs,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE.html", help="Where the page goes.")],
    table: Table = "",
    query: Query = "",
    truth: Truth = None,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Write the report of a solution and the data it was made from: one HTML page."""
    from dataclasses import replace

    from crowdopt.pipeline import accuracy
    from crowdopt.report.write_report import write_report
    from crowdopt.results.reread import reread
    from crowdopt.results.solution import Solution

    data = database_of(inputs, table, query)
    check_report(output, [solution, *inputs, *([truth] if truth else [])])
    with Console(quiet=quiet) as console:
        console.on_phase("reading")
        solved = Solution.load(solution)
        with reread(solved, data, memory_limit=memory_limit, threads=threads) as source:
            solved = replace(solved, scale=source.responses.scale, source=source)
            if truth is not None:
                console.on_phase("comparing with the truth")
                solved = replace(solved, accuracy=accuracy(solved, truth))
            console.on_phase("writing")
            write_report(solved, output, command=command_line())
    if not quiet:
        print(f"report in {output}; it shows what {solution} says, which crowdopt verify checks")


def compare(
    inputs: Inputs,
    table: Table = "",
    query: Query = "",
    task: Annotated[str, typer.Option(help="Column of tasks.")] = "task",
    worker: Annotated[str, typer.Option(help="Column of workers.")] = "worker",
    label: Annotated[str, typer.Option(help="Column of answers.")] = "label",
    wide: Annotated[bool, typer.Option("--wide", help="One row per task, one column per worker.")] = False,
    labels: Annotated[str, typer.Option(metavar="LOW,HIGH", help="The labels, lowest first.")] = "",
    scale: Annotated[ScaleChoice | None, typer.Option(help="Whether the labels are ordered.")] = None,
    selectivity: Annotated[
        str, typer.Option(metavar="none|estimate|LABEL=P,...", help="How frequent the labels are.")
    ] = "none",
    smoothing: Annotated[
        float, typer.Option(min=0, help="A pseudo-count for every entry of the response matrix.")
    ] = 0.0,
    truth: Truth = None,
    methods: Annotated[str, typer.Option(metavar="NAME,...", help="Methods to run; all that fit if not given.")] = "",
    duplicates: Annotated[
        DuplicatesChoice, typer.Option(help="When a worker answered a task more than once.")
    ] = DuplicatesChoice.error,
    order_by: Annotated[str, typer.Option(metavar="COL", help="Which came first, for --duplicates first|last.")] = "",
    missing: Annotated[MissingChoice, typer.Option(help="Rows without a task, worker or label.")] = MissingChoice.error,
    na: Annotated[str, typer.Option(metavar="TEXT,...", help="Texts that stand for a missing label.")] = "",
    encoding: Annotated[str, typer.Option(help="Encoding of text files.")] = "",
    delimiter: Annotated[str, typer.Option(help="Field delimiter of text files.")] = "",
    from_: From = ToolChoice.auto,
    question: Question = "",
    keep_rejected: KeepRejected = False,
    ignore_gold: IgnoreGold = False,
    report: ReportFile = None,
    time_limit: TimeLimit = 60.0,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    seed: Annotated[int, typer.Option(help="Seed of random choices.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the exact engines, majority vote, EM and crowd-kit's methods on the same rows, each in its own process."""
    data = database_of(inputs, table, query)
    check_report(report, [*inputs, *([truth] if truth else [])])
    from crowdopt.studies.compare.comparison import compare as run

    with Console(quiet=quiet) as console:
        found = run(
            data, truth=truth, methods=split_texts(methods), time_limit=time_limit, seed=seed,
            on_phase=console.on_phase, task=task, worker=worker, label=label, wide=wide, labels=split_texts(labels),
            scale=scale.value if scale else None, selectivity=selectivity, smoothing=smoothing,
            duplicates=duplicates.value, order_by=order_by, missing=missing.value, na=split_texts(na),
            encoding=encoding, delimiter=delimiter, tool=from_.tool, question=question,
            keep_rejected=keep_rejected, ignore_gold=ignore_gold, memory_limit=memory_limit, threads=threads,
        )  # fmt: skip
        if report is not None:
            console.on_phase("writing")
            found.report(report, command=command_line())
    if quiet:
        return
    if as_json:
        print_json(found.to_dict())
    else:
        _show(found, report)


def check_report(target: str | None, read: Sequence[str]) -> None:
    """Raises if a report is wanted and cannot be written, before any work is done."""
    if target is None:
        return
    from crowdopt.report.page import SUFFIXES, check_installed
    from crowdopt.results.write.files import check_targets

    check_targets([target], read, SUFFIXES)
    check_installed()


def command_line() -> str:
    """The command that is running, as one would type it, without passwords."""
    return shlex.join(["crowdopt", *map(shown_argument, sys.argv[1:])])


def _show(found: Comparison, report: str | None) -> None:
    truth = f", {found.n_truth:,} with known truth" if found.n_truth else ""
    failed = [f"{one.method} failed: {one.error}" for one in found.outcomes if one.error is not None]
    print_rows(
        f"{found.n_tasks:,} tasks{truth}, {found.n_responses:,} responses",
        ["method", "loglik", "less by", "accuracy", "seconds", "MiB", "proved over"],
        [_cells(one) for one in found.outcomes],
        [
            *failed,
            *found.notes,
            "log-likelihoods in nats, all of the model that OPT maximises; MiB above those at the start of the method",
            f"page in {report}" if report else "add --report compared.html for a page, with the agreement of all pairs",
        ],
    )


def _cells(one: Outcome) -> list[str]:
    if one.error is not None:
        return [one.method, *[""] * 5, "failed"]
    proof = one.proof
    gap = f", gap {proof['gap']:,.3g}" if proof and proof["proof"] == "BOUNDED" else ""
    return [
        one.method,
        _number(one.log_likelihood, ",.2f") or "impossible",
        _number(one.loss, ",.2f"),
        _number(one.accuracy, ".4f"),
        _number(one.seconds, ",.3f"),
        _number(one.memory, ",.1f"),
        f"{proof['space']}{gap}" if proof else "",
    ]


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
