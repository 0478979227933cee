"""One trial: draw a crowd, run every algorithm on it, and measure what they found.

A crowd is a table of tasks by (true label, bucket). The engines are those of the library; metrics are computed from
the mappings, for many trials at once.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.base import Limits
from crowdopt.engines.chain import chain
from crowdopt.engines.columns.engine import columns
from crowdopt.engines.em.hard import START_NAMES, hard_em, likeliest
from crowdopt.engines.local_search import Steps
from crowdopt.engines.scan import scan
from crowdopt.engines.tie_breaking import renamed
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.objective import Objective, phi
from crowdopt.model.order import Order
from crowdopt.model.problem import Problem
from crowdopt.studies.paper.scores import distance_weighted, emd_score, fraction_incorrect, jsd_score
from crowdopt.studies.paper.setups import DISTANCE, EMD, IN_ORDER, INCORRECT, JSD, LIKELIHOOD, RATE_0, RATE_1, Setup
from crowdopt.studies.simulate import random_matrix
from crowdopt.studies.simulate_counts import Lattice, tasks_by_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.em.hard import HardRun
    from crowdopt.studies.paper.real_data import Known

ESTIMATED = Objective("estimated")
"""The likelihood of the labels as well, their shares estimated with the rest."""


@dataclass(frozen=True, eq=False)
class Crowds:
    """The crowds of several trials with the same possible buckets.

    Attributes:
        lattice: The buckets.
        tables: Tasks by (trial, true label, bucket).
        matrices: The matrix of each trial, by (trial, true, answered); None where nobody knows it.
    """

    lattice: Lattice
    tables: Ints
    matrices: Floats | None

    @cached_property
    def weights(self) -> Ints:
        """Tasks by (trial, bucket)."""
        return np.asarray(self.tables.sum(axis=1))


def simulated(setup: Setup, size: int, rngs: list[np.random.Generator]) -> Crowds:
    """Draws a crowd with each generator: workers, then truths, then responses.

    Workers come first, so that generators of one state give the same workers for any number of tasks.
    """
    lattice = _lattice(setup.n_labels, size)
    tables, matrices = [], []
    for rng in rngs:
        matrices.append(random_matrix(setup.n_labels, rng, setup.kind))
        draw = tasks_by_share if setup.exact else rng.multinomial
        tasks = draw(setup.n_tasks, setup.shares)
        tables.append(lattice.draw(tasks, matrices[-1], rng))
    return Crowds(lattice, np.array(tables), np.array(matrices))


def sampled(known: Known, size: int, rngs: list[np.random.Generator]) -> Crowds:
    """Picks ``size`` responses of each task at random with each generator, for two labels."""
    lattice = _lattice(2, size)
    # The lattice is sorted by the lower label, which therefore is a bucket's place in it.
    lower = [rng.hypergeometric(known.counts[:, 0], known.counts[:, 1], size) for rng in rngs]
    return Crowds(lattice, np.array([_table(known, place, size + 1) for place in lower]), None)


def whole(known: Known) -> Crowds:
    """All responses, once."""
    counts, place = np.unique(known.counts, axis=0, return_inverse=True)
    lattice = Lattice(counts[:, None], np.ones(len(counts)))
    return Crowds(lattice, _table(known, place.reshape(-1), len(counts))[None], None)


def _table(known: Known, place: Ints, n_buckets: int) -> Ints:
    table = np.zeros((known.counts.shape[1], n_buckets), np.int64)
    np.add.at(table, (known.truth, place), 1)
    return table


@lru_cache(maxsize=64)
def _lattice(n_labels: int, size: int) -> Lattice:
    return Lattice.full(n_labels, size)


def solve_all(setup: Setup, crowds: Crowds) -> Ints:
    """The mappings by (trial, algorithm, bucket); an empty bucket has label 0."""
    counts, weights = crowds.lattice.counts, crowds.weights
    mappings = np.zeros((len(weights), len(setup.algorithms), len(counts)), np.int64)
    for trial, held in enumerate(weights):
        used = held > 0
        buckets = Buckets(counts[used], held[used])
        mappings[trial][:, used] = _filter(buckets) if setup.n_labels == 2 else _rate(buckets, setup)
    return mappings


def _filter(buckets: Buckets) -> list[Ints]:
    """Two labels: the scan, over all mappings; EM; the scan that also estimates the shares of the labels; EM again.

    EM's ties go to the lowest label first, and then to the highest, which changes nothing where there were none.
    """
    problem = Problem(buckets, Space.ALL)
    best = scan(problem, Limits(math.inf)).mapping
    shares = scan(replace(problem, objective=ESTIMATED), Limits(math.inf)).mapping
    low = [hard_em(problem, name) for name in START_NAMES]
    high = [hard_em(problem, START_NAMES[k], ties="highest") if run.tied else run for k, run in enumerate(low)]
    return [best, *_ends(problem, low), shares, *_ends(problem, high)]


def _rate(buckets: Buckets, setup: Setup) -> list[Ints]:
    """More labels: the longest path, over mappings that respect the order; EM, which knows no order; the best of all.

    That is the best that was found from there, or the optimum over all mappings where the setup asks for it.
    """
    problem = Problem(buckets, Space.DOMINANCE)
    best = chain(problem, Limits(math.inf)).mapping
    ends = _ends(problem, [hard_em(problem, name) for name in START_NAMES])
    free = replace(problem, space=Space.ALL)
    return [best, *ends, columns(free, Limits(math.inf)).mapping if setup.all_mappings else climb(free, [best, *ends])]


def _ends(problem: Problem, runs: list[HardRun]) -> list[Ints]:
    """Where EM ended from each start, and the likeliest of these."""
    return [run.mapping for run in (*runs, likeliest(problem, runs))]


def climb(problem: Problem, mappings: list[Ints]) -> Ints:
    """The likeliest mapping that refitting, and then single moves, lead to from any of these; the first of equals."""
    steps, found = Steps(problem), np.array(mappings)
    for stage in (steps.refit, steps.best_move):
        active = np.arange(len(found))
        while len(active):
            better, gained = stage(found[active])
            found[active[gained]] = better[gained]
            active = active[gained]
    values = steps.values(found)
    likeliest_of_all = found[np.argmax(values >= values.max() - problem.tolerance(values.max()))]
    return renamed(problem, likeliest_of_all)


def measure_trials(setup: Setup, crowds: Crowds, mappings: Ints) -> Floats:
    """The metrics of the setup by (trial, algorithm, metric)."""
    responses = _responses(crowds, mappings)
    all_of = responses.sum(axis=-1, keepdims=True)
    matrices = np.where(all_of > 0, responses / np.maximum(all_of, 1), np.nan)
    tables = crowds.tables[:, None]
    ways: dict[str, Callable[[], Floats]] = {
        LIKELIHOOD: lambda: phi(responses[..., None, :]).sum(axis=-1),
        INCORRECT: lambda: fraction_incorrect(tables, mappings),
        DISTANCE: lambda: distance_weighted(tables, mappings),
        EMD: lambda: emd_score(matrices, _true(crowds, matrices)),
        JSD: lambda: jsd_score(matrices, _true(crowds, matrices)),
        RATE_0: lambda: matrices[..., 0, 1],
        RATE_1: lambda: matrices[..., 1, 0],
        IN_ORDER: lambda: _in_order(crowds, mappings),
    }
    return np.stack([ways[metric]() for metric in setup.metrics], axis=-1)


def _responses(crowds: Crowds, mappings: Ints) -> Ints:
    """Responses by (trial, algorithm, label, answer)."""
    held = crowds.weights[:, :, None] * crowds.lattice.counts.sum(axis=1)
    labels = range(crowds.lattice.n_labels)
    return np.stack([(mappings == label).astype(np.int64) @ held for label in labels], axis=2)


def _true(crowds: Crowds, like: Floats) -> Floats:
    if crowds.matrices is None:
        raise ValueError("nobody knows the matrix of real workers")
    return np.broadcast_to(crowds.matrices[:, None], like.shape)


def _in_order(crowds: Crowds, mappings: Ints) -> Floats:
    """Whether the clusters of a mapping respect the order, whatever names they go by, by (trial, algorithm)."""
    names = np.array(list(itertools.permutations(range(crowds.lattice.n_labels))))
    above, below = np.nonzero(Order.of(crowds.lattice.counts).dominates)
    found = np.zeros(mappings.shape[:2])
    for trial, held in enumerate(crowds.weights):
        both = (held[above] > 0) & (held[below] > 0)
        for algorithm, mapping in enumerate(mappings[trial]):
            over = np.zeros((crowds.lattice.n_labels,) * 2, bool)
            over[mapping[above[both]], mapping[below[both]]] = True
            wrong = over & (names[:, :, None] < names[:, None, :])
            found[trial, algorithm] = not wrong.any(axis=(1, 2)).all()
    return found
