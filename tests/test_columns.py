"""The columns engine against brute force, and what it says when it is stopped."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from crowdopt.buckets import Buckets
from crowdopt.certificate import Proof, Space, Stop
from crowdopt.problem import Problem
from crowdopt.solve.columns import columns
from crowdopt.solve.engine import Limits, certify
from test_enumerate import KINDS, random_objective, random_tasks


def certificate_of(problem, outcome):
    return certify(problem, outcome, engine="columns", seconds=0.0, fingerprint="")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_equals_brute_force(equal, n_labels, kind):
    """Value and proof of 2000 problems."""
    for seed in range(25):
        rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind), 9])
        tasks = random_tasks(rng, n_labels, equal=equal)
        objective, shares = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, Space.ALL, objective)
        outcome = columns(problem, Limits())
        certificate = certificate_of(problem, outcome)
        truth = oracle.brute_force(tasks, space="all", shares=shares)
        assert (certificate.proof, certificate.space, certificate.stop) == (Proof.PROVED, Space.ALL, Stop.FINISHED)
        assert outcome.objective == pytest.approx(truth.value, abs=1e-6)
        assert outcome.bound >= truth.value - 1e-9
        assert outcome.objective == pytest.approx(
            oracle.log_likelihood(tasks, outcome.mapping[index], shares), abs=1e-9
        )
