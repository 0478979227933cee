"""Groups: many problems in one table, read, checked and counted together, each with labels of its own.

There is one pass over all responses for each thing to know, not one per group. What is wrong with one group is a reason
why that group has no answers; the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.counts import CountedProblem, Totals
from crowdopt.data.duplicates import KEPT, resolve_in_groups
from crowdopt.data.encode import encode_by_group
from crowdopt.data.fingerprint import digests_of_groups
from crowdopt.data.hygiene import about_tasks, look_through
from crowdopt.data.known_labels import ExportLabels, count_array
from crowdopt.data.load import OnPhase, naming, open_responses, paths_of, read_classes, unchanged
from crowdopt.data.odd_rows import NO_REPEATS, Incomplete, Repeats
from crowdopt.data.overview import NoRowsError, Overview, check_n_labels
from crowdopt.data.prepare import GROUP_VALUE, LABEL_TEXT, prepare
from crowdopt.data.readers.open_files import explain_errors
from crowdopt.data.responses import check_counted, scale_of
from crowdopt.data.tables.spark import is_spark
from crowdopt.data.tables.table import Table, fetch, settle_by, small_table, with_texts
from crowdopt.data.worker_classes import MAX_CLASSES, WorkerClass, classed, ordered_class_names
from crowdopt.errors import ClassError, InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.scale import MOST_LABELS, Scale, canonical_text, sorted_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crowdopt._arrays import Ints
    from crowdopt.data.coded import Encoded
    from crowdopt.data.overview import Overview
    from crowdopt.data.prepare import Prepared
    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.workspace import Workspace

MAX_GROUPED_CLASSES = 1_000_000
"""Classes of all groups together: where every worker is a class of its own, there are as many as workers."""


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a group before its tasks are counted."""

    scale: Scale
    classes: tuple[WorkerClass, ...]
    n_workers: int
    n_usable: int
    incomplete: Incomplete
    repeats: Repeats = NO_REPEATS


@dataclass(frozen=True, eq=False)
class GroupedSource:
    """The groups and what was counted, for as long as their solutions are in memory.

    Attributes:
        table: One row per task: group, task, and a count column for every place of a class and place on a scale.
        columns: The count columns, and for each its place in a row of counts: class * labels + label.
        shape: Numbers of classes and of labels in a row of counts: the most classes, and the longest scale.
        prepared: The responses.
        responses: One row per response of these groups.
        groups: What was counted, by group.
        failures: Why other groups have no answers.
        n_without_group: Rows that were left out as they have no group.
        original: What the user gave.
        workspace: The database that files were read with; None for frames.
        export_labels: The known labels that an export brings, if it has any.
        notes: What is odd about the rows of all groups and what was done with them; each group has notes of its own.
    """

    table: Table
    columns: dict[str, int]
    shape: tuple[int, int]
    prepared: Prepared
    responses: Table
    groups: dict[str, CountedProblem]
    failures: dict[str, str]
    n_without_group: int
    original: Any
    workspace: Workspace | None
    export_labels: ExportLabels | None = None
    notes: tuple[str, ...] = ()

    @property
    def reading(self) -> Reading:
        """How the data were read."""
        return self.prepared.reading

    @property
    def elsewhere(self) -> str:
        """Where the responses stay, if they are not to be brought here."""
        return "cluster" if is_spark(self.responses) else ""

    @property
    def n_responses(self) -> int:
        """Number of responses of all groups."""
        return sum(counted.totals.n_responses for counted in self.groups.values())

    def encoded(self) -> dict[str, Encoded]:
        """The responses of each group, coded."""
        return encode_by_group(self.responses, {group: counted.scale for group, counted in self.groups.items()})

    def rows(self, group: str) -> Ints:
        """The buckets of a group as rows of counts, and behind them the one of tasks without any response."""
        counted = self.groups[group]
        rows = np.zeros((counted.buckets.n_buckets + 1, *self.shape), np.int64)
        rows[:-1, : counted.buckets.n_classes, : counted.buckets.n_labels] = counted.buckets.counts
        return rows.reshape(len(rows), -1)


