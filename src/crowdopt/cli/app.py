"""The command line: options in, library calls, words out. No logic that the library lacks."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Unpack

import typer
from typer.core import TyperGroup

from crowdopt._option import complete, declared, flags_of
from crowdopt._startup import OUT_OF_MEMORY, ending, forget_interrupts, is_lack_of_memory, was_interrupted
from crowdopt._version import __version__
from crowdopt.cli.console import print_json, printable, shortened
from crowdopt.cli.options import (
    AggregateCommand,
    Inputs,
    OneCommand,
    ProveCommand,
    ShowOptions,
    SolutionFile,
    command_with,
)
from crowdopt.cli.parse import check_stdout, shown, target_of
from crowdopt.cli.report_commands import check_report, command_line, compare, report
from crowdopt.cli.reproduce import reproduce
from crowdopt.cli.simulate import simulate
from crowdopt.cli.solution_commands import next_tasks, predict, workers
from crowdopt.data.readers.addresses import database_of
from crowdopt.errors import CrowdoptError, InputError, MissingExtraError
from crowdopt.options.model import EXPORT_GOLD
from crowdopt.options.verbs import GONE, AggregateOptions, ProveOptions, VerifyOptions
from crowdopt.options.words import command_line_speaks
from crowdopt.results.write.in_place import forget_written, what_was_written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crowdopt.data.readers.addresses import Database
    from crowdopt.results.solution import Solution
    from crowdopt.results.solutions import Solutions

SOME_FAILED = 4
"""Exit code if some groups have no answers, and others have."""


SHARES = {("aggregate", "--selectivity"): "--label-shares", ("prove", "--label-shares"): "--selectivity"}
"""What known shares of the labels are called, by verb and the name that the other verb has for them."""

UsageError: Any = typer.BadParameter.__mro__[1]
"""What Typer raises about options, whichever package it takes that from."""


@contextmanager
def _usage_in_one_line() -> Iterator[None]:
    """Turns what Typer says about options, which it would draw a box around, into an error of ours."""
    try:
        yield
    except UsageError as error:
        if "NoArgs" in type(error).__name__:
            raise  # the help
        said = error.format_message().rstrip(".")
        where = f"see {error.ctx.command_path if error.ctx else 'crowdopt'} --help"
        verb, option = error.ctx.info_name if error.ctx else "", getattr(error, "option_name", "")
        if option in GONE:
            raise InputError(f"there is no {option} any more: {GONE[option]}") from None
        if (verb, option) in SHARES or (verb == "aggregate" and _is_option_of_prove(option)):
            said = said.partition(" (")[0]
        if verb == "aggregate" and _is_option_of_prove(option):
            where = "it belongs to crowdopt prove, which proves the likeliest labels under a model that you state"
        if (verb, option) in SHARES:
            where += f"; here, give known shares of the labels with {SHARES[verb, option]}"
        raise InputError(f"{said}; {where}") from None


def _is_option_of_prove(name: str) -> bool:
    own = declared(ProveOptions).keys() - declared(AggregateOptions).keys()
    return any(name in flags_of(one, declared(ProveOptions)[one][1]) for one in own)


@contextmanager
def _ended_in_one_line() -> Iterator[None]:
    """Says in one line that someone ended a command, whatever became of the exception that this is at first."""
    try:
        try:
            yield
        finally:
            if was_interrupted():
                raise KeyboardInterrupt  # a library may have lost it, or made an error of its own of it
    except KeyboardInterrupt as interrupt:
        word, code = ending()
        said = what_was_written() or str(interrupt) or "nothing was written"
        print(f"crowdopt: {word}; {printable(said)}", file=sys.stderr)
        raise typer.Exit(code) from interrupt
    finally:
        forget_interrupts()


class _Commands(TyperGroup):
    """All commands; wrong options of any of them are one line, and so is its end by someone."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _ended_in_one_line(), _usage_in_one_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        forget_written()
        with _ended_in_one_line(), _usage_in_one_line():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    name="crowdopt",
    help="Labels from crowds that disagree: the most likely right (aggregate), or the likeliest with a proof (prove).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _command(name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function."""
    return app.command(name, cls=OneCommand)


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
        with command_line_speaks():
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
    """Labels from crowds that disagree: the most likely right (aggregate), or the likeliest with a proof (prove)."""
    if version:
        print(f"crowdopt {__version__}")
        raise typer.Exit


