"""The report as one HTML file: the facts in a template, with the style and the script inside; it loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from crowdopt.charts import Axis, bars, described, histogram, svg_of
from crowdopt.charts import check_installed as check_charts
from crowdopt.errors import MissingExtraError
from crowdopt.paper.page import dark_charts
from crowdopt.report.curve import curve_of
from crowdopt.report.verdict import nats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOM = files("crowdopt.report")


def check_installed() -> None:
    """Raises if a report cannot be written here."""
    _jinja2()
    check_charts()


def render(facts: Mapping[str, Any]) -> str:
    """The report of a solution, from what ``facts.gather`` returns."""
    lattice = facts["lattice"]
    script = {"problem": lattice["problem"], "cuts": lattice["cuts"], "labels": facts["labels"]}
    script |= {"colours": lattice["colours"], "inks": lattice["inks"]}
    script["borders"] = lattice["borders"]
    script["at"] = [[one["x"], one["y"]] for one in lattice["buckets"]]
    curve = curve_of(lattice["cuts"]) if lattice["cuts"] else None
    if curve is not None:
        script["curve"] = [[point["x"], point["y"]] for point in curve["points"]]
    return fill("report.html", facts=facts, curve=curve, charts=_charts(facts), data=script)


def fill(template: str, *, data: Mapping[str, Any], **values: Any) -> str:
    """A template with its values, the style, the script, and the data for the script."""
    jinja = _jinja2()
    environment = jinja.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
        loader=jinja.FunctionLoader(_read),
    )
    environment.filters |= {"kept": lambda name: (name, "text"), "nats": nats, "percent": _percent, "number": _number, "picture": trusted}
    script = _read("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment.get_template(template).render(
        **values,
        style=trusted(_read("page.css") + dark_charts()),
        script=trusted(script),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        data=trusted(as_script(data)),
    )
    return str(page)


def as_script(data: Any) -> str:
    r"""JSON that can stand inside a script element, whatever texts are in it.

    >>> as_script({"label": "</script>"})
    '{"label":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def trusted(markup: str) -> Any:
    """Markup of our own, in which everything that came from outside is escaped already."""
    return _jinja2().utils.markupsafe.Markup(markup)


def _charts(facts: Mapping[str, Any]) -> dict[str, str]:
    confidence = facts["confidence"]
    bins: Sequence[Mapping[str, Any]] = confidence["bins"]
    words = "; ".join(f"{one['low']:.0%} to {one['high']:.0%}: {one['n']:,} tasks" for one in bins if one["n"])
    drawing = histogram(
        bins,
        title="How probable the labels are",
        subtitle=f"tasks by the probability of their label; {confidence['mean']:.1%} on average",
        x_axis=Axis("probability of the label under the fitted model", values=_tens(bins[0]["low"])),
        y_axis=Axis("tasks"),
    )
    charts = {"confidence": described(svg_of(drawing), f"Histogram of the probability of labels. {words}.")}
    lost = [row for row in facts["others"] if row.get("loss") is not None]
    if lost:
        charts["others"] = loss_chart(lost, "than these answers")
    return charts


def _tens(first: float) -> list[float]:
    """Marks at every tenth from a share to one."""
    return [k / 10 for k in range(11) if k / 10 >= first]


def loss_chart(rows: Sequence[Mapping[str, Any]], than: str) -> str:
    """By how many nats methods fall short, as SVG."""
    values = [
        {"name": row["name"], "value": row["loss"], "text": _lost(row["loss"])}
        for row in rows
    ]
    words = "; ".join(f"{one['name']}: {one['text']}" for one in values)
    drawing = bars(values, title="How much less likely", subtitle=f"nats less {than}; longer is worse",
                   x_axis=Axis("nats of log-likelihood lost", symlog=True))  # fmt: skip
    return described(svg_of(drawing), f"Bars of the log-likelihood that methods lose. {words}.")


def _lost(loss: float) -> str:
    if abs(loss) < 1e-6:
        return "0"
    return nats(loss) if loss > 0 else f"more likely by {nats(-loss)}"


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}%}"


def _number(value: float | None, digits: int = 2) -> str:
    if value is None:
        return "–"
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"
    return text.replace("-", "−")


def _read(name: str) -> str:
    return ROOM.joinpath(name).read_text(encoding="utf-8")


def _jinja2() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError("writing the report", "report") from error
    return jinja2
