"""How the cost of ``crowdopt prove`` grows: with tasks, workers, responses per task, labels and classes.

python benchmarks/growth.py [--quick] [--json FILE]

Every point is a whole process on simulated responses, its CPU time less that of a run on five tasks. The exponent is
the slope of a straight line through the points on log-log axes: 1 is in proportion, 0 is no growth. Beside it stands
the engine's count of work, which noise does not touch. Points at which the time limit was reached are marked, and are
in no fit.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowds import Crowd
from processes import elsewhere, environment, measure, stay_small
from tables import describe, duration, parser, say, show, write_json

MANY = 10**6
REPEATS = 2
TIME_LIMIT = 30
LEAST = 0.05
"""Seconds of CPU beyond the start below which a point says nothing about growth."""


@dataclass(frozen=True)
class Series:
    """One thing that grows, the rest being equal."""

    name: str
    unit: str
    points: tuple[tuple[int, Crowd], ...]


QUICK = Series("tasks", "tasks", tuple((n, Crowd(5 * n)) for n in (10, 100, 1000)))


def all_series() -> tuple[Series, ...]:
    """What is measured. Numbers of responses are as near to a million as whole tasks permit, where they do not grow."""
    return (
        Series("tasks", "tasks", tuple((n, Crowd(5 * n)) for n in (10**4, 10**5, 10**6, 2 * 10**6))),
        Series("workers", "workers", tuple((w, Crowd(MANY, workers=w)) for w in (10, 10**2, 10**3, 10**4, 10**5))),
        Series("responses2", "responses per task, 2 labels", tuple((m, _of(m, 2)) for m in (3, 5, 10, 20, 50, 100))),
        Series("responses3", "responses per task, 3 labels", tuple((m, _of(m, 3)) for m in (3, 5, 10, 20, 40))),
        Series("labels", "labels, 3 responses per task", tuple((k, _of(3, k)) for k in (2, 3, 4, 5, 6, 7))),
        Series(
            "classes",
            "classes of workers, 2 labels, 6 responses",
            tuple((c, _of(6, 2, c)) for c in (1, 2, 3, 4)),
        ),
    )


def _of(per_task: int, labels: int, classes: int = 1) -> Crowd:
    return Crowd(MANY // per_task * per_task, labels, per_task, classes=classes)


def run_point(folder: Path, crowd: Crowd, repeats: int) -> dict[str, Any]:
    """One point: the median of the CPU time, and what the program says of itself."""
    source, said = folder / "responses.parquet", folder / "said.json"
    elsewhere(crowd.write, str(source))
    program = str(Path(sys.executable).with_name("crowdopt"))
    options = ["--time-limit", str(TIME_LIMIT), *(["--class", "class"] if crowd.classes > 1 else [])]
    command = [program, "prove", str(source), "-o", str(folder / "answers.parquet"), "--json", *options]
    runs = [measure(command, said=said) for _ in range(repeats)]
    if failed := next((run.error for run in runs if run.error), ""):
        sys.exit(f"{crowd}: {failed}")
    facts = json.loads(said.read_text(encoding="utf-8"))
    names = ("proof", "space", "engine", "gap", "work", "seconds", "n_buckets")
    return {
        "cpu": statistics.median(run.cpu for run in runs),
        "wall": statistics.median(run.wall for run in runs),
        "peak_mb": statistics.median(run.peak_mb for run in runs),
        **{name: facts[name] for name in names},
    }


def exponent(points: list[tuple[float, float]]) -> float | None:
    """The slope on log-log axes by least squares; None where fewer than three points are left.

    >>> exponent([(1, 2), (10, 200), (100, 20_000)])
    2.0
    """
    kept = [(math.log(x), math.log(y)) for x, y in points if y > 0]
    if len(kept) < 3:
        return None
    return round(statistics.linear_regression(*zip(*kept, strict=True)).slope, 3)


def run_series(folder: Path, series: Series, start: float, repeats: int) -> dict[str, Any]:
    """All points of a series, and the lines through them."""
    points = []
    for x, crowd in series.points:
        say(f"{series.unit}: {x:,}")
        point = run_point(folder, crowd, repeats)
        points.append({"x": x, "beyond_start": point["cpu"] - start, **point})
    ended = [point for point in points if point["proof"] == "PROVED"]
    return {
        "name": series.name,
        "unit": series.unit,
        "points": points,
        "cpu_exponent": exponent([(p["x"], p["beyond_start"]) for p in ended if p["beyond_start"] >= LEAST]),
        "work_exponent": exponent([(p["x"], p["work"]) for p in ended]),
        "solve_exponent": exponent([(p["x"], p["seconds"]) for p in ended]),
    }


def show_series(found: list[dict[str, Any]]) -> None:
    """The table of all points."""
    rows = [
        [
            *(series["unit"], f"{point['x']:,}", f"{point['cpu']:.2f}", f"{point['beyond_start']:.2f}"),
            *(f"{point['peak_mb']:.0f}", f"{point['n_buckets']:,}", point["engine"], point["proof"]),
            *(duration(point["seconds"]), f"{point['work']:,}"),
        ]
        for series in found
        for point in series["points"]
    ]
    columns = (
        *("what grows", "to", "CPU, s", "beyond the start, s", "peak, MB"),
        *("buckets", "engine", "proof", "solving", "work"),
    )
    show("growth.py (a)", "What a run costs as one thing grows.", columns, rows)
    rows = [[one["unit"], *(slope(one[f"{name}_exponent"]) for name in ("cpu", "solve", "work"))] for one in found]
    show("growth.py (b)", "Exponents.", ("what grows", "CPU beyond the start", "time of solving", "work"), rows)


def slope(value: float | None) -> str:
    """An exponent as it is shown."""
    return "too few points" if value is None else f"{value:.2f}"


def main() -> None:
    """Measures, prints, writes."""
    chosen = parser("How the cost of crowdopt grows.").parse_args()
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as name:
        folder, repeats = Path(name), 1 if chosen.quick else REPEATS
        run_point(folder, Crowd(25), 1)  # the first start of a program reads it from disk
        figures["start_cpu"] = start = run_point(folder, Crowd(25), repeats)["cpu"]
        wanted = (QUICK,) if chosen.quick else all_series()
        figures["series"] = [run_series(folder, series, start, repeats) for series in wanted]
    stay_small()
    show_series(figures["series"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
