"""Alternation: labels of tasks and classes of workers in turn, each the best for the other (docs/found_classes.md).

Given labels, a worker belongs to the class whose matrix explains the worker's answers best; given classes, a task has
the label that explains its answers best. :func:`fit` does this softly, with probabilities, which finds good points from
plain starts; :func:`harden` then does it with decisions, where the log-likelihood F, smoothing included, never falls.
Every round is one pass over the coded responses, O(responses · classes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.objective import Objective
from crowdopt.offsets import Offsets

if TYPE_CHECKING:
    from crowdopt.coded import Coded
    from crowdopt.types import Floats, Ints

Shares = Literal["answers", "estimate", "none"] | tuple[float, ...]
"""How frequent the labels are: as frequent as the answers, to be estimated softly, all alike, or as given."""

MAX_ROUNDS = 100
"""Rounds after which an alternation ends in any case."""

SETTLED = 1e-4
"""Soft rounds end when no entry of a matrix changes by more than this: all else follows from the matrices."""

FIRM = 1e-9
"""Hard rounds change nothing for less than this many nats."""

_TINY = 1e-300


@dataclass(frozen=True)
class Settings:
    """What an alternation is asked for.

    Attributes:
        n_classes: Number of classes.
        pull: How far every class is pulled to workers who err evenly, as a share of its own responses: see
            :func:`pseudo_counts`; 0 for not at all.
        smoothing: A pseudo-count for every entry of every matrix.
        shares: How frequent the labels are.
    """

    n_classes: int
    pull: float = 0.0
    smoothing: float = 0.0
    shares: Shares = "answers"


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a soft alternation ended.

    Attributes:
        labels: Probabilities of labels (task, label).
        members: Probabilities of classes (worker, class).
        matrix: Response matrix [class, true, answered].
        shares: Shares of the labels.
        value: Log-likelihood of the responses, the labels summed over, at these memberships; less what these cost.
    """

    labels: Floats
    members: Floats
    matrix: Floats
    shares: Floats
    value: float


@dataclass(frozen=True, eq=False)
class Decision:
    """Where a hard alternation ended.

    Attributes:
        labels: Label of each task.
        classes: Class of each worker; every class has some.
        prior: Pseudo-counts by [class, true, answered].
        shares: Shares of the labels.
        trace: F after each round.
    """

    labels: Ints
    classes: Ints
    prior: Floats
    shares: Floats
    trace: tuple[float, ...]


def fit(coded: Coded, settings: Settings, seed: int = 0) -> Fit:
    """Alternates softly from a start until the matrices settle."""
    members, labels = start(coded, settings.n_classes, seed), coded.vote_shares
    shares = _first_shares(coded, settings)
    matrix = np.zeros((settings.n_classes, coded.n_labels, coded.n_labels))
    for _ in range(MAX_ROUNDS):
        by_class = _by_class(coded, members)
        counts, before = _counts(by_class, labels), matrix
        matrix = normalised(counts + pseudo_counts(counts, settings))
        if settings.shares == "estimate":
            shares = _estimated(labels)
        log_matrix = log_floored(matrix)
        labels, evidence = posterior(_scores(by_class, log_matrix) + log_shares(shares))
        prior = np.log((members.sum(axis=0) + 1) / (coded.n_workers + settings.n_classes))
        members, _ = posterior(_worker_scores(coded, labels, log_matrix) + prior)
        if np.abs(matrix - before).max() < SETTLED:
            break
    cost = float((members * (log_floored(members) - prior)).sum())
    return Fit(labels, members, matrix, shares, evidence - cost)


