"""How good each worker is, by the probabilities of a consensus (docs/workers.md).

No label is certain here, so no response is simply right or wrong: it is right with some probability. The accuracy of a
worker is uncertain for three reasons: its responses are few, each label may be another, and the members of the
consensus differ about all its responses together. The three variances add up: labels are thought of as drawn from one
member, and the member as drawn by its weight.

Repeated answers of a worker to one task share its label, and tell little more than one answer: so every task counts
once for a worker, as the shares of the worker's answers to it.

The flags rest on the labels *without* the worker, as nobody is to be praised for agreeing with itself. They set the
worker's answers beside the same answers in random order.

All of this is made of sums over responses, in parts of whole tasks that are looked at twice: some sums need means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crowdopt.results.workers.judged_responses import JudgedResponses
from crowdopt.results.workers.statistics import FLAGS, RARE, Z

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crowdopt._arrays import Bools, Floats, Ints

_Judged = TypeVar("_Judged", bound=JudgedResponses)

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


def measure_skill(parts: Iterable[ComparedWithAll]) -> Skill:
    """The statistics of workers with the given responses: parts of whole tasks, the same ones every time."""
    own = summed(parts, _own_sums)
    answers = own["answers"]
    favourites = answers.sum(axis=1), answers.argmax(axis=1), answers.max(axis=1)
    return skill_of(own, favourites, beside_others(parts, own))


def skill_of(own: dict[str, Any], favourites: tuple[Floats, Ints, Floats], beside: Beside) -> Skill:
    """The statistics of workers, given sums over their responses.

    Args:
        own: See ``JudgedResponses.own_sums``; and ``n_compared``, the responses that can be compared.
        favourites: By worker the number of tasks, the most frequent answer, and to how many tasks it was given.
        beside: Workers beside the others.
    """
    n, answer, times = favourites
    accuracy, variance = _accuracy(own, n)
    low, high, worth = uncertain_share(accuracy, n, variance)
    average = (accuracy * n).sum() / max(n.sum(), 1.0)
    compared = np.maximum(beside.n, 1.0)
    agreement = beside.agreed / compared
    agreement_low, agreement_high, _ = uncertain_share(agreement, beside.n, beside.variance)
    return Skill(
        n_responses=own["n_responses"],
        n_tasks=_whole(n),
        skill=(worth * accuracy + PULL * average) / (worth + PULL),
        accuracy=accuracy,
        accuracy_low=low,
        accuracy_high=high,
        n_compared=own["n_compared"],
        n_tasks_compared=_whole(beside.n),
        agreement=agreement,
        agreement_low=agreement_low,
        agreement_high=agreement_high,
        chance=beside.chance / compared,
        flag=beside.flags(),
        answer=answer,
        answer_share=times / np.maximum(n, 1.0),
    )


def summed(parts: Iterable[_Judged], sums: Callable[[_Judged], dict[str, Any]]) -> dict[str, Any]:
    """The sums of all parts, by name."""
    whole: dict[str, Any] = {}
    for part in parts:
        whole = {name: whole.get(name, 0) + more for name, more in sums(part).items()}
    return whole


def _own_sums(judged: ComparedWithAll) -> dict[str, Any]:
    """What is counted; what the members hold for right; and the labels without the workers themselves."""
    others = judged.compared()
    given = others.without[np.arange(len(others.answer)), others.answer]
    return judged.own_sums() | {
        "answers": judged.answers(),
        "n_compared": others.n_responses(),
        "compared": others.answers(),
        "without": np.stack([others.sums(column) for column in others.without.T], axis=1),
        "asked": others.weight @ (1 - others.without),
        "said": np.bincount(others.answer, others.weight * (1 - given), others.n_labels),
    }


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


def _accuracy(own: dict[str, Any], n: Floats) -> tuple[Floats, Floats]:
    """The expected share of each worker's responses to a task that are right, and the variance of its mean over tasks.

    Within a member it is that of the labels; between members that of what they expect.
    """
    n = np.maximum(n, 1.0)
    weights = (own["weights"] / own["weights"].sum())[:, None]
    shares, within = own["right"] / n, own["variance"] / n**2
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


def beside_others(parts: Iterable[ComparedWithAll], own: dict[str, Any]) -> Beside:
    """Compares the answers to the labels without the worker."""
    answers = own["compared"]
    n = answers.sum(axis=1)
    whole = np.maximum(n, 1.0)
    means = own["without"] / whole[:, None]
    favourite = answers.argmax(axis=1)
    found = summed(parts, lambda judged: _sums_beside(judged.compared(), answers, means, favourite))
    agreed, signal, chance = found["agreed"], found["signal"], (answers * means).sum(axis=1)
    knows = share_known(agreed - chance, signal)
    squares = found["mean"] + knows * found["both"] + knows**2 * found["centred"]
    orders = (np.sqrt(np.maximum(found[name], 0.0) / np.maximum(n - 1, 1.0)) for name in ("order", "guesses"))
    deviation, guessed = orders
    return Beside(
        n=n,
        mostly=answers.max(axis=1) / whole,
        agreed=agreed,
        variance=found["variance"] / whole**2,
        chance=chance,
        deviation=deviation,
        typical=knows * signal - Z * np.sqrt(np.maximum(squares, 0.0)),
        guessed=Z * guessed,
        repeated=repeated(found["asked"], found["said"], own["asked"][favourite], own["said"][favourite]),
    )


def share_known(beyond: Floats, signal: Floats) -> Floats:
    """How probable it is that the others know a label, and do not guess; one half where nothing is known of them.

    Agreements of workers beyond chance are set beside what they would be if workers knew all labels, the signal.
    """
    return np.asarray(np.clip((beyond.sum() - beyond + 0.5) / (signal.sum() - signal + 1), 0.0, 1.0))


def _sums_beside(judged: ComparedWithAll, answers: Floats, means: Floats, favourite: Ints) -> dict[str, Any]:
    """What is to be summed of responses that can be compared, given of their workers what all parts tell.

    A worker who knows the label of a share of the tasks agrees as probably as the mean says and this share of what is
    beyond it: the variance of its agreements is a polynomial in this share, of which here are the three terms.
    """
    without, worker, rows = judged.without, judged.worker, np.arange(len(judged.worker))
    mean, own = means[worker], favourite[worker]
    centred = without - mean
    by_mean, by_centred = (mean * without).sum(axis=1), (centred * without).sum(axis=1)
    agrees, wrong = without[rows, judged.answer], 1 - without[rows, own]
    return {
        "agreed": judged.sums(agrees),
        "variance": judged.variance(agrees),
        "signal": judged.sums((centred**2).sum(axis=1)),
        "mean": judged.sums((mean * without**2).sum(axis=1) - by_mean**2),
        "both": judged.sums((centred * without**2).sum(axis=1) - 2 * by_mean * by_centred),
        "centred": judged.sums(-(by_centred**2)),
        "order": _over_all_orders(judged, centred, answers),
        "guesses": _over_all_orders(judged, centred, answers.sum(axis=1)[:, None] * means),
        "asked": judged.sums(wrong),
        "said": judged.sums(wrong * (judged.answer == own)),
    }


def _over_all_orders(judged: ComparedWithAll, centred: Floats, answers: Floats) -> Floats:
    """The variance of agreements over all orders of n answers of each worker, times n - 1; the answers are given.

    The sum of this over parts is that of all.
    """
    n, given = np.maximum(answers.sum(axis=1), 1.0), answers[judged.worker]
    squares = (centred**2 * given).sum(axis=1) - (centred * given).sum(axis=1) ** 2 / n[judged.worker]
    return judged.sums(squares)


def repeated(asked: Floats, said: Floats, all_asked: Floats, all_said: Floats) -> Floats:
    """How probable it is that others give a worker's most frequent answer as often as it does where it is wrong.

    Tasks of that very label do not count: to answer what is true is no sign of anything.

    Args:
        asked: How many of the worker's tasks have another label.
        said: To how many of these the worker gave the answer.
        all_asked: The first for all workers together.
        all_said: The second for all workers together.
    """
    from scipy.special import betainc

    usual = (all_said - said + 1) / (all_asked - asked + 2)  # one half where nothing is known
    return np.asarray(betainc(np.maximum(said, NOTHING), np.maximum(asked - said, 0.0) + 1, usual))
