"""Exports of tools: written, and opened without anything being counted, which takes but a moment."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from crowdopt.data.load import open_responses
from crowdopt.data.reading import Reading
from crowdopt.data.tables.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt.data.readers.tools.open_export import OpenedSource


def opened(*paths: Path, **options: Any) -> tuple[list[tuple[str, ...]], OpenedSource]:
    """The responses of files as texts (task, worker, label), of which those without a label are not; and the source."""
    with Workspace(threads=1) as workspace:
        source = open_responses([str(path) for path in paths], Reading(**{"tool": "auto"} | options), workspace)
        rows = [row[:3] for row in source.table.fetchall()]
        if source.gold is not None:
            source.gold.fetchall()
    return sorted(tuple(map(str, row)) for row in rows if None not in row), source


def as_table(path: Path, header: list[str], rows: list[list[Any]]) -> Path:
    """A CSV file, or one with tabs."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([header, *rows])
    return path


def as_json(path: Path, value: Any) -> Path:
    """A JSON file; of a list, JSON Lines by the suffix."""
    lines = path.suffix in {".jsonl", ".ndjson"}
    path.write_text("".join(json.dumps(one) + "\n" for one in value) if lines else json.dumps(value))
    return path
