"""SageMaker Ground Truth: what workers answered, before it is consolidated.

There are two kinds of files. Worker responses have the answers to one object in each file, in a folder that is called
after the object. Consolidation requests are lists of objects with their annotations, whose content is JSON in a text.
"""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import TYPE_CHECKING

from crowdopt.data.readers.file_names import distinct_ends
from crowdopt.data.readers.tools.base import (
    Export,
    Files,
    Tool,
    cases,
    excerpt,
    field_of,
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

TITLE = "SageMaker Ground Truth"
TASK, ANNOTATIONS, ANSWERS = "datasetObjectId", "annotations", "answers"
METADATA = "-metadata"
MADE = ("annotations", "worker-response")
"""Folders between a job and its iterations."""

INSTEAD = (
    "give what workers answered instead: annotations/worker-response/iteration-*/*/*.json, or "
    "annotations/consolidated-annotation/consolidation-request/iteration-*/*.json"
)
"""What to do with a manifest."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of answers of workers, or of a manifest."""
    return set(columns) == {ANSWERS} or {TASK, ANNOTATIONS} <= set(columns) or bool(_attributes(columns))


def read(files: Files, reading: Reading) -> Export:
    """The answers to one question of the form that workers filled in."""
    if attributes := _attributes(files.columns):
        raise InputError(_about_manifest(files, attributes))
    if ANSWERS in files.columns:
        query, task = _worker_responses(files), "to_json(object)"
    elif {TASK, ANNOTATIONS} & set(files.columns):
        files.need([TASK, ANNOTATIONS], TITLE)
        query, task = _consolidation_requests(files), field_of("json", TASK)
    else:
        raise ColumnError(f"{files.name} is no export of {TITLE}: it has neither 'answers' nor 'datasetObjectId'")
    question = files.choose_question(reading.question, _questions(files, query, reading.question), TITLE)
    value = field_of("content", question)
    place = ["path", literal(": object "), f"({task})::VARCHAR", literal(": ")]
    return Export(
        f"SELECT *, {_labels(value)} AS labels FROM ({query})",
        {
            "task": task,
            "worker": field_of("one", "workerId"),
            "label": "labels[1]",
            "content": field_of(field_of("json", "dataObject"), "content"),
            "source-ref": field_of(field_of("json", "dataObject"), "s3Uri"),
            "submissionTime": field_of("one", "submissionTime"),
            "timeSpentInSeconds": field_of("one", "timeSpentInSeconds"),
        },
        problem=cases(
            ("one IS NULL", words(*place, literal("it has no list of answers"))),
            (f"({task}) IS NULL", words("path", literal(f": no {TASK} in "), excerpt("json"))),
            (f"{text_of('one', 'workerId')} IS NULL", words(*place, literal("no workerId in "), excerpt("one"))),
            (
                "json_type(content) IS DISTINCT FROM 'OBJECT'",
                words(*place, literal("an answer has no content: "), excerpt("one")),
            ),
            (
                "len(labels) > 1",
                words(
                    *place, literal("an answer has several labels ("), excerpt(value),
                    literal("), and one label per response is needed"),
                ),
            ),
        ),
        nested=True,
        question=question,
    )  # fmt: skip


def _worker_responses(files: Files) -> str:
    pairs = ", ".join(f"({literal(path)}, {literal(name)})" for path, name in _objects(files).items())
    named = f"({files.named_objects}) JOIN (VALUES {pairs}) AS objects (path, object) USING (path)"
    rows = f"SELECT *, unnest({_listed(ANSWERS)}) AS one FROM {named}"
    return f"SELECT *, {field_of('one', 'answerContent')} AS content FROM ({rows})"


def _objects(files: Files) -> dict[str, str]:
    """The object of every file: the number of its folder, with the job in front if there are several jobs.

    Iterations of a job have the same objects. A file that is in no folder with a number names its object itself.
    """
    folders = [Path(os.path.abspath(source.name)).parent for source in files.sources]  # noqa: PTH100 - takes .. away
    jobs = distinct_ends([_job(folder) for folder in folders])
    several = len(set(jobs)) > 1
    numbered = [f"{job}/{folder.name}" if several else folder.name for job, folder in zip(jobs, folders, strict=True)]
    return {
        source.name: name if folder.name.isdecimal() else file
        for source, name, folder, file in zip(files.sources, numbered, folders, files.names, strict=True)
    }


def _job(folder: Path) -> tuple[str, ...]:
    """The folders of a job, above those that Ground Truth makes in each."""
    parts = folder.parent.parts
    while parts and (parts[-1] in MADE or parts[-1].startswith("iteration-")):
        parts = parts[:-1]
    return parts


def _consolidation_requests(files: Files) -> str:
    rows = f"SELECT *, unnest({_listed(ANNOTATIONS)}) AS one FROM ({files.named_objects})"
    content = f"TRY_CAST({text_of(field_of('one', 'annotationData'), 'content')} AS JSON)"
    return f"SELECT *, {content} AS content FROM ({rows})"


def _listed(name: str) -> str:
    """The items of a list; what is no list is seen as an item that is nothing."""
    value = field_of("json", name)
    return f"CASE json_type({value}) WHEN 'ARRAY' THEN {list_of(value)} ELSE [NULL] END"


def _labels(value: str) -> str:
    """The expression for the labels in what a part of the form holds: a label, several, or options that are ticked."""
    ticked = f"list_filter(json_keys({value}), lambda key: json_extract_string({value}, {way_to('key')}) = 'true')"
    return (
        f"CASE json_type({value}) WHEN 'OBJECT' THEN CASE WHEN {text_of(value, 'label')} IS NOT NULL "
        f"THEN [{field_of(value, 'label')}] WHEN json_type({field_of(value, 'labels')}) = 'ARRAY' "
        f"THEN {list_of(field_of(value, 'labels'))} ELSE list_transform({ticked}, lambda key: to_json(key)) END "
        f"WHEN 'ARRAY' THEN {list_of(value)} WHEN 'NULL' THEN [] ELSE [{value}] END"
    )


def _questions(files: Files, query: str, question: str) -> list[str]:
    """The parts of the form that hold labels of the whole object; of others, says what they hold."""
    parts = f"SELECT unnest(json_keys(content)) AS key, content FROM ({query}) WHERE json_type(content) = 'OBJECT'"
    values = f"SELECT key, json_extract(content, {way_to('key')}) AS value FROM ({parts})"
    labels = f"SELECT key, value, {_labels('value')} AS labels FROM ({values})"
    plain = "coalesce(len(list_filter(labels, lambda one: json_type(one) IN ('ARRAY', 'OBJECT'))) = 0, true)"
    ticks = f"len(list_filter(json_keys(value), lambda key: json_type(value, {way_to('key')}) <> 'BOOLEAN')) = 0"
    known = f"{text_of('value', 'label')} IS NOT NULL OR {field_of('value', 'labels')} IS NOT NULL OR {ticks}"
    good = f"{plain} AND (json_type(value) <> 'OBJECT' OR {known})"
    rows = files.ask(f"SELECT key, bool_and({good}) FROM ({labels}) GROUP BY key ORDER BY key")
    available = [str(name) for name, is_label in rows if is_label]
    others = [str(name) for name, is_label in rows if not is_label]
    if question in others or (others and not available):
        listed = question if question in others else ", ".join(others)
        raise InputError(f"{files.name}: the answers ({listed}) are no labels of whole objects, which are needed")
    return available


def _attributes(columns: Sequence[str]) -> list[str]:
    """The names of what was labelled, in a manifest."""
    if not {"source", "source-ref"} & set(columns):
        return []
    names = [name.removesuffix(METADATA) for name in columns if name.endswith(METADATA)]
    return [name for name in names if {name, f"{name}-ref"} & set(columns)]


def _about_manifest(files: Files, attributes: Sequence[str]) -> str:
    kinds = [text_of(field_of("json", name + METADATA), "type") for name in attributes]
    found = f"SELECT unnest([{', '.join(kinds)}]) AS kind FROM ({files.objects})"
    rows = files.ask(f"SELECT DISTINCT kind FROM ({found}) WHERE kind NOT ILIKE '%classification%' ORDER BY kind")
    if others := [str(kind) for (kind,) in rows]:
        return f"{files.name} is a manifest of {', '.join(others)}: that is no label of a whole object, which is needed"
    return f"{files.name} is a manifest: it has one label for each object, made of what workers answered; {INSTEAD}"


TOOL = Tool("SageMaker Ground Truth (answers of workers)", recognise, read, ("question",))
