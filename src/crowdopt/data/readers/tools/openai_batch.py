"""OpenAI batch output: JSON Lines, a line for each request; each model is a worker, what it answered is the label."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from crowdopt.data.readers.jsonl import pointer
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

DEEPEST = 8
"""Objects inside each other in which labels are looked for."""

FENCED = r"^\s*```[A-Za-z]*\s*(.*?)\s*```\s*$"
"""JSON in Markdown, which models like to write."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such lines, or those of the requests, which are often taken for them."""
    return {TASK, RESPONSE} <= set(columns) or {TASK, "method", "url", "body"} <= set(columns)


def read(files: Files, reading: Reading) -> Export:
    """The answers of requests that did not fail: short texts, or what stands at one place of objects of JSON."""
    if RESPONSE not in files.columns and {"method", "body"} <= set(files.columns):
        raise ColumnError(f"{files.name} has the requests of a batch: give its output file, which has the answers")
    files.need([TASK, RESPONSE], TITLE)
    answers = files.stored(_answers(files))
    question, way = _question(files, answers, reading.question)
    said = f"coalesce({field_of('json', RESPONSE)}, {field_of('json', 'error')})"
    known = f"({text_of('json', TASK)} IS NOT NULL AND {said} IS NOT NULL)"
    model, file = if_any(field_of("body", "model")), "to_json(file)"
    notes = () if not question or reading.question else (f"label: {question!r} of the JSON that was answered",)
    value = f"json_extract(parsed, {literal(way)})" if question else "to_json(answer)"
    unfit = [
        (
            "json_type(parsed) IN ('ARRAY', 'OBJECT')",
            literal("answers that are lists or objects, which are no labels,"),
        ),
        (f"len(answer) > {SHORT}", literal(f"answers of more than {SHORT} characters, which are no labels,")),
    ]
    if question:
        unfit = [(f"{value} IS NULL", literal(f"answers without {question!r}"))]
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
            ("calls > 1", literal("answers of several function calls")),
            ("answer IS NULL OR answer = ''", literal("empty answers")),
            *unfit,
        ),
        problem=cases(
            (
                f"{text_of('json', TASK)} IS NULL",
                words("path", literal(f": no {TASK} in "), excerpt("json")),
            ),
            (f"NOT {known}", words("path", literal(f": no {RESPONSE} or error in "), excerpt("json"))),
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

    The chat API has them in ``choices``, of which there may be several, the Responses API in ``output``. A model that
    calls a function answers with its arguments.
    """
    body = field_of(field_of("json", RESPONSE), "body")
    status = text_of(field_of("json", RESPONSE), "status_code")
    failed = f"{if_any(field_of('json', 'error'))} IS NOT NULL OR ({status} = '200') IS NOT TRUE"
    rows = f"SELECT json, path, file, {body} AS body, {failed} AS failed FROM ({files.named_objects})"
    choices = f"list_transform({list_of(field_of('body', 'choices'))}, lambda choice: {_choice()})"
    listed = f"CASE json_type({field_of('body', 'output')}) WHEN 'ARRAY' THEN [{_output()}] ELSE {choices} END"
    each = f"SELECT *, {listed} AS answers FROM ({rows})"
    one = f"SELECT *, unnest(CASE WHEN failed OR len(answers) = 0 THEN [NULL] ELSE answers END) AS one FROM ({each})"
    called = "CASE WHEN len(one.called) = 1 THEN one.called[1] ELSE one.said END"
    told = f"SELECT * EXCLUDE (one, answers), {called} AS said, coalesce(len(one.called), 0) AS calls FROM ({one})"
    bare = (
        f"CASE WHEN regexp_matches(said, '{FENCED}', 's') THEN regexp_extract(said, '{FENCED}', 1, 's') ELSE said END"
    )
    trimmed = f"SELECT * EXCLUDE said, trim({bare}, ' \t\n\r') AS trimmed FROM ({told})"
    parsed = "CASE WHEN json_valid(trimmed) THEN trimmed::JSON END"
    return (
        "SELECT *, CASE json_type(parsed) WHEN 'VARCHAR' THEN json_extract_string(parsed, '$') ELSE trimmed END "
        f"AS answer FROM (SELECT *, {parsed} AS parsed FROM ({trimmed}))"
    )


def _choice() -> str:
    """The expression for what a choice of the chat API says, and the arguments of the functions that it calls."""
    message = field_of("choice", "message")
    said = f"coalesce({text_of(message, 'content')}, {text_of('choice', 'text')})"
    arguments = text_of(field_of("call", "function"), "arguments")
    calls = f"list_transform({list_of(field_of(message, 'tool_calls'))}, lambda call: {arguments})"
    return f"{{'said': {said}, 'called': {calls}}}"


def _output() -> str:
    """The same for the output of the Responses API; what the model thought before is no message."""
    output = list_of(field_of("body", "output"))
    parts = f"CASE {text_of('item', 'type')} WHEN 'message' THEN {list_of(field_of('item', 'content'))} ELSE [] END"
    contents = f"flatten(list_transform({output}, lambda item: {parts}))"
    texts = f"list_transform(list_filter({contents}, lambda part: {text_of('part', 'type')} = 'output_text'), "
    said = f"array_to_string({texts} lambda part: {text_of('part', 'text')}), '')"
    calls = f"list_filter({output}, lambda item: {text_of('item', 'type')} = 'function_call')"
    return f"{{'said': {said}, 'called': list_transform({calls}, lambda call: {text_of('call', 'arguments')})}}"


def _question(files: Files, answers: str, question: str) -> tuple[str, str]:
    """What of the answers is the label, as the keys that lead there and as a pointer; empty if they are no objects.

    A key is not chosen for the user where another holds more than one value, since that may be what was asked for.
    """
    values = _inside(answers)
    scalar = "json_type(value) NOT IN ('ARRAY', 'OBJECT', 'NULL')"
    rows = files.ask(
        f"SELECT keys, coalesce(bool_or(len(json_extract_string(value, '$')) > {SHORT}), false) "
        f"FROM ({values}) WHERE {scalar} GROUP BY keys ORDER BY len(keys), keys"
    )
    ways: dict[str, list[str]] = {}
    short: list[str] = []
    for found, is_long in rows:
        keys = cast("list[str]", found)
        name = ".".join(keys)
        if name not in ways:  # a key with dots in it goes before a path
            ways[name] = keys
            short += [] if is_long else [name]
    if question:
        question = files.choose_question(question, list(ways), TITLE)
    elif ways:
        _check_mostly_objects(files, answers, short)
        question = short[0] if len(short) == 1 else ""
        _check_single_values(files, values, list(ways), ways.get(question, []))
        question = files.choose_question(question, list(ways), TITLE)
    return question, "".join(map(pointer, ways.get(question, [])))


def _inside(answers: str) -> str:
    """The query for all values in objects, however deep, with the keys that lead there."""
    way = way_to("key")
    deeper = "SELECT *, unnest(json_keys(value)) AS key FROM inside WHERE json_type(value) = 'OBJECT'"
    return (
        f"WITH RECURSIVE inside AS (SELECT []::VARCHAR[] AS keys, parsed AS value FROM ({answers}) "
        f"WHERE json_type(parsed) = 'OBJECT' UNION ALL SELECT list_append(keys, key), json_extract(value, {way}) "
        f"FROM ({deeper} AND len(keys) < {DEEPEST})) SELECT * FROM inside WHERE len(keys) > 0"
    )


def _check_single_values(files: Files, values: str, names: Sequence[str], chosen: Sequence[str]) -> None:
    """Raises if objects or lists stand anywhere but on the way to what would be chosen."""
    rows = files.ask(
        f"SELECT DISTINCT keys FROM ({values}) WHERE json_type(value) IN ('ARRAY', 'OBJECT') ORDER BY keys"
    )
    several = [cast("list[str]", keys) for (keys,) in rows]
    if others := [".".join(keys) for keys in several if keys != chosen[: len(keys)]]:
        raise InputError(
            f"{_all(files)}: {others[0]!r} is not one value in some answers: name what is the label with --question "
            f"({', '.join(names)})"
        )


def _check_mostly_objects(files: Files, answers: str, keys: Sequence[str]) -> None:
    """Raises if more answers are texts than objects: a key would leave most of them out."""
    ((objects, texts),) = files.ask(
        f"SELECT count(*) FILTER (is_object), count(*) FILTER (NOT is_object) FROM "
        f"(SELECT json_type(parsed) IS NOT DISTINCT FROM 'OBJECT' AS is_object FROM ({answers}) "
        "WHERE NOT failed AND answer <> '')"
    )
    if int(str(objects)) < int(str(texts)):
        raise InputError(
            f"{_all(files)}: {objects} answers are JSON, {texts} are texts: name the key with --question "
            f"({', '.join(keys)}), or leave out the requests that were answered in JSON"
        )


def _all(files: Files) -> str:
    return files.name if len(files.sources) == 1 else f"the {len(files.sources)} files"


TOOL = Tool("an OpenAI batch (output)", recognise, read, ("question", "worker_from_file"))
