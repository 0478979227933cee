"""Finding classes of workers on Spark, where neither workers nor tasks fit into one machine.

What is global is small: the matrices of the classes and the counts of buckets are on the driver. The class of each
worker is a table on the cluster. The responses of some tasks, drawn at random and never more than a fixed number, show
what the matrices are like (softly, as elsewhere). With these, all workers and tasks are decided in turn:

1. Given classes, one GROUP BY counts the tasks by class; equal counts have one label, so labels and matrices are
   found on the driver, until nothing gains.
2. Given labels, one GROUP BY counts each worker's answers by label; each takes the class that explains them best.

All that is summed on the cluster are integers: the result does not depend on how the rows are divided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np

from crowdopt.classes.find import MOST, best_fit, check_n_classes, choose_settings
from crowdopt.classes.mixture_em import (
    FIRM,
    Fit,
    Settings,
    anchor,
    log_floored,
    log_shares,
    normalised,
    normalised_rows,
    objective_of_classes,
)
from crowdopt.data.encode import encode_responses
from crowdopt.data.responses import Responses, TaskCounts, by_task, count_tasks
from crowdopt.data.tables.table import Table, coded, fetch, settle, small_table, with_texts
from crowdopt.data.worker_classes import FOUND, WorkerClass
from crowdopt.errors import ClassError
from crowdopt.model.offsets import Offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.classes.mixture_em import Shares
    from crowdopt.data.load import Source
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.objective import Objective

MAX_CLUSTER_ROUNDS = 20
"""Rounds after which the alternation ends in any case."""

FIRST_ROUNDS = 2
"""Rounds with the matrices of the sample, before matrices are fitted to what was decided: the decisions are better."""

MAX_STEPS = 100
"""The same of labels and matrices on the driver, given classes."""

FINE = 1_000_000
"""Log-likelihoods of workers are summed in units of one of so many parts of a nat."""

SIEVE = 1 << 30
"""Tasks are drawn by their hash, modulo this."""


@dataclass(frozen=True, eq=False)
class State:
    """Classes of workers, and labels given them.

    Attributes:
        classes: One row per worker: worker and the name of its class.
        responses: The responses with the class of their worker.
        counts: Their counts by task and class.
        labels: The label of each bucket.
    """

    classes: Table
    responses: Responses
    counts: TaskCounts
    labels: Ints

    @property
    def buckets(self) -> Buckets:
        """The distinct counts."""
        return self.counts.buckets


@dataclass(frozen=True, eq=False)
class Model:
    """What stays the same while classes and labels change.

    Attributes:
        settings: What the criterion chose, or was given.
        prior: Pseudo-counts by [class, true, answered].
        shares: Shares of the labels.
    """

    settings: Settings
    prior: Floats
    shares: Floats

    @property
    def objective(self) -> Objective:
        """The likelihood that no round lowers."""
        offsets = Offsets.of(self.prior.shape[1], len(self.prior), prior=np.swapaxes(self.prior, 0, 1))
        return objective_of_classes(self.settings, self.shares, offsets)

    def value(self, state: State) -> float:
        """The likelihood of a state."""
        return self.objective.of_mapping(state.buckets, state.labels)

    def refit(self, state: State) -> Floats:
        """The best matrices for decided labels."""
        return normalised(_by_class(state) + self.prior)

    def settled(self, state: State) -> State:
        """The state with labels that no change of labels or of matrices alone makes likelier."""
        for _ in range(MAX_STEPS):
            labels = _explain(state.buckets, self.refit(state), self.shares)
            if np.array_equal(labels, state.labels):
                break
            state = replace(state, labels=labels)
        return state


@dataclass(frozen=True, eq=False)
class FoundThere:
    """Classes that were found on a cluster, from best to worst.

    Attributes:
        source: The responses, counted by class.
        model: What goes with the classes.
        labels: The label of each bucket.
    """

    source: Source
    model: Model
    labels: Ints


def find_on_cluster(
    source: Source, n_classes: int | Literal["auto"], *, shares: Shares | None, smoothing: float | None, seed: int
) -> FoundThere:
    """Finds classes of workers; see ``found_classes.find_classes`` for the arguments."""
    check_n_classes(n_classes, source.responses.n_workers)
    if source.reading.wide:
        raise ClassError("classes of so many responses are found in a long table: one row per response, not per task")
    sample = encode_responses(_sample(source, seed)).coded
    settings, _ = choose_settings(sample, n_classes, shares=shares, smoothing=smoothing, seed=seed)
    fit = best_fit(sample, settings, seed)
    state = _start(source, fit)
    model = Model(settings, anchor(_soft_counts(state.buckets, fit), settings.smoothing), fit.shares)
    state = model.settled(state)
    for _ in range(MAX_CLUSTER_ROUNDS):
        matrix = model.refit(state)
        classes = _best_classes(source.responses, state, matrix)
        further = model.settled(_counted(source, classes, matrix, model.shares))
        if model.value(further) <= model.value(state) + FIRM:
            break
        state = further
    return _best_first(source, state, model)


def _sample(source: Source, seed: int) -> Responses:
    """The responses of some tasks, drawn at random: about as many as the criterion looks at, never many more."""
    from pyspark.sql import functions as sql

    responses, hashed = source.responses, sql.col("crowdopt_hash")
    texts = with_texts(responses.table.with_columns(nw.col("task").alias("crowdopt_hash")), ["crowdopt_hash"])
    number = sql.pmod(sql.xxhash64(sql.lit(seed), hashed), sql.lit(SIEVE))
    native = texts.to_native().withColumn("crowdopt_hash", number)

    def some(part: int) -> Any:
        return native.filter(hashed < part).drop(hashed)

    first = int(SIEVE * MOST / source.totals.n_responses)
    part = find_part(first, lambda part: int(some(part).limit(2 * MOST + 1).count()))
    return replace(responses, table=nw.from_native(some(part)))


def find_part(first: int, count: Callable[[int], int]) -> int:
    """A part of the sieve that lets some rows through, but not too many.

    Args:
        first: The part to begin with.
        count: The number of rows of a part, which grows with the part; it need not be right beyond ``2 * MOST``.

    Raises:
        ClassError: There is none: the next tasks of a part without rows have too many.
    """
    empty, overfull, part = 0, SIEVE + 1, min(max(first, 1), SIEVE)
    while overfull - empty > 1:
        n_rows = count(part)
        if 0 < n_rows <= 2 * MOST:
            return part
        empty, overfull = (empty, part) if n_rows else (part, overfull)
        part = min(2 * part, SIEVE) if overfull > SIEVE else (empty + overfull) // 2
    raise ClassError(f"classes are judged by at most {2 * MOST} responses, and one task has more than these")


def _start(source: Source, fit: Fit) -> State:
    """Classes and labels by the matrices of the sample, in turns; the first labels are those of one matrix for all."""
    sizes = fit.members.sum(axis=0)
    mixed = np.einsum("k,kji->ji", sizes / sizes.sum(), fit.by_label)[None]
    alike = _explain(source.counts.buckets, mixed, fit.shares)
    state = State(source.responses.table, source.responses, source.counts, alike)
    for _ in range(1 + FIRST_ROUNDS):
        classes = _best_classes(source.responses, state, fit.by_label)
        state = _counted(source, classes, fit.by_label, fit.shares)
    return state


def _best_classes(responses: Responses, state: State, matrix: Floats) -> Table:
    """The class of each worker that explains its answers best, given the labels of tasks: worker and class.

    The responses are those without classes: with these, the plan that Spark keeps would double in every round.
    """
    from pyspark.sql import functions as sql

    scale, names = responses.scale, _names(len(matrix))
    codes = {scale.values[j]: j for j in sorted(scale.occurring)}
    answered = responses.table.filter(~nw.col("label").is_null())
    answered = answered.select("task", "worker", coded("label", codes, -1).alias("answer"))
    labels = by_task({"true": np.append(state.labels, -1)}, state.counts)
    keys = ["worker", "true", "answer"]
    cells = answered.join(labels, on="task", how="inner").select(*keys).group_by(*keys).agg(nw.len().alias("n"))
    true, answer = (at.reshape(-1) for at in np.indices(matrix.shape[1:]))
    fine = np.round(log_floored(matrix) * FINE).astype(np.int64)  # whole numbers have one sum, in any order
    scores = {f"score{k}": of_class.reshape(-1) for k, of_class in enumerate(fine)}
    explained = cells.join(
        small_table({"true": true, "answer": answer} | scores, like=cells), on=["true", "answer"], how="inner"
    )
    sums = [sql.sum(sql.col("n") * sql.col(name)).alias(name) for name in scores]
    totals = explained.to_native().groupBy("worker").agg(*sums)
    best = sql.array_max(sql.array(*scores))
    first_best = sql.coalesce(
        *(sql.when(sql.col(score) == best, sql.lit(name)) for score, name in zip(scores, names, strict=True))
    )
    return settle(nw.from_native(totals.select("worker", first_best.alias("class"))))


def _counted(source: Source, classes: Table, matrix: Floats, shares: Floats) -> State:
    """The responses counted by classes, and labels that the matrices of these explain."""
    found = fetch(classes.group_by("class").agg(nw.len().alias("n")))
    sizes = dict(zip(found["class"], map(int, found["n"]), strict=True))
    responses = replace(
        source.responses,
        table=source.responses.table.join(classes, on="worker", how="left"),
        classes=tuple(WorkerClass(name, sizes.get(name, 0)) for name in _names(len(matrix))),
    )
    counts = count_tasks(responses)
    return State(classes, responses, counts, _explain(counts.buckets, matrix, shares))


def _best_first(source: Source, state: State, model: Model) -> FoundThere:
    """The classes that have workers, in the order of how many of their responses equal the label of the task."""
    by_class, matrix = _by_class(state), model.refit(state)
    total, right = by_class.sum(axis=(1, 2)), np.einsum("kjj->k", by_class)
    order = [k for k in np.argsort(-right / np.maximum(total, 1), kind="stable") if total[k]]
    model = replace(model, prior=model.prior[order])
    reading = replace(source.reading, classes_found=True)
    if len(order) == 1:
        labels = _explain(source.counts.buckets, matrix[order], model.shares)
        return FoundThere(replace(source, responses=replace(source.responses, reading=reading)), model, labels)
    old, new = [_names(len(matrix))[k] for k in order], _names(len(order))
    renamed = state.classes.join(
        small_table({"class": old, "named": list(new)}, like=state.classes), on="class", how="inner"
    )
    classes = settle(renamed.select("worker", nw.col("named").alias("class")))
    final = _counted(source, classes, matrix[order], model.shares)
    responses = replace(final.responses, reading=replace(reading, class_column=FOUND))
    return FoundThere(
        replace(source, responses=responses, counts=final.counts, found=classes), model, model.settled(final).labels
    )


def _explain(buckets: Buckets, matrix: Floats, shares: Floats) -> Ints:
    """The label of each bucket that explains its answers best."""
    return np.asarray(_scores(buckets, matrix, shares).argmax(axis=1))


def _scores(buckets: Buckets, matrix: Floats, shares: Floats) -> Floats:
    """How well every label (column) explains the answers of every bucket (row)."""
    return np.asarray(np.einsum("bki,kji->bj", buckets.counts, log_floored(matrix)) + log_shares(shares))


def _by_class(state: State) -> Floats:
    """Responses by [class, label, answer]."""
    return np.swapaxes(state.buckets.by_label(state.labels)[0], 0, 1).astype(float)


def _soft_counts(buckets: Buckets, fit: Fit) -> Floats:
    """The same with the probabilities of the labels."""
    probabilities, _ = normalised_rows(_scores(buckets, fit.by_label, fit.shares))
    return np.asarray(np.einsum("b,bki,bj->kji", buckets.weights, buckets.counts, probabilities))


def _names(n_classes: int) -> Sequence[str]:
    """The names of classes, of one width so that their order as texts is the same."""
    return [f"{k + 1:0{len(str(n_classes))}d}" for k in range(n_classes)]
