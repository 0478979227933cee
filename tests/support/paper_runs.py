"""Experiments of the paper, run_experiment once."""

from __future__ import annotations

from functools import cache

from crowdopt.studies.paper import experiments
from crowdopt.studies.paper.experiments import pieces, run_experiment
from crowdopt.studies.paper.setups import SETUPS


@cache
def ran(name: str, trials: int):
    return run_experiment(name, trials, seed=5)


def workers(name, m, seed=1):
    """The matrices of the first two trials."""
    piece = next(piece for piece in pieces(name, 2, seed) if piece.m == m)
    return experiments._crowds(SETUPS[name], piece).matrices
