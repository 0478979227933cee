"""What the consensus gains by ending after so many rounds: its accuracy, less that of going on to the end.

python benchmarks/rounds.py [--quick] [--json FILE] [--data DIR]

The end is 100 rounds of ``tilted`` and 150 of ``kinds``, or earlier where nothing changes. The crowds are the thinned
sets and the simulated crowds of accuracy.py, drawn with other seeds than there. Prints one table in Markdown; progress
goes to standard error.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from accuracy import DATA, QUICK, SETS, Crowd, column, simulated, thin_sets, with_error
from crowdopt.consensus import kinds, tilted
from processes import environment
from scores import difference, scores_of
from tables import describe, parser, show, write_json

THIN_SEEDS, SEEDS = range(10, 14), range(300, 306)
OURS, LONG = "as it is", "to the end"
SCORES = ("accuracy", "log_loss")


def run_both(crowd: Crowd) -> dict[str, Any]:
    """The consensus as it is, and with rounds to the end."""
    ours = crowd.consensus()
    with patch.object(tilted, "MAX_ROUNDS", 100), patch.object(kinds, "MAX_ROUNDS", 150):
        found = {OURS: ours, LONG: crowd.consensus()}
    return {"crowd": crowd.name, "methods": {name: asdict(scores_of(p, crowd.truth)) for name, p in found.items()}}


def row(name: str, runs: list[dict[str, Any]], base: str) -> list[str]:
    """A line of the table: means, and differences whose standard errors are over what the crowds have in common."""
    bases = np.array([str(run[base]) for run in runs])
    leads = [difference(*(column(runs, way, score) for way in (OURS, LONG)), bases) for score in SCORES]
    accuracies = [f"{column(runs, way).mean():.4f}" for way in (OURS, LONG)]
    shown = "yes" if abs(leads[0][0]) > 2 * leads[0][1] else "no"
    return [name, str(len(runs)), *accuracies, with_error(leads[0], 4), shown, with_error(leads[1], 4)]


def main() -> None:
    """Runs, prints, writes."""
    options = parser(__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    chosen = options.parse_args()
    names = [name for names in SETS.values() for name in names if not chosen.quick or name in QUICK]
    folders = [chosen.data / name for name in names if (chosen.data / name / "responses.csv").is_file()]
    seeds, thin_seeds = (SEEDS[:2], THIN_SEEDS[:2]) if chosen.quick else (SEEDS, THIN_SEEDS)
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    figures["thinned"] = thinned = thin_sets(folders, run_both, thin_seeds)
    figures["simulated"] = made = simulated(seeds, run_both)
    kept = dict.fromkeys(run["most"] for run in thinned)
    rows = [row(f"thinned, {most}", [run for run in thinned if run["most"] == most], "set") for most in kept]
    rows += [row("thinned, all", thinned, "set")] if thinned else []
    rows.append(row("simulated, all", made, "make"))
    caption = (
        f"{tilted.MAX_ROUNDS} rounds against 100 (tilted) and 150 (kinds); standard errors over sets, or over makes. "
        "Beyond chance: more than two standard errors."
    )
    columns = ("crowds", "number", OURS, LONG, "accuracy, less", "beyond chance", "log-loss, less")
    show("rounds.py", caption, columns, rows)
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
