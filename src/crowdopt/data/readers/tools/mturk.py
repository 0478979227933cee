"""Amazon Mechanical Turk: the results of a batch as CSV, one row for each assignment.

A HIT is a task, or has several items, each a task of its own: see ``mturk_items.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.jsonl import pointer
from crowdopt.data.readers.tools.base import (
    NOTHING,
    Export,
    Files,
    Tool,
    cases,
    excerpt,
    list_of,
    unprefixed,
    way_to,
    words,
)
from crowdopt.data.readers.tools.mturk_items import ITEM, Family, choose_question, items_of
from crowdopt.data.readers.tools.several import answers_in, answers_of, joined_answers, texts_of
from crowdopt.data.tables.workspace import literal, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "MTurk"
NEEDED = ("HITId", "WorkerId")
STATUS, REJECT = "AssignmentStatus", "Reject"
ANSWER, INPUT = "Answer.", "Input."
ALL_ANSWERS = "Answer.taskAnswers"
"""The one column that has all answers, as JSON, where a task is made of Crowd HTML elements."""

ITEM_NUMBER = "item"
"""What the number of an item is called by those who ask for it."""

PLAIN, LABELS = ("label", "on"), "labels"
"""What such elements call the value of a question that has but one, and that of one that may have several."""

ONE_OF = "radio buttons are taken for the options of one question, since one of them is chosen everywhere"
"""What is said of buttons that have names of their own."""

BETWEEN = "|"
"""What stands between the boxes that were checked in a form."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the columns of such a file."""
    return {*NEEDED, STATUS} <= set(columns) and any(name.startswith(ANSWER) for name in columns)


def read(files: Files, reading: Reading) -> Export:
    """The assignments; those that were rejected are left out, unless they are wanted."""
    files.need([*NEEDED, *([] if reading.keep_rejected else [STATUS])], TITLE)
    names = [name for name in dict.fromkeys(files.columns) if name]
    query = files.table(names, [*NEEDED, *([] if reading.keep_rejected else [STATUS])])
    answers = [name for name in names if name.startswith(ANSWER)]
    columns = {"task": quote("HITId"), "worker": quote("WorkerId")} | unprefixed(names, INPUT, quote)
    counting = files.counting(query, columns, reading)
    if ALL_ANSWERS in answers:
        found, buttons = _from_json(files, counting)
    else:
        found, buttons = _from_columns(files, counting, answers)
    group = _one_of(files, counting, buttons, reading.question)
    if group:
        found = {group: f"list_concat({', '.join(buttons.values())})"} | {
            name: value for name, value in found.items() if name not in buttons
        }
    question = choose_question(files, reading.question, list(found), items_of(_inputs(names)))
    notes: tuple[str, ...]
    if isinstance(question, Family):
        chosen = question.pick({n: found[name] for n, name in question.members.items()})
        query, columns = _each_item(query, question, f"({chosen})[1]", _inputs(names), columns)
        counting, _ = _each_item(counting, question, f"({chosen})[1]", _inputs(names), columns)
        counted, notes = "answers of ", (f"{len(question.members)} items in a HIT, each a task: {question}",)
    else:
        if ANSWER + question in names:
            files.table([ANSWER + question])  # every file has answers to it
        chosen, counted, notes = found[question], "", (ONE_OF,) if question == group else ()
    return Export(
        query,
        columns | {"label": f"({chosen})[1]"},
        left_out=NOTHING
        if reading.keep_rejected
        else cases((_rejected(names), literal(f"{counted}rejected assignments"))),
        problem=_problem(
            files, str(question), chosen, joined_answers(files, counting, f"({chosen})[1]", BETWEEN), answers
        ),
        question=str(question),
        notes=notes,
    )


def _problem(files: Files, question: str, chosen: str, joined: str, answers: Sequence[str]) -> str:
    """What is wrong with an assignment."""
    place = [literal(f"{files.name}: HIT "), quote("HITId"), literal(", worker "), quote("WorkerId"), literal(": ")]
    several = words(
        *place, literal(f"more than one option of {question!r} ("), f"array_to_string({chosen}, ', ')",
        literal("), and one label per response is needed"),
    )  # fmt: skip
    problems = [(f"len({chosen}) > 1 OR {joined}", several)]
    if ALL_ANSWERS in answers:
        cell = quote(ALL_ANSWERS)
        damaged = words(*place, literal(f"{ALL_ANSWERS} is not JSON: "), excerpt(cell))
        problems.insert(0, (f"{cell} IS NOT NULL AND NOT json_valid({cell})", damaged))
    return cases(*problems)


def _rejected(names: Sequence[str]) -> str:
    """Whether work was rejected, or will be as soon as the file goes back to MTurk, which has the reason."""
    return f"{quote(STATUS)} = 'Rejected'" + (f" OR {quote(REJECT)} IS NOT NULL" if REJECT in names else "")


def _inputs(names: Sequence[str]) -> list[str]:
    return [name.removeprefix(INPUT) for name in names if name.startswith(INPUT)]


