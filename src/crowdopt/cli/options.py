"""Options on the command line: what is declared once, in ``crowdopt.options`` or here, becomes parameters of Typer.

A command is a function with ``**options``, whose names, types, defaults and help come from a group of declarations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, TypedDict, TypeVar, cast, get_args, get_origin

import typer
from typer.core import TyperCommand

from crowdopt._option import Option, declared, flags_of
from crowdopt.data.readers.tools import TOOL_NAMES
from crowdopt.engines.registry import ENGINES
from crowdopt.errors import InputError
from crowdopt.options.reading import ResourceOptions, SourceOptions
from crowdopt.options.verbs import AggregateOptions, CompareOptions, ProveOptions

Command = TypeVar("Command", bound=Callable[..., None])

CHOICES = {"engines": ("auto", *ENGINES), "tools": ("auto", "table", *TOOL_NAMES)}
"""What is registered elsewhere: engines and annotation tools, each with its line there."""

TYPES = (str, bool, int, float, str | None, int | None, float | None)
"""Types that Typer reads by itself; what else the library takes is a text here, such as the path of a table."""

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="CSV, TSV, Parquet, JSON Lines or Excel files, exports of annotation tools, globs, or - for standard "
        "input; or a database: postgresql://user@host/database or sqlite:///file.db.",
    ),
]
SolutionFile = Annotated[str, typer.Argument(metavar="SOLUTION", help="A solution file (.json).")]


class QuietOptions(TypedDict, total=False):
    """Whether anything is printed."""

    quiet: Annotated[
        bool, Option(default=False, help="Print nothing but errors, notes, CHECK and --json.", flag="--quiet -q")
    ]


class JsonOptions(TypedDict, total=False):
    """How it is printed."""

    as_json: Annotated[bool, Option(default=False, help="Print one JSON object instead of words.", flag="--json")]


class ShowOptions(JsonOptions, QuietOptions, total=False):
    """What is printed."""


class TableOptions(TypedDict, total=False):
    """How a table is written."""

    output_table: Annotated[str, Option("", "The table to write, if -o is a database.", metavar="NAME")]
    replace: Annotated[bool, Option(default=False, help="That table may take the place of one that is there.")]
    spreadsheet_safe: Annotated[
        bool,
        Option(
            default=False,
            help="In .csv and .tsv, put an apostrophe before text that a spreadsheet would take for a formula.",
        ),
    ]


class OutputOptions(TypedDict, total=False):
    """Where a whole table goes."""

    output: Annotated[
        str | None,
        Option(
            None,
            "Write the whole table: .csv, .tsv, .parquet, .jsonl, or - for CSV on standard output; or a database.",
            flag="--output -o",
            metavar="FILE",
        ),
    ]


class ProbabilityOptions(TypedDict, total=False):
    """Whether probabilities are written beside labels."""

    probabilities: Annotated[bool, Option(default=False, help="Add a column p_LABEL for every label.")]


class ReportOptions(TypedDict, total=False):
    """A page beside the result."""

    report: Annotated[
        str | None,
        Option(None, "Write one HTML page that shows it all; needs crowdopt\\[report].", metavar="FILE.html"),
    ]


class NewClassOptions(TypedDict, total=False):
    """The classes of workers that a solution does not know."""

    classes: Annotated[
        str | None,
        Option(None, "Classes of new workers (worker, class), beside those that the solution knows.", metavar="FILE"),
    ]
    class_: Annotated[
        str, Option("", "Column of classes, in that file or else in INPUT.", flag="--class", metavar="COL")
    ]


class FollowUpOptions(SourceOptions, OutputOptions, TableOptions, ResourceOptions, ShowOptions, total=False):
    """What commands that go on from a solution have in common."""


class AnswerFiles(TypedDict, total=False):
    """What is answered for, and where the answers go."""

    group: Annotated[
        str, Option("", "Column of groups (question, batch, language): each its own problem.", metavar="COL")
    ]
    output: Annotated[
        str | None,
        Option(
            None,
            "Write the answers: .csv, .tsv, .parquet, .jsonl, or - for CSV on standard output; or a database.",
            flag="--output -o",
            metavar="FILE",
        ),
    ]
    output_format: Annotated[
        Literal["table", "label-studio", "label-studio-predictions", "argilla", "prodigy"],
        Option(
            "table",
            "A table; or, for Label Studio, tasks with predictions (a new project) or predictions alone (the project "
            "of the export); or records with suggestions for Argilla; or examples for Prodigy (.jsonl).",
        ),
    ]
    solution: Annotated[
        str | None,
        Option(
            None,
            "Write the solution, with which others can go on.",
            metavar="FILE.json",
        ),
    ]
    group_summary: Annotated[
        str | None,
        Option(None, "Write a row of figures per group: .csv, .tsv, .parquet or .jsonl.", metavar="FILE"),
    ]


class AggregateCommand(
    AggregateOptions, AnswerFiles, ProbabilityOptions, TableOptions, ReportOptions, ShowOptions, total=False
):
    """The options of ``crowdopt aggregate``."""


class ProveCommand(
    ProveOptions, AnswerFiles, ProbabilityOptions, TableOptions, ReportOptions, ShowOptions, total=False
):
    """The options of ``crowdopt prove``."""


class CompareCommand(CompareOptions, ReportOptions, ShowOptions, total=False):
    """The options of ``crowdopt compare``."""


class OneCommand(TyperCommand):
    """A command whose options are never overruled, or left out, in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the options of a command.

        Raises:
            InputError: One that takes one value is given several times, or a value is empty.
        """
        if args:  # without any, it may be help that is wanted
            given, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for parameter in dict.fromkeys(order):
                _check_given(parameter, given.get(parameter.name or ""), order.count(parameter))
        return super().parse_args(ctx, args)


def _check_given(parameter: Any, given: Any, n: int) -> None:
    """Raises if a parameter is given more often than it takes values, or without one."""
    is_option = parameter.param_type_name == "option"
    name = "/".join(parameter.opts) if is_option else (parameter.metavar or parameter.name).rstrip(".")
    if is_option and n > 1 and not (parameter.is_flag or parameter.multiple):
        raise InputError(f"{name} is given {n} times, and takes one value: leave out all but one")
    if "" in (given if isinstance(given, list | tuple) else [given]):
        said = "leave it out, or give it a value" if is_option else "give the path of a file"
        raise InputError(f"{name} is empty: {said}; is a variable of the shell not set?")


def command_with(group: type) -> Callable[[Command], Command]:
    """Gives a command the options of a group; it gets them with texts read as the declarations say."""

    def decorate(command: Command) -> Command:
        *others, _ = signature(command, eval_str=True).parameters.values()

        @wraps(command)
        def run(**given: Any) -> None:
            command(**given | {name: _value(option, given[name]) for name, (_, option) in declared(group).items()})

        keywords = [_parameter(name, kind, option) for name, (kind, option) in declared(group).items()]
        run.__signature__ = signature(command).replace(parameters=[*others, *keywords])  # type: ignore[attr-defined]
        run.__annotations__ = {}  # of ``options``, which Typer would read beside the signature
        return cast("Command", run)

    return decorate


def _parameter(name: str, kind: Any, option: Option) -> Parameter:
    """An option as Typer wants it."""
    flags = flags_of(name, option)
    default = option.default
    if option.between:
        kind, default = list[str] | None, [default] if default and isinstance(default, str) else None
    elif option.choices:
        kind = Literal[CHOICES[option.choices]]
    elif option.parse is not None:
        kind, default = str | None, None
    elif kind not in TYPES and Literal not in {get_origin(part) for part in (kind, *get_args(kind))}:
        kind = str | None
    shown = typer.Option(*flags, help=option.help, metavar=option.metavar, min=option.least, max=option.most)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown])


def _value(option: Option, given: Any) -> Any:
    if option.between:
        given = option.between.join(given) if given else None
    if given is None:
        return option.default
    return given if option.parse is None else option.parse(given)
