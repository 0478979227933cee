"""The commands that go on from a solution: its workers, new tasks, the next responses.

Options in, library calls, words out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdopt.cli.console import Console, print_json, print_rows, printable
from crowdopt.cli.options import (  # noqa: TC001 - Typer reads these types
    AsJson,
    Inputs,
    MemoryLimit,
    Output,
    OutputTable,
    Query,
    Quiet,
    Replace,
    SolutionFile,
    SpreadsheetSafe,
    Table,
    Threads,
)
from crowdopt.cli.parse import shown, target_of
from crowdopt.data.readers.addresses import database_of

if TYPE_CHECKING:
    from crowdopt.results.workers.table import Workers

NewClasses = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Classes of new workers (worker, class), beside those that the solution knows."),
]
NewClassColumn = Annotated[
    str, typer.Option("--class", metavar="COL", help="Column of classes, in that file or else in INPUT.")
]

ROWS = 20
"""Rows that are shown on the terminal."""


def workers(
    solution: SolutionFile,
    inputs: Inputs,
    table: Table = "",
    query: Query = "",
    output: Output = None,
    output_table: OutputTable = "",
    replace: Replace = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    confusion: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write how each worker answers on the tasks of each label."),
    ] = None,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell how good each worker is, against the labels and against the others; the worst first."""
    from crowdopt.results.reread import reread
    from crowdopt.results.solution import Solution
    from crowdopt.results.workers.table import workers_of
    from crowdopt.results.write.files import (
        FORMATS,
        check_spreadsheet,
        check_stdout,
        check_targets,
        together,
        write_table,
    )

    check_stdout(output, confusion, as_json=as_json)
    data, target = database_of(inputs, table, query), target_of(output, output_table, replace=replace)
    check_targets([target, confusion], [solution, *inputs], tuple(FORMATS), data)
    check_spreadsheet(target, confusion, wanted=spreadsheet_safe)
    with Console(quiet=quiet) as console:
        console.on_phase("reading")
        solved = Solution.load(solution)
        with reread(solved, data, memory_limit=memory_limit, threads=threads) as source:
            console.on_phase("measuring")
            measured = workers_of(solved, source)
            facts = measured.summary(ROWS)
            console.on_phase("writing")
            with together():
                if confusion is not None:
                    write_table(measured.confusion, confusion, source.workspace, spreadsheet_safe=spreadsheet_safe)
                if target is not None:
                    write_table(measured.table, target, source.workspace, spreadsheet_safe=spreadsheet_safe)
    if quiet or "-" in (output, confusion):
        return
    if as_json:
        print_json(facts)
    else:
        _show_workers(measured, facts, shown(target))


