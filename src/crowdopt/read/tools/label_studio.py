"""Label Studio: JSON, with a task and all its annotations in each record, or JSON-MIN, with one annotation in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.errors import ColumnError, InputError
from crowdopt.read.tools.export import Export, Files, Tool, cases, excerpt, field_of, list_of, text_of, words
from crowdopt.workspace import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.reading import Reading

TITLE = "Label Studio"
TYPES = ("choices", "rating")
"""The types of results that are labels of a whole task."""

ANNOTATION = ("annotator", "annotation_id")
"""The keys by which JSON-MIN tells whose annotation a record is; they stand behind the answers."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such records."""
    return {"id", "data", "annotations"} <= set(columns) or {"id", *ANNOTATION} <= set(columns)


def is_min(columns: Sequence[str]) -> bool:
    """Whether these are the keys of JSON-MIN."""
    return set(ANNOTATION) <= set(columns) and "annotations" not in columns


def read(files: Files, reading: Reading) -> Export:
    """The annotations that were not cancelled; one that is the ground truth is gold."""
    if is_min(files.columns):
        return _read_min(files, reading)
    if "completions" in files.columns:
        raise ColumnError(
            f"{files.name} has 'completions', as Label Studio wrote them before version 1.0: import it into a newer "
            "one, and export it from there"
        )
    files.need(["id", "data", "annotations"], TITLE)
    question = choose(files, reading.question)
    here = f"{text_of('result', 'from_name')} = {literal(question)} AND {text_of('result', 'type')} IN {TYPES}"
    query = (
        f"SELECT *, list_filter({list_of(field_of('annotation', 'result'))}, lambda result: {here}) AS results "
        f"FROM ({annotated(files)})"
    )
    value = field_of("results[1]", "value")
    choices = list_of(field_of(value, "choices"))
    done_by = field_of("annotation", "completed_by")
    true = f"({text_of('annotation', 'ground_truth')} = 'true') IS TRUE"
    label = f"coalesce({choices}[1], {field_of(value, 'rating')})"
    columns = {name: field_of(field_of("json", "data"), name) for name in files.keys("data")}
    return Export(
        query,
        columns
        | {
            "task": field_of("json", "id"),
            "worker": f"CASE json_type({done_by}) WHEN 'OBJECT' THEN {field_of(done_by, 'id')} ELSE {done_by} END",
            "label": label,
            "email": field_of(done_by, "email"),
            "created_at": field_of("annotation", "created_at"),
            "updated_at": field_of("annotation", "updated_at"),
        },
        left_out=cases((f"{text_of('annotation', 'was_cancelled')} = 'true'", literal("cancelled annotations"))),
        problem=_problem(files, question, choices),
        gold=cases((true, label)),
        only_gold=true,
        nested=True,
    )


def annotated(files: Files) -> str:
    """The query for all annotations, each with its task: columns ``json``, ``annotation``."""
    found = list_of(field_of("json", "annotations"))
    # A task that has none is no response; one whose annotations are no list is wrong, and must be seen.
    wrong = f"json_type({field_of('json', 'annotations')}) IS DISTINCT FROM 'ARRAY'"
    return f"SELECT json, unnest(CASE WHEN {wrong} THEN [NULL] ELSE {found} END) AS annotation FROM ({files.objects})"


def choose(files: Files, question: str) -> str:
    """The control (``from_name``) whose results are wanted."""
    results = f"SELECT unnest({list_of(field_of('annotation', 'result'))}) AS result FROM ({annotated(files)})"
    named = f"SELECT {text_of('result', 'from_name')} AS name, {text_of('result', 'type')} AS type FROM ({results})"
    rows = files.ask(f"SELECT DISTINCT name, type FROM ({named}) WHERE name IS NOT NULL ORDER BY name, type")
    available = list(dict.fromkeys(str(name) for name, type_ in rows if type_ in TYPES))
    others = {str(name): str(type_) for name, type_ in rows if type_ not in TYPES}
    if question in others and question not in available:
        raise InputError(f"{files.name}: the results of {question!r} are {others[question]}, not choices or a rating")
    if not available and others:
        kinds = ", ".join(sorted(set(others.values())))
        raise InputError(f"{files.name} has no choices and no ratings: its results are {kinds}")
    return files.choose_question(question, available, TITLE)


def _problem(files: Files, question: str, choices: str) -> str:
    task = [literal(f"{files.name}: task "), text_of("json", "id")]
    place = [*task, literal(", annotation "), text_of("annotation", "id"), literal(": ")]
    return cases(
        ("json_type(json) <> 'OBJECT'", words(literal(f"{files.name}: not a task: "), excerpt("json"))),
        (f"{field_of('json', 'id')} IS NULL", words(literal(f"{files.name}: no id in "), excerpt("json"))),
        ("annotation IS NULL", words(*task, literal(" has no list 'annotations'"))),
        (f"{field_of('annotation', 'completed_by')} IS NULL", words(*place, literal("no 'completed_by'"))),
        (
            f"json_type({field_of('annotation', 'result')}) IS DISTINCT FROM 'ARRAY'",
            words(*place, literal("no list 'result'")),
        ),
        ("len(results) > 1", words(*place, literal(f"several results of {question!r}, and one label is needed"))),
        (
            f"len({choices}) > 1",
            words(*place, literal(f"several choices of {question!r}, and one label per response is needed")),
        ),
    )


def _read_min(files: Files, reading: Reading) -> Export:
    files.need(["id", *ANNOTATION], TITLE)
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


TOOL = Tool("Label Studio", recognise, read, ("question", "ignore_gold"))
