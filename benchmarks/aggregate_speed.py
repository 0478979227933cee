"""``crowdopt aggregate`` against crowd-kit's DawidSkene, from a file of responses to a file of labels, side by side.

python benchmarks/aggregate_speed.py [--quick] [--json FILE]

Every run is a process of its own, with its wall time, CPU time and peak memory as the operating system reports them.
Both read the same Parquet file and write one label per task to another, in turns; the table has ratios of medians.
crowdopt also checks the responses, takes their digest and writes confidences. Its loops are compiled before: the first
run after an installation takes seconds more. DawidSkene has crowd-kit's default of at most 100 iterations.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from crowds import Crowd
from end_to_end import HERE
from processes import Run, elsewhere, environment, measure, median, stay_small
from tables import describe, parser, say, show, write_json

OURS, PEER = "crowdopt", "DawidSkene"
SIZES, LABELS, WORKERS = (10_000, 50_000, 200_000), (2, 5), (50, 2_000, 40_000)
LEAST_PER_WORKER = 5
REPEATS = 3


def crowds() -> list[Crowd]:
    """Crowds of four classes of workers, who answer at least a few tasks each."""
    sizes = [(size, workers) for size in SIZES for workers in WORKERS if size >= LEAST_PER_WORKER * workers]
    return [Crowd(size, labels, workers=workers, classes=4) for size, workers in sizes for labels in LABELS]


def command(program: str, source: Path, target: Path) -> list[str]:
    """The command line of a program."""
    if program == OURS:
        start = [str(Path(sys.executable).with_name("crowdopt")), "aggregate"]
        return [*start, str(source), "-o", str(target), "--quiet"]
    return [sys.executable, str(HERE / "peer.py"), program, str(source), str(target)]


def run_crowd(folder: Path, crowd: Crowd, repeats: int, programs: tuple[str, ...] = (OURS, PEER)) -> dict[str, Any]:
    """All programs on one crowd, in turns."""
    source = folder / "responses.parquet"
    elsewhere(crowd.write, str(source))
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    for i in range(repeats):
        for name in list(runs)[:: -1 if i % 2 else 1]:
            say(f"{crowd.responses:,} responses, {crowd.labels} labels, {crowd.workers:,} workers, {name}, {i + 1}")
            runs[name].append(measure(command(name, source, folder / f"{name}.parquet")))
            if runs[name][-1].error:
                sys.exit(f"{name} failed: {runs[name][-1].error}")
    accuracy = {name: elsewhere(crowd.accuracy, str(folder / f"{name}.parquet")) for name in runs}
    medians = {name: asdict(median(found)) for name, found in runs.items()}
    return {"crowd": asdict(crowd), "runs": repeats, "median": medians, "accuracy": accuracy}


def show_crowds(found: list[dict[str, Any]]) -> None:
    """What we take, and how many times that the peer takes."""
    rows = []
    for one in found:
        crowd, ours, peer = one["crowd"], one["median"][OURS], one["median"][PEER]
        rows.append(
            [
                *(f"{crowd['responses']:,}", str(crowd["labels"]), f"{crowd['workers']:,}"),
                *(f"{ours['wall']:.2f}", f"{ours['cpu']:.2f}", f"{ours['peak_mb']:.0f}"),
                *(f"{peer[key] / ours[key]:.2f}" for key in ("wall", "cpu", "peak_mb")),
                *(f"{one['accuracy'][name]:.4f}" for name in (OURS, PEER)),
            ]
        )
    columns = (
        *("responses", "labels", "workers", "wall, s", "CPU, s", "peak, MB"),
        *("DawidSkene: wall / ours", "CPU / ours", "peak / ours", "our accuracy", "DawidSkene's"),
    )
    caption = "Medians of whole processes, in turns; ratios above 1 say that DawidSkene takes more."
    show("aggregate_speed.py", caption, columns, rows)


def main() -> None:
    """Measures, prints, writes."""
    chosen = parser("crowdopt aggregate against crowd-kit's DawidSkene, whole processes.").parse_args()
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as name:
        run_crowd(Path(name), Crowd(1000), 1)  # the first start of a program reads it from disk, and compiles
        some = [Crowd(10_000)] if chosen.quick else crowds()
        figures["crowds"] = [run_crowd(Path(name), crowd, 1 if chosen.quick else REPEATS) for crowd in some]
    if not chosen.quick:  # which nobody takes for a measurement
        stay_small()
    show_crowds(figures["crowds"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
