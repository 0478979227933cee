"""What executors do for a consensus. Its rows are parts of whole tasks; what was learnt goes around in pickles.

A look at a part gives sums for each bucket of workers, a step for a bucket gives the parameters for each part. Nothing
here needs more than NumPy, PyArrow and Numba.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.consensus.cells import AnswerCells
from crowdopt.consensus.consensus import Judge
from crowdopt.consensus.parameters import Parameters
from crowdopt.consensus.rows import Rows
from crowdopt.consensus.vote import exact_precisions
from crowdopt.data.coded import NOT_KNOWN, Coded, Encoded, codes_of
from crowdopt.data.parts import CodedPart, in_sample, sample_places
from crowdopt.results.cluster.sent import pickled, unpickled
from crowdopt.results.tasks.consensus_tasks import ConsensusTasks, TaskSums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.consensus.learning import Learner
    from crowdopt.model.scale import Scale

PART_COLUMNS = "part int, held binary, n_sample array<bigint>, known binary"
LOOK_COLUMNS = "bucket int, part int, held binary"
LEARNT_COLUMNS = "part int, bucket int, held binary"
SUM_COLUMNS = "key binary, value double"
LOAD_COLUMNS = "worker string, proven bigint, free bigint"
PICKED_COLUMNS = "held binary"

ALL_WORKERS = -1
"""The part under which the last step gives what it has learnt of every worker, once."""


@dataclass(frozen=True, eq=False)
class ClusterPart:
    """The responses to some tasks.

    Attributes:
        coded: The responses.
        workers: Their workers as an Arrow array of texts, sorted by bucket and text.
        bucket: The bucket of each of them.
    """

    coded: CodedPart
    workers: Any
    bucket: Ints

    def encoded(self, n_labels: int) -> Encoded:
        """The responses as whoever looks at them wants them."""
        return self.coded.encoded(self.workers, n_labels)

    def taken(self, kept: Bools) -> ClusterPart:
        """Only some of the tasks, and their workers."""
        few, codes = self.coded.taken(kept).of_its_workers()
        return ClusterPart(few, self.workers.take(codes), self.bucket[codes])


def encode_part(rows: Any, *, n_labels: int, gold: Mapping[str, int], n_buckets: int, shares: Sequence[float]) -> Any:
    """Codes the rows (task, worker, code of the label) of a part; ``n_sample`` are those in a sample of some shares."""
    tasks, task = codes_of(rows["task"])
    names, worker = codes_of(rows["worker"])
    bucket = np.array([zlib.crc32(name.encode()) % n_buckets for name in names.to_pylist()], np.int64)
    order = np.argsort(bucket, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    coded = Coded.of(task, place[worker], rows["code"].to_numpy().astype(np.int64), n_labels)
    part = CodedPart.of(Encoded.of(coded, tasks, names.take(order)).with_known(gold, ()))
    held = ClusterPart(part, names.take(order), bucket[order])
    places = sample_places(tasks.to_pylist())
    n_sample = [int(part.sizes[places < share].sum()) for share in shares]
    known = part.known != NOT_KNOWN
    row = {"part": rows["part"][0].as_py(), "held": pickled(held), "n_sample": n_sample}
    return _table([row | ({"known": pickled(held.taken(known))} if known.any() else {})], PART_COLUMNS)


def pick_sample(rows: Any, *, share: float) -> Any:
    """The tasks of a part that are in the sample."""
    part = _part(rows)
    kept = in_sample(part.coded.tasks.to_pylist(), share)
    return _table([{"held": pickled(part.taken(kept))}] if kept.any() else [], PICKED_COLUMNS)


def worker_loads(rows: Any, *, n_labels: int) -> Any:
    """How many responses each worker gave to tasks of known label, and to others."""
    import pyarrow as pa

    encoded = _part(rows).encoded(n_labels)
    coded, held = encoded.coded, encoded.known[encoded.coded.task] >= 0
    proven, free = (
        np.bincount(coded.worker, coded.times * which, coded.n_workers).astype(np.int64) for which in (held, ~held)
    )
    return pa.table({"worker": encoded.workers, "proven": proven, "free": free})


@dataclass(frozen=True, eq=False)
class Looking:
    """What looks at any part, and steps for any workers, have in common.

    Attributes:
        scale: The labels.
        labels: Those that can have tasks.
        idle: Those that teach nothing where a task is known to have them.
        learners: The members of the consensus.
        population: What is known of the population, of these labels.
    """

    scale: Scale
    labels: Ints
    idle: Bools
    learners: tuple[Learner, ...]
    population: dict[str, Floats]

    def first_look(self, rows: Any, *, names: Any, start: Parameters) -> Any:
        """A look with the parameters of the workers of the sample; others are taken for average ones."""
        import pyarrow.compute as pc

        part = _part(rows)
        place = pc.index_in(part.workers, names).fill_null(-1).to_numpy()
        return self._looked(rows, part, start.aligned(place).workers)

    def look(self, rows: Any, learnt: Any) -> Any:
        """A look with what was learnt before."""
        return self._looked(rows, _part(rows), _values(learnt))

    def _looked(self, rows: Any, part: ClusterPart, values: dict[str, Floats]) -> Any:
        encoded = part.encoded(self.scale.n_labels)
        responses = Rows.of(encoded.coded, encoded.known).without_known(self.idle).with_labels(self.labels)
        cells = AnswerCells.met([responses], responses.n_workers, responses.n_labels)
        answered = (np.arange(len(cells.worker)) < cells.n_answered).astype(float)
        found: dict[str, dict[str, Floats]] = {"worker": {}, "cell": {"answered": answered}, "carried": {}}
        for learner in self.learners:
            tables = learner.begin(_exact(values)[learner.name], cells)
            sums = learner.look([responses], cells, tables)
            for name, kind in learner.rows.items():
                where = "carried" if name not in sums else "worker" if kind == "worker" else "cell"
                found[where][name] = _padded((tables | sums)[name], cells, kind)
        number = rows["part"][0].as_py()
        parts = _by_bucket(part, cells, found)
        return _table([{"bucket": b, "part": number, "held": pickled(one)} for b, one in parts], LOOK_COLUMNS)

    def learn(self, rows: Any, *, last: bool) -> Any:
        """A step for a bucket of workers: their parameters, for each part that they are in."""
        bucket = rows["bucket"][0].as_py()
        looks = [unpickled(held) for held in rows["held"].to_pylist()]
        names, worker, cells, sums = _joined(looks, len(self.labels))
        values = {}
        for learner in self.learners:
            own = {
                name: sums[name][: cells.n_answered] if kind == "answered" else sums[name]
                for name, kind in learner.rows.items()
            }
            values[learner.name] = learner.parameters(cells, learner.learn(own, cells, own))
        ends = np.cumsum([len(one["names"]) for one in looks])[:-1]
        found = [
            {"part": part, "bucket": bucket, "held": pickled({name: value[at] for name, value in values.items()})}
            for part, at in zip(rows["part"].to_pylist(), np.split(worker, ends), strict=True)
        ]
        if last:
            found.append({"part": ALL_WORKERS, "bucket": bucket, "held": pickled((names, values))})
        return _table(found, LEARNT_COLUMNS)

    def parameters(self, values: dict[str, Floats]) -> Parameters:
        """Parameters of all labels, given those of some workers."""
        return Parameters(self.population, values).with_all_labels(self.labels, self.scale.n_labels)


@dataclass(frozen=True, eq=False)
class Judging:
    """The last look: what a part's tasks add up to, or the answers to them.

    Attributes:
        looking: What looks have in common.
        answers: Responses by label, to all tasks.
    """

    looking: Looking
    answers: Ints

    def tasks(self, rows: Any, learnt: Any) -> ConsensusTasks:
        """The tasks of a part, judged."""
        scale = self.looking.scale
        encoded = _part(rows).encoded(scale.n_labels)
        judge = Judge(self.looking.parameters(_exact(_values(learnt))))
        probabilities = judge.probabilities(Rows.of(encoded.coded, encoded.known))
        return ConsensusTasks.of(encoded, probabilities, scale, self.answers)

    def sums(self, rows: Any, learnt: Any) -> Any:
        """What they add up to."""
        import pyarrow as pa

        found = TaskSums.of(self.tasks(rows, learnt)).by_key()
        return pa.table({"key": pa.array(list(found), pa.binary()), "value": list(found.values())})

    def answered(self, rows: Any, learnt: Any) -> Any:
        """The answers, the columns of :func:`answer_columns`."""
        return answer_columns(self.tasks(rows, learnt))

    def placed(self, rows: Any, learnt: Any) -> Any:
        """Their labels, how confident these are, and how the votes share each label's rightness."""
        import pyarrow as pa

        tasks = self.tasks(rows, learnt)
        tasks = tasks.taken(tasks.free)
        top = tasks.votes == tasks.votes.max(axis=1, keepdims=True)
        confidence = tasks.labelled.confidence
        columns = {"crowdopt_task": tasks.names, "row": tasks.labels, "confidence": confidence}
        return pa.table(columns | {"vote": list(top / top.sum(axis=1, keepdims=True))})


