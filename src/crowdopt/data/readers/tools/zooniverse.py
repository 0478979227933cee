"""Zooniverse: the classification export as CSV, one row for each classification, with its answers as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import Export, Files, Tool, cases, excerpt, list_of, text_of, words
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "Zooniverse"
SUBJECT, USER, ANNOTATIONS = "subject_ids", "user_name", "annotations"
SUBJECT_DATA = "subject_data"
WORKFLOW, WORKFLOW_NAME = "workflow_id", "workflow_name"
GOLD = "gold_standard"
NEEDED = ("classification_id", USER, WORKFLOW, ANNOTATIONS, SUBJECT)

ONE_VERSION = '--where "workflow_version = …" takes one version'
"""What to do where versions of a workflow are not the same."""

ONE, VALUES, DAMAGED = "crowdopt_annotation", "crowdopt_values", "crowdopt_damaged"

OF_A_MARK = r"^\w+\.[0-9]+\.[0-9]+$"
"""What questions about a mark of a drawing are called: T0.0.0, of the first tool of T0."""

NO_LABELS = "drawings, answers about them, texts in parts, or dropdowns that do not say what was chosen"
"""What gives no labels."""

SHOWN = 40
"""Characters of what a task asks that a note shows."""

KINDS = {
    "choice": "of a survey the animal (or whatever is chosen) is read, and not the questions about it",
    "select_label": "of a dropdown the option is read",
}
"""Keys of the objects by which survey and dropdown tasks answer, and what is said of them."""


@dataclass(frozen=True)
class _Question:
    """A task of a workflow.

    Attributes:
        workflow: The id of the workflow.
        called: Its name.
        task: The name of the task: T0.
        of_marks: Whether it is about marks of a drawing, and not about the subject.
        n: The number of answers.
        read: Whether its answers are labels.
        asks: What it asks, in the versions of the workflow that were answered: the first and the last in the alphabet.
        keys: The kinds of its answers, of ``KINDS``.
    """

    workflow: str
    called: str
    task: str
    of_marks: bool
    n: int
    read: bool
    asks: tuple[str, ...]
    keys: frozenset[str]

    def is_named(self, wanted: str) -> bool:
        """Whether this is meant by ``T0``, ``10/T0``, or ``Name of the workflow/T0``."""
        return wanted in {self.task, f"{self.workflow}/{self.task}", f"{self.called}/{self.task}"}


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the columns of such an export."""
    return {*NEEDED} <= set(columns)


def read(files: Files, reading: Reading) -> Export:
    """The answers to one task of a workflow, each of a user to a subject."""
    files.need(NEEDED, TITLE)
    names = [name for name in dict.fromkeys(files.columns) if name]
    table = files.table(names, NEEDED)
    query = _annotated(table)
    known = _subject_columns(files, table, names, reading) | {name: quote(name) for name in names}
    columns = known | {"task": quote(SUBJECT), "worker": quote(USER)}
    counting = files.counting(query, columns, reading)
    found = _questions(files, counting)
    question = _choose(files, found, reading.question)
    n_marks = sum(one.n for one in found if one.of_marks and one.workflow == question.workflow)
    where = [literal(f"{files.name}: classification "), quote("classification_id"), literal(": ")]
    gold = f"lower({quote(GOLD)}::VARCHAR) IN ('true', 't', '1')" if GOLD in names else "false"
    return Export(
        f"SELECT * FROM ({query}) WHERE {DAMAGED} OR (NOT {_of_mark()} AND {text_of(ONE, 'task')} = "
        f"{literal(question.task)} AND {quote(WORKFLOW)}::VARCHAR = {literal(question.workflow)})",
        columns | {"label": _label(f"{VALUES}[1]")},
        problem=cases(
            (DAMAGED, words(*where, literal("its annotations are no list of JSON: "), excerpt(quote(ANNOTATIONS)))),
            (
                f"len({VALUES}) > 1",
                words(
                    *where, literal(f"several answers to {question.task} ("), excerpt(text_of(ONE, "value")),
                    literal("), and one label per response is needed"),
                ),
            ),
        ),
        gold=cases((gold, _label(f"{VALUES}[1]"))),
        only_gold=f"({gold}) IS TRUE",
        question=f"{question.workflow}/{question.task}",
        notes=_notes(question, n_marks),
    )  # fmt: skip


def _annotated(table: str) -> str:
    """A row for each answer of a classification, with its values; a task made of several has one for each of them."""
    cell = f"CASE WHEN json_valid({quote(ANNOTATIONS)}) THEN {quote(ANNOTATIONS)}::JSON END"
    inner = list_of("json_extract(one, '/value')")
    parts = f"CASE WHEN json_exists(one, '/value/0/task') THEN {inner} ELSE [one] END"
    rows = f"CASE WHEN {DAMAGED} THEN [NULL] ELSE flatten(list_transform({list_of('given')}, lambda one: {parts})) END"
    given = f"SELECT *, {cell} AS given FROM ({table})"
    checked = f"SELECT *, json_type(given) IS DISTINCT FROM 'ARRAY' AS {DAMAGED} FROM ({given})"
    each = f"SELECT * EXCLUDE given, unnest({rows}) AS {ONE} FROM ({checked})"
    value = f"json_extract({ONE}, '/value')"
    values = f"CASE json_type({value}) WHEN 'ARRAY' THEN {list_of(value)} WHEN 'NULL' THEN [] ELSE [{value}] END"
    return f"SELECT *, {values} AS {VALUES} FROM ({each})"


