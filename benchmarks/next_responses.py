"""What asking where it is worth most saves, against asking anywhere: simulated crowds that are asked further.

python benchmarks/next_responses.py [--quick] [--json FILE] [--seeds N]

Every crowd begins with some responses to each task. Then further ones come in rounds, to the tasks that
``solution.next_tasks`` names, or to random ones, one each; after every round the script solves all tasks again. The
k-th answer to a task, and who gives it, is the same either way. Prints two tables in Markdown between two comments, for
docs/workers.md: (a) crowds of workers who are alike, proved, (b) crowds of unlike workers, aggregated. They have the
share of the further responses after which the named tasks have the accuracy that the random ones have at the end, by
the means over all seeds. Progress goes to standard error.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import crowdopt
from crowdopt.errors import CheckWarning
from crowdopt.studies.simulate import uniform_errors
from processes import environment
from tables import describe, parser, say, show, write_json

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints

ROUNDS = 20


@dataclass(frozen=True)
class Setting:
    """Crowds of one kind.

    Attributes:
        name: What is special about them.
        matrix: How workers answer, by (true label, answer).
        shares: How frequent each label is.
        begin: Responses that each task has at first.
        options: Of ``prove``.
        n_workers: Workers; each task is answered by some of them. If 0, the k-th response to every task is of one.
        guessing: The share of the workers who answer at random.
    """

    name: str
    matrix: list[list[float]]
    shares: list[float]
    begin: int
    options: dict[str, Any] = field(default_factory=dict)
    n_workers: int = 0
    guessing: float = 0.0


def even(n_labels: int, accuracy: float) -> list[list[float]]:
    rows: list[list[float]] = uniform_errors(n_labels, accuracy).tolist()
    return rows


PROVED = (
    Setting("yes/no, 80 % right", even(2, 0.8), [0.5, 0.5], 3),
    Setting("yes/no, 70 % right", even(2, 0.7), [0.5, 0.5], 3),
    Setting("the same, 5 to begin with", even(2, 0.7), [0.5, 0.5], 5),
    Setting("no 85 %, yes 65 % right", [[0.85, 0.15], [0.35, 0.65]], [0.5, 0.5], 3),
    Setting("15 % yes, 80 % right", even(2, 0.8), [0.85, 0.15], 3, {"selectivity": "estimate"}),
    Setting(
        "ratings 0 to 2, 70 % right",
        [[0.7, 0.2, 0.1], [0.15, 0.7, 0.15], [0.1, 0.2, 0.7]],
        [1 / 3] * 3,
        3,
        {"engine": "em"},  # fast; nothing here needs a proof, and proofs of many ratings are slow
    ),
)

AGGREGATED = (
    Setting("yes/no, 80 % right, all alike", even(2, 0.8), [0.5, 0.5], 3, n_workers=40),
    Setting("yes/no, 85 % right, a third guess", even(2, 0.85), [0.5, 0.5], 3, n_workers=40, guessing=1 / 3),
    Setting("15 % yes, 85 % right, a third guess", even(2, 0.85), [0.85, 0.15], 3, n_workers=40, guessing=1 / 3),
    Setting("4 labels, 75 % right, a third guess", even(4, 0.75), [0.25] * 4, 3, n_workers=40, guessing=1 / 3),
)


class Crowd:
    """Tasks with a truth and with answers in store."""

    def __init__(self, setting: Setting, n_tasks: int, most: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.setting, n_labels = setting, len(setting.shares)
        self.truth = rng.choice(n_labels, n_tasks, p=setting.shares)
        edges = np.cumsum(setting.matrix, axis=1)[self.truth, None, :-1]
        self.store = (rng.random((n_tasks, most, 1)) > edges).sum(axis=2)
        self.workers = np.tile(np.arange(most), (n_tasks, 1))
        if setting.n_workers:
            self.workers = np.argsort(rng.random((n_tasks, setting.n_workers)), axis=1)[:, :most]
            guesses = self.workers < setting.guessing * setting.n_workers
            self.store = np.where(guesses, rng.integers(n_labels, size=guesses.shape), self.store)
        self.sizes = np.full(n_tasks, setting.begin)

    def ask(self, tasks: Ints) -> None:
        """One more response to each of some tasks."""
        self.sizes[tasks] += 1

    def solve(self) -> crowdopt.Solution:
        """The solution of all responses so far."""
        task = np.repeat(np.arange(len(self.sizes)), self.sizes)
        at = np.concatenate([np.arange(size) for size in self.sizes])
        table = pa.table({"task": task, "worker": self.workers[task, at], "label": self.store[task, at]})
        labels = list(range(len(self.setting.shares)))
        if self.setting.n_workers:
            return crowdopt.aggregate(table, labels=labels, scale="nominal")
        return crowdopt.prove(table, labels=labels, **self.setting.options)

    def accuracy(self, solution: crowdopt.Solution) -> float:
        """The share of right labels."""
        return float((np.array(solution.answers["label"]) == self.truth).mean())


def curves(setting: Setting, n_tasks: int, further: int, seed: int) -> tuple[list[float], list[float]]:
    """Accuracies before and after each round, for named tasks and for random ones."""
    batch = further // ROUNDS
    most = setting.begin + ROUNDS
    named, random = (Crowd(setting, n_tasks, most, seed) for _ in range(2))
    rng = np.random.default_rng([seed, 1])
    found: tuple[list[float], list[float]] = ([], [])
    for step in range(ROUNDS + 1):
        solution = named.solve()
        found[0].append(named.accuracy(solution))
        found[1].append(random.accuracy(random.solve()) if step % (ROUNDS // 4) == 0 else float("nan"))
        if step < ROUNDS:
            named.ask(np.array(solution.next_tasks(n=batch)["task"]))
            random.ask(rng.choice(n_tasks, batch, replace=False))
    return found


def share_needed(named: Floats, target: float) -> float | None:
    """The share of the rounds after which a rising curve has a target, between rounds by a line; None if never."""
    reached = np.flatnonzero(named >= target)
    if not len(reached):
        return None
    at = int(reached[0])
    if at == 0:
        return 0.0
    before, after = named[at - 1], named[at]
    return float((at - 1 + (target - before) / (after - before)) / (len(named) - 1))


def run(setting: Setting, n_tasks: int, further: int, seeds: int) -> dict[str, Any]:
    """The mean curves of a setting, and what they say."""
    both = np.array([curves(setting, n_tasks, further, seed) for seed in range(seeds)])
    named, random = both.mean(axis=0)
    return {
        "setting": asdict(setting),
        "named": named.tolist(),
        "random": random[:: ROUNDS // 4].tolist(),
        "share": share_needed(named, random[-1]),
        "ahead": int((both[:, 0, -1] > both[:, 1, -1]).sum()),
        "seeds": seeds,
    }


def main() -> None:
    options = parser("Asking where it is worth most, against asking anywhere.")
    options.add_argument("--seeds", type=int, metavar="N", help="how many crowds of each setting")
    arguments = options.parse_args()
    warnings.simplefilter("ignore", CheckWarning)  # proofs overrule the consensus, and few responses agree by chance
    n_tasks, further, seeds = (100, 200, 2) if arguments.quick else (500, 1000, 50)
    seeds = arguments.seeds or seeds
    found = {}
    for name, settings in (("(a) proved", PROVED), ("(b) aggregated", AGGREGATED)):
        found[name] = []
        for setting in settings[:2] if arguments.quick else settings:
            found[name].append(run(setting, n_tasks, further, seeds))
            say(f"{setting.name}: {found[name][-1]['share']}")
        caption = (
            f"{name.capitalize()}; {n_tasks} tasks, {further} further responses in {ROUNDS} rounds, {seeds} seeds; "
            f"accuracy with random tasks / with those named. {describe(environment())}"
        )
        show(f"next_responses.py {name[:3]}", caption, COLUMNS, [cells(one) for one in found[name]])
    write_json(arguments.json, {"settings": [one for settings in found.values() for one in settings]})


COLUMNS = (
    "crowd", "responses each", "at first", "after a quarter", "after half", "after all", "share needed", "ahead",
)  # fmt: skip


def cells(one: dict[str, Any]) -> list[str]:
    """A row of the table."""
    quarter = ROUNDS // 4
    return [
        one["setting"]["name"],
        str(one["setting"]["begin"]),
        f"{one['random'][0]:.3f}",
        *(f"{one['random'][i]:.3f} / {one['named'][i * quarter]:.3f}" for i in (1, 2, 4)),
        "never" if one["share"] is None else f"{one['share']:.0%}",
        f"{one['ahead']} of {one['seeds']}",
    ]


if __name__ == "__main__":
    main()
