"""Answers for Prodigy: its examples, each with the answer, as ``prodigy db-in`` takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import field_of
from crowdopt.data.readers.tools.prodigy import ANNOTATOR, SESSION, TASK, has_options
from crowdopt.data.tables.workspace import literal
from crowdopt.results.write.for_tools import MODEL, is_task

if TYPE_CHECKING:
    from crowdopt.data.readers.tools.base import Files
    from crowdopt.data.reading import Reading

OTHERS = (ANNOTATOR, SESSION, "_timestamp")
"""What an example says of who answered it."""


def examples(files: Files, reading: Reading) -> str:
    """The query for one example for each task, as the first of its annotators in the alphabet had it."""
    task = field_of("json", TASK if reading.task == "task" else reading.task)
    without = ", ".join(f"'{name}', NULL" for name in (*OTHERS, "accept", "answer"))
    ours = f"'{ANNOTATOR}', {literal(MODEL)}, '{SESSION}', {literal(MODEL)}, 'score', confidence"
    said = (
        "CASE WHEN has_options THEN json_object('accept', [label], 'answer', 'accept') "
        "ELSE json_object('answer', label) END"
    )
    own = f"SELECT {task} AS key, bool_or({has_options()}) AS has_options"
    one = f"{own}, min(json_merge_patch(json, json_object({without}))::VARCHAR)::JSON AS json"
    grouped = f"SELECT key, has_options, json FROM ({one} FROM ({files.objects}) GROUP BY key)"
    joined = f"({grouped}) JOIN _answers ON {is_task('key', reading)}"
    whole = f"json_merge_patch(json, json_merge_patch(json_object({ours}), {said}))"
    return f"SELECT {whole} AS json FROM {joined} ORDER BY task"
