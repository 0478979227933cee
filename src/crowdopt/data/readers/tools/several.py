"""Several answers in one cell: a list as JSON has it, or texts with a sign between them. One label is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import list_of
from crowdopt.data.tables.workspace import literal, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.readers.tools.base import Files

MOST_LABELS = 1000
"""A question with more answers is no choice among labels, which is what can be joined."""


def answers_of(files: Files, query: str, names: Sequence[str]) -> dict[str, str]:
    """The expressions for the answers in columns; what is no text is one answer."""
    found = files.workspace.sql(f"SELECT {', '.join(map(quote, names))} FROM ({query})") if names else None
    texts = [] if found is None else [str(one) == "VARCHAR" for one in found.types]
    return {
        name: answers_in(quote(name)) if text else f"CASE WHEN {quote(name)} IS NULL THEN [] ELSE [{quote(name)}] END"
        for name, text in zip(names, texts, strict=True)
    }


def answers_in(cell: str) -> str:
    """The expression for the answers in a text, as texts: the items of a list of plain values, or the text itself."""
    text = f"({cell})::VARCHAR"
    listed = f"CASE WHEN starts_with(trim({text}), '[') AND json_valid({text}) THEN {text}::JSON END"
    items = list_of(listed)
    plain = f"len(list_filter({items}, lambda one: json_type(one) IN ('OBJECT', 'ARRAY'))) = 0"
    return (
        f"CASE WHEN {text} IS NULL THEN [] WHEN json_type({listed}) = 'ARRAY' AND {plain} THEN {texts_of(items)} "
        f"ELSE [{text}] END"
    )


def texts_of(items: str) -> str:
    """The expression for the values of JSON in a list as texts, without those that are null."""
    texts = f"list_transform({items}, lambda one: json_extract_string(one, '$'))"
    return f"list_filter({texts}, lambda one: one IS NOT NULL)"


def joined_answers(files: Files, query: str, label: str, sign: str) -> str:
    """The condition that a label is several with a sign between them, each of which is an answer alone elsewhere."""
    cell, between = f"({label})::VARCHAR", literal(sign)
    rows = files.ask(  # each answer that has no sign in it, and whether there are others
        f"SELECT contains(cell, {between}) AS has_sign, CASE WHEN NOT has_sign THEN trim(cell) END AS alone "
        f"FROM (SELECT {cell} AS cell FROM ({query})) WHERE cell IS NOT NULL GROUP BY ALL LIMIT {MOST_LABELS + 1}"
    )
    alone = sorted(str(one) for has_sign, one in rows if not has_sign)
    if not alone or len(alone) == len(rows) or len(rows) > MOST_LABELS:
        return "false"
    parts = f"list_transform(string_split({cell}, {between}), lambda one: trim(one))"
    return f"contains({cell}, {between}) AND list_has_all([{', '.join(map(literal, alone))}], {parts})"


def about_joined(files: Files, query: str, label: str, sign: str, tool: str) -> tuple[str, ...]:
    """What is said of a plain table, some of whose labels are several, as far as one can see."""
    joined = joined_answers(files, query, label, sign)
    rows = [] if joined == "false" else files.ask(f"SELECT {label} FROM ({query}) WHERE {joined}")
    if not rows:
        return ()
    which = "1 label is others" if len(rows) == 1 else f"{len(rows):,} labels are others"
    example = f"{which} with {sign} between them (for example {str(rows[0][0])!r})"
    return (
        f"{example}: a CSV of {tool} has several labels of an example so, and each is taken for a label of its own",
    )
