"""From what was counted to a ProofSolution. It needs nothing of the data themselves, so another process can do it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crowdopt.engines.base import Limits
from crowdopt.engines.registry import run
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.model.certificate import Space
from crowdopt.model.objective import read_selectivity
from crowdopt.model.offsets import Offsets, checked_number
from crowdopt.model.problem import Problem
from crowdopt.model.scale import check_few_labels
from crowdopt.results.advice import (
    advise,
    advise_proof,
    advise_ranks,
    advise_scale,
    advise_unanswered,
)
from crowdopt.results.beside_consensus import group_beside_consensus
from crowdopt.results.prior import read_prior
from crowdopt.results.solution_proof import ProofSolution

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.data.counts import CountedProblem
    from crowdopt.model.scale import Scale
    from crowdopt.options.model import SolveOptions
    from crowdopt.results.beside_consensus import ToCompare


LOST = "the process that solved it was ended, and so was a second one: by someone, or for lack of memory (try --jobs 1)"
"""Why a group has no answers whose processes came to no end."""


def check_likelihood(options: Any) -> None:
    """Raises where options of ``prove`` do not go with its likelihood; the marginal one finds the shares of labels."""
    if options["likelihood"] not in {"joint", "marginal"}:
        raise InputError(f"likelihood must be joint or marginal, not {options['likelihood']!r}")
    if options["likelihood"] == "joint":
        return
    others = {
        "--space": (options["space"], "it searches response matrices and shares of labels, not labels"),
        "--engine": (options["engine"] != "auto", "it has an engine of its own"),
        "--ranked": (options["ranked"], "it knows no order of answers"),
        "--selectivity none": (options["selectivity"] == "none", "it finds the shares of the labels, or is given them"),
    }
    for name, (asked, why) in others.items():
        if asked:
            raise InputError(f"--likelihood marginal does not go with {name}: {why}")
    if options["selectivity"] is None:
        options["selectivity"] = "estimate"


def solve_counted(counted: CountedProblem, wanted: SolveOptions, limits: Limits) -> ProofSolution:
    """Solves what was counted."""
    scale, buckets = counted.scale, counted.buckets
    check_few_labels(scale)
    names = [one.name for one in counted.classes]
    offsets = Offsets.of(
        buckets.n_labels,
        buckets.n_classes,
        gold=(counted.gold.responses, counted.gold.tasks) if counted.gold else None,
        prior=read_prior(wanted["prior_matrix"], scale, buckets, counted.reading, names),
        smoothing=0.0 if wanted["smoothing"] is None else checked_number(wanted["smoothing"], "smoothing"),
    )
    objective = replace(read_selectivity(wanted["selectivity"], scale.labels), offsets=offsets)
    reading = counted.reading
    space = Space.PARAMETERS if wanted["likelihood"] == "marginal" else space_of(wanted["space"], scale)
    problem = Problem(buckets, space, objective, len(reading.ranked) > 1, reading.found)
    solved = run(problem, limits, labels=scale.labels, classes=names, responses=counted.digest, engine=wanted["engine"])
    proved = solved.certificate.bound is not None
    scale_said = bool(wanted["scale"] or wanted["labels"] or wanted["bins"] is not None)  # who says it needs no advice
    solution = ProofSolution(
        scale=scale,
        buckets=buckets,
        mapping=solved.mapping,
        margins=solved.margins,
        objective=problem.objective,
        certificate=solved.certificate,
        totals=counted.totals,
        reading=counted.reading,
        classes=counted.classes,
        notes=counted.notes,
        seed=wanted["seed"],
        advice=(
            *(advise(problem, solved.mapping) if proved and solved.parameters is None else ()),
            *(() if scale_said else advise_scale(scale, buckets)),
            *(advise_unanswered(scale, buckets, solved.mapping) if proved else ()),
        ),
        runner_up=solved.runner_up,
        likelier=solved.likelier,
        parameters=solved.parameters,
    )
    about_run = (*advise_ranks(solution), *advise_proof(solution)) if proved else ()
    return replace(solution, advice=(*solution.advice, *about_run))


def solve_group(
    item: tuple[CountedProblem, SolveOptions, float, int | None, ToCompare], stop: Callable[[], bool] | None = None
) -> ProofSolution | str:
    """Solves one group within some seconds and bytes, or until it shall stop; a text says why that cannot be."""
    counted, wanted, seconds, n_bytes, compared = item
    on_progress = None if stop is None else lambda _: stop()
    try:
        solution = solve_counted(counted, wanted, Limits(seconds, on_progress, n_bytes, wanted["seed"]))
        return group_beside_consensus(solution, compared).of(solution)
    except CrowdoptError as error:
        return str(error)
    except MemoryError:
        return "there was not enough memory to solve it; try --jobs 1"


def space_of(space: str | None, scale: Scale) -> Space:
    """The mappings to search: as asked for, or those that respect the order wherever there is one."""
    ordered = scale.kind == "ordinal" or scale.n_labels <= 2
    if space is None:
        return Space.DOMINANCE if ordered else Space.ALL
    if space not in {"dominance", "all"}:
        raise InputError(f"space must be dominance or all, not {space!r}")
    if space == "dominance" and not ordered:
        raise InputError("dominance needs ordered labels: say --scale ordinal, or --labels from lowest to highest")
    return Space(space)