def _of_mark() -> str:
    """The condition that an answer is about a mark of a drawing, and not about the whole subject."""
    named = f"regexp_matches({text_of(ONE, 'task')}, {literal(OF_A_MARK)})"
    return f"coalesce(json_exists({ONE}, '/markIndex') OR {named}, false)"


def _notes(question: _Question, n_marks: int) -> tuple[str, ...]:
    """What is said of how the answers are read."""
    notes = [said for key, said in KINDS.items() if key in question.keys]
    if len(question.asks) > 1:
        first, second = (repr(one if len(one) <= SHOWN else one[:SHOWN] + "…") for one in question.asks)
        notes.append(
            f"{question.task} asks {first} and {second} in versions of the workflow, which are read as one question: "
            f"{ONE_VERSION}"
        )
    if n_marks:
        notes.append(f"answers about marks of drawings left out: {n_marks:,}")
    return tuple(notes)


def _subject_columns(files: Files, table: str, names: Sequence[str], reading: Reading) -> dict[str, str]:
    """What is known of a subject, where a name is asked for that is no column; of several subjects, of the first."""
    single = (reading.task, reading.group, reading.order_by, reading.time, reading.seconds)
    asked = {*reading.keep, *reading.where_columns, *single} - {*names, "task", ""}
    if not asked or SUBJECT_DATA not in names:
        return {}
    data = quote(SUBJECT_DATA)
    known = f"json_extract(CASE WHEN json_valid({data}) THEN {data}::JSON END, '$.*')[1]"
    keys = files.ask(
        f"SELECT DISTINCT unnest(json_keys(one)) AS key FROM (SELECT {known} AS one FROM ({table})) ORDER BY key"
    )
    return {str(key): text_of(known, str(key)) for (key,) in keys}


def _label(value: str) -> str:
    """The expression for a value as a label; none if it is a drawing."""
    option = f"coalesce({text_of(value, 'label')}, {text_of(value, 'value')})"
    return cases(
        (f"json_type({value}) NOT IN ('OBJECT', 'ARRAY')", f"nullif(json_extract_string({value}, '$'), '')"),
        (f"json_exists({value}, '/choice')", text_of(value, "choice")),
        (f"json_exists({value}, '/select_label')", option),
    )


def _questions(files: Files, query: str) -> list[_Question]:
    """All tasks that were answered."""
    called = f"min({quote(WORKFLOW_NAME)})" if WORKFLOW_NAME in files.columns else "NULL"
    task, first = text_of(ONE, "task"), f"{VALUES}[1]"
    unread = f"bool_or(json_type({first}) IN ('OBJECT', 'ARRAY') AND {_label(first)} IS NULL)"
    keys = ", ".join(f"bool_or(json_exists({first}, '/{key}'))" for key in KINDS)
    asks = f"trim({text_of(ONE, 'task_label')})"
    rows = files.ask(
        f"SELECT {quote(WORKFLOW)}::VARCHAR, {task}, {_of_mark()}, count(*), {called}, {unread}, min({asks}), "
        f"max({asks}), {keys} FROM ({query}) WHERE NOT {DAMAGED} AND len({VALUES}) > 0 AND {task} IS NOT NULL "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    return [
        _Question(
            str(workflow), str(name), str(task), bool(of_marks), int(str(n)), not drawn,
            tuple(dict.fromkeys(str(one) for one in (first, last) if one is not None)),
            frozenset(key for key, there in zip(KINDS, there, strict=True) if there),
        )
        for workflow, task, of_marks, n, name, drawn, first, last, *there in rows
    ]  # fmt: skip


def _choose(files: Files, found: Sequence[_Question], wanted: str) -> _Question:
    """The question that is named, or the only one."""
    questions = [one for one in found if not one.of_marks]
    if not any(one.is_named(wanted) for one in questions) and any(one.is_named(wanted) for one in found):
        raise InputError(
            f"{files.name}: the answers to {wanted} are about marks of a drawing, and only labels of whole subjects "
            "are aggregated"
        )
    read = {_listed(one, questions): one for one in questions if one.read}
    named = [one for one in questions if one.is_named(wanted)]
    if len(named) > 1:
        listed = ", ".join(read)
        raise InputError(
            f"{files.name} has {wanted!r} in {len(named)} workflows: name one with --question (questions: {listed})"
        )
    if found and not any(one.read for one in named or questions):
        whose = f"the answers to {wanted}" if named else "all answers"
        versions = f"; {ONE_VERSION}" if any(len(one.asks) > 1 for one in questions) else ""
        raise InputError(f"{files.name}: {whose} are {NO_LABELS}, which give no labels{versions}")
    return named[0] if named else read[files.choose_question(wanted, list(read), TITLE)]


def _listed(one: _Question, questions: Sequence[_Question]) -> str:
    """What a question is called in a list of all: with its workflow, if there are several."""
    ids, names = {other.workflow for other in questions}, {other.called for other in questions}
    workflow = one.called if len(names) == len(ids) else one.workflow
    return one.task if len(ids) == 1 else f"{workflow}/{one.task}"


TOOL = Tool("Zooniverse (classifications)", recognise, read, ("question", "export_gold"))
