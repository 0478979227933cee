"""OpenAI batch output: JSON Lines, a line for each request; each model is a worker, what it answered is the label."""

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
    named_by_files,
    text_of,
    way_to,
    words,
)
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "an OpenAI batch"
TASK, RESPONSE = "custom_id", "response"

SHORT = 100
"""Characters that a label may have; a longer answer is an explanation."""

FENCED = r"^\s*```[A-Za-z]*\s*(.*?)\s*```\s*$"
"""JSON in Markdown, which models like to write."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such lines, or those of the requests, which are often taken for them."""
    return {TASK, RESPONSE} <= set(columns) or {TASK, "method", "url", "body"} <= set(columns)


def read(files: Files, reading: Reading) -> Export:
    """The answers of requests that did not fail: short texts, or one key of objects of JSON."""
    if RESPONSE not in files.columns and {"method", "body"} <= set(files.columns):
        raise ColumnError(f"{files.name} has the requests of a batch: give its output file, which has the answers")
    files.need([TASK, RESPONSE], TITLE)
    answers = _answers(files)
    question = _question(files, answers, reading.question)
    said = f"coalesce({field_of('json', RESPONSE)}, {field_of('json', 'error')})"
    known = f"({text_of('json', TASK)} IS NOT NULL AND {said} IS NOT NULL)"
    model, file = if_any(field_of("body", "model")), "to_json(file)"
    notes = () if not question or reading.question else (f"label: {question!r} of the JSON that was answered",)
    value = field_of("parsed", question) if question else "to_json(answer)"
    unfit = (
        (f"{value} IS NULL", literal(f"answers without {question!r}"))
        if question
        else (f"len(answer) > {SHORT}", literal(f"answers of more than {SHORT} characters, which are no labels,"))
    )
    return Export(
        answers,
        {name: field_of("json", name) for name in files.columns}
        | {
            "task": field_of("json", TASK),
            "worker": file if reading.worker_from_file else f"coalesce({model}, {file})",
            "label": value,
            "model": model,
            "file": file,
        },
        left_out=cases(
            (f"NOT {known}", "NULL"),
            ("failed", literal("failed requests")),
            ("answer IS NULL OR answer = ''", literal("empty answers")),
            unfit,
        ),
        problem=cases(
            (
                f"{text_of('json', TASK)} IS NULL",
                words("path", literal(f": no {TASK} in "), excerpt("json")),
            ),
            (f"NOT {known}", words(literal(f"{files.name}: no {RESPONSE} or error in "), excerpt("json"))),
            (
                f"json_type({value}) IN ('ARRAY', 'OBJECT')" if question else "false",
                words(
                    "path", literal(f": {TASK} "), text_of("json", TASK),
                    literal(f": {question!r} is not one value: "), excerpt(value),
                ),
            ),
        ),
        nested=True,
        question=question,
        notes=(*notes, *([named_by_files(files)] if reading.worker_from_file else [])),
    )  # fmt: skip


def _answers(files: Files) -> str:
    """The query for all answers, as texts and as objects of JSON; a request that failed has none.

    The chat API has them in ``choices``, of which there may be several, the Responses API in parts of ``output``.
    """
    chosen = f"coalesce({text_of(field_of('choice', 'message'), 'content')}, {text_of('choice', 'text')})"
    choices = f"list_transform({list_of(field_of('body', 'choices'))}, lambda choice: {chosen})"
    contents = f"flatten(list_transform({list_of(field_of('body', 'output'))}, lambda item: {_parts('item')}))"
    texts = f"list_transform(list_filter({contents}, lambda part: {text_of('part', 'type')} = 'output_text'), "
    output = f"array_to_string({texts} lambda part: {text_of('part', 'text')}), '')"
    body = field_of(field_of("json", RESPONSE), "body")
    status = text_of(field_of("json", RESPONSE), "status_code")
    failed = f"{if_any(field_of('json', 'error'))} IS NOT NULL OR ({status} = '200') IS NOT TRUE"
    rows = f"SELECT json, path, file, {body} AS body, {failed} AS failed FROM ({files.named_objects})"
    listed = f"CASE json_type({field_of('body', 'output')}) WHEN 'ARRAY' THEN [{output}] ELSE {choices} END"
    each = f"SELECT *, {listed} AS answers FROM ({rows})"
    one = f"SELECT *, unnest(CASE WHEN failed OR len(answers) = 0 THEN [NULL] ELSE answers END) AS said FROM ({each})"
    bare = (
        f"CASE WHEN regexp_matches(said, '{FENCED}', 's') THEN regexp_extract(said, '{FENCED}', 1, 's') ELSE said END"
    )
    trimmed = f"SELECT * EXCLUDE (said, answers), trim({bare}, ' \t\n\r') AS trimmed FROM ({one})"
    parsed = "CASE WHEN json_valid(trimmed) THEN trimmed::JSON END"
    return (
        "SELECT *, CASE json_type(parsed) WHEN 'VARCHAR' THEN json_extract_string(parsed, '$') ELSE trimmed END "
        f"AS answer FROM (SELECT *, {parsed} AS parsed FROM ({trimmed}))"
    )


def _parts(item: str) -> str:
    """The expression for the parts of an item of the output; what the model thought before is no message."""
    return f"CASE {text_of(item, 'type')} WHEN 'message' THEN {list_of(field_of(item, 'content'))} ELSE [] END"


def _question(files: Files, answers: str, question: str) -> str:
    """The key of the answers whose value is the label; empty if they are no objects."""
    objects = f"SELECT parsed, unnest(json_keys(parsed)) AS name FROM ({answers}) WHERE json_type(parsed) = 'OBJECT'"
    values = f"SELECT name, json_extract(parsed, {way_to('name')}) AS value FROM ({objects})"
    scalar = "json_type(value) NOT IN ('ARRAY', 'OBJECT', 'NULL')"
    rows = files.ask(
        f"SELECT name, coalesce(bool_or(len(json_extract_string(value, '$')) > {SHORT}), false) "
        f"FROM ({values}) WHERE {scalar} GROUP BY name ORDER BY name"
    )
    if not rows and not question:
        return ""
    short = [str(name) for name, is_long in rows if not is_long]
    if not question:
        _check_mostly_objects(files, answers, short)
    if not question and len(short) == 1:
        return short[0]
    return files.choose_question(question, [str(name) for name, _ in rows], TITLE)


def _check_mostly_objects(files: Files, answers: str, keys: Sequence[str]) -> None:
    """Raises if more answers are texts than objects: a key would leave most of them out."""
    ((objects, texts),) = files.ask(
        f"SELECT count(*) FILTER (is_object), count(*) FILTER (NOT is_object) FROM "
        f"(SELECT json_type(parsed) IS NOT DISTINCT FROM 'OBJECT' AS is_object FROM ({answers}) "
        "WHERE NOT failed AND answer <> '')"
    )
    if int(str(objects)) < int(str(texts)):
        raise InputError(
            f"{files.name}: {objects} answers are JSON, {texts} are texts: name the key with --question "
            f"({', '.join(keys)}), or leave out the requests that were answered in JSON"
        )


TOOL = Tool("an OpenAI batch (output)", recognise, read, ("question", "worker_from_file"))
