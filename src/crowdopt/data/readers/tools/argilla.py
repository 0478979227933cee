"""Argilla: flattened records, each with parallel lists of the answers to a question, their users and their status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import Export, Files, Tool, cases, excerpt, field_of, list_of, words
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "Argilla"
RESPONSES, USERS, STATUS = ".responses", ".responses.users", ".responses.status"


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such records."""
    return bool(_questions(columns))


def read(files: Files, reading: Reading) -> Export:
    """The responses that were submitted."""
    if {"fields", "responses"} <= set(files.columns):
        raise ColumnError(f"{files.name} has nested records: export them with records.to_list(flatten=True)")
    files.need(["id"], TITLE)
    available = _questions(files.columns)
    if not available:
        files.need([f"<question>{RESPONSES}", f"<question>{USERS}"], TITLE)
    question = files.choose_question(reading.question, available, TITLE)
    lists = {
        name: list_of(field_of("json", question + suffix))
        for name, suffix in (("answers", RESPONSES), ("users", USERS), ("states", STATUS))
    }
    parted = ", ".join(f"{value} AS {name}" for name, value in lists.items())
    # A row for each place in the longest list, so that lists of different lengths are seen.
    places = "unnest(range(1, greatest(len(answers), len(users), len(states)) + 1)) AS place"
    task, user = field_of("json", "id"), "users[place]"
    status, has_status = "json_extract_string(states[place], '$')", question + STATUS in files.columns
    where = [literal(f"{files.name}: record "), f"{task}::VARCHAR", literal(": ")]
    uneven = "len(answers) <> len(users)" + (" OR len(answers) <> len(states)" if has_status else "")
    return Export(
        f"SELECT *, {places} FROM (SELECT json, {parted} FROM ({files.objects}))",
        {name: field_of("json", name) for name in files.columns}
        | {"task": task, "worker": user, "label": "answers[place]"},
        left_out=cases(
            (f"{status} = 'discarded'", literal("discarded responses")), (f"{status} = 'draft'", literal("drafts"))
        ),
        problem=cases(
            (f"{task} IS NULL", words(literal(f"{files.name}: no id in "), excerpt("json"))),
            (uneven, words(*where, literal(f"the lists of {question!r} are not equally long"))),
            (
                "json_type(answers[place]) IN ('ARRAY', 'OBJECT')",
                words(
                    *where, literal(f"a response to {question!r} has more than one value ("),
                    excerpt("answers[place]"), literal("), and one label per response is needed"),
                ),
            ),
        ),
        nested=True,
    )  # fmt: skip


def _questions(columns: Sequence[str]) -> list[str]:
    found = [name.removesuffix(RESPONSES) for name in columns if name.endswith(RESPONSES)]
    return [name for name in found if name + USERS in columns]


TOOL = Tool("Argilla (flattened records)", recognise, read, ("question",))
