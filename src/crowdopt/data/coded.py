"""Responses as numbers: who answered what to which task. It needs nothing but arrays, so any process can load it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt._arrays import Ints

NOT_KNOWN = -1
"""Stands for the label of a task of which nobody knows it."""


@dataclass(frozen=True, eq=False)
class Coded:
    """Distinct (task, worker, answer), sorted, and how often each occurs: the same whatever the order of rows was.

    Attributes:
        task: Index of the task of each entry.
        worker: Index of its worker.
        answer: Index of its label.
        times: How often it occurs.
        n_tasks: Number of tasks.
        n_workers: Number of workers.
        n_labels: Number of labels.
    """

    task: Ints
    worker: Ints
    answer: Ints
    times: Ints
    n_tasks: int
    n_workers: int
    n_labels: int

    @classmethod
    def of(cls, task: Ints, worker: Ints, answer: Ints, n_labels: int) -> Coded:
        """Codes responses whose tasks, workers and answers are numbers from 0, none of them left out."""
        n_workers = int(worker.max()) + 1
        key, times = np.unique((task * n_workers + worker) * n_labels + answer, return_counts=True)
        pair, answer = np.divmod(key, n_labels)
        task, worker = np.divmod(pair, n_workers)
        return cls(task, worker, answer, times, int(task[-1]) + 1, n_workers, n_labels)

    @classmethod
    def of_sorted(cls, task: Ints, worker: Ints, answer: Ints, numbers: tuple[int, int, int]) -> Coded:
        """Codes sorted responses, given the numbers of tasks, workers and labels."""
        columns = task, worker, answer
        new = np.ones(len(task), bool)
        new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        times = np.diff(np.append(np.flatnonzero(new), len(task)))
        return cls(task[new], worker[new], answer[new], times, *numbers)

    def one_each(self) -> Coded:
        """One response of each worker to a task: the most frequent one, and none if that is not one label."""
        pair = np.cumsum(np.diff(self.task * self.n_workers + self.worker, prepend=-1) != 0) - 1
        most = np.zeros(pair.max(initial=-1) + 1, self.times.dtype)
        np.maximum.at(most, pair, self.times)
        top = self.times == most[pair]
        kept = top & (np.bincount(pair, top) == 1)[pair]
        task, worker, answer = (column[kept] for column in (self.task, self.worker, self.answer))
        return replace(self, task=task, worker=worker, answer=answer, times=np.ones(kept.sum(), np.int64))


@dataclass(frozen=True, eq=False)
class Encoded:
    """Coded responses, and what the codes stand for.

    Attributes:
        coded: The responses.
        tasks: The tasks as an Arrow array of texts in the order of their codes: those that have a response, sorted, and
            behind them those of known label that have none.
        workers: The workers, likewise.
        known: The label that each task is known to have, or NOT_KNOWN.
    """

    coded: Coded
    tasks: Any
    workers: Any
    known: Ints

    @classmethod
    def of(cls, coded: Coded, tasks: Any, workers: Any) -> Encoded:
        """Responses to tasks none of which has a known label."""
        return cls(coded, tasks, workers, np.full(coded.n_tasks, NOT_KNOWN))

    def with_known(self, gold: Mapping[str, int], silent: Sequence[str]) -> Encoded:
        """The same with known labels, by task, and with further tasks that have no response."""
        if not gold:
            return self
        import pyarrow as pa
        import pyarrow.compute as pc

        names = pa.concat_arrays([self.tasks, pa.array(silent, self.tasks.type)])
        place = pc.index_in(names, pa.array(list(gold), names.type)).fill_null(NOT_KNOWN).to_numpy(zero_copy_only=False)
        known = np.append(np.fromiter(gold.values(), np.int64, len(gold)), NOT_KNOWN)[place]  # NOT_KNOWN is the last
        return replace(self, coded=replace(self.coded, n_tasks=len(names)), tasks=names, known=known)


def codes_of(column: Any) -> tuple[Any, Ints]:
    """The distinct values of an Arrow column, sorted, and the index of each row's value among them."""
    import pyarrow.compute as pc

    coded = column.combine_chunks().dictionary_encode()
    order = pc.sort_indices(coded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return coded.dictionary.take(order), rank[coded.indices.to_numpy()]
