"""Amazon Mechanical Turk: the results of a batch as CSV, one row for each assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.jsonl import pointer
from crowdopt.data.readers.tools.base import Export, Files, Tool, cases, excerpt, unprefixed, words
from crowdopt.data.tables.workspace import literal, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "MTurk"
NEEDED = ("HITId", "WorkerId")
STATUS = "AssignmentStatus"
ANSWER, INPUT = "Answer.", "Input."
ALL_ANSWERS = "Answer.taskAnswers"
"""The one column that has all answers, as JSON, where a task is made of Crowd HTML elements."""

PLAIN = ("label", "on")
"""What such elements call the value of a question that has but one."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the columns of such a file."""
    return {*NEEDED, STATUS} <= set(columns) and any(name.startswith(ANSWER) for name in columns)


def read(files: Files, reading: Reading) -> Export:
    """The assignments; those that were rejected are left out, unless they are wanted."""
    files.need([*NEEDED, *([] if reading.keep_rejected else [STATUS])], TITLE)
    names = [name for name in dict.fromkeys(files.columns) if name]
    query = files.table(names)
    answers = [name for name in names if name.startswith(ANSWER)]
    found = _from_json(files, query) if ALL_ANSWERS in answers else _from_columns(files, query, answers)
    question = files.choose_question(reading.question, list(found), TITLE)
    label, chosen = found[question]
    several = words(
        literal("HIT "), quote("HITId"), literal(", worker "), quote("WorkerId"),
        literal(f": more than one option of {question!r} ("), f"array_to_string({chosen}, ', ')",
        literal("), and one label per response is needed"),
    )  # fmt: skip
    problems = [(f"len({chosen}) > 1", several)]
    if ALL_ANSWERS in answers:
        cell = quote(ALL_ANSWERS)
        damaged = words(literal("HIT "), quote("HITId"), literal(f": {ALL_ANSWERS} is not JSON: "), excerpt(cell))
        problems.insert(0, (f"{cell} IS NOT NULL AND NOT json_valid({cell})", damaged))
    rejected = cases((f"{quote(STATUS)} = 'Rejected'", literal("rejected assignments")))
    return Export(
        query,
        {"task": quote("HITId"), "worker": quote("WorkerId"), "label": label} | unprefixed(names, INPUT, quote),
        left_out="NULL" if reading.keep_rejected else rejected,
        problem=cases(*problems),
    )


def _from_columns(files: Files, query: str, answers: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Questions by name; for each the expressions for its answer, and for all options that were chosen.

    A question has a column of its own, or one of true and false for each of its options.
    """
    families: dict[str, list[str]] = {}
    for name in answers:
        families.setdefault(name.removeprefix(ANSWER).rpartition(".")[0], []).append(name)
    ticked = _ticked(files, query, answers)
    found: dict[str, tuple[str, str]] = {}
    for base, members in families.items():
        if base and len(members) > 1 and ticked.issuperset(members):
            options = {name: name.removeprefix(f"{ANSWER}{base}.") for name in members}
            cells = ", ".join(cases((_is_true(name), literal(options[name]))) for name in members)
            chosen = f"list_filter([{cells}], lambda option: option IS NOT NULL)"
            found[base] = f"{chosen}[1]", chosen
            continue
        for name in members:
            own = name.removeprefix(ANSWER)
            short = base if base and len(members) == 1 and own.rpartition(".")[2] in PLAIN else own
            found[short] = quote(name), "[]"
    return found


def _is_true(name: str) -> str:
    return f"lower({quote(name)}::VARCHAR) = 'true'"


def _ticked(files: Files, query: str, answers: Sequence[str]) -> set[str]:
    """The columns that have nothing but true and false in them."""
    tests = ", ".join(f"bool_and(lower({quote(name)}::VARCHAR) IN ('true', 'false'))" for name in answers)
    passed = files.ask(f"SELECT {tests} FROM ({query})")[0] if answers else ()
    return {name for name, good in zip(answers, passed, strict=True) if good}


def _from_json(files: Files, query: str) -> dict[str, tuple[str, str]]:
    """The same for answers that stand in one column of JSON."""
    cell = quote(ALL_ANSWERS)
    whole = f"CASE WHEN json_valid({cell}) THEN {cell}::JSON END"
    first = f"CASE json_type({whole}) WHEN 'ARRAY' THEN json_extract({whole}, '/0') ELSE {whole} END"
    keys = f"SELECT unnest(json_keys(given)) AS name FROM (SELECT {first} AS given FROM ({query})) "
    rows = files.ask(f"SELECT DISTINCT name FROM ({keys} WHERE json_type(given) = 'OBJECT') ORDER BY name")
    found = {}
    for (name,) in rows:
        value = f"json_extract({first}, {literal(pointer(str(name)))})"
        options = f"CASE json_type({value}) WHEN 'OBJECT' THEN json_keys({value}) ELSE [] END"
        escaped = "replace(replace(option, '~', '~0'), '/', '~1')"
        true = f"json_extract_string({value}, concat('/', {escaped})) = 'true'"
        chosen = f"list_filter({options}, lambda option: {true})"
        plain = [(f"json_exists({value}, '/{one}')", f"json_extract_string({value}, '/{one}')") for one in PLAIN]
        label = cases(
            *plain, (f"json_type({value}) = 'OBJECT'", f"{chosen}[1]"), ("true", f"json_extract_string({value}, '$')")
        )
        found[str(name)] = label, chosen
    return found


TOOL = Tool("MTurk (batch results)", recognise, read, ("question", "keep_rejected"))
