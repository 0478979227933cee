"""What proofs by prices cost, over all mappings and under dominance, on seeded crowds and on public sets.

python benchmarks/columns.py [--quick] [--json FILE] [--data DIR]

Prints three tables in Markdown, each between two comments, so that they can be pasted into docs/results.md: (a) all
mappings and (b) mappings that respect the order, for crowds of many sizes; (c) public sets in both spaces. The bound
of the first crowds of a row is re-checked by the code that ``verify`` uses, and the time of that is shown. Progress
goes to standard error.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import crowdopt
from crowdopt.engines.base import Limits
from crowdopt.engines.registry import run
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.problem import Problem
from crowdopt.studies.simulate import random_matrix, uniform_errors
from crowdopt.studies.simulate_counts import Lattice
from crowdopt.verify.optimum import Undecided
from crowdopt.verify.recheck import Recheck
from processes import environment
from real_sets import DATA, SETS
from tables import describe, duration, nats, parser, say, show, span, write_json

if TYPE_CHECKING:
    from crowdopt._arrays import Floats
    from crowdopt.engines.registry import Solved

KINDS = ("0.6", "diagonal", "any")
MANY = 1_000_000
RECHECKED = 2
"""Crowds of a row whose bound is checked again."""


@dataclass(frozen=True)
class Setting:
    """Crowds of one size, solved in one space.

    Attributes:
        target: Seconds that a proof should take at most; None where no target was set.
    """

    space: Space
    n_labels: int
    size: int
    crowds: int
    n_tasks: int = 1000
    seconds: float = 60.0
    target: float | None = None
    kinds: tuple[str, ...] = KINDS
    full: bool = False


@dataclass(frozen=True)
class Proved:
    """What came out for one crowd."""

    kind: str
    seed: int
    buckets: int
    engine: str
    proof: str
    stop: str
    gap: float
    work: int
    seconds: float
    checked: str
    check_seconds: float


def _all(n_labels: int, size: int, crowds: int, target: float | None, **more: Any) -> Setting:
    return Setting(Space.ALL, n_labels, size, crowds, target=target, **more)


def _ordered(n_labels: int, size: int, crowds: int, target: float | None, **more: Any) -> Setting:
    return Setting(Space.DOMINANCE, n_labels, size, crowds, target=target, **more)


FULL = (
    *(_all(3, size, 34, 0.1) for size in (3, 5, 10, 20)),
    *(_all(4, size, 7, 10) for size in (5, 10)),
    *(_all(5, size, 3, 30, kinds=("0.6",)) for size in (3, 5, 10)),
    _all(5, 10, 2, None, kinds=("diagonal",)),
    _all(3, 20, 3, 0.1, n_tasks=MANY),
    _all(4, 10, 2, 10, n_tasks=MANY),
    *(_ordered(3, size, 5, 2) for size in (15, 20, 40)),
    *(_ordered(3, size, 2, 2, n_tasks=MANY, full=True) for size in (15, 20, 40)),
    _ordered(4, 8, 3, 15),
    _ordered(4, 10, 3, 30),
    _ordered(5, 5, 1, 60),
)
QUICK = (_all(3, 5, 1, 0.1), _ordered(3, 15, 1, 2))
QUICK_SETS = {"movies3", "wsd"}


def matrix(kind: str, n_labels: int, rng: np.random.Generator) -> Floats:
    """How the workers answer."""
    return uniform_errors(n_labels, 0.6) if kind == "0.6" else random_matrix(n_labels, rng, kind)  # type: ignore[arg-type]


def draw(setting: Setting, kind: str, seed: int) -> Buckets:
    """A crowd whose true labels are uniform; every possible bucket gets one more task if it is to be ``full``."""
    rng = np.random.Generator(np.random.PCG64([setting.n_labels, setting.size, KINDS.index(kind), seed]))
    rates = matrix(kind, setting.n_labels, rng)
    truth = rng.multinomial(setting.n_tasks, np.full(setting.n_labels, 1 / setting.n_labels))
    lattice = Lattice.full(setting.n_labels, setting.size)
    tasks = lattice.draw(truth, rates, rng).sum(axis=0) + int(setting.full)
    return Buckets.from_arrays(lattice.counts[tasks > 0], tasks[tasks > 0])[0]


def recheck(problem: Problem, solved: Solved) -> tuple[str, float]:
    """Whether the bound was re-checked, and how long that took."""
    certificate = solved.certificate
    started = time.perf_counter()
    limit = (certificate.bound or 0.0) + certificate.tolerance
    checks = Recheck(problem, time.monotonic() + 60)
    try:
        if certificate.witness is not None:
            reason = checks.doubt(certificate.witness, limit)
        else:
            reason = None if checks.better_than(limit) is None else "a better mapping"
    except Undecided:
        return "not in 60 s", time.perf_counter() - started
    return "yes" if reason is None else f"NO: {reason}", time.perf_counter() - started


def prove(setting: Setting, kind: str, seed: int) -> Proved:
    """Solves one crowd, and re-checks the first ones."""
    problem = Problem(draw(setting, kind, seed), setting.space)
    labels = [str(j) for j in range(setting.n_labels)]
    solved = run(problem, Limits(setting.seconds), labels=labels)
    certificate = solved.certificate
    return Proved(
        kind,
        seed,
        problem.buckets.n_buckets,
        certificate.engine,
        certificate.proof.value,
        certificate.stop.value,
        float(certificate.gap or 0.0),
        certificate.work,
        certificate.seconds,
        *(recheck(problem, solved) if seed < RECHECKED else ("", 0.0)),
    )


def part(name: str, space: Space, settings: tuple[Setting, ...], caption: str) -> list[dict[str, Any]]:
    """The table of one space."""
    rows, found = [], []
    for setting in settings:
        if setting.space is not space:
            continue
        for kind in setting.kinds:
            say(f"{space.value} ({setting.n_labels}, {setting.size}) {kind}, {setting.n_tasks:,} tasks")
            runs = [prove(setting, kind, seed) for seed in range(setting.crowds)]
            rows.append(_row(setting, kind, runs))
            found += [{**asdict(setting), "space": space.value, **asdict(one)} for one in runs]
    columns = (
        *("labels", "responses", "crowd", "tasks", "buckets", "engine", "proved", "time, median", "time, worst"),
        *("target", "largest gap", "work, median", "bound re-checked", "check, median"),
    )
    show(name, caption, columns, rows)
    return found


def _row(setting: Setting, kind: str, runs: list[Proved]) -> list[str]:
    proved = [one for one in runs if one.proof == "PROVED"]
    times, checked = [one.seconds for one in runs], runs[:RECHECKED]
    target = "none"
    if setting.target is not None:
        fast = sum(one.seconds < setting.target for one in proved)
        target = f"< {duration(setting.target)}: {fast} of {len(runs)}"
    return [
        str(setting.n_labels),
        str(setting.size),
        kind,
        f"{setting.n_tasks:,}" + (", all buckets" if setting.full else ""),
        span(one.buckets for one in runs),
        ", ".join(sorted({one.engine for one in runs})),
        f"{len(proved)} of {len(runs)}",
        duration(statistics.median(times)),
        duration(max(times)),
        target,
        nats(max(one.gap for one in runs)) if len(proved) < len(runs) else "0",
        f"{int(statistics.median(one.work for one in runs)):,}",
        f"{sum(one.checked == 'yes' for one in checked)} of {len(checked)}",
        duration(statistics.median(one.check_seconds for one in checked)),
    ]


def part_c(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Public sets in both spaces."""
    rows, found = [], []
    for kind in ("ordinal", "nominal"):
        for name in SETS[kind]:
            path = folder / name / "responses.csv"
            if not path.is_file() or (quick and name not in QUICK_SETS):
                say(f"left out: {name}")
                continue
            for space in ("dominance", "all") if kind == "ordinal" else ("all",):
                say(f"{name}, {space}")
                scale: Any = kind
                where: Any = space
                solution = crowdopt.prove(path, duplicates="all", scale=scale, space=where, time_limit=60)
                facts = solution.summary()
                found.append({"set": name, "space": space, **facts})
                stopped = "" if facts["stop"] == Stop.FINISHED else f" ({facts['stop']})"
                rows.append(
                    [
                        *(name, kind, space, str(len(facts["labels"])), f"{facts['n_buckets']:,}", facts["engine"]),
                        *(facts["proof"] + stopped, f"{facts['log_likelihood']:,.2f}", nats(facts["gap"])),
                        duration(facts["seconds"]),
                    ]
                )
    columns = ("set", "kind", "space", "labels", "buckets", "engine", "proof", "log-likelihood", "gap", "time")
    show("columns.py (c)", "Public sets, every row counted, 60 s at most for each.", columns, rows)
    return found


def main() -> None:
    """Measures, prints, writes."""
    options = parser("What proofs by prices cost.")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    chosen = options.parse_args()
    settings = QUICK if chosen.quick else FULL
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    about = "A crowd *0.6* answers right with that probability and otherwise anything; *diagonal* and *any* as above."
    figures["a"] = part("columns.py (a)", Space.ALL, settings, f"Optimum over all mappings. {about}")
    figures["b"] = part("columns.py (b)", Space.DOMINANCE, settings, f"Optimum that respects the order. {about}")
    figures["c"] = part_c(chosen.data, chosen.quick)
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