def _each_item(
    query: str, question: Family, label: str, inputs: Sequence[str], columns: dict[str, str]
) -> tuple[str, dict[str, str]]:
    """A row for each item of an assignment, and what its columns mean; an item without an input is none."""
    numbers = ", ".join(map(str, question.members))
    query = f"SELECT * FROM ({query}) CROSS JOIN (SELECT unnest([{numbers}]) AS {ITEM})"
    own = {
        family: family.pick({n: quote(INPUT + name) for n, name in family.members.items() if n in question.members})
        for family in items_of(inputs)
        if question.is_of(family)
    }
    if own:
        there = " OR ".join(f"{value} IS NOT NULL" for value in (label, *own.values()))
        query = f"SELECT * FROM ({query}) WHERE {there}"
    taken = {"label", *(name.lower() for name in columns)}
    named = {
        family.name if family.name.lower() not in taken else family.pattern: value for family, value in own.items()
    }
    number = {} if ITEM_NUMBER in taken | set(named) else {ITEM_NUMBER: ITEM}
    return query, columns | number | named | {"task": f"concat({columns['task']}, '/', {ITEM})"}


_Found = tuple[dict[str, str], dict[str, str]]
"""Questions by name, and those that are but one option, as a radio button that has a name of its own: for each the
expression for all answers of an assignment."""


def _one_of(files: Files, query: str, buttons: dict[str, str], wanted: str) -> str:
    """The name of the question whose options some are; empty if not exactly one is chosen everywhere."""
    if len(buttons) < 2 or wanted in buttons:
        return ""
    if wanted == "/".join(buttons):
        return wanted
    tests = ", ".join(f"bool_or(len({one}) > 0)" for one in buttons.values())
    whole = f"bool_and(len(list_concat({', '.join(buttons.values())})) = 1)"
    found = files.ask(f"SELECT {whole}, {tests} FROM ({query})")[0]
    return "/".join(buttons) if all(found) else ""


def _from_columns(files: Files, query: str, answers: Sequence[str]) -> _Found:
    """What is found where a question has a column of its own, or one of true and false for each of its options."""
    families: dict[str, list[str]] = {}
    for name in answers:
        families.setdefault(name.removeprefix(ANSWER).rpartition(".")[0], []).append(name)
    ticked, given = _ticked(files, query, answers), answers_of(files, query, answers)
    found: dict[str, str] = {}
    buttons: dict[str, str] = {}
    for base, members in families.items():
        if base and len(members) > 1 and ticked.issuperset(members):
            options = {name: name.removeprefix(f"{ANSWER}{base}.") for name in members}
            cells = ", ".join(cases((_is_true(name), literal(options[name]))) for name in members)
            found[base] = f"list_filter([{cells}], lambda option: option IS NOT NULL)"
            continue
        for name in members:
            own = name.removeprefix(ANSWER)
            short = base if base and len(members) == 1 and own.rpartition(".")[2] in {*PLAIN, LABELS} else own
            found[short] = given[name]
            if short != base and len(members) == 1 and name in ticked:
                option = literal(own.rpartition(".")[2])
                buttons[short] = f"CASE WHEN {_is_true(name)} THEN [{option}] ELSE [] END"
    return found, buttons


def _is_true(name: str) -> str:
    return f"lower({quote(name)}::VARCHAR) = 'true'"


def _ticked(files: Files, query: str, answers: Sequence[str]) -> set[str]:
    """The columns that have nothing but true and false in them."""
    tests = ", ".join(f"bool_and(lower({quote(name)}::VARCHAR) IN ('true', 'false'))" for name in answers)
    passed = files.ask(f"SELECT {tests} FROM ({query})")[0] if answers else ()
    return {name for name, good in zip(answers, passed, strict=True) if good}


def _from_json(files: Files, query: str) -> _Found:
    """The same for answers that stand in one column of JSON."""
    cell = quote(ALL_ANSWERS)
    whole = f"CASE WHEN json_valid({cell}) THEN {cell}::JSON END"
    first = f"CASE json_type({whole}) WHEN 'ARRAY' THEN json_extract({whole}, '/0') ELSE {whole} END"
    forms = f"SELECT given FROM (SELECT {first} AS given FROM ({query})) WHERE json_type(given) = 'OBJECT'"
    keys = f"SELECT given, unnest(json_keys(given)) AS name FROM ({forms})"
    named = f"SELECT name, json_extract(given, {way_to('name')}) AS value FROM ({keys})"
    option = "json_keys(value)[1]"
    is_button = (
        f"json_type(value) = 'OBJECT' AND len(json_keys(value)) = 1 AND {option} NOT IN {PLAIN} "
        f"AND json_type(value, {way_to(option)}) = 'BOOLEAN'"
    )
    rows = files.ask(f"SELECT name, bool_and(coalesce({is_button}, false)) FROM ({named}) GROUP BY name ORDER BY name")
    found = {str(name): _chosen(f"json_extract({first}, {literal(pointer(str(name)))})") for name, _ in rows}
    return found, {str(name): found[str(name)] for name, is_option in rows if is_option}


def _chosen(value: str) -> str:
    """The expression for all answers in a value of JSON, as texts."""
    options = f"CASE json_type({value}) WHEN 'OBJECT' THEN json_keys({value}) ELSE [] END"
    true = f"json_extract_string({value}, {way_to('option')}) = 'true'"
    several = f"json_extract({value}, '/{LABELS}')"
    return cases(
        *((f"json_exists({value}, '/{one}')", answers_in(f"json_extract_string({value}, '/{one}')")) for one in PLAIN),
        (f"json_type({several}) = 'ARRAY'", texts_of(list_of(several))),
        (f"json_type({value}) = 'OBJECT'", f"list_filter({options}, lambda option: {true})"),
        ("true", answers_in(f"json_extract_string({value}, '$')")),
    )


TOOL = Tool("MTurk (batch results)", recognise, read, ("question", "keep_rejected"))
