"""The options that commands share, and what can be chosen."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer


class DuplicatesChoice(StrEnum):
    """What to do when a worker answered a task more than once."""

    error = "error"
    same = "same"
    first = "first"
    last = "last"
    all = "all"


class MissingChoice(StrEnum):
    """What to do with incomplete rows."""

    error = "error"
    drop = "drop"


class ScaleChoice(StrEnum):
    """Whether the order of the labels means something."""

    ordinal = "ordinal"
    nominal = "nominal"


class SpaceChoice(StrEnum):
    """Mappings to search."""

    dominance = "dominance"
    all = "all"


class EngineChoice(StrEnum):
    """Who answers: the best engine that fits, or one by name."""

    auto = "auto"
    chain = "chain"
    columns = "columns"
    em = "em"
    em1 = "em1"
    em2 = "em2"
    em3 = "em3"
    enumerate = "enumerate"
    scan = "scan"
    search = "search"
    soft_em = "soft-em"
    vote = "vote"


class ToolChoice(StrEnum):
    """The annotation tool whose export the input is."""

    auto = "auto"
    table = "table"
    mturk = "mturk"
    label_studio = "label-studio"
    toloka = "toloka"
    prodigy = "prodigy"
    argilla = "argilla"
    crowd_kit = "crowd-kit"

    @property
    def tool(self) -> Any:
        """What the library calls it."""
        return "" if self is ToolChoice.table else self.value


class FormatChoice(StrEnum):
    """What the answers are written as."""

    table = "table"
    label_studio = "label-studio"


Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="CSV, TSV, Parquet, JSON Lines or Excel files, exports of annotation tools, globs, or - for standard "
        "input; or a database: postgresql://user@host/database or sqlite:///file.db.",
    ),
]
From = Annotated[
    ToolChoice,
    typer.Option("--from", help="The tool that the files come from; auto recognises its exports, table is none."),
]
Question = Annotated[
    str, typer.Option(metavar="NAME", help="The question (control, output) of an export that has several.")
]
KeepRejected = Annotated[
    bool, typer.Option("--keep-rejected", help="Count work of an export that was rejected in the tool.")
]
IgnoreGold = Annotated[bool, typer.Option("--ignore-gold", help="Do not use the labels that an export says are known.")]
Table = Annotated[str, typer.Option("--table", metavar="NAME", help="The table of a database to read.")]
Query = Annotated[str, typer.Option("--query", metavar="SELECT", help="What to read of a database instead.")]
TimeLimit = Annotated[
    float,
    typer.Option("--time-limit", min=0, help="Seconds for the engine; past them the result is BOUNDED."),
]
MemoryLimit = Annotated[str | None, typer.Option(help="Memory of the database that reads files and of engines: 1GB.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of that database.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes that work on groups; all cores if not given.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")]
SolutionFile = Annotated[str, typer.Argument(metavar="SOLUTION", help="A solution file (.json).")]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the whole table: .csv, .tsv, .parquet, .jsonl, or - for CSV on standard output; or a database.",
    ),
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="In .csv and .tsv, put an apostrophe before text that a spreadsheet would take for a formula.",
    ),
]
OutputTable = Annotated[str, typer.Option(metavar="NAME", help="The table to write, if -o is a database.")]
Replace = Annotated[bool, typer.Option("--replace", help="That table may take the place of one that is there.")]