def answer_columns(tasks: ConsensusTasks) -> Any:
    """Task, the code of its label, what answers say beside it, and the probability of every label, by its code."""
    import pyarrow as pa

    columns = tasks.columns(probabilities=False) | {"label": tasks.labels}
    more = {f"p{code}": tasks.probabilities[:, code] for code in range(tasks.scale.n_labels)}
    return pa.table({"crowdopt_task": tasks.names} | {name: pa.array(one) for name, one in (columns | more).items()})


def _part(rows: Any) -> ClusterPart:
    part: ClusterPart = unpickled(rows["held"][0].as_py())
    return part


def _table(rows: list[dict[str, Any]], columns: str) -> Any:
    """An Arrow table of rows with columns of Spark."""
    import pyarrow as pa

    kinds = {"int": pa.int32(), "binary": pa.binary(), "array<bigint>": pa.list_(pa.int64())}
    types = [(name, kinds[kind]) for name, kind in (one.split() for one in columns.split(", "))]
    return pa.Table.from_pylist(rows, pa.schema(types))


def _values(learnt: Any) -> dict[str, Floats]:
    """The parameters of the workers of a part, in their order: by bucket."""
    held = learnt.sort_by("bucket")["held"].to_pylist()
    parts = [unpickled(one) for one in held]
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def _exact(values: dict[str, Floats]) -> dict[str, Floats]:
    return values | {"vote_precision": exact_precisions(values["vote_precision"])}


