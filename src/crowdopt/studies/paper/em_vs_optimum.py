"""How often EM misses the optimum, and by how much; and how often it beats what was found under the order.

Shortfalls are also kept trial by trial, since averages would hide them.

Over all mappings nothing beats the optimum. For ratings OPT searches only mappings that respect the order, while EM
knows no order, so that it can also end above OPT; and what is best of all is not known, only the best that was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from crowdopt.studies.paper.setups import (
    ALL_EM,
    BEST_FOUND,
    EM1,
    EM2,
    EM3,
    EM_ANY,
    EM_BEST,
    IN_ORDER,
    LIKELIHOOD,
    OPT,
    OPT_ALL,
    up,
)
from crowdopt.studies.paper.statistics import interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Floats
    from crowdopt.studies.paper.experiments import Experiment, Rows

SAME_NATS = 1e-6
"""Nats by which log-likelihoods of a few thousand may differ and be the same."""


class Miss(TypedDict):
    """EM against OPT, and against the best mapping found, at one m.

    ``missed`` and ``beat`` are shares of trials below and above OPT, ``short`` and ``ahead`` the mean nats in those,
    ``most`` the largest lead; 0 where there are none. ``below_best`` is the share of trials below the best found.
    ``out_of_order`` is the share of results that respect the order under no names.
    """

    experiment: str
    R: int
    m: int
    algorithm: str
    trials: int
    missed: float
    short: float
    beat: float
    ahead: float
    most: float
    below_best: float
    out_of_order: float


def against_em(experiments: Iterable[Experiment]) -> list[Miss]:
    """A row for every experiment, m and start of EM, its ties to the lowest label."""
    return [
        _miss(experiment, m, algorithm) for experiment in experiments for m in experiment.sizes for algorithm in ALL_EM
    ]


def _miss(experiment: Experiment, m: int, algorithm: str) -> Miss:
    lead = experiment.values[m, algorithm, LIKELIHOOD] - experiment.values[m, OPT, LIKELIHOOD]
    below, above = -lead[lead < -SAME_NATS], lead[lead > SAME_NATS]
    in_order = experiment.values.get((m, algorithm, IN_ORDER))
    return Miss(
        experiment=experiment.name,
        R=experiment.setup.n_labels,
        m=m,
        algorithm=algorithm,
        trials=experiment.trials,
        missed=len(below) / len(lead),
        short=float(below.mean()) if len(below) else 0.0,
        beat=len(above) / len(lead),
        ahead=float(above.mean()) if len(above) else 0.0,
        most=float(above.max(initial=0.0)),
        below_best=float(below_best(experiment, m, algorithm).mean()),
        out_of_order=0.0 if in_order is None else float(1 - in_order.mean()),
    )


def below_best(experiment: Experiment, m: int, algorithm: str) -> np.ndarray:
    """Trial by trial, whether an algorithm ended below the best mapping found: for two labels, the best there is."""
    best = experiment.values.get((m, BEST_FOUND, LIKELIHOOD), experiment.values[m, OPT, LIKELIHOOD])
    return np.asarray(experiment.values[m, algorithm, LIKELIHOOD] < best - SAME_NATS)


def series(experiment: Experiment, m: int, algorithm: str, metric: str) -> Floats:
    """One value per trial, of EM_ANY as well, whichever way EM's ties go."""
    found = experiment.values.get((m, algorithm, metric))
    if found is not None:
        return found
    names = {EM_ANY: (EM1, EM2, EM3, EM_BEST), up(EM_ANY): tuple(map(up, (EM1, EM2, EM3, EM_BEST)))}[algorithm]
    *starts, best = names
    value = np.array([experiment.values[m, start, LIKELIHOOD] for start in starts])
    tied = value >= experiment.values[m, best, LIKELIHOOD] - SAME_NATS
    of_start = np.array([experiment.values[m, start, metric] for start in starts])
    return np.asarray(np.where(tied, of_start, 0.0).sum(axis=0) / tied.sum(axis=0), dtype=float)


SHORTFALL, BELOW_ALL = "nats below OPT", "nats below the best of all mappings"


def shortfalls(experiment: Experiment) -> Rows:
    """Rows as an experiment has them, of how many nats EM is below OPT on the same crowd; negative where above."""
    return _below(experiment, OPT, ALL_EM, SHORTFALL)


def below_all(experiment: Experiment) -> Rows:
    """The same of OPT and EM below the optimum over all mappings, which nothing is above."""
    return _below(experiment, OPT_ALL, (OPT, *ALL_EM), BELOW_ALL)


def _below(experiment: Experiment, best: str, others: tuple[str, ...], metric: str) -> Rows:
    rows: Rows = []
    for m in experiment.sizes:
        for name in others:
            short = experiment.values[m, best, LIKELIHOOD] - experiment.values[m, name, LIKELIHOOD]
            low, high = interval(short)
            rows.append({
                "experiment": experiment.name, "m": m, "algorithm": name, "metric": metric,
                "mean": float(short.mean()), "low": low, "high": high, "trials": experiment.trials,
            })  # fmt: skip
    return rows
