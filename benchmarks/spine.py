"""What the spine of crowdopt (read, check, count, solve, write) costs, against the same job written by hand.

python benchmarks/spine.py [--sizes 1e6,1e7] [--repeats 3] [--big] [--out benchmarks/results/spine.json]

Every run is a process of its own. Its CPU time and peak memory are those that the operating system reports for it
when it ends. This process stays small and does its own heavy work in children, because a child's reported peak
begins at the size of the process that started it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crowds import Crowd
from processes import Run, database, elsewhere, environment, measure, median, stay_small

HERE = Path(__file__).resolve().parent
BIG = 10**8
BIG_LIMIT = "1GB"
BIG_TARGET_MB = 1600.0
CROWDOPT = "crowdopt"
BY_HAND = "by hand"
CROWDOPT_ALL = "crowdopt, no duplicate check"
BY_HAND_ALL = "by hand, no duplicate check"
BY_HAND_UNSORTED = "by hand, unsorted"
PAIRS = ((CROWDOPT, BY_HAND), (CROWDOPT_ALL, BY_HAND_ALL))
VARIANTS = {
    CROWDOPT: [],
    BY_HAND: [],
    CROWDOPT_ALL: ["--duplicates", "all"],
    BY_HAND_ALL: ["--no-duplicate-check"],
    BY_HAND_UNSORTED: ["--unsorted"],
}
"""The options of each variant."""


@dataclass(frozen=True)
class Comparison:
    """Two files of answers: their numbers of rows, and the tasks that have another label or are in one file only."""

    rows: tuple[int, int]
    differences: int

    @property
    def same(self) -> bool:
        """Whether both hold the same tasks with the same labels."""
        return self.rows[0] == self.rows[1] and not self.differences


def compare(left: str, right: str) -> Comparison:
    """Compares two files of answers task by task."""
    with database() as con:
        rows = [con.execute(f"SELECT count(*) FROM '{path}'").fetchall()[0][0] for path in (left, right)]
        differences = con.execute(
            f"SELECT count(*) FROM '{left}' AS a FULL JOIN '{right}' AS b ON a.task = b.task "
            "WHERE a.task IS NULL OR b.task IS NULL OR a.label IS DISTINCT FROM b.label"
        ).fetchall()[0][0]
    return Comparison((rows[0], rows[1]), differences)


def is_sorted(path: str) -> bool:
    """Whether the answers in a file are in the order of their tasks."""
    with database() as con:
        wrong = con.execute(
            "SELECT count(*) FROM (SELECT task, lag(task) OVER (ORDER BY file_row_number) AS before "
            f"FROM read_parquet('{path}', file_row_number = true)) WHERE before >= task"
        ).fetchall()[0][0]
    return bool(wrong == 0)


def command(variant: str, source: Path, target: Path, memory_limit: str = "") -> list[str]:
    """The command line of a variant."""
    options = [*VARIANTS[variant], *(["--memory-limit", memory_limit] if memory_limit else [])]
    if variant.startswith(CROWDOPT):
        program = str(Path(sys.executable).with_name("crowdopt"))
        return [program, "prove", str(source), "-o", str(target), "--json", *options]
    return [sys.executable, str(HERE / "by_hand.py"), str(source), str(target), *options]


def check_answers(folder: Path, variants: list[str]) -> None:
    """Ends the program unless all variants gave the same labels, in the order of tasks where that was asked for."""
    first = folder / f"{variants[0]}.parquet"
    for variant in variants:
        path = folder / f"{variant}.parquet"
        if variant != BY_HAND_UNSORTED and not elsewhere(is_sorted, str(path)):
            sys.exit(f"the answers of {variant} are not sorted by task")
        found: Comparison = elsewhere(compare, str(first), str(path))
        if not found.same:
            sys.exit(f"the answers of {variants[0]} and {variant} differ: {found}")


def run_size(folder: Path, n_responses: int, repeats: int) -> dict[str, list[Run]]:
    """All variants on one size, ``repeats`` times, every other time in reverse order."""
    source = folder / f"responses-{n_responses}.parquet"
    elsewhere(Crowd(n_responses).write, str(source))
    runs: dict[str, list[Run]] = {variant: [] for variant in VARIANTS}
    for i in range(repeats):
        for variant in list(VARIANTS)[:: -1 if i % 2 else 1]:
            run = measure(command(variant, source, folder / f"{variant}.parquet"))
            if run.error:
                sys.exit(f"{variant} failed with {run.error}")
            runs[variant].append(run)
    check_answers(folder, list(VARIANTS))
    source.unlink()
    return runs


def run_big(folder: Path) -> dict[str, Any]:
    """Both programs once on 10^8 responses under a memory limit; a failure is a result, too."""
    source = folder / "responses-big.parquet"
    elsewhere(Crowd(BIG).write, str(source))
    size_mb = source.stat().st_size / 1e6
    print(f"\n{BIG:.0e} responses ({size_mb:,.0f} MB of Parquet), --memory-limit {BIG_LIMIT}")
    runs: dict[str, Run] = {}
    for variant in (CROWDOPT, BY_HAND):
        run = runs[variant] = measure(command(variant, source, folder / f"{variant}.parquet", BIG_LIMIT))
        print(f"{variant:28} {run.error or numbers(run)}")
    if not any(run.error for run in runs.values()):
        check_answers(folder, list(runs))
        print("both give the same labels")
    within = not runs[CROWDOPT].error and runs[CROWDOPT].peak_mb <= BIG_TARGET_MB
    print(f"peak of crowdopt against the target of {BIG_TARGET_MB:,.0f} MB: {'met' if within else 'MISSED'}")
    return {
        "n_responses": BIG,
        "parquet_mb": size_mb,
        "memory_limit": BIG_LIMIT,
        "target_mb": BIG_TARGET_MB,
        "met": within,
        "runs": {variant: asdict(run) for variant, run in runs.items()},
    }


def numbers(run: Run) -> str:
    """The measures as they stand in a table."""
    return f"{run.wall:9.2f} s {run.cpu:9.2f} s {run.peak_mb:9.0f} MB"


def summarise(n_responses: int, runs: dict[str, list[Run]]) -> dict[str, Any]:
    """Medians and ratios of one size, printed and returned."""
    medians = {variant: median(found) for variant, found in runs.items()}
    print(f"\n{n_responses:.0e} responses, median of {len(runs[CROWDOPT])}")
    print(f"{'':28} {'wall':>11} {'CPU':>11} {'peak':>12}")
    for variant, run in medians.items():
        print(f"{variant:28} {numbers(run)}")
    ratios: dict[str, dict[str, float]] = {}
    for ours, theirs in PAIRS:
        a, b = medians[ours], medians[theirs]
        ratio = ratios[f"{ours} / {theirs}"] = {"cpu": a.cpu / b.cpu, "peak": a.peak_mb / b.peak_mb}
        print(f"ratio {ours} / {theirs}: CPU {ratio['cpu']:.2f}, peak memory {ratio['peak']:.2f}")
    return {
        "n_responses": n_responses,
        "median": {variant: asdict(run) for variant, run in medians.items()},
        "ratios": ratios,
        "runs": {variant: [asdict(run) for run in found] for variant, found in runs.items()},
    }


def print_costs(result: dict[str, Any]) -> None:
    """What a response costs at every size, beyond the start: flat, if the work is in proportion to the responses."""
    start = result["start_cpu"]
    runs = [(size["n_responses"], size["median"][CROWDOPT]) for size in result["sizes"]]
    if "big" in result:
        runs.append((result["big"]["n_responses"], result["big"]["runs"][CROWDOPT]))
    print(f"\ncrowdopt through DuckDB; a start takes {start:.2f} s of CPU")
    print(f"{'responses':>12} {'CPU':>10} {'per response':>14} {'peak':>10}")
    for n_responses, run in runs:
        cost = "failed" if run["error"] else f"{(run['cpu'] - start) / n_responses * 1e6:.3f} µs"
        print(f"{n_responses:12,} {run['cpu']:8.1f} s {cost:>14} {run['peak_mb']:7,.0f} MB")


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measures crowdopt against the same job written by hand.")
    parser.add_argument("--sizes", default="1e6,1e7", help="numbers of responses, separated by commas")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant on each size")
    parser.add_argument("--big", action="store_true", help=f"also {BIG:.0e} responses with {BIG_LIMIT} of memory")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "spine.json", help="where the numbers go")
    return parser.parse_args()


def main() -> None:
    """Makes the data, measures, prints, writes."""
    chosen = options()
    sizes = [int(float(size)) for size in chosen.sizes.split(",") if size]
    if any(size % Crowd.per_task or size <= 0 for size in sizes) or chosen.repeats < 1:
        sys.exit(f"sizes must be multiples of {Crowd.per_task}, and repeats at least 1")
    result: dict[str, Any] = {"environment": environment(), "sizes": []}
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as name:
        folder = Path(name)
        run_size(folder, 1000, 1)  # the first start of a program reads it from disk
        result["start_cpu"] = median(run_size(folder, 1000, 1)[CROWDOPT]).cpu
        for size in sizes:
            result["sizes"].append(summarise(size, run_size(folder, size, chosen.repeats)))
        if chosen.big:
            result["big"] = run_big(folder)
    print_costs(result)
    stay_small()
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten to {chosen.out}")


if __name__ == "__main__":
    main()
