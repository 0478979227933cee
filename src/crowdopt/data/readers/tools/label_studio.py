"""Label Studio: JSON, with a task and all its annotations in each record, or JSON-MIN, with one annotation in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.jsonl import pointer
from crowdopt.data.readers.tools.base import Export, Files, Tool, cases, excerpt, field_of, list_of, text_of, words
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crowdopt.data.reading import Reading

TITLE = "Label Studio"
TYPES = ("choices", "rating")
"""The types of results that are labels of a whole task."""

TASK = ("id", "data", "annotations")
"""The fields of a task that matter here."""

ANNOTATION = {
    "id": "annotation_id",
    "completed_by": "done_by",
    "result": "result",
    "was_cancelled": "was_cancelled",
    "ground_truth": "ground_truth",
}
"""The fields of an annotation that matter here, and what they are called in a query."""

MINIMAL = ("annotator", "annotation_id")
"""The keys by which JSON-MIN tells whose annotation a record is; they stand behind the answers."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such records."""
    return set(TASK) <= set(columns) or {"id", *MINIMAL} <= set(columns)


def is_min(columns: Sequence[str]) -> bool:
    """Whether these are the keys of JSON-MIN."""
    return set(MINIMAL) <= set(columns) and "annotations" not in columns


def read(files: Files, reading: Reading) -> Export:
    """The annotations that were not cancelled; one that is the ground truth is gold."""
    if is_min(files.columns):
        return _read_min(files, reading)
    if "completions" in files.columns:
        raise ColumnError(
            f"{files.name} has 'completions', as Label Studio wrote them before version 1.0: import it into a newer "
            "one, and export it from there"
        )
    files.need(TASK, TITLE)
    question = wanted_control(files, reading.question)
    here = f"{text_of('result', 'from_name')} = {literal(question)} AND {text_of('result', 'type')} IN {TYPES}"
    results = f"list_filter({list_of('result')}, lambda result: {here})"
    found = f"SELECT *, {results} AS results FROM ({annotated(files)})"
    valued = f"SELECT *, {field_of('results[1]', 'value')} AS value FROM ({found})"
    query = f"SELECT *, {list_of(field_of('value', 'choices'))} AS choices FROM ({valued})"
    true = "(ground_truth::VARCHAR = 'true') IS TRUE"
    label = f"coalesce(choices[1], {field_of('value', 'rating')})"
    return Export(
        query,
        {name: field_of("data", name) for name in files.keys("data")}
        | {
            "task": "task",
            "worker": f"CASE json_type(done_by) WHEN 'OBJECT' THEN {field_of('done_by', 'id')} ELSE done_by END",
            "label": label,
            "email": field_of("done_by", "email"),
            "created_at": field_of("annotation", "created_at"),
            "updated_at": field_of("annotation", "updated_at"),
        },
        left_out=cases(("was_cancelled::VARCHAR = 'true'", literal("cancelled annotations"))),
        problem=_problem(files, question),
        gold=cases((true, label)),
        only_gold=true,
        nested=True,
    )


def annotated(files: Files) -> str:
    """The query for all annotations: each with its task, the fields of both, and how the record begins.

    All fields of an object are taken out at once, since it is parsed each time that something is taken out.
    """
    # A task that has no annotation is no response; one whose annotations are no list is wrong, and must be seen.
    listed = f"CASE json_type(own[3]) WHEN 'ARRAY' THEN {list_of('own[3]')} ELSE [NULL] END"
    tasks = f"SELECT {excerpt('json')} AS start, json_extract(json, {_paths(TASK)}) AS own FROM ({files.objects})"
    each = f"SELECT start, own[1] AS task, own[2] AS data, unnest({listed}) AS annotation FROM ({tasks})"
    parted = f"SELECT *, json_extract(annotation, {_paths(ANNOTATION)}) AS own FROM ({each})"
    fields = ", ".join(f"own[{place}] AS {name}" for place, name in enumerate(ANNOTATION.values(), 1))
    return f"SELECT * EXCLUDE own, {fields} FROM ({parted})"


