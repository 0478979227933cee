"""Coded responses in parts of whole tasks: what is held of data of any size once they are read.

Few responses are one part. Many are held in parts of about the same size, on disk if there is a folder for them, and
whoever looks at them takes one part after the other. What describes the crowd as a whole is learnt from a sample of the
tasks: it is chosen by a hash of the task's text, so it is the same wherever the data are.
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import md5
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.coded import NOT_KNOWN, Coded, Encoded
from crowdopt.errors import CrowdoptError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.data.responses import Responses

SAMPLE = 1 << 19
"""Responses of the sample; no more than that are one part."""

PART = 1 << 16
"""Responses of a part, where there are several."""

IN_MEMORY = 1 << 22
"""Responses from which on parts are held on disk, if there is a folder for them."""


@dataclass(frozen=True, eq=False)
class CodedPart:
    """The responses to some tasks, in few bytes; sorted by task, worker and answer.

    Attributes:
        tasks: The tasks as an Arrow array of texts.
        sizes: Number of responses to each task.
        known: The label that each task is known to have, or NOT_KNOWN.
        worker: Worker of each response.
        answer: Label of each response.
    """

    tasks: Any
    sizes: Ints
    known: Ints
    worker: Ints
    answer: Ints

    @classmethod
    def of(cls, encoded: Encoded) -> CodedPart:
        """The same responses in fewer bytes."""
        coded = encoded.coded
        sizes = np.bincount(coded.task, coded.times, coded.n_tasks)
        worker, answer = (np.repeat(column, coded.times) for column in (coded.worker, coded.answer))
        return cls(encoded.tasks, *_small(sizes, encoded.known, worker, answer))

    @classmethod
    def of_rows(cls, rows: Any) -> CodedPart:
        """The part of sorted rows (task, worker, answer), an Arrow table."""
        import pyarrow.compute as pc

        runs = pc.run_end_encode(rows["task"].combine_chunks())
        sizes = np.diff(runs.run_ends.to_numpy(), prepend=0)
        known = np.full(len(sizes), NOT_KNOWN)
        return cls(runs.values, *_small(sizes, known, rows["worker"].to_numpy(), rows["label"].to_numpy()))

    def encoded(self, workers: Any, n_labels: int) -> Encoded:
        """The responses as whoever looks at them wants them."""
        task = np.repeat(np.arange(len(self.sizes)), self.sizes)
        coded = Coded.of_sorted(task, self.worker, self.answer, (len(self.sizes), len(workers), n_labels))
        return Encoded(coded, self.tasks, workers, self.known.astype(np.int64))

    def taken(self, kept: Bools) -> CodedPart:
        """Only some of the tasks."""
        import pyarrow as pa

        rows = np.repeat(kept, self.sizes)
        tasks = self.tasks.filter(pa.array(kept))
        return CodedPart(tasks, self.sizes[kept], self.known[kept], self.worker[rows], self.answer[rows])

    def of_its_workers(self) -> tuple[CodedPart, Ints]:
        """The same for those who number only the workers that are in it, and the numbers that these have here."""
        codes, worker = np.unique(self.worker, return_inverse=True)
        return CodedPart(self.tasks, self.sizes, self.known, worker.astype(np.int32), self.answer), codes

    def write(self, path: Path) -> None:
        """Writes it to a file."""
        import pyarrow as pa

        with _explained(), pa.OSFile(str(path), "wb") as file:
            for columns in self._tables():
                table = pa.table(columns)
                with pa.ipc.new_stream(file, table.schema) as stream:
                    stream.write_table(table)

    def _tables(self) -> tuple[dict[str, Any], dict[str, Any]]:
        by_task = {"tasks": self.tasks, "sizes": self.sizes, "known": self.known}
        return by_task, {"worker": self.worker, "answer": self.answer}

    @classmethod
    def read(cls, path: Path) -> CodedPart:
        """The inverse of :meth:`write`."""
        import pyarrow as pa

        columns: dict[str, Any] = {}
        with _explained(), pa.OSFile(str(path), "rb") as file:
            for _ in range(2):
                table = pa.ipc.open_stream(file).read_all()
                columns |= {name: table[name].combine_chunks() for name in table.column_names}
        return cls(columns.pop("tasks"), **{name: column.to_numpy() for name, column in columns.items()})


@contextmanager
def _explained() -> Iterator[None]:
    """Says in one line what is wrong with a file of ours."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        from crowdopt.data.readers.files import DISK_FULL

        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        reason = getattr(error, "strerror", None) or str(error)
        gone = f"temporary files cannot be used: {' '.join(reason.split())}; has someone removed or changed them?"
        raise CrowdoptError(DISK_FULL if full else gone) from error


