"""What ``prove`` answers on public sets of crowd labels whose truth is known, with one matrix, next to other ways.

python benchmarks/real_sets.py [--quick] [--json FILE] [--data DIR]

Prints two tables in Markdown: (a) what was proved for each set and how long it took, (b) accuracy and log-likelihood
against majority vote and EM on the same rows. Each folder of the data has responses.csv (task, worker, label) and
truth.csv (task, label). Where there are none, this says so and ends. Progress goes to standard error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import crowdopt
from processes import environment
from tables import describe, duration, nats, parser, say, show, write_json

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = {
    "ordinal": ("movies3", "trec3", "web", "weather3"),
    "nominal": ("dog", "wsd", "weather", "labelme", "music"),
    "two labels": ("ic", "bluebirds", "sp_amt", "mozafari", "rte", "temp", "product", "zencrowd_us"),
}
QUICK = {"movies3", "wsd", "ic"}
ONE_MATRIX = "prove, one matrix"
METHODS: dict[str, dict[str, Any]] = {
    ONE_MATRIX: {},
    "selectivity estimated": {"selectivity": "estimate"},
    "majority vote": {"engine": "vote"},
    "EM(*)": {"engine": "em"},
    "soft EM": {"engine": "soft-em"},
}
"""The ways to prove, and their options; none has a selectivity unless it says so."""


def prove(folder: Path, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """The main facts of one way to prove a set."""
    scale: Any = None if kind == "two labels" else kind
    solution = crowdopt.prove(
        folder / "responses.csv", truth=folder / "truth.csv", duplicates="all", scale=scale, **options
    )
    return solution.summary()


def run(folder: Path, kind: str) -> dict[str, Any]:
    """All ways on one set."""
    return {"set": folder.name, "kind": kind, **{name: prove(folder, kind, METHODS[name]) for name in METHODS}}


def show_proofs(found: list[dict[str, Any]]) -> None:
    """What was proved, with no selectivity and with estimated selectivity."""
    rows = [
        [
            entry["set"],
            entry["kind"],
            name,
            f"{facts['n_tasks']:,}",
            str(len(facts["labels"])),
            f"{facts['n_buckets']:,}",
            f"{facts['accuracy']:.4f}",
            f"{facts['log_likelihood']:,.2f}",
            facts["space"],
            facts["engine"],
            facts["proof"] if facts["stop"] == "FINISHED" else f"{facts['proof']} ({facts['stop']})",
            nats(facts["gap"]),
            duration(facts["seconds"]),
        ]
        for entry in found
        for name, facts in (("none", entry[ONE_MATRIX]), ("estimated", entry["selectivity estimated"]))
    ]
    columns = (
        *("set", "kind", "selectivity", "tasks", "labels", "buckets", "accuracy", "log-likelihood", "space"),
        *("engine", "proof", "gap", "engine's time"),
    )
    caption = (
        "Public sets, every row counted. Log-likelihoods with and without selectivity are not comparable. "
        "Log-likelihoods and gaps are in nats."
    )
    show("real_sets.py (a)", caption, columns, rows)


def show_comparison(found: list[dict[str, Any]]) -> None:
    """Accuracy of all ways, and log-likelihood without selectivity of those that can be compared in it."""
    plain = [name for name in METHODS if name != "selectivity estimated"]
    rows = [
        [
            entry["set"],
            f"{entry[ONE_MATRIX]['n_truth']:,}",
            *(f"{entry[name]['accuracy']:.4f}" for name in METHODS),
            *(f"{entry[name]['log_likelihood']:,.2f}" for name in plain),
        ]
        for entry in found
    ]
    columns = (
        *("set", "tasks with truth"),
        *(f"accuracy: {name}" for name in METHODS),
        *(f"log-likelihood: {name}" for name in plain),
    )
    caption = (
        "The same sets and rows, labelled in other ways. Log-likelihoods are those of the labels without "
        "selectivity. A tied vote goes to the lower label."
    )
    show("real_sets.py (b)", caption, columns, rows)


def main() -> None:
    """Proves, prints, writes."""
    options = parser("crowdopt prove on public sets of crowd labels.")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    chosen = options.parse_args()
    wanted = [(kind, name) for kind, names in SETS.items() for name in names if not chosen.quick or name in QUICK]
    present = [(kind, name) for kind, name in wanted if (chosen.data / name / "responses.csv").is_file()]
    if not present:
        print("There are no data sets in the folder given by --data (by default ../shared/data): nothing to measure.")
        sys.exit(0)
    if missing := [name for _, name in wanted if name not in {found for _, found in present}]:
        say(f"missing, and left out: {', '.join(missing)}")
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "sets": []}
    print(describe(figures["environment"]) + "\n")
    for kind, name in present:
        say(name)
        figures["sets"].append(run(chosen.data / name, kind))
    show_proofs(figures["sets"])
    show_comparison(figures["sets"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
