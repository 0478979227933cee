"""Figures from experiments: the charts, drawings and tables of the catalogue; an algorithm looks the same in all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from crowdopt.report.charts import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    RED,
    Axis,
    Style,
    described,
    line_chart,
    png_of,
    svg_of,
)
from crowdopt.studies.paper.catalogue import Drawn, Listing, Misses, Plot, label_of
from crowdopt.studies.paper.em_vs_optimum import BELOW_ALL, SHORTFALL, against_em, below_all, below_best, shortfalls
from crowdopt.studies.paper.format import percent
from crowdopt.studies.paper.setups import (
    DISTANCE,
    EM1,
    EM2,
    EM3,
    EM_BEST,
    EMD,
    INCORRECT,
    JSD,
    LIKELIHOOD,
    OPT,
    OPT_ALL,
    OPT_SHARES,
    SETUPS,
)
from crowdopt.studies.paper.statistics import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.studies.paper.catalogue import Entry
    from crowdopt.studies.paper.experiments import Experiment

STYLES = {
    OPT: Style(BLUE, 6.5),
    EM_BEST: Style(ORANGE, 4),
    EM1: Style(INK, 1.4, (5, 3)),
    EM2: Style(GREEN, 1.8, (7, 3, 2, 3)),
    EM3: Style(PURPLE, 2.2),
    OPT_SHARES: Style(RED, 2.4, (2, 2)),
    OPT_ALL: Style(RED, 2.4, (2, 2)),
}
"""Where lines coincide all of them stay visible, as each is narrower than the one below it."""

CROWD_STYLES = (Style(BLUE, 5), Style(ORANGE, 4), Style(GREEN, 3.2, (7, 3, 2, 3)), Style(PURPLE, 2.6),
                Style(RED, 2, (2, 2)), Style(INK, 1.4, (5, 3)))  # fmt: skip
"""Of lines that stand for crowds."""

METRICS = {
    LIKELIHOOD: ("log-likelihood (natural logarithm)", "higher is better"),
    INCORRECT: ("share of items with the wrong label", "lower is better"),
    DISTANCE: ("mean distance from the true rating", "lower is better"),
    EMD: ("earth mover's distance, summed", "lower is better"),
    JSD: ("Jensen-Shannon divergence (bits), summed", "lower is better"),
    SHORTFALL: ("nats below OPT (logarithmic)", "0 is OPT"),
    BELOW_ALL: ("nats below the best of all mappings (logarithmic)", "0 is the best of all"),
}
"""For each metric the title of its axis, and which way is good."""

POWERS = (*(-(10**power) for power in range(5)), 0, *(10**power for power in range(5)))
"""Marks of an axis that is logarithmic on both sides of zero."""


@dataclass(frozen=True)
class Figure:
    """What was made of an entry.

    Attributes:
        name: Its name on the command line and of its files.
        label: Its number in the paper.
        section: Where in the paper it stands.
        title: What it is, in our words.
        words: How to read it.
        rows: The numbers behind it; none where the data are missing.
        svg: The drawing; None for a table, and where the data are missing.
        png: The same as pixels.
        series: For plots, the algorithms drawn.
        shown: What of the rows the page shows, if not all of them as they are.
    """

    name: str
    label: str
    section: str
    title: str
    words: str
    rows: Sequence[Mapping[str, Any]]
    svg: str | None = None
    png: bytes | None = None
    series: tuple[str, ...] = ()
    shown: Sequence[Mapping[str, Any]] = field(default_factory=list)


def draw(entry: Entry, experiments: Mapping[str, Experiment]) -> Figure:
    """The figure of an entry; it stays empty where an experiment that it takes was not run."""
    figure = Figure(entry.name, label_of(entry.name), entry.section, entry.title, "", [])
    run = [experiments[name] for name in entry.experiments if name in experiments]
    if isinstance(entry, Drawn):
        made = entry.make()
        figure = replace(figure, words=made.words, rows=made.rows, svg=made.svg or None)
    else:
        two = isinstance(entry, Plot) and SETUPS[entry.experiment].n_labels == 2
        figure = replace(figure, words=entry.words + (" EM's ties go to 0." if two else ""))
        if len(run) < len(entry.experiments):
            return figure
    if isinstance(entry, Plot):
        rows = rows_of(entry, run[0])
        figure = replace(figure, rows=rows, svg=svg_of(_chart(entry, rows)), series=entry.algorithms)
    elif isinstance(entry, Listing):
        figure = replace(figure, rows=_listed(run[0]))
    elif isinstance(entry, Misses):
        figure = replace(figure, rows=against_em(run), svg=svg_of(_misses(entry, experiments)), shown=_missed(run))
    if figure.svg is None:
        return figure
    svg = described(figure.svg, f"{figure.label}. {figure.title}. {figure.words}")
    return replace(figure, svg=svg, png=png_of(svg))


def rows_of(plot: Plot, experiment: Experiment) -> list[Mapping[str, Any]]:
    """The points of a plot."""
    ways = {SHORTFALL: shortfalls, BELOW_ALL: below_all}
    rows = ways[plot.metric](experiment) if plot.metric in ways else experiment.rows
    return [dict(row) for row in rows if row["metric"] == plot.metric and row["algorithm"] in plot.algorithms]


def _listed(experiment: Experiment) -> list[Mapping[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for row in experiment.rows:
        if row["metric"] in {LIKELIHOOD, INCORRECT} and row["algorithm"] in STYLES:
            table.setdefault(row["algorithm"], {"algorithm": row["algorithm"]})[row["metric"]] = row["mean"]
    return list(table.values())


def _missed(experiments: Sequence[Experiment]) -> list[Mapping[str, Any]]:
    """EM(*) against OPT as people read it."""
    titles = {experiment.name: experiment.setup.title for experiment in experiments}
    return [
        {"crowd": titles[row["experiment"]], "m": row["m"], "below OPT": percent(row["missed"]),
         "nats below": row["short"], "above OPT": percent(row["beat"]), "nats above": row["ahead"],
         "below the best found": percent(row["below_best"])}
        for row in against_em(experiments) if row["algorithm"] == EM_BEST
    ]  # fmt: skip


def _misses(entry: Misses, experiments: Mapping[str, Experiment]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for name, line in entry.drawn.items():
        for m in experiments[name].sizes:
            share = Estimate.share(below_best(experiments[name], m, EM_BEST), 0.95)
            rows.append({"crowd": line, "m": m, "mean": share.mean, "low": share.low, "high": share.high})
    return line_chart(
        rows,
        dict(zip(entry.drawn.values(), CROWD_STYLES, strict=True)),
        series="crowd",
        x="m",
        title=entry.title,
        subtitle=f"{label_of(entry.name)} · lower is better · share of trials, 95 % band",
        x_axis=Axis("responses per item, m", values=sorted({row["m"] for row in rows})),
        y_axis=Axis("share of trials in which EM(*) misses", zero=True),
    )


def _chart(plot: Plot, own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    title, better = METRICS[plot.metric]
    trials = max(int(row["trials"]) for row in own)
    y_axis = Axis(title, zero=plot.metric != LIKELIHOOD)
    if plot.metric in {SHORTFALL, BELOW_ALL}:
        marks = POWERS if plot.metric == SHORTFALL else [power for power in POWERS if power >= 0]
        y_axis = Axis(title, values=marks, symlog=True)
    return line_chart(
        own,
        {name: STYLES[name] for name in plot.algorithms},
        series="algorithm",
        x="m",
        title=plot.title,
        subtitle=f"{label_of(plot.name)} · {better} · mean of {trials:,} trials, 95 % band",
        x_axis=Axis("responses per item, m", values=sorted({int(row["m"]) for row in own})),
        y_axis=y_axis,
    )
