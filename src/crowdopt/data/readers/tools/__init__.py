"""The exports of annotation tools, one file for each of them.

Imports the other ``readers``. Importing this loads no library of tables, so that the command line can list the tools.

Begin with ``base.py``: a tool is a :class:`~crowdopt.data.readers.tools.base.Tool`, which recognises its files by their
columns, and makes an ``Export`` of them: a query in SQL, and what its columns mean. A new tool is a file, and a line in
``TOOLS``. ``open_export.py`` checks and opens what they make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools import argilla, crowd_kit, label_studio, mturk, prodigy, toloka

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.readers.tools.base import Tool

TOOLS: dict[str, Tool] = {
    "mturk": mturk.TOOL,
    "label-studio": label_studio.TOOL,
    "toloka": toloka.TOOL,
    "prodigy": prodigy.TOOL,
    "argilla": argilla.TOOL,
    "crowd-kit": crowd_kit.TOOL,
}
"""By the names that ``--from`` takes."""


def recognise(columns: Sequence[str]) -> str:
    """The tool that alone writes such columns or keys; empty if they are those of any table."""
    if {"task", "worker", "label"} <= set(columns):
        return ""
    return next((name for name, tool in TOOLS.items() if tool.recognise(columns)), "")
