"""Boxes of parameters: no point of a box is above its bound, and no point that matters is cut away."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest

from crowdopt.engines.marginal.box_kernels import NOTHING, examine_box
from crowdopt.engines.marginal.cells import probability_cells, saturated
from crowdopt.engines.marginal.likelihood import MarginalLikelihood
from crowdopt.engines.marginal.reduction_kernels import has_no_fixed_point, keep_names
from crowdopt.engines.marginal.row_kernels import largest_in_row, score_ranges, scores_at, tighten
from crowdopt.engines.marginal.starts import best_of_starts, climb_by_em
from support.marginal import KINDS, small_problem, values_at

SIZES = [(2, 1), (2, 3), (3, 1), (3, 2), (4, 1), (8, 1)]
ROUNDING = 1e-9
"""What the sums of these tests may be off, per nat of likelihood up to some hundred."""


def random_box(rng, likelihood):
    """A box of any width around a random point, or one that EM ends in; with faces, and with points of no width."""
    n = likelihood.n_labels
    center = rng.dirichlet(np.full(n, rng.choice([0.2, 1.0])), len(likelihood.pseudo))
    if rng.random() < 0.4:
        (center,), _ = climb_by_em(likelihood, center[None], 50)
    width = rng.choice([0.0, 1e-12, 0.02, 0.1, 0.4, 1.0])
    low = np.maximum(center - width * rng.random(center.shape), 0)
    high = np.minimum(center + width * rng.random(center.shape), 1)
    low[rng.random(low.shape) < 0.1], high[rng.random(low.shape) < 0.1] = 0, 1
    if likelihood.shares is not None:
        low[0] = high[0] = center[0] = likelihood.shares
    return low, high, center


def points_in(rng, low, high, center, n):
    """Points of a box whose rows sum to one, the center among them; some at corners."""
    points = [center]
    for at in range(n):
        point = rng.uniform(low, high) if at % 2 else np.where(rng.random(low.shape) < 0.5, low, high)
        for row in range(len(low)):
            for a in rng.permutation(low.shape[1]):
                point[row, a] = np.clip(point[row, a] + 1 - point[row].sum(), low[row, a], high[row, a])
        if np.abs(point.sum(axis=1) - 1).max() < 1e-15:
            points.append(point)
    return np.array(points)


def at_points(problem, points):
    n, k = problem.buckets.n_labels, problem.buckets.n_classes
    return values_at(problem, points[:, 0], points[:, 1:].reshape(-1, n, k, n).swapaxes(1, 2))


def examined(likelihood, low, high, threshold, cells, names=(-1, None)):
    low, high, point = low.copy(), high.copy(), np.empty(low.shape)
    names = (names[0], np.arange(likelihood.n_labels, dtype=np.int64) if names[1] is None else names[1])
    bound, *_ = examine_box(
        low, high, likelihood.counts, likelihood.own, likelihood.weights, likelihood.pseudo,
        likelihood.first_free, names, cells, threshold, point,
    )  # fmt: skip
    return bound, low, high


def is_left_alone(likelihood, low, high):
    ranges = np.empty((len(likelihood.weights), likelihood.n_labels, 2))
    score_ranges(low, high, likelihood.counts, likelihood.own, ranges)
    return not has_no_fixed_point(
        low, high, likelihood.counts, likelihood.weights, likelihood.pseudo, ranges, likelihood.first_free
    )


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_point_of_a_box_is_above_its_bound(size, kind, effort):
    rng = np.random.default_rng([*size, KINDS.index(kind)])
    for _ in range(effort(10)):
        problem = small_problem(rng, *size, kind)
        likelihood = MarginalLikelihood.of(problem)
        none = probability_cells(likelihood, 0.0, 0)
        for _ in range(10):
            low, high, center = random_box(rng, likelihood)
            points = points_in(rng, low, high, center, 60)
            values = at_points(problem, points)
            bound, *_ = examined(likelihood, low, high, -1e290, none)
            if bound != NOTHING:  # no maximiser is in the box
                assert (values <= bound + ROUNDING).all()


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_point_that_beats_the_threshold_is_cut_away(size, kind, effort):
    rng = np.random.default_rng([*size, KINDS.index(kind), 1])
    kept = 0
    for _ in range(effort(10)):
        problem = small_problem(rng, *size, kind)
        likelihood = MarginalLikelihood.of(problem)
        at_most = saturated(likelihood)
        for _ in range(10):
            low, high, center = random_box(rng, likelihood)
            points = points_in(rng, low, high, center, 40)
            values = at_points(problem, points)
            assert values.max() <= at_most + ROUNDING
            threshold = np.sort(values)[-min(3, len(values))] - 1e-6
            if not np.isfinite(threshold):
                continue
            cells = probability_cells(likelihood, max(at_most - threshold, 0.0), 3)
            bound, left, right = examined(likelihood, low, high, threshold, cells)
            narrow, wide = low.copy(), high.copy()
            if not tighten(narrow, wide, likelihood.first_free):
                continue  # a box without width, whose numbers do not sum to one
            if bound == NOTHING and not is_left_alone(likelihood, narrow, wide):
                continue
            for point in points[values > threshold + ROUNDING]:
                kept += 1
                assert bound > threshold or bound == NOTHING
                if bound != NOTHING:
                    assert (point >= left - 1e-15).all()
                    assert (point <= right + 1e-15).all()
    assert kept or size == (8, 1)  # in which hardly a point sums to one


def test_what_em_leaves_alone_is_kept(effort):
    rng = np.random.default_rng(7)
    for _ in range(effort(200)):
        size = SIZES[rng.integers(5)]
        likelihood = MarginalLikelihood.of(small_problem(rng, *size, str(rng.choice(KINDS))))
        start = rng.dirichlet(np.ones(size[0]), (1, len(likelihood.pseudo)))
        if likelihood.shares is not None:
            start[:, 0] = likelihood.shares
        (point,), _ = climb_by_em(likelihood, start, 20_000, -1e-6)
        width = rng.choice([1e-7, 1e-3, 0.1])
        low, high = np.maximum(point - width, 0), np.minimum(point + width, 1)
        assert is_left_alone(likelihood, low, high)


def test_boxes_far_from_what_em_leaves_alone_are_cut():
    likelihood = MarginalLikelihood.of(small_problem(np.random.default_rng(1), 2, 1))
    low, high = np.array([[0.1, 0.88], [0.1, 0.85], [0.2, 0.75]]), np.array([[0.12, 0.9], [0.15, 0.9], [0.25, 0.8]])
    assert not is_left_alone(likelihood, low, high)


def test_scores_are_within_their_ranges(effort):
    rng = np.random.default_rng(8)
    for _ in range(effort(300)):
        likelihood = MarginalLikelihood.of(small_problem(rng, *SIZES[rng.integers(len(SIZES))]))
        low, high, center = random_box(rng, likelihood)
        ranges = np.empty((len(likelihood.weights), likelihood.n_labels, 2))
        scores = np.empty(ranges.shape[:2])
        score_ranges(low, high, likelihood.counts, likelihood.own, ranges)
        for point in points_in(rng, low, high, center, 20):
            scores_at(point, likelihood.counts, scores)
            assert (scores >= ranges[..., 0] - 1e-12 * np.abs(scores)).all()
            assert (scores <= ranges[..., 1] + 1e-12 * np.abs(scores)).all()


def test_a_row_is_filled_up_to_its_maximum(effort):
    rng = np.random.default_rng(9)
    for _ in range(effort(2000)):
        n = int(rng.integers(1, 7))
        c = rng.exponential(1, n) * rng.choice([0, 1e-30, 1, 1e6], n)
        center = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0])))
        width = rng.choice([0, 1e-13, 0.1, 1.0])
        low, high = np.maximum(center - width * rng.random(n), 0), np.minimum(center + width * rng.random(n), 1)
        bound = largest_in_row(c, low, high, np.empty(n))
        for point in points_in(rng, low[None], high[None], center[None], 20)[:, 0]:
            value = np.sum(c[c > 0] * np.log(np.maximum(point[c > 0], 1e-320)))
            assert value <= bound + 1e-12 * (1 + c.sum())
        assert bound <= 0


def test_every_point_has_a_name_of_labels_that_is_kept():
    rng = np.random.default_rng(10)
    for _ in range(200):
        n, k = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        point, answers, by = rng.dirichlet(np.ones(n), (1 + n * k)), rng.permutation(n), int(rng.integers(k))
        matrices, left, order = point[1:].reshape(n, k, n), list(range(n)), []
        for a in answers.tolist():
            order.append(max(left, key=lambda z, a=a: matrices[z, by, a]))
            left.remove(order[-1])
        named = np.concatenate([point[:1, order], matrices[order].reshape(n * k, n)])
        low, high = named.copy(), named.copy()
        assert keep_names(low, high, by, answers)
        assert np.array_equal(low, named)
        assert np.array_equal(high, named)


def test_the_value_is_as_exact_as_it_says(effort):
    getcontext().prec = 50
    rng = np.random.default_rng(12)
    for _ in range(effort(50)):
        problem = small_problem(rng, 3, 2, "prior")
        likelihood = MarginalLikelihood.of(problem)
        point, _ = best_of_starts(likelihood, 0)
        value, doubt = likelihood.value(point)
        exact = _exactly(likelihood, [[Decimal(p) for p in row] for row in point.tolist()])
        assert abs(Decimal(value) - exact) <= Decimal(doubt)
        assert doubt < 1e-9


def _exactly(likelihood, point):
    """L at a point whose rows are made to sum to one, with fifty digits."""
    rows = [[p / sum(row) for p in row] for row in point]
    n, k = likelihood.n_labels, likelihood.n_classes
    whole = Decimal(0)
    for counts, weight in zip(likelihood.counts.tolist(), likelihood.weights.tolist(), strict=True):
        total = Decimal(0)
        for z in range(n):
            term = rows[0][z]
            for at in range(k):
                for a in np.flatnonzero(counts[at]).tolist():
                    term *= rows[1 + z * k + at][a] ** int(counts[at][a])
            total += term
        whole += int(weight) * total.ln()
    for row, known in zip(rows, likelihood.pseudo.tolist(), strict=True):
        whole += sum((Decimal(g) * p.ln() for g, p in zip(known, row, strict=True) if g), Decimal(0))
    return whole
