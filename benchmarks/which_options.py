"""Which space and which selectivity are right for whom: the accuracy of each on simulated crowds.

python benchmarks/which_options.py [--quick] [--json FILE]

Prints a table in Markdown, between two comments, so that it can be pasted into docs/knowledge.md.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt import solve
from crowdopt.engines.vote import majority
from crowdopt.studies.simulate import random_matrix
from crowdopt.studies.simulate_counts import Lattice, tasks_by_share
from processes import environment
from tables import describe, parser, say, show, write_json

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.studies.simulate import MatrixKind

N_TASKS, N_LABELS = 1000, 3
SIZES = (3, 5, 7)
BALANCED, SKEWED = (1 / 3, 1 / 3, 1 / 3), (0.8, 0.15, 0.05)


@dataclass(frozen=True)
class Setting:
    """A kind of crowd: how its matrices are drawn, and the shares of the true labels."""

    name: str
    kind: MatrixKind
    shares: tuple[float, ...]


SETTINGS = (
    Setting("ordered (MLR matrices), balanced", "mlr", BALANCED),
    Setting("ordered (MLR matrices), 80/15/5", "mlr", SKEWED),
    Setting("categories (diagonal matrices), balanced", "diagonal", BALANCED),
    Setting("categories (diagonal matrices), 80/15/5", "diagonal", SKEWED),
)

METHODS: dict[str, dict[str, Any]] = {
    "order": {"space": "dominance"},
    "order, shares estimated": {"space": "dominance", "selectivity": "estimate"},
    "all": {"space": "all"},
    "all, shares estimated": {"space": "all", "selectivity": "estimate"},
}
"""What is compared with majority vote: options of ``solve``."""


def accuracies(setting: Setting, size: int, seed: int) -> dict[str, float]:
    """The share of right labels of every method on one crowd."""
    rng = np.random.Generator(np.random.PCG64([seed, size]))
    lattice = Lattice.full(N_LABELS, size)
    drawn = lattice.draw(tasks_by_share(N_TASKS, setting.shares), random_matrix(N_LABELS, rng, setting.kind), rng)
    weights = drawn.sum(axis=0)
    found = {"majority": right(drawn, majority(lattice.counts)[0])}
    for name, options in METHODS.items():
        solved = solve(lattice.counts, weights, scale="ordinal", **options)
        found[name] = right(drawn, np.maximum(solved.mapping, 0))
    return found


def right(drawn: Ints, mapping: Ints) -> float:
    """The share of tasks, by (true label, bucket), whose bucket has their true label."""
    return float(drawn[mapping, np.arange(len(mapping))].sum() / drawn.sum())


def main() -> None:
    arguments = parser("Which space and which selectivity are right for whom.").parse_args()
    seeds = 2 if arguments.quick else 40
    rows, found = [], []
    for setting in SETTINGS:
        for size in SIZES[:1] if arguments.quick else SIZES:
            runs = [accuracies(setting, size, seed) for seed in range(seeds)]
            means: dict[str, Floats] = {name: np.mean([run[name] for run in runs]) for name in runs[0]}
            found.append({"setting": asdict(setting), "responses": size} | {k: float(v) for k, v in means.items()})
            rows.append([setting.name, str(size), *(f"{means[name]:.3f}" for name in ("majority", *METHODS))])
            say(f"{setting.name}, {size} responses: {means}")
    caption = (
        f"Share of right labels, mean of {seeds} crowds of {N_TASKS:,} tasks and {N_LABELS} labels. "
        f"{describe(environment())}"
    )
    show("which_options.py", caption, ["crowd", "responses", "majority", *METHODS], rows)
    write_json(arguments.json, {"rows": found})


if __name__ == "__main__":
    main()
