"""``crowdopt aggregate`` on millions of responses: time, memory, and what DawidSkene and MajorityVote take, in turns.

python benchmarks/aggregate_scale.py [--quick] [--big] [--json FILE]

As in aggregate_speed.py, whole processes read the same Parquet file and write one label per task. Then how the CPU time
beyond that of five tasks, and the peak of memory, grow with tasks, workers and labels; exponents are slopes on log-log
axes. With ``--big`` also 10⁸ responses, under a limit of memory, which crowd-kit's programs are not asked to read.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aggregate_speed import OURS, PEER, command, run_crowd
from crowds import Crowd
from growth import Series, exponent, slope
from processes import Run, elsewhere, environment, measure, median, stay_small
from tables import describe, parser, say, show, write_json

VOTE = "MajorityVote"
SIZES = ((10**6, 2_000, 3), (10**7, 20_000, 1))
"""Responses, workers, and how often each program runs."""

REPEATS = 2
"""How often crowdopt runs for each point of a line."""

BIG, BIG_LIMIT = Crowd(10**8, workers=100_000, classes=4), "1GB"

MANY = 10**6
GROWTH = (
    Series("tasks", "tasks", tuple((n, Crowd(5 * n)) for n in (10**4, 10**5, 4 * 10**5, 2 * 10**6))),
    Series("workers", "workers", tuple((n, Crowd(MANY, 2, workers=n)) for n in (10, 10**2, 10**3, 10**4, 10**5))),
    Series("labels", "labels", tuple((n, Crowd(MANY, n)) for n in (2, 4, 8, 16, 32, 64, 100, 1000))),
)
QUICK = (Series("tasks", "tasks", tuple((n, Crowd(5 * n)) for n in (100, 1000, 10_000))),)


def run_series(folder: Path, series: Series, repeats: int) -> dict[str, Any]:
    """What each point takes."""
    start = run_point(folder, Crowd(25), repeats)
    points = []
    for x, crowd in series.points:
        say(f"{series.unit}: {x:,}")
        run = run_point(folder, crowd, repeats)
        points.append({"x": x, "beyond_start": run.cpu - start.cpu, **asdict(run)})
    fitted = {name: exponent([(one["x"], one[name]) for one in points]) for name in ("beyond_start", "peak_mb")}
    return {"unit": series.unit, "points": points, "exponents": fitted}


def run_point(folder: Path, crowd: Crowd, repeats: int) -> Run:
    """The median of some runs."""
    source = folder / "responses.parquet"
    elsewhere(crowd.write, str(source))
    runs = [measure(command(OURS, source, folder / "answers.parquet")) for _ in range(repeats)]
    if failed := next((run.error for run in runs if run.error), ""):
        raise SystemExit(f"{crowd}: {failed}")
    return median(runs)


def show_series(found: list[dict[str, Any]]) -> None:
    """All points, and the slopes through them."""
    rows = [
        [
            one["unit"],
            f"{at['x']:,}",
            *(f"{at[key]:.{digits}f}" for key, digits in (("beyond_start", 2), ("peak_mb", 0))),
        ]
        for one in found
        for at in one["points"]
    ]
    columns = ("what grows", "to", "CPU beyond the start, s", "peak, MB")
    show("aggregate_scale.py (b)", "What a run costs as one thing grows.", columns, rows)
    rows = [[one["unit"], *map(slope, one["exponents"].values())] for one in found]
    show("aggregate_scale.py (c)", "Exponents.", ("what grows", "CPU beyond the start", "peak"), rows)


def run_big(folder: Path) -> dict[str, Any]:
    """One run under the limit; a failure is a result, too."""
    source, target = folder / "responses.parquet", folder / "answers.parquet"
    say(f"{BIG.responses:,} responses, --memory-limit {BIG_LIMIT}")
    elsewhere(BIG.write, str(source))
    run = measure([*command(OURS, source, target), "--memory-limit", BIG_LIMIT])
    found = {"crowd": asdict(BIG), "run": asdict(run)}
    return found if run.error else found | {"accuracy": elsewhere(BIG.accuracy, str(target))}


def show_sizes(found: list[dict[str, Any]]) -> None:
    """What each program takes."""
    rows = []
    for one in found:
        crowd, ours = one["crowd"], one["median"][OURS]
        for name, run in one["median"].items():
            rows.append(
                [
                    *(f"{crowd['responses']:,}", str(crowd["labels"]), name, str(one["runs"])),
                    *(f"{run['wall']:.1f}", f"{run['cpu']:.1f}", f"{run['peak_mb']:.0f}"),
                    *(f"{ours[key] / run[key]:.2f}" for key in ("wall", "peak_mb")),
                    f"{one['accuracy'][name]:.4f}",
                ]
            )
    columns = (
        "responses",
        "labels",
        "program",
        "runs",
        "wall, s",
        "CPU, s",
        "peak, MB",
        "our wall / its",
        "our peak / its",
    )
    show("aggregate_scale.py (a)", "Whole processes, in turns; medians.", (*columns, "accuracy"), rows)


def show_big(found: dict[str, Any]) -> None:
    """The run under the limit."""
    run = found["run"]
    row = [f"{BIG.responses:,}", f"{run['wall']:.0f}", f"{run['cpu']:.0f}", f"{run['peak_mb']:.0f}"]
    end = run["error"] or f"{found['accuracy']:.4f}"
    columns = ("responses", "wall, s", "CPU, s", "peak, MB", "accuracy")
    show("aggregate_scale.py (d)", f"crowdopt under --memory-limit {BIG_LIMIT}.", columns, [[*row, end]])


def main() -> None:
    """Measures, prints, writes."""
    options = parser("crowdopt aggregate on millions of responses, beside crowd-kit.")
    options.add_argument("--big", action="store_true", help=f"also {BIG.responses:.0e} responses under {BIG_LIMIT}")
    chosen = options.parse_args()
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    programs = (OURS, PEER, VOTE)
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as name:
        folder = Path(name)
        run_crowd(folder, Crowd(1000), 1, programs)  # the first start of a program reads it from disk, and compiles
        sizes = ((10_000, 50, 1),) if chosen.quick else SIZES
        figures["crowds"] = [
            run_crowd(folder, Crowd(size, labels, workers=workers, classes=4), repeats, programs)
            for size, workers, repeats in sizes
            for labels in (2, 5)
        ]
        show_sizes(figures["crowds"])
        repeats = 1 if chosen.quick else REPEATS
        figures["growth"] = [run_series(folder, one, repeats) for one in (QUICK if chosen.quick else GROWTH)]
        show_series(figures["growth"])
        if chosen.big:
            figures["big"] = run_big(folder)
            show_big(figures["big"])
    if not chosen.quick:  # which nobody takes for a measurement
        stay_small()
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
