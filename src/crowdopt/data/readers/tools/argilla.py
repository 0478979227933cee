"""Argilla: records, nested as ``to_json`` writes them, or flat, with parallel lists of answers, users and status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import Export, Files, Tool, cases, excerpt, field_of, list_of, text_of, words
from crowdopt.data.readers.tools.python_lists import from_python
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "Argilla"
RESPONSES, USERS, STATUS = ".responses", ".responses.users", ".responses.status"

NESTED = ("id", "fields", "metadata", "responses")
"""Keys of records that are nested."""

NO_STATUS = "it does not say which responses are drafts or were discarded, so all count (flattened records say so)"


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such records."""
    return bool(flat_questions(columns)) or is_nested(columns)


def is_nested(columns: Sequence[str]) -> bool:
    """Whether these are the keys of nested records."""
    return set(NESTED) <= set(columns)


def read(files: Files, reading: Reading) -> Export:
    """The responses that were submitted, as far as the records say that."""
    question = wanted_question(files, reading)
    nested = is_nested(files.columns)
    query, uneven, columns = _nested(files, question) if nested else _flat(files, question)
    task = field_of("json", "id")
    where = ["path", literal(": record "), f"{task}::VARCHAR", literal(": ")]
    several = literal(f"a response to {question!r} has more than one value (")
    return Export(
        query,
        columns | {"task": task, "worker": "worker", "label": "answer"},
        left_out=cases(
            ("status = 'discarded'", literal("discarded responses")), ("status = 'draft'", literal("drafts"))
        ),
        problem=cases(
            (f"{task} IS NULL", words("path", literal(": no id in "), excerpt("json"))),
            *[(condition, words(*where, literal(what))) for condition, what in uneven],
            (
                "json_type(answer) IN ('ARRAY', 'OBJECT')",
                words(*where, several, excerpt("answer"), literal("), and one label per response is needed")),
            ),
        ),
        nested=True,
        question=question,
        notes=(NO_STATUS,) if nested and not files.ask(f"SELECT 1 FROM ({query}) WHERE status <> '' LIMIT 1") else (),
    )


def wanted_question(files: Files, reading: Reading) -> str:
    """The question whose responses are wanted."""
    files.need(["id"], TITLE)
    if is_nested(files.columns):
        columns = _inside(files) | {"task": field_of("json", "id")} if reading.where else {}
        records = files.counting(files.objects, columns, reading, nested=True)
        available = files.keys("responses", records)
        if not available:
            raise InputError(f"{files.name} {_why_none(files)}")
    else:
        available = flat_questions(files.columns)
        if not available:
            files.need([f"<question>{RESPONSES}", f"<question>{USERS}"], TITLE)
    return files.choose_question(reading.question, available, TITLE)


def _why_none(files: Files) -> str:
    listed = f"json_array_length({field_of('json', 'responses')}) > 0"
    if files.ask(f"SELECT 1 FROM ({files.objects}) WHERE {listed} LIMIT 1"):
        return (
            "has lists of responses, as Argilla 1 writes them: move the dataset to Argilla 2, and export it from there"
        )
    return "has no answers: nobody has responded to a record of it yet"


def flat_questions(columns: Sequence[str]) -> list[str]:
    """The questions of flattened records."""
    found = [name.removesuffix(RESPONSES) for name in columns if name.endswith(RESPONSES)]
    return [name for name in found if name + USERS in columns]


_Read = tuple[str, list[tuple[str, str]], dict[str, str]]
"""Rows with an answer, a worker and a status; conditions that are wrong, and what they say; columns to keep."""


def _nested(files: Files, question: str) -> _Read:
    answers = field_of(field_of("json", "responses"), question)
    each = f"SELECT json, path, unnest({list_of(answers)}) AS one FROM ({files.placed_objects})"
    fields = f"{field_of('one', 'value')} AS answer, {field_of('one', 'user_id')} AS worker"
    query = f"SELECT json, path, {fields}, {text_of('one', 'status')} AS status FROM ({each})"
    return query, [], _inside(files)


def _inside(files: Files) -> dict[str, str]:
    """What can be read of a record that is nested."""
    columns = {
        name: field_of(field_of("json", inside), name)
        for inside in ("metadata", "fields")
        for name in files.keys(inside)
    }
    return columns | {"status": field_of("json", "status")}


def _flat(files: Files, question: str) -> _Read:
    lists = {
        name: _listed(files, field_of("json", question + suffix))
        for name, suffix in (("answers", RESPONSES), ("users", USERS), ("states", STATUS))
    }
    lists |= {"bad": " OR ".join(f"({value}) IS NULL" for value in lists.values())}
    parted = ", ".join(f"{value} AS {name}" for name, value in lists.items())
    # A row for each place in the longest list, so that lists of different lengths are seen; one if a list is none.
    n = "CASE WHEN bad THEN 1 ELSE greatest(len(answers), len(users), len(states)) END"
    places = (
        f"SELECT *, unnest(range(1, {n} + 1)) AS place FROM (SELECT json, path, {parted} FROM ({files.placed_objects}))"
    )
    fields = "answers[place] AS answer, users[place] AS worker, json_extract_string(states[place], '$') AS status"
    uneven = "len(answers) <> len(users)"
    if question + STATUS in files.columns:
        uneven += " OR len(answers) <> len(states)"
    wrong = [
        ("bad", f"the responses to {question!r} are not a list as Python or JSON write one"),
        (uneven, f"the lists of {question!r} are not equally long"),
    ]
    return f"SELECT *, {fields} FROM ({places})", wrong, {name: field_of("json", name) for name in files.columns}


def _listed(files: Files, value: str) -> str:
    """The items of a list, which a CSV has as a text; none if there is nothing, no value if the text is no list."""
    text = f"json_extract_string({value}, '$')"
    written = f"json_transform({from_python(text, files.workspace)}, '[\"JSON\"]')"
    return f"CASE WHEN json_type({value}) = 'VARCHAR' THEN {written} ELSE {list_of(value)} END"


TOOL = Tool("Argilla (records)", recognise, read, ("question",))
