"""What it brings to tell crowdopt which workers are experts, on simulated crowds and on one real set of two crowds.

python benchmarks/classes_given.py [--quick] [--json FILE] [--data DIR]

Prints tables in Markdown: (a) accuracy with a matrix per class, with one shared matrix, and of majority vote, (b) how
near the matrices come to those that the crowds were drawn from, (c) the set `weather` with its two crowds as classes,
and (d) their matrices. The set's folder has responses.csv (task, worker, label), truth.csv (task, label) and
workers.csv (worker, class); where there is none, this says so and leaves (c) and (d) out. Progress goes to standard
error.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import crowdopt
from crowdopt.engines.em.soft import soften
from crowdopt.model.buckets import Buckets
from crowdopt.model.problem import Problem
from crowdopt.studies.simulate import uniform_errors
from processes import environment
from tables import describe, duration, nats, parser, say, show, tally, write_json

if TYPE_CHECKING:
    from crowdopt._arrays import Ints

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
N_TASKS, N_GOLD = 1000, 100
SKILL = {"expert": 0.95, "regular": 0.65}


@dataclass(frozen=True)
class Setting:
    """Crowds to be drawn.

    Attributes:
        n_labels: Number of labels, all as frequent.
        sizes: Least and most responses to a task, of experts and of regulars.
        crowds: How many to draw.
        quick: How many in the quick version.
    """

    n_labels: int
    sizes: tuple[tuple[int, int], tuple[int, int]]
    crowds: int
    quick: int = 0

    def words(self) -> list[str]:
        """The setting as cells of a table."""
        sizes = [f"{low}" if low == high else f"{low} to {high}" for low, high in self.sizes]
        return [str(self.n_labels), *sizes]

    def draw(self, seed: int) -> tuple[Ints, Ints]:
        """The truth, and counts by (task, class, label)."""
        rng = np.random.default_rng([seed, self.n_labels, *np.ravel(self.sizes)])
        truth = rng.integers(self.n_labels, size=N_TASKS)
        counts = [
            rng.multinomial(rng.integers(low, high + 1, N_TASKS), uniform_errors(self.n_labels, skill)[truth])
            for (low, high), skill in zip(self.sizes, SKILL.values(), strict=True)
        ]
        return truth, np.stack(counts, axis=1)


SETTINGS = (
    Setting(2, ((2, 2), (5, 5)), 100, quick=5),
    Setting(2, ((0, 2), (3, 5)), 10, quick=1),
    Setting(3, ((2, 2), (5, 5)), 10),
)


ESTIMATES = ("ranked classes", "ranked classes, 100 gold tasks", "ranked classes, softened")
"""The ways whose matrices are compared with those that crowds were drawn from."""


def share_right(mapping: Ints, truth: Ints) -> float:
    """Accuracy."""
    return float(np.mean(mapping == truth))


def majority(counts: Ints, truth: Ints) -> float:
    """Accuracy of majority vote; of k tied labels each is right one time in k."""
    votes = counts.sum(axis=1)
    tied = votes == votes.max(axis=1, keepdims=True)
    return float(np.mean(tied[np.arange(len(truth)), truth] / tied.sum(axis=1)))


def run(setting: Setting, seed: int) -> dict[str, Any]:
    """One crowd, answered in several ways."""
    truth, counts = setting.draw(seed)
    by_label = [counts[:N_GOLD][truth[:N_GOLD] == j].sum(axis=0) for j in range(setting.n_labels)]
    ways = {
        "classes": crowdopt.solve(counts),
        "ranked classes": crowdopt.solve(counts, ranked=True),
        "ranked classes, 100 gold tasks": crowdopt.solve(
            counts[N_GOLD:], ranked=True, prior_matrix=np.stack(by_label, axis=1)
        ),
        "soft EM, classes": crowdopt.solve(counts, engine="soft-em"),
        "one matrix": crowdopt.solve(counts.sum(axis=1)),
    }
    right = {name: share_right(way.mapping, truth[-len(way.mapping) :]) for name, way in ways.items()}
    buckets, _ = Buckets.from_arrays(counts)
    matrices = {name: ways[name].matrix for name in ESTIMATES if name in ways}
    matrices["ranked classes, softened"] = soften(Problem(buckets), ways["ranked classes"].matrix)
    return {
        "sizes": setting.words(),
        "seed": seed,
        "accuracy": right | {"majority vote": majority(counts, truth)},
        "proof": {name: str(way.certificate.proof) for name, way in ways.items()},
        "seconds": {name: way.certificate.seconds for name, way in ways.items()},
        "right": {name: np.diagonal(matrix, axis1=1, axis2=2).tolist() for name, matrix in matrices.items()},
        "n_responses": [counts[truth == j].sum(axis=(0, 2)).tolist() for j in range(setting.n_labels)],
    }


def show_accuracy(found: list[tuple[Setting, list[dict[str, Any]]]]) -> None:
    """Table (a)."""
    ways = ("classes", "ranked classes", "one matrix", "majority vote", "soft EM, classes")
    rows = []
    for setting, runs in found:
        accuracy = {way: np.array([run["accuracy"][way] for run in runs]) for way in ways}
        better = np.mean(accuracy["classes"] > np.maximum(accuracy["one matrix"], accuracy["majority vote"]))
        proofs = [tally(Counter(run["proof"][way] for run in runs)) for way in ways[:2]]
        means = [f"{accuracy[way].mean():.4f}" for way in ways]
        rows.append([*setting.words(), str(len(runs)), *means, f"{better:.0%}", *proofs])
    columns = (
        *("labels", "experts per task", "regulars per task", "crowds", *ways, "classes win"),
        *("proof, classes", "proof, ranked classes"),
    )
    caption = (
        f"Mean accuracy on {N_TASKS:,} tasks. Experts are right {SKILL['expert']:.0%} of the time, regulars "
        f"{SKILL['regular']:.0%}. A tied vote counts for its share. *Classes win*: crowds on which a proved matrix per "
        "class beats both one shared matrix and majority vote."
    )
    show("classes_given.py (a)", caption, columns, rows)


def show_recovery(found: list[tuple[Setting, list[dict[str, Any]]]]) -> None:
    """Table (b)."""
    rows = []
    for setting, runs in found:
        for (at, (name, skill)), way in itertools.product(enumerate(SKILL.items()), ESTIMATES):
            right = np.array([run["right"][way][at] for run in runs])
            number = np.array([run["n_responses"] for run in runs])[:, :, at]
            errors = (right - skill) / np.sqrt(skill * (1 - skill) / number)
            bias, size = right.mean() - skill, float(np.sqrt(np.mean(errors**2)))
            rows.append(
                [*setting.words(), name, way, f"{skill:.2f}", f"{right.mean():.4f}", f"{right.std():.4f}",
                 f"{bias:+.4f}".replace("-", "–"), f"{size:.2f}"]
            )  # fmt: skip
    columns = (
        *("labels", "experts per task", "regulars per task", "class", "found by", "drawn from", "mean found"),
        *("spread", "bias", "errors in standard errors"),
    )
    caption = (
        "How often workers are right, as found, against the matrix that they were drawn from. A standard error is that "
        "of a frequency among as many responses if the truth were known; *errors* are root mean squares in such units, "
        "so that 1 is what sampling alone makes."
    )
    show("classes_given.py (b)", caption, columns, rows)


def run_weather(folder: Path, time_limit: float) -> list[dict[str, Any]]:
    """The set with its two crowds, in several ways."""
    responses, classes = folder / "responses.csv", folder / "workers.csv"
    common: dict[str, Any] = {"truth": folder / "truth.csv", "duplicates": "all", "scale": "nominal"}
    common["time_limit"] = time_limit
    ways: dict[str, dict[str, Any]] = {
        "classes": {"classes": classes},
        "classes, shares estimated": {"classes": classes, "selectivity": "estimate"},
        "one matrix": {},
        "one matrix, shares estimated": {"selectivity": "estimate"},
        "soft EM, classes": {"classes": classes, "engine": "soft-em"},
        "soft EM, one matrix": {"engine": "soft-em"},
        "majority vote": {"engine": "vote"},
    }
    found = []
    for name, options in ways.items():
        say(f"weather: {name}")
        found.append({"way": name, **crowdopt.prove(responses, **common, **options).summary()})
    return found


def show_weather(found: list[dict[str, Any]]) -> None:
    """Tables (c) and (d)."""
    rows = [
        [
            entry["way"],
            f"{entry['accuracy']:.4f}",
            f"{entry['log_likelihood']:,.2f}",
            entry["engine"],
            entry["proof"],
            "" if entry["gap"] is None else nats(entry["gap"]),
            duration(entry["seconds"]),
        ]
        for entry in found
    ]
    caption = (
        "The set `weather` (300 tasks, 5 categories): its crowds, CrowdFlower and Mechanical Turk, as classes. "
        "Log-likelihoods with a matrix per class have twice the parameters; those with shares are not comparable."
    )
    show(
        "classes_given.py (c)",
        caption,
        ("way", "accuracy", "log-likelihood", "engine", "proof", "gap", "engine's time"),
        rows,
    )
    first = found[0]
    cells = [
        [f"{one['name']} ({one['n_workers']} workers)", label, *(f"{p:.3f}" if p is not None else "" for p in row)]
        for one, matrix in zip(first["classes"], first["matrix"], strict=True)
        for label, row in zip(first["labels"], matrix, strict=True)
    ]
    columns = ("class", "tasks labelled", *(f"answered {label}" for label in first["labels"]))
    show("classes_given.py (d)", "The matrices of the two crowds, of the first row above.", columns, cells)


def main() -> None:
    """Measures, prints, writes."""
    options = parser("What given classes of workers bring.")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    chosen = options.parse_args()
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    found = []
    for setting in SETTINGS:
        crowds = setting.quick if chosen.quick else setting.crowds
        say(f"{crowds} crowds: {setting}")
        found.append((setting, [run(setting, seed) for seed in range(crowds)]))
    found = [(setting, runs) for setting, runs in found if runs]
    show_accuracy(found)
    show_recovery(found)
    figures["simulated"] = [one for _, runs in found for one in runs]
    if (chosen.data / "weather" / "workers.csv").is_file():
        figures["weather"] = run_weather(chosen.data / "weather", 2.0 if chosen.quick else 60.0)
        show_weather(figures["weather"])
    else:
        print("There is no set `weather` in the folder given by --data (by default ../shared/data): left out.")
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
