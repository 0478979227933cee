"""One grammar for charts: lines with bands, and bars; drawn by Altair, as SVG and PNG without a browser.

Every colour that a chart uses stands in this file, so that a page which shows the SVG can recolour it in the dark by
rules on the attributes (:data:`DARK`), while the file itself stays a plain drawing on white.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from crowdopt._startup import ROOM_OF_CHARTS, has_room
from crowdopt.errors import CrowdoptError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INK, SOFT, GRID, PAPER = "#1f2328", "#57606a", "#d8dee4", "#ffffff"
BLUE, ORANGE, GREEN, PURPLE, RED = "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00"
"""From the palette of Okabe and Ito, whose colours differ for all common kinds of colour blindness."""
PALE_BLUE, PALE_ORANGE, PALE_GREEN = "#cfe3f1", "#fae6bd", "#cbebe0"

DARK = {
    INK: "#e6edf3", SOFT: "#9da7b3", GRID: "#30363d", PAPER: "#151b23",
    BLUE: "#4aa3df", ORANGE: "#e69f00", GREEN: "#2fc598", PURPLE: "#d795b9", RED: "#f0783c",
    PALE_BLUE: "#17405c", PALE_ORANGE: "#5c4510", PALE_GREEN: "#0f4a3a",
}  # fmt: skip
"""What stands for each colour on a dark page."""

FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts of equal widths: texts are placed by those of Liberation Sans, which the converter brings along."""
PNG_SCALE = 2
"""Dots of a PNG for each unit of the drawing: sharp on screens of double density."""

LONG_NAME = 14
"""Letters beyond which the names of lines stand in two columns, or they would overlap."""


