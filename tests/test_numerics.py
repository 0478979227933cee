"""Extreme numbers, against sixty digits: what a certificate says holds within its tolerance."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from crowdopt import Solution, aggregate, solve, verify
from crowdopt.certificate import Proof, Space
from crowdopt.errors import InputError
from crowdopt.recheck import always_above, log_likelihood
from crowdopt.verify import Verdict
from effort import effort
from extremes import TRILLION, Extreme, draw, extreme
from precise import Exact

MOVED = 4
"""Tolerances by which a number that is wrong is wrong."""


def engines_of(case: Extreme) -> list[str]:
    problem = case.problem
    fitting = ["auto", "search", "columns", "em"]
    if problem.space is Space.DOMINANCE:
        fitting += ["chain", "enumerate"]
    if problem.buckets.n_labels == 2 and problem.buckets.n_classes == 1:
        fitting += ["scan"]
    return fitting


def errors(case: Extreme, solution: Solution) -> dict[str, float]:
    """By how many tolerances what is said is wrong."""
    certificate, exact = solution.certificate, case.exact
    true, rounding = exact.value(solution.mapping), Decimal(case.problem.tolerance(certificate.objective))
    independent = log_likelihood(case.problem, solution.mapping)
    found = {
        "objective": float(abs(Decimal(certificate.objective) - true) / rounding),
        "recheck": float(abs(Decimal(independent) - true) / rounding),
    }
    if certificate.bound is not None:
        best, slack = exact.optimum(certificate.space.value), Decimal(certificate.tolerance)
        found["bound"] = float((best - Decimal(certificate.bound)) / slack)
        found["plain bound"] = float((best - Decimal(always_above(case.problem))) / rounding)
    return found


@pytest.mark.parametrize("part", range(4))
def test_what_is_said_holds_within_the_tolerance(part):
    """Also where there are more responses than 2⁵³, and all engines: likelihood, bound, and both again for verify."""
    n_beyond = 0
    for seed in range(part, effort(120), 4):
        case = draw(np.random.default_rng([seed, 53]))
        n_beyond += case.problem.buckets.n_responses > 2**53
        engines = engines_of(case)
        for engine in {"auto", engines[seed % len(engines)]}:
            solution = case.solve(engine)
            wrong = {name: error for name, error in errors(case, solution).items() if not error <= 1}
            assert not wrong, (seed, engine)
            certificate = solution.certificate
            assert (certificate.proof is Proof.NONE) == (certificate.gap is None)
            found = case.verify(solution)
            assert found.verdict is not Verdict.REJECTED, (seed, engine, found.reasons)
    assert n_beyond
