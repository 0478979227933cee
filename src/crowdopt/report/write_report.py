"""The report: one HTML file that shows what was found and how sure it is; of a proof, it lets one try to do better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from crowdopt.report.content import gather
from crowdopt.report.content_consensus import gather_consensus
from crowdopt.report.page import PAGE_SUFFIXES, check_report_installed, fill, render
from crowdopt.report.solution_charts import confidence_chart, loss_chart
from crowdopt.results.reread import reread
from crowdopt.results.write.files import check_target, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_consensus import ConsensusSolution
    from crowdopt.results.solution_proof import ProofSolution


def write_report(solution: Solution, path: str | Path, data: Any = None, command: str = "") -> None:
    """Writes the report of a solution, whole or not at all.

    Args:
        solution: The solution.
        path: Where to; ends in .html.
        data: The data that the solution was made from; not needed while the solution has them in memory.
        command: The command that made the solution, for the page to show.
    """
    check_target(path, PAGE_SUFFIXES)
    check_report_installed()
    with reread(solution, data) as source:
        page = _page(solution if source is solution.source else solution.with_source(source), command)
    write_text(path, page)


def _page(solution: Solution, command: str) -> str:
    charts = {"confidence": confidence_chart(solution)}
    if solution.kind == "consensus":
        found = gather_consensus(cast("ConsensusSolution", solution), command)
        return fill("consensus.html", facts=found, charts=charts, data={})
    facts = gather(cast("ProofSolution", solution), command)
    if compared := [row for row in facts["others"] if row.get("loss") is not None]:
        charts["others"] = loss_chart(compared, "than these answers")
    return render(facts, charts)
