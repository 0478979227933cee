"""crowd-kit: a table with columns task, worker (performer, before version 1) and label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import Export, Files, Tool
from crowdopt.data.tables.workspace import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "crowd-kit"


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the columns of a table of an early version; one of today is read as any other table."""
    return {"task", "performer", "label"} <= set(columns)


def read(files: Files, reading: Reading) -> Export:
    """The rows as they are."""
    del reading
    worker = "worker" if "worker" in files.columns or "performer" not in files.columns else "performer"
    files.need(["task", worker, "label"], TITLE)
    names = list(dict.fromkeys(files.columns))
    return Export(files.table(names), {name: quote(name) for name in names} | {"worker": quote(worker)})


TOOL = Tool("crowd-kit", recognise, read)