def predict(
    solution: SolutionFile,
    inputs: Inputs,
    table: Table = "",
    query: Query = "",
    output: Output = None,
    output_table: OutputTable = "",
    replace: Replace = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add a column p_LABEL for every label.")
    ] = False,
    classes: NewClasses = None,
    class_: NewClassColumn = "",
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Label the tasks of new responses with the matrices of a solution; nothing is fitted anew."""
    from crowdopt.results.predict import Prediction
    from crowdopt.results.reread import read_new
    from crowdopt.results.solution import Solution
    from crowdopt.results.write.files import FORMATS, check_spreadsheet, check_stdout, check_targets, write_table

    check_stdout(output, as_json=as_json)
    data, target = database_of(inputs, table, query), target_of(output, output_table, replace=replace)
    check_targets([target], [solution, *inputs, *([classes] if classes else [])], tuple(FORMATS), data)
    check_spreadsheet(target, wanted=spreadsheet_safe)
    with Console(quiet=quiet) as console:
        console.on_phase("reading")
        solved = Solution.load(solution)
        with read_new(
            solved, data, classes=classes, class_=class_, memory_limit=memory_limit, threads=threads
        ) as source:
            console.on_phase("writing")
            prediction = Prediction(solved, source)
            if target is not None:
                write_table(
                    prediction.table(probabilities=probabilities),
                    target,
                    source.workspace,
                    spreadsheet_safe=spreadsheet_safe,
                )
            facts = prediction.summary()
    if quiet or output == "-":
        return
    if as_json:
        print_json(facts)
    else:
        print("\n".join(map(printable, _about_prediction(facts, shown(target)))))


def next_tasks(
    solution: SolutionFile,
    inputs: Inputs,
    table: Table = "",
    query: Query = "",
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many tasks.")] = 10,
    output: Output = None,
    output_table: OutputTable = "",
    replace: Replace = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    classes: NewClasses = None,
    class_: NewClassColumn = "",
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell which tasks to ask about next: where a further response is expected to do most for the label."""
    from crowdopt.results.next_tasks import ranked
    from crowdopt.results.solution import Solution
    from crowdopt.results.write.files import FORMATS, check_spreadsheet, check_stdout, check_targets, write_table

    check_stdout(output, as_json=as_json)
    data, target = database_of(inputs, table, query), target_of(output, output_table, replace=replace)
    check_targets([target], [solution, *inputs, *([classes] if classes else [])], tuple(FORMATS), data)
    check_spreadsheet(target, wanted=spreadsheet_safe)
    with Console(quiet=quiet) as console:
        console.on_phase("reading")
        solved = Solution.load(solution)
        with ranked(
            solved, data, classes=classes, class_=class_, memory_limit=memory_limit, threads=threads
        ) as ranking:
            console.on_phase("ranking")
            chosen = ranking.table(number)
            console.on_phase("writing")
            if target is not None:
                write_table(chosen, target, ranking.source.workspace, spreadsheet_safe=spreadsheet_safe)
            rows = ranking.rows(chosen)
    if quiet or output == "-":
        return
    if as_json:
        print_json({"tasks": rows})
    else:
        _show_next(rows, shown(target))


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


def _about_prediction(facts: dict[str, Any], output: str | None) -> list[str]:
    from crowdopt.results.summary import UNCERTAIN_BELOW

    labels = ", ".join(f"{label} {n:,}" for label, n in facts["labels"].items())
    n = facts.get("n_unknown_workers", 0)
    odd = {
        "without a response": facts["n_no_response"],
        f"with a label less probable than {UNCERTAIN_BELOW:.0%}": facts["n_uncertain"],
        "tied between labels": facts["n_tied"],
        "whose answers no label explains (aggregate with --smoothing)": facts["n_unexplained"],
    }
    return [
        f"{facts['n_tasks']:,} tasks, {facts['n_responses']:,} responses; {labels}",
        *(f"{n:,} {what}" for what, n in odd.items() if n),
        *([f"{n:,} workers whose class is not known: the matrix of all classes together is theirs"] if n else []),
        f"predictions in {output}" if output else "predictions not written: add -o predictions.csv",
    ]


def _show_workers(measured: Workers, facts: dict[str, Any], output: str | None) -> None:
    flagged = ", ".join(f"{count:,} {name}" for name, count in facts["flags"].items() if count)
    left = measured.n_workers - len(facts["worst"])
    where = f"all workers, with reasons, in {output}" if output else "add -o workers.csv for all workers, with reasons"
    print_rows(
        f"{measured.n_workers:,} workers, worst first: right by the labels, agreement with the others",
        ["worker", "responses", "right", "95 %", "agrees", "by chance", "bits", "flag"],
        [_worker_cells(row) for row in facts["worst"]],
        [*([f"and {left:,} more, better ones"] if left else []), f"flagged: {flagged or 'nobody'}", where],
    )


def _worker_cells(row: dict[str, Any]) -> list[str]:
    compared = ["" if row[name] is None else f"{row[name]:.0%}" for name in ("agreement", "chance")]
    interval = f"{100 * row['accuracy_low']:.0f}–{row['accuracy_high']:.0%}"
    right, bits = f"{row['accuracy']:.0%}", f"{row['information']:.2f}"
    return [row["worker"], f"{row['n_responses']:,}", right, interval, *compared, bits, row["flag"] or ""]