def _small(sizes: Ints, known: Ints, worker: Ints, answer: Ints) -> tuple[Ints, ...]:
    columns = ((sizes, np.int32), (known, np.int16), (worker, np.int32), (answer, np.int16))
    return tuple(column.astype(kind) for column, kind in columns)


@dataclass(frozen=True, eq=False)
class EncodedParts:
    """All coded responses; every iteration gives the same parts, made anew if there are several.

    Attributes:
        workers: The workers as an Arrow array of texts in the order of their codes: sorted.
        n_labels: Number of labels.
        held: The parts, or the files that have them.
    """

    workers: Any
    n_labels: int
    held: Sequence[Encoded | CodedPart | Path]

    @classmethod
    def of(cls, encoded: Encoded) -> EncodedParts:
        """The parts of responses that are in memory."""
        few = encoded.coded.times.sum() <= SAMPLE
        parts = [encoded] if few else list(_evenly([CodedPart.of(encoded)]))
        return cls(encoded.workers, encoded.coded.n_labels, parts)

    def __iter__(self) -> Iterator[Encoded]:
        return (self._encoded(one) for one in self.held)

    def _encoded(self, held: Encoded | CodedPart | Path) -> Encoded:
        return held if isinstance(held, Encoded) else _part(held).encoded(self.workers, self.n_labels)

    @property
    def whole(self) -> Encoded:
        """All responses at once."""
        return (
            self._encoded(self.held[0]) if self.is_one else _joined(self._parts()).encoded(self.workers, self.n_labels)
        )

    @property
    def is_one(self) -> bool:
        """Whether they are few enough for one part."""
        return self.n_responses <= SAMPLE

    def _parts(self) -> Iterator[CodedPart]:
        return (CodedPart.of(one) if isinstance(one, Encoded) else _part(one) for one in self.held)

    @cached_property
    def answers(self) -> Ints:
        """Responses by label."""
        return np.asarray(sum(np.bincount(one.answer, minlength=self.n_labels) for one in self._parts()))

    @property
    def n_responses(self) -> int:
        """Number of responses."""
        return int(self.answers.sum())

    @cached_property
    def has_known(self) -> bool:
        """Whether the label of some task is known."""
        return any((one.known != NOT_KNOWN).any() for one in self._parts())

    @cached_property
    def labels_used(self) -> Bools:
        """Which labels some worker answered or some task is known to have."""
        used = self.answers > 0
        for one in self._parts():
            used[one.known[one.known != NOT_KNOWN]] = True
        return used

    def sample(self) -> tuple[Encoded, Ints]:
        """The sample, with the workers who answered its tasks, and of each worker here the place there, or -1."""
        share = 0.0
        while share < 1:
            share = 2 * share or SAMPLE / self.n_responses
            part = _joined(one.taken(in_sample(one.tasks.to_pylist(), share)) for one in self._parts())
            if 2 * len(part.answer) >= SAMPLE:  # few tasks of many responses may all be left out
                break
        few, codes = part.of_its_workers()
        place = np.full(len(self.workers), -1)
        place[codes] = np.arange(len(codes))
        return few.encoded(self.workers.take(codes), self.n_labels), place


def _part(held: CodedPart | Path) -> CodedPart:
    return held if isinstance(held, CodedPart) else CodedPart.read(held)


def _joined(parts: Iterable[CodedPart]) -> CodedPart:
    import pyarrow as pa

    tasks, *columns = zip(*(vars(part).values() for part in parts), strict=True)
    return CodedPart(pa.concat_arrays(tasks), *map(np.concatenate, columns))


