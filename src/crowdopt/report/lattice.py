"""The picture of buckets, and the numbers with which the page computes the likelihood of any labels of them.

At most MAX_DRAWN buckets are drawn, the heaviest. The others keep their labels: what they add to the counts of each
label is one sum, so that the figure on the page is the likelihood of all tasks whatever is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.engines.scan import Cuts
from crowdopt.model.buckets import Buckets
from crowdopt.report.colours import ink_on, label_colours
from crowdopt.report.lattice_layout import lay_out

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.results.solution_proof import ProofSolution

MAX_DRAWN = 300
"""More circles than this are no picture."""

CHARACTER = 6.6
"""Width of a figure in a circle."""

MAX_CUTS = 1_000
"""Places of the cut between two labels that can be chosen; between more of them, some are left out."""


def lattice_of(solution: ProofSolution) -> dict[str, Any]:
    """The picture and its numbers."""
    buckets = solution.buckets
    drawn = heaviest(buckets)
    shown = Buckets(buckets.counts[drawn], buckets.weights[drawn])
    mapping = solution.mapping[drawn]
    ordered = solution.scale.kind == "ordinal"
    layout = lay_out(shown, mapping, solution.scale.labels, ordered=ordered)
    colours = label_colours(buckets.n_labels, ordered=ordered)
    margins = solution.margins.values[drawn]
    return {
        "kind": layout.kind,
        "width": layout.width,
        "height": round(layout.height, 1),
        "captions": [vars(caption) for caption in layout.captions],
        "outline": " ".join(f"{x:.1f},{y:.1f}" for x, y in layout.outline),
        "links": [list(link) for link in layout.links],
        "borders": [list(border) for border in layout.borders()],
        "buckets": [
            {
                "x": round(float(x), 1),
                "y": round(float(y), 1),
                "r": round(float(radius), 1),
                "label": int(label),
                "n_tasks": int(weight),
                "text": short(int(weight), float(radius)),
                "words": describe(counts, solution),
                "margin": float(margin) if np.isfinite(margin) else None,
            }
            for (x, y), radius, label, weight, counts, margin in zip(
                layout.at, layout.radius, mapping, shown.weights, shown.counts, margins, strict=True
            )
        ],
        "colours": colours,
        "inks": [ink_on(colour) for colour in colours],
        "n_buckets": buckets.n_buckets,
        "n_hidden": buckets.n_buckets - len(drawn),
        "n_hidden_tasks": buckets.n_tasks - shown.n_tasks,
        "problem": _problem(solution, shown, drawn),
        "cuts": _cuts(solution, drawn),
    }


def heaviest(buckets: Buckets) -> Ints:
    """The buckets that are drawn, in their order."""
    return np.sort(np.argsort(-buckets.weights, kind="stable")[:MAX_DRAWN])


def short(number: int, radius: float) -> str:
    """A number that fits into a circle; empty if it does not.

    >>> short(1234, 30), short(12345, 16), short(1234567, 16), short(12, 5)
    ('1234', '12k', '1.2M', '')
    """
    for size, unit in ((1, ""), (1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G")):
        for text in (f"{number / size:.1f}".removesuffix(".0") + unit, f"{number / size:.0f}{unit}"):
            if number >= size and len(text) * CHARACTER <= 2 * radius - 3:
                return text
    return ""


def describe(counts: Ints, solution: ProofSolution) -> str:
    """The counts of a bucket in words: which answers it has, and how often."""
    names = [f"{one.name}: " for one in solution.classes] or [""]
    parts = []
    for name, row in zip(names, counts, strict=True):
        answers = [f"“{label}” ×{n:,}" for label, n in zip(solution.scale.labels, row, strict=True) if n]
        if answers:
            parts.append(name + ", ".join(answers))
    return "; ".join(parts)


def _problem(solution: ProofSolution, shown: Buckets, drawn: Ints) -> dict[str, Any]:
    """What the script needs to evaluate the likelihood: see ``objective.py``, whose formula it repeats."""
    buckets, objective = solution.buckets, solution.objective
    hidden = np.setdiff1d(np.arange(buckets.n_buckets), drawn)
    rest = Buckets(buckets.counts[hidden], buckets.weights[hidden]).by_label(solution.mapping[hidden])
    offsets = objective.offsets
    return {
        "counts": shown.counts.tolist(),
        "weights": shown.weights.tolist(),
        "labels": solution.mapping[drawn].tolist(),
        "rest": {"responses": rest[0].tolist(), "tasks": rest[1].tolist()},
        "offsets": None if offsets is None else offsets.counts.tolist(),
        "gold": None if offsets is None else offsets.gold_tasks.tolist(),
        "selectivity": objective.kind,
        "shares": list(objective.shares),
        "ranked": solution.ranked,
        "ordered": solution.scale.kind == "ordinal",
        "optimum": objective.of_mapping(buckets, solution.mapping),
    }


def _cuts(solution: ProofSolution, drawn: Ints) -> dict[str, Any] | None:
    """Two labels of one class: all places of the cut, how likely each is, and the counts on its two sides."""
    buckets = solution.buckets
    if buckets.n_labels != 2 or buckets.n_classes != 1:
        return None
    cuts = Cuts(solution.problem)
    number = len(cuts.values)
    best = cuts.best(solution.problem.tolerance(float(cuts.values.max())))
    matching = [c for c in _candidates(cuts, solution.mapping) if np.array_equal(cuts.mapping(c), solution.mapping)]
    here = matching[0] if matching else best
    spaced = np.linspace(0, number - 1, min(number, MAX_CUTS)).round().astype(np.int64)
    places = np.unique(np.concatenate([spaced, [best, here]]))
    shares = buckets.counts[:, 0, 1] / buckets.sizes
    lowest = np.full(number, np.inf)  # the smallest share of the higher answer above the cut
    np.minimum.at(lowest, cuts.rank, shares)
    return {
        "places": places.tolist(),
        "from": [float(lowest[c]) if np.isfinite(lowest[c]) else None for c in places],
        "values": [float(value) if np.isfinite(value) else None for value in cuts.values[places]],
        "responses": cuts.sides[places, 0].tolist(),
        "whole": cuts.sides[0].sum(axis=0).tolist(),
        "tasks": cuts.tasks[places, 0].tolist(),
        "rank": cuts.rank[drawn].tolist(),
        "here": int(np.searchsorted(places, here)),
        "best": int(np.searchsorted(places, best)),
        "is_cut": bool(matching),
        "n_cuts": number,
    }


def _candidates(cuts: Cuts, mapping: Ints) -> list[int]:
    """The only cut that a mapping can be: above all buckets that have the lower label."""
    low = cuts.rank[mapping == 0]
    return [int(low.max()) + 1 if len(low) else 0]
