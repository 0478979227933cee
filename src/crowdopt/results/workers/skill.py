"""How good each worker is, by the probabilities of a consensus (docs/workers.md).

No label is certain here, so no response is simply right or wrong: it is right with some probability. The accuracy of a
worker is uncertain for three reasons: its responses are few, each label may be another, and the members of the
consensus differ about all its responses together. The three variances add up: labels are thought of as drawn from one
member, and the member as drawn by its weight.

Repeated answers of a worker to one task share its label, and tell little more than one answer: so every task counts
once for a worker, as the shares of the worker's answers to it.

The flags rest on the labels *without* the worker, as nobody is to be praised for agreeing with itself. They set the
worker's answers beside the same answers in random order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.results.workers.statistics import FLAGS, RARE, Z

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Bools, Floats, Ints

PULL = 4.0
"""Responses of an average worker that are added for the skill; Wilson's 95 % interval adds about as many, Z²."""

MOSTLY = 0.9
"""The share of a worker's answers that must be one before it is said to give this answer whatever the task."""

MANY = 50
"""Responses from which on nobody would call them few."""

NOTHING = 1e-9
"""Sums of probabilities below this are taken for rounding errors."""


@dataclass(frozen=True, eq=False)
class Skill:
    """The statistics of all workers, one entry each.

    Attributes:
        n_responses: Responses.
        n_tasks: Tasks that they are to.
        skill: The accuracy, drawn to that of all workers together, the more so the less is known of the worker.
        accuracy: The expected share of right responses to a task, the mean over the worker's tasks, with the 95 %
            interval of the rate at which the worker is right on tasks like these.
        n_compared: Responses to tasks that others answered too, or whose label is known.
        n_tasks_compared: These tasks.
        agreement: The same as the accuracy for these, against the labels without this worker.
        chance: The agreement that the same answers would have in random order.
        flag: Which flag, if any: a number of FLAGS.
        answer: The most frequent answer of the worker.
        answer_share: The share of its responses that are this answer, every task weighing the same.
    """

    n_responses: Ints
    n_tasks: Ints
    skill: Floats
    accuracy: Floats
    accuracy_low: Floats
    accuracy_high: Floats
    n_compared: Ints
    n_tasks_compared: Ints
    agreement: Floats
    agreement_low: Floats
    agreement_high: Floats
    chance: Floats
    flag: Ints
    answer: Ints
    answer_share: Floats


@dataclass(frozen=True, eq=False)
class JudgedResponses(ABC):
    """Responses, and how probable the labels of their tasks are. All arrays are by response.

    In all sums a response weighs one over the number of responses that its worker gave to its task.

    Attributes:
        task: The task.
        worker: The worker.
        answer: The answer.
        n_workers: Number of workers; some may have no response.
        n_labels: Number of labels.
        known: Whether the label of the task is known.
        right: The members of the consensus: each has a weight, and how probable each answer is.
    """

    task: Ints
    worker: Ints
    answer: Ints
    n_workers: int
    n_labels: int
    known: Bools
    right: Sequence[tuple[float, Floats]]

    @abstractmethod
    def some(self, kept: Bools) -> JudgedResponses:
        """Some of them."""

    @abstractmethod
    def beside_others(self) -> Beside:
        """Workers beside the labels that tasks have without them."""

    @abstractmethod
    def favourites(self) -> tuple[Floats, Ints, Floats]:
        """By worker the number of tasks, the most frequent answer, and to how many tasks it was given."""

    def in_common(self) -> dict[str, Any]:
        """What does not depend on how probabilities are held."""
        return {name: getattr(self, name) for name in ("task", "worker", "answer", "n_workers", "n_labels", "known")}

    def of_some(self, kept: Bools) -> dict[str, Any]:
        """The same for some of the responses."""
        columns = {name: getattr(self, name)[kept] for name in ("task", "worker", "answer", "known")}
        return self.in_common() | columns | {"right": [(weight, one[kept]) for weight, one in self.right]}

    @cached_property
    def pair(self) -> Ints:
        """The number of the worker and the task of each response, together."""
        n_tasks = int(self.task.max(initial=-1)) + 1
        return _numbered(self.worker * n_tasks + self.task)

    @cached_property
    def weight(self) -> Floats:
        """One over the number of responses by this worker to this task."""
        return 1.0 / np.bincount(self.pair)[self.pair]

    @cached_property
    def share(self) -> Floats:
        """The share of these that are the same answer."""
        same = _numbered(self.pair * self.n_labels + self.answer)
        return np.bincount(same)[same] * self.weight

    def n_responses(self) -> Ints:
        """Responses by worker."""
        return np.bincount(self.worker, minlength=self.n_workers)

    def sums(self, values: Floats) -> Floats:
        """Sums by worker."""
        weights = self.weight * values
        return np.asarray(np.bincount(self.worker, weights=weights, minlength=self.n_workers), np.float64)

    def variance(self, right: Floats) -> Floats:
        """The variance of the number of right answers by worker, if each is right with a probability.

        The labels of tasks are independent. That of one task decides together which of a worker's answers to it are
        right: with shares s of the answers, the variance is Σ s² p − (Σ s p)².
        """
        mean = np.bincount(self.pair, weights=self.weight * right)[self.pair]
        return self.sums((self.share - mean) * right)

    def compared(self) -> JudgedResponses:
        """Those that can be compared: somebody else answered the task too, or its label is known."""
        n_tasks = int(self.task.max(initial=-1)) + 1
        first, last = np.full(n_tasks, self.n_workers), np.full(n_tasks, -1)
        np.minimum.at(first, self.task, self.worker)
        np.maximum.at(last, self.task, self.worker)
        return self.some((first < last)[self.task] | self.known)


