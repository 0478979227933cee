"""One page that shows the paper made again: figures inline, claims with verdicts; nothing is loaded from anywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from crowdopt.report.page import dark_charts, environment, trusted
from crowdopt.studies.paper.errata import ERRATA
from crowdopt.studies.paper.format import number_text
from crowdopt.studies.paper.glossary import CHOICES, VERDICT_WORDS
from crowdopt.studies.paper.output import columns_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.studies.paper.claims import Claim
    from crowdopt.studies.paper.figures import Figure

SECTIONS = {
    "1": "Introduction",
    "3": "Filtering",
    "3.5.1": "Filtering: simulated crowds",
    "3.5.2": "Filtering: real responses",
    "4": "Rating",
    "4.3": "Rating: simulated crowds",
    "5": "Extensions",
    "A": "Appendix A: more about filtering",
    "B": "Appendix B: more about rating",
    "C": "Appendix C: varying numbers of responses",
    "beyond": "Beyond the paper",
    "all": "Beyond the paper: the best of all mappings",
}
"""The parts of the page by the section of the paper that they are about, in its order."""

VERDICTS = {"holds": "✓", "in part": "◐", "fails": "✗", "not decided": "?", "not measured": "–"}
"""All verdicts with their sign: never told by colour alone."""

LONG = 8
"""Lines of a table that are shown without being asked for."""


@dataclass(frozen=True)
class Run:
    """What was run, and what came out.

    Attributes:
        facts: What a reader needs to run it again: versions, seed, trials.
        figures: The figures, in the paper's order.
        claims: The claims with their verdicts.
        missing: What could not be run, and how to get it.
        notes: What else to know.
    """

    facts: Mapping[str, str]
    figures: Sequence[Figure]
    claims: Sequence[Claim]
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass
class PageSection:
    """One section of the page."""

    key: str
    title: str
    number: str
    figures: list[Figure] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)


def render_paper(run: Run) -> str:
    """The page as HTML."""
    room = files("crowdopt.studies.paper") / "templates"
    jinja = environment({"page.html": room.joinpath("page.html").read_text(encoding="utf-8")}, "writing the page")
    jinja.filters |= {"grid": grid, "lines": cells, "file": name_of}
    page = jinja.get_template("page.html").render(
        run=run,
        parts=parts_of(run),
        verdicts=VERDICTS,
        counts={verdict: sum(claim.verdict == verdict for claim in run.claims) for verdict in VERDICTS},
        style=trusted(room.joinpath("page.css").read_text(encoding="utf-8") + dark_charts()),
        verdict_words=VERDICT_WORDS,
        choices=CHOICES,
        errata=ERRATA,
        long=LONG,
    )
    return str(page)


def parts_of(run: Run) -> list[PageSection]:
    """The sections that have something to show, with their figures and their claims, numbered as in the summary."""
    parts = {key: PageSection(key, title, f"§ {key}" if key[0].isdigit() else "") for key, title in SECTIONS.items()}
    for figure in run.figures:
        parts[figure.section].figures.append(figure)
    for claim in run.claims:
        parts[section_of(claim.where)].claims.append(claim)
    return [part for part in parts.values() if part.figures or part.claims]


def section_of(where: str) -> str:
    """The section of the page for a place in the paper: the last that it names, or the nearest one around it.

    >>> section_of("Sections 3.5.1 and 4.3"), section_of("Section 4.2, Table 2"), section_of("Appendix A, Figure 9(c)")
    ('4.3', '4', 'A')
    """
    places = re.findall(r"\b(\d(?:\.\d)*|[ABC])\b", re.split(", (?:Figure|Table)", where)[0])
    place = places[-1] if places else "beyond"
    while place not in SECTIONS and "." in place:
        place = place.rpartition(".")[0]
    return place if place in SECTIONS else "beyond"


def grid(figure: Figure) -> tuple[list[str], list[list[str]]]:
    """The numbers of a figure as a table: of a plot the means by number of responses, else its rows as they are."""
    if not figure.series:
        return cells(figure.shown or figure.rows)
    means = {(row["m"], row["algorithm"]): row["mean"] for row in figure.rows}
    sizes = sorted({row["m"] for row in figure.rows})
    body = [[str(m), *(number_text(means.get((m, name))) for name in figure.series)] for m in sizes]
    return ["m", *figure.series], body


def cells(lines: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Lines as a table: its header, and its cells as people read them."""
    header = columns_of(lines)
    return header, [[number_text(line.get(key)) for key in header] for line in lines]
