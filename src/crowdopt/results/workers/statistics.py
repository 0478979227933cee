"""The statistics of workers, from two tables of counts for each (docs/workers.md says what they mean, and why).

The first counts a worker's responses by (label of the task, answer). The second does so with the label that the task
would have without this worker; what nobody else answered is not in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Bools, Floats, Ints

Z = 1.959963984540054
"""The normal quantile of 95 % intervals: a deviation that far up, or down, happens once in forty times."""

RARE = 0.001
"""A worker who always gives one answer is flagged if others of its class would do so less often than this."""

FLAGS = ("", "same", "opposite", "chance", "unclear")
"""The flags, by the number that stands for each; of those that apply, a worker has the first."""


def wilson(right: Floats | Ints, total: Floats | Ints) -> tuple[Floats, Floats]:
    """Wilson's interval for a share; from 0 to 1 where nothing was counted.

    >>> low, high = wilson(np.array([9.0, 0.0]), np.array([10.0, 0.0]))
    >>> [round(float(end), 4) for end in (*low, *high)]
    [0.5958, 0.0, 0.9821, 1.0]
    """
    n = np.maximum(total, 1)
    share, spread = right / n, Z * Z / n
    middle = share + spread / 2
    half = np.sqrt(np.maximum(spread * share * (1 - share) + spread * spread / 4, 0.0))
    low, high = ((middle + sign * half) / (1 + spread) for sign in (-1, 1))
    low, high = np.where(right == 0, 0.0, low), np.where(right == n, 1.0, high)  # rounding would miss these ends
    known = np.asarray(total) > 0
    return np.where(known, np.clip(low, 0.0, 1.0), 0.0), np.where(known, np.clip(high, 0.0, 1.0), 1.0)


@dataclass(frozen=True, eq=False)
class Typical:
    """What is to be expected of a worker, by class: what the statistics lean on where a worker said little.

    Attributes:
        matrix: Probability of each answer, by (class, true label, answer); rows are NaN where nothing is known.
        agreement: How often the class gives the label that a task has without the worker, by (class, that label).
        shares: How frequent each label is.
    """

    matrix: Floats
    agreement: Floats
    shares: Floats


def typical_agreement(against_others: Ints) -> Floats:
    """Share of agreement by (class, label of the others), from counts (class, label of the others, answer)."""
    whole = against_others.sum(axis=2)
    same = np.diagonal(against_others, axis1=1, axis2=2)
    return np.asarray(same / np.maximum(whole, 1))


@dataclass(frozen=True, eq=False)
class Quality:
    """The statistics of some workers, one entry each.

    Attributes:
        n_responses: Responses.
        accuracy: Share of them that are the label of their task, and the ends of its interval.
        n_compared: Responses to tasks that others answered too, or whose label is known.
        agreement: Share of these that are the label without this worker, and the ends of its interval.
        chance: The agreement that the same answers would have in random order.
        information: Bits that one response tells of the truth.
        flag: Which flag, if any.
        answer: The most frequent answer of the worker.
        off: Responses to tasks with another label than that answer.
    """

    n_responses: Ints
    accuracy: Floats
    accuracy_low: Floats
    accuracy_high: Floats
    n_compared: Ints
    agreement: Floats
    agreement_low: Floats
    agreement_high: Floats
    chance: Floats
    information: Floats
    flag: Ints
    answer: Ints
    off: Ints


STATISTICS = {
    "n_responses": "long", "accuracy": "double", "accuracy_low": "double", "accuracy_high": "double",
    "agreement": "double", "agreement_low": "double", "agreement_high": "double", "n_compared": "long",
    "chance": "double", "information": "double",
}  # fmt: skip
"""The figures in the table of workers, each a field of :class:`Quality`, with the type that Spark calls it by."""

NEED_OTHERS = ("agreement", "chance")
"""Those that are missing where nobody else answered."""

WORKER_COLUMNS = ("worker", "class", *STATISTICS, "flag", "reason")
"""All columns of the table of workers."""


def measure(against_labels: Ints, against_others: Ints, classes: Ints, typical: Typical) -> Quality:
    """The statistics of workers with the given counts (worker, label, answer) and classes."""
    n_responses, n_compared = (table.sum(axis=(1, 2)) for table in (against_labels, against_others))
    right, agreed = (np.einsum("wjj->w", table) for table in (against_labels, against_others))
    accuracy_low, accuracy_high = wilson(right, n_responses)
    low, high = wilson(agreed, n_compared)
    squared = np.maximum(n_compared, 1.0) ** 2
    chance = (against_others.sum(axis=1) * against_others.sum(axis=2)).sum(axis=1) / squared
    answer = against_labels.sum(axis=1).argmax(axis=1)
    flags = {
        "same": _always_the_same(against_labels, answer, typical.matrix[classes]),
        "opposite": high < chance,
        "chance": (low <= chance) & _enough(against_others, chance, typical.agreement[classes]),
        "unclear": low <= chance,
    }
    return Quality(
        n_responses=n_responses,
        accuracy=right / np.maximum(n_responses, 1),
        accuracy_low=accuracy_low,
        accuracy_high=accuracy_high,
        n_compared=n_compared,
        agreement=agreed / np.maximum(n_compared, 1),
        agreement_low=low,
        agreement_high=high,
        chance=chance,
        information=information(against_labels, typical.matrix[classes], typical.shares),
        flag=np.select(list(flags.values()), [FLAGS.index(name) for name in flags], 0),
        answer=answer,
        off=n_responses - np.take_along_axis(against_labels.sum(axis=2), answer[:, None], axis=1)[:, 0],
    )


def reason(quality: Quality, number: int, labels: Sequence[str]) -> str:
    """Why a worker is flagged; empty if it is not."""
    flag = FLAGS[quality.flag[number]]
    if not flag:
        return ""
    if flag == "same":
        answer, n_off = labels[quality.answer[number]], quality.off[number]
        return f"always answers {answer!r}, also {n_off} times where the label is another"
    n = quality.n_compared[number]
    if not n:
        return "nobody else answered its tasks"
    agreement, chance = quality.agreement[number], quality.chance[number]
    said = f"agrees with the others on {agreement:.0%} of {n}; by chance it would on {chance:.0%}"
    return f"{said}: too few to tell" if flag == "unclear" else said


def information(counts: Ints, matrix: Floats, shares: Floats) -> Floats:
    """Mutual information, in bits, between the truth and one response of each worker.

    Counts are smoothed towards the class: for each true label, as many pseudo-responses as there are labels, divided as
    the class divides its answers. Few counts alone would look like knowledge, as almost any table of them does.

    Args:
        counts: Responses by (worker, label, answer).
        matrix: The matrix of each worker's class, by (worker, true label, answer).
        shares: How frequent each label is.
    """
    n_labels = counts.shape[-1]
    prior = n_labels * np.where(np.isnan(matrix), 1 / n_labels, matrix)
    smoothed = counts + prior
    answers = smoothed / smoothed.sum(axis=2, keepdims=True)
    overall = np.einsum("j,wji->wi", shares, answers)[:, None, :]
    ratio = answers / np.where(overall > 0, overall, 1.0)
    bits = answers * np.log2(np.where(ratio > 0, ratio, 1.0))
    return np.asarray(np.maximum(np.einsum("j,wji->w", shares, bits), 0.0))


def _always_the_same(counts: Ints, answer: Ints, matrix: Floats) -> Bools:
    """Whether all answers are one, and others of the class would rarely give it on all tasks that have another label.

    Tasks of that very label do not count: to answer what is true is no sign of anything.
    """
    workers = np.arange(len(counts))
    only = counts.sum(axis=1)[workers, answer] == counts.sum(axis=(1, 2))
    elsewhere = counts.sum(axis=2)
    elsewhere[workers, answer] = 0
    chances = matrix[workers, :, answer]
    likely = np.log(np.where(chances > 0, chances, 1.0))  # the worker itself did it: none that counts is zero
    return np.asarray(only & ((elsewhere * likely).sum(axis=1) < math.log(RARE)))


def _enough(against_others: Ints, chance: Floats, agreement: Floats) -> Bools:
    """Whether a worker as good as its class would be told from chance by so many responses, 39 times out of 40.

    That is, even if it agrees with the others as rarely as happens once in 40 times.
    """
    asked = against_others.sum(axis=2)
    n = np.maximum(asked.sum(axis=1), 1)
    expected = (asked * agreement).sum(axis=1)
    unlucky = expected - Z * np.sqrt(np.maximum(expected * (1 - expected / n), 0.0))
    return np.asarray((wilson(np.maximum(unlucky, 0.0), n)[0] > chance) & (asked.sum(axis=1) > 0))