@dataclass(frozen=True, eq=False)
class ComparedWithAll(JudgedResponses):
    """Responses beside the probabilities of all labels.

    Attributes:
        without: The probabilities of the labels without all responses of this worker to this task (response, label).
    """

    without: Floats

    def some(self, kept: Bools) -> ComparedWithAll:
        """Some of them."""
        return ComparedWithAll(**self.of_some(kept), without=self.without[kept])

    def answers(self) -> Floats:
        """To how many tasks each worker gave each answer."""
        at = self.worker * self.n_labels + self.answer
        numbers = np.bincount(at, weights=self.weight, minlength=self.n_workers * self.n_labels)
        return np.asarray(numbers, np.float64).reshape(self.n_workers, self.n_labels)

    def favourites(self) -> tuple[Floats, Ints, Floats]:
        """By worker the number of tasks, the most frequent answer, and to how many tasks it was given."""
        answers = self.answers()
        return answers.sum(axis=1), answers.argmax(axis=1), answers.max(axis=1)

    def beside_others(self) -> Beside:
        """Workers beside the labels that tasks have without them."""
        return _beside_all(self)


def _numbered(keys: Ints) -> Ints:
    """Equal keys as equal numbers from 0."""
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def measure_skill(judged: JudgedResponses) -> Skill:
    """The statistics of workers with the given responses."""
    n, answer, times = judged.favourites()
    accuracy, variance = _accuracy(judged, n)
    low, high, worth = uncertain_share(accuracy, n, variance)
    average = (accuracy * n).sum() / max(n.sum(), 1.0)
    others = judged.compared()
    beside = others.beside_others()
    compared = np.maximum(beside.n, 1.0)
    agreement = beside.agreed / compared
    agreement_low, agreement_high, _ = uncertain_share(agreement, beside.n, beside.variance)
    return Skill(
        n_responses=judged.n_responses(),
        n_tasks=_whole(n),
        skill=(worth * accuracy + PULL * average) / (worth + PULL),
        accuracy=accuracy,
        accuracy_low=low,
        accuracy_high=high,
        n_compared=others.n_responses(),
        n_tasks_compared=_whole(beside.n),
        agreement=agreement,
        agreement_low=agreement_low,
        agreement_high=agreement_high,
        chance=beside.chance / compared,
        flag=beside.flags(),
        answer=answer,
        answer_share=times / np.maximum(n, 1.0),
    )


