"""One step against the definition of the model, by brute force over the states of every task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from crowdopt.consensus import threads
from crowdopt.consensus.cells import AnswerCells
from crowdopt.consensus.consensus import Judge, find_consensus
from crowdopt.consensus.kernels import expect, expect_without, vote_round
from crowdopt.consensus.kinds import kinds_states
from crowdopt.consensus.parameters import Parameters
from crowdopt.consensus.pool_kernels import class_scores, pool, tilted_matrices
from crowdopt.consensus.pooling import Pooling
from crowdopt.consensus.tilted import BETA, over_tilts, tilted_states
from crowdopt.consensus.vote import vote_labels
from support.crowds import drawn_rows

SEEDS = range(6)


def drawn_parameters(seed: int, n_workers: int, n_labels: int) -> Parameters:
    rng = np.random.default_rng([seed, 1])

    def shares(*shape: int) -> np.ndarray:
        return rng.dirichlet(np.ones(shape[-1]), shape[:-1])

    population = {
        "vote_shares": shares(n_labels),
        "vote_precision": rng.random(),
        "tilted_shares": shares(n_labels),
        "tilted_kinds": shares(n_labels, n_labels + 1),
        "tilted_matrix": shares(n_labels, n_labels),
        "kinds_shares": shares(2 * n_labels),
        "kinds_matrix": shares(2 * n_labels, n_labels),
    }
    workers = {
        "vote_precision": rng.integers(1, 64, n_workers) / 8,
        "tilted_matrix": shares(n_workers, n_labels, n_labels),
        "kinds_matrix": shares(n_workers, 2 * n_labels, n_labels),
    }
    return Parameters(population, workers)


def drawn(seed: int):
    n_labels = 2 + seed % 4
    rows = drawn_rows(seed, n_tasks=15, n_workers=6, n_labels=n_labels, per_task=3 + seed % 4)
    known = np.where(np.arange(15) % 7 == 0, np.arange(15) % n_labels, -1)
    return replace(rows, known=known), drawn_parameters(seed, rows.n_workers, n_labels)


def tilted_by_definition(rows, parameters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities of labels; expected answers (worker, answer, label); and tilts (worker, tilt, label)."""
    n_labels, matrix = rows.n_labels, parameters.workers["tilted_matrix"]
    shares, kinds = parameters.population["tilted_shares"], parameters.population["tilted_kinds"]
    labels = np.zeros((rows.n_tasks, n_labels))
    counts, pulled = np.zeros((2, rows.n_workers, n_labels, n_labels))
    for t in range(rows.n_tasks):
        responses = [*zip(rows.worker[rows.task == t], rows.answer[rows.task == t], strict=True)]
        joint = np.zeros((n_labels, n_labels + 1))
        for z in range(n_labels):
            for d in range(n_labels + 1):
                if rows.known[t] in {-1, z} and (d == n_labels or d in {answer for _, answer in responses}):
                    joint[z, d] = shares[z] * kinds[z, d]
                    for worker, answer in responses:
                        lifted = matrix[worker, z] * np.where(np.arange(n_labels) == d, np.exp(BETA), 1.0)
                        joint[z, d] *= lifted[answer] / lifted.sum()
        joint /= joint.sum()
        labels[t] = joint.sum(axis=1)
        for worker, answer in responses:
            counts[worker, answer] += labels[t]
            pulled[worker] += joint[:, :n_labels].T
    return labels, counts, pulled


def kinds_by_definition(rows, parameters) -> np.ndarray:
    states = np.tile(parameters.population["kinds_shares"], (rows.n_tasks, 1))
    for task, worker, answer in zip(rows.task, rows.worker, rows.answer, strict=True):
        states[task] *= parameters.workers["kinds_matrix"][worker, :, answer]
    labels = states.reshape(rows.n_tasks, rows.n_labels, 2).sum(axis=2)
    for t in np.flatnonzero(rows.known >= 0):
        labels[t, np.arange(rows.n_labels) != rows.known[t]] = 0.0
    return labels / labels.sum(axis=1, keepdims=True)


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def _threaded(request, monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: request.param)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1.0)


