"""Hard EM under dominance: its labels against trying every mapping, and that it never lowers the likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.isotone_em import IsotoneEM
from crowdopt.engines.local_search import Climbs
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.problem import Problem
from support import oracle
from support.problems import KINDS, random_objective, random_tasks


@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_labels_equal_trying_every_mapping(equal, n_labels, effort):
    for seed in range(effort(40, whole=True)):
        rng = np.random.default_rng([seed, n_labels, equal, 31])
        buckets, _ = Buckets.from_arrays(random_tasks(rng, n_labels, equal=equal))
        em = IsotoneEM(Climbs(Problem(buckets), Limits(np.inf)))
        rows = rng.dirichlet(np.ones(n_labels), (3, n_labels))
        found = em._assigned(rows, np.ones((3, n_labels)), em.arcs.no_flows(3))
        mappings = oracle.consistent_mappings(buckets.counts[:, 0])
        for mapping, matrix in zip(found, rows, strict=True):
            scores = buckets.responses[:, 0] @ np.log(matrix).T
            values = scores[np.arange(len(scores)), mappings].sum(axis=1)
            assert oracle.respects_order(buckets.counts[:, 0], mapping)
            assert scores[np.arange(len(scores)), mapping].sum() == pytest.approx(values.max(), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_where_it_ends_it_stays(kind, effort):
    """Ends respect the order, use no forbidden label, and one more round gains nothing."""
    for seed in range(effort(20, whole=True)):
        rng = np.random.default_rng([seed, KINDS.index(kind), 32])
        n_labels = int(rng.integers(2, 6))
        tasks = random_tasks(rng, n_labels, equal=bool(seed % 2))
        objective, shares = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        em = IsotoneEM(Climbs(Problem(buckets, Space.DOMINANCE, objective), Limits(np.inf)))
        ends = em.starts(6, rng)
        values = np.array([oracle.log_likelihood(tasks, end[index], shares) for end in ends])
        again = em._assigned(*em._refitted(ends), em.arcs.no_flows(len(ends)))
        after = np.array([oracle.log_likelihood(tasks, mapping[index], shares) for mapping in again])
        assert np.isfinite(values).all()
        assert (after <= values + 1e-6).all()
        assert all(oracle.respects_order(tasks, end[index]) for end in ends)
