"""Every option, once: its name, type, default, help and choices.

From these declarations follow the command line (``cli/options.py``), the signatures and docstrings of ``aggregate``,
``prove`` and ``compare``, the parameters of the estimators and the table in the documentation. To add an option,
declare it here; if it changes which responses come out, it also needs a field in ``data/reading.py``, which is stored
in solution files.

Each group is a ``TypedDict``, so that a function that takes ``**options: Unpack[…]`` is checked, and completed by
editors, as if it had listed them.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 -- types are read at run time
from typing import Annotated, Any, Literal, TypedDict

from crowdopt._option import Option, count_or_edges, count_or_word, split_texts, tool_name
from crowdopt.model.scale import ScaleKind  # noqa: TC001 -- types are read at run time

Duplicates = Literal["error", "same", "first", "last", "all"]
Missing = Literal["error", "drop"]
SpaceName = Literal["dominance", "all"]

DEFAULT_TIME_LIMIT = 60.0
"""Seconds an engine may take unless told otherwise."""


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


class LabelOptions(TypedDict, total=False):
    """What the labels are."""

    labels: Annotated[
        Sequence[Any],
        Option(
            (), "The labels, lowest first; taken from the data if not given.", metavar="LOW,HIGH", parse=split_texts
        ),
    ]


class ScaleOptions(TypedDict, total=False):
    """Whether the labels are ordered."""

    scale: Annotated[
        ScaleKind | None,
        Option(
            None,
            "Whether the labels are ordered; if not given, numbers are, three and more texts are not.",
            more="Whether the order of the labels means something (``ordinal``) or not (``nominal``). If None: two "
            "labels, numbers, named labels and ordered categories are ordinal; three and more texts are nominal.",
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
            "error",
            "When a worker answered a task more than once.",
            more="When a worker answered a task more than once: ``error``, ``same`` (count identical answers once), "
            "``first`` or ``last`` (needs ``order_by``), or ``all`` (count every answer).",
        ),
    ]
    missing: Annotated[
        Missing,
        Option(
            "error",
            "Rows without a task, worker, label or group.",
            more="Rows without task, worker, label or group: ``error`` or ``drop``.",
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
        Sequence[str], Option((), "Texts that stand for a missing label.", metavar="TEXT,...", parse=split_texts)
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
    ignore_gold: Annotated[bool, Option(default=False, help="Do not use the labels that an export says are known.")]


class LikelihoodOptions(TypedDict, total=False):
    """What the likelihood is, for every method."""

    selectivity: Annotated[
        str | dict[Any, float] | None,
        Option(
            None,
            "How frequent the labels are; none if not given.",
            more='``none``, ``estimate``, or the known share of each label, as a dict or ``"no=0.9,yes=0.1"``. If '
            "None: ``none``; where classes are found, the shares that the consensus finds.",
            metavar="none|estimate|LABEL=P,...",
        ),
    ]
    smoothing: Annotated[
        float | None,
        Option(
            None,
            "A pseudo-count for every entry of the response matrix.",
            more="A pseudo-count for every entry of the response matrix. If None: none; where classes are found, the "
            "pseudo-counts that the consensus finds.",
            least=0,
        ),
    ]


class GoldOptions(TypedDict, total=False):
    """What is known beforehand of tasks."""

    gold: Annotated[
        Any,
        Option(
            None,
            "Tasks of known label; they keep it, and teach the rest.",
            more="Tasks of known label (a path or table with the task and label columns, or a dict of labels by task). "
            "They keep their labels, and their responses teach how workers answer.",
            metavar="FILE",
        ),
    ]


class ShareOptions(TypedDict, total=False):
    """What is known beforehand of how frequent the labels are."""

    label_shares: Annotated[
        Any,
        Option(
            None,
            "The share of every label, where it is known; estimated if not given.",
            more='The known share of each label, a dict or ``"no=0.9,yes=0.1"``. Estimated from the responses if None.',
            metavar="LABEL=P,...",
        ),
    ]


class KnowledgeOptions(GoldOptions, total=False):
    """What is known beforehand of tasks and workers."""

    classes: Annotated[
        Any,
        Option(
            None,
            "The class of every worker (worker, class): one response matrix per class.",
            more="The class of every worker (a path or table with the worker column and a column ``class``, or a dict "
            "of classes by worker). Each class has a response matrix of its own.",
            metavar="FILE",
        ),
    ]
    ranked: Annotated[
        Sequence[Any],
        Option(
            (),
            "The classes are of known order: a better one weighs more.",
            more="The classes, best first: then a better worker's response counts for more in the order of answers.",
            metavar="BEST,...,WORST",
            parse=split_texts,
        ),
    ]
    each: Annotated[
        bool,
        Option(
            default=False,
            help="Every worker is a class of its own (32 workers at most).",
            more="Every worker is a class of its own, with a response matrix of its own and named as the worker: at "
            "most 32 workers, or as many in each group. The labels are solved for over all mappings unless ``space`` "
            "says otherwise.",
        ),
    ]
    find_classes: Annotated[
        int | Literal["auto"] | None,
        Option(
            None,
            "Find at most K classes of workers (1 to 32); auto: 8 if there are two labels, else 2.",
            more="Finds at most that many classes of workers by how they answer, given the consensus; ``auto`` is 8 if "
            "there are two labels and 2 if there are more. The labels are then solved for given these classes, over "
            "all mappings unless ``space`` says otherwise; that the classes are the best ones is not proved.",
            metavar="auto|K",
            parse=count_or_word,
        ),
    ]


class PriorOptions(TypedDict, total=False):
    """What is known beforehand of how workers answer."""

    prior_matrix: Annotated[
        Any,
        Option(
            None,
            "Pseudo-counts by true label and answer (.csv), or an earlier solution.",
            more="Pseudo-counts by (true, answered) to start from: an array in the order of the scale, a nested dict, "
            "a CSV file with a row for each true label and a column for each answer, or a solution (or its file), "
            "whose counts they are.",
            metavar="FILE",
        ),
    ]


class EngineOptions(TypedDict, total=False):
    """What is searched, by which engine."""

    space: Annotated[
        SpaceName | None,
        Option(
            None,
            "Answers to search: those that respect the order of the labels, or all.",
            more="Mappings to search: those that respect the order of the scale (``dominance``), or ``all``.",
        ),
    ]
    engine: Annotated[
        str, Option("auto", "Who answers.", more="``auto``, or the name of an engine.", choices="engines")
    ]


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


class TruthOptions(TypedDict, total=False):
    """What answers are compared with."""

    truth: Annotated[
        Any,
        Option(
            None,
            "Known true labels, to print the accuracy.",
            more="Known true labels (a path or table with the task and label columns) to compute the accuracy.",
            metavar="FILE",
        ),
    ]


class JobOptions(TypedDict, total=False):
    """How many processes work on groups."""

    jobs: Annotated[
        int | None,
        Option(
            None,
            "Processes that work on groups; all cores if not given.",
            more="Processes that solve groups; as many as there are cores if None. The answers do not depend on it.",
            least=1,
        ),
    ]


class KeepOptions(TypedDict, total=False):
    """What else goes with the answers."""

    keep: Annotated[
        Sequence[str], Option((), "Further columns to carry to the answers.", metavar="COL,...", parse=split_texts)
    ]


class ClassOptions(TypedDict, total=False):
    """Where the class of a worker stands."""

    class_: Annotated[
        str,
        Option(
            "",
            "Column with the class of the worker; used only if named here.",
            more="Name of a column with the class of each response's worker. A column is used for this only if it is "
            "named here. With ``classes``, the column of that table instead.",
            flag="--class",
            metavar="COL",
        ),
    ]


class ReadOptions(
    SourceOptions, ColumnOptions, LabelOptions, ScaleOptions, BinOptions, RowOptions, FileOptions, total=False
):
    """How a source is read."""


class MethodOptions(TypedDict, total=False):
    """Which methods are compared, and how they run."""

    methods: Annotated[
        Sequence[str],
        Option(
            (),
            "Methods to run; all that fit and are not slow if not given.",
            more="Names of methods; all that fit and are not slow if empty. Those of crowd-kit need the extra "
            "``compare``.",
            metavar="NAME,...",
            parse=split_texts,
        ),
    ]
    all_methods: Annotated[
        bool, Option(default=False, help="Run the slow methods of crowd-kit too: GLAD, MACE, MMSR.", flag="--all")
    ]
    time_limit: Annotated[
        float,
        Option(
            DEFAULT_TIME_LIMIT,
            "Seconds for each method.",
            more="Seconds for each method. Our engines then answer with what they have; others are stopped.",
            least=0,
        ),
    ]
    seed: Annotated[int, Option(0, "Seed of random choices.")]


class CompareOptions(ReadOptions, LikelihoodOptions, ResourceOptions, TruthOptions, MethodOptions, total=False):
    """What ``compare`` takes: what every method can heed, and which they are."""


class ModelOptions(ScaleOptions, LikelihoodOptions, PriorOptions, EngineOptions, total=False):
    """What decides the answer once the responses are counted, but for the labels."""

    seed: Annotated[int, Option(0, "Seed of an engine's random choices.")]


class SolveOptions(LabelOptions, BinOptions, ModelOptions, total=False):
    """What decides the answer once the responses are counted."""


class TimeOptions(TypedDict, total=False):
    """How long an engine may take."""

    time_limit: Annotated[
        float,
        Option(
            DEFAULT_TIME_LIMIT,
            "Seconds for the engine; past them the result is BOUNDED.",
            more="Seconds for the engine; past them the result is BOUNDED. Of groups, for each of them.",
            least=0,
        ),
    ]


class ConsensusEstimatorOptions(ScaleOptions, GoldOptions, ShareOptions, RepeatOptions, total=False):
    """What ``Consensus`` takes beside labels: its frames have the columns task, worker and label."""


class EstimatorOptions(ModelOptions, KnowledgeOptions, TimeOptions, RepeatOptions, total=False):
    """What ``GlobalOptimum`` takes beside labels: its frames have the columns task, worker and label."""


class AggregateOptions(
    ReadOptions, GoldOptions, ShareOptions, KeepOptions, TruthOptions, ResourceOptions, JobOptions, total=False
):
    """What ``aggregate`` and its command take, but for the column of groups and what is called on the way."""


class ProveOptions(
    ReadOptions,
    SolveOptions,
    KnowledgeOptions,
    ClassOptions,
    KeepOptions,
    TruthOptions,
    TimeOptions,
    ResourceOptions,
    JobOptions,
    total=False,
):
    """What ``prove`` and its command take, but for the column of groups and what is called on the way."""


class VerifyOptions(SourceOptions, ResourceOptions, JobOptions, total=False):
    """What ``verify`` takes: all else stands in the solution."""

    answers: Annotated[
        Any,
        Option(
            None,
            "Answers to check as well, task by task: what -o wrote.",
            more="The answers to check as well, task by task: a path (CSV, TSV, Parquet, JSON Lines) or a table, as "
            "``aggregate`` or ``prove`` give them.",
            metavar="FILE",
        ),
    ]
    time_limit: Annotated[
        float,
        Option(
            DEFAULT_TIME_LIMIT,
            "Seconds for the check of a bound.",
            more="Seconds for the check of the bound; of groups, for each of them.",
            least=0,
        ),
    ]
