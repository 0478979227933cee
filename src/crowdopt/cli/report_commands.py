"""The commands that show: the report of a solution, and the comparison of methods.

Options in, library calls, words out.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from crowdopt._option import complete
from crowdopt.cli.console import Console, print_json, print_rows
from crowdopt.cli.options import CompareCommand, Inputs, QuietOptions, SolutionFile, command_with
from crowdopt.data.readers.addresses import database_of, shown_argument
from crowdopt.options.reading import ResourceOptions, SourceOptions
from crowdopt.options.verbs import CompareOptions, TruthOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.studies.compare.comparison import Comparison, MethodResult


class ReportCommand(SourceOptions, TruthOptions, ResourceOptions, QuietOptions, total=False):
    """The options of ``crowdopt report``."""


@command_with(ReportCommand)
def report(
    solution: SolutionFile,
    inputs: Inputs,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE.html", help="Where the page goes.")],
    **options: Unpack[ReportCommand],
) -> None:
    """Write the report of a solution and the data it was made from: one HTML page."""
    from dataclasses import replace

    from crowdopt.pipeline import accuracy
    from crowdopt.report.write_report import write_report
    from crowdopt.results.accuracy import export_accuracy_of
    from crowdopt.results.reread import reread
    from crowdopt.results.solution import Solution

    data, truth = database_of(inputs, options["table"], options["query"]), options["truth"]
    check_report(output, [solution, *inputs, *([truth] if truth else [])])
    with Console(quiet=options["quiet"]) as console:
        console.on_phase("reading")
        solved = Solution.load(solution)
        with reread(solved, data, **complete(ResourceOptions, options)) as source:
            solved = solved.with_source(source)
            solved = replace(solved, export_accuracy=export_accuracy_of(solved))
            if truth is not None:
                console.on_phase("comparing with the truth")
                solved = replace(solved, accuracy=accuracy(solved, truth))
            console.on_phase("writing")
            write_report(solved, output, command=command_line())
    if not options["quiet"]:
        print(f"report in {output}; it shows what {solution} says, which crowdopt verify checks")


@command_with(CompareCommand)
def compare(inputs: Inputs, **options: Unpack[CompareCommand]) -> None:
    """Run the consensus, the exact engines, majority vote, EM and crowd-kit's methods on the same rows."""
    data, truth, report = database_of(inputs, options["table"], options["query"]), options["truth"], options["report"]
    check_report(report, [*inputs, *([truth] if truth else [])])
    from crowdopt.studies.compare.comparison import compare as run

    with Console(quiet=options["quiet"]) as console:
        wanted: CompareOptions = {**complete(CompareOptions, options), "table": "", "query": ""}  # part of the data
        found = run(data, on_phase=console.on_phase, **wanted)
        if report is not None:
            console.on_phase("writing")
            found.report(report, command=command_line())
    if options["quiet"]:
        return
    if options["as_json"]:
        print_json(found.to_dict())
    else:
        _show(found, report)


def check_report(target: str | None, read: Sequence[str]) -> None:
    """Raises if a report is wanted and cannot be written, before any work is done."""
    if target is None:
        return
    from crowdopt.report.page import PAGE_SUFFIXES, check_report_installed
    from crowdopt.results.write.files import check_targets

    check_targets([target], read, PAGE_SUFFIXES)
    check_report_installed()


def command_line() -> str:
    """The command that is running, as one would type it, without passwords."""
    return shlex.join(["crowdopt", *map(shown_argument, sys.argv[1:])])


def _show(found: Comparison, report: str | None) -> None:
    truth = f", {found.n_truth:,} with known truth" if found.n_truth else ""
    failed = [f"{one.method} failed: {one.error}" for one in found.outcomes if one.error is not None]
    print_rows(
        f"{found.n_tasks:,} tasks{truth}, {found.n_responses:,} responses",
        ["method", "accuracy", "log-loss", "agrees", "seconds", "MiB", "proved"],
        [_cells(one) for one in found.outcomes],
        [
            *failed,
            *found.notes,
            "agrees: with the consensus; log-loss: of the probability of the label, lower is better",
            "majority votes take one of several labels that are tied; the summary of aggregate shares them",
            "proved: over which answers, and the log-likelihood in nats; MiB above those at the start of the method",
            f"page in {report}" if report else "add --report compared.html for a page, with the agreement of all pairs",
        ],
    )


def _cells(one: MethodResult) -> list[str]:
    if one.error is not None:
        return [one.method, *[""] * 5, "failed"]
    return [
        one.method,
        _number(one.accuracy, ".4f"),
        _number(one.log_loss, ".3f"),
        _number(one.agrees, ".1%"),
        _number(one.seconds, ",.3f"),
        _number(one.memory, ",.1f"),
        _proof(one),
    ]


def _proof(one: MethodResult) -> str:
    if one.proof is None:
        return ""
    gap = f", gap {one.proof['gap']:,.3g}" if one.proof["proof"] == "BOUNDED" else ""
    return f"{one.proof['space']}: {_number(one.log_likelihood, ',.2f')}{gap}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
