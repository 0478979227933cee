"""Prodigy: what ``prodigy db-out`` writes, JSON Lines with one line for each answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import Export, Files, Tool, cases, excerpt, field_of, list_of, text_of, words
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
    del reading  # a line answers one question
    files.need([TASK, "answer"], TITLE)
    task, answer = field_of("json", TASK), text_of("json", "answer")
    signed = not {ANNOTATOR, SESSION}.isdisjoint(files.columns)
    worker = f"coalesce({field_of('json', ANNOTATOR)}, {field_of('json', SESSION)})" if signed else "to_json(file)"
    choice = "accept" in files.columns
    accepted = list_of(field_of("json", "accept"))
    place = [literal(f"{files.name}: task "), f"{task}::VARCHAR", literal(": ")]
    several = words(
        *place, literal("several options were accepted ("), text_of("json", "accept"),
        literal("), and one label per response is needed"),
    )  # fmt: skip
    left_out = [(f"{answer} = 'ignore'", literal("ignored examples"))]
    if choice:  # to reject an example says nothing about its options
        left_out.append((f"{answer} = 'reject'", literal("rejected examples")))
    view = text_of("json", "_view_id")
    return Export(
        files.objects if signed else _objects_and_files(files),
        {name: field_of("json", name) for name in files.columns}
        | {"task": task, "worker": worker, "label": f"{accepted}[1]" if choice else field_of("json", "answer")},
        left_out=cases(*left_out),
        problem=cases(
            ("json_type(json) <> 'OBJECT'", words(literal(f"{files.name}: not an object: "), excerpt("json"))),
            (f"{task} IS NULL", words(literal(f"{files.name}: no {TASK} in "), excerpt("json"))),
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
        notes=() if signed else ("it does not say who answered: each file is taken for one worker",),
    )


def _objects_and_files(files: Files) -> str:
    """The query for all records, each with the name of its file, without folders if that is enough."""
    short = {source.name: Path(source.name.removesuffix(".gz").removesuffix(".zst")).stem for source in files.sources}
    names = short if len({*short.values()}) == len(files.sources) else {name: name for name in short}
    return " UNION ALL ".join(
        f"SELECT json, {literal(names[source.name])} AS file FROM ({replace(files, sources=[source]).objects})"
        for source in files.sources
    )


TOOL = Tool("Prodigy (db-out)", recognise, read)
