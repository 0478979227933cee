"""Alternation: labels of tasks and classes of workers in turn, each the best for the other (docs/found_classes.md).

Given labels, a worker belongs to the class whose matrix explains the worker's answers best; given classes, a task has
the label that explains its answers best. :func:`fit` does this softly, with probabilities, which finds good points from
plain starts, and with tasks that may be hard: if it had no word for these, the rows of the matrices would come to
describe them, and no longer their labels. :func:`harden` then does it with decisions, where the log-likelihood F,
smoothing included, never falls. Every round is one pass over the coded responses, O(responses · classes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.encode import Coded

Shares = Literal["answers", "estimate", "none"] | tuple[float, ...]
"""How frequent the labels are: as frequent as the answers, to be estimated softly, all alike, or as given."""

GUESSED = 0.5
"""Share of the answers to a hard task that are guesses, in which every label is as likely as the others."""

PULL = 0.1
"""How far every class is pulled to workers who err evenly, as a share of its responses (:func:`smoothing_counts`)."""

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
        shares: How frequent the labels are.
        smoothing: A pseudo-count for every entry of every matrix; None for those of :func:`smoothing_counts`.
    """

    n_classes: int
    shares: Shares = "answers"
    smoothing: float | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a soft alternation ended.

    Attributes:
        states: Probabilities of what tasks are (task, state): a label and not hard, or a label and hard.
        members: Probabilities of classes (worker, class).
        matrix: Response matrix [class, state, answered].
        shares: Shares of the labels.
        value: Log-likelihood of the responses, the states summed over, at the memberships of the last round but one,
            which are the same once all has settled; less what these cost.
    """

    states: Floats
    members: Floats
    matrix: Floats
    shares: Floats
    value: float

    @property
    def labels(self) -> Floats:
        """Probabilities of labels (task, label)."""
        return np.asarray(sum(np.split(self.states, 2, axis=1)))

    @property
    def by_label(self) -> Floats:
        """Response matrix [class, true, answered] of plain and hard tasks together."""
        plain, hard = np.split(self.matrix, 2, axis=1)
        share_plain, share_hard = _how_many_hard(self.states)
        return np.asarray(share_plain * plain + share_hard * hard)


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
    members = start(coded, settings.n_classes, seed)
    states = np.hstack([coded.vote_shares, coded.vote_shares]) / 2
    shares, matrix = _first_shares(coded, settings), np.zeros((settings.n_classes, coded.n_labels, coded.n_labels))
    meant = np.full_like(matrix, 1 - GUESSED)
    for _ in range(MAX_ROUNDS):
        by_class, before = _by_class(coded, members), matrix
        plain, hard = np.split(_counts(by_class, states), 2, axis=1)
        counts = plain + meant * hard
        matrix = normalised(counts + smoothing_counts(counts, settings.smoothing))
        blurred = (1 - GUESSED) * matrix + GUESSED / coded.n_labels
        meant = (1 - GUESSED) * matrix / blurred  # probability that an answer to a hard task is no guess
        if settings.shares == "estimate":
            shares = _estimated(states)
        both = np.concatenate([matrix, blurred], axis=1)
        scores = _scores(by_class, log_floored(both)) + log_shares(np.outer(_how_many_hard(states), shares).ravel())
        states, evidence = normalised_rows(scores)
        prior = np.log((members.sum(axis=0) + 1) / (coded.n_workers + settings.n_classes))
        cost = float((members * (log_floored(members) - prior)).sum())
        members, _ = normalised_rows(_worker_scores(coded, states, log_floored(both)) + prior)
        if np.abs(matrix - before).max() < SETTLED:
            break
    return Fit(states, members, both, shares, evidence - cost)


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


def smoothing_counts(counts: Floats, smoothing: float | None = None) -> Floats:
    """What is added to the counts [class, true, answered] of every class before its matrix is estimated.

    Every row is pulled to the class's own overall accuracy with errors spread evenly, with the weight of a share
    (``PULL``) of the class's responses, the same for every row; or every entry gets the pseudo-count that is given.
    """
    if smoothing is not None:
        return np.full_like(counts, smoothing)
    n_labels = counts.shape[-1]
    size, right = counts.sum(axis=(1, 2)), np.einsum("kjj->k", counts)
    accuracy = (right + 2) / (size + 1 + n_labels)  # a little less than counted, never always
    wrong = (1 - accuracy) / max(n_labels - 1, 1)
    even = np.where(np.eye(n_labels, dtype=bool), accuracy[:, None, None], wrong[:, None, None])
    return np.asarray(PULL / n_labels * size[:, None, None] * even)


def anchor(counts: Floats, smoothing: float | None = None) -> Floats:
    """Pseudo-counts for labels that are decided, from the counts of labels that are not yet.

    Matrices that are estimated along with decided labels follow the decisions: doubtful tasks go where their kind
    already is. So they are held at what was estimated softly, with the weight of as many responses as the class has,
    the same for every row; unless it is given how to smooth.
    """
    added = smoothing_counts(counts, smoothing)
    if smoothing is not None:
        return added
    return np.asarray(normalised(counts + added) * counts.sum(axis=(1, 2), keepdims=True) / counts.shape[-1])


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
    prior = anchor(_counts(by_class, found.labels), settings.smoothing)
    offsets = Offsets.of(coded.n_labels, n_classes, prior=np.swapaxes(prior, 0, 1))
    trace, objective = [], objective_of_classes(settings, found.shares, offsets)
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
        by_state = found.members @ found.matrix[:, :, answer]  # worker, state
        probability[at] = (found.states[coded.task[at]] * by_state[coded.worker[at]]).sum(axis=1)
    return log_floored(probability)


def objective_of_classes(settings: Settings, shares: Floats, offsets: Offsets | None) -> Objective:
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


def _estimated(states: Floats) -> Floats:
    """Shares of the labels; hard tasks say less of them."""
    plain, hard = np.split(states.sum(axis=0), 2)
    tasks = plain + (1 - GUESSED) * hard + 1
    return np.asarray(tasks / tasks.sum())


def _how_many_hard(states: Floats) -> Floats:
    """Shares of the tasks that are plain and hard."""
    tasks = states.sum(axis=0).reshape(2, -1).sum(axis=1) + 1
    return np.asarray(tasks / tasks.sum())


def log_floored(probability: Floats) -> Floats:
    """The logarithm, of zero a very low one."""
    return np.log(np.maximum(probability, _TINY))


def log_shares(shares: Floats) -> Floats:
    """Of a label whose share is zero, no likelihood can make up for it."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares))


def normalised_rows(scores: Floats) -> tuple[Floats, float]:
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
