"""A solution in a notebook: a few lines of HTML that need no script, no style sheet and no further package."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from crowdopt.errors import CrowdoptError
from crowdopt.options.words import spoken
from crowdopt.report.charts import BLUE, GREEN, ORANGE, RED
from crowdopt.report.colours import ink_on
from crowdopt.report.safe_text import with_safe_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.results.solution import Solution
    from crowdopt.results.words.summary import Summary

MAX_MATRIX_LABELS = 12
"""Labels up to which matrices are shown."""

_GROUND = {"PROVED": GREEN, "CONSENSUS": BLUE, "BOUNDED": ORANGE}


def cell_of(solution: Solution) -> str:
    """A solution as HTML: verdict, facts, matrices, and the histogram of confidence where it can be drawn."""
    solution = with_safe_names(solution)
    summary = solution.words()
    verdict, ground = summary.verdict, _GROUND.get(summary.verdict.word, RED)
    look = f"background:{ground};color:{ink_on(ground)};padding:.1em .6em;border-radius:1em"
    parts = [
        f'<p><strong style="{look}">{verdict.word}</strong> <strong>{_words(verdict.sentence)}</strong></p>',
        *(f"<p>{_words(line)}</p>" for line in verdict.more if solution.doubts),
        *(f"<p>Beware: {_words(line)}</p>" for line in summary.warnings),
        _table([], [[name, spoken(said)] for name, said in _named(summary)]),
    ]
    if solution.scale.n_labels <= MAX_MATRIX_LABELS:
        header = ["label of the task", *(f"answers {label}" for label in solution.scale.labels)]
        for name, rows in summary.matrices.items():
            parts.append(
                f"<p>How workers{f' of class {escape(name)}' if name else ''} answer</p>{_table(header, rows)}"
            )
    parts.append(_drawing(solution))
    return f'<div class="crowdopt">{"".join(parts)}</div>'


def _named(summary: Summary) -> list[tuple[str, str]]:
    """What is odd about the data, and the facts, each with its name."""
    return [*(("data", note) for note in summary.notes), *summary.facts.items()]


def _words(text: str) -> str:
    """A text in the words of who is speaking, as HTML."""
    return escape(spoken(text))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in header)
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(first)}</th>'
        + "".join(f'<td style="text-align:{"right" if header else "left"}">{escape(text)}</td>' for text in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _drawing(solution: Solution) -> str:
    """The chart, if the packages for it and the tasks are there: a notebook must show a solution in any case."""
    from crowdopt.report.solution_charts import confidence_chart

    try:
        return confidence_chart(solution)
    except CrowdoptError:
        return ""
