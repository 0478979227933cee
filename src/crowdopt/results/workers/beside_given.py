"""Workers beside the others where labels are many: the figures of ``skill``, from the labels that tasks received.

What a task did not receive nobody agrees on, and is left out. All tables are sparse, by worker and label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.results.workers.judged_responses import JudgedResponses
from crowdopt.results.workers.skill import Beside, Skill, repeated, share_known, skill_of
from crowdopt.results.workers.statistics import Z

if TYPE_CHECKING:
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

    def favourites(self) -> tuple[Floats, Ints, Floats]:
        """By worker the number of tasks, the most frequent answer, and to how many tasks it was given."""
        pairs, at = np.unique(self.worker * self.n_labels + self.answer, return_inverse=True)
        worker, answer = np.divmod(pairs, self.n_labels)
        numbers = np.bincount(at.reshape(-1), self.weight, len(pairs))
        order = np.lexsort((answer, -numbers, worker))
        found, first = np.unique(worker[order], return_index=True)
        favourite, times = np.zeros(self.n_workers, np.int64), np.zeros(self.n_workers)
        favourite[found], times[found] = answer[order][first], numbers[order][first]
        return self.sums(np.ones(len(self.worker))), favourite, times


def measure_given(judged: ComparedWithGiven) -> Skill:
    """The statistics of workers with the given responses; see ``skill.measure_skill``."""
    others = judged.compared()
    own = judged.own_sums() | {"n_compared": others.n_responses()}
    return skill_of(own, judged.favourites(), _Tables(others).beside())


class _Tables:
    """Sparse tables: entries for each response and label of its task, pairs for each worker and label of its tasks."""

    def __init__(self, judged: ComparedWithGiven) -> None:
        self.judged = judged
        self.row = np.repeat(np.arange(len(judged.worker)), judged.sizes)
        self.n, self.favourite, self.times = judged.favourites()
        self.whole = np.maximum(self.n, 1.0)
        keys = judged.worker[self.row] * judged.n_labels + judged.label
        self.pairs, at = np.unique(keys, return_inverse=True)
        self.pair = at.reshape(-1)
        self.pair_worker = self.pairs // judged.n_labels
        sums = np.bincount(self.pair, judged.weight[self.row] * judged.without, len(self.pairs))
        self.mean = sums / self.whole[self.pair_worker]

    @cached_property
    def answers(self) -> Floats:
        """To how many tasks each worker gave each answer (pair)."""
        at = np.searchsorted(self.pairs, self.judged.worker * self.judged.n_labels + self.judged.answer)
        return np.asarray(np.bincount(at, self.judged.weight, len(self.pairs)), np.float64)

    def by_row(self, values: Floats) -> Floats:
        """Sums over the entries of each response."""
        return np.asarray(np.bincount(self.row, values, len(self.judged.worker)), np.float64)

    def by_worker(self, values: Floats) -> Floats:
        """Sums over the pairs of each worker."""
        return np.asarray(np.bincount(self.pair_worker, values, self.judged.n_workers), np.float64)

    def probability_of(self, labels: Ints) -> Floats:
        """How probable one label of each response is; zero if the task did not receive it."""
        mine = self.judged.label == labels[self.row]
        return np.asarray(np.bincount(self.row[mine], self.judged.without[mine], len(labels)), np.float64)

    def beside(self) -> Beside:
        """Compares the answers to the labels without the worker; see ``skill.beside_others``."""
        judged, x, mean = self.judged, self.judged.without, self.mean[self.pair]
        agrees = self.probability_of(judged.answer)
        agreed, chance = judged.sums(agrees), self.by_worker(self.answers * self.mean)
        signal = judged.sums(self.by_row(x**2)) - self.n * self.by_worker(self.mean**2)
        knows = share_known(agreed - chance, signal)
        likely = mean + knows[judged.worker][self.row] * (x - mean)
        squares = judged.sums(self.by_row(likely * x**2) - self.by_row(likely * x) ** 2)
        asked = judged.weight.sum() - np.bincount(judged.label, judged.weight[self.row] * x, judged.n_labels)
        favourite, wrong = self.favourite[judged.worker], 1 - self.probability_of(self.favourite[judged.worker])
        said = np.asarray(np.bincount(judged.answer, judged.weight * (1 - agrees), judged.n_labels), np.float64)
        return Beside(
            n=self.n,
            mostly=self.times / self.whole,
            agreed=agreed,
            variance=judged.variance(agrees) / self.whole**2,
            chance=chance,
            deviation=self._over_all_orders(self.answers),
            typical=knows * signal - Z * np.sqrt(np.maximum(squares, 0.0)),
            guessed=Z * self._over_all_orders(self.whole[self.pair_worker] * self.mean),
            repeated=repeated(
                judged.sums(wrong),
                judged.sums(wrong * (judged.answer == favourite)),
                asked[self.favourite],
                said[self.favourite],
            ),
        )

    def _over_all_orders(self, answers: Floats) -> Floats:
        """The standard deviation of the agreements over all orders of answers, whose numbers are given (pair)."""
        judged, x, given = self.judged, self.judged.without, answers[self.pair]
        n = np.maximum(self.by_worker(answers), 1.0)
        away = self.by_worker(self.mean * answers)[judged.worker]
        square = self.by_row((x**2 - 2 * x * self.mean[self.pair]) * given)
        square += self.by_worker(self.mean**2 * answers)[judged.worker]
        squares = judged.sums(square - (self.by_row(x * given) - away) ** 2 / n[judged.worker])
        return np.asarray(np.sqrt(np.maximum(squares, 0.0) / np.maximum(n - 1, 1.0)))
