"""doccano: JSON or JSON Lines, one file for each user, whose name is theirs; the label is a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import (
    Export,
    Files,
    Tool,
    cases,
    excerpt,
    field_of,
    list_of,
    named_by_files,
    text_of,
    words,
)
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "doccano"
TASK = "id"
DATA = ("text", "data", "filename")
"""What was labelled, in projects of several kinds and versions."""

LABELS = ("label", "labels", "cats")
"""What the labels of a whole text or image are called, in projects of several kinds and versions."""

OWN = ("Comments", "annotation_approver")
"""Keys that no other tool writes."""

EARLY = "annotations"
"""What the labels were called in early versions, with numbers for labels and users."""

_A_TABLE = "; a table is read with --task id, and --worker-from-file if every file has the answers of one worker"


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such records: with a key of its own, or with nothing but what is needed."""
    data, labels = set(DATA) & set(columns), set(LABELS) & set(columns)
    alone = {TASK, *data, *labels} == set(columns)
    early = EARLY in columns and "text" in columns and OWN[1] in columns
    return TASK in columns and (early or (bool(data and labels) and (alone or bool(set(OWN) & set(columns)))))


def read(files: Files, reading: Reading) -> Export:
    """The labelled examples; the user is who the file is named after."""
    if not files.as_objects:
        raise ColumnError(f"{files.name} is no JSON of doccano{_A_TABLE}")
    available = [name for name in LABELS if name in files.columns]
    if EARLY in files.columns and not available:
        raise InputError(
            f"{files.name} has {EARLY!r} with numbers for labels and users, as early versions of doccano wrote them: "
            "make a table of it, with a row for each of them (task, worker, label)"
        )
    files.check_worker_names()
    files.need([TASK, *([] if available else LABELS[:1])], TITLE)
    question = files.choose_question(reading.question, available, TITLE)
    task, value = field_of("json", TASK), field_of("json", question)
    advice = "" if any(source.kind == "json" for source in files.sources) else _A_TABLE  # where JSON is no table
    place = ["path", literal(": example "), f"{task}::VARCHAR", literal(": ")]
    return Export(
        f"SELECT *, {list_of(value)} AS labels FROM ({files.named_objects})",
        {name: field_of("json", name) for name in files.columns}
        | {"task": task, "worker": "to_json(file)", "label": "labels[1]"},
        left_out=cases((f"json_type({value}) = 'ARRAY' AND len(labels) = 0", literal("examples without a label"))),
        problem=cases(
            (f"{text_of('json', TASK)} IS NULL", words("path", literal(f": no {TASK} in "), excerpt("json"))),
            (
                f"json_type({value}) IS DISTINCT FROM 'ARRAY'",
                words(*place, literal(f"{question!r} is no list, as doccano writes it{advice}")),
            ),
            (
                "json_type(labels[1]) IN ('ARRAY', 'OBJECT')",
                words(
                    *place, literal(f"{question!r} marks parts of it ("), excerpt("labels[1]"),
                    literal("), and only labels of whole examples are aggregated"),
                ),
            ),
            (
                "len(labels) > 1",
                words(
                    *place, literal("it has several labels ("), excerpt(value),
                    literal("), and one label per response is needed: let the project allow a single one"),
                ),
            ),
        ),
        nested=True,
        question=question,
        notes=(named_by_files(files),),
    )  # fmt: skip


TOOL = Tool("doccano", recognise, read, ("question", "worker_from_file"))
