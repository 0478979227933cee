"""Appen, which was Figure Eight and CrowdFlower: the full report as CSV, one row for each judgment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import NOTHING, Export, Files, Tool, cases
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "Appen"
UNIT, WORKER, TAINTED, GOLDEN = "_unit_id", "_worker_id", "_tainted", "_golden"
GOLD = "_gold"
"""What ends the name of the column that has the right answers to a question."""

AGGREGATED = "_trusted_judgments"
"""A column of other reports, which have a row for each unit."""

ANSWER = "crowdopt_answer"


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the columns of a report."""
    return {UNIT, WORKER} <= set(columns) or {UNIT, AGGREGATED} <= set(columns)


def read(files: Files, reading: Reading) -> Export:
    """The judgments but for tainted ones; each line of a cell is an answer. Test questions bring the right one."""
    if AGGREGATED in files.columns and WORKER not in files.columns:
        raise ColumnError(
            f"{files.name} is an aggregated report of Appen, which does not say who answered what: download the full "
            "report (Results, Full)"
        )
    files.need([UNIT, WORKER], TITLE)
    names = [name for name in dict.fromkeys(files.columns) if name]
    query = files.table(names, [UNIT, WORKER])
    columns = {name: quote(name) for name in names} | {"task": quote(UNIT), "worker": quote(WORKER)}
    counting = files.counting(query, columns, reading)
    question = _question(files, counting, names, reading.question)
    files.table([question])  # which every file has
    tainted = f"lower({quote(TAINTED)}::VARCHAR) = 'true'"
    leaves_out = TAINTED in names and not reading.keep_rejected
    known = _known(names, question)
    counts = f"NOT coalesce({tainted}, false)" if leaves_out else "true"
    lines = f"CASE WHEN {counts} THEN {_lines(quote(question))} ELSE [NULL] END"
    return Export(
        f"SELECT *, unnest({lines}) AS {ANSWER} FROM ({query})",
        columns | {"label": ANSWER},
        left_out=cases((tainted, literal("tainted judgments"))) if leaves_out else NOTHING,
        gold=cases((f"len({known}) = 1", f"{known}[1]")) if known else NOTHING,
        question=question,
        notes=_notes(files, counting, question, known, counts),
    )


def _question(files: Files, query: str, names: Sequence[str], wanted: str) -> str:
    """The question that is named, which may be any column that Appen did not make; or the only one that is found."""
    golds = {name for name in names if name.endswith(GOLD) and name.removesuffix(GOLD) in names}
    possible = [name for name in names if not name.startswith("_") and name not in golds]
    if wanted or not possible:
        return files.choose_question(wanted, possible, TITLE)
    found = _questions(files, query, possible, golds)
    if not found:
        raise InputError(
            f"{files.name} does not say which of its columns has the answers, and none differs between the judgments "
            f"of a unit: name one with --question ({', '.join(possible)})"
        )
    return files.choose_question("", found, TITLE)


def _questions(files: Files, query: str, possible: Sequence[str], golds: set[str]) -> list[str]:
    """The columns that judgments of one unit differ in; and those that have right answers and are not all empty.

    All other columns are most likely inputs, which are the same for each unit.
    """
    cells = [f"coalesce({quote(name)}::VARCHAR, '')" for name in possible]
    lowest = ", ".join(f"min({cell}) AS low{place}, max({cell}) AS high{place}" for place, cell in enumerate(cells))
    units = f"SELECT {lowest} FROM ({query}) GROUP BY {quote(UNIT)}"
    tests = ", ".join(f"bool_or(low{place} <> high{place}), bool_or(high{place} <> '')" for place in range(len(cells)))
    found = files.ask(f"SELECT {tests} FROM ({units})")[0]
    differing = [name for name, differs in zip(possible, found[::2], strict=True) if differs]
    known = [name for name, filled in zip(possible, found[1::2], strict=True) if filled and name + GOLD in golds]
    copies = _copies(files, query, [name for name in known if name not in differing], possible)
    return [name for name in possible if name in differing or (name in known and name not in copies)]


def _copies(files: Files, query: str, known: Sequence[str], possible: Sequence[str]) -> set[str]:
    """The columns that hand an input through the form: they equal it in every row."""
    pairs = [(name, other) for name in known for other in possible if other not in known]
    if not pairs:
        return set()
    tests = ", ".join(f"bool_and({quote(name)} IS NOT DISTINCT FROM {quote(other)})" for name, other in pairs)
    equal = files.ask(f"SELECT {tests} FROM ({query})")[0]
    return {name for (name, _), same in zip(pairs, equal, strict=True) if same}


def _lines(cell: str) -> str:
    """The expression for the answers in a cell, one for each line; one that has no value, if it is empty."""
    lines = (
        f"list_transform(string_split({cell}::VARCHAR, chr(10)), lambda line: trim(line, chr(13) || chr(10) || ' '))"
    )
    answers = f"list_filter({lines}, lambda line: line <> '')"
    return f"CASE WHEN len({answers}) > 0 THEN {answers} ELSE [NULL] END"


def _known(names: Sequence[str], question: str) -> str:
    """The expression for the right answers to a test question; empty if the report has none."""
    if question + GOLD not in names:
        return ""
    known = f"list_filter({_lines(quote(question + GOLD))}, lambda line: line IS NOT NULL)"
    return f"CASE WHEN lower({quote(GOLDEN)}::VARCHAR) = 'true' THEN {known} END" if GOLDEN in names else known


def _notes(files: Files, query: str, question: str, known: str, counts: str) -> tuple[str, ...]:
    several = f"count(*) FILTER (WHERE {counts} AND len({_lines(quote(question))}) > 1)"
    units = f"count(DISTINCT {quote(UNIT)}) FILTER (WHERE len({known}) > 1)" if known else "0"
    n_several, n_units = (int(str(n)) for n in files.ask(f"SELECT {several}, {units} FROM ({query})")[0])
    said = []
    if n_several:
        said.append(f"judgments with several answers: {n_several:,}, each answer counts as a response")
    if n_units:
        said.append(f"test questions with several right answers, which measure nothing: {n_units:,}")
    return tuple(said)


TOOL = Tool("Appen (full report)", recognise, read, ("question", "keep_rejected", "export_gold"))
