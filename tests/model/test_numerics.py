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

from crowdopt import Solution, prove, solve, verify
from crowdopt.errors import InputError
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.offsets import Offsets
from crowdopt.verify.optimum import always_above, log_likelihood
from crowdopt.verify.verdict import Verdict
from support.extremes import TRILLION, Extreme, draw, extreme
from support.precise import Exact

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
def test_what_is_said_holds_within_the_tolerance(part, effort):
    """Whatever the engine, also where there are more responses than 2⁵³; verify finds the same, and moved numbers."""
    n_beyond = 0
    for seed in range(part, effort(120), 4):
        case = draw(np.random.default_rng([seed, 53]))
        n_beyond += case.problem.buckets.n_responses > 2**53
        engines = engines_of(case)
        for engine in {"auto", engines[seed % len(engines)]}:
            solution = case.solve(engine)
            assert max(errors(case, solution).values()) <= 1, (seed, engine)
            found = case.verify(solution)
            assert found.verdict is Verdict.CONFIRMED, (seed, engine, found.reasons)
            for moved in (+MOVED, -MOVED):
                assert case.verify(lied(solution, moved)).verdict is Verdict.REJECTED, (seed, engine)
    assert n_beyond or part % 2 == 0 or effort(120) < 40


def test_prices_may_be_far_larger_than_what_they_sum_up_to():
    """A share of 1e-300 for 10¹² tasks: prices of 10¹⁴ nats prove a bound of -76, as their sum is rounded once."""
    pairs = [(288, 195), (577, 708), (602, 898), (695, 377), (846, 648), (945, 678)]
    counts = [[[one, 0], [other, 0]] for one, other in pairs]
    known = Offsets.of(2, 2, smoothing=1.0)
    case = extreme(counts, [TRILLION] * 6, space="all", kind="given", shares=(1.0, 1e-300), offsets=known)
    solution = case.solve("columns")
    assert solution.certificate.proof is Proof.PROVED
    assert max(errors(case, solution).values()) <= 1
    found = case.verify(solution)
    assert found.verdict is Verdict.CONFIRMED, found.reasons


def lied(solution: Solution, tolerances: int) -> Solution:
    """The same with another likelihood; the bound moves with it, as the gap is kept."""
    certificate = solution.certificate
    step = tolerances * certificate.tolerance
    bound = None if certificate.bound is None else certificate.bound + step
    return replace(solution, certificate=replace(certificate, objective=certificate.objective + step, bound=bound))


def test_a_bound_below_the_optimum_is_rejected(effort):
    """By a few tolerances, where a proof leaves room: what is bounded is said to be bounded better."""
    n_tried = 0
    for seed in range(effort(60)):
        case = draw(np.random.default_rng([seed, 54]))
        solution = case.solve("search")
        certificate = solution.certificate
        best = float(case.exact.optimum(certificate.space.value))
        bound = best - MOVED * certificate.tolerance
        if certificate.proof is Proof.PROVED or bound <= certificate.objective + MOVED * certificate.tolerance:
            continue
        n_tried += 1
        low = replace(solution, certificate=replace(certificate, bound=bound))
        assert case.verify(low).verdict is Verdict.REJECTED, seed
    assert n_tried or effort(60) < 60


# A million buckets of two labels.


@pytest.mark.full
def test_a_million_buckets():
    """All counts up to 1000, weights up to 10⁶: the scan against every cut, the near ones to sixty digits."""
    rng = np.random.default_rng(6)
    no, yes = (axis.ravel()[1:] for axis in np.mgrid[0:1001, 0:1000])
    weights = np.floor(10 ** rng.uniform(0, 6, len(no))).astype(np.int64)
    result = solve(np.column_stack([no, yes]), weights)
    certificate = result.certificate
    assert (certificate.proof, certificate.engine, certificate.space) == (Proof.PROVED, "scan", Space.ALL)

    shares = yes / (no + yes)  # of so small counts, shares that differ differ as floating-point numbers
    order = np.argsort(shares, kind="stable")
    last = np.flatnonzero(np.diff(shares[order], append=2.0))
    low = np.stack([(weights * no)[order].cumsum()[last], (weights * yes)[order].cumsum()[last]], axis=1)
    low, total = np.concatenate([[[0, 0]], low]), low[-1]
    values = sum(roughly(side) for side in (low, total - low))
    near = np.flatnonzero(values >= values.max() * (1 + 1e-9))
    empty = Exact(np.zeros((1, 1, 2), np.int64), np.ones(1, np.int64))
    exact = {
        int(cut): empty.of_sums(0, [low[cut].tolist()], 0) + empty.of_sums(1, [(total - low[cut]).tolist()], 0)
        for cut in near
    }
    best = max(exact, key=exact.__getitem__)
    assert len(exact) > 1
    assert (result.mapping == (shares > shares[order][last[best - 1]])).all()
    assert abs(Decimal(certificate.objective) - exact[best]) <= Decimal(certificate.tolerance)
    assert Decimal(certificate.bound) >= exact[best] - Decimal(certificate.tolerance)
    assert certificate.tolerance < 1e-12 * abs(certificate.objective)


