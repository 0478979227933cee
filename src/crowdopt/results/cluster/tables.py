"""The responses on a cluster in parts, and what of them comes to the driver: a sample, and the tasks of known label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data import parts as limits
from crowdopt.data.coded import Coded, Encoded, codes_of
from crowdopt.data.encode import response_texts
from crowdopt.data.known_labels import GOLD_COLUMN, NOT_GOLD, TASK_TEXT, with_text
from crowdopt.data.parts import in_sample
from crowdopt.data.responses import no_response
from crowdopt.data.tables.table import coded as by_code
from crowdopt.data.tables.table import fetch
from crowdopt.results.cluster import work
from crowdopt.results.cluster.sending import on_group
from crowdopt.results.cluster.sent import unpickled
from crowdopt.results.tasks.consensus_tasks import ConsensusTasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Bools, Ints
    from crowdopt.data.load import Source
    from crowdopt.data.tables.spark import Keeper
    from crowdopt.results.cluster.work import ClusterPart

PARTS_IN_ONE = 2
"""How many times the responses of a part elsewhere one has here: fewer parts have fewer workers in common."""

BUCKET_BYTES = 1 << 25
"""Bytes of the sums of a bucket of workers, about, if all of them met all labels."""


@dataclass(frozen=True, eq=False)
class ClusterTables:
    """The responses of a source in parts that Spark keeps.

    Attributes:
        source: The source.
        parts: A row for each part; see ``work.encode_part``.
        shares: The shares of the tasks that a sample may have, one of which is taken.
    """

    source: Source
    parts: Any
    shares: Sequence[float]

    @classmethod
    def of(cls, source: Source, keeper: Keeper) -> ClusterTables:
        """Says how the parts are made; Spark makes them when they are needed."""
        from pyspark.sql import functions as sql

        scale, n_parts = source.responses.scale, math.ceil(source.n_responses / (PARTS_IN_ONE * limits.PART))
        texts, codes = response_texts(source.responses), {label: code for code, label in enumerate(scale.labels)}
        rows = texts.select("task", "worker", by_code("label", codes, -1).alias("code")).to_native()
        rows = rows.withColumn("part", sql.pmod(sql.xxhash64("task"), sql.lit(n_parts)).cast("int"))
        shares = [limits.SAMPLE / source.n_responses]
        while shares[-1] < 1:
            shares.append(2 * shares[-1])
        encode = partial(
            work.encode_part,
            n_labels=scale.n_labels,
            gold=_gold(source),
            n_buckets=_n_buckets(source, n_parts),
            shares=shares,
        )
        return cls(source, keeper.keep(on_group(rows, "part", encode, work.PART_COLUMNS)), shares)

    @property
    def held(self) -> Any:
        """The parts alone."""
        return self.parts.select("part", "held")

    @cached_property
    def answers(self) -> Ints:
        """Responses by label."""
        counts = self.source.counts
        answers = np.einsum("b,bca->a", counts.buckets.weights, counts.buckets.counts)
        return np.asarray(answers + (counts.gold.responses.sum(axis=(0, 1)) if counts.gold else 0))

    @cached_property
    def labels_used(self) -> Bools:
        """Which labels some worker answered or some task is known to have."""
        used = self.answers > 0
        used[list(_gold(self.source).values())] = True
        return used

    def sample(self) -> Encoded:
        """The sample of the tasks; see ``EncodedParts.sample``."""
        from pyspark.sql import functions as sql

        (sizes,) = self.parts.agg(*(sql.sum(sql.col("n_sample")[at]) for at in range(len(self.shares)))).collect()
        large = (one for one, n in zip(self.shares, sizes, strict=True) if 2 * n >= limits.SAMPLE)
        share = next(large, self.shares[-1])
        picked = on_group(self.held, "part", partial(work.pick_sample, share=share), work.PICKED_COLUMNS)
        found = _joined(_parts(picked), len(self.answers))
        silent = np.array(self.silent, object)
        return found.with_known(_gold(self.source), silent[in_sample(self.silent, share)].tolist())

    @cached_property
    def silent(self) -> list[str]:
        """The tasks of known label that have no response."""
        counts = self.source.counts
        if counts.gold is None:
            return []
        silent = counts.table.filter((nw.col(GOLD_COLUMN) != NOT_GOLD) & no_response(counts.columns))
        return sorted(fetch(with_text(silent).select(TASK_TEXT))[TASK_TEXT])

    @cached_property
    def known(self) -> ConsensusTasks:
        """The tasks of known label."""
        import pyarrow as pa

        scale, n_labels = self.source.responses.scale, len(self.answers)
        parts = _parts(self.parts.where("known IS NOT NULL").selectExpr("known AS held"))
        nothing = np.zeros(0, np.int64)
        coded = Coded(nothing, nothing, nothing, nothing, 0, 1, n_labels)
        nobody = Encoded.of(coded, pa.array([], pa.string()), None).with_known(_gold(self.source), self.silent)
        found = [*(one.encoded(n_labels) for one in parts), nobody]
        tasks = (ConsensusTasks.of(one, np.eye(scale.n_labels)[one.known], scale, self.answers) for one in found)
        return ConsensusTasks.joined(tasks)

    @cached_property
    def share_proven(self) -> float:
        """See ``SourceConsensus.share_proven``."""
        from pyspark.sql import functions as sql

        if self.source.counts.gold is None:
            return 0.0
        loads = on_group(self.held, "part", partial(work.worker_loads, n_labels=len(self.answers)), work.LOAD_COLUMNS)
        of_worker = loads.groupBy("worker").agg(sql.sum("proven").alias("proven"), sql.sum("free").alias("free"))
        proven = sql.sum(sql.when(sql.col("proven") > 0, sql.col("free")).otherwise(0))
        ((some, all_),) = of_worker.agg(proven, sql.sum("free")).collect()
        return float(some / max(all_, 1))


def _parts(frame: Any) -> list[ClusterPart]:
    """Brings parts to the driver."""
    return [unpickled(one) for one in frame.toArrow()["held"].to_pylist()]


def _gold(source: Source) -> dict[str, int]:
    """The tasks of known label."""
    return {task: source.responses.scale.index(label) for task, label in source.reading.gold}


def _n_buckets(source: Source, n_parts: int) -> int:
    """Into how many buckets workers fall: the sums of one should fit into memory, from all parts."""
    n_labels, n_workers = source.responses.scale.n_labels, source.responses.n_workers
    pairs = min(source.n_responses, n_parts * n_workers)
    return min(math.ceil(pairs * n_labels * (5 * n_labels + 2) * 8 / BUCKET_BYTES), n_workers)


def _joined(parts: Sequence[ClusterPart], n_labels: int) -> Encoded:
    """The responses of some parts; they stand as if they had been coded together."""
    import pyarrow as pa

    tasks, task = codes_of(pa.chunked_array([one.coded.tasks for one in parts]))
    workers, worker = codes_of(pa.chunked_array([one.workers for one in parts]))
    starts = np.cumsum([0, *(len(one.workers) for one in parts)])
    whose = worker[np.concatenate([one.coded.worker + start for one, start in zip(parts, starts, strict=False)])]
    which = np.repeat(task, np.concatenate([one.coded.sizes for one in parts]))
    answer = np.concatenate([one.coded.answer for one in parts]).astype(np.int64)
    return Encoded.of(Coded.of(which, whose, answer, n_labels), tasks, workers)
