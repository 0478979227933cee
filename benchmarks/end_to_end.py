"""From a file of responses to a file of answers: crowdopt against crowd-kit and plain DuckDB, process by process.

python benchmarks/end_to_end.py [--quick] [--json FILE]

Every run is a process of its own, timed from its start to its end, with its CPU time and peak memory as the operating
system reports them. All programs read the same Parquet file and write one label per task to another; crowdopt also
checks the responses and writes confidences, and ``prove`` proves its answer and writes margins. They take turns, every
other time in reverse order, and medians are compared, as multiples of ``prove``. crowd-kit's DawidSkene runs once at
the largest size, under a cap; ``aggregate`` runs up to a million responses.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from crowds import Crowd
from processes import Cap, Run, elsewhere, environment, measure, median, stay_small
from tables import describe, parser, say, show, write_json

HERE = Path(__file__).resolve().parent
PROVE, AGGREGATE, VOTE = "crowdopt prove", "crowdopt aggregate", "crowdopt prove, engine vote"
MAJORITY, DAWID_SKENE, DUCKDB = "crowd-kit MajorityVote", "crowd-kit DawidSkene", "plain DuckDB"
OURS = {PROVE: ["prove"], AGGREGATE: ["aggregate"], VOTE: ["prove", "--engine", "vote"]}
PEERS = {MAJORITY: "MajorityVote", DAWID_SKENE: "DawidSkene", DUCKDB: "duckdb"}
LABELS = (2, 3, 5)
REPEATS = {10**5: 3, 10**6: 3, 10**7: 2}
"""Runs of each program by the number of responses."""

SLOW_REPEATS = {10**5: 2, 10**6: 2}
"""Those of DawidSkene; beyond these sizes once, within the cap."""

MOST_AGGREGATED = 10**6
"""Responses beyond which ``aggregate`` is not run."""

CAP = Cap(seconds=900, memory_gb=16)


def command(program: str, source: Path, target: Path) -> list[str]:
    """The command line of a program."""
    if program in OURS:
        verb, *options = OURS[program]
        start = str(Path(sys.executable).with_name("crowdopt"))
        return [start, verb, str(source), "-o", str(target), "--json", *options]
    return [sys.executable, str(HERE / "peer.py"), PEERS[program], str(source), str(target)]


def repeats_of(program: str, crowd: Crowd) -> int:
    """How often a program runs on a crowd."""
    if program == AGGREGATE and crowd.responses > MOST_AGGREGATED:
        return 0
    return (SLOW_REPEATS if program == DAWID_SKENE else REPEATS).get(crowd.responses, 1)


def run_case(folder: Path, crowd: Crowd, *, quick: bool) -> dict[str, Any]:
    """All programs on one crowd, in turns."""
    source = folder / "responses.parquet"
    elsewhere(crowd.write, str(source))
    repeats = {name: repeats_of(name, crowd) for name in (*OURS, *PEERS)}
    wanted = {name: 1 if quick else times for name, times in repeats.items() if times}
    runs: dict[str, list[Run]] = {name: [] for name in wanted}
    for i in range(max(wanted.values())):
        for name in list(runs)[:: -1 if i % 2 else 1]:
            if i < wanted[name]:
                say(f"{crowd.responses:.0e} responses, {crowd.labels} labels, {name}, {i + 1} of {wanted[name]}")
                capped = CAP if name == DAWID_SKENE else None
                runs[name].append(measure(command(name, source, folder / f"{name}.parquet"), capped))
    accuracy = {
        name: elsewhere(crowd.accuracy, str(folder / f"{name}.parquet"))
        for name in runs
        if not runs[name][-1].error and not runs[name][-1].stopped
    }
    source.unlink()
    return summary(crowd, runs, accuracy)


def summary(crowd: Crowd, runs: dict[str, list[Run]], accuracy: dict[str, float]) -> dict[str, Any]:
    """Medians, and how many times what ``prove`` takes each of the others took."""
    medians = {name: _middle(found) for name, found in runs.items()}
    for name in OURS:
        if name in medians and medians[name].error:
            sys.exit(f"{name} failed: {medians[name].error}")
    ours = medians[PROVE]
    ratios = {
        name: {"wall": run.wall / ours.wall, "cpu": run.cpu / ours.cpu, "peak": run.peak_mb / ours.peak_mb}
        for name, run in medians.items()
        if name != PROVE and not run.error
    }
    return {
        "crowd": asdict(crowd),
        "median": {name: asdict(run) for name, run in medians.items()},
        "times_crowdopt": ratios,
        "accuracy": accuracy,
        "runs": {name: [asdict(run) for run in found] for name, found in runs.items()},
    }


def _middle(runs: list[Run]) -> Run:
    """The median of the runs; if one failed or was stopped, what is known of that."""
    words = {
        name: next((getattr(run, name) for run in runs if getattr(run, name)), "") for name in ("error", "stopped")
    }
    return replace(median(runs), **words)


def show_cases(cases: list[dict[str, Any]]) -> None:
    """The table of all programs on all crowds."""
    rows = []
    for case in cases:
        for name, run in case["median"].items():
            ratio = case["times_crowdopt"].get(name)
            none = "1" if name == PROVE else "–"
            times = [f"{ratio[key]:.2f}" for key in ("wall", "cpu", "peak")] if ratio else [none] * 3
            share = f"{case['accuracy'][name]:.4f}" if name in case["accuracy"] else "–"
            rows.append(
                [
                    *(f"{case['crowd']['responses']:.0e}", str(case["crowd"]["labels"]), name),
                    *(str(len(case["runs"][name])), f"{run['wall']:.2f}", f"{run['cpu']:.2f}", f"{run['peak_mb']:.0f}"),
                    *(*times, share, run["error"] or run["stopped"]),
                ]
            )
    columns = (
        *("responses", "labels", "program", "runs", "wall, s", "CPU, s", "peak, MB"),
        *("wall / prove", "CPU / prove", "peak / prove", "accuracy", "failed or stopped"),
    )
    show("end_to_end.py", "Medians of whole processes, in turns; ratios above 1 are slower or larger.", columns, rows)


def main() -> None:
    """Measures, prints, writes."""
    chosen = parser("From responses to answers, against crowd-kit and plain DuckDB.").parse_args()
    crowds = [Crowd(size, labels) for size in REPEATS for labels in LABELS]
    crowds = [Crowd(10_000)] if chosen.quick else crowds
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "cases": []}
    print(describe(figures["environment"]) + "\n")
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as name:
        folder = Path(name)
        if not chosen.quick:
            run_case(folder, Crowd(1000), quick=True)  # the first start of a program reads it from disk
        figures["cases"] = [run_case(folder, crowd, quick=chosen.quick) for crowd in crowds]
    stay_small()
    show_cases(figures["cases"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