def _paths(names: Iterable[str]) -> str:
    return f"[{', '.join(literal(pointer(name)) for name in names)}]"


def wanted_control(files: Files, question: str) -> str:
    """The control (``from_name``) whose results are wanted."""
    results = f"SELECT unnest({list_of('result')}) AS one FROM ({annotated(files)})"
    named = f"SELECT {text_of('one', 'from_name')} AS name, {text_of('one', 'type')} AS type FROM ({results})"
    rows = files.ask(f"SELECT DISTINCT name, type FROM ({named}) WHERE name IS NOT NULL ORDER BY name, type")
    available = list(dict.fromkeys(str(name) for name, type_ in rows if type_ in TYPES))
    others = {str(name): str(type_) for name, type_ in rows if type_ not in TYPES}
    if question in others and question not in available:
        raise InputError(f"{files.name}: the results of {question!r} are {others[question]}, not choices or a rating")
    if not available and others:
        kinds = ", ".join(sorted(set(others.values())))
        raise InputError(f"{files.name} has no choices and no ratings: its results are {kinds}")
    return files.choose_question(question, available, TITLE)


def _problem(files: Files, question: str) -> str:
    task = [literal(f"{files.name}: task "), "task::VARCHAR"]
    place = [*task, literal(", annotation "), "annotation_id::VARCHAR", literal(": ")]
    return cases(
        ("task IS NULL", words(literal(f"{files.name}: no task with an id: "), "start")),
        ("annotation IS NULL", words(*task, literal(" has no list 'annotations'"))),
        ("done_by IS NULL", words(*place, literal("no 'completed_by'"))),
        ("json_type(result) IS DISTINCT FROM 'ARRAY'", words(*place, literal("no list 'result'"))),
        ("len(results) > 1", words(*place, literal(f"several results of {question!r}, and one label is needed"))),
        (
            "len(choices) > 1",
            words(*place, literal(f"several choices of {question!r}, and one label per response is needed")),
        ),
    )


def _read_min(files: Files, reading: Reading) -> Export:
    files.need(["id", *MINIMAL], TITLE)
    question = files.choose_question(reading.question, _questions(files), TITLE)
    value = field_of("json", question)
    rating = field_of(f"json_extract({value}, '/0')", "rating")
    several = f"json_type({value}) = 'ARRAY' AND ({rating} IS NULL OR json_array_length({value}) <> 1)"
    place = [literal(f"{files.name}: annotation "), text_of("json", "annotation_id"), literal(": ")]
    return Export(
        files.objects,
        {name: field_of("json", name) for name in files.columns}
        | {
            "task": field_of("json", "id"),
            "worker": field_of("json", "annotator"),
            "label": f"CASE json_type({value}) WHEN 'ARRAY' THEN {rating} ELSE {value} END",
        },
        problem=cases(
            (f"{field_of('json', 'id')} IS NULL", words(literal(f"{files.name}: no id in "), excerpt("json"))),
            (f"{field_of('json', 'annotator')} IS NULL", words(*place, literal("no 'annotator'"))),
            (
                f"json_type({value}) = 'OBJECT' OR ({several})",
                words(*place, literal(f"{question!r} is not one choice or rating: "), excerpt(value)),
            ),
        ),
        nested=True,
    )


def _questions(files: Files) -> list[str]:
    """The keys that stand between the id and the annotator: before them are the data, behind them the annotation."""
    keys = f"SELECT json_keys(json) AS keys FROM ({files.objects}) WHERE json_type(json) = 'OBJECT'"
    between = "keys[list_position(keys, 'id') + 1 : list_position(keys, 'annotator') - 1]"
    return [
        str(name) for (name,) in files.ask(f"SELECT DISTINCT unnest({between}) AS name FROM ({keys}) ORDER BY name")
    ]


TOOL = Tool("Label Studio", recognise, read, ("question", "export_gold"))
