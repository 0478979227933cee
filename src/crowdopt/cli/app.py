"""The command line: options in, library calls, words out. No logic that the library lacks."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from crowdopt._startup import INTERRUPTED, OUT_OF_MEMORY, is_lack_of_memory
from crowdopt._version import __version__
from crowdopt.cli.console import print_json, printable, shortened
from crowdopt.cli.options import (
    AsJson,
    DuplicatesChoice,
    EngineChoice,
    FormatChoice,
    From,
    IgnoreGold,
    Inputs,
    Jobs,
    KeepRejected,
    MemoryLimit,
    MissingChoice,
    OutputTable,
    Query,
    Question,
    Quiet,
    Replace,
    ScaleChoice,
    SolutionFile,
    SpaceChoice,
    SpreadsheetSafe,
    Table,
    Threads,
    TimeLimit,
    ToolChoice,
)
from crowdopt.cli.parse import shown, split_numbers, split_texts, target_of
from crowdopt.cli.report_commands import ReportFile, check_report, command_line, compare, report
from crowdopt.cli.reproduce import reproduce
from crowdopt.cli.simulate import simulate
from crowdopt.cli.solution_commands import next_tasks, predict, workers
from crowdopt.data.readers.addresses import database_of
from crowdopt.errors import CrowdoptError, InputError, MissingExtraError
from crowdopt.results.write.in_place import forget_written, what_was_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.data.readers.addresses import Database
    from crowdopt.results.solution import Solution
    from crowdopt.results.solutions import Solutions

SOME_FAILED = 4
"""Exit code if some groups have no answers, and others have."""


UsageError: Any = typer.BadParameter.__mro__[1]
"""What Typer raises about options, whichever package it takes that from."""


@contextmanager
def _usage_in_one_line() -> Iterator[None]:
    """Turns what Typer says about options, which it would draw a box around, into an error of ours."""
    try:
        yield
    except UsageError as error:
        if error.ctx is None or "NoArgs" in type(error).__name__:
            raise  # the help
        said = error.format_message().rstrip(".")
        raise InputError(f"{said}; see {error.ctx.command_path} --help") from None


class _Commands(TyperGroup):
    """All commands; wrong options and an interrupt of any of them are one line."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _usage_in_one_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        forget_written()
        try:
            with _usage_in_one_line():
                return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            said = what_was_written() or str(interrupt) or "nothing was written"
            print(f"crowdopt: interrupted; {printable(said)}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from interrupt


app = typer.Typer(
    cls=_Commands,
    name="crowdopt",
    help="Globally optimal answers from crowds that disagree, with a certificate that says what was proved.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class _NoPandas(MetaPathFinder):
    """Makes pandas look absent in the process of the command line, which has no use for it.

    DuckDB and PyArrow import it, where installed, only to recognise its values among ours: that takes longer than
    a million responses.
    """

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Refuses pandas, and leaves everything else to others."""
        del path, target
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=fullname)


def main() -> None:
    """Runs the command line; every expected failure is one line on standard error and exit code 2."""
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())
    try:
        app(prog_name="crowdopt")
    except Exception as error:
        if isinstance(error, CrowdoptError) and not isinstance(error, MissingExtraError):
            _fail(" ".join(str(error).split()))
        if is_lack_of_memory(error):  # for which a library may not have been imported, and so seem to be missing
            _fail(OUT_OF_MEMORY)
        if isinstance(error, CrowdoptError):
            _fail(str(error))
        raise


def _fail(said: str) -> NoReturn:
    said = "; ".join(filter(None, (said, what_was_written())))
    print(f"crowdopt: {printable(said)}", file=sys.stderr)
    sys.exit(2)


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Globally optimal answers from crowds that disagree, with a certificate that says what was proved."""
    if version:
        print(f"crowdopt {__version__}")
        raise typer.Exit


@app.command()
def aggregate(
    inputs: Inputs,
    table: Table = "",
    query: Query = "",
    task: Annotated[str, typer.Option(help="Column of tasks.")] = "task",
    worker: Annotated[str, typer.Option(help="Column of workers.")] = "worker",
    label: Annotated[str, typer.Option(help="Column of answers.")] = "label",
    class_: Annotated[
        str,
        typer.Option("--class", metavar="COL", help="Column with the class of the worker; used only if named here."),
    ] = "",
    group: Annotated[
        str,
        typer.Option(metavar="COL", help="Column of groups (question, batch, language): each its own problem."),
    ] = "",
    wide: Annotated[
        bool, typer.Option("--wide", help="One row per task, one column per worker, empty = no response.")
    ] = False,
    keep: Annotated[str, typer.Option(metavar="COL,...", help="Further columns to carry to the answers.")] = "",
    labels: Annotated[
        str,
        typer.Option(metavar="LOW,HIGH", help="The labels, lowest first; taken from the data if not given."),
    ] = "",
    scale: Annotated[
        ScaleChoice | None,
        typer.Option(help="Whether the labels are ordered; if not given, numbers are, three and more texts are not."),
    ] = None,
    bins: Annotated[
        str,
        typer.Option(metavar="N|EDGE,...", help="Scores: N bins of equal width, or the edges of the bins."),
    ] = "",
    selectivity: Annotated[
        str | None,
        typer.Option(metavar="none|estimate|LABEL=P,...", help="How frequent the labels are; none if not given."),
    ] = None,
    gold: Annotated[
        str | None, typer.Option(metavar="FILE", help="Tasks of known label; they keep it, and teach the rest.")
    ] = None,
    prior_matrix: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Pseudo-counts by true label and answer (.csv), or an earlier solution."),
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(min=0, help="A pseudo-count for every entry of the response matrix.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The class of every worker (worker, class): one response matrix per class."),
    ] = None,
    ranked: Annotated[
        str, typer.Option(metavar="BEST,...,WORST", help="The classes are of known order: a better one weighs more.")
    ] = "",
    find_classes: Annotated[
        str | None,
        typer.Option(metavar="auto|K", help="Find K classes of workers (1 to 32), or as many as the data ask for."),
    ] = None,
    space: Annotated[
        SpaceChoice | None,
        typer.Option(help="Answers to search: those that respect the order of the labels, or all."),
    ] = None,
    truth: Annotated[str | None, typer.Option(metavar="FILE", help="Known true labels, to print the accuracy.")] = None,
    duplicates: Annotated[
        DuplicatesChoice, typer.Option(help="When a worker answered a task more than once.")
    ] = DuplicatesChoice.error,
    order_by: Annotated[
        str,
        typer.Option(metavar="COL", help="Which came first, for --duplicates first|last; as text if not all numbers."),
    ] = "",
    missing: Annotated[
        MissingChoice, typer.Option(help="Rows without a task, worker, label or group.")
    ] = MissingChoice.error,
    na: Annotated[str, typer.Option(metavar="TEXT,...", help="Texts that stand for a missing label.")] = "",
    encoding: Annotated[str, typer.Option(help="Encoding of text files, for example windows-1252 or utf-16.")] = "",
    delimiter: Annotated[str, typer.Option(help="Field delimiter of text files, if the header does not tell.")] = "",
    from_: From = ToolChoice.auto,
    question: Question = "",
    keep_rejected: KeepRejected = False,
    ignore_gold: IgnoreGold = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the answers: .csv, .tsv, .parquet, .jsonl, or - for CSV on standard output; or a database.",
        ),
    ] = None,
    output_format: Annotated[
        FormatChoice, typer.Option(help="A table, or tasks with predictions for Label Studio (.json).")
    ] = FormatChoice.table,
    output_table: OutputTable = "",
    replace: Replace = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add a column p_LABEL for every label.")
    ] = False,
    solution: Annotated[
        str | None, typer.Option(metavar="FILE.json", help="Write the solution with its certificate.")
    ] = None,
    group_summary: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a row of figures per group: .csv, .tsv, .parquet or .jsonl."),
    ] = None,
    report: ReportFile = None,
    engine: Annotated[EngineChoice, typer.Option(help="Who answers.")] = EngineChoice.auto,
    time_limit: TimeLimit = 60.0,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    jobs: Jobs = None,
    seed: Annotated[int, typer.Option(help="Seed of an engine's random choices.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Estimate the true label of every task, and prove it.

    Exits with 0, 2 (bad input, nothing written), 4 (some groups have no answers) or 130 (interrupted, best kept).
    """
    from crowdopt.cli.console import Console, print_failures, print_result
    from crowdopt.pipeline import aggregate as run
    from crowdopt.results.write.files import FORMATS, check_spreadsheet, check_stdout, check_targets

    check_stdout(output, as_json=as_json)
    data, target = database_of(inputs, table, query), target_of(output, output_table, replace=replace)
    read = [*inputs, *(name for name in (truth, gold, prior_matrix, classes) if name)]
    if group_summary is not None and not group:
        raise InputError("--group-summary has a meaning only with --group")
    if report is not None and group:
        raise InputError("a report is about one problem: leave out --group, or aggregate one group for it")
    for_studio = output_format is FormatChoice.label_studio
    if for_studio and (output is None or group or probabilities):
        raise InputError(
            "--output-format label-studio needs -o FILE.json, and goes without --group and --probabilities"
        )
    check_targets([target, group_summary], read, (".json",) if for_studio else tuple(FORMATS), data)
    check_spreadsheet(target, group_summary, wanted=spreadsheet_safe)
    check_targets([solution], read, (".json",))
    check_report(report, read)
    with Console(quiet=quiet) as console:
        result = run(
            data,
            task=task, worker=worker, label=label, class_=class_, group=group, wide=wide,
            keep=split_texts(keep), labels=split_texts(labels),
            duplicates=duplicates.value, order_by=order_by, missing=missing.value, na=split_texts(na),
            scale=scale.value if scale else None, bins=_bins(bins),
            encoding=encoding, delimiter=delimiter,
            tool=from_.tool, question=question, keep_rejected=keep_rejected, ignore_gold=ignore_gold,
            selectivity=selectivity,
            gold=gold, prior_matrix=prior_matrix, smoothing=smoothing, classes=classes, ranked=split_texts(ranked),
            find_classes=_number_of_classes(find_classes),
            space=space.value if space else None, engine=engine.value, truth=truth,
            time_limit=time_limit, memory_limit=memory_limit, threads=threads, jobs=jobs, seed=seed,
            on_progress=console.on_progress, on_phase=console.on_phase, on_group=console.on_group,
        )  # fmt: skip
        console.on_phase("writing")
        form: dict[str, Any] = (
            {"output_format": output_format.value} if for_studio else {"probabilities": probabilities}
        )
        form |= {"spreadsheet_safe": spreadsheet_safe}
        _write(result, target, solution, group_summary, report, form)
    print_failures(getattr(result, "failures", {}))
    if not quiet and output != "-":
        if as_json:
            print_json(result.summary())
        else:
            print_result(result, shown(target), solution=solution, summary_of_groups=group_summary, report=report)
    if result.interrupted:
        print("crowdopt: interrupted; the best answers so far were kept", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    if getattr(result, "failures", None):
        raise typer.Exit(SOME_FAILED)


@app.command()
def verify(
    solution: SolutionFile,
    inputs: Inputs,
    table: Table = "",
    query: Query = "",
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds for the check of a bound.")] = 60.0,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check a solution against the data, without trusting the engine that made it.

    Exits with 0 (CONFIRMED), 1 (REJECTED: the data contradict the solution, or its file is damaged), 2 (nothing was
    checked: a file is not there or the data cannot be read) or 3 (BOUND NOT RE-CHECKED).
    """
    from crowdopt.cli.console import Console
    from crowdopt.verify.verify import Verdict
    from crowdopt.verify.verify import verify as run

    with Console(quiet=quiet) as console:
        console.on_phase("verifying")
        result = run(
            solution, database_of(inputs, table, query),
            time_limit=time_limit, memory_limit=memory_limit, threads=threads, jobs=jobs, on_group=console.on_group,
        )  # fmt: skip
    if as_json:
        print_json({"verdict": result.verdict.value, "claim": result.claim, "reasons": list(result.reasons)})
    elif not quiet:
        claim = [] if result.verdict is Verdict.REJECTED else [result.claim]
        lines = [*claim, *shortened(result.reasons)]
        print("\n".join([result.verdict.value, *(f"  {line}" for line in lines)]))
    raise typer.Exit(result.exit_code)


app.command()(simulate)
app.command()(workers)
app.command()(predict)
app.command("next")(next_tasks)
app.command()(report)
app.command()(compare)
app.command()(reproduce)


def _write(
    result: Solution | Solutions,
    output: str | Database | None,
    solution: str | None,
    group_summary: str | None,
    report: str | None,
    form: dict[str, Any],
) -> None:
    """Writes what is wanted, all or nothing; after that, nothing needs the database any more."""
    from crowdopt.results.solutions import Solutions
    from crowdopt.results.write.files import together

    try:
        with together():
            if solution is not None:
                result.save(solution)
            if isinstance(result, Solutions):
                if group_summary is not None:
                    result.write_summary(group_summary, spreadsheet_safe=form["spreadsheet_safe"])
            elif report is not None:
                result.report(report, command=command_line())
            if output is not None:  # last: what a database or standard output has got stays there
                result.write(output, **form)
    finally:
        if result.source is not None and result.source.workspace is not None:
            result.source.workspace.close()


def _number_of_classes(text: str | None) -> Any:
    """A whole number as such; all else is left to the library."""
    return int(text) if text is not None and text.removeprefix("-").isdecimal() else text


def _bins(text: str) -> int | list[float] | None:
    """A whole number alone counts bins; all else are edges, where a comma at the end tells one edge from a count."""
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        return split_numbers(text.removesuffix(","), "--bins")
