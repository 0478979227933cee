"""Everything that the report shows, gathered once from a solution and its data, as plain JSON values."""

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
from crowdopt.errors import InputError
from crowdopt.model.certificate import Space
from crowdopt.model.claims import titles
from crowdopt.model.order import violation
from crowdopt.model.scale import canonical_text
from crowdopt.report.lattice import lattice_of
from crowdopt.report.safe_text import clip, isolated, visible, with_safe_names
from crowdopt.results.answers import answer_table
from crowdopt.results.sentences import verdict_of
from crowdopt.results.summary import summarise
from crowdopt.results.workers.table import workers_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.load import Source
    from crowdopt.results.solution_proof import ProofSolution

MAX_TASKS, MAX_WORKERS = 2_000, 1_000
"""Rows of the two tables; the page says how many there are in all."""

MAX_KEPT = 12
"""Kept columns on the page."""

MAX_TEXT, MIN_TEXT, ALL_TEXTS = 400, 20, 800_000
"""Characters of one text of the user's on the page, at most and in any case, and bytes of all of one table."""

MAX_ORDERED = 5_000
"""Buckets up to which it is looked whether other answers respect the order: all pairs are compared."""

COMPARED_SECONDS = 10.0
"""Seconds for each of them; they take hundredths."""

PACKAGES = ("numpy", "scipy", "duckdb", "narwhals", "pyarrow", "highspy", "numba")
"""What the result may depend on beside crowdopt itself."""


def gather(solution: ProofSolution, source: Source, command: str = "") -> dict[str, Any]:
    """All facts of the report.

    Args:
        solution: The solution.
        source: The data behind it.
        command: The command that made it; empty if it was made in Python.
    """
    named = with_safe_names(solution)
    verdict, summary = verdict_of(named), summarise(named)
    return {
        "verdict": {"word": verdict.word, "sentence": verdict.sentence, "more": list(verdict.more)},
        "summary": solution.summary(),
        "lines": summary.facts,
        "advice": list(named.advice),
        "labels": list(named.scale.labels),
        "scale": solution.scale.kind,
        "matrices": _matrices(named),
        "lattice": lattice_of(named),
        "tasks": _tasks(solution, source),
        "workers": _workers(solution, source),
        "others": compare_engines(solution),
        "accuracy": _accuracy(named),
        "reproduce": _reproduce(solution, command),
    }


def _matrices(solution: ProofSolution) -> list[dict[str, Any]]:
    """The response matrix of each class, with the responses behind it."""
    responses, tasks = solution.buckets.by_label(solution.mapping)
    offsets = solution.objective.offsets
    known = 0 if offsets is None else offsets.counts
    behind = np.asarray(responses + known)
    names = [(one.name, one.n_workers) for one in solution.classes] or [("", solution.totals.n_workers)]
    return [
        {
            "name": name,
            "n_workers": n_workers,
            "rows": [
                {"label": label, "n_tasks": int(tasks[j]), "shares": _plain(row), "counts": _plain(behind[j, k])}
                for j, (label, row) in enumerate(zip(solution.scale.labels, solution.matrix[k], strict=True))
            ],
        }
        for k, (name, n_workers) in enumerate(names)
    ]


def _plain(row: Floats | Ints) -> list[float | int | None]:
    """Numbers as JSON has them: undefined ones as None, whole ones without a fraction."""
    return [None if np.isnan(value) else value.item() for value in row]


def _tasks(solution: ProofSolution, source: Source) -> dict[str, Any]:
    """The least certain tasks, the least certain first."""
    keep = list(solution.reading.keep)[:MAX_KEPT]
    columns = ["task", "label", "confidence", "margin", "n_responses", "status", *keep]
    table = answer_table(solution, source.responses, source.counts).select(*columns)
    unsure = table.filter(nw.col("status") != "gold", nw.col("status") != "no_response")
    found = fetch(unsure.sort("confidence", "task").head(MAX_TASKS))
    texts = shortened_columns({name: _texts(found[name]) for name in ("task", "label", *keep)})
    rows = [
        {
            "task": texts["task"][i],
            "label": texts["label"][i],
            **{name: found[name][i] for name in ("confidence", "margin", "n_responses", "status")},
            "kept": [texts[name][i] for name in keep],
        }
        for i in range(len(found["task"]))
    ]
    return {
        "keep": [visible(name) for name in keep],
        "n_not_shown": len(solution.reading.keep) - len(keep),
        "rows": rows,
        "n_tasks": solution.buckets.n_tasks,
        "margin_kind": solution.margins.kind,
    }


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


