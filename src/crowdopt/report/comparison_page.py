"""The page of a comparison: the same look as the report, and one file too."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from crowdopt._version import __version__
from crowdopt.report.page import PAGE_SUFFIXES, check_report_installed, fill
from crowdopt.report.safe_text import visible
from crowdopt.report.solution_charts import share_chart
from crowdopt.results.write.files import check_target, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_comparison(facts: Mapping[str, Any], path: str | Path, command: str = "") -> None:
    """Writes the page of a comparison, whole or not at all.

    Args:
        facts: The comparison as plain values: see ``Comparison.to_dict``.
        path: Where to; ends in .html.
        command: The command that made it, for the page to show.
    """
    check_target(path, PAGE_SUFFIXES)
    check_report_installed()
    write_text(path, render_comparison(facts, command))


def render_comparison(facts: Mapping[str, Any], command: str = "") -> str:
    """The page as HTML."""
    by = "accuracy" if facts["n_truth"] else "agrees"
    done = [{"name": row["title"], "share": row[by]} for row in facts["methods"] if row[by] is not None]
    title = "How many labels are right" if facts["n_truth"] else "How many labels are those of the consensus"
    chart = share_chart(done, title) if done else ""
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
