"""The summary of a solution in words: what an annotation lead wants to know first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.scale import as_number
from crowdopt.results.kinds import UNCERTAIN_BELOW
from crowdopt.results.words.facts import next_best
from crowdopt.results.words.sentences import after_doubts, headline, verdict_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.data.reading import Reading
    from crowdopt.model.scale import Scale
    from crowdopt.results.accuracy import Accuracy
    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.words.sentences import ReportVerdict


MAX_NAMED = 20
"""Numbers up to which an example names all of them; and how many of many labels are named."""


@dataclass(frozen=True)
class Summary:
    """The parts of a summary: headline, notes on the data, facts by name, how workers of each class answer, warnings.

    Where all workers are alike, their one matrix has no name. The verdict is what a page has in place of the headline.
    """

    headline: str
    verdict: ReportVerdict
    notes: tuple[str, ...]
    facts: dict[str, str]
    matrices: dict[str, list[list[str]]]
    warnings: tuple[str, ...]


def summarise(solution: ProofSolution) -> Summary:
    """The summary of a solution."""
    buckets = solution.buckets
    facts = input_facts(solution, _workers(solution), _range(buckets.sizes.min(), buckets.sizes.max()))
    facts |= scale_in_words(solution.scale) | {
        "labels": labels_in_words(solution, buckets.by_label(solution.mapping)[1]),
        "selectivity": _selectivity(solution),
        "uncertain": f"{solution.share_uncertain:.1%} of the labels are less probable than {UNCERTAIN_BELOW:.0%}"
        + _but(int(buckets.weights[solution.margins.tied].sum()), "tied with another answer"),
    }
    if solution.parameters is not None:
        facts["likelihood"] = _about_marginal(solution)
    if "smoothing" in solution.reading.found:
        facts["smoothing"] = (
            "pseudo-counts, found in the same responses; they are part of the log-likelihood, which does not compare "
            "with one under other pseudo-counts"
        )
    if other := next_best(solution):
        facts["next best"] = f"the likeliest other labels lose {other['loss']:,.3g} nats; they differ on " + plural(
            other["n_tasks"], "task"
        )
    facts |= accuracy_in_words(solution)
    names = [one.name for one in solution.classes] or [""]
    matrices = {name: matrix_cells(solution, matrix) for name, matrix in zip(names, solution.matrix, strict=True)}
    said = after_doubts(solution.doubts, headline(solution))
    return Summary(said, verdict_of(solution), solution.notes, facts, matrices, solution.advice)


def _about_marginal(solution: ProofSolution) -> str:
    """What was maximised over, and how labels get their names."""
    free = "; where labels could exchange their names, they have those that agree with most responses"
    said = "marginal: labels are averaged over, then the most probable ones are given; probabilities may be zero"
    return said + (free if solution.objective.interchangeable else "")


def input_facts(solution: Solution, workers: str, per_task: str) -> dict[str, str]:
    """What went in, in words: the source, tasks, workers, responses, and how far they agree."""
    totals, no_response = solution.totals, "without a response"
    export = export_words(solution.reading, solution.source.about_export if solution.source else ())
    return ({"source": export} if export else {}) | {
        "tasks": f"{totals.n_tasks:,}{_of_these({'of known label': totals.n_gold, no_response: totals.n_no_response})}",
        "workers": workers,
        "responses": f"{totals.n_responses:,}, {per_task} per task"
        + (f" ({left_out})" if (left_out := left_out_in_words(totals.n_dropped, solution.reading)) else ""),
        "agreement": _agreement(solution),
    }


def left_out_in_words(number: int, reading: Reading) -> str:
    """How many rows, or cells of a wide table, were left out as they lack something; nothing if none was."""
    return f"{plural(number, f'incomplete {reading.row}')} left out" if number else ""


def accuracy_in_words(solution: Solution) -> dict[str, str]:
    """How many labels are right, if the truth is known, or if an export knows some labels: two facts."""
    measured = solution.export_accuracy
    known = {} if measured is None else {"known labels": export_accuracy_in_words(measured, solution.reading)}
    if (accuracy := solution.accuracy) is None:
        return known
    said = f"{accuracy.value:.4f} on {plural(accuracy.n_tasks, 'task')} with known truth"
    if accuracy.vote is not None:
        said += f"; majority vote, ties shared, {accuracy.vote:.4f}"
    said += _but(accuracy.n_unknown, "of the truth not answered here")
    return {"accuracy": with_others(said, accuracy, solution.reading)} | known


def with_others(said: str, accuracy: Accuracy, reading: Reading) -> str:
    """What is said of an accuracy, and of the tasks that no answer can have right."""
    others = accuracy.off_scale.in_words("these", reading)
    return f"{said}; {others}" if others else said


def export_accuracy_in_words(accuracy: Accuracy, reading: Reading) -> str:
    """How many labels are right where an export knows them, and what became of what it knows."""
    one = accuracy.n_tasks == 1
    unused = f"{'it was' if one else 'they were'} not used"
    if accuracy.answered:
        unused = "not pinned; the annotations that say so count as responses"
    on = "only task" if one else f"{accuracy.n_tasks:,} tasks"
    said = f"accuracy on the {on} of known label that the export brings: "
    said += f"{accuracy.value:.3f} ({unused})"
    if accuracy.vote is not None:
        said += f"; majority vote, ties shared, {accuracy.vote:.3f}"
    if accuracy.n_two_labels:
        said += f"; left out as the export knows two labels: {plural(accuracy.n_two_labels, 'task')}"
    return with_others(said, accuracy, reading)


def export_words(reading: Reading, notes: Sequence[str] = ()) -> str:
    """Which tool the responses come from and what was made of its export; of a plain table, what is to be said."""
    if not reading.tool:
        return "; ".join(notes)
    from crowdopt.data.readers.tools import tool_named

    parts = [f"an export of {tool_named(reading.tool).title}"]
    parts += [f"question {reading.question!r}"] if reading.question else []
    parts += notes
    return "; ".join(parts)


def _workers(solution: ProofSolution) -> str:
    """How many there are, and how good they are, class by class."""
    whole = f"{solution.totals.n_workers:,}"
    if not solution.classes:
        alike = ", alike as far as can be found" if solution.classes_found else ""
        return f"{whole}{alike}; {_in_words(solution, solution.matrix[0])}"
    name, which = "{} {:,}", ""
    if solution.classes_found:
        name, which = "class {}, {:,} of them", " in classes found in the same responses"
    elif all(one.n_workers == 1 for one in solution.classes):
        name, which = "{}", ", each a class of its own"
    parts = [
        f"{name.format(one.name, one.n_workers)} ({_in_words(solution, matrix)})"
        for one, matrix in zip(solution.classes, solution.matrix, strict=True)
    ]
    return f"{whole}{which}; {'; '.join(parts)}"


def _in_words(solution: ProofSolution, matrix: Floats) -> str:
    """The diagonal of a matrix: how often workers answer what the task turned out to be."""
    rows = zip(solution.scale.labels, np.diagonal(matrix), strict=True)
    parts = [f"{p:.0%} right where it is {label}" for label, p in rows if not np.isnan(p)]
    return ", ".join(parts) or "nothing is known of them"


def _agreement(solution: Solution) -> str:
    alpha, pairwise = solution.agreement.alpha, solution.agreement.pairwise
    if pairwise is None:
        return "not defined: no task has two responses"
    text = f"two responses to a task agree {pairwise:.1%} of the time"
    kind = f" ({solution.scale.kind})" if solution.scale.n_labels > 2 else ""  # with two labels it is the same
    return text + (f"; Krippendorff's alpha {alpha:.3f}{kind}" if alpha is not None else "; nobody ever disagrees")


def scale_in_words(scale: Scale) -> dict[str, str]:
    """What three and more labels were taken for, where nobody said it."""
    if not scale.inferred or scale.n_labels <= 2:
        return {}
    if scale.kind == "ordinal":
        first, *_, last = scale.labels
        return {"scale": f"{scale.n_labels} ratings, {first} to {last} (--scale nominal if they are names)"}
    numbers = scale.n_labels <= MAX_NAMED and all(as_number(label) is not None for label in scale.labels)
    named = f"--labels {','.join(scale.labels)}" if numbers else "--labels, lowest first"
    return {"scale": f"{scale.n_labels:,} categories; if their order means something, name it with {named}"}


def labels_in_words(solution: Solution, tasks: Sequence[int] | Ints) -> str:
    """How many tasks have each label; of many labels the most frequent ones."""
    labels, total = solution.scale.labels, max(sum(tasks), 1)
    order = np.argsort(-np.asarray(tasks), kind="stable")[:MAX_NAMED] if solution.scale.has_many_labels else None
    named = range(len(labels)) if order is None else order.tolist()
    said = ", ".join(f"{labels[j]} {tasks[j]:,} ({tasks[j] / total:.1%})" for j in named)
    return said if order is None else f"{said}, and {len(labels) - len(order):,} more labels"


def _selectivity(solution: ProofSolution) -> str:
    if solution.objective.kind == "none":
        return "not used"
    if solution.parameters is not None and not solution.objective.shares:
        shares = zip(solution.scale.labels, solution.parameters.shares, strict=True)
        return "found with the matrices: " + ", ".join(f"{label} {share:.4g}" for label, share in shares)
    if solution.objective.kind == "estimated":
        return "estimated with the labels"
    said = "found in the same responses: " if "shares" in solution.reading.found else "given: "
    return said + ", ".join(
        f"{label} {share:.4g}" for label, share in zip(solution.scale.labels, solution.objective.shares, strict=True)
    )


def matrix_cells(solution: Solution, matrix: Floats) -> list[list[str]]:
    """Rows: the label given to the task, then how often workers answer each label on such tasks."""
    rows = []
    for label, row in zip(solution.scale.labels, matrix, strict=True):
        cells = ["no such task" if np.isnan(p) else f"{p:.1%}" for p in row]
        rows.append([label, *cells])
    return rows


def plural(number: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "task"), plural(1200, "task")
    ('1 task', '1,200 tasks')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _but(number: int, what: str) -> str:
    return f" ({number:,} {what})" if number else ""


def _of_these(numbers: Mapping[str, int]) -> str:
    """What is to be said of some of them, by what they are; nothing of none.

    >>> _of_these({"of known label": 1, "without a response": 2}), _of_these({"of known label": 0})
    (' (1 of known label, 2 without a response)', '')
    """
    said = ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number)
    return f" ({said})" if said else ""


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