def _workers(solution: ProofSolution, source: Source) -> dict[str, Any]:
    """The workers of whom least can be hoped first."""
    facts = workers_of(solution, source).summary(MAX_WORKERS)
    names = shortened_columns({name: _texts([row[name] for row in facts["worst"]]) for name in ("worker", "reason")})
    rows = [
        {**row, "worker": worker, "reason": reason, "class": isolated(row["class"] or ""), "confusion": None}
        for row, worker, reason in zip(facts["worst"], names["worker"], names["reason"], strict=True)
    ]
    return {
        "n_workers": facts["n_workers"],
        "flags": {name: n for name, n in facts["flags"].items() if n},
        "classes": [{"name": isolated(one.name), "n_workers": one.n_workers} for one in solution.classes],
        "rows": rows,
    }


def compare_engines(solution: ProofSolution) -> list[dict[str, Any]]:
    """What the usual methods make of the same counts: how likely, how many tasks differ, how many of them are right."""
    from crowdopt.engines.base import Limits
    from crowdopt.engines.registry import run

    optimum = solution.certificate.objective
    rows: list[dict[str, Any]] = []
    for engine, name in titles().items():
        row: dict[str, Any] = {"engine": engine, "name": name}
        try:
            solved = run(solution.problem, Limits(COMPARED_SECONDS), labels=solution.scale.labels, engine=engine)
        except InputError as error:
            rows.append(row | {"error": visible(str(error))})
            continue
        value = solution.objective.of_mapping(solution.buckets, solved.mapping)
        rows.append(
            row
            | {
                "log_likelihood": value if np.isfinite(value) else None,
                "loss": optimum - value if np.isfinite(value) else None,
                "why": _why(solution, value, solved.mapping),
                "n_different": int(solution.buckets.weights[solved.mapping != solution.mapping].sum()),
                "accuracy": share_right(solution, solved.mapping),
            }
        )
    return rows


def _why(solution: ProofSolution, value: float, mapping: Ints) -> str:
    """How another method can be more likely than what was found; empty if it is not."""
    if value <= solution.certificate.objective + solution.certificate.tolerance:
        return ""
    if solution.certificate.space is Space.DOMINANCE and solution.buckets.n_buckets <= MAX_ORDERED:
        broken = violation(solution.buckets.counts, mapping, ranked=solution.ranked)
        return "more likely, but it breaks the order of the scale" if broken else "more likely"
    return "more likely"


def share_right(solution: ProofSolution, mapping: Ints) -> float | None:
    """The share of right labels that another mapping of the same buckets has; None if no truth was given."""
    if solution.accuracy is None or solution.accuracy.by_row is None:
        return None
    table = solution.accuracy.by_row
    return float(table[mapping, np.arange(len(mapping))].sum() / table.sum())


def _accuracy(solution: ProofSolution) -> dict[str, Any] | None:
    """How many tasks of each true label got which label."""
    if solution.accuracy is None or solution.accuracy.by_row is None:
        return None
    table = solution.accuracy.by_row
    crossed = np.zeros((len(table), solution.scale.n_labels), np.int64)
    np.add.at(crossed.T, solution.mapping, table.T)
    names = [*solution.scale.labels, "a label that is not on the scale"]
    return {
        "value": solution.accuracy.value,
        "n_tasks": solution.accuracy.n_tasks,
        "n_unknown": solution.accuracy.n_unknown,
        "n_without": solution.buckets.n_tasks - solution.accuracy.n_tasks,
        "rows": [
            {"label": name, "counts": row.tolist()} for name, row in zip(names, crossed, strict=True) if row.sum()
        ],
    }


def _reproduce(solution: ProofSolution, command: str) -> dict[str, Any]:
    """What it takes to get the same answers again."""
    usual = Reading().to_dict()
    reading = replace(solution.reading, gold=(), classes=())
    options = {name: value for name, value in reading.to_dict().items() if value != usual[name]}
    pairs = {name: len(getattr(solution.reading, name)) for name in ("gold", "classes")}
    options |= {name: f"{n:,} pairs, in the solution file" for name, n in pairs.items() if n}
    return {
        "command": visible(command),
        "options": {name: _option(value) for name, value in options.items()},
        "engine": solution.certificate.engine,
        "seed": solution.seed,
        "fingerprint": solution.certificate.fingerprint,
        "versions": {"crowdopt": __version__, "Python": platform.python_version()}
        | {name: version(name) for name in PACKAGES},
    }


def _option(value: Any) -> str:
    return ", ".join(isolated(str(one)) for one in value) if isinstance(value, list) else isolated(str(value))
