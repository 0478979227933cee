"""Prodigy: what ``prodigy db-out`` writes, JSON Lines with one line for each answer."""

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
    words,
)
from crowdopt.data.tables.workspace import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "Prodigy"
TASK, INPUT, ANNOTATOR, SESSION = "_task_hash", "_input_hash", "_annotator_id", "_session_id"


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such lines."""
    return {TASK, INPUT, "answer"} <= set(columns)


def read(files: Files, reading: Reading) -> Export:
    """The answers but for ignored ones: the option that was accepted, or whether the example was."""
    files.need([TASK, "answer"], TITLE)
    task, answer = field_of("json", TASK), text_of("json", "answer")
    worker, notes = _worker(files, reading)
    choice = "accept" in files.columns
    accepted = list_of(field_of("json", "accept"))
    place = ["path", literal(": task "), f"{task}::VARCHAR", literal(": ")]
    several = words(
        *place, literal("several options were accepted ("), text_of("json", "accept"),
        literal("), and one label per response is needed"),
    )  # fmt: skip
    left_out = [(f"{answer} = 'ignore'", literal("ignored examples"))]
    if choice:  # to reject an example says nothing about its options
        left_out.append((f"{answer} = 'reject'", literal("rejected examples")))
    view = text_of("json", "_view_id")
    return Export(
        files.named_objects,
        {name: field_of("json", name) for name in files.columns}
        | {"task": task, "worker": worker, "label": f"{accepted}[1]" if choice else field_of("json", "answer")},
        left_out=cases(*left_out),
        problem=cases(
            ("json_type(json) <> 'OBJECT'", words("path", literal(": not an object: "), excerpt("json"))),
            (f"{task} IS NULL", words("path", literal(f": no {TASK} in "), excerpt("json"))),
            (
                f"{answer} IS NULL OR {answer} NOT IN ('accept', 'reject', 'ignore')",
                words(*place, literal("its answer is not accept, reject or ignore")),
            ),
            (
                f"{view} LIKE '%\\_manual' ESCAPE '\\'",
                words(*place, literal("it was made with "), view, literal(", which marks spans and gives no label")),
            ),
            (f"len({accepted}) > 1 AND {answer} = 'accept'" if choice else "false", several),
        ),
        nested=True,
        notes=notes,
    )


def _worker(files: Files, reading: Reading) -> tuple[str, tuple[str, ...]]:
    """The worker of a line, and what is to be said of it: one that names no session has that of its file."""
    by_file = "to_json(file)"
    if reading.worker_from_file:
        return by_file, (named_by_files(files),)
    worker = f"coalesce({if_any(field_of('json', ANNOTATOR))}, {if_any(field_of('json', SESSION))})"
    ((unnamed,),) = files.ask(f"SELECT count(*) FROM ({files.objects}) WHERE {worker} IS NULL")
    if unnamed:
        files.check_worker_names()
    return f"coalesce({worker}, {by_file})", (f"no session: {named_by_files(files)}",) if unnamed else ()


TOOL = Tool("Prodigy (db-out)", recognise, read, ("worker_from_file",))
