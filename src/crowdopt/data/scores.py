"""Scores: labels that are numbers of a continuous scale, put into bins where the table lives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.bins import bin_labels, equal_width
from crowdopt.data.tables.table import Table, fetch, with_numbers
from crowdopt.errors import InputError
from crowdopt.model.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.reading import Reading


def bin_responses(table: Table, reading: Reading, n_bins: int) -> tuple[Table, Reading]:
    """Responses with the names of bins for labels, and the reading with the edges of the bins.

    Args:
        table: Columns task, worker, label (and others), null where something is missing.
        reading: The options of reading.
        n_bins: Number of bins of equal width; 0 if the reading has the edges.

    Raises:
        InputError: A label is not a number, or all are the same.
    """
    scored = with_numbers(table, "label", "score")
    low, high = _check_scores(scored)
    if n_bins and low is None:  # no usable response at all: an error that others find
        return table, reading
    if n_bins:
        reading = replace(reading, bins=equal_width(float(low), float(high), n_bins))
    return _in_bins(scored, reading.bins), reading


def bin_truth(table: Table, edges: Sequence[float]) -> Table:
    """True labels with the names of bins for scores; texts that are no numbers stay, as they may be such names."""
    return _in_bins(with_numbers(table, "label", "score"), edges)


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
            f"--bins needs scores: {labels - scores} of {labels} labels are not finite numbers, such as "
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
