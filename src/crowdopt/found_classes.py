"""Classes of workers, found in the data.

Workers differ. Given the labels of the tasks, a worker belongs to the class whose response matrix makes the
worker's answers likeliest; given the classes, the labels are those of an ordinary problem with one matrix for each
class. This alternates the two: the likelihood of labels and classes together never falls. Where it ends depends on
the start, so there are several: workers are ranked by how often they agree with the votes and cut into classes of
equal number, once as they are and then with noise; labels are probabilities at first and certain at the end.
Nothing is proved about the classes; the labels that belong to them can be proved like any others.

**The criterion** that chooses the number of classes, whether shares of labels are estimated, and the smoothing:

    ln p(responses | matrices, shares, classes) − ½ (free parameters) ln(responses) + ln p(classes),

true labels summed out, at the matrices and shares that follow from the labels found. It is the usual penalised
likelihood (BIC): the first term rewards what predicts the responses, the second charges half the logarithm of the
sample for every number fitted, the third what it costs to say who belongs where, all sizes of the classes being
equally probable beforehand. Summing labels out matters: the likelihood of the chosen labels themselves also rewards
how sharply they were chosen, and so prefers to give nearly all doubtful tasks to the most frequent label. Shares
are estimated only where that gains CLEARLY per task: no model of a crowd is quite true, an untrue one gains a
little on every task from any freedom, and wrong shares cost more labels than uniform ones.

**Labels that nobody means.** A label is a name that workers use: most answers to the tasks that have it should be
that label. Where another answer is more frequent, the likelihood has made a cluster of doubtful tasks and no name
fits it. Such settings are passed over; if there are no others, the label is left out, the worst first, and all is
done again.

Cost: a round is two passes over the responses; some tens of rounds for each number of classes. Past MAX_JUDGED
responses the criterion looks at some of the tasks only, and the chosen setting is then fitted to all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crowdopt.types import Bools, Floats, Ints

MANY_CLASSES, PATIENCE = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32), 2
"""Numbers of classes that are tried, in turn, until so many of them brought nothing better."""

SMOOTHINGS = (0.5, 2.0)
"""Pseudo-counts for every entry of a matrix that are tried."""

CLEARLY = 0.1
"""Nats per task by which estimated shares have to be better."""

STARTS, NOISE = 3, 0.2
"""Starts for each setting, and the noise on agreement of all but the first."""

MOST_ROUNDS, CLOSE = 200, 1e-6
"""Rounds of one alternation, and the relative gain below which probabilities are settled."""

MAX_JUDGED = 300_000
"""Responses beyond which the criterion looks at some of the tasks only."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Responses as numbers.

    Attributes:
        task: Index of the task of each response.
        worker: Index of its worker.
        label: Index of the label answered.
    """

    task: Ints
    worker: Ints
    label: Ints
    n_tasks: int
    n_workers: int
    n_labels: int

    @classmethod
    def of(cls, task: Ints, worker: Ints, label: Ints, n_labels: int) -> Answers:
        """Sorted, so that sums do not depend on the order of rows."""
        order = np.lexsort((label, worker, task))
        task, worker, label = (np.asarray(column)[order] for column in (task, worker, label))
        return cls(task, worker, label, int(task.max()) + 1, int(worker.max()) + 1, n_labels)

    def __len__(self) -> int:
        return len(self.task)

    @cached_property
    def votes(self) -> Floats:
        """Responses by (task, label)."""
        at = self.task * self.n_labels + self.label
        return np.bincount(at, minlength=self.n_tasks * self.n_labels).reshape(self.n_tasks, -1).astype(float)

    @cached_property
    def by_worker(self) -> Ints:
        """Number of responses of each worker."""
        return np.bincount(self.worker, minlength=self.n_workers)

    def counts(self, labels: Floats) -> Floats:
        """Expected responses by (worker, true, answered) for labels given as probabilities (task, label)."""
        at, size = self.worker * self.n_labels + self.label, self.n_workers * self.n_labels
        counts = np.empty((self.n_workers, self.n_labels, self.n_labels))
        for true in range(self.n_labels):
            counts[:, true] = np.bincount(at, labels[self.task, true], minlength=size).reshape(self.n_workers, -1)
        return counts

    def scores(self, logs: Floats, classes: Ints) -> Floats:
        """Log-likelihood of each task's responses by (task, true); ``logs`` by (class, true, answered)."""
        at = classes[self.worker] * self.n_labels + self.label
        by_true = logs.transpose(1, 0, 2).reshape(self.n_labels, -1)
        return np.stack([np.bincount(self.task, row[at], minlength=self.n_tasks) for row in by_true], axis=1)

    def some(self, most: int, rng: np.random.Generator) -> Answers:
        """The responses to random tasks, about ``most`` of them, with the workers who gave them."""
        if len(self) <= most:
            return self
        kept = rng.random(self.n_tasks) < most / len(self)
        rows = kept[self.task]
        task, worker = (np.unique(column[rows], return_inverse=True)[1] for column in (self.task, self.worker))
        return Answers.of(task, worker, self.label[rows], self.n_labels)


