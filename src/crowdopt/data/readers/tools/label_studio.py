"""Label Studio: JSON, with a task and all its annotations in each record; what has one in each is read beside this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdopt.data.readers.jsonl import pointer
from crowdopt.data.readers.tools.base import Export, Files, Tool, cases, excerpt, field_of, list_of, text_of, words
from crowdopt.data.readers.tools.label_studio_flat import TITLE, is_flat, read_flat
from crowdopt.data.readers.tools.label_studio_values import READ, TYPES, is_placed, label_in, several_in
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crowdopt.data.reading import Reading

TASK = ("id", "data", "annotations", "drafts")
"""The fields of a task that matter here; older versions have no drafts."""

ANNOTATION = {
    "id": "annotation_id",
    "completed_by": "done_by",
    "result": "result",
    "was_cancelled": "was_cancelled",
    "ground_truth": "ground_truth",
}
"""The fields of an annotation that matter here, and what they are called in a query."""

AMONG = " (of the rows that --where takes)"
CANCELLED = "was_cancelled::VARCHAR = 'true'"


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such records."""
    return set(TASK[:3]) <= set(columns) or is_flat(columns)


def read(files: Files, reading: Reading) -> Export:
    """The annotations that were not cancelled; one that is the ground truth is gold."""
    if is_flat(files.columns):
        return read_flat(files, reading)
    if "completions" in files.columns:
        raise ColumnError(
            f"{files.name} has 'completions', as Label Studio wrote them before version 1.0: import it into a newer "
            "one, and export it from there"
        )
    files.need(TASK[:3], TITLE)
    control = wanted_control(files, reading)
    results = f"list_filter({tagged('result')}, lambda one: {is_of(control.name)})"
    found = f"SELECT *, {results} AS results FROM ({annotated(files)})"
    query = f"SELECT *, {field_of('results[1].json', 'value')} AS value FROM ({found})"
    true = "(ground_truth::VARCHAR = 'true') IS TRUE"
    label = label_in("value")
    return Export(
        query,
        _columns(files) | {"label": label},
        left_out=cases(("is_draft", literal("drafts")), (CANCELLED, literal("cancelled annotations"))),
        problem=_problem(control.name, label),
        gold=cases((true, label)),
        only_gold=true,
        nested=True,
        question=control.name,
        notes=(f"results of regions left out: {control.n_placed:,}",) if control.n_placed else (),
    )


def _columns(files: Files) -> dict[str, str]:
    """What can be read of an annotation beside its label."""
    return {name: field_of("data", name) for name in files.keys("data")} | {
        "task": "task",
        "worker": f"CASE json_type(done_by) WHEN 'OBJECT' THEN {field_of('done_by', 'id')} ELSE done_by END",
        "email": field_of("done_by", "email"),
        "created_at": field_of("annotation", "created_at"),
        "updated_at": field_of("annotation", "updated_at"),
        "lead_time": field_of("annotation", "lead_time"),
    }


def annotated(files: Files) -> str:
    """The query for all annotations and drafts: each with its task, the fields of both, and how the record begins.

    All fields of an object are taken out at once, since it is parsed each time that something is taken out.
    """
    # A task that has no annotation is no response; one whose annotations are no list is wrong, and must be seen.
    listed = f"CASE json_type(own[3]) WHEN 'ARRAY' THEN {list_of('own[3]')} ELSE [NULL] END"
    both = f"list_concat({listed}, {list_of('own[4]')})"
    tasks = (
        f"SELECT path, {excerpt('json')} AS start, json_extract(json, {_paths(TASK)}) AS own "
        f"FROM ({files.placed_objects})"
    )
    each = (
        f"SELECT path, start, own[1] AS task, own[2] AS data, len({listed}) AS n, unnest({both}) AS annotation, "
        f"unnest(range(len({both}))) AS place FROM ({tasks})"
    )
    parted = f"SELECT *, place >= n AS is_draft, json_extract(annotation, {_paths(ANNOTATION)}) AS own FROM ({each})"
    fields = ", ".join(f"own[{place}] AS {name}" for place, name in enumerate(ANNOTATION.values(), 1))
    return f"SELECT * EXCLUDE own, {fields} FROM ({parted})"


def _paths(names: Iterable[str]) -> str:
    return f"[{', '.join(literal(pointer(name)) for name in names)}]"


