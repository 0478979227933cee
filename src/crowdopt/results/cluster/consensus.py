"""The consensus of responses on a cluster: what is done where.

The driver fits the population to a sample of the tasks, as everywhere. The executors hold the responses in parts of
whole tasks, look at all of them, and label all tasks. What comes to the driver are the sample, the tasks of known
label, and sums; it does not grow with tasks, workers or responses, but for some bytes for each part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.consensus.consensus import MATRIX_FITS, fit_members, labels_to_fit
from crowdopt.consensus.learning import PASSES
from crowdopt.consensus.parameters import Parameters
from crowdopt.consensus.rows import Rows
from crowdopt.consensus.teaching import crossed_labels, idle_labels
from crowdopt.consensus.work import LOOKS, ROUNDS, Work
from crowdopt.data.known_labels import TASK_TEXT, with_text
from crowdopt.data.tables.spark import Keeper
from crowdopt.results.answers import PREDICTED_COLUMNS, joined_table
from crowdopt.results.cluster import work
from crowdopt.results.cluster.sending import explaining, on_both, on_group
from crowdopt.results.cluster.sent import unpickled
from crowdopt.results.cluster.tables import ClusterTables
from crowdopt.results.labelling import numeric_scores
from crowdopt.results.source_consensus import tasks_again
from crowdopt.results.tasks.consensus_tasks import NOBODY, SURE, ConsensusTasks, TaskSums

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.consensus.work import OnShare
    from crowdopt.data.load import Source
    from crowdopt.data.tables.table import Table
    from crowdopt.model.scale import Scale
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.source_consensus import SourceConsensus
    from crowdopt.results.tasks.consensus_tasks import AnyTasks


@dataclass(frozen=True, eq=False)
class LearntThere:
    """What was learnt, on the cluster: the parameters of workers come to the driver once somebody asks for them.

    Attributes:
        looking: What is known of the population.
        frame: The parameters of workers; see ``work.Looking.learn``.
    """

    looking: work.Looking
    frame: Any

    @cached_property
    def _found(self) -> tuple[tuple[str, ...], Parameters]:
        with explaining():
            held = self.frame.where(f"part = {work.ALL_WORKERS}").select("held").toArrow()["held"].to_pylist()
        names, values = zip(*(unpickled(one) for one in held), strict=True)
        listed = [name for some in names for name in some.to_pylist()]
        order = sorted(range(len(listed)), key=listed.__getitem__)
        arrays = {name: np.concatenate([one[name] for one in values])[order] for name in values[0]}
        return tuple(listed[at] for at in order), self.looking.parameters(arrays)

    @property
    def parameters(self) -> Parameters:
        """Of the population, and of every worker."""
        return self._found[1]

    @property
    def worker_names(self) -> tuple[str, ...]:
        """The workers as texts, in the order of the parameters."""
        return self._found[0]


@dataclass(frozen=True, eq=False)
class ClusterConsensus:
    """The tasks of a source on a cluster, labelled there; it is to them what ``SourceConsensus`` is to others.

    Attributes:
        tables: The responses.
        learnt: What was learnt.
        sums: What all tasks add up to.
        share_proven: See ``SourceConsensus.share_proven``.
        of_known_label: The tasks of known label.
    """

    tables: ClusterTables
    learnt: LearntThere
    sums: TaskSums
    share_proven: float
    of_known_label: ConsensusTasks

    @classmethod
    def of(cls, source: Source, shares: Floats | None = None, on_share: OnShare | None = None) -> ClusterConsensus:
        """Learns from the responses; see ``find_consensus``. If that fails, Spark keeps nothing."""
        with Keeper() as keeper, explaining():
            tables = ClusterTables.of(source, keeper)
            learnt = _learnt(tables, shares, on_share or (lambda _: None), keeper)
            sums = _sums(tables, learnt)
            (on_share or (lambda _: None))(1.0)
            return cls(tables, learnt, sums, tables.share_proven, tables.known)

    @property
    def source(self) -> Source:
        """Where the responses are."""
        return self.tables.source

    @property
    def scale(self) -> Scale:
        """The labels."""
        return self.source.responses.scale

    @cached_property
    def here(self) -> SourceConsensus:
        """The same on the driver, which brings all responses there."""
        return tasks_again(self.learnt, self.source)

    @property
    def whole(self) -> AnyTasks:
        """All tasks at once, on the driver."""
        return self.here.whole

    def answer_table(self, source: Source, *, probabilities: bool = False) -> Table:
        """The answers of all tasks, sorted by task; they stay on the cluster, and keep what they are made of."""
        numbers = ["mean"] if numeric_scores(self.scale) is not None else []
        numbers += [f"p{code}" for code in range(self.scale.n_labels)]
        first = f"{TASK_TEXT} string, label bigint, confidence double, n_responses bigint, status string"
        schema = ", ".join([first, *(f"{name} double" for name in numbers)])
        answered = _judged(self.tables, self.learnt, "answered", schema)
        silent = self.of_known_label.taken(self.of_known_label.votes.sum(axis=1) == 0)
        if len(silent.names):
            more = work.answer_columns(silent)
            answered = answered.unionByName(answered.sparkSession.createDataFrame(more))
        table = joined_table(
            nw.from_native(self._named(answered, probabilities=probabilities)),
            NOBODY, source.responses, source.counts, PREDICTED_COLUMNS,
        )  # fmt: skip
        table.to_native().crowdopt_consensus = self
        return table

    def _named(self, answered: Any, *, probabilities: bool) -> Any:
        """Answers with labels in the place of their codes."""
        from pyspark.sql import functions as sql

        values = sql.array(*(sql.lit(value) for value in self.scale.values))
        named = {f"p{code}": f"p_{label}" for code, label in enumerate(self.scale.labels)}
        plain = [name for name in answered.columns if name not in {"label", *named}]
        found = [sql.col(code).alias(name) for code, name in named.items()] if probabilities else []
        return answered.select(*plain, values[sql.col("label").cast("int")].alias("label"), *found)

    def placed(self, source: Source) -> tuple[Table, Ints]:
        """The tasks with the code of their label as their row, and what :meth:`scored` needs of each."""
        columns = f"{TASK_TEXT} string, row bigint, confidence double, vote array<double>"
        known: Table = nw.from_native(_judged(self.tables, self.learnt, "placed", columns))
        joined = with_text(source.counts.table.select("task")).join(known, on=TASK_TEXT, how="inner")
        return joined.drop(TASK_TEXT), np.arange(self.scale.n_labels)

    def scored(self, accuracy: Accuracy, known: Table, placed: Table) -> Accuracy:
        """The accuracy with the log-loss of the confidences, and that of majority vote beside it."""
        from pyspark.sql import functions as sql

        both = known.join(placed, on="task", how="inner").to_native()
        sure = sql.least(sql.greatest("confidence", sql.lit(SURE)), sql.lit(1 - SURE))
        loss = sql.when(sql.col("true") == sql.col("row"), sql.log(sure)).otherwise(sql.log1p(-sure))
        vote = sql.when(sql.col("true") >= 0, sql.col("vote")[sql.col("true").cast("int")]).otherwise(0.0)
        with explaining():
            ((loss_sum, vote_sum),) = both.agg(sql.sum(loss), sql.sum(vote)).collect()
        n_tasks = accuracy.n_tasks
        return replace(accuracy, compared=None, log_loss=-loss_sum / n_tasks, vote=vote_sum / n_tasks)


def _learnt(tables: ClusterTables, shares: Floats | None, on_share: OnShare, keeper: Keeper) -> LearntThere:
    """Fits the members to the sample, and lets the executors look at all responses."""
    sample, known = tables.sample(), tables.known
    idle = idle_labels(crossed_labels(known.votes, known.known))
    labels = labels_to_fit(tables.labels_used, shares)
    rows = Rows.of(sample.coded, sample.known).without_known(idle).with_labels(labels)
    fits, looks = ROUNDS * len(rows.worker), LOOKS * tables.source.n_responses
    members = Work(len(rows.worker), 0, lambda share: on_share(share * fits / (fits + looks)), tuple(MATRIX_FITS))
    fitted = [one for _, one in fit_members(rows, shares, members)]
    start = Parameters({}, {})
    for one in fitted:
        start = start.joined(one.parameters)
    learners = tuple(one.learner for one in fitted)
    looking = work.Looking(tables.source.responses.scale, labels, idle, learners, start.population)
    look = partial(looking.first_look, names=sample.workers, start=start)
    frame = on_group(tables.held, "part", look, work.LOOK_COLUMNS)
    for n_done in range(1, PASSES + 1):
        step = partial(looking.learn, last=n_done == PASSES)
        found = keeper.keep(on_group(frame, "bucket", step, work.LEARNT_COLUMNS))
        found.count()
        learnt = found  # the one before is not needed any more, and forgotten with its object
        on_share((fits + looks * n_done / (PASSES + 1)) / (fits + looks))
        frame = on_both(tables.held, learnt, "part", looking.look, work.LOOK_COLUMNS)
    return LearntThere(looking, learnt)


def _judged(tables: ClusterTables, learnt: LearntThere, method: str, columns: str) -> Any:
    """A table that a method of ``work.Judging`` makes of every part."""
    judging = work.Judging(learnt.looking, tables.answers)
    of_parts = learnt.frame.where(f"part <> {work.ALL_WORKERS}")
    return on_both(tables.held, of_parts, "part", getattr(judging, method), columns)


def _sums(tables: ClusterTables, learnt: LearntThere) -> TaskSums:
    """What all tasks add up to, by one more look at the responses."""
    from pyspark.sql import functions as sql

    found = _judged(tables, learnt, "sums", work.SUM_COLUMNS).groupBy("key").agg(sql.sum("value").alias("value"))
    columns = found.toArrow().to_pydict()
    return TaskSums.from_keys(dict(zip(columns["key"], columns["value"], strict=True)), len(tables.answers))
