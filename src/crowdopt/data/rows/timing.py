"""When workers gave their responses, and how long these took: for who manages them, never for labels.

Beside the labels and apart from all that finds them, one GROUP BY over the rows, of which a row per worker comes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.tables.spark import is_spark
from crowdopt.data.tables.table import fetch, held_as, in_database, with_numbers, with_texts
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading
    from crowdopt.data.tables.table import Table

ZONES = {"PST": -8, "PDT": -7, "UTC": 0, "GMT": 0}
"""The zones that are known by name, and their hours: those of Mechanical Turk, and Greenwich."""

FORMATS = (
    *(f"%a %b %d %H:%M:%S {zone} %Y" for zone in ZONES),  # Mechanical Turk
    "%m/%d/%Y %H:%M:%S",  # Figure Eight, Appen: the month first
    "%m/%d/%Y %H:%M",
)
"""How times are written that are not written as ISO 8601 wants them."""

LEAST_EPOCH = 1e8
"""A number from here on counts the seconds since 1970, of which this many had passed in 1973."""

LEAST_MILLISECONDS = 1e11
"""A number from here on counts milliseconds."""

OFFSET = "[0-9] ?([+-])([0-9]{2}):?([0-9]{2})?$"
"""How much earlier it is in Greenwich, behind a time of day."""


MOST_HOURS = 14
"""No place on earth is further from Greenwich."""


@dataclass(frozen=True)
class Timing:
    """The workers, and what is known of each, all as columns of one length.

    Attributes:
        workers: The workers, as texts.
        columns: What the table of workers has of them, by name; None where nothing is known.
    """

    workers: Sequence[str]
    columns: dict[str, Sequence[Any]]


def timing_rows(table: Table, reading: Reading) -> Table | None:
    """Of an adopted table what is to be known here: worker, task, label, and time or seconds; None if nothing is."""
    names = {"task": reading.task, "worker": reading.worker, "label": reading.label}
    further = {name: getattr(reading, name) for name in ("time", "seconds") if getattr(reading, name)}
    if not further:
        return None
    if is_spark(table):
        raise InputError("--time and --seconds are not read from Spark: leave them out")
    return table.select(*(nw.col(held_as(table, old)).alias(new) for new, old in (names | further).items()))


def timing_of(rows: Table) -> Timing:
    """Timing of workers, by rows of responses that are complete.

    Raises:
        InputError: A time is none, or a number of seconds.
    """
    names = rows.collect_schema().names()
    if "seconds" in names:
        rows = with_numbers(rows, "seconds", "n_seconds")
    table = with_texts(rows, [name for name in ("worker", "time", "seconds") if name in names])
    with in_database(table) as there:
        found = fetch(nw.from_native(there.to_native().query("crowdopt_timing", _query(names))))
    columns: dict[str, Sequence[Any]] = dict(found)
    for name in ("time", "seconds"):
        if name in names:
            _check(name, columns.pop(f"wrong_{name}"), columns.pop(f"example_{name}"))
    return Timing(columns.pop("worker"), columns)


def _query(names: Sequence[str]) -> str:
    """The SQL for a row per worker of the table ``crowdopt_timing``."""
    parsed, found = ["worker"], ["worker"]
    if "time" in names:
        iso = "'%Y-%m-%dT%H:%M:%S'"
        parsed.append(f"time, {_time('time')} AS moment")
        found += [f"strftime(min(moment), {iso}) AS first_response", f"strftime(max(moment), {iso}) AS last_response"]
        found += _wrong("time", "moment")
    if "seconds" in names:
        parsed.append("seconds, CASE WHEN n_seconds >= 0 THEN n_seconds END AS n_seconds")
        found += ["median(n_seconds) AS median_seconds", *_wrong("seconds", "n_seconds")]
    rows = f"SELECT {', '.join(parsed)} FROM crowdopt_timing"
    return f"SELECT {', '.join(found)} FROM ({rows}) GROUP BY worker ORDER BY worker"


def _time(text: str) -> str:
    """The expression for a time, in Greenwich if it says how far it is from there; no value if it is none."""
    number, offset = f"TRY_CAST({text} AS DOUBLE)", literal(OFFSET)
    hours, rest = (f"coalesce(TRY_CAST(regexp_extract({text}, {offset}, {part}) AS INTEGER), 0)" for part in (2, 3))
    minutes = f"(CASE WHEN {hours} <= {MOST_HOURS} AND {rest} < 60 THEN {hours} * 60 + {rest} END)"
    east = f"CASE regexp_extract({text}, {offset}, 1) WHEN '-' THEN -{minutes} ELSE {minutes} END"
    written = f"coalesce(TRY_CAST({text} AS TIMESTAMP), try_strptime({text}, [{', '.join(map(literal, FORMATS))}]))"
    named = " ".join(f"WHEN {text} LIKE '% {zone} ____' THEN {-hours}" for zone, hours in ZONES.items() if hours)
    clock = f"contains({text}, ':') AND regexp_matches({text}, {offset})"
    epoch = (
        f"{number} * CASE WHEN {number} >= {LEAST_MILLISECONDS} THEN 1e3 WHEN {number} >= {LEAST_EPOCH} THEN 1e6 END"
    )
    return (
        f"CASE WHEN {number} IS NOT NULL THEN make_timestamp(TRY_CAST({epoch} AS BIGINT)) "
        f"WHEN {clock} THEN {written} - to_minutes({east}) "
        f"ELSE {written} + to_hours(CASE {named} ELSE 0 END) END"
    )


def _wrong(name: str, value: str) -> list[str]:
    """The expressions for how many cells hold something that is no value, and one of them."""
    wrong = f"FILTER ({name} IS NOT NULL AND trim({name}) != '' AND {value} IS NULL)"
    return [f"count(*) {wrong} AS wrong_{name}", f"min({name}) {wrong} AS example_{name}"]


def _check(name: str, numbers: Sequence[int], examples: Sequence[str | None]) -> None:
    """Raises if there are cells that hold something else."""
    if n := sum(numbers):
        example = min(one for one in examples if one is not None)
        what, how = (
            ("a time", f"2026-11-19T10:00:00+02:00 (zones of other names than {', '.join(ZONES)} are not converted)")
            if name == "time"
            else ("a number of seconds", "12.5, none below 0")
        )
        cells = "1 response has" if n == 1 else f"{n:,} responses have"
        raise InputError(
            f"{cells} something else than {what} for --{name} (for example {example!r}): write it like {how}, or leave "
            f"out --{name}"
        )
