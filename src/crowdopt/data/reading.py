"""How a source is to be read: every choice that changes which responses come out.

A :class:`Reading` is stored in the solution file, so that ``crowdopt verify`` needs no options. Its fields are the
options of the room ``options`` as the program keeps them: texts, and tuples of these.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args

from crowdopt.data.bins import checked_edges
from crowdopt.data.readers.tools import TOOL_NAMES
from crowdopt.data.rows.conditions import parse_conditions
from crowdopt.errors import InputError
from crowdopt.model.letters import same_key
from crowdopt.model.scale import ScaleKind, as_number, canonical_text
from crowdopt.options.model import EXPORT_GOLD
from crowdopt.options.reading import Duplicates, Missing

if TYPE_CHECKING:
    from crowdopt.options.verbs import AggregateOptions, ProveOptions

PAIRS = ("gold", "classes")
"""The options that are pairs of texts."""

FOUND = ("classes", "smoothing", "shares")
"""What can be found in the responses before the labels are: classes of workers, and what goes with these."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options of reading.

    Attributes:
        task: Name of the column that tells tasks apart.
        worker: Name of the column that tells workers apart (not used by wide tables).
        label: Name of the column of answers (not used by wide tables).
        class_column: Name of the column that tells the classes of workers apart; empty if there is none.
        wide: One row per task and one column per worker, an empty cell being no response; or the other way round.
        worker_columns: The columns of a wide table that are workers, by name or by a pattern; empty for all others.
        task_columns: The columns that are tasks, where a row is a worker; empty if it is not.
        worker_from_file: Whether every file has the answers of one worker, and its name is theirs.
        group: Name of the column that tells groups apart, each a problem of its own; empty if there are none.
        keep: Further columns to carry to the answers.
        duplicates: What to do when a worker answered a task more than once.
        order_by: The column that says which of several responses came first.
        missing: What to do with rows that lack a task, a worker or a label.
        na: Texts that stand for a missing label, in whatever spelling that makes them one label.
        where: Which rows count, as conditions on columns (see ``where.py``); empty for all.
        time: Name of the column that says when a response was given; empty if there is none.
        seconds: Name of the column that says how long it took; empty if there is none.
        verbatim: Whether labels and ids stay as they are spelled.
        tidy: Whether labels that look alike are one, and words for a missing label are missing ones.
        labels: The scale, lowest label first; empty to take it from the data.
        scale: Whether the order of the labels means something; empty to take that from the labels.
        bins: Where one bin of scores ends and the next begins, lowest first; empty if labels are not scores.
        gold: Tasks of known label, sorted, as texts: pairs of task and label.
        classes: The class of each worker, sorted, as texts: pairs of worker and class; empty if a column has them.
        found: What was found in the same responses, and not given: the classes, and what goes with them (FOUND).
        ranked: The classes, best first; empty if they are not ranked.
        encoding: Encoding of text files; empty for UTF-8.
        delimiter: Field delimiter of text files; empty to take it from the header.
        tool: The annotation tool whose export it is; empty for a plain table, ``auto`` if that is to be found out.
        question: Which of the questions of an export; empty for its only one.
        keep_rejected: Whether rejected work counts in an export.
        export_gold: Whether the gold is what an export brings: its known labels.
    """

    task: str = "task"
    worker: str = "worker"
    label: str = "label"
    class_column: str = ""
    wide: bool = False
    worker_columns: tuple[str, ...] = ()
    task_columns: tuple[str, ...] = ()
    worker_from_file: bool = False
    group: str = ""
    keep: tuple[str, ...] = ()
    duplicates: Duplicates = "distinct"
    order_by: str = ""
    missing: Missing = "drop"
    na: tuple[str, ...] = ()
    where: str = ""
    time: str = ""
    seconds: str = ""
    verbatim: bool = False
    tidy: bool = False
    labels: tuple[str, ...] = ()
    scale: Literal["", ScaleKind] = ""
    bins: tuple[float, ...] = ()
    gold: tuple[tuple[str, str], ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    found: tuple[str, ...] = ()
    ranked: tuple[str, ...] = ()
    encoding: str = ""
    delimiter: str = ""
    tool: str = ""
    question: str = ""
    keep_rejected: bool = False
    export_gold: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", tuple(dict.fromkeys(self.keep)))
        object.__setattr__(self, "bins", checked_edges(self.bins))
        object.__setattr__(self, "wide", self.wide or bool(self.across_columns))
        _one_of("duplicates", self.duplicates, get_args(Duplicates))
        _one_of("missing", self.missing, get_args(Missing))
        _one_of("--from", self.tool, ("", "auto", *TOOL_NAMES))
        if self.scale:
            _one_of("scale", self.scale, get_args(ScaleKind))
        if self.duplicates in {"first", "last"} and not self.order_by:
            raise InputError(f"--duplicates {self.duplicates} needs a column that orders the responses: --order-by COL")
        if self.order_by and self.duplicates not in {"first", "last"}:
            raise InputError("--order-by only has a meaning with --duplicates first|last")
        parse_conditions(self.where)  # raises if they cannot be read
        self._check_labels()
        if len({task for task, _ in self.gold}) < len(self.gold):
            raise InputError("the gold has a task twice")
        if len({worker for worker, _ in self.classes}) < len(self.classes):
            raise InputError("the classes have a worker twice")
        if len(set(self.ranked)) < len(self.ranked):
            raise InputError(f"--ranked names a class twice: {', '.join(self.ranked)}")
        if self.bins:
            self.check_binnable()
        self._check_found()
        self._check_columns()

    def _check_labels(self) -> None:
        if self.verbatim and self.tidy:
            raise InputError("--verbatim keeps labels as they are, and --tidy changes them: leave out one of the two")
        if self.labels and len(self.labels) < 2:
            raise InputError("--labels must name at least two labels, lowest first")
        if len(set(self.labels)) < len(self.labels):
            raise InputError(f"--labels names a label twice: {', '.join(self.labels)}")

    def _check_found(self) -> None:
        for name in self.found:
            _one_of("found", name, FOUND)

    def _check_columns(self) -> None:
        self._check_wide()
        columns = {"group": self.group, "class": self.class_column}
        for role in (self.index_role,) if self.wide else ("task", "worker", "label"):
            columns[role] = getattr(self, role)
        columns = {role: columns[role] for role in ("task", "worker", "label", "class", "group") if columns.get(role)}
        if self.group and (self.time or self.seconds):
            raise InputError("--time and --seconds are of all workers together: leave them out with --group")
        if self.group and self.gold:
            raise InputError("tasks of known label (--gold) do not go with --group yet")
        if len(set(columns.values())) < len(columns):
            *roles, last = columns
            raise InputError(
                f"{', '.join(roles)} and {last} must be different columns, not {', '.join(columns.values())}"
            )

    def _check_wide(self) -> None:
        """Raises if an option means nothing for a table with several responses in a row."""
        if self.worker_columns and self.task_columns:
            raise InputError(
                "a row is a task with --worker-columns, and a worker with --task-columns: leave out one of the two"
            )
        if not self.wide:
            return
        if self.class_column and not self.task_columns:
            raise InputError("a wide table has no column for the class of a worker: name a file with --classes")
        if self.task_columns and self.keep:
            raise InputError("with --task-columns a row is a worker, and has no columns of tasks to --keep")
        if self.worker_from_file:
            raise InputError(
                f"a wide table has a column for each worker: leave out --worker-from-file, or {self.wide_option}"
            )
        if self.order_by:
            raise InputError("a wide table has one response of a worker to a task: leave out --order-by")
        if self.time or self.seconds:
            raise InputError("--time and --seconds are of one response: a wide table has several in a row")

    @property
    def across_columns(self) -> tuple[str, ...]:
        """The columns that are named for the workers (or tasks) of a wide table; none if all others are."""
        return self.task_columns or self.worker_columns

    @property
    def wide_option(self) -> str:
        """The option that says that a table is wide."""
        return f"--{self.across}-columns" if self.across_columns else "--wide"

    @property
    def across(self) -> Literal["worker", "task"]:
        """What a column of a wide table is."""
        return "task" if self.task_columns else "worker"

    @property
    def index_role(self) -> Literal["worker", "task"]:
        """What a row of a wide table is."""
        return "worker" if self.task_columns else "task"

    @property
    def index(self) -> str:
        """The column that tells the rows of a wide table apart."""
        return self.worker if self.task_columns else self.task

    @property
    def where_columns(self) -> list[str]:
        """The columns that say which rows count."""
        return [one.column for one in parse_conditions(self.where)]

    @property
    def kept(self) -> tuple[str, ...]:
        """What the answers call the columns that are kept: dots in names are not for every table."""
        return tuple(map(_without_dots, self.keep))

    @property
    def group_name(self) -> str:
        """What the answers call the column of groups."""
        return _without_dots(self.group)

    def check_binnable(self) -> None:
        """Raises if other options contradict that scores are put into bins, whose names and order follow from them."""
        if self.labels:
            raise InputError("--bins makes the labels, lowest first: leave out --labels")
        if self.scale == "nominal":
            raise InputError("bins are ordered: leave out --scale nominal, or --bins")

    @classmethod
    def of(cls, options: AggregateOptions | ProveOptions, *, group: str, bins: tuple[float, ...]) -> Self:
        """What a user asks for, as the program keeps it; gold and classes are read later."""
        given = cast("dict[str, Any]", options)
        kept_apart = {"gold", "classes", "found"}
        same = {
            name: given[name] for name in (field.name for field in fields(cls)) if name in given.keys() - kept_apart
        }
        return cls(
            **same
            | {
                "class_column": given.get("class_", ""),
                "group": group,
                "keep": _names(options["keep"], "keep"),
                "na": tuple(canonical_text(text) for text in _several(options["na"])),
                "worker_columns": _names(options["worker_columns"], "worker_columns"),
                "task_columns": _names(options["task_columns"], "task_columns"),
                "labels": tuple(canonical_text(label) for label in options["labels"]),
                "ranked": tuple(canonical_text(name) for name in given.get("ranked", ())),
                "scale": options["scale"] or "",
                "bins": bins,
                "export_gold": isinstance(given.get("gold"), str) and given["gold"] == EXPORT_GOLD,
            }
        )

    @property
    def row(self) -> str:
        """What a response stands in: a row, or a cell of a wide table."""
        return "cell" if self.wide else "row"

    @property
    def na_numbers(self) -> tuple[float, ...]:
        """The numbers among what stands for a missing label."""
        return tuple(number for text in self.na if (number := as_number(text)) is not None)

    @property
    def na_values(self) -> tuple[str, ...]:
        """What stands for a missing label among labels that are no texts, as canonical texts: 99.0 is 99."""
        return tuple(sorted({*self.na, *map(same_key, self.na), *map(canonical_text, self.na_numbers)}))

    @property
    def na_texts(self) -> tuple[str, ...]:
        """The same among labels that are texts; a whole number may stand there as programs write a float, 99.0."""
        floats = {form for number in self.na_numbers for form in (canonical_text(number), repr(float(number)))}
        return (*self.na, *sorted(floats.difference(self.na))) if floats.intersection(self.na) else self.na

    def to_dict(self) -> dict[str, Any]:
        """The options as plain JSON values."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return plain | {name: [list(pair) for pair in getattr(self, name)] for name in PAIRS}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The inverse of :meth:`to_dict`; unknown or missing names are errors."""
        names = {field.name for field in fields(cls)}
        if set(data) != names:
            raise InputError(f"reading options do not match: {sorted(set(data) ^ names)}")
        options: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        return cls(**options | {name: tuple((key, value) for key, value in data[name]) for name in PAIRS})


def _without_dots(name: str) -> str:
    return name.replace(".", "_")


def _several(texts: Any) -> tuple[str, ...]:
    """Several texts; one alone need not be a list."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _names(texts: Any, option: str) -> tuple[str, ...]:
    """Names of columns, which are texts."""
    names = _several(texts)
    if odd := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"{option} must be a list of texts, and {odd[0]!r} is none")
    return names


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(filter(None, choices))}, not {value!r}")
