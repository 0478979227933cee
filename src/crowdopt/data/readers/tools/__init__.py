"""The exports of annotation tools, one file for each of them.

Imports the other ``readers``. Importing this loads no library of tables, so that the command line can list the tools.

Begin with ``base.py``: a tool is a :class:`~crowdopt.data.readers.tools.base.Tool`, which recognises its files by their
columns, and makes an ``Export`` of them: a query in SQL, and what its columns mean. A new tool is a file, and a line in
``TOOL_NAMES``. ``open_export.py`` checks and opens what they make.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.readers.tools.base import Tool

TOOL_NAMES = (
    "mturk",
    "label-studio",
    "toloka",
    "prodigy",
    "argilla",
    "appen",
    "zooniverse",
    "crowd-kit",
    "ground-truth",
    "doccano",
    "openai-batch",
    "inspect-ai",
    "promptfoo",
    "labelbox",
)
"""The names that ``--from`` takes, in the order in which exports are recognised; each has a module of that name."""


def tool_named(name: str) -> Tool:
    """The tool of a name, imported when it is needed: the command line lists the names at every start."""
    tool: Tool = import_module(f"crowdopt.data.readers.tools.{name.replace('-', '_')}").TOOL
    return tool


def recognise(columns: Sequence[str]) -> str:
    """The tool that alone writes such columns or keys; empty if they are those of any table."""
    if {"task", "worker", "label"} <= set(columns):
        return ""
    return next((name for name in TOOL_NAMES if tool_named(name).recognise(columns)), "")
