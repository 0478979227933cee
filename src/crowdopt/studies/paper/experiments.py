"""The paper's experiments: trials in pieces that can run in any process, and the rows that their figures show.

``pieces`` cuts an experiment up, ``run_piece`` runs one of them, ``collect`` puts the results together. Every
trial has a seed of its own, made of the seed, the experiment, m and its number, so that the same numbers come out
however the work is divided.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

from crowdopt.errors import InputError
from crowdopt.studies.paper.real_data import Known, read_known
from crowdopt.studies.paper.setups import REPORTED, SETUPS, Setup
from crowdopt.studies.paper.statistics import interval
from crowdopt.studies.paper.trials import Crowds, measure_trials, sampled, simulated, solve_all, whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crowdopt._arrays import Floats

TRIALS = {2: 100, 3: 20}
"""Trials of a piece by the number of labels: a second or less. Ten where there are more labels."""


MAX_TRIALS = 1_000_000
"""More would not end."""


class Row(TypedDict):
    """One point of a figure: the mean of a metric over trials, and its 95 % interval (NaN for a single trial)."""

    experiment: str
    m: int
    algorithm: str
    metric: str
    mean: float
    low: float
    high: float
    trials: int


Rows: TypeAlias = list[Row]


@dataclass(frozen=True, eq=False)
class Piece:
    """Some trials of an experiment at one m: a piece of work that can be handed to another process.

    Attributes:
        experiment: Name of the setup.
        m: Responses per task.
        first: Number of the first trial.
        last: Number of the trial after the last.
        seed: The seed of the whole run.
        known: Real responses, where the setup asks for them.
    """

    experiment: str
    m: int
    first: int
    last: int
    seed: int
    known: Known | None = None


@dataclass(frozen=True, eq=False)
class Experiment:
    """All trials of an experiment.

    Attributes:
        setup: What was done.
        trials: Trials for each m.
        n_tasks: Tasks in each trial.
        values: One number per trial, by (m, algorithm, metric). All algorithms saw the same crowd in a trial.
    """

    setup: Setup
    trials: int
    n_tasks: int
    values: dict[tuple[int, str, str], Floats]

    @property
    def name(self) -> str:
        """What it is called by."""
        return self.setup.name

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of responses per task, m."""
        return tuple(sorted({m for m, _, _ in self.values}))

    @cached_property
    def rows(self) -> Rows:
        """A row per m, algorithm and metric that the paper reports."""
        return [
            Row(
                experiment=self.name,
                m=m,
                algorithm=algorithm,
                metric=metric,
                mean=float(values.mean()),
                low=low,
                high=high,
                trials=self.trials,
            )
            for (m, algorithm, metric), values in self.values.items()
            if metric in REPORTED
            for low, high in [interval(values)]
        ]


def pieces(experiment: str, trials: int | None = None, seed: int = 0, folder: str | Path | None = None) -> list[Piece]:
    """Cuts an experiment into pieces.

    Args:
        experiment: A name of SETUPS.
        trials: Trials for each m; None for as many as the paper has.
        seed: A whole number.
        folder: The data of an experiment with real responses.
    """
    setup = _setup(experiment)
    trials = setup.trials if trials is None else trials
    if not 1 <= trials <= MAX_TRIALS:
        raise InputError(f"an experiment takes 1 to {MAX_TRIALS:,} trials, not {trials:,}")
    known, sizes = None, setup.sizes
    if setup.data != "simulated":
        if folder is None:
            raise InputError(f"the experiment {experiment!r} needs a folder with responses.csv and truth.csv")
        known = read_known(folder)
        sizes = tuple(range(1, known.fewest + 1)) if setup.data == "sampled" else (known.fewest,)
    if setup.data == "whole":
        trials = 1  # nothing is left to chance
    step = TRIALS.get(setup.n_labels, 10)
    return [
        Piece(experiment, m, first, min(first + step, trials), seed, known)
        for m in sizes
        for first in range(0, trials, step)
    ]


def run_piece(piece: Piece) -> Floats:
    """Runs the trials of a piece; the result is by (trial, algorithm, metric)."""
    setup = _setup(piece.experiment)
    crowds = _crowds(setup, piece)
    return measure_trials(setup, crowds, solve_all(setup, crowds))


def _crowds(setup: Setup, piece: Piece) -> Crowds:
    rngs = [_generator(setup, piece, trial) for trial in range(piece.first, piece.last)]
    if piece.known is None:
        return simulated(setup, piece.m, rngs)
    return sampled(piece.known, piece.m, rngs) if setup.data == "sampled" else whole(piece.known)


def _generator(setup: Setup, piece: Piece, trial: int) -> np.random.Generator:
    """The generator of one trial. The name of the experiment counts as a number, so that none shares its crowds."""
    key = (zlib.crc32((setup.workers_of or setup.name).encode()), piece.m, trial)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(piece.seed, spawn_key=key)))


def collect(done: Sequence[Piece], results: Sequence[Floats]) -> Experiment:
    """Puts the results of all pieces of one experiment together, in whatever order they come."""
    setup = _setup(done[0].experiment)
    by_size: dict[int, list[tuple[int, Floats]]] = {}
    for piece, result in zip(done, results, strict=True):
        if piece.experiment != setup.name:
            raise ValueError(f"pieces of {setup.name} and of {piece.experiment} do not belong together")
        by_size.setdefault(piece.m, []).append((piece.first, result))
    values = {}
    for m in sorted(by_size):
        joined = np.concatenate([result for _, result in sorted(by_size[m], key=lambda found: found[0])])
        for a, algorithm in enumerate(setup.algorithms):
            values.update({(m, algorithm, metric): joined[:, a, k] for k, metric in enumerate(setup.metrics)})
    known = done[0].known
    n_tasks = setup.n_tasks if known is None else len(known.truth)
    return Experiment(setup, max(piece.last for piece in done), n_tasks, values)


def run_experiment(
    experiment: str, trials: int | None = None, seed: int = 0, folder: str | Path | None = None
) -> Experiment:
    """Runs an experiment from beginning to end in this process; arguments as for :func:`pieces`."""
    todo = pieces(experiment, trials, seed, folder)
    return collect(todo, [run_piece(piece) for piece in todo])


def _setup(name: str) -> Setup:
    if name not in SETUPS:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join(SETUPS)}")
    return SETUPS[name]
