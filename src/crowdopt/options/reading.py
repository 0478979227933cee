"""How a source is read: where the rows are, which columns are which, what the labels are, which rows count."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 -- types are read at run time
from typing import Annotated, Any, Literal, TypedDict

from crowdopt._option import Option, count_or_edges, split_columns, split_texts, tool_name
from crowdopt.model.scale import ScaleKind  # noqa: TC001 -- types are read at run time

Duplicates = Literal["distinct", "all", "first", "last", "same", "error"]
Missing = Literal["drop", "drop-all", "error"]


class SourceOptions(TypedDict, total=False):
    """Where in a source the rows are, and how its files are written."""

    table: Annotated[str, Option("", "The table of a database to read.", metavar="NAME")]
    query: Annotated[
        str, Option("", "What to read of a database instead.", more="The SELECT to read instead.", metavar="SELECT")
    ]


class ColumnOptions(TypedDict, total=False):
    """Which columns are which."""

    task: Annotated[str, Option("task", "Column of tasks.")]
    worker: Annotated[str, Option("worker", "Column of workers.")]
    label: Annotated[str, Option("label", "Column of answers.")]
    wide: Annotated[bool, Option(default=False, help="One row per task, one column per worker, empty = no response.")]
    worker_columns: Annotated[
        Sequence[str],
        Option(
            (),
            "The columns of a wide table that are workers; in a pattern, score_*, the * is the worker.",
            more="The columns of a wide table that are workers, by name or by a pattern (``score_*``), whose ``*`` "
            "stands for the worker; other columns are none.",
            metavar="COL,...|PATTERN",
            parse=split_columns,
            between=",",
        ),
    ]
    task_columns: Annotated[
        Sequence[str],
        Option(
            (),
            "The columns that are tasks, in a table of one row per worker; by name or by a pattern.",
            more="The columns that are tasks, by name or by a pattern with one ``*``, in a table that has one row per "
            "worker.",
            metavar="COL,...|PATTERN",
            parse=split_columns,
            between=",",
        ),
    ]
    worker_from_file: Annotated[
        bool,
        Option(
            default=False,
            help="Every file has the answers of one worker, and its name is theirs.",
            more="Every file has the answers of one worker, whose name is that of the file without its suffixes; files "
            "of one name in several folders are told apart by the folder.",
        ),
    ]


class LabelOptions(TypedDict, total=False):
    """What the labels are."""

    labels: Annotated[
        Sequence[Any],
        Option(
            (),
            "The labels, lowest first; taken from the data if not given.",
            metavar="LOW,HIGH",
            parse=split_texts,
            between=",",
        ),
    ]


class ScaleOptions(TypedDict, total=False):
    """Whether the labels are ordered."""

    scale: Annotated[
        ScaleKind | None,
        Option(
            None,
            "Whether the labels are ordered; if not given, ratings are (1 to 5, -2 to 2), other labels are not.",
            more="Whether the order of the labels means something (``ordinal``) or not (``nominal``). If None: two "
            "labels, named labels, ordered categories and ratings are ordinal, all else is nominal. Ratings are 3 to "
            "7 whole numbers without a gap, from 0 or 1 on or as far below 0 as above.",
        ),
    ]


class BinOptions(TypedDict, total=False):
    """How scores become labels."""

    bins: Annotated[
        int | Sequence[float] | None,
        Option(
            None,
            "Scores: N bins of equal width, or the edges of the bins.",
            more="For labels that are scores: the number of bins of equal width, or a list of edges between bins, "
            "lowest first. A score on an edge goes to the upper bin.",
            metavar="N|EDGE,...",
            parse=count_or_edges,
        ),
    ]


class RepeatOptions(TypedDict, total=False):
    """What becomes of repeated and of incomplete rows."""

    duplicates: Annotated[
        Duplicates,
        Option(
            "distinct",
            "When a worker answered a task more than once: each distinct answer counts once, if not given.",
            more="When a worker answered a task more than once: ``distinct`` (each distinct answer counts once), "
            "``all`` (every row counts), ``first`` or ``last`` (needs ``order_by``), ``same`` (identical answers count "
            "once, different ones are an error), or ``error``.",
        ),
    ]
    missing: Annotated[
        Missing,
        Option(
            "drop",
            "Rows without a task, worker, label or group: left out, if they are not more than half.",
            more="Rows without task, worker, label or group: ``drop`` (leave them out; an error if they are more than "
            "half of all), ``drop-all`` (leave them out, however many), or ``error``.",
        ),
    ]


class RowOptions(RepeatOptions, total=False):
    """Which rows count."""

    order_by: Annotated[
        str,
        Option(
            "",
            "Which came first, for --duplicates first|last; as text if not all numbers.",
            more="Column that orders a worker's answers to one task: numbers as numbers; texts as text, unless they "
            "come from a text file and all look like numbers.",
            metavar="COL",
        ),
    ]
    na: Annotated[
        Sequence[str],
        Option((), "Texts that stand for a missing label.", metavar="TEXT,...", parse=split_texts, between=","),
    ]


class FilterOptions(TypedDict, total=False):
    """Which rows there are."""

    where: Annotated[
        str,
        Option(
            "",
            'Read only rows with such values: "status = Approved and seconds >= 5".',
            more='Which rows to read, by their values: ``"status = Approved and seconds >= 5"``. Operators are = != < '
            "<= > >=; numbers are compared as numbers, all else as text. Quotes go around what has blanks and more.",
            metavar="CONDITION",
            between=" and ",
        ),
    ]


class TimingOptions(TypedDict, total=False):
    """When responses were given, and how long they took: for the tables of workers, never for labels."""

    time: Annotated[
        str,
        Option(
            "",
            "Column of when a response was given: workers' first and last.",
            more="Column of when a response was given, for the table of workers: their first and last.",
            metavar="COL",
        ),
    ]
    seconds: Annotated[
        str,
        Option(
            "",
            "Column of how long a response took: workers' median.",
            more="Column of how many seconds a response took, for the table of workers: their median.",
            metavar="COL",
        ),
    ]


class SpellingOptions(TypedDict, total=False):
    """What becomes of labels and ids that are spelled in several ways."""

    verbatim: Annotated[
        bool,
        Option(
            default=False,
            help="Keep labels and ids as they stand: Yes and yes are two labels.",
            more="Keep labels and ids as they stand. Else labels that differ in case, Unicode form or blanks around "
            "them only are one label, and ids in text files lose the blanks around them.",
        ),
    ]
    tidy: Annotated[
        bool,
        Option(
            default=False,
            help="Also take look-alike labels for one, and words such as N/A for missing labels.",
            more="Also take labels for one that look alike (letters of other alphabets, characters that nobody sees), "
            "and leave out those that are words for a missing label, such as N/A.",
        ),
    ]


class FileOptions(TypedDict, total=False):
    """How files are written, and by which annotation tool."""

    encoding: Annotated[
        str,
        Option(
            "",
            "Encoding of text files, for example windows-1252 or utf-16.",
            more="Of text files, for example ``windows-1252``; UTF-8 if empty.",
        ),
    ]
    delimiter: Annotated[str, Option("", "Field delimiter of text files, if the header does not tell.")]
    tool: Annotated[
        str,
        Option(
            "auto",
            "The tool that the files come from; auto recognises its exports, table is none.",
            more="The annotation tool whose export the files are, by the name that ``crowdopt aggregate --help`` "
            "lists; empty for a plain table. ``auto`` takes what can only be such an export for one, unless columns "
            "are named.",
            flag="--from",
            choices="tools",
            parse=tool_name,
        ),
    ]
    question: Annotated[
        str, Option("", "The question (control, output) of an export that has several.", metavar="NAME")
    ]
    keep_rejected: Annotated[bool, Option(default=False, help="Count work of an export that was rejected in the tool.")]


class ReadOptions(
    SourceOptions,
    ColumnOptions,
    LabelOptions,
    ScaleOptions,
    BinOptions,
    RowOptions,
    FilterOptions,
    TimingOptions,
    SpellingOptions,
    FileOptions,
    total=False,
):
    """How a source is read."""


class ResourceOptions(TypedDict, total=False):
    """How much of the machine reading may take."""

    memory_limit: Annotated[
        str | None,
        Option(
            None,
            "Memory of the database that reads files and of engines: 1GB.",
            more='Memory of the database that reads files, and of what an engine lists, for example ``"1GB"``.',
        ),
    ]
    threads: Annotated[int | None, Option(None, "Threads of that database.", least=1)]


class KeepOptions(TypedDict, total=False):
    """What else goes with the answers."""

    keep: Annotated[
        Sequence[str],
        Option((), "Further columns to carry to the answers.", metavar="COL,...", parse=split_texts, between=","),
    ]
