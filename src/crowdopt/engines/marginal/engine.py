"""The certified global maximum of the marginal likelihood.

Maximises L(θ) = Σ_b w(b) ln Σ_z π_z Π p(a | z)^x(b, a) + Σ G ln p over all shares π and response matrices p, zeros
included: the likelihood of Dawid and Skene, in which the labels are summed over, or with pseudo-counts G its posterior.
EM from many starts, limited by counted work alone, finds the parameters; branch and bound over boxes (search.py) proves
that no others have more, within a tenth of a nat. Exact by Facts 7 to 10 of docs/theory.md; a box costs O(buckets ·
labels² · classes). Two labels are proved in seconds with up to three classes of workers, three labels in seconds to
minutes with one.

If the clock stops the search, the labels are those of the starts, which no clock limits; what the search had found by
then shows in the bound alone.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.base import Engine, Limits, Outcome
from crowdopt.engines.marginal.likelihood import MarginalLikelihood
from crowdopt.engines.marginal.search import BoxSearch
from crowdopt.engines.marginal.starts import best_of_starts
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.parameters import labels_at
from crowdopt.model.problem import PARAMETER_TOLERANCE

if TYPE_CHECKING:
    from crowdopt._arrays import Floats
    from crowdopt.model.problem import Problem


def marginal(problem: Problem, limits: Limits) -> Outcome:
    """Finds the parameters of the largest marginal likelihood, and bounds how much more others can have."""
    before = time.monotonic()
    _compile()
    limits = replace(limits, started=limits.started + time.monotonic() - before)
    likelihood = MarginalLikelihood.of(problem)
    start, rounds = best_of_starts(likelihood, limits.seed)
    search = BoxSearch(likelihood, limits, start)
    stop = search.run()
    # What the search finds depends on when it is stopped, and the labels must not.
    best = search.best if stop is Stop.FINISHED else start
    parameters = likelihood.parameters(_best_names(likelihood, best))
    mapping, margins = labels_at(problem.buckets.counts, parameters)
    value, _ = likelihood.value(best)
    return Outcome(
        mapping,
        value,
        bound=max(search.bound, value),
        space=Space.PARAMETERS,
        work=rounds + search.boxes,
        stop=stop,
        margins=margins,
        tolerance=PARAMETER_TOLERANCE,
        witness=search.witness(),
        parameters=parameters,
    )


@cache
def _compile() -> None:
    """Compiles all loops, which takes some ten seconds the very first time; that is no time of the search."""
    counts, weights = np.array([[[3.0, 1.0]], [[1.0, 3.0]], [[4.0, 0.0]]]), np.array([3.0, 2.0, 1.0])
    tiny = MarginalLikelihood(counts, weights, np.zeros((3, 2)), None, interchangeable=True)
    BoxSearch(tiny, Limits(np.inf), np.full((3, 2), 0.5)).run()


def _best_names(likelihood: MarginalLikelihood, point: Floats) -> Floats:
    """The point under the names of labels that agree with most responses, where names can be exchanged."""
    from scipy.optimize import linear_sum_assignment

    n, n_classes = likelihood.n_labels, likelihood.n_classes
    if not likelihood.interchangeable:
        return point
    _, names = linear_sum_assignment(likelihood.expected_answers(point), maximize=True)
    order = np.argsort(names)
    matrices = point[1:].reshape(n, n_classes, n)[order]
    return np.concatenate([point[:1, order], matrices.reshape(n * n_classes, n)])


MARGINAL = Engine("marginal", marginal, one_label=True)