@_command()
@command_with(AggregateCommand)
def aggregate(inputs: Inputs, **options: Unpack[AggregateCommand]) -> None:
    """Find the label of every task that is most likely right, with its probability.

    Exits with 0, 2 (bad input, nothing written), 4 (some groups have no answers), or 130 or 143 (ended by Ctrl-C or
    SIGTERM, nothing written).
    """
    from crowdopt.pipeline import aggregate as run

    _answer(inputs, options, complete(AggregateOptions, options), run)


@_command()
@command_with(ProveCommand)
def prove(inputs: Inputs, **options: Unpack[ProveCommand]) -> None:
    """Find the likeliest labels under a stated model, and prove that no others are likelier.

    Exits with 0, 2 (bad input, nothing written), 4 (some groups have no answers), or 130 or 143 (ended by Ctrl-C or
    SIGTERM, best kept).
    """
    from crowdopt.pipeline import prove as run

    _answer(inputs, options, complete(ProveOptions, options), run, progress=True)


def _answer(inputs: list[str], options: Any, wanted: Any, run: Callable[..., Any], *, progress: bool = False) -> None:
    """Runs one of the two verbs, writes what is wanted, and prints the summary."""
    from crowdopt.cli.console import Console, print_doubts, print_failures, print_result
    from crowdopt.results.doubts import doubts_of, notes_of

    data, target = _checked(inputs, options)
    with Console(quiet=options["quiet"], keeping=progress) as console:
        called: dict[str, Any] = {name: getattr(console, name) for name in ("on_phase", "on_share", "on_group")}
        called |= {"on_progress": console.on_progress} if progress else {}
        result = run(data, group=options["group"], **{**wanted, "table": "", "query": ""}, **called)  # part of the data
        console.on_phase("writing")
        _write(result, target, options, console.check_interrupt)
    print_failures(getattr(result, "failures", {}))
    if options["as_json"]:
        print_json(result.summary())
    elif options["quiet"] or options["output"] == "-":
        print_doubts(doubts_of(result), notes_of(result))
    else:
        print_result(
            result, shown(target), solution=options["solution"], summary_of_groups=options["group_summary"],
            report=options["report"],
        )  # fmt: skip
    if result.interrupted or console.stop_asked:
        word, code = ending(console.stop_asked)
        kept = "the best answers so far were kept" if result.interrupted else "all answers were found and kept"
        print(f"crowdopt: {word}; {kept}", file=sys.stderr)
        raise typer.Exit(code)
    if getattr(result, "failures", None):
        raise typer.Exit(SOME_FAILED)


def _checked(inputs: list[str], options: Any) -> tuple[Any, str | Database | None]:
    """The data and where the answers go; raises, before any work is done, where something cannot be written."""
    from crowdopt.results.write.files import FORMATS, check_spreadsheet, check_targets
    from crowdopt.results.write.for_tools import TOOL_FORMATS

    output, group, summary = options["output"], options["group"], options["group_summary"]
    check_stdout(output, as_json=options["as_json"])
    data = database_of(inputs, options["table"], options["query"])
    target = target_of(output, options["output_table"], replace=options["replace"])
    tables = [options.get(name) for name in ("truth", "prior_matrix", "classes")]
    tables += [options["gold"]] if options["gold"] != EXPORT_GOLD else []
    read = [*inputs, *filter(None, tables)]
    if summary is not None and not group:
        raise InputError("--group-summary has a meaning only with --group")
    if options["report"] is not None and group:
        raise InputError("a report is about one problem: leave out --group, or take the rows of one group for it")
    form, suffixes = options["output_format"], tuple(FORMATS)
    if form != "table":
        suffixes = (TOOL_FORMATS[form].suffix,)
        if output is None or group or options["probabilities"]:
            raise InputError(
                f"--output-format {form} needs -o FILE{suffixes[0]}, and goes without --group and --probabilities"
            )
    check_targets([target, summary], read, suffixes, data)
    check_spreadsheet(target, summary, wanted=options["spreadsheet_safe"])
    check_targets([options["solution"]], read, (".json",))
    check_report(options["report"], read)
    return data, target


