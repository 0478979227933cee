"""Accuracy on public sets of crowd labels whose truth is known: crowdopt against every method of crowd-kit.

python benchmarks/accuracy.py [--quick] [--json FILE] [--data DIR]

Each method gets the same rows in a process of its own, one after the other, and 30 seconds; crowdopt then answers with
what it has, others are stopped. ``crowdopt`` stands for what ``crowdopt prove --duplicates all`` gives, with the
scale of the labels named where there are more than two; ``found classes`` adds ``--find-classes auto``. Where there are
no data this says so and ends.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import crowdopt
from crowdopt.studies.compare.methods import CROWD_KIT
from processes import environment
from real_sets import DATA, SETS
from tables import describe, parser, say, show, write_json

TIME_LIMIT = 30.0
QUICK = ("ic",)
QUICK_PEERS = ("MajorityVote", "DawidSkene")
OURS, FOUND = "crowdopt", "found classes"


def run(folder: Path, kind: str, peers: tuple[str, ...]) -> dict[str, Any]:
    """All methods on one set."""
    say(folder.name)
    scale: Any = None if kind == "two labels" else kind
    options: dict[str, Any] = {"duplicates": "all", "scale": scale, "time_limit": TIME_LIMIT}
    files = {"data": folder / "responses.csv", "truth": folder / "truth.csv"}
    ours = "opt-all" if kind == "nominal" else "opt-dominance"
    compared = crowdopt.compare(**files, methods=(ours, *peers), **options)
    methods = {OURS if one.method == ours else one.method: _facts(one) for one in compared.outcomes}
    found = crowdopt.prove(**files, **options, find_classes="auto")
    if found.accuracy is None:
        raise TypeError("a solution was made without the truth")
    methods[FOUND] = {"accuracy": found.accuracy.value, "error": None}
    sizes = {"tasks": compared.n_tasks, "responses": compared.n_responses, "truth": compared.n_truth}
    return {"set": folder.name, "kind": kind, **sizes, "methods": methods}


def _facts(outcome: crowdopt.studies.compare.comparison.MethodResult) -> dict[str, Any]:
    names = ("accuracy", "error", "proof")
    return {name: getattr(outcome, name) for name in names}


def means(sets: list[dict[str, Any]]) -> dict[str, float | None]:
    """The mean accuracy of each method, over all sets; None for one that failed on any of them."""
    found = {name: [one["methods"][name]["accuracy"] for one in sets] for name in sets[0]["methods"]}
    return {name: None if None in values else sum(values) / len(values) for name, values in found.items()}


def show_accuracies(sets: list[dict[str, Any]]) -> None:
    """The table of all sets and methods."""
    names = list(sets[0]["methods"])
    rows = [[one["set"], *(_share(one["methods"][name]["accuracy"]) for name in names)] for one in sets]
    rows.append([f"mean of {len(sets)}", *map(_share, means(sets).values())])
    caption = f"Accuracy, every row counted, {TIME_LIMIT:g} s for each method; – where it failed or was stopped."
    show("accuracy.py", caption, ("set", *names), rows)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def main() -> None:
    """Runs, prints, writes."""
    options = parser("Accuracy on public sets against every method of crowd-kit.")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    chosen = options.parse_args()
    kinds = {name: kind for kind, names in SETS.items() for name in names if not chosen.quick or name in QUICK}
    present = [name for name in kinds if (chosen.data / name / "responses.csv").is_file()]
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "sets": []}
    if not present:
        print("There are no data sets in the folder given by --data (by default ../shared/data): nothing to measure.")
        write_json(chosen.json, figures)
        sys.exit(0)
    print(describe(figures["environment"]) + "\n")
    peers = QUICK_PEERS if chosen.quick else CROWD_KIT
    figures["sets"] = [run(chosen.data / name, kinds[name], peers) for name in present]
    show_accuracies(figures["sets"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
