"""Workers beside the others where labels are many: the figures of ``skill``, from the labels that tasks received.

What a task did not receive nobody agrees on, and is left out. All tables are sparse, by worker and label. As there,
they are sums over parts of whole tasks, which are looked at twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.results.workers.judged_responses import JudgedResponses
from crowdopt.results.workers.skill import Beside, Skill, repeated, share_known, skill_of, summed
from crowdopt.results.workers.statistics import Z

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class ComparedWithGiven(JudgedResponses):
    """Responses beside the probabilities of the labels that their tasks received.

    Attributes:
        sizes: How many labels the task of each response received.
        label: These labels, response by response.
        without: How probable each is without all responses of this worker to this task.
    """

    sizes: Ints
    label: Ints
    without: Floats

    def some(self, kept: Bools) -> ComparedWithGiven:
        """Some of them."""
        entries = np.repeat(kept, self.sizes)
        label, without = self.label[entries], self.without[entries]
        return ComparedWithGiven(**self.of_some(kept), sizes=self.sizes[kept], label=label, without=without)

    @cached_property
    def row(self) -> Ints:
        """The response of each label."""
        return np.repeat(np.arange(len(self.worker)), self.sizes)

    def keys(self) -> tuple[Ints, Ints]:
        """Numbers of the worker and the label of each response, and of the worker and each label of its task."""
        return self.worker * self.n_labels + self.answer, self.worker[self.row] * self.n_labels + self.label


class _Pairs:
    """Sums by worker and label, of pairs that occur: how many tasks have the answer, and what the others say."""

    def __init__(self, n_workers: int, n_labels: int) -> None:
        self.n_workers, self.n_labels = n_workers, n_labels
        self.keys, self.sums = np.zeros(0, np.int64), np.zeros((2, 0))
        self._waiting: list[tuple[Ints, Floats]] = []

    def add(self, judged: ComparedWithGiven, *, without: bool) -> None:
        """Adds the answers; and with ``without`` what the others say of all labels that their tasks received."""
        answers, labels = judged.keys()
        of_answers = np.stack([judged.weight, np.zeros(len(answers))])
        self._waiting.append((answers, of_answers))
        if without:
            said = judged.weight[judged.row] * judged.without
            self._waiting.append((labels, np.stack([np.zeros(len(labels)), said])))
        if sum(len(keys) for keys, _ in self._waiting) > len(self.keys):  # rarely, if pairs are many
            self.settle()

    def settle(self) -> None:
        """Puts together what was added, pairs in their order."""
        keys, sums = zip((self.keys, self.sums), *self._waiting, strict=True)
        self.keys, at = np.unique(np.concatenate(keys), return_inverse=True)
        every = np.concatenate(sums, axis=1)
        self.sums = np.stack([np.bincount(at.reshape(-1), one, len(self.keys)) for one in every])
        self._waiting = []

    @property
    def worker(self) -> Ints:
        """The worker of each pair."""
        return self.keys // max(self.n_labels, 1)

    def by_worker(self, values: Floats) -> Floats:
        """Sums over the pairs of each worker."""
        return np.asarray(np.bincount(self.worker, values, self.n_workers), np.float64)

    def favourites(self) -> tuple[Floats, Ints, Floats]:
        """By worker the number of tasks, the most frequent answer, and to how many tasks it was given."""
        (numbers, _), worker = self.sums, self.worker
        order = np.lexsort((self.keys, -numbers, worker))
        found, first = np.unique(worker[order], return_index=True)
        favourite, times = np.zeros(self.n_workers, np.int64), np.zeros(self.n_workers)
        favourite[found], times[found] = self.keys[order][first] % max(self.n_labels, 1), numbers[order][first]
        return self.by_worker(numbers), favourite, times


def measure_given(parts: Iterable[ComparedWithGiven]) -> Skill:
    """The statistics of workers with the given responses, parts of whole tasks; see ``skill.measure_skill``."""
    tables: list[_Pairs] = []

    def look(judged: ComparedWithGiven) -> dict[str, Any]:
        others = judged.compared()
        if not tables:
            tables.extend(_Pairs(judged.n_workers, judged.n_labels) for _ in range(2))
        tables[0].add(judged, without=False)
        tables[1].add(others, without=True)
        return judged.own_sums() | {"n_compared": others.n_responses()} | _sums_of_compared(others)

    own = summed(parts, look)
    for one in tables:
        one.settle()
    return skill_of(own, tables[0].favourites(), _beside(parts, own, tables[1]))


def _by_row(judged: ComparedWithGiven, values: Floats) -> Floats:
    """Sums over the labels of each response."""
    return np.asarray(np.bincount(judged.row, values, len(judged.worker)), np.float64)


def _probability_of(judged: ComparedWithGiven, labels: Ints) -> Floats:
    """How probable one label of each response is; zero if the task did not receive it."""
    return _by_row(judged, np.where(judged.label == labels[judged.row], judged.without, 0.0))


def _sums_of_compared(judged: ComparedWithGiven) -> dict[str, Any]:
    """What can be summed before anything is known of the workers."""
    agrees, x = _probability_of(judged, judged.answer), judged.without
    said = np.bincount(judged.answer, judged.weight * (1 - agrees), judged.n_labels)
    return {
        "agreed": judged.sums(agrees),
        "agreed variance": judged.variance(agrees),
        "squares": judged.sums(_by_row(judged, x**2)),
        "asked": judged.weight.sum() - np.bincount(judged.label, judged.weight[judged.row] * x, judged.n_labels),
        "said": np.asarray(said, np.float64),
    }


@dataclass(frozen=True, eq=False)
class _Known:
    """What all parts tell of the workers.

    Attributes:
        pairs: Workers and labels.
        mean: How probable the label is on average, without the worker (pair).
        knows: The share of tasks whose label the others know (worker).
        favourite: The most frequent answer (worker).
        orders: Numbers of answers by pair, whose agreements in any order are looked at: the worker's, and guesses.
    """

    pairs: _Pairs
    mean: Floats
    knows: Floats
    favourite: Ints
    orders: dict[str, Floats]

    def sums(self, judged: ComparedWithGiven) -> dict[str, Any]:
        """What is to be summed of responses that can be compared."""
        x, worker, pair = judged.without, judged.worker, np.searchsorted(self.pairs.keys, judged.keys()[1])
        mean, favourite = self.mean[pair], self.favourite[worker]
        likely = mean + self.knows[worker][judged.row] * (x - mean)
        wrong = 1 - _probability_of(judged, favourite)
        return {
            "spread": judged.sums(_by_row(judged, likely * x**2) - _by_row(judged, likely * x) ** 2),
            "wrong": judged.sums(wrong),
            "wrong favourite": judged.sums(wrong * (judged.answer == favourite)),
        } | {name: self._over_all_orders(judged, pair, answers) for name, answers in self.orders.items()}

    def _over_all_orders(self, judged: ComparedWithGiven, pair: Ints, answers: Floats) -> Floats:
        """The variance of agreements over all orders of answers, times n - 1; see ``skill._over_all_orders``."""
        x, given, worker = judged.without, answers[pair], judged.worker
        n = np.maximum(self.pairs.by_worker(answers), 1.0)
        away = self.pairs.by_worker(self.mean * answers)
        square = _by_row(judged, (x**2 - 2 * x * self.mean[pair]) * given)
        square += self.pairs.by_worker(self.mean**2 * answers)[worker]
        return judged.sums(square - (_by_row(judged, x * given) - away[worker]) ** 2 / n[worker])


def _beside(parts: Iterable[ComparedWithGiven], own: dict[str, Any], pairs: _Pairs) -> Beside:
    """Compares the answers to the labels without the worker; see ``skill.beside_others``."""
    n, favourite, times = pairs.favourites()
    whole, (answers, without) = np.maximum(n, 1.0), pairs.sums
    mean = without / whole[pairs.worker]
    agreed, chance = own["agreed"], pairs.by_worker(answers * mean)
    signal = own["squares"] - n * pairs.by_worker(mean**2)
    knows = share_known(agreed - chance, signal)
    orders = {"order": answers, "guesses": whole[pairs.worker] * mean}
    known = _Known(pairs, mean, knows, favourite, orders)
    found = summed(parts, lambda judged: known.sums(judged.compared()))
    deviation, guessed = (
        np.sqrt(np.maximum(found[name], 0.0) / np.maximum(np.maximum(pairs.by_worker(given), 1.0) - 1, 1.0))
        for name, given in orders.items()
    )
    return Beside(
        n=n,
        mostly=times / whole,
        agreed=agreed,
        variance=own["agreed variance"] / whole**2,
        chance=chance,
        deviation=deviation,
        typical=knows * signal - Z * np.sqrt(np.maximum(found["spread"], 0.0)),
        guessed=Z * guessed,
        repeated=repeated(found["wrong"], found["wrong favourite"], own["asked"][favourite], own["said"][favourite]),
    )
