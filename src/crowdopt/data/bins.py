"""Bins: scores on a continuous scale as a few ordered labels, put into them where the table lives.

A score that equals an edge belongs to the upper of its two bins.
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.notes import left_out_note
from crowdopt.data.spelling import equal_labels
from crowdopt.data.tables.table import Table, fetch, with_numbers
from crowdopt.data.tables.texts import replaced
from crowdopt.errors import InputError
from crowdopt.model.letters import is_missing_word, narrow, trimmed, without_invisible
from crowdopt.model.scale import MAX_LABELS, as_number, canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

EDGE_DIGITS = 12
"""Significant digits of the edges that are computed, so that 0.1 + 0.2 reads 0.3."""


MAX_WORDS = 1_000
"""Texts among scores that are no numbers: of more of them none is looked at."""


def parse_bins(bins: Any) -> tuple[int, tuple[float, ...]]:
    """The number of bins of equal width that was asked for, or else 0 and the edges.

    >>> parse_bins(5), parse_bins([0.3, 0.7]), parse_bins(None)
    ((5, ()), (0, (0.3, 0.7)), (0, ()))
    """
    if bins is None:
        return 0, ()
    try:
        number = 0 if isinstance(bins, bool) else operator.index(bins)
    except TypeError:
        return 0, _parse_edges(bins)
    if not 2 <= number <= MAX_LABELS:
        raise InputError(
            f"there can be 2 to {MAX_LABELS} bins, not {bins!r}; if that is an edge, write it as --bins {bins!r},"
        )
    return number, ()


def _parse_edges(bins: Any) -> tuple[float, ...]:
    try:
        edges = () if isinstance(bins, str) else tuple(float(edge) for edge in bins)
    except (TypeError, ValueError, OverflowError):
        edges = ()
    if not edges:
        raise InputError(f"bins must be a number of bins or a list of edges, lowest first, not {bins!r}")
    return checked_edges(edges)


def checked_edges(edges: Sequence[float]) -> tuple[float, ...]:
    """The edges, each a finite number above the one before."""
    edges = tuple(float(edge) for edge in edges)
    if not all(math.isfinite(edge) for edge in edges):
        raise InputError(f"the edges of bins must be finite numbers, not {_listed(edges)}")
    if not all(low < high for low, high in pairwise(edges)):
        raise InputError(f"the edges of bins must rise, and do not: {_listed(edges)}")
    if len(edges) >= MAX_LABELS:
        raise InputError(f"{len(edges)} edges make {len(edges) + 1} bins; at most {MAX_LABELS} are supported")
    return edges


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """The names of the bins, lowest first.

    >>> bin_labels([0.3, 0.7])
    ('below 0.3', '0.3 to 0.7', '0.7 and above')
    """
    texts = [canonical_text(edge) for edge in edges]
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return (f"below {texts[0]}", *between, f"{texts[-1]} and above")


def equal_width(low: float, high: float, n_bins: int) -> tuple[float, ...]:
    """The edges of bins of equal width between the smallest and the largest score.

    >>> equal_width(0.0, 1.0, 5)
    (0.2, 0.4, 0.6, 0.8)
    """
    if low == high:
        raise InputError(
            f"all scores are {canonical_text(low)}: bins of equal width need two different ones; give edges, for "
            f"example --bins {canonical_text(low)},"
        )
    shares = [part / n_bins for part in range(1, n_bins)]
    exact = [low * (1 - share) + high * share for share in shares]  # high - low could be infinite
    short = [float(f"{edge:.{EDGE_DIGITS}g}") for edge in exact]
    # Not where the scores differ in their last digits only.
    finest = 1e-6 * (high / n_bins - low / n_bins)
    edges = short if all(abs(a - b) <= finest for a, b in zip(short, exact, strict=True)) else exact
    if not all(a < b for a, b in pairwise([low, *edges, high])):
        raise InputError(
            f"the scores lie too close together for {n_bins} bins: from {canonical_text(low)} to {canonical_text(high)}"
        )
    return tuple(edges)


def _listed(edges: Sequence[float]) -> str:
    return ", ".join(canonical_text(edge) for edge in edges)


def bin_responses(table: Table, reading: Reading, n_bins: int) -> tuple[Table, Reading, tuple[str, ...]]:
    """Responses with the names of bins for labels, the reading with the edges of the bins, and what is to be said.

    Args:
        table: Columns task, worker, label (and others), null where something is missing.
        reading: The options of reading.
        n_bins: Number of bins of equal width; 0 if the reading has the edges.

    Raises:
        InputError: A label is not a number, or all are the same.
    """
    scored, left_out = _scored(table, reading)
    low, high = _check_scores(scored)
    notes = (left_out_note(left_out),) if left_out else ()
    if n_bins and low is None:  # no usable response at all: an error that others find
        return table, reading, notes
    if n_bins:
        reading = replace(reading, bins=equal_width(float(low), float(high), n_bins))
    return _in_bins(scored, reading.bins), reading, notes


def bin_truth(table: Table, reading: Reading) -> Table:
    """True labels with the names of bins for scores; texts that are no numbers stay, as they may be such names."""
    return _in_bins(_scored(table, reading)[0], reading.bins)


def _scored(table: Table, reading: Reading) -> tuple[Table, dict[str, int]]:
    """The table with a column ``score``; words that ``--tidy`` takes for missing ones, and how often each occurs."""
    scored = _with_scores(table, reading)
    if reading.verbatim or table.collect_schema()["label"] != nw.String:
        return scored, {}
    others = scored.filter(nw.col("score").is_null(), ~nw.col("label").is_null()).select("label")
    found = fetch(others.group_by("label").agg(nw.len().alias("n")).head(MAX_WORDS + 1))
    if not found["label"] or len(found["label"]) > MAX_WORDS:
        return scored, {}
    changes = {text: _as_score(text, reading) for text in found["label"]}
    changes = {text: new for text, new in changes.items() if new != text}
    counts = dict(zip(found["label"], map(int, found["n"]), strict=True))
    left_out = {text: counts[text] for text, new in changes.items() if new is None and is_missing_word(text)}
    return _with_scores(replaced(table, "label", changes), reading), left_out


def _with_scores(table: Table, reading: Reading) -> Table:
    """The table with a column ``score``; a number that stands for a missing label is none, however it is written."""
    table = with_numbers(table, "label", "score")
    score = nw.col("score")
    known = [score.is_null() | (score != number) for number in reading.na_numbers]
    return table.with_columns(nw.when(*known).then(nw.col(name)) for name in ("label", "score")) if known else table


def _as_score(text: str, reading: Reading) -> str | None:
    """A text that is no number as one, if but blanks or wide digits are in the way; None if it is a missing label."""
    plain = without_invisible(text) if reading.tidy else trimmed(text)
    missing = any(equal_labels(text, one, reading) for one in reading.na)
    if not plain or missing or (reading.tidy and is_missing_word(text)):
        return None
    plain = narrow(plain) if reading.tidy else plain
    return text if as_number(plain) is None else plain


def _check_scores(scored: Table) -> tuple[Any, Any]:
    """The smallest and the largest score of responses that count; raises if a label is not a score."""
    score, usable = nw.col("score"), ~nw.col("task").is_null() & ~nw.col("worker").is_null()
    found = fetch(
        scored.select("label", "score", nw.when(usable).then(score).alias("usable")).select(
            nw.col("label").count().alias("labels"),
            score.count().alias("scores"),
            nw.col("usable").min().alias("low"),
            nw.col("usable").max().alias("high"),
        )
    )
    labels, scores, low, high = (found[name][0] for name in ("labels", "scores", "low", "high"))
    if scores < labels:
        others = scored.filter(score.is_null(), ~nw.col("label").is_null())
        example = canonical_text(fetch(others.select(nw.col("label").min()))["label"][0])
        raise InputError(
            f"--bins needs scores: {labels - scores:,} of {labels:,} labels are not finite numbers, such as "
            f"{example[:40]!r}; if that stands for a missing one, name it with --na"
        )
    return low, high


def _in_bins(scored: Table, edges: Sequence[float]) -> Table:
    labels, score, schema = bin_labels(edges), nw.col("score"), scored.collect_schema()
    binned = nw.lit(labels[0])
    for edge, text in zip(edges, labels[1:], strict=True):
        binned = nw.when(score >= edge).then(nw.lit(text)).otherwise(binned)
    known = nw.when(~score.is_null()).then(binned)
    label = known.otherwise(nw.col("label")) if schema["label"] == nw.String else known
    return scored.with_columns(label.alias("label")).drop("score")