def roughly(counts: np.ndarray) -> np.ndarray:
    """Φ of counts (cut, answer) by the plain formula in extended precision, good to 1e-15 or so."""
    parts, whole = counts.astype(np.longdouble), counts.sum(axis=1).astype(np.longdouble)
    return sum(x * np.log(np.where(x > 0, x, 1)) for x in parts.T) - whole * np.log(np.where(whole > 0, whole, 1))


# Near ties.


def nearly_tied(counts, weights: list[int], at: int, mappings, space: str) -> list[Extreme]:
    """The weight of one bucket moved to where two mappings are as likely as whole numbers allow, and just past it."""

    def case(weight: int) -> Extreme:
        return extreme(counts, [*weights[:at], weight, *weights[at + 1 :]], space=space)

    def gain(weight: int) -> Decimal:
        one, other = (case(weight).exact.value(mapping) for mapping in mappings)
        return one - other

    low, high = 1, 1000 * max(weights)
    assert (gain(low) > 0) != (gain(high) > 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if (gain(middle) > 0) == (gain(high) > 0) else (middle, high)
    return [case(low), case(high)]


TWO_LABELS = np.array([[0, 4], [1, 3], [3, 1], [4, 0]])
THREE_LABELS = np.array([[0, 0, 4], [0, 4, 0], [2, 2, 0], [4, 0, 0]])


@pytest.mark.grid
@pytest.mark.parametrize("size", [10**3, 10**6, 10**9, 10**12, 10**14])
@pytest.mark.parametrize(
    ("counts", "space", "engine"),
    [
        (TWO_LABELS, "dominance", "scan"),
        (TWO_LABELS, "dominance", "chain"),
        (THREE_LABELS, "dominance", "chain"),
        (THREE_LABELS, "all", "columns"),
    ],
)
def test_near_ties_are_told_apart_or_within_the_tolerance(counts, space, engine, size):
    """The two best mappings differ by 1e-4 to 1e-16 of the likelihood: no claim is wrong by more than the tolerance."""
    top = counts.shape[1] - 1
    one = np.array([top, top - 1, 0, 0] if top > 1 else [1, 1, 0, 0])
    other = np.array([top, top - 1, top - 1, 0] if top > 1 else [1, 1, 1, 0])
    order = np.lexsort(counts.T[::-1])  # as buckets are sorted
    at = int(np.flatnonzero(order == 3)[0])
    for case in nearly_tied(counts[order], [size] * 4, at, (one[order], other[order]), space):
        solution = case.solve(engine)
        certificate = solution.certificate
        best, second = sorted((case.exact.value(mapping) for mapping in (one[order], other[order])), reverse=True)
        own, tolerance = case.exact.value(solution.mapping), Decimal(certificate.tolerance)
        assert best == case.exact.optimum(space)
        assert certificate.proof is Proof.PROVED
        assert max(errors(case, solution).values()) <= 1
        assert best <= Decimal(certificate.objective) + Decimal(certificate.gap) + tolerance
        assert own >= best - 2 * tolerance
        assert own == best or best - second <= 2 * tolerance
        assert case.verify(solution).verdict is Verdict.CONFIRMED


# The logarithm of nought.

TABLES = {
    "one answer for all": [("a", "x", 1), ("a", "y", 1), ("b", "x", 1)],
    "never wrong": [(task, worker, 1 + task % 2) for task in range(6) for worker in "xyz"],
    "one task": [("a", "x", 1), ("a", "y", 2)],
    "one response": [("a", "x", 2)],
    "one label without doubt, one with": [(t, w, 1 if t < 3 else 1 + (w + t) % 2) for t in range(6) for w in range(3)],
    "a label that few give": [(t, w, 2 if t == w == 0 else 1) for t in range(9) for w in range(3)],
}
KNOWLEDGE = {
    "nothing": {},
    "shares of nought and one": {"selectivity": {1: 1.0, 2: 0.0}},
    "a share of 1e-300": {"selectivity": {1: 1.0, 2: 1e-300}},
    "estimated shares": {"selectivity": "estimate"},
    "a prior that knows no errors": {"prior_matrix": [[5.0, 0.0], [0.0, 5.0]]},
    "a prior with an empty row": {"prior_matrix": [[5.0, 1.0], [0.0, 0.0]]},
    "a prior of nothing": {"prior_matrix": [[0.0, 0.0], [0.0, 0.0]]},
    "a little smoothing": {"smoothing": 1e-100},
}


OTHERS = ("em", "soft-em", "search", "columns", "vote")


@pytest.mark.grid
@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("table", TABLES)
def test_logarithms_of_nought_leave_no_trace(table, knowledge, tmp_path):
    """Nothing that is not a number, and no warning, in answers, workers, predictions, matrices and files."""
    data = pd.DataFrame(TABLES[table], columns=["task", "worker", "label"]).astype({"task": str, "worker": str})
    solution = prove(data, labels=[1, 2], **KNOWLEDGE[knowledge])
    assert solution.certificate.proof is Proof.PROVED
    assert_finite(solution)
    assert_numbers(solution.answers_frame(probabilities=True), "margin")
    assert_numbers(solution.predict(data, probabilities=True))
    assert_numbers(solution.workers(), "agreement", "chance")
    assert_numbers(solution.next_tasks())
    solution.save(tmp_path / "solution.json")
    assert verify(tmp_path / "solution.json", data).verdict is Verdict.CONFIRMED
    other = OTHERS[(list(TABLES).index(table) + list(KNOWLEDGE).index(knowledge)) % len(OTHERS)]
    if other != "vote" or knowledge != "shares of nought and one":  # the vote knows nothing of labels that cannot be
        assert_finite(prove(data, labels=[1, 2], engine=other, **KNOWLEDGE[knowledge]))


def assert_finite(solution: Solution) -> None:
    """Likelihood, bound, posterior, matrices and summary; a row of a matrix is there or is not."""
    assert math.isfinite(solution.certificate.objective)
    assert solution.certificate.bound is None or math.isfinite(solution.certificate.bound)
    assert np.isfinite(solution.posterior).all()
    assert np.allclose(solution.posterior.sum(axis=1), 1)
    for matrix in (solution.matrix, solution.soft_matrix):
        unknown = np.isnan(matrix)
        assert (unknown.any(axis=2) == unknown.all(axis=2)).all()
        assert np.allclose(matrix.sum(axis=2)[~unknown.any(axis=2)], 1)
    json.dumps(solution.summary(), allow_nan=False)


def assert_numbers(frame: pd.DataFrame, *may_be_missing: str) -> None:
    """No number is missing or infinite, but for columns where that means something."""
    numbers = frame.select_dtypes("number").drop(columns=list(may_be_missing), errors="ignore")
    assert np.isfinite(numbers.to_numpy(float)).all(), numbers


def test_what_a_label_cannot_have_is_no_answer():
    """A share of nought forbids a label, however many answer it; a share of 1e-300 costs 691 nats a task."""
    counts = [[0, 3], [3, 0]]
    forbidden = solve(counts, [TRILLION, 1], selectivity=[1.0, 0.0])
    assert forbidden.mapping.tolist() == [0, 0]
    rare = solve(counts, [TRILLION, 1], selectivity=[1.0, 1e-300])
    case = extreme(counts, [TRILLION, 1], kind="given", shares=(1.0, 1e-300))
    assert rare.certificate.objective == pytest.approx(float(case.exact.optimum("dominance")), rel=1e-14)
    assert np.isfinite(rare.matrix).any()


def test_products_are_whole_numbers_up_to_the_limit():
    """Responses are tasks times counts: exact to 2⁶², and refused beyond."""
    weights = [2**60, 2**60 - 1]
    result = solve([[0, 1], [2, 0]], weights)
    exact = extreme([[0, 1], [2, 0]], weights).exact
    assert result.certificate.objective == float(exact.optimum("all")) == 0.0
    with pytest.raises(InputError, match="do not fit into 64-bit counts"):
        solve([[0, 3], [2, 0]], weights)
    mixed = extreme([[1, 2], [2, 1]], [2**60, 2**58])
    assert max(errors(mixed, mixed.solve()).values()) <= 1


def test_small_likelihoods_are_ratios_of_whole_numbers():
    """A likelihood is a product of nⁿ over one of Nᴺ: the same as a fraction, without any logarithm."""
    counts, weights = np.array([[0, 3], [1, 2], [2, 1], [3, 0]]), np.array([3, 1, 2, 4])
    result = solve(counts, weights)
    likelihood = Fraction(1)
    for label in (0, 1):
        answers = [int(n) for n in (weights[:, None] * counts)[result.mapping == label].sum(axis=0)]
        likelihood *= Fraction(math.prod(n**n for n in answers), sum(answers) ** sum(answers))
    assert math.exp(result.certificate.objective) == pytest.approx(float(likelihood), rel=1e-13)
