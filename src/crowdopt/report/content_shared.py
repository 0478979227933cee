"""What the reports of both kinds of solutions show: facts, tasks, workers, truth, and how to get the same again."""

from __future__ import annotations

import platform
from dataclasses import replace
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt._version import __version__
from crowdopt.data.reading import Reading
from crowdopt.data.tables.table import fetch
from crowdopt.model.scale import MAX_LABELS, canonical_text
from crowdopt.report.safe_text import clip, isolated, visible, with_safe_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.results.solution import Solution

MAX_TASKS, MAX_WORKERS = 2_000, 1_000
"""Rows of the two tables; the page says how many there are in all."""

MAX_ROWS = 20
"""Labels of a table, if there are many."""

MAX_KEPT = 12
"""Kept columns on the page."""

MAX_TEXT, MIN_TEXT, ALL_TEXTS = 400, 20, 800_000
"""Characters of one text of the user's on the page, at most and in any case, and bytes of all of one table."""

PACKAGES = ("numpy", "scipy", "duckdb", "narwhals", "pyarrow", "highspy", "numba")
"""What the result may depend on beside crowdopt itself."""


def shared_content(solution: Solution) -> dict[str, Any]:
    """The facts that every report begins with, and the workers."""
    named = with_safe_names(solution)
    words = named.words()
    return {
        "verdict": {"word": words.verdict.word, "sentence": words.verdict.sentence, "more": list(words.verdict.more)},
        "summary": solution.summary(),
        "notes": list(words.notes),
        "lines": words.facts,
        "advice": list(named.advice),
        "labels": list(named.scale.labels),
        "scale": solution.scale.kind,
        "workers": _workers(solution),
    }


def plain_numbers(row: Floats | Ints) -> list[float | int | None]:
    """Numbers as JSON has them: undefined ones as None, whole ones without a fraction."""
    return [None if np.isnan(value) else value.item() for value in row]


def least_certain(solution: Solution, figures: Sequence[str]) -> dict[str, Any]:
    """The least certain tasks, the least certain first: their label, some columns of the answers, and what is kept."""
    keep = list(solution.reading.kept)[:MAX_KEPT]
    table = solution.answers_table().select("task", "label", *figures, *keep)
    unsure = table.filter(nw.col("status") != "gold", nw.col("status") != "no_response")
    found = fetch(unsure.sort("confidence", "task").head(MAX_TASKS))
    texts = shortened_columns({name: _texts(found[name]) for name in ("task", "label", *keep)})
    rows = [
        {
            "task": texts["task"][i],
            "label": texts["label"][i],
            **{name: found[name][i] for name in figures},
            "kept": [texts[name][i] for name in keep],
        }
        for i in range(len(found["task"]))
    ]
    return {
        "keep": [visible(name) for name in keep],
        "n_not_shown": len(solution.reading.kept) - len(keep),
        "rows": rows,
        "names": [canonical_text(task) for task in found["task"]],
        "n_tasks": _n_labelled(solution),
    }


def _n_labelled(solution: Solution) -> int:
    """Tasks whose label was found: those with a response whose label was not known."""
    totals = solution.totals
    return totals.n_tasks - totals.n_gold - totals.n_no_response


def _texts(values: Sequence[Any]) -> list[str]:
    return ["" if value is None else visible(canonical_text(value)) for value in values]


def shortened_columns(columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The texts of some columns, all cut to a length at which they are not too much for a page."""
    length, texts = MAX_TEXT, {name: _cut(values, MAX_TEXT) for name, values in columns.items()}
    while (
        length > MIN_TEXT
        and sum(len(escape(text).encode()) for column in texts.values() for text in column) > ALL_TEXTS
    ):
        length = max(MIN_TEXT, length * 3 // 4)
        texts = {name: _cut(values, length) for name, values in columns.items()}
    return texts


def _cut(texts: Sequence[str], length: int) -> list[str]:
    return [clip(text, length) for text in texts]


def _workers(solution: Solution) -> dict[str, Any]:
    """The workers of whom least can be hoped first."""
    facts = solution.measured(solution.need_source()).summary(MAX_WORKERS)
    names = shortened_columns({name: _texts([row[name] for row in facts["worst"]]) for name in ("worker", "reason")})
    rows = [
        {**row, "worker": worker, "reason": reason, "class": isolated(row.get("class") or ""), "confusion": None}
        for row, worker, reason in zip(facts["worst"], names["worker"], names["reason"], strict=True)
    ]
    return {
        "n_workers": facts["n_workers"],
        "flags": {name: n for name, n in facts["flags"].items() if n},
        "classes": [{"name": isolated(one.name), "n_workers": one.n_workers} for one in solution.classes],
        "rows": rows,
    }


def truth_by_label(solution: Solution, labels: Ints) -> dict[str, Any] | None:
    """How many tasks of each true label got which label; None if no truth was given.

    Of many labels the most frequent ones are told, and whether they got it or another one.

    Args:
        solution: The solution.
        labels: The label of each of its rows.
    """
    if solution.accuracy is None or (compared := solution.accuracy.compared) is None:
        return None
    scale, many = solution.scale, solution.scale.has_many_labels
    got = np.where(compared.right(labels), 0, 1) if many else labels[compared.row]
    crossed = np.zeros((scale.n_labels + 1, 2 if many else scale.n_labels), np.int64)
    np.add.at(crossed, (compared.true, got), compared.n)  # NO_LABEL, for truths off the scale, is the last row
    named = [*most_frequent(scale.labels, crossed[:-1].sum(axis=1)), (-1, "a label that is not on the scale")]
    return {
        "answers": ["right", "wrong"] if many else list(map(isolated, scale.labels)),
        "value": solution.accuracy.value,
        "n_tasks": solution.accuracy.n_tasks,
        "n_unknown": solution.accuracy.n_unknown,
        "n_without": _n_labelled(solution) - solution.accuracy.n_tasks,
        "rows": [
            {"label": isolated(name) if at >= 0 else name, "counts": crossed[at].tolist()}
            for at, name in named
            if crossed[at].sum()
        ],
    }


def most_frequent(labels: Sequence[str], tasks: Sequence[int] | Ints) -> list[tuple[int, str]]:
    """The labels with their index; of many those that most tasks have."""
    if len(labels) <= MAX_LABELS:
        return list(enumerate(labels))
    return [(at, labels[at]) for at in np.argsort(-np.asarray(tasks), kind="stable")[:MAX_ROWS].tolist()]


def how_to_repeat(solution: Solution, command: str, fingerprint: str, **more: str) -> dict[str, Any]:
    """What it takes to get the same answers again.

    Args:
        solution: The solution.
        command: The command that made it; empty if it was made in Python.
        fingerprint: Of the data.
        more: What else was chosen, by name.
    """
    usual = Reading().to_dict()
    reading = replace(solution.reading, gold=(), classes=())
    options = {name: value for name, value in reading.to_dict().items() if value != usual[name]}
    pairs = {name: len(getattr(solution.reading, name)) for name in ("gold", "classes")}
    options |= {name: f"{n:,} pairs, in the solution file" for name, n in pairs.items() if n}
    return {
        "command": visible(command),
        "options": {name: _option(value) for name, value in options.items()} | more,
        "fingerprint": fingerprint,
        "versions": {"crowdopt": __version__, "Python": platform.python_version()}
        | {name: version(name) for name in PACKAGES},
    }


def _option(value: Any) -> str:
    return ", ".join(isolated(str(one)) for one in value) if isinstance(value, list) else isolated(str(value))
