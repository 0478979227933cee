"""Advice: what a user who is about to be misled should hear.

The answers are the likeliest ones under the model that was asked for. Some signs say that another model may
be meant:

- the answers contradict many clear majorities,
- taking the shares of the labels into account explains the data much better,
- labels that were taken as ordered agree better as mere categories, or the majority's labels break the order and are
  likelier,
- tasks got a label that nobody answered,
- a class of workers that was ranked above another one turns out to be worse,
- a proof is out of reach, or was stopped after it had met likelier labels; or a search over parameters was stopped.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.scan import Cuts
from crowdopt.model.agreement import agreement
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.objective import Objective

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.problem import Problem
    from crowdopt.model.scale import Scale
    from crowdopt.results.solution_proof import ProofSolution

MAX_OVERRULED = 0.10
"""Share of clear majorities that may be overruled in silence."""

MIN_GAIN = 0.1
"""Nats per task by which estimated selectivity must beat uniform selectivity to be worth a word."""

MANY_LABELS = 5
"""Labels up to which a proof is mostly a matter of seconds."""

CLEARLY = 3.0
"""Standard errors by which a class must be better than one that is ranked above it to be worth a word."""


def advise(problem: Problem, mapping: Ints) -> tuple[str, ...]:
    """What to tell the user; empty if nothing."""
    advice = []
    estimate = _Estimate(problem) if _two_labels_without_selectivity(problem) else None
    # Estimated shares that leave one label only explain away the crowd: nothing to recommend.
    useful = estimate is not None and estimate.n_used == problem.buckets.n_labels
    untried = problem.objective.kind == "none" and (problem.buckets.n_labels > 2 or problem.buckets.n_classes > 1)
    if estimate is not None and useful and estimate.gain > MIN_GAIN:
        advice.append(
            "the labels look far from equally frequent (estimating their shares gains "
            f"{estimate.gain:.2f} nats per task); try --selectivity estimate"
        )
    elif (useful or untried) and share_overruled(problem, mapping) > MAX_OVERRULED:
        advice.append("many tasks got another label than that of a clear majority; try --selectivity estimate")
    if problem.space is Space.DOMINANCE and problem.buckets.n_labels > 2:
        objective, buckets = problem.objective, problem.buckets
        lead = objective.of_mapping(buckets, buckets.counts.sum(axis=1).argmax(axis=1))
        lead -= objective.of_mapping(buckets, mapping)
        if lead > problem.tolerance(lead):
            advice.append(
                f"the majority's labels, which break the order, are likelier by {lead:,.2f} nats; try --scale nominal, "
                "or --space all"
            )
    return tuple(advice)


def advise_unanswered(scale: Scale, buckets: Buckets, mapping: Ints) -> tuple[str, ...]:
    """What to tell the user if tasks got a label that nobody answered, as the likeliest labels may."""
    _, tasks = buckets.by_label(mapping)
    unasked = [(scale.labels[j], int(tasks[j])) for j in range(scale.n_labels) if j not in scale.occurring and tasks[j]]
    return tuple(
        f"nobody answered {label!r}, and yet it explains {n:,} tasks best; leave it out of --labels if that cannot be"
        for label, n in unasked
    )


def advise_ranks(solution: ProofSolution) -> tuple[str, ...]:
    """What to tell the user if the fitted matrices contradict the ranks: the order of the answers rests on them."""
    if not solution.ranked:
        return ()
    responses, _ = solution.buckets.by_label(solution.mapping)
    offsets = solution.objective.offsets
    counts = responses + (0 if offsets is None else offsets.counts)
    right, total = np.einsum("jkj->k", counts), counts.sum(axis=(0, 2))
    shares = right / np.maximum(total, 1)
    errors = np.sqrt(shares * (1 - shares) / np.maximum(total, 1))
    names = [one.name for one in solution.classes]
    for better, worse in itertools.combinations(range(len(names)), 2):
        if shares[worse] - shares[better] > CLEARLY * np.hypot(errors[better], errors[worse]):
            found = f"right {shares[better]:.0%} of the time, {names[worse]!r} {shares[worse]:.0%}"
            said = (
                f"--ranked has class {names[better]!r} before {names[worse]!r}, and by the fitted matrices it is worse"
            )
            return (f"{said} ({found}); turn the ranks round, or leave them out",)
    return ()


def advise_proof(solution: ProofSolution) -> tuple[str, ...]:
    """What to tell the user of a proof that was not finished: what could be proved instead, or what it met."""
    certificate, buckets, said = solution.certificate, solution.buckets, []
    if certificate.stop is Stop.REACH:
        within_reach = []
        if solution.scale.kind == "ordinal" and certificate.space is Space.ALL and buckets.n_labels > 2:
            within_reach.append("answers that respect the order of the labels (--space dominance)")
        if buckets.n_classes > 1:
            within_reach.append("fewer classes of workers")
        if buckets.n_labels > 2:
            few = min(buckets.n_labels - 1, MANY_LABELS)
            within_reach.append(f"labels merged into {few}, or less")
        instead = f"; what could be proved instead: {', or '.join(within_reach)}" if within_reach else ""
        said.append(f"these labels are the best that were found, but a proof is out of reach{instead}")
    if certificate.space is Space.PARAMETERS and certificate.stop is not Stop.FINISHED:
        how = "more memory (--memory-limit)" if certificate.stop is Stop.MEMORY else "a longer run (--time-limit)"
        said.append(f"the search was stopped: {how} may prove more, or find better parameters")
    if solution.likelier is not None:
        more = solution.likelier - certificate.objective
        said.append(
            f"the proof met labels that are likelier by {more:,.2g} nats before it was stopped; they are not the "
            "answer, as the clock must not decide it: a longer run (--time-limit) may prove others"
        )
    return tuple(said)


def advise_scale(scale: Scale, buckets: Buckets) -> tuple[str, ...]:
    """What to tell the user if labels that are taken as ordered look like names of categories."""
    if scale.kind != "ordinal" or scale.n_labels < 3:
        return ()
    ordered = agreement(buckets.counts, buckets.weights, "ordinal").alpha
    unordered = agreement(buckets.counts, buckets.weights, "nominal").alpha
    if ordered is None or unordered is None or ordered >= unordered:
        return ()
    found = f"Krippendorff's alpha is {ordered:.3f} taken as ordered, {unordered:.3f} as categories"
    what = "ratings" if scale.inferred else "labels"
    return (f"these {what} do not behave like an order ({found}): try --scale nominal",)


def _two_labels_without_selectivity(problem: Problem) -> bool:
    buckets = problem.buckets
    return problem.objective.kind == "none" and buckets.n_labels == 2 and buckets.n_classes == 1


def share_overruled(problem: Problem, mapping: Ints) -> float:
    """Among tasks where more than half of the responses agree, the share that got another label.

    Of several classes, the same must be true of each that answered: to overrule one of them is what classes are for.
    """
    votes = problem.buckets.counts
    majority = votes.sum(axis=1).argmax(axis=1)
    of_class = np.take_along_axis(votes, majority[:, None, None], axis=2)[:, :, 0]
    clear = ((2 * of_class > votes.sum(axis=2)) | (votes.sum(axis=2) == 0)).all(axis=1)
    weights = problem.buckets.weights
    total = weights[clear].sum()
    return float(weights[clear & (majority != mapping)].sum() / total) if total else 0.0


class _Estimate:
    """What estimated shares of the labels would do, at least.

    Attributes:
        gain: Nats per task by which they beat uniform shares. Thresholds are a lower bound of the estimated optimum
            where numbers of responses vary, and cheap.
        n_used: Labels that are left.
    """

    def __init__(self, problem: Problem) -> None:
        buckets = problem.buckets
        offsets = problem.objective.offsets
        n_known = int(offsets.gold_tasks.sum()) if offsets else 0
        estimated = Cuts(replace(problem, objective=Objective("estimated", offsets=offsets)))
        uniform = Cuts(problem).values.max() - (buckets.n_tasks + n_known) * np.log(buckets.n_labels)
        best = int(estimated.values.argmax())
        self.gain = float((estimated.values[best] - uniform) / buckets.n_tasks)
        self.n_used = int((estimated.tasks[best] > 0).sum())