@dataclass(frozen=True)
class Setting:
    """What the criterion chooses: the number of classes, whether shares are estimated, the smoothing, the labels."""

    n_classes: int
    estimated: bool
    smoothing: float
    allowed: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Found:
    """Labels and classes that one setting led to.

    Attributes:
        labels: Index of the label of each task.
        classes: Index of the class of each worker; classes are sorted by how often they are right, best first.
        score: The criterion.
        unsupported: Of the labels that nobody means, the worst; None if there are none.
    """

    setting: Setting
    labels: Ints
    classes: Ints
    score: float
    unsupported: int | None


def find_classes(
    answers: Answers,
    n_classes: int | None = None,
    *,
    estimated: bool | None = None,
    smoothing: float | None = None,
    seed: int = 0,
    on_progress: Callable[[Found], bool] | None = None,
) -> tuple[Found, list[Found]]:
    """Finds classes of workers.

    Args:
        answers: The responses.
        n_classes: Their number; None to choose it by the criterion, as the next two.
        estimated: Whether shares of labels are estimated.
        smoothing: A pseudo-count for every entry of a matrix.
        seed: Of the starts.
        on_progress: Told of every setting that is done; returning True takes the best so far.

    Returns:
        What was chosen, and all that it was chosen from.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    judged = answers.some(MAX_JUDGED, rng)
    numbers = MANY_CLASSES if n_classes is None else (n_classes,)
    rest = [
        (shares, pseudo)
        for shares in ((False, True) if estimated is None else (estimated,))
        for pseudo in (SMOOTHINGS if smoothing is None else (smoothing,))
    ]
    allowed = (True,) * answers.n_labels
    while True:
        tried = list(_try(judged, [n for n in numbers if n <= answers.n_workers], rest, allowed, seed, on_progress))
        meant = [one for one in tried if one.unsupported is None]
        best = choose(meant or tried, judged.n_tasks)
        if best.unsupported is None:
            return (best if judged is answers else _best(answers, best.setting, seed)), tried
        allowed = tuple(ok and label != best.unsupported for label, ok in enumerate(allowed))


def _try(
    answers: Answers,
    numbers: Sequence[int],
    rest: Sequence[tuple[bool, float]],
    allowed: tuple[bool, ...],
    seed: int,
    on_progress: Callable[[Found], bool] | None,
) -> Iterator[Found]:
    """More and more classes, with every kind of the rest, while that helps."""
    best, patience = -np.inf, PATIENCE
    for number in numbers:
        before = best
        for shares, pseudo in rest:
            found = _best(answers, Setting(number, shares, pseudo, allowed), seed)
            best = max(best, found.score)
            yield found
            if on_progress is not None and on_progress(found):
                return
        patience = PATIENCE if best > before else patience - 1
        if not patience:
            return


def choose(tried: Sequence[Found], n_tasks: int) -> Found:
    """The best by the criterion; estimated shares only where they are clearly better."""
    return max(tried, key=lambda one: one.score - CLEARLY * n_tasks * one.setting.estimated)


def _best(answers: Answers, setting: Setting, seed: int) -> Found:
    """The best of several starts."""
    rng = np.random.Generator(np.random.PCG64([seed, setting.n_classes]))
    starts = [_start(answers, setting, rng, noise) for noise in (0.0, *[NOISE] * (STARTS - 1))]
    found = [_Alternation(answers, setting).run(start) for start in (starts if setting.n_classes > 1 else starts[:1])]
    return max(found, key=lambda one: one.score)


def _start(answers: Answers, setting: Setting, rng: np.random.Generator, noise: float) -> Ints:
    """Workers ranked by agreement with the votes, in classes of equal number, best first."""
    shares = answers.votes / answers.votes.sum(axis=1, keepdims=True)
    agreed = np.bincount(answers.worker, shares[answers.task, answers.label], minlength=answers.n_workers)
    agreement = agreed / np.maximum(answers.by_worker, 1) + noise * rng.random(answers.n_workers)
    rank = np.argsort(np.argsort(-agreement, kind="stable"), kind="stable")
    return np.asarray(rank * setting.n_classes // answers.n_workers)


class _Alternation:
    """Labels and classes in turn, for one setting."""

    def __init__(self, answers: Answers, setting: Setting) -> None:
        self.answers, self.setting = answers, setting
        self.allowed = np.array(setting.allowed)
        self.uniform = np.where(self.allowed, -np.log(self.allowed.sum()), -np.inf)

    def run(self, classes: Ints) -> Found:
        """From a start to the end: first with probabilities for labels, then with labels."""
        votes = np.where(self.allowed, self.answers.votes + 1e-9, 0.0)
        labels = votes / votes.sum(axis=1, keepdims=True)
        last = -np.inf
        for _ in range(MOST_ROUNDS):
            labels, moved, value = self._round(labels, classes)
            if np.array_equal(moved, classes) and value - last < CLOSE * abs(value):
                break
            classes, last = moved, value
        certain = labels.argmax(axis=1)
        for _ in range(MOST_ROUNDS):
            labels, moved, _ = self._round(self._one_hot(certain), classes)
            again = labels.argmax(axis=1)
            if np.array_equal(moved, classes) and np.array_equal(again, certain):
                break
            certain, classes = again, moved
        return self._found(certain, classes)

    def _one_hot(self, labels: Ints) -> Floats:
        return np.asarray(labels[:, None] == np.arange(self.answers.n_labels)).astype(float)

    def _fit(self, labels: Floats, classes: Ints) -> tuple[Floats, Floats, Floats]:
        """Expected responses by (worker, true, answered), logarithms of matrices and of shares."""
        counts = self.answers.counts(labels)
        pooled = np.zeros((self.setting.n_classes, *counts.shape[1:]))
        np.add.at(pooled, classes, counts)
        pooled += self.setting.smoothing
        shares = self.uniform
        if self.setting.estimated:
            tasks = np.where(self.allowed, labels.sum(axis=0) + self.setting.smoothing, 0.0)
            with np.errstate(divide="ignore"):
                shares = np.log(tasks / tasks.sum())
        return counts, np.log(pooled / pooled.sum(axis=2, keepdims=True)), shares

    def _round(self, labels: Floats, classes: Ints) -> tuple[Floats, Ints, float]:
        """Better labels for the classes, and better classes for these labels; and the likelihood before."""
        _, logs, shares = self._fit(labels, classes)
        labels, value = _posterior(self.answers.scores(logs, classes) + shares)
        sizes = np.bincount(classes, minlength=self.setting.n_classes) + 1.0
        fits = np.einsum("wij,kij->wk", self.answers.counts(labels), logs, optimize=True) + np.log(sizes / sizes.sum())
        return labels, np.asarray(fits.round(9).argmax(axis=1)), value

    def _found(self, labels: Ints, classes: Ints) -> Found:
        """The end, with its score and with classes in the order of how often they are right."""
        counts, logs, shares = self._fit(self._one_hot(labels), classes)
        _, value = _posterior(self.answers.scores(logs, classes) + shares)
        n_classes, n_labels, n_allowed = self.setting.n_classes, self.answers.n_labels, int(self.allowed.sum())
        parameters = n_classes * n_allowed * (n_labels - 1) + self.setting.estimated * (n_allowed - 1)
        score = value - 0.5 * parameters * np.log(len(self.answers)) + _log_probability(classes, n_classes)
        right = np.zeros(n_classes)
        np.add.at(right, classes, np.einsum("wii->w", counts))
        answered = np.bincount(classes, self.answers.by_worker, minlength=n_classes)
        rank = np.argsort(np.argsort(-right / np.maximum(answered, 1), kind="stable"), kind="stable")
        unsupported = _unsupported(counts.sum(axis=0), self.allowed)
        return Found(self.setting, labels, np.asarray(rank[classes]), float(score), unsupported)


def _posterior(scores: Floats) -> tuple[Floats, float]:
    """Probabilities of labels, and the log-likelihood with labels summed out."""
    most = scores.max(axis=1, keepdims=True)
    labels = np.exp(scores - most)
    whole = labels.sum(axis=1, keepdims=True)
    return labels / whole, float((most + np.log(whole)).sum())


def _log_probability(classes: Ints, n_classes: int) -> float:
    """Of who belongs where, when all sizes of the classes are equally probable."""
    from scipy.special import gammaln

    sizes = np.bincount(classes, minlength=n_classes)
    return float(gammaln(n_classes) + gammaln(sizes + 1).sum() - gammaln(len(classes) + n_classes))


def _unsupported(counts: Floats, allowed: Bools) -> int | None:
    """Of the labels whose tasks get another answer more often, the one that falls short the most."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    short = np.where(allowed, shares.max(axis=1) - np.diagonal(shares), 0.0)
    return int(short.argmax()) if short.max() > 0 and allowed.sum() > 1 else None