def load_groups(
    data: Any,
    reading: Reading,
    workspace: Workspace | None,
    *,
    n_bins: int = 0,
    resolved: bool = False,
    classes: Any = None,
    each: bool = False,
    on_phase: OnPhase = lambda _: None,
) -> GroupedSource:
    """Reads, checks and counts the responses of all groups; see ``source.load`` for the arguments."""
    if classes is not None:
        reading = read_classes(classes, reading, workspace)
    with unchanged(workspace), naming(data, NoRowsError), explain_errors(paths_of(data)):
        opened_data = open_responses(data, reading, workspace)
        reading = opened_data.reading
        with naming(classes, ClassError):
            prepared = prepare(opened_data.table, reading, n_bins=n_bins, resolved=resolved, trims=opened_data.trims)
            clean = look_through(prepared, named=reading.labels, each=each)
            prepared, overview = clean.prepared, _Groups(clean.overview, resolved=resolved)
            facts, failures = overview.facts()
        table, repeats, repeated = resolve_in_groups(prepared.usable(), prepared.reading)
        facts = {
            group: replace(known, repeats=repeats.get(group, NO_REPEATS))
            for group, known in facts.items()
            if group not in repeated
        }
        failures |= repeated
        if not facts:
            group, reason = min(failures.items())
            raise InputError(f"none of the {len(failures)} groups can be answered; {group!r}: {reason}")
        on_phase("counting")
        if failures:
            table = table.join(small_table({"group": list(facts)}, like=table), on="group", how="inner")
        counting = _Counting(prepared, facts)
        per_task = counting.per_task(table, workspace.folder if workspace else None)
        digests = digests_of_groups(table)
        groups = {group: replace(found, digest=digests[group]) for group, found in counting.counted(per_task).items()}
    ordered = {group: failures[group] for group in sorted_texts(failures)}
    return GroupedSource(
        table=per_task,
        columns=counting.columns,
        shape=counting.shape,
        prepared=prepared,
        responses=table,
        groups=groups,
        failures=ordered,
        n_without_group=overview.n_without_group,
        original=data,
        workspace=workspace,
        export_labels=opened_data.export_labels,
        notes=(
            *([opened_data.left_out] if opened_data.left_out else []),
            *overview.all_incomplete.notes,
            *Repeats.of_all(known.repeats for known in facts.values()).notes(reading.row),
            *clean.notes,
            *about_tasks(per_task, prepared.reading),
        ),
    )


