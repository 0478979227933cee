"""The commands that go on from a solution: its workers, new tasks, the next responses.

Options in, library calls, words out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Unpack

from crowdopt._option import Option, complete
from crowdopt.cli.console import Console, print_doubts, print_json, print_rows, printable
from crowdopt.cli.options import (
    FollowUpOptions,
    Inputs,
    NewClassOptions,
    ProbabilityOptions,
    SolutionFile,
    command_with,
)
from crowdopt.cli.parse import check_stdout, shown, target_of
from crowdopt.data.readers.addresses import database_of
from crowdopt.options.reading import ResourceOptions
from crowdopt.options.words import without_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.data.load import Source
    from crowdopt.data.readers.addresses import Database
    from crowdopt.results.solution import Solution
    from crowdopt.results.workers.table import Workers

ROWS = 20
"""Rows that are shown on the terminal."""


class WorkersCommand(FollowUpOptions, total=False):
    """The options of ``crowdopt workers``."""

    confusion: Annotated[
        str | None, Option(None, "Write how each worker answers on the tasks of each label.", metavar="FILE")
    ]


@command_with(WorkersCommand)
def workers(solution: SolutionFile, inputs: Inputs, **options: Unpack[WorkersCommand]) -> None:
    """Tell how good each worker is, against the labels and against the others; the worst first."""
    from crowdopt.results.reread import reread
    from crowdopt.results.solution import Solution
    from crowdopt.results.write.files import together, write_table

    confusion, safe = options["confusion"], options["spreadsheet_safe"]
    data, target = _checked(options, [solution, *inputs], inputs, confusion)
    with Console(quiet=options["quiet"]) as console:
        console.on_phase("reading")
        solved = Solution.load(solution)
        with reread(solved, data, **complete(ResourceOptions, options)) as source:
            console.on_phase("measuring")
            solved = solved.with_source(source)
            measured = solved.measured(source)
            facts = _said(solved, source) | measured.summary(ROWS)
            console.on_phase("writing")
            with together():
                if confusion is not None:
                    write_table(measured.confusion, confusion, source.workspace, spreadsheet_safe=safe)
                if target is not None:
                    write_table(measured.table, target, source.workspace, spreadsheet_safe=safe)
    _print(facts, options, lambda: _show_workers(measured, facts, shown(target)), confusion)


def _said(solution: Solution, source: Source) -> dict[str, Any]:
    """What is to be checked in a solution, and what is odd about the rows that were read."""
    return {"check": list(solution.doubts), "notes": [*map(without_options, source.notes)]}


def _print(facts: dict[str, Any], options: Any, show: Callable[[], None], confusion: str | None = None) -> None:
    """Prints the facts, first what to check and to know; these alone where standard output is silent or has a table."""
    if "-" in (options["output"], confusion) or (options["quiet"] and not options["as_json"]):
        print_doubts(facts["check"], facts["notes"])
    elif options["as_json"]:
        print_json(facts)
    else:
        for doubt in facts["check"]:
            print(f"CHECK: {printable(doubt)}")
        for note in facts["notes"]:
            print(f"data: {printable(note)}")
        show()


class PredictCommand(FollowUpOptions, NewClassOptions, ProbabilityOptions, total=False):
    """The options of ``crowdopt predict``."""


@command_with(PredictCommand)
def predict(solution: SolutionFile, inputs: Inputs, **options: Unpack[PredictCommand]) -> None:
    """Label the tasks of new responses with the matrices of a solution; nothing is fitted anew."""
    from crowdopt.results.predict import Prediction
    from crowdopt.results.reread import read_new
    from crowdopt.results.solution import Solution
    from crowdopt.results.write.files import write_table

    classes = options["classes"]
    data, target = _checked(options, [solution, *inputs, *([classes] if classes else [])], inputs)
    with Console(quiet=options["quiet"]) as console:
        console.on_phase("reading")
        solved = Solution.load(solution)
        limits = complete(ResourceOptions, options)
        with read_new(solved, data, classes=classes, class_=options["class_"], **limits) as source:
            console.on_phase("writing")
            prediction = Prediction(solved, source)
            if target is not None:
                table = prediction.table(probabilities=options["probabilities"])
                write_table(table, target, source.workspace, spreadsheet_safe=options["spreadsheet_safe"])
            facts = _said(solved, source) | prediction.summary()
    about = _about_prediction(solved, facts, shown(target))
    _print(facts, options, lambda: print("\n".join(map(printable, about))))


class NextCommand(FollowUpOptions, NewClassOptions, total=False):
    """The options of ``crowdopt next``."""

    number: Annotated[int, Option(10, "How many tasks.", flag="--number -n", least=1)]


@command_with(NextCommand)
def next_tasks(solution: SolutionFile, inputs: Inputs, **options: Unpack[NextCommand]) -> None:
    """Tell which tasks to ask about next: where a further response is expected to do most for the label."""
    from crowdopt.results.next_tasks import ranked
    from crowdopt.results.solution import Solution
    from crowdopt.results.write.files import write_table

    classes = options["classes"]
    data, target = _checked(options, [solution, *inputs, *([classes] if classes else [])], inputs)
    with Console(quiet=options["quiet"]) as console:
        console.on_phase("reading")
        solved = Solution.load(solution)
        limits = complete(ResourceOptions, options)
        with ranked(solved, data, classes=classes, class_=options["class_"], **limits) as ranking:
            console.on_phase("ranking")
            chosen = ranking.table(options["number"])
            console.on_phase("writing")
            if target is not None:
                safe = options["spreadsheet_safe"]
                write_table(chosen, target, ranking.source.workspace, spreadsheet_safe=safe)
            facts = _said(solved, ranking.source) | {"tasks": ranking.rows(chosen)}
    _print(facts, options, lambda: _show_next(facts["tasks"], shown(target)))


def _checked(
    options: FollowUpOptions, read: list[str], inputs: list[str], other: str | None = None
) -> tuple[Any, str | Database | None]:
    """The data and where the table goes; raises, before any work is done, where something cannot be written."""
    from crowdopt.results.write.files import FORMATS, check_spreadsheet, check_targets

    check_stdout(options["output"], other, as_json=options["as_json"])
    data = database_of(inputs, options["table"], options["query"])
    target = target_of(options["output"], options["output_table"], replace=options["replace"])
    check_targets([target, other], read, tuple(FORMATS), data)
    check_spreadsheet(target, other, wanted=options["spreadsheet_safe"])
    return data, target


def _show_next(rows: list[dict[str, Any]], output: str | None) -> None:
    print_rows(
        "Where the next response does most, best first",
        ["task", "responses", "confidence", "gain", "per response", "by", "label"],
        [
            [
                row["task"],
                f"{row['n_responses']:,}",
                "" if row["confidence"] is None else f"{row['confidence']:.1%}",
                f"{row['gain']:.4f}",
                f"{row['gain_per_response']:.4f}",
                str(row["n_more"]),
                row["label"] or "",
            ]
            for row in rows[:ROWS]
        ],
        [
            *([f"and {len(rows) - ROWS:,} more"] if len(rows) > ROWS else []),
            f"all of them in {output}" if output else "not written: add -o next.csv",
        ],
    )


_UNKNOWN = {
    "consensus": "whom the solution does not know: taken for average",
    "proof": "whose class is not known: the matrix of all classes together is theirs",
}
"""What to say of workers of whom a solution knows nothing, by its kind."""


def _about_prediction(solution: Solution, facts: dict[str, Any], output: str | None) -> list[str]:
    from crowdopt.results.kinds import UNCERTAIN_BELOW
    from crowdopt.results.words.summary import plural

    labels = ", ".join(f"{label} {n:,}" for label, n in facts["labels"].items())
    n = facts.get("n_unknown_workers", 0)
    odd = {
        "without a response": facts["n_no_response"],
        f"with a label less probable than {UNCERTAIN_BELOW:.0%}": facts["n_uncertain"],
        "tied between labels": facts["n_tied"],
        "whose answers no label explains (prove with --smoothing)": facts["n_unexplained"],
    }
    return [
        f"{facts['n_tasks']:,} tasks, {facts['n_responses']:,} responses; {labels}",
        *(f"{n:,} {what}" for what, n in odd.items() if n),
        *([f"{plural(n, 'worker')} {_UNKNOWN[solution.kind]}"] if n else []),
        f"predictions in {output}" if output else "predictions not written: add -o predictions.csv",
    ]


def _show_workers(measured: Workers, facts: dict[str, Any], output: str | None) -> None:
    flagged = ", ".join(f"{count:,} {name}" for name, count in facts["flags"].items() if count)
    left = measured.n_workers - len(facts["worst"])
    where = f"all workers, with reasons, in {output}" if output else "add -o workers.csv for all workers, with reasons"
    number = {"skill": "skill", "information": "bits", "median_seconds": "seconds"}
    numbers = [name for name in number if name in measured.columns or name in next(iter(facts["worst"]), ())]
    print_rows(
        f"{measured.n_workers:,} workers, worst first: right by the labels, agreement with the others",
        ["worker", "responses", *map(number.__getitem__, numbers), "right", "95 %", "agrees", "by chance", "flag"],
        [_worker_cells(row, numbers) for row in facts["worst"]],
        [*([f"and {left:,} more, better ones"] if left else []), f"flagged: {flagged or 'nobody'}", where],
    )


def _worker_cells(row: dict[str, Any], numbers: list[str]) -> list[str]:
    compared = ["" if row[name] is None else f"{row[name]:.0%}" for name in ("agreement", "chance")]
    interval = f"{100 * row['accuracy_low']:.0f}–{row['accuracy_high']:.0%}"
    shown_numbers = ["" if row[name] is None else f"{row[name]:.2f}" for name in numbers]
    right, why = f"{row['accuracy']:.0%}", row["reason"] if "skill" in numbers else row["flag"]
    return [row["worker"], f"{row['n_responses']:,}", *shown_numbers, right, interval, *compared, why or ""]
