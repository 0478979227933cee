"""Answers for Label Studio: tasks with a prediction each, for a new project; or predictions for the same project."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdopt.data.readers.tools.base import field_of
from crowdopt.data.readers.tools.label_studio import annotated, is_of, tagged, wanted_control
from crowdopt.data.readers.tools.label_studio_flat import is_flat
from crowdopt.data.readers.tools.label_studio_values import STEP, VALUES, path_in, path_label
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import InputError
from crowdopt.results.write.for_tools import MODEL, is_task

if TYPE_CHECKING:
    from crowdopt.data.readers.tools.base import Files
    from crowdopt.data.reading import Reading


@dataclass(frozen=True)
class _Control:
    """What a result says of the control that it is an answer to."""

    name: str
    to_name: str
    kind: str


PREDICTION = f"'result', [result], 'score', confidence, 'model_version', {literal(MODEL)}"


def tasks(files: Files, reading: Reading) -> str:
    """The query for tasks with their data and a prediction each, which make a new project."""
    prediction = f"'predictions', [json_object({PREDICTION})]"
    return _joined(files, reading, f"'id', id, 'data', {field_of('json', 'data')}, {prediction}")


def predictions(files: Files, reading: Reading) -> str:
    """The query for predictions that name the tasks of the project that the export came from."""
    return _joined(files, reading, f"'task', id, {PREDICTION}")


def _joined(files: Files, reading: Reading, fields: str) -> str:
    if is_flat(files.columns):
        raise InputError(
            f"{files.name} has one annotation in each record, and does not say what a control belongs to: export JSON "
            "instead of JSON-MIN, CSV or TSV"
        )
    control = _control(files, wanted_control(files, reading).name)
    task = field_of("json", "id") if reading.task == "task" else field_of(field_of("json", "data"), reading.task)
    label, paths = "label", ""
    if control.kind == "choices":
        label = "[label::VARCHAR]"
    elif control.kind == "taxonomy":
        label = f"[coalesce(path, to_json(string_split(label::VARCHAR, '{STEP}')))]"
        paths = f"LEFT JOIN ({_paths(files, control)}) ON path_label = label::VARCHAR"
    said = f"'from_name', {literal(control.name)}, 'to_name', {literal(control.to_name)}"
    result = f"json_object({said}, 'type', '{control.kind}', 'value', json_object('{VALUES[control.kind]}', {label}))"
    joined = f"({files.objects}) JOIN _answers ON {is_task(task, reading)} {paths}"
    found = f"SELECT json, task, confidence, {field_of('json', 'id')} AS id, {result} AS result FROM {joined}"
    return f"SELECT json_object({fields}) AS json FROM ({found}) ORDER BY task, id::VARCHAR"


def _control(files: Files, question: str) -> _Control:
    """What the control belongs to, and its type."""
    results = f"SELECT unnest({tagged('result')}) AS one FROM ({annotated(files)})"
    named = f"{field_of('one.json', 'to_name')}::VARCHAR AS to_name, one.type AS type"
    found = files.ask(f"SELECT DISTINCT {named} FROM ({results}) WHERE {is_of(question)} ORDER BY ALL")
    if len(found) != 1 or found[0][0] in {None, "null"}:
        raise InputError(f"{files.name}: the results of {question!r} do not belong to one 'to_name'")
    return _Control(question, _one_object(json.loads(str(found[0][0]))), str(found[0][1]))


def _one_object(to_name: Any) -> str:
    """One of the objects that a pairwise control is about: predictions that name both are not taken, without a word."""
    return str(to_name[0]) if isinstance(to_name, list) and to_name else str(to_name).partition(",")[0]


def _paths(files: Files, control: _Control) -> str:
    """The query for the path of each label, which may have the sign between two steps in a step."""
    results = f"SELECT unnest({tagged('result')}) AS one FROM ({annotated(files)})"
    path = path_in(field_of("one.json", "value"))
    paths = f"SELECT {path} AS path FROM ({results}) WHERE {is_of(control.name)}"
    label = f"json_extract_string({path_label('path')}, '$')"
    return f"SELECT {label} AS path_label, min(path::VARCHAR)::JSON AS path FROM ({paths}) GROUP BY path_label"
