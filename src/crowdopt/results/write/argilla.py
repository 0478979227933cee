"""Answers for Argilla: its records, each with a suggestion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.argilla import flat_questions, is_nested, wanted_question
from crowdopt.data.readers.tools.base import field_of
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import InputError
from crowdopt.results.write.for_tools import MODEL, is_task

if TYPE_CHECKING:
    from crowdopt.data.readers.tools.base import Files
    from crowdopt.data.reading import Reading

CARRIED = ("fields", "metadata", "vectors")
"""What a record must bring along: Argilla empties what it is sent without."""


def suggestions(files: Files, reading: Reading) -> str:
    """The query for records, nested for ``records.from_json`` or flat for ``records.log``, as the export has them."""
    question = wanted_question(files, reading)
    task = field_of("json", "id") if reading.task == "task" else _named(files, reading.task)
    record = _nested(files, question) if is_nested(files.columns) else _flat(files, question)
    joined = f"({files.objects}) JOIN _answers ON {is_task(task, reading)}"
    found = f"SELECT json, task, label, confidence, {field_of('json', 'id')} AS id FROM {joined}"
    return f"SELECT {record} AS json FROM ({found}) ORDER BY task, id::VARCHAR"


def _named(files: Files, name: str) -> str:
    """A column of the export that tells tasks apart instead of the id."""
    if not is_nested(files.columns):
        return field_of("json", name)
    inside = "fields" if name in files.keys("fields") else "metadata"
    return field_of(field_of("json", inside), name)


def _nested(files: Files, question: str) -> str:
    carried = "".join(f"'{name}', {field_of('json', name)}, " for name in CARRIED if name in files.columns)
    suggestion = f"json_object('value', label, 'score', confidence, 'agent', {literal(MODEL)})"
    return f"json_object('id', id, {carried}'suggestions', json_object({literal(question)}, {suggestion}))"


def _flat(files: Files, question: str) -> str:
    if not files.as_objects and any(source.kind != "parquet" for source in files.sources):
        raise InputError(
            f"{files.name} has no types, and Argilla's metadata have: export with records.to_json() or as JSON of "
            "records.to_list(flatten=True)"
        )
    answers = tuple(f"{name}.{kind}" for name in flat_questions(files.columns) for kind in ("responses", "suggestion"))
    dropped = [name for name in files.columns if name.startswith(answers) or name in {"status", "_server_id"}]
    without = ", ".join(f"{literal(name)}, NULL" for name in dropped)
    said = {"": "label", ".suggestion.score": "confidence", ".suggestion.agent": literal(MODEL)}
    ours = ", ".join(f"{literal(question + name)}, {value}" for name, value in said.items())
    return f"json_merge_patch(json_merge_patch(json, json_object({without})), json_object({ours}))"
