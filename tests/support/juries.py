"""Exports of juries that tests write, and what is read from them."""

from __future__ import annotations

import json

from support.needs import SAMPLES


def lines(name):
    return [json.loads(line) for line in (SAMPLES / name).read_text(encoding="utf-8").splitlines()]


def as_lines(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def as_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def notes(solution):
    return list(solution.source.about_export)


def responses(solution):
    rows = solution.source.responses.table.collect().to_arrow().to_pylist()
    return sorted((str(row["task"]), str(row["worker"]), row["label"]) for row in rows)
