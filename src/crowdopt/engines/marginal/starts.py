"""Good parameters by EM from many starts: the same for everybody, as only counted work limits them, never a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Floats
    from crowdopt.engines.marginal.likelihood import MarginalLikelihood

MOST_STARTS, FEWEST_STARTS = 30, 4
ROUNDS = 2_000
"""Rounds of EM from each start, at most."""

FEWEST_ROUNDS = 100
"""There are fewer starts where that many rounds of all would be too much work."""

WORK = 4_000_000_000
"""Multiplications that all starts may take together: some ten seconds."""

STILL = 1e-9
"""A start has arrived when a round gains less than this, in nats."""

TINY = 1e-300


def best_of_starts(likelihood: MarginalLikelihood, seed: int) -> tuple[Floats, int]:
    """The best point that EM reaches, and how many boxes' worth of looks at the data that took."""
    per_round = max(likelihood.size, 1)
    n_starts = int(np.clip(WORK // (FEWEST_ROUNDS * per_round), FEWEST_STARTS, MOST_STARTS))
    rounds = int(np.clip(WORK // (n_starts * per_round), 1, ROUNDS))
    points, done = climb_by_em(likelihood, _starts(likelihood, n_starts, seed), rounds)
    best = max(range(n_starts), key=lambda at: likelihood.value(points[at])[0])
    polished, more = climb_by_em(likelihood, points[best : best + 1], rounds, still=STILL / 1000)
    better = likelihood.value(polished[0])[0] > likelihood.value(points[best])[0]
    return np.asarray(polished[0] if better else points[best]), done + more


def _starts(likelihood: MarginalLikelihood, n_starts: int, seed: int) -> Floats:
    """Where EM starts: from the votes, from workers who are mostly right, and from matrices drawn at random."""
    n, rows = likelihood.n_labels, len(likelihood.pseudo)
    points = np.random.default_rng(seed).dirichlet(np.ones(n), (n_starts, rows))
    points[0] = _from_votes(likelihood)
    points[1, 0] = 1 / n
    points[1, 1:] = 0.3 / n + 0.7 * np.repeat(np.eye(n), likelihood.n_classes, axis=0)
    if likelihood.shares is not None:
        points[:, 0] = likelihood.shares
    return points


def _from_votes(likelihood: MarginalLikelihood) -> Floats:
    """The parameters that follow if every label is as probable as its share of the votes."""
    votes = likelihood.counts.sum(axis=1)
    posterior = votes / votes.sum(axis=1, keepdims=True)
    start = np.full(likelihood.pseudo.shape, 1 / likelihood.n_labels)
    fitted = _refitted(likelihood, posterior[None], start[None])[0]
    return np.asarray(0.99 * fitted + 0.01 / likelihood.n_labels)


def climb_by_em(
    likelihood: MarginalLikelihood, points: Floats, rounds: int, still: float = STILL
) -> tuple[Floats, int]:
    """EM from many points at once; where they end, and how many rounds all of them took together."""
    points, moving, done = points.copy(), np.arange(len(points)), 0
    before = np.full(len(points), -np.inf)
    for _ in range(rounds):
        posterior, value = _expected(likelihood, points[moving])
        arrived = value - before[moving] < still
        before[moving] = value
        moving, posterior = moving[~arrived], posterior[~arrived]
        if not len(moving):
            break
        points[moving] = _refitted(likelihood, posterior, points[moving])
        done += len(moving)
    return points, done


def _expected(likelihood: MarginalLikelihood, points: Floats) -> tuple[Floats, Floats]:
    """The posterior (point, bucket, label) and L of several points."""
    n, n_classes = likelihood.n_labels, likelihood.n_classes
    logs = np.log(np.maximum(points, TINY))
    rows = logs[:, 1:].reshape(len(points), n, n_classes * n).swapaxes(1, 2)
    scores = likelihood.counts.reshape(-1, n_classes * n) @ rows + logs[:, None, 0]
    best = scores.max(axis=2, keepdims=True)
    posterior = np.exp(scores - best)
    whole = posterior.sum(axis=2, keepdims=True)
    value = (best + np.log(whole))[..., 0] @ likelihood.weights + (likelihood.pseudo * logs).sum(axis=(1, 2))
    return posterior / whole, value


def _refitted(likelihood: MarginalLikelihood, posterior: Floats, points: Floats) -> Floats:
    """The points that are likeliest given the posteriors; rows of which nothing is known stay."""
    n, n_classes = likelihood.n_labels, likelihood.n_classes
    tasks = posterior * likelihood.weights[:, None]
    expected = np.empty(points.shape)
    expected[:, 0] = tasks.sum(axis=1)
    counted = tasks.swapaxes(1, 2) @ likelihood.counts.reshape(-1, n_classes * n)
    expected[:, 1:] = counted.reshape(len(points), n * n_classes, n)
    expected += likelihood.pseudo
    whole = expected.sum(axis=2, keepdims=True)
    fitted = np.where(whole > 0, expected / np.where(whole > 0, whole, 1), points)
    if likelihood.shares is not None:
        fitted[:, 0] = likelihood.shares
    return fitted
