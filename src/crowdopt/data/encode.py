"""Coded responses: who answered what to which task, as numbers, for what has to look at them many times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.tables.table import fetch_arrow, with_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crowdopt._arrays import Ints
    from crowdopt.data.responses import Responses
    from crowdopt.data.tables.table import Table
    from crowdopt.model.scale import Scale

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


def encode_responses(responses: Responses) -> Encoded:
    """The responses that have a label, coded, all of them in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found, labels = fetch_arrow(response_texts(responses)), responses.scale.labels
    (tasks, task), (workers, worker), (texts, answer) = (_codes(found[name]) for name in ("task", "worker", "label"))
    label = pc.index_in(texts, pa.array(labels, texts.type)).to_numpy()
    return Encoded.of(Coded.of(task, worker, label[answer].astype(np.int64), len(labels)), tasks, workers)


def response_texts(responses: Responses) -> Table:
    """The responses that have a label, as texts, which sort alike from every source."""
    rows = responses.table.filter(~nw.col("label").is_null()).select("task", "worker", "label")
    return with_texts(rows, ["task", "worker", "label"])


def encode_by_group(responses: Table, scales: Mapping[str, Scale]) -> dict[str, Encoded]:
    """The responses of every group, coded as if it were alone; all groups are fetched at once.

    Args:
        responses: Rows of group, task, worker and label; groups are texts.
        scales: The labels of each group; other groups are left out.
    """
    rows = responses.filter(~nw.col("label").is_null()).select("group", "task", "worker", "label")
    found = fetch_arrow(with_texts(rows, ["task", "worker", "label"]))
    names, codes = zip(*(_codes(found[name]) for name in ("task", "worker", "label")), strict=True)
    encoded = {}
    for name, part in parts_by_group(found["group"]):
        if name in scales:
            own = [np.unique(code[part], return_inverse=True) for code in codes]
            tasks, workers, texts = (all_.take(few) for all_, (few, _) in zip(names, own, strict=True))
            labels = np.array([scales[name].places[text] for text in texts.to_pylist()])
            task, worker, answer = (code.reshape(-1) for _, code in own)
            encoded[name] = Encoded.of(Coded.of(task, worker, labels[answer], scales[name].n_labels), tasks, workers)
    return encoded


def parts_by_group(column: Any) -> Iterator[tuple[str, Ints]]:
    """The groups of an Arrow column, sorted, and which rows are theirs."""
    groups, group = _codes(column)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.searchsorted(group, np.arange(1, len(groups)), sorter=order))
    return zip(groups.to_pylist(), parts, strict=True)


def _codes(column: Any) -> tuple[Any, Ints]:
    """The distinct values of an Arrow column, sorted, and the index of each row's value among them."""
    import pyarrow.compute as pc

    coded = column.combine_chunks().dictionary_encode()
    order = pc.sort_indices(coded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return coded.dictionary.take(order), rank[coded.indices.to_numpy()]
