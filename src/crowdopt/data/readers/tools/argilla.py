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
    question = wanted_question(files, reading.question)
    nested = is_nested(files.columns)
    query, uneven, columns = _nested(files, question) if nested else _flat(files, question)
    task = field_of("json", "id")
    where = [literal(f"{files.name}: record "), f"{task}::VARCHAR", literal(": ")]
    several = literal(f"a response to {question!r} has more than one value (")
    return Export(
        query,
        columns | {"task": task, "worker": "worker", "label": "answer"},
        left_out=cases(
            ("status = 'discarded'", literal("discarded responses")), ("status = 'draft'", literal("drafts"))
        ),
        problem=cases(
            (f"{task} IS NULL", words(literal(f"{files.name}: no id in "), excerpt("json"))),
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


def wanted_question(files: Files, question: str) -> str:
    """The question whose responses are wanted."""
    files.need(["id"], TITLE)
    available = files.keys("responses") if is_nested(files.columns) else flat_questions(files.columns)
    if not available:
        if is_nested(files.columns):
            raise InputError(f"{files.name} has no answers: nobody has responded to a record of it yet")
        files.need([f"<question>{RESPONSES}", f"<question>{USERS}"], TITLE)
    return files.choose_question(question, available, TITLE)


def flat_questions(columns: Sequence[str]) -> list[str]:
    """The questions of flattened records."""
    found = [name.removesuffix(RESPONSES) for name in columns if name.endswith(RESPONSES)]
    return [name for name in found if name + USERS in columns]


_Read = tuple[str, list[tuple[str, str]], dict[str, str]]
"""Rows with an answer, a worker and a status; conditions that are wrong, and what they say; columns to keep."""


def _nested(files: Files, question: str) -> _Read:
    answers = field_of(field_of("json", "responses"), question)
    each = f"SELECT json, unnest({list_of(answers)}) AS one FROM ({files.objects})"
    fields = f"{field_of('one', 'value')} AS answer, {field_of('one', 'user_id')} AS worker"
    query = f"SELECT json, {fields}, {text_of('one', 'status')} AS status FROM ({each})"
    columns = {
        name: field_of(field_of("json", inside), name)
        for inside in ("metadata", "fields")
        for name in files.keys(inside)
    }
    return query, [], columns | {"status": field_of("json", "status")}


def _flat(files: Files, question: str) -> _Read:
    lists = {
        name: _listed(files, field_of("json", question + suffix))
        for name, suffix in (("answers", RESPONSES), ("users", USERS), ("states", STATUS))
    }
    lists |= {"bad": " OR ".join(f"({value}) IS NULL" for value in lists.values())}
    parted = ", ".join(f"{value} AS {name}" for name, value in lists.items())
    # A row for each place in the longest list, so that lists of different lengths are seen; one if a list is none.
    n = "CASE WHEN bad THEN 1 ELSE greatest(len(answers), len(users), len(states)) END"
    places = f"SELECT *, unnest(range(1, {n} + 1)) AS place FROM (SELECT json, {parted} FROM ({files.objects}))"
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