def start(coded: Coded, n_classes: int, seed: int = 0) -> Floats:
    """Memberships to begin with: workers ranked by how far they agree with the votes, in classes of equal size.

    The start of seed 0 is just that; others add noise of half the spread of the agreement.
    """
    hits = sum(workers @ coded.vote_shares[:, at] for at, (_, workers) in enumerate(coded.by_answer))
    agreement = hits / np.maximum(coded.load, 1.0)
    if seed:
        rng = np.random.Generator(np.random.PCG64(seed))
        agreement = agreement + rng.normal(0.0, agreement.std() / 2, len(agreement))
    members = np.zeros((coded.n_workers, n_classes))
    by_agreement = np.argsort(agreement.round(12), kind="stable")
    members[by_agreement, np.arange(coded.n_workers) * n_classes // coded.n_workers] = 1.0
    return members


def pseudo_counts(counts: Floats, settings: Settings) -> Floats:
    """What is added to the counts [class, true, answered] of every class before its matrix is estimated.

    Every row is pulled to the class's own overall accuracy with errors spread evenly, with the weight of a share
    (``settings.pull``) of the class's responses, the same for every row: tasks differ in difficulty, which the model
    has no term for, and a row that is free to follow the hard tasks ceases to mean its label.
    """
    n_labels = counts.shape[-1]
    size, right = counts.sum(axis=(1, 2)), np.einsum("kjj->k", counts)
    accuracy = (right + 2) / (size + 1 + n_labels)  # a little less than counted, never always
    wrong = (1 - accuracy) / max(n_labels - 1, 1)
    even = np.where(np.eye(n_labels, dtype=bool), accuracy[:, None, None], wrong[:, None, None])
    return np.asarray(settings.pull / n_labels * size[:, None, None] * even + settings.smoothing)


def harden(coded: Coded, found: Fit, settings: Settings) -> Decision:
    """Decides: every worker one class, every task one label; then alternates until nothing gains.

    The pseudo-counts and the shares are fixed first, so that there is one F, which no step lowers: a label or a class
    is only given up for one that explains the answers better, and refitting the matrices cannot hurt. Shares that were
    estimated softly stay as they are: estimated from decided labels, they would draw all doubtful tasks to the most
    frequent label.
    """
    classes = np.unique(found.members.argmax(axis=1), return_inverse=True)[1].reshape(-1)
    n_classes, labels = int(classes.max()) + 1, found.labels.argmax(axis=1)
    by_class = _by_class(coded, np.eye(n_classes)[classes])
    prior = pseudo_counts(_counts(by_class, found.labels), settings)
    offsets = Offsets.of(coded.n_labels, n_classes, prior=np.swapaxes(prior, 0, 1))
    trace, objective = [], objective_of(settings, found.shares, offsets)
    for _ in range(MAX_ROUNDS):
        trace.append(_value(by_class, labels, objective))
        new_labels = _better(labels, _scores(by_class, _refit(by_class, labels, prior)) + log_shares(found.shares))
        log_matrix = _refit(by_class, new_labels, prior)
        new_classes = _better(classes, _worker_scores(coded, np.eye(coded.n_labels)[new_labels], log_matrix))
        if np.array_equal(new_labels, labels) and np.array_equal(new_classes, classes):
            break
        labels, classes = new_labels, new_classes
        by_class = _by_class(coded, np.eye(n_classes)[classes])
    used, classes = np.unique(classes, return_inverse=True)
    return Decision(labels, classes.reshape(-1), prior[used], found.shares, tuple(trace))


def log_predictive(coded: Coded, found: Fit) -> Floats:
    """Log-probability of one response of each entry, none of which the fit has seen."""
    probability = np.empty(len(coded.task))
    for answer in range(coded.n_labels):
        at = coded.answer == answer
        by_label = found.members @ found.matrix[:, :, answer]  # worker, label
        probability[at] = (found.labels[coded.task[at]] * by_label[coded.worker[at]]).sum(axis=1)
    return log_floored(probability)


def objective_of(settings: Settings, shares: Floats, offsets: Offsets | None) -> Objective:
    """What the labels of tasks maximise, once the classes are decided."""
    if settings.shares == "none":
        return Objective(offsets=offsets)
    return Objective("given", tuple((shares / shares.sum()).tolist()), offsets)


def _by_class(coded: Coded, members: Floats) -> list[Floats]:
    """For each answer, how often it was given by (task, class)."""
    return [tasks @ members for tasks, _ in coded.by_answer]


def _counts(by_class: list[Floats], labels: Floats) -> Floats:
    """Responses by [class, label, answer]."""
    return np.stack([given.T @ labels for given in by_class], axis=2)


def _scores(by_class: list[Floats], log_matrix: Floats) -> Floats:
    """How well every label (column) explains the answers to every task (row)."""
    return np.asarray(sum(given @ log_matrix[:, :, at] for at, given in enumerate(by_class)))


def _worker_scores(coded: Coded, labels: Floats, log_matrix: Floats) -> Floats:
    """How well every class (column) explains the answers of every worker (row)."""
    return np.asarray(
        sum(workers @ (labels @ log_matrix[:, :, at].T) for at, (_, workers) in enumerate(coded.by_answer))
    )


def normalised(counts: Floats) -> Floats:
    """Rows as probabilities; even where nothing was counted."""
    whole = counts.sum(axis=-1, keepdims=True)
    return np.where(whole > 0, counts / np.where(whole > 0, whole, 1.0), 1 / counts.shape[-1])


def _first_shares(coded: Coded, settings: Settings) -> Floats:
    if isinstance(settings.shares, tuple):
        return np.array(settings.shares)
    if settings.shares == "answers":
        answers = coded.votes.sum(axis=0) + 1
        return np.asarray(answers / answers.sum())
    return np.full(coded.n_labels, 1 / coded.n_labels)


def _estimated(labels: Floats) -> Floats:
    tasks = labels.sum(axis=0)
    return np.asarray(tasks / tasks.sum())


def log_floored(probability: Floats) -> Floats:
    """The logarithm, of zero a very low one."""
    return np.log(np.maximum(probability, _TINY))


def log_shares(shares: Floats) -> Floats:
    """Of a label whose share is zero, no likelihood can make up for it."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares))


def posterior(scores: Floats) -> tuple[Floats, float]:
    """Probabilities by row, and the log of what they were divided by, summed over rows."""
    best = scores.max(axis=1, keepdims=True)
    scaled = np.exp(scores - best)
    whole = scaled.sum(axis=1, keepdims=True)
    return scaled / whole, float((best + np.log(whole)).sum())


def _better(present: Ints, scores: Floats) -> Ints:
    """The column of the highest score of each row, or the present one if that is no worse."""
    rows = np.arange(len(present))
    best = scores.argmax(axis=1)
    return np.where(scores[rows, best] > scores[rows, present] + FIRM, best, present)


def _refit(by_class: list[Floats], labels: Ints, prior: Floats) -> Floats:
    """Log of the best matrices for decided labels."""
    return log_floored(normalised(_counts(by_class, np.eye(len(by_class))[labels]) + prior))


def _value(by_class: list[Floats], labels: Ints, objective: Objective) -> float:
    """F of decided labels."""
    n_labels = len(by_class)
    responses = np.swapaxes(_counts(by_class, np.eye(n_labels)[labels]), 0, 1).round().astype(np.int64)
    return float(objective.total(responses, np.bincount(labels, minlength=n_labels)))