@dataclass(frozen=True)
class Style:
    """How a line looks, wherever it is drawn."""

    colour: str
    width: float
    dash: tuple[int, ...] = (1, 0)


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes:
        title: What it shows.
        values: The values to mark, if not those that the chart would choose.
        zero: Whether it starts at zero, below which nothing can be.
        symlog: Whether it is logarithmic on both sides of zero, and even close to it.
        log: Whether it is logarithmic, for what is above zero.
    """

    title: str
    values: Sequence[float] | None = None
    zero: bool = False
    symlog: bool = False
    log: bool = False


def line_chart(
    rows: Sequence[Mapping[str, Any]], styles: Mapping[str, Style], *, series: str, x: str, title: str,
    subtitle: str, x_axis: Axis, y_axis: Axis
) -> dict[str, Any]:  # fmt: skip
    """Lines with points through ``mean``, and bands from ``low`` to ``high``.

    Args:
        rows: One row per point: ``x``, ``series``, mean, low, high.
        styles: The look of each series, in the order of the legend; others are not drawn. Wide lines are drawn first,
            so that a narrow one on the same points leaves both visible.
        series: The key that tells lines apart.
        x: The key of the horizontal position.
        title: Title, one line.
        subtitle: Second line.
        x_axis: Horizontal axis.
        y_axis: Vertical axis.

    Returns:
        The chart as a Vega-Lite specification.
    """
    alt = _altair()
    names = [name for name in styles if any(row[series] == name for row in rows)]
    below_first = sorted(names, key=lambda name: -styles[name].width)
    points = [_point(row, x, series, y_axis) for name in below_first for row in rows if row[series] == name]
    # A list is drawn in its order; Altair would take a frame through pandas.
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X(x, type="quantitative", title=x_axis.title, scale=_scale(x_axis, alt, nice=False, padding=8),
                axis=alt.Axis(values=_given(x_axis, alt), format="~s" if x_axis.log else "d", grid=False)),
        color=_by_series(alt.Color, series, names, [styles[name].colour for name in names], alt),
    )  # fmt: skip
    marks = alt.Axis(values=_given(y_axis, alt), **({"format": "~g"} if y_axis.log else {}))
    y = {"type": "quantitative", "title": y_axis.title, "scale": _scale(y_axis, alt), "axis": marks}
    bands = base.mark_area(opacity=0.15).encode(y=alt.Y("low", **y), y2="high")
    lines = base.mark_line(strokeJoin="round").encode(
        y=alt.Y("mean", **y),
        strokeDash=_by_series(alt.StrokeDash, series, names, [list(styles[name].dash) for name in names], alt),
        strokeWidth=_by_series(alt.StrokeWidth, series, names, [styles[name].width for name in names], alt),
    )
    dots = base.mark_circle(opacity=1, size=26).encode(y=alt.Y("mean", **y))
    chart = alt.layer(bands, lines, dots).properties(
        width=380, height=250, title=alt.TitleParams(title, subtitle=subtitle)
    )
    specification: dict[str, Any] = chart.configure(**_look()).to_dict()
    return specification


def histogram(
    bins: Sequence[Mapping[str, float]], *, title: str, subtitle: str, x_axis: Axis, y_axis: Axis
) -> dict[str, Any]:
    """Bars side by side: each from ``low`` to ``high``, of height ``n``. Returns a Vega-Lite specification."""
    alt = _altair()
    values = [{**one, "middle": (one["low"] + one["high"]) / 2} for one in bins]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("n", type="quantitative", title=y_axis.title, axis=alt.Axis(format=",d", tickMinStep=1))
    )
    drawn = base.mark_rect(color=BLUE).encode(
        x=alt.X("low", type="quantitative", title=x_axis.title, scale=alt.Scale(zero=False, nice=False),
                axis=alt.Axis(values=_given(x_axis, alt), format="%", grid=False)),
        x2="high",
        y2=alt.datum(0),
    )  # fmt: skip
    figures = ",d" if max(one["n"] for one in bins) < 1000 else ".2~s"
    counts = base.transform_filter("datum.n > 0").mark_text(dy=-7, font=FONT, fontSize=11, color=SOFT)
    counts = counts.encode(
        x=alt.X("middle", type="quantitative"), text=alt.Text("n", type="quantitative", format=figures)
    )
    chart = alt.layer(drawn, counts).properties(width=560, height=180, title=alt.TitleParams(title, subtitle=subtitle))
    specification: dict[str, Any] = chart.configure(**_look()).to_dict()
    return specification


def bars(rows: Sequence[Mapping[str, Any]], *, title: str, subtitle: str, x_axis: Axis) -> dict[str, Any]:
    """A horizontal bar for each row: ``name``, ``value``, and the ``text`` at its end. Returns a specification."""
    alt = _altair()
    names = [row["name"] for row in rows]
    # Of equal widths or not, no font of the page needs more room than this for the longest name.
    room = 7.5 * max(map(len, names))
    values = [{**row, "end": max(row["value"], 0.0)} for row in rows]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("value", type="quantitative", title=x_axis.title,
                scale=alt.Scale(type="symlog" if x_axis.symlog else "linear", zero=True),
                axis=alt.Axis(values=_given(x_axis, alt), grid=True, tickCount=5)),
        y=alt.Y("name", type="nominal", sort=names, title=None,
                axis=alt.Axis(labelLimit=0, minExtent=room, domain=False, ticks=False)),
    )  # fmt: skip
    drawn = base.mark_bar(color=BLUE, size=14)
    texts = base.mark_text(align="left", dx=5, font=FONT, fontSize=12, color=INK).encode(
        x=alt.X("end", type="quantitative"), text=alt.Text("text", type="nominal")
    )
    chart = alt.layer(drawn, texts).properties(
        width=380, height=alt.Step(24), title=alt.TitleParams(title, subtitle=subtitle)
    )
    specification: dict[str, Any] = chart.configure(**_look()).to_dict()
    return specification


def _point(row: Mapping[str, Any], x: str, series: str, y_axis: Axis) -> dict[str, Any]:
    """A row as the chart needs it; without an interval, which is NaN, the band is as narrow as the line."""
    mean = row["mean"]
    low, high = (mean if math.isnan(row[end]) else row[end] for end in ("low", "high"))
    return {x: row[x], series: row[series], "mean": mean, "low": max(low, 0) if y_axis.zero else low, "high": high}


def _scale(axis: Axis, alt: Any, **more: Any) -> Any:
    if axis.symlog or axis.log:
        return alt.Scale(type="log" if axis.log else "symlog", **more)
    return alt.Scale(zero=axis.zero, **more)


def _given(axis: Axis, alt: Any) -> Any:
    return alt.Undefined if axis.values is None else list(axis.values)


def _by_series(channel: Any, series: str, names: list[str], values: list[Any], alt: Any) -> Any:
    """One look per series, not in between as Vega-Lite would have it for widths; it merges the legends of all looks."""
    columns = 2 if max(map(len, names)) > LONG_NAME else 5 if len(names) <= 5 else 3
    legend = alt.Legend(
        title=None, orient="bottom", columns=columns, symbolType="stroke", symbolOpacity=1,
        symbolSize=420, labelLimit=260, columnPadding=24 if columns == 2 else 12, offset=10,
    )  # fmt: skip
    return channel(
        series, type="nominal", scale=alt.Scale(type="ordinal", domain=names, range=values), legend=legend, sort=names
    )


def _look() -> dict[str, Any]:
    text = {"labelFont": FONT, "titleFont": FONT, "labelFontSize": 12, "titleFontSize": 12, "labelColor": INK}
    return {
        "background": PAPER,
        "aria": False,
        "padding": 8,
        "view": {"stroke": None},
        "axis": text | {"titleColor": SOFT, "titleFontWeight": "normal", "titlePadding": 12, "domainColor": SOFT,
                        "tickColor": SOFT, "gridColor": GRID, "labelOverlap": True},
        "legend": text,
        "title": {"font": FONT, "fontSize": 14, "color": INK, "anchor": "start", "frame": "group", "offset": 10,
                  "subtitleFont": FONT, "subtitleFontSize": 12, "subtitleColor": SOFT, "subtitlePadding": 4},
    }  # fmt: skip


def chart_of(specification: Mapping[str, Any]) -> Any:
    """A chart as Altair's own, which a notebook shows and its user can change."""
    return _altair().Chart.from_dict(dict(specification))


def svg_of(specification: Mapping[str, Any]) -> str:
    """A chart as SVG."""
    drawing: str = _vl_convert().vegalite_to_svg(dict(specification))
    return drawing


def described(svg: str, label: str) -> str:
    """An SVG drawing that a screen reader takes for one picture and reads ``label`` for.

    >>> described('<svg width="1"/>', "a & b")
    '<svg role="img" aria-label="a &amp; b" width="1"/>'
    """
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


def png_of(svg: str) -> bytes:
    """An SVG drawing as PNG."""
    picture: bytes = _vl_convert().svg_to_png(svg, scale=PNG_SCALE)
    return picture


def check_charts_installed() -> None:
    """Raises if charts cannot be drawn here."""
    if not has_room(ROOM_OF_CHARTS):
        raise CrowdoptError(
            "charts are drawn by a library that reserves 72 GB of addresses, though no memory, and this process is "
            "limited to less: lift the limit (ulimit -v unlimited), or do without the page"
        )
    _altair()
    _vl_convert()


def _altair() -> Any:
    try:
        import altair as alt
    except ImportError as error:
        raise MissingExtraError("drawing charts", "report") from error
    return alt


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtraError("drawing charts", "report") from error
    return vl_convert
