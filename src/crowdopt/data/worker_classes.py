"""Classes of workers that the user gives: who is in which, in a column of the data or in a table of its own.

Each class has a response matrix of its own. Where a table has them, it is a choice of reading: the pairs of worker
and class stand in the solution file, as texts, so that ``verify`` needs no second file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.tables.table import Table, adopt, distinct_rows, fetch, small_table, with_texts
from crowdopt.data.tables.texts import trimmed_columns
from crowdopt.errors import ClassError
from crowdopt.model.letters import trimmed
from crowdopt.model.scale import canonical_text, sorted_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crowdopt.data.reading import Reading

MAX_CLASSES = 32
"""More matrices than this are no classes any more; and every class has a column of counts for each label."""

WORKER_TEXT = "crowdopt_worker"
"""The column of workers as text, by which their classes are found."""

UNKNOWN = ""
"""The class of workers whose class a solution does not know. No other class is called so: an empty text is none."""


@dataclass(frozen=True)
class WorkerClass:
    """A class of workers.

    Attributes:
        name: Its name.
        n_workers: Workers in it with at least one label.
    """

    name: str
    n_workers: int


def class_pairs(table: Table) -> tuple[tuple[str, str], ...]:
    """The workers of a table (worker, class) and their classes, as sorted texts.

    Raises:
        ClassError: A worker is in two classes, or in none.
    """
    rows = fetch(with_texts(table, ["worker", "class"]).unique())
    pairs = sorted(zip(rows["worker"], rows["class"], strict=True), key=lambda pair: (pair[0] or "", pair[1] or ""))
    return checked_pairs(pairs)


def checked_pairs(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[str, str], ...]:
    """Pairs of worker and class, if each worker is there once and nothing is missing."""
    found: dict[str, str] = {}
    for worker, name in pairs:
        if not worker or not name:
            known = f" (worker {worker!r})" if worker else f" (class {name!r})" if name else ""
            raise ClassError(f"the classes have a row without a worker or a class{known}")
        if found.setdefault(worker, name) != name:
            raise ClassError(f"worker {worker!r} is in two classes, {found[worker]!r} and {name!r}")
    if not found:
        raise ClassError("the classes have no rows")
    return tuple(sorted(found.items()))


def with_trimmed_names(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Pairs of worker and class, and the same for the name of a worker without blanks around it, if that is no other.

    >>> with_trimmed_names([("ann ", "good")])
    (('ann', 'good'), ('ann ', 'good'))
    """
    known = dict(pairs)
    return tuple(sorted(({trimmed(worker): name for worker, name in known.items()} | known).items()))


def pairs_of(classes: dict[Any, Any]) -> tuple[tuple[str, str], ...]:
    """Pairs of a dict of classes by worker."""
    return checked_pairs((_text(worker), _text(name)) for worker, name in classes.items())


def _text(value: Any) -> str | None:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return None if missing else canonical_text(value)


def worker_classes(data: Any, choose: Any) -> Table:
    """A user's table of classes as (worker, class)."""
    table = adopt(data, choose)
    worker, name = table.collect_schema().names()
    return table.select(nw.col(worker).alias("worker"), nw.col(name).alias("class"))


def with_classes(table: Table, reading: Reading, *, trims: bool = False) -> Table:
    """Responses (task, worker, label) with the class of their worker as text; null where it is not known.

    With ``trims``, the blanks around a worker do not count.
    """
    if reading.class_column:
        return with_texts(table, ["class"])
    if not reading.classes:
        return table
    pairs = reading.classes if reading.verbatim else with_trimmed_names(reading.classes)
    workers, names = zip(*pairs, strict=True)
    known = small_table({WORKER_TEXT: list(workers), "class": list(names)}, like=table)
    texts = with_texts(table.with_columns(nw.col("worker").alias(WORKER_TEXT)), [WORKER_TEXT])
    if trims:
        texts = trimmed_columns(texts, [WORKER_TEXT])
    return texts.join(known, on=WORKER_TEXT, how="left").drop(WORKER_TEXT)


def with_known_classes(table: Table, known: Sequence[str]) -> Table:
    """Responses whose workers are in one of these classes, or else in the one of those whose class is not known."""
    in_one = reduce(or_, (nw.col("class") == name for name in known))
    return table.with_columns(nw.when(in_one).then(nw.col("class")).otherwise(nw.lit(UNKNOWN)).alias("class"))


