"""Toloka: the results of a pool as TSV, one row for each task of an assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import NOTHING, Export, Files, Tool, cases, excerpt, unprefixed, words
from crowdopt.data.readers.tools.several import answers_of
from crowdopt.data.tables.workspace import literal, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "Toloka"
INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
TASK, WORKER, STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"
VERDICT = "ACCEPT:verdict"
"""What the requester says of an assignment, in a file that goes back to Toloka."""

LONGEST = 200
"""Characters of an input that can be the name of its task."""

DIGITS = 16
"""Hexadecimal digits of the name of another task: 64 bits, so that no two of millions of tasks have the same."""

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
        rejected = f"{quote(STATUS)} = 'REJECTED'" + (f" OR {quote(VERDICT)} = '-'" if VERDICT in names else "")
        left_out.append((rejected, literal("rejected assignments")))
    query = files.table(names, [WORKER, OUTPUT + question, *([] if reading.keep_rejected else [STATUS])])
    known = [GOLDEN + question] if GOLDEN + question in names else []
    cells = answers_of(files, query, [OUTPUT + question, *known])
    answers, *golden = cells.values()
    task = _task(files, names)
    several = words(
        literal(f"{files.name}: task "), task, literal(", worker "), quote(WORKER),
        literal(f": several answers to {question!r} ("), excerpt(quote(OUTPUT + question)),
        literal("), and one label per response is needed"),
    )  # fmt: skip
    return Export(
        query,
        {"task": task, "worker": quote(WORKER), "label": f"({answers})[1]"} | unprefixed(names, INPUT, quote),
        left_out=cases(*left_out) if left_out else NOTHING,
        problem=cases((f"len({answers}) > 1", several)),
        gold=cases(*((f"len({one}) = 1", f"({one})[1]") for one in golden)) if golden else NOTHING,
        question=question,
    )


def _task(files: Files, names: Sequence[str]) -> str:
    """The task by its id, or else by what was put in: as it stands, if that is one field and no whole document."""
    if TASK in names:
        return quote(TASK)
    inputs = [quote(name) for name in names if name.startswith(INPUT)]
    if not inputs:
        files.need([TASK], TITLE)
    if len(inputs) > 1:
        listed = ", ".join(inputs)
        return f"CASE WHEN coalesce({listed}) IS NOT NULL THEN {_hashed(f'to_json([{listed}])')} END"
    return f"CASE WHEN length({inputs[0]}) > {LONGEST} THEN {_hashed(inputs[0])} ELSE {inputs[0]} END"


def _hashed(value: str) -> str:
    """A short name that is the same wherever the same is put in."""
    return f"left(md5({value}), {DIGITS})"


TOOL = Tool("Toloka (assignments)", recognise, read, ("question", "keep_rejected", "export_gold"))
