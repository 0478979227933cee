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
VIEW, VERSIONS = "_view_id", "versions"

UNREAD = ("relations", "text_input")
"""Interfaces, beside all ``*_manual``, whose work is not in whether an example was accepted."""

MARKS = ("spans", "relations", "audio_spans", "user_input")
"""What interfaces that are made of several leave in an example, beside options."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such lines."""
    return {TASK, INPUT, "answer"} <= set(columns)


def read(files: Files, reading: Reading) -> Export:
    """The answers but for ignored ones: the option that was accepted, or whether the example was."""
    files.need([TASK, "answer"], TITLE)
    task, answer = field_of("json", TASK), text_of("json", "answer")
    worker, notes = _worker(files, reading)
    accepted = list_of(field_of("json", "accept"))
    choice = has_options()
    place = ["path", literal(": task "), f"{task}::VARCHAR", literal(": ")]
    columns = {name: field_of("json", name) for name in files.columns} | {"task": task}
    several = words(
        *place, literal("several options were accepted ("), text_of("json", "accept"),
        literal("), and one label per response is needed"),
    )  # fmt: skip
    return Export(
        files.named_objects,
        columns
        | {"worker": worker, "label": f"CASE WHEN {choice} THEN {accepted}[1] ELSE {field_of('json', 'answer')} END"},
        left_out=cases(
            (f"{answer} = 'ignore'", literal("ignored examples")),
            # to reject an example says nothing about its options
            (f"{answer} = 'reject' AND {choice}", literal("rejected examples")),
        ),
        problem=cases(
            ("json_type(json) <> 'OBJECT'", words("path", literal(": not an object: "), excerpt("json"))),
            (f"{task} IS NULL", words("path", literal(f": no {TASK} in "), excerpt("json"))),
            (
                f"{answer} IS NULL OR {answer} NOT IN ('accept', 'reject', 'ignore')",
                words(*place, literal("its answer is not accept, reject or ignore")),
            ),
            *_without_labels(place),
            (f"len({accepted}) > 1 AND {answer} = 'accept'", several),
        ),
        nested=True,
        notes=(*notes, *_mixed(files, files.counting(files.objects, columns, reading, nested=True))),
    )


def has_options() -> str:
    """The condition that an example has options, one of which may be accepted."""
    there = " OR ".join(f"json_type({field_of('json', name)}) = 'ARRAY'" for name in ("accept", "options"))
    return f"coalesce({text_of('json', VIEW)} = 'choice' OR {there}, false)"


def _without_labels(place: Sequence[str]) -> list[tuple[str, str]]:
    """The conditions that an example was made in a way that gives no label of a worker, and what they say."""
    view = text_of("json", VIEW)
    made = [*place, literal("it was made with "), view]
    others = [literal(f'; --where "{VIEW} != '), view, literal('" takes what was made otherwise')]
    marks = " OR ".join(f"{text_of('json', name)} IS NOT NULL" for name in MARKS)
    return [
        (
            f"{view} = 'review' OR json_type({field_of('json', VERSIONS)}) = 'ARRAY'",
            words(*place, literal("it is a review, which decides about the answers of others: read these instead")),
        ),
        (
            f"{view} LIKE '%\\_manual' ESCAPE '\\'",
            words(*made, literal(", which marks spans and gives no label"), *others),
        ),
        (f"{view} IN {UNREAD}", words(*made, literal(", where to accept says nothing of what was done"), *others)),
        (
            f"{view} = 'blocks' AND ({marks}) AND NOT {has_options()}",
            words(*made, literal(" of marks or texts without options, and gives no label"), *others),
        ),
    ]


def _mixed(files: Files, records: str) -> tuple[str, ...]:
    """What is said where only some examples have options."""
    if not {"accept", "options"} & set(files.columns):
        return ()
    tests = f"count_if(NOT {has_options()}), count_if({has_options()})"
    counted = f"json_type(json) = 'OBJECT' AND {text_of('json', 'answer')} <> 'ignore'"
    ((without, having),) = files.ask(f"SELECT {tests} FROM ({records}) WHERE {counted}")
    if not (without and having):
        return ()
    return (f"examples without options among others, whose labels are accept and reject: {without:,}",)


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
