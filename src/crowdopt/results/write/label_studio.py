"""Answers as Label Studio takes them back: its own tasks, each with a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt._version import __version__
from crowdopt.data.load import paths_of
from crowdopt.data.readers.find_files import find_files
from crowdopt.data.readers.open_files import explain_errors
from crowdopt.data.readers.tools.base import Files, field_of, list_of, text_of
from crowdopt.data.readers.tools.label_studio import TYPES, annotated, is_min, wanted_control
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import InputError
from crowdopt.results.write.files import check_target, copy_query, whole_file

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt.data.load import Source
    from crowdopt.results.solution import Solution

LABEL_STUDIO_SUFFIXES = (".json",)
MODEL = f"crowdopt {__version__}"


def write_predictions(solution: Solution, source: Source, path: str | Path) -> None:
    """Writes the tasks that have an answer, with their data and one prediction each, whose score is the confidence.

    The export is read again, and joined with the answers: neither is held in memory.

    Raises:
        InputError: The responses are no export of Label Studio in JSON, so that the control is not known.
    """
    check_target(path, LABEL_STUDIO_SUFFIXES)
    reading, workspace = solution.reading, source.workspace
    if reading.tool != "label-studio" or workspace is None:
        raise InputError("predictions for Label Studio are made from its own export, and this is none")
    if reading.bins:
        raise InputError("Label Studio has no bins of scores: leave out --bins, or write a table")
    paths = paths_of(source.original)
    if "-" in paths:
        raise InputError("predictions are made from the export once more, and standard input is read only once")
    with explain_errors(paths), whole_file(path) as temporary, workspace.unchanged():
        files = Files(find_files(paths, workspace, reading.encoding), workspace)
        question = choose_control(files, reading.question)
        to_name, kind = _control(files, question)
        task = field_of("json", "id") if reading.task == "task" else field_of(field_of("json", "data"), reading.task)
        value = "{choices: [label::VARCHAR]}" if kind == "choices" else "{rating: label}"
        control = f"from_name: {literal(question)}, to_name: {literal(to_name)}, type: {literal(kind)}"
        result = f"[{{{control}, value: {value}}}]"
        prediction = f"[{{model_version: {literal(MODEL)}, score: confidence, result: {result}}}] AS predictions"
        query = (
            f"SELECT {field_of('json', 'id')} AS id, {field_of('json', 'data')} AS data, {prediction} "
            f"FROM ({files.objects}) JOIN _answers ON json_extract_string({task}, '$') = task::VARCHAR "
            f"WHERE label IS NOT NULL ORDER BY task, {text_of('json', 'id')}"
        )
        copy_query(solution.answers_table().to_native(), query, temporary, "FORMAT json, ARRAY true")


def choose_control(files: Files, question: str) -> str:
    """The control that was asked for, in an export that says what it belongs to."""
    if is_min(files.columns):
        raise InputError(f"{files.name} is JSON-MIN, which does not say what a control belongs to: export JSON instead")
    return wanted_control(files, question)


def _control(files: Files, question: str) -> tuple[str, str]:
    """What the control belongs to, and its type."""
    results = f"SELECT unnest({list_of('result')}) AS one FROM ({annotated(files)})"
    named = ", ".join(f"{text_of('one', name)} AS {name}" for name in ("from_name", "to_name", "type"))
    where = f"from_name = {literal(question)} AND type IN {TYPES}"
    found = files.ask(
        f"SELECT DISTINCT to_name, type FROM (SELECT {named} FROM ({results})) WHERE {where} ORDER BY ALL"
    )
    if len(found) != 1 or found[0][0] is None:
        raise InputError(f"{files.name}: the results of {question!r} do not belong to one 'to_name'")
    return str(found[0][0]), str(found[0][1])
