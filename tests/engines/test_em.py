"""Expectation maximisation: that it climbs, where it stops, and that it never beats brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.em.hard import em, em1, em2, em3, hard_em
from crowdopt.engines.em.soft import soft_em
from crowdopt.engines.em.steps import START_NAMES
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from support import oracle
from support.em import ENGINES, KINDS, random_counts, random_objective, rises

KNOWN = ["nothing", "smoothing", "gold"]


STARTS = [*START_NAMES, "vote", "random", "zeros"]


N_TASKS = {2: 8, 3: 6, 4: 5, 5: 4}
"""Few enough tasks, by number of labels, to enumerate every mapping."""


def random_offsets(rng, known, n_labels, n_classes):
    if known == "gold":
        responses = rng.integers(0, 4, (n_labels, n_classes, n_labels)) * rng.integers(0, 2, (n_labels, 1, 1))
        return Offsets.of(n_labels, n_classes, gold=(responses, responses.any(axis=(1, 2)).astype(np.int64)))
    return Offsets.of(n_labels, n_classes, smoothing=0.0 if known == "nothing" else 0.5)


def random_start(rng, name, problem):
    shape = (problem.buckets.n_classes, problem.buckets.n_labels, problem.buckets.n_labels)
    if name == "random":
        return rng.dirichlet(np.ones(shape[1]), shape[:2]) * rng.uniform(0.1, 9, (*shape[:2], 1))
    if name == "zeros":
        return (rng.random(shape) < 0.6) + np.eye(shape[1])[rng.permutation(shape[1])]
    return name


def random_problems(n_seeds, *, n_tasks=25, starts=STARTS):
    """Problems of every kind with a start of every kind: (problem, start)."""
    for n_labels, n_classes, equal, kind in itertools.product((2, 3, 4, 5), (1, 2), (True, False), KINDS):
        for seed in range(n_seeds):
            rng = np.random.default_rng([seed, n_labels, n_classes, equal, KINDS.index(kind)])
            counts = random_counts(rng, n_tasks, n_labels, n_classes, equal=equal)
            offsets = random_offsets(rng, rng.choice(KNOWN), n_labels, n_classes)
            buckets, _ = Buckets.from_arrays(counts, rng.integers(1, 9, n_tasks))
            problem = Problem(buckets, Space.ALL, random_objective(rng, kind, n_labels, offsets))
            for name in starts:
                yield problem, random_start(rng, name, problem)


def forbidden(problem):
    return [label for label, share in enumerate(problem.objective.shares) if share == 0]


def log_p(matrix, counts, label):
    """Ln of the probability of the counts (class, answer) of one task, from the definition."""
    total = 0.0
    for k, i in itertools.product(*map(range, counts.shape)):
        if counts[k, i]:
            p = matrix[k, label, i]
            total += counts[k, i] * math.log(p) if p > 0 else -math.inf  # also where there is no row
    return total


def log(share):
    return math.log(share) if share > 0 else -math.inf


def marginal(problem, matrix, shares):
    """The marginal log-likelihood, from the definition."""
    total, objective = 0.0, problem.objective
    for counts, weight in zip(problem.buckets.counts, problem.buckets.weights, strict=True):
        terms = [log_p(matrix, counts, label) + log(share) for label, share in enumerate(shares)]
        total += weight * np.logaddexp.reduce(terms)
    if objective.offsets is not None:
        for label, share in enumerate(shares):
            total += log_p(matrix, objective.offsets.counts[label], label)
            if objective.kind == "estimated" and objective.offset_tasks(label):
                total += objective.offset_tasks(label) * math.log(share)
    return total


def test_hard_em_climbs_and_stops_where_its_own_matrix_agrees(effort):
    for problem, start in random_problems(effort(3)):
        run = hard_em(problem, start)
        assert rises(run.trace)
        assert run.converged
        assert run.stop is Stop.FINISHED
        assert np.isfinite(run.trace).all()
        assert not np.isin(run.mapping, forbidden(problem)).any()
        assert run.value == run.trace[-1] == problem.objective.of_mapping(problem.buckets, run.mapping)
        assert run.rounds == len(run.trace)
        rows = run.matrix[~np.isnan(run.matrix).any(axis=-1)]
        assert np.allclose(rows.sum(axis=-1), 1)
        _, tasks = problem.buckets.by_label(run.mapping)
        log_shares = problem.objective.log_shares(tasks)
        for counts, label in zip(problem.buckets.counts, run.mapping, strict=True):
            scores = np.array([log_p(run.matrix, counts, j) + log_shares[j] for j in range(len(tasks))])
            assert np.isfinite(scores[label])
            assert label == np.flatnonzero(scores >= scores.max() - 1e-9)[0]


def test_hard_em_fits_its_matrix_to_its_mapping_however_it_ends():
    for problem, start in random_problems(1):
        for max_rounds in (1, 2, 1000):
            run = hard_em(problem, start, max_rounds=max_rounds)
            assert run.rounds <= max_rounds
            for label in range(problem.buckets.n_labels):
                at = run.mapping == label
                for k in range(problem.buckets.n_classes):
                    counts = problem.buckets.responses[at, k].sum(axis=0).astype(float)
                    if problem.objective.offsets is not None:
                        counts += problem.objective.offsets.counts[label, k]
                    if counts.sum():
                        assert run.matrix[k, label] == pytest.approx(counts / counts.sum())
                    else:
                        assert np.isnan(run.matrix[k, label]).all() or at.any() or problem.objective.offsets is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_never_above_brute_force(equal, kind):
    reached = 0
    for n_labels, seed in itertools.product(N_TASKS, range(10)):
        rng = np.random.default_rng([seed, n_labels, equal, KINDS.index(kind)])
        tasks = random_counts(rng, N_TASKS[n_labels], n_labels, 1, equal=equal)[:, 0]
        objective = random_objective(rng, kind, n_labels)
        buckets, index = Buckets.from_arrays(tasks)
        problem = Problem(buckets, Space.ALL, objective)
        shares = {"none": None, "estimated": "estimate"}.get(kind, list(objective.shares))
        best = oracle.brute_force(tasks, space="all", shares=shares).value
        values = {}
        for engine in ENGINES:
            outcome = engine(problem, Limits())
            value = oracle.log_likelihood(tasks, outcome.mapping[index], shares)
            assert np.isfinite(value)
            assert outcome.objective == pytest.approx(value, abs=1e-9)
            assert value <= best + 1e-9
            assert outcome.bound is None
            assert (outcome.space, outcome.stop) == (Space.ALL, Stop.FINISHED)
            values[engine] = value
        assert values[em] == pytest.approx(max(values[em1], values[em2], values[em3]), abs=1e-9)
        reached += values[em] >= best - 1e-9
    assert 0 < reached < 10 * len(N_TASKS)  # a local search: often right, not always


def test_soft_em_climbs_and_reports_what_it_computed():
    for problem, start in random_problems(1, starts=["1", "vote", "random", "zeros"]):
        run = soft_em(problem, start, max_rounds=30)
        assert rises(run.trace)
        assert run.trace[-1] >= run.trace[0]
        assert run.stop is Stop.FINISHED
        assert run.trace[-1] == pytest.approx(marginal(problem, run.matrix, run.shares), rel=1e-9)
        assert np.isfinite(run.trace[1:]).all()
        assert np.allclose(run.posterior.sum(axis=1), 1)
        assert not run.posterior[:, forbidden(problem)].any()
        assert not np.isin(run.mapping, forbidden(problem)).any()
        assert run.value == problem.objective.of_mapping(problem.buckets, run.mapping) > -math.inf
        rows, best = np.arange(problem.buckets.n_buckets), run.posterior.max(axis=1)
        assert (run.posterior[rows, run.mapping] >= best - 1e-9).all()
        if problem.objective.kind != "estimated":
            n_labels = problem.buckets.n_labels
            assert run.shares == pytest.approx(problem.objective.shares or [1 / n_labels] * n_labels)


@pytest.mark.full
def test_soft_em_converges_to_a_fixed_point_of_both_steps():
    tried = 0
    for problem, start in random_problems(1, n_tasks=12, starts=["vote", "random"]):
        run = soft_em(problem, start, max_rounds=400, tolerance=1e-12)
        if not run.converged:  # EM can be arbitrarily slow
            continue
        tried += 1
        counts, weights = problem.buckets.counts, problem.buckets.weights
        scores = np.array([[log_p(run.matrix, x, j) + log(s) for j, s in enumerate(run.shares)] for x in counts])
        posterior = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
        assert run.posterior == pytest.approx(posterior, abs=1e-9)
        expected = np.einsum("b,bj,bki->jki", weights, posterior, counts)
        tasks = weights @ posterior
        if problem.objective.offsets is not None:
            expected += problem.objective.offsets.counts
            tasks += problem.objective.offsets.gold_tasks
        whole = expected.sum(axis=-1, keepdims=True)
        refitted = np.swapaxes(expected / np.where(whole > 0, whole, 1), 0, 1)
        mass = np.swapaxes(whole, 0, 1) / whole.sum()  # a row that hardly counts is hardly determined
        error = np.where(mass > 0, mass * np.abs(refitted - run.matrix), 0)
        assert error.max() < 1e-4
        if problem.objective.kind == "estimated":
            assert run.shares == pytest.approx(tasks / tasks.sum(), abs=1e-4)
    assert tried > 80


def test_the_gradient_of_the_marginal_likelihood_vanishes_at_convergence():
    """Moving along any direction that keeps rows and shares normalised changes nothing to first order."""
    rng = np.random.default_rng(7)
    truth = rng.integers(3, size=300)
    matrix = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    buckets, _ = Buckets.from_arrays(rng.multinomial(rng.integers(2, 6, 300), matrix[truth]))
    problem = Problem(buckets, Space.ALL, Objective("estimated"))
    run = soft_em(problem, "1", max_rounds=20_000, tolerance=0.0)
    assert run.converged
    assert (run.matrix > 0.01).all()
    step = 1e-5
    for _ in range(10):
        by_row = rng.normal(size=(1, 3, 3))
        by_row -= by_row.mean(axis=-1, keepdims=True)
        by_share = rng.normal(size=3)
        by_share -= by_share.mean()
        up, down = (marginal(problem, run.matrix + h * by_row, run.shares + h * by_share) for h in (step, -step))
        assert abs(up - down) / (2 * step) < 0.01
        assert max(up, down) <= run.trace[-1] + 1e-9
