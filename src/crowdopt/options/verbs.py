"""What each verb takes, and both estimators: groups of options put together."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 -- types are read at run time
from typing import Annotated, Any, TypedDict

from crowdopt._option import Option, declared, split_texts, unexpected
from crowdopt.errors import InputError
from crowdopt.options.model import (
    PATIENT_TIME_LIMIT,
    ClassOptions,
    GoldOptions,
    KnowledgeOptions,
    LikelihoodOptions,
    ModelOptions,
    ShareOptions,
    SolveOptions,
    TimeOptions,
)
from crowdopt.options.reading import (
    KeepOptions,
    ReadOptions,
    RepeatOptions,
    ResourceOptions,
    ScaleOptions,
    SourceOptions,
    SpellingOptions,
)


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
            between=",",
        ),
    ]
    all_methods: Annotated[
        bool, Option(default=False, help="Run the slow methods of crowd-kit too: GLAD, MACE, MMSR.", flag="--all")
    ]
    time_limit: Annotated[
        float,
        Option(
            PATIENT_TIME_LIMIT,
            "Seconds for each method.",
            more="Seconds for each method. Our engines then answer with what they have; others are stopped.",
            least=0,
        ),
    ]
    seed: Annotated[int, Option(0, "Seed of random choices.")]


class CompareOptions(ReadOptions, LikelihoodOptions, ResourceOptions, TruthOptions, MethodOptions, total=False):
    """What ``compare`` takes: what every method can heed, and which they are."""


class ConsensusEstimatorOptions(ScaleOptions, GoldOptions, ShareOptions, RepeatOptions, SpellingOptions, total=False):
    """What ``Consensus`` takes beside labels: its frames have the columns task, worker and label."""


class EstimatorOptions(ModelOptions, KnowledgeOptions, TimeOptions, RepeatOptions, SpellingOptions, total=False):
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
            PATIENT_TIME_LIMIT,
            "Seconds for the check of a bound.",
            more="Seconds for the check of the bound; of groups, for each of them.",
            least=0,
        ),
    ]


GONE = {"--ignore-gold": "known labels of an export are pinned only by --gold export now: leave --ignore-gold out"}
"""Options that there were, and what to do without them."""


def gone(function: str, name: str) -> Exception:
    """The error for a name that a function does not take: an option that there was, or none that there ever was."""
    instead = GONE.get(f"--{name.replace('_', '-')}")
    return InputError(f"there is no option {name!r} any more: {instead}") if instead else unexpected(function, name)


def belongs_to_prove(function: str, name: str) -> Exception:
    """The error for a name that ``aggregate`` does not take."""
    if name in declared(ProveOptions) or name == "on_progress":
        here = "; known shares of the labels are label_shares here" if name == "selectivity" else ""
        return InputError(f"aggregate has no option {name!r}: it belongs to prove, which gives the proof{here}")
    return gone(function, name)


def belongs_to_aggregate(function: str, name: str) -> Exception:
    """The error for a name that ``prove`` does not take."""
    if name == "label_shares":
        return InputError(f"prove has no option {name!r}; known shares of the labels are selectivity here")
    return gone(function, name)
