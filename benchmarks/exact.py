"""Exact solves over a grid of labels and responses, in both spaces: time to proof, work, and gaps that stay open.

python benchmarks/exact.py [--quick] [--json FILE]

Beside crowdopt stand the paper's Algorithm 2 (in our own implementation, engine ``enumerate``; it lists every mapping
that respects the order, and is only run where there are at most three million) and hard EM from three starts, the best
of which is taken. Crowds of 1,000 tasks are drawn at random: *0.6* answers right with that probability and otherwise
anything; *diagonal* has rows uniform over all distributions whose likeliest answer is right; *any* is not restricted.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import asdict, dataclass
from typing import Any

from columns import KINDS, Setting, draw
from crowdopt.engines.base import Limits
from crowdopt.engines.enumeration import MAX_MAPPINGS, count_mappings
from crowdopt.engines.registry import run
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.order import Order, TooManyUpSets
from crowdopt.model.problem import Problem
from processes import environment
from tables import MISSED, describe, duration, nats, parser, say, show, write_json

SECONDS = 10.0
"""For each crowd and way."""

GRID = {
    2: (3, 10, 100, 1000),
    3: (3, 5, 10, 20, 40),
    4: (3, 5, 8),
    5: (2, 3, 5),
}
"""Responses per task by the number of labels."""

QUICK_GRID = {2: (3,), 3: (3,)}
CROWDS = 2
"""Of each kind."""


@dataclass(frozen=True)
class Solve:
    """What came out for one crowd: of crowdopt, of Algorithm 2 if it was run, and of hard EM.

    Attributes:
        mappings: How many respect the order; None if too many to count, or if the space is all mappings.
        listed: Seconds of Algorithm 2; None where it was not run, or was run and did not end.
        ended: Whether it ended in time; None where it was not run.
        agrees: Whether it found the same likelihood; None if it did not end.
        em_loss: Nats that the best of three runs of hard EM is below the likeliest answer found.
    """

    kind: str
    seed: int
    buckets: int
    engine: str
    proof: str
    gap: float
    work: int
    seconds: float
    mappings: int | None
    listed: float | None
    ended: bool | None
    agrees: bool | None
    em_seconds: float
    em_loss: float


def solve(setting: Setting, kind: str, seed: int) -> Solve:
    """One crowd, three ways."""
    problem = Problem(draw(setting, kind, seed), setting.space)
    labels = [str(j) for j in range(setting.n_labels)]
    best = run(problem, Limits(SECONDS), labels=labels).certificate
    mappings = _mappings(problem)
    listed, ended, agrees = None, None, None
    if mappings is not None and mappings <= MAX_MAPPINGS:
        other = run(problem, Limits(SECONDS), labels=labels, engine="enumerate").certificate
        ended = other.proof is Proof.PROVED
        if ended:
            listed, agrees = other.seconds, abs(other.objective - best.objective) <= 2 * best.tolerance
    climbed = run(problem, Limits(SECONDS), labels=labels, engine="em").certificate
    return Solve(
        *(kind, seed, problem.buckets.n_buckets, best.engine, best.proof.value, float(best.gap or 0.0), best.work),
        *(best.seconds, mappings, listed, ended, agrees, climbed.seconds, best.objective - climbed.objective),
    )


def _mappings(problem: Problem) -> int | None:
    if problem.space is Space.ALL:
        return None
    try:
        return int(count_mappings(Order.of(problem.buckets.counts), problem.buckets.n_labels))
    except TooManyUpSets:
        return None


def run_cell(space: Space, n_labels: int, size: int, crowds: int) -> dict[str, Any]:
    """All crowds of one place of the grid."""
    say(f"{space.value} ({n_labels}, {size})")
    setting = Setting(space, n_labels, size, crowds)
    solves = [asdict(solve(setting, kind, seed)) for kind in KINDS for seed in range(crowds)]
    return {"space": space.value, "labels": n_labels, "responses": size, "crowds": solves}


def show_cells(cells: list[dict[str, Any]]) -> None:
    """The table of the grid."""
    rows = []
    for cell in cells:
        found = cell["crowds"]
        facts = digest(found)
        rows.append(
            [
                *(cell["space"], str(cell["labels"]), str(cell["responses"]), f"{facts['buckets']:,}"),
                *(", ".join(facts["engines"]), f"{facts['proved']} of {len(found)}", duration(facts["seconds"])),
                *(duration(facts["worst"]), nats(facts["gap"]), f"{facts['work']:,}"),
                "" if facts["mappings"] is None else f"{facts['mappings']:.2g}",
                listing(facts),
                "" if facts["speedup"] is None else f"{facts['speedup']:,.0f}",
                *(duration(facts["em_seconds"]), f"{facts['em_missed']} of {len(found)}", nats(facts["em_loss"])),
            ]
        )
    columns = (
        *("space", "labels", "responses", "buckets", "engine", "proved", "time, median", "time, worst", "largest gap"),
        *("work, median", "mappings", "Algorithm 2", "times faster", "EM", "EM falls short", "by at most, nats"),
    )
    caption = f"1,000 tasks, {SECONDS:g} s for each crowd. Where nothing stands there were too many mappings to list."
    show("exact.py", caption, columns, rows)


def digest(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of one place of the grid."""
    both = [one for one in found if one["listed"] is not None]
    counted = [one["mappings"] for one in found if one["mappings"] is not None]
    return {
        "buckets": max(one["buckets"] for one in found),
        "engines": sorted({one["engine"] for one in found}),
        "proved": sum(one["proof"] == "PROVED" for one in found),
        "seconds": statistics.median(one["seconds"] for one in found),
        "worst": max(one["seconds"] for one in found),
        "gap": max((one["gap"] for one in found if one["proof"] != "PROVED"), default=0.0),
        "work": int(statistics.median(one["work"] for one in found)),
        "mappings": max(counted) if counted else None,
        "listed": statistics.median(one["listed"] for one in both) if both else None,
        "speedup": statistics.median(one["listed"] / one["seconds"] for one in both) if both else None,
        "late": sum(one["ended"] is False for one in found),
        "disagree": sum(one["agrees"] is False for one in found),
        "em_seconds": statistics.median(one["em_seconds"] for one in found),
        "em_missed": sum(one["em_loss"] > MISSED for one in found),
        "em_loss": max(one["em_loss"] for one in found),
    }


def listing(facts: dict[str, Any]) -> str:
    """How long Algorithm 2 took, and how often it did not end in time."""
    took = "" if facts["listed"] is None else duration(facts["listed"])
    late = f"{facts['late']} took more than {SECONDS:g} s" if facts["late"] else ""
    return ", ".join(text for text in (took, late) if text)


def main() -> None:
    """Measures, prints, writes."""
    chosen = parser("Exact solves over a grid of labels and responses.").parse_args()
    grid, crowds = (QUICK_GRID, 1) if chosen.quick else (GRID, CROWDS)
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "seconds": SECONDS}
    print(describe(figures["environment"]) + "\n")
    for space, n_labels, size in ((Space.ALL, 3, 5), (Space.DOMINANCE, 3, 15)):  # loads what is compiled
        solve(Setting(space, n_labels, size, 1), "diagonal", 0)
    figures["cells"] = [
        run_cell(space, n_labels, size, crowds)
        for space in (Space.DOMINANCE, Space.ALL)
        for n_labels, sizes in grid.items()
        for size in sizes
    ]
    show_cells(figures["cells"])
    write_json(chosen.json, figures)
    if any(digest(cell["crowds"])["disagree"] for cell in figures["cells"]):
        sys.exit("crowdopt and Algorithm 2 disagree")


if __name__ == "__main__":
    main()
