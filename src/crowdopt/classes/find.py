"""Finding classes of workers in the data: how many, who belongs where, and what goes with them.

One criterion decides (docs/found_classes.md): how likely responses are that were held out, predicted from what the
task's other responses say of the task and the worker's other answers say of the worker. It compares numbers
of classes and ways to take the shares of the labels; of all that is within one standard error of the best, the fewest
classes are chosen. The truth is never looked at.

What comes out is a proposal: that the classes are the best ones is not proved, but given them the labels are solved
for like any others.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.classes.mixture_em import Decision, Fit, Settings, fit, harden, log_predictive
from crowdopt.data.worker_classes import MAX_CLASSES
from crowdopt.errors import ClassError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.classes.mixture_em import Shares
    from crowdopt.data.encode import Coded

NUMBERS = (1, 2, 4, 8)
"""Numbers of classes that are compared: more would be hard to tell apart for a reader."""

COMPARED_SHARES: tuple[Shares, ...] = ("answers", "estimate", "none")
"""How frequent the labels are: what is compared."""

FOLDS = 5
"""Parts of the responses that are held out in turn."""

MANY, MOST = 50_000, 200_000
"""Responses beyond which two parts are held out and not all; and those that the criterion looks at, at most."""

FINAL_STARTS, FINAL_WORK = 3, 3_000_000
"""Starts of the final alternation, and the responses that they may look at together: at least one start."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Settings, judged by responses that were held out.

    Attributes:
        settings: What was judged.
        scores: Log-probability of all that was held out of each task.
        n_held_out: How many responses that were.
    """

    settings: Settings
    scores: Floats
    n_held_out: int

    @property
    def mean(self) -> float:
        """The criterion: nats per held-out response."""
        return float(self.scores.sum()) / self.n_held_out

    def lead_of(self, other: Judged) -> tuple[float, float]:
        """By how much others are better, per response, and the standard error of that: tasks are independent."""
        lead = other.scores - self.scores
        spread = float((lead**2).sum() - lead.sum() ** 2 / len(lead))
        return other.mean - self.mean, max(spread, 0.0) ** 0.5 / self.n_held_out


@dataclass(frozen=True, eq=False)
class Found:
    """Classes that were found.

    Attributes:
        decision: Class of each worker, label of each task, pseudo-counts and shares; classes from best to worst.
        settings: What was chosen.
        judged: What it was chosen from; nothing if all was given.
    """

    decision: Decision
    settings: Settings
    judged: tuple[Judged, ...]


def find_classes(
    coded: Coded,
    n_classes: int | Literal["auto"],
    *,
    shares: Shares | None = None,
    smoothing: float | None = None,
    seed: int = 0,
) -> Found:
    """Finds classes of workers.

    Args:
        coded: The responses.
        n_classes: How many, or ``auto`` to let the criterion choose.
        shares: How frequent the labels are; None to let the criterion choose.
        smoothing: A pseudo-count for every entry of every matrix; None for what the alternation ends with.
        seed: Of the parts that are held out and of the starts.

    Raises:
        ClassError: There are fewer workers than classes.
    """
    settings, judged = choose_settings(coded, n_classes, shares=shares, smoothing=smoothing, seed=seed)
    return Found(_best_first(coded, harden(coded, best_fit(coded, settings, seed), settings)), settings, judged)


def choose_settings(
    coded: Coded,
    n_classes: int | Literal["auto"],
    *,
    shares: Shares | None = None,
    smoothing: float | None = None,
    seed: int = 0,
) -> tuple[Settings, tuple[Judged, ...]]:
    """What the criterion chooses of all that is not given, and what it was chosen from; see :func:`find_classes`."""
    check_n_classes(n_classes, coded.n_workers)
    numbers = [number for number in NUMBERS if number <= coded.n_workers] if n_classes == "auto" else [n_classes]
    ways = COMPARED_SHARES if shares is None else (shares,)
    options = [Settings(number, way, smoothing) for number, way in itertools.product(numbers, ways)]
    judged = judge(coded, options, seed) if len(options) > 1 else ()
    return best_judged(judged).settings if judged else options[0], judged


def best_fit(coded: Coded, settings: Settings, seed: int = 0) -> Fit:
    """The best of some soft alternations."""
    n_starts = max(1, min(FINAL_STARTS, FINAL_WORK // coded.n_responses))
    return max((fit(coded, settings, at and seed + at) for at in range(n_starts)), key=lambda found: found.value)


def check_n_classes(n_classes: int | Literal["auto"], n_workers: int) -> None:
    """Raises if there cannot be that many classes."""
    if n_classes == "auto":
        return
    if not 1 <= n_classes <= MAX_CLASSES:
        raise ClassError(f"there can be 1 to {MAX_CLASSES} classes of workers, not {n_classes}")
    if n_classes > n_workers:
        raise ClassError(f"{n_classes} classes cannot be found among {n_workers} workers")


def judge(coded: Coded, options: Sequence[Settings], seed: int = 0, most: int = FOLDS) -> tuple[Judged, ...]:
    """Judges settings by the same held-out responses: those of ``most`` parts, or of fewer where they are many."""
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    sample = _sample(coded, rng)
    part = rng.permutation(len(sample.task)) % FOLDS
    held_out = range(most if sample.n_responses <= MANY else min(most, 2))
    pairs = [(sample.some(part != at), sample.some(part == at)) for at in held_out]
    n_held_out = sum(asked.n_responses for _, asked in pairs)
    judged = []
    for settings in options:
        scores = np.zeros(sample.n_tasks)
        for rest, asked in pairs:
            given = log_predictive(asked, fit(rest, settings)) * asked.times
            scores += np.bincount(asked.task, given, minlength=sample.n_tasks)
        judged.append(Judged(settings, scores, n_held_out))
    return tuple(judged)


def best_judged(judged: Sequence[Judged]) -> Judged:
    """Of all within one standard error of the best: the fewest classes, then the best."""
    best = max(judged, key=lambda one: one.mean)
    leads = [(one, *one.lead_of(best)) for one in judged]
    near = [one for one, lead, error in leads if lead <= error]
    return min(near, key=lambda one: (one.settings.n_classes, -one.mean))


def _sample(coded: Coded, rng: np.random.Generator) -> Coded:
    """The responses of so many tasks, drawn at random, that the criterion can look at them; all if they are few."""
    if coded.n_responses <= MOST:
        return coded
    return coded.of_tasks(rng.permutation(coded.n_tasks) < MOST / coded.n_responses * coded.n_tasks)


def _best_first(coded: Coded, decision: Decision) -> Decision:
    """The same classes in the order of how many of their responses equal the label of the task."""
    n_classes = len(decision.prior)
    of_entry: Ints = decision.classes[coded.worker]
    right = np.bincount(of_entry, coded.times * (decision.labels[coded.task] == coded.answer), minlength=n_classes)
    total = np.bincount(of_entry, coded.times, minlength=n_classes)
    order = np.argsort(-right / total, kind="stable")
    rank = np.empty(n_classes, np.int64)
    rank[order] = np.arange(n_classes)
    return replace(decision, classes=rank[decision.classes], prior=decision.prior[order])