class _Groups:
    """What an overview says of every group."""

    def __init__(self, overview: Overview, *, resolved: bool) -> None:
        self.resolved = resolved
        self.reading = overview.reading
        self.overview = overview
        self.usable = self.overview.usable.filter(~nw.col("group").is_null())
        missing = self.overview.missing()
        names = [name for name in missing.collect_schema().names() if name != "group"]
        self.missing = _by_group(missing.group_by("group").agg(nw.col(*names).sum()))
        without = self.missing.pop(None, None)
        self.n_without_group = without["rows"] if without else 0
        if self.n_without_group and (self.reading.missing == "error" or not self.missing):
            raise InputError(self._without_groups())
        if not self.missing:
            raise NoRowsError
        self.incomplete = {group: self.overview.incomplete(found) for group, found in self.missing.items()}
        self.all_incomplete = Incomplete.of_groups(
            self.incomplete.values(), self.overview.incomplete(without) if without else None
        )
        if not resolved:
            self.all_incomplete.check_few(self.reading)
        numbers = self.usable.group_by("group").agg(
            nw.col("label").n_unique().alias("n_labels"),
            nw.col("worker").n_unique().alias("n_workers"),
            nw.col("with_task").sum().alias("n_usable"),
        )
        self.numbers = _by_group(numbers)

    def _without_groups(self) -> str:
        total = self.n_without_group + sum(found["rows"] for found in self.missing.values())
        of_all = f"{self.n_without_group:,} of {total:,} {'responses' if self.reading.wide else 'rows'}"
        said = f"{of_all} have no group (column {self.reading.group!r})"
        return f"{said}; fill it in, or leave out --missing error to do without them" if self.missing else said

    @cached_property
    def class_names(self) -> list[str]:
        """All classes; none if all workers are alike."""
        return (
            ordered_class_names(self.usable.select("worker", "class").unique(), self.reading, MAX_GROUPED_CLASSES)
            if self._classed
            else []
        )

    @property
    def _classed(self) -> bool:
        return classed(self.reading)

    def facts(self) -> tuple[dict[str, Facts], dict[str, str]]:
        """What is known of every group, or else what is wrong with it."""
        facts, failures = {}, {}
        labels, sizes, twice = self._labels(), self._class_sizes(), self._in_two_classes()
        nothing = {"n_labels": 0, "n_workers": 0, "n_usable": 0}
        for group in sorted_texts(self.missing):
            numbers = self.numbers.get(group, nothing)
            try:
                incomplete = self.incomplete[group]
                incomplete.check_allowed(self.reading)
                check_n_labels(labels.get(group, ()), numbers["n_labels"])
                _check_single(twice.get(group))
                here = sizes.get(group, {})
                _check_n_classes(len(here))
                classes = tuple(WorkerClass(name, here[name]) for name in self.class_names if name in here)
                scale = scale_of(labels[group], self.reading, resolved=self.resolved)
                facts[group] = Facts(scale, classes, numbers["n_workers"], numbers["n_usable"], incomplete)
            except InputError as error:
                failures[group] = str(error)
        return facts, failures

    def _labels(self) -> dict[str, list[Any]]:
        """The labels of every group, in no particular order; of more than there may be only some."""
        distinct = self.usable.select("group", "label").unique()
        many = [group for group, numbers in self.numbers.items() if numbers["n_labels"] > MOST_LABELS]
        some = {group: fetch(distinct.filter(nw.col("group") == group).head(MOST_LABELS))["label"] for group in many}
        if many:
            distinct = distinct.join(small_table({"group": many}, like=distinct), on="group", how="anti")
        rows = fetch(distinct)
        for group, label in zip(rows["group"], rows["label"], strict=True):
            some.setdefault(group, []).append(label)
        return some

    def _class_sizes(self) -> dict[str, dict[str, int]]:
        """Workers by group and class."""
        if not self._classed:
            return {}
        workers = self.usable.select("group", "class", "worker").unique()
        rows = fetch(workers.group_by("group", "class").agg(nw.len().alias("n")))
        sizes: dict[str, dict[str, int]] = {}
        for group, name, n in zip(rows["group"], rows["class"], rows["n"], strict=True):
            sizes.setdefault(group, {})[name] = int(n)
        return sizes

    def _in_two_classes(self) -> dict[str, str]:
        """The groups in which a worker is in two classes, and what to say."""
        if not self._classed:
            return {}
        pairs = self.usable.select("group", "worker", "class").unique()
        several = pairs.group_by("group", "worker").agg(nw.len().alias("n")).filter(nw.col("n") > 1)
        rows = fetch(several.group_by("group").agg(nw.col("worker").min(), nw.len().alias("n_workers")))
        found = zip(rows["group"], rows["worker"], rows["n_workers"], strict=True)
        return {
            group: f"worker {canonical_text(worker)!r}{f' (and {n - 1} more)' if n > 1 else ''} is in several classes"
            for group, worker, n in found
        }


def _check_single(wrong: str | None) -> None:
    if wrong is not None:
        raise ClassError(wrong)


def _check_n_classes(number: int) -> None:
    if number > MAX_CLASSES:
        raise ClassError(
            f"its workers are in {number:,} classes, and there can be {MAX_CLASSES} at most; prove its rows alone, "
            "with --find-classes 8"
        )


def _by_group(table: Table) -> dict[Any, dict[str, int]]:
    """A small table of numbers as a dict by group."""
    rows = fetch(table)
    names = [name for name in rows if name != "group"]
    return {group: {name: int(rows[name][at]) for name in names} for at, group in enumerate(rows["group"])}


def _n_places(known: Facts) -> int:
    """How many places of a scale are counted apart: many labels are counted together."""
    return 1 if known.scale.has_many_labels else known.scale.n_labels


