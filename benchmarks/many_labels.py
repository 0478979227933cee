"""``crowdopt aggregate`` with many labels: how often it is right, and what it costs, beside majority vote.

python benchmarks/many_labels.py [--quick] [--json FILE]

Prints tables in Markdown: (a) simulated crowds of 65 to 10,000 labels, against majority vote with shared ties; labels
are as frequent as words (Zipf), some workers guess, and makes say how the others err; (b) the same with 50 labels by
both models; (c) whole processes that read a Parquet file and write one label per task, beside crowd-kit's MajorityVote.
The constants of the model were chosen on crowds of these makes with other seeds, and on no public set.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aggregate_speed import OURS, run_crowd
from crowdopt.consensus.consensus import Judge, fit_consensus
from crowdopt.consensus.given import GivenLabels
from crowdopt.consensus.rows import Rows
from crowdopt.consensus.skill_judge import SkillJudge
from crowdopt.data.encode import Coded
from crowds import Crowd
from processes import elsewhere, environment
from scores import SURE, TIED, difference
from tables import describe, parser, say, show, write_json

VOTE = "MajorityVote"
FIRST_SEED = 1000
"""Crowds of lower seeds were looked at when constants were chosen."""

SHAPES = ((65, 500, 30), (100, 2_000, 100), (1_000, 3_000, 60), (1_000, 20_000, 500), (10_000, 10_000, 300))
"""Labels, tasks, workers."""

SEEDS, FEW_LABELS = 3, 50
SIZES = tuple((labels, size, 1000) for labels in (100, 1000) for size in (10**5, 10**6))


@dataclass(frozen=True)
class Make:
    """How a crowd is made.

    Attributes:
        hard: The share of tasks in which workers have three tenths of their skill.
        errors: What wrong answers are: ``frequent`` labels, ``even`` ones, ``alike`` (three labels that this one is
            taken for), ``decoy`` (in hard tasks one label that draws everybody), or ``near`` (labels next to this one).
        same: Whether those who guess give one answer always.
        equal: Whether all workers are equally good, and all labels equally frequent: then nothing beats the vote.
    """

    hard: float = 0.0
    errors: str = "frequent"
    same: bool = False
    equal: bool = False


MAKES = {
    "skills": Make(),
    "skills, hard tasks": Make(hard=0.3),
    "even errors, hard tasks": Make(hard=0.2, errors="even"),
    "labels that look alike, hard tasks": Make(hard=0.2, errors="alike"),
    "misleading tasks": Make(hard=0.3, errors="decoy"),
    "guessers with one answer": Make(hard=0.1, same=True),
    "equal workers, near errors": Make(errors="near", equal=True),
}
GUESSERS, LEAST, MOST = 0.15, 3, 5
"""The share of workers who guess; responses to a task."""


def draw(name: str, shape: tuple[int, int, int], seed: int) -> tuple[Rows, np.ndarray]:
    """A crowd, and the truth."""
    make, (n_labels, n_tasks, n_workers) = MAKES[name], shape
    rng = np.random.default_rng([seed, *shape, *name.encode()])
    shares = rng.permutation(np.exp(rng.normal(0, 0.3, n_labels)) / np.arange(1, n_labels + 1))
    shares = np.ones(n_labels) if make.equal else shares
    shares /= shares.sum()
    truth = rng.choice(n_labels, n_tasks, p=shares)
    guesses = rng.random(n_workers) < GUESSERS
    skill = np.full(n_workers, 0.75) if make.equal else np.where(guesses, 0.0, rng.beta(6, 2.5, n_workers))
    task, worker = _deal(rng, n_tasks, n_workers)
    hard = rng.random(n_tasks) < make.hard
    right = rng.random(len(task)) < skill[worker] * np.where(hard[task], 0.3, 1.0)
    wrong = rng.choice(n_labels, len(task), p=shares)
    chosen, honest = rng.random(len(task)), ~guesses[worker]
    if make.errors == "even":
        wrong = rng.integers(n_labels, size=len(task))
    elif make.errors == "alike":
        alike = rng.integers(n_labels, size=(n_labels, 3))[truth[task], rng.choice(3, len(task), p=[0.6, 0.3, 0.1])]
        wrong = np.where(honest & (chosen < 0.7), alike, wrong)
    elif make.errors == "decoy":
        wrong = np.where(honest & hard[task] & (chosen < 0.6), rng.choice(n_labels, n_tasks, p=shares)[task], wrong)
    elif make.errors == "near":
        wrong = np.clip(truth[task] + rng.choice((-2, -1, 1, 2), len(task), p=(0.12, 0.4, 0.36, 0.12)), 0, n_labels - 1)
    if make.same:
        wrong = np.where(honest, wrong, rng.choice(n_labels, n_workers, p=shares)[worker])
    label = np.where(right, truth[task], wrong)
    tasks, task = np.unique(task, return_inverse=True)
    return Rows.of(Coded.of(task, np.unique(worker, return_inverse=True)[1], label, n_labels)), truth[tasks]


def _deal(rng: np.random.Generator, n_tasks: int, n_workers: int) -> tuple[np.ndarray, np.ndarray]:
    """Who answers which task; some workers are much busier than others."""
    task = np.repeat(np.arange(n_tasks), rng.integers(LEAST, MOST + 1, n_tasks))
    load = rng.gamma(0.7, 1, n_workers) + 0.02
    worker = rng.choice(n_workers, len(task), p=load / load.sum())
    return np.divmod(np.unique(task * n_workers + worker), n_workers)


def scores(given: GivenLabels, shares: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, ties shared, log-loss and calibration error of sparse probabilities (entry)."""
    most = np.maximum.reduceat(shares, given.start[:-1])
    top = shares >= most[given.task] - TIED
    hit = top & (given.label == truth[given.task])
    right = np.bincount(given.task, hit) / np.bincount(given.task, top)
    sure = np.clip(most, SURE, 1 - SURE)
    parts = np.array_split(np.argsort(sure, kind="stable"), 10)
    off = sum(len(part) * abs(sure[part].mean() - right[part].mean()) for part in parts) / len(sure)
    return float(right.mean()), float(-(right * np.log(sure) + (1 - right) * np.log(1 - sure)).mean()), float(off)


