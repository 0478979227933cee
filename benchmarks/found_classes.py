"""What can be proved beyond one matrix for all: with classes that the consensus finds, and with every judge a class.

python benchmarks/found_classes.py [--quick] [--json FILE] [--data DIR]

Prints two tables in Markdown: (a) public sets, ``prove --find-classes auto`` beside the consensus that the classes
come from; (b) simulated juries, ``prove --each``. Progress goes to standard error.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import crowdopt
from processes import environment
from real_sets import DATA, SETS
from tables import describe, duration, nats, parser, say, show, tally, write_json

QUICK = {"ic", "bluebirds"}
KINDS = {name: kind for kind, names in SETS.items() for name in names}
JURIES = ((2, 3), (2, 4), (2, 5), (2, 6), (2, 7), (3, 3))
"""Numbers of labels and of judges."""

N_ITEMS = 500


def run(folder: Path, seconds: float) -> dict[str, Any]:
    """The consensus of one set, and the proof with classes that are found in it."""
    kind: Any = KINDS[folder.name]
    options: dict[str, Any] = {"duplicates": "all", "scale": None if kind == "two labels" else kind}
    options |= {"truth": folder / "truth.csv"}
    consensus = crowdopt.aggregate(folder / "responses.csv", **options)
    started = time.perf_counter()
    proof = crowdopt.prove(folder / "responses.csv", find_classes="auto", time_limit=seconds, **options)
    taken = time.perf_counter() - started
    ours, theirs = (one.answers.sort_by("task")["label"].to_pylist() for one in (proof, consensus))
    return {
        "set": folder.name,
        "seconds": taken,
        "same": float(np.mean([a == b for a, b in zip(ours, theirs, strict=True)])),
        "consensus": consensus.summary(),
        "proof": proof.summary(),
    }


def show_sets(found: list[dict[str, Any]], seconds: float) -> None:
    """Table (a)."""
    rows = [
        [
            *(one["set"], str(len(one["proof"]["labels"])), str(max(len(one["proof"]["classes"]), 1))),
            *(f"{one['consensus']['accuracy']:.4f}", f"{one['proof']['accuracy']:.4f}", f"{one['same']:.1%}"),
            *(one["proof"]["proof"], nats(one["proof"]["gap"]), duration(one["proof"]["seconds"])),
            duration(one["seconds"]),
        ]
        for one in found
    ]
    columns = (
        *("set", "labels", "classes", "accuracy: consensus", "accuracy: proof", "same labels"),
        *("proof", "gap", "engine's time", "time"),
    )
    caption = (
        f"Public sets, every row counted, `--find-classes auto`, {seconds:g} seconds for the engine. Gaps are in nats."
    )
    show("found_classes.py (a)", caption, columns, rows)


def jury(seed: int, n_labels: int, n_judges: int) -> pd.DataFrame:
    """Judges who are right on .6 to .95 of the items of each label; every judge judges every item."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=N_ITEMS)
    parts = []
    for judge in range(n_judges):
        right = rng.random(N_ITEMS) < rng.uniform(0.6, 0.95, n_labels)[truth]
        label = np.where(right, truth, (truth + rng.integers(1, n_labels, size=N_ITEMS)) % n_labels)
        parts.append(pd.DataFrame({"task": range(N_ITEMS), "worker": f"judge {judge}", "label": [*map(str, label)]}))
    return pd.concat(parts)


def run_juries(n_juries: int, seconds: float) -> list[dict[str, Any]]:
    """What is proved of simulated juries."""
    found = []
    for n_labels, n_judges in JURIES:
        say(f"juries of {n_judges}, {n_labels} labels")
        facts = [
            crowdopt.prove(jury(seed, n_labels, n_judges), each=True, scale="nominal", time_limit=seconds).summary()
            for seed in range(n_juries)
        ]
        proofs = Counter(one["proof"] for one in facts)
        times = [one["seconds"] for one in facts]
        found.append({"labels": n_labels, "judges": n_judges, "proofs": dict(proofs), "seconds": times})
    return found


def show_juries(found: list[dict[str, Any]]) -> None:
    """Table (b)."""
    rows = [
        [
            *(str(one["labels"]), str(one["judges"]), str(len(one["seconds"])), tally(Counter(one["proofs"]))),
            *(duration(float(np.median(one["seconds"]))), duration(max(one["seconds"]))),
        ]
        for one in found
    ]
    caption = f"Simulated juries, {N_ITEMS} items that every judge judges, `--each`: over all answers."
    columns = ("labels", "judges", "juries", "proof", "median of the engine's time", "longest")
    show("found_classes.py (b)", caption, columns, rows)


def main() -> None:
    """Proves, prints, writes."""
    options = parser("Proofs with found classes, and with every judge a class.")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    chosen = options.parse_args()
    seconds, n_juries = (5.0, 1) if chosen.quick else (60.0, 10)
    names = [name for name in KINDS if not chosen.quick or name in QUICK]
    present = [name for name in names if (chosen.data / name / "responses.csv").is_file()]
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "sets": []}
    print(describe(figures["environment"]) + "\n")
    if not present:
        print("There are no data sets in the folder given by --data (by default ../shared/data): none is measured.\n")
    for name in present:
        say(name)
        figures["sets"].append(run(chosen.data / name, seconds))
    if present:
        show_sets(figures["sets"], seconds)
    figures["juries"] = run_juries(n_juries, seconds)
    show_juries(figures["juries"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