class _Counting:
    """One GROUP BY over the tasks of all groups, and one over the counts that come out.

    The count columns are places on a scale and among classes, not labels and classes: every group has its own.
    """

    def __init__(self, prepared: Prepared, facts: dict[str, Facts]) -> None:
        self.prepared, self.facts = prepared, facts
        self.classed = classed(prepared.reading)
        n_classes = max(len(known.classes) for known in facts.values())
        self.shape = (max(n_classes, 1), max(map(_n_places, facts.values())))
        self.columns = {f"c{at}": at for at in range(self.shape[0] * self.shape[1])}

    def per_task(self, table: Table, folder: Path | None) -> Table:
        """The counts of every task of the groups that can be answered."""
        table = with_texts(table.with_columns(nw.col("label").alias(LABEL_TEXT)), [LABEL_TEXT])
        table = table.join(self._codes(LABEL_TEXT, "code", table), on=["group", LABEL_TEXT], how="left")
        if self.classed:
            table = table.join(self._codes("class", "place", table), on=["group", "class"], how="left")
        native = [GROUP_VALUE] if GROUP_VALUE in table.collect_schema().names() else []
        counted = [indicator.alias(name) for name, indicator in zip(self.columns, self._indicators(), strict=True)]
        sums = [*(nw.col(name).count() for name in self.columns), *(nw.col(name).min() for name in native)]
        return settle_by(
            table.select("group", "task", *native, *counted),
            "task",
            lambda part: part.group_by("group", "task").agg(*sums),
            folder,
        )

    def _codes(self, of: str, code: str, like: Table) -> Table:
        """The places of the labels, or of the classes, of every group."""
        names = {
            group: known.scale.labels if of == LABEL_TEXT else [one.name for one in known.classes]
            for group, known in self.facts.items()
        }
        last = {group: _n_places(known) - 1 if of == LABEL_TEXT else np.inf for group, known in self.facts.items()}
        rows = [(group, text, min(j, last[group])) for group, own in names.items() for j, text in enumerate(own)]
        groups, texts, codes = zip(*rows, strict=True)
        return small_table({"group": groups, of: texts, code: np.array(codes, np.int64)}, like=like)

    def _indicators(self) -> Iterator[nw.Expr]:
        """For each place of a class and place on a scale, one where a response is theirs."""
        for k in range(self.shape[0]):
            for j in range(self.shape[1]):
                theirs = nw.col("code") == j
                if self.classed:
                    theirs &= nw.col("place") == k
                yield nw.when(theirs).then(nw.lit(1))

    def counted(self, per_task: Table) -> dict[str, CountedProblem]:
        """The problems, by group."""
        found = fetch(per_task.group_by("group", *self.columns).agg(nw.len().alias("n_tasks")))
        groups = np.array(found.pop("group"), dtype=object)
        histogram = {name: np.array(column, np.int64) for name, column in found.items()}
        counts, weights = count_array(histogram, self.columns, self.shape), histogram["n_tasks"]
        if self.prepared.reading.duplicates in KEPT:
            n_usable = sum(known.n_usable - known.repeats.again.n for known in self.facts.values())
            check_counted(int(weights @ counts.sum(axis=(1, 2))), n_usable, self.prepared.types)
        rows: dict[str, list[int]] = {}
        for at, group in enumerate(groups.tolist()):
            rows.setdefault(group, []).append(at)
        return {
            group: self._problem(known, counts[rows[group]], weights[rows[group]])
            for group, known in self.facts.items()
        }

    def _problem(self, known: Facts, counts: Ints, weights: Ints) -> CountedProblem:
        own = counts[:, : max(len(known.classes), 1), : _n_places(known)]
        buckets, _ = Buckets.from_arrays(own, weights)
        silent = int(weights[counts.sum(axis=(1, 2)) == 0].sum())
        totals = Totals(
            n_tasks=buckets.n_tasks + silent,
            n_gold=0,
            n_no_response=silent,
            n_workers=known.n_workers,
            n_responses=buckets.n_responses,
            n_dropped=known.incomplete.n,
        )
        notes = (*known.incomplete.notes, *known.repeats.notes(self.prepared.reading.row))
        return CountedProblem(known.scale, known.classes, buckets, None, totals, self.prepared.reading, notes=notes)