def _padded(values: Floats, cells: AnswerCells, kind: str) -> Floats:
    """Values by answered cell as values by cell."""
    if kind != "answered":
        return values
    padded = np.zeros((len(cells.worker), *values.shape[1:]))
    padded[: cells.n_answered] = values
    return padded


def _by_bucket(part: ClusterPart, cells: AnswerCells, found: dict[str, dict[str, Floats]]) -> list[tuple[int, Any]]:
    """What was found, for each bucket of workers."""
    order = np.argsort(cells.worker, kind="stable")
    buckets, first = np.unique(part.bucket, return_index=True)
    ends = np.append(first[1:], len(part.bucket))
    cell_ends = np.searchsorted(cells.worker[order], np.stack([first, ends], axis=1))
    return [
        (
            int(bucket),
            {
                "names": part.workers[low:high],
                "worker": cells.worker[order[start:end]] - low,
                "label": cells.label[order[start:end]],
                "by_worker": {name: values[low:high] for name, values in found["worker"].items()},
                "by_cell": {name: values[order[start:end]] for name, values in found["cell"].items()},
                "carried": {name: values[order[start:end]] for name, values in found["carried"].items()},
            },
        )
        for bucket, low, high, (start, end) in zip(buckets, first.tolist(), ends.tolist(), cell_ends, strict=True)
    ]


def _joined(looks: list[dict[str, Any]], n_labels: int) -> tuple[Any, Ints, AnswerCells, dict[str, Floats]]:
    """The workers of some looks, the number of each that a look had, their cells, and what the looks add up to."""
    import pyarrow as pa

    names, worker = codes_of(pa.chunked_array([one["names"] for one in looks]))
    starts = np.cumsum([0, *(len(one["names"]) for one in looks)])
    whose = worker[np.concatenate([one["worker"] + start for one, start in zip(looks, starts, strict=False)])]
    cell = whose * n_labels + np.concatenate([one["label"] for one in looks])
    met, first = np.unique(cell, return_index=True)
    sums = {name: _summed(looks, "by_worker", name, worker) for name in looks[0]["by_worker"]}
    by_cell = {name: _summed(looks, "by_cell", name, cell) for name in looks[0]["by_cell"]}
    for name in looks[0]["carried"]:  # which are the same in all looks
        by_cell[name] = np.concatenate([one["carried"][name] for one in looks])[first]
    there = np.zeros((2, len(names) * n_labels), bool)
    there[0, met], there[1, met] = by_cell.pop("answered") > 0, True
    cells = AnswerCells.of(*there.reshape(2, -1, n_labels))
    order = np.argsort(cells.index[met // n_labels, met % n_labels])
    return names, worker, cells, sums | {name: values[order] for name, values in by_cell.items()}


def _summed(looks: list[dict[str, Any]], which: str, name: str, key: Ints) -> Floats:
    """Sums by key, sorted by it."""
    values, order = np.concatenate([one[which][name] for one in looks]), np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))
