"""Classes of workers found in public sets of crowd labels: accuracy, next to other ways to prove the same rows.

python benchmarks/found_classes.py [--quick] [--json FILE] [--data DIR] [--crowd-kit PYTHON]

Prints two tables in Markdown: (a) for every set the accuracy of majority vote, Dawid-Skene (in a few lines of our own,
and crowd-kit's where it is installed or an interpreter that has it is named), one matrix for all, and found classes,
with what the criterion chose and what would have been best in hindsight; (b) the matrices of the classes found in the
set bluebirds. Progress goes to standard error.
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import crowdopt
from crowdopt.classes.find import NUMBERS
from crowdopt.data.encode import code_responses
from dawid_skene import crowd_kit, dawid_skene
from processes import environment
from real_sets import DATA, SETS
from tables import describe, duration, parser, say, show, write_json

QUICK = {"ic", "bluebirds"}
KINDS = {name: kind for kind, names in SETS.items() for name in names}
TIME_LIMIT = 5.0
"""Seconds for the labels, once the classes are found."""


def prove(folder: Path, **options: Any) -> crowdopt.Solution:
    """A solution of a set, with its accuracy."""
    kind: Any = KINDS[folder.name]
    return crowdopt.prove(
        folder / "responses.csv",
        truth=folder / "truth.csv",
        duplicates="all",
        scale=None if kind == "two labels" else kind,
        time_limit=TIME_LIMIT,
        **options,
    )


def accuracy(solution: crowdopt.Solution) -> float:
    """Of the tasks whose truth is known."""
    if solution.accuracy is None:
        raise TypeError("a solution was made without the truth")
    return solution.accuracy.value


def own_dawid_skene(folder: Path, solution: crowdopt.Solution) -> float:
    """The accuracy of our own Dawid-Skene on the responses of a solution."""
    if solution.source is None:
        raise TypeError("a solution without its data")
    coded, _ = code_responses(solution.source.responses)
    columns = (np.repeat(column, coded.times) for column in (coded.task, coded.worker, coded.answer))
    labels = dawid_skene(*columns, n_labels=coded.n_labels)
    with (folder / "responses.csv").open(encoding="utf-8", newline="") as file:
        tasks = sorted({row["task"] for row in csv.DictReader(file)})
    with (folder / "truth.csv").open(encoding="utf-8", newline="") as file:
        truth = {row["task"]: row["label"] for row in csv.DictReader(file)}
    answers = dict(zip(tasks, (solution.scale.labels[at] for at in labels), strict=True))
    return float(np.mean([answers[task] == label for task, label in truth.items() if task in answers]))


def run(folder: Path) -> dict[str, Any]:
    """All ways on one set."""
    started = time.perf_counter()
    found = prove(folder, find_classes="auto")
    seconds = time.perf_counter() - started
    numbers = [number for number in NUMBERS if number <= found.totals.n_workers]
    return {
        "set": folder.name,
        "majority": accuracy(prove(folder, engine="vote")),
        "Dawid-Skene": own_dawid_skene(folder, found),
        "one matrix": accuracy(prove(folder)),
        "found": accuracy(found),
        "n_classes": found.buckets.n_classes,
        "given": list(found.certificate.given),
        "selectivity": found.objective.kind,
        "proof": found.certificate.proof.value,
        "by_number": {number: accuracy(prove(folder, find_classes=number)) for number in numbers},
        "seconds": seconds,
    }


def show_sets(rows: list[dict[str, Any]], peers: dict[str, dict[str, float]]) -> None:
    """Table (a)."""
    names = list(next(iter(peers.values()), {}))
    ways = ("majority", "Dawid-Skene", "one matrix", "found")
    table = []
    for row in rows:
        best = max(row["by_number"], key=lambda number: row["by_number"][number])
        table.append(
            [
                *(row["set"], *(f"{row[way]:.4f}" for way in ways), f"{_against(row):+.4f}", str(row["n_classes"])),
                *(str(best), f"{row['by_number'][best]:.4f}", row["proof"], duration(row["seconds"])),
                *(f"{peers[row['set']][name]:.4f}" for name in names),
            ]
        )
    means = [f"{np.mean([row[way] for row in rows]):.4f}" for way in ways]
    beside = [f"{np.mean([peers[row['set']][name] for row in rows]):.4f}" for name in names]
    worst = f"{min(map(_against, rows)):+.4f}"
    table.append([f"mean of {len(rows)}", *means, worst, "", "", "", "", "", *beside])
    columns = (
        *("set", "majority", "Dawid-Skene", "one matrix", "found classes", "against the better of two", "classes"),
        *("best number in hindsight", "its accuracy", "proof", "time", *(f"crowd-kit's {name}" for name in names)),
    )
    caption = (
        "Accuracy on public sets, every row counted; ties of the majority go to the lower label. The better of two is "
        "that of majority and Dawid-Skene; its last row is the worst set. These sets are not new data: the alternation "
        "was shaped while they were looked at. What the criterion compares, and its rule, were settled on simulated "
        "crowds (found_classes_simulated.py)."
    )
    show("found_classes.py (a)", caption, columns, table)


def _against(row: dict[str, Any]) -> float:
    return float(row["found"] - max(row["majority"], row["Dawid-Skene"]))


def show_matrices(folder: Path) -> None:
    """Table (b)."""
    solution = prove(folder, find_classes="auto")
    rows = [
        [one.name, str(one.n_workers), *(f"{p:.2f}" for p in matrix.ravel())]
        for one, matrix in zip(solution.classes, solution.matrix, strict=True)
    ]
    labels = solution.scale.labels
    columns = ("class", "workers", *(f"{said!r} where it is {true!r}" for true in labels for said in labels))
    show("found_classes.py (b)", f"Classes found in {folder.name}: how often each answer is given.", columns, rows)


def main() -> None:
    """Aggregates, prints, writes."""
    options = parser("Classes of workers found in public sets.")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    options.add_argument("--crowd-kit", metavar="PYTHON", help="an interpreter that has crowd-kit, if this has not")
    chosen = options.parse_args()
    names = [name for name in KINDS if not chosen.quick or name in QUICK]
    present = [chosen.data / name for name in names if (chosen.data / name / "responses.csv").is_file()]
    if not present:
        print("There are no data sets in the folder given by --data (by default ../shared/data): nothing to measure.")
        sys.exit(0)
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "sets": []}
    print(describe(figures["environment"]) + "\n")
    figures["crowd_kit"] = crowd_kit(chosen.crowd_kit, present)
    if not figures["crowd_kit"]:
        print("crowd-kit is not installed here: name an interpreter that has it with --crowd-kit.\n")
    for folder in present:
        say(folder.name)
        figures["sets"].append(run(folder))
    show_sets(figures["sets"], figures["crowd_kit"])
    if (chosen.data / "bluebirds" / "responses.csv").is_file():
        show_matrices(chosen.data / "bluebirds")
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
