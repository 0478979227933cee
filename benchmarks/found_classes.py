"""Classes of workers found in public sets of crowd labels: accuracy, next to majority vote and to crowd-kit.

python benchmarks/found_classes.py [--quick] [--json FILE] [--data DIR]

Prints one table in Markdown: for every set the setting that the criterion chose, its accuracy, the best in
hindsight among all settings tried, majority vote and, if crowd-kit is installed, Dawid-Skene on the same rows.
"""

from __future__ import annotations

import csv
import importlib.util
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from crowdopt.found_classes import Answers, Found, find_classes
from ratings import describe, duration, parser, say, show, write_json
from real_sets import DATA, QUICK, SETS
from spine import environment

CROWD_KIT = importlib.util.find_spec("crowdkit") is not None


def read(folder: Path) -> tuple[Answers, np.ndarray, list[str]]:
    """The responses of a set as numbers, the true label of each task (-1 if not known, -2 if off the scale), labels."""
    with (folder / "responses.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "truth.csv").open(encoding="utf-8", newline="") as file:
        known = {row["task"]: row["label"] for row in csv.DictReader(file)}
    names = [sorted({row[column] for row in rows}) for column in ("task", "worker", "label")]
    codes = [{name: at for at, name in enumerate(column)} for column in names]
    columns = [
        np.array([code[row[c]] for row in rows]) for code, c in zip(codes, ("task", "worker", "label"), strict=True)
    ]
    truth = [codes[2].get(known[task], -2) if task in known else -1 for task in names[0]]
    return Answers.of(*columns, n_labels=len(names[2])), np.array(truth), names[2]


def accuracy(labels: np.ndarray, truth: np.ndarray) -> float:
    """Of the tasks whose truth is known."""
    return float((labels == truth)[truth != -1].mean())


def peer(answers: Answers, truth: np.ndarray) -> float | None:
    """The accuracy of crowd-kit's Dawid-Skene."""
    if not CROWD_KIT:
        return None
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    data = pd.DataFrame({"task": answers.task, "worker": answers.worker, "label": answers.label})
    return accuracy(DawidSkene(n_iter=100).fit_predict(data).sort_index().to_numpy(), truth)


def run(folder: Path) -> dict[str, Any]:
    """All figures of one set."""
    answers, truth, names = read(folder)
    started = time.perf_counter()
    best, tried = find_classes(answers)
    seconds = time.perf_counter() - started
    whole = [one for one in tried if len(one.labels) == answers.n_tasks]
    hindsight = max([best, *whole], key=lambda one: accuracy(one.labels, truth))
    return {
        "set": folder.name,
        "chosen": _words(best, names),
        "accuracy": accuracy(best.labels, truth),
        "hindsight": f"{accuracy(hindsight.labels, truth):.4f} ({_words(hindsight, names)})",
        "majority": accuracy(answers.votes.argmax(axis=1), truth),
        "dawid_skene": peer(answers, truth),
        "seconds": seconds,
    }


def _words(found: Found, names: list[str]) -> str:
    setting = found.setting
    left_out = [name for name, ok in zip(names, setting.allowed, strict=True) if not ok]
    shares = "shares estimated" if setting.estimated else "uniform shares"
    words = f"{setting.n_classes} classes, {shares}, smoothing {setting.smoothing:g}"
    return words + (f", without {', '.join(left_out)}" if left_out else "")


def main() -> None:
    """Measures, prints, writes."""
    options = parser("Classes of workers found in public sets.")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    chosen = options.parse_args()
    names = [name for kind in SETS.values() for name in kind if not chosen.quick or name in QUICK]
    present = [name for name in names if (chosen.data / name / "responses.csv").is_file()]
    if not present:
        print("There are no data sets in the folder given by --data (by default ../shared/data): nothing to measure.")
        sys.exit(0)
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "sets": []}
    print(describe(figures["environment"]) + "\n")
    for name in present:
        say(name)
        figures["sets"].append(run(chosen.data / name))
    rows = [
        [
            *(one["set"], f"{one['majority']:.4f}", "" if one["dawid_skene"] is None else f"{one['dawid_skene']:.4f}"),
            *(f"{one['accuracy']:.4f}", one["chosen"], one["hindsight"], duration(one["seconds"])),
        ]
        for one in figures["sets"]
    ]
    mean = statistics.mean(one["accuracy"] for one in figures["sets"])
    columns = ("set", "majority vote", "Dawid-Skene", "found classes", "chosen", "best in hindsight", "time")
    show(
        "found_classes.py",
        f"Accuracy on public sets, every row counted. Mean of found classes: {mean:.4f}.",
        columns,
        rows,
    )
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