def classed(reading: Reading) -> bool:
    """Whether responses have a class."""
    return bool(reading.class_column or reading.classes)


def list_classes(overview: Table, reading: Reading, known: Sequence[str] = ()) -> tuple[WorkerClass, ...]:
    """The classes of some responses, in the order of their ranks or else of their names.

    Args:
        overview: The distinct (worker, class) of responses with a label; a null class is one that is not known.
        reading: The options of reading.
        known: The classes to take, whether or not there are such workers here; behind them UNKNOWN, if there are any.
            If empty, those of the responses.

    Raises:
        ClassError: A worker is in two classes or in none, a class has no responses, or the ranks name other classes.
    """
    pairs = distinct_rows(overview.select("worker", "class"))
    names = list(known) or ordered_class_names(pairs, reading)
    _check_single(pairs)
    found = fetch(pairs.group_by("class").agg(nw.len().alias("n")))
    sizes = dict(zip(found["class"], map(int, found["n"]), strict=True))
    names += [UNKNOWN] if UNKNOWN in sizes else []
    return tuple(WorkerClass(name, sizes.get(name, 0)) for name in names)


def ordered_class_names(pairs: Table, reading: Reading, most: int = MAX_CLASSES) -> list[str]:
    """The names of the classes, in the order of their ranks or else of their names.

    Args:
        pairs: The (worker, class) of responses with a label; a null class is one that is not known.
        reading: The options of reading.
        most: The number of classes beyond which they are refused.
    """
    _check_known(pairs.filter(nw.col("class").is_null()))
    names = fetch(distinct_rows(pairs.select("class")).sort("class").head(most + 1))["class"]
    if len(names) > most:
        raise ClassError(
            f"more than {most} classes of workers, such as {', '.join(map(repr, names[:3]))}; is it the right column?"
        )
    if empty := sorted({name for _, name in reading.classes}.difference(names)):
        raise ClassError(f"the class {empty[0]!r} has no responses: leave it out, or is it a file for other workers?")
    return _ordered(names, reading.ranked)


def _check_known(unknown: Table) -> None:
    workers = fetch(unknown.select("worker").sort("worker").head(1))["worker"]
    if workers:
        number = int(fetch(unknown.select(nw.col("worker").n_unique()))["worker"][0])
        more = f" (and {number - 1} more)" if number > 1 else ""
        raise ClassError(f"worker {canonical_text(workers[0])!r}{more} has no class; name one for every worker")


def _check_single(pairs: Table) -> None:
    several = pairs.group_by("worker").agg(nw.len().alias("n")).filter(nw.col("n") > 1)
    workers = fetch(several.select("worker").sort("worker").head(1))["worker"]
    if workers:
        number = int(fetch(several.select(nw.len().alias("n")))["n"][0])
        names = sorted(fetch(pairs.filter(nw.col("worker") == workers[0]).select("class"))["class"])
        more = f" (and {number - 1} more)" if number > 1 else ""
        raise ClassError(
            f"worker {canonical_text(workers[0])!r}{more} is in {len(names)} classes: {', '.join(map(repr, names[:3]))}"
        )


def _ordered(names: Iterable[str], ranked: Sequence[str]) -> list[str]:
    """The names best first, if they are ranked; else as labels are sorted."""
    names = sorted_texts(names)
    if not ranked:
        return names
    for name in ranked:
        if name not in names:
            raise ClassError(f"--ranked names the class {name!r}, which is not one of {', '.join(names)}")
    if missing := [name for name in names if name not in ranked]:
        raise ClassError(f"--ranked must name every class, best first; it lacks {', '.join(map(repr, missing))}")
    return list(ranked)


def check_ranks(reading: Reading) -> None:
    """Raises if classes are ranked that there are not."""
    if reading.ranked and not classed(reading):
        raise ClassError("--ranked needs the classes of workers: --class COL, or --classes FILE")


def with_pairs(reading: Reading, pairs: tuple[tuple[str, str], ...]) -> Reading:
    """The reading with these classes: what names their column then means the table that they came from.

    Raises:
        ClassError: A worker is in two classes under names that differ in the blanks around them only.
    """
    if not reading.verbatim:
        pairs = tuple((worker, trimmed(name)) for worker, name in pairs)
        checked_pairs((trimmed(worker), name) for worker, name in pairs)
    return replace(reading, classes=pairs, class_column="")