def run_make(name: str, shape: tuple[int, int, int], seeds: range) -> list[dict[str, Any]]:
    """The scores of both on crowds of one make and shape."""
    found = []
    for seed in seeds:
        rows, truth = draw(name, shape, seed)
        given = GivenLabels.of(rows)
        judge = SkillJudge(fit_consensus(rows, by_skill=True)[0])
        ours = scores(given, judge.probabilities(rows, given).entries, truth)
        vote = scores(given, given.votes / np.diff(rows.start)[given.task], truth)
        found.append({"make": name, "labels": shape[0], "seed": seed, "ours": ours, "vote": vote})
    return found


def run_few(seeds: range) -> list[dict[str, Any]]:
    """The scores of both models with labels few enough for both."""
    found = []
    for name in MAKES:
        for seed in seeds:
            rows, truth = draw(name, (FEW_LABELS, 1_500, 60), seed)
            given = GivenLabels.of(rows)
            skills = SkillJudge(fit_consensus(rows, by_skill=True)[0]).probabilities(rows, given).entries
            whole = Judge(fit_consensus(rows)[0]).probabilities(rows)[given.task, given.label]
            vote = given.votes / np.diff(rows.start)[given.task]
            of = {"skills": skills, "matrices": whole, "vote": vote}
            found.append({"make": name, "seed": seed} | {key: scores(given, one, truth) for key, one in of.items()})
    return found


def show_makes(found: list[dict[str, Any]]) -> None:
    """By make and by number of labels, and of all."""
    groups = [(name, [one for one in found if one["make"] == name]) for name in MAKES]
    numbers = sorted({one["labels"] for one in found})
    groups += [(f"{n:,} labels", [one for one in found if one["labels"] == n]) for n in numbers]
    rows = []
    for name, of in [*groups, ("all", found)]:
        ours, vote = (np.array([one[key] for one in of]) for key in ("ours", "vote"))
        less, error = difference(ours[:, 0], vote[:, 0])
        rows.append(
            [
                *(name, str(len(of)), f"{ours[:, 0].mean():.4f}", f"{vote[:, 0].mean():.4f}"),
                *(f"{less:+.3f} ({error:.3f})", f"{(ours[:, 0] - vote[:, 0]).min():+.3f}"),
                *(f"{one[:, at].mean():.3f}" for at in (1, 2) for one in (ours, vote)),
            ]
        )
    columns = ("make", "crowds", "crowdopt", "vote", "less vote", "worst", "log-loss crowdopt", "log-loss vote")
    caption = "Simulated crowds of many labels; in brackets standard errors over crowds."
    show("many_labels.py (a)", caption, (*columns, "calibration error crowdopt", "calibration error vote"), rows)


def show_few(found: list[dict[str, Any]]) -> None:
    """The means of each."""
    rows = [
        [name, *(f"{value:.4f}" if at == 0 else f"{value:.3f}" for at, value in enumerate(mean))]
        for name in ("skills", "matrices", "vote")
        for mean in [np.mean([one[name] for one in found], axis=0)]
    ]
    caption = (
        f"{FEW_LABELS} labels: the model for many labels, that for few, which `aggregate` takes here, and the vote."
    )
    show("many_labels.py (b)", caption, ("model", "accuracy", "log-loss", "calibration error"), rows)


def show_sizes(found: list[dict[str, Any]]) -> None:
    """What each program takes."""
    rows = [
        [
            *(f"{one['crowd']['labels']:,}", f"{one['crowd']['responses']:,}", name),
            *(f"{run['wall']:.1f}", f"{run['cpu']:.1f}", f"{run['peak_mb']:.0f}", f"{one['accuracy'][name]:.4f}"),
        ]
        for one in found
        for name, run in one["median"].items()
    ]
    columns = ("labels", "responses", "program", "wall, s", "CPU, s", "peak, MB", "accuracy")
    show("many_labels.py (c)", "Whole processes, in turns.", columns, rows)


def main() -> None:
    """Measures, prints, writes."""
    chosen = parser("crowdopt aggregate with many labels, beside majority vote.").parse_args()
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    seeds = range(FIRST_SEED, FIRST_SEED + (1 if chosen.quick else SEEDS))
    figures["makes"] = []
    for name in MAKES:
        for shape in SHAPES[:1] if chosen.quick else SHAPES:
            say(f"{name}: {shape[0]:,} labels")
            figures["makes"] += elsewhere(run_make, name, shape, seeds)
    show_makes(figures["makes"])
    figures["few"] = elsewhere(run_few, seeds)
    show_few(figures["few"])
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as folder:
        sizes = ((100, 10_000, 100),) if chosen.quick else SIZES
        figures["sizes"] = [
            run_crowd(Path(folder), Crowd(size, labels, workers=workers), 1, (OURS, VOTE))
            for labels, size, workers in sizes
        ]
    show_sizes(figures["sizes"])
    write_json(chosen.json, figures | {"makes": [asdict(make) for make in MAKES.values()], "scores": figures["makes"]})


if __name__ == "__main__":
    main()
