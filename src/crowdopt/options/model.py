"""What is known beforehand, and the model that ``prove`` states: likelihood, workers, engine, limits."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 -- types are read at run time
from typing import Annotated, Any, Literal, TypedDict

from crowdopt._option import Option, count_or_word, split_texts
from crowdopt.options.reading import BinOptions, LabelOptions, ScaleOptions

SpaceName = Literal["dominance", "all"]

LikelihoodName = Literal["joint", "marginal"]

DEFAULT_TIME_LIMIT = 20.0
"""Seconds a proof may take unless told otherwise: what people wait for."""

PATIENT_TIME_LIMIT = 60.0
"""Seconds that a check, or a method of others, may take: it has no labels to show before it is done."""


EXPORT_GOLD = "export"
"""What stands in the place of a file of gold for the known labels that an export brings."""


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
            between=",",
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
            "Tasks of known label; they keep it, and teach the rest. export: those that an export brings.",
            more="Tasks of known label (a path or table with the task and label columns, or a dict of labels by task). "
            "They keep their labels, and their responses teach how workers answer. ``export`` takes the known labels "
            "that the export of an annotation tool brings, which else only measure the answers; a file of that name "
            "is ``./export``.",
            metavar="FILE|export",
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
            between=",",
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
            between=",",
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
    """What is maximised and searched, by which engine."""

    likelihood: Annotated[
        LikelihoodName,
        Option(
            "joint",
            "Which likelihood: joint, of decided labels, or marginal, with labels averaged over.",
            more="``joint``: the likelihood of responses and decided labels, as in the paper. ``marginal``: of the "
            "responses alone, with the labels averaged over, as Dawid and Skene have it; the matrices and shares of "
            "labels that are found are proved the best within a tenth of a nat, and labels are the most probable ones.",
        ),
    ]

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


class TimeOptions(TypedDict, total=False):
    """How long an engine may take."""

    time_limit: Annotated[
        float,
        Option(
            DEFAULT_TIME_LIMIT,
            "Seconds for the proof; past them the result is BOUNDED. Labels do not depend on it.",
            more="Seconds for the proof; past them the result is BOUNDED. The labels of what is not proved do not "
            "depend on it: counted work finds them. Of groups, for each of them.",
            least=0,
        ),
    ]


class ModelOptions(ScaleOptions, LikelihoodOptions, PriorOptions, EngineOptions, total=False):
    """What decides the answer once the responses are counted, but for the labels."""

    seed: Annotated[int, Option(0, "Seed of an engine's random choices.")]


class SolveOptions(LabelOptions, BinOptions, ModelOptions, total=False):
    """What decides the answer once the responses are counted."""
