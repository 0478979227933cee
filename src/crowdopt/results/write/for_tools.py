"""Answers as annotation tools take them back, made from the export that the responses came in.

Each format is a function that makes a query of the export: the records to write, each as one value ``json``, joined
with the answers, which are called ``_answers``. Neither the export nor the answers are held in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from crowdopt._version import __version__
from crowdopt.data.load import paths_of
from crowdopt.data.readers.addresses import Database
from crowdopt.data.readers.find_files import find_files
from crowdopt.data.readers.open_files import explain_errors
from crowdopt.data.readers.tools.base import Files
from crowdopt.errors import InputError
from crowdopt.model.letters import BLANKS
from crowdopt.results.write.files import check_target, whole_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from crowdopt.data.load import Source
    from crowdopt.data.reading import Reading
    from crowdopt.results.solution import Solution

MODEL = f"crowdopt {__version__}"
"""Who says so, for tools that ask."""

BATCH = 10_000
"""Records that are fetched at once."""


@dataclass(frozen=True)
class ToolFormat:
    """A form in which a tool takes answers.

    Attributes:
        tool: The tool whose export it is made from.
        title: What messages call the tool.
        query: The module beside this, and its function, that makes the query of files and how they were read.
        suffix: How the name of the file ends.
    """

    tool: str
    title: str
    query: str
    suffix: str = ".json"


TOOL_FORMATS = {
    "label-studio": ToolFormat("label-studio", "Label Studio", "label_studio.tasks"),
    "label-studio-predictions": ToolFormat("label-studio", "Label Studio", "label_studio.predictions"),
    "argilla": ToolFormat("argilla", "Argilla", "argilla.suggestions"),
    "prodigy": ToolFormat("prodigy", "Prodigy", "prodigy.examples", ".jsonl"),
}
"""By the name that ``--output-format`` has."""


def write_for_tool(solution: Solution, source: Source, path: str | Path | Database, output_format: str) -> None:
    """Writes the tasks that have an answer as a tool takes them.

    Raises:
        InputError: The responses are no export of that tool, or one that does not say enough.
    """
    if output_format not in TOOL_FORMATS:
        raise InputError(f"the output format must be table or {' or '.join(TOOL_FORMATS)}, not {output_format!r}")
    form = TOOL_FORMATS[output_format]
    if isinstance(path, Database):
        raise InputError(f"what {form.title} imports goes to a {form.suffix} file, not to a database")
    check_target(path, (form.suffix,))
    reading, workspace = solution.reading, source.workspace
    if reading.tool != form.tool or workspace is None:
        raise InputError(f"--output-format {output_format} is made from an export of {form.title}, and this is none")
    if reading.bins:
        raise InputError(f"{form.title} has no bins of scores: leave out --bins, or write a table")
    paths = paths_of(source.original)
    if "-" in paths:
        raise InputError(
            f"what {form.title} imports is made from the export once more, and standard input is read only once"
        )
    with explain_errors(paths), whole_file(path) as temporary, workspace.unchanged():
        files = Files(find_files(paths, workspace, reading.encoding), workspace, reading.delimiter)
        query = _function(form)(files, reading)
        rows = solution.answers_table().to_native().query("_answers", f"SELECT json::VARCHAR FROM ({query})")
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            _write_records(rows, file, as_array=form.suffix == ".json")


def _write_records(rows: Any, file: TextIO, *, as_array: bool) -> None:
    """Writes records, one in each line."""
    between = "[\n" if as_array else ""
    while batch := rows.fetchmany(BATCH):
        for (record,) in batch:
            file.write(between + record)
            between = ",\n" if as_array else "\n"
    file.write(between.replace(",", "") + "]\n" if as_array else between)


def _function(form: ToolFormat) -> Callable[[Files, Reading], str]:
    module, _, name = form.query.partition(".")
    function: Callable[[Files, Reading], str] = getattr(import_module(f"crowdopt.results.write.{module}"), name)
    return function


def is_task(cell: str, reading: Reading) -> str:
    """The condition that a value of JSON is the task of an answer, which has lost the blanks around it."""
    text = f"json_extract_string({cell}, '$')"
    return f"{text if reading.verbatim else _stripped(text)} = task::VARCHAR AND label IS NOT NULL"


def _stripped(text: str) -> str:
    return f"trim({text}, '{BLANKS}')"
