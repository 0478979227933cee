"""The report as one HTML file: the facts in a template, with the style and the script inside; it loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from crowdopt.errors import MissingExtraError
from crowdopt.report.charts import DARK, check_charts_installed
from crowdopt.report.likelihood_curve import curve_of
from crowdopt.results.words.sentences import nats

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPLATES = files("crowdopt.report") / "templates"

PAGE_SUFFIXES = (".html", ".htm")
"""How the name of a page ends."""


def check_report_installed() -> None:
    """Raises if a report cannot be written here."""
    _jinja2()
    check_charts_installed()


def render(facts: Mapping[str, Any], charts: Mapping[str, str]) -> str:
    """The report of a proof, from what ``content.gather`` and ``solution_charts`` return."""
    lattice = facts["lattice"]
    script = {"problem": lattice["problem"], "cuts": lattice["cuts"], "labels": facts["labels"]}
    script |= {"colours": lattice["colours"], "inks": lattice["inks"]}
    script["borders"] = lattice["borders"]
    script["at"] = [[one["x"], one["y"]] for one in lattice["buckets"]]
    curve = curve_of(lattice["cuts"]) if lattice["cuts"] else None
    if curve is not None:
        script["curve"] = [[point["x"], point["y"]] for point in curve["points"]]
    return fill("report.html", facts=facts, curve=curve, charts=charts, data=script)


def fill(template: str, *, data: Mapping[str, Any], others: Mapping[str, str] | None = None, **values: Any) -> str:
    """A template with its values, the style, the script, and the data for the script.

    Args:
        template: The name of the template: one of this package, or of ``others``.
        data: What the script gets.
        others: Templates from elsewhere by name, which may extend those of this package.
        values: What the template gets.
    """
    jinja = environment(others or {})
    jinja.filters |= {"kept": lambda name: (name, "text"), "nats": nats, "percent": _percent, "number": _number}
    script = _read("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = jinja.get_template(template).render(
        **values,
        style=trusted(_read("page.css") + dark_charts()),
        script=trusted(script),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        data=trusted(as_script(data)),
    )
    return str(page)


def environment(others: Mapping[str, str], purpose: str = "writing the report") -> Any:
    """What fills templates, of this package and others by name, and escapes all that does not come from them.

    Raises:
        MissingExtraError: What is to be done, the purpose, needs a package that is not installed.
    """
    jinja = _jinja2(purpose)
    found = jinja.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
        loader=jinja.ChoiceLoader([jinja.DictLoader(others), jinja.FunctionLoader(_read)]),
    )
    found.filters["picture"] = trusted
    return found


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


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}%}"


def _number(value: float | None, digits: int = 2) -> str:
    if value is None:
        return "–"
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"
    return text.replace("-", "−")


def _read(name: str) -> str:
    return TEMPLATES.joinpath(name).read_text(encoding="utf-8")


def _jinja2(purpose: str = "writing the report") -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError(purpose, "report") from error
    return jinja2


def dark_charts() -> str:
    """Rules that recolour the drawings on a dark page; on paper they stay as they are."""
    rules = "".join(
        f'.drawing [fill="{light}"]{{fill:{dark}}}.drawing [stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in DARK.items()
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"