def skill_reason(skill: Skill, number: int, labels: Sequence[str]) -> str:
    """Why a worker is flagged; empty if it is not."""
    flag, n, n_compared = FLAGS[skill.flag[number]], skill.n_tasks[number], skill.n_tasks_compared[number]
    if flag == "same":
        answer, share = labels[skill.answer[number]], skill.answer_share[number]
        often = "whatever the task" if share == 1 else f"to {share:.1%} of the tasks, whatever they are"
        return f"answers {answer!r} {often}"
    if flag == "unclear":
        if not n_compared:
            return "nobody else answered its tasks"
        some = "" if n_compared == n else f", of which others answered {n_compared}"
        if n_compared > 1 and skill.chance[number] > 1 - NOTHING:
            return "all its tasks have one label, so nothing tells it from guessing"
        if n_compared >= MANY:
            return f"cannot be told from guessing, after {n} tasks{some}"
        return f"has answered {n} task{'s' if n > 1 else ''}{some}: too few to tell from guessing"
    if not flag:
        return ""
    said = "worse than guessing" if flag == "opposite" else "no better than guessing"
    agrees, chance = f"{skill.agreement[number]:.0%}", f"{skill.chance[number]:.0%}"
    return f"{said}: agrees with the others on {agrees} of {n_compared}; by guessing it would on {chance}"


def _whole(numbers: Floats) -> Ints:
    """Sums of weights that are whole numbers but for rounding."""
    return np.rint(numbers).astype(np.int64)


