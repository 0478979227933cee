"""Labelbox: exported data rows as NDJSON or JSON, each with the labels of its projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import (
    Export,
    Files,
    Tool,
    cases,
    excerpt,
    field_of,
    if_any,
    list_of,
    text_of,
    way_to,
    words,
)
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "Labelbox"
ROW, PROJECTS = "data_row", "projects"
OLD = {"Labeled Data", "Label", "DataRow ID"}
"""Keys of the exports of the first version."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of exported data rows."""
    return {ROW, PROJECTS} <= set(columns) or set(columns) >= OLD


def read(files: Files, reading: Reading) -> Export:
    """The answers to a classification of whole data rows."""
    if set(files.columns) >= OLD:
        raise ColumnError(f"{files.name} was exported as the first version: export it with today's (project.export)")
    files.need([ROW, PROJECTS], TITLE)
    query = _labels(files)
    question = files.choose_question(reading.question, _questions(files, query), TITLE)
    asked = f"list_filter(classifications, lambda one: {text_of('one', 'name')} = {literal(question)})"
    answers = f"flatten(list_transform({asked}, lambda one: {_answers('one')}))"
    details, row = field_of("label", "label_details"), field_of("json", ROW)
    work = field_of("label", "performance_details")
    place = [literal(f"{files.name}: data row "), "task::VARCHAR", literal(", label "), text_of("label", "id")]
    return Export(
        f"SELECT *, {row} AS row, {if_any(field_of(row, 'id'))} AS task, {answers} AS answers FROM ({query})",
        {
            "task": "task",
            "worker": field_of(details, "created_by"),
            "label": "answers[1]",
            **{name: field_of("row", name) for name in ("global_key", "external_id", "row_data")},
            "created_at": field_of(details, "created_at"),
            "seconds_to_create": field_of(work, "seconds_to_create"),
            "project": "to_json(project)",
        },
        left_out=cases(
            (f"task IS NOT NULL AND json_type({field_of('json', PROJECTS)}) = 'OBJECT' AND label IS NULL",
             literal("data rows without a label")),
            (f"{text_of(work, 'skipped')} = 'true'", literal("skipped labels")),
        ),
        problem=cases(
            ("task IS NULL", words(literal(f"{files.name}: no {ROW} with an id in "), excerpt("json"))),
            ("label IS NULL", words(*place[:2], literal(f" has no {PROJECTS}"))),
            (
                f"{text_of(details, 'created_by')} IS NULL",
                words(*place, literal(": no 'created_by': export it with label_details")),
            ),
            (
                "len(answers) > 1",
                words(
                    *place, literal(f": several answers to {question!r} ("), excerpt("answers"),
                    literal("), and one label per response is needed"),
                ),
            ),
        ),
        nested=True,
        question=question,
    )  # fmt: skip


def _labels(files: Files) -> str:
    """The query for all labels of all projects; a data row that has none is there without."""
    keys = f"json_keys({field_of('json', PROJECTS)})"
    each = f"SELECT json, unnest(CASE WHEN len({keys}) > 0 THEN {keys} ELSE [NULL] END) AS project"
    projects = f"{each} FROM ({files.objects})"
    way = f"'/{PROJECTS}' || {way_to('project')} || '/labels'"
    listed = list_of("labels")
    found = f"SELECT *, json_extract(json, {way}) AS labels FROM ({projects})"
    one = f"SELECT *, unnest(CASE len({listed}) WHEN 0 THEN [NULL] ELSE {listed} END) AS label FROM ({found})"
    classes = field_of(field_of("label", "annotations"), "classifications")
    return f"SELECT * EXCLUDE labels, {list_of(classes)} AS classifications FROM ({one})"


def _answers(one: str) -> str:
    """The expression for the answers to a classification: an option, several of them, or a text."""
    radio, several = field_of(one, "radio_answer"), list_of(field_of(one, "checklist_answers"))
    return (
        f"CASE WHEN {text_of(radio, 'name')} IS NOT NULL THEN [{field_of(radio, 'name')}] "
        f"WHEN {field_of(one, 'text_answer')} IS NOT NULL THEN [{field_of(field_of(one, 'text_answer'), 'content')}] "
        f"ELSE list_transform({several}, lambda answer: {field_of('answer', 'name')}) END"
    )


def _questions(files: Files, query: str) -> list[str]:
    """The names of the classifications; where there are none, says what was annotated instead."""
    names = f"SELECT {text_of('unnest(classifications)', 'name')} AS name FROM ({query})"
    found = [str(name) for (name,) in files.ask(f"SELECT DISTINCT name FROM ({names}) ORDER BY name") if name]
    others = f"SELECT 1 FROM ({query}) WHERE json_extract(label, '/annotations') IS NOT NULL LIMIT 1"
    if not found and files.ask(others):
        raise InputError(
            f"{files.name} has no classifications of whole data rows, which are needed: only parts of them"
        )
    return found


TOOL = Tool("Labelbox", recognise, read, ("question",))
