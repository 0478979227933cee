"""Classes found in simulated crowds of many makes, next to majority vote, Dawid-Skene and one matrix for all.

python benchmarks/found_classes_simulated.py [--quick] [--json FILE] [--seeds FIRST:LAST]

Prints two tables in Markdown: (a) accuracy over all crowds, and how far each way falls short of the better of majority
vote and Dawid-Skene, (b) accuracy by make (simulated_crowds.py). Nothing in the product was settled on the seeds that
this draws unless told otherwise. Progress goes to standard error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import crowdopt
from dawid_skene import dawid_skene
from processes import environment
from simulated_crowds import MAKES, Drawn, draw
from tables import describe, parser, say, show, write_json

SEEDS = "100:103"
WAYS = ("majority", "Dawid-Skene", "one matrix", "found classes")
SHORT = 0.03
"""What counts as falling short of the better of majority vote and Dawid-Skene."""

TIME_LIMIT = 5.0
"""Seconds for the labels, once the classes are found."""


def run(drawn: Drawn) -> dict[str, Any]:
    """All ways on one crowd."""
    data = pd.DataFrame({"task": drawn.task, "worker": drawn.worker, "label": drawn.label})
    votes = np.zeros((len(drawn.truth), drawn.n_labels))
    np.add.at(votes, (drawn.task, drawn.label), 1)
    scale: Any = "ordinal" if drawn.make.startswith("neighbours") else "nominal"
    options: dict[str, Any] = {
        "labels": range(drawn.n_labels),
        "scale": scale if drawn.n_labels > 2 else None,
        "time_limit": TIME_LIMIT,
    }
    found = crowdopt.prove(data, find_classes="auto", **options)
    labels = {
        "majority": votes.argmax(axis=1),
        "Dawid-Skene": dawid_skene(drawn.task, drawn.worker, drawn.label, drawn.n_labels),
        "one matrix": _labels(crowdopt.prove(data, **options)),
        "found classes": _labels(found),
    }
    chosen = {"n_classes": found.buckets.n_classes, "given": list(found.certificate.given)}
    sizes = {"n_tasks": len(drawn.truth), "n_responses": len(drawn.task), "n_labels": drawn.n_labels}
    accuracy = {way: float((labels[way] == drawn.truth).mean()) for way in WAYS}
    return {"make": drawn.make, "seed": drawn.seed, **sizes, **chosen, **accuracy}


def _labels(solution: crowdopt.Solution) -> np.ndarray:
    return solution.answers.sort_values("task")["label"].to_numpy().astype(int)


def shortfalls(runs: list[dict[str, Any]], way: str) -> np.ndarray:
    """How much each crowd's accuracy is above the better of majority vote and Dawid-Skene; negative if below."""
    return np.array([run[way] - max(run["majority"], run["Dawid-Skene"]) for run in runs])


def show_all(runs: list[dict[str, Any]]) -> None:
    """Table (a)."""
    rows = []
    for way in WAYS:
        against = shortfalls(runs, way)
        figures = f"{np.mean([run[way] for run in runs]):.4f}", f"{against.mean():+.4f}", f"{against.min():+.4f}"
        rows.append([way, *figures, f"{(against < -SHORT).sum()} of {len(runs)}"])
    caption = f"Accuracy on {len(runs)} simulated crowds of {len(MAKES)} makes, against the better of the first two."
    columns = ("way", "mean accuracy", "mean difference", "worst difference", f"more than {SHORT} below")
    show("found_classes_simulated.py (a)", caption, columns, rows)


def show_makes(runs: list[dict[str, Any]]) -> None:
    """Table (b)."""
    rows = []
    for make in dict.fromkeys(run["make"] for run in runs):
        same = [run for run in runs if run["make"] == make]
        numbers = ", ".join(str(run["n_classes"]) for run in same)
        rows.append([make, *(f"{np.mean([run[way] for run in same]):.3f}" for way in WAYS), numbers])
    show("found_classes_simulated.py (b)", "The same by make.", ("make", *WAYS, "classes found"), rows)


def main() -> None:
    """Draws, aggregates, prints, writes."""
    options = parser("Classes found in simulated crowds.")
    options.add_argument("--seeds", default=SEEDS, metavar="FIRST:LAST", help="which crowds of each make; LAST is not")
    chosen = options.parse_args()
    first, last = map(int, chosen.seeds.split(":"))
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "runs": []}
    print(describe(figures["environment"]) + "\n")
    for make in list(MAKES)[:2] if chosen.quick else MAKES:
        for seed in range(first, first + 1 if chosen.quick else last):
            say(f"{make}, seed {seed}")
            figures["runs"].append(run(draw(make, seed)))
    show_all(figures["runs"])
    show_makes(figures["runs"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