def tagged(results: str) -> str:
    """The expression for a list of results: each with its control and type, and whether it belongs to a region.

    It does if it says where (what belongs to the same region has the same id), or which region is above it.
    """
    listed = list_of(results)
    placed = f"list_filter({listed}, lambda one: {is_placed(field_of('one', 'value'))})"
    ids = f"list_transform({placed}, lambda one: {text_of('one', 'id')})"
    inside = (
        f"{is_placed(field_of('one', 'value'))} OR {text_of('one', 'parentID')} <> '' "
        f"OR {text_of('one', 'item_index')} IS NOT NULL OR list_contains({ids}, {text_of('one', 'id')})"
    )
    fields = f"json: one, name: {text_of('one', 'from_name')}, type: {text_of('one', 'type')}"
    return f"list_transform({listed}, lambda one: {{{fields}, placed: ({inside}) IS TRUE}})"


def is_of(question: str) -> str:
    """The condition that a result is an answer to a question about the whole task."""
    return f"one.name = {literal(question)} AND one.type IN {TYPES} AND NOT one.placed"


@dataclass(frozen=True)
class Control:
    """A control of the labelling interface.

    Attributes:
        name: Its ``from_name``.
        n_placed: How many of its results belong to regions.
    """

    name: str
    n_placed: int


def wanted_control(files: Files, reading: Reading) -> Control:
    """The control whose results are wanted."""
    question = reading.question
    counting = annotated(files)
    if reading.where:
        counting = files.counting(counting, _columns(files), reading, nested=True)
    where = f"NOT is_draft AND ({CANCELLED}) IS NOT TRUE"
    results = f"SELECT unnest({tagged('result')}) AS one FROM ({counting}) WHERE {where}"
    rows = files.ask(
        f"SELECT one.name, one.type, one.placed, count(*) FROM ({results}) WHERE one.name IS NOT NULL "
        "GROUP BY ALL ORDER BY ALL"
    )
    found = [(str(name), str(type_), bool(placed), int(str(n))) for name, type_, placed, n in rows]
    available = list(dict.fromkeys(name for name, type_, placed, _ in found if type_ in TYPES and not placed))
    others = {name: f"{type_} of regions" if type_ in TYPES else type_ for name, type_, *_ in found}
    if question in others and question not in available:
        raise InputError(f"{files.name}: the results of {question!r} are {others[question]}, not {READ} of the task")
    if not available and others:
        kinds = ", ".join(sorted(set(others.values())))
        raise InputError(f"{files.name} has no results that are read ({READ}): all are {kinds}")
    if not available:
        raise InputError(f"{files.name} has no answers: {_why_none(files, counting)}{AMONG if reading.where else ''}")
    name = files.choose_question(question, available, TITLE)
    return Control(
        name, sum(n for other, type_, placed, n in found if (other, placed) == (name, True) and type_ in TYPES)
    )


def _why_none(files: Files, query: str) -> str:
    """Why annotations have no results."""
    tests = f"count(*), count_if(json_type(annotation) <> 'OBJECT'), count_if(is_draft), count_if({CANCELLED})"
    ((n, ids, drafts, skipped),) = files.ask(f"SELECT {tests} FROM ({query}) WHERE annotation IS NOT NULL")
    if not n:
        return "nobody has annotated a task of it yet"
    if ids == n:
        return "its annotations are but numbers, and not what was answered; export the project as JSON"
    if drafts == n:
        return "all annotations are drafts, which were not submitted"
    if int(str(drafts)) + int(str(skipped)) == n:
        return "all annotations were skipped (cancelled)" + (" or are drafts" if drafts else "")
    return "its annotations have no results"


def _problem(question: str, label: str) -> str:
    task = ["path", literal(": task "), "task::VARCHAR"]
    place = [*task, literal(", annotation "), "annotation_id::VARCHAR", literal(": ")]
    return cases(
        ("task IS NULL", words("path", literal(": no task with an id: "), "start")),
        ("annotation IS NULL", words(*task, literal(" has no list 'annotations'"))),
        ("done_by IS NULL", words(*place, literal("no 'completed_by'"))),
        ("json_type(result) IS DISTINCT FROM 'ARRAY'", words(*place, literal("no list 'result'"))),
        ("len(results) > 1", words(*place, literal(f"several results of {question!r}, and one label is needed"))),
        (
            several_in("value"),
            words(*place, literal(f"several choices of {question!r}, and one label per response is needed")),
        ),
        (
            f"json_type({label}) IN ('ARRAY', 'OBJECT')",
            words(*place, literal(f"{question!r} has a value that is no label: "), excerpt("value")),
        ),
    )


TOOL = Tool("Label Studio", recognise, read, ("question", "export_gold"))
