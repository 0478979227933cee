"""Faults of simulated crowds: workers who do not look at the task, and tasks that are hard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.errors import InputError

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints


def _count_of(share: float, total: int, name: str) -> int:
    """So many as a share of all."""
    if not 0 <= share <= 1:
        raise InputError(f"{name} must be a share between 0 and 1, not {share!r}")
    return round(share * total)


def disturbed(
    answer: Ints,
    worker: Ints,
    sizes: Ints,
    numbers: tuple[int, int],
    shares: tuple[float, float],
    rng: np.random.Generator,
) -> Ints:
    """The answers with those of careless workers and to hard tasks; ``numbers`` are those of labels and workers."""
    n_labels, n_workers = numbers
    n_careless, n_hard = _count_of(shares[0], n_workers, "careless"), _count_of(shares[1], len(sizes), "hard")
    return _guessed(_without_care(answer, worker, n_labels, n_workers, n_careless, rng), sizes, n_labels, n_hard, rng)


def _without_care(
    answer: Ints, worker: Ints, n_labels: int, n_workers: int, n_careless: int, rng: np.random.Generator
) -> Ints:
    """The answers, those of the last few workers drawn by their habits and not by the task."""
    for who in range(n_workers - n_careless, n_workers):
        at = np.flatnonzero(worker == who)
        answer[at] = drawn_from(rng.dirichlet(np.full(n_labels, 0.5)), len(at), rng)
    return answer


def _guessed(answer: Ints, sizes: Ints, n_labels: int, n_hard: int, rng: np.random.Generator) -> Ints:
    """The answers, half of those to some tasks, drawn at random, being guesses."""
    if not n_hard:
        return answer
    hard = np.repeat(rng.permutation(len(sizes)) < n_hard, sizes)
    guess = hard & (rng.random(len(answer)) < 0.5)
    answer[guess] = rng.integers(n_labels, size=int(guess.sum()))
    return answer


def drawn_from(distribution: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Draws n indices from a distribution."""
    edges = np.cumsum(distribution)
    edges /= edges[-1]  # the last edge that anything can reach is exactly 1: rounding never picks the impossible
    return np.searchsorted(edges, rng.random(n), side="right").astype(np.int64)