@pytest.mark.usefixtures("_threaded")
@pytest.mark.parametrize("seed", SEEDS)
def test_tilted(seed):
    rows, parameters = drawn(seed)
    labels, counts, pulled = tilted_by_definition(rows, parameters)
    states = np.zeros_like(labels)
    change, kinds, found, found_pulled = tilted_states(parameters).expect(rows, states)
    assert np.abs(states - labels).max() < 1e-8
    assert change == pytest.approx(labels.max(), abs=1e-8)  # from zeros
    assert np.abs(found - counts.reshape(found.shape)).max() < 1e-7
    assert np.abs(found_pulled - pulled.reshape(found.shape)).max() < 1e-7
    assert np.abs(kinds.sum(axis=0) - labels.sum(axis=0)).max() < 1e-7


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_over_all_tilts(seed):
    """What a worker says to a task of a label, whose tilt is drawn."""
    rows, parameters = drawn(seed)
    matrices, kinds = parameters.workers["tilted_matrix"], parameters.population["tilted_kinds"]
    expected = np.zeros_like(matrices)
    for tilt in range(rows.n_labels + 1):
        lifted = matrices * np.where(np.arange(rows.n_labels) == tilt, np.exp(BETA), 1.0)
        expected += kinds[:, tilt, None] * lifted / lifted.sum(axis=-1, keepdims=True)
    found = over_tilts(matrices, kinds)
    assert np.abs(found - expected).max() < 1e-12
    assert np.abs(found.sum(axis=-1) - 1).max() < 1e-12
    assert np.abs(found - matrices).max() > 0.01


@pytest.mark.parametrize("seed", SEEDS)
def test_kinds(seed):
    rows, parameters = drawn(seed)
    assert np.abs(kinds_states(parameters).labels(rows) - kinds_by_definition(rows, parameters)).max() < 1e-8


@pytest.mark.parametrize("seed", SEEDS)
def test_vote(seed):
    rows, parameters = drawn(seed)
    votes = np.tile(parameters.population["vote_shares"], (rows.n_tasks, 1))
    np.add.at(votes, (rows.task, rows.answer), parameters.workers["vote_precision"][rows.worker])
    shares = votes / votes.sum(axis=1, keepdims=True)
    shares[rows.known >= 0] = np.eye(rows.n_labels)[rows.known[rows.known >= 0]]
    assert np.abs(vote_labels(rows, parameters) - shares).max() < 1e-12


@pytest.mark.usefixtures("_threaded")
@pytest.mark.parametrize("seed", SEEDS)
def test_draws_from_a_class_and_what_a_class_says_of_a_worker(seed):
    """The compiled special functions, over what rounds can ask for, against SciPy's."""
    rng = np.random.default_rng(seed)
    rows = drawn_rows(seed)
    cells = AnswerCells.met([rows], rows.n_workers, rows.n_labels)
    counts = np.exp(rng.uniform(-20, 8, (cells.n_answered, 3))) * (rng.random((cells.n_answered, 3)) < 0.9)
    totals, weights = cells.totals(counts), rng.dirichlet(np.ones(2), rows.n_workers)
    assert totals.sum(axis=0) == pytest.approx(counts.sum(axis=0))
    pooling = Pooling(
        np.swapaxes(rng.dirichlet(np.full(3, 0.2), (2, 3)), 1, 2) + 1e-9, np.exp(rng.uniform(-0.7, 5.3, 2))
    )
    dense = np.zeros((rows.n_workers, 3, 3))
    dense[cells.worker[: cells.n_answered], cells.label[: cells.n_answered]] = counts
    alpha, c = pooling.alpha, pooling.strength
    up = digamma(dense[:, None] + alpha) - digamma(alpha)
    tables, sizes = pooling.tables(cells, counts, totals, weights)
    assert tables == pytest.approx((weights[:, :, None, None] * up).sum(axis=0) * alpha, rel=1e-7, abs=1e-6)
    up = digamma(totals[:, None] + c[:, None]) - digamma(c)[:, None]
    assert sizes == pytest.approx((weights[:, :, None] * up).sum(axis=(0, 2)), rel=1e-7)
    evidence = (gammaln(dense[:, None] + alpha) - gammaln(alpha)).sum(axis=(2, 3))
    evidence -= (gammaln(totals[:, None] + c[:, None]) - gammaln(c)[:, None]).sum(axis=2)
    assert pooling.evidence(cells, counts, totals) == pytest.approx(evidence, rel=1e-9, abs=1e-6)


def test_loops_are_compiled_once():
    """One type of every argument: each further one would take seconds of everybody's first run."""
    for n_labels in (1, 2, 3):
        rows = drawn_rows(0, n_labels=n_labels)
        parameters = find_consensus(rows).parameters
        other = parameters.aligned(np.arange(rows.n_workers))
        Judge(other).probabilities(rows)
        Judge(other).probabilities_without(rows)
    find_consensus(replace(rows, known=rows.known % 3), shares=np.array([0.2, 0.3, 0.5]))
    loops = (vote_round, expect, expect_without, pool, class_scores, tilted_matrices)
    assert [len(loop.signatures) for loop in loops] == [1] * len(loops)
