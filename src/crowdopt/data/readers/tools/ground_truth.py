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
CONSOLIDATED = "consolidatedAnnotation"
METADATA = "-metadata"
MADE = ("annotations", "worker-response", "consolidated-annotation", "consolidation-request")
"""Folders between a job and its iterations."""

INSTEAD = (
    "give what workers answered instead: annotations/worker-response/iteration-*/*/*.json, or "
    "annotations/consolidated-annotation/consolidation-request/iteration-*/*.json"
)
"""What to do with a manifest, or with a consolidation response."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of answers of workers, or of what Ground Truth makes of them."""
    names = set(columns)
    return (
        names == {ANSWERS}
        or {TASK, ANNOTATIONS} <= names
        or {TASK, CONSOLIDATED} <= names
        or bool(_attributes(columns))
    )


def read(files: Files, reading: Reading) -> Export:
    """The answers to one question of the form that workers filled in."""
    query = _answers(files)
    if buttons := [] if reading.question else _buttons(files, query):
        question, value, labels = "", "content", _chosen_button("content")
    else:
        question = files.choose_question(reading.question, _questions(files, query, reading.question), TITLE)
        value = field_of("content", question)
        labels = _labels(value)
    place = ["path", literal(": object "), "task::VARCHAR", literal(": ")]
    chosen = [f"label: the one of the buttons {', '.join(buttons)} that is chosen"] if buttons else []
    return Export(
        f"SELECT *, {labels} AS labels FROM ({query})",
        {
            "task": "task",
            "worker": field_of("one", "workerId"),
            "label": "labels[1]",
            "content": field_of(field_of("json", "dataObject"), "content"),
            "source-ref": field_of(field_of("json", "dataObject"), "s3Uri"),
            "submissionTime": field_of("one", "submissionTime"),
            "timeSpentInSeconds": field_of("one", "timeSpentInSeconds"),
        },
        problem=cases(
            ("one IS NULL", words(*place, literal("it has no list of answers"))),
            ("task IS NULL", words("path", literal(f": no {TASK} in "), excerpt("json"))),
            (
                "several",
                words(
                    *place, literal("another file has another object of this number; "),
                    literal("give the files of every job in a folder of their own"),
                ),
            ),
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
        notes=(*_without_answers(files, query), *chosen),
    )  # fmt: skip


def _without_answers(files: Files, query: str) -> list[str]:
    """What is said of files that have no answer in them, so that no row tells that they were there."""
    ((found,),) = files.ask(f"SELECT count(DISTINCT path) FROM ({query})")
    n = len({source.name for source in files.sources}) - int(str(found))
    return [f"files without answers left out: {n:,}"] if n else []


def _answers(files: Files) -> str:
    """The query for all answers, each with its ``task`` and its ``content``."""
    if attributes := _attributes(files.columns):
        raise InputError(_about_manifest(files, attributes))
    if CONSOLIDATED in files.columns:
        raise InputError(_about_response(files))
    if ANSWERS in files.columns:
        return _worker_responses(files)
    if {TASK, ANNOTATIONS} & set(files.columns):
        files.need([TASK, ANNOTATIONS], TITLE)
        return _consolidation_requests(files)
    raise ColumnError(f"{files.name} is no export of {TITLE}: it has neither 'answers' nor 'datasetObjectId'")


def _worker_responses(files: Files) -> str:
    """Those of files that have an object each: the number of its folder, or the file itself if that is no number."""
    folders = _folders(files)
    jobs = _jobs([folder.parent for folder in folders])
    objects = [
        f"{job}{folder.name}" if folder.name.isdecimal() else file
        for job, folder, file in zip(jobs, folders, files.names, strict=True)
    ]
    rows = f"SELECT *, unnest({_listed(ANSWERS)}) AS one FROM ({_beside(files, objects, 'object')})"
    content = field_of("one", "answerContent")
    return f"SELECT *, to_json(object) AS task, {content} AS content, false AS several FROM ({rows})"


def _consolidation_requests(files: Files) -> str:
    """Those of files that have many objects each, whose numbers start at 0 in every job."""
    rows = _beside(files, _jobs(_folders(files)), "job")
    number = f"CASE WHEN job = '' THEN {field_of('json', TASK)} ELSE to_json(job || {text_of('json', TASK)}) END"
    named = f"SELECT *, {number} AS task, {field_of('json', 'dataObject')}::VARCHAR AS object FROM ({rows})"
    told = f"SELECT *, min(object) OVER same <> max(object) OVER same AS several FROM ({named})"
    each = f"SELECT *, unnest({_listed(ANNOTATIONS)}) AS one FROM ({told} WINDOW same AS (PARTITION BY task::VARCHAR))"
    content = f"TRY_CAST({text_of(field_of('one', 'annotationData'), 'content')} AS JSON)"
    return f"SELECT *, {content} AS content FROM ({each})"


def _folders(files: Files) -> list[Path]:
    return [Path(os.path.abspath(source.name)).parent for source in files.sources]  # noqa: PTH100 - takes .. away


def _jobs(folders: Sequence[Path]) -> list[str]:
    """What to put in front of the numbers of objects: the job of every file if there are several, else nothing.

    A job is a folder above those that Ground Truth makes in each. Iterations of a job have the same objects.
    """
    jobs = distinct_ends([_job(folder) for folder in folders])
    return [f"{job}/" if len(set(jobs)) > 1 else "" for job in jobs]


def _job(folder: Path) -> tuple[str, ...]:
    parts = folder.parts
    while parts and (parts[-1] in MADE or parts[-1].startswith("iteration-")):
        parts = parts[:-1]
    return parts


def _beside(files: Files, texts: Sequence[str], name: str) -> str:
    """The query for all records, with a text for each file beside them."""
    pairs = ", ".join(
        f"({literal(source.name)}, {literal(text)})" for source, text in zip(files.sources, texts, strict=True)
    )
    return f"SELECT * FROM ({files.named_objects}) JOIN (VALUES {pairs}) AS texts (path, {name}) USING (path)"


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


def _buttons(files: Files, query: str) -> list[str]:
    """The radio buttons of a form that has nothing else, each with a name of its own: one is chosen in every answer.

    Such a group is ``{"btn1": {"yes": true}, "btn2": {"no": false}}``; the label is the option that is true.
    """
    one_option = (
        f"lambda value: len(json_keys(value)) = 1 AND json_type(value, {way_to('json_keys(value)[1]')}) = 'BOOLEAN'"
    )
    options = f"list_transform({_values('content')}, lambda value: json_keys(value)[1])"
    group = (
        f"len(json_keys(content)) > 1 AND len(list_filter({_values('content')}, {one_option})) = "
        f"len(json_keys(content)) AND len(list_distinct({options})) = len(json_keys(content)) "
        f"AND len({_chosen_button('content')}) = 1"
    )
    ((is_group,),) = files.ask(f"SELECT bool_and({group}) IS TRUE FROM ({query}) WHERE json_type(content) = 'OBJECT'")
    if not is_group:
        return []
    names = f"SELECT unnest(json_keys(content)) AS name FROM ({query})"
    return [str(name) for (name,) in files.ask(f"SELECT DISTINCT name FROM ({names}) ORDER BY name")]


def _values(form: str) -> str:
    """The expression for the values of a form."""
    return f"list_transform(json_keys({form}), lambda key: json_extract({form}, {way_to('key')}))"


def _chosen_button(form: str) -> str:
    """The expression for the options of the buttons that are true."""
    chosen = (
        f"list_filter({_values(form)}, "
        f"lambda value: json_extract_string(value, {way_to('json_keys(value)[1]')}) = 'true')"
    )
    return f"list_transform({chosen}, lambda value: to_json(json_keys(value)[1]))"


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


def _about_response(files: Files) -> str:
    known = f"{field_of('json', CONSOLIDATED)} IS NOT NULL"
    rows = files.ask(f"SELECT path FROM ({files.named_objects}) WHERE {known} ORDER BY path LIMIT 1")
    name = str(rows[0][0]) if rows else files.name
    return f"{name} is a consolidation response: it has what was made of the answers, and no workers; {INSTEAD}"


TOOL = Tool("SageMaker Ground Truth (answers of workers)", recognise, read, ("question",))
