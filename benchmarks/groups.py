"""What groups cost: one process, threads and processes on the same problems, and the command line on the same file.

python benchmarks/groups.py [--quick] [--json FILE]

Prints three tables in Markdown: (a) proving alone, with one process, with threads and with processes; the whole
command, reading and writing included, for several numbers of groups: (b) ``prove``, (c) ``aggregate``. Progress goes to
standard error.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt import _parallel as jobs
from crowdopt._option import complete
from crowdopt.data.counts import CountedProblem, Totals
from crowdopt.data.reading import Reading
from crowdopt.model.buckets import Buckets
from crowdopt.model.scale import Scale
from crowdopt.options.model import SolveOptions
from crowdopt.results.solve_counts import solve_group
from crowdopt.results.write.files import write_columns
from crowdopt.studies.simulate import crowd
from processes import environment
from tables import describe, duration, parser, say, show, write_json

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = {
    "two labels, 5 responses": (2, 5),
    "ratings, 3 labels, 5 responses": (3, 5),
    "ratings, 4 labels, 4 responses": (4, 4),
}
N_TASKS = 100


def problems(n_labels: int, size: int, n_groups: int) -> list[Any]:
    """What the function that solves a group takes, for many groups."""
    items = []
    labels = [str(j) for j in range(n_labels)]
    for seed in range(n_groups):
        rng = np.random.default_rng(seed)
        matrix = 0.5 * np.eye(n_labels) + 0.5 * rng.dirichlet(np.ones(n_labels), n_labels)
        counts = rng.multinomial(size, matrix[rng.integers(n_labels, size=N_TASKS)])
        buckets, _ = Buckets.from_arrays(counts)
        totals = Totals(N_TASKS, 0, 0, size, buckets.n_responses, 0)
        counted = CountedProblem(Scale.of(labels, labels), (), buckets, None, totals, Reading(labels=tuple(labels)))
        items.append((counted, complete(SolveOptions, {}), 60.0, None, "solving alone is measured"))
    return items


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock, and of all processors, its own processes included."""
    before = [sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    after = [sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return seconds, sum(after) - sum(before)


def with_threads(items: list[Any]) -> None:
    """Solves with as many threads as there are cores."""
    with ThreadPoolExecutor(jobs.n_cores()) as pool:
        list(pool.map(solve_group, items))


def part_a(n_groups: int) -> list[dict[str, Any]]:
    """Solving alone."""
    found = []
    for kind, (n_labels, size) in KINDS.items():
        items = problems(n_labels, size, n_groups)
        solve_group(items[0])  # what is loaded once
        ways: dict[str, Callable[[], Any]] = {
            "one process": lambda items=items: jobs.run_all(solve_group, items, 1, None),
            f"{jobs.n_cores()} threads": lambda items=items: with_threads(items),
            f"{jobs.n_cores()} processes": lambda items=items: jobs.run_all(solve_group, items, jobs.n_cores(), None),
        }
        for way, work in ways.items():
            say(f"{kind}: {way}")
            seconds, processor = timed(work)
            found.append({"kind": kind, "groups": n_groups, "way": way, "seconds": seconds, "processor": processor})
    rows = [
        [one["kind"], f"{one['groups']:,}", one["way"], duration(one["seconds"]), duration(one["processor"])]
        for one in found
    ]
    caption = f"Groups of {N_TASKS} tasks, solved; processes are started after {jobs.ALONE:g} s of work in this one."
    show("groups.py (a)", caption, ("groups", "number", "way", "time", "processor time"), rows)
    return found


def command(verb: str, folder: Path, n_jobs: int) -> None:
    """Runs the command."""
    program = [sys.executable, "-m", "crowdopt", verb, folder / "data.csv", "-o", folder / "answers.csv"]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([*program, "--group", "batch", "--jobs", str(n_jobs), "-q"], check=True, env=os.environ | paths)


def whole_command(part: str, verb: str, numbers: tuple[int, ...]) -> list[dict[str, Any]]:
    """The whole command, for some numbers of groups."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for n_groups in numbers:
            made = crowd(n_groups * N_TASKS, 50, 5, seed=n_groups)
            group = np.repeat(np.arange(n_groups), 5 * N_TASKS).astype(str)
            write_columns({**made.to_dict(), "batch": group}, Path(folder) / "data.csv")
            for n_jobs in sorted({1, jobs.n_cores()}):
                say(f"{verb}, {n_groups} groups, {n_jobs} jobs")
                seconds, processor = timed(lambda n_jobs=n_jobs: command(verb, Path(folder), n_jobs))
                found.append({"groups": n_groups, "jobs": n_jobs, "seconds": seconds, "processor": processor})
    rows = [
        [f"{one['groups']:,}", f"{one['groups'] * N_TASKS * 5:,}", str(one["jobs"]), duration(one["seconds"]),
         duration(one["processor"])]
        for one in found
    ]  # fmt: skip
    caption = f"`crowdopt {verb} data.csv --group batch -o answers.csv`: {N_TASKS} tasks a group, two labels."
    show(f"groups.py ({part})", caption, ("groups", "responses", "jobs", "time", "processor time"), rows)
    return found


def main() -> None:
    """Measures, prints, writes."""
    chosen = parser("What groups cost.").parse_args()
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    figures["a"] = part_a(20 if chosen.quick else 1000)
    figures["b"] = whole_command("b", "prove", (10,) if chosen.quick else (100, 1000, 5000))
    figures["c"] = whole_command("c", "aggregate", (10,) if chosen.quick else (100, 1000))
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
