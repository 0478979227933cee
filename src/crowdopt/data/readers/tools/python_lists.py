"""Lists as Python writes them into the cell of a CSV, or NumPy, or JSON: one for each, whoever wrote it."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdopt.data.tables.workspace import Workspace

NAME = "crowdopt_list"

TOKEN = re.compile(r"""\s*(?:([\[\]])|,|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|([^\s,\[\]'"]+))""", re.DOTALL)
"""A bracket, a comma (which NumPy leaves out), a text, or a word."""

WORDS = {"None": None, "null": None, "nan": None, "True": True, "true": True, "False": False, "false": False}

DEEPEST = 32
"""Lists in lists that are read; those of answers have one or two."""


def from_python(text: str, workspace: Workspace) -> str:
    """The expression for a list in a text, as JSON; no value if it is none."""
    known = workspace.connection.execute(f"SELECT 1 FROM duckdb_functions() WHERE function_name = '{NAME}'").fetchall()
    if not known:
        workspace.connection.create_function(NAME, _or_empty, ["VARCHAR"], "VARCHAR")
    return f"nullif({NAME}({text}), '')::JSON"


def _or_empty(text: str) -> str:
    """For the database, whose functions may not find nothing."""
    return as_json(text) or ""


def as_json(text: str) -> str | None:
    r"""A list that Python wrote, as JSON; None if it is no list.

    >>> print(as_json(repr(["it's", 'a "b"', None, [1, 2.5]])))
    ["it's", "a \"b\"", null, [1, 2.5]]
    >>> as_json("['a' 'b']"), as_json("[1"), as_json("a")
    ('["a", "b"]', None, None)
    >>> as_json(r"['\ud83d\ude00']"), as_json(r"['\ud83d']")
    ('["\\ud83d\\ude00"]', None)
    """
    try:
        written = json.dumps(_parsed(text), allow_nan=False)
        if "\\ud" in written:  # half of a character, unless the other half is there, too
            json.dumps(json.loads(written), ensure_ascii=False).encode()
    except ValueError:
        return None
    return written


def _parsed(text: str) -> list[Any]:
    text = text.strip()
    open_lists: list[list[Any]] = []
    at, end = 0, len(text)
    while at < end:
        token = TOKEN.match(text, at)
        if token is None:
            raise ValueError("neither a value nor a bracket")
        at, (bracket, quoted, word) = token.end(), token.groups()
        if bracket == "[":
            if len(open_lists) == DEEPEST:
                raise ValueError("too deep")
            open_lists.append([])
        elif not open_lists:
            raise ValueError("outside of the list")
        elif bracket == "]":
            done = open_lists.pop()
            if not open_lists:
                if at < end:
                    raise ValueError("behind the list")
                return done
            open_lists[-1].append(done)
        elif quoted or word:
            open_lists[-1].append(_unquoted(quoted) if quoted else _word(word))
    raise ValueError("the list is not closed")


def _unquoted(quoted: str) -> str:
    """A text without its quotes: as JSON has it, or Python."""
    if quoted[0] == '"':
        try:
            return str(json.loads(quoted))
        except ValueError:
            pass
    try:
        return str(literal_eval(quoted.replace("\n", "\\n")))
    except SyntaxError as error:  # an escape that is none
        raise ValueError(str(error)) from None


def _word(word: str) -> Any:
    if word in WORDS:
        return WORDS[word]
    return json.loads(word.removesuffix(".")) if word[:1] in "-0123456789" else _no_value(word)


def _no_value(word: str) -> Any:
    raise ValueError(f"{word!r} is no value")
