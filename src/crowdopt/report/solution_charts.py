"""The static charts of the report, drawn in the one grammar of ``charts.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crowdopt.report.charts import Axis, bars, chart_of, described, histogram, svg_of
from crowdopt.results.words.sentences import nats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_proof import ProofSolution

N_BINS = 20
"""Bars of the histogram of confidence."""


def confidence_bins(solution: Solution) -> list[dict[str, Any]]:
    """How many tasks have how probable a label, from the least probable one on."""
    confidence, weights = solution.confidences()
    place = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    tasks = np.bincount(place, weights, minlength=N_BINS).astype(np.int64)
    first = int(np.flatnonzero(tasks)[0])
    return [{"low": b / N_BINS, "high": (b + 1) / N_BINS, "n": int(tasks[b])} for b in range(first, N_BINS)]


def confidence_chart(solution: Solution) -> str:
    """The histogram of the probability of labels, as SVG."""
    words = "; ".join(
        f"{one['low']:.0%} to {one['high']:.0%}: {one['n']:,} tasks" for one in confidence_bins(solution) if one["n"]
    )
    return described(svg_of(_histogram(solution)), f"Histogram of the probability of labels. {words}.")


def _histogram(solution: Solution) -> dict[str, Any]:
    bins, (confidence, weights) = confidence_bins(solution), solution.confidences()
    mean = "" if solution.doubts else f"; {float(confidence @ weights / weights.sum()):.1%} on average"
    model = " under the fitted model" if solution.kind == "proof" else ""
    return histogram(
        bins,
        title="How probable the labels are",
        subtitle=f"tasks by the probability of their label{mean}",
        x_axis=Axis(f"probability of the label{model}", values=_tens(bins[0]["low"])),
        y_axis=Axis("tasks"),
    )


def loss_chart(rows: Sequence[Mapping[str, Any]], than: str) -> str:
    """By how many nats methods fall short, as SVG; rows have a name and a loss."""
    words = "; ".join(f"{row['name']}: {_lost(row['loss'])}" for row in rows)
    return described(svg_of(_bars(rows, than)), f"Bars of the log-likelihood that methods lose. {words}.")


def _bars(rows: Sequence[Mapping[str, Any]], than: str) -> dict[str, Any]:
    return bars(
        [{"name": row["name"], "value": row["loss"], "text": _lost(row["loss"])} for row in rows],
        title="How much less likely",
        subtitle=f"nats less {than}; longer is worse",
        x_axis=Axis("nats of log-likelihood lost", symlog=True),
    )


def share_chart(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    """Shares of tasks by method, as SVG; rows have a name and a share."""
    told = [{"name": row["name"], "value": row["share"], "text": f"{row['share']:.1%}"} for row in rows]
    drawn = bars(told, title=title, subtitle="of all that can be compared", x_axis=Axis("share of the tasks"))
    words = "; ".join(f"{row['name']}: {row['text']}" for row in told)
    return described(svg_of(drawn), f"Bars. {title}. {words}.")


def charts_of(solution: Solution) -> dict[str, Any]:
    """The charts of a solution by name, as Altair has them: to show in a notebook, to change, or to save."""
    from crowdopt.report.content import compare_engines

    charts = {"confidence": chart_of(_histogram(solution))}
    if solution.kind == "proof":
        rows = [row for row in compare_engines(cast("ProofSolution", solution)) if row.get("loss") is not None]
        charts |= {"methods": chart_of(_bars(rows, "than these answers"))} if rows else {}
    return charts


def _tens(first: float) -> list[float]:
    """Marks at every tenth from a share to one."""
    return [k / 10 for k in range(11) if k / 10 >= first]


def _lost(loss: float) -> str:
    if abs(loss) < 1e-6:  # nats: what rounding makes of equal likelihoods
        return "0"
    return nats(loss) if loss > 0 else f"more likely by {nats(-loss)}"
