"""Toloka: the results of a pool as TSV, one row for each task of an assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import NOTHING, Export, Files, Tool, cases, unprefixed
from crowdopt.data.tables.workspace import literal, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "Toloka"
INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
TASK, WORKER, STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"
UNFINISHED = ("SKIPPED", "EXPIRED", "ACTIVE")


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the columns of such a file."""
    return WORKER in columns and any(name.startswith(OUTPUT) for name in columns)


def read(files: Files, reading: Reading) -> Export:
    """The assignments but for those that were rejected or never finished; control tasks bring their answer."""
    files.need([WORKER, *([] if reading.keep_rejected else [STATUS])], TITLE)
    names = list(dict.fromkeys(files.columns))
    outputs = [name.removeprefix(OUTPUT) for name in names if name.startswith(OUTPUT)]
    question = files.choose_question(reading.question, outputs, TITLE)
    left_out = [(f"{quote(STATUS)} IN {UNFINISHED}", literal("unfinished assignments"))] if STATUS in names else []
    if not reading.keep_rejected:
        left_out.append((f"{quote(STATUS)} = 'REJECTED'", literal("rejected assignments")))
    return Export(
        files.table(names),
        {"task": _task(files, names), "worker": quote(WORKER), "label": quote(OUTPUT + question)}
        | unprefixed(names, INPUT, quote),
        left_out=cases(*left_out) if left_out else NOTHING,
        gold=quote(GOLDEN + question) if GOLDEN + question in names else NOTHING,
    )


def _task(files: Files, names: Sequence[str]) -> str:
    """The task by its id, or else by what was put in."""
    if TASK in names:
        return quote(TASK)
    inputs = [quote(name) for name in names if name.startswith(INPUT)]
    if not inputs:
        files.need([TASK], TITLE)
    return inputs[0] if len(inputs) == 1 else f"to_json([{', '.join(inputs)}])::VARCHAR"


TOOL = Tool("Toloka (assignments)", recognise, read, ("question", "keep_rejected", "export_gold"))
