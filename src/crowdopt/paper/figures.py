"""Figures from rows: the charts, drawings and tables of the catalogue; an algorithm looks the same in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdopt.charts import BLUE, GREEN, INK, ORANGE, PURPLE, RED, Axis, Style, described, line_chart, png_of, svg_of
from crowdopt.paper.catalogue import Listing, Plot, label_of
from crowdopt.paper.leads import SHORTFALL
from crowdopt.paper.setups import DISTANCE, EM1, EM2, EM3, EM_BEST, EMD, INCORRECT, JSD, LIKELIHOOD, OPT, OPT_SHARES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crowdopt.paper.catalogue import Entry

STYLES = {
    OPT: Style(BLUE, 6.5),
    EM_BEST: Style(ORANGE, 4),
    EM1: Style(INK, 1.4, (5, 3)),
    EM2: Style(GREEN, 1.8, (7, 3, 2, 3)),
    EM3: Style(PURPLE, 2.2),
    OPT_SHARES: Style(RED, 2.4, (2, 2)),
}
"""Where lines coincide all of them stay visible, as each is narrower than the one below it."""

METRICS = {
    LIKELIHOOD: ("log-likelihood (natural logarithm)", "higher is better"),
    INCORRECT: ("share of items with the wrong label", "lower is better"),
    DISTANCE: ("mean distance from the true rating", "lower is better"),
    EMD: ("earth mover's distance, summed", "lower is better"),
    JSD: ("Jensen-Shannon divergence (bits), summed", "lower is better"),
    SHORTFALL: ("nats below OPT (logarithmic)", "0 is OPT"),
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
    """

    name: str
    label: str
    section: str
    title: str
    words: str
    rows: list[dict[str, Any]]
    svg: str | None = None
    png: bytes | None = None
    series: tuple[str, ...] = ()


def draw(entry: Entry, rows: Iterable[Mapping[str, Any]]) -> Figure:
    """The figure of an entry, which takes its own of all measured ``rows``, and stays empty if there are none."""
    label = label_of(entry.name)
    series: tuple[str, ...] = ()
    if isinstance(entry, Plot):
        own = [dict(row) for row in rows if _belongs(row, entry)]
        words, series = entry.words, tuple(name for name in entry.algorithms if own)
        svg = svg_of(_chart(entry, own), f"{label}. {entry.title}. {words}") if own else None
    elif isinstance(entry, Listing):
        own, words, svg = _listed(entry, rows), entry.words, None
    else:
        made = entry.make()
        own, words = made.rows, made.words
        svg = described(made.svg, f"{label}. {entry.title}. {words}") if made.svg else None
    png = png_of(svg) if svg else None
    return Figure(entry.name, label, entry.section, entry.title, words, own, svg, png, series)


def _belongs(row: Mapping[str, Any], plot: Plot) -> bool:
    return (row["experiment"], row["metric"]) == (plot.experiment, plot.metric) and row["algorithm"] in plot.algorithms


def _listed(listing: Listing, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["experiment"] == listing.experiment and row["metric"] in {LIKELIHOOD, INCORRECT}:
            table.setdefault(row["algorithm"], {"algorithm": row["algorithm"]})[row["metric"]] = row["mean"]
    return list(table.values())


def _chart(plot: Plot, own: list[dict[str, Any]]) -> dict[str, Any]:
    title, better = METRICS[plot.metric]
    trials = max(int(row["trials"]) for row in own)
    y_axis = Axis(title, zero=plot.metric != LIKELIHOOD)
    if plot.metric == SHORTFALL:
        y_axis = Axis(title, values=POWERS, symlog=True)
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