def in_sample(tasks: Iterable[str], share: float) -> Bools:
    """Which tasks are in the sample: those whose MD5 begins with a small number.

    >>> in_sample(["t1", "t2", "t3", "t4"], 0.5).tolist()
    [False, True, True, True]
    """
    return sample_places(tasks) < share


def sample_places(tasks: Iterable[str]) -> Floats:
    """Where tasks stand among all that there could be: a task is in the sample of every share above that."""
    first = [int.from_bytes(md5(task.encode(), usedforsecurity=False).digest()[:4], "big") for task in tasks]
    return np.array(first, float) / 2**32


def encode_parts(
    responses: Responses, n_responses: int, gold: Mapping[str, int], silent: Sequence[str], folder: Path | None = None
) -> EncodedParts:
    """The responses that have a label, coded.

    Args:
        responses: The responses.
        n_responses: How many there are.
        gold: The tasks of known label, and the index of it.
        silent: Those of them that nobody answered; they stand behind the others.
        folder: Where parts may be held.
    """
    from crowdopt.data.encode import encode_responses, response_texts  # parts alone are known without tables
    from crowdopt.data.tables.table import coded_stream

    n_labels = responses.scale.n_labels
    found = None if n_responses <= SAMPLE else coded_stream(response_texts(responses), responses.scale.labels)
    if found is None:
        return EncodedParts.of(encode_responses(responses).with_known(gold, silent))
    workers, batches = found
    parts = _with_known(_evenly(map(CodedPart.of_rows, _by_task(batches))), gold, silent)
    on_disk = folder is not None and n_responses > IN_MEMORY
    return EncodedParts(workers, n_labels, list(_written(parts, folder) if on_disk and folder else parts))


def _by_task(batches: Iterable[Any]) -> Iterator[Any]:
    """Sorted rows in tables of whole tasks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    left: list[Any] = []
    for batch in batches:
        left.append(batch)
        if sum(map(len, left)) >= PART:
            table = pa.Table.from_batches(left)
            end = pc.index(table["task"], table["task"][-1]).as_py()  # where the last task begins
            if end:
                yield table[:end]
            left = table[end:].to_batches()
    if left:
        yield pa.Table.from_batches(left)


def _with_known(parts: Iterable[CodedPart], gold: Mapping[str, int], silent: Sequence[str]) -> Iterator[CodedPart]:
    """The parts with the labels that are known, and one more for tasks that nobody answered."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not gold:
        yield from parts
        return
    tasks, labels = pa.array(list(gold), pa.string()), np.append(list(gold.values()), NOT_KNOWN).astype(np.int16)
    none = pa.array(sorted(silent), pa.string())
    empty = CodedPart(
        none, *_small(np.zeros(len(none), np.int64), np.full(len(none), NOT_KNOWN), *2 * [np.zeros(0, np.int64)])
    )
    for part in (*parts, *([empty] if len(none) else [])):
        place = pc.index_in(part.tasks, tasks).fill_null(len(tasks)).to_numpy()
        yield CodedPart(part.tasks, part.sizes, labels[place], part.worker, part.answer)


def _evenly(parts: Iterable[CodedPart]) -> Iterator[CodedPart]:
    """The same tasks in parts that end with every PART-th response, or soon after: wherever they were cut before."""
    begun: list[CodedPart] = []
    n_before = number = 0
    for part in parts:
        ends = n_before + np.cumsum(part.sizes)
        n_before = int(ends[-1])
        numbers = (ends - 1) // PART
        for one in np.unique(numbers):
            if begun and one != number:
                yield _joined(begun)
                begun = []
            number = one
            begun.append(part.taken(numbers == one))
    yield _joined(begun)


def _written(parts: Iterable[CodedPart], folder: Path) -> Iterator[Path]:
    with _explained():
        folder = Path(mkdtemp(dir=folder))  # others may still look at their parts of the same responses
    for number, part in enumerate(parts):
        path = folder / f"part-{number}.arrow"
        part.write(path)
        yield path
