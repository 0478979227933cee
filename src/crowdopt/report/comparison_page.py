"""The page of a comparison: the same look as the report, and one file too."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from crowdopt._version import __version__
from crowdopt.report.page import PAGE_SUFFIXES, check_report_installed, fill
from crowdopt.report.safe_text import visible
from crowdopt.report.solution_charts import loss_chart
from crowdopt.results.write.files import check_target, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt.studies.compare.comparison import Comparison


def write_comparison(comparison: Comparison, path: str | Path, command: str = "") -> None:
    """Writes the page of a comparison, whole or not at all."""
    check_target(path, PAGE_SUFFIXES)
    check_report_installed()
    write_text(path, render_comparison(comparison, command))


def render_comparison(comparison: Comparison, command: str = "") -> str:
    """The page as HTML."""
    facts = comparison.to_dict()
    done = [{"name": row["title"], "loss": row["loss"]} for row in facts["methods"] if row["loss"] is not None]
    chart = loss_chart(done, "than the likeliest") if done else ""
    return fill("compared.html", facts=facts, chart=chart, again=_again(command), data={})


def _again(command: str) -> dict[str, Any]:
    return {
        "command": visible(command),
        "versions": {"crowdopt": __version__, "Python": platform.python_version()} | _peer(),
    }


def _peer() -> dict[str, str]:
    """The version of crowd-kit, where it is installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return {"crowd-kit": version("crowd-kit")}
    except PackageNotFoundError:
        return {}