def uncertain_share(share: Floats, n: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """The 95 % interval of a rate, from n tasks of which it is not certain how many count.

    If k of them did for certain, the rate would have the Beta distribution of parameters k + ½ and n − k + ½ (Jeffreys'
    prior). As k is uncertain, the interval is that of the Beta distribution that has the mean and the variance of the
    rate over all k. It is made to hold the share itself.

    Args:
        share: The mean of k / n.
        n: Number of tasks.
        variance: The variance of k / n.

    Returns:
        Both ends, and how many tasks with certain labels would tell as much: at most n.
    """
    from scipy.special import betaincinv

    yes, no, unknown = n * share + 0.5, n * (1 - share) + 0.5, n * n * variance
    mean = yes / (n + 1)
    spread = ((yes * no - unknown) / (n + 2) + unknown) / (n + 1) ** 2
    size = mean * (1 - mean) / spread - 1
    low, high = (betaincinv(size * mean, size * (1 - mean), end) for end in (0.025, 0.975))
    answered = n > 0
    low, high = np.where(answered, np.minimum(low, share), 0.0), np.where(answered, np.maximum(high, share), 1.0)
    return low, high, np.maximum(size - 1, 0.0)


def _accuracy(judged: JudgedResponses, n: Floats) -> tuple[Floats, Floats]:
    """The expected share of each worker's responses to a task that are right, and the variance of its mean over tasks.

    Within a member it is that of the labels; between members that of what they expect.
    """
    n = np.maximum(n, 1.0)
    weights = np.array([weight for weight, _ in judged.right])[:, None]
    right = [np.clip(one, 0.0, 1.0) for _, one in judged.right]
    shares = np.array([judged.sums(each) / n for each in right])
    within = np.array([judged.variance(each) / n**2 for each in right])
    accuracy = np.clip((weights * shares).sum(axis=0), 0.0, 1.0)
    return accuracy, (weights * (within + (shares - accuracy) ** 2)).sum(axis=0)


@dataclass(frozen=True, eq=False)
class Beside:
    """Workers beside the others, from the responses that can be compared.

    Attributes:
        n: Number of tasks.
        mostly: The share of the worker's most frequent answer.
        agreed: The expected number of agreements.
        variance: The variance of their share.
        chance: The mean number of agreements over all orders of the worker's answers.
        deviation: Their standard deviation over all orders.
        typical: Agreements beyond chance that a worker as good as the others would have at least, 39 times out of 40.
        guessed: Those that a worker who guesses would have at most, 39 times out of 40.
        repeated: How probable it is that others give the most frequent answer so often where the label is another.
    """

    n: Floats
    mostly: Floats
    agreed: Floats
    variance: Floats
    chance: Floats
    deviation: Floats
    typical: Floats
    guessed: Floats
    repeated: Floats

    def flags(self) -> Ints:
        """The first flag that applies to each worker, by number."""
        beyond, far = self.agreed - self.chance, Z * self.deviation + NOTHING
        flags = {
            "same": (beyond <= far) & (self.mostly >= MOSTLY) & (self.repeated < RARE),
            "opposite": beyond < -far,
            "chance": (beyond <= far) & (self.typical > np.maximum(beyond, self.guessed)),
            "unclear": beyond <= far,
        }
        return np.select(list(flags.values()), [FLAGS.index(name) for name in flags], 0)


def _beside_all(judged: ComparedWithAll) -> Beside:
    """Compares the answers to the labels without the worker."""
    worker, without, answers = judged.worker, judged.without, judged.answers()
    n = answers.sum(axis=1)
    whole = np.maximum(n, 1.0)
    means = np.stack([judged.sums(column) for column in without.T], axis=1) / whole[:, None]
    centred = without - means[worker]
    signal = judged.sums((centred**2).sum(axis=1))
    agrees = without[np.arange(len(worker)), judged.answer]
    agreed, chance = judged.sums(agrees), (answers * means).sum(axis=1)
    beyond = agreed - chance
    knows = share_known(beyond, signal)
    likely = means[worker] + knows[worker, None] * centred
    squares = judged.sums((likely * without**2).sum(axis=1) - (likely * without).sum(axis=1) ** 2)
    return Beside(
        n=n,
        mostly=answers.max(axis=1) / whole,
        agreed=agreed,
        variance=judged.variance(agrees) / whole**2,
        chance=chance,
        deviation=_over_all_orders(judged, centred, answers),
        typical=knows * signal - Z * np.sqrt(np.maximum(squares, 0.0)),
        guessed=Z * _over_all_orders(judged, centred, n[:, None] * means),
        repeated=_repeated(judged, answers.argmax(axis=1)),
    )


def share_known(beyond: Floats, signal: Floats) -> Floats:
    """How probable it is that the others know a label, and do not guess; one half where nothing is known of them.

    Args:
        beyond: Agreements of each worker beyond chance.
        signal: What they would be if the worker knew all labels.
    """
    return np.asarray(np.clip((beyond.sum() - beyond + 0.5) / (signal.sum() - signal + 1), 0.0, 1.0))


def _over_all_orders(judged: ComparedWithAll, centred: Floats, answers: Floats) -> Floats:
    """The standard deviation of the agreements over all orders of each worker's answers, whose numbers are given."""
    n = np.maximum(answers.sum(axis=1), 1.0)
    given = answers[judged.worker]
    squares = judged.sums((centred**2 * given).sum(axis=1) - (centred * given).sum(axis=1) ** 2 / n[judged.worker])
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) / np.maximum(n - 1, 1.0)))


def _repeated(judged: ComparedWithAll, favourite: Ints) -> Floats:
    """How probable it is that others give a worker's most frequent answer as often as it does where it is wrong.

    Tasks of that very label do not count: to answer what is true is no sign of anything.
    """
    own, rows = favourite[judged.worker], np.arange(len(judged.worker))
    here, said = judged.without[rows, own], judged.without[rows, judged.answer]
    return repeated(judged, favourite, here, said, judged.weight @ (1 - judged.without))


def repeated(judged: JudgedResponses, favourite: Ints, here: Floats, given: Floats, asked_of_all: Floats) -> Floats:
    """The same, given how probable the favourite and the given answer are, and how often each label is another."""
    from scipy.special import betainc

    own, wrong = favourite[judged.worker], 1 - here
    asked, said = judged.sums(wrong), judged.sums(wrong * (judged.answer == own))
    weights = judged.weight * (1 - given)
    all_said = np.bincount(judged.answer, weights=weights, minlength=judged.n_labels)[favourite]
    all_asked = asked_of_all[favourite]
    usual = (all_said - said + 1) / (all_asked - asked + 2)  # one half where nothing is known
    return np.asarray(betainc(np.maximum(said, NOTHING), np.maximum(asked - said, 0.0) + 1, usual))