class VerifyCommand(VerifyOptions, ShowOptions, total=False):
    """The options of ``crowdopt verify``."""


@_command()
@command_with(VerifyCommand)
def verify(solution: SolutionFile, inputs: Inputs, **options: Unpack[VerifyCommand]) -> None:
    """Check a solution against the data: a proof without trusting who made it, a consensus by computing it again.

    Exits with 0 (CONFIRMED or REPRODUCED), 1 (REJECTED: the data contradict the solution or the answers, or its file is
    damaged), 2 (nothing was checked: a file is not there or the data cannot be read) or 3 (BOUND NOT RE-CHECKED).
    """
    from crowdopt.cli.console import Console, print_doubts
    from crowdopt.verify.verdict import Verdict
    from crowdopt.verify.verify import verify as run

    with Console(quiet=options["quiet"]) as console:
        console.on_phase("verifying")
        data = database_of(inputs, options["table"], options["query"])
        wanted: VerifyOptions = {**complete(VerifyOptions, options), "table": "", "query": ""}  # part of the data
        result = run(solution, data, on_group=console.on_group, **wanted)
    if options["as_json"]:
        facts = {"check": list(result.check), "notes": list(result.notes), "claim": result.claim}
        facts |= {"reasons": list(result.reasons)}
        print_json({"verdict": result.verdict.value} | facts)
    elif options["quiet"]:
        print_doubts(*((), ()) if result.verdict is Verdict.REJECTED else (result.check, result.notes))
    else:
        rejected = result.verdict is Verdict.REJECTED  # what is wrong says nothing more that counts
        check = [] if rejected else [f"CHECK: {line}" for line in shortened(result.check)]
        notes = [] if rejected else [f"data: {printable(note)}" for note in result.notes]
        lines = [*([] if rejected else [printable(result.claim)]), *notes, *shortened(result.reasons)]
        print("\n".join([*check, result.verdict.value, *(f"  {line}" for line in lines)]))
    raise typer.Exit(result.exit_code)


_command()(simulate)
_command()(workers)
_command()(predict)
_command("next")(next_tasks)
_command()(report)
_command()(compare)
_command()(reproduce)


def _write(
    result: Solution | Solutions[Any], target: str | Database | None, options: Any, check: Callable[[], None]
) -> None:
    """Writes what is wanted, all or nothing; after that, nothing needs the database any more."""
    from crowdopt.results.solutions import Solutions
    from crowdopt.results.write.files import together

    safe = options["spreadsheet_safe"]
    form: dict[str, Any] = {"spreadsheet_safe": safe}
    if options["output_format"] != "table":
        form["output_format"] = options["output_format"]
    else:
        form["probabilities"] = options["probabilities"]
    try:
        with together():
            if options["solution"] is not None:
                result.save(options["solution"])
            if isinstance(result, Solutions):
                if options["group_summary"] is not None:
                    result.write_summary(options["group_summary"], spreadsheet_safe=safe)
            elif options["report"] is not None:
                result.report(options["report"], command=command_line())
            if target is not None:  # last: what a database or standard output has got stays there
                result.write(target, **form)
            check()  # before any file is in its place
    finally:
        if result.source is not None and result.source.workspace is not None:
            result.source.workspace.close()
